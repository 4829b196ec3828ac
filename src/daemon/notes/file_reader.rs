//! Reads a followed file, and parses it into rules.

use std::{io, os::unix::fs::MetadataExt, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    api::RememberRequest,
    domain::{
        ClaimKind, Qualifiers,
        marked_section::{self, SectionError},
    },
    files::{self, rule_files},
    interchange::{
        adr::{self, Record},
        rules,
    },
    notes::{Fragment, fragments, section},
};

/// The maximum size of a file in bytes.
pub(super) const MAX_NOTE: u64 = 4 * 1024 * 1024;

/// The version of the reader. Raise it when the same text gives other rules, so that all files are read again.
pub(super) const READER: u32 = 5;

/// The metadata by which a change of a file is detected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileStat {
    seconds: i64,
    nanoseconds: i64,
    size: u64,
    inode: u64,
}

/// A rule of a file.
pub(super) struct NoteRule {
    pub(super) statement: String,
    pub(super) kind: ClaimKind,
    pub(super) reason: String,
    /// The same qualifiers as in an import by `ergo import`, so that a scan and an import find each other's claims.
    pub(super) qualifiers: Qualifiers,
    pub(super) line: usize,
    /// Whether it is in force: not the decision of a record that is deprecated or superseded.
    pub(super) in_force: bool,
}

/// A parsed file.
pub(super) struct NoteText {
    /// The hash of the text without ergo's section.
    pub(super) hash: String,
    pub(super) rules: Vec<NoteRule>,
    /// The decision record, whose claim is the only rule.
    pub(super) record: Option<Record>,
    pub(super) fragments: Vec<Fragment>,
}

/// Returns the metadata of a file. Fails if it is not a regular file.
pub(super) fn stat(path: &Path) -> io::Result<FileStat> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    Ok(FileStat { seconds: meta.mtime(), nanoseconds: meta.mtime_nsec(), size: meta.size(), inode: meta.ino() })
}

/// Reads the text of a file. Fails if it is not UTF-8.
pub(super) fn text(path: &Path) -> io::Result<String> {
    files::text(path, MAX_NOTE)
}

/// Parses a file. `shown` is its path in sources.
///
/// # Errors
/// If it is unclear which lines belong to ergo's section, or the file has merge conflicts. Claims would change if lines
/// of the section or of both versions were read as rules, or rules below them were left out.
pub(super) fn parse(shown: &str, text: &str) -> Result<NoteText, SectionError> {
    marked_section::check(text)?;
    let own = own_text(text);
    let name = shown.rsplit('/').next().unwrap_or(shown);
    let record = if is_record(shown) { parse_record(shown, &own) } else { None };
    let rules = if is_record(shown) {
        record.iter().map(rule_of_record).collect()
    } else {
        let found = rules::parse(name, &own).rules.into_iter();
        found
            .map(|rule| NoteRule {
                statement: rule.statement,
                kind: rule.kind,
                reason: rule.reason,
                qualifiers: Qualifiers::default(),
                line: rule.line,
                in_force: true,
            })
            .collect()
    };
    Ok(NoteText { hash: section::hash_without(text), rules, record, fragments: fragments(shown, &own) })
}

/// Returns the text without ergo's section.
fn own_text(text: &str) -> String {
    let own = section::without(text);
    own.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(own)
}

/// Whether a file is in or below a folder of decision records, and is not a rule file.
pub(super) fn is_record(shown: &str) -> bool {
    let (folder, name) = shown.rsplit_once('/').unwrap_or(("", shown));
    !rule_files::is_rule_file(name) && folder.split('/').any(|part| matches!(part, "adr" | "decisions"))
}

/// Parses a decision record; `None` if the file is none, or the decision was not made yet.
pub(super) fn record(shown: &str, text: &str) -> Option<Record> {
    parse_record(shown, &own_text(text))
}

/// [`record`] of a text without ergo's section.
fn parse_record(shown: &str, own: &str) -> Option<Record> {
    if rule_files::is_beside_records(shown.rsplit('/').next().unwrap_or(shown)) {
        return None;
    }
    let record = Record::parse(shown, own).ok()?;
    let is_open = matches!(record.status, adr::RecordStatus::Proposed | adr::RecordStatus::Unknown(_));
    (!is_open).then_some(record)
}

fn rule_of_record(record: &Record) -> NoteRule {
    let RememberRequest { statement, reason, qualifiers, .. } = record.claim();
    let (kind, reason) = (record.kind(), reason.unwrap_or_default());
    NoteRule { statement, kind, reason, qualifiers, line: record.line, in_force: record.is_in_force() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_records_has_rules_only_in_rule_files_and_decisions_only_in_records() {
        let record = "# 1. Store\n\n## Status\n\nAccepted\n\n## Decision\n\nWe keep all data in Postgres.\n";
        let count = |shown: &str, text: &str| parse(shown, text).unwrap().rules.len();
        assert_eq!(count("docs/adr/0001-store.md", record), 1);
        assert_eq!(count("docs/adr/template.md", record), 0);
        assert_eq!(count("docs/adr/README.md", record), 0);
        assert_eq!(count("src/decisions/CLAUDE.md", "- Never commit secrets.\n"), 1);
    }
}
