//! Detects the project that a folder belongs to from git's own files, without starting git.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::files;

/// A project that was detected from a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// The base name of the repository, which all its worktrees share; without a repository, that of the folder.
    pub name: String,
    /// Identities that distinguish the project from others of the same name, the best first: the remote, the git common
    /// directory, the folder. The later ones identified the project before it had a remote or a repository.
    pub identities: Vec<String>,
}

/// Returns the project that `folder` belongs to.
pub fn project_of(folder: &Path) -> Project {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let Some(common) = folder.ancestors().find_map(common_dir) else {
        return Project { name: base_name(&folder), identities: vec![folder.display().to_string()] };
    };
    let name = match common.parent() {
        Some(parent) if common.file_name().is_some_and(|name| name == ".git") => base_name(parent),
        _ => base_name(&common).trim_end_matches(".git").to_owned(),
    };
    let remote = files::text(&common.join("config"), files::MAX_SETTINGS).ok().and_then(|config| origin(&config));
    let folders = [Some(&*common), common.parent().filter(|_| common.ends_with(".git"))];
    let folders = folders.into_iter().flatten().map(|folder| folder.display().to_string());
    Project { name, identities: remote.map(|url| plain_url(&url)).into_iter().chain(folders).collect() }
}

/// Returns whether `folder` is in a repository.
pub fn in_repository(folder: &Path) -> bool {
    folder.ancestors().any(|above| common_dir(above).is_some())
}

/// Returns the top of the working tree that contains `folder`; without one, `folder` itself.
pub fn top_of(folder: &Path) -> PathBuf {
    folder.ancestors().find(|above| above.join(".git").exists()).unwrap_or(folder).to_owned()
}

fn base_name(path: &Path) -> String {
    path.file_name().map_or_else(|| "root".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Returns the git common directory if `folder` is the top of a working tree or a bare repository.
fn common_dir(folder: &Path) -> Option<PathBuf> {
    let dot_git = folder.join(".git");
    let git_dir = if dot_git.is_dir() {
        dot_git
    } else if dot_git.is_file() {
        let text = files::text(&dot_git, files::MAX_SETTINGS).ok()?;
        folder.join(text.strip_prefix("gitdir:")?.trim())
    } else if folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir() {
        folder.to_owned()
    } else {
        return None;
    };
    let common = match files::text(&git_dir.join("commondir"), files::MAX_SETTINGS) {
        Ok(text) => git_dir.join(text.trim()),
        Err(_) => git_dir,
    };
    fs::canonicalize(&common).ok()
}

/// Returns the URL of the remote `origin` from the text of a git configuration file.
fn origin(config: &str) -> Option<String> {
    let mut here = false;
    config.lines().map(str::trim).find_map(|line| {
        if line.starts_with('[') {
            here = line.eq_ignore_ascii_case("[remote \"origin\"]");
            return None;
        }
        let (key, value) = line.split_once('=').filter(|_| here)?;
        key.trim().eq_ignore_ascii_case("url").then(|| value.trim().trim_matches('"').to_owned())
    })
}

/// Reduces a URL to host and path, so that a repository has the same identity over ssh and https, and credentials are
/// removed.
fn plain_url(url: &str) -> String {
    let rest = match url.split_once("://") {
        Some(("file", path)) => return path.to_owned(),
        Some((_, rest)) => rest.to_owned(),
        // `git@host:path`, unless it is a local path.
        None => match url.split_once(':') {
            Some((host, path)) if !host.contains('/') => format!("{host}/{}", path.trim_start_matches('/')),
            _ => return url.to_owned(),
        },
    };
    let (host, path) = rest.split_once('/').unwrap_or((&rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host).to_ascii_lowercase();
    let path = path.trim_end_matches('/').trim_end_matches(".git");
    format!("{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("git@GitHub.com:acme/api.git", "github.com/acme/api")]
    #[case("https://user:secret@github.com/acme/api.git", "github.com/acme/api")]
    #[case("ssh://git@github.com/acme/api/", "github.com/acme/api")]
    #[case("/srv/git/api.git", "/srv/git/api.git")]
    #[case("file:///srv/git/api.git", "/srv/git/api.git")]
    fn one_repository_has_one_identity(#[case] url: &str, #[case] identity: &str) {
        assert_eq!(plain_url(url), identity);
    }

    #[test]
    fn the_url_of_origin_is_found_among_others() {
        let config =
            "[core]\n\tbare = false\n[remote \"up\"]\n\turl = x\n[remote \"origin\"]\n\tfetch = y\n\turl = git@h:a/b\n";
        assert_eq!(origin(config), Some("git@h:a/b".into()));
        assert_eq!(origin("[core]\n\turl = x\n"), None);
    }

    #[test]
    fn a_folder_without_git_stands_for_itself_and_a_submodule_for_its_module() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("notes");
        fs::create_dir(&plain).unwrap();
        assert_eq!(project_of(&plain).name, "notes");

        let module = dir.path().join("top/.git/modules/lib");
        let sub = dir.path().join("top/vendor/lib/src");
        fs::create_dir_all(&module).unwrap();
        fs::create_dir_all(&sub).unwrap();
        fs::write(dir.path().join("top/vendor/lib/.git"), "gitdir: ../../.git/modules/lib\n").unwrap();
        assert_eq!(project_of(&sub).name, "lib");
        assert_eq!(project_of(&dir.path().join("top")).name, "top");
    }
}
