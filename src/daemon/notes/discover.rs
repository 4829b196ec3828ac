//! Determines the project of a rule file. [`crate::files::rule_files`] finds the files.

use std::path::{Path, PathBuf};

use super::watch_list::WatchedFile;
pub(super) use crate::files::rule_files::files_under;
use crate::files::{
    repository,
    rule_files::{FOLDERS, PLACES, is_project},
};

/// Returns the entry of a file that was not read yet, with its project. `root`: the followed folder in which it was
/// found.
pub(super) fn watched_file(path: &Path, org: &str, root: Option<&Path>) -> WatchedFile {
    let folder = path.parent().unwrap_or(path);
    let project = repository::project_of(folder);
    let in_repository = repository::in_repository(folder);
    let top = if in_repository {
        repository::top_of(folder)
    } else {
        root.and_then(|root| outermost_project(folder, root)).unwrap_or_else(|| top_of_places(path))
    };
    let (name, identities) = if in_repository {
        (project.name, project.identities)
    } else {
        let name = top.file_name().map_or_else(|| project.name.clone(), |name| name.to_string_lossy().into_owned());
        (name, vec![top.display().to_string()])
    };
    let shown = path.strip_prefix(&top).unwrap_or(path).display().to_string();
    WatchedFile { org: org.to_owned(), project: name, identities, shown, ..WatchedFile::default() }
}

/// Returns the outermost folder with rules of its own, from `root` down to `folder`. Outside of a repository, it is the
/// project of all files below it.
fn outermost_project(folder: &Path, root: &Path) -> Option<PathBuf> {
    let mut above: Vec<&Path> = folder.ancestors().take_while(|above| above.starts_with(root)).collect();
    above.reverse();
    above.into_iter().find(|above| is_project(above)).map(Path::to_owned)
}

/// Returns the folder that contains the known place of a file, such as `api` for `api/docs/adr/0001-x.md`; the file's
/// own folder if it is at no known place.
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
    use std::fs;

    use super::*;

    fn write(top: &Path, path: &str) {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }

    #[test]
    fn a_nested_file_belongs_to_its_repository() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap().join("mono");
        fs::create_dir_all(top.join(".git/refs")).unwrap();
        fs::create_dir_all(top.join(".git/objects")).unwrap();
        fs::write(top.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        write(&top, "packages/api/CLAUDE.md");
        let nested = watched_file(&top.join("packages/api/CLAUDE.md"), "acme", None);
        assert_eq!((nested.project.as_str(), nested.shown.as_str()), ("mono", "packages/api/CLAUDE.md"));
    }

    #[test]
    fn a_file_at_a_known_place_belongs_to_the_folder_that_holds_the_place() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        write(&top, "api/docs/adr/0001-x.md");
        write(&top, "api/.github/copilot-instructions.md");
        let adr = watched_file(&top.join("api/docs/adr/0001-x.md"), "acme", None);
        assert_eq!((adr.project.as_str(), adr.shown.as_str()), ("api", "docs/adr/0001-x.md"));
        let copilot = watched_file(&top.join("api/.github/copilot-instructions.md"), "acme", None);
        assert_eq!((copilot.project.as_str(), copilot.shown.as_str()), ("api", ".github/copilot-instructions.md"));
    }
    #[test]
    fn outside_of_a_repository_a_nested_file_belongs_to_the_project_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let of = |path: &str, root: &str| {
            let file = watched_file(&top.join(path), "acme", Some(&top.join(root)));
            (file.project, file.shown, file.identities)
        };
        write(&top, "src/api/CLAUDE.md");
        write(&top, "src/api/packages/web/CLAUDE.md");
        write(&top, "src/tools/lint/AGENTS.md");
        let api = vec![top.join("src/api").display().to_string()];
        let nested = ("api".to_owned(), "packages/web/CLAUDE.md".to_owned(), api);
        assert_eq!(of("src/api/packages/web/CLAUDE.md", "src/api"), nested, "the folder that was added");
        assert_eq!(of("src/api/packages/web/CLAUDE.md", "src"), nested, "a project in a folder of projects");
        assert_eq!(of("src/tools/lint/AGENTS.md", "src").0, "lint", "nothing above it has rules");
        assert_eq!(of("src/api/packages/web/CLAUDE.md", "src/api/packages/web").0, "web", "the nearest that was added");
    }
}
