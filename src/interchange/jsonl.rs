//! Exports of a scope as JSON lines: a heading, then each claim with its history, oldest first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    api::{ClaimView, EventView},
    domain::{ClaimId, EventKind, PairVerdict, ResolveAct, Scope, Status},
};

/// The version of the format.
pub const VERSION: u32 = 1;

/// A line of an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ExportLine {
    /// The first line.
    Heading {
        /// The format's version.
        version: u32,
        /// The program that wrote the export.
        program: String,
        /// The exported scope.
        scope: Scope,
        claims: usize,
        /// The time of the export, in milliseconds since the Unix epoch.
        at: u64,
    },
    /// A claim and its history.
    Claim {
        /// The claim at the time of the export.
        claim: Box<ClaimView>,
        /// Its events, oldest first.
        events: Vec<EventView>,
    },
}

/// A claim of an export with its history.
#[derive(Clone, Debug, PartialEq)]
pub struct ExportedRow {
    /// Its line in the file, from 1.
    pub line: usize,
    pub claim: ClaimView,
    /// Its events, oldest first.
    pub events: Vec<EventView>,
}

impl ExportedRow {
    /// Returns the effective events that changed the claim, oldest first.
    fn changes(&self) -> impl DoubleEndedIterator<Item = &EventView> {
        self.events.iter().filter(|event| !event.undone && event.targets.contains(&self.claim.id))
    }

    /// Whether the claim `successor` was stored in place of this one. Otherwise it existed already when it replaced this one.
    fn is_replaced_by_storing(&self, successor: &ClaimId) -> bool {
        self.events.is_empty() || self.events.iter().any(|event| event.id == *successor)
    }

    /// Returns the event by which somebody accepted this claim beside another: a dismissal, an exception, a narrowing or a judgement.
    pub fn accepted_beside(&self, other: &ClaimId) -> Option<&EventView> {
        let accepts = |kind: &str| {
            matches!(
                kind.parse(),
                Ok(EventKind::Resolve(ResolveAct::Dismiss | ResolveAct::Exception | ResolveAct::Narrow)
                    | EventKind::Judgement(PairVerdict::Compatible))
            )
        };
        self.changes().rev().find(|event| event.targets.contains(other) && accepts(&event.kind))
    }

    /// Whether the claim was no longer active. A fact that was replaced is replaced again by its key.
    pub fn is_closed(&self) -> bool {
        match self.claim.status {
            Status::Active => false,
            Status::Retracted | Status::Refused => true,
            Status::Superseded => self.claim.kind.is_guarded(),
        }
    }

    /// Returns when the claim was closed; its own time if its events do not say it.
    fn closed_at(&self) -> Option<u64> {
        let closes = |kind: &str| matches!(kind.parse(), Ok(EventKind::Retract | EventKind::Supersede));
        let closed = self.is_closed();
        closed.then(|| self.changes().rev().find(|event| closes(&event.kind)).map_or(self.claim.at, |event| event.at))
    }
}

/// A step with which an import repeats the history of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayStep {
    /// Stores the claim of a row in place of the claims `targets` of earlier rows.
    Store { row: usize, targets: Vec<ClaimId> },
    /// Withdraws the claim of an earlier row, or replaces it by another earlier one.
    Close { row: usize },
}

/// Returns the steps of an import in the order of the acts: a claim may contradict others that were no longer active when it was
/// stored.
pub fn replay(rows: &[ExportedRow]) -> Vec<ReplayStep> {
    let mut steps = Vec::new();
    let mut stored: BTreeMap<ClaimId, usize> = BTreeMap::new();
    let mut waiting: Vec<(u64, usize)> = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        // A fact replaces the one before it by its key alone.
        let is_target = |old: &&ClaimId| {
            let old = stored.get(*old).and_then(|at| rows.get(*at));
            row.claim.kind.is_guarded() && old.is_some_and(|old| old.is_replaced_by_storing(&row.claim.id))
        };
        let targets: Vec<ClaimId> = row.claim.replaces.iter().filter(is_target).copied().collect();
        for old in targets.iter().filter_map(|old| stored.remove(old)) {
            waiting.retain(|(_, waiting)| *waiting != old);
        }
        waiting.sort_unstable();
        let due = waiting.partition_point(|(closed, _)| *closed <= row.claim.at);
        steps.extend(waiting.drain(..due).map(|(_, row)| ReplayStep::Close { row }));
        steps.push(ReplayStep::Store { row: at, targets });
        stored.insert(row.claim.id, at);
        waiting.extend(row.closed_at().map(|closed| (closed, at)));
    }
    waiting.sort_unstable();
    steps.extend(waiting.into_iter().map(|(_, row)| ReplayStep::Close { row }));
    steps
}

/// The error of an invalid export.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonlError {
    #[error("invalid line {line}: {cause}")]
    Malformed {
        /// The line, from 1.
        line: usize,
        cause: String,
    },
    #[error("not an export of ergo: line 1 is not its header")]
    NoHeading,
    /// The file has fewer or more claims than its headings say.
    #[error("incomplete export: its header says {expected} claims, but the file has {found}")]
    WrongCount {
        /// The sum of the headings' counts.
        expected: usize,
        /// The number of claims in the file.
        found: usize,
    },
    /// The format is newer than this program.
    #[error("export version {0} is too new: this ergo reads versions up to {VERSION}")]
    Newer(u32),
}

/// Returns the lines of an export, with claims ordered by time, so that superseded ones come before their successors.
pub fn lines(scope: &Scope, mut claims: Vec<ClaimView>, events: Vec<EventView>, at: u64) -> Vec<ExportLine> {
    claims.sort_by_key(|claim| (claim.at, claim.id));
    let mut touched: BTreeMap<ClaimId, Vec<EventView>> = BTreeMap::new();
    for event in events {
        let mut on = event.targets.clone();
        on.push(event.id);
        on.sort_unstable();
        on.dedup();
        for id in on {
            touched.entry(id).or_default().push(event.clone());
        }
    }
    let program = format!("ergo {}", env!("CARGO_PKG_VERSION"));
    let heading = ExportLine::Heading { version: VERSION, program, scope: scope.clone(), claims: claims.len(), at };
    let rows = claims.into_iter().map(|claim| {
        let mut events = touched.remove(&claim.id).unwrap_or_default();
        events.sort_by_key(|event| (event.at, event.id));
        ExportLine::Claim { claim: Box::new(claim), events }
    });
    std::iter::once(heading).chain(rows).collect()
}

/// Parses an export into its scope and its rows.
///
/// # Errors
/// If a line is invalid, if the heading is missing or too new, and if claims are missing: a writer that was interrupted
/// between two lines leaves a file that parses.
pub fn read(text: &str) -> Result<(Scope, Vec<ExportedRow>), JsonlError> {
    let mut scope = None;
    let mut rows = Vec::new();
    let mut expected = 0;
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let parsed = serde_json::from_str(line).map_err(|error| match scope {
            None => JsonlError::NoHeading,
            Some(_) => JsonlError::Malformed { line: at + 1, cause: error.to_string() },
        })?;
        match parsed {
            ExportLine::Heading { version, .. } if version > VERSION => return Err(JsonlError::Newer(version)),
            ExportLine::Heading { scope: named, claims, .. } => {
                scope = Some(named);
                expected = usize::saturating_add(expected, claims);
            }
            ExportLine::Claim { .. } if scope.is_none() => return Err(JsonlError::NoHeading),
            ExportLine::Claim { claim, events } => rows.push(ExportedRow { line: at + 1, claim: *claim, events }),
        }
    }
    let scope = scope.ok_or(JsonlError::NoHeading)?;
    let found = rows.len();
    if found == expected { Ok((scope, rows)) } else { Err(JsonlError::WrongCount { expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interchange::fixture::claim;

    #[test]
    fn what_is_written_is_read_again() {
        let (old, new) = (claim(1, "old"), claim(2, "new"));
        let scope = old.scope.clone();
        let lines = lines(&scope, vec![new.clone(), old.clone()], vec![], 5);
        let text: String = lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        let row = |line, claim| ExportedRow { line, claim, events: vec![] };
        assert_eq!(read(&text).unwrap(), (scope, vec![row(2, old), row(3, new)]));
    }

    fn event(kind: &str, id: ClaimId, at: u64, targets: Vec<ClaimId>) -> EventView {
        let claim = claim(1, "any");
        EventView {
            id,
            kind: kind.into(),
            op_id: crate::domain::OpId([0; 16]),
            scope: claim.scope,
            who: "ada".into(),
            agent: None,
            device: claim.device,
            device_name: None,
            at,
            targets,
            reason: None,
            statement: None,
            about: None,
            outcome: None,
            accept: None,
            undone: false,
            redo: false,
        }
    }

    #[test]
    fn claims_are_closed_when_they_were_and_before_what_was_stored_later() {
        let day = |number: u8| claim(number, "x").at;
        let row = |claim: ClaimView, events: Vec<EventView>| ExportedRow { line: 1, claim, events };
        let closed = |number: u8, status: Status| ClaimView { status, ..claim(number, "old") };
        let act = |number: u8| crate::domain::EventId([number; 32]);
        // Retracted together with the storing of row 2, after row 1.
        let retracted = closed(1, Status::Retracted);
        let retract = event("retract", act(9), day(3), vec![retracted.id]);
        // Replaced by row 2 when that was stored, and by row 1, which existed.
        let (replaced, merged) = (closed(2, Status::Superseded), closed(4, Status::Superseded));
        let new = ClaimView { replaces: vec![replaced.id, merged.id], ..claim(3, "new") };
        let supersede = event("supersede", new.id, day(3), vec![replaced.id]);
        let merge = event("supersede", act(8), day(5), vec![merged.id]);
        let rows = [
            row(retracted, vec![retract]),
            row(replaced.clone(), vec![supersede]),
            row(new, vec![]),
            row(merged, vec![merge]),
            row(claim(6, "last"), vec![]),
        ];
        let store = |row: usize, targets: Vec<ClaimId>| ReplayStep::Store { row, targets };
        let expected = [
            store(0, vec![]),
            store(1, vec![]),
            ReplayStep::Close { row: 0 },
            store(2, vec![replaced.id]),
            store(3, vec![]),
            ReplayStep::Close { row: 3 },
            store(4, vec![]),
        ];
        assert_eq!(replay(&rows), expected);
        // An export without events.
        let rows = rows.map(|row| ExportedRow { events: vec![], ..row });
        assert_eq!(replay(&rows)[1], ReplayStep::Close { row: 0 });
    }

    #[test]
    fn the_last_event_in_effect_says_why_two_claims_stand_side_by_side() {
        let (one, other) = (claim(1, "one"), claim(2, "other"));
        let both = vec![other.id, one.id];
        let dismissed = event("resolve.dismiss", other.id, 3, both.clone());
        let judged = EventView { undone: true, ..event("judgement.compatible", other.id, 4, both.clone()) };
        let row = ExportedRow { line: 1, claim: one.clone(), events: vec![dismissed.clone(), judged] };
        assert_eq!(row.accepted_beside(&other.id), Some(&dismissed));
        assert_eq!(row.accepted_beside(&claim(3, "third").id), None);
        let refuted = event("judgement.contradicts", other.id, 3, both);
        assert_eq!(ExportedRow { events: vec![refuted], ..row }.accepted_beside(&other.id), None);
    }

    #[test]
    fn each_claim_has_the_acts_that_touched_it_once() {
        let (old, new) = (claim(1, "old"), claim(2, "new"));
        let event = |id, at, targets| event("supersede", id, at, targets);
        let events = vec![event(new.id, 2, vec![old.id]), event(old.id, 1, vec![])];
        let lines = lines(&old.scope.clone(), vec![old, new], events, 5);
        let counts = lines.iter().filter_map(|line| match line {
            ExportLine::Claim { events, .. } => Some(events.iter().map(|event| event.at).collect::<Vec<_>>()),
            ExportLine::Heading { .. } => None,
        });
        let counts: Vec<_> = counts.collect();
        assert_eq!(counts, [vec![1, 2], vec![2]]);
    }

    #[test]
    fn an_export_that_ends_between_two_lines_is_incomplete() {
        let scope = claim(1, "old").scope;
        let lines = lines(&scope, vec![claim(1, "old"), claim(2, "new")], vec![], 5);
        let text: String = lines.iter().take(2).map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        assert_eq!(read(&text), Err(JsonlError::WrongCount { expected: 2, found: 1 }));
    }

    #[test]
    fn what_is_no_dump_says_so() {
        assert_eq!(read("{}\n"), Err(JsonlError::NoHeading));
        assert_eq!(read(""), Err(JsonlError::NoHeading));
        let heading =
            r#"{"type":"heading","version":9,"program":"x","scope":{"org_id":"a","project":"b"},"claims":0,"at":0}"#;
        assert_eq!(read(heading), Err(JsonlError::Newer(9)));
        let broken = format!("{}\n{{\n", heading.replace('9', "1"));
        assert!(matches!(read(&broken), Err(JsonlError::Malformed { line: 2, .. })));
    }
}
