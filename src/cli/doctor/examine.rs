//! Checks and rebuilds the store's file while no daemon owns it.

use std::{fs, path::Path, sync::Arc};

use ed25519_dalek::SigningKey;

use super::{Finding, contacted, fine, note, problem, store_findings};
use crate::{
    api::{ContactView, LongTask, StoreCheck},
    cli::{Context, pace::ShownTask, show::text::count, status::bytes, ui::Ui},
    config::{Paths, StoreFile, StoreLock, privacy, read_device_key},
    domain::DeviceId,
    engine::check_stories,
    guard::{Guard, StructuralPairCheck},
    store::{CheckReport, ContactRow, RecoveredStore, Store, StoreError, StoreProgress, StoreStep},
};

/// Checks the store's file while no daemon owns it, after rebuilding it if asked.
pub(super) fn examine(paths: &Paths, rebuild: bool, cx: &mut Context) -> Vec<Finding> {
    let mut out = vec![fine("daemon", "not running".to_owned())];
    let file = paths.store();
    // Opening a missing store would create one.
    match StoreFile::look_unless_lost(paths) {
        Ok(StoreFile::Present) => {}
        Ok(_) => {
            out.push(note("store", format!("{} does not exist yet: the first write creates it", file.display())));
            return out;
        }
        Err(error) => {
            out.push(problem("store", error.to_string(), error.hint()));
            return out;
        }
    }
    if privacy::check_file(&file).is_err() {
        // Already reported by `exposure`. Opening the file would restrict its mode and hide a possible manipulation.
        return out;
    }
    // Held until the end of the checks, so that no daemon starts in the meantime.
    let _lock = match StoreLock::take(paths, "doctor") {
        Ok(lock) => lock,
        Err(error) => {
            out.push(problem("store", error.to_string(), error.hint()));
            return out;
        }
    };
    // An unreadable key is reported by `exposure`.
    let key = read_device_key(&paths.device_key()).ok().flatten();
    let me = key.map(|key| DeviceId(SigningKey::from_bytes(&key).verifying_key().to_bytes()));
    out.extend(examine_file(&file, me.as_ref(), rebuild, &mut cx.ui));
    out
}

fn examine_file(file: &Path, me: Option<&DeviceId>, rebuild: bool, ui: &mut Ui) -> Vec<Finding> {
    let mut shown = ShownTask::new(ui);
    let mut progress = |StoreStep { doing, unit, done, total }| {
        shown.at(&LongTask { doing: doing.to_owned(), unit: unit.to_owned(), done, total, ..LongTask::default() });
    };
    let place = file.display();
    // Whether a rebuild is the next step.
    let may_rebuild = || !rebuild && Store::check_recoverable(file).is_ok();
    let mut out = Vec::new();
    if rebuild {
        match rebuild_file(file, me, &mut progress) {
            Ok(findings) => out.extend(findings),
            Err(error) => {
                out.push(problem(
                    "rebuild",
                    format!("{place} cannot be rebuilt: {error}"),
                    way_on(&error, file, false),
                ));
                return out;
            }
        }
    }
    let store = match open(file) {
        Ok(store) => store,
        Err(error) => {
            out.push(problem(
                "store",
                format!("{place} cannot be opened: {error}"),
                way_on(&error, file, error.is_damage() && may_rebuild()),
            ));
            if error.is_damage() {
                out.extend(Store::damage_in_file(file).into_iter().map(|damage| problem("store", damage, None)));
            }
            return out;
        }
    };
    if let Err(error @ StoreError::ReadOnly(_)) = store.reader().writable() {
        out.push(problem("store", error.to_string(), way_on(&error, file, false)));
    }
    let checked = store.reader().check_shown(&mut progress).and_then(|mut report| {
        check_stories(store.reader(), &Guard::default(), Context::now(), &mut report)?;
        Ok(report)
    });
    match checked {
        Ok(CheckReport { events, devices, redacted, problems, bad_events, notes }) => {
            let size = fs::metadata(file).map_or(0, |meta| meta.len());
            let is_mended_by_rebuild = problems.len() > bad_events && may_rebuild();
            let check = StoreCheck { events, devices, redacted, problems, notes };
            let hint = if is_mended_by_rebuild { REBUILD } else { RESTORE }.to_owned();
            out.extend(store_findings(&format!("{place}, {}", bytes(size)), check, Some(hint)));
        }
        Err(error) => {
            out.push(problem(
                "store",
                format!("{place} cannot be checked: {error}"),
                way_on(&error, file, error.is_damage() && may_rebuild()),
            ));
        }
    }
    match store.reader().contacts() {
        Ok(rows) => {
            let view = |row: ContactRow| ContactView {
                address: row.address,
                what: row.what,
                first: row.first,
                last: row.last,
            };
            out.push(contacted(&rows.into_iter().map(view).collect::<Vec<_>>()));
        }
        Err(error) => out.push(problem("network", error.to_string(), None)),
    }
    out
}

fn open(file: &Path) -> Result<Store, StoreError> {
    // Nothing is signed here: any key works.
    Store::open(file, SigningKey::from_bytes(&[0; 32]), Arc::new(StructuralPairCheck))
}

/// Computes claims, cards and indexes again: in the file itself, or if it is damaged, in a new one.
fn rebuild_file(
    file: &Path,
    me: Option<&DeviceId>,
    progress: &mut dyn StoreProgress,
) -> Result<Vec<Finding>, StoreError> {
    let rebuilt = open(file).and_then(|mut store| {
        let is_sound = store.reader().is_sound()?;
        if is_sound {
            store.rebuild_shown(progress)?;
        }
        Ok(is_sound)
    });
    match rebuilt {
        Ok(true) => Ok(vec![fine("rebuild", "claims, cards and indexes were rebuilt from the events".to_owned())]),
        Err(error) if !error.is_damage() => Err(error),
        _ => Store::recover(file, me, &StructuralPairCheck, progress).map(|done| recovered(&done)),
    }
}

/// Reports where the damaged file is, and what was lost.
fn recovered(done: &RecoveredStore) -> Vec<Finding> {
    let message = format!(
        "the file was damaged: its events were copied into a new one, from which claims, cards and indexes were \
         rebuilt; the damaged file is kept as {}",
        done.kept.display()
    );
    let hint = Some("delete that file when all is well: texts that are redacted later stay in it".to_owned());
    let mut out = vec![Finding { hint, ..note("rebuild", message) }];
    out.extend(done.losses.iter().map(|loss| {
        let rows = count(loss.rows, "row was", "rows were");
        let message = format!("the table “{}” ({}) was damaged: {rows} kept or restored", loss.table, loss.content);
        Finding { hint: Some(loss.advice.to_owned()), ..note("rebuild", message) }
    }));
    out
}

const REBUILD: &str = "ergo doctor --rebuild";

/// Names the steps instead of the place: a copy over the store, while a daemon runs, would damage it.
const RESTORE: &str = "a rebuild cannot mend this: restore a backup, as `ergo backup --help` says; later changes are \
     lost, except those that the next sync fetches from other devices of your team";

/// Returns what to do about an error of the store's file. `may_rebuild` says whether a rebuild could mend damage.
fn way_on(error: &StoreError, file: &Path, may_rebuild: bool) -> Option<String> {
    match error {
        // The message says what to do. A backup would lose what the other version wrote.
        StoreError::NewerSchema { .. } | StoreError::OlderSchema { .. } => None,
        error if error.is_damage() && may_rebuild => Some(REBUILD.to_owned()),
        error if error.is_full() => Some("free some space on that disk, then repeat the command".to_owned()),
        error if error.is_unavailable() => Some(format!(
            "check that you may read and write {0}, {0}-wal, {0}-shm and their folder, and that the disk is not mounted \
             read-only",
            file.display()
        )),
        _ => Some(RESTORE.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rusqlite::ffi;

    use super::*;

    #[rstest::rstest]
    #[case(sqlite(ffi::SQLITE_CORRUPT), "--rebuild")]
    #[case(sqlite(ffi::SQLITE_READONLY), "read-only")]
    #[case(sqlite(ffi::SQLITE_CANTOPEN), "you may read and write")]
    #[case(sqlite(ffi::SQLITE_FULL), "free some space")]
    #[case(unreadable(io::ErrorKind::PermissionDenied), "you may read and write")]
    #[case(unreadable(io::ErrorKind::StorageFull), "free some space")]
    #[case(StoreError::NotAStore { path: "ergo.db".into() }, "restore a backup")]
    #[case(StoreError::Incomplete { path: "ergo.db".into(), size: 1, whole: 2 }, "restore a backup")]
    fn what_to_do_fits_what_is_wrong(#[case] error: StoreError, #[case] expected: &str) {
        let hint = way_on(&error, Path::new("ergo.db"), true).unwrap();
        assert!(hint.contains(expected), "{error}: {hint}");
    }

    #[test]
    fn a_store_of_another_version_is_not_replaced_by_a_backup_nor_rebuilt_in_vain() {
        let newer = StoreError::NewerSchema { path: "ergo.db".into(), found: 19, known: 18 };
        assert_eq!(way_on(&newer, Path::new("ergo.db"), true), None);
        let hint = way_on(&sqlite(ffi::SQLITE_CORRUPT), Path::new("ergo.db"), false).unwrap();
        assert!(hint.contains("restore a backup"), "{hint}");
    }

    fn sqlite(code: i32) -> StoreError {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None).into()
    }

    fn unreadable(kind: io::ErrorKind) -> StoreError {
        StoreError::Io { what: "cannot read", path: "ergo.db".into(), error: kind.into() }
    }
}
