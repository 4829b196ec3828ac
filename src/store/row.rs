//! The types that the store returns, and the filters that it accepts.

use crate::domain::{
    CardId, ClaimId, ClaimKind, Confusion, DeviceId, EventId, EventKind, Flags, GuardReport, Hlc, Norm, OpId,
    Qualifiers, Scope, Status, StoryRule, TextWriter,
    derive::{CardKind, SettledBy},
    norm::IndexTerms,
};

/// A claim with its derived state, except `flags.expired`, which depends on the day: see [`ClaimRow::expired_on`].
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRow {
    pub id: ClaimId,
    pub scope: Scope,
    pub kind: ClaimKind,
    pub status: Status,
    pub flags: Flags,
    /// Empty if the claim was redacted.
    pub statement: String,
    pub reason: Option<String>,
    pub source: Option<String>,
    /// The person who wrote the claim.
    pub who: String,
    /// The agent through which the person wrote it.
    pub agent: Option<String>,
    /// Who wrote the text, if `who` accepted it on the card of a refused or proposed write.
    pub text_writer: Option<TextWriter>,
    /// The device that signed it.
    pub device: DeviceId,
    /// The device's name in a team.
    pub device_name: Option<String>,
    /// The person who owns the device, according to a team's roster.
    pub device_person: Option<String>,
    /// The peer that delivered the claim; `None` if it was written on this device or came in a file.
    pub received_from: Option<DeviceId>,
    /// The peer's name in a team.
    pub received_from_name: Option<String>,
    /// The team that the claim was written for.
    pub team: Option<EventId>,
    /// The writer's event clock.
    pub clock: Hlc,
    /// The act that created the claim.
    pub op: OpId,
    /// The readable key of a fact.
    pub key: Option<String>,
    /// The hash of `key`.
    pub key_hash: Option<EventId>,
    /// Where and when the claim holds, as its writer declared.
    pub qualifiers: Qualifiers,
    /// The norms that the normaliser read in the statement.
    pub norms: Vec<Norm>,
    /// The normaliser's name and version.
    pub normaliser: Option<String>,
    /// The claims that replaced this one, by acts that are in force.
    pub replaced_by: Vec<ClaimId>,
    /// The claims that this one replaced, by acts that are in force.
    pub replaces: Vec<ClaimId>,
    /// The acts that put this claim in place of others after it was created; a `retract` names them in `seen`.
    pub replacing_acts: Vec<EventId>,
    pub premises: Vec<ClaimId>,
    /// The number of active claims that depend on this one.
    pub dependents: usize,
    /// The acts that keep the claim out of the active set, latest last; a `reinstate` names them in `seen`.
    pub live_acts: Vec<EventId>,
    /// The acts on its premises because of which the claim needs review; a `resolve.reviewed` names them in `seen`.
    /// Empty unless `flags.needs_review`.
    pub causes: Vec<EventId>,
    /// Why the claim left the active set: the reason of the last of `live_acts`.
    pub closing_reason: Option<String>,
    /// Increases whenever anything about the claim changes in this file.
    pub rev: u64,
}

impl ClaimRow {
    /// Returns whether `valid_until` is before `day` (`YYYY-MM-DD`).
    pub fn expired_on(&self, day: &str) -> bool {
        self.qualifiers.valid_until.as_deref().is_some_and(|until| until < day)
    }
}

/// An event as it is read from a log.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    pub id: EventId,
    pub kind: EventKind,
    /// The act that the event belongs to.
    pub op: OpId,
    pub scope: Scope,
    pub who: String,
    /// The agent through which the person acted.
    pub agent: Option<String>,
    /// The device that signed it.
    pub device: DeviceId,
    /// The device's name in a team.
    pub device_name: Option<String>,
    /// The writer's event clock.
    pub clock: Hlc,
    pub targets: Vec<EventId>,
    /// The existing claim that replaced the targets.
    pub successor: Option<EventId>,
    /// The acts and heads on the targets that the writer had seen.
    pub seen: Vec<EventId>,
    /// The kind of the claim in the body, if there is one.
    pub claim_kind: Option<ClaimKind>,
    /// `None` if the body was redacted or has not arrived.
    pub body: Option<crate::domain::Body>,
    /// The event was not undone.
    pub effective: bool,
}

impl EventRow {
    /// Returns whether the event creates a claim.
    pub fn creates_claim(&self) -> bool {
        self.kind.creates_claim(self.successor.is_some())
    }
}

/// A conflict card.
#[derive(Clone, Debug, PartialEq)]
pub struct CardRow {
    pub id: CardId,
    /// What opened the card.
    pub kind: CardKind,
    pub scope: Scope,
    /// The claims on the card: the refused new claim first, else the newest first.
    pub members: Vec<EventId>,
    /// The refused new claim, which is not stored as a claim: read it with [`super::Reader::new_claim`].
    pub new_claim: Option<EventId>,
    /// The card waits for a person: it is not settled, and its contradiction still exists.
    pub open: bool,
    /// Too few of the claims on the card are active for a contradiction. A refused card stays open then, and its new
    /// claim can be stored.
    pub moot: bool,
    /// The event clock when the card was opened.
    pub clock: Hlc,
    /// The person whose act opened the card.
    pub who: String,
    /// The agent through which the person acted.
    pub agent: Option<String>,
    /// The act that opened the card.
    pub op: OpId,
    /// How the card was settled, if an act did so.
    pub settled: Option<SettledBy>,
    /// The end of the snooze, in milliseconds since the Unix epoch; may lie in the past.
    pub snoozed_until: Option<u64>,
    /// The category of a story card, and the rule that found it.
    pub story: Option<(Confusion, StoryRule)>,
    /// The guard's report: on a refused new claim against the others, else on the first member against the others.
    pub report: GuardReport,
    /// Increases whenever anything about the card changes in this file.
    pub rev: u64,
}

/// A scope with counts of its claims and cards.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeRow {
    pub scope: Scope,
    /// The remote URL or git common directory that the scope is bound to.
    pub identity: Option<String>,
    /// Active claims.
    pub active: usize,
    /// Claims of any status.
    pub total: usize,
    /// Open cards that are not snoozed.
    pub open_cards: usize,
    /// Active claims that need review.
    pub needs_review: usize,
    /// The wall time of its latest event, in milliseconds since the Unix epoch.
    pub latest: u64,
}

/// Counts over the whole store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreCounts {
    /// Events in both logs.
    pub events: usize,
    pub claims: usize,
    /// Active claims.
    pub active: usize,
    /// Open cards that are not snoozed.
    pub open_cards: usize,
    /// Active claims that need review.
    pub needs_review: usize,
}

/// The result of looking up a shortened id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<T> {
    /// Nothing matches, or the text cannot be an id.
    None,
    /// Exactly one match.
    One(T),
    /// Several matches: the first ten of them.
    Many(Vec<T>),
}

impl<T> Lookup<T> {
    pub(super) fn of(mut found: Vec<T>) -> Self {
        match found.len() {
            0 | 1 => found.pop().map_or(Self::None, Self::One),
            _ => Self::Many(found),
        }
    }
}

/// Selects the claims that match every field that is set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimFilter {
    /// Only of this scope; `None` for all.
    pub scope: Option<Scope>,
    /// Only with this status; `None` for all.
    pub status: Option<Status>,
    /// Only of these kinds; empty for all.
    pub kinds: Vec<ClaimKind>,
    /// Only written by this person or agent.
    pub who: Option<String>,
    /// Not written by this person or agent.
    pub not_who: Option<String>,
    /// Without any of these words in statement, reason and source.
    pub without: Option<String>,
    /// Without these words, in this order, in the source.
    pub not_source: Option<String>,
    /// Only claims that need review, or only those that do not; `None` for all.
    pub needs_review: Option<bool>,
    /// Only claims that have expired on this day (`YYYY-MM-DD`; `true`), or only those that have not; `None` for all.
    pub expired: Option<(bool, String)>,
    /// Only written at this time or later, in milliseconds since the Unix epoch, by event clock.
    pub since: Option<u64>,
    /// Only written at this time or earlier, in the unit of `since`.
    pub until: Option<u64>,
    /// Only with these words, in this order, in the source.
    pub source: Option<String>,
    /// Only claims that this project has not narrowed for itself; `None` for all.
    pub not_narrowed_in: Option<Scope>,
    /// Only with this outcome of the guard; `None` for all.
    pub verdict: Option<GuardOutcome>,
}

/// The outcome for a claim of the guard's checks and of later checks by models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardOutcome {
    /// The claim is on an open card.
    Disputed,
    /// The claim was stored with a warning.
    Warned,
    /// Neither of the others.
    Clean,
}

/// Counts of what an agent wrote for one person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    pub agent: String,
    pub who: String,
    /// Acts that changed the shared log.
    pub wrote: usize,
    /// Refused writes.
    pub refused: usize,
    /// The wall time of the agent's first event, in milliseconds since the Unix epoch.
    pub first: u64,
    /// The wall time of the agent's last event.
    pub last: u64,
}

/// An event that a person should look at.
#[derive(Clone, Debug, PartialEq)]
pub struct NoticeRow {
    pub event: EventRow,
    /// The claim that the event is about.
    pub claim: ClaimRow,
    /// The claims that `claim` may contradict, or in spite of which it was stored.
    pub against: Vec<ClaimRow>,
}

/// Selects cards by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CardState {
    /// Open and not snoozed.
    #[default]
    Open,
    /// Open and snoozed.
    Snoozed,
    /// Settled, or the contradiction no longer exists.
    Settled,
    /// Cards in any state.
    All,
}

/// Selects the cards that match every field that is set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CardFilter {
    /// Only of this scope; `None` for all.
    pub scope: Option<Scope>,
    pub status: CardState,
    /// The wall clock, in milliseconds since the Unix epoch: decides which cards are still snoozed.
    pub now: u64,
    /// Only of these kinds; empty for all.
    pub kinds: Vec<CardKind>,
}

/// Selects the events of the log that match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// Only of this scope; `None` for all.
    pub scope: Option<Scope>,
    /// Only at this time or later, in milliseconds since the Unix epoch, by event clock.
    pub since: Option<u64>,
    /// Only one event of each act: the first that was stored.
    pub acts: bool,
    /// Only by this person or agent.
    pub who: Option<String>,
    /// Only refused writes.
    pub refused: bool,
    /// Only events whose id, or whose act's id, begins with these hexadecimal digits.
    pub id: Option<String>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// The number of rows on all pages together.
    pub total: usize,
    /// There may be more rows than `total`, because a search stops after a limit.
    pub at_least: bool,
    /// The cursor of the next page; `None` on the last one.
    pub next: Option<String>,
}

/// A look-up in the candidate index for the claims nearby a new claim.
#[derive(Clone, Debug, PartialEq)]
pub struct NearbyQuery {
    /// A scope, and the levels above it whose claims hold there.
    pub scopes: Vec<Scope>,
    /// The subjects and content terms of the new claim.
    pub terms: IndexTerms,
    /// Claims to leave out, such as the targets of a supersede.
    pub exclude: Vec<ClaimId>,
    /// Look up facts instead of guarded claims.
    pub facts: bool,
    /// The maximal number of results.
    pub limit: usize,
}

/// The claims and projects that a claim of the organisation's level was promoted from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromotedFrom {
    /// The claims of projects that it was made from or found in, including those that this device does not have.
    pub claims: std::collections::BTreeSet<ClaimId>,
    /// The number of projects of these claims, as far as this device or a promotion's writer knows them.
    pub projects: usize,
    /// The number of promotions in force that name the claim.
    pub promotions: usize,
}

/// A search for the claims nearest to a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourQuery {
    /// A scope, and the levels above it whose claims hold there.
    pub scopes: Vec<Scope>,
    /// The model that computed the vector.
    pub model: super::VectorModel,
    /// The vector; its Euclidean length need not be 1, but must not be 0.
    pub vector: Vec<f32>,
    /// Whether to include facts besides guarded claims.
    pub facts: bool,
    /// Claims to leave out, such as the targets of a supersede.
    pub exclude: Vec<ClaimId>,
    /// The maximal number of results.
    pub limit: usize,
}

/// A claim near a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The claim without its relations (premises, acts, replaced claims).
    pub claim: ClaimRow,
    /// The cosine of the angle between the two vectors, from -1 to 1.
    pub cosine: f32,
}

/// The number of a claim's row, which never changes in this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowNumber(pub(super) i64);

/// A search for the claims that contain all of some words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordQuery {
    /// The stems of the words.
    pub stems: Vec<String>,
    /// The maximal number of claims to read, newest first.
    pub limit: usize,
}

/// The claims that contain the words of a [`WordQuery`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordList {
    /// The claims that were read, newest first.
    pub spots: Vec<RowNumber>,
    /// The number of matching claims; an estimate unless `complete`.
    pub claims: usize,
    /// All matching claims were read.
    pub complete: bool,
}

/// The result of [`super::Reader::word_lists`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordLists {
    /// The number of claims of any status in the scopes.
    pub claims: usize,
    /// One list for each query, in their order.
    pub lists: Vec<WordList>,
}

/// The kind and status of a claim, which decide whether recall returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindAndStatus {
    pub kind: ClaimKind,
    pub status: Status,
}

/// The result of [`super::Store::check`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckReport {
    /// The number of events that were read.
    pub events: usize,
    /// The number of devices that wrote them.
    pub devices: usize,
    /// The number of redacted bodies.
    pub redacted: usize,
    /// What is wrong, one sentence for each problem.
    pub problems: Vec<String>,
    /// How many of the problems are of events, which no rebuild mends.
    pub bad_events: usize,
    /// What is unusual but no damage: a gap or a fork in another device's chain, an event that a team does not accept.
    pub notes: Vec<String>,
}
