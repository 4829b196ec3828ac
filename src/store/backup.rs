//! Copies the store while it is in use.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rusqlite::{Connection, backup};

use super::{Reader, Result, Store, StoreError, StoreProgress, StoreStep, open};
use crate::{files::DraftFile, steps};

/// The number of pages that are copied at once, and the pause after them, so that writes can proceed.
const PAGES_PER_STEP: i32 = 2_000;
const PAUSE_AFTER_STEP: Duration = Duration::from_millis(1);

/// The number of problems that the error about a copy lists.
const MAX_LISTED: usize = 3;

/// Returns the folder beside a store that holds its copy during the dry run of an import.
pub fn dry_run_folder(store: &Path) -> PathBuf {
    store.with_extension("dry-run")
}

impl Store {
    /// Copies the store in its present state to a new file, checks the copy, waits for the disk, and returns the size in
    /// bytes. The store can be in use.
    ///
    /// The file gets its name only when it is complete. A backup that fails leaves nothing behind; one that is killed
    /// leaves a file with `.partial-` in its name, which the next backup to the same file removes.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if the copy fails a check: SQLite copies damaged pages as they are.
    pub fn backup(&self, to: &Path) -> Result<u64> {
        self.reader.backup_shown(to, &mut ())
    }
}

impl Reader {
    /// Copies the store like [`Store::backup`], from a connection that does not block the writer, and reports the
    /// progress.
    pub fn backup_shown(&self, to: &Path, progress: &mut dyn StoreProgress) -> Result<u64> {
        self.copy_file(to, progress, |copy, progress| self.check_copy(copy, to, progress))
    }

    /// Copies the store like [`Reader::backup_shown`], but does not check the copy.
    pub fn copy_unchecked(&self, to: &Path) -> Result<u64> {
        self.copy_file(to, &mut (), |_, _| Ok(()))
    }

    fn copy_file(
        &self,
        to: &Path,
        progress: &mut dyn StoreProgress,
        check: impl FnOnce(&Path, &mut dyn StoreProgress) -> Result<()>,
    ) -> Result<u64> {
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
        steps::reached("backup copied");
        check(draft.path(), progress)?;
        progress.at(StoreStep::whole("waiting for the disk"));
        draft.sync().map_err(io("cannot write"))?;
        let size = draft.file().metadata().map_err(io("cannot read the metadata of"))?.len();
        steps::reached("backup synced");
        draft.publish(false).map_err(io("cannot write"))?;
        steps::reached("backup named");
        Ok(size)
    }

    /// Checks the finished copy for a backup.
    fn check_copy(&self, copy: &Path, to: &Path, progress: &mut dyn StoreProgress) -> Result<()> {
        let (db, path, check) = (open::reader(copy)?, copy.to_owned(), Arc::clone(&self.check));
        let reader = Self { db, path, file: None, check, rosters: Arc::default() };
        let problems = reader.check_log(progress)?.problems;
        if problems.is_empty() {
            return Ok(());
        }
        let listed = problems.iter().take(MAX_LISTED).map(String::as_str).collect::<Vec<_>>().join("; ");
        let more = problems.len().saturating_sub(MAX_LISTED);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let to = to.display();
        Err(StoreError::Damaged(format!("no backup {to} was made, because the copy failed its check: {listed}{more}")))
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
