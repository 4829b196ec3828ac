//! Which files of a folder hold rules: those at the places where agents and people look for them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::watch_list::WatchedFile;
use crate::files::repository;

/// The files of rules of a project, by their paths in it.
const PLACES: [&str; 10] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    ".claude/CLAUDE.md",
    "AGENTS.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".github/copilot-instructions.md",
    "CONTRIBUTING.md",
    ".github/CONTRIBUTING.md",
];

/// Folders of rules, with the ends of the names of their files.
const FOLDERS: [(&str, &str); 5] =
    [(".cursor/rules", ".mdc"), ("docs/adr", ".md"), ("doc/adr", ".md"), ("docs/decisions", ".md"), ("adr", ".md")];

/// The most files of one folder of rules, and the most projects of one folder.
const MOST: usize = 2_000;

/// Returns the files to follow: the path itself if it is a file; else those of the project that it is, or of the projects in it.
pub(super) fn files_under(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let mut found = of_project(path);
    let is_project = !found.is_empty() || path.join(".git").exists();
    if !is_project {
        found.extend(entries(path).into_iter().filter(|entry| entry.is_dir()).flat_map(|entry| of_project(&entry)));
    }
    found
}

fn of_project(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = PLACES.iter().map(|place| folder.join(place)).filter(|path| path.is_file()).collect();
    for (place, end) in FOLDERS {
        let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(end));
        let folder = folder.join(place);
        if folder.is_dir() {
            found.extend(entries(&folder).into_iter().filter(named).filter(|path| path.is_file()));
        }
    }
    // Two links to one file are one file.
    let mut files: Vec<PathBuf> = found.into_iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    files.sort();
    files.dedup();
    files
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = read.take(MOST).filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
}

/// A file that was not read yet, with its project.
pub(super) fn watched_file(path: &Path, org: &str) -> WatchedFile {
    let folder = path.parent().unwrap_or(path);
    let project = repository::project_of(folder);
    let in_repository = repository::in_repository(folder);
    // Outside of a repository, the folder that holds `.github` or `docs/adr` is the project.
    let top = if in_repository { repository::top_of(folder) } else { top_of_places(path) };
    let (name, identities) = if in_repository {
        (project.name, project.identities)
    } else {
        let name = top.file_name().map_or_else(|| project.name.clone(), |name| name.to_string_lossy().into_owned());
        (name, vec![top.display().to_string()])
    };
    let shown = path.strip_prefix(&top).unwrap_or(path).display().to_string();
    WatchedFile { org: org.to_owned(), project: name, identities, shown, ..WatchedFile::default() }
}

/// The folder in which a file stands at one of the known places; its own folder if it stands elsewhere.
fn top_of_places(path: &Path) -> PathBuf {
    let folder = path.parent().unwrap_or(path);
    let above = |inner: &str| {
        let inner = Path::new(inner);
        path.ends_with(inner).then(|| path.ancestors().nth(inner.components().count()).map(Path::to_owned))?
    };
    let of_folder = |inner: &str| {
        let inner = Path::new(inner);
        folder.ends_with(inner).then(|| folder.ancestors().nth(inner.components().count()).map(Path::to_owned))?
    };
    let known = PLACES.iter().filter(|place| place.contains('/')).find_map(|place| above(place));
    known.or_else(|| FOLDERS.iter().find_map(|(place, _)| of_folder(place))).unwrap_or_else(|| folder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_project_and_of_a_folder_of_projects_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        for path in
            ["api/CLAUDE.md", "api/.github/copilot-instructions.md", "api/docs/adr/0001-x.md", "web/.cursorrules"]
        {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "- Be kind\n").unwrap();
        }
        fs::create_dir(top.join("empty")).unwrap();
        fs::write(top.join("web/README.md"), "").unwrap();
        assert_eq!(files_under(&top).len(), 4);
        assert_eq!(files_under(&top.join("api")).len(), 3);
        assert!(files_under(&top.join("empty")).is_empty());
        let adr = watched_file(&top.join("api/docs/adr/0001-x.md"), "acme");
        assert_eq!((adr.project.as_str(), adr.shown.as_str()), ("api", "docs/adr/0001-x.md"));
        let copilot = watched_file(&top.join("api/.github/copilot-instructions.md"), "acme");
        assert_eq!((copilot.project.as_str(), copilot.shown.as_str()), ("api", ".github/copilot-instructions.md"));
    }
}
