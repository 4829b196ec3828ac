//! Active claims that a claim seems to contradict, although a person decided that both hold.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::ClaimId;

/// Another active claim that this one seems to contradict, although an exception or a dismissal allows both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Beside {
    /// The relation of the other claim to this one.
    pub relation: BesideRelation,
    /// The other claim.
    pub claim: ClaimId,
    /// Its statement, shortened.
    pub statement: String,
    /// The conditions under which it holds, in words; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The reason why both may stand.
    pub reason: Option<String>,
    /// The person who decided it.
    pub who: String,
    /// The agent through which they acted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The time, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// The relation of another claim to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BesideRelation {
    /// It is the rule to which this claim is an exception.
    Rule,
    /// It is an exception to this claim.
    Exception,
    /// It is the unlimited claim: this one was limited to conditions, so that both hold.
    General,
    /// It was limited to conditions, so that both hold.
    Limited,
    /// A person dismissed the contradiction.
    Compatible,
}

impl BesideRelation {
    /// Returns whether the other claim is the broader one: the rule of an exception, or the claim that also holds outside this claim's
    /// conditions.
    pub fn is_broader(self) -> bool {
        matches!(self, Self::Rule | Self::General)
    }
}

impl Beside {
    /// Returns a label and a text, such as “exception” and “to “Never deploy on Fridays.” (3f2a91bc04): the audit is on a Friday”.
    pub fn words(&self) -> (&'static str, String) {
        let (label, lead) = match self.relation {
            BesideRelation::Rule => ("exception", "to "),
            BesideRelation::Exception | BesideRelation::Limited => ("except", ""),
            BesideRelation::General => ("limited", "beside "),
            BesideRelation::Compatible => ("compatible", ""),
        };
        let holds = self.holds.as_deref().map(|holds| format!(" for {holds}")).unwrap_or_default();
        let why = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let statement = if self.statement.is_empty() { "(redacted)" } else { &self.statement };
        (label, format!("{lead}“{statement}” ({}){holds}{why}", self.claim.short()))
    }
}
