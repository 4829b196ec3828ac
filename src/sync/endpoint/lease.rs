//! The lease of a device key. Without it, two endpoints with the same key on one machine would receive each other's
//! packets.

use std::{
    fs::{File, OpenOptions, TryLockError},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use rustix::fs::OFlags;

/// The exclusive right to use a device's key on this machine. The system releases it when the process ends.
#[derive(Debug)]
pub(super) struct Lease(#[expect(dead_code, reason = "This file is only used as a lock.")] File);

impl Lease {
    /// Takes the lease; `None` if another process holds it.
    ///
    /// # Errors
    /// If the file cannot be opened, because another user owns it or the folder is not writable.
    pub(super) fn take(path: &Path) -> std::io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            // The folder may be shared with other users: do not follow their links.
            .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_waits_until_the_first_has_gone_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lease");
        let first = Lease::take(&path).unwrap().unwrap();
        assert!(Lease::take(&path).unwrap().is_none());
        drop(first);
        assert!(Lease::take(&path).unwrap().is_some());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(Lease::take(&link).is_err());
    }
}
