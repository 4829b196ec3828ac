//! Lines of rule files that were saved, but not read since. A line that is missing in one file may have been moved to
//! one of these.

use std::path::{Path, PathBuf};

use super::{
    NotesKeeper,
    file_reader::{self, FileStat, is_record},
    line_claims, lock,
    watch_list::{WatchedFile, WatchedRule},
};
use crate::{
    api::{ApiError, Caller},
    domain::{ClaimKind, Scope},
};

/// The lines of the rule files that changed since they were last read, as the files are now. They are read once in a
/// pass, when the first line is missing in its file.
#[derive(Default)]
pub(super) struct UnreadLines(Option<Vec<UnreadFile>>);

struct UnreadFile {
    path: PathBuf,
    scope: Scope,
    lines: Vec<(ClaimKind, String)>,
}

impl UnreadLines {
    /// Whether another file of the project has a line, so that the line was moved there.
    pub(super) fn have(
        &mut self,
        keeper: &NotesKeeper,
        caller: &Caller,
        (path, file): (&Path, &WatchedFile),
        line: &WatchedRule,
    ) -> Result<bool, ApiError> {
        if self.0.is_none() {
            self.0 = Some(unread_files(keeper, caller)?);
        }
        Ok(self.0.iter().flatten().any(|other| {
            other.path != path
                && Some(&other.scope) == file.scope.as_ref()
                && other.lines.iter().any(|(kind, statement)| line.says_same(*kind, statement))
        }))
    }

    /// Whether another rule file of the project has a line, whether it was read since it was saved or not. Then a
    /// different line at the place of this one is no new version of it: the line was moved, or both files had it.
    pub(super) fn or_other_files_have(
        &mut self,
        keeper: &NotesKeeper,
        caller: &Caller,
        (path, file): (&Path, &WatchedFile),
        line: &WatchedRule,
    ) -> Result<bool, ApiError> {
        if self.have(keeper, caller, (path, file), line)? {
            return Ok(true);
        }
        let list = lock(&keeper.list);
        let mut others = line_claims::others(&list, path, file).filter(|(other, theirs)| {
            !is_record(&theirs.shown) && file_reader::stat(other).is_ok_and(|now| now == theirs.stat)
        });
        Ok(others.any(|(_, theirs)| theirs.rules.iter().any(|rule| rule.says_same(line.kind, &line.statement))))
    }
}

fn unread_files(keeper: &NotesKeeper, caller: &Caller) -> Result<Vec<UnreadFile>, ApiError> {
    let stats: Vec<(PathBuf, FileStat)> =
        lock(&keeper.list).files.iter().map(|(path, file)| (path.clone(), file.stat)).collect();
    let mut unread = Vec::new();
    for (path, stat) in stats {
        if !file_reader::stat(&path).is_ok_and(|now| now != stat) {
            continue;
        }
        let file = lock(&keeper.list).files.get(&path).filter(|file| !is_record(&file.shown)).cloned();
        let (Some(file), Ok(text)) = (file, file_reader::text(&path)) else { continue };
        // A file with an error has no lines until somebody corrects it.
        let Ok(now) = file_reader::parse(&file.shown, &text) else { continue };
        let scope = match file.scope.clone() {
            Some(scope) => scope,
            None => keeper.scope_of(&file, caller)?.0,
        };
        let lines = now.rules.into_iter().map(|rule| (rule.kind, rule.statement)).collect();
        unread.push(UnreadFile { path, scope, lines });
    }
    Ok(unread)
}
