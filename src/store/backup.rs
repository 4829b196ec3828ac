//! Copies the store while it is in use.

use std::{io::ErrorKind, path::Path, time::Duration};

use rusqlite::{Connection, backup};

use super::{Result, Store, StoreError, StoreProgress, StoreStep, open};
use crate::{files::DraftFile, steps};

/// The number of pages that are copied at once, and the pause after them, so that writes can proceed.
const PAGES_PER_STEP: i32 = 2_000;
const PAUSE_AFTER_STEP: Duration = Duration::from_millis(1);

impl Store {
    /// Copies the store in its present state to a new file, waits for the disk, and returns the size in bytes. The
    /// store can be in use.
    ///
    /// The file gets its name only when it is complete. A backup that fails leaves nothing behind; one that is killed
    /// leaves a file with `.partial-` in its name, which the next backup to the same file removes.
    pub fn backup(&self, to: &Path) -> Result<u64> {
        self.reader.backup_shown(to, &mut ())
    }
}

impl super::Reader {
    /// Copies the store like [`Store::backup`], from a connection that does not block the writer, and reports the
    /// progress.
    pub fn backup_shown(&self, to: &Path, progress: &mut dyn StoreProgress) -> Result<u64> {
        let io = |what| {
            move |error: std::io::Error| match error.kind() {
                ErrorKind::AlreadyExists => StoreError::Exists(to.to_owned()),
                _ => StoreError::Io { what, path: to.to_owned(), error },
            }
        };
        // Fail before copying; publishing would fail only afterwards.
        if to.symlink_metadata().is_ok() {
            return Err(StoreError::Exists(to.to_owned()));
        }
        let draft = DraftFile::beside(to).map_err(io("cannot create"))?;
        steps::reached("backup begun");
        self.snapshot(|reader| {
            // The first read fixes the state of the snapshot. Otherwise SQLite may see a newer state in between and
            // copy all pages again.
            reader.schema()?;
            copy(&reader.db, draft.path(), progress)
        })?;
        progress.at(StoreStep::whole("waiting for the disk"));
        steps::reached("backup copied");
        draft.sync().map_err(io("cannot write"))?;
        let size = draft.file().metadata().map_err(io("cannot read the metadata of"))?.len();
        steps::reached("backup synced");
        draft.publish(false).map_err(io("cannot write"))?;
        steps::reached("backup named");
        Ok(size)
    }
}

fn copy(from: &Connection, to: &Path, progress: &mut dyn StoreProgress) -> Result<()> {
    let mut copy = Connection::open(to)?;
    let pages = backup::Backup::new(from, &mut copy)?;
    loop {
        let step = pages.step(PAGES_PER_STEP)?;
        steps::reached("backup copying");
        let backup::Progress { remaining, pagecount } = pages.progress();
        let [left, total] = [remaining, pagecount].map(|count| u64::try_from(count).unwrap_or(0));
        progress.at(StoreStep { doing: "copying", unit: "pages", done: total.saturating_sub(left), total });
        if step == backup::StepResult::Done {
            break;
        }
        // Also if another connection holds the lock at the moment.
        std::thread::sleep(PAUSE_AFTER_STEP);
    }
    drop(pages);
    // So that the backup is one file without a log beside it.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    open::end_epoch(&copy)
}
