//! Reads of claims: views, lists, history, why.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    beside::{Beside, BesideRelation},
    conflicts::{CardAct, CardSummary},
};
use crate::domain::{
    ClaimId, ClaimKind, DeviceId, EventId, Flags, Level, Norm, OpId, Qualifiers, Scope, Status, TextWriter,
    text::{self, without_place},
};

/// A claim as clients see it. Texts are unchanged from what was written: sanitise them before showing them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClaimView {
    /// Its id.
    pub id: ClaimId,
    /// Its scope.
    pub scope: Scope,
    /// Whether it holds in its project only (the default) or in each project of its organisation.
    #[serde(default, skip_serializing_if = "Level::is_project")]
    pub level: Level,
    /// The number of projects in which it was seen, if it was promoted to the organisation's level. Lists of claims leave it out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub seen_in: usize,
    /// Its kind.
    pub kind: ClaimKind,
    /// Its status.
    pub status: Status,
    /// Flags that are derived from later events.
    #[serde(default)]
    pub flags: Flags,
    /// The statement; empty once redacted.
    pub statement: String,
    /// The reason.
    pub reason: Option<String>,
    /// Its source.
    pub source: Option<String>,
    /// The person who wrote it.
    pub who: String,
    /// The agent through which they wrote it.
    pub agent: Option<String>,
    /// The device that signed it.
    pub device: DeviceId,
    /// The owner of that device, and how the claim reached this device.
    #[serde(default)]
    pub provenance: Provenance,
    /// When it was written, in milliseconds since the Unix epoch, by the clock of the writer's device.
    pub at: u64,
    /// The key of a fact.
    pub key: Option<String>,
    /// The conditions that the writer gave: environment, team, tenant, dates.
    #[serde(default)]
    pub qualifiers: Qualifiers,
    /// The norms that the guard read in the statement.
    #[serde(default)]
    pub norms: Vec<Norm>,
    /// The claims that replaced it.
    #[serde(default)]
    pub replaced_by: Vec<ClaimId>,
    /// The claims that it replaced.
    #[serde(default)]
    pub replaces: Vec<ClaimId>,
    /// The claims that it depends on.
    #[serde(default)]
    pub premises: Vec<ClaimId>,
    /// The number of active claims that depend on it.
    #[serde(default)]
    pub dependents: usize,
    /// Why it is no longer active; absent while it is active.
    #[serde(default)]
    pub closing_reason: Option<String>,
    /// The active claims that it seems to contradict although an exception or a dismissal allows both, and why. Lists of claims
    /// include them only if one is an exception, or for `not_narrowed_in`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// Revision: increases with every change on this device; send it back as `expect_rev`.
    pub rev: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes what it may skip by reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// How a claim reached this device. Its signature was verified before it was stored; `ergo doctor` verifies it again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Provenance {
    /// Who wrote the text, if `who` accepted it on the card of a refused or proposed write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_writer: Option<TextWriter>,
    /// The name in the team of the device that signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The owner of that device according to the team's roster; the name that the writer stated is in the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_person: Option<String>,
    /// The team for which it was written; absent if it is older than the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<EventId>,
    /// The peer from which it was received; absent if it was written here or imported from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived_from: Option<DeviceId>,
    /// The name of that peer in the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived_from_name: Option<String>,
    /// Whether the device's signature was valid when the claim was stored: events without a valid one are rejected.
    /// Changes to the store's file since then are found by `POST /check` and `ergo doctor`.
    pub verified: bool,
}

impl ClaimView {
    /// Describes its conditions, and the claims to which it is an exception or that are exceptions to it. See [`super::limits`].
    pub fn limits(&self) -> Option<String> {
        super::limits(&self.qualifiers, &self.beside)
    }

    /// Returns words for its level if it is the organisation's, and for the flags that are set. Both claims of an exception have the flag
    /// `excepted`; the one that is the rule is called “rule with an exception”.
    pub fn flag_words(&self) -> impl Iterator<Item = &'static str> {
        let is_rule = self.beside.iter().any(|other| other.relation == BesideRelation::Exception)
            && !self.beside.iter().any(|other| other.relation == BesideRelation::Rule);
        let rule = (self.flags.excepted && is_rule).then_some("rule with an exception");
        let level = (self.level == Level::Organisation).then_some("organisation");
        level.into_iter().chain(Flags { excepted: self.flags.excepted && !is_rule, ..self.flags }.words()).chain(rule)
    }

    /// Names who wrote it and, if another one accepted the text, who did: “ada via claude, accepted by ada”.
    pub fn writer(&self) -> String {
        let stored_by = text::writer(&self.who, self.agent.as_deref());
        match &self.provenance.text_writer {
            Some(writer) => format!("{}, accepted by {stored_by}", text::writer(&writer.who, writer.agent.as_deref())),
            None => stored_by,
        }
    }

    /// Returns the name of the device that signed it, with its owner if that is not the writer: “bob-laptop”, “bob-laptop, which is bob's”.
    /// Returns `None` if no team has a name for the device.
    pub fn device_words(&self) -> Option<String> {
        let Provenance { device_name, device_person, .. } = &self.provenance;
        let name = device_name.as_deref()?;
        Some(match device_person.as_deref().filter(|person| !person.is_empty() && *person != self.who) {
            Some(person) => format!("{name}, which is {person}'s"),
            None => name.to_owned(),
        })
    }

    /// Returns the reason without the sentence by which an import says where the claim is stated; `None` if nothing is left.
    pub fn own_reason(&self) -> Option<&str> {
        self.reason.as_deref().and_then(without_place)
    }

    /// Describes which device signed it, whether the signature is valid, and from which peer it was received. Returns `None` if it was
    /// written on this device and belongs to no team.
    pub fn signed_words(&self) -> Option<String> {
        let Provenance { device_name, arrived_from, arrived_from_name, verified, .. } = &self.provenance;
        if device_name.is_none() && arrived_from.is_none() {
            return None;
        }
        let device = self.device_words().unwrap_or_else(|| self.device.short());
        let signature = if *verified { "signature valid" } else { "signature not checked" };
        let way = match (arrived_from, arrived_from_name) {
            (Some(from), _) if *from == self.device => ", received directly".to_owned(),
            (Some(_), Some(name)) => format!(", received from {name}"),
            (Some(from), None) => format!(", received from {}", from.short()),
            (None, _) => String::new(),
        };
        Some(format!("{device} ({}), {signature}{way}", self.device.short()))
    }
}

/// `GET /claims`: filters and paging. A claim must match all filters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ClaimsQuery {
    /// The organisation; without it, all scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// `active` (default), `superseded`, `retracted` or `all`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// One kind, or several separated by commas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Full-text search over statement, reason and source; the best match first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Only claims by this person or agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// Only claims that need review.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_review: Option<bool>,
    /// `true`: only claims whose last day has passed; `false`: only the others. At the time `as_of`, if it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expired: Option<bool>,
    /// Only claims written at this time or later, in milliseconds since the Unix epoch, by event clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Only claims written at this time or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Only claims whose source contains these words in this order, for example `docs/adr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Only claims with none of these words in statement, reason and source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// Only claims not written by this person or agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_who: Option<String>,
    /// Only claims whose source does not contain these words in this order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_source: Option<String>,
    /// Only claims that this project of the organisation has not narrowed for itself; only with `project=*`. The claims then list the
    /// exceptions that the project made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_narrowed_in: Option<String>,
    /// By the guard's verdict: `disputed` (on an open card), `warned` (stored with a warning), `clean` (neither).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// Return the state at this time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
    /// `newest` (default; the best match if words are searched for), `kind`, or `source`. The newest 5,000 are ordered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// Page size, at most 200; default 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// `next` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The time at which one claim is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AsOf {
    /// Return the state at this time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// A page of claims, newest first unless a search orders them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClaimsPage {
    /// The claims.
    pub items: Vec<ClaimView>,
    /// The number of items in all pages.
    pub total: usize,
    /// Whether there may be more than `total`, because a search reads at most 1,000 matches. Omitted when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One step of a claim's history: a claim and the change that replaced it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChainLink {
    /// The claim.
    pub claim: ClaimView,
    /// The number of steps back: 0 for the requested claim, 1 for the claim that it replaced, and so on.
    pub depth: usize,
    /// The claim that replaced this one, absent at depth 0.
    pub replaced_by: Option<ClaimId>,
    /// Why it was replaced.
    pub change_reason: Option<String>,
    /// Who replaced it: “ada”, “ada through claude-code”.
    pub changed_by: Option<String>,
    /// The name in the team of the device on which it was replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_on: Option<String>,
    /// When it was replaced, in milliseconds since the Unix epoch.
    pub changed_at: Option<u64>,
}

/// `POST /why`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WhyRequest {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// A question in words, or the id or prefix of a claim.
    pub question: String,
    /// The maximum number of further claims, up to 50; default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Return the state at this time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// The answer to `why`: the best claim with a reason and its history, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhyAnswer {
    /// The best active claim that has a reason.
    pub answer: Option<ClaimView>,
    /// The answer and the claims that it replaced, newest first.
    pub chain: Vec<ChainLink>,
    /// The claims that the answer depends on.
    pub premises: Vec<ClaimView>,
    /// The claims that depend on the answer.
    pub dependents: Vec<ClaimView>,
    /// Open cards that contain the answer.
    pub cards: Vec<CardSummary>,
    /// Active claims that may be about the same thing as the answer. Whether they agree with it was not checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_disagree: Vec<ClaimView>,
    /// Further claims with a reason that match the question, best first.
    pub others: Vec<ClaimView>,
    /// A note if there is no answer: what was searched for, and what to do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// One event in the history of a claim or the log of changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// The event's id.
    pub id: ClaimId,
    /// The kind of event: `assert`, `supersede`, `retract`, …
    pub kind: String,
    /// The id of the change that it belongs to.
    pub op_id: OpId,
    /// The scope.
    pub scope: Scope,
    /// The person who did it.
    pub who: String,
    /// The agent through which they acted.
    pub agent: Option<String>,
    /// The device that signed it.
    pub device: DeviceId,
    /// The name of that device in the team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The time, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The claims or cards that it changed.
    pub targets: Vec<ClaimId>,
    /// The reason given.
    pub reason: Option<String>,
    /// The statement, shortened, for events that create a claim.
    pub statement: Option<String>,
    /// The statement of the first target, shortened, or a description of the change that an undo reversed; only in lists of changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What the change did to the claims of the card that it settled; only in lists of changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// The act that accepts the proposal, if it is a refused write that an agent proposed; only in lists of changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accept: Option<CardAct>,
    /// Whether its effect was undone.
    pub undone: bool,
    /// Whether it undid an undo, so that the original change has effect again; only in lists of changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redo: bool,
}

impl EventView {
    /// Returns a verb in the past tense for what it did: “redid” for the undo of an undo, “settled” for a change that
    /// settled a card, “proposed” for an agent's proposal.
    pub fn verb(&self) -> &'static str {
        match (self.redo, &self.outcome) {
            (true, _) => "redid",
            (false, Some(_)) => "settled",
            (false, None) if self.accept.is_some() => "proposed",
            (false, None) => super::event_verb(&self.kind),
        }
    }

    /// Checks whether this change can be undone.
    ///
    /// # Errors
    /// The reason why not, in a few words.
    pub fn can_undo(&self) -> Result<(), &'static str> {
        if self.undone {
            return Err("it is already undone");
        }
        match self.kind.as_str() {
            "redact" | "local.redact" => Err("a redaction cannot be undone: the text is deleted"),
            "local.refused" => Err("nothing was stored; discard the new claim on its card instead"),
            kind if kind.starts_with("roster.") => {
                Err("a change of a team cannot be undone: admit a revoked device again, or revoke an admitted one")
            }
            _ => Ok(()),
        }
    }
}

/// `GET /claims/{id}/history`: every change of the claim, oldest first, the claims that it replaced and those that replaced it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The claim.
    pub claim: ClaimView,
    /// The changes.
    pub events: Vec<EventView>,
    /// The claim itself and the claims that it replaced, newest first.
    pub chain: Vec<ChainLink>,
    /// The claims that replaced it, up to those that are active now, oldest first.
    pub successors: Vec<ClaimView>,
    /// The claims that it depends on.
    pub premises: Vec<ClaimView>,
    /// The claims that depend on it.
    pub dependents: Vec<ClaimView>,
    /// Cards that contain it.
    pub cards: Vec<CardSummary>,
}

/// `GET /log`: changes, newest first, including those that can be undone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// The organisation; without it, all scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only changes made at this time or later, in milliseconds since the Unix epoch, by event clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Return one event per change instead of all its events.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acts: bool,
    /// Only changes made by this person or agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// Only writes that the guard refused.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// Only events whose id, or whose change's id, begins with these hexadecimal digits, at least 4.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Page size, at most 200; default 50.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// `next` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A page of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogPage {
    /// The events.
    pub items: Vec<EventView>,
    /// The total number in all pages; only counted with `since`, otherwise 0.
    #[serde(default)]
    pub total: usize,
    /// The cursor of the next page; absent on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
