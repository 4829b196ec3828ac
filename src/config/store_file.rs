//! Checks that the store's file exists before it is opened, since opening a missing store creates an empty one.

use std::{fs, io::ErrorKind};

use super::{ConfigError, Paths};

/// The state of the store's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreFile {
    Absent,
    /// The file has 0 bytes. ergo never creates such a file: a new store gets its name once it is complete.
    Empty,
    /// The file exists and is not empty.
    Present,
}

impl StoreFile {
    /// Returns the state of the store's file.
    pub fn look(paths: &Paths) -> Result<Self, ConfigError> {
        match fs::metadata(paths.store()) {
            Ok(file) if file.len() == 0 => Ok(Self::Empty),
            Ok(_) => Ok(Self::Present),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::Absent),
            Err(error) => Err(ConfigError::io("read the metadata of", paths.store(), error)),
        }
    }

    /// Returns the state of the store's file, like [`StoreFile::look`], but fails if the store was lost.
    ///
    /// # Errors
    /// [`ConfigError::StoreLost`] if the file is empty, or missing although this device has a key, which is created
    /// only after the first store.
    pub fn look_unless_lost(paths: &Paths) -> Result<Self, ConfigError> {
        let found = Self::look(paths)?;
        let key = paths.device_key();
        match found {
            Self::Absent if key.exists() => Err(ConfigError::StoreLost { store: paths.store(), key: Some(key) }),
            Self::Empty => Err(ConfigError::StoreLost { store: paths.store(), key: None }),
            found => Ok(found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_and_a_key_without_a_store_are_distinguished_from_a_new_home() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        assert_eq!(StoreFile::look_unless_lost(&paths), Ok(StoreFile::Absent));
        fs::write(paths.device_key(), "key").unwrap();
        let lost = StoreFile::look_unless_lost(&paths).unwrap_err();
        assert!(lost.to_string().contains("is missing") && lost.to_string().contains("device.key"), "{lost}");
        fs::write(paths.store(), "").unwrap();
        let lost = StoreFile::look_unless_lost(&paths).unwrap_err();
        assert!(lost.to_string().contains("is empty"), "{lost}");
        assert!(lost.hint().unwrap().contains("ergo daemon start --new-store"));
        fs::remove_file(paths.device_key()).unwrap();
        assert!(StoreFile::look_unless_lost(&paths).is_err(), "empty is never new");
        fs::write(paths.store(), "something").unwrap();
        assert_eq!(StoreFile::look_unless_lost(&paths), Ok(StoreFile::Present));
    }
}
