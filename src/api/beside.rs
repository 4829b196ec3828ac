//! The claims beside which a claim stands although it seems to contradict them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::ClaimId;

/// Another active claim that this one seems to contradict, where an exception or a dismissal allows both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Beside {
    /// What the other claim is to this one.
    pub relation: BesideRelation,
    /// The other claim.
    pub claim: ClaimId,
    /// What it says, shortened.
    pub statement: String,
    /// Where and when it holds, in words; absent if nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<String>,
    /// The reason why both may stand.
    pub reason: Option<String>,
    /// The person who decided it.
    pub who: String,
    /// Through which agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
}

/// The relation of a claim to the other one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum BesideRelation {
    /// The rule to which this claim is an exception.
    Rule,
    /// An exception to this claim.
    Exception,
    /// The claim beside which this one was limited to conditions, so that both hold.
    General,
    /// A claim that was limited to conditions, so that it holds beside this one.
    Limited,
    /// Someone dismissed the contradiction.
    Compatible,
}

impl BesideRelation {
    /// Whether the other claim is the general one: the rule of an exception, or what holds beyond this claim's conditions.
    pub fn is_broader(self) -> bool {
        matches!(self, Self::Rule | Self::General)
    }
}

impl Beside {
    /// A label, and what it says in words: “exception”, “to “Never deploy on Fridays.” (3f2a91bc04): the audit is on a Friday”.
    pub fn words(&self) -> (&'static str, String) {
        let (label, lead) = match self.relation {
            BesideRelation::Rule => ("exception", "to "),
            BesideRelation::Exception | BesideRelation::Limited => ("except", ""),
            BesideRelation::General => ("limited", "beside "),
            BesideRelation::Compatible => ("compatible", ""),
        };
        let holds = self.holds.as_deref().map(|holds| format!(" for {holds}")).unwrap_or_default();
        let why = self.reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
        (label, format!("{lead}“{}” ({}){holds}{why}", self.statement, self.claim.short()))
    }
}
