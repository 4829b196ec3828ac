//! Where a record stands, when it was decided, and which records it replaces or was replaced by.

use super::{Reference, Sections, date_of, file_name};
use crate::interchange::markdown::{Block, Document, Link};

/// Where a decision record stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// In force; also where the record says nothing.
    #[default]
    Accepted,
    /// Under discussion.
    Proposed,
    /// Turned down.
    Rejected,
    /// No longer in force, and nothing took its place.
    Deprecated,
    /// Replaced by another record.
    Superseded,
}

impl Standing {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Proposed => "proposed",
            Self::Rejected => "rejected",
            Self::Deprecated => "deprecated",
            Self::Superseded => "superseded",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Status {
    pub(super) standing: Standing,
    pub(super) date: Option<String>,
    pub(super) supersedes: Vec<Reference>,
    pub(super) superseded_by: Vec<Reference>,
}

/// Reads front matter, the lines `Status: …` and `Date: …` before the first section, and the section “Status”; the last
/// word on the standing wins, since records are amended at the end.
pub(super) fn read(document: &Document, sections: &Sections<'_>) -> Status {
    let mut out = Status::default();
    for (key, value, _) in &document.front {
        let parsed = Document::parse(value);
        let links = parsed.blocks.first().map_or(&[][..], |block| &block.links);
        let text = parsed.blocks.first().map_or(value.as_str(), |block| block.text.as_str());
        out.field(key, text, links);
    }
    for block in &sections.preamble {
        out.labelled(block);
    }
    for block in sections.find(&["status"]).unwrap_or_default() {
        out.relation_or_standing(&block.text, &block.links);
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
        out.standing = Standing::Superseded;
    }
    out
}

impl Status {
    /// A paragraph or list item such as “Status: accepted”, “Date: 2020-01-01”; a paragraph may hold several.
    fn labelled(&mut self, block: &Block) {
        if let Some((key, value)) = block.text.split_once(':')
            && key.split_whitespace().count() <= 3
        {
            let key = key.trim().to_lowercase();
            // “Status: accepted Date: 2020-01-01” on adjoining lines is one paragraph.
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

    fn field(&mut self, key: &str, value: &str, links: &[Link]) {
        match key.trim().replace(['-', '_'], " ").as_str() {
            "status" => {
                self.relation_or_standing(value, links);
                self.date = self.date.take().or_else(|| date_of(value));
            }
            "date" | "decided" | "decision date" | "created" if self.date.is_none() => self.date = date_of(value),
            "supersedes" | "supercedes" | "replaces" => push(&mut self.supersedes, references(value, links)),
            "superseded by" | "superceded by" | "replaced by" => {
                push(&mut self.superseded_by, references(value, links));
            }
            _ => {}
        }
    }

    fn relation_or_standing(&mut self, text: &str, links: &[Link]) {
        let lower = text.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if has(&["superseded by", "superceded by", "supersede by", "replaced by", "obsoleted by"]) {
            push(&mut self.superseded_by, references(text, links));
            self.standing = Standing::Superseded;
            return;
        }
        if has(&["supersedes", "supercedes", "replaces", "obsoletes"]) {
            push(&mut self.supersedes, references(text, links));
            return;
        }
        if lower.starts_with("amend") || lower.starts_with("clarif") {
            return;
        }
        let word = lower.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty());
        self.standing = match word {
            Some("accepted" | "approved" | "adopted" | "implemented" | "done" | "active" | "decided") => {
                Standing::Accepted
            }
            Some("proposed" | "draft" | "pending" | "open" | "discussion" | "wip" | "rfc") => Standing::Proposed,
            Some("rejected" | "declined" | "withdrawn") => Standing::Rejected,
            Some("deprecated" | "obsolete" | "retired" | "abandoned") => Standing::Deprecated,
            Some("superseded" | "superceded" | "replaced") => Standing::Superseded,
            _ => return,
        };
    }
}

fn push(into: &mut Vec<Reference>, found: Vec<Reference>) {
    for reference in found {
        if !into.contains(&reference) {
            into.push(reference);
        }
    }
}

/// The records that a text names: by its links to Markdown files, else by numbers such as “ADR-0012” or “#12”.
fn references(text: &str, links: &[Link]) -> Vec<Reference> {
    let linked: Vec<_> = links
        .iter()
        .filter_map(|link| {
            let target = link.target.split(['#', '?']).next().unwrap_or_default();
            let path = std::path::Path::new(target);
            let markdown = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
            markdown.then(|| Reference { file: Some(file_name(target).to_owned()), number: None })
        })
        .collect();
    if !linked.is_empty() {
        return linked;
    }
    // Dates are no records.
    let text = date_of(text).map_or_else(|| text.to_owned(), |date| text.replace(&date, ""));
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter_map(|word| {
            let digits = word.trim_start_matches(|c: char| c.is_ascii_alphabetic());
            let lead = word.len() - digits.len();
            let is_number = lead == 0 || word.get(..lead).is_some_and(|lead| lead.eq_ignore_ascii_case("adr"));
            let number = (is_number && digits.len() <= 6).then(|| digits.parse().ok()).flatten()?;
            Some(Reference { file: None, number: Some(number) })
        })
        .collect()
}
