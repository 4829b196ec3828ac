//! Rule files for agents and contributors (CLAUDE.md, AGENTS.md, CONTRIBUTING.md, .cursorrules): one claim a rule.
//!
//! A rule is a list item or sentence that asks for something. What explains a rule and stands right after it becomes its
//! reason. Code, tables, quotes, and lists of files and commands are left out, each with its line.

mod wording;

use super::{
    Skipped,
    markdown::{Block, BlockKind, Document},
    sentence::{capital, cut, sentences, split_because, stop, uncapital},
};
use crate::domain::ClaimKind;

/// The longest reason taken from a file, in characters.
const MAX_REASON: usize = 600;

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule in one sentence.
    pub statement: String,
    /// A constraint where it must hold, else a convention.
    pub kind: ClaimKind,
    /// Why: the clause or sentence that gives the reason, else where it is stated.
    pub reason: String,
    /// The line, from 1.
    pub line: usize,
    /// The headings above it, the outermost first.
    pub headings: Vec<String>,
}

/// What a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The rules in order.
    pub rules: Vec<Rule>,
    /// What became none, and why.
    pub skipped: Vec<Skipped>,
}

/// Reads the rules of a file; `name` is the file's name as the reasons shall give it.
pub fn parse(name: &str, text: &str) -> Rules {
    let document = Document::parse(text);
    let mut reader = Reader { name, out: Rules::default(), lead: None, parents: Vec::new() };
    for block in &document.blocks {
        reader.block(block);
    }
    reader.out
}

struct Reader<'a> {
    name: &'a str,
    out: Rules,
    /// The paragraph that opens the list that follows it.
    lead: Option<String>,
    /// For each depth of the open lists: what stands before the items nested in the current item.
    parents: Vec<Option<String>>,
}

impl Reader<'_> {
    fn block(&mut self, block: &Block) {
        if block.quoted && !matches!(block.kind, BlockKind::Heading(_)) {
            return self.skip(block, "quoted");
        }
        match block.kind {
            BlockKind::Heading(_) => {
                self.lead = None;
                self.parents.clear();
            }
            BlockKind::Code => self.skip(block, "code"),
            BlockKind::Table => self.skip(block, "a table"),
            BlockKind::Paragraph => self.paragraph(block),
            BlockKind::Item { depth } => self.item(block, depth),
        }
    }

    fn paragraph(&mut self, block: &Block) {
        self.parents.clear();
        self.lead = None;
        if let Some(lead) = block.text.strip_suffix(':') {
            // Only its last sentence opens the list.
            let last = sentences(lead).last().copied().unwrap_or(lead);
            self.lead = Some(last.to_owned());
            let before = lead.strip_suffix(last).unwrap_or_default();
            return self.sentences(block, before, wording::is_imperative);
        }
        self.sentences(block, &block.text, wording::is_imperative);
    }

    fn item(&mut self, block: &Block, depth: usize) {
        self.parents.truncate(depth);
        let lead = if depth == 0 { self.lead.clone() } else { self.parents.last().cloned().flatten() };
        let lead = lead.or_else(|| wording::negative_heading(block.headings.last()?));
        self.parents.resize(depth, None);
        if let Some(opening) = block.text.strip_suffix(':') {
            self.parents.push(Some(join(lead.as_deref(), opening)));
            return;
        }
        self.parents.push(None);
        let lead = lead.filter(|lead| wording::carries(lead));
        if let Some(why) = wording::no_rule(block, lead.is_some()) {
            return self.skip(block, why);
        }
        match lead {
            Some(lead) => {
                let all = sentences(&block.text);
                let (first, rest) =
                    all.split_first().map_or((block.text.as_str(), &[][..]), |(first, rest)| (*first, rest));
                self.rule(block, &join(Some(&lead), first), &rest.join(" "));
            }
            None => self.sentences(block, &block.text, wording::is_rule_item),
        }
    }

    /// Takes the sentences that ask for something; those between them explain the one before.
    fn sentences(&mut self, block: &Block, text: &str, asks: fn(&str) -> bool) {
        let mut open: Option<(&str, Vec<&str>)> = None;
        let mut found = false;
        for sentence in sentences(text) {
            // The first sentence of an item is judged as an item, what follows only where it plainly asks for something.
            let asking = if open.is_none() { asks(sentence) } else { wording::is_imperative(sentence) };
            match &mut open {
                _ if asking => {
                    if let Some((rule, why)) = open.replace((sentence, Vec::new())) {
                        self.rule(block, rule, &why.join(" "));
                    }
                    found = true;
                }
                Some((_, why)) => why.push(sentence),
                None => {}
            }
        }
        match open {
            Some((rule, why)) => self.rule(block, rule, &why.join(" ")),
            None if !found && !text.trim().is_empty() => self.skip(block, "asks for nothing"),
            None => {}
        }
    }

    fn rule(&mut self, block: &Block, sentence: &str, explained: &str) {
        let (statement, because) = match split_because(sentence) {
            Some((statement, because)) => (statement, Some(because)),
            None => (stop(sentence), None),
        };
        let mut reason = [because.unwrap_or_default(), explained.to_owned()].join(" ").trim().to_owned();
        let place = if block.headings.is_empty() {
            format!("Stated in {}.", self.name)
        } else {
            format!("Stated in {} under “{}”.", self.name, block.headings.join(" > "))
        };
        reason = if reason.is_empty() { place } else { format!("{} {place}", stop(&cut(&reason, MAX_REASON))) };
        let kind = wording::kind(&statement);
        self.out.rules.push(Rule {
            statement: capital(&statement),
            kind,
            reason,
            line: block.line_of(sentence),
            headings: block.headings.clone(),
        });
    }

    fn skip(&mut self, block: &Block, why: &str) {
        self.out.skipped.push(Skipped { line: block.line, text: cut(&block.text, 60), why: why.to_owned() });
    }
}

/// An item after what opens its list: “Never commit: secrets”, “Do not: …” as one sentence.
fn join(lead: Option<&str>, item: &str) -> String {
    match lead {
        None => item.to_owned(),
        // “Do not” and “Never” go before the item as they are; a sentence needs its colon.
        Some(lead) if wording::is_bare_negation(lead) => format!("{lead} {}", uncapital(item)),
        Some(lead) => format!("{}: {item}", lead.trim_end_matches([':', '.'])),
    }
}

#[cfg(test)]
mod tests;
