//! The story of a scope: its claims in the order in which they were written, read for what would confuse a newcomer.
//!
//! Pairs miss what a history shows: "we use X", "we switched to Y", "we use X". Three things are marked: a *reversal* (a choice that is
//! repeated after it was abandoned, without mentioning that), an *ambiguity* (two claims in force that exclude each other, and no order that settles
//! it) and a *stale* claim (its subject moved on, and nobody retired it). What the latest claim settles is not marked: progress, corrections, a
//! change of mind that says what comes instead, and what one working session says in steps.
//!
//! Pure: no I/O, no clock, no model; the same claims give the same marks on every device.

mod claim_reading;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use claim_reading::{ClaimReading, Ended, Key};

use crate::{
    domain::{
        Confusion,
        claim::ClaimKind,
        text,
        verdict::{RuleId, Tier},
    },
    guard::{Guard, JudgeContext, NormedClaim, ParsedClaim},
};

/// Claims by one writer within this time are one working session, in milliseconds.
const SESSION: u64 = 60 * 60 * 1000;

/// The age difference from which the older of two opposing claims is stale rather than ambiguous, in milliseconds.
const LONG_AGO: u64 = 90 * 24 * 60 * 60 * 1000;

/// The age difference from which a version is stale beside a higher one, in milliseconds.
const VERSION_AGE: u64 = 7 * 24 * 60 * 60 * 1000;

/// The overlap from which a later claim repeats an earlier one.
const REPEAT_OVERLAP: f32 = 0.5;

/// A word in more claims than this, and in more than 2 % of them, does not name one particular thing.
const COMMON: usize = 6;

/// The most characters of a statement that a question quotes.
const QUOTED: usize = 90;

/// The most earlier claims that a claim is compared with: those with most words in common.
const COMPARED: usize = 24;

/// A claim of the story.
#[derive(Clone, Debug)]
pub struct StoryClaim {
    /// When it was written, in milliseconds since the Unix epoch.
    written: u64,
    /// Who wrote it.
    who: String,
    /// Whether it is in force: neither superseded nor retracted nor past its last day.
    in_force: bool,
    claim: Arc<ParsedClaim>,
}

impl StoryClaim {
    /// Parses a claim that was written at `written`, in milliseconds since the Unix epoch. `in_force`: it was neither superseded nor retracted.
    pub fn new(written: u64, who: &str, in_force: bool, mut claim: NormedClaim) -> Self {
        // The guard does not compare two facts; the story does, so it treats them like decisions.
        if !claim.kind.is_guarded() {
            claim.kind = ClaimKind::Decision;
        }
        Self { written, who: who.to_owned(), in_force, claim: Arc::new(ParsedClaim::new(claim)) }
    }

    /// The statement as written.
    fn statement(&self) -> &str {
        &self.claim.claim().statement
    }
}

/// Claims of the story that a person should settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The kind of confusion.
    pub confusion: Confusion,
    /// The indexes of the claims concerned, in order.
    pub claims: Vec<usize>,
    /// A question that can be answered with yes or no without reading the claims.
    pub question: String,
}

/// Reads a story, the oldest claim first, and marks what would confuse. Each claim is compared with the few earlier ones that have most in
/// common with it.
pub fn read(guard: &Guard, lines: &[StoryClaim]) -> Vec<Mark> {
    let mut story = Story::new(guard, lines);
    for at in 0..lines.len() {
        story.add(at);
    }
    story.marks
}

/// The story, as far as it has been read.
struct Story<'a> {
    guard: &'a Guard,
    lines: &'a [StoryClaim],
    readings: Vec<ClaimReading>,
    /// Claims by their words.
    index: BTreeMap<Key, Vec<usize>>,
    /// For each claim, the earlier ones that it opposes.
    opposed: Vec<BTreeMap<usize, Opposed>>,
    marks: Vec<Mark>,
}

/// How a claim opposes an earlier one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opposed {
    /// It states another value, choice or stance.
    Differs,
    /// It may do so: enough for a change that a third claim reverses, and for nothing else.
    MayDiffer,
    /// It ends the use of something that the earlier one depends on, and names the replacement.
    Replaced,
    /// It ends the use of something that the earlier one depends on.
    Ended,
}

impl<'a> Story<'a> {
    fn new(guard: &'a Guard, lines: &'a [StoryClaim]) -> Self {
        Self { guard, lines, readings: Vec::new(), index: BTreeMap::new(), opposed: Vec::new(), marks: Vec::new() }
    }

    fn add(&mut self, at: usize) {
        let reading = ClaimReading::of(&self.lines[at]);
        let earlier = self.related(&reading);
        let opposed = earlier.iter().filter_map(|&e| Some((e, self.opposes(at, &reading, e)?))).collect();
        for key in &reading.keys {
            self.index.entry(*key).or_default().push(at);
        }
        self.readings.push(reading);
        self.opposed.push(opposed);
        if let Some(mark) = self.reversal(at, &earlier) {
            // The repeated choice is neither stale nor ambiguous with the claim that ended it.
            let turn: BTreeSet<usize> = mark.claims.iter().copied().collect();
            self.marks.retain(|m| !m.claims.iter().all(|claim| turn.contains(claim)));
            self.marks.push(mark);
            return;
        }
        for &other in &earlier {
            if let Some(mark) = self.unsettled(at, other) {
                self.marks.push(mark);
            }
        }
    }

    /// Returns the earlier claims that have most in common with this one, the oldest first.
    fn related(&self, reading: &ClaimReading) -> Vec<usize> {
        let mut shared: BTreeMap<usize, usize> = BTreeMap::new();
        for key in &reading.keys {
            for claim in self.index.get(key).into_iter().flatten() {
                *shared.entry(*claim).or_default() += 1;
            }
        }
        let mut best: Vec<(usize, usize)> = shared.into_iter().map(|(claim, count)| (count, claim)).collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        let mut claims: Vec<usize> = best.into_iter().take(COMPARED).map(|(_, claim)| claim).collect();
        claims.sort_unstable();
        claims
    }

    /// Returns how claim `at` opposes the earlier claim `other`, if it does.
    fn opposes(&self, at: usize, ours: &ClaimReading, other: usize) -> Option<Opposed> {
        let theirs = &self.readings[other];
        if self.lines[at].claim.parsed.stated_scope.is_disjoint(&self.lines[other].claim.parsed.stated_scope) {
            return None;
        }
        if let Some(thing) = ours.ended.iter().find(|thing| theirs.asserts(thing) && self.is_particular(thing)) {
            return Some(if thing.replaced { Opposed::Replaced } else { Opposed::Ended });
        }
        if ours.is_rival_of(theirs) || ours.states_other_amount_than(theirs) {
            return Some(Opposed::Differs);
        }
        match self.tier(at, other) {
            Tier::Block => Some(Opposed::Differs),
            Tier::Warn => Some(Opposed::MayDiffer),
            Tier::Clean => ours.is_another_choice_than(theirs).then_some(Opposed::MayDiffer),
        }
    }

    /// Returns whether it names one particular thing. A word in many claims names a kind of things.
    fn is_particular(&self, thing: &Ended) -> bool {
        let fewest =
            thing.names.iter().map(|id| self.index.get(&Key::Word(*id)).map_or(0, Vec::len)).min().unwrap_or_default();
        fewest <= COMMON.max(self.readings.len() / 50)
    }

    /// Returns the tier of claim `at` by the guard's rules, compared with the other. Corrections are excluded: the story reads them itself.
    fn tier(&self, at: usize, other: usize) -> Tier {
        let existing = std::slice::from_ref(&self.lines[other].claim);
        let verdict = self.guard.judge(&self.lines[at].claim, existing, JudgeContext::default());
        let found = verdict.findings.iter().filter(|finding| finding.evidence.rule != RuleId::ChangeInWords);
        found.map(|finding| finding.tier).max().unwrap_or_default()
    }

    /// Returns whether both are from one working session.
    fn is_session(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.lines[one], &self.lines[other]);
        one.who == other.who && one.written.abs_diff(other.written) <= SESSION
    }

    /// Returns the reversal that ends with claim `at`: it repeats an earlier claim that a claim between the two ended or opposed, without
    /// mentioning the change.
    fn reversal(&self, at: usize, earlier: &[usize]) -> Option<Mark> {
        let (line, reading) = (&self.lines[at], &self.readings[at]);
        if !line.in_force || reading.returns || reading.past {
            return None;
        }
        for &first in earlier {
            for &turn in earlier.iter().filter(|turn| **turn > first) {
                let Some(how) = self.opposed[turn].get(&first) else { continue };
                if self.is_session(turn, at) || self.is_session(first, turn) {
                    continue;
                }
                let came_back = match how {
                    Opposed::Ended | Opposed::Replaced => {
                        self.readings[turn]
                            .ended
                            .iter()
                            .any(|thing| self.readings[first].asserts(thing) && reading.asserts(thing))
                            && self.shares_more(first, at, turn)
                    }
                    Opposed::Differs | Opposed::MayDiffer => {
                        self.opposed[at].contains_key(&turn)
                            && !self.opposed[at].contains_key(&first)
                            && (reading.chooses_same_as(&self.readings[first])
                                || reading.overlap(&self.readings[first]) >= REPEAT_OVERLAP)
                    }
                };
                if came_back {
                    let question = format!(
                        "Does “{}” hold again, although “{}” was written in between?",
                        short(line.statement()),
                        short(self.lines[turn].statement())
                    );
                    return Some(Mark { confusion: Confusion::Reversal, claims: vec![first, turn, at], question });
                }
            }
        }
        None
    }

    /// Returns whether two claims have a word in common besides the names of what `turn` ended, or are too short for that.
    fn shares_more(&self, one: usize, other: usize, turn: usize) -> bool {
        let named: BTreeSet<u64> = self.readings[turn].ended.iter().flat_map(|e| e.names.iter().copied()).collect();
        let (one, other) = (&self.readings[one], &self.readings[other]);
        one.topic.intersection(&other.topic).any(|id| !named.contains(id))
            || one.topic.len().min(other.topic.len()) <= 2
    }

    /// Returns the mark if claim `at` makes the earlier claim `other` stale or ambiguous.
    fn unsettled(&self, at: usize, other: usize) -> Option<Mark> {
        let (newer, older) = (&self.lines[at], &self.lines[other]);
        if !newer.in_force || !older.in_force || self.is_session(at, other) {
            return None;
        }
        let reading = &self.readings[at];
        let age = newer.written.saturating_sub(older.written);
        let stale = || {
            let question = format!(
                "Does “{}” still hold, given the newer “{}”?",
                short(older.statement()),
                short(newer.statement())
            );
            Some(Mark { confusion: Confusion::Stale, claims: vec![other, at], question })
        };
        if age >= VERSION_AGE && reading.has_newer_version_than(&self.readings[other]) {
            return stale();
        }
        match self.opposed[at].get(&other)? {
            Opposed::Ended => stale(),
            Opposed::Replaced | Opposed::MayDiffer => None,
            Opposed::Differs if reading.settles || reading.excepts || reading.returns => None,
            Opposed::Differs if age >= LONG_AGO => stale(),
            Opposed::Differs => {
                let question =
                    format!("Does “{}” hold instead of “{}”?", short(newer.statement()), short(older.statement()));
                Some(Mark { confusion: Confusion::Ambiguity, claims: vec![other, at], question })
            }
        }
    }
}

/// Returns the statement without its full stop, shortened for a question.
fn short(statement: &str) -> String {
    text::cut(statement.trim().trim_end_matches('.'), QUOTED)
}
