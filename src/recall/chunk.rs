//! A file in pieces that can be found and named: Markdown by its headings, prose by its paragraphs, source by its definitions. (record 43)
//!
//! A chunk is whole lines of the file, word for word, so that `path:line` leads back to it; only a line that is longer than a chunk may be is cut.

/// How large chunks are, in bytes: parts of one section are put together until they reach the first, and none exceeds the second.
const ENOUGH: usize = 600;
const MOST: usize = 2_000;

/// How a file is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Markdown: a heading begins a chunk.
    Markdown,
    /// Prose: paragraphs.
    Text,
    /// Source: what stands at the left margin after a blank line begins a chunk.
    Source,
}

/// Endings of Markdown and of prose; every other ending is taken for source, and none for prose.
const MARKDOWN: [&str; 4] = ["md", "markdown", "mdx", "mdc"];
const TEXT: [&str; 7] = ["txt", "text", "rst", "adoc", "org", "log", "tex"];

impl Form {
    /// The form of a file, by the ending of its name.
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

/// A piece of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Its first line, from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// Its text as it stands in the file, without blank lines around it.
    pub text: &'a str,
}

/// A line: where it begins and ends in the text, line break left out.
#[derive(Clone, Copy, Debug)]
struct Line {
    from: usize,
    to: usize,
}

/// What a line is for the cutting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Nothing stands in it.
    Blank,
    /// A chunk begins here.
    Begins,
    /// A paragraph begins here.
    Paragraph,
    /// It goes on.
    Goes,
}

/// Takes a text apart. Every line with something in it is in exactly one chunk, in order.
pub fn chunks(text: &str, form: Form) -> Vec<Chunk<'_>> {
    let lines = lines(text);
    let roles = roles(text, &lines, form);
    let mut all = Vec::new();
    let mut begin = 0;
    for at in 1..=lines.len() {
        let size = |to: usize| to.saturating_sub(lines.get(begin).map_or(0, |line| line.from));
        let Some((role, line)) = roles.get(at).zip(lines.get(at)) else {
            add(text, &lines, begin, at, &mut all);
            break;
        };
        let ends = match role {
            Role::Begins => true,
            Role::Paragraph => size(line.from) >= ENOUGH || size(end_of_paragraph(&lines, &roles, at)) > MOST,
            Role::Goes | Role::Blank => size(line.to) > MOST,
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

fn roles(text: &str, lines: &[Line], form: Form) -> Vec<Role> {
    let mut fence: Option<&str> = None;
    let mut after_blank = true;
    lines
        .iter()
        .map(|line| {
            let line = text.get(line.from..line.to).unwrap_or_default();
            let trimmed = line.trim();
            if trimmed.is_empty() {
                after_blank = true;
                return Role::Blank;
            }
            let began = std::mem::replace(&mut after_blank, false);
            if form == Form::Markdown {
                let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
                match (fence, mark) {
                    (Some(open), Some(mark)) if open == mark => fence = None,
                    (None, Some(mark)) => fence = Some(mark),
                    (None, None) if is_heading(line) => return Role::Begins,
                    (Some(_), _) => return Role::Goes,
                    _ => {}
                }
            }
            let at_margin = !line.starts_with([' ', '\t']) && !trimmed.starts_with(['}', ')', ']']);
            match (began, form) {
                (true, Form::Source) if at_margin => Role::Paragraph,
                (true, Form::Source) | (false, _) => Role::Goes,
                (true, _) => Role::Paragraph,
            }
        })
        .collect()
}

/// A heading of Markdown: one to six `#`, then a space.
fn is_heading(line: &str) -> bool {
    let rest = line.trim_start_matches('#');
    let marks = line.len() - rest.len();
    (1..=6).contains(&marks) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Where the paragraph that begins at a line ends, in the text.
fn end_of_paragraph(lines: &[Line], roles: &[Role], at: usize) -> usize {
    let next = roles.iter().skip(at + 1).position(|role| matches!(role, Role::Paragraph | Role::Begins));
    let last = next.map_or(lines.len(), |further| at + 1 + further).saturating_sub(1);
    lines.get(last).map_or(0, |line| line.to)
}

/// Adds the lines `from..to`, blank ones around them left out.
fn add<'a>(text: &'a str, lines: &[Line], from: usize, to: usize, all: &mut Vec<Chunk<'a>>) {
    let of = |at: usize| lines.get(at).and_then(|line| text.get(line.from..line.to)).unwrap_or_default();
    let Some(first) = (from..to).find(|at| !of(*at).trim().is_empty()) else { return };
    let last = (first..to).rfind(|at| !of(*at).trim().is_empty()).unwrap_or(first);
    let (Some(begin), Some(end)) = (lines.get(first), lines.get(last)) else { return };
    let mut rest = text.get(begin.from..end.to).unwrap_or_default();
    // Only one line alone can be longer: it is cut, and every part is of that line.
    while rest.len() > MOST && first == last {
        let (part, after) = rest.split_at(rest.floor_char_boundary(MOST));
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

    fn told(text: &str, form: Form) -> Vec<(usize, usize, String)> {
        chunks(text, form).into_iter().map(|chunk| (chunk.first, chunk.last, chunk.text.to_owned())).collect()
    }

    #[test]
    fn markdown_is_cut_at_headings_and_not_within_code() {
        let text = "intro\n\n# One\ntext\n\nmore\n```sh\n# no heading\n\n```\n## Two\n\nlast\n";
        assert_eq!(
            told(text, Form::Markdown),
            [
                (1, 1, "intro".to_owned()),
                (3, 10, "# One\ntext\n\nmore\n```sh\n# no heading\n\n```".to_owned()),
                (11, 13, "## Two\n\nlast".to_owned()),
            ]
        );
    }

    #[test]
    fn paragraphs_and_definitions_are_put_together_until_there_is_enough() {
        let long = "word ".repeat(100);
        let text = format!("{long}\n\n{long}\n\nshort\n");
        let found: Vec<_> = told(&text, Form::Text).into_iter().map(|(first, last, _)| (first, last)).collect();
        assert_eq!(found, [(1, 3), (5, 5)]);
        let body = "    let x = 1;\n\n".repeat(45);
        let code = format!("use a;\n\nfn one() {{\n{body}}}\n\nfn two() {{}}\n");
        let found: Vec<_> = told(&code, Form::Source).into_iter().map(|(first, last, _)| (first, last)).collect();
        assert_eq!(found, [(1, 94), (96, 96)], "what is indented stays with its definition");
    }

    #[test]
    fn forms_follow_from_names() {
        for (path, form) in [
            ("docs/a.MD", Form::Markdown),
            ("notes.txt", Form::Text),
            ("LICENSE", Form::Text),
            ("a.b/LICENSE", Form::Text),
            ("src/main.rs", Form::Source),
            ("x.py", Form::Source),
        ] {
            assert_eq!(Form::of(path), form, "{path}");
        }
    }

    #[test]
    fn a_line_without_end_is_cut_and_stays_one_line() {
        let text = format!("a\n{}\nb", "ü".repeat(3_000));
        let found = chunks(&text, Form::Text);
        assert!(found.iter().all(|chunk| chunk.text.len() <= MOST), "{found:?}");
        assert_eq!(found.iter().filter(|chunk| (chunk.first, chunk.last) == (2, 2)).count(), 3);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_changed_or_said_to_stand_elsewhere(
            text in "([#a-z`~ü\\t ]{0,60}(\\n|\\r\\n|\\n\\n|\\n    )){0,80}",
            form in prop_oneof![Just(Form::Markdown), Just(Form::Text), Just(Form::Source)],
        ) {
            let lines: Vec<&str> = text.split_inclusive('\n').map(|line| line.trim_end_matches(['\n', '\r'])).collect();
            let found = chunks(&text, form);
            let mut covered = Vec::new();
            for chunk in &found {
                prop_assert!(chunk.text.len() <= MOST && !chunk.text.trim().is_empty());
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
