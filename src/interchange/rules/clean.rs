//! Removes text that is not part of a rule: ergo's own blocks, tags around rules, numbers before them.

use std::sync::LazyLock;

use regex::Regex;

use crate::{
    domain::marked_section::{self, CLAIMS, INSTRUCTIONS},
    interchange::SkippedText,
};

/// A number, a letter with a number, or “Rule 3”, before the words of a rule.
static NUMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^(?i)(?:\(\d{1,3}\)|§\s?\d+(?:\.\d+)*[.:)]?|(?:rule|step|item|principle)\s+#?\d+(?:\.\d+)*\s*[.:)–—-]|#\d+[.:)]?|[a-z]{1,3}-?\d{1,3}[.:)]|\d{1,3}(?:\.\d+)*[.:)]|\d+\.\d+(?:\.\d+)*)\s+").ok()
});

/// Placeholders to fill in.
static PLACEHOLDER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"<[a-z][^<>`]*>|\{\{.*?\}\}|\[(?i:your|insert|name|link|date|todo)\b[^\]]*\]|\b(?:TODO|TBD)\s*(?::|$)|\b(?:XXX+|X\.Y\.Z|YYYY)\b|-XXXX\b|_{3,}|:\s*(?:\.\.\.|…)$").ok()
});

/// A line with a tag that is no HTML element, such as `<important>` around rules.
static TAG: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\s*</?([A-Za-z][A-Za-z0-9_-]*)[^<>]*>\s*$").ok());

/// HTML elements whose tag lines stay: the text in them is not Markdown.
const HTML: [&str; 14] =
    ["pre", "script", "style", "table", "tr", "td", "th", "thead", "tbody", "img", "br", "hr", "textarea", "svg"];

/// Blanks out text that is no rule of the author, keeping line numbers. Returns the text and the skipped parts.
pub(super) fn text(text: &str) -> (String, Vec<SkippedText>) {
    let mut skipped = Vec::new();
    let mut out = text.to_owned();
    for markers in [INSTRUCTIONS, CLAIMS] {
        // From the last one on, so that the ranges of the earlier ones stay valid.
        for section in marked_section::complete(&out, markers).into_iter().rev() {
            let line = out.get(..section.start).unwrap_or_default().matches('\n').count() + 1;
            let blank = "\n".repeat(out.get(section.clone()).unwrap_or_default().matches('\n').count());
            let why = super::BY_ERGO.to_owned();
            skipped.push(SkippedText { line, text: markers.begin.trim_start_matches("<!-- ").to_owned(), why });
            out.replace_range(section, &blank);
        }
    }
    let mut fenced = false;
    let lines: Vec<&str> = out
        .split('\n')
        .map(|line| {
            fenced ^= line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
            let name = TAG.as_ref().and_then(|tag| tag.captures(line)).and_then(|found| found.get(1));
            let tag = name.is_some_and(|name| !HTML.contains(&name.as_str().to_ascii_lowercase().as_str()));
            if tag && !fenced { "" } else { line }
        })
        .collect();
    (lines.join("\n"), skipped)
}

/// Removes the number before a sentence: “3. Schema files live here.”
pub(super) fn unnumbered(text: &str) -> &str {
    let length = NUMBER.as_ref().and_then(|number| number.find(text)).map_or(0, |found| found.end());
    text.get(length..).unwrap_or(text).trim_start()
}

/// Whether a text is a form to fill in.
pub(super) fn is_template(text: &str) -> bool {
    let outside: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
    // Checkboxes of forms say “I”; rules say “you” or “we”.
    let ticked = ["I ", "I've ", "I’ve ", "My "].iter().any(|first| outside.starts_with(first));
    ticked || PLACEHOLDER.as_ref().is_some_and(|placeholder| placeholder.is_match(&outside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_compile() {
        assert!(NUMBER.is_some() && PLACEHOLDER.is_some() && TAG.is_some());
    }

    #[rstest::rstest]
    #[case("3. Schema files", "Schema files")]
    #[case("(12) Handlers", "Handlers")]
    #[case("§4 Use it", "Use it")]
    #[case("Rule 5: Prefer", "Prefer")]
    #[case("R6. Every", "Every")]
    #[case("2.1 Naming", "Naming")]
    #[case("90 days", "90 days")]
    #[case("UTF8 is used", "UTF8 is used")]
    #[case("3 reviewers", "3 reviewers")]
    fn numbers_before_a_rule_go(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(unnumbered(text), expected);
    }

    #[rstest::rstest]
    #[case("Summary: <one sentence>", true)]
    #[case("Ticket: ABC-XXXX", true)]
    #[case("I have added tests", true)]
    #[case("Expected: ...", true)]
    #[case("Use `<T>` for types", false)]
    #[case("In tests, use mocks", false)]
    fn forms_are_distinguished_from_rules(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(is_template(text), expected);
    }

    #[test]
    fn what_ergo_wrote_is_blank_and_lines_stay() {
        let file = "a\n<!-- ergo:begin (x) -->\nb\n<!-- ergo:end -->\nc\n<important>\nd\n<!-- ergo:claims:begin -->\ne";
        let (clean, skipped) = text(file);
        assert_eq!(clean, "a\n\n\n\nc\n\nd\n<!-- ergo:claims:begin -->\ne", "a section without an end is no section");
        assert_eq!(skipped.iter().map(|skip| skip.line).collect::<Vec<_>>(), [2]);
        let quoted = "```\n<!-- ergo:begin -->\n```\nThe block begins with `<!-- ergo:begin`.\ne";
        assert_eq!(text(quoted).0, quoted);
    }
}
