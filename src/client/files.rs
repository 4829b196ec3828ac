//! Files that are taken in for reference: what is text and not too large under what a person named, why the rest is left out, and what a file is
//! called.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use crate::api::MAX_FILE;

/// Folders that hold what was made from something else.
const MADE: [&str; 6] = ["target", "node_modules", "__pycache__", "venv", "dist", "vendor"];

/// How deep folders may be nested.
const DEEPEST: usize = 64;

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Files, each once, in order.
    pub files: BTreeSet<PathBuf>,
    /// What is left out, and why.
    pub skipped: Vec<(PathBuf, String)>,
}

/// Looks for files under a path. Hidden ones, links to folders and folders of made things are passed over.
pub fn files(named: &Path, found: &mut Found) {
    match fs::metadata(named) {
        Ok(meta) if meta.is_dir() => folder(named, 0, found),
        Ok(meta) => file(named, &meta, found),
        Err(error) => found.skipped.push((named.to_owned(), error.to_string())),
    }
}

fn folder(path: &Path, depth: usize, found: &mut Found) {
    if depth > DEEPEST {
        found.skipped.push((path.to_owned(), format!("nested more than {DEEPEST} folders deep")));
        return;
    }
    let entries = match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(error) => {
            found.skipped.push((path.to_owned(), error.to_string()));
            return;
        }
    };
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let link = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
        match fs::metadata(&path) {
            // A link may lead back to where it stands.
            Ok(meta) if meta.is_dir() && link => {
                found.skipped.push((path, "a link to a folder: name the folder itself to take it in".to_owned()));
            }
            Ok(meta) if meta.is_dir() && MADE.contains(&name.as_str()) => {}
            Ok(meta) if meta.is_dir() => folder(&path, depth + 1, found),
            Ok(meta) => file(&path, &meta, found),
            Err(error) => found.skipped.push((path, error.to_string())),
        }
    }
}

fn file(path: &Path, meta: &fs::Metadata, found: &mut Found) {
    match fits(meta) {
        Ok(()) => drop(found.files.insert(path.to_owned())),
        Err(why) => found.skipped.push((path.to_owned(), why)),
    }
}

/// Whether a file may be read; `Err` says why not.
pub fn fits(meta: &fs::Metadata) -> Result<(), String> {
    if !meta.is_file() {
        // Reading a pipe would wait for ever.
        Err("no regular file".to_owned())
    } else if meta.len() > MAX_FILE as u64 {
        Err(format!("{} bytes; at most {MAX_FILE} are taken in", meta.len()))
    } else {
        Ok(())
    }
}

/// A file's name as it is to be known: relative to the top of the project, else absolute.
pub fn named_in(top: &Path, path: &Path) -> String {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // The folder is real; the name stays, so that a link is known by its own.
    let whole = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if !path.is_dir() => real(folder).join(name),
        _ => real(path),
    };
    whole.strip_prefix(real(top)).unwrap_or(&whole).display().to_string()
}

/// Why a file is not taken in.
#[derive(Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is no text: what was taken in of it before is gone.
    NoText(String),
    /// It cannot be read at present.
    Failed(String),
}

/// The text of a file that [`fits`].
pub fn text(path: &Path) -> Result<String, Unread> {
    let bytes = fs::read(path).map_err(|error| Unread::Failed(error.to_string()))?;
    if bytes.contains(&0) {
        return Err(Unread::NoText("binary".to_owned()));
    }
    String::from_utf8(bytes).map_err(|error| {
        Unread::NoText(format!("not UTF-8: byte {} cannot be read", error.utf8_error().valid_up_to() + 1))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_no_plain_file_is_told_and_loops_end() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("docs/deep")).unwrap();
        fs::create_dir_all(at("target")).unwrap();
        fs::write(at("docs/a.md"), "# A").unwrap();
        fs::write(at("docs/deep/b.txt"), "b").unwrap();
        fs::write(at("target/made.txt"), "made").unwrap();
        fs::write(at(".hidden"), "h").unwrap();
        fs::write(at("huge.log"), vec![b'x'; MAX_FILE + 1]).unwrap();
        symlink(at("docs"), at("docs/deep/again")).unwrap();
        symlink(at("nowhere"), at("docs/broken")).unwrap();
        symlink(at("docs/a.md"), at("linked.md")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        let mut found = Found::default();
        files(dir.path(), &mut found);
        let names: Vec<_> = found.files.iter().map(|path| path.strip_prefix(dir.path()).unwrap().to_owned()).collect();
        assert_eq!(names, ["docs/a.md", "docs/deep/b.txt", "linked.md"].map(PathBuf::from));
        let skipped: BTreeSet<_> = found
            .skipped
            .iter()
            .map(|(path, why)| (path.file_name().unwrap().to_str().unwrap(), why.split(' ').next().unwrap()))
            .collect();
        assert_eq!(skipped, [("again", "a"), ("broken", "No"), ("huge.log", "2097153"), ("pipe", "no")].into());
    }

    #[test]
    fn names_are_those_of_the_project() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir(top.join("docs")).unwrap();
        fs::write(top.join("docs/a.md"), "").unwrap();
        assert_eq!(named_in(&top, &top.join("docs/../docs/a.md")), "docs/a.md");
        assert_eq!(named_in(&top, &top.join("docs")), "docs");
        assert_eq!(named_in(&top, &top), "");
        assert_eq!(named_in(&top.join("docs"), &top.join("b")), top.join("b").display().to_string());
    }

    #[test]
    fn only_text_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        fs::write(&path, "grün\n").unwrap();
        assert_eq!(text(&path), Ok("grün\n".to_owned()));
        fs::write(&path, b"a\0b").unwrap();
        assert_eq!(text(&path), Err(Unread::NoText("binary".to_owned())));
        fs::write(&path, b"ab\xff").unwrap();
        assert!(matches!(text(&path), Err(Unread::NoText(why)) if why.contains("byte 3")));
        assert!(matches!(text(&dir.path().join("none")), Err(Unread::Failed(_))));
    }
}
