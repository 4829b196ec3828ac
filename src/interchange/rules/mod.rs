//! Parses rule files for agents and contributors (CLAUDE.md, AGENTS.md, CONTRIBUTING.md, .cursorrules).
//!
//! A rule is a list item, a sentence or a table cell that asks for something or denies it; headings, and lines that introduce a
//! list, determine which of the two. The explanation after a rule becomes its reason. Sentences that cannot be understood alone, forms, code,
//! quotes, and lists of files and commands are skipped.

mod anaphora;
mod clean;
mod lead_text;
mod plain_lines;
mod rule_origin;
mod rule_table;
pub(super) mod rule_words;
mod stance;
mod wording;

use super::{
    SkippedText,
    markdown::{Block, BlockKind, MarkdownDocument, OPEN_TASK},
    sentence::{capital, cut, sentences, split_because, with_period},
};
use crate::domain::{ClaimKind, marked_section::is_own_title, text::STATED};
use lead_text::{is_code, join, label, lead_of, lowered, opening, split_explanation};
pub use rule_origin::{SHORT_ID, is_from, is_from_commit, left_with_line};
use stance::{Join, Lead, Stance};

/// The maximum length of a reason, in characters.
const MAX_REASON: usize = 600;

/// The most words of a bold paragraph that counts as a heading.
const MAX_TITLE_WORDS: usize = 8;

/// Why ergo's own text is skipped.
const BY_ERGO: &str = "written by ergo";

/// Why an open task is skipped.
const TO_DO: &str = "a to-do";

/// Why a sentence that asks for nothing is skipped.
const NOT_A_RULE: &str = "not a rule";

/// Why a rule that needs the previous sentence is skipped.
const INCOMPLETE: &str = "incomplete without the previous sentence";

/// One rule of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The rule in one sentence.
    pub statement: String,
    /// A constraint if it is binding, a rejection if it was decided against, else a convention.
    pub kind: ClaimKind,
    /// The explanation in the file, and where the rule is stated.
    pub reason: String,
    /// The line, from 1.
    pub line: usize,
    /// The headings above it, outermost first.
    pub headings: Vec<String>,
    /// Whether the file denies the text of the line (by a heading, a label or a strike-through), so that the statement negates it.
    pub denied: bool,
}

/// The parsed rules of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedRules {
    /// The rules in order.
    pub rules: Vec<Rule>,
    pub skipped: Vec<SkippedText>,
}

/// Parses the rules of a file; `name` is the file's name, as used in reasons.
pub fn parse(name: &str, text: &str) -> ParsedRules {
    let (text, skipped) = clean::text(text);
    let document = MarkdownDocument::parse(&text);
    let opens = document.blocks.len() > 1;
    let out = ParsedRules { rules: Vec::new(), skipped };
    let mut reader = RuleReader {
        name,
        out,
        opens,
        section: Stance::Neutral,
        title: None,
        title_has_item: false,
        lead: Context::None,
        parents: Vec::new(),
    };
    let source: Vec<&str> = text.lines().collect();
    for block in document.blocks.into_iter().flat_map(|block| plain_lines::split(block, &source)) {
        reader.block(&block);
    }
    reader.out.skipped.sort_by_key(|skip| skip.line);
    reader.out
}

/// The effect of the text before a list on its items.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Context {
    #[default]
    None,
    /// Words that belong to each item.
    Words(String),
    /// Words that give each item its stance.
    Stance(Stance),
    /// The items are parts of a form or an example and mean nothing alone: “Include:”.
    Form,
}

struct RuleReader<'a> {
    name: &'a str,
    out: ParsedRules,
    /// Whether the next block may open the file: it describes the project, and rules follow.
    opens: bool,
    /// The stance of the headings above.
    section: Stance,
    /// The stance of a bold paragraph that serves as a heading.
    title: Option<Stance>,
    /// Whether an item followed that paragraph.
    title_has_item: bool,
    /// The effect of the paragraph before a list.
    lead: Context,
    /// For each depth of the open lists: the effect on nested items.
    parents: Vec<Context>,
}

impl RuleReader<'_> {
    fn block(&mut self, block: &Block) {
        if !matches!(block.kind, BlockKind::Heading(_)) {
            if block.quoted {
                return self.skip(block, &block.text, "quoted");
            }
            if block.headings.iter().any(|heading| is_own_title(heading)) {
                return self.skip(block, &block.text, BY_ERGO);
            }
        }
        self.opens &= block.headings.len() <= 1;
        match block.kind {
            BlockKind::Heading(_) => {
                self.lead = Context::None;
                self.title = None;
                self.parents.clear();
                // The innermost heading with a stance.
                let stances = block.headings.iter().rev().map(|heading| stance::read(heading));
                self.section = stances.into_iter().find(|stance| *stance != Stance::Neutral).unwrap_or(Stance::Neutral);
            }
            BlockKind::Code => self.skip(block, &block.text, "code"),
            BlockKind::Table => self.table(block),
            BlockKind::Paragraph => self.paragraph(block),
            BlockKind::Item { depth } => self.item(block, depth),
        }
        self.opens &= matches!(block.kind, BlockKind::Heading(_));
    }

    /// Returns the stance of the headings above.
    fn above(&self) -> Stance {
        self.title.clone().unwrap_or_else(|| self.section.clone())
    }

    fn paragraph(&mut self, block: &Block) {
        self.parents.clear();
        self.lead = Context::None;
        if block.text.is_empty() {
            return self.struck(block);
        }
        let words = block.text.split_whitespace().count();
        if block.bold && words <= MAX_TITLE_WORDS && !block.text.ends_with(['.', '!']) {
            if block.text.ends_with(':') {
                (self.lead, self.title) = (opening(&block.text), None);
            } else {
                let read = stance::read(&block.text);
                self.title = (read != Stance::Neutral).then_some(read);
            }
            self.title_has_item = false;
            return;
        }
        // A bold paragraph is the heading of nothing but the list below it.
        if self.title_has_item {
            self.title = None;
        }
        let Some(lead) = block.text.strip_suffix(':') else { return self.prose(block, &block.text) };
        // Only the last sentence introduces the list.
        let last = sentences(lead).last().copied().unwrap_or(lead);
        self.lead = opening(last);
        let before = lead.strip_suffix(last).unwrap_or_default().trim();
        if !before.is_empty() {
            self.prose(block, before);
        }
    }

    /// Finds rules in running text.
    fn prose(&mut self, block: &Block, text: &str) {
        if text.starts_with(OPEN_TASK) {
            return self.skip(block, text, TO_DO);
        }
        let (sign, plain) = stance::split_mark(text);
        let plain = clean::unnumbered(plain);
        if let Some((lead, rest)) = label(plain).or_else(|| Some((lead_of(stance::of_mark(sign?))?, plain))) {
            return self.led(block, &lead, rest);
        }
        match self.above() {
            Stance::NoRules(why) => self.skip(block, text, why),
            // Prose below “Don't” says either what not to do or what to do instead: only explicit sentences are rules.
            Stance::Unclear | Stance::Lead(Lead { against: true, .. }) => {
                let (clear, unclear): (Vec<&str>, Vec<&str>) =
                    sentences(plain).into_iter().partition(|sentence| wording::is_explicit(sentence));
                for sentence in clear {
                    self.sentences(block, sentence, wording::is_imperative);
                }
                for sentence in unclear {
                    if wording::is_imperative(sentence) {
                        self.unclear(block, sentence);
                    } else {
                        self.skip(block, sentence, NOT_A_RULE);
                    }
                }
            }
            Stance::Neutral | Stance::Lead(_) => {
                let asks = match () {
                    // A numbered paragraph is an item.
                    () if plain.len() < text.len() => wording::is_rule_item,
                    () if self.opens => wording::is_opening_rule,
                    () => wording::is_rule_sentence,
                };
                self.sentences(block, plain, asks);
            }
        }
    }

    fn item(&mut self, block: &Block, depth: usize) {
        self.parents.truncate(depth);
        self.title_has_item = true;
        let context = match depth {
            0 => self.lead.clone(),
            _ => self.parents.last().cloned().unwrap_or_default(),
        };
        let context = if context == Context::None && self.above() != Stance::Neutral {
            Context::Stance(self.above())
        } else {
            context
        };
        self.parents.resize(depth, Context::None);
        if block.text.starts_with(OPEN_TASK) {
            self.parents.push(Context::Stance(Stance::NoRules(TO_DO)));
            return self.skip(block, &block.text, TO_DO);
        }
        let (sign, text) = stance::split_mark(&block.text);
        let text = clean::unnumbered(text);
        if text.is_empty() {
            self.parents.push(context);
            return self.struck(block);
        }
        if let Some(open) = text.strip_suffix(':') {
            let own = opening(open);
            self.parents.push(match (own, &context) {
                (Context::Words(own), Context::Words(lead)) => Context::Words(format!("{lead}: {own}")),
                // Below “Don't”, the items of a part with a name are denied as well.
                (Context::Words(_) | Context::None, Context::Stance(stance)) => Context::Stance(stance.clone()),
                (Context::None, _) => Context::Words(open.to_owned()),
                (own, _) => own,
            });
            return;
        }
        self.parents.push(if let Context::Stance(_) = context { context.clone() } else { Context::None });
        if clean::is_template(text) {
            return self.skip(block, text, "a template to fill in");
        }
        if let Some((lead, rest)) = label(text) {
            if is_code(rest) {
                return self.skip(block, text, "an example");
            }
            return self.led(block, &lead, rest);
        }
        if let Some(lead) = sign.and_then(|sign| lead_of(stance::of_mark(sign))) {
            return self.led(block, &lead, text);
        }
        let led = !matches!(context, Context::None | Context::Stance(Stance::Neutral | Stance::Unclear));
        if let Some(why) = wording::no_rule(block, text, led) {
            return self.skip(block, text, why);
        }
        match context {
            Context::Form => self.skip(block, text, "part of a template or an example"),
            Context::Words(lead) => {
                let all = sentences(text);
                let (first, rest) = all.split_first().map_or((text, &[][..]), |(first, rest)| (*first, rest));
                self.rule(block, &join(&lead, first), &rest.join(" "), first);
            }
            Context::Stance(Stance::Lead(lead)) => self.led(block, &lead, text),
            Context::Stance(Stance::NoRules(why)) => self.skip(block, text, why),
            Context::Stance(Stance::Unclear) if !wording::is_explicit(text) => self.unclear(block, text),
            Context::None | Context::Stance(_) => self.sentences(block, text, wording::is_rule_item),
        }
    }

    /// Adds a text that a heading, a label or a mark asserts or denies.
    fn led(&mut self, block: &Block, lead: &Lead, text: &str) {
        let all = sentences(text);
        let Some((first, rest)) = all.split_first() else { return };
        let (mut first, mut rest) = (*first, rest.join(" "));
        if clean::is_template(first) {
            return self.skip(block, text, "a template to fill in");
        }
        if !lead.against {
            let needs_no_lead = if lead.join == Join::Before {
                wording::states(first) || wording::is_explicit(first)
            } else {
                wording::states(first) || wording::is_instruction(first) || wording::is_explicit(first)
            };
            if needs_no_lead {
                return self.sentences(block, text, wording::is_rule_item);
            }
            let statement = match lead.join {
                Join::Before => format!("{} {}", lead.words, lowered(first)),
                Join::Label => format!("{}: {}", lead.words, lowered(first)),
            };
            return self.rule(block, &statement, &rest, first);
        }
        // An item that begins with “no” or “not” denies by itself, except after a label: “Rejected: no tests”.
        let own = wording::denies_itself(first);
        if own && (lead.join == Join::Before || !wording::begins_with_no(first)) {
            self.sentences(block, text, wording::is_rule_item);
            return;
        }
        if wording::begins_with_auxiliary(first) {
            return self.skip(block, text, &format!("unclear what “{}” denies", lead.words));
        }
        // The text after a dash or a colon says why, or what to do instead.
        if let Some((what, why)) = split_explanation(first, lead.join == Join::Label) {
            rest = [with_period(&capital(why)), rest].join(" ").trim_end().into();
            first = what;
        }
        let item = lowered(first);
        let statement = match lead.join {
            Join::Label => format!("{}: {item}", lead.words),
            Join::Before if lead.words == "Avoid" && wording::is_instruction(first) => format!("Do not {item}"),
            Join::Before if lead.words == "Avoid" && wording::states(first) => format!("Avoid: {item}"),
            Join::Before if lead.words == "Avoid" => format!("Avoid {item}"),
            Join::Before if wording::states(first) && !wording::is_instruction(first) => format!("Not so: {item}"),
            Join::Before if wording::is_noun_phrase(first) => format!("Avoid {item}"),
            Join::Before => format!("{} {item}", lead.words),
        };
        let at = self.out.rules.len();
        self.rule(block, &statement, &rest, first);
        for rule in self.out.rules.iter_mut().skip(at) {
            rule.denied = true;
            if matches!(lead.words.split(' ').next(), Some("Rejected" | "Out")) || lead.words == "No longer" {
                rule.kind = ClaimKind::Rejection;
            }
        }
    }

    /// Adds a line that is struck out completely: the rule was given up.
    fn struck(&mut self, block: &Block) {
        let words = block.struck.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = clean::unnumbered(&words);
        if wording::is_rule_item(words) && !anaphora::is_context_dependent(words) {
            let first = sentences(words).first().copied().unwrap_or(words).to_owned();
            let at = self.out.rules.len();
            self.rule(block, &format!("No longer: {}", lowered(&first)), "", &first);
            for rule in self.out.rules.iter_mut().skip(at) {
                (rule.denied, rule.kind) = (true, ClaimKind::Rejection);
            }
        } else {
            self.skip(block, words, "struck out");
        }
    }

    /// Adds the sentences that ask for something; others explain the previous one.
    fn sentences(&mut self, block: &Block, text: &str, asks: fn(&str) -> bool) {
        let mut open: Option<(String, &str, Vec<&str>)> = None;
        let mut last_subject: Option<String> = None;
        // The sentences before the first rule.
        let mut left: Vec<(&str, &str)> = Vec::new();
        for sentence in sentences(text) {
            let plain = clean::unnumbered(sentence);
            // Later sentences of an item must ask for something explicitly.
            let asking = match (&open, &last_subject) {
                (None, None) => asks(plain),
                (None, Some(_)) => wording::is_rule_sentence(plain),
                (Some(_), _) => wording::is_imperative(plain),
            };
            let asking = asking && !clean::is_template(plain) && !plain_lines::is_reason(plain);
            let complete = if !asking {
                None
            } else if anaphora::is_context_dependent(plain) {
                last_subject
                    .as_deref()
                    .filter(|_| wording::may_be_resolved(plain))
                    .and_then(|subject| anaphora::resolve(subject, plain))
            } else {
                Some(plain.to_owned())
            };
            match (&mut open, complete) {
                (_, Some(complete)) => {
                    if let Some((rule, at, why)) = open.replace((complete, sentence, Vec::new())) {
                        self.rule(block, &rule, &why.join(" "), at);
                    }
                }
                (Some((_, _, why)), None) => {
                    why.push(sentence);
                    if asking {
                        self.skip(block, sentence, INCOMPLETE);
                    }
                }
                (None, None) => left.push((sentence, if asking { INCOMPLETE } else { NOT_A_RULE })),
            }
            last_subject = anaphora::subject(plain).or(last_subject);
        }
        if let Some((rule, at, why)) = open {
            self.rule(block, &rule, &why.join(" "), at);
        } else if !text.trim().is_empty() && left.iter().all(|(_, why)| *why == NOT_A_RULE) {
            left = vec![(text, NOT_A_RULE)];
        }
        for (sentence, why) in left {
            self.skip(block, sentence, why);
        }
    }

    /// Adds a sentence as a rule; `at` is the part of the block that determines its line.
    fn rule(&mut self, block: &Block, sentence: &str, explained: &str, at: &str) {
        self.rule_at(block, sentence, explained, block.line_of(at));
    }

    fn rule_at(&mut self, block: &Block, sentence: &str, explained: &str, line: usize) {
        let (statement, because) = match split_because(sentence) {
            Some((statement, because)) => (statement, Some(because)),
            None => (with_period(sentence.trim_end_matches([';', ',', ' '])), None),
        };
        let mut reason = [because.unwrap_or_default(), explained.to_owned()].join(" ").trim().to_owned();
        let place = if block.headings.is_empty() {
            format!("{STATED}{}.", self.name)
        } else {
            format!("{STATED}{} under “{}”.", self.name, block.headings.join(" > "))
        };
        reason = if reason.is_empty() { place } else { format!("{} {place}", with_period(&cut(&reason, MAX_REASON))) };
        let kind = wording::kind(&statement);
        self.out.rules.push(Rule {
            statement: capital(wording::without_emphasis(&statement)),
            kind,
            reason,
            line,
            headings: block.headings.clone(),
            denied: false,
        });
    }

    fn unclear(&mut self, block: &Block, text: &str) {
        let heading = block.headings.last().map(String::as_str).unwrap_or_default();
        self.skip(block, text, &format!("unclear whether “{}” asserts or denies", cut(heading, 40)));
    }

    fn skip(&mut self, block: &Block, text: &str, why: &str) {
        let line = if text == block.text { block.line } else { block.line_of(text) };
        self.out.skipped.push(SkippedText { line, text: cut(text, 60), why: why.to_owned() });
    }
}

#[cfg(test)]
mod tests;
