//! The queue of doubts: pairs of stored claims that may contradict each other, and the verdicts of whoever judges them.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{claims::ClaimView, doubts::DoubtBand, request};
use crate::domain::{CardId, OpId, PairVerdict, Scope};

/// The most pairs of one answer, and of one request.
pub const MAX_PAIRS: usize = 50;

/// `GET /doubts`: pairs of claims in force that wait for a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DoubtsQuery {
    /// Of this organisation; with `project`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// Of this project; with `org_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The most pairs in the answer, up to 50; by default 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The answer to `GET /doubts`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Doubts {
    /// How many pairs wait.
    pub total: usize,
    /// How many of them in each scope; scopes without any are left out.
    pub scopes: Vec<ScopeDoubts>,
    /// The next pairs, the newest first.
    pub items: Vec<PairInDoubt>,
}

/// How many pairs of a scope wait for a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScopeDoubts {
    /// The scope.
    pub scope: Scope,
    /// How many pairs wait; at most 1,000 are kept.
    pub pairs: usize,
}

/// Two claims in force that may contradict each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairInDoubt {
    /// Names the pair in `POST /doubts`; the card that the pair may get has the same id.
    pub id: CardId,
    /// The scope of both claims; of two levels, the project's; of two projects, that of the newer claim.
    pub scope: Scope,
    /// How likely a contradiction is.
    pub band: DoubtBand,
    /// The claim that was written later. A verdict says what it is to the other one.
    pub newer: ClaimView,
    /// The claim that was written earlier.
    pub older: ClaimView,
}

request! {
    /// `POST /doubts`: verdicts on pairs that wait.
    ///
    /// Those of a person take effect. Those of an agent open cards that propose the same; `compatible` is recorded.
    #[derive(Default)]
    pub struct JudgePairsRequest {
        /// Who acts. The scope is that of the pairs.
        caller,
        /// The verdicts, at most 50, on pairs of one scope.
        #[serde(default)]
        pub verdicts: Vec<VerdictOnPair>,
        /// Why, for all verdicts without a reason of their own; an agent has to say it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub because: Option<String>,
        /// The language model that judged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub model: Option<String>,
    }
}

/// What a judge says of one pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictOnPair {
    /// The pair's id, or its first digits.
    pub pair: String,
    /// What the newer claim is to the older one.
    pub verdict: PairVerdict,
    /// Why. It is the reason of the claim that gives way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// The answer to `POST /doubts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JudgedPairs {
    /// The id of this change; name it to undo all of these verdicts.
    pub op_id: OpId,
    /// The scope.
    pub scope: Scope,
    /// What was done, in one sentence.
    pub summary: String,
    /// What became of each pair, in the order of the request; empty if `replayed`.
    pub pairs: Vec<JudgedPair>,
    /// How many pairs of this scope still wait.
    pub left: usize,
    /// The answer to a retry; nothing new happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// What became of one pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgedPair {
    /// The pair.
    pub pair: CardId,
    /// The verdict.
    pub verdict: PairVerdict,
    /// What followed from it.
    pub effect: PairEffect,
    /// The card that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_id: Option<CardId>,
}

/// What follows from a verdict on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairEffect {
    /// Both stay in force, and the pair is not asked about again.
    Kept,
    /// The newer claim superseded the older one.
    Replaced,
    /// The newer claim gave way to the older one, which says the same.
    Merged,
    /// A card was opened for a person.
    Card,
    /// Nothing: the pair no longer waits. Somebody judged it, or one of its claims is no longer in force.
    Stale,
}

request! {
    /// `POST /doubts/judge`: has a language model judge the next pairs of a scope.
    #[derive(Default)]
    pub struct JudgeNextRequest {
        /// Whose claims: the scope.
        caller,
        /// How many pairs, up to 20; by default 5.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<usize>,
        /// Only estimate what it would take.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
    }
}

/// The answer to `POST /doubts/judge`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgedNext {
    /// The judges that the settings name and that can be asked, in the order in which they are.
    pub judges: Vec<JudgeView>,
    /// Pairs that a model judged by this request.
    pub judged: usize,
    /// Pairs that a model was asked about by this request, those without a verdict included.
    pub asked: usize,
    /// Cards that were opened.
    pub cards: usize,
    /// Pairs that still wait for a model.
    pub left: usize,
    /// About how many tokens the models read and write for these.
    pub tokens: usize,
    /// About how long that takes, in seconds.
    pub seconds: u64,
}

/// A language model that judges pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgeView {
    /// A model's name, or a command.
    pub name: String,
    /// Whether claims leave this program for it: to an address or to a command.
    pub external: bool,
}
