//! Decides which earlier line of the project a line of a rule file is, and so which claim is its own. The line may have
//! left its file before, or may have been moved from another one.

use std::{path::Path, slice};

use super::{
    NotesKeeper,
    file_reader::{NoteRule, is_record},
    line_claims, lock,
    watch_list::{WatchedFile, WatchedRule},
};
use crate::{
    api::ApiError,
    interchange::line_diff::{Difference, LineChange},
};

/// Returns the earlier line that a line repeats which its file did not have when it was last read: one that was removed
/// from the file, or one of another file of the project, where it is still or was before. Its claim and its card are as
/// people have settled them.
pub(super) fn earlier_line(
    keeper: &NotesKeeper,
    path: &Path,
    file: &WatchedFile,
    rule: &NoteRule,
) -> Result<Option<WatchedRule>, ApiError> {
    let find = |lines: &[WatchedRule]| lines.iter().find(|line| line.says_same(rule.kind, &rule.statement)).cloned();
    let found = find(&file.gone).or_else(|| {
        let list = lock(&keeper.list);
        let others = || {
            let others = line_claims::others(&list, path, file).map(|(_, theirs)| theirs);
            others.filter(|theirs| !is_record(&theirs.shown))
        };
        others().find_map(|theirs| find(&theirs.rules)).or_else(|| others().find_map(|theirs| find(&theirs.gone)))
    });
    let Some(mut line) = found else { return Ok(None) };
    line_claims::read_settlements(keeper, slice::from_mut(&mut line))?;
    line.claim = line.claim.map(|claim| keeper.engine.narrowed_form(&claim)).transpose()?;
    Ok(Some(line))
}

/// Takes a changed line whose new words an earlier line had for the return of that line, if its claim is closed or its
/// card was settled against it: the last version is gone.
pub(super) fn separate_returned(
    keeper: &NotesKeeper,
    path: &Path,
    file: &WatchedFile,
    rules: &[NoteRule],
    difference: &mut Difference,
) -> Result<(), ApiError> {
    for (at, rule) in rules.iter().enumerate() {
        if !matches!(difference.now.get(at), Some(LineChange::Changed(_))) {
            continue;
        }
        let Some(line) = earlier_line(keeper, path, file, rule)? else { continue };
        let is_settled = match line.claim {
            Some(claim) => !keeper.is_active(claim)?,
            None => line_claims::is_declined(keeper, &line)?,
        };
        if is_settled {
            difference.separate(at);
        }
    }
    Ok(())
}
