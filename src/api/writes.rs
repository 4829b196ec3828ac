//! Writes: remember, learn, supersede, retract and the other acts on claims.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    claims::ClaimView,
    conflicts::{CardSettlement, CardSummary},
    doubts::{Consider, Doubt},
    error::ApiError,
    request,
};
use crate::domain::{CardId, ClaimId, ClaimKind, OpId, Qualifiers, Scope, Tier, guard_report::Evidence};

/// Who acts, the scope, and the idempotency key: part of every write. Each request says which of these fields it needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Caller {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// The person.
    pub who: String,
    /// The agent through which they act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The idempotency key: 32 hexadecimal digits. A retry with the same key answers as the first time and does
    /// nothing. It may differ in `who`, `agent`, `identity`, `source` (whose line may have moved), `expect_rev` and
    /// `dry_run`. With any other difference it is refused with `op_id_reused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub op_id: Option<OpId>,
    /// What identifies the project besides its name: the URL of the git remote, or the common directory. A project with the
    /// same name but another identity becomes `name-2`, and the answer says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
}

/// `POST /remember`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct RememberRequest {
    /// Who acts, and where.
    #[serde(flatten)]
    pub caller: Caller,
    /// The statement; required.
    pub statement: String,
    /// Its kind. Unless given: `decision`, or in `supersede` the kind of the first target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<ClaimKind>,
    /// The reason; required unless the kind is `fact`. For `learn`, the source can stand for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The source: `path:line`, a document, an address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The key of a fact; without one, a hidden key is derived from the fact's subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Ids of the claims that this one depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The conditions under which it holds.
    #[serde(flatten)]
    pub qualifiers: Qualifiers,
    /// Why both claims hold: stores the claim as an exception although it contradicts active claims. These are the claims in
    /// `exception_to`, or else those that the guard finds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_exception: Option<String>,
    /// Ids of the claims to which this one is an exception; the justification is `force_exception`, or else `reason`.
    /// The write is still refused if it contradicts other claims.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exception_to: Vec<String>,
    /// If the write may contradict active claims, do not store it but ask: the answer is `consider`, and `POST /judge` gives
    /// the verdicts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub consider: bool,
    /// Dry run: check the claim, but store nothing and open no card.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// `POST /learn`: a claim that has a source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct LearnRequest {
    /// The claim, as for `remember`; its `source` is required.
    #[serde(flatten)]
    pub claim: RememberRequest,
}

impl From<LearnRequest> for RememberRequest {
    fn from(request: LearnRequest) -> Self {
        request.claim
    }
}

/// `POST /supersede`: replaces `targets` with a new statement, or with the existing claim `successor`, because something changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, ToSchema)]
pub struct SupersedeRequest {
    /// Ids of the claims to replace; at least one.
    pub targets: Vec<String>,
    /// The id of an active claim that replaces them; then `statement` stays empty and `reason` says why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    /// The `rev` of the first target as it was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expect_rev: Option<u64>,
    /// Whether the new claim has only the conditions named here. By default it also keeps those that all targets have in
    /// common, except a first day that has passed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub drop_conditions: bool,
    /// The new claim, as for `remember`.
    #[serde(flatten)]
    pub claim: RememberRequest,
}

request! {
    /// `POST /retract`, `/reinstate`, `/redact`, `/reviewed`: a change of one claim, with a reason.
    #[derive(Default)]
    pub struct ActRequest {
        /// Who acts, and where.
        caller(who),
        /// The claim's id or prefix; required.
        pub target: String,
        /// Further claims of the same scope, for `reviewed` only; all are reviewed by one change, which one undo reverses.
        /// Claims that no longer need review are skipped.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub also: Vec<String>,
        /// Why; required.
        pub reason: String,
        /// The `rev` of the claim as it was shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub expect_rev: Option<u64>,
    }
}

request! {
    /// `POST /depend`: records that a claim depends on premises.
    #[derive(Default)]
    pub struct DependRequest {
        /// Who acts, and where.
        caller(who),
        /// The claim that depends on others.
        pub claim: String,
        /// The claims that it depends on; at least one.
        pub premises: Vec<String>,
    }
}

request! {
    /// `POST /undo`.
    #[derive(Default)]
    pub struct UndoRequest {
        /// Who acts; if a scope is given, the last change of that scope or its organisation's level is undone.
        caller(who),
        /// The id of the change to undo; by default the caller's own last change that is not itself an undo.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub target_op: Option<OpId>,
        /// Dry run: undo nothing, and return in `undone` which change would be undone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub dry_run: bool,
    }
}

/// The answer to `undo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UndoOutcome {
    /// The id of the change that was undone.
    pub undone: OpId,
    /// The id of the undo, which is a change of its own; undo it to redo. A dry run makes no change, so its id is unused.
    pub op_id: OpId,
    /// What was undone, in one sentence.
    pub summary: String,
    /// Whether the undone change was itself an undo; the change it had undone then has effect again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redo: bool,
    /// Claims whose state changed, at most 200.
    pub claims: Vec<ClaimView>,
}

request! {
    /// `POST /audit`: compares the active claims with each other and opens cards.
    #[derive(Default)]
    pub struct AuditRequest {
        /// Who acts, and where.
        caller(who, scope),
        /// Dry run: report contradictions, but open no cards.
        #[serde(default)]
        pub dry_run: bool,
    }
}

/// The answer to `audit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditOutcome {
    /// The number of active claims that were compared.
    pub claims: usize,
    /// The number of pairs that were compared.
    pub compared: usize,
    /// Cards that were opened, or would be on a dry run.
    pub opened: Vec<CardSummary>,
    /// The number of contradictions that already had a card or were settled.
    pub known: usize,
    /// The number of pairs that the cross-encoder judged.
    #[serde(default)]
    pub inferred: usize,
    /// Why the cross-encoder did not judge all pairs; absent if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// The number of unanswered questions of the story: reversals, ambiguities and stale claims.
    #[serde(default)]
    pub questions: usize,
}

/// A warning to the writer about a write that was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// The code: `softer_conflict`, `ungated`, `scope_renamed`, `nli_unavailable`, `exception`, `still_in_force`,
    /// `several_claims`, `question`, `expired`, `conditions_kept`, …
    pub code: String,
    /// The warning, in one sentence.
    pub message: String,
    /// The conflict that caused it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<Conflict>,
    /// The claims concerned, if any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<ClaimView>,
}

impl Warning {
    /// The `code` if a statement has several sentences, so that it contains several claims.
    pub const SEVERAL_CLAIMS: &str = "several_claims";

    /// The `code` if a statement is a question.
    pub const QUESTION: &str = "question";

    /// The `code` if a claim was replaced, but others about the same thing stay in force.
    pub const STILL_IN_FORCE: &str = "still_in_force";

    /// The `code` if a claim keeps conditions of the claims that it replaces.
    pub const CONDITIONS_KEPT: &str = "conditions_kept";

    /// The `code` if the last day of a claim had passed when it was stored.
    pub const EXPIRED: &str = "expired";

    /// The code of a warning about an exception that the write records.
    pub const EXCEPTION: &str = "exception";

    /// The `code` if the project has another name here, because another project already has the name that the writer gave.
    pub const SCOPE_RENAMED: &str = "scope_renamed";

    /// The `code` if so many projects say the same that the claim could hold for the whole organisation.
    pub const PROMOTABLE: &str = "promotable";

    /// Creates a warning without a conflict or claims.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into(), conflict: None, claims: Vec::new() }
    }
}

/// One active claim that contradicts a write.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Conflict {
    /// The stored claim, with its reason and source.
    pub claim: ClaimView,
    /// The tier: `clean`, `warn` or `block`.
    pub tier: Tier,
    /// The probability that they contradict each other, 0 to 1.
    pub score: f32,
    /// The stage that decided.
    pub stage: crate::domain::guard_report::Stage,
    /// The rule that matched.
    pub rule: String,
    /// The evidence: both norms, and the words that contradict each other.
    pub evidence: Evidence,
}

/// The answer to a write. The HTTP status of `stored`, `consider` and `done` is 200, of `proposed` 202, of `conflict` and
/// `stale` 409; these are not errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum WriteOutcome {
    /// A claim is stored (`remember`, `learn`, `supersede`).
    Stored(Stored),
    /// Nothing is stored yet: the write may contradict active claims, and waits for verdicts (`POST /judge`).
    Consider(Consider),
    /// The change was made (`retract`, `reinstate`, `redact`, `reviewed`, `depend`, `resolve`).
    Done(Done),
    /// An agent may only propose this (to retract or replace a person's claim, or to store an exception): nothing
    /// changed, and a card waits for a person.
    Proposed(Proposed),
    /// The guard refused the write and opened a card.
    Conflict(Refused),
    /// A target is no longer active, or has changed since it was shown.
    Stale(Stale),
}

/// The body of an answer with HTTP 409 to a write: the result of the write, or an error such as a reused `op_id`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum WriteConflict {
    /// `conflict` or `stale`.
    Outcome(Box<WriteOutcome>),
    /// An error; it has a `code` and no `result`.
    Error(ApiError),
}

/// A write that was stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stored {
    /// The new claim, or with `duplicate` the identical active one.
    pub claim_id: ClaimId,
    /// The id of this change; name it to undo.
    pub op_id: OpId,
    /// The scope of the claim.
    pub scope: Scope,
    /// Whether an identical active claim already existed; nothing was stored.
    #[serde(default)]
    pub duplicate: bool,
    /// Whether this is the answer to a retry: nothing new happened.
    #[serde(default)]
    pub replayed: bool,
    /// Whether this was a dry run, which stores nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// The claims that were replaced.
    #[serde(default)]
    pub superseded: Vec<ClaimId>,
    /// Warnings to the writer.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Claims in force about the same matter, the likeliest contradiction first; at most five. Supersede or retract what no longer holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<Doubt>,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// The id of this change; name it to undo.
    pub op_id: OpId,
    /// The scope.
    pub scope: Scope,
    /// A summary, in one sentence: "Superseded 3f2a… by 91bc…".
    pub summary: String,
    /// The claim that this change stored, if any.
    #[serde(default)]
    pub claim_id: Option<ClaimId>,
    /// Claims whose state changed, the targets first; at most 200.
    #[serde(default)]
    pub claims: Vec<ClaimView>,
    /// Active claims that now need review.
    #[serde(default)]
    pub needs_review: Vec<ClaimId>,
    /// The card that it settled, if any.
    #[serde(default)]
    pub card_id: Option<CardId>,
    /// Whether this is the answer to a retry: nothing new happened.
    #[serde(default)]
    pub replayed: bool,
    /// Warnings to the writer.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// A change that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Proposed {
    /// The id of the proposal; name it to undo, which withdraws the proposal.
    pub op_id: OpId,
    /// The scope.
    pub scope: Scope,
    /// The proposal and who has to decide on it, in one sentence.
    pub summary: String,
    /// The card with the proposal.
    pub card_id: CardId,
    /// The claim to retract or replace, or the rule of an exception; still active.
    pub claim: Box<ClaimView>,
    /// Whether the same proposal already existed, or this is the answer to a retry: nothing new happened.
    #[serde(default)]
    pub known: bool,
    /// The act that accepts the proposal on its card: `retract`, `supersede` for a new text in place of the claim, or
    /// `exception` to it.
    pub accept: super::conflicts::CardAct,
}

/// A write that the guard refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Refused {
    /// The claims that it contradicts, the most probable first.
    pub conflicts: Vec<Conflict>,
    /// The card that keeps the write, or that the act was to settle; absent on a dry run.
    pub card_id: Option<CardId>,
    /// How the card was settled, if it is: a write that was discarded before is not kept again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Box<CardSettlement>>,
    /// Whether the act was to settle the card: nothing was stored, and the card is as it was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unsettled: bool,
    /// The scope.
    pub scope: Scope,
    /// The ways to continue, in sentences: cancel, supersede, narrow, exception.
    #[serde(default)]
    pub ways_on: Vec<String>,
    /// Whether the writer is an agent that may only propose here, so that a person must settle the card.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_only_propose: bool,
}

/// A write whose target has changed in the meantime.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stale {
    /// What happened, in one sentence.
    pub message: String,
    /// The target as it is now.
    pub claim: Option<Box<ClaimView>>,
    /// The claims that replaced it.
    #[serde(default)]
    pub heads: Vec<ClaimView>,
    /// The card as it is now, if the change was on a card.
    #[serde(default)]
    pub card: Option<Box<super::conflicts::CardView>>,
    /// Whether the claim can be reinstated, because the claim that replaced it was retracted.
    #[serde(default)]
    pub can_reinstate: bool,
}

impl Stale {
    /// Returns the answer to an act on a card that is settled or has changed.
    pub fn of_card(message: String, card: super::conflicts::CardView) -> Self {
        Self { message, claim: None, heads: Vec::new(), card: Some(Box::new(card)), can_reinstate: false }
    }
}
