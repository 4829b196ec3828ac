//! The story of a scope: its claims in the order in which they were written, with marks where it is unclear which claim holds.
//!
//! Comparing pairs misses what a history shows: "we use X", "we switched to Y", "we use X". Three things are marked: a *reversal* (a choice
//! that is repeated after it was abandoned, without mentioning that), an *ambiguity* (two claims in force that exclude each other, whose order
//! does not settle it) and a *stale* claim (newer claims changed its subject, but it is still active). Nothing is marked that the latest claim
//! settles: progress, corrections, a change of mind that names the replacement, or the steps of one working session.
//!
//! Each claim is compared with the few earlier claims that have most in common with it, among the last [`STORY_WINDOW`] claims of each of its
//! words. Its marks depend on these alone, so that the store can read a story piece by piece, whatever the order in which its claims arrive.
//!
//! Pure: no I/O, no clock, no model. The same claims give the same marks on every device.

mod change_words;
mod claim_marks;
mod claim_reading;
mod forgetting;
mod mark_question;
mod model_prompt;
mod story_proposal;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, OnceLock},
};

pub use claim_marks::{ClaimMarks, read_claim};
use claim_reading::ClaimReading;
pub use forgetting::ForgettableClaim;
pub use mark_question::question;
pub use model_prompt::{
    BATCH_TOKENS, ModelFinding, ModelReading, PromptedClaim, STORY_ANSWER_TOKENS, STORY_SYSTEM, batches, read_answer,
    story_grammar, story_message,
};
pub use story_proposal::{StoryProposal, propose};

use crate::{
    domain::{ClaimId, Confusion, Hlc, STORY_WINDOW, StoryRule, claim::ClaimKind},
    guard::{Guard, NormedClaim, ParsedClaim},
};

/// The version of the rules that read stories. If it changes, every store reads its claims again.
pub const VERSION: u32 = 6;

/// The maximum number of earlier claims with which a claim is compared: those with most words in common.
pub const COMPARED: usize = 24;

/// The maximum time between consecutive claims by one writer in one working session, in milliseconds.
pub const SESSION: u64 = 20 * 60 * 1000;

/// The parsed text of a claim. It is parsed once, because it does not change.
#[derive(Clone, Debug)]
pub struct StoryText {
    claim: Arc<ParsedClaim>,
    reading: Arc<ClaimReading>,
    reason: Option<Arc<Reason>>,
}

/// The reason of a claim.
#[derive(Debug)]
struct Reason {
    text: String,
    /// The parsed reason, computed when it is first needed, because few comparisons need it.
    reading: OnceLock<ClaimReading>,
}

impl Reason {
    fn reading(&self) -> &ClaimReading {
        self.reading.get_or_init(|| {
            let statement = self.text.clone();
            ClaimReading::of(&ParsedClaim::new(NormedClaim { statement, ..NormedClaim::default() }))
        })
    }
}

impl StoryText {
    /// Parses a claim. Its reason is parsed when it is first needed.
    pub fn new(mut claim: NormedClaim, reason: Option<&str>) -> Self {
        // The guard does not compare two facts; the story does, so it treats them like decisions.
        if !claim.kind.is_guarded() {
            claim.kind = ClaimKind::Decision;
        }
        let claim = Arc::new(ParsedClaim::new(claim));
        let reading = Arc::new(ClaimReading::of(&claim));
        let reason = reason.map(|text| Arc::new(Reason { text: text.to_owned(), reading: OnceLock::new() }));
        Self { claim, reading, reason }
    }

    /// Returns the parsed reason.
    fn reason(&self) -> Option<&ClaimReading> {
        self.reason.as_deref().map(Reason::reading)
    }

    /// Returns the words by which the claim is found, as numbers that are the same in every process.
    pub fn words(&self) -> Vec<u64> {
        self.reading.words.iter().copied().collect()
    }
}

/// Whether a claim is in force, and if not, why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimStanding {
    /// Whether it was neither superseded nor retracted, and its first day has come.
    pub in_force: bool,
    /// Whether its last day has passed.
    pub expired: bool,
    /// Whether its last day had already passed when it was recorded, so that it is about the past and needs no retraction.
    pub history: bool,
    /// When it was retracted, in milliseconds since the Unix epoch.
    pub retracted: Option<u64>,
    /// The claims that superseded it.
    pub replaced_by: Vec<ClaimId>,
}

impl ClaimStanding {
    /// Returns the standing of a claim in force.
    pub fn active() -> Self {
        Self { in_force: true, ..Self::default() }
    }

    /// Returns whether it holds today: it is in force and not expired.
    pub fn holds(&self) -> bool {
        self.in_force && !self.expired
    }
}

/// A claim of the story.
#[derive(Clone, Debug)]
pub struct StoryClaim {
    /// When it was decided, in milliseconds since the Unix epoch: when it was recorded, or its first day if that is earlier.
    pub written: u64,
    /// When it was recorded, in milliseconds since the Unix epoch.
    pub recorded: u64,
    /// The person who wrote it.
    pub who: String,
    /// Whether it is in force.
    pub standing: ClaimStanding,
    /// Its parsed text.
    pub text: StoryText,
}

impl StoryClaim {
    /// Returns the statement as written.
    pub fn statement(&self) -> &str {
        &self.text.claim.claim().statement
    }

    fn id(&self) -> Option<ClaimId> {
        self.text.claim.claim().id
    }

    fn reading(&self) -> &ClaimReading {
        &self.text.reading
    }

    /// Returns whether it and a later claim by the same writer are steps of one session, given the claims `between` them. False if the later one
    /// superseded it, because that was a decision.
    fn is_session_with(&self, later: &Self, between: &[&Self]) -> bool {
        if self.who != later.who || later.id().is_some_and(|id| self.standing.replaced_by.contains(&id)) {
            return false;
        }
        let mut at = self.written;
        between.iter().filter(|claim| claim.who == self.who).copied().chain([later]).all(|next| {
            let pause = next.written.abs_diff(at);
            at = next.written;
            pause <= SESSION
        })
    }

    /// Returns whether its reason mentions something that only the other claim names, or says that something came back.
    fn explains(&self, other: &Self) -> bool {
        self.text
            .reason()
            .is_some_and(|reason| reason.returns || reason.shares_name_missing_in(other.reading(), self.reading()))
    }
}

/// A mark: claims of the story that a person should settle.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The kind of confusion.
    pub confusion: Confusion,
    /// The rule that found it.
    pub rule: StoryRule,
    /// How much the opposing claims have in common, 0 to 1. Dismissals raise the strength that a mark needs.
    pub strength: f32,
    /// The indexes of the claims concerned, in order.
    pub claims: Vec<usize>,
}

/// Encodes the position of a claim in its story as bytes that sort in story order: when it was decided, when it was recorded, its id.
pub fn place(happened: u64, clock: Hlc, id: &ClaimId) -> [u8; 24] {
    let mut place = [0; 24];
    place[..8].copy_from_slice(&happened.to_be_bytes());
    place[8..16].copy_from_slice(&clock.wall.to_be_bytes());
    place[16..20].copy_from_slice(&clock.count.to_be_bytes());
    place[20..].copy_from_slice(&id.0[..4]);
    place
}

/// Selects the claims with which a claim is compared, in story order. `by_word` has, for each of its words, the claims that contain it. Those
/// with most words in common are selected, and among equals the latest.
pub fn select<T: Ord + Copy>(by_word: &[Vec<T>]) -> Vec<T> {
    let mut shared: BTreeMap<T, usize> = BTreeMap::new();
    for claim in by_word.iter().flatten() {
        *shared.entry(*claim).or_default() += 1;
    }
    let mut best: Vec<(usize, T)> = shared.into_iter().map(|(claim, count)| (count, claim)).collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let mut claims: Vec<T> = best.into_iter().take(COMPARED).map(|(_, claim)| claim).collect();
    claims.sort_unstable();
    claims
}

/// Reads a whole story, given the oldest claim first, and returns its marks.
///
/// Measurements and tests use it, because it needs no store. The engine reads the same story claim by claim, with the
/// index of words and the marks in the store; `tests/it/engine/stories.rs` checks that both give the same marks.
pub fn read(guard: &Guard, lines: &[StoryClaim]) -> Vec<Mark> {
    let mut index: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut marks = Vec::new();
    let mut settled: Vec<(usize, BTreeSet<usize>)> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let words = line.text.words();
        let last = |word: &u64| {
            let list = index.get(word).map_or(&[][..], Vec::as_slice);
            list[list.len().saturating_sub(STORY_WINDOW)..].to_vec()
        };
        let by_word: Vec<Vec<usize>> = words.iter().map(last).collect();
        let counts = words.iter().copied().zip(by_word.iter().map(Vec::len)).collect();
        let mut related = select(&by_word);
        let earlier: Vec<&StoryClaim> = related.iter().map(|at| &lines[*at]).collect();
        let found = read_claim(guard, &earlier, line, &counts);
        related.push(at);
        let moved = |claims: Vec<usize>| claims.into_iter().map(|at| related[at]).collect::<Vec<_>>();
        marks.extend(found.marks.into_iter().map(|mark| Mark { claims: moved(mark.claims), ..mark }));
        if !found.settles.is_empty() {
            settled.push((at, moved(found.settles).into_iter().collect()));
        }
        for word in words {
            index.entry(word).or_default().push(at);
        }
    }
    unsettled(marks, &settled)
}

/// Drops the marks that a later claim settles, and those that a reversal includes.
fn unsettled(marks: Vec<Mark>, settled: &[(usize, BTreeSet<usize>)]) -> Vec<Mark> {
    let turns: Vec<Vec<usize>> = marks.iter().filter(|mark| mark.claims.len() > 2).map(|m| m.claims.clone()).collect();
    let is_open = |mark: &Mark| {
        let last = mark.claims.last().copied().unwrap_or_default();
        let in_turn =
            mark.claims.len() < 3 && turns.iter().any(|turn| mark.claims.iter().all(|claim| turn.contains(claim)));
        let is_settled =
            settled.iter().any(|(by, claims)| *by > last && mark.claims.iter().all(|claim| claims.contains(claim)));
        !in_turn && !is_settled
    };
    marks.into_iter().filter(is_open).collect()
}
