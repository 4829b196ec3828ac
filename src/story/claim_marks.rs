//! Reads one claim beside the earlier claims that have most in common with it.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{
    Mark, SESSION, StoryClaim,
    claim_reading::{ClaimReading, Ended},
};
use crate::{
    domain::{
        Confusion, StoryRule,
        guard_report::{RuleId, Tier},
    },
    guard::{Guard, JudgeContext, align::are_distinct_instances},
};

/// The age difference from which the older of two opposing claims is stale rather than ambiguous, in milliseconds.
pub(super) const LONG_AGO: u64 = 90 * 24 * 60 * 60 * 1000;

/// The age difference from which a version is stale beside a higher one, in milliseconds.
const VERSION_AGE: u64 = 7 * 24 * 60 * 60 * 1000;

/// The overlap from which a later claim repeats an earlier one.
const REPEAT_OVERLAP: f32 = 0.5;

/// The overlap from which a claim repeats an earlier one, if nothing but other words says that the one between them differs.
const TURN_OVERLAP: f32 = 0.75;

/// The overlap from which a claim states a retracted one again.
const RESTATED_OVERLAP: f32 = 0.8;

/// A word in more earlier claims than this does not name one particular thing.
const COMMON: usize = 12;

/// What one claim brings to the story. Indexes are those of the earlier claims; the one behind them is the claim itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimMarks {
    /// What it makes unclear.
    pub marks: Vec<Mark>,
    /// The earlier claims between which it settles what was unclear.
    pub settles: Vec<usize>,
    /// The earlier claims whose standing decides about its marks.
    pub watches: Vec<usize>,
}

/// Reads a claim beside the related earlier ones, the oldest first. `counts`: how many earlier claims have each of its words.
pub fn read_claim(
    guard: &Guard,
    earlier: &[&StoryClaim],
    claim: &StoryClaim,
    counts: &BTreeMap<u64, usize>,
) -> ClaimMarks {
    let mut lines = earlier.to_vec();
    lines.push(claim);
    let scene = Scene { guard, lines: &lines, counts, opposed: RefCell::default(), watched: RefCell::default() };
    let mut found = ClaimMarks::default();
    if let Some(mark) = scene.reversal() {
        found.marks.push(mark);
    }
    let at = scene.at();
    for other in 0..at {
        if let Some(mark) = scene.unsettled(other) {
            // The repeated choice is neither stale nor ambiguous with the claim that ended it.
            let in_turn = |turn: &Mark| turn.claims.len() > 2 && mark.claims.iter().all(|c| turn.claims.contains(c));
            if !found.marks.iter().any(in_turn) {
                found.marks.push(mark);
            }
        }
    }
    let ran_out = claim.standing.expired && !claim.standing.history;
    if claim.standing.in_force && ran_out && found.marks.is_empty() {
        let (confusion, rule) = (Confusion::Stale, StoryRule::Expired);
        found.marks.push(Mark { confusion, rule, strength: 1.0, claims: vec![at] });
    }
    found.settles = scene.settles();
    found.watches = scene.watched.into_inner().into_iter().collect();
    found
}

/// How a claim opposes an earlier one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opposed {
    /// It states another value, choice or stance.
    Differs(StoryRule),
    /// It may do so: enough for a change that a third claim reverses, and for nothing else.
    MayDiffer,
    /// It ends the use of something that the earlier one depends on, and names the replacement.
    Replaced,
    /// It ends the use of something that the earlier one depends on.
    Ended,
}

/// One claim, the last of the lines, beside the related earlier ones.
struct Scene<'a> {
    guard: &'a Guard,
    lines: &'a [&'a StoryClaim],
    counts: &'a BTreeMap<u64, usize>,
    /// What was found of pairs, the later claim first.
    opposed: RefCell<BTreeMap<(usize, usize), Option<Opposed>>>,
    watched: RefCell<BTreeSet<usize>>,
}

impl Scene<'_> {
    fn at(&self) -> usize {
        self.lines.len() - 1
    }

    fn reading(&self, at: usize) -> &ClaimReading {
        self.lines[at].reading()
    }

    fn watch(&self, at: usize) {
        self.watched.borrow_mut().insert(at);
    }

    /// Returns how claim `later` opposes the claim `other`, if it does.
    fn opposes(&self, later: usize, other: usize) -> Option<Opposed> {
        if let Some(known) = self.opposed.borrow().get(&(later, other)) {
            return *known;
        }
        let found = self.compare(later, other);
        self.opposed.borrow_mut().insert((later, other), found);
        found
    }

    fn compare(&self, later: usize, other: usize) -> Option<Opposed> {
        let (ours, theirs) = (self.reading(later), self.reading(other));
        let parsed = |at: usize| &self.lines[at].text.claim.parsed;
        if parsed(later).stated_scope.is_disjoint(&parsed(other).stated_scope) {
            return None;
        }
        if let Some(thing) = ours.ended.iter().find(|thing| theirs.asserts(thing) && self.is_particular(thing)) {
            return Some(if thing.replaced { Opposed::Replaced } else { Opposed::Ended });
        }
        if ours.is_rival_of(theirs) {
            return Some(Opposed::Differs(StoryRule::Role));
        }
        // "Phase 1 takes two weeks", "phase 2 takes four weeks".
        if ours.states_other_amount_than(theirs) && !are_distinct_instances(parsed(later), parsed(other)) {
            return Some(Opposed::Differs(StoryRule::Amount));
        }
        match self.tier(later, other) {
            Tier::Block => Some(Opposed::Differs(StoryRule::Contradiction)),
            Tier::Warn => Some(Opposed::MayDiffer),
            Tier::Clean => ours.is_another_choice_than(theirs).then_some(Opposed::MayDiffer),
        }
    }

    /// Returns whether it names one particular thing. A word in many claims names a kind of things.
    fn is_particular(&self, thing: &Ended) -> bool {
        let fewest = thing.words.iter().map(|word| self.counts.get(word).copied().unwrap_or_default()).min();
        fewest.unwrap_or_default() <= COMMON
    }

    /// Returns the tier of claim `later` by the guard's rules, compared with the other. Corrections are excluded: the story reads them itself.
    fn tier(&self, later: usize, other: usize) -> Tier {
        let existing = std::slice::from_ref(&self.lines[other].text.claim);
        let verdict = self.guard.judge(&self.lines[later].text.claim, existing, JudgeContext::default());
        let found = verdict.findings.iter().filter(|finding| finding.evidence.rule != RuleId::ChangeInWords);
        found.map(|finding| finding.tier).max().unwrap_or_default()
    }

    /// Returns whether both are from one working session.
    fn is_session(&self, earlier: usize, later: usize) -> bool {
        let between = self.lines.get(earlier + 1..later).unwrap_or_default();
        self.lines[earlier].is_session_with(self.lines[later], between)
    }

    /// Returns the reversal that the claim completes: it repeats an earlier claim that a claim between the two ended or opposed, without
    /// mentioning the change.
    fn reversal(&self) -> Option<Mark> {
        let at = self.at();
        let reading = self.reading(at);
        if !self.lines[at].standing.holds() || reading.returns || reading.past {
            return None;
        }
        for first in 0..at {
            let theirs = self.reading(first);
            let repeats = reading.chooses_same_as(theirs) || reading.overlap(theirs) >= REPEAT_OVERLAP;
            for turn in first + 1..at {
                if self.is_session(turn, at) || self.is_session(first, turn) {
                    continue;
                }
                let came_back = if self.came_back(first, turn) {
                    self.shares_more(first, turn)
                } else if repeats && self.reading(turn).turns_from(theirs, reading) {
                    reading.overlap(theirs) >= TURN_OVERLAP
                } else {
                    repeats
                        && matches!(self.opposes(turn, first), Some(Opposed::Differs(_) | Opposed::MayDiffer))
                        && self.opposes(at, turn).is_some()
                        && self.opposes(at, first).is_none()
                };
                if !came_back {
                    continue;
                }
                self.watch(first);
                self.watch(turn);
                if self.is_open_turn(turn) && !self.lines[at].explains(self.lines[turn]) {
                    let rule = match self.opposes(turn, first) {
                        Some(Opposed::Differs(rule)) => rule,
                        Some(Opposed::MayDiffer) | None => StoryRule::Choice,
                        Some(Opposed::Replaced | Opposed::Ended) => StoryRule::Ended,
                    };
                    let strength = reading.overlap(theirs);
                    return Some(Mark {
                        confusion: Confusion::Reversal,
                        rule,
                        strength,
                        claims: vec![first, turn, at],
                    });
                }
            }
        }
        (0..at).rev().find_map(|first| self.restated(first))
    }

    /// Returns whether `turn` ended the use of something that both `first` and the claim use.
    fn came_back(&self, first: usize, turn: usize) -> bool {
        let (first, last) = (self.reading(first), self.reading(self.at()));
        let used_by_both = |thing: &&Ended| first.asserts(thing) && last.asserts(thing);
        self.reading(turn).ended.iter().filter(used_by_both).any(|thing| self.is_particular(thing))
    }

    /// Returns whether a turn holds, or held until the claim superseded it.
    fn is_open_turn(&self, turn: usize) -> bool {
        let standing = &self.lines[turn].standing;
        standing.holds() || self.lines[self.at()].id().is_some_and(|id| standing.replaced_by.contains(&id))
    }

    /// Returns the mark if the claim states an earlier one again that was retracted meanwhile.
    fn restated(&self, first: usize) -> Option<Mark> {
        let at = self.at();
        let (line, theirs) = (self.lines[at], self.reading(first));
        let strength = self.reading(at).overlap(theirs);
        let same_length = self.reading(at).topic.len().abs_diff(theirs.topic.len()) <= 1;
        if strength < RESTATED_OVERLAP || !same_length {
            return None;
        }
        self.watch(first);
        let retracted = self.lines[first].standing.retracted?;
        if self.opposes(at, first).is_some() {
            return None;
        }
        // What was written down later has the times of a history, and its retraction that of the import.
        let pause = if line.written == line.recorded { SESSION } else { 0 };
        if retracted.saturating_add(pause) > line.recorded || self.is_session(first, at) {
            return None;
        }
        if line.text.reason().is_some_and(|reason| reason.returns) {
            return None;
        }
        let (confusion, rule) = (Confusion::Reversal, StoryRule::Restated);
        Some(Mark { confusion, rule, strength, claims: vec![first, at] })
    }

    /// Returns whether the claim and `first` have a word in common besides the names of what `turn` ended, or are too short for that.
    fn shares_more(&self, first: usize, turn: usize) -> bool {
        let named: BTreeSet<u64> = self.reading(turn).ended.iter().flat_map(|e| e.names.iter().copied()).collect();
        let (one, other) = (self.reading(first), self.reading(self.at()));
        one.topic.intersection(&other.topic).any(|id| !named.contains(id))
            || one.topic.len().min(other.topic.len()) <= 2
    }

    /// Returns the mark if the claim makes the earlier claim `other` stale or ambiguous.
    fn unsettled(&self, other: usize) -> Option<Mark> {
        let at = self.at();
        let (newer, older) = (self.lines[at], self.lines[other]);
        if !newer.standing.holds() || self.is_session(other, at) {
            return None;
        }
        let (reading, theirs) = (self.reading(at), self.reading(other));
        let age = newer.written.saturating_sub(older.written);
        let strength = reading.overlap(theirs);
        let mark = |confusion, rule| Some(Mark { confusion, rule, strength, claims: vec![other, at] });
        let found = if age >= VERSION_AGE && reading.has_newer_version_than(theirs) {
            mark(Confusion::Stale, StoryRule::Version)
        } else {
            match self.opposes(at, other)? {
                Opposed::Ended => mark(Confusion::Stale, StoryRule::Ended),
                Opposed::Replaced | Opposed::MayDiffer => None,
                Opposed::Differs(_)
                    if reading.settles || reading.excepts || reading.returns || newer.explains(older) =>
                {
                    None
                }
                Opposed::Differs(rule) if age >= LONG_AGO => mark(Confusion::Stale, rule),
                Opposed::Differs(rule) => mark(Confusion::Ambiguity, rule),
            }
        };
        if found.is_some() {
            self.watch(other);
        }
        found.filter(|_| older.standing.holds())
    }

    /// Returns the earlier claims about which the claim says what holds now, if it does: it settles a question, or says that something came back.
    fn settles(&self) -> Vec<usize> {
        let at = self.at();
        let reading = self.reading(at);
        if !self.lines[at].standing.in_force || !(reading.settles || reading.returns) {
            return Vec::new();
        }
        let concerns = |other: &usize| {
            self.opposes(at, *other).is_some() || reading.overlap(self.reading(*other)) >= REPEAT_OVERLAP
        };
        (0..at).filter(concerns).collect()
    }
}
