//! Finds the events without effect and the bodies that must be dropped.

use std::collections::{BTreeSet, HashMap};

use super::{EventSet, ProjectedEvent};
use crate::domain::{
    EventId, EventKind, Header,
    derive::{group_of, is_effective, is_local, is_local_kind, is_redact, is_undo, is_unstored, local},
};

impl EventSet<'_> {
    pub(super) fn find_undone(&mut self) {
        let mut memo: HashMap<EventId, bool> = HashMap::new();
        // Each event is decided after those that undo it, which are few. A stack replaces recursion.
        for root in self.events.keys() {
            let mut stack = vec![*root];
            while let Some(id) = stack.last().copied() {
                let undoers: Vec<EventId> = self
                    .events_targeting(&id)
                    .filter(|(_, item)| is_undo(&item.kind) && self.same_log(&id, item))
                    .map(|(from, _)| from)
                    .collect();
                let unknown: Vec<EventId> = undoers.iter().filter(|from| !memo.contains_key(from)).copied().collect();
                if unknown.is_empty() {
                    let undone = undoers.iter().map(|from| memo.get(from).copied().unwrap_or(true));
                    memo.insert(id, is_effective(&self.events[&id].kind, undone));
                    stack.pop();
                } else {
                    stack.extend(unknown);
                }
            }
        }
        self.undone = memo.into_iter().filter(|(_, effective)| !effective).map(|(id, _)| id).collect();
    }

    fn same_log(&self, id: &EventId, item: &ProjectedEvent<'_>) -> bool {
        self.events.get(id).is_some_and(|other| is_local(other.header) == is_local(item.header))
    }

    pub(super) fn find_redacted(&mut self) {
        let mut named = BTreeSet::new();
        for (id, item) in &self.events {
            let mut redactions = self.events_targeting(id).filter(|(_, from)| is_redact(&from.kind));
            if redactions.any(|(_, from)| is_local(from.header) == is_local(item.header)) {
                named.insert(*id);
            }
        }
        let mut all = named.clone();
        for (id, item) in &self.events {
            let EventKind::Local(kind) = &item.kind else { continue };
            let copies = match kind.as_str() {
                // These events quote the claims in their targets.
                local::EVIDENCE | local::FOUND | local::ASKED => {
                    // A found contradiction may be between two projects.
                    let anywhere = kind == local::FOUND;
                    item.header.targets.iter().any(|target| self.redacts(&named, item.header, target, anywhere))
                }
                // All refusals of a new claim, and the claim that it became, have the same text.
                local::REFUSED | local::HELD => {
                    self.new_claim_redacted(&named, item.header, group_of(*id, item.header))
                }
                _ => false,
            };
            if copies {
                all.insert(*id);
            }
        }
        for id in &all {
            if let Some(item) = self.events.get_mut(id) {
                item.body = None;
            }
        }
        all.extend(self.events.iter().filter(|(_, item)| item.body.is_none()).map(|(id, _)| *id));
        self.redacted = all;
    }

    fn redacts(&self, named: &BTreeSet<EventId>, header: &Header, target: &EventId, anywhere: bool) -> bool {
        self.events.get(target).is_some_and(|item| {
            (anywhere || header.scope.takes(&item.header.scope))
                && (named.contains(target)
                    || is_unstored(&item.kind)
                        && self.new_claim_redacted(named, item.header, group_of(*target, item.header)))
        })
    }

    fn new_claim_redacted(&self, named: &BTreeSet<EventId>, header: &Header, new_claim: EventId) -> bool {
        let became = self
            .events_targeting(&new_claim)
            .filter(|(_, item)| is_local_kind(&item.kind, local::SETTLED) && item.header.scope == header.scope);
        let mut same = std::iter::once(new_claim).chain(became.filter_map(|(_, item)| item.header.successor));
        same.any(|id| named.contains(&id) && self.events.get(&id).is_some_and(|item| item.header.scope == header.scope))
    }
}
