//! Compares one claim with the earlier claims that have most in common with it, and finds its marks.

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
        ClaimKind, Confusion, StoryRule,
        guard_report::{RuleId, Tier},
    },
    guard::{Guard, JudgeContext, align::are_distinct_instances},
};

/// The age difference from which the older of two opposing claims is stale rather than ambiguous, in milliseconds.
pub(super) const STALE_AGE: u64 = 90 * 24 * 60 * 60 * 1000;

/// The age difference from which a claim with a lower version is stale, in milliseconds.
const VERSION_AGE: u64 = 7 * 24 * 60 * 60 * 1000;

/// The overlap from which a later claim repeats an earlier one.
const REPEAT_OVERLAP: f32 = 0.5;

/// The overlap from which a claim repeats an earlier one, if only different words show that the claim between them differs.
const TURN_OVERLAP: f32 = 0.75;

/// The overlap from which a claim states a retracted one again.
const RESTATED_OVERLAP: f32 = 0.8;

/// The number of earlier claims above which a common word does not name one particular thing.
const COMMON_WORD_CLAIMS: usize = 12;

/// The marks of one claim. Indexes are those of the related earlier claims; the index after the last of them is the claim itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimMarks {
    /// The marks that it completes.
    pub marks: Vec<Mark>,
    /// The earlier claims about which it settles what was unclear.
    pub settles: Vec<usize>,
    /// The earlier claims whose standing affects its marks.
    pub watches: Vec<usize>,
}

/// Compares a claim with the related earlier ones, the oldest first. `counts` has the number of earlier claims that contain each of its words.
pub fn read_claim(
    guard: &Guard,
    earlier: &[&StoryClaim],
    claim: &StoryClaim,
    counts: &BTreeMap<u64, usize>,
) -> ClaimMarks {
    let mut lines = earlier.to_vec();
    lines.push(claim);
    let comparison =
        ClaimComparison { guard, lines: &lines, counts, opposed: RefCell::default(), watched: RefCell::default() };
    let mut found = ClaimMarks::default();
    if let Some(mark) = comparison.reversal() {
        found.marks.push(mark);
    }
    let at = comparison.at();
    for other in 0..at {
        if let Some(mark) = comparison.unsettled(other) {
            // A reversal includes the pair of the repeated choice and the claim that had ended it.
            let in_turn = |turn: &Mark| turn.claims.len() > 2 && mark.claims.iter().all(|c| turn.claims.contains(c));
            if !found.marks.iter().any(in_turn) {
                found.marks.push(mark);
            }
        }
    }
    let has_expired = claim.standing.expired && !claim.standing.history;
    if claim.standing.in_force && has_expired && found.marks.is_empty() {
        let (confusion, rule) = (Confusion::Stale, StoryRule::Expired);
        found.marks.push(Mark { confusion, rule, strength: 1.0, claims: vec![at] });
    }
    found.settles = comparison.settles();
    found.watches = comparison.watched.into_inner().into_iter().collect();
    found
}

/// How a claim opposes an earlier one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opposed {
    /// It states another value, choice or stance.
    Differs(StoryRule),
    /// It may do so. This suffices only for the middle claim of a reversal.
    MayDiffer,
    /// It ends the use of something that the earlier one depends on, and names the replacement.
    Replaced,
    /// It ends the use of something that the earlier one depends on.
    Ended,
}

/// The comparison of one claim, the last of `lines`, with the related earlier ones.
struct ClaimComparison<'a> {
    guard: &'a Guard,
    lines: &'a [&'a StoryClaim],
    counts: &'a BTreeMap<u64, usize>,
    /// The results of compared pairs; in a key, the later claim is first.
    opposed: RefCell<BTreeMap<(usize, usize), Option<Opposed>>>,
    /// The result's [`ClaimMarks::watches`].
    watched: RefCell<BTreeSet<usize>>,
}

impl ClaimComparison<'_> {
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

    /// Returns whether it is one particular thing. A word in many claims names a kind of thing.
    fn is_particular(&self, thing: &Ended) -> bool {
        let fewest = thing.words.iter().map(|word| self.counts.get(word).copied().unwrap_or_default()).min();
        fewest.unwrap_or_default() <= COMMON_WORD_CLAIMS
    }

    /// Returns the tier of claim `later` compared with the other, by the guard's rules. Corrections are excluded, because the story reads them
    /// itself.
    fn tier(&self, later: usize, other: usize) -> Tier {
        let existing = std::slice::from_ref(&self.lines[other].text.claim);
        let verdict = self.guard.judge(&self.lines[later].text.claim, existing, JudgeContext::default());
        let found = verdict.findings.iter().filter(|finding| finding.evidence.rule != RuleId::ChangeInWords);
        found.map(|finding| finding.tier).max().unwrap_or_default()
    }

    /// Returns whether both claims are from one working session.
    fn is_session(&self, earlier: usize, later: usize) -> bool {
        let between = self.lines.get(earlier + 1..later).unwrap_or_default();
        self.lines[earlier].is_session_with(self.lines[later], between)
    }

    /// Returns the reversal that the claim completes: it repeats an earlier claim without mentioning that a claim between the two, the *turn*,
    /// ended or opposed it.
    fn reversal(&self) -> Option<Mark> {
        let at = self.at();
        let reading = self.reading(at);
        if !self.lines[at].standing.holds() || reading.returns || reading.past {
            return None;
        }
        for first in 0..at {
            let theirs = self.reading(first);
            let repeats = (reading.chooses_same_as(theirs) || reading.overlap(theirs) >= REPEAT_OVERLAP)
                && (!self.is_rejection(at) || theirs.asserted.is_empty());
            for turn in first + 1..at {
                if self.is_session(turn, at) || self.is_session(first, turn) {
                    continue;
                }
                let came_back = if self.came_back(first, turn) {
                    self.shares_more(first, turn)
                } else if repeats && self.reading(turn).turns_from_both(theirs, reading) {
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

    /// Returns whether a claim rejects an option.
    fn is_rejection(&self, at: usize) -> bool {
        self.lines[at].text.claim.claim().kind == ClaimKind::Rejection
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

    /// Returns the mark if the claim repeats an earlier one that was retracted in the meantime.
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
        // Claims that were recorded later, by an import, have times of the past, but the retraction has that of the import.
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

    /// Returns whether the claim and `first` have a word in common besides the names of things that `turn` ended, or are too short to have one.
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
                Opposed::Differs(rule) if age >= STALE_AGE => mark(Confusion::Stale, rule),
                Opposed::Differs(rule) => mark(Confusion::Ambiguity, rule),
            }
        };
        if found.is_some() {
            self.watch(other);
        }
        found.filter(|_| older.standing.holds())
    }

    /// Returns the earlier claims for which the claim says what holds now, because it settles a question or says that something came back.
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
