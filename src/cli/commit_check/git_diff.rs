//! Parses the output of `git diff`: the changed files and lines. Pure.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;

use super::comments::{self, SplitLine};

/// What sets a colour in the output of `git diff --color=always`.
static COLOR: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\x1b\[[0-9;]*[mK]").ok());

/// A file of a diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Its path in the repository after the change, or before it if the file is deleted.
    pub(super) path: String,
    /// Whether the file is deleted, or moved to another path.
    pub(super) is_deleted: bool,
    pub(super) added: Vec<ChangedLine>,
    pub(super) removed: Vec<ChangedLine>,
}

/// A line that a change adds or removes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedLine {
    /// Its number in the new file, or in the old file if it is removed.
    pub(super) number: usize,
    pub(super) text: String,
    /// Its code and its comment.
    pub(super) split: SplitLine,
    /// The Rust module within the file in which it stands, as far as the diff shows it.
    pub(super) module: Option<String>,
}

/// The position of a hunk in the old or in the new file.
#[derive(Debug, Default)]
struct HunkSide<'t> {
    /// The number of the next line.
    number: usize,
    /// The number of lines that are still expected.
    left: usize,
    module: Option<&'t str>,
}

impl<'t> HunkSide<'t> {
    /// Moves past a line and returns it.
    fn pass(&mut self, text: &'t str) -> ChangedLine {
        self.module = module_after(text, self.module);
        let module = self.module.map(str::to_owned);
        let line = ChangedLine { number: self.number, text: text.to_owned(), module, ..ChangedLine::default() };
        self.number += 1;
        self.left = self.left.saturating_sub(1);
        line
    }
}

/// Why a part of a diff cannot be read. Lines are counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InvalidDiff {
    /// A hunk is shorter than its header says: at this line more of it was expected.
    Truncated { line: usize },
    /// The hunk that begins at this line compares with several commits, as `git show` does for a merge.
    Combined { line: usize },
    /// The hunk that begins at this line does not say where it is in the file, or how long it is.
    InvalidHunk { line: usize },
}

/// Parses a diff, which may have colours. Unknown lines are ignored, but a hunk that cannot be read is an error.
pub(super) fn read(text: &str) -> Result<Vec<ChangedFile>, InvalidDiff> {
    let text = COLOR.as_ref().map_or(Cow::Borrowed(text), |color| color.replace_all(text, ""));
    let mut files: Vec<ChangedFile> = Vec::new();
    let (mut old, mut new) = (HunkSide::default(), HunkSide::default());
    // Whether the last file comes from a header of git, which a `---` line of the same file may follow.
    let mut in_header = false;
    for (number, line) in text.lines().enumerate() {
        // Within a hunk a line that looks like a header is still content.
        if old.left > 0 || new.left > 0 {
            let content = line.get(1..).unwrap_or_default();
            match line.as_bytes().first() {
                Some(b'+') => {
                    let line = new.pass(content);
                    if let Some(file) = files.last_mut() {
                        file.added.push(line);
                    }
                    continue;
                }
                Some(b'-') => {
                    let line = old.pass(content);
                    if let Some(file) = files.last_mut() {
                        file.removed.push(line);
                    }
                    continue;
                }
                Some(b' ') | None => {
                    old.pass(content);
                    new.pass(content);
                    continue;
                }
                // `\ No newline at end of file`
                Some(b'\\') => continue,
                _ => return Err(InvalidDiff::Truncated { line: number + 1 }),
            }
        }
        let new_file = |path: Option<String>| ChangedFile { path: path.unwrap_or_default(), ..ChangedFile::default() };
        if let Some(names) = line.strip_prefix("diff --git ") {
            // No other line names the file if it is binary or empty, or if only its mode changed.
            files.push(new_file(header_name(names)));
            in_header = true;
        } else if line.starts_with("deleted file mode ") && in_header {
            if let Some(file) = files.last_mut() {
                file.is_deleted = true;
            }
        } else if let Some((path, is_deleted)) = renamed(line).filter(|_| in_header) {
            files.push(ChangedFile { is_deleted, ..new_file(Some(unquoted(path))) });
        } else if let Some(path) = line.strip_prefix("--- ") {
            let path = name(path, "a/");
            match files.last_mut().filter(|_| in_header) {
                Some(file) => file.path = path.unwrap_or_else(|| std::mem::take(&mut file.path)),
                None => files.push(new_file(path)),
            }
            in_header = false;
        } else if let Some(path) = line.strip_prefix("+++ ") {
            match (files.last_mut(), name(path, "b/")) {
                (Some(file), Some(path)) => file.path = path,
                (Some(file), None) => file.is_deleted = true,
                (None, _) => {}
            }
        } else if line.starts_with("@@@") && !files.is_empty() {
            return Err(InvalidDiff::Combined { line: number + 1 });
        } else if let Some(hunk) = line.strip_prefix("@@").filter(|_| !files.is_empty()) {
            // Its lines would not be checked.
            let numbers = numbers(hunk).ok_or(InvalidDiff::InvalidHunk { line: number + 1 })?;
            // git repeats the last line before the hunk that begins at the left margin.
            let module = hunk.split_once(" @@ ").and_then(|(_, section)| module_after(section, None));
            [old, new] = numbers.map(|(number, left)| HunkSide { number, left, module });
        }
    }
    if old.left > 0 || new.left > 0 {
        return Err(InvalidDiff::Truncated { line: text.lines().count() + 1 });
    }
    files.retain(|file| !file.path.is_empty());
    for file in &mut files {
        for lines in [&mut file.added, &mut file.removed] {
            let split = comments::split(&file.path, lines.iter().map(|line| (line.number, line.text.as_str())));
            lines.iter_mut().zip(split).for_each(|(line, split)| line.split = split);
        }
    }
    Ok(files)
}

/// Returns the Rust module in which the lines after this one stand, given that of the line. A line at the left margin
/// is in none: it ends a module, or begins one.
fn module_after<'t>(line: &'t str, module: Option<&'t str>) -> Option<&'t str> {
    if line.is_empty() || line.starts_with(char::is_whitespace) {
        return module;
    }
    let (name, rest) = line.strip_prefix("pub ").unwrap_or(line).strip_prefix("mod ")?.split_once(' ')?;
    (rest.trim_end() == "{").then_some(name)
}

/// Returns the path of a `---` or `+++` line; `None` for `/dev/null`.
fn name(path: &str, prefix: &str) -> Option<String> {
    let path = unquoted(path.split('\t').next().unwrap_or(path).trim_end());
    (path != "/dev/null").then(|| path.strip_prefix(prefix).unwrap_or(&path).to_owned())
}

/// Returns the path in the two names of a `diff --git` line, `a/PATH b/PATH`; `None` if they differ. A path may contain spaces, but
/// equal names are equally long.
fn header_name(names: &str) -> Option<String> {
    let middle = names.len() / 2;
    let (old, new) = (names.get(..middle)?, names.get(middle..)?.strip_prefix(' ')?);
    name(old, "a/").filter(|old| name(new, "b/").as_ref() == Some(old))
}

/// Returns the path in a header's line about a renamed or copied file, and whether the file is no longer there.
fn renamed(line: &str) -> Option<(&str, bool)> {
    let heads = [("rename from ", true), ("rename to ", false), ("copy to ", false)];
    heads.iter().find_map(|(head, is_deleted)| Some((line.strip_prefix(head)?, *is_deleted)))
}

/// Returns a path without the quotes and the escapes, as in C, with which git writes one that has special characters.
fn unquoted(path: &str) -> String {
    let Some(path) = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')) else { return path.to_owned() };
    let mut out = Vec::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let escaped = if byte == b'\\' { bytes.next() } else { None };
        out.push(match escaped {
            None => byte,
            Some(b'a') => 0x07,
            Some(b'b') => 0x08,
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'v') => 0x0b,
            Some(b'f') => 0x0c,
            Some(b'r') => b'\r',
            // A byte as three octal digits.
            Some(first @ b'0'..=b'3') => bytes
                .by_ref()
                .take(2)
                .fold(first - b'0', |sum, digit| sum.wrapping_mul(8).wrapping_add(digit.wrapping_sub(b'0'))),
            Some(other) => other,
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Parses ` -3,2 +4,5 @@ …`: the first line and the number of lines, in the old and in the new file.
fn numbers(hunk: &str) -> Option<[(usize, usize); 2]> {
    let mut parts = hunk.strip_prefix(' ')?.split(' ');
    let mut part = |mark: char| -> Option<(usize, usize)> {
        let range = parts.next()?.strip_prefix(mark)?;
        let (start, length) = range.split_once(',').unwrap_or((range, "1"));
        Some((start.parse().ok()?, length.parse().ok()?))
    };
    Some([part('-')?, part('+')?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_lines_have_their_numbers_and_removed_files_their_names() {
        let text = "\
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -3,2 +3,3 @@ fn f() {
-old
--- a/not/a/header
+new
++++ b/nor/this
+third
@@ -20 +21 @@
-x
+y
diff --git a/gone.sql b/gone.sql
--- a/gone.sql
+++ /dev/null
@@ -1,1 +0,0 @@
-z
diff --git a/made b/made
--- /dev/null
+++ b/made
@@ -0,0 +1 @@
+w
\\ No newline at end of file
";
        let files = read(text).unwrap();
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["src/a.rs", "gone.sql", "made"]);
        let numbered =
            |lines: &[ChangedLine]| -> Vec<_> { lines.iter().map(|line| (line.number, line.text.clone())).collect() };
        let expected = [(3, "new"), (4, "+++ b/nor/this"), (5, "third"), (21, "y")];
        assert_eq!(numbered(&files[0].added), expected.map(|(number, text)| (number, text.to_owned())));
        let expected = [(3, "old"), (4, "-- a/not/a/header"), (20, "x")];
        assert_eq!(numbered(&files[0].removed), expected.map(|(number, text)| (number, text.to_owned())));
        assert!(files[1].added.is_empty() && files[1].is_deleted);
        assert_eq!(numbered(&files[2].added), [(1, "w".to_owned())]);
        assert!(files[2].removed.is_empty() && !files[2].is_deleted);
    }

    #[test]
    fn files_without_changed_lines_are_read_from_their_headers() {
        let text = r"diff --git a/bin/run b/bin/run
old mode 100644
new mode 100755
diff --git a/vendor/new b/lib.so b/vendor/new b/lib.so
new file mode 100644
index 0000000..88f3700
Binary files /dev/null and b/vendor/new b/lib.so differ
diff --git a/empty b/empty
deleted file mode 100644
index e69de29..0000000
diff --git a/src/a.rs b/src/a.rs
index 1..2 100644
--- a/src/a.rs
+++ b/src/a.rs
@@ -0,0 +1 @@
+x
diff --git a/vendor/old.c b/src/b.c
similarity index 100%
rename from vendor/old.c
rename to src/b.c
";
        let files = read(text).unwrap();
        let paths: Vec<_> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(
            paths,
            ["bin/run", "vendor/new b/lib.so", "empty", "src/a.rs", "vendor/old.c", "src/b.c"],
            "and each once"
        );
        let added: Vec<_> = files.iter().map(|file| file.added.len()).collect();
        assert_eq!(added, [0, 0, 0, 1, 0, 0]);
        let deleted: Vec<_> = files.iter().map(|file| file.is_deleted).collect();
        assert_eq!(deleted, [false, false, true, false, true, false]);
    }

    #[rstest::rstest]
    #[case("src/a.rs", "src/a.rs")]
    #[case(r#""\303\274bersicht/\"q\"""#, "übersicht/\"q\"")]
    #[case(r#""tab\there\\""#, "tab\there\\")]
    #[case(r#""\377""#, "\u{fffd}")]
    #[case(r#""\3""#, "\u{3}")]
    #[case("\"", "\"")]
    fn a_quoted_path_is_read_without_its_escapes(#[case] written: &str, #[case] path: &str) {
        assert_eq!(unquoted(written), path);
        if let Some(inside) = written.strip_prefix('"').and_then(|path| path.strip_suffix('"')) {
            let header = format!("diff --git \"a/{inside}\" \"b/{inside}\"\n--- /dev/null\n+++ \"b/{inside}\"\n");
            let paths: Vec<_> = read(&header).unwrap().into_iter().map(|file| file.path).collect();
            assert_eq!(paths, [path]);
        }
    }

    #[test]
    fn what_is_no_change_adds_nothing() {
        for text in ["", "hello", "@@ -0,0 +1 @@\n+x", "--- \n+++ \n", "@@ x @@\n+y", " a.rs | 2 +-\n"] {
            assert_eq!(read(text), Ok(Vec::new()), "{text}");
        }
    }

    #[test]
    fn colours_are_ignored() {
        let text = "\x1b[1mdiff --git a/a b/a\x1b[m\n\x1b[1m--- a/a\x1b[m\n\x1b[1m+++ b/a\x1b[m\n\
            \x1b[36m@@ -0,0 +1 @@\x1b[m\n\x1b[32m+\x1b[m\x1b[32mx\x1b[m\n";
        let files = read(text).unwrap();
        assert_eq!((files[0].path.as_str(), files[0].added[0].text.as_str()), ("a", "x"));
    }

    #[test]
    fn a_line_is_in_the_module_that_the_hunk_shows() {
        let of = |hunk: &str| {
            let files = read(&format!("--- a/a.rs\n+++ b/a.rs\n{hunk}\n")).unwrap();
            files[0].added.last().unwrap().module.clone()
        };
        assert_eq!(of("@@ -8,0 +9 @@ mod tests {\n+    x"), Some("tests".to_owned()));
        assert_eq!(of("@@ -8,0 +9,2 @@ mod tests {\n+}\n+fn f() {"), None, "the module has ended");
        assert_eq!(of("@@ -8,2 +8,3 @@ mod tests {\n }\n \n+    x"), None);
        assert_eq!(of("@@ -8 +8,3 @@ fn f() {\n #[cfg(test)]\n+mod tests {\n+    x"), Some("tests".to_owned()));
        assert_eq!(of("@@ -8 +8,2 @@ fn f() {\n-mod tests {\n+mod tests;\n+    x"), None);
        assert_eq!(of("@@ -8,0 +9 @@ mod tests;\n+    x"), None, "that one is another file");
    }

    #[test]
    fn a_combined_diff_is_reported() {
        let text = "diff --cc a\n--- a/a\n+++ b/a\n@@@ -1,1 -1,1 +1,1 @@@\n++x\n";
        assert_eq!(read(text), Err(InvalidDiff::Combined { line: 4 }));
        let of_three = "diff --cc a\n--- a/a\n+++ b/a\n@@@@ -1 -1 -1 +1 @@@@\n+++x\n";
        assert_eq!(read(of_three), Err(InvalidDiff::Combined { line: 4 }));
    }

    #[rstest::rstest]
    #[case("@@ -1 +x @@")]
    #[case("@@ -1 @@")]
    #[case("@@ -1 +1,99999999999999999999 @@")]
    #[case("@@-1 +1@@")]
    #[case("@@")]
    fn a_hunk_with_an_invalid_header_is_reported(#[case] header: &str) {
        let text = format!("--- a/x\n+++ b/x\n{header}\n+forbidden\n");
        assert_eq!(read(&text), Err(InvalidDiff::InvalidHunk { line: 3 }));
    }

    #[test]
    fn a_hunk_that_lacks_its_rest_is_reported() {
        let head = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-x\n";
        assert_eq!(read(head), Err(InvalidDiff::Truncated { line: 5 }));
        assert_eq!(read(&format!("{head}-y\n+z\ndiff --git a/b b/b\n")), Err(InvalidDiff::Truncated { line: 7 }));
        assert!(read(&format!("{head}-y\n+z\n+w\n")).is_ok());
    }
}
