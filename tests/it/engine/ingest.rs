//! Ingested files: their chunks are found, are not claims, and follow changes of the file.

use std::collections::HashSet;

use ergo::{
    api::{IngestRequest, Ingested, IngestedQuery, RecallAnswer, RecallRequest, RecallVerdict, WhyRequest},
    domain::Scope,
    infer::{FakeModels, InferError, ModelRole},
    recall::chunking::{TextFormat, chunks},
    store::ChunkMark,
};
use proptest::{prelude::*, test_runner::Config};

use super::*;

const GUIDE: &str = "# Backups\n\nThe nightly backup goes to the vault in Bonn.\n\n# Printing\n\nThe office printer is called Gutenberg.\n";

fn fixture() -> Fixture {
    Fixture::new().reopen_with_models(
        Guard::default(),
        Arc::new(FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text)))),
    )
}

fn take_in(fixture: &Fixture, path: &str, text: Option<&str>) -> Ingested {
    let request = IngestRequest { caller: caller(), path: path.into(), text: text.map(str::to_owned), share: false };
    fixture.engine.ingest(&request).unwrap()
}

fn recall(fixture: &Fixture, query: &str, as_of: Option<u64>) -> RecallAnswer {
    let request = RecallRequest {
        org_id: "acme".into(),
        project: "api".into(),
        query: query.into(),
        as_of,
        ..RecallRequest::default()
    };
    fixture.engine.recall(&request).unwrap()
}

fn found(fixture: &Fixture, query: &str) -> Vec<(String, usize, String)> {
    let answer = recall(fixture, query, None);
    answer.references.into_iter().map(|found| (found.path, found.first, found.text)).collect()
}

fn counts(done: &Ingested) -> (usize, usize, usize, usize) {
    (done.chunks, done.added, done.kept, done.retired)
}

#[test]
fn a_retry_is_answered_as_the_first_time_whatever_came_between() {
    let fixture = fixture();
    let first = IngestRequest {
        caller: Caller { op_id: Some(op(4)), ..caller() },
        path: "docs/guide.md".into(),
        text: Some(GUIDE.into()),
        share: false,
    };
    let done = fixture.engine.ingest(&first).unwrap();
    take_in(&fixture, "docs/guide.md", Some("# Backups\n\nThe nightly backup goes to the vault in Kiel.\n"));
    assert_eq!(fixture.engine.ingest(&first).unwrap(), done);
    assert!(found(&fixture, "what is the office printer called").is_empty(), "nothing was done");
}

#[test]
fn a_piece_is_found_with_its_line_and_is_no_answer_to_why() {
    let fixture = fixture();
    assert_eq!(counts(&take_in(&fixture, "docs/guide.md", Some(GUIDE))), (2, 2, 0, 0));
    while fixture.engine.fill_vectors().unwrap() > 0 {}
    let piece = "# Backups\n\nThe nightly backup goes to the vault in Bonn.".to_owned();
    assert_eq!(found(&fixture, "where does the nightly backup go"), [("docs/guide.md".to_owned(), 1, piece)]);
    let answer = recall(&fixture, "where does the nightly backup go", None);
    assert!(answer.hits.is_empty() && answer.verdict == RecallVerdict::Reference, "{answer:?}");
    assert!(answer.notes.iter().any(|note| note.contains("but an ingested file does")), "{answer:?}");
    assert!(answer.references[0].cosine.is_some(), "it has a vector");
    let why = WhyRequest {
        org_id: "acme".into(),
        project: "api".into(),
        question: "why does the nightly backup go to the vault".into(),
        ..WhyRequest::default()
    };
    let why = fixture.engine.why(&why).unwrap();
    assert!(why.answer.is_none() && why.others.is_empty(), "{why:?}");
    assert!(found(&fixture, "how do vans refuel").is_empty(), "a stranger is not shown");
    // The ingested file creates no claim, no card, and no act that could be undone by accident.
    let counts = fixture.engine.counts().unwrap();
    assert_eq!((counts.claims, counts.open_cards), (0, 0));
    assert!(fixture.engine.undo(UndoRequest { caller: caller(), ..UndoRequest::default() }).is_err());
    assert_eq!(fixture.engine.check_store().unwrap().problems, Vec::<String>::new());
}

#[test]
fn ingesting_again_duplicates_nothing_and_removes_deleted_text() {
    let fixture = fixture();
    take_in(&fixture, "docs/guide.md", Some(GUIDE));
    while fixture.engine.fill_vectors().unwrap() > 0 {}
    let then = fixture.clock.load(Ordering::Relaxed);
    fixture.clock.fetch_add(1000, Ordering::Relaxed);
    assert_eq!(counts(&take_in(&fixture, "docs/guide.md", Some(GUIDE))), (2, 0, 2, 0));
    let changed = GUIDE.replace("Bonn", "Mainz");
    assert_eq!(counts(&take_in(&fixture, "docs/guide.md", Some(&changed))), (2, 1, 1, 1));
    assert!(found(&fixture, "nightly backup vault")[0].2.contains("Mainz"));
    assert!(found(&fixture, "Bonn").is_empty());
    // A chunk that only moved keeps its vector.
    let moved = format!("Intro.\n\n{changed}");
    assert_eq!(counts(&take_in(&fixture, "docs/guide.md", Some(&moved))), (3, 3, 0, 2));
    let waiting = fixture.engine.counts().unwrap().unembedded;
    assert_eq!(waiting.chunks, 2, "the changed one, which had none yet, and the new one");
    assert_eq!(found(&fixture, "nightly backup vault")[0].1, 3);
    assert_eq!(counts(&take_in(&fixture, "docs/guide.md", None)), (0, 0, 0, 3));
    assert!(found(&fixture, "nightly backup vault").is_empty());
    assert!(recall(&fixture, "nightly backup vault", Some(then)).references[0].text.contains("Bonn"), "as it was");
    assert_eq!(fixture.engine.check_store().unwrap().problems, Vec::<String>::new());
}

fn share(fixture: &Fixture, path: &str, text: Option<&str>) -> Ingested {
    let request = IngestRequest { caller: caller(), path: path.into(), text: text.map(str::to_owned), share: true };
    fixture.engine.ingest(&request).unwrap()
}

#[test]
fn sharing_moves_a_file_to_the_shared_log_and_nothing_else_changes_what_is_shared() {
    let fixture = fixture();
    take_in(&fixture, "docs/guide.md", Some(GUIDE));
    assert_eq!(recall(&fixture, "nightly backup", None).references[0].shared_by, None);
    assert_eq!(
        counts(&share(&fixture, "docs/guide.md", Some(GUIDE))),
        (2, 2, 0, 2),
        "the pieces of this machine give way"
    );
    assert_eq!(counts(&share(&fixture, "docs/guide.md", Some(GUIDE))), (2, 0, 2, 0));
    let shared = recall(&fixture, "nightly backup", None).references;
    assert_eq!((shared.len(), shared[0].shared_by.as_deref()), (1, Some("ada")), "{shared:?}");
    // The working copy of this machine is its own matter: what is shared stays, and stands once.
    let changed = GUIDE.replace("Bonn", "Mainz");
    assert_eq!(counts(&take_in(&fixture, "docs/guide.md", Some(&changed))), (2, 1, 1, 0));
    let both = found(&fixture, "nightly backup vault");
    assert_eq!(both.len(), 2, "{both:?}");
    assert_eq!(counts(&take_in(&fixture, "docs/guide.md", None)), (0, 0, 0, 1));
    assert!(found(&fixture, "nightly backup vault")[0].2.contains("Bonn"));
    assert_eq!(counts(&share(&fixture, "docs/guide.md", Some(&changed))), (2, 1, 1, 1));
    assert!(found(&fixture, "nightly backup vault")[0].2.contains("Mainz") && found(&fixture, "Bonn").is_empty());
    assert_eq!(counts(&share(&fixture, "docs/guide.md", None)), (0, 0, 0, 2));
    assert!(found(&fixture, "nightly backup vault").is_empty());
    assert!(
        fixture.engine.undo(UndoRequest { caller: caller(), ..UndoRequest::default() }).is_err(),
        "it is no act to be undone by chance"
    );
    assert_eq!(fixture.engine.check_store().unwrap().problems, Vec::<String>::new());
}

#[test]
fn scopes_do_not_mix_and_files_are_listed() {
    let fixture = fixture();
    take_in(&fixture, "docs/guide.md", Some(GUIDE));
    take_in(&fixture, "docs/empty.md", Some("\n \n"));
    let elsewhere = Caller { project: "web".into(), ..caller() };
    let other = IngestRequest {
        caller: elsewhere,
        path: "x.txt".into(),
        text: Some("The nightly backup is ours".into()),
        share: false,
    };
    fixture.engine.ingest(&other).unwrap();
    let query = IngestedQuery { org_id: "acme".into(), project: "api".into(), under: None };
    let listed = fixture.engine.ingested(&query).unwrap();
    assert_eq!((listed.chunks, listed.items.len(), listed.items[0].path.as_str()), (2, 1, "docs/guide.md"));
    let none = IngestedQuery { under: Some("src/".into()), ..query };
    assert!(fixture.engine.ingested(&none).unwrap().items.is_empty());
    assert!(found(&fixture, "nightly backup").iter().all(|(path, ..)| path == "docs/guide.md"));
}

#[test]
fn what_is_wrong_with_a_file_is_named() {
    let fixture = fixture();
    for (path, text, field) in [
        ("", Some("x".to_owned()), "path"),
        ("a\nb", Some("x".to_owned()), "path"),
        (&"x".repeat(2_000), Some("x".to_owned()), "path"),
        ("big.txt", Some("x".repeat(ergo::api::MAX_FILE + 1)), "text"),
    ] {
        let error = fixture
            .engine
            .ingest(&IngestRequest { caller: caller(), path: path.to_owned(), text, share: false })
            .unwrap_err();
        assert_eq!(error.field.as_deref(), Some(field), "{error}");
    }
}

#[test]
fn without_an_embedder_words_find_and_what_waits_is_reported_and_caught_up() {
    let dead = FakeModels::new()
        .embedding(|_| Err(InferError::Crashed { role: ModelRole::Embedder, why: "ended with signal 11".into() }));
    let fixture = Fixture::new().reopen_with_models(Guard::default(), Arc::new(dead));
    fixture.remember("Doors are blue", "taste");
    take_in(&fixture, "docs/guide.md", Some(GUIDE));
    assert_eq!(fixture.engine.fill_vectors().unwrap(), 0);
    assert_eq!(found(&fixture, "nightly backup vault").len(), 1);
    let waiting = fixture.engine.counts().unwrap().unembedded;
    assert_eq!((waiting.claims, waiting.chunks), (1, 2));
    assert!(waiting.problem.unwrap().contains("signal 11"));
    let well = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text)));
    let fixture = fixture.reopen_with_models(Guard::default(), Arc::new(well));
    while fixture.engine.fill_vectors().unwrap() > 0 {}
    let waiting = fixture.engine.counts().unwrap().unembedded;
    assert_eq!((waiting.claims, waiting.chunks, waiting.problem), (0, 0, None));
}

proptest! {
    #![proptest_config(Config { cases: 16, failure_persistence: None, ..Config::default() })]

    /// For any earlier and current content of a file, exactly the current content is stored.
    #[test]
    fn what_is_in_force_is_what_the_file_says(versions in prop::collection::vec("([a-d# ]{1,12}\n{1,3}){0,12}", 1..4)) {
        let fixture = fixture();
        for text in &versions {
            let done = take_in(&fixture, "x.md", Some(text));
            let again = take_in(&fixture, "x.md", Some(text));
            prop_assert_eq!((again.added, again.retired, again.kept), (0, 0, done.added + done.kept));
        }
        let scope = Scope::new("acme", "api").unwrap();
        let device = fixture.engine.device();
        let stored = fixture.engine.with_reader(|reader| reader.chunks_of(&scope, "x.md", &device)).unwrap();
        let found = chunks(versions.last().unwrap(), TextFormat::of("x.md"));
        let marks: HashSet<_> = found.iter().map(|chunk| ChunkMark::new(chunk.first, chunk.last, chunk.text)).collect();
        prop_assert_eq!(stored.len(), marks.len());
        prop_assert_eq!(stored.into_iter().map(|chunk| chunk.mark).collect::<HashSet<_>>(), marks);
        prop_assert_eq!(fixture.engine.check_store().unwrap().problems, Vec::<String>::new());
    }
}
