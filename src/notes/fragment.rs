//! Splits a file into fragments: a heading with the text below it.

use crate::domain::{EventId, fence::Fence};

/// A part of a file: a heading and the lines below it, up to the next heading of any level; or the lines before the first heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Derived from the path, its headings, and its position among fragments with the same headings. It stays the same if the text changes.
    pub id: EventId,
    /// Its heading and those above it, outermost first; empty before the first heading.
    pub headings: Vec<String>,
    /// The first line, from 1.
    pub first: usize,
    /// The last line.
    pub last: usize,
    /// The hash of its text without line endings and trailing spaces.
    pub hash: EventId,
}

/// Returns the fragments of a file in order; `path` is part of their ids. Fragments without text are left out.
pub fn fragments(path: &str, text: &str) -> Vec<Fragment> {
    let mut found: Vec<Fragment> = Vec::new();
    let mut open = OpenFragment::default();
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut fence = Fence::default();
    let mut count = 0;
    for (at, line) in lines(text).enumerate() {
        count = at + 1;
        let inside = fence.is_open();
        fence.read(line);
        if !inside
            && !fence.is_open()
            && let Some((level, title)) = heading(line)
        {
            open.close(path, at, &mut found);
            above.retain(|(other, _)| *other < level);
            above.push((level, title.to_owned()));
            open = OpenFragment::new(at + 1, above.iter().map(|(_, title)| title.clone()).collect());
        }
        open.add(line);
    }
    open.close(path, count, &mut found);
    found
}

/// Returns the lines without line endings (`\n`, `\r\n`, or a `\r` at the end of the text) and without a byte order mark.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.strip_prefix('\u{feff}').unwrap_or(text).split('\n').map(|line| line.trim_end_matches('\r'))
}

/// Returns the level and the title of a Markdown heading of the form `## Title`.
fn heading(line: &str) -> Option<(usize, &str)> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let rest = line.get(indent..).filter(|_| indent < 4)?;
    let level = rest.len() - rest.trim_start_matches('#').len();
    let title = rest.get(level..)?;
    let spaced = title.is_empty() || title.starts_with([' ', '\t']);
    ((1..=6).contains(&level) && spaced).then(|| (level, title.trim().trim_end_matches('#').trim_end()))
}

#[derive(Default)]
struct OpenFragment {
    headings: Vec<String>,
    first: usize,
    has_text: bool,
    hasher: blake3::Hasher,
}

impl OpenFragment {
    fn new(first: usize, headings: Vec<String>) -> Self {
        Self { headings, first, has_text: false, hasher: blake3::Hasher::new() }
    }

    fn add(&mut self, line: &str) {
        self.has_text |= !line.trim().is_empty();
        self.hasher.update(line.trim_end().as_bytes());
        self.hasher.update(b"\n");
    }

    fn close(&self, path: &str, last: usize, found: &mut Vec<Fragment>) {
        if !self.has_text {
            return;
        }
        let namesakes = found.iter().filter(|other| other.headings == self.headings).count();
        let mut id = blake3::Hasher::new();
        id.update(b"ergo/fragment/1");
        for part in std::iter::once(path).chain(self.headings.iter().map(String::as_str)) {
            id.update(&(part.len() as u64).to_le_bytes());
            id.update(part.as_bytes());
        }
        id.update(&(namesakes as u64).to_le_bytes());
        found.push(Fragment {
            id: EventId(*id.finalize().as_bytes()),
            headings: self.headings.clone(),
            first: self.first.max(1),
            last,
            hash: EventId(*self.hasher.finalize().as_bytes()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_split_at_its_headings_but_not_in_code() {
        let text = "intro\n# A\n\n- one\n```sh\n# no heading\n```\n## B\r\n- two\r\n## Empty\n\n# C\nlast";
        let found = fragments("CLAUDE.md", text);
        let parts: Vec<_> = found.iter().map(|part| (part.headings.join("/"), part.first, part.last)).collect();
        let expected = [("", 1, 1), ("A", 2, 7), ("A/B", 8, 9), ("A/Empty", 10, 11), ("C", 12, 13)];
        assert_eq!(parts, expected.map(|(name, first, last)| (name.to_owned(), first, last)));
    }

    #[test]
    fn an_id_outlives_a_change_of_the_text_and_a_hash_the_ends_of_lines() {
        let (old, new) = (fragments("a", "# A\nx\n"), fragments("a", "# A\r\ny\r\n"));
        assert_eq!(old[0].id, new[0].id);
        assert_ne!(old[0].hash, new[0].hash);
        assert_eq!(fragments("a", "# A\r\nx\r\n")[0].hash, old[0].hash);
        assert_ne!(fragments("b", "# A\nx\n")[0].id, old[0].id, "another file");
        let twins = fragments("a", "# A\nx\n# A\nx\n");
        assert_ne!(twins[0].id, twins[1].id);
    }

    proptest::proptest! {
        #[test]
        fn fragments_follow_each_other_and_lose_no_line_with_text(text in "([#` a-b\r]{0,6}\n){0,12}") {
            let found = fragments("f", &text);
            let mut covered = 0;
            for part in &found {
                proptest::prop_assert!(part.first > covered && part.first <= part.last);
                covered = part.last;
            }
            for (at, line) in lines(&text).enumerate() {
                let inside = found.iter().any(|part| (part.first..=part.last).contains(&(at + 1)));
                proptest::prop_assert!(inside || line.trim().is_empty());
            }
        }
    }
}
