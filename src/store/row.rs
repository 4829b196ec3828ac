//! The types that the store returns, and the filters that it takes.

use crate::domain::{
    CardId, ClaimId, ClaimKind, Confusion, DeviceId, EventId, EventKind, Flags, GuardReport, Hlc, Norm, OpId,
    Qualifiers, Scope, Status, StoryRule,
    derive::{CardKind, SettledBy},
    norm::IndexTerms,
};

/// A claim with everything derived about it, except `flags.expired`, which needs the day: see [`ClaimRow::expired_on`].
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimRow {
    /// Its id.
    pub id: ClaimId,
    /// Where it belongs.
    pub scope: Scope,
    /// Its kind.
    pub kind: ClaimKind,
    /// Its status.
    pub status: Status,
    /// What is derived about it.
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
    /// That device's name in a team.
    pub device_name: Option<String>,
    /// Whose device it is, according to a team's roster.
    pub device_person: Option<String>,
    /// The device that brought it here; `None` where it was written here, or came by a file.
    pub received_from: Option<DeviceId>,
    /// That device's name in a team.
    pub received_from_name: Option<String>,
    /// The team that it was written for.
    pub team: Option<EventId>,
    /// When, by the writer's event clock.
    pub clock: Hlc,
    /// The act that created it.
    pub op: OpId,
    /// The readable key of a fact.
    pub key: Option<String>,
    /// The hash of the key of a fact.
    pub key_hash: Option<EventId>,
    /// Where and when it holds, as its writer declared.
    pub qualifiers: Qualifiers,
    /// What the normaliser made of it.
    pub norms: Vec<Norm>,
    /// The normaliser's name and version.
    pub normaliser: Option<String>,
    /// The claims that replaced it, by live acts.
    pub replaced_by: Vec<ClaimId>,
    /// The claims that it replaced, by live acts.
    pub replaces: Vec<ClaimId>,
    /// Its premises.
    pub premises: Vec<ClaimId>,
    /// How many active claims depend on it.
    pub dependents: usize,
    /// The acts that keep it out of the active set, latest last; a `reinstate` names them in `seen`.
    pub live_acts: Vec<EventId>,
    /// The acts on its premises for which it needs review; a `resolve.reviewed` names them in `seen`. Empty
    /// unless `flags.needs_review`.
    pub causes: Vec<EventId>,
    /// Why it left the active set: the reason of the latest live act.
    pub closing_reason: Option<String>,
    /// Grows whenever anything about it changes in this file.
    pub rev: u64,
}

impl ClaimRow {
    /// Whether its `valid_until` lies before `day` (`YYYY-MM-DD`).
    pub fn expired_on(&self, day: &str) -> bool {
        self.qualifiers.valid_until.as_deref().is_some_and(|until| until < day)
    }
}

/// An event as it is read, with as much of its body as is left.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRow {
    /// Its id.
    pub id: EventId,
    /// What it does.
    pub kind: EventKind,
    /// The act that it belongs to.
    pub op: OpId,
    /// Where.
    pub scope: Scope,
    /// Who.
    pub who: String,
    /// Through which agent.
    pub agent: Option<String>,
    /// The device that signed it.
    pub device: DeviceId,
    /// That device's name in a team.
    pub device_name: Option<String>,
    /// When, by the writer's event clock.
    pub clock: Hlc,
    /// On what.
    pub targets: Vec<EventId>,
    /// The existing claim that took the targets' place.
    pub successor: Option<EventId>,
    /// What the writer had seen.
    pub seen: Vec<EventId>,
    /// The kind of the claim that it carries.
    pub claim_kind: Option<ClaimKind>,
    /// The body; `None` once redacted.
    pub body: Option<crate::domain::Body>,
    /// Whether it still has effect: it was not undone.
    pub effective: bool,
}

/// A conflict card.
#[derive(Clone, Debug, PartialEq)]
pub struct CardRow {
    /// Its id.
    pub id: CardId,
    /// What it comes from.
    pub kind: CardKind,
    /// Where.
    pub scope: Scope,
    /// The claims on it: the refused new claim first, else the newest first.
    pub members: Vec<EventId>,
    /// The refused new claim, which is not a claim: read it with [`super::Reader::new_claim`].
    pub new_claim: Option<EventId>,
    /// Whether it waits for a person: not settled, and still true.
    pub open: bool,
    /// What it opposed is no longer active. A refused card stays open then, and its new claim can be stored.
    pub moot: bool,
    /// Since when, by event clock.
    pub clock: Hlc,
    /// Who caused it.
    pub who: String,
    /// Through which agent.
    pub agent: Option<String>,
    /// The act that opened it.
    pub op: OpId,
    /// How it was settled, where an act did so.
    pub settled: Option<SettledBy>,
    /// Until when it is put off, in milliseconds since the Unix epoch; may lie in the past.
    pub snoozed_until: Option<u64>,
    /// Of a story card: its category and the rule that found it.
    pub story: Option<(Confusion, StoryRule)>,
    /// The guard's report: on a refused new claim against the others, else on the first member against the others.
    pub report: GuardReport,
    /// Grows whenever anything on it changes in this file.
    pub rev: u64,
}

/// A scope with its counts.
#[derive(Clone, Debug, PartialEq)]
pub struct ScopeRow {
    /// The scope.
    pub scope: Scope,
    /// The remote URL or common directory that it is bound to.
    pub identity: Option<String>,
    /// Active claims.
    pub active: usize,
    /// All claims.
    pub total: usize,
    /// Open cards, snoozed ones included.
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
    /// Claims.
    pub claims: usize,
    /// Active claims.
    pub active: usize,
    /// Open cards, snoozed ones included.
    pub open_cards: usize,
    /// Active claims that need review.
    pub needs_review: usize,
}

/// The result of looking up a shortened id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lookup<T> {
    /// Nothing, or the text cannot be an id.
    None,
    /// One thing.
    One(T),
    /// Several: the first ten of them.
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

/// Which claims: those that match every field that is set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimFilter {
    /// In this scope; `None` for all.
    pub scope: Option<Scope>,
    /// With this status; `None` for all.
    pub status: Option<Status>,
    /// Of these kinds; empty for all.
    pub kinds: Vec<ClaimKind>,
    /// Written by this person or agent.
    pub who: Option<String>,
    /// Written by anybody but this person or agent.
    pub not_who: Option<String>,
    /// With none of these words in statement, reason and source.
    pub without: Option<String>,
    /// Without these words, in this order, in their source.
    pub not_source: Option<String>,
    /// Whether they need review.
    pub needs_review: Option<bool>,
    /// Written at this wall time or later, in milliseconds since the Unix epoch, by event clock.
    pub since: Option<u64>,
    /// Written at this wall time or earlier.
    pub until: Option<u64>,
    /// With these words, in this order, in their source.
    pub source: Option<String>,
    /// Not narrowed by this project for itself; `None` for all.
    pub not_narrowed_in: Option<Scope>,
    /// With this outcome of the guard; `None` for all.
    pub verdict: Option<GuardOutcome>,
}

/// The outcome of the guard's checks, and of later ones by models, for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardOutcome {
    /// It is on an open card.
    Disputed,
    /// It was stored with a warning.
    Warned,
    /// Neither.
    Clean,
}

/// What an agent wrote for one person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRow {
    /// The agent.
    pub agent: String,
    /// The person.
    pub who: String,
    /// Acts that changed the memory.
    pub wrote: usize,
    /// Writes that were refused.
    pub refused: usize,
    /// The wall time of the first event, in milliseconds since the Unix epoch.
    pub first: u64,
    /// That of the last.
    pub last: u64,
}

/// Something that was done, and that a person should have a look at.
#[derive(Clone, Debug, PartialEq)]
pub struct NoticeRow {
    /// The event.
    pub event: EventRow,
    /// The claim that it is about.
    pub claim: ClaimRow,
    /// The claims that it may not fit with, or that it was stored against.
    pub against: Vec<ClaimRow>,
}

/// Which cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CardState {
    /// Open, and not put off.
    #[default]
    Open,
    /// Open, and put off until later.
    Snoozed,
    /// Settled, or no longer true.
    Settled,
    /// All of them.
    All,
}

/// Which cards: those that match every field that is set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CardFilter {
    /// In this scope; `None` for all.
    pub scope: Option<Scope>,
    /// With this status.
    pub status: CardState,
    /// The wall clock, in milliseconds since the Unix epoch: decides what is still put off.
    pub now: u64,
    /// Of these kinds; empty for all.
    pub kinds: Vec<CardKind>,
}

/// Which events of the log: those that match every field that is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogFilter {
    /// In this scope; `None` for all.
    pub scope: Option<Scope>,
    /// At this wall time or later, in milliseconds since the Unix epoch, by event clock.
    pub since: Option<u64>,
    /// One event of each act: the first that was stored.
    pub acts: bool,
    /// By this person or agent.
    pub who: Option<String>,
    /// Only writes that were refused.
    pub refused: bool,
    /// Whose id, or whose act's id, begins with these hexadecimal digits.
    pub id: Option<String>,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// The rows.
    pub items: Vec<T>,
    /// How many there are in all pages together.
    pub total: usize,
    /// There may be more than `total`: a search stops looking at some point.
    pub at_least: bool,
    /// Where the next page begins; `None` on the last.
    pub next: Option<String>,
}

/// What a new claim is looked up by in the candidate index.
#[derive(Clone, Debug, PartialEq)]
pub struct NearbyQuery {
    /// Where: a scope, and the levels above it whose claims hold there.
    pub scopes: Vec<Scope>,
    /// Subjects and content terms of the new claim.
    pub terms: IndexTerms,
    /// Claims to leave out: the targets of a supersede.
    pub exclude: Vec<ClaimId>,
    /// Facts, and not guarded claims.
    pub facts: bool,
    /// How many at most.
    pub limit: usize,
}

/// Where a claim of the organisation's level was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromotedFrom {
    /// The claims of projects that it was made of or seen in, also those that this device does not know.
    pub claims: std::collections::BTreeSet<ClaimId>,
    /// How many projects there are.
    pub projects: usize,
    /// How many promotions say so.
    pub promotions: usize,
}

/// What neighbours are looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct NeighbourQuery {
    /// Where: a scope, and the levels above it whose claims hold there.
    pub scopes: Vec<Scope>,
    /// The model that the vector was made with.
    pub model: super::VectorModel,
    /// The vector, of any length but zero.
    pub vector: Vec<f32>,
    /// Whether facts are looked at beside the guarded kinds.
    pub facts: bool,
    /// Claims to leave out: the targets of a supersede.
    pub exclude: Vec<ClaimId>,
    /// How many at most.
    pub limit: usize,
}

/// A claim that is near to a vector.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The claim, without its relations.
    pub claim: ClaimRow,
    /// The cosine of the angle between the two, -1 to 1.
    pub cosine: f32,
}

/// The number of a claim's row, which never changes in this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowNumber(pub(super) i64);

/// Words that are looked for together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordQuery {
    /// Their stems; a claim has all of them.
    pub stems: Vec<String>,
    /// How many claims are read at most, the newest.
    pub limit: usize,
}

/// The claims that have some words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordList {
    /// The newest of them first.
    pub spots: Vec<RowNumber>,
    /// How many there are; an estimate where not all were read.
    pub claims: usize,
    /// All were read.
    pub complete: bool,
}

/// What [`super::Reader::word_lists`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordLists {
    /// How many claims the scopes have, of any status.
    pub claims: usize,
    /// In the order of the queries.
    pub lists: Vec<WordList>,
}

/// The kind and status of a claim, which decide whether recall returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KindAndStatus {
    /// Its kind.
    pub kind: ClaimKind,
    /// Its status.
    pub status: Status,
}

/// What [`super::Store::check`] found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckReport {
    /// Events that were read.
    pub events: usize,
    /// Devices that wrote them.
    pub devices: usize,
    /// Bodies that were redacted.
    pub redacted: usize,
    /// What is wrong, one sentence each; empty when all is well.
    pub problems: Vec<String>,
    /// What is unusual but no damage: a gap or a fork in another device's chain, an event that a team does not take.
    pub notes: Vec<String>,
}
