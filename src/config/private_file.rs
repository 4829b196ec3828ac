//! Files that only this user may read.

use std::path::Path;

use super::ConfigError;
use crate::files;

/// Writes a file that only this user may read. Replaces an existing file atomically.
pub fn write_private(path: &Path, bytes: &[u8]) -> Result<(), ConfigError> {
    files::write_private(path, bytes).map_err(|error| ConfigError::io("write", path, error))
}
