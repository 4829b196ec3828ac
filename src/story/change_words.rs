//! Recognises words by which a claim says that something changed, happened or came back.

use crate::guard::lexicon::{WordClass, lexicon};

/// A word of the text, in lower case, with its byte range.
pub(super) struct TextWord<'a> {
    pub(super) text: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The punctuation mark after it.
    pub(super) mark: Option<&'a str>,
}

/// Returns the words of a text.
pub(super) fn words(text: &str) -> Vec<TextWord<'_>> {
    // `@deprecated` and code are names and not English words.
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '_' | '.' | '@' | '`');
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(inside).map(|i| at + i) {
        let end = text[start..].find(|c| !inside(c)).map_or(text.len(), |i| start + i);
        let trimmed = text[start..end].trim_end_matches('.');
        let stop = start + trimmed.len();
        let mark = text[stop..].chars().next().filter(|c| matches!(c, '.' | ',' | ';' | ':' | '(' | ')'));
        let mark = mark.map(|c| &text[stop..stop + c.len_utf8()]);
        if !trimmed.is_empty() {
            out.push(TextWord { text: trimmed.to_lowercase(), start, end: stop, mark });
        }
        at = end;
    }
    out
}

/// Returns whether a clause begins with a time: "after the rewrite, …", "since May, …". "After a failure, …" says when a rule
/// applies.
pub(super) fn opens_with_time(words: &[TextWord<'_>]) -> bool {
    let opens = |at: usize| at == 0 || words[at - 1].mark.is_some() || words[at - 1].text == "and";
    (0..words.len()).any(|at| {
        opens(at)
            && match words[at].text.as_str() {
                "since" | "following" => true,
                "after" => happened(&words[at + 1..]),
                _ => false,
            }
    })
}

/// Returns whether the words after "after" name one event: "the rewrite", "switching to Rust", "traffic had doubled".
fn happened(words: &[TextWord<'_>]) -> bool {
    let end = words.iter().position(|word| word.mark.is_some()).map_or(words.len(), |at| at + 1);
    let is_definite = |word: &TextWord<'_>| {
        matches!(word.text.as_str(), "the" | "our" | "this" | "that" | "its" | "their" | "last")
            || word.text.len() > 5 && word.text.ends_with("ing")
    };
    words.first().is_some_and(is_definite)
        || words[..end].iter().any(|word| matches!(word.text.as_str(), "was" | "were" | "had"))
}

/// Returns whether a text says that something came back: "we went back to X", "X is back", "we returned to X". "Back up X" and
/// "X returns 200" do not.
pub(super) fn tells_return(words: &[TextWord<'_>]) -> bool {
    let word = |at: usize| words.get(at).map_or("", |word| word.text.as_str());
    let is_be = |at: usize| matches!(word(at), "is" | "are" | "was" | "were" | "be" | "been" | "being");
    (0..words.len()).any(|at| {
        let ends = at + 1 == words.len() || words[at].mark.is_some();
        let before = at.checked_sub(1);
        match word(at) {
            "back" => {
                let moves = |at| is_be(at) || matches!(word(at), "go" | "going" | "went" | "come" | "came" | "brought");
                word(at + 1) == "to" || before.is_some_and(moves)
            }
            "return" | "returns" | "returning" => word(at + 1) == "to" && !before.is_some_and(is_be),
            "returned" => (word(at + 1) == "to" || ends) && !before.is_some_and(is_be),
            _ => lexicon().class(WordClass::Returning).contains(word(at)),
        }
    })
}

/// Returns whether a text says what people did ("we upgraded …"), or has a clause that ends with a verb in the past tense and is followed by
/// another ("two people joined, and …").
pub(super) fn tells_change(words: &[TextWord<'_>]) -> bool {
    let is_past = |word: &TextWord<'_>| word.text.len() > 4 && word.text.ends_with("ed");
    let is_be =
        |word: &TextWord<'_>| matches!(word.text.as_str(), "is" | "are" | "be" | "been" | "being" | "was" | "were");
    (1..words.len()).any(|at| {
        let people_act = matches!(words[at - 1].text.as_str(), "we" | "they" | "i" | "team");
        let ends = at + 1 < words.len() && words[at].mark.is_some_and(|mark| mark != "(");
        is_past(&words[at]) && (people_act || ends && !words[at.saturating_sub(2)..at].iter().any(is_be))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{opens_with_time, tells_return, words};

    #[rstest]
    #[case("We went back to Jenkins because Buildkite was too dear.", true)]
    #[case("Jenkins is back.", true)]
    #[case("Back to REST, since clients asked for it.", true)]
    #[case("We returned to Jenkins.", true)]
    #[case("Jenkins has returned.", true)]
    #[case("We use Jenkins again.", true)]
    #[case("Handlers return 200 for duplicate uploads.", false)]
    #[case("The port is returned to the caller.", false)]
    #[case("Back up the database daily.", false)]
    fn a_return_is_told_from_the_common_uses_of_its_words(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(tells_return(&words(text)), expected, "{text}");
    }

    #[rstest]
    #[case("After the rewrite the export takes 3 minutes.", true)]
    #[case("After switching to Rust, the parser takes 3 ms.", true)]
    #[case("After traffic had doubled, the pool was set to 40.", true)]
    #[case("Since May the pool has 40 connections.", true)]
    #[case("After a failure, retry 5 times.", false)]
    #[case("After each release, tag the commit.", false)]
    #[case("Retry 5 times after a failure.", false)]
    fn a_time_is_told_from_the_condition_of_a_rule(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(opens_with_time(&words(text)), expected, "{text}");
    }
}
