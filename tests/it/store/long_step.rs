//! The progress reports of checks, rebuilds and backups.

use ergo::store::StoreStep;

use super::support::{Fixture, decision};

/// The steps of a task: those that are counted never go back, and end at their total.
fn steps(task: impl FnOnce(&mut dyn FnMut(StoreStep))) -> Vec<(&'static str, u64)> {
    let mut reported: Vec<StoreStep> = Vec::new();
    task(&mut |step| reported.push(step));
    assert!(
        reported.windows(2).all(|pair| pair[0].doing != pair[1].doing || pair[0].done <= pair[1].done),
        "{reported:?}"
    );
    assert!(reported.iter().all(|step| step.done <= step.total), "{reported:?}");
    let mut steps: Vec<(&'static str, u64)> = Vec::new();
    for step in reported {
        match steps.last_mut() {
            Some((doing, done)) if *doing == step.doing => *done = step.done,
            _ => steps.push((step.doing, step.done)),
        }
    }
    steps
}

#[test]
fn each_long_task_tells_its_steps_and_counts_what_is_done() {
    let mut fixture = Fixture::new();
    for batch in 0..5 {
        fixture.act((0..500).map(|n| decision(&format!("subject-{batch}-{n}"), "on")).collect());
    }
    let checked = steps(|mut progress| drop(fixture.store.reader().check_shown(&mut progress).unwrap()));
    assert_eq!(
        checked,
        [("checking the file", 0), ("checking signatures", 2_500), ("comparing claims and cards with the events", 0)]
    );
    let rebuilt = steps(|mut progress| fixture.store.rebuild_shown(&mut progress).unwrap());
    assert_eq!(rebuilt, [("dropping what was computed", 0), ("rebuilding claims and cards", 2_500)]);
    let file = fixture.dir.path().join("copy.db");
    let copied = steps(|mut progress| {
        fixture.store.reader().backup_shown(&file, &mut progress).unwrap();
    });
    let pages = std::fs::metadata(&file).unwrap().len() / 4096;
    assert_eq!(
        copied,
        [("copying", pages), ("checking the file", 0), ("checking signatures", 2_500), ("waiting for the disk", 0)]
    );
}
