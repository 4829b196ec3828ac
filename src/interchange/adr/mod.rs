//! Parses Markdown decision records in the formats of Nygard and MADR (2, 3 and 4).

mod decision;
mod exported_record;
mod record_status;
mod stored_claims;

use super::{
    markdown::{Block, BlockKind, MarkdownDocument},
    sentence::{capital, cut},
};
use crate::{
    api::RememberRequest,
    domain::{
        ClaimKind, Qualifiers,
        text::{REJECTED, reason_of_record},
    },
};

pub use exported_record::ExportedClaim;
pub use record_status::RecordStatus;
pub use stored_claims::StoredClaims;

/// The maximum length of a reason, in characters.
const MAX_REASON: usize = 900;

/// A reference to another record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordRef {
    /// The file's name without its folder.
    pub file: Option<String>,
    /// The record's number.
    pub number: Option<u32>,
}

/// A decision record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The path of its file.
    pub file: String,
    /// The line of the decision, from 1.
    pub line: usize,
    /// Its number, from the file's name or the title.
    pub number: Option<u32>,
    /// Its title, without the number.
    pub title: String,
    pub status: RecordStatus,
    /// When it was decided, `YYYY-MM-DD`.
    pub date: Option<String>,
    /// The decision in one sentence.
    pub statement: String,
    pub reason: String,
    /// The records that it replaces.
    pub supersedes: Vec<RecordRef>,
    /// The records that replaced it.
    pub superseded_by: Vec<RecordRef>,
    /// The other fields of the claim if `ergo export adr` wrote the record; its statement and reason are then those of the claim.
    pub exported: Option<ExportedClaim>,
}

/// The error for a file that is no decision record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct RecordError {
    /// The line, from 1.
    pub line: usize,
    pub why: String,
}

impl Record {
    /// Parses a record; `file` is its path, as used in the source.
    pub fn parse(file: &str, text: &str) -> Result<Self, RecordError> {
        let document = MarkdownDocument::parse(text);
        let sections = Sections::new(&document);
        let front = || document.front.iter().find(|(key, ..)| key == "title").map(|(_, value, _)| value.clone());
        let heading = sections.title.clone().or_else(front).unwrap_or_default();
        let name = file_name(file);
        let (title_number, title) = split_number(&heading);
        let title = if title.is_empty() { title_of_name(name) } else { title };
        let status = record_status::read(&document, &sections);
        let exported = exported_record::read(&sections);
        let own = |section: &str| exported.as_ref().and_then(|_| exported_record::whole(&sections, section));
        let decided = || decision::statement(&sections, &title).map(|(line, statement)| (line, capital(&statement)));
        let (line, statement) = own("decision").or_else(decided).ok_or_else(|| RecordError {
            line: 1,
            why: "no “Decision” or “Decision Outcome” section with a sentence in it".to_owned(),
        })?;
        let found = || {
            let reason = decision::reason(&sections).unwrap_or_else(|| reason_of_record(&title, name));
            cut(&reason, MAX_REASON)
        };
        let reason = own("context").map_or_else(found, |(_, reason)| reason);
        Ok(Self {
            file: file.to_owned(),
            line,
            number: number_of_name(name).or(title_number),
            title,
            status: status.status.unwrap_or_default(),
            date: status.date.or_else(|| date_of(name)),
            statement,
            reason,
            supersedes: status.supersedes,
            superseded_by: status.superseded_by,
            exported,
        })
    }

    /// Returns `file:line`.
    pub fn source(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// Returns the name of its file, without the folder.
    pub fn file_name(&self) -> &str {
        file_name(&self.file)
    }

    /// Whether the record's claim is not to be closed: the record is neither deprecated nor superseded.
    pub fn is_in_force(&self) -> bool {
        !matches!(self.status, RecordStatus::Deprecated | RecordStatus::Superseded)
    }

    /// Returns the record's claim.
    pub fn claim(&self) -> RememberRequest {
        let own = self.exported.is_none();
        let statement = match self.status {
            RecordStatus::Rejected if own => format!("{REJECTED}{}.", self.title.trim_end_matches('.')),
            _ => self.statement.clone(),
        };
        // Without the status: a record whose status changes stays the same claim.
        let reason = match &self.date {
            Some(date) if own => format!("{} ({date})", self.reason),
            _ => self.reason.clone(),
        };
        RememberRequest {
            statement,
            kind: Some(self.kind()),
            reason: Some(reason),
            source: Some(self.source()),
            qualifiers: self.qualifiers(),
            ..RememberRequest::default()
        }
    }

    /// Returns the kind of the record's claim: that of an exported claim, else a rejection if the record was rejected, else a decision.
    pub fn kind(&self) -> ClaimKind {
        if let Some(exported) = &self.exported {
            return exported.kind;
        }
        if self.status == RecordStatus::Rejected { ClaimKind::Rejection } else { ClaimKind::Decision }
    }

    /// Returns the conditions of the record's claim: those of an exported claim, else that it holds from the day of the decision, since
    /// the story orders claims by that day.
    pub fn qualifiers(&self) -> Qualifiers {
        if let Some(exported) = &self.exported {
            return exported.holds.clone();
        }
        let is_day = |day: &String| day.len() == 10 && day.parse::<jiff::civil::Date>().is_ok();
        Qualifiers { valid_from: self.date.clone().filter(is_day), ..Qualifiers::default() }
    }

    /// Whether `reference` refers to this record.
    pub fn matches(&self, reference: &RecordRef) -> bool {
        match (&reference.file, reference.number) {
            (Some(file), _) => file == self.file_name(),
            (None, Some(number)) => self.number == Some(number),
            (None, None) => false,
        }
    }
}

/// The blocks of a record by section.
struct Sections<'a> {
    /// The first heading, unless it is that of a section: then the first heading of level 1 that is not.
    title: Option<String>,
    /// The blocks before the first section.
    preamble: Vec<&'a Block>,
    /// Lower-case heading, and the blocks under it and its own subsections.
    named: Vec<(String, Vec<&'a Block>)>,
}

impl<'a> Sections<'a> {
    fn new(document: &'a MarkdownDocument) -> Self {
        let mut out = Self { title: None, preamble: Vec::new(), named: Vec::new() };
        let is_section = |text: &str| {
            let name = text.trim_end_matches(':').to_lowercase();
            let name = strip_number(&name);
            matches!(name, "status" | "date") || decision::is_section(name)
        };
        let first = document.blocks.iter().find(|block| matches!(block.kind, BlockKind::Heading(_)));
        let begins_with_section = first.is_some_and(|first| is_section(&first.text));
        let mut title_level = 0;
        // A block whose words are all struck out is skipped.
        for block in document.blocks.iter().filter(|block| !block.text.is_empty() || block.struck.is_empty()) {
            match block.kind {
                BlockKind::Heading(level)
                    if out.title.is_none() && (!begins_with_section || (level == 1 && !is_section(&block.text))) =>
                {
                    out.title = Some(block.text.clone());
                    title_level = level;
                }
                BlockKind::Heading(level) if level <= title_level.max(1) + 1 => {
                    out.named.push((block.text.trim_end_matches(':').to_lowercase(), Vec::new()));
                }
                _ => match out.named.last_mut() {
                    Some((_, blocks)) => blocks.push(block),
                    None => out.preamble.push(block),
                },
            }
        }
        out
    }

    /// Returns the first section whose heading equals, or else begins with, one of `names`, in the order of `names`.
    fn find(&self, names: &[&str]) -> Option<&[&'a Block]> {
        let by = |test: &dyn Fn(&str, &str) -> bool| {
            names.iter().find_map(|name| self.named.iter().find(|(heading, _)| test(strip_number(heading), name)))
        };
        by(&|heading, name| heading == name)
            .or_else(|| by(&|heading, name| heading.starts_with(name)))
            .map(|(_, blocks)| &**blocks)
    }
}

/// Removes the number of a heading such as “2. decision”.
fn strip_number(heading: &str) -> &str {
    heading.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')' | ' '))
}

/// Returns the file's name without its folder.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Splits a title such as “ADR-0007: Use X” or “7. Use X” into number and text.
fn split_number(title: &str) -> (Option<u32>, String) {
    let lower = title.to_ascii_lowercase();
    let skip = if lower.starts_with("adr") { 3 } else { 0 };
    let rest = title.get(skip..).unwrap_or(title).trim_start_matches([' ', '-', '_', '#']);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let after = rest.get(digits.len()..).unwrap_or_default();
    let marked = after.starts_with(['.', ':', ')', '-', '–', '—'])
        || after.starts_with(" -")
        || after.starts_with(" –")
        || after.starts_with(" —");
    match digits.parse() {
        Ok(number) if digits.len() <= 6 && (skip > 0 || marked) => {
            let text = after.trim_start_matches(['.', ':', ')', '-', '–', '—', ' ']);
            (Some(number), text.to_owned())
        }
        _ => (None, title.trim().to_owned()),
    }
}

/// Returns the number at the start of a file's name: `0007-use-x.md`, `adr-7-use-x.md`. A date is no number.
fn number_of_name(name: &str) -> Option<u32> {
    let lower = name.to_ascii_lowercase();
    let rest = lower.strip_prefix("adr").map_or(lower.as_str(), |rest| rest.trim_start_matches(['-', '_']));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    if date_of(rest).is_some() || digits.len() > 6 {
        return None;
    }
    digits.parse().ok()
}

/// Derives a title from a file's name.
fn title_of_name(name: &str) -> String {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let words = stem.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_'));
    capital(&words.replace(['-', '_'], " "))
}

/// Finds the first date `YYYY-MM-DD` in a text.
fn date_of(text: &str) -> Option<String> {
    let shape = |window: &&[u8]| {
        window
            .iter()
            .enumerate()
            .all(|(at, byte)| if at == 4 || at == 7 { *byte == b'-' } else { byte.is_ascii_digit() })
    };
    let found = text.as_bytes().windows(10).find(shape)?;
    let text = String::from_utf8(found.to_vec()).ok()?;
    text.parse::<jiff::civil::Date>().ok().map(|date| date.to_string())
}

#[cfg(test)]
mod tests;
