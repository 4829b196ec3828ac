//! Finds sentences of a chat that state a decision: “We decided to use X because Y”, “Let's go with X”, “Decision: X”.

use std::sync::LazyLock;

use regex::Regex;

use crate::interchange::{
    markdown::{Block, BlockKind, MarkdownDocument},
    sentence::{capital, sentences, split_because, with_period},
};

/// The beginning of a sentence that states a decision, in groups by the words that stand for it in the statement.
static LEAD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let filler = "(?:(?:ok|okay|so|then|alright|great|yes|perfect|good|and|in the end|finally|right)[ ,:–—-]+)*";
    let we = "(?:(?:we|i)(?:'ve| have)? |it was )";
    let lead = format!(
        "(?i)^{filler}(?:\
         (?<not>{we}(?:decided|agreed) not to )|\
         (?<against>{we}decided against )|\
         (?<use>{we}(?:decided on|agreed on|settled on|opted for|chose|chosen|went with) |\
         (?:we're going|we are going|we'll go|we will go|i'll go|let's go) with )|\
         {we}(?:decided|agreed) (?:to|that) |(?:final )?decision: |decided: |agreed: )"
    );
    Regex::new(&lead).ok()
});

/// First words of a decision that the sentence before it must explain.
const POINTERS: [&str; 12] =
    ["that", "this", "it", "them", "these", "those", "the", "option", "your", "yours", "which", "what"];

/// A decision, and its reason if the sentence gives one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decided {
    pub(super) statement: String,
    pub(super) reason: Option<String>,
}

/// Returns the decisions that a message states.
pub(super) fn decisions(message: &str) -> Vec<Decided> {
    let document = MarkdownDocument::parse(message);
    let is_prose = |block: &&Block| {
        !block.quoted && matches!(block.kind, BlockKind::Paragraph | BlockKind::Item { .. } | BlockKind::Heading(_))
    };
    // People do not wrap the lines of a chat.
    let lines = document.blocks.iter().filter(is_prose).flat_map(Block::lines);
    lines.flat_map(|(_, _, line)| sentences(line)).filter_map(decision).collect()
}

fn decision(sentence: &str) -> Option<Decided> {
    let plain = sentence.replace('’', "'");
    let lead = LEAD.as_ref()?.captures(&plain)?;
    let instead = [("not", "Do not "), ("against", "Decided against "), ("use", "Use ")]
        .iter()
        .find_map(|(group, instead)| lead.name(group).map(|_| *instead));
    let rest = plain.get(lead.get(0)?.end()..)?.trim();
    let first = rest.split_whitespace().next()?.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    // “Let's go with the first one” means nothing alone; “we decided that the API …” does.
    let points = instead.is_some() && POINTERS.contains(&first.as_str());
    if rest.ends_with('?') || points || first.is_empty() {
        return None;
    }
    let whole = format!("{}{rest}", instead.unwrap_or_default());
    let (statement, reason) = match split_because(&whole) {
        Some((statement, reason)) => (statement, Some(reason)),
        None => (with_period(&whole), None),
    };
    (statement.split_whitespace().count() > 1).then(|| Decided { statement: capital(&statement), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(
        "We decided to use Postgres for orders because they need transactions.",
        "Use Postgres for orders.",
        Some("They need transactions.")
    )]
    #[case("OK, so let’s go with Redis for the sessions!", "Use Redis for the sessions!", None)]
    #[case("**Decision:** PostgreSQL for all orders", "PostgreSQL for all orders.", None)]
    #[case("- We agreed that tests must not sleep.", "Tests must not sleep.", None)]
    #[case(
        "I've decided not to use an ORM, because it hides queries.",
        "Do not use an ORM.",
        Some("It hides queries.")
    )]
    #[case("We decided to use pnpm\nThanks!", "Use pnpm.", None)]
    fn a_stated_decision_is_found(#[case] message: &str, #[case] statement: &str, #[case] reason: Option<&str>) {
        let expected = Decided { statement: statement.to_owned(), reason: reason.map(str::to_owned) };
        assert_eq!(decisions(message), [expected], "{message}");
    }

    #[rstest::rstest]
    #[case("Should we go with Postgres?")]
    #[case("Let's go with Postgres?")]
    #[case("If we decided to use Postgres, what would it cost?")]
    #[case("Let's go with that.")]
    #[case("Let's go with the first option.")]
    #[case("They decided to leave.")]
    #[case("> We decided to use Postgres.")]
    #[case("```\nDecision: x is y\n```")]
    #[case("Let's use a loop here.")]
    fn other_sentences_are_not_decisions(#[case] message: &str) {
        assert_eq!(decisions(message), [], "{message}");
    }
}
