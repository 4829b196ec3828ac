//! The two secrets of this machine: the device's signing key and the token for TCP.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use ed25519_dalek::SigningKey;

use super::DaemonError;
use crate::{
    config::{ConfigError, Paths, is_safe_token, read_device_key, write_private},
    files,
};

/// Returns the device's key, which is created at the first start.
///
/// # Errors
/// If the file cannot be read or written, or contains no key. An invalid file is not replaced: events that the lost key
/// signed would then belong to another device.
pub(super) fn device(paths: &Paths) -> Result<SigningKey, DaemonError> {
    let path = paths.device_key();
    let key = if let Some(key) = read_device_key(&path)? {
        key
    } else {
        let key = random::<32>()?;
        write_private(&path, format!("{}\n", hex::encode(key)).as_bytes())?;
        key
    };
    make_private(&path)?;
    Ok(SigningKey::from_bytes(&key))
}

/// Returns the token for TCP: `ERGO_API_TOKEN` if it is set, otherwise that of the token file, which is created if it
/// is missing, and replaced if its token could be guessed.
pub(super) fn token(paths: &Paths) -> Result<String, DaemonError> {
    if let Some(token) = std::env::var("ERGO_API_TOKEN").ok().map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()) {
        return Ok(token);
    }
    let path = paths.token();
    match files::text(&path, files::MAX_SETTINGS) {
        Ok(text) if is_safe_token(text.trim()) => {
            make_private(&path)?;
            Ok(text.trim().to_owned())
        }
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(ConfigError::io("read the token", &path, e).into()),
        found => {
            if found.is_ok() {
                tracing::warn!(path = %path.display(), "the token for TCP was empty, too short or unusable in a header; \
                    it was replaced");
            }
            let token = hex::encode(random::<32>()?);
            write_private(&path, format!("{token}\n").as_bytes())?;
            Ok(token)
        }
    }
}

/// Removes other users' permissions for a secret's file.
fn make_private(path: &Path) -> Result<(), ConfigError> {
    let mode = fs::metadata(path).map_err(|e| ConfigError::io("read", path, e))?.mode() & 0o777;
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), mode = format!("{mode:o}"), "others could read a secret; its \
            permissions were restricted");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))
            .map_err(|e| ConfigError::io("restrict the permissions of", path, e))?;
    }
    Ok(())
}

fn random<const N: usize>() -> Result<[u8; N], DaemonError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|e| DaemonError::System {
        act: "get random bytes from the operating system for".to_owned(),
        cause: std::io::Error::other(e),
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_made_once_kept_private_and_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        let key = device(&paths).unwrap();
        assert_eq!(device(&paths).unwrap().to_bytes(), key.to_bytes());
        fs::set_permissions(paths.device_key(), fs::Permissions::from_mode(0o644)).unwrap();
        device(&paths).unwrap();
        assert_eq!(fs::metadata(paths.device_key()).unwrap().mode() & 0o777, 0o600);
        let whole = fs::read_to_string(paths.device_key()).unwrap();
        for (broken, problem) in
            [("broken", "64 hexadecimal digits"), ("", "is empty"), (&whole[..60], "64 hexadecimal")]
        {
            fs::write(paths.device_key(), broken).unwrap();
            let Err(DaemonError::Config(error)) = device(&paths) else { panic!("{broken}") };
            assert!(error.to_string().contains("device.key") && error.to_string().contains(problem), "{error}");
            assert!(error.hint().unwrap().contains("new device"), "{error:?}");
            assert_eq!(fs::read_to_string(paths.device_key()).unwrap(), broken);
        }
    }

    #[test]
    fn a_token_that_is_empty_or_could_be_guessed_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let paths = Paths::under(dir.path());
        let spaced = "two words ".repeat(8);
        for unsafe_token in ["\n", "x\n", &spaced] {
            fs::write(paths.token(), unsafe_token).unwrap();
            let written = token(&paths).unwrap();
            assert_eq!(written.len(), 64);
            assert_eq!(fs::read_to_string(paths.token()).unwrap().trim(), written);
            assert_eq!(fs::metadata(paths.token()).unwrap().mode() & 0o777, 0o600);
            assert_eq!(token(&paths).unwrap(), written, "a safe token stays");
        }
    }
}
