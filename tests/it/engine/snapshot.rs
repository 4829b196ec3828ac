//! A scope on one page.

use ergo::api::{Snapshot, SnapshotQuery};

use super::*;

fn snapshot(bed: &Bed, change: impl FnOnce(&mut SnapshotQuery)) -> Snapshot {
    let mut query = SnapshotQuery { org_id: "acme".into(), project: "api".into(), ..SnapshotQuery::default() };
    change(&mut query);
    bed.engine.snapshot(&query).unwrap()
}

#[test]
fn the_last_page_is_shown_at_once_and_says_that_something_changed() {
    let bed = Bed::new();
    let old = bed.remember("We deploy from laptops", "three people");
    stored(bed.engine.remember(fact("The port of the store is 5432")).unwrap());
    let first = snapshot(&bed, |_| ());
    assert_eq!((first.claims, first.shown, first.stale), (2, 2, false));
    assert!(first.snapshot.starts_with("# acme/api: 2 in force\n\n## Decisions\n\n- We deploy from laptops ("));
    assert!(first.tokens > 10 && first.snapshot.contains(&old.short()));
    let then = bed.clock.load(Ordering::Relaxed);
    bed.clock.fetch_add(1000, Ordering::Relaxed);
    stored(bed.supersede(old, "We deploy from the CI server", "laptops drifted"));
    let again = snapshot(&bed, |_| ());
    assert_eq!((again.snapshot.as_str(), again.stale), (first.snapshot.as_str(), true));
    let new = snapshot(&bed, |query| query.rebuild = true);
    assert!(new.snapshot.contains("CI server") && !new.snapshot.contains("laptops") && !new.stale, "{new:?}");
    assert!(!snapshot(&bed, |_| ()).stale);
    let past = snapshot(&bed, |query| query.as_of = Some(then));
    assert_eq!(past.snapshot, first.snapshot);
}

#[test]
fn what_was_redacted_is_not_even_on_the_last_page() {
    let bed = Bed::new();
    let secret = bed.remember("The token is hunter2", "oops");
    assert!(snapshot(&bed, |_| ()).snapshot.contains("hunter2"));
    bed.engine.redact(on(secret, "a secret")).unwrap();
    assert!(!snapshot(&bed, |_| ()).snapshot.contains("hunter2"));
}

#[test]
fn an_empty_scope_has_a_page_and_a_budget_has_bounds() {
    let bed = Bed::new();
    assert_eq!(snapshot(&bed, |_| ()).snapshot, "# acme/api: 0 in force\n");
    for tokens in [0, 99, 20_001] {
        let query = SnapshotQuery {
            org_id: "acme".into(),
            project: "api".into(),
            tokens: Some(tokens),
            ..SnapshotQuery::default()
        };
        assert_eq!(bed.engine.snapshot(&query).unwrap_err().field.as_deref(), Some("tokens"));
    }
}
