//! The decision records of a folder. They replace each other, so they are read together, in the order of an import.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::{NotesKeeper, file_reader, watch_list::WatchList};
use crate::{
    api::{ApiError, Caller, ErrorCode, NotesRun, RememberRequest, SupersedeRequest, WriteOutcome},
    domain::ClaimId,
    interchange::{adr::Record, plan::plan},
};

/// What the records of its folder say of a record.
#[derive(Debug)]
pub(super) struct RecordLinks {
    /// The files of the records that it replaces.
    pub(super) replaces: Vec<PathBuf>,
    pub(super) replaced_by: Vec<Record>,
    /// Why its claim is retracted; `None` if it is in force or was replaced.
    pub(super) retract: Option<String>,
}

/// Returns the order in which files are read: rule files first, then all followed records of each folder, each after
/// those that it replaces, and those that are in force again last. A record has links if it or one that it replaces has
/// changed.
pub(super) fn in_order(list: &WatchList, paths: Vec<PathBuf>) -> Vec<(PathBuf, Option<RecordLinks>)> {
    let (records, rule_files): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| list.is_record(path));
    let folders: BTreeSet<&Path> = records.iter().filter_map(|path| path.parent()).collect();
    let rule_files = rule_files.into_iter().map(|path| (path, None));
    rule_files.chain(folders.into_iter().flat_map(|folder| records_of(list, folder))).collect()
}

fn records_of(list: &WatchList, folder: &Path) -> Vec<(PathBuf, Option<RecordLinks>)> {
    let files = || list.files.iter().filter(move |(path, _)| path.parent() == Some(folder) && list.is_record(path));
    let is_unchanged = |path: &Path| {
        let file = list.files.get(path).filter(|file| file.is_current());
        file.is_some_and(|file| file_reader::stat(path).is_ok_and(|stat| stat == file.stat))
    };
    let changed: BTreeSet<&PathBuf> = files().map(|(path, _)| path).filter(|path| !is_unchanged(path)).collect();
    if changed.is_empty() {
        return files().map(|(path, _)| (path.clone(), None)).collect();
    }
    let (mut ordered, mut paths, mut records) = (Vec::new(), Vec::new(), Vec::new());
    for (path, file) in files() {
        match file_reader::text(path).ok().and_then(|text| file_reader::record(&file.shown, &text)) {
            Some(record) => {
                paths.push(path.clone());
                records.push(record);
            }
            None => ordered.push((path.clone(), None)),
        }
    }
    let mut returning = Vec::new();
    for step in plan(&records) {
        let (Some(path), Some(record)) = (paths.get(step.record), records.get(step.record)) else { continue };
        let replaces: Vec<PathBuf> = step.replaces.iter().filter_map(|old| paths.get(*old).cloned()).collect();
        // A changed record that is not in force any more may have replaced this one.
        let was_replaced = step.replaced_by.is_empty()
            && paths.iter().zip(&records).any(|(other, named)| {
                changed.contains(other) && named.supersedes.iter().any(|reference| record.matches(reference))
            });
        let is_affected = changed.contains(path) || was_replaced || replaces.iter().any(|old| changed.contains(old));
        let replaced_by = step.replaced_by.iter().filter_map(|new| records.get(*new).cloned()).collect();
        let links = RecordLinks { replaces, replaced_by, retract: step.retract };
        let was_closed = list.files.get(path).is_some_and(|file| file.rules.iter().any(|rule| rule.closed));
        let returns = links.replaced_by.is_empty() && record.is_in_force() && (was_replaced || was_closed);
        let into = if returns { &mut returning } else { &mut ordered };
        into.push((path.clone(), is_affected.then_some(links)));
    }
    // A record that is in force again contradicts the one that replaced it, until that one's claim is closed.
    ordered.extend(returning);
    ordered
}

/// Replaces those of the claims of earlier records that are still active by the stored claim of a record.
pub(super) fn replace_by(
    keeper: &NotesKeeper,
    here: &Caller,
    claim: ClaimId,
    replaced: &[ClaimId],
    reason: &str,
    run: &mut NotesRun,
) -> Result<(), ApiError> {
    let mut targets = Vec::new();
    for old in replaced.iter().filter(|old| **old != claim) {
        if keeper.is_active(*old)? {
            targets.push(old.to_hex());
        }
    }
    if targets.is_empty() || !keeper.is_active(claim)? {
        return Ok(());
    }
    let why = RememberRequest { caller: here.clone(), reason: Some(reason.to_owned()), ..RememberRequest::default() };
    let request =
        SupersedeRequest { targets, successor: Some(claim.to_hex()), claim: why, ..SupersedeRequest::default() };
    match keeper.engine.supersede(request) {
        Ok(WriteOutcome::Stored(stored)) => run.superseded += stored.superseded.len(),
        Ok(WriteOutcome::Proposed(proposed)) => run.problems.push(proposed.summary),
        Ok(_) => {}
        Err(error) if error.code == ErrorCode::NeedsPerson => run.problems.push(error.message),
        Err(error) => return Err(error),
    }
    Ok(())
}
