//! Parses the status of a record, its date, and the records that it replaces or that replaced it.

use super::{RecordRef, Sections, date_of, file_name};
use crate::interchange::markdown::{Block, MarkdownDocument, MarkdownLink};

/// The status of a decision record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordStatus {
    /// In force. The default.
    #[default]
    Accepted,
    /// Under discussion.
    Proposed,
    /// Decided against.
    Rejected,
    /// No longer in force, without a successor.
    Deprecated,
    /// Replaced by another record.
    Superseded,
    /// Another word, so that the record need not be in force: “On hold”.
    Unknown(String),
}

/// The most words of a status; a longer text is a comment.
const MAX_STATUS_WORDS: usize = 3;

#[derive(Debug, Default)]
pub(super) struct StatusFields {
    /// `None` if the record names none.
    pub(super) status: Option<RecordStatus>,
    pub(super) date: Option<String>,
    pub(super) supersedes: Vec<RecordRef>,
    pub(super) superseded_by: Vec<RecordRef>,
}

/// Parses the front matter, the lines `Status: …` and `Date: …` before the first section, and the section “Status”. The last
/// status wins, since records are amended at the end.
pub(super) fn read(document: &MarkdownDocument, sections: &Sections<'_>) -> StatusFields {
    let mut out = StatusFields::default();
    for (key, value, _) in &document.front {
        let parsed = MarkdownDocument::parse(value);
        let links = parsed.blocks.first().map_or(&[][..], |block| &block.links);
        let text = parsed.blocks.first().map_or(value.as_str(), |block| block.text.as_str());
        out.field(key, text, links);
    }
    for block in &sections.preamble {
        out.labelled(block);
    }
    for block in sections.find(&["status"]).unwrap_or_default() {
        out.relation_or_status(&block.text, &block.links);
        out.date = out.date.take().or_else(|| date_of(&block.text));
    }
    if let Some(blocks) = sections.find(&["date"]) {
        out.date = blocks.iter().find_map(|block| date_of(&block.text)).or(out.date);
    }
    for name in ["supersedes", "superseded by", "replaces", "replaced by"] {
        for block in sections.find(&[name]).unwrap_or_default() {
            out.field(name, &block.text, &block.links);
        }
    }
    if !out.superseded_by.is_empty() {
        out.status = Some(RecordStatus::Superseded);
    }
    out
}

impl StatusFields {
    /// Parses a paragraph or list item such as “Status: accepted”; a paragraph may contain several fields.
    fn labelled(&mut self, block: &Block) {
        if let Some((key, value)) = block.text.split_once(':')
            && key.split_whitespace().count() <= 3
        {
            let key = key.trim().to_lowercase();
            // “Status: accepted” and “Date: 2020-01-01” on adjoining lines are one paragraph.
            let (value, rest) = match value.find("Date:") {
                Some(at) if key == "status" => value.split_at(at),
                _ => (value, ""),
            };
            self.field(&key, value.trim(), &block.links);
            if !rest.is_empty() {
                self.field("date", rest, &[]);
            }
        }
    }

    fn field(&mut self, key: &str, value: &str, links: &[MarkdownLink]) {
        match key.trim().replace(['-', '_'], " ").as_str() {
            "status" => {
                self.relation_or_status(value, links);
                self.date = self.date.take().or_else(|| date_of(value));
            }
            "date" | "decided" | "decision date" | "created" if self.date.is_none() => self.date = date_of(value),
            "supersedes" | "supercedes" | "replaces" => add_new(&mut self.supersedes, references(value, links)),
            "superseded by" | "superceded by" | "replaced by" => {
                add_new(&mut self.superseded_by, references(value, links));
            }
            _ => {}
        }
    }

    fn relation_or_status(&mut self, text: &str, links: &[MarkdownLink]) {
        let lower = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if has(&["superseded by", "superceded by", "supersede by", "replaced by", "obsoleted by"]) {
            add_new(&mut self.superseded_by, references(text, links));
            self.status = Some(RecordStatus::Superseded);
            return;
        }
        if has(&["supersedes", "supercedes", "replaces", "obsoletes"]) {
            // The text may give another status: a record that is “Proposed (supersedes ADR-3)” replaces nothing yet.
            add_new(&mut self.supersedes, references(text, links));
        }
        let relations = ["amend", "clarif", "supersedes", "supercedes", "replaces", "obsoletes"];
        if relations.iter().any(|word| lower.starts_with(word)) {
            return;
        }
        let word = lower.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty());
        self.status = Some(match word {
            Some(
                "accepted" | "approved" | "adopted" | "implemented" | "done" | "active" | "decided" | "agreed"
                | "final",
            ) => RecordStatus::Accepted,
            Some("proposed" | "draft" | "pending" | "open" | "discussion" | "wip" | "rfc") => RecordStatus::Proposed,
            Some("rejected" | "declined" | "withdrawn") => RecordStatus::Rejected,
            Some("deprecated" | "obsolete" | "retired" | "abandoned") => RecordStatus::Deprecated,
            Some("superseded" | "superceded" | "replaced") => RecordStatus::Superseded,
            Some(_) if self.status.is_none() && text.split_whitespace().count() <= MAX_STATUS_WORDS => {
                RecordStatus::Unknown(text.trim_end_matches('.').to_owned())
            }
            _ => return,
        });
    }
}

fn add_new(into: &mut Vec<RecordRef>, found: Vec<RecordRef>) {
    for reference in found {
        if !into.contains(&reference) {
            into.push(reference);
        }
    }
}

/// Finds the records that a text names: by links to Markdown files, else by numbers such as “ADR-0012” or “#12”.
fn references(text: &str, links: &[MarkdownLink]) -> Vec<RecordRef> {
    let linked: Vec<_> = links
        .iter()
        .filter_map(|link| {
            let target = link.target.split(['#', '?']).next().unwrap_or_default();
            let path = std::path::Path::new(target);
            let markdown = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
            markdown.then(|| RecordRef { file: Some(file_name(target).to_owned()), number: None })
        })
        .collect();
    if !linked.is_empty() {
        return linked;
    }
    // A date contains no record numbers.
    let text = date_of(text).map_or_else(|| text.to_owned(), |date| text.replace(&date, ""));
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|word| {
            let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let lead = word.len() - digits.len();
            let is_number = lead == 0 || word.get(..lead).is_some_and(|lead| lead.eq_ignore_ascii_case("adr"));
            let number = (is_number && digits.len() <= 6).then(|| digits.parse().ok()).flatten()?;
            Some(RecordRef { file: None, number: Some(number) })
        })
        .collect()
}
