//! The file of this device's signing key.

use std::{io::ErrorKind, path::Path};

use super::ConfigError;
use crate::files;

/// Reads the key of this device; `None` if the file does not exist.
///
/// # Errors
/// If the file cannot be read, or contains no key.
pub fn read_device_key(path: &Path) -> Result<Option<[u8; 32]>, ConfigError> {
    let text = match files::text(path, files::MAX_SETTINGS) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ConfigError::io("read the device's key", path, error)),
    };
    let mut key = [0; 32];
    hex::decode_to_slice(text.trim(), &mut key).map_err(|_| {
        let problem = if text.trim().is_empty() { "is empty" } else { "does not contain 64 hexadecimal digits" };
        ConfigError::BadKey { path: path.to_owned(), problem }
    })?;
    Ok(Some(key))
}
