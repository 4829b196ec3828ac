//! The store's file: what it refuses, what survives, and what is removed.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt, sync::Arc};

use ergo::{
    domain::{
        CardId, ClaimId, EventKind, OpId,
        derive::local,
        roster::{Grant, Granted, Role},
    },
    store::{Act, ClaimFilter, EventDraft, InviteRow, Ref, Store, StoreError, StoreStep},
};

use super::{
    support::{Fixture, Plain, body, decision, fact, key, local_kind, on, open, scope, supersede, undo},
    team::Peer,
};

fn act(op: u8, drafts: Vec<EventDraft>) -> Act {
    Act {
        scope: scope("api"),
        identity: None,
        who: "ada".into(),
        agent: None,
        op: OpId([op; 16]),
        now: 1_700_000_000_000,
        drafts,
    }
}

#[test]
fn an_act_that_fails_leaves_nothing() {
    let mut f = Fixture::new();
    f.add(decision("port", "80"));
    let before = (f.store.reader().projection().unwrap(), f.store.reader().counts(0).unwrap());
    let mut beyond = decision("host", "ada");
    beyond.targets = vec![Ref::Draft(7)];
    let mut huge = decision("cache", "on");
    huge.body.reason = Some("x".repeat(40_000));
    let bad = [
        beyond,
        huge,
        EventDraft::new(EventKind::Retract, []),
        EventDraft::new(EventKind::Unknown("roster.add".into()), []),
    ];
    for (n, bad) in bad.into_iter().enumerate() {
        let drafts = vec![decision("other", "1"), bad];
        assert!(f.store.commit(act(200 + n as u8, drafts)).is_err());
        assert_eq!((f.store.reader().projection().unwrap(), f.store.reader().counts(0).unwrap()), before);
    }
}

#[test]
fn a_redacted_secret_is_in_no_byte_of_the_file_or_its_log() {
    const SECRET: &str = "hunter2xyzzy";
    let mut f = Fixture::new();
    let mut draft = decision("password", SECRET);
    draft.body.source = Some(format!("env:{SECRET}"));
    let other = f.add(decision("port", "80"));
    let mut refused = on(local_kind(local::REFUSED), &[other], "");
    refused.claim_kind = Some(ergo::domain::ClaimKind::Decision);
    refused.body = body("password", SECRET, true);
    refused.body.data = Some(format!(r#"{{"note":"{SECRET}"}}"#));
    let new_claim = f.act(vec![refused]).events[0];
    let mut settled = on(local_kind(local::SETTLED), &[new_claim], "");
    settled.successor = Some(Ref::Draft(0));
    let secret = f.act(vec![draft, settled]).created[0];
    let path = f.dir.path().join("ergo.db");
    let bytes = |path: &std::path::Path| {
        let mut all = Vec::new();
        for file in fs::read_dir(path.parent().unwrap()).unwrap() {
            let file = file.unwrap().path();
            if !file.to_string_lossy().ends_with("-shm") {
                all.extend(fs::read(file).unwrap());
            }
        }
        all
    };
    let found = |bytes: &[u8]| bytes.windows(SECRET.len()).any(|window| window.eq_ignore_ascii_case(SECRET.as_bytes()));
    assert!(found(&bytes(&path)), "it is there before");
    f.act(vec![on(EventKind::Redact, &[secret], "a pasted password")]);
    assert!(!found(&bytes(&path)), "gone while the store is open");
    let row = f.store.reader().claim(&secret).unwrap().unwrap();
    assert!(row.flags.redacted && row.statement.is_empty() && row.reason.is_none());
    assert!(f.store.reader().new_claim(&new_claim).unwrap().unwrap().flags.redacted);
    let report = f.store.check().unwrap();
    assert_eq!((report.problems, report.redacted), (vec![], 3));
    f.store.rebuild().unwrap();
    let found_again = f.store.reader().search(&ClaimFilter::default(), SECRET, 10, None).unwrap();
    assert_eq!(found_again.total, 0);
    drop(f.store);
    assert!(!found(&bytes(&path)));
}

#[test]
fn a_connection_that_read_an_earlier_text_index_reports_no_damage() {
    let mut f = Fixture::new();
    f.add(decision("port", "80"));
    let reader = f.store.open_reader().unwrap();
    assert_eq!(reader.search(&ClaimFilter::default(), "port", 10, None).unwrap().total, 1);
    // Enough writes for SQLite to merge parts of the index.
    for n in 0..200 {
        f.add(decision(&format!("subject{n}"), "on"));
    }
    assert_eq!(reader.check().unwrap().problems, Vec::<String>::new());
}

#[test]
fn a_copy_goes_on_in_a_chain_of_its_own() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    let copy = f.dir.path().join("copy.db");
    assert!(f.store.backup(&copy).unwrap() > 0);
    assert!(matches!(f.store.backup(&copy), Err(StoreError::Exists(_))), "never overwrites");
    let mut other = open(&copy);
    assert_eq!(other.reader().projection().unwrap(), f.store.reader().projection().unwrap());
    other.commit(act(101, vec![supersede(&[a], decision("port", "81"))])).unwrap();
    f.act(vec![supersede(&[a], decision("port", "82"))]);
    // Both copies continued from one event with one key. Nothing forks, and the two can sync again.
    let theirs: Vec<_> = other.reader().signed_events(0, 100).unwrap().into_iter().map(|(_, event)| event).collect();
    f.store.import(&theirs, 1).unwrap();
    other.import(&f.events(), 1).unwrap();
    assert_eq!(other.reader().projection().unwrap(), f.store.reader().projection().unwrap());
    let report = f.store.check().unwrap();
    assert_eq!((report.problems, report.notes), (vec![], vec![]));
    // The same file opened again goes on in its chain.
    drop(other);
    let mut other = open(&copy);
    other.commit(act(102, vec![decision("cache", "on")])).unwrap();
    assert_eq!(epochs(&other), 2);
}

fn epochs(store: &Store) -> usize {
    let events = store.reader().signed_events(0, 100).unwrap();
    events.into_iter().map(|(_, event)| event.header.epoch).collect::<BTreeSet<_>>().len()
}

#[test]
fn a_backup_that_is_copied_over_its_store_goes_on_in_a_chain_of_its_own() {
    let mut f = Fixture::new();
    f.add(decision("port", "80"));
    let (path, saved) = (f.dir.path().join("ergo.db"), f.dir.path().join("saved.db"));
    f.store.backup(&saved).unwrap();
    f.add(decision("host", "ada"));
    // What the peers have of this device.
    let later = f.events();
    drop(f.store);
    let inode = fs::metadata(&path).unwrap().ino();
    fs::write(&path, fs::read(&saved).unwrap()).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);

    let mut restored = open(&path);
    restored.commit(act(101, vec![decision("cache", "on")])).unwrap();
    restored.import(&later, 1).unwrap();
    let report = restored.check().unwrap();
    assert_eq!((report.events, report.problems, report.notes), (3, vec![], vec![]));
    drop(restored);
    let mut again = open(&path);
    again.commit(act(102, vec![decision("log", "json")])).unwrap();
    assert_eq!(epochs(&again), 2, "only the first opening began one");
}

#[test]
fn a_backup_is_of_one_moment_and_does_not_start_over_at_a_write() {
    let mut f = Fixture::new();
    f.add(decision("port", "80"));
    // Pages for two steps.
    let db = rusqlite::Connection::open(f.dir.path().join("ergo.db")).unwrap();
    db.execute("INSERT INTO settings VALUES ('filler', zeroblob(12000000))", []).unwrap();
    drop(db);
    let before = f.store.reader().projection().unwrap();
    let reader = f.store.open_reader().unwrap();
    let copy = f.dir.path().join("copy.db");
    let mut done = Vec::new();
    let mut write_between = |step: StoreStep| {
        if step.doing == "copying" {
            if done.is_empty() {
                f.add(decision("host", "ada"));
            }
            done.push(step.done);
        }
    };
    reader.backup_shown(&copy, &mut write_between).unwrap();
    assert!(done.len() > 1 && done.windows(2).all(|pair| pair[0] < pair[1]), "{done:?}");
    assert_eq!(open(&copy).reader().projection().unwrap(), before);
    assert_ne!(f.store.reader().projection().unwrap(), before);
}

#[test]
fn what_is_kept_beside_the_events_is_not_acknowledged_by_a_replaced_file() {
    let mut f = Fixture::new();
    f.add(decision("port", "80"));
    let team = f.found();
    let invite = InviteRow {
        hash: [7; 32],
        team,
        grant: Grant { role: Role::Writer, scopes: Granted::All },
        created_at: 1,
        expires_at: 2,
        redeemed_by: None,
        done: false,
    };
    f.store.write_invite(&invite).unwrap();
    let saved = f.dir.path().join("saved.db");
    f.store.backup(&saved).unwrap();
    fs::rename(&saved, f.dir.path().join("ergo.db")).unwrap();
    let (store, api) = (&mut f.store, scope("api"));
    let written = [
        store.write_invite(&invite),
        store.delete_invite(&invite.hash),
        store.note_contact("relay.example", "relay", 1),
        store.note_tried(&CardId([7; 32]), 1),
        store.put_judging_rate(1, "0.5"),
        store.begin_deep_stage(None),
        store.note_story_read(&api, 1),
        store.note_story_position(&api, Some(1)),
        store.put_calibration(&api, "words"),
    ];
    for (number, written) in written.into_iter().enumerate() {
        assert!(matches!(written, Err(StoreError::Replaced(_))), "{number}: {written:?}");
    }
    assert!(f.store.reader().invite(&invite.hash).unwrap().is_some());
}

#[test]
fn forged_and_foreign_events_are_refused_as_a_whole() {
    let mut f = Fixture::new();
    f.add(decision("port", "80"));
    let mut other = Fixture::new();
    let mut events = vec![f.events().remove(0)];
    let mut forged = events[0].clone();
    forged.signature[3] ^= 1;
    events.push(forged);
    assert!(matches!(other.store.import(&events, 1), Err(StoreError::Event(_))));
    assert_eq!(other.store.reader().counts(0).unwrap().events, 0);
    let mut f2 = Fixture::new();
    let a = f2.add(decision("port", "80"));
    f2.act(vec![on(local_kind(local::SNOOZE), &[a], "")]);
    let imported = other.store.import(&f2.events(), 1).unwrap();
    assert_eq!((imported.stored, imported.ignored), (1, 1));
}

#[test]
fn a_newer_schema_an_unreleased_one_and_a_foreign_file_are_refused() {
    let f = Fixture::new();
    let path = f.dir.path().join("ergo.db");
    drop(f.store);
    let db = rusqlite::Connection::open(&path).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    drop(db);
    let error = Store::open(&path, key(1), Arc::new(Plain)).err().unwrap().to_string();
    assert!(error.contains("99") && error.contains("newer ergo"), "{error}");
    for unreleased in [1, 10] {
        rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", unreleased).unwrap();
        let error = Store::open(&path, key(1), Arc::new(Plain)).err().unwrap().to_string();
        let says = |part: &str| error.contains(part);
        assert!(
            says(&format!("version {unreleased},")) && says("ergo export jsonl") && says("ergo import jsonl"),
            "{error}"
        );
    }
    let foreign = f.dir.path().join("notes.txt");
    fs::write(&foreign, "these are my notes, and they are not a database ".repeat(40)).unwrap();
    assert!(matches!(Store::open(&foreign, key(1), Arc::new(Plain)), Err(StoreError::NotAStore { .. })));
    let database = f.dir.path().join("other.db");
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    assert!(matches!(Store::open(&database, key(1), Arc::new(Plain)), Err(StoreError::NotAStore { .. })));
}

#[test]
fn damage_is_found() {
    let mut f = Fixture::new();
    let a = f.add(decision("port", "80"));
    f.add(fact("db.port", "5432", []));
    let path = f.dir.path().join("ergo.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute("UPDATE claims SET status = 1 WHERE id = ?1", [a.0]).unwrap();
    db.execute("UPDATE events SET signature = zeroblob(64) WHERE n = 2", []).unwrap();
    let problems = f.store.check().unwrap().problems;
    assert!(problems.iter().any(|line| line.contains(&a.to_hex()) && line.contains("--rebuild")), "{problems:?}");
    assert!(problems.iter().any(|line| line.contains("signature")), "{problems:?}");
    f.store.rebuild().unwrap();
    assert_eq!(f.store.check().unwrap().problems.len(), 1, "a rebuild mends what is derived, and no forgery");
}

#[test]
fn the_same_name_with_another_identity_is_another_scope() {
    let mut f = Fixture::new();
    let with = |op: u8, identity: Option<&str>| Act {
        identity: identity.map(str::to_owned),
        ..act(op, vec![decision(&format!("s{op}"), "1")])
    };
    let places: Vec<String> = [Some("git@a"), Some("git@b"), None, Some("git@b"), Some("git@c")]
        .into_iter()
        .enumerate()
        .map(|(n, identity)| f.store.commit(with(50 + n as u8, identity)).unwrap().scope.project)
        .collect();
    assert_eq!(places, ["api", "api-2", "api", "api-2", "api-3"]);
    assert_eq!(f.store.reader().scope_for(&scope("api"), Some("git@a")).unwrap(), scope("api"));
}

/// A rebuild goes part by part; what acts on a claim of one part may stand in the next.
#[test]
fn a_rebuild_of_many_events_changes_nothing() {
    let mut f = Fixture::new();
    let mut heads = [None; 2];
    let mut before: Option<(ClaimId, OpId)> = None;
    for n in 0..320 {
        let value = n.to_string();
        let set = f.add(fact("build", &value, heads[0]));
        let draft = decision("port", &value);
        let port = f.add(match heads[1] {
            Some(old) => supersede(&[old], draft),
            None => draft,
        });
        let other = f.add(decision(&format!("subject{n}"), "1"));
        f.act(vec![on(EventKind::Depend, &[other, before.map_or(port, |(claim, _)| claim)], "")]);
        if let Some((claim, op)) = before {
            f.act(vec![on(EventKind::Retract, &[claim], "wrong")]);
            if n % 3 == 0 {
                let drafts = undo(&f.store, &op);
                f.act(drafts);
            }
        }
        let op = f.store.reader().event(&other).unwrap().unwrap().op;
        (heads, before) = ([Some(set), Some(port)], Some((other, op)));
    }
    assert!(f.store.reader().counts(0).unwrap().events > 1_500, "more than one part");
    let known = f.store.reader().projection().unwrap();
    f.store.rebuild().unwrap();
    assert!(f.store.reader().projection().unwrap() == known);
    assert_eq!(f.store.check().unwrap().problems, Vec::<String>::new());
    let past = f.store.reader().past(None, f.now() - 1).unwrap();
    assert_eq!(past.fact_heads(&scope("api"), &ergo::domain::event::key_hash("build")).unwrap().len(), 1);
}
