//! The story of a scope: its claims in the order in which they were written, read for what would confuse a newcomer.
//!
//! Pairs miss what a history shows: "we use X", "we switched to Y", "we use X". Three things are marked: a *reversal* (a choice that comes
//! back after it was given up, without a word about that), an *ambiguity* (two claims in force that exclude each other, and no order that settles
//! it) and a *stale* claim (its subject moved on, and nobody retired it). What the latest claim settles is not marked: progress, corrections, a
//! change of mind that says what comes instead, and what one working session says in steps.
//!
//! Pure: no I/O, no clock, no model; the same claims give the same marks on every device.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod line;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use line::{Ended, Key, LineReading};

use crate::{
    domain::{
        Confusion,
        claim::ClaimKind,
        text,
        verdict::{RuleId, Tier},
    },
    guard::{Circumstances, Guard, NormedClaim, ParsedClaim},
};

/// Claims by one writer within this time are one working session, in milliseconds.
const SESSION: u64 = 60 * 60 * 1000;

/// After this time an opposed claim is no slip beside the older one: the older one is stale. In milliseconds.
const LONG_AGO: u64 = 90 * 24 * 60 * 60 * 1000;

/// A version that was stated this long before a higher one is stale. In milliseconds.
const VERSION_AGE: u64 = 7 * 24 * 60 * 60 * 1000;

/// How much of what two claims speak of must be the same for the later one to say the earlier one again.
const SAME_AGAIN: f32 = 0.5;

/// A word that more claims than this, and more than one of fifty, speak of is no name of one thing.
const COMMON: usize = 6;

/// Characters of a statement that a question quotes, at most.
const QUOTED: usize = 90;

/// Earlier claims that one claim is compared with, at most: those that share most with it.
const COMPARED: usize = 24;

/// A claim of the story.
#[derive(Clone, Debug)]
pub struct StoryLine {
    /// When it was written, in milliseconds since the Unix epoch.
    written: u64,
    /// Who wrote it.
    who: String,
    /// Whether it is in force: neither superseded nor retracted nor past its last day.
    in_force: bool,
    claim: Arc<ParsedClaim>,
}

impl StoryLine {
    /// Parses a claim that was written at `written`, in milliseconds since the Unix epoch. `in_force`: it was neither superseded nor retracted.
    pub fn new(written: u64, who: &str, in_force: bool, mut claim: NormedClaim) -> Self {
        // A fact says what holds, as a decision does; the guard compares no two facts, the story does.
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

/// A place of the story that a person should settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Why.
    pub confusion: Confusion,
    /// The claims concerned, by their number in the story, in order.
    pub claims: Vec<usize>,
    /// A question that can be answered with yes or no without reading the claims.
    pub question: String,
}

/// Reads a story, oldest claim first, and marks what would confuse. Each claim is compared with the few earlier ones that share most with it.
pub fn read(guard: &Guard, lines: &[StoryLine]) -> Vec<Mark> {
    let mut story = Story::new(guard, lines);
    for at in 0..lines.len() {
        story.add(at);
    }
    story.marks
}

/// The story as far as it was read.
struct Story<'a> {
    guard: &'a Guard,
    lines: &'a [StoryLine],
    readings: Vec<LineReading>,
    /// Claims by the words that they speak of.
    index: BTreeMap<Key, Vec<usize>>,
    /// For each claim the earlier ones that it opposes.
    opposed: Vec<BTreeMap<usize, Opposed>>,
    marks: Vec<Mark>,
}

/// How a claim opposes an earlier one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opposed {
    /// It states another value, choice or stance.
    Otherwise,
    /// It may do so: enough for a turn that a third claim takes back, and for nothing else.
    Perhaps,
    /// It ends what the earlier one rests on, and says what comes instead.
    Replaced,
    /// It ends what the earlier one rests on.
    Ended,
}

impl<'a> Story<'a> {
    fn new(guard: &'a Guard, lines: &'a [StoryLine]) -> Self {
        Self { guard, lines, readings: Vec::new(), index: BTreeMap::new(), opposed: Vec::new(), marks: Vec::new() }
    }

    fn add(&mut self, at: usize) {
        let reading = LineReading::of(&self.lines[at]);
        let earlier = self.related(&reading);
        let opposed = earlier.iter().filter_map(|&e| Some((e, self.opposes(at, &reading, e)?))).collect();
        for key in &reading.keys {
            self.index.entry(*key).or_default().push(at);
        }
        self.readings.push(reading);
        self.opposed.push(opposed);
        if let Some(mark) = self.reversal(at, &earlier) {
            // What came back is no longer stale, nor ambiguous with what ended it.
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

    /// The earlier claims that share most with this one, the oldest first.
    fn related(&self, reading: &LineReading) -> Vec<usize> {
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

    /// Whether claim `at` opposes the earlier claim `other`, and how.
    fn opposes(&self, at: usize, ours: &LineReading, other: usize) -> Option<Opposed> {
        let theirs = &self.readings[other];
        if self.lines[at].claim.parsed.place.is_disjoint(&self.lines[other].claim.parsed.place) {
            return None;
        }
        if let Some(thing) = ours.ended.iter().find(|thing| theirs.asserts(thing) && self.is_particular(thing)) {
            return Some(if thing.replaced { Opposed::Replaced } else { Opposed::Ended });
        }
        if ours.is_rival_of(theirs) || ours.states_otherwise(theirs) {
            return Some(Opposed::Otherwise);
        }
        match self.tier(at, other) {
            Tier::Block => Some(Opposed::Otherwise),
            Tier::Warn => Some(Opposed::Perhaps),
            Tier::Clean => ours.is_another_choice_than(theirs).then_some(Opposed::Perhaps),
        }
    }

    /// Whether what ended is one particular thing: a word that many claims have names a sort of things.
    fn is_particular(&self, thing: &Ended) -> bool {
        let fewest =
            thing.names.iter().map(|id| self.index.get(&Key::Word(*id)).map_or(0, Vec::len)).min().unwrap_or_default();
        fewest <= COMMON.max(self.readings.len() / 50)
    }

    /// What the guard's rules make of claim `at` because of the other; a change in words is read by the story itself.
    fn tier(&self, at: usize, other: usize) -> Tier {
        let existing = std::slice::from_ref(&self.lines[other].claim);
        let verdict = self.guard.judge(&self.lines[at].claim, existing, Circumstances::default());
        let found = verdict.findings.iter().filter(|finding| finding.evidence.rule != RuleId::ChangeInWords);
        found.map(|finding| finding.tier).max().unwrap_or_default()
    }

    /// Whether one working session says both.
    fn is_session(&self, one: usize, other: usize) -> bool {
        let (one, other) = (&self.lines[one], &self.lines[other]);
        one.who == other.who && one.written.abs_diff(other.written) <= SESSION
    }

    /// The turn back that ends with claim `at`: an earlier claim said as much, a claim between the two ended or opposed it, and this one says nothing
    /// of coming back.
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
                    Opposed::Otherwise | Opposed::Perhaps => {
                        self.opposed[at].contains_key(&turn)
                            && !self.opposed[at].contains_key(&first)
                            && (reading.chooses_as(&self.readings[first])
                                || reading.overlap(&self.readings[first]) >= SAME_AGAIN)
                    }
                };
                if came_back {
                    let question = format!(
                        "Does “{}” hold, although “{}” came between?",
                        short(line.statement()),
                        short(self.lines[turn].statement())
                    );
                    return Some(Mark { confusion: Confusion::Reversal, claims: vec![first, turn, at], question });
                }
            }
        }
        None
    }

    /// Whether two claims share a word besides those that name what `turn` ended; a claim of one word and its name shares no more.
    fn shares_more(&self, one: usize, other: usize, turn: usize) -> bool {
        let named: BTreeSet<u64> = self.readings[turn].ended.iter().flat_map(|e| e.names.iter().copied()).collect();
        let (one, other) = (&self.readings[one], &self.readings[other]);
        one.topic.intersection(&other.topic).any(|id| !named.contains(id))
            || one.topic.len().min(other.topic.len()) <= 2
    }

    /// What claim `at` leaves open about the earlier claim `other`.
    fn unsettled(&self, at: usize, other: usize) -> Option<Mark> {
        let (newer, older) = (&self.lines[at], &self.lines[other]);
        if !newer.in_force || !older.in_force || self.is_session(at, other) {
            return None;
        }
        let reading = &self.readings[at];
        let age = newer.written.saturating_sub(older.written);
        let stale = || {
            let question =
                format!("Is “{}” still the case, now that “{}”?", short(older.statement()), short(newer.statement()));
            Some(Mark { confusion: Confusion::Stale, claims: vec![other, at], question })
        };
        if age >= VERSION_AGE && reading.has_newer_version_than(&self.readings[other]) {
            return stale();
        }
        match self.opposed[at].get(&other)? {
            Opposed::Ended => stale(),
            Opposed::Replaced | Opposed::Perhaps => None,
            Opposed::Otherwise if reading.settles || reading.excepts || reading.returns => None,
            Opposed::Otherwise if age >= LONG_AGO => stale(),
            Opposed::Otherwise => {
                let question =
                    format!("Does “{}” hold rather than “{}”?", short(newer.statement()), short(older.statement()));
                Some(Mark { confusion: Confusion::Ambiguity, claims: vec![other, at], question })
            }
        }
    }
}

/// The statement without its full stop, cut to what fits a question.
fn short(statement: &str) -> String {
    text::cut(statement.trim().trim_end_matches('.'), QUOTED)
}
