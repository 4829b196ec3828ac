//! The queue of doubts: pairs of stored claims that may contradict each other, and verdicts on them.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{claims::ClaimView, doubts::DoubtBand, request};
use crate::domain::{CardId, OpId, PairVerdict, Scope};

/// The maximum number of pairs in one answer, and of verdicts in one request.
pub const MAX_PAIRS: usize = 50;

/// `GET /doubts`: pairs of claims in force that wait for a verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DoubtsQuery {
    /// The organisation; needs `project`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project; needs `org_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The maximum number of pairs, up to 50; default 20.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// The answer to `GET /doubts`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Doubts {
    /// The number of pairs that wait for a verdict.
    pub total: usize,
    /// The number in each scope; scopes without any are left out.
    pub scopes: Vec<ScopeDoubts>,
    /// The next pairs, the newest first.
    pub items: Vec<PairInDoubt>,
}

/// The number of pairs of a scope that wait for a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScopeDoubts {
    /// The scope.
    pub scope: Scope,
    /// The number of pairs; at most 1,000 of a scope are kept.
    pub pairs: usize,
}

/// Two claims in force that may contradict each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PairInDoubt {
    /// The id of the pair in `POST /doubts`, and of the card that a verdict may open.
    pub id: CardId,
    /// The scope of both claims. If one claim is the organisation's, the project of the other one; of two projects, that of the newer
    /// claim.
    pub scope: Scope,
    /// How likely a contradiction is.
    pub band: DoubtBand,
    /// The claim that was written later. A verdict says how it relates to the older one.
    pub newer: ClaimView,
    /// The claim that was written earlier.
    pub older: ClaimView,
}

request! {
    /// `POST /doubts`: verdicts on waiting pairs.
    ///
    /// A person's verdicts take effect. An agent's verdicts open cards that propose the same, except `compatible`, which is recorded.
    #[derive(Default)]
    pub struct JudgePairsRequest {
        /// Who acts. The scope is that of the pairs.
        caller(who),
        /// The verdicts, at most 50, on pairs of one scope.
        pub verdicts: Vec<VerdictOnPair>,
        /// The reason of all verdicts that have none of their own; required of an agent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub because: Option<String>,
        /// The language model that judged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub model: Option<String>,
    }
}

/// A verdict on one pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerdictOnPair {
    /// The pair's id, or its first digits.
    pub pair: String,
    /// How the newer claim relates to the older one.
    pub verdict: PairVerdict,
    /// The reason; recorded as the reason why a claim was replaced.
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
    /// A summary, in one sentence.
    pub summary: String,
    /// The result for each pair, in the order of the request; empty if `replayed`.
    pub pairs: Vec<JudgedPair>,
    /// The number of pairs of this scope that still wait.
    pub left: usize,
    /// Whether this is the answer to a retry: nothing new happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
}

/// The result for one pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgedPair {
    /// The pair.
    pub pair: CardId,
    /// The verdict.
    pub verdict: PairVerdict,
    /// The effect of the verdict.
    pub effect: PairEffect,
    /// The card that was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card_id: Option<CardId>,
}

/// The effect of a verdict on a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairEffect {
    /// Both stay in force, and the pair is not asked about again.
    Kept,
    /// The newer claim superseded the older one.
    Replaced,
    /// The newer claim was replaced by the older one, which says the same.
    Merged,
    /// A card was opened for a person.
    Card,
    /// None: the pair no longer waits, because it was judged or one of its claims is no longer in force.
    Stale,
}

request! {
    /// `POST /doubts/judge`: has a language model judge the next pairs of a scope.
    #[derive(Default)]
    pub struct JudgeNextRequest {
        /// Who asks; its scope is the one whose claims are read.
        caller(scope),
        /// The maximum number of pairs, up to 20; default 5.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<usize>,
        /// Dry run: only estimate the cost.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
    }
}

/// The answer to `POST /doubts/judge`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgedNext {
    /// The available judges of the settings, in the order in which they are asked.
    pub judges: Vec<JudgeView>,
    /// The number of pairs that a model judged in this request.
    pub judged: usize,
    /// The number of pairs that a model was asked about in this request, including those without a verdict.
    pub asked: usize,
    /// The number of cards that were opened.
    pub cards: usize,
    /// The number of pairs that still wait for a model.
    pub left: usize,
    /// Estimated number of tokens that the models read and write for these.
    pub tokens: usize,
    /// Estimated duration, in seconds.
    pub seconds: u64,
}

/// A language model that judges pairs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JudgeView {
    /// The model's name, or the command.
    pub name: String,
    /// Whether claims leave this program for it, because it is reached at an address or by a command.
    pub external: bool,
}
