//! Orders records for import: superseded records come before their successors, so that the history is kept.

use std::collections::BTreeSet;

use super::{
    adr::{Record, RecordStatus},
    no_longer_in,
};

/// The import of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanStep {
    /// The record's index.
    pub record: usize,
    /// The records that it replaces, all in earlier steps.
    pub replaces: Vec<usize>,
    /// The records that replace it.
    pub replaced_by: Vec<usize>,
    /// The reason for retracting the claim after it is stored, if the record is no longer active and has no imported successor.
    pub retract: Option<String>,
}

/// Orders records by number, then date, then file, but never a record before one that it replaces. In a cycle of replacements, the
/// link that closes the cycle is dropped.
pub fn plan(records: &[Record]) -> Vec<PlanStep> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|&at| {
        let record = records.get(at);
        (
            record.and_then(|record| record.number).unwrap_or(u32::MAX),
            record.and_then(|record| record.date.clone()),
            record.map(|record| record.file.clone()),
        )
    });
    let links = links(records);
    let mut done = BTreeSet::new();
    let mut steps = Vec::with_capacity(records.len());
    while steps.len() < records.len() {
        let waits = |at: usize| links.iter().any(|(new, old)| *new == at && !done.contains(old));
        let ready = order.iter().copied().find(|at| !done.contains(at) && !waits(*at));
        // Only a cycle has no ready record: take the first remaining one.
        let Some(at) = ready.or_else(|| order.iter().copied().find(|at| !done.contains(at))) else { break };
        let replaces =
            links.iter().filter(|(new, old)| *new == at && done.contains(old)).map(|(_, old)| *old).collect();
        steps.push(PlanStep { record: at, replaces, replaced_by: Vec::new(), retract: None });
        done.insert(at);
    }
    let pairs: Vec<(usize, usize)> =
        steps.iter().flat_map(|step| step.replaces.iter().map(|old| (step.record, *old))).collect();
    for step in &mut steps {
        step.replaced_by = pairs.iter().filter(|(_, old)| *old == step.record).map(|(new, _)| *new).collect();
        let Some(record) = records.get(step.record) else { continue };
        step.retract = match record.status {
            RecordStatus::Deprecated => Some(format!("{DEPRECATED}{} says.", record.file)),
            RecordStatus::Superseded if step.replaced_by.is_empty() => {
                Some(format!("{SUPERSEDED}{} says, by a record that is not part of this import.", record.file))
            }
            _ => None,
        };
    }
    steps
}

const DEPRECATED: &str = "Deprecated, as ";
const SUPERSEDED: &str = "Superseded, as ";

/// Whether a claim was closed for this reason because of its record's status or because its record was gone, and not by a person.
pub fn is_closed_by_record(reason: &str, file: &str) -> bool {
    reason == no_longer_in(file)
        || [DEPRECATED, SUPERSEDED].iter().any(|word| reason.starts_with(&format!("{word}{file} says")))
}

/// Returns the pairs (new, old) in which one of the two records names the other.
fn links(records: &[Record]) -> BTreeSet<(usize, usize)> {
    let mut out = BTreeSet::new();
    for (at, record) in records.iter().enumerate() {
        // A record that was only proposed, or rejected, has replaced nothing. That of an exported rejection is in force, though.
        let in_force = record.exported.is_some()
            || !matches!(record.status, RecordStatus::Proposed | RecordStatus::Rejected | RecordStatus::Unknown(_));
        for (other, target) in records.iter().enumerate().filter(|(other, _)| *other != at) {
            if in_force && record.supersedes.iter().any(|reference| target.matches(reference)) {
                out.insert((at, other));
            }
            if record.superseded_by.iter().any(|reference| target.matches(reference)) {
                out.insert((other, at));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interchange::adr::RecordRef;
    use proptest::prelude::*;

    fn record(number: u32, status: RecordStatus, by: &[u32]) -> Record {
        let reference = |number: &u32| RecordRef { file: None, number: Some(*number) };
        Record {
            file: format!("{number:04}.md"),
            line: 1,
            number: Some(number),
            title: String::new(),
            status,
            date: None,
            statement: String::new(),
            reason: String::new(),
            supersedes: vec![],
            superseded_by: by.iter().map(reference).collect(),
            exported: None,
        }
    }

    #[test]
    fn the_old_comes_before_the_new_whatever_their_numbers() {
        let records = [record(1, RecordStatus::Accepted, &[]), record(5, RecordStatus::Superseded, &[1])];
        let steps = plan(&records);
        assert_eq!(steps[0], PlanStep { record: 1, replaces: vec![], replaced_by: vec![0], retract: None });
        assert_eq!(steps[1], PlanStep { record: 0, replaces: vec![1], replaced_by: vec![], retract: None });
    }

    #[test]
    fn a_proposal_and_a_rejected_record_replace_nothing() {
        for (status, replaces) in [
            (RecordStatus::Accepted, vec![0]),
            (RecordStatus::Deprecated, vec![0]),
            (RecordStatus::Proposed, vec![]),
            (RecordStatus::Rejected, vec![]),
        ] {
            let old = RecordRef { file: None, number: Some(1) };
            let new = Record { supersedes: vec![old], ..record(2, status.clone(), &[]) };
            let steps = plan(&[record(1, RecordStatus::Accepted, &[]), new]);
            assert_eq!(steps[1].replaces, replaces, "{status:?}");
        }
    }

    #[test]
    fn what_nothing_here_replaced_is_taken_out() {
        let steps = plan(&[record(1, RecordStatus::Superseded, &[9]), record(2, RecordStatus::Deprecated, &[])]);
        assert!(steps[0].retract.as_ref().unwrap().contains("not part of this import"));
        assert!(steps[1].retract.as_ref().unwrap().contains("Deprecated"));
    }

    proptest! {
        #[test]
        fn every_record_is_planned_once_and_replaces_only_earlier_ones(
            by in proptest::collection::vec(proptest::collection::vec(0_u32..8, 0..3), 0..8)
        ) {
            let records: Vec<_> = by.iter().enumerate().map(|(at, by)| record(at as u32, RecordStatus::Accepted, by)).collect();
            let steps = plan(&records);
            let mut seen = BTreeSet::new();
            for step in &steps {
                prop_assert!(step.replaces.iter().all(|old| seen.contains(old)));
                prop_assert!(seen.insert(step.record));
            }
            prop_assert_eq!(seen.len(), records.len());
        }
    }
}
