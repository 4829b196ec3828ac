//! Divides a file into chunks: Markdown at headings, prose at paragraphs, source code at unindented lines after a blank
//! line (record 43).
//!
//! A chunk consists of whole lines, unchanged, so that `path:line` identifies it; only a line longer than the limit is cut.

use crate::domain::fence::Fence;

/// The minimum and the maximum size of a chunk, in bytes. Paragraphs of a section are joined until the minimum is reached.
const MIN_SIZE: usize = 600;
const MAX_SIZE: usize = 2_000;

/// The format of a file, which decides where it is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFormat {
    /// Markdown: a heading begins a chunk.
    Markdown,
    /// Prose: paragraphs.
    Text,
    /// Source code: an unindented line after a blank one begins a chunk.
    Source,
}

/// The extensions of Markdown and of prose. Files with other extensions are source code; files without one are prose.
const MARKDOWN: [&str; 4] = ["md", "markdown", "mdx", "mdc"];
const TEXT: [&str; 7] = ["txt", "text", "rst", "adoc", "org", "log", "tex"];

impl TextFormat {
    /// Returns the format of a file, by its extension.
    pub fn of(path: &str) -> Self {
        let name = path.rsplit('/').next().unwrap_or(path);
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some(ending) if MARKDOWN.contains(&ending) => Self::Markdown,
            Some(ending) if !TEXT.contains(&ending) => Self::Source,
            _ => Self::Text,
        }
    }
}

/// A chunk of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Its first line, from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// Its text, unchanged, without blank lines around it.
    pub text: &'a str,
}

/// A line: its byte range in the text, without the line break.
#[derive(Clone, Copy, Debug)]
struct Line {
    from: usize,
    to: usize,
}

/// The role of a line in the division into chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineRole {
    /// An empty line.
    Blank,
    /// A chunk begins here.
    ChunkStart,
    /// A paragraph begins here.
    ParagraphStart,
    /// The paragraph continues.
    Continuation,
}

/// Divides a text into chunks. Every line that is not blank is in exactly one chunk, in order.
pub fn chunks(text: &str, format: TextFormat) -> Vec<Chunk<'_>> {
    let lines = lines(text);
    let roles = roles(text, &lines, format);
    let mut all = Vec::new();
    let mut begin = 0;
    for at in 1..=lines.len() {
        let size = |to: usize| to.saturating_sub(lines.get(begin).map_or(0, |line| line.from));
        let Some((role, line)) = roles.get(at).zip(lines.get(at)) else {
            add(text, &lines, begin, at, &mut all);
            break;
        };
        let ends = match role {
            LineRole::ChunkStart => true,
            LineRole::ParagraphStart => {
                size(line.from) >= MIN_SIZE || size(end_of_paragraph(&lines, &roles, at)) > MAX_SIZE
            }
            LineRole::Continuation | LineRole::Blank => size(line.to) > MAX_SIZE,
        };
        if ends {
            add(text, &lines, begin, at, &mut all);
            begin = at;
        }
    }
    all
}

fn lines(text: &str) -> Vec<Line> {
    let mut from = 0;
    let mut all = Vec::new();
    for line in text.split_inclusive('\n') {
        let to = from + line.trim_end_matches(['\n', '\r']).len();
        all.push(Line { from, to });
        from += line.len();
    }
    all
}

fn roles(text: &str, lines: &[Line], format: TextFormat) -> Vec<LineRole> {
    let mut fence = Fence::default();
    let mut after_blank = true;
    lines
        .iter()
        .map(|line| {
            let line = text.get(line.from..line.to).unwrap_or_default();
            let trimmed = line.trim();
            if trimmed.is_empty() {
                after_blank = true;
                return LineRole::Blank;
            }
            let began = std::mem::replace(&mut after_blank, false);
            if format == TextFormat::Markdown {
                let inside = fence.is_open();
                fence.read(line);
                if inside {
                    return LineRole::Continuation;
                }
                if !fence.is_open() && is_heading(line) {
                    return LineRole::ChunkStart;
                }
            }
            let at_margin = !line.starts_with([' ', '\t']) && !trimmed.starts_with(['}', ')', ']']);
            match (began, format) {
                (true, TextFormat::Source) if at_margin => LineRole::ParagraphStart,
                (true, TextFormat::Source) | (false, _) => LineRole::Continuation,
                (true, _) => LineRole::ParagraphStart,
            }
        })
        .collect()
}

/// Returns whether a line is a Markdown heading: one to six `#`, then a space.
fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let marks = line.len() - rest.len();
    (1..=6).contains(&marks) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Returns the end of the paragraph that begins at a line, as an offset in the text.
fn end_of_paragraph(lines: &[Line], roles: &[LineRole], at: usize) -> usize {
    let next =
        roles.iter().skip(at + 1).position(|role| matches!(role, LineRole::ParagraphStart | LineRole::ChunkStart));
    let last = next.map_or(lines.len(), |further| at + 1 + further).saturating_sub(1);
    lines.get(last).map_or(0, |line| line.to)
}

/// Adds the lines `from..to` without blank ones around them.
fn add<'a>(text: &'a str, lines: &[Line], from: usize, to: usize, all: &mut Vec<Chunk<'a>>) {
    let of = |at: usize| lines.get(at).and_then(|line| text.get(line.from..line.to)).unwrap_or_default();
    let Some(first) = (from..to).find(|at| !of(*at).trim().is_empty()) else { return };
    let last = (first..to).rfind(|at| !of(*at).trim().is_empty()).unwrap_or(first);
    let (Some(begin), Some(end)) = (lines.get(first), lines.get(last)) else { return };
    let mut rest = text.get(begin.from..end.to).unwrap_or_default();
    // Only a single line can be longer: it is cut into several chunks of that line.
    while rest.len() > MAX_SIZE && first == last {
        let (part, after) = rest.split_at(rest.floor_char_boundary(MAX_SIZE));
        if !part.trim().is_empty() {
            all.push(Chunk { first: first + 1, last: last + 1, text: part });
        }
        rest = after;
    }
    if !rest.trim().is_empty() {
        all.push(Chunk { first: first + 1, last: last + 1, text: rest });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunked(text: &str, format: TextFormat) -> Vec<(usize, usize, String)> {
        chunks(text, format).into_iter().map(|chunk| (chunk.first, chunk.last, chunk.text.to_owned())).collect()
    }

    #[test]
    fn markdown_is_cut_at_headings_and_not_within_code() {
        let text = "intro\n\n# One\ntext\n\nmore\n```sh\n# no heading\n\n```\n## Two\n\nlast\n";
        assert_eq!(
            chunked(text, TextFormat::Markdown),
            [
                (1, 1, "intro".to_owned()),
                (3, 10, "# One\ntext\n\nmore\n```sh\n# no heading\n\n```".to_owned()),
                (11, 13, "## Two\n\nlast".to_owned()),
            ]
        );
    }

    #[test]
    fn a_block_of_code_ends_at_a_fence_as_long_as_the_one_that_opened_it() {
        for code in ["````md\n```\n# no heading\n```\n# nor this\n````", "~~~\n~~~ no end\n# no heading\n\n~~~"] {
            let last = code.lines().count();
            assert_eq!(chunked(code, TextFormat::Markdown), [(1, last, code.to_owned())]);
        }
    }

    #[test]
    fn short_paragraphs_and_definitions_are_joined() {
        let long = "word ".repeat(100);
        let text = format!("{long}\n\n{long}\n\nshort\n");
        let found: Vec<_> =
            chunked(&text, TextFormat::Text).into_iter().map(|(first, last, _)| (first, last)).collect();
        assert_eq!(found, [(1, 3), (5, 5)]);
        let body = "    let x = 1;\n\n".repeat(45);
        let code = format!("use a;\n\nfn one() {{\n{body}}}\n\nfn two() {{}}\n");
        let found: Vec<_> =
            chunked(&code, TextFormat::Source).into_iter().map(|(first, last, _)| (first, last)).collect();
        assert_eq!(found, [(1, 94), (96, 96)], "indented lines stay with their definition");
    }

    #[test]
    fn the_format_follows_from_the_extension() {
        for (path, format) in [
            ("docs/a.MD", TextFormat::Markdown),
            ("notes.txt", TextFormat::Text),
            ("LICENSE", TextFormat::Text),
            ("a.b/LICENSE", TextFormat::Text),
            ("src/main.rs", TextFormat::Source),
            ("x.py", TextFormat::Source),
        ] {
            assert_eq!(TextFormat::of(path), format, "{path}");
        }
    }

    #[test]
    fn a_long_line_is_cut_into_chunks_of_one_line() {
        let text = format!("a\n{}\nb", "ü".repeat(3_000));
        let found = chunks(&text, TextFormat::Text);
        assert!(found.iter().all(|chunk| chunk.text.len() <= MAX_SIZE), "{found:?}");
        assert_eq!(found.iter().filter(|chunk| (chunk.first, chunk.last) == (2, 2)).count(), 3);
    }

    proptest! {
        #[test]
        fn chunks_cover_all_lines_unchanged_and_in_order(
            text in "([#a-z`~ü\\t ]{0,60}(\\n|\\r\\n|\\n\\n|\\n    )){0,80}",
            format in prop_oneof![Just(TextFormat::Markdown), Just(TextFormat::Text), Just(TextFormat::Source)],
        ) {
            let lines: Vec<&str> = text.split_inclusive('\n').map(|line| line.trim_end_matches(['\n', '\r'])).collect();
            let found = chunks(&text, format);
            let mut covered = Vec::new();
            for chunk in &found {
                prop_assert!(chunk.text.len() <= MAX_SIZE && !chunk.text.trim().is_empty());
                let own: Vec<&str> = chunk.text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
                prop_assert_eq!(&own[..], &lines[chunk.first - 1..chunk.last]);
                covered.extend(chunk.first..=chunk.last);
            }
            prop_assert!(covered.windows(2).all(|pair| pair[0] < pair[1]), "in order, and no line twice");
            for (at, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
                prop_assert!(covered.contains(&(at + 1)), "line {} is lost: {line:?}", at + 1);
            }
        }
    }
}
