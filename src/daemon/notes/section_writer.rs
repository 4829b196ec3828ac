//! Writes claims into ergo's section of a rule file, or removes the section, atomically. The rest of the file, its mode
//! and its line endings stay the same.

use std::{
    collections::HashSet,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::{
    NotesKeeper, absolute, caller_in, compare, discover, file_reader, line_claims, lock,
    unread_lines::UnreadLines,
    watch_list::{WatchedFile, WatchedRule},
};
use crate::{
    api::{ApiError, ErrorCode, NoteConflict, NoteFormat, NotesRun, NotesWriteRequest, NotesWritten},
    domain::{CardId, EventId, Qualifiers, Scope, judgement::words_hash, text::estimated_tokens},
    engine::NoteProposal,
    files::{DraftFile, real_path},
    notes::{
        note_format::{self, NoteLine},
        section::{self, SectionError},
        selection::{NoteCandidate, choose},
    },
};

pub(super) fn write(keeper: &NotesKeeper, request: &NotesWriteRequest) -> Result<NotesWritten, ApiError> {
    if request.path.trim().is_empty() {
        return Err(ApiError::field("path", "`path` is empty").hint("name the file"));
    }
    if request.remove && (request.format.is_some() || request.tokens.is_some()) {
        return Err(ApiError::field("remove", "`remove` excludes `format` and `tokens`"));
    }
    let path = absolute(&request.path)?;
    let path = real_path(&path).map_err(|error| failed("find", &path, &error))?;
    let _working = lock(&keeper.working);
    let old = match file_reader::text(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed("read", &path, &error)),
    };
    let (known, root) = {
        let list = lock(&keeper.list);
        (list.files.get(&path).cloned(), list.root_of(&path).map(Path::to_owned))
    };
    let mut file = known.unwrap_or_else(|| discover::watched_file(&path, &request.caller.org_id, root.as_deref()));
    let scope = match &file.scope {
        _ if request.of_caller => keeper.scope_of_caller(&request.caller)?,
        Some(scope) => scope.clone(),
        None => keeper.scope_of(&file, &request.caller)?.0,
    };
    if request.remove {
        return remove(keeper, request, &path, scope, old.as_deref());
    }
    let text = old.clone().unwrap_or_default();
    let before = section::content(&text).map_err(|error| unclear(&path, &error))?;
    let now = file_reader::parse(&file.shown, &text).map_err(|error| unclear(&path, &error))?;
    let plain = Qualifiers::default();
    let present: HashSet<EventId> =
        now.rules.iter().map(|rule| words_hash(rule.kind, &rule.statement, &plain)).collect();
    line_claims::read_settlements(keeper, &mut file.rules)?;
    file.scope = Some(scope.clone());
    let here = caller_in(&request.caller, &scope, None);
    // Also those without an open card: the file may not have been read, or a card was settled against its line.
    let contrary =
        compare::compare_rules(keeper, &here, (&path, &file), &now.rules, &mut UnreadLines::default())?.conflicts;
    let refused: Vec<CardId> = file.rules.iter().filter_map(|rule| rule.card).collect();
    let contrary_claims = contrary.iter().filter_map(|conflict| conflict.claim).collect();
    let proposed = keeper.engine.propose_notes(&scope, &present, &refused, &contrary_claims)?;

    let format = request.format.unwrap_or_else(|| NoteFormat::of(&file.shown));
    let budget = request.tokens.unwrap_or_else(|| format.budget());
    let SelectedLines { section: content, tokens, chosen } = select(&scope, format, &proposed.notes, budget);
    let new = section::put(&text, &content).map_err(|error| unclear(&path, &error))?;
    let changed = old.as_deref() != Some(&*new);
    let mut conflicts = Vec::new();
    for note in proposed.notes.iter().filter(|note| note.line.is_conflict) {
        conflicts.push(match contrary.iter().find(|conflict| conflict.claim == Some(note.claim)) {
            Some(conflict) => conflict.clone(),
            None => conflict(keeper, &path, &file, note)?,
        });
    }
    let written = changed && !request.dry_run;
    if written {
        save(keeper, &path, old.as_deref(), &new, "write")?;
    }
    Ok(NotesWritten {
        path: path.display().to_string(),
        scope,
        format,
        changed,
        written,
        removed: false,
        section: content,
        before: before.unwrap_or_default(),
        tokens,
        budget,
        chosen: chosen.len(),
        left_out: proposed.notes.len() - chosen.len(),
        said: proposed.present,
        conflicts,
    })
}

/// Removes the section of a file with the text `old`; `None` if the file does not exist.
fn remove(
    keeper: &NotesKeeper,
    request: &NotesWriteRequest,
    path: &PathBuf,
    scope: Scope,
    old: Option<&str>,
) -> Result<NotesWritten, ApiError> {
    let text = old.unwrap_or_default();
    let before = match section::content(text) {
        // A file whose code block is never closed has no section.
        Err(SectionError::OpenFence(_)) => None,
        found => found.map_err(|error| unclear(path, &error))?,
    };
    let changed = before.is_some();
    let written = changed && !request.dry_run;
    if written {
        let new = section::remove(text).map_err(|error| unclear(path, &error))?;
        save(keeper, path, old, &new, "remove")?;
    }
    let path = path.display().to_string();
    Ok(NotesWritten {
        scope,
        format: NoteFormat::of(&path),
        path,
        changed,
        written,
        removed: true,
        section: String::new(),
        before: before.unwrap_or_default(),
        tokens: 0,
        budget: 0,
        chosen: 0,
        left_out: 0,
        said: 0,
        conflicts: Vec::new(),
    })
}

/// Replaces the text of a file, and records the run, which is a `write` or a `remove`.
fn save(keeper: &NotesKeeper, path: &PathBuf, old: Option<&str>, new: &str, kind: &str) -> Result<(), ApiError> {
    replace(path, old, new)?;
    let at = keeper.now();
    let mut list = lock(&keeper.list);
    if let Some(file) = list.files.get_mut(path) {
        file.written_at = (kind == "write").then_some(at);
        // The change of the section must not count as a person's change of the file.
        if let Ok(stat) = file_reader::stat(path)
            && file.scanned_at.is_some()
            && section::hash_without(new) == file.hash
        {
            file.stat = stat;
        }
    }
    list.record_run(NotesRun { at, kind: kind.to_owned(), files: 1, changed_files: 1, ..NotesRun::default() });
    list.save()
}

/// The text of a section and its lines.
struct SelectedLines {
    section: String,
    /// The estimated number of tokens of `section`.
    tokens: usize,
    /// The indices of the proposed claims that the section contains.
    chosen: Vec<usize>,
}

/// Selects the lines of a section, so that its whole text has at most `budget` tokens. If even a section without lines
/// has more, it has no lines.
fn select(scope: &Scope, format: NoteFormat, notes: &[NoteProposal], budget: usize) -> SelectedLines {
    // The tokens of a section without lines.
    let frame = estimated_tokens(&note_format::content(scope, format, &[]));
    let candidates: Vec<NoteCandidate> = notes
        .iter()
        .map(|note| NoteCandidate {
            meaning: note.meaning,
            rank: note.rank,
            in_domain: note.in_domain,
            is_conflict: note.line.is_conflict,
            tokens: estimated_tokens(&note.line.text(format)) + 3,
        })
        .collect();
    let mut chosen = choose(&candidates, budget.saturating_sub(frame));
    loop {
        let lines: Vec<NoteLine> =
            chosen.iter().filter_map(|at| notes.get(*at)).map(|note| note.line.clone()).collect();
        let section = note_format::content(scope, format, &lines);
        let tokens = estimated_tokens(&section);
        if tokens <= budget || chosen.pop().is_none() {
            return SelectedLines { section, tokens, chosen };
        }
    }
}

/// Returns a claim that contradicts the file, with the line that it contradicts: as the file was last read, otherwise
/// as the source of the line's claim names it.
fn conflict(
    keeper: &NotesKeeper,
    path: &Path,
    file: &WatchedFile,
    note: &NoteProposal,
) -> Result<NoteConflict, ApiError> {
    let of_note = |rule: &&WatchedRule| match note.says {
        Some(claim) => rule.claim == Some(claim),
        None => rule.card == note.card,
    };
    let rule = file.rules.iter().find(of_note);
    let (says, source) = match note.says {
        Some(claim) => keeper.engine.note_source(&claim)?,
        None => (rule.map(|rule| rule.statement.clone()).unwrap_or_default(), None),
    };
    let kind = note.card.map(|card| keeper.engine.conflict_kind(&card)).transpose()?.flatten();
    let scope = keeper.engine.claim(&note.claim.to_hex())?.scope;
    Ok(NoteConflict {
        path: path.display().to_string(),
        line: rule.map(|rule| rule.line).or_else(|| source.and_then(|source| source.rsplit_once(':')?.1.parse().ok())),
        says,
        against: note.line.statement.clone(),
        claim: Some(note.claim),
        scope: Some(scope).filter(|scope| file.scope.as_ref() != Some(scope)),
        card: note.card,
        kind,
    })
}

/// Replaces the text of a file, keeping its mode. Fails if the file no longer has the text `old`.
fn replace(path: &PathBuf, old: Option<&str>, new: &str) -> Result<(), ApiError> {
    let done = || -> io::Result<()> {
        if fs::metadata(path).is_ok_and(|meta| meta.permissions().readonly()) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
        }
        let draft = DraftFile::beside(path)?;
        draft.file().write_all(new.as_bytes())?;
        draft.keep_mode()?;
        let now = match file_reader::text(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if now.as_deref() != old {
            return Err(io::Error::other("it was changed at the same moment; try again"));
        }
        draft.publish(old.is_some())
    };
    done().map_err(|error| failed("write", path, &error))
}

fn failed(verb: &str, path: &Path, error: &io::Error) -> ApiError {
    ApiError::new(ErrorCode::BadRequest, format!("cannot {verb} {}: {error}", path.display()))
}

fn unclear(path: &Path, error: &SectionError) -> ApiError {
    ApiError::new(ErrorCode::BadRequest, format!("{} was left unchanged: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_keeps_its_mode_and_a_read_only_or_changed_one_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("CLAUDE.md");
        fs::write(&path, "a\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        replace(&path, Some("a\n"), "b\n").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(replace(&path, Some("a\n"), "c\n").unwrap_err().message.contains("at the same moment"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o440)).unwrap();
        assert!(replace(&path, Some("b\n"), "c\n").unwrap_err().message.contains("read-only"));
        assert_eq!(fs::read_to_string(&path).unwrap(), "b\n");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no draft is left");
    }

    #[test]
    fn a_link_stays_a_link_and_two_megabytes_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.md"), dir.path().join("CLAUDE.md"));
        let text = "- A rule of many.\n".repeat(2 * 1024 * 1024 / 18);
        fs::write(&real, &text).unwrap();
        symlink(&real, &link).unwrap();
        let new = section::put(&text, "- x").unwrap();
        let path = real_path(&link).unwrap();
        replace(&path, Some(&text), &new).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let written = fs::read_to_string(&link).unwrap();
        assert!(written.starts_with(&text) && written.len() > text.len());
    }
}
