//! Files that only this user may read.

use std::path::Path;

use super::ConfigError;
use crate::files;

/// Writes a file that only this user may read. It appears whole or not at all, in place of the one that is there.
///
/// # Errors
/// If the file cannot be written.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
    files::write_private(path, bytes).map_err(|error| ConfigError::io("write", path, error))
}
