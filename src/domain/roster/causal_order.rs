//! Sorts roster events in causal order.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::domain::{SignedEvent, id::EventId};

/// Returns the events whose causal past is complete, each after those that its author had seen.
///
/// An event that names a missing one is left out, and so is an event that does not follow its `prev` in the chain, with all events
/// that name either.
pub(super) fn in_causal_order(all: &BTreeMap<EventId, &SignedEvent>) -> Vec<EventId> {
    let mut waiting: HashMap<EventId, usize> = HashMap::new();
    let mut next: HashMap<EventId, Vec<EventId>> = HashMap::new();
    let mut ready: BTreeSet<EventId> = BTreeSet::new();
    for (id, event) in all {
        let header = &event.header;
        let follows = match header.prev {
            None => header.seq == 0,
            Some(prev) => all.get(&prev).is_none_or(|before| {
                let before = &before.header;
                before.author == header.author
                    && before.epoch == header.epoch
                    && before.seq.checked_add(1) == Some(header.seq)
            }),
        };
        if !follows {
            continue;
        }
        let named: BTreeSet<EventId> = header.prev.iter().chain(&header.seen).copied().collect();
        if named.is_empty() {
            ready.insert(*id);
        }
        waiting.insert(*id, named.len());
        for other in named {
            next.entry(other).or_default().push(*id);
        }
    }
    let mut order = Vec::with_capacity(all.len());
    while let Some(id) = ready.pop_first() {
        order.push(id);
        for later in next.get(&id).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(later) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(*later);
                }
            }
        }
    }
    order
}
