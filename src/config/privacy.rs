//! Checks that no other user of this machine can change ergo's files. A user who owns a folder or may write to it can
//! replace its content, including keys and token.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::ConfigError;

/// Mode bits: write permission for the group or for everybody.
const OTHERS_WRITE: u32 = 0o022;

/// Mode bits: permission for the group or for everybody to enter a folder.
const OTHERS_ENTER: u32 = 0o011;

/// Checks that a folder belongs to this user and that nobody else may write to it. A missing folder passes.
///
/// # Errors
/// [`ConfigError::NotPrivate`] with what to do; [`ConfigError::Io`] if it cannot be checked.
pub fn check_folder(folder: &Path) -> Result<(), ConfigError> {
    let Some(meta) = owned_by_user(folder)? else { return Ok(()) };
    refuse_writable(folder, &meta)
}

/// Checks a file in the same way as [`check_folder`]. Write permission for others counts only if they can enter the
/// file's folder.
pub fn check_file(file: &Path) -> Result<(), ConfigError> {
    let Some(meta) = owned_by_user(file)? else { return Ok(()) };
    let folder = file.parent().and_then(|folder| fs::metadata(folder).ok());
    if folder.is_some_and(|folder| folder.mode() & OTHERS_ENTER == 0) {
        return Ok(());
    }
    refuse_writable(file, &meta)
}

/// Returns the metadata of a file or folder, following a symbolic link; `None` if it does not exist. Fails if it does
/// not belong to this user.
fn owned_by_user(path: &Path) -> Result<Option<fs::Metadata>, ConfigError> {
    let link = match fs::symlink_metadata(path) {
        Ok(link) => link,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ConfigError::io("read the metadata of", path, error)),
    };
    let meta = if link.is_symlink() {
        // The link's owner matters, too, since they could change its target.
        check_owner(path, link.uid(), &[user(), 0])?;
        fs::metadata(path).map_err(|error| ConfigError::io("follow the link", path, error))?
    } else {
        link
    };
    check_owner(path, meta.uid(), &[user()])?;
    Ok(Some(meta))
}

fn check_owner(path: &Path, owner: u32, accepted: &[u32]) -> Result<(), ConfigError> {
    if accepted.contains(&owner) {
        return Ok(());
    }
    Err(not_private(
        path,
        format!("belongs to user {owner} and not to you (user {})", user()),
        format!(
            "if it is your store, run `sudo chown -R {} {}`; else set ERGO_HOME to a folder of your own",
            user(),
            path.display()
        ),
    ))
}

fn refuse_writable(path: &Path, meta: &fs::Metadata) -> Result<(), ConfigError> {
    let mode = meta.mode() & 0o7777;
    if mode & OTHERS_WRITE == 0 {
        return Ok(());
    }
    Err(not_private(
        path,
        format!("is writable by other users (mode {mode:o})"),
        format!("check that everything in it is yours, then run `chmod go-w {}`", path.display()),
    ))
}

fn not_private(path: &Path, problem: String, remedy: String) -> ConfigError {
    ConfigError::NotPrivate { path: PathBuf::from(path), problem, remedy }
}

fn user() -> u32 {
    rustix::process::getuid().as_raw()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        for mode in [0o770, 0o702, 0o1777] {
            set(dir.path(), mode);
            let error = check_folder(dir.path()).unwrap_err();
            assert!(error.to_string().contains("is writable by other users"), "{error}");
            assert!(error.hint().unwrap().contains("chmod go-w"), "{error:?}");
        }
        for mode in [0o700, 0o755] {
            set(dir.path(), mode);
            check_folder(dir.path()).unwrap();
        }
        check_folder(&dir.path().join("absent")).unwrap();
    }

    #[test]
    fn a_file_counts_if_others_can_come_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ergo.db");
        set(dir.path(), 0o700);
        check_file(&file).unwrap();
        fs::write(&file, "").unwrap();
        set(&file, 0o666);
        check_file(&file).unwrap();
        set(dir.path(), 0o755);
        assert!(check_file(&file).is_err());
        set(&file, 0o644);
        check_file(&file).unwrap();
    }

    #[test]
    fn what_another_user_owns_is_refused_with_what_to_do() {
        let error = check_owner(Path::new("/h"), user() + 1, &[user()]).unwrap_err();
        assert!(error.to_string().contains("/h belongs to user"), "{error}");
        assert!(error.hint().unwrap().contains("chown"), "{error:?}");
    }

    #[test]
    fn a_link_leads_to_what_is_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real"), dir.path().join("link"));
        fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        set(&real, 0o700);
        check_folder(&link).unwrap();
        set(&real, 0o777);
        assert!(check_folder(&link).is_err());
        fs::remove_dir(&real).unwrap();
        assert!(matches!(check_folder(&link), Err(ConfigError::Io { .. })));
    }
}
