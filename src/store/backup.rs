//! Copying the store while it is in use.

use std::{fs, path::Path, time::Duration};

use rusqlite::{Connection, backup};

use super::{Result, Store, StoreError};

/// Pages copied at a time, and the pause after them, so that writes go on.
const PAGES: i32 = 2_000;
const PAUSE: Duration = Duration::from_millis(1);

impl Store {
    /// Copies the store to a new file while it is in use, and waits for the disk. Answers with its size in bytes.
    ///
    /// A backup that fails leaves nothing behind.
    pub fn backup(&self, to: &Path) -> Result<u64> {
        self.reader.backup(to)
    }
}

impl super::Reader {
    /// [`Store::backup`], from a connection that does not hold the writer up.
    pub fn backup(&self, to: &Path) -> Result<u64> {
        // Claims the name: two backups to one file cannot both begin.
        let io = |what| move |error| StoreError::Io { what, path: to.to_owned(), error };
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(0o600);
        }
        options.open(to).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => StoreError::Exists(to.to_owned()),
            _ => StoreError::Io { what: "cannot make", path: to.to_owned(), error },
        })?;
        let result = copy(&self.db, to).and_then(|()| {
            let file = fs::File::open(to).map_err(io("cannot open"))?;
            file.sync_all().map_err(io("cannot write"))?;
            if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
                // The name itself must survive a power cut too.
                fs::File::open(folder)
                    .and_then(|folder| folder.sync_all())
                    .map_err(io("cannot write the folder of"))?;
            }
            Ok(file.metadata().map_err(io("cannot look at"))?.len())
        });
        if result.is_err() {
            let _ = fs::remove_file(to);
        }
        result
    }
}

fn copy(from: &Connection, to: &Path) -> Result<()> {
    let mut copy = Connection::open(to)?;
    backup::Backup::new(from, &mut copy)?.run_to_completion(PAGES, PAUSE, None)?;
    // One file, without a log beside it.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    Ok(())
}
