//! The stored answers of language models about statements: kept by statement and normaliser, and removed with the
//! statement.

use ergo::domain::EventKind;

use super::support::{Fixture, decision, on, scope};

#[test]
fn a_reading_is_found_by_statement_and_normaliser() {
    let mut f = Fixture::new();
    assert_eq!(f.store.reader().reading("use blue", "a/1").unwrap(), None);
    f.store.put_reading("use blue", "a/1", "one").unwrap();
    f.store.put_reading("use blue", "b/1", "two").unwrap();
    let reader = f.store.reader();
    assert_eq!(reader.reading(" use\n blue ", "a/1").unwrap().as_deref(), Some("one"), "white space does not count");
    assert_eq!(reader.reading("use blue", "b/1").unwrap().as_deref(), Some("two"));
    assert_eq!((reader.reading("Use blue", "a/1").unwrap(), reader.reading("use blue", "c/1").unwrap()), (None, None));
    f.store.put_reading("use blue", "a/1", "three").unwrap();
    f.store.rebuild().unwrap();
    assert_eq!(f.store.reader().reading("use blue", "a/1").unwrap().as_deref(), Some("three"));
}

#[test]
fn a_redaction_drops_what_was_read_of_the_words() {
    const SECRET: &str = "hunter2xyzzy";
    let mut f = Fixture::new();
    let draft = decision("password", SECRET);
    let statement = draft.body.statement.clone().unwrap();
    let claim = f.add(draft);
    f.store.put_reading(&statement, "a/1", &format!("{{\"value\": \"{SECRET}\"}}")).unwrap();
    f.store.put_reading("another", "a/1", "kept").unwrap();
    f.store.put_reading_of(&claim, &statement, "b/1", SECRET).unwrap();
    assert_eq!(f.store.reader().reading(&statement, "b/1").unwrap().as_deref(), Some(SECRET));
    f.act(vec![on(EventKind::Redact, &[claim], "a secret")]);
    // An answer that comes after the redaction.
    f.store.put_reading_of(&claim, &statement, "b/1", SECRET).unwrap();
    for normaliser in ["a/1", "b/1"] {
        assert_eq!(f.store.reader().reading(&statement, normaliser).unwrap(), None);
    }
    assert_eq!(f.store.reader().reading("another", "a/1").unwrap().as_deref(), Some("kept"));
    drop(f.store);
    for file in std::fs::read_dir(f.dir.path()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes()));
    }
}

#[test]
fn subjects_are_counted_by_scope_while_their_claims_are_active() {
    let mut f = Fixture::new();
    assert_eq!(f.store.reader().claims_about(&scope("api"), "port").unwrap(), 0);
    let first = f.add(decision("port", "80"));
    f.add(decision("host", "ada"));
    let about =
        |f: &Fixture, project: &str, subject: &str| f.store.reader().claims_about(&scope(project), subject).unwrap();
    assert_eq!((about(&f, "api", "port"), about(&f, "api", "hos"), about(&f, "web", "port")), (1, 0, 0));
    f.act(vec![on(EventKind::Retract, &[first], "wrong")]);
    assert_eq!(about(&f, "api", "port"), 0);
}
