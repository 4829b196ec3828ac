//! Rare cases of teams: who left or was revoked joins again, dates far ahead, and names that are taken.

use ergo::{
    api::{
        AdoptRequest, BindRequest, BoundScope, CreateTeamRequest, GrantRequest, LeaveRequest, QuarantineRequest,
        QuarantinedQuery, RenameRequest, RevokeRequest,
    },
    domain::{
        Scope, Status,
        roster::{Grant, Granted, Role},
    },
};

use super::{
    team::{add, all, meet, pair, pull},
    *,
};

#[test]
fn who_left_while_unconnected_joins_again_and_both_stay_in_step() {
    let (a, b, team) = pair(&[("Deploys run only on green CI.", "we measured it")]);
    let written = b.remember("Logs are kept for thirty days.", "the law");
    b.engine.leave_team(&LeaveRequest { caller: caller(), in_team: None }).unwrap();
    let roster = add(&a, &b, "bob-laptop", &all());
    b.engine.join_team(&caller(), team, &roster, Some(a.engine.device()), &[], &[]).unwrap();
    meet(&a, &b, team);
    let rosters = [&a, &b].map(|one| one.engine.with_reader(|reader| reader.roster(&team)).unwrap().unwrap());
    assert!(rosters[0] == rosters[1] && rosters[0].is_member(&b.engine.device()));
    assert_eq!(a.claim(written).status, Status::Active);
}

#[test]
fn who_joins_again_keeps_the_history_of_scopes_with_other_names() {
    let name = |project: &str| Scope::new("acme", project).unwrap();
    for map in [None, Some("own"), Some("new")] {
        let (a, b, team) = pair(&[("Deploys run only on green CI.", "we measured it")]);
        let write = |project: &str, statement: &str| {
            let caller = Caller { project: project.into(), ..caller() };
            stored(b.engine.remember(RememberRequest { caller, ..request(statement, "the law") }).unwrap()).claim_id
        };
        let bind = BindRequest { caller: caller(), in_team: None, scope: name("api"), local: name("own") };
        b.engine.bind_scope(&bind).unwrap();
        write("own", "Logs are kept for thirty days.");
        pull(&a, &b, team);
        b.engine.leave_team(&LeaveRequest { caller: caller(), in_team: None }).unwrap();
        let roster = add(&a, &b, "bob-laptop", &all());
        let map: Vec<_> = map.into_iter().map(|local| BoundScope { scope: name("api"), local: name(local) }).collect();
        let joined = b.engine.join_team(&caller(), team, &roster, Some(a.engine.device()), &map, &[]).unwrap();
        let local = map.first().map_or_else(|| name("own"), |bound| bound.local.clone());
        assert_eq!(joined.scopes.iter().map(|bound| &bound.local).collect::<Vec<_>>(), [&local]);
        let set = |f: &Fixture| f.engine.with_reader(|reader| reader.set(&team, &name("api"))).unwrap();
        assert_eq!(set(&a), set(&b), "the history is shared again");
        let written = write(&local.project, "Backups are kept for a year.");
        meet(&a, &b, team);
        assert_eq!((a.claim(written).status, set(&a)), (Status::Active, set(&b)));
        let forks = a.engine.with_reader(|reader| reader.forks(&team)).unwrap();
        assert_eq!(forks.len(), 0, "the device continues its chain: {forks:?}");
    }
}

#[test]
fn who_was_revoked_by_an_admin_whom_the_inviter_has_not_heard_is_not_told_that_it_joined() {
    let (a, b, team) = pair(&[]);
    let c = Fixture::of(3, AgentPolicy::Force);
    let admin = Grant { role: Role::Admin, scopes: Granted::All };
    add(&a, &c, "carol-laptop", &admin);
    let roster = add(&a, &b, "bob-laptop", &all());
    c.engine.join_team(&caller(), team, &roster, Some(a.engine.device()), &[], &[]).unwrap();
    let revoke =
        RevokeRequest { caller: caller(), in_team: None, device: b.engine.device().to_hex(), reason: "lost".into() };
    c.engine.revoke_from_team(&revoke).unwrap();
    pull(&b, &c, team);
    let roster = add(&a, &b, "bob-laptop", &all());
    let joined = b.engine.join_team(&caller(), team, &roster, Some(a.engine.device()), &[], &[]);
    let error = joined.unwrap_err();
    assert!(error.message.contains("revoked by carol-laptop, which ada-laptop has not received"), "{error:?}");
    // The inviter learns of it, and invites again.
    pull(&a, &c, team);
    let roster = add(&a, &b, "bob-laptop", &all());
    b.engine.join_team(&caller(), team, &roster, Some(a.engine.device()), &[], &[]).unwrap();
}

#[test]
fn a_member_that_is_admitted_again_with_a_lesser_role_keeps_what_it_wrote() {
    let (a, b, team) = pair(&[]);
    let written = b.remember("Logs are kept for thirty days.", "the law");
    meet(&a, &b, team);
    add(&a, &b, "bob-laptop", &Grant { role: Role::Reader, scopes: Granted::All });
    assert_eq!(a.engine.with_reader(|reader| reader.quarantined_count(&team)).unwrap(), 0);
    assert_eq!(a.claim(written).status, Status::Active);
    let roster = a.engine.with_reader(|reader| reader.roster(&team)).unwrap().unwrap();
    assert_eq!(roster.role(&b.engine.device()), Some(Role::Reader));
}

#[test]
fn a_project_without_claims_is_shared_with_the_identity_of_the_folder() {
    let of = |identity: &str| Caller { identity: Some(identity.into()), ..caller() };
    let (a, b) = (Fixture::of(1, AgentPolicy::Force), Fixture::of(2, AgentPolicy::Force));
    let web = Scope::new("acme", "web").unwrap();
    let create = CreateTeamRequest {
        caller: Caller { project: "web".into(), ..of("git@a") },
        name: "acme".into(),
        device_name: Some("ada-laptop".into()),
        scopes: vec![web.clone()],
    };
    let team = a.engine.create_team(&create).unwrap();
    let adopt = AdoptRequest { caller: of("git@b"), in_team: None, scope: Scope::new("acme", "api").unwrap() };
    let shared = a.engine.adopt_into_team(&adopt).unwrap().summary;
    assert_eq!(shared, "acme shares acme/api");
    assert_eq!(a.engine.adopt_into_team(&adopt).unwrap().summary, "acme already shares acme/api");
    let roster = a.engine.with_reader(|reader| reader.roster(&team.id)).unwrap().unwrap();
    let identities: Vec<_> = roster.scopes().map(|shared| shared.identity.as_deref()).collect();
    assert_eq!(identities, [Some("git@b"), Some("git@a")]);
    // A project of the same name and another remote stays apart.
    let own = RememberRequest { caller: of("git@c"), ..request("Use tabs.", "they are wide") };
    b.engine.remember(own).unwrap();
    let roster = add(&a, &b, "bob-laptop", &all());
    let joined = b.engine.join_team(&caller(), team.id, &roster, Some(a.engine.device()), &[], &[]).unwrap();
    let local = |name: &str| joined.scopes.iter().find(|bound| bound.scope.project == name).unwrap().local.to_string();
    assert_eq!((local("api").as_str(), local("web").as_str()), ("acme/api-2", "acme/web"));
}

#[test]
fn an_event_dated_far_ahead_is_not_accepted_before_its_date() {
    let (a, b, team) = pair(&[]);
    b.clock.store(NOON + 10 * 24 * 3_600_000, Ordering::Relaxed);
    let early = b.remember("Logs are kept for thirty days.", "the law");
    pull(&a, &b, team);
    let held = a.engine.quarantined(&QuarantinedQuery::default()).unwrap().items;
    assert!(held.len() == 1 && held[0].waits_for_date(), "{held:?}");
    assert!(held[0].why.ends_with("it is accepted only when its date comes"), "{}", held[0].why);
    let accept = QuarantineRequest { caller: caller(), events: vec![early.short()], ..QuarantineRequest::default() };
    let error = a.engine.accept_quarantined(&accept).unwrap_err();
    assert!(error.message.contains("cannot be accepted now") && error.hint.is_some(), "{error:?}");
    a.clock.store(NOON + 10 * 24 * 3_600_000, Ordering::Relaxed);
    a.engine.accept_due(team).unwrap();
    assert_eq!(a.claim(early).status, Status::Active);
}

#[test]
fn a_device_gets_no_name_of_another_and_a_grant_says_the_scopes() {
    let (a, _, _) = pair(&[]);
    let rename = |name: &str| RenameRequest {
        caller: caller(),
        device: Some("bob-laptop".into()),
        name: name.into(),
        ..RenameRequest::default()
    };
    let error = a.engine.rename_in_team(&rename("Ada-Laptop")).unwrap_err();
    assert_eq!((error.field.as_deref(), error.hint.is_some()), (Some("name"), true), "{error:?}");
    let grant = |scopes| GrantRequest {
        caller: caller(),
        device: "bob-laptop".into(),
        scopes: Some(scopes),
        ..GrantRequest::default()
    };
    let only = a.engine.grant_in_team(&grant(vec![Scope::new("acme", "api").unwrap()])).unwrap();
    assert_eq!(only.summary, "bob-laptop now has the role writer in acme/api");
    assert!(a.engine.grant_in_team(&grant(vec![])).unwrap().summary.ends_with("writer in all scopes"));
}
