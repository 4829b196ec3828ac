//! Compares rule files with the stored claims, without storing anything.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use super::{NotesKeeper, concerns_rule, discover, file_reader, line_claims, lock};
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
    if let Some(only) = only
        && paths.is_empty()
    {
        paths = discover::files_under(only);
    }
    let mut answer = NotesCheck::default();
    for path in &paths {
        if let Err(error) = check_file(keeper, caller, path, only, &mut answer) {
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
    let claims: HashMap<&str, _> = file.rules.iter().map(|rule| (rule.statement.as_str(), rule)).collect();
    for rule in now.rules.into_iter().filter(|rule| rule.in_force) {
        answer.rules += 1;
        let conflict = NoteConflict {
            path: path.display().to_string(),
            line: Some(rule.line),
            says: rule.statement.clone(),
            ..NoteConflict::default()
        };
        if let Some(id) = claims.get(rule.statement.as_str()).and_then(|known| known.claim) {
            let claim = keeper.engine.claim(&id.to_hex())?;
            if claim.status != Status::Active {
                let why = claim.closing_reason.as_deref().map(|why| format!(": {}", sanitize_line(why)));
                let against =
                    format!("This claim is {}{}", claim.flags.status_word(claim.status), why.unwrap_or_default());
                answer.conflicts.push(NoteConflict { against, claim: Some(id), ..conflict });
                continue;
            }
            for (card, other) in keeper.engine.opposing(&id)? {
                let (against, _) = keeper.engine.note_source(&other)?;
                let kind = keeper.engine.conflict_kind(&card)?;
                let found = NoteConflict { against, claim: Some(other), card: Some(card), kind, ..conflict.clone() };
                answer.conflicts.push(found);
            }
            continue;
        }
        let request = RememberRequest {
            caller: Caller {
                org_id: scope.org_id.clone(),
                project: scope.project.clone(),
                identity: identity.clone(),
                op_id: None,
                ..caller.clone()
            },
            statement: rule.statement,
            kind: Some(rule.kind),
            reason: Some(rule.reason),
            qualifiers: rule.qualifiers,
            source: Some(format!("{}:{}", file.shown, rule.line)),
            dry_run: true,
            ..RememberRequest::default()
        };
        let outcome = match keeper.engine.remember(request) {
            Err(error) if concerns_rule(&error) => {
                answer.problems.push(format!("{}:{}: {}", path.display(), rule.line, error.message));
                continue;
            }
            other => other?,
        };
        if let WriteOutcome::Conflict(refused) = outcome {
            for opposed in refused.conflicts {
                answer.conflicts.push(NoteConflict {
                    against: opposed.claim.statement.clone(),
                    claim: Some(opposed.claim.id),
                    card: refused.card_id,
                    kind: Some(sameness::conflict_kind(&opposed.evidence)),
                    ..conflict.clone()
                });
            }
        }
    }
    Ok(())
}
