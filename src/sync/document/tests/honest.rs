//! Exchanges of honest peers.

use automerge::{Automerge, ReadDoc};

use super::*;
use crate::sync::{
    document::{ChunkUpdate, DocumentWriteError, genesis},
    preflight::MAX_ENTRIES_PER_CHANGE,
};

fn chunk_of(next: &NextDocument) -> Vec<u8> {
    match next.chunk.clone().unwrap() {
        ChunkUpdate::Append(bytes) | ChunkUpdate::Snapshot(bytes) => bytes,
    }
}

#[test]
fn every_document_begins_with_the_same_bytes() {
    let heads: Vec<String> = genesis().get_heads().iter().map(ToString::to_string).collect();
    // Documents with other first bytes cannot be merged: they may change only together with the protocol's number.
    assert_eq!(heads, ["c08fdfbe83b58e3629a07f15dbfa7b2f6340864d485400ebcea19e2c0ad05e7a"]);
    assert_eq!(genesis().save(), genesis().save());
    let (_, map) = genesis().get(automerge::ROOT, "e").unwrap().unwrap();
    assert_eq!(map, crate::sync::document::entries());
}

#[test]
fn two_documents_merge() {
    let (ours, theirs) = (entries(1, 0..300), entries(2, 0..7));
    let (a, b) = (holding(&ours), holding(&theirs));
    let (next_a, next_b) = exchange_once(&a, &b);
    assert_eq!(next_a.new.len(), 7);
    assert_eq!(next_b.new.len(), 300);
    assert_eq!(ids(&next_a.document), ids(&next_b.document));
    assert_eq!(next_a.document.summary().heads, next_b.document.summary().heads);
    assert_eq!(next_a.document.summary().entries, 307);
    // A second exchange brings nothing and stores nothing.
    let (again, _) = exchange_once(&next_a.document, &next_b.document);
    assert_eq!((again.chunk, again.new), (None, vec![]));
}

#[test]
fn entries_come_out_as_they_went_in() {
    let ours = entries(1, 0..3);
    let (a, b) = (holding(&ours), IndexDocument::empty());
    let ((mut from_a, first), (mut from_b, _)) = (a.begin_exchange(None, true), b.begin_exchange(None, false));
    let hello = from_b.receive(&first.unwrap()).unwrap();
    assert!(hello.new.is_empty() && !hello.converged);
    let sent = from_a.receive(&hello.reply.unwrap()).unwrap();
    let mut got = from_b.receive(&sent.reply.unwrap()).unwrap();
    got.new.sort_by_key(|entry| ours.iter().position(|ours| ours.id == entry.id));
    assert_eq!(got.new, ours);
    assert!(got.converged);
}

#[test]
fn a_kept_state_makes_the_next_meeting_shorter() {
    let a = entries(1, 0..200).iter().fold(IndexDocument::empty(), |document, entry| {
        document.with_entries(std::slice::from_ref(entry)).unwrap().document
    });
    let ((mut from_a, first), (mut from_b, _)) =
        (a.begin_exchange(None, true), IndexDocument::empty().begin_exchange(None, false));
    talk(&mut from_a, &mut from_b, [first, None]).unwrap();
    let (_, state_a) = from_a.finish(&a).unwrap();
    let (b, state_b) = from_b.finish(&IndexDocument::empty()).unwrap();
    let a = a.with_entries(&entries(1, 200..201)).unwrap().document;
    let (kept, fresh) = (a.begin_exchange(Some(&state_a), true).1.unwrap(), a.begin_exchange(None, true).1.unwrap());
    assert!(kept.len() * 2 < fresh.len(), "{} < {}", kept.len(), fresh.len());
    let ((mut from_a, first), (mut from_b, _)) =
        (a.begin_exchange(Some(&state_a), true), b.document.begin_exchange(Some(&state_b), false));
    talk(&mut from_a, &mut from_b, [first, None]).unwrap();
    assert_eq!(from_b.finish(&b.document).unwrap().0.new, [event(1, 200).id]);
    // A state of another document, or an invalid one, does no harm.
    let stranger = holding(&entries(3, 0..5));
    for state in [&state_a[..], b"nonsense"] {
        let ((mut from_a, first), (mut from_b, _)) =
            (stranger.begin_exchange(Some(state), true), a.begin_exchange(None, false));
        talk(&mut from_a, &mut from_b, [first, None]).unwrap();
        assert_eq!(from_a.finish(&stranger).unwrap().0.document.summary().entries, 206);
    }
}

#[test]
fn what_is_stored_is_loaded_again() {
    let first = IndexDocument::empty().with_entries(&entries(1, 0..600)).unwrap();
    let second = first.document.with_entries(&entries(2, 0..3)).unwrap();
    let chunks = [chunk_of(&first), chunk_of(&second)];
    let loaded = IndexDocument::load(&chunks).unwrap();
    assert_eq!(loaded.summary(), second.document.summary());
    assert_eq!(ids(&loaded), ids(&second.document));
    let whole = loaded.compacted();
    assert_eq!(IndexDocument::load(&[chunk_of(&whole)]).unwrap().summary(), loaded.summary());
    let third = whole.document.with_entries(&entries(3, 0..1)).unwrap();
    assert_eq!(IndexDocument::load(&[chunk_of(&whole), chunk_of(&third)]).unwrap().summary(), third.document.summary());
    assert_eq!(IndexDocument::load(&[]).unwrap().summary(), IndexDocument::empty().summary());
    // A missing, truncated or foreign chunk is an error and is not skipped.
    for bad in [&chunks[1..], &[chunks[0][..900].to_vec()], &[b"text".to_vec()], &[Automerge::new().save()]] {
        assert!(IndexDocument::load(bad).is_err());
    }
}

#[test]
fn many_increments_become_a_snapshot() {
    let mut document = IndexDocument::empty();
    let mut snapshots = 0;
    for seq in 0..510 {
        let next = document.with_entries(&entries(1, [seq])).unwrap();
        snapshots += usize::from(matches!(next.chunk, Some(ChunkUpdate::Snapshot(_))));
        document = next.document;
    }
    assert_eq!(snapshots, 1);
}

#[test]
fn an_event_that_arrived_by_two_ways_is_one_entry() {
    // Both sides added it from a bundle, and one of them was rebuilt besides.
    let shared = entries(1, 0..40);
    let (a, b) = (holding(&shared), IndexDocument::rebuild(shared.clone()).unwrap().document);
    let a = a.with_entries(&entries(2, 0..1)).unwrap().document;
    let (next_a, next_b) = exchange_once(&a, &b);
    assert_eq!((next_a.new.len(), next_b.new.len()), (0, 1));
    assert_eq!(ids(&next_a.document), ids(&next_b.document));
    assert_eq!(next_a.document.summary().entries, 41);
    assert_eq!(next_a.document.summary().ops, 2 + 40 + 41);
    assert_eq!(
        IndexDocument::load(&[chunk_of(&next_a.document.compacted())]).unwrap().summary(),
        next_a.document.summary()
    );
}

#[test]
fn a_rebuild_depends_on_the_events_alone() {
    let events = entries(1, 0..700);
    let mut turned: Vec<DocumentEntry> = events.iter().rev().cloned().collect();
    turned.push(events[5].clone());
    let (one, two) = (IndexDocument::rebuild(events.clone()).unwrap(), IndexDocument::rebuild(turned).unwrap());
    assert_eq!(one.document.summary(), two.document.summary());
    assert_eq!(one.chunk, two.chunk);
    let other = IndexDocument::rebuild(events[1..].to_vec()).unwrap();
    assert_ne!(other.document.summary().heads, one.document.summary().heads);
    let (merged, _) = exchange_once(&one.document, &other.document);
    assert_eq!(ids(&merged.document), ids(&one.document));
    // Later writes have another actor, or two such documents could not be merged.
    let (left, right) =
        (one.document.with_entries(&entries(2, 0..1)).unwrap(), two.document.with_entries(&entries(3, 0..1)).unwrap());
    assert_eq!(exchange_once(&left.document, &right.document).0.document.summary().entries, 702);
}

#[test]
fn two_sessions_of_one_document_both_succeed() {
    let main = holding(&entries(1, 0..20));
    let (b, c) = (holding(&entries(2, 0..3)), holding(&entries(3, 0..4)));
    let ((mut with_b, first), (mut from_b, _)) = (main.begin_exchange(None, true), b.begin_exchange(None, false));
    talk(&mut with_b, &mut from_b, [first, None]).unwrap();
    let ((mut with_c, first), (mut from_c, _)) = (main.begin_exchange(None, true), c.begin_exchange(None, false));
    talk(&mut with_c, &mut from_c, [first, None]).unwrap();
    let first = with_b.finish(&main).unwrap().0;
    let second = with_c.finish(&first.document).unwrap().0;
    assert_eq!((first.new.len(), second.new.len()), (3, 4));
    assert_eq!(second.document.summary().entries, 27);
    let base = chunk_of(&main.compacted());
    let loaded = IndexDocument::load(&[base, chunk_of(&first), chunk_of(&second)]).unwrap();
    assert_eq!(loaded.summary(), second.document.summary());
}

#[test]
fn a_session_of_more_than_the_document_has_brings_all_of_it() {
    let main = holding(&entries(1, 0..20));
    let ((mut ours, first), (mut theirs, _)) =
        (main.begin_exchange(None, true), holding(&entries(2, 0..3)).begin_exchange(None, false));
    talk(&mut ours, &mut theirs, [first, None]).unwrap();
    // In the meantime the document was loaded again, with fewer entries.
    let next = ours.finish(&holding(&entries(3, 0..1))).unwrap().0;
    assert_eq!((next.new.len(), next.document.summary().entries), (23, 24));
}

#[test]
fn a_session_that_was_cut_leaves_nothing_and_cannot_be_ended() {
    let (a, b) = (holding(&entries(1, 0..600)), IndexDocument::empty());
    let before = b.summary();
    let ((mut from_a, first), (mut from_b, _)) = (a.begin_exchange(None, true), b.begin_exchange(None, false));
    let hello = from_b.receive(&first.unwrap()).unwrap();
    let sent = from_a.receive(&hello.reply.unwrap()).unwrap().reply.unwrap();
    drop(from_b.receive(&sent[..sent.len() / 2]).unwrap_err());
    drop(from_b);
    assert_eq!(b.summary(), before);
}

#[test]
fn a_full_document_accepts_no_more() {
    let many: Vec<DocumentEntry> = entries(1, 0..1)
        .into_iter()
        .cycle()
        .take(20_001)
        .enumerate()
        .map(|(at, entry)| {
            let mut id = [0; 32];
            id[..8].copy_from_slice(&at.to_le_bytes());
            DocumentEntry { id: EventId(id), ..entry }
        })
        .collect();
    let full = IndexDocument::empty().with_entries(&many).unwrap_err();
    assert_eq!(full, DocumentWriteError::Full(20_001));
    let document = holding(&many[..600]);
    assert_eq!(document.doc.get_changes(&[]).len(), 1 + 600_usize.div_ceil(MAX_ENTRIES_PER_CHANGE));
    assert_eq!(document.with_entries(&many[..600]).unwrap().chunk, None, "known entries are left out");
}
