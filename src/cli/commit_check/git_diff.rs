//! Parses the output of `git diff`: the changed files and their added lines. Pure.

/// A file of a diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Its path in the repository after the change, or before it if the file is deleted.
    pub(super) path: String,
    /// The added lines, with their numbers.
    pub(super) added: Vec<(usize, String)>,
}

/// A hunk is shorter than its header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TruncatedHunk {
    /// The line of the diff, from 1, at which more of the hunk was expected.
    pub(super) line: usize,
}

/// Parses a diff. Unknown lines are ignored.
///
/// # Errors
/// If a part of the diff is missing.
pub(super) fn read(text: &str) -> Result<Vec<ChangedFile>, TruncatedHunk> {
    let mut files: Vec<ChangedFile> = Vec::new();
    let (mut at, mut old, mut new) = (0, 0, 0);
    for (number, line) in text.lines().enumerate() {
        // Within a hunk a line that looks like a header is still content.
        if old > 0 || new > 0 {
            match line.as_bytes().first() {
                Some(b'+') => {
                    if let Some(file) = files.last_mut() {
                        file.added.push((at, line.get(1..).unwrap_or_default().to_owned()));
                    }
                    at += 1;
                    new -= usize::from(new > 0);
                    continue;
                }
                Some(b'-') => {
                    old -= usize::from(old > 0);
                    continue;
                }
                Some(b' ') | None => {
                    at += 1;
                    old -= usize::from(old > 0);
                    new -= usize::from(new > 0);
                    continue;
                }
                // `\ No newline at end of file`
                Some(b'\\') => continue,
                _ => return Err(TruncatedHunk { line: number + 1 }),
            }
        }
        if let Some(path) = line.strip_prefix("--- ") {
            files.push(ChangedFile { path: name(path, "a/").unwrap_or_default(), added: Vec::new() });
        } else if let Some(path) = line.strip_prefix("+++ ") {
            if let (Some(file), Some(path)) = (files.last_mut(), name(path, "b/")) {
                file.path = path;
            }
        } else if let Some(hunk) = line.strip_prefix("@@ ") {
            (old, at, new) = numbers(hunk).unwrap_or_default();
        }
    }
    if old > 0 || new > 0 {
        return Err(TruncatedHunk { line: text.lines().count() + 1 });
    }
    files.retain(|file| !file.path.is_empty());
    Ok(files)
}

/// Returns the path of a header; `None` for `/dev/null`.
fn name(path: &str, prefix: &str) -> Option<String> {
    let path = path.split('\t').next().unwrap_or(path).trim_end();
    let path = path.strip_prefix('"').and_then(|path| path.strip_suffix('"')).unwrap_or(path);
    (path != "/dev/null").then(|| path.strip_prefix(prefix).unwrap_or(path).to_owned())
}

/// Parses `-3,2 +4,5 @@ …`: the number of old lines, the first new line, and the number of new lines.
fn numbers(hunk: &str) -> Option<(usize, usize, usize)> {
    let mut parts = hunk.split(' ');
    let mut part = |mark: char| -> Option<(usize, usize)> {
        let range = parts.next()?.strip_prefix(mark)?;
        let (start, length) = range.split_once(',').unwrap_or((range, "1"));
        Some((start.parse().ok()?, length.parse().ok()?))
    };
    let (_, old) = part('-')?;
    let (at, new) = part('+')?;
    Some((old, at, new))
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
        let added: Vec<_> = files[0].added.iter().map(|(n, text)| (*n, text.as_str())).collect();
        assert_eq!(added, [(3, "new"), (4, "+++ b/nor/this"), (5, "third"), (21, "y")]);
        assert!(files[1].added.is_empty());
        assert_eq!(files[2].added, [(1, "w".to_owned())]);
    }

    #[test]
    fn what_is_no_change_adds_nothing() {
        for text in ["", "hello", "@@ -0,0 +1 @@\n+x", "--- \n+++ \n", "@@ x @@\n+y"] {
            assert_eq!(read(text), Ok(Vec::new()), "{text}");
        }
    }

    #[test]
    fn a_hunk_that_lacks_its_rest_is_reported() {
        let head = "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-x\n";
        assert_eq!(read(head), Err(TruncatedHunk { line: 5 }));
        assert_eq!(read(&format!("{head}-y\n+z\ndiff --git a/b b/b\n")), Err(TruncatedHunk { line: 7 }));
        assert!(read(&format!("{head}-y\n+z\n+w\n")).is_ok());
    }
}
