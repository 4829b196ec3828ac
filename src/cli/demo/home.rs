//! A temporary home.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use crate::cli::CliError;

/// A folder that only this user can enter, removed when this value is dropped.
#[derive(Debug)]
pub(super) struct Home(PathBuf);

impl Home {
    /// Creates the folder among the system's temporary files.
    pub(super) fn make() -> Result<Self, CliError> {
        let base = std::env::temp_dir();
        for _ in 0..8 {
            let mut random = [0; 6];
            getrandom::fill(&mut random).map_err(|error| {
                CliError::internal(format_args!("cannot get random bytes from the system: {error}"))
            })?;
            let folder = base.join(format!("ergo-demo-{}", hex::encode(random)));
            match fs::DirBuilder::new().mode(0o700).create(&folder) {
                Ok(()) => return Ok(Self(folder)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(CliError::file("make a folder in", &base, &error)
                        .hint("set TMPDIR to a folder that you can write to"));
                }
            }
        }
        Err(CliError::internal(format_args!("cannot find a free folder name in {}", base.display())))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Best effort: the system clears its temporary files in time.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn it_is_private_and_leaves_nothing() {
        let home = Home::make().unwrap();
        let path = home.path().to_owned();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        fs::write(path.join("file"), "x").unwrap();
        drop(home);
        assert!(!path.exists());
    }
}
