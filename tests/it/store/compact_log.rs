//! Compaction of the local log: what leaves, what stays, and that nothing else changes.

use ergo::{
    domain::{Body, ClaimId, EventId, EventKind, derive::local},
    store::{ClaimFilter, CompactedLog, DataKind, EventDraft, EventTally, FileShrink, GuardOutcome},
};

use super::support::{Fixture, decision, local_kind, on, open, undo};

/// Later than every event of a fixture.
const LATER: u64 = 4_000_000_000_000;

fn notice(fixture: &mut Fixture, kind: &str, claim: ClaimId) -> EventId {
    fixture.act(vec![on(local_kind(kind), &[claim], "r")]).events[0]
}

fn chunk(fixture: &mut Fixture, text: &str) -> EventId {
    let body = Body {
        statement: Some(text.into()),
        data: Some(r#"{"path":"guide.md","first":1,"last":2}"#.into()),
        ..Body::default()
    };
    let draft = EventDraft { body, ..EventDraft::new(local_kind(local::CHUNK), []) };
    fixture.act(vec![draft]).events[0]
}

fn gone(fixture: &mut Fixture, chunks: &[EventId]) -> EventId {
    fixture.act(vec![on(local_kind(local::CHUNK_GONE), chunks, "r")]).events[0]
}

fn seen(fixture: &mut Fixture, notices: &[EventId]) -> EventId {
    fixture.act(vec![on(local_kind(local::SEEN), notices, "r")]).events[0]
}

fn ids(fixture: &Fixture) -> Vec<EventId> {
    fixture.events().iter().map(|event| event.id).collect()
}

/// Compacts everything that may leave, and answers which events did. Nothing that is derived changes, and the check finds nothing.
fn compact(fixture: &mut Fixture, before: u64) -> Vec<EventId> {
    let (events, projection) = (ids(fixture), fixture.store.reader().projection().unwrap());
    let planned = fixture.store.reader().compactable(before).unwrap();
    assert_eq!(fixture.store.compact(before).unwrap(), planned);
    assert_eq!(fixture.store.compact(before).unwrap(), CompactedLog::default(), "once is enough");
    let mut after = fixture.store.reader().projection().unwrap();
    let left = ids(fixture);
    let removed: Vec<EventId> = events.into_iter().filter(|id| !left.contains(id)).collect();
    assert_eq!(removed.len(), planned.events);
    after.undone.retain(|id| !removed.contains(id));
    assert_eq!(after, projection);
    for rebuilt in [false, true] {
        if rebuilt {
            fixture.store.rebuild().unwrap();
        }
        let report = fixture.store.check().unwrap();
        assert_eq!((report.problems, report.notes), (vec![], vec![]), "rebuilt: {rebuilt}");
    }
    removed
}

#[test]
fn what_was_seen_and_chunks_that_are_gone_leave_and_all_else_stays() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let forced = notice(&mut fixture, local::FORCED, claim);
    let looked = seen(&mut fixture, &[forced]);
    let waits = notice(&mut fixture, local::FORCED, claim);
    let (old, new) = (chunk(&mut fixture, "the old text"), chunk(&mut fixture, "the new text"));
    let out = gone(&mut fixture, &[old]);
    fixture.add(decision("cache", "on"));
    // The end of the local chain of the scope.
    let end = chunk(&mut fixture, "the last text");
    fixture.add(decision("queue", "on"));
    assert_eq!(compact(&mut fixture, LATER), [forced, looked, old, out]);
    let left = ids(&fixture);
    assert!([claim, waits, new, end].iter().all(|id| left.contains(id)));
    // The chain continues where it was.
    let next = notice(&mut fixture, local::RETRACTED, claim);
    let last = fixture.events().into_iter().find(|event| event.id == next).unwrap();
    assert_eq!((last.header.seq, last.header.prev), (7, Some(end)));
    assert_eq!(fixture.store.check().unwrap().notes, Vec::<String>::new());
}

#[test]
fn claims_that_were_stored_with_a_warning_are_still_found_by_it() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let (warned, forced) = (notice(&mut fixture, local::WARNED, claim), notice(&mut fixture, local::FORCED, claim));
    seen(&mut fixture, &[warned]);
    // One mark of both: without it the warning would wait again.
    seen(&mut fixture, &[warned, forced]);
    chunk(&mut fixture, "the end");
    fixture.add(decision("queue", "on"));
    let filter = ClaimFilter { verdict: Some(GuardOutcome::Warned), ..ClaimFilter::default() };
    assert_eq!(compact(&mut fixture, LATER), Vec::<EventId>::new());
    let page = fixture.store.reader().claims(&filter, 10, None).unwrap();
    assert_eq!(page.items.iter().map(|row| row.id).collect::<Vec<_>>(), [claim]);
}

#[test]
fn a_notice_that_nobody_has_seen_stays_since_it_may_wait_again() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let retracted = fixture.act(vec![on(EventKind::Retract, &[claim], "an agent did")]).events[0];
    notice(&mut fixture, local::RETRACTED, claim);
    let waiting = |fixture: &Fixture| fixture.store.reader().notices(None, false, 10, None).unwrap().total;
    assert_eq!(waiting(&fixture), 1);
    let reinstate = on(EventKind::Reinstate, &[claim], "it holds");
    fixture.act(vec![EventDraft { seen: vec![retracted], ..reinstate }]);
    chunk(&mut fixture, "the end");
    fixture.add(decision("queue", "on"));
    assert_eq!(waiting(&fixture), 0);
    assert_eq!(compact(&mut fixture, LATER), Vec::<EventId>::new());
    fixture.act(vec![on(EventKind::Retract, &[claim], "again")]);
    assert_eq!(waiting(&fixture), 1);
}

#[test]
fn what_is_young_stays() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let old = notice(&mut fixture, local::FORCED, claim);
    seen(&mut fixture, &[old]);
    let from = fixture.now() + 1;
    let young = notice(&mut fixture, local::FORCED, claim);
    seen(&mut fixture, &[young]);
    chunk(&mut fixture, "the end");
    fixture.add(decision("queue", "on"));
    assert_eq!(compact(&mut fixture, from).len(), 2);
    assert!(ids(&fixture).contains(&young));
}

#[test]
fn an_undo_and_what_it_undid_stay() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let notice = notice(&mut fixture, local::FORCED, claim);
    let marked = fixture.act(vec![on(local_kind(local::SEEN), &[notice], "r")]);
    let taken_back = undo(&fixture.store, &marked.op);
    fixture.act(taken_back);
    // Seen again: the notice waits no more, but the first mark is what the undo is about, and it speaks of the notice.
    seen(&mut fixture, &[notice]);
    let chunk_there = chunk(&mut fixture, "back again");
    let out = fixture.act(vec![on(local_kind(local::CHUNK_GONE), &[chunk_there], "r")]);
    let back = undo(&fixture.store, &out.op);
    fixture.act(back);
    chunk(&mut fixture, "the end");
    fixture.add(decision("queue", "on"));
    assert_eq!(compact(&mut fixture, LATER), Vec::<EventId>::new());
}

#[test]
fn a_mark_stays_while_one_of_its_notices_does() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let (one, other) = (notice(&mut fixture, local::FORCED, claim), notice(&mut fixture, local::FORCED, claim));
    seen(&mut fixture, &[one, other]);
    // Something that stays refers to one of them.
    fixture.act(vec![on(local_kind(local::REDACT), &[one], "r")]);
    chunk(&mut fixture, "the end");
    fixture.add(decision("queue", "on"));
    // Without the mark, `one` would wait for a person again.
    assert_eq!(compact(&mut fixture, LATER), Vec::<EventId>::new());
    assert!(fixture.store.reader().compactable(LATER).unwrap().events == 0);
}

#[test]
fn the_last_act_of_a_writer_stays_to_be_undone() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let notice = notice(&mut fixture, local::FORCED, claim);
    seen(&mut fixture, &[notice]);
    let before = fixture.store.reader().last_op(&fixture.store.device(), "ada", None, None).unwrap();
    compact(&mut fixture, LATER);
    assert_eq!(fixture.store.reader().last_op(&fixture.store.device(), "ada", None, None).unwrap(), before);
}

#[test]
fn cards_keep_their_events_and_the_shared_log_is_never_touched() {
    let mut fixture = Fixture::new();
    let held = fixture.add(decision("port", "80"));
    let refused = EventDraft { kind: local_kind(local::REFUSED), targets: vec![held.into()], ..decision("port", "81") };
    let refusal = fixture.act(vec![refused]).events[0];
    fixture.act(vec![on(local_kind(local::SNOOZE), &[refusal], "later")]);
    fixture.act(vec![on(local_kind(local::DISCARD), &[refusal], "no")]);
    fixture.act(vec![on(EventKind::Retract, &[held], "wrong")]);
    fixture.add(decision("queue", "on"));
    assert_eq!(compact(&mut fixture, LATER), Vec::<EventId>::new());
}

#[test]
fn a_gap_that_no_compaction_made_is_reported() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let notice = notice(&mut fixture, local::FORCED, claim);
    seen(&mut fixture, &[notice]);
    for text in ["one", "two", "the end"] {
        chunk(&mut fixture, text);
    }
    fixture.add(decision("queue", "on"));
    assert_eq!(compact(&mut fixture, LATER).len(), 2);
    // The same events in a store that compacted nothing.
    let mut other = Fixture::of(2);
    other.store.restore(&fixture.events(), 1).unwrap();
    let notes = other.store.check().unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("begins at sequence number 2 instead of 0")), "{notes:?}");
}

#[test]
fn the_file_shrinks_if_more_than_half_of_it_is_free_and_writes_go_on() {
    let mut fixture = Fixture::new();
    fixture.add(decision("port", "80"));
    assert!(matches!(fixture.store.shrink(None).unwrap(), FileShrink::Kept { .. }));
    let text = "a long text ".repeat(200);
    let chunks: Vec<EventId> = (0..400).map(|n| chunk(&mut fixture, &format!("{n} {text}"))).collect();
    gone(&mut fixture, &chunks);
    chunk(&mut fixture, "the end");
    fixture.add(decision("queue", "on"));
    assert_eq!(compact(&mut fixture, LATER).len(), 401);
    let sizes = fixture.store.reader().size_by_kind().unwrap();
    assert!(sizes[&DataKind::Free] > 800_000, "{sizes:?}");
    assert!(matches!(fixture.store.shrink(Some(1)).unwrap(), FileShrink::NoRoom { .. }));
    let FileShrink::Shrunk { before, after } = fixture.store.shrink(None).unwrap() else { panic!("it stayed") };
    assert!(after * 2 < before, "{before} {after}");
    // A file that got smaller unexpectedly is refused; this one is not.
    fixture.add(decision("cache", "on"));
    assert_eq!(fixture.store.check().unwrap().problems, Vec::<String>::new());
    let path = fixture.dir.path().join("ergo.db");
    drop(fixture.store);
    assert_eq!(open(&path).check().unwrap().problems, Vec::<String>::new());
}

#[test]
fn events_that_were_counted_once_are_counted_right_after_more_and_after_fewer() {
    let mut fixture = Fixture::new();
    let mut tally = EventTally::default();
    let mut counted = |fixture: &Fixture| {
        let reader = fixture.store.reader();
        let [kept, anew] = [reader.counts_since(&mut tally, 0), reader.counts(0)].map(|counts| counts.unwrap().events);
        assert_eq!(kept, anew);
        assert_eq!(kept, fixture.events().len());
        kept
    };
    assert_eq!(counted(&fixture), 0);
    let old = chunk(&mut fixture, "the old text");
    assert_eq!(counted(&fixture), 1);
    gone(&mut fixture, &[old]);
    chunk(&mut fixture, "the end");
    fixture.add(decision("queue", "on"));
    assert_eq!(counted(&fixture), 4);
    assert_eq!(compact(&mut fixture, LATER).len(), 2);
    assert_eq!(counted(&fixture), 2);
}

#[test]
fn the_kinds_of_data_add_up_to_the_file() {
    let mut fixture = Fixture::new();
    let claim = fixture.add(decision("port", "80"));
    let small = fixture.store.reader().size_by_kind().unwrap()[&DataKind::LocalLog];
    for n in 0..200 {
        notice(&mut fixture, local::FORCED, claim);
        chunk(&mut fixture, &format!("{n} {}", "text ".repeat(100)));
    }
    fixture.store.shrink(None).unwrap();
    let path = fixture.dir.path().join("ergo.db");
    drop(fixture.store);
    let store = open(&path);
    let sizes = store.reader().size_by_kind().unwrap();
    assert_eq!(sizes.values().sum::<u64>(), store.reader().size().unwrap(), "{sizes:?}");
    let in_use = store.reader().size_in_use().unwrap();
    assert_eq!(in_use.values().sum::<u64>(), store.reader().size().unwrap(), "{in_use:?}");
    assert_eq!(in_use[&DataKind::Free], sizes[&DataKind::Free], "{in_use:?} {sizes:?}");
    assert!(sizes[&DataKind::LocalLog] > small + 100_000, "{small} {sizes:?}");
    assert!(sizes[&DataKind::LocalLog] > 50 * sizes[&DataKind::SharedLog], "{sizes:?}");
}
