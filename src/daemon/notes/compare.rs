//! Compares rule files with the stored claims, without storing anything.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use super::{
    NotesKeeper, caller_in, concerns_rule, discover, earlier_lines,
    file_reader::{self, NoteRule, is_record},
    line_claims, lock,
    own_claims::OwnClaims,
    unread_lines::UnreadLines,
    watch_list::{WatchedFile, WatchedRule},
};
use crate::{
    api::{ApiError, Caller, ErrorCode, NoteConflict, NotesCheck, RememberRequest, WriteOutcome},
    domain::{Status, text::sanitize_line},
    notes::sameness,
};

pub(super) fn check(keeper: &NotesKeeper, caller: &Caller, only: Option<&Path>) -> NotesCheck {
    let mut paths: Vec<PathBuf> = {
        let list = lock(&keeper.list);
        list.files.keys().filter(|path| only.is_none_or(|only| path.starts_with(only))).cloned().collect()
    };
    // Files that are not followed can be compared, too, for use in CI.
    if let Some(only) = only {
        paths.extend(discover::files_under(only));
        paths.sort();
        paths.dedup();
    }
    let mut answer = NotesCheck::default();
    let mut unread = UnreadLines::default();
    for path in &paths {
        if let Err(error) = check_file(keeper, caller, path, only, &mut unread, &mut answer) {
            answer.problems.push(format!("{}: {}", path.display(), error.message));
        }
    }
    answer
}

fn check_file(
    keeper: &NotesKeeper,
    caller: &Caller,
    path: &Path,
    only: Option<&Path>,
    unread: &mut UnreadLines,
    answer: &mut NotesCheck,
) -> Result<(), ApiError> {
    let text = file_reader::text(path)
        .map_err(|error| ApiError::new(ErrorCode::BadRequest, format!("cannot be read: {error}")))?;
    let (known, followed) = {
        let list = lock(&keeper.list);
        (list.files.get(path).cloned(), list.root_of(path).map(Path::to_owned))
    };
    let root = followed.as_deref().or(only);
    let mut file = known.unwrap_or_else(|| discover::watched_file(path, &caller.org_id, root));
    line_claims::read_settlements(keeper, &mut file.rules)?;
    let (scope, identity) = keeper.scope_of(&file, caller)?;
    let now = file_reader::parse(&file.shown, &text)
        .map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))?;
    answer.files += 1;
    answer.rules += now.rules.iter().filter(|rule| rule.in_force).count();
    let here = caller_in(caller, &scope, identity);
    file.scope = Some(scope);
    let Compared { conflicts, problems } = compare_rules(keeper, &here, (path, &file), &now.rules, unread)?;
    answer.conflicts.extend(conflicts);
    answer.problems.extend(problems);
    Ok(())
}

/// What was found about the rules of a file.
#[derive(Default)]
pub(super) struct Compared {
    pub(super) conflicts: Vec<NoteConflict>,
    /// Rules that cannot be stored, with the reason.
    problems: Vec<String>,
}

/// Compares the rules that a file has now with the claims of its project: what the next scan would refuse, and what the
/// models find besides, which are asked about each rule without a claim. `here`: the caller, in this project. Nothing is
/// stored.
pub(super) fn compare_rules(
    keeper: &NotesKeeper,
    here: &Caller,
    (path, file): (&Path, &WatchedFile),
    rules: &[NoteRule],
    unread: &mut UnreadLines,
) -> Result<Compared, ApiError> {
    let mut found = Compared::default();
    let earlier: HashMap<&str, &WatchedRule> = file.rules.iter().map(|rule| (rule.statement.as_str(), rule)).collect();
    // The claims of earlier versions of the lines do not count, because they end with the next scan, unless another
    // file has these lines.
    let mut ending = HashSet::new();
    for rule in file.rules.iter().filter(|rule| rules.iter().all(|now| !rule.says_same(now.kind, &now.statement))) {
        if is_record(&file.shown) || !unread.or_other_files_have(keeper, here, (path, file), rule)? {
            ending.extend(line_claims::claims_of(keeper, rule)?);
        }
    }
    // A line that was not read yet may have a claim, too, from an import or of another device.
    let own = match &file.scope {
        Some(scope) if !is_record(&file.shown) => Some(OwnClaims::read(keeper, scope, file, None)?),
        _ => None,
    };
    for rule in rules.iter().filter(|rule| rule.in_force) {
        let conflict = NoteConflict {
            path: path.display().to_string(),
            line: Some(rule.line),
            says: rule.statement.clone(),
            ..NoteConflict::default()
        };
        let line = match earlier.get(rule.statement.as_str()) {
            Some(line) => Some((*line).clone()),
            None => earlier_lines::earlier_line(keeper, path, file, rule)?,
        };
        let claim = match &line {
            Some(line) => line.claim,
            None => own.as_ref().and_then(|own| own.of(rule)),
        };
        let claim = claim.map(|id| keeper.engine.claim(&id.to_hex())).transpose()?;
        let (card, opposing) = match claim {
            Some(claim) if claim.status == Status::Active => {
                for (card, other) in keeper.engine.opposing(&claim.id)? {
                    let (against, _) = keeper.engine.note_source(&other)?;
                    let kind = keeper.engine.conflict_kind(&card)?;
                    let claim = Some(other);
                    found.conflicts.push(NoteConflict { against, claim, card: Some(card), kind, ..conflict.clone() });
                }
                continue;
            }
            Some(claim) if line_claims::went_with_line(keeper, file, &claim) => {
                match keeper.engine.against_reinstating(here, &claim.id) {
                    Err(error) if concerns_rule(&error) => {
                        found.problems.push(format!("{}:{}: {}", path.display(), rule.line, error.message));
                        continue;
                    }
                    opposing => (None, opposing?),
                }
            }
            Some(claim) => {
                let why = claim.closing_reason.as_deref().map(|why| format!(": {}", sanitize_line(why)));
                let status = claim.flags.status_word(claim.status);
                let against = format!("This claim is {status}{}", why.unwrap_or_default());
                found.conflicts.push(NoteConflict { against, claim: Some(claim.id), ..conflict });
                continue;
            }
            None => match keeper.engine.remember(as_new(here, file, rule)) {
                Err(error) if concerns_rule(&error) => {
                    found.problems.push(format!("{}:{}: {}", path.display(), rule.line, error.message));
                    continue;
                }
                outcome => match outcome? {
                    WriteOutcome::Conflict(refused) => (refused.card_id, refused.conflicts),
                    _ => (None, Vec::new()),
                },
            },
        };
        // What the card of a refused or declined line names counts, even if the models see it differently now.
        if let Some(line) = &line {
            for claim in line_claims::opposing(keeper, line)? {
                if !ending.contains(&claim) && opposing.iter().all(|opposed| opposed.claim.id != claim) {
                    let (against, _) = keeper.engine.note_source(&claim)?;
                    let kind = line.card.map(|card| keeper.engine.conflict_kind(&card)).transpose()?.flatten();
                    let (claim, card) = (Some(claim), line.card);
                    found.conflicts.push(NoteConflict { against, claim, card, kind, ..conflict.clone() });
                }
            }
        }
        for opposed in opposing.into_iter().filter(|opposed| !ending.contains(&opposed.claim.id)) {
            found.conflicts.push(NoteConflict {
                against: opposed.claim.statement.clone(),
                claim: Some(opposed.claim.id),
                card,
                kind: Some(sameness::conflict_kind(&opposed.evidence)),
                ..conflict.clone()
            });
        }
    }
    for conflict in &mut found.conflicts {
        let claim = conflict.claim.map(|claim| keeper.engine.claim(&claim.to_hex())).transpose()?;
        conflict.scope = claim.map(|claim| claim.scope).filter(|scope| file.scope.as_ref() != Some(scope));
    }
    Ok(found)
}

/// Returns the request that would store a rule that has no claim.
fn as_new(here: &Caller, file: &WatchedFile, rule: &NoteRule) -> RememberRequest {
    RememberRequest {
        caller: here.clone(),
        statement: rule.statement.clone(),
        kind: Some(rule.kind),
        reason: Some(rule.reason.clone()),
        qualifiers: rule.qualifiers.clone(),
        source: Some(format!("{}:{}", file.shown, rule.line)),
        dry_run: true,
        ..RememberRequest::default()
    }
}
