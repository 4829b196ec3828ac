//! Reading claims: views, lists, history, why.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    beside::{Beside, BesideRelation},
    conflicts::CardSummary,
};
use crate::domain::{
    ClaimId, ClaimKind, DeviceId, EventId, Flags, Level, Norm, OpId, Qualifiers, Scope, Status, derive::may_be_last_act,
};

/// A claim as clients see it. Texts are as they were written: sanitise before showing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClaimView {
    /// Its id.
    pub id: ClaimId,
    /// Where it belongs.
    pub scope: Scope,
    /// Whether it holds in its project alone, which is the default, or in each project of its organisation.
    #[serde(default, skip_serializing_if = "Level::is_project")]
    pub level: Level,
    /// Of a claim that was promoted to the organisation's level: in how many projects it was seen. Lists of claims leave it out.
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
    /// Why.
    pub reason: Option<String>,
    /// Where it comes from.
    pub source: Option<String>,
    /// The person who wrote it.
    pub who: String,
    /// The agent through which they wrote it.
    pub agent: Option<String>,
    /// The device that signed it.
    pub device: DeviceId,
    /// The owner of that device, and the way by which the claim reached this device.
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
    /// How many active claims depend on it.
    #[serde(default)]
    pub dependents: usize,
    /// Why it is no longer active; absent while it is active.
    #[serde(default)]
    pub closing_reason: Option<String>,
    /// The active claims that it seems to contradict and stands beside, by an exception or a dismissal, and why. In lists
    /// of claims only if an exception is among them, or for `not_narrowed_in`.
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
    /// What the team calls the device that signed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// Whose device it is, as the team's roster says; the writer's own name is in the claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_person: Option<String>,
    /// The team that it was written for; absent if it is older than the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub team: Option<EventId>,
    /// The peer from which it was received; absent if it was written here or imported from a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived_from: Option<DeviceId>,
    /// The name of that peer in the team.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived_from_name: Option<String>,
    /// The signature of the device over exactly this text is valid; other events are rejected before they are stored.
    pub verified: bool,
}

impl ClaimView {
    /// Returns what limits it: its conditions, and the claims to which it is an exception or that are exceptions to it. See [`super::limits`].
    pub fn limits(&self) -> Option<String> {
        super::limits(&self.qualifiers, &self.beside)
    }

    /// The level if it is the organisation's, and the flags that are set, in words: of two claims that stand beside each other by an exception, one is it and the other has it.
    pub fn flag_words(&self) -> impl Iterator<Item = &'static str> {
        let is_rule = self.beside.iter().any(|other| other.relation == BesideRelation::Exception)
            && !self.beside.iter().any(|other| other.relation == BesideRelation::Rule);
        let rule = (self.flags.excepted && is_rule).then_some("rule with an exception");
        let level = (self.level == Level::Organisation).then_some("organisation");
        level.into_iter().chain(Flags { excepted: self.flags.excepted && !is_rule, ..self.flags }.words()).chain(rule)
    }

    /// The device that signed it by its name, and whose it is if the writer is called otherwise: “bob-laptop”, “bob-laptop, which is
    /// bob's”. `None` if no team names the device.
    pub fn device_words(&self) -> Option<String> {
        let Provenance { device_name, device_person, .. } = &self.provenance;
        let name = device_name.as_deref()?;
        Some(match device_person.as_deref().filter(|person| !person.is_empty() && *person != self.who) {
            Some(person) => format!("{name}, which is {person}'s"),
            None => name.to_owned(),
        })
    }

    /// Why, in the words of whoever decided it; `None` if the reason only tells from which file the claim was taken over. That says
    /// where it was stated, and is no reason to change it.
    pub fn own_reason(&self) -> Option<&str> {
        let reason = self.reason.as_deref()?;
        let source = self.source.as_deref().unwrap_or_default();
        let numbered = |line: &str| !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit() || b == b'-');
        let path = source.rsplit_once(':').filter(|(_, line)| numbered(line)).map_or(source, |(path, _)| path);
        let name = path.rsplit('/').next().unwrap_or(path).trim();
        (name.is_empty() || !reason.contains(name)).then_some(reason)
    }

    /// Which device signed it, that its signature is right, and who brought it here; `None` if it was written here and no team
    /// knows of it.
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
    /// Only claims written at this time or later, in milliseconds since the Unix epoch, by event clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Only claims written at this time or earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// Only claims with these words, in this order, in their source: `docs/adr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Only claims without any of these words in statement, reason and source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub without: Option<String>,
    /// Only claims by anybody but this person or agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_who: Option<String>,
    /// Only claims without these words, in this order, in their source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_source: Option<String>,
    /// Only claims that this project of the organisation has not narrowed for itself; with `project=*`, whose claims then name
    /// the exceptions that the project made.
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
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The time at which one claim is read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
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
    /// How many there are in all pages together.
    pub total: usize,
    /// Whether there may be more than `total`: a search reads at most 1,000 matches. Omitted when false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// One step of a claim's history: a claim and the change that replaced it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChainLink {
    /// The claim.
    pub claim: ClaimView,
    /// How far back: 0 is the claim that was asked for, 1 what it replaced, and so on.
    pub depth: usize,
    /// The claim that replaced this one, absent at depth 0.
    pub replaced_by: Option<ClaimId>,
    /// Why it was replaced.
    pub change_reason: Option<String>,
    /// Who replaced it, and when in milliseconds since the Unix epoch.
    pub changed_by: Option<String>,
    /// What the team calls the device that did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_on: Option<String>,
    /// When it was replaced.
    pub changed_at: Option<u64>,
}

/// `POST /why`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WhyRequest {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// The question, in words; or a claim's id or prefix.
    pub question: String,
    /// How many further claims at most, up to 50; default 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The state at this time, in milliseconds since the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<u64>,
}

/// The answer to `why`: the best claim with a reason and its history, or nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WhyAnswer {
    /// The best active claim that has a reason.
    pub answer: Option<ClaimView>,
    /// The answering claim and the claims that it replaced, newest first.
    pub chain: Vec<ChainLink>,
    /// The claims that the answer depends on.
    pub premises: Vec<ClaimView>,
    /// The claims that depend on the answer.
    pub dependents: Vec<ClaimView>,
    /// Open cards in which the answer takes part.
    pub cards: Vec<CardSummary>,
    /// Active claims that may be about the same thing as the answer and may agree or disagree with it; nobody has checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_disagree: Vec<ClaimView>,
    /// Further reasoned claims that fit the question, best first.
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
    /// What it did: `assert`, `supersede`, `retract`, …
    pub kind: String,
    /// The id of the change that it belongs to.
    pub op_id: OpId,
    /// The scope.
    pub scope: Scope,
    /// The person who did it.
    pub who: String,
    /// Through which agent.
    pub agent: Option<String>,
    /// The device that signed it.
    pub device: DeviceId,
    /// What the team calls that device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The claims or cards that it changed.
    pub targets: Vec<ClaimId>,
    /// The reason given.
    pub reason: Option<String>,
    /// The statement, shortened, for events that create a claim.
    pub statement: Option<String>,
    /// The statement of the first target, shortened, or a description of the change that an undo took back; only in lists of changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// Whether its effect was undone.
    pub undone: bool,
    /// Whether it undid an undo, so that the original change has effect again; only in lists of changes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redo: bool,
}

impl EventView {
    /// Describes what it did, as a verb in the past. To undo an undo is to redo.
    pub fn verb(&self) -> &'static str {
        if self.redo { "redid" } else { super::event_verb(&self.kind) }
    }

    /// Whether undo can take this change back.
    ///
    /// # Errors
    /// Why it cannot, in a few words.
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

    /// Whether it is what a person means by their last act: their own, in force, and no undo.
    pub fn is_last_act(&self) -> bool {
        self.agent.is_none() && self.can_undo().is_ok() && may_be_last_act(&self.kind)
    }
}

/// `GET /claims/{id}/history`: every change that touched the claim, oldest first, and its chain both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The claim.
    pub claim: ClaimView,
    /// The changes.
    pub events: Vec<EventView>,
    /// What it replaced, newest first; begins with the claim itself.
    pub chain: Vec<ChainLink>,
    /// What replaced it, up to the claims now active, oldest first.
    pub successors: Vec<ClaimView>,
    /// The claims that it depends on.
    pub premises: Vec<ClaimView>,
    /// The claims that depend on it.
    pub dependents: Vec<ClaimView>,
    /// Cards in which it takes part.
    pub cards: Vec<CardSummary>,
}

/// `GET /log`: changes, newest first, including those that can be undone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct LogQuery {
    /// The organisation; without it, all scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// Only what was done at this time or later, in milliseconds since the Unix epoch, by event clock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// Return one event per change instead of all its events.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acts: bool,
    /// Only by this person or agent.
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
    /// `next` of the page before.
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
    /// Where the next page begins; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
