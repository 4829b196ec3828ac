//! Decides which earlier line of the project a line of a rule file is, and so which claim is its own. The line may have
//! left its file before, or may have been moved from another one.

use std::{path::Path, slice};

use super::{
    NotesKeeper,
    file_reader::{NoteRule, is_record},
    line_claims, lock,
    unread_lines::UnreadLines,
    watch_list::{WatchedFile, WatchedRule},
};
use crate::{
    api::{ApiError, Caller},
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
    Ok(Some(line))
}

/// Takes a changed line for a new one in place of a removed one, if it is no new version: its earlier words are still
/// in this or another file, so that their claim stays and the guard must compare the line with it, or its new words are
/// those of an earlier line, which has its own claim or was decided against.
pub(super) fn separate_moved_and_returned(
    keeper: &NotesKeeper,
    caller: &Caller,
    (path, file): (&Path, &WatchedFile),
    rules: &[NoteRule],
    unread: &mut UnreadLines,
    difference: &mut Difference,
) -> Result<(), ApiError> {
    for (at, rule) in rules.iter().enumerate() {
        let Some(LineChange::Changed(old)) = difference.now.get(at) else { continue };
        let Some(old) = file.rules.get(*old) else { continue };
        let is_still_here = rules.iter().any(|now| old.says_same(now.kind, &now.statement));
        let is_known = match earlier_line(keeper, path, file, rule)? {
            Some(line) => line.claim.is_some() || line_claims::is_declined(keeper, &line)?,
            None => false,
        };
        if is_still_here || is_known || unread.or_other_files_have(keeper, caller, (path, file), old)? {
            difference.separate(at);
        }
    }
    Ok(())
}
