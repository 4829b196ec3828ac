//! Finds the files of rules and decision records in a folder, at the paths where agents and people look for them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ignore::{DirEntry, WalkBuilder};

/// Paths of rule files in a project.
pub const PLACES: [&str; 10] = [
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

/// Folders of rules, with the suffix of their files. Those with Markdown files contain decision records.
pub const FOLDERS: [(&str, &str); 5] =
    [(".cursor/rules", ".mdc"), ("docs/adr", ".md"), ("doc/adr", ".md"), ("docs/decisions", ".md"), ("adr", ".md")];

/// Names of rule files that agents read in any folder of a project, such as a package of a monorepo.
const NESTED: [&str; 5] = ["CLAUDE.md", "AGENTS.md", "GEMINI.md", ".cursorrules", ".windsurfrules"];

/// Folders of third-party code, build output and test data: rules in them are not those of this project.
const VENDORED: [&str; 13] = [
    "node_modules",
    "bower_components",
    "vendor",
    "vendored",
    "third_party",
    "third-party",
    "site-packages",
    "venv",
    "target",
    "dist",
    "Pods",
    "testdata",
    "fixtures",
];

/// Hidden folders that contain rules.
const HIDDEN: [&str; 3] = [".claude", ".cursor", ".github"];

/// The most files that are read of one folder of rules.
const MAX_FILES_PER_FOLDER: usize = 2_000;

/// The most entries that are visited below one folder.
pub const MOST_ENTRIES: usize = 200_000;
/// The depth to which folders are visited.
const MAX_DEPTH: usize = 12;

/// The rule files below a folder.
#[derive(Debug)]
pub struct FoundRuleFiles {
    /// Sorted by path.
    pub files: Vec<PathBuf>,
    /// The folder has more entries than are visited.
    pub is_cut: bool,
}

/// Returns the files that [`search_under`] finds.
pub fn files_under(path: &Path) -> Vec<PathBuf> {
    search_under(path).files
}

/// Returns the files to follow: the path itself if it is a file, else the rule files of the projects at and below the
/// folder, including those of nested folders. Files that git ignores, and files in vendored folders, are left out.
pub fn search_under(path: &Path) -> FoundRuleFiles {
    search(path, MOST_ENTRIES)
}

fn search(path: &Path, most: usize) -> FoundRuleFiles {
    if path.is_file() {
        return FoundRuleFiles { files: vec![path.to_owned()], is_cut: false };
    }
    let mut found = rule_files_of(path);
    let is_project = is_project(path);
    let mut walk = WalkBuilder::new(path)
        .standard_filters(false)
        .parents(true)
        .git_ignore(true)
        .git_exclude(true)
        .require_git(false)
        .max_depth(Some(MAX_DEPTH))
        .filter_entry(|entry| entry.depth() == 0 || !is_left_out(entry))
        .build();
    for entry in walk.by_ref().take(most).flatten().filter(|entry| entry.depth() > 0) {
        let here = entry.path();
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            if entry.depth() == 1 && !is_project || here.join(".git").exists() {
                found.extend(rule_files_of(here));
            }
        } else if is_nested(here) && here.is_file() {
            found.push(here.to_owned());
        }
    }
    // Links to the same file count once.
    let mut files: Vec<PathBuf> = found.into_iter().filter_map(|path| fs::canonicalize(path).ok()).collect();
    files.sort();
    files.dedup();
    FoundRuleFiles { files, is_cut: walk.next().is_some() }
}

/// Returns whether a folder is a repository or has rule files of its own.
pub fn is_project(folder: &Path) -> bool {
    folder.join(".git").exists() || !rule_files_of(folder).is_empty()
}

/// Returns whether a file is in a folder of decision records and is not a rule file.
pub fn is_record(path: &Path) -> bool {
    let folder = path.parent().unwrap_or(path);
    !path.file_name().is_some_and(|name| is_rule_file(&name.to_string_lossy()))
        && FOLDERS.iter().any(|(place, end)| *end == ".md" && folder.ends_with(place))
}

/// Returns whether a file with this name is a rule file, in whichever folder it is.
pub fn is_rule_file(name: &str) -> bool {
    PLACES.iter().any(|place| place.rsplit('/').next() == Some(name))
}

/// Returns whether a file with this name in a folder of decision records is a table of contents or a template.
pub fn is_beside_records(name: &str) -> bool {
    let name = name.to_lowercase();
    name == "readme.md" || name == "index.md" || name.contains("template")
}

fn is_left_out(entry: &DirEntry) -> bool {
    let name = entry.file_name().to_string_lossy();
    let is_hidden = name.starts_with('.') && !HIDDEN.contains(&&*name);
    entry.file_type().is_some_and(|kind| kind.is_dir()) && (is_hidden || VENDORED.contains(&&*name))
}

/// Returns whether a file contains rules in any folder of a project.
fn is_nested(path: &Path) -> bool {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy()) else { return false };
    NESTED.contains(&&*name)
        || FOLDERS
            .iter()
            .any(|(folder, end)| name.ends_with(end) && path.parent().is_some_and(|above| above.ends_with(folder)))
}

fn rule_files_of(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = PLACES.iter().map(|place| folder.join(place)).filter(|path| path.is_file()).collect();
    for (place, end) in FOLDERS {
        let named = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(end));
        let folder = folder.join(place);
        if folder.is_dir() {
            found.extend(entries(&folder).into_iter().filter(named).filter(|path| path.is_file()));
        }
    }
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(read) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        read.take(MAX_FILES_PER_FOLDER).filter_map(|entry| Some(entry.ok()?.path())).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(top: &Path, path: &str, text: &str) {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_folder_with_more_entries_than_are_looked_at_says_so() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a/AGENTS.md", "- Be kind\n");
        write(dir.path(), "b/AGENTS.md", "- Be kind\n");
        // The folder itself, two folders and two files.
        assert!(!search(dir.path(), 5).is_cut);
        assert!(search(dir.path(), 4).is_cut);
    }

    #[test]
    fn nested_files_of_a_monorepo_are_found_but_not_what_is_ignored_or_vendored() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap().join("mono");
        fs::create_dir_all(top.join(".git/refs")).unwrap();
        fs::create_dir_all(top.join(".git/objects")).unwrap();
        write(&top, ".git/HEAD", "ref: refs/heads/main\n");
        write(&top, ".gitignore", "generated/\nCLAUDE.local.md\n");
        let wanted = [
            "AGENTS.md",
            "CLAUDE.local.md",
            "packages/api/CLAUDE.md",
            "packages/web/.cursor/rules/css.mdc",
            "packages/web/src/AGENTS.md",
            "services/pay/docs/adr/0001-x.md",
        ];
        for path in wanted {
            write(&top, path, "- Be kind\n");
        }
        for path in [
            "packages/web/node_modules/left-pad/AGENTS.md",
            "vendor/lib/CLAUDE.md",
            "generated/AGENTS.md",
            "packages/api/README.md",
            "packages/api/CONTRIBUTING.md",
            ".cache/x/CLAUDE.md",
        ] {
            write(&top, path, "- Be unkind\n");
        }
        let found = files_under(&top);
        let found: Vec<&str> = found.iter().map(|path| path.strip_prefix(&top).unwrap().to_str().unwrap()).collect();
        assert_eq!(found, wanted);
        // From the folder above it is the same project.
        assert_eq!(files_under(top.parent().unwrap()).len(), wanted.len());
    }

    #[test]
    fn the_files_of_a_project_and_of_a_folder_of_projects_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        for path in
            ["api/CLAUDE.md", "api/.github/copilot-instructions.md", "api/docs/adr/0001-x.md", "web/.cursorrules"]
        {
            write(&top, path, "- Be kind\n");
        }
        fs::create_dir(top.join("empty")).unwrap();
        fs::write(top.join("web/README.md"), "").unwrap();
        assert_eq!(files_under(&top).len(), 4);
        let api = files_under(&top.join("api"));
        assert_eq!((api.len(), api.iter().filter(|path| is_record(path)).count()), (3, 1));
        assert!(files_under(&top.join("empty")).is_empty());
    }
}
