//! A device that left a team and joins it again continues where it stopped, whatever it calls the scopes.

use ergo::{
    domain::{
        EventId,
        roster::{Role, RosterChange},
    },
    store::Fork,
};

use super::{
    support::*,
    team::{Peer, pair},
};

/// Two devices in a team; the second calls `api` `svc`, has written there, and has left.
fn left() -> (Fixture, Fixture, EventId) {
    let (mut a, mut b, team) = pair();
    b.store.bind_scope(team, &scope("api"), &scope("svc")).unwrap();
    a.add(decision("cache", "on"));
    b.act_in("svc", vec![decision("log", "json")]);
    a.pull(team, &b);
    b.pull(team, &a);
    let cuts = b.store.reader().cuts_of(&team, &b.device()).unwrap();
    b.change(Some(team), RosterChange::Leave { cuts });
    a.take(team, b.roster_events(team));
    assert_eq!(b.store.reader().team_scopes(&team).unwrap().len(), 1, "only the roster's scope remains");
    (a, b, team)
}

#[test]
fn what_it_wrote_stays_if_it_returns_as_a_reader() {
    let (mut a, mut b, team) = left();
    let shared = a.shared(team, "api");
    a.admit(team, &b, Role::Reader);
    b.join(team, &a);
    for f in [&a, &b] {
        assert_eq!(f.shared(team, "api"), shared);
        assert_eq!(f.store.reader().quarantined_count(&team).unwrap(), 0);
        assert_eq!(f.store.check().unwrap().problems, Vec::<String>::new());
    }
    // The same if an admin revokes it in between.
    let cuts = a.store.reader().cuts_of(&team, &b.device()).unwrap();
    a.change(Some(team), RosterChange::Revoke { device: b.device(), cuts });
    a.admit(team, &b, Role::Reader);
    assert_eq!(a.shared(team, "api"), shared);
}

fn rejoin(a: &mut Fixture, b: &mut Fixture, team: EventId) {
    a.admit(team, b, Role::Writer);
    b.join(team, a);
}

/// The name on this device of the team's scope `api`.
fn name_of_api(f: &Fixture, team: EventId) -> String {
    let scopes = f.store.reader().team_scopes(&team).unwrap();
    scopes.iter().find(|row| row.scope == scope("api")).unwrap().local.project.clone()
}

/// Writes in the team's scope `api`, after which both devices must share the same events, in chains without forks.
fn write_on(a: &mut Fixture, b: &mut Fixture, team: EventId) {
    assert_eq!(a.shared(team, "api"), b.shared(team, "api"), "nothing that was shared is lost");
    let place = name_of_api(b, team);
    let written = b.act_in(&place, vec![decision("queue", "short")]);
    assert_eq!(a.pull(team, b).stored, written.events);
    assert_eq!(a.shared(team, "api"), b.shared(team, "api"));
    for f in [a, b] {
        assert_eq!(f.store.reader().forks(&team).unwrap(), Vec::<Fork>::new());
        assert_eq!(f.store.check().unwrap().problems, Vec::<String>::new());
    }
}

#[test]
fn a_scope_keeps_the_name_that_it_had() {
    let (mut a, mut b, team) = left();
    rejoin(&mut a, &mut b, team);
    assert_eq!(name_of_api(&b, team), "svc");
    write_on(&mut a, &mut b, team);
}

#[test]
fn a_scope_that_gets_another_name_takes_its_history_along() {
    let (mut a, mut b, team) = left();
    rejoin(&mut a, &mut b, team);
    b.store.bind_scope(team, &scope("api"), &scope("new")).unwrap();
    assert_eq!(b.store.reader().scopes(0).unwrap().iter().filter(|row| row.total > 0).count(), 1);
    write_on(&mut a, &mut b, team);
}

#[test]
fn a_scope_whose_name_another_team_took_takes_its_history_along() {
    let (mut a, mut b, team) = left();
    let other = b.found();
    b.adopt(other, "svc");
    rejoin(&mut a, &mut b, team);
    assert_eq!(name_of_api(&b, team), "api");
    write_on(&mut a, &mut b, team);
}

#[test]
fn history_in_the_scope_that_a_scope_is_bound_to_is_shared() {
    let (mut a, mut b, team) = pair();
    // Releases up to 0.2 bound a scope to the default name again and left its events elsewhere, unshared.
    b.act(vec![decision("log", "json")]);
    a.pull(team, &b);
    let db = rusqlite::Connection::open(b.dir.path().join("ergo.db")).unwrap();
    db.execute_batch(
        "INSERT INTO scopes (org, project) VALUES ('acme', 'svc');
         DELETE FROM chains WHERE shared IN (SELECT n FROM team_scopes WHERE roster = 0);
         UPDATE team_scopes SET events = 0, sum = x'' WHERE roster = 0;
         UPDATE events SET shared = NULL, scope = (SELECT n FROM scopes WHERE project = 'svc')
         WHERE shared IN (SELECT n FROM team_scopes WHERE roster = 0);",
    )
    .unwrap();
    drop(db);
    b.store.rebuild().unwrap();
    assert_eq!(b.shared(team, "api").0, 0);
    b.store.bind_scope(team, &scope("api"), &scope("svc")).unwrap();
    write_on(&mut a, &mut b, team);
}
