//! Copies the store while it is in use.

use std::{io::ErrorKind, path::Path, time::Duration};

use rusqlite::{Connection, backup};

use super::{Result, Store, StoreError, StoreProgress, StoreStep, open};
use crate::{files::DraftFile, steps};

/// Pages copied at a time, and the pause after them, so that writes go on.
const PAGES: i32 = 2_000;
const PAUSE: Duration = Duration::from_millis(1);

impl Store {
    /// Copies the store as it is now to a new file while it is in use, and waits for the disk. Answers with its size in bytes.
    ///
    /// The file has its name only once it is whole. A backup that fails leaves nothing behind; one that is killed leaves a file with `.partial-` in
    /// its name, which the next backup to the same file removes.
    pub fn backup(&self, to: &Path) -> Result<u64> {
        self.reader.backup_shown(to, &mut ())
    }
}

impl super::Reader {
    /// [`Store::backup`], from a connection that does not hold the writer up; says how far it is.
    pub fn backup_shown(&self, to: &Path, progress: &mut dyn StoreProgress) -> Result<u64> {
        let io = |what| {
            move |error: std::io::Error| match error.kind() {
                ErrorKind::AlreadyExists => StoreError::Exists(to.to_owned()),
                _ => StoreError::Io { what, path: to.to_owned(), error },
            }
        };
        // Known before the copying; publishing would find it out after.
        if to.symlink_metadata().is_ok() {
            return Err(StoreError::Exists(to.to_owned()));
        }
        let draft = DraftFile::beside(to).map_err(io("cannot create"))?;
        steps::reached("backup begun");
        self.snapshot(|reader| {
            // The state begins with the first read. SQLite copies all pages again if it may see the next state in between.
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
        let step = pages.step(PAGES)?;
        steps::reached("backup copying");
        let backup::Progress { remaining, pagecount } = pages.progress();
        let [left, total] = [remaining, pagecount].map(|count| u64::try_from(count).unwrap_or(0));
        progress.at(StoreStep { doing: "copying", unit: "pages", done: total.saturating_sub(left), total });
        if step == backup::StepResult::Done {
            break;
        }
        // Also where another connection holds the lock for the moment.
        std::thread::sleep(PAUSE);
    }
    drop(pages);
    // One file, without a log beside it.
    copy.pragma_update(None, "journal_mode", "DELETE")?;
    open::end_epoch(&copy)
}
