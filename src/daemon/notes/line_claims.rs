//! The claims of a file's lines: what people have decided about them since the file was last read, their end, and their
//! return.

use std::path::{Path, PathBuf};

use super::{
    NotesKeeper, caller_in,
    file_reader::is_record,
    lock,
    unread_lines::UnreadLines,
    watch_list::{WatchList, WatchedFile, WatchedRule},
};
use crate::{
    api::{ActRequest, ApiError, Caller, ClaimView, ErrorCode, NotesRun, WriteOutcome},
    domain::ClaimId,
    engine::RefusedRule,
    interchange::{again_in, no_longer_in, rules::left_with_line},
};

/// Gives each rule that the guard refused the claim which settling its card stored. Without a settlement, or if it was
/// undone, the rule has no claim. Gives each rule whose claim a person narrowed the narrowed form. Returns whether a
/// rule can be tried again, because no claim opposes it any more.
pub(super) fn read_settlements(keeper: &NotesKeeper, rules: &mut [WatchedRule]) -> Result<bool, ApiError> {
    let claims: Vec<ClaimId> = rules.iter().filter_map(|rule| rule.claim).collect();
    let active = keeper.engine.active_claims(&claims)?;
    let mut can_retry = false;
    for rule in rules {
        let Some(card) = rule.card else {
            let closed = rule.claim.filter(|claim| !active.contains(claim));
            rule.claim = closed.map_or(Ok(rule.claim), |claim| keeper.engine.narrowed_form(&claim).map(Some))?;
            continue;
        };
        rule.claim = match keeper.engine.refused_rule(&card)? {
            RefusedRule::Stored(claim) => Some(keeper.engine.narrowed_form(&claim)?),
            RefusedRule::NotStored { opposed, .. } => {
                can_retry |= opposed.is_empty();
                None
            }
        };
    }
    Ok(can_retry)
}

/// Returns what became of a rule that the guard refused and that has no claim; `None` for any other rule.
pub(super) fn refused(keeper: &NotesKeeper, rule: &WatchedRule) -> Result<Option<RefusedRule>, ApiError> {
    let card = rule.card.filter(|_| rule.claim.is_none());
    card.map(|card| keeper.engine.refused_rule(&card)).transpose()
}

/// Whether the guard refused a rule, its card was settled against it, and a claim that opposes it is still in force.
pub(super) fn is_declined(keeper: &NotesKeeper, rule: &WatchedRule) -> Result<bool, ApiError> {
    let refused = refused(keeper, rule)?;
    Ok(matches!(refused, Some(RefusedRule::NotStored { declined: true, opposed, .. }) if !opposed.is_empty()))
}

/// Returns the claims in force because of which a rule was refused, if its card is open or was settled against it.
pub(super) fn opposing(keeper: &NotesKeeper, rule: &WatchedRule) -> Result<Vec<ClaimId>, ApiError> {
    Ok(match refused(keeper, rule)? {
        Some(RefusedRule::NotStored { opposed, .. }) => opposed,
        Some(RefusedRule::Stored(_)) | None => Vec::new(),
    })
}

/// Returns the active claims that end with a line: its own, or, if the guard refused it, those of its earlier version.
pub(super) fn claims_of(keeper: &NotesKeeper, rule: &WatchedRule) -> Result<Vec<ClaimId>, ApiError> {
    if let Some(RefusedRule::NotStored { replaces, .. }) = refused(keeper, rule)? {
        return Ok(replaces);
    }
    let own = rule.claim.filter(|_| !rule.was_stored);
    let is_active = own.map_or(Ok(false), |claim| keeper.is_active(claim))?;
    Ok(own.filter(|_| is_active).into_iter().collect())
}

/// Whether another file of the project has, or had before it was deleted, a matching line.
pub(super) fn another_had(
    keeper: &NotesKeeper,
    path: &Path,
    file: &WatchedFile,
    matches: impl Fn(&WatchedRule) -> bool,
) -> bool {
    others(&lock(&keeper.list), path, file).any(|(_, theirs)| theirs.rules.iter().any(&matches))
}

/// Whether another existing file of the project has a matching line.
fn another_has(keeper: &NotesKeeper, path: &Path, file: &WatchedFile, matches: impl Fn(&WatchedRule) -> bool) -> bool {
    others(&lock(&keeper.list), path, file).any(|(other, theirs)| theirs.rules.iter().any(&matches) && other.exists())
}

/// Returns the other followed files of a file's project.
pub(super) fn others<'a>(
    list: &'a WatchList,
    path: &'a Path,
    file: &'a WatchedFile,
) -> impl Iterator<Item = (&'a PathBuf, &'a WatchedFile)> {
    list.files.iter().filter(move |(other, theirs)| *other != path && theirs.scope == file.scope)
}

/// Retracts claims that end with a line, except those that another file of the project has, too.
pub(super) fn retract(
    keeper: &NotesKeeper,
    here: &Caller,
    (path, file): (&Path, &WatchedFile),
    claims: &[ClaimId],
    reason: &str,
    run: &mut NotesRun,
) -> Result<(), ApiError> {
    for &claim in claims {
        if another_has(keeper, path, file, |rule| rule.claim == Some(claim)) {
            continue;
        }
        let reason = reason.to_owned();
        let request = ActRequest { caller: here.clone(), target: claim.to_hex(), reason, ..ActRequest::default() };
        match keeper.engine.retract(request) {
            Ok(WriteOutcome::Done(_)) => run.retracted += 1,
            Ok(WriteOutcome::Proposed(proposed)) => run.problems.push(proposed.summary),
            Ok(_) => {}
            Err(error) if error.code == ErrorCode::NeedsPerson => run.problems.push(error.message),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Closes the open card of a refused line that is gone, unless another file of the project has the line, too, or it was
/// moved to a file that was not read since. `here`: the caller, in this project.
pub(super) fn close_card(
    keeper: &NotesKeeper,
    (caller, here): (&Caller, &Caller),
    (path, file): (&Path, &WatchedFile),
    rule: &WatchedRule,
    unread: &mut UnreadLines,
) -> Result<(), ApiError> {
    let Some(card) = rule.card.filter(|_| rule.claim.is_none()) else { return Ok(()) };
    let is_elsewhere = another_has(keeper, path, file, |rule| rule.card == Some(card));
    if is_elsewhere || unread.have(keeper, caller, (path, file), rule)? {
        return Ok(());
    }
    // The refused write may name the file that had the line before.
    let mut files: Vec<String> =
        others(&lock(&keeper.list), path, file).map(|(_, theirs)| theirs.shown.clone()).collect();
    files.push(file.shown.clone());
    keeper.engine.withdraw_refused_rule(here, &card, &files, &no_longer_in(&file.shown))
}

/// Closes the open cards of the refused lines of a deleted file. The claims of its other lines stay, because the file
/// may be back with another branch of the repository.
pub(super) fn close_cards_of_deleted(
    keeper: &NotesKeeper,
    caller: &Caller,
    (path, file): (&Path, &mut WatchedFile),
    unread: &mut UnreadLines,
) -> Result<(), ApiError> {
    let Some(scope) = &file.scope else { return Ok(()) };
    let here = caller_in(caller, scope, None);
    read_settlements(keeper, &mut file.rules)?;
    for rule in &file.rules {
        close_card(keeper, (caller, &here), (path, &*file), rule, unread)?;
    }
    Ok(())
}

/// Makes the claim of an earlier line active again, if it was closed with the line, now that a file has the line again.
/// Returns `None` if the claim cannot be reinstated, so that the rule must be stored anew.
pub(super) fn bring_back(
    keeper: &NotesKeeper,
    here: &Caller,
    file: &WatchedFile,
    line: WatchedRule,
    run: &mut NotesRun,
) -> Result<Option<WatchedRule>, ApiError> {
    let Some(id) = line.claim else { return Ok(Some(line)) };
    let claim = match keeper.engine.claim(&id.to_hex()) {
        Err(error) if error.code == ErrorCode::NotFound => return Ok(None),
        claim => claim?,
    };
    if !went_with_line(keeper, file, &claim) {
        return Ok(Some(line));
    }
    let reason = again_in(&file.shown);
    let request = ActRequest { caller: here.clone(), target: id.to_hex(), reason, ..ActRequest::default() };
    match keeper.engine.reinstate_by_rules(&request) {
        Ok(WriteOutcome::Done(_)) => {
            run.reinstated += 1;
            Ok(Some(line))
        }
        Ok(_) => Ok(None),
        Err(error) if error.code == ErrorCode::NeedsPerson => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether the claim of a line that a file still has was closed with the same line of another file, so that it returns.
pub(super) fn has_returning(keeper: &NotesKeeper, file: &WatchedFile) -> Result<bool, ApiError> {
    if is_record(&file.shown) {
        return Ok(false);
    }
    let claims = file.claims();
    let active = keeper.engine.active_claims(&claims)?;
    for claim in claims.iter().filter(|claim| !active.contains(*claim)) {
        match keeper.engine.claim(&claim.to_hex()) {
            Err(error) if error.code == ErrorCode::NotFound => {}
            Err(error) => return Err(error),
            Ok(claim) if went_with_line(keeper, file, &claim) => return Ok(true),
            Ok(_) => {}
        }
    }
    Ok(false)
}

/// Whether a claim was closed because its line was removed or changed, in this file or another one of the project.
pub(super) fn went_with_line(keeper: &NotesKeeper, file: &WatchedFile, claim: &ClaimView) -> bool {
    let list = lock(&keeper.list);
    let files = list.files.values().filter(|other| other.scope == file.scope);
    files.chain([file]).any(|file| left_with_line(claim, &file.shown))
}
