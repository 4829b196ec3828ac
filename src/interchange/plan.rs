//! In which order records become claims: what was replaced first, then what replaced it, so that history is kept.

use std::collections::BTreeSet;

use super::adr::{Record, Standing};

/// What to do with one record, by its index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The record.
    pub record: usize,
    /// The records that it replaces, all of them in earlier steps.
    pub replaces: Vec<usize>,
    /// It is no longer in force and nothing here took its place: store it, then take it out with this reason.
    pub retract: Option<String>,
}

/// Orders records: by number, else by date, else by file; but never a record before one that it replaces. Where records
/// replace each other in a circle, that order decides and the link that would close the circle is dropped.
pub fn plan(records: &[Record]) -> Vec<Step> {
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
        // Nothing is ready only in a circle: take the first that is left.
        let Some(at) = ready.or_else(|| order.iter().copied().find(|at| !done.contains(at))) else { break };
        let replaces =
            links.iter().filter(|(new, old)| *new == at && done.contains(old)).map(|(_, old)| *old).collect();
        steps.push(Step { record: at, replaces, retract: None });
        done.insert(at);
    }
    let replaced: BTreeSet<usize> = steps.iter().flat_map(|step| step.replaces.iter().copied()).collect();
    for step in &mut steps {
        let Some(record) = records.get(step.record) else { continue };
        step.retract = match record.standing {
            Standing::Deprecated => Some(format!("Deprecated, as {} says.", record.file)),
            Standing::Superseded if !replaced.contains(&step.record) => {
                Some(format!("Superseded, as {} says, by a record that was not imported.", record.file))
            }
            _ => None,
        };
    }
    steps
}

/// Pairs (new, old), from either side's word, without repeats.
fn links(records: &[Record]) -> BTreeSet<(usize, usize)> {
    let mut out = BTreeSet::new();
    for (at, record) in records.iter().enumerate() {
        for (other, target) in records.iter().enumerate().filter(|(other, _)| *other != at) {
            if record.supersedes.iter().any(|reference| target.is(reference)) {
                out.insert((at, other));
            }
            if record.superseded_by.iter().any(|reference| target.is(reference)) {
                out.insert((other, at));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interchange::adr::Reference;
    use proptest::prelude::*;

    fn record(number: u32, standing: Standing, by: &[u32]) -> Record {
        let reference = |number: &u32| Reference { file: None, number: Some(*number) };
        Record {
            file: format!("{number:04}.md"),
            line: 1,
            number: Some(number),
            title: String::new(),
            standing,
            date: None,
            statement: String::new(),
            reason: String::new(),
            supersedes: vec![],
            superseded_by: by.iter().map(reference).collect(),
        }
    }

    #[test]
    fn the_old_comes_before_the_new_whatever_their_numbers() {
        let records = [record(1, Standing::Accepted, &[]), record(5, Standing::Superseded, &[1])];
        let steps = plan(&records);
        assert_eq!(steps[0], Step { record: 1, replaces: vec![], retract: None });
        assert_eq!(steps[1], Step { record: 0, replaces: vec![1], retract: None });
    }

    #[test]
    fn what_nothing_here_replaced_is_taken_out() {
        let steps = plan(&[record(1, Standing::Superseded, &[9]), record(2, Standing::Deprecated, &[])]);
        assert!(steps[0].retract.as_ref().unwrap().contains("not imported"));
        assert!(steps[1].retract.as_ref().unwrap().contains("Deprecated"));
    }

    proptest! {
        #[test]
        fn every_record_is_planned_once_and_replaces_only_earlier_ones(
            by in proptest::collection::vec(proptest::collection::vec(0_u32..8, 0..3), 0..8)
        ) {
            let records: Vec<_> = by.iter().enumerate().map(|(at, by)| record(at as u32, Standing::Accepted, by)).collect();
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
