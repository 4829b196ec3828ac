//! Turns a statement into norms: tokens, items, clauses, norms.

pub(crate) mod clause;
pub(crate) mod cue;
pub(crate) mod date_window;
pub(crate) mod lexical_item;
pub mod llm;
pub(crate) mod norms;
pub(crate) mod quantity;
pub(crate) mod stated_scope;
pub(crate) mod token;
pub(crate) mod value;

use std::{collections::BTreeSet, sync::OnceLock};

use super::correction;
use crate::domain::{claim::Qualifiers, norm::Norm};
use clause::Clause;
use lexical_item::Item;

/// The name and version of the rule-based normaliser; stored with its norms.
pub const RULES_VERSION: &str = "rules-en/4";

/// A normalised statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Normalised {
    /// One norm for each stance; never empty.
    pub norms: Vec<Norm>,
    /// The normaliser's name and version.
    pub version: String,
    /// Warnings for people about the parts that were not understood.
    pub problems: Vec<String>,
}

/// Returns whether a norm is about a property of its subject that has one value at a time, such as a port or a time limit.
pub fn names_property(norm: &Norm) -> bool {
    norm.attribute.iter().flat_map(|attribute| attribute.split(' ')).any(norms::is_attribute)
}

/// Turns prose into norms.
pub trait Normaliser: Send + Sync {
    /// Normalises a statement. Never fails.
    fn normalise(&self, statement: &str, qualifiers: &Qualifiers) -> Normalised;
}

/// The rule-based normaliser for English: deterministic, and bounded, because it reads at most [`token::MAX_READ`] bytes.
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

/// A parsed statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parsed {
    /// The text in composed form (NFC), which the items refer to.
    pub(crate) text: String,
    pub(crate) items: Vec<Item>,
    pub(crate) clauses: Vec<Clause>,
    /// The words of a leading label ("`--force`: …"); empty if there is none.
    pub(crate) label: Vec<u64>,
    pub(crate) stated_scope: stated_scope::StatedScope,
    pub(crate) window: date_window::DateWindow,
    /// The things whose use it ends, computed once, because a claim is compared with dozens of others.
    pub(crate) abandoned: OnceLock<Vec<correction::Abandoned>>,
}

/// Returns the canonical keys of a text's content words, as in the subjects and values of norms; numbers with their base unit.
pub fn names(text: &str) -> Vec<String> {
    lex(text).into_iter().filter(Item::is_content).map(|item| item.key.trim().to_owned()).collect()
}

/// Returns the items of a statement, without parsing clauses.
pub(crate) fn lex(statement: &str) -> Vec<Item> {
    let text = token::prepare(statement);
    let tokens = token::tokenise(&text);
    let (_, dates) = date_window::date_window(&tokens);
    lexical_item::items(&tokens, &dates)
}

/// Parses a statement.
pub(crate) fn parse(statement: &str) -> Parsed {
    let text = token::prepare(statement);
    let tokens = token::tokenise(&text);
    let (window, dates) = date_window::date_window(&tokens);
    let mut items = lexical_item::items(&tokens, &dates);
    let clauses = clause::clauses(&items);
    let lacking: BTreeSet<usize> = clauses.iter().flat_map(|clause| clause.lacking.iter().copied()).collect();
    for at in lacking {
        items[at].opposite = !items[at].opposite;
    }
    let label = clause::label(&items);
    let stated_scope = stated_scope::stated_scope(&items, &clauses);
    Parsed { text, items, clauses, label, stated_scope, window, abandoned: OnceLock::new() }
}
