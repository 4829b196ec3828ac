//! remember, learn, supersede: stored and refused writes, and their answers.

use ergo::{
    api::{ErrorCode, RememberRequest, SupersedeRequest, WriteOutcome},
    domain::{Qualifiers, Status, Tier},
    engine::AgentPolicy,
};

use super::*;

const BLUE: &str = "Deployments must use a blue canary";
const RED: &str = "Deployments must use a red canary";

#[test]
fn a_decision_is_stored_with_its_reason_and_survives_reopening() {
    let fixture = Fixture::new();
    let id = fixture.remember("Deploy only on green CI", "red builds broke prod twice");
    assert_eq!(fixture.acts(), ["remember"]);
    let claim = fixture.reopen().claim(id);
    assert_eq!((claim.status, claim.reason.as_deref()), (Status::Active, Some("red builds broke prod twice")));
    assert!(!claim.norms.is_empty());
}

#[test]
fn blue_and_red_canaries_block_and_the_refused_write_waits_on_one_card() {
    let fixture = Fixture::new();
    let blue = fixture.remember(BLUE, "we can roll back at once");
    fixture.acts();
    let first = refused(fixture.try_remember(RED, "it looks better"));
    assert_eq!(first.conflicts[0].claim.id, blue);
    assert_eq!(first.conflicts[0].tier, Tier::Block);
    assert_eq!(first.conflicts[0].claim.reason.as_deref(), Some("we can roll back at once"));
    assert!(!first.ways_on.is_empty());
    assert_eq!(fixture.acts(), ["refused"]);

    // The same pair never creates a second card, however its white space differs.
    let again = refused(fixture.try_remember("Deployments must  use a red canary", "it looks better"));
    assert_eq!(again.card_id, first.card_id);
    assert_eq!(fixture.open_cards(), 1);
    assert_eq!(fixture.acts(), Vec::<String>::new());

    let card = fixture.card(first.card_id.unwrap());
    assert!(card.sides[0].new_claim && card.sides[0].claim.statement == RED);
    assert_eq!(card.sides[1].claim.id, blue);
    assert!(!card.evidence.is_empty() && !card.summary.headline.is_empty());
    assert_eq!(fixture.engine.counts().unwrap().active, 1);
}

#[test]
fn prod_and_dev_coexist() {
    let fixture = Fixture::new();
    let prod = RememberRequest { qualifiers: in_env("prod"), ..request(BLUE, "safe") };
    let dev = RememberRequest { qualifiers: in_env("dev"), ..request(RED, "cheap") };
    stored(fixture.engine.remember(prod).unwrap());
    stored(fixture.engine.remember(dev).unwrap());
    assert_eq!(fixture.open_cards(), 0);
}

#[test]
fn windows_of_time_that_do_not_meet_coexist() {
    let fixture = Fixture::new();
    let until = Qualifiers { valid_until: Some("2026-06-30".into()), ..Qualifiers::default() };
    let from = Qualifiers { valid_from: Some("2026-07-01".into()), ..Qualifiers::default() };
    stored(fixture.engine.remember(RememberRequest { qualifiers: until, ..request(BLUE, "safe") }).unwrap());
    stored(fixture.engine.remember(RememberRequest { qualifiers: from, ..request(RED, "new fleet") }).unwrap());
}

#[test]
fn a_claim_whose_last_day_has_passed_is_stored_with_a_warning() {
    let fixture = Fixture::new();
    let codes = |statement: &str, until: &str| {
        let qualifiers = Qualifiers { valid_until: Some(until.into()), ..Qualifiers::default() };
        let answer = fixture.engine.remember(RememberRequest { qualifiers, ..request(statement, "safe") }).unwrap();
        stored(answer).warnings.into_iter().map(|warning| warning.code).collect::<Vec<_>>()
    };
    assert_eq!(codes("Invoices are blue", "2026-02-28"), ["expired"]);
    assert_eq!(codes("Reports are laid out by hand", "2026-03-01"), Vec::<String>::new(), "today is its last day");
}

#[test]
fn scopes_are_never_compared() {
    let fixture = Fixture::new();
    fixture.remember(BLUE, "safe");
    let mut other = request(RED, "theirs");
    other.caller.project = "web".into();
    stored(fixture.engine.remember(other).unwrap());
}

#[test]
fn an_exception_goes_past_the_block_and_is_on_the_record() {
    let fixture = Fixture::new();
    let blue = fixture.remember(BLUE, "safe");
    let card = fixture.refuse(RED, "festival week");
    let forced = RememberRequest { force_exception: Some("one week only".into()), ..request(RED, "festival week") };
    let outcome = stored(fixture.engine.remember(forced).unwrap());
    assert!(outcome.warnings.iter().any(|warning| warning.code == "exception"), "{:?}", outcome.warnings);
    let claim = fixture.claim(outcome.claim_id);
    assert!(claim.flags.excepted && fixture.claim(blue).flags.excepted);
    assert_eq!(claim.closing_reason, None, "it is in force");
    assert_eq!(claim.beside[0].reason.as_deref(), Some("one week only"));
    // The claim that was kept on the card is stored now.
    assert_eq!(fixture.card(card).summary.status, ergo::api::CardStatus::Settled);
    assert_eq!(fixture.open_cards(), 0);
    assert_eq!(fixture.engine.counts().unwrap().guard.exception, 1);
}

#[test]
fn an_exception_that_nothing_stands_against_is_none() {
    let fixture = Fixture::new();
    let forced = RememberRequest { force_exception: Some("to be sure".into()), ..request(BLUE, "safe") };
    let outcome = stored(fixture.engine.remember(forced).unwrap());
    assert!(!fixture.claim(outcome.claim_id).flags.excepted);
    assert!(outcome.warnings[0].message.contains("no contradicting claim was found. If it is an exception"));
}

#[test]
fn an_agent_that_may_only_propose_leaves_its_exception_on_the_card() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let blue = fixture.remember(BLUE, "safe");
    let forced = RememberRequest {
        caller: agent(),
        force_exception: Some("one week only".into()),
        ..request(RED, "festival week")
    };
    let keyed = |op_id| RememberRequest { caller: Caller { op_id, ..agent() }, ..forced.clone() };
    let dry = RememberRequest { dry_run: true, ..forced.clone() };
    assert_eq!(fixture.engine.remember(dry).unwrap_err().code, ErrorCode::NeedsPerson);
    let answer = proposed(fixture.engine.remember(keyed(Some(op(9)))).unwrap());
    assert_eq!((answer.claim.id, answer.accept, answer.known), (blue, CardAct::Exception, false));
    let card = answer.card_id;
    assert!(answer.summary.contains("as an exception") && answer.summary.contains(&card.short()), "{answer:?}");
    let retry = proposed(fixture.engine.remember(keyed(Some(op(9)))).unwrap());
    assert_eq!((retry.card_id, retry.accept, retry.known), (card, CardAct::Exception, true));
    assert_eq!(proposed(fixture.engine.remember(keyed(None)).unwrap()).card_id, card);
    let view = fixture.card(card);
    assert!(view.advice.contains("because: “one week only”"), "a person sees why: {}", view.advice);
    let exception = view.acts.iter().find(|option| option.act == CardAct::Exception).unwrap();
    assert_eq!(exception.prefill.as_deref(), Some("one week only"));
    let by_agent = ResolveRequest { caller: agent(), ..order(CardAct::Exception, "one week only") };
    let dismissed = ResolveRequest { caller: agent(), ..order(CardAct::Dismiss, "two canaries") };
    for past_the_guard in [by_agent, dismissed] {
        let error = fixture.engine.resolve(&card.to_hex(), past_the_guard).unwrap_err();
        assert_eq!(error.code, ErrorCode::NeedsPerson);
        assert!(error.hint.unwrap().contains(&format!("`ergo tui --conflict {}`", card.short())));
    }
    let new = done(fixture.resolve(card, order(CardAct::Exception, "one week only"))).claim_id.unwrap();
    assert_eq!((fixture.claim(new).status, fixture.claim(blue).status), (Status::Active, Status::Active));
    assert!(fixture.claim(blue).flags.excepted);
}

#[test]
fn a_refused_agent_that_may_only_propose_is_told_so() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    fixture.remember(BLUE, "safe");
    let by_agent = RememberRequest { caller: agent(), ..request(RED, "festival week") };
    let refusal = refused(fixture.engine.remember(by_agent).unwrap());
    assert!(refusal.may_only_propose);
    assert!(refusal.ways_on.iter().any(|way| way.contains("until a person accepts it")), "{:?}", refusal.ways_on);
    let by_person = refused(fixture.try_remember("Deployments must use a green canary", "spring"));
    assert!(!by_person.may_only_propose);
}

#[test]
fn a_dry_run_judges_and_keeps_nothing() {
    let fixture = Fixture::new();
    let dry = |statement| RememberRequest { dry_run: true, ..request(statement, "r") };
    assert!(stored(fixture.engine.remember(dry(BLUE)).unwrap()).dry_run);
    fixture.remember(BLUE, "safe");
    let refusal = refused(fixture.engine.remember(dry(RED)).unwrap());
    assert_eq!((refusal.card_id, fixture.open_cards()), (None, 0));
    assert_eq!(fixture.engine.counts().unwrap().claims, 1);
}

#[test]
fn the_identical_claim_is_not_stored_twice() {
    let fixture = Fixture::new();
    let id = fixture.remember(BLUE, "safe");
    let again = stored(fixture.try_remember(BLUE, "another reason"));
    assert_eq!((again.claim_id, again.duplicate), (id, true));
    assert!(again.warnings.iter().any(|warning| warning.code == "duplicate_reason"));
    assert_eq!(fixture.engine.counts().unwrap().claims, 1);
}

#[test]
fn a_retry_of_what_only_added_to_a_known_claim_answers_as_the_first_time() {
    let fixture = Fixture::new();
    let known = fixture.remember(BLUE, "safe");
    let other = fixture.remember("Every service keeps its data in PostgreSQL", "one thing to run");
    let premise = RememberRequest { depends_on: vec![other.to_hex()], ..request(BLUE, "safe") };
    let exception = RememberRequest {
        exception_to: vec![other.to_hex()],
        force_exception: Some("it has none".into()),
        ..request(BLUE, "safe")
    };
    for (n, request) in [(4, premise), (5, exception)] {
        let keyed = || RememberRequest { caller: Caller { op_id: Some(op(n)), ..caller() }, ..request.clone() };
        let first = stored(fixture.engine.remember(keyed()).unwrap());
        let again = stored(fixture.engine.remember(keyed()).unwrap());
        assert_eq!((first.claim_id, first.duplicate, first.replayed), (known, true, false));
        assert_eq!((again.claim_id, again.duplicate, again.replayed), (known, true, true));
    }
}

#[test]
fn a_retry_answers_as_the_first_time() {
    let fixture = Fixture::new();
    let with_op = |n, statement| {
        let mut request = request(statement, "r");
        request.caller.op_id = Some(op(n));
        request
    };
    let first = stored(fixture.engine.remember(with_op(1, BLUE)).unwrap());
    let again = stored(fixture.engine.remember(with_op(1, BLUE)).unwrap());
    assert_eq!((again.claim_id, again.op_id, again.replayed), (first.claim_id, first.op_id, true));

    let first = refused(fixture.engine.remember(with_op(2, RED)).unwrap());
    fixture.acts();
    let again = refused(fixture.engine.remember(with_op(2, RED)).unwrap());
    assert_eq!((again.card_id, again.conflicts[0].claim.id), (first.card_id, first.conflicts[0].claim.id));
    assert_eq!(fixture.acts(), Vec::<String>::new());

    let error = fixture
        .engine
        .retract(ActRequest {
            caller: Caller { op_id: Some(op(2)), ..caller() },
            ..on(fixture.claim(stored(fixture.engine.remember(with_op(1, BLUE)).unwrap()).claim_id).id, "x")
        })
        .unwrap_err();
    assert_eq!(error.field.as_deref(), Some("op_id"));
}

#[test]
fn bad_input_names_its_field_and_loses_nothing() {
    let fixture = Fixture::new();
    let field = |request: RememberRequest| fixture.engine.remember(request).unwrap_err().field.unwrap();
    assert_eq!(field(RememberRequest { reason: None, ..request(BLUE, "") }), "reason");
    assert_eq!(field(request("", "r")), "statement");
    assert_eq!(field(request("a\0b", "r")), "statement");
    assert_eq!(
        field(RememberRequest { caller: Caller { who: String::new(), ..caller() }, ..request(BLUE, "r") }),
        "who"
    );
    assert_eq!(
        field(RememberRequest { caller: Caller { project: String::new(), ..caller() }, ..request(BLUE, "r") }),
        "project"
    );
    assert_eq!(field(RememberRequest { depends_on: vec!["beef".into()], ..request(BLUE, "r") }), "depends_on");
    let huge = fixture.engine.remember(request(&"x".repeat(1 << 20), "r")).unwrap_err();
    assert_eq!(huge.code, ErrorCode::TooLarge);
    assert_eq!(fixture.engine.learn(request(BLUE, "r")).unwrap_err().field.as_deref(), Some("source"));
    assert_eq!(fixture.engine.counts().unwrap().claims, 0);
    // A text at the limit in every field still fits.
    let full =
        RememberRequest { source: Some("s".repeat(8192)), ..request(&"wörd ".repeat(1300), &"r ".repeat(4096)) };
    stored(fixture.engine.learn(full).unwrap());
}

#[test]
fn supersede_is_compared_with_everything_but_its_targets() {
    let fixture = Fixture::new();
    let blue = fixture.remember(BLUE, "safe");
    let outcome = stored(fixture.supersede(blue, RED, "the blue fleet is gone"));
    assert_eq!(outcome.superseded, [blue]);
    let old = fixture.claim(blue);
    assert_eq!((old.status, old.replaced_by.as_slice()), (Status::Superseded, &[outcome.claim_id][..]));
    assert_eq!(old.closing_reason.as_deref(), Some("the blue fleet is gone"));

    let port = fixture.remember("The API port is 8080", "history");
    let blocked = refused(fixture.supersede(port, "Deployments must use a green canary", "why not"));
    assert_eq!(blocked.conflicts[0].claim.id, outcome.claim_id);
    // The targets are kept on the card, and give way when it is settled for the new claim.
    let card = fixture.card(blocked.card_id.unwrap());
    assert!(card.summary.members.contains(&port) && card.summary.members.contains(&outcome.claim_id));
    assert_eq!(fixture.claim(port).status, Status::Active);
}

#[test]
fn supersede_by_an_existing_claim() {
    let fixture = Fixture::new();
    let a = fixture.remember("Logs are kept for 30 days", "disk");
    let b = fixture.remember("Retention follows the data policy", "audit");
    let by = |target: ClaimId, successor: ClaimId| SupersedeRequest {
        targets: vec![target.to_hex()],
        successor: Some(successor.to_hex()),
        expect_rev: None,
        drop_conditions: false,
        claim: RememberRequest { caller: caller(), reason: Some("one rule".into()), ..RememberRequest::default() },
    };
    let outcome = stored(fixture.engine.supersede(by(a, b)).unwrap());
    assert_eq!((outcome.claim_id, outcome.superseded), (b, vec![a]));
    assert_eq!(fixture.claim(a).replaced_by, [b]);
    assert_eq!(fixture.engine.supersede(by(b, b)).unwrap_err().field.as_deref(), Some("successor"));
    assert_eq!(stale(fixture.engine.supersede(by(b, a)).unwrap()).claim.unwrap().id, a);
}

#[test]
fn a_target_that_is_gone_answers_stale_with_what_stands_there_now() {
    let fixture = Fixture::new();
    let a = fixture.remember(BLUE, "safe");
    let b = stored(fixture.supersede(a, RED, "changed")).claim_id;
    let answer = stale(fixture.supersede(a, "Deployments must use a green canary", "changed again"));
    assert_eq!(answer.heads.iter().map(|head| head.id).collect::<Vec<_>>(), [b]);
    assert!(!answer.can_reinstate);
    fixture.retract(b, "wrong");
    let answer = stale(fixture.supersede(a, "Deployments must use a green canary", "changed again"));
    assert!(answer.can_reinstate && answer.heads.is_empty());
}

#[test]
fn expect_rev_guards_against_acting_on_something_else() {
    let fixture = Fixture::new();
    let id = fixture.remember(BLUE, "safe");
    let rev = fixture.claim(id).rev;
    let request = |expect_rev| SupersedeRequest {
        targets: vec![id.to_hex()],
        expect_rev: Some(expect_rev),
        claim: request(RED, "changed"),
        ..SupersedeRequest::default()
    };
    assert_eq!(stale(fixture.engine.supersede(request(rev + 1)).unwrap()).claim.unwrap().id, id);
    stored(fixture.engine.supersede(request(rev)).unwrap());
}

#[test]
fn a_fact_is_no_way_around_the_guard() {
    let fixture = Fixture::new();
    let id = fixture.remember(BLUE, "safe");
    let request = SupersedeRequest {
        targets: vec![id.to_hex()],
        claim: fact("The canary is red"),
        ..SupersedeRequest::default()
    };
    assert_eq!(fixture.engine.supersede(request).unwrap_err().field.as_deref(), Some("kind"));
}

#[test]
fn a_scope_name_with_another_identity_is_renamed_and_says_so() {
    let fixture = Fixture::new();
    let with = |identity: &str, statement: &str| {
        let mut request = request(statement, "r");
        request.caller.identity = Some(identity.into());
        stored(fixture.engine.remember(request).unwrap())
    };
    let first = with("https://example.org/one.git", BLUE);
    assert!(first.warnings.is_empty() && first.scope.project == "api");
    let second = with("https://example.org/two.git", RED);
    assert_eq!(second.scope.project, "api-2");
    assert_eq!(second.warnings[0].code, "scope_renamed");
    assert_eq!(with("https://example.org/two.git", RED).claim_id, second.claim_id);
}

#[test]
fn what_a_write_rests_on_must_be_active_and_of_its_scope() {
    let fixture = Fixture::new();
    let premise = fixture.remember("We run on Postgres", "team knows it");
    let resting = RememberRequest {
        depends_on: vec![premise.short()],
        ..request("Migrations are written in SQL", "one database")
    };
    let id = stored(fixture.engine.remember(resting.clone()).unwrap()).claim_id;
    assert_eq!(fixture.claim(id).premises, [premise]);
    assert_eq!(fixture.claim(premise).dependents, 1);

    let mut elsewhere = RememberRequest { statement: "Another".into(), ..resting.clone() };
    elsewhere.caller.project = "web".into();
    assert_eq!(fixture.engine.remember(elsewhere).unwrap_err().field.as_deref(), Some("depends_on"));
    fixture.retract(premise, "never did");
    let late = RememberRequest { statement: "Backups use pg_dump".into(), ..resting };
    assert!(matches!(fixture.engine.remember(late).unwrap(), WriteOutcome::Stale(_)));
}

#[test]
fn many_writers_at_once_lose_nothing_and_a_listener_may_read() {
    let fixture = std::sync::Arc::new(Fixture::new());
    let engine = std::sync::Arc::downgrade(&fixture);
    let read = std::sync::Arc::new(AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&read);
    fixture.engine.on_change(Box::new(move |change| {
        let fixture = engine.upgrade().unwrap();
        // The change is committed and no lock is held: what it names can be read.
        for id in &change.claims {
            assert_eq!(fixture.claim(*id).status, Status::Active);
            counted.fetch_add(1, Ordering::Relaxed);
        }
    }));
    let names = ["billing", "search", "mail", "checkout", "payroll", "booking"];
    std::thread::scope(|scope| {
        for name in names {
            let fixture = &fixture;
            scope.spawn(move || {
                for part in ["logs to its own file", "answers in JSON", "runs as its own user"] {
                    fixture.remember(&format!("The {name} service {part}"), "order");
                }
            });
        }
    });
    assert_eq!((fixture.engine.counts().unwrap().active, read.load(Ordering::Relaxed)), (18, 18));
    assert_eq!(fixture.changes.lock().unwrap().len(), 18);
}

#[test]
fn a_statement_is_the_same_with_another_first_letter_or_a_full_stop() {
    let fixture = Fixture::new();
    let first = fixture.remember("Logs are kept for 30 days", "audits");
    for again in ["logs are kept for 30 days", "Logs are kept  for 30 days.", "logs are kept for 30 days."] {
        let stored = stored(fixture.try_remember(again, "audits"));
        assert_eq!((stored.claim_id, stored.duplicate), (first, true), "{again}");
    }
    let other = stored(fixture.try_remember("Logs are kept for 30 Days", "audits"));
    assert!(!other.duplicate);
    // A claim may be replaced by the same words, written better.
    let better = stored(fixture.supersede(first, "Logs are kept for 30 days.", "a full stop"));
    assert_eq!((better.duplicate, better.superseded), (false, vec![first]));
}
