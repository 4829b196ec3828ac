//! Names paths beside others, and checks whether a path stays within a folder after its links are followed.

use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

/// The real path behind links, and whether it is within a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathTarget {
    Inside(PathBuf),
    Outside(PathBuf),
}

/// Follows the links of a path and returns whether it stays within `root`. A file that does not exist yet is judged by its folder.
///
/// # Errors
/// If links form a circle, or a folder of the path cannot be entered.
pub fn locate(root: &Path, path: &Path) -> io::Result<PathTarget> {
    let real = real_path(path)?;
    Ok(if real.starts_with(fs::canonicalize(root)?) { PathTarget::Inside(real) } else { PathTarget::Outside(real) })
}

/// Returns the path of a file beside another one, whose name has a further ending.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Follows the links of a path, whose last components need not exist.
///
/// # Errors
/// If links form a circle, or a folder of the path cannot be entered.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    match fs::canonicalize(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(error) };
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            match fs::read_link(path) {
                // A link to a file that does not exist yet: writing to it creates its target.
                Ok(target) => real_path(&folder.join(target)),
                Err(_) => Ok(real_path(folder)?.join(name)),
            }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_a_folder_are_found_also_where_nothing_is_there_yet() {
        let dir = tempfile::tempdir().unwrap();
        let top = fs::canonicalize(dir.path()).unwrap();
        let root = top.join("project");
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::create_dir(top.join("elsewhere")).unwrap();
        fs::write(top.join("secret"), "").unwrap();
        fs::write(root.join("docs/a"), "").unwrap();
        symlink("../secret", root.join("out")).unwrap();
        symlink("docs/a", root.join("in")).unwrap();
        symlink("../elsewhere", root.join("folder")).unwrap();
        symlink("../elsewhere/new", root.join("dangling")).unwrap();
        symlink("circle", root.join("circle")).unwrap();
        let at = |name: &str| locate(&root, &root.join(name)).unwrap();
        assert_eq!(at("in"), PathTarget::Inside(root.join("docs/a")));
        assert_eq!(at("docs/none/new"), PathTarget::Inside(root.join("docs/none/new")));
        assert_eq!(at("out"), PathTarget::Outside(top.join("secret")));
        assert_eq!(at("folder/new"), PathTarget::Outside(top.join("elsewhere/new")));
        assert_eq!(at("dangling"), PathTarget::Outside(top.join("elsewhere/new")));
        assert!(locate(&root, &root.join("circle")).is_err());
    }
}
