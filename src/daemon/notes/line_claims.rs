//! The claims of a file's lines: what people have decided about them since the file was last read, their end, and their
//! return.

use std::{path::Path, slice};

use super::{
    NotesKeeper,
    file_reader::NoteRule,
    lock,
    watch_list::{WatchedFile, WatchedRule},
};
use crate::{
    api::{ActRequest, ApiError, Caller, ClaimView, ErrorCode, NotesRun, WriteOutcome},
    domain::{ClaimId, Status},
    engine::RefusedRule,
    interchange::no_longer_in,
};

/// Gives each rule that the guard refused the claim which settling its card stored. Without a settlement, or if it was
/// undone, the rule has no claim. Returns whether a rule can be tried again, because no claim opposes it any more.
pub(super) fn read_settlements(keeper: &NotesKeeper, rules: &mut [WatchedRule]) -> Result<bool, ApiError> {
    let mut can_retry = false;
    for rule in rules {
        let Some(card) = rule.card else { continue };
        rule.claim = match keeper.engine.refused_rule(&card)? {
            RefusedRule::Stored(claim) => Some(keeper.engine.narrowed_form(&claim)?),
            RefusedRule::NotStored { declined, opposed, .. } => {
                can_retry |= !declined && !opposed;
                None
            }
        };
    }
    Ok(can_retry)
}

/// Returns what became of a rule that the guard refused and that has no claim; `None` for any other rule.
fn refused(keeper: &NotesKeeper, rule: &WatchedRule) -> Result<Option<RefusedRule>, ApiError> {
    let card = rule.card.filter(|_| rule.claim.is_none());
    card.map(|card| keeper.engine.refused_rule(&card)).transpose()
}

/// Whether the guard refused a rule, and its card was settled against it.
pub(super) fn is_declined(keeper: &NotesKeeper, rule: &WatchedRule) -> Result<bool, ApiError> {
    Ok(matches!(refused(keeper, rule)?, Some(RefusedRule::NotStored { declined: true, .. })))
}

/// Whether the card of a refused rule was settled against it, and a claim that opposes it is still active.
pub(super) fn contradicts_a_decision(keeper: &NotesKeeper, rule: &WatchedRule) -> Result<bool, ApiError> {
    Ok(matches!(refused(keeper, rule)?, Some(RefusedRule::NotStored { declined: true, opposed: true, .. })))
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

/// Whether another file of the project has a matching line.
pub(super) fn another_has(
    keeper: &NotesKeeper,
    path: &Path,
    file: &WatchedFile,
    matches: impl Fn(&WatchedRule) -> bool,
) -> bool {
    lock(&keeper.list)
        .files
        .iter()
        .any(|(other, theirs)| other != path && theirs.scope == file.scope && theirs.rules.iter().any(&matches))
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

/// Closes the open card of a refused line that is gone, unless another file of the project has the line, too.
pub(super) fn close_card(
    keeper: &NotesKeeper,
    here: &Caller,
    (path, file): (&Path, &WatchedFile),
    rule: &WatchedRule,
) -> Result<(), ApiError> {
    let Some(card) = rule.card.filter(|_| rule.claim.is_none()) else { return Ok(()) };
    let is_there = file.rules.iter().any(|now| now.says_same(rule.kind, &rule.statement));
    if is_there || another_has(keeper, path, file, |rule| rule.card == Some(card)) {
        return Ok(());
    }
    let reason = no_longer_in(&file.shown);
    keeper.engine.withdraw_refused_rule(here, &card, &file.shown, &reason)
}

/// Returns the removed line that a new one repeats, and makes its claim active again if it was retracted with the line.
/// Returns `None` if there was no such line, or if its claim cannot be reinstated, so that the rule must be stored anew.
pub(super) fn bring_back(
    keeper: &NotesKeeper,
    here: &Caller,
    file: &mut WatchedFile,
    rule: &NoteRule,
    run: &mut NotesRun,
) -> Result<Option<WatchedRule>, ApiError> {
    let Some(mut line) = file.take_gone(rule.kind, &rule.statement) else { return Ok(None) };
    read_settlements(keeper, slice::from_mut(&mut line))?;
    let Some(id) = line.claim else { return Ok(Some(line)) };
    let claim = match keeper.engine.claim(&id.to_hex()) {
        Err(error) if error.code == ErrorCode::NotFound => return Ok(None),
        claim => claim?,
    };
    if !went_with_line(keeper, file, &claim) {
        return Ok(Some(line));
    }
    let reason = format!("Again in {}.", file.shown);
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

/// Whether a claim was retracted because its line was removed, from this file or another one of the project.
fn went_with_line(keeper: &NotesKeeper, file: &WatchedFile, claim: &ClaimView) -> bool {
    let Some(reason) = claim.closing_reason.as_deref().filter(|_| claim.status == Status::Retracted) else {
        return false;
    };
    let list = lock(&keeper.list);
    let others = list.files.values().filter(|other| other.scope == file.scope);
    others.chain([file]).any(|file| no_longer_in(&file.shown) == reason)
}
