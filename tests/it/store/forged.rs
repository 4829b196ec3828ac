//! Forged events, and the checks that reject them.

use std::sync::{Arc, Mutex};

use ergo::{
    domain::{
        EventId, Norm,
        event::EventError,
        guard_report::{ComparedClaim, Evidence, PairCheck},
        norm::IndexTerms,
        roster::RosterChange,
    },
    store::{Store, StoreError, StoreOptions, SyncImport},
};

use super::{
    support::*,
    team::{Peer, all_after, pair},
};

/// [`Plain`], which notes every statement that the projector asks about.
struct Spy(Arc<Mutex<Vec<String>>>);

impl PairCheck for Spy {
    fn version(&self) -> u32 {
        Plain.version()
    }

    fn contradiction(&self, ours: ComparedClaim<'_>, theirs: ComparedClaim<'_>) -> Option<Evidence> {
        Plain.contradiction(ours, theirs)
    }

    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms {
        self.0.lock().unwrap().push(statement.to_owned());
        Plain.index_terms(norms, statement)
    }
}

#[test]
fn a_forged_event_never_reaches_the_projector_not_even_in_what_is_rolled_back() {
    let (mut a, mut b, team) = pair();
    for n in 0..200 {
        b.add(decision(&format!("subject{n}"), "1"));
    }
    let all = all_after(&b, team, &scope("api"), &[]);
    assert!(all.len() > 200, "so many that they are checked on another thread");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let path = a.dir.path().join("ergo.db");
    a.store =
        Store::open_with(&path, key(1), Arc::new(Spy(Arc::clone(&seen))), StoreOptions { durable: false }).unwrap();
    let import = |events| SyncImport { team, from: None, events, document: None, peer: None, now: 1_800_000_000_000 };
    let known: Vec<EventId> = a.events().iter().map(|event| event.id).collect();

    for place in [1, 70, 128, 199] {
        let mut events = all.clone();
        let victim =
            events.iter().position(|event| event.body.is_some() && !known.contains(&event.id)).unwrap() + place;
        let victim = victim.min(events.len() - 1);
        let statement = events[victim].body.as_ref().unwrap().open().unwrap().statement.unwrap();
        events[victim].signature[3] ^= 1;
        let forged = events[victim].id;
        seen.lock().unwrap().clear();
        match a.store.import_synced(&import(events)) {
            Err(StoreError::Event(error)) => {
                assert_eq!(error, EventError::BadSignature(forged));
                assert_eq!(error.to_string(), format!("the signature of event {} does not verify", forged.short()));
            }
            other => panic!("{other:?}"),
        }
        let seen = seen.lock().unwrap();
        assert!(!seen.contains(&statement), "event {place}, “{statement}”, was projected: {seen:?}");
        assert_eq!(a.events().len(), known.len(), "nothing of the import stays");
    }

    let done = a.store.import_synced(&import(all)).unwrap();
    assert_eq!(done.stored.len(), 200);
    assert!(
        seen.lock().unwrap().iter().any(|statement| statement.contains("subject199")),
        "the spy sees what is taken"
    );
    assert_eq!(a.store.check().unwrap().problems, Vec::<String>::new());
}

/// A store with one event in quarantine, its team and the event.
fn with_one_in_quarantine() -> (Fixture, EventId, EventId) {
    let (mut a, mut b, team) = pair();
    a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts: vec![] });
    b.add(decision("log", "json"));
    let late = all_after(&b, team, &scope("api"), &[]);
    let done = a.take(team, late);
    let [(waiting, _)] = done.quarantined[..] else { panic!("{done:?}") };
    (a, team, waiting)
}

#[test]
fn an_event_that_was_changed_in_quarantine_is_not_let_out() {
    let (mut a, team, waiting) = with_one_in_quarantine();
    let db = rusqlite::Connection::open(a.dir.path().join("ergo.db")).unwrap();
    db.execute("UPDATE quarantined SET signature = zeroblob(64)", []).unwrap();
    drop(db);
    let (_, done) = a.change(Some(team), RosterChange::Accept { events: vec![waiting] });
    assert_eq!(done.readmitted, []);
    assert!(a.events().iter().all(|event| event.id != waiting));
    let problems = a.store.check().unwrap().problems;
    let named = problems.iter().filter(|line| line.contains("in quarantine")).count();
    assert_eq!(named, 1, "the doctor names it once: {problems:?}");
}

#[test]
fn an_unreadable_event_in_quarantine_does_not_end_the_check() {
    let (a, _, waiting) = with_one_in_quarantine();
    let db = rusqlite::Connection::open(a.dir.path().join("ergo.db")).unwrap();
    db.execute("UPDATE quarantined SET header = x'00'", []).unwrap();
    db.execute("UPDATE claims SET status = 1", []).unwrap();
    drop(db);
    let problems = a.store.check().unwrap().problems;
    let named = |part: &str| problems.iter().filter(|line| line.contains(part)).count();
    assert_eq!(named(&format!("event {waiting} in quarantine")), 1, "{problems:?}");
    assert!(named("differs from the log") > 0, "what comes after it is checked, too: {problems:?}");
}
