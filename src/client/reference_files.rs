//! Finds the files to import for reference under a path: text files that are not too large, with their stored names and
//! the reasons why others are skipped.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::{
    api::{MAX_FILE, MAX_FILE_NAME},
    domain::text::sanitize_line,
    files::{PathTarget, bytes, locate, real_path, system_words},
};

/// Folders of generated files.
const GENERATED_FOLDERS: [&str; 6] = ["target", "node_modules", "__pycache__", "venv", "dist", "vendor"];

/// How deep folders may be nested.
const MAX_DEPTH: usize = 64;

/// The files that a search found.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The files, each once, in order.
    pub files: BTreeSet<PathBuf>,
    /// The files that are skipped, and why.
    pub skipped: Vec<(PathBuf, String)>,
    /// The links that lead out of the project or to a hidden file, and why they are not followed: earlier imports of them are removed.
    pub outside: Vec<(PathBuf, String)>,
    /// The folders that could not be read: files below them may still exist.
    pub unread: Vec<PathBuf>,
}

/// Finds the files under a path that the user named, in a project whose root is `top`.
///
/// Skips hidden files, links to folders, folders of generated files, and links that lead out of the project.
pub fn files(top: &Path, named: &Path, found: &mut FoundFiles) {
    let root = match root(top, named) {
        Ok(PathTarget::Inside(root)) => root,
        Ok(PathTarget::Outside(real)) => return found.outside.push((named.to_owned(), leads_out(&real))),
        Err(error) => return found.skipped.push((named.to_owned(), system_words(&error))),
    };
    match fs::metadata(named) {
        Ok(meta) if meta.is_dir() => folder(&root, named, 0, found),
        Ok(meta) => file(&root, named, &meta, found),
        Err(error) => found.skipped.push((named.to_owned(), system_words(&error))),
    }
}

/// Returns the folder that every file must lie in: the project, else the path that the user named.
fn root(top: &Path, named: &Path) -> io::Result<PathTarget> {
    let top = fs::canonicalize(top)?;
    Ok(match locate(&top, named)? {
        PathTarget::Inside(_) => PathTarget::Inside(top),
        PathTarget::Outside(real) => match named.parent().map(real_path).transpose()? {
            // The user need not know where a link inside the project leads.
            Some(folder) if folder.starts_with(&top) => PathTarget::Outside(real),
            _ => PathTarget::Inside(real),
        },
    })
}

fn leads_out(real: &Path) -> String {
    format!("a link to {}, outside of the project: to ingest that file, name it directly", shown(real))
}

/// Formats a path so that it fits on one line of an answer.
fn shown(path: &Path) -> String {
    sanitize_line(&path.display().to_string())
}

/// Returns why a name cannot be stored; `None` if it can.
pub fn unfit_name(name: &str) -> Option<String> {
    if name.len() > MAX_FILE_NAME {
        Some(format!("its path has {} bytes; the limit is {MAX_FILE_NAME}", name.len()))
    } else if name.contains(char::is_control) {
        Some("its name contains a line break or another control character: rename it to ingest it".to_owned())
    } else {
        None
    }
}

fn folder(root: &Path, path: &Path, depth: usize, found: &mut FoundFiles) {
    if depth > MAX_DEPTH {
        found.skipped.push((path.to_owned(), format!("nested more than {MAX_DEPTH} folders deep")));
        found.unread.push(path.to_owned());
        return;
    }
    let entries = match fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>) {
        Ok(entries) => entries,
        Err(error) => {
            found.skipped.push((path.to_owned(), system_words(&error)));
            if error.kind() != io::ErrorKind::NotFound {
                found.unread.push(path.to_owned());
            }
            return;
        }
    };
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_hidden(Path::new(&name)) {
            continue;
        }
        let link = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_symlink());
        match fs::metadata(&path) {
            // A link may lead back to a parent folder.
            Ok(meta) if meta.is_dir() && link => {
                found.skipped.push((path, "a link to a folder: to ingest the folder, name it directly".to_owned()));
            }
            Ok(meta) if meta.is_dir() && GENERATED_FOLDERS.contains(&name.as_str()) => {}
            Ok(meta) if meta.is_dir() => folder(root, &path, depth + 1, found),
            Ok(meta) => file(root, &path, &meta, found),
            Err(error) => found.skipped.push((path, system_words(&error))),
        }
    }
}

fn file(root: &Path, path: &Path, meta: &fs::Metadata, found: &mut FoundFiles) {
    let within = |path| Path::strip_prefix(path, root).unwrap_or(path);
    let why = match locate(root, path) {
        Ok(PathTarget::Outside(real)) => return found.outside.push((path.to_owned(), leads_out(&real))),
        Ok(PathTarget::Inside(_)) if path.to_str().is_none() => {
            Err("its name is not UTF-8: rename it to ingest it".to_owned())
        }
        Ok(PathTarget::Inside(real)) if !is_hidden(within(path)) && is_hidden(within(&real)) => {
            let why = "a link to a hidden file: to ingest that file, name it directly";
            return found.outside.push((path.to_owned(), why.to_owned()));
        }
        Ok(PathTarget::Inside(_)) => fits(meta),
        Err(error) => Err(system_words(&error)),
    };
    match why {
        Ok(()) => drop(found.files.insert(path.to_owned())),
        Err(why) => found.skipped.push((path.to_owned(), why)),
    }
}

/// Whether a file is hidden, or in a hidden folder. `within` is its path from the project's root.
pub fn is_hidden(within: &Path) -> bool {
    within.components().any(|part| matches!(part, Component::Normal(name) if name.as_encoded_bytes().starts_with(b".")))
}

/// Checks whether a file may be read; `Err` says why not.
pub fn fits(meta: &fs::Metadata) -> Result<(), String> {
    if !meta.is_file() {
        // Reading a pipe would block for ever.
        Err("not a regular file".to_owned())
    } else if meta.len() > MAX_FILE as u64 {
        Err(format!("{} bytes; the limit is {MAX_FILE}", meta.len()))
    } else {
        Ok(())
    }
}

/// Returns the name under which a file is stored: relative to the project's root, else absolute.
pub fn named_in(top: &Path, path: &Path) -> String {
    let real = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    // The folder is resolved and the file's name is not, so that a link keeps its own name.
    let whole = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if !path.is_dir() => real(folder).join(name),
        _ => real(path),
    };
    whole.strip_prefix(real(top)).unwrap_or(&whole).display().to_string()
}

/// Why a file is skipped.
#[derive(Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// It is not text: an earlier import of it is removed.
    NoText(String),
    /// It cannot be read now.
    Failed(String),
}

/// Returns the text of a file that [`fits`].
pub fn text(path: &Path) -> Result<String, SkipReason> {
    let bytes = bytes(path, MAX_FILE as u64).map_err(|error| SkipReason::Failed(system_words(&error)))?;
    if bytes.contains(&0) {
        return Err(SkipReason::NoText("binary".to_owned()));
    }
    String::from_utf8(bytes).map_err(|error| {
        SkipReason::NoText(format!("not UTF-8: byte {} cannot be read", error.utf8_error().valid_up_to() + 1))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_no_plain_file_is_reported_and_loops_end() {
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
        symlink(at(".hidden"), at("docs/settings.md")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
            .unwrap();
        let mut found = FoundFiles::default();
        files(dir.path(), dir.path(), &mut found);
        let names: Vec<_> = found.files.iter().map(|path| path.strip_prefix(dir.path()).unwrap().to_owned()).collect();
        assert_eq!(names, ["docs/a.md", "docs/deep/b.txt", "linked.md"].map(PathBuf::from));
        let skipped: BTreeSet<_> = found
            .skipped
            .iter()
            .map(|(path, why)| (path.file_name().unwrap().to_str().unwrap(), why.split(' ').next().unwrap()))
            .collect();
        let expected = [("again", "a"), ("broken", "No"), ("huge.log", "2097153"), ("pipe", "not")];
        assert_eq!(skipped, expected.into());
        assert_eq!(found.outside.iter().map(|(path, _)| path).collect::<Vec<_>>(), [&at("docs/settings.md")]);
    }

    #[test]
    fn links_lead_out_of_no_project_and_odd_names_are_reported() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join("project");
        fs::create_dir_all(top.join("docs")).unwrap();
        fs::create_dir(dir.path().join("notes")).unwrap();
        fs::write(dir.path().join("secret"), "s").unwrap();
        fs::write(top.join("a.md"), "a").unwrap();
        symlink("../secret", top.join("out.md")).unwrap();
        symlink("../a.md", top.join("docs/in.md")).unwrap();
        symlink("../secret", dir.path().join("notes/out.md")).unwrap();
        symlink("secret", dir.path().join("mine.md")).unwrap();
        let looked = |named: &str| {
            let mut found = FoundFiles::default();
            files(&top, &dir.path().join(named), &mut found);
            (
                found.files.len(),
                found.skipped.iter().chain(&found.outside).map(|(_, why)| why.clone()).collect::<String>(),
            )
        };
        let (taken, why) = looked("project");
        assert!(taken == 2 && why.contains("secret, outside of the project"), "{taken} {why}");
        assert_eq!(looked("project/docs"), (1, String::new()), "a link within the project is a file of it");
        let (taken, why) = looked("project/out.md");
        assert!(taken == 0 && why.contains("outside"), "{taken} {why}");
        assert!(looked("notes").0 == 0, "the same holds in a folder elsewhere");
        assert_eq!(looked("mine.md"), (1, String::new()), "a link of one's own that is named");
        assert!(unfit_name("a\nb").is_some() && unfit_name(&"x".repeat(1025)).is_some() && unfit_name("a b").is_none());
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
        assert_eq!(text(&path), Err(SkipReason::NoText("binary".to_owned())));
        fs::write(&path, b"ab\xff").unwrap();
        assert!(matches!(text(&path), Err(SkipReason::NoText(why)) if why.contains("byte 3")));
        assert!(matches!(text(&dir.path().join("none")), Err(SkipReason::Failed(_))));
    }
}
