//! The two levels of an organisation: claims that hold in each project, and how a project narrows or excepts them.

use std::sync::{Arc, OnceLock, Weak};

use ergo::{
    api::{
        ActRequest, BesideRelation, Caller, CardAct, CardKind, CardStatus, ConflictsQuery, PromoteRequest,
        PromotionsQuery, RecallRequest, RememberRequest, SnapshotQuery, SupersedeRequest, UndoRequest, WhyRequest,
        WriteOutcome,
    },
    domain::{CardId, ClaimId, Level, Qualifiers, Status},
    engine::{Engine, LevelPolicy, PromoteMode},
    guard::Guard,
    infer::FakeModels,
};

use super::{Fixture, caller, in_env, order, refused, request, stored};

const RULE: &str = "Releases must be signed.";
const AGAINST: &str = "Releases must not be signed.";

fn at(project: &str) -> Caller {
    Caller { project: project.into(), ..caller() }
}

fn write(project: &str, statement: &str) -> RememberRequest {
    RememberRequest { caller: at(project), ..request(statement, "since it was decided") }
}

fn remember(fixture: &Fixture, project: &str, statement: &str) -> ClaimId {
    stored(fixture.engine.remember(write(project, statement)).unwrap()).claim_id
}

fn recall(fixture: &Fixture, org: &str, project: &str, query: &str) -> Vec<(String, Level)> {
    let request =
        RecallRequest { org_id: org.into(), project: project.into(), query: query.into(), ..RecallRequest::default() };
    let answer = fixture.engine.recall(&request).unwrap();
    answer.hits.into_iter().map(|hit| (hit.claim.statement, hit.claim.level)).collect()
}

fn open_card(fixture: &Fixture, project: &str) -> Vec<CardId> {
    let query =
        ConflictsQuery { org_id: Some("acme".into()), project: Some(project.into()), ..ConflictsQuery::default() };
    fixture.engine.conflicts(&query).unwrap().items.into_iter().map(|card| card.id).collect()
}

/// The claims of the level as a project reads them, each with how many others stand beside it. Also found by their words.
fn rules_in(fixture: &Fixture, project: &str) -> Vec<(ClaimId, usize)> {
    let query = ergo::api::ClaimsQuery {
        org_id: Some("acme".into()),
        project: Some("*".into()),
        not_narrowed_in: Some(project.into()),
        ..ergo::api::ClaimsQuery::default()
    };
    let found = fixture.engine.claims(&query).unwrap();
    let by_words = fixture.engine.claims(&ergo::api::ClaimsQuery { q: Some("signed".into()), ..query }).unwrap();
    assert_eq!((found.total, by_words.total), (found.items.len(), found.items.len()));
    found.items.iter().map(|claim| (claim.id, claim.beside.len())).collect()
}

#[test]
fn what_holds_in_the_organisation_answers_in_its_projects_alone() {
    let fixture = Fixture::new();
    remember(&fixture, "*", RULE);
    remember(&fixture, "api", "The API listens on port 4242.");
    assert_eq!(recall(&fixture, "acme", "api", "are releases signed?")[0], (RULE.to_owned(), Level::Organisation));
    let port = recall(&fixture, "acme", "api", "which port does the API listen on?");
    assert_eq!(port[0], ("The API listens on port 4242.".to_owned(), Level::Project));
    // A project of which nothing is known yet, the level itself, and others.
    assert_eq!(recall(&fixture, "acme", "new", "are releases signed?").len(), 1);
    assert!(recall(&fixture, "acme", "*", "which port does the API listen on?").is_empty());
    assert!(recall(&fixture, "other", "api", "are releases signed?").is_empty());
    let why = |project: &str| WhyRequest {
        org_id: "acme".into(),
        project: project.into(),
        question: "are releases signed?".into(),
        ..WhyRequest::default()
    };
    let answer = fixture.engine.why(&why("api")).unwrap().answer.unwrap();
    assert_eq!((answer.level, answer.scope.to_string().as_str()), (Level::Organisation, "acme/*"));
    assert!(answer.flag_words().any(|word| word == "organisation"));

    let page = |project: &str| {
        let query = SnapshotQuery { org_id: "acme".into(), project: project.into(), ..SnapshotQuery::default() };
        fixture.engine.snapshot(&query).unwrap()
    };
    let first = page("api");
    assert_eq!(first.claims, 2);
    assert!(first.snapshot.contains("Releases must be signed. (organisation, "), "{}", first.snapshot);
    remember(&fixture, "*", "Every repository has a licence.");
    assert!(page("api").stale, "a page is out of date once something holds in the whole organisation");
    let scopes = fixture.engine.scopes().unwrap().items;
    assert!(scopes.iter().any(|view| view.scope.level() == Level::Organisation && view.active == 2));
}

#[test]
fn the_past_of_a_project_has_the_level_of_then() {
    let fixture = Fixture::new();
    remember(&fixture, "*", RULE);
    remember(&fixture, "api", "The API listens on port 4242.");
    let then = fixture.clock.load(std::sync::atomic::Ordering::Relaxed);
    remember(&fixture, "*", "Release notes are signed by the editor.");
    let request = RecallRequest {
        org_id: "acme".into(),
        project: "api".into(),
        query: "signed".into(),
        as_of: Some(then - 1),
        ..RecallRequest::default()
    };
    let hits = fixture.engine.recall(&request).unwrap().hits;
    assert_eq!(hits.iter().map(|hit| hit.claim.statement.as_str()).collect::<Vec<_>>(), [RULE]);
}

#[test]
fn a_project_cannot_contradict_its_organisation_unnoticed_and_may_except_it_for_itself() {
    let fixture = Fixture::new();
    let rule = remember(&fixture, "*", RULE);
    let refusal = refused(fixture.engine.remember(write("api", AGAINST)).unwrap());
    assert_eq!(refusal.conflicts[0].claim.id, rule);
    assert_eq!(refusal.conflicts[0].claim.level, Level::Organisation);
    assert!(refusal.ways_on.iter().any(|way| way.contains("'acme/*'")), "{:?}", refusal.ways_on);
    let card = fixture.card(refusal.card_id.unwrap());
    assert_eq!(card.summary.scope.to_string(), "acme/api");
    assert!(card.summary.members.contains(&rule));

    // A project can neither replace nor retract the organisation's rule.
    let winner = card.summary.members.iter().find(|member| **member != rule).map(|new_claim| new_claim.to_hex());
    let supersede = ergo::api::ResolveRequest { winner, ..order(CardAct::Supersede, "we changed our mind") };
    let error = fixture.engine.resolve(&card.summary.id.to_hex(), supersede).unwrap_err();
    assert!(error.message.contains("acme/*") && error.hint.unwrap().contains("--scope 'acme/*'"));
    let target = Some(rule.to_hex());
    let retract = ergo::api::ResolveRequest { target, ..order(CardAct::Retract, "it was never right") };
    assert!(fixture.engine.resolve(&card.summary.id.to_hex(), retract).is_err());
    let by_text =
        SupersedeRequest { targets: vec![rule.to_hex()], claim: write("api", AGAINST), ..SupersedeRequest::default() };
    assert!(fixture.engine.supersede(by_text).unwrap_err().message.contains("holds in each project of acme"));

    let done = fixture.resolve(card.summary.id, order(CardAct::Exception, "the API releases nothing"));
    let WriteOutcome::Done(done) = done else { panic!("{done:?}") };
    let exception = done.claim_id.or_else(|| done.claims.first().map(|claim| claim.id)).unwrap();
    let view = fixture.claim(exception);
    assert!(view.flags.excepted);
    assert_eq!((view.beside[0].claim, view.beside[0].relation), (rule, BesideRelation::Rule));
    // The rule stays in force, without a mark, and guards the others.
    let there = fixture.claim(rule);
    assert!(there.status == Status::Active && !there.flags.excepted && there.beside.is_empty());
    assert_eq!((rules_in(&fixture, "api"), rules_in(&fixture, "web")), (vec![(rule, 1)], vec![(rule, 0)]));
    assert_eq!(open_card(&fixture, "api"), []);
    refused(fixture.engine.remember(write("web", AGAINST)).unwrap());
    assert!(fixture.engine.check_store().unwrap().problems.is_empty());
}

#[test]
fn an_exception_to_a_rule_of_the_organisation_can_be_named_at_once() {
    let fixture = Fixture::new();
    let rule = remember(&fixture, "*", RULE);
    let named = RememberRequest {
        force_exception: Some("the API releases nothing".into()),
        exception_to: vec![rule.to_hex()],
        ..write("api", AGAINST)
    };
    let claim = stored(fixture.engine.remember(named).unwrap()).claim_id;
    assert_eq!(fixture.claim(claim).beside[0].claim, rule);
    let hit = recall(&fixture, "acme", "api", "signed releases");
    assert_eq!(hit.len(), 2);
    assert_eq!(open_card(&fixture, "api"), []);
    // Taken back, it opposes the rule no more; and another project's rule is none of this one.
    fixture.undo();
    let elsewhere = remember(&fixture, "web", "Pages must be signed.");
    let foreign =
        RememberRequest { exception_to: vec![elsewhere.to_hex()], ..write("api", "Pages must not be signed.") };
    assert!(fixture.engine.remember(foreign).unwrap_err().message.contains("belongs to acme/web"));
}

#[test]
fn a_project_narrows_a_rule_of_the_organisation_for_itself() {
    let fixture = Fixture::new();
    let rule = remember(&fixture, "*", RULE);
    let card = refused(fixture.engine.remember(write("api", AGAINST)).unwrap()).card_id.unwrap();
    let narrow = ergo::api::ResolveRequest {
        target: Some(rule.to_hex()),
        qualifiers: in_env("production"),
        ..order(CardAct::Narrow, "tests are released unsigned")
    };
    let WriteOutcome::Done(_) = fixture.resolve(card, narrow) else { panic!("narrowed") };
    assert_eq!(fixture.claim(rule).status, Status::Active);
    let here = recall(&fixture, "acme", "api", "are releases signed?");
    assert!(here.iter().all(|(_, level)| level.is_project()), "the narrowed form stands in its place: {here:?}");
    assert!(here.iter().any(|(statement, _)| statement == RULE));
    assert_eq!(recall(&fixture, "acme", "web", "are releases signed?"), [(RULE.to_owned(), Level::Organisation)]);
    assert_eq!(open_card(&fixture, "api"), []);
    // Lists of the level leave it out for that project alone.
    assert_eq!(rules_in(&fixture, "api"), []);
    assert_eq!(rules_in(&fixture, "web"), [(rule, 0)]);
    // The project's own version of the rule is compared.
    let staging = RememberRequest { qualifiers: in_env("staging"), ..write("api", "Releases must never be signed.") };
    assert!(matches!(fixture.engine.remember(staging).unwrap(), WriteOutcome::Stored(_)));
    assert_eq!(open_card(&fixture, "api"), []);
    assert!(fixture.engine.check_store().unwrap().problems.is_empty());
}

#[test]
fn a_rule_of_the_organisation_refuses_nothing_of_its_projects_and_gives_cards() {
    let fixture = Fixture::new();
    let claims = ["api", "web"].map(|project| remember(&fixture, project, AGAINST));
    let outcome = stored(fixture.engine.remember(write("*", RULE)).unwrap());
    let warning = outcome.warnings.iter().find(|warning| warning.code == "projects").expect("a warning");
    assert!(warning.message.contains("2 claims of projects (api, web)"), "{}", warning.message);
    for (project, claim) in ["api", "web"].into_iter().zip(claims) {
        let cards = open_card(&fixture, project);
        let card = fixture.card(cards[0]);
        assert_eq!(
            (cards.len(), card.summary.kind, card.summary.status),
            (1, CardKind::Contradiction, CardStatus::Open)
        );
        assert!(card.summary.members.contains(&claim) && card.summary.members.contains(&outcome.claim_id));
    }
    assert_eq!(open_card(&fixture, "*"), []);
    let advice = fixture.card(open_card(&fixture, "api")[0]).advice;
    assert!(advice.contains("is of acme/* and holds in all its projects"), "{advice}");
    assert!(!advice.contains("Keep the one"), "a project cannot replace it: {advice}");
    // Each project decides for itself.
    fixture.resolve(open_card(&fixture, "api")[0], order(CardAct::Exception, "the API releases nothing"));
    let narrow = ergo::api::ResolveRequest {
        target: Some(outcome.claim_id.to_hex()),
        qualifiers: Qualifiers { env: Some("production".into()), ..Qualifiers::default() },
        ..order(CardAct::Narrow, "pages are signed in production")
    };
    fixture.resolve(open_card(&fixture, "web")[0], narrow);
    assert_eq!((open_card(&fixture, "api"), open_card(&fixture, "web")), (vec![], vec![]));
    assert_eq!(fixture.claim(outcome.claim_id).status, Status::Active);
    // If the rule is withdrawn, nothing is opposed, and undoing that opens no card that was settled.
    let fallen = fixture.retract(outcome.claim_id, "nobody asked").op_id;
    assert!(!fixture.claim(claims[0]).flags.excepted);
    fixture.engine.undo(UndoRequest { caller: at("*"), target_op: Some(fallen), ..UndoRequest::default() }).unwrap();
    assert!(fixture.claim(claims[0]).flags.excepted);
    assert_eq!((open_card(&fixture, "api"), open_card(&fixture, "web")), (vec![], vec![]));
    assert!(fixture.engine.check_store().unwrap().problems.is_empty());
}

#[test]
fn the_level_is_a_name_and_no_pattern() {
    let fixture = Fixture::new();
    remember(&fixture, "*", RULE);
    let identified = RememberRequest {
        caller: Caller { identity: Some("git.example.com/star".into()), ..at("*") },
        ..request("Every repository has a licence.", "lawyers ask for it")
    };
    assert_eq!(stored(fixture.engine.remember(identified).unwrap()).scope.to_string(), "acme/*");
    let error = fixture
        .engine
        .remember(RememberRequest { caller: Caller { org_id: "*".into(), ..caller() }, ..request(RULE, "x") })
        .unwrap_err();
    assert_eq!(error.field.as_deref(), Some("org_id"));
    let query = ergo::api::ClaimsQuery {
        org_id: Some("acme".into()),
        project: Some("*".into()),
        ..ergo::api::ClaimsQuery::default()
    };
    remember(&fixture, "api", "The API listens on port 4242.");
    assert_eq!(fixture.engine.claims(&query).unwrap().total, 2);
    let of_none = ergo::api::ClaimsQuery { org_id: None, project: None, not_narrowed_in: Some("api".into()), ..query };
    assert_eq!(fixture.engine.claims(&of_none).unwrap_err().field.as_deref(), Some("not_narrowed_in"));
}

fn promote(fixture: &Fixture, claim: ClaimId) -> WriteOutcome {
    let request = PromoteRequest { caller: at("api"), claims: vec![claim.to_hex()], ..PromoteRequest::default() };
    fixture.engine.promote(request).unwrap()
}

fn proposed(fixture: &Fixture) -> Vec<usize> {
    let query = PromotionsQuery { org_id: "acme".into() };
    fixture.engine.promotions(&query).unwrap().items.into_iter().map(|item| item.projects).collect()
}

#[test]
fn what_three_projects_say_is_proposed_and_promoted_once() {
    let fixture = Fixture::new();
    let first = remember(&fixture, "api", RULE);
    remember(&fixture, "web", RULE);
    assert!(proposed(&fixture).is_empty());
    let third = stored(fixture.engine.remember(write("cli", "Releases  must be signed.")).unwrap());
    let warning = third.warnings.iter().find(|warning| warning.code == "promotable").expect("a proposal");
    assert!(warning.message.contains("3 projects of acme") && warning.message.contains("ergo promote"), "{warning:?}");
    assert_eq!(proposed(&fixture), [3]);

    let promoted = stored(promote(&fixture, first));
    assert_eq!(promoted.scope.to_string(), "acme/*");
    assert_eq!((fixture.claim(promoted.claim_id).seen_in, fixture.acts().pop().as_deref()), (3, Some("promote")));
    assert!(proposed(&fixture).is_empty());
    // Said once, in a project that says it and in one that does not; the claims themselves are there as before.
    for project in ["api", "web", "new"] {
        assert_eq!(recall(&fixture, "acme", project, "are releases signed?"), [(RULE.to_owned(), Level::Organisation)]);
    }
    assert_eq!(fixture.claim(first).status, Status::Active);
    // A fourth project that says it adds a sighting, and no second claim.
    let fourth = remember(&fixture, "app", RULE);
    let again = stored(promote(&fixture, fourth));
    assert!(again.duplicate && again.claim_id == promoted.claim_id);
    assert_eq!(fixture.claim(promoted.claim_id).seen_in, 4);

    // Demoted by one act, which can be undone; and nobody is asked about it again.
    let demoted = super::done(fixture.engine.demote(super::on(promoted.claim_id, "only three of us agree")).unwrap());
    assert_eq!(recall(&fixture, "acme", "api", "are releases signed?"), [(RULE.to_owned(), Level::Project)]);
    assert!(proposed(&fixture).is_empty());
    let undone = fixture.engine.undo(UndoRequest { caller: at("api"), ..UndoRequest::default() }).unwrap();
    assert_eq!(undone.undone, demoted.op_id);
    assert_eq!(undone.summary, "Undid: demoted “Releases must be signed.” in acme/*");
    assert_eq!(recall(&fixture, "acme", "api", "are releases signed?"), [(RULE.to_owned(), Level::Organisation)]);
    assert!(fixture.engine.check_store().unwrap().problems.is_empty());
}

/// All claims of the organisation are read before the write lock is taken, hence before a model is asked.
#[test]
fn what_was_retracted_meanwhile_is_not_promoted() {
    let late: Arc<OnceLock<(Weak<Engine>, ClaimId)>> = Arc::default();
    let seen = Arc::clone(&late);
    let models = FakeModels::new().embedding(move |text| {
        if let Some((engine, claim)) = seen.get()
            && let Some(engine) = engine.upgrade()
        {
            let request = ActRequest { caller: at("web"), ..super::on(*claim, "no longer") };
            engine.retract(request).unwrap();
        }
        Ok(FakeModels::bag_of_words(text))
    });
    let fixture = Fixture::new();
    let first = remember(&fixture, "api", RULE);
    let other = remember(&fixture, "web", RULE);
    remember(&fixture, "cli", RULE);
    let Fixture { engine, dir, .. } = fixture.reopen_with_models(Guard::default(), Arc::new(models));
    let engine = Arc::new(engine);
    late.set((Arc::downgrade(&engine), other)).unwrap();
    let request = PromoteRequest { caller: at("api"), claims: vec![first.to_hex()], ..PromoteRequest::default() };
    let promoted = stored(engine.promote(request).unwrap()).claim_id;
    assert_eq!(engine.claim(&other.to_hex()).unwrap().status, Status::Retracted);
    assert_eq!(engine.claim(&promoted.to_hex()).unwrap().seen_in, 2);
    drop((engine, dir));
}

#[test]
fn only_what_fits_the_organisation_is_promoted() {
    let fixture = Fixture::new();
    remember(&fixture, "*", AGAINST);
    // A project that disagrees says so with an exception; promoted, it would contradict the level itself.
    let named = RememberRequest { force_exception: Some("we release".into()), ..write("api", RULE) };
    let claim = stored(fixture.engine.remember(named).unwrap()).claim_id;
    assert!(matches!(promote(&fixture, claim), WriteOutcome::Conflict(_)));
    let level = remember(&fixture, "*", "Every repository has a licence.");
    let request = |claims: Vec<String>| PromoteRequest { caller: at("api"), claims, ..PromoteRequest::default() };
    let error = |claims| fixture.engine.promote(request(claims)).unwrap_err().message;
    assert!(error(vec![level.to_hex()]).contains("already"));
    let foreign = RememberRequest { caller: Caller { org_id: "other".into(), ..caller() }, ..request_of(RULE) };
    let foreign = stored(fixture.engine.remember(foreign).unwrap()).claim_id;
    assert!(error(vec![claim.to_hex(), foreign.to_hex()]).contains("other/api"));
    assert!(error(Vec::new()).contains("empty"));
    // A claim that was never promoted is withdrawn by its own id.
    assert!(fixture.engine.demote(super::on(level, "no")).unwrap_err().hint.unwrap().contains("ergo retract"));
}

fn request_of(statement: &str) -> RememberRequest {
    request(statement, "since it was decided")
}

#[test]
fn the_rule_promotes_where_the_settings_say_so() {
    let policy = |promote| LevelPolicy { promote_at: 2, promote };
    let fixture = Fixture::new().reopen_leveled(policy(PromoteMode::Auto));
    remember(&fixture, "api", RULE);
    let second = stored(fixture.engine.remember(write("web", RULE)).unwrap());
    assert!(second.warnings.iter().any(|warning| warning.code == "promoted"), "{:?}", second.warnings);
    assert_eq!(recall(&fixture, "acme", "new", "are releases signed?").len(), 1);
    let fixture = fixture.reopen_leveled(policy(PromoteMode::Never));
    remember(&fixture, "api", "Pages must be printed.");
    let third = stored(fixture.engine.remember(write("web", "Pages must be printed.")).unwrap());
    assert!(third.warnings.iter().all(|warning| !warning.code.starts_with("promot")));
}

#[test]
fn the_rule_promotes_by_whatever_act_the_last_project_says_it() {
    let policy = |promote| LevelPolicy { promote_at: 2, promote };
    let fixture = Fixture::new().reopen_leveled(policy(PromoteMode::Auto));
    let is_promoted = |fixture: &Fixture, statement: &str| {
        let found = recall(fixture, "acme", "new", statement);
        found.iter().any(|(found, level)| found == statement && *level == Level::Organisation)
    };
    // A claim that is replaced.
    remember(&fixture, "api", RULE);
    let old = remember(&fixture, "web", "Releases go out on Mondays.");
    let request =
        SupersedeRequest { targets: vec![old.to_hex()], claim: write("web", RULE), ..SupersedeRequest::default() };
    let new = stored(fixture.engine.supersede(request).unwrap());
    assert!(new.warnings.iter().any(|warning| warning.code == "promoted"), "{:?}", new.warnings);
    assert!(is_promoted(&fixture, RULE));
    // A rule of a file.
    let printed = "Pages must be printed.";
    remember(&fixture, "api", printed);
    stored(fixture.engine.remember_by_rules(&write("web", printed)).unwrap());
    assert!(is_promoted(&fixture, printed));
    // Two projects said it before the setting was made.
    let fixture = fixture.reopen_leveled(policy(PromoteMode::Ask));
    let logged = "Payments must be logged.";
    remember(&fixture, "api", logged);
    remember(&fixture, "web", logged);
    assert!(!is_promoted(&fixture, logged));
    let fixture = fixture.reopen_leveled(policy(PromoteMode::Auto));
    assert!(stored(fixture.engine.remember(write("web", logged)).unwrap()).duplicate);
    assert!(is_promoted(&fixture, logged));
}
