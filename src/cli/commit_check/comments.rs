//! Separates the code of changed lines from their comments, which violate no constraint. Pure.
//!
//! A diff shows only parts of a file, so of a comment over several lines only the part is known that follows its changed beginning.

/// How a language marks comments.
#[derive(Debug)]
struct CommentSyntax {
    /// Marks of a comment that ends with its line.
    line: &'static [&'static str],
    /// Marks of the beginning and the end of other comments.
    block: &'static [(&'static str, &'static str)],
    /// Marks of a comment over several lines that are a string unless they begin a line.
    docstring: &'static [&'static str],
    /// The quotes around strings, in which nothing is a comment.
    quotes: &'static [char],
}

const C_BLOCK: (&str, &str) = ("/*", "*/");
const HTML_BLOCK: (&str, &str) = ("<!--", "-->");

/// In these languages `'` quotes a character, or begins the name of a lifetime or a type.
const C: CommentSyntax = CommentSyntax { line: &["//"], block: &[C_BLOCK], docstring: &[], quotes: &['"'] };
const JAVASCRIPT: CommentSyntax = CommentSyntax { quotes: &['"', '\'', '`'], ..C };
const CSS: CommentSyntax = CommentSyntax { line: &[], ..JAVASCRIPT };
const HTML: CommentSyntax = CommentSyntax { block: &[HTML_BLOCK], quotes: &[], ..CSS };
const VUE: CommentSyntax = CommentSyntax { block: &[C_BLOCK, HTML_BLOCK], ..JAVASCRIPT };
const SHELL: CommentSyntax = CommentSyntax { line: &["#"], block: &[], ..JAVASCRIPT };
const PYTHON: CommentSyntax = CommentSyntax { docstring: &["\"\"\"", "'''"], ..SHELL };
const TERRAFORM: CommentSyntax = CommentSyntax { line: &["#", "//"], ..C };
const SQL: CommentSyntax = CommentSyntax { line: &["--"], ..JAVASCRIPT };
const LUA: CommentSyntax = CommentSyntax { block: &[("--[[", "]]")], ..SQL };
const HASKELL: CommentSyntax = CommentSyntax { block: &[("{-", "-}")], quotes: &['"'], ..SQL };

/// Returns the syntax of a file's comments, by its extension, or by its name if it has none.
fn syntax(path: &str) -> Option<&'static CommentSyntax> {
    let name = path.rsplit('/').next().unwrap_or(path);
    Some(match name.rsplit('.').next()? {
        "c" | "cc" | "cpp" | "cs" | "cxx" | "dart" | "go" | "gradle" | "groovy" | "h" | "hpp" | "java" | "kt"
        | "kts" | "m" | "mod" | "proto" | "rs" | "scala" | "swift" | "zig" => &C,
        "cjs" | "cts" | "js" | "jsx" | "less" | "mjs" | "mts" | "php" | "scss" | "ts" | "tsx" => &JAVASCRIPT,
        "css" => &CSS,
        "htm" | "html" | "svg" | "xml" => &HTML,
        "astro" | "svelte" | "vue" => &VUE,
        "bash" | "cfg" | "cmake" | "conf" | "Dockerfile" | "ex" | "exs" | "fish" | "Gemfile" | "jl" | "justfile"
        | "Makefile" | "mk" | "nix" | "Pipfile" | "pl" | "properties" | "R" | "Rakefile" | "rb" | "sh" | "toml"
        | "txt" | "yaml" | "yml" | "zsh" => &SHELL,
        "py" | "pyi" => &PYTHON,
        "hcl" | "tf" => &TERRAFORM,
        "sql" => &SQL,
        "lua" => &LUA,
        "elm" | "hs" => &HASKELL,
        _ => return None,
    })
}

/// A line, separated into its code and a comment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SplitLine {
    /// The line without its comments.
    pub(super) code: String,
    /// The text of the comment that begins in this line, without its mark.
    pub(super) comment: String,
}

/// Separates the lines of a file, each with its number. A line of an unknown language is all code.
pub(super) fn split<'t>(path: &str, lines: impl Iterator<Item = (usize, &'t str)>) -> Vec<SplitLine> {
    let Some(syntax) = syntax(path) else {
        return lines.map(|(_, text)| SplitLine { code: text.to_owned(), ..SplitLine::default() }).collect();
    };
    let mut last = None;
    // The mark that ends the comment in which the next line begins.
    let mut open = None;
    let split = |(number, text)| {
        if last.replace(number).is_none_or(|last| last + 1 != number) {
            open = None;
        }
        syntax.split(text, &mut open)
    };
    lines.map(split).collect()
}

impl CommentSyntax {
    fn split(&self, text: &str, open: &mut Option<&'static str>) -> SplitLine {
        if open.is_none() && !self.marks().any(|mark| text.contains(mark)) {
            return SplitLine { code: text.to_owned(), ..SplitLine::default() };
        }
        let mut found = SplitLine::default();
        let mut rest = text;
        let mut quote = None;
        loop {
            if let Some(end) = *open {
                let Some((_, after)) = rest.split_once(end) else { return found };
                (*open, rest) = (None, after);
            }
            let begins = if quote.is_none() { self.begins_comment(&found.code, rest) } else { None };
            if let Some((mark, end)) = begins {
                rest = rest.get(mark.len()..).unwrap_or_default();
                let comment = end.and_then(|end| rest.split_once(end)).map_or(rest, |(comment, _)| comment);
                comment.clone_into(&mut found.comment);
                if end.is_none() {
                    return found;
                }
                *open = end;
                continue;
            }
            let mut chars = rest.chars();
            let Some(c) = chars.next() else { return found };
            found.code.push(c);
            if quote == Some(c) {
                quote = None;
            } else if quote.is_some() && c == '\\' {
                found.code.extend(chars.next());
            } else if quote.is_none() && self.quotes.contains(&c) && chars.as_str().contains(c) {
                quote = Some(c);
            }
            rest = chars.as_str();
        }
    }

    /// Returns the marks with which comments begin.
    fn marks(&self) -> impl Iterator<Item = &'static str> {
        self.line.iter().chain(self.docstring).copied().chain(self.block.iter().map(|(mark, _)| *mark))
    }

    /// Returns the mark of the comment with which `rest` begins, and the mark that ends it; `None` if it ends with the line.
    fn begins_comment(&self, before: &str, rest: &str) -> Option<(&'static str, Option<&'static str>)> {
        let starts_line = before.trim_start().is_empty();
        let mut docstrings = self.docstring.iter().filter(|_| starts_line);
        if let Some(mark) = docstrings.find(|mark| rest.starts_with(**mark)) {
            return Some((*mark, Some(*mark)));
        }
        if let Some((mark, end)) = self.block.iter().find(|(mark, _)| rest.starts_with(*mark)) {
            return Some((*mark, Some(*end)));
        }
        let is_mark = |mark: &&&str| match **mark {
            // `${x#y}`, `a#b`
            "#" => rest.starts_with('#') && before.chars().next_back().is_none_or(char::is_whitespace),
            // `https://…`
            "//" => rest.starts_with("//") && !before.ends_with(':'),
            mark => rest.starts_with(mark),
        };
        self.line.iter().find(is_mark).map(|mark| (*mark, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("a.rs", "x(); // why", "x(); ", " why")]
    #[case("a.rs", "// all", "", " all")]
    #[case("a.rs", r#"let a = "http://x"; // b"#, r#"let a = "http://x"; "#, " b")]
    #[case("a.rs", r#"let a = "\" // x"; // b"#, r#"let a = "\" // x"; "#, " b")]
    #[case("a.rs", "fn f<'a>(x: &'a str) {} // don't", "fn f<'a>(x: &'a str) {} ", " don't")]
    #[case("a.rs", "x /* y */ z", "x  z", " y ")]
    #[case("a.ts", "import x from 'a//b' // c", "import x from 'a//b' ", " c")]
    #[case("a.scss", "a: url(http://x)", "a: url(http://x)", "")]
    #[case("a.py", "x = '#' # y", "x = '#' ", " y")]
    #[case("a.py", r#"    """Uses x.""""#, "    ", "Uses x.")]
    #[case("a.py", r#"x = """select""""#, r#"x = """select""""#, "")]
    #[case("a.sh", "echo ${x#y} # it's", "echo ${x#y} ", " it's")]
    #[case("Makefile", "a: b # c", "a: b ", " c")]
    #[case("a.sql", "select 1 -- x", "select 1 ", " x")]
    #[case("a.html", "<a> <!-- x -->", "<a> ", " x ")]
    #[case("a.unknown", "# x // y", "# x // y", "")]
    fn a_line_and_its_comment(#[case] path: &str, #[case] text: &str, #[case] code: &str, #[case] comment: &str) {
        let found = split(path, [(1, text)].into_iter());
        assert_eq!(found, [SplitLine { code: code.to_owned(), comment: comment.to_owned() }]);
    }

    #[test]
    fn a_comment_over_several_lines_ends_at_its_mark_or_where_lines_are_missing() {
        let lines = [(1, "a /* b"), (2, "c"), (3, "d */ e"), (4, "/* f"), (9, "g")];
        let code: Vec<_> = split("a.c", lines.into_iter()).into_iter().map(|line| line.code).collect();
        assert_eq!(code, ["a ", "", " e", "", "g"]);
    }
}
