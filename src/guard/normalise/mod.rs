//! From a statement to norms: tokens, items, clauses, norms.

pub(crate) mod clause;
pub(crate) mod cue;
pub(crate) mod item;
pub mod llm;
pub(crate) mod norms;
pub(crate) mod place;
pub(crate) mod quantity;
pub(crate) mod token;
pub(crate) mod value;
pub(crate) mod when;

use crate::domain::{claim::Qualifiers, norm::Norm};
use clause::Clause;
use item::Item;

/// The name and version of the rule-based normaliser, stored with the norms that it made.
pub const RULES_VERSION: &str = "rules-en/1";

/// A statement, normalised.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normalised {
    /// One norm for each stance; never empty.
    pub norms: Vec<Norm>,
    /// The normaliser's name and version.
    pub version: String,
    /// What was not understood, in words; a caller may show it as a warning.
    pub problems: Vec<String>,
}

/// Turns prose into norms.
pub trait Normaliser: Send + Sync {
    /// Normalises; total: it never fails and never panics.
    fn normalise(&self, statement: &str, qualifiers: &Qualifiers) -> Normalised;
}

/// The deterministic normaliser for English. Linear in the length of the statement.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleNormaliser;

impl Normaliser for RuleNormaliser {
    fn normalise(&self, statement: &str, qualifiers: &Qualifiers) -> Normalised {
        let parsed = parse(statement);
        let mut problems = Vec::new();
        if statement.len() > token::MAX_READ {
            problems.push(format!("only the first {} bytes were read for the comparison", token::MAX_READ));
        }
        Normalised { norms: norms::norms(&parsed, qualifiers), version: RULES_VERSION.into(), problems }
    }
}

/// A statement taken apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed {
    /// The text in composed form, which the items point into.
    pub(crate) text: String,
    pub(crate) items: Vec<Item>,
    pub(crate) clauses: Vec<Clause>,
    /// The words of a leading label ("`--force`: …"); empty without one.
    pub(crate) label: Vec<u64>,
    pub(crate) place: place::Place,
    pub(crate) window: when::Window,
}

/// The canonical keys of a text's content, as norms have subjects and values; a number with its base unit.
pub fn names(text: &str) -> Vec<String> {
    lex(text).into_iter().filter(Item::is_content).map(|item| item.key.trim().to_owned()).collect()
}

/// The items of a statement, without its clauses.
pub(crate) fn lex(statement: &str) -> Vec<Item> {
    let text = token::prepare(statement);
    let tokens = token::tokenise(&text);
    let (_, dated) = when::window(&tokens);
    item::items(&tokens, &dated)
}

/// Takes a statement apart.
pub(crate) fn parse(statement: &str) -> Parsed {
    let text = token::prepare(statement);
    let tokens = token::tokenise(&text);
    let (window, dated) = when::window(&tokens);
    let items = item::items(&tokens, &dated);
    let clauses = clause::clauses(&items);
    let label = clause::label(&items);
    let subjects: Vec<usize> = clauses.iter().flat_map(|c| c.subject.iter().copied()).collect();
    let place = place::place(&items, &subjects);
    Parsed { text, items, clauses, label, place, window }
}
