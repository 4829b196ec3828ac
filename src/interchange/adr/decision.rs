//! Extracts the decision and its reason from a record.

use super::Sections;
use crate::interchange::{
    markdown::{Block, BlockKind},
    sentence::{capital, sentences, shorten, split_because, with_period},
};

/// The sections that contain the decision.
const DECISION: [&str; 6] = ["decision outcome", "decision", "decisions", "outcome", "resolution", "solution"];

/// The sections that contain the reason, the most direct first, with the maximum length taken from each, in characters.
const REASON: [(&[&str], usize); 4] = [
    (&["rationale", "justification", "reasoning", "reason", "why"], 700),
    (&["decision drivers", "drivers", "forces", "motivation"], 500),
    (&["context and problem statement", "context", "problem statement", "problem", "background", "issue"], 500),
    (&["consequences", "positive consequences"], 400),
];

/// Whether a heading, in lower case, is that of a section with the decision or with a reason.
pub(super) fn is_section(name: &str) -> bool {
    DECISION.contains(&name) || REASON.iter().any(|(names, _)| names.contains(&name))
}

/// Returns the decision in one sentence, and its line.
pub(super) fn statement(sections: &Sections<'_>, title: &str) -> Option<(usize, String)> {
    let blocks = sections.find(&DECISION)?;
    let at = blocks.iter().position(|block| is_prose(block))?;
    let block = blocks.get(at)?;
    let first = sentences(&block.text).first().copied().unwrap_or(&block.text).to_owned();
    if let Some(option) = chosen_option(&block.text) {
        return Some((block.line, decision_of_option(title, &option)));
    }
    let statement = if first.ends_with(':') {
        // The sentence introduces a list: its points are the decision.
        let points: Vec<_> = blocks
            .iter()
            .skip(at + 1)
            .take_while(|next| matches!(next.kind, BlockKind::Item { .. }))
            .take(3)
            .map(|next| next.text.trim_end_matches(['.', ';', ',']))
            .collect();
        if points.is_empty() { title.to_owned() } else { format!("{first} {}", points.join("; ")) }
    } else if needs_title(&first) {
        format!("{}: {first}", title.trim_end_matches(['.', '?', ':']))
    } else {
        split_because(&first).map_or(first, |(statement, _)| statement)
    };
    Some((block.line, with_period(&statement)))
}

/// Returns the reason: a “because” clause in the section of the decision, and the text of the section that gives reasons.
pub(super) fn reason(sections: &Sections<'_>) -> Option<String> {
    let clause = sections.find(&DECISION).and_then(|blocks| {
        let block = blocks.iter().find(|block| is_prose(block))?;
        sentences(&block.text).into_iter().find_map(split_because).map(|(_, clause)| clause)
    });
    let section = REASON.iter().find_map(|(names, most)| prose(sections.find(names)?, *most));
    match (clause, section) {
        (Some(clause), Some(section)) => Some(format!("{clause} {section}")),
        (clause, section) => clause.or(section),
    }
}

/// Parses MADR's `Chosen option: "X", because Y`, with any quotes or none.
fn chosen_option(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let at = ["chosen option:", "chosen option is", "chosen alternative:"]
        .iter()
        .find_map(|lead| lower.find(lead).map(|at| at + lead.len()))?;
    let rest = text.get(at..)?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '“' | '\'' | '‘'));
    let option = if let Some(open) = quote {
        let close = match open {
            '“' => '”',
            '‘' => '’',
            same => same,
        };
        rest.get(open.len_utf8()..)?.split(close).next()?
    } else {
        let end = ["because", ", since", ". ", " - "].iter().filter_map(|mark| rest.find(mark)).min();
        rest.get(..end.unwrap_or(rest.len()))?
    };
    let option = option.trim().trim_end_matches([',', '.', ';', ':']).trim();
    (!option.is_empty()).then(|| option.to_owned())
}

/// Combines the title and the chosen option into a decision.
fn decision_of_option(title: &str, option: &str) -> String {
    let lower = title.to_lowercase();
    let option_words = option.split_whitespace().count();
    if lower.contains(&option.to_lowercase()) {
        return with_period(title);
    }
    // An option that is an instruction needs no title.
    let verb = option.split_whitespace().next().is_some_and(|word| {
        let word = word.to_lowercase();
        ["use", "do", "don't", "keep", "adopt", "write", "store", "build", "run", "add", "make", "we", "no", "move"]
            .contains(&word.as_str())
    });
    if verb && option_words >= 2 {
        with_period(&capital(option))
    } else {
        with_period(&format!("{}: {option}", title.trim_end_matches(['?', '.', ':'])))
    }
}

/// Whether a sentence needs the title to be understood: “Yes.”, “This is accepted.”, “As proposed above.”
fn needs_title(sentence: &str) -> bool {
    let first = sentence.split_whitespace().next().unwrap_or_default().to_lowercase();
    let first = first.trim_matches(|c: char| !c.is_alphanumeric());
    sentence.split_whitespace().count() < 4
        || ["this", "it", "that", "yes", "no", "as", "these", "they", "those", "both"].contains(&first)
}

pub(super) fn is_prose(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Paragraph | BlockKind::Item { .. }) && !block.text.is_empty()
}

/// Returns the prose of a section with its points as sentences, up to `most` characters.
fn prose(blocks: &[&Block], most: usize) -> Option<String> {
    let text: Vec<_> = blocks
        .iter()
        .filter(|block| is_prose(block))
        .map(|block| if block.text.ends_with(':') { block.text.clone() } else { with_period(&capital(&block.text)) })
        .collect();
    let text = shorten(&text.join(" "), most);
    (!text.is_empty()).then_some(text)
}
