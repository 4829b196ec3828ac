//! A scope on one page.

use ergo::{
    api::{Snapshot, SnapshotQuery},
    domain::Scope,
    infer::{FakeModels, InferError},
};

use super::*;

fn snapshot(fixture: &Fixture, change: impl FnOnce(&mut SnapshotQuery)) -> Snapshot {
    let mut query = SnapshotQuery { org_id: "acme".into(), project: "api".into(), ..SnapshotQuery::default() };
    change(&mut query);
    fixture.engine.snapshot(&query).unwrap()
}

#[test]
fn the_last_page_is_shown_at_once_and_says_that_something_changed() {
    let fixture = Fixture::new();
    let old = fixture.remember("We deploy from laptops", "three people");
    stored(fixture.engine.remember(fact("The port of the store is 5432")).unwrap());
    let first = snapshot(&fixture, |_| ());
    assert_eq!((first.claims, first.shown, first.stale), (2, 2, false));
    assert!(first.snapshot.starts_with("# acme/api: 2 active claims\n\n## Decisions\n\n- We deploy from laptops ("));
    assert!(first.tokens > 10 && first.snapshot.contains(&old.short()));
    let then = fixture.clock.load(Ordering::Relaxed);
    fixture.clock.fetch_add(1000, Ordering::Relaxed);
    stored(fixture.supersede(old, "We deploy from the CI server", "laptops drifted"));
    let again = snapshot(&fixture, |_| ());
    assert_eq!((again.snapshot.as_str(), again.stale), (first.snapshot.as_str(), true));
    let new = snapshot(&fixture, |query| query.rebuild = true);
    assert!(new.snapshot.contains("CI server") && !new.snapshot.contains("laptops") && !new.stale, "{new:?}");
    assert!(!snapshot(&fixture, |_| ()).stale);
    let past = snapshot(&fixture, |query| query.as_of = Some(then));
    assert_eq!(past.snapshot, first.snapshot);
}

#[test]
fn what_was_redacted_is_not_even_on_the_last_page() {
    let fixture = Fixture::new();
    let secret = fixture.remember("The token is hunter2", "oops");
    assert!(snapshot(&fixture, |_| ()).snapshot.contains("hunter2"));
    fixture.engine.redact(on(secret, "a secret")).unwrap();
    assert!(!snapshot(&fixture, |_| ()).snapshot.contains("hunter2"));
}

#[test]
fn an_expired_claim_is_not_on_the_page_after_its_last_day() {
    let fixture = Fixture::new();
    let until = Qualifiers { valid_until: Some("2026-03-01".into()), ..Qualifiers::default() };
    let freeze = RememberRequest { qualifiers: until, ..request("Deployments are frozen", "the audit") };
    stored(fixture.engine.remember(freeze).unwrap());
    let last_day = fixture.clock.load(Ordering::Relaxed);
    let page = snapshot(&fixture, |_| ());
    assert!(page.snapshot.contains("frozen") && page.claims == 1, "{page:?}");
    fixture.clock.fetch_add(86_400_000, Ordering::Relaxed);
    let page = snapshot(&fixture, |_| ());
    assert!(!page.snapshot.contains("frozen") && page.claims == 0 && !page.stale, "{page:?}");
    let past = snapshot(&fixture, |query| query.as_of = Some(last_day));
    assert!(past.snapshot.contains("frozen"), "{past:?}");
}

#[test]
fn an_empty_scope_has_a_page_and_a_budget_has_bounds() {
    let fixture = Fixture::new();
    assert_eq!(snapshot(&fixture, |_| ()).snapshot, "# acme/api: 0 active claims\n");
    for tokens in [0, 99, 20_001] {
        let query = SnapshotQuery {
            org_id: "acme".into(),
            project: "api".into(),
            tokens: Some(tokens),
            ..SnapshotQuery::default()
        };
        assert_eq!(fixture.engine.snapshot(&query).unwrap_err().field.as_deref(), Some("tokens"));
    }
}

const GATEWAY: [&str; 3] = [
    "The gateway must be written in Rust",
    "The gateway must listen on port 8080",
    "The gateway must keep logs for 30 days",
];

/// A page about one subject, of a scope with a language model.
fn led(says: impl Fn(&str) -> Result<Vec<f32>, InferError> + Send + Sync + 'static) -> Fixture {
    let fixture = Fixture::new();
    for statement in GATEWAY {
        fixture.remember(statement, "measured");
    }
    let models = FakeModels::new().answering(move |prompt, _| says(&prompt.text));
    fixture.reopen_with_models(Guard::default(), Arc::new(models))
}

fn lines(page: &Snapshot) -> Vec<&str> {
    page.snapshot.lines().filter_map(|line| line.strip_prefix("- ")?.split(" (").next()).collect()
}

fn scope() -> Scope {
    Scope { org_id: "acme".into(), project: "api".into() }
}

#[test]
fn a_language_model_says_which_claims_come_first_and_no_page_waits_for_it() {
    let asked = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&asked);
    let fixture = led(move |text| {
        count.fetch_add(1, Ordering::Relaxed);
        Ok(if text.contains("Rust") { vec![-0.1, -3.0] } else { vec![-3.0, -0.1] })
    });
    let [rust, port, logs] = GATEWAY;
    let first = snapshot(&fixture, |_| ());
    assert_eq!((lines(&first), first.led), (vec![logs, port, rust], 0), "the newest first");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    assert!(fixture.engine.snapshot_waits(&scope()));
    assert_eq!(fixture.engine.lead_snapshot(&scope()).unwrap(), 1);
    let page = snapshot(&fixture, |_| ());
    assert_eq!((lines(&page), page.led, page.stale), (vec![rust, logs, port], 1, false));
    // The model is asked again only about changed claims.
    snapshot(&fixture, |query| query.rebuild = true);
    assert_eq!(fixture.engine.lead_snapshot(&scope()).unwrap(), 0);
    assert!(!fixture.engine.snapshot_waits(&scope()));
    fixture.remember("The gateway must retry 3 times", "measured");
    let page = snapshot(&fixture, |query| query.rebuild = true);
    assert_eq!(page.led, 0, "it was asked about other claims");
    assert_eq!(fixture.engine.lead_snapshot(&scope()).unwrap(), 1);
    assert_eq!(lines(&snapshot(&fixture, |_| ()))[0], rust);
}

#[test]
fn whatever_the_model_says_the_page_has_stored_text_alone() {
    for answer in [Ok(vec![f32::NAN, 0.0]), Ok(vec![0.0]), Ok(Vec::new()), Err(InferError::Refused("no".into()))] {
        let fixture = led(move |_| answer.clone());
        let first = snapshot(&fixture, |_| ());
        fixture.engine.lead_snapshot(&scope()).unwrap();
        let page = snapshot(&fixture, |query| query.rebuild = true);
        assert_eq!((&page.snapshot, page.led), (&first.snapshot, 0));
    }
}
