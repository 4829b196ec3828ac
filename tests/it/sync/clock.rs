//! A device whose clock is ten days wrong: its events wait, this is reported, and they are not lost.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use ergo::{
    domain::{EventId, roster::Role},
    sync::session::{SessionCommand, SessionPhase, SessionView},
};

use super::nodes::{Node, connect};

const TEN_DAYS: i64 = 10 * 86_400_000;

/// Runs a session until each side has the expected events. If some are in quarantine, the two never report that they
/// have the same.
async fn talk(
    a: &Node,
    b: &Node,
    team: EventId,
    expected: [fn(&SessionView) -> bool; 2],
) -> (SessionView, SessionView) {
    a.flush(team).await;
    b.flush(team).await;
    let (mut x, mut y) = connect(a, b, team);
    let views = (x.until(expected[0]).await, y.until(expected[1]).await);
    x.commands.send(SessionCommand::Stop).unwrap();
    drop((x.end().await, y.end().await));
    views
}

fn is_live(view: &SessionView) -> bool {
    view.phase == SessionPhase::Live
}

#[tokio::test]
async fn events_dated_ten_days_ahead_are_quarantined_and_both_see_why() {
    let away = Arc::new(AtomicI64::new(0));
    let (a, b) = (Node::with_clock(71, &away), Node::new(72));
    let team = b.create_team(&["api"]);
    b.admit(team, &a, Role::Writer, None);
    a.fact("api", "before", "dated right");
    away.store(TEN_DAYS, Ordering::Relaxed);
    a.fact("api", "ahead", "dated in ten days");
    b.fact("api", "other", "by the other");
    let waits: [fn(&SessionView) -> bool; 2] = [
        |x| is_live(x) && x.received == 1 && x.not_accepted > 0,
        |y| is_live(y) && y.received == 1 && y.quarantined > 0,
    ];
    let (x, y) = talk(&a, &b, team, waits).await;
    assert_eq!(y.quarantined, 1, "{y:?}");
    assert!(
        y.clock_skew_ms > TEN_DAYS - 60_000 && x.clock_skew_ms < 60_000 - TEN_DAYS,
        "both see it: {} {}",
        y.clock_skew_ms,
        x.clock_skew_ms
    );
    assert_eq!((a.set(team, "api").0, b.set(team, "api").0), (3, 2));
    assert_eq!((x.not_accepted, y.not_accepted), (1, 0), "whoever brought it hears that it waits there: {x:?}");
    let waiting = b.engine.with_reader(|r| r.quarantined_count(&team)).unwrap();
    assert_eq!(waiting, 1, "it waits, and is not lost");
    // The clock is set right: what is written now is taken at once, though what came before it still waits.
    away.store(0, Ordering::Relaxed);
    let id = a.fact("api", "after", "dated right again");
    let (_, y) = talk(&a, &b, team, [is_live, |y| is_live(y) && y.received > 0]).await;
    assert_eq!((y.quarantined, y.received), (0, 1), "{y:?}");
    assert!(b.engine.claim(&id.to_hex()).is_ok());
    assert_eq!((a.set(team, "api").0, b.set(team, "api").0), (4, 3));
    a.assert_sound();
    b.assert_sound();
}

#[tokio::test]
async fn a_device_that_joins_ten_days_behind_accepts_everything_once_its_clock_is_right() {
    let away = Arc::new(AtomicI64::new(-TEN_DAYS));
    let (a, b) = (Node::new(87), Node::with_clock(88, &away));
    let team = a.create_team(&["api"]);
    a.facts("api", "now", 5);
    a.admit(team, &b, Role::Writer, None);
    assert_eq!(b.engine.with_reader(|r| r.roster(&team)).unwrap(), a.engine.with_reader(|r| r.roster(&team)).unwrap());
    a.flush(team).await;
    let (x, mut y) = connect(&a, &b, team);
    y.until(|view| is_live(view) && view.quarantined == 5).await;
    b.engine.accept_due(team).unwrap();
    assert_eq!(b.set(team, "api").0, 0);
    // Nothing arrives any more, but the clock is set right.
    away.store(0, Ordering::Relaxed);
    b.engine.accept_due(team).unwrap();
    assert_eq!(b.set(team, "api"), a.set(team, "api"));
    x.commands.send(SessionCommand::Stop).unwrap();
    drop((x.end().await, y.end().await));
    b.assert_sound();
}

#[tokio::test]
async fn a_clock_that_is_set_right_or_goes_wrong_is_noticed_in_a_running_session() {
    let away = Arc::new(AtomicI64::new(TEN_DAYS));
    let (a, b) = (Node::with_clock(85, &away), Node::new(86));
    let team = b.create_team(&["api"]);
    b.admit(team, &a, Role::Writer, None);
    let (mut x, mut y) = connect(&a, &b, team);
    for days in [10, 0, 3] {
        away.store(days * 86_400_000, Ordering::Relaxed);
        // As the service does each minute.
        x.commands.send(SessionCommand::Compare).unwrap();
        y.commands.send(SessionCommand::Compare).unwrap();
        let ahead = move |skew: i64| skew.abs_diff(days * 86_400_000) < 60_000;
        y.until(|view| ahead(view.clock_skew_ms)).await;
        x.until(|view| ahead(-view.clock_skew_ms)).await;
    }
}

#[tokio::test]
async fn a_clock_ten_days_behind_accepts_everything_once_it_is_right() {
    let away = Arc::new(AtomicI64::new(0));
    let (a, b) = (Node::new(73), Node::with_clock(74, &away));
    let team = a.create_team(&["api"]);
    a.admit(team, &b, Role::Writer, None);
    away.store(-TEN_DAYS, Ordering::Relaxed);
    a.facts("api", "now", 5);
    b.facts("api", "past", 5);
    let arrived: [fn(&SessionView) -> bool; 2] =
        [|x| is_live(x) && x.received == 5, |y| is_live(y) && y.quarantined == 5];
    let (x, y) = talk(&a, &b, team, arrived).await;
    assert_eq!((x.quarantined, x.received), (0, 5), "what is dated in the past is as good as any: {x:?}");
    assert_eq!(y.quarantined, 5, "here everybody else seems to be ahead: {y:?}");
    away.store(0, Ordering::Relaxed);
    b.fact("api", "right", "the clock is right");
    talk(&a, &b, team, [|x| is_live(x) && x.in_sync, |y| is_live(y) && y.in_sync]).await;
    assert_eq!(a.set(team, "api"), b.set(team, "api"));
    assert_eq!(a.set(team, "api").0, 11, "nothing is lost");
    assert_eq!(b.engine.with_reader(|r| r.quarantined_count(&team)).unwrap(), 0);
    a.assert_sound();
    b.assert_sound();
}
