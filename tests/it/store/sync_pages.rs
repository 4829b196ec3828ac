//! Pages of events for peers: bounded in number and size, whatever the chains contain.

use std::collections::BTreeSet;

use ergo::{
    domain::{EventId, SignedEvent, event::MAX_EVENT, replica::ChainEnd},
    store::SyncPage,
};

use super::{
    support::*,
    team::{Peer, pair},
};

/// Reads the events of `api` that a peer with `vector` lacks, and returns the number in each page and all ids.
fn pages(f: &Fixture, team: EventId, vector: &[ChainEnd], limit: usize) -> (Vec<usize>, BTreeSet<EventId>) {
    let (mut sizes, mut ids, mut cursor) = (Vec::new(), BTreeSet::new(), None);
    loop {
        let SyncPage { events, next } =
            f.store.reader().events_after(&team, &scope("api"), vector, cursor.as_ref(), limit).unwrap();
        sizes.push(events.len());
        ids.extend(events.iter().map(|event| event.id));
        match next {
            Some(next) => cursor = Some(next),
            None => return (sizes, ids),
        }
    }
}

#[test]
fn a_page_holds_no_more_forks_than_other_events() {
    let (mut a, mut b, team) = pair();
    let mut twins = Vec::new();
    for n in 0..10 {
        let one = b.add(decision(&format!("s{n}"), "1"));
        let mut twin = b.events().into_iter().find(|event| event.id == one).unwrap();
        twin.header.clock.wall += 1;
        twins.push(SignedEvent::sign(twin.header, twin.body.take().unwrap(), &key(2)).unwrap());
    }
    a.pull(team, &b);
    a.take(team, twins);
    assert_eq!(a.store.reader().forks(&team).unwrap().len(), 10);
    // A peer with the same ends gets both events of each position, since it may lack either.
    let ends = a.store.reader().vector(&team, &scope("api")).unwrap();
    let (sizes, ids) = pages(&a, team, &ends, 3);
    assert!(sizes.iter().all(|size| *size <= 3), "{sizes:?}");
    assert_eq!((sizes.iter().sum::<usize>(), ids.len()), (20, 20));
    let (sizes, ids) = pages(&a, team, &[], 3);
    assert_eq!((sizes.iter().sum::<usize>(), ids.len()), (21, 21));
}

#[test]
fn a_page_of_large_events_is_shorter() {
    let (mut a, _, team) = pair();
    let drafts = (0..200).map(|n| {
        let mut draft = decision(&format!("s{n}"), "1");
        draft.body.reason = Some("r".repeat(MAX_EVENT - 2_000));
        draft
    });
    a.act(drafts.collect());
    let (sizes, ids) = pages(&a, team, &[], 1_000);
    assert!(sizes[0] < 150, "{sizes:?}");
    assert_eq!((sizes.iter().sum::<usize>(), ids.len()), (201, 201));
}
