//! why, claims, history, the log, scopes, backup.

use ergo::{
    api::{ClaimsQuery, ConflictsQuery, ErrorCode, LogQuery, RememberRequest, WhyAnswer, WhyRequest},
    engine::{Engine, EngineConfig},
};

use super::*;

fn why(fixture: &Fixture, question: &str) -> WhyAnswer {
    let request =
        WhyRequest { org_id: "acme".into(), project: "api".into(), question: question.into(), ..WhyRequest::default() };
    fixture.engine.why(&request).unwrap()
}

fn query() -> ClaimsQuery {
    ClaimsQuery { org_id: Some("acme".into()), project: Some("api".into()), ..ClaimsQuery::default() }
}

#[test]
fn a_page_by_kind_repeats_nothing_if_a_claim_came_in_before_it() {
    let fixture = Fixture::new();
    let ids: Vec<ClaimId> = ["Logs are kept for 30 days", "Pages are cached", "Images are signed"]
        .map(|text| fixture.remember(text, "r"))
        .into();
    let page = |cursor: Option<String>| {
        let query = ClaimsQuery { order: Some("kind".into()), limit: Some(2), cursor, ..query() };
        fixture.engine.claims(&query).unwrap()
    };
    let first = page(None);
    fixture.remember("Invoices are sent by post", "r");
    let second = page(first.next.clone());
    let seen: Vec<ClaimId> = first.items.iter().chain(&second.items).map(|claim| claim.id).collect();
    assert_eq!(seen, ids.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn a_page_without_expired_claims_is_full_and_counts_only_the_others() {
    let fixture = Fixture::new();
    let until = |statement: &str, day: &str| {
        let mut claim = request(statement, "they said so");
        claim.qualifiers.valid_until = Some(day.to_owned());
        stored(fixture.engine.remember(claim).unwrap()).claim_id
    };
    let valid = fixture.remember("Logs are kept for 30 days", "disk");
    let later = until("Pages are cached", "2999-12-31");
    let gone = [("Images are signed", "2020-01-31"), ("Invoices are sent by post", "2021-01-31")];
    let gone = gone.map(|(statement, day)| until(statement, day));
    let read = |query: ClaimsQuery| {
        let page = fixture.engine.claims(&query).unwrap();
        (page.items.into_iter().map(|claim| claim.id).collect::<Vec<_>>(), page.total)
    };
    let of = |expired| ClaimsQuery { expired, limit: Some(2), ..query() };
    assert_eq!(read(of(Some(false))), (vec![later, valid], 2));
    assert_eq!(read(of(Some(true))), (vec![gone[1], gone[0]], 2));
    assert_eq!(read(of(None)).1, 4);
    assert_eq!(read(ClaimsQuery { q: Some("signed images".into()), ..of(Some(false)) }).1, 0);
    assert_eq!(read(ClaimsQuery { verdict: Some("clean".into()), ..of(Some(false)) }).1, 2);
    // A redaction removes the last day with the text.
    let request =
        ActRequest { caller: caller(), target: gone[0].to_hex(), reason: "x".into(), ..ActRequest::default() };
    fixture.engine.redact(request).unwrap();
    assert_eq!(read(of(Some(true))), (vec![gone[1]], 1));
    let fixture = fixture.reopen();
    assert_eq!(fixture.engine.claims(&of(Some(true))).unwrap().total, 1);
}

#[test]
fn why_answers_with_the_reasoned_claim_and_the_chain_that_led_to_it() {
    let fixture = Fixture::new();
    let first = fixture.remember("We deploy from laptops", "three people");
    let second = stored(fixture.supersede(first, "We deploy from the CI server", "laptops drifted")).claim_id;
    let third = stored(fixture.supersede(second, "We deploy only on green CI", "red builds broke prod")).claim_id;
    fixture.remember("Logs are kept for 30 days", "disk");
    let answer = why(&fixture, "why do we deploy only on green CI?");
    assert_eq!(answer.answer.as_ref().unwrap().id, third);
    let chain: Vec<_> = answer.chain.iter().map(|link| (link.claim.id, link.change_reason.as_deref())).collect();
    assert_eq!(chain, [(third, None), (second, Some("red builds broke prod")), (first, Some("laptops drifted"))]);
    assert_eq!(answer.chain[1].changed_by.as_deref(), Some("ada"));
}

#[test]
fn a_fact_answers_only_if_no_reasoned_claim_does() {
    let fixture = Fixture::new();
    let known = stored(fixture.engine.remember(fact("Deployments go through the green gate")).unwrap()).claim_id;
    let reasoned = fixture.remember("Every deployment goes through the gate", "two outages");
    assert_eq!(why(&fixture, "why do deployments go through the green gate").answer.unwrap().id, reasoned);
    fixture.retract(reasoned, "gone");
    let answer = why(&fixture, "why do deployments go through the green gate");
    assert_eq!(answer.answer.map(|claim| claim.id), Some(known));
    assert!(answer.note.unwrap().contains("fact"));
}

#[test]
fn a_fact_that_answers_much_better_comes_before_a_reason() {
    let fixture = Fixture::new();
    let known = stored(fixture.engine.remember(fact("The staging API runs on port 9443")).unwrap()).claim_id;
    let reasoned = fixture.remember("The staging API is redeployed each night", "tests need a clean state");
    let answer = why(&fixture, "which port does the staging API run on?");
    assert_eq!(answer.answer.map(|claim| claim.id), Some(known), "{:?}", answer.note);
    assert_eq!(answer.others.iter().map(|claim| claim.id).collect::<Vec<_>>(), [reasoned]);
    let answer = why(&fixture, "why is the staging API redeployed each night?");
    assert_eq!(answer.answer.map(|claim| claim.id), Some(reasoned));
}

#[test]
fn why_of_an_unknown_id_is_an_error() {
    let fixture = Fixture::new();
    fixture.remember("We deploy only on green CI", "red builds broke prod");
    let request = |question: &str| WhyRequest {
        org_id: "acme".into(),
        project: "api".into(),
        question: question.into(),
        ..WhyRequest::default()
    };
    assert_eq!(fixture.engine.why(&request("0123456789ab")).unwrap_err().code, ErrorCode::NotFound);
    assert!(fixture.engine.why(&request("2026")).unwrap().answer.is_none(), "a number is no id");
}

#[test]
fn if_no_claim_answers_the_nearest_claims_and_facts_are_listed() {
    let fixture = Fixture::new();
    let known = stored(fixture.engine.remember(fact("The kubernetes cluster has nine nodes")).unwrap()).claim_id;
    let answer = why(&fixture, "why did the kubernetes upgrade of last spring fail on saturday");
    assert!(answer.answer.is_none() && answer.note.unwrap().contains("clearly answers"));
    assert_eq!(answer.others[0].id, known);
}

#[test]
fn facts_without_reasons_do_not_hide_the_claim_that_has_one() {
    let fixture = Fixture::new();
    let reasoned = fixture.remember("Every deployment of the whole fleet waits for the gate", "two outages");
    for n in 0..45 {
        let key = Some(format!("gate/{n}"));
        stored(
            fixture.engine.remember(RememberRequest { key, ..fact(&format!("Gate {n}: deployment gate")) }).unwrap(),
        );
    }
    assert_eq!(why(&fixture, "why a gate for each deployment").answer.unwrap().id, reasoned);
}

#[test]
fn if_nothing_is_known_the_answer_says_so() {
    let fixture = Fixture::new();
    fixture.remember("We deploy only on green CI", "red builds broke prod");
    for question in ["why kubernetes?", "why is it so?", "why do we bill in yen through paypal on mondays"] {
        let answer = why(&fixture, question);
        assert!(answer.answer.is_none() && answer.chain.is_empty() && answer.note.is_some(), "{question}");
    }
    let request = WhyRequest { org_id: "acme".into(), project: "api".into(), ..WhyRequest::default() };
    assert_eq!(fixture.engine.why(&request).unwrap_err().field.as_deref(), Some("question"));
}

#[test]
fn why_accepts_an_id_whatever_its_state() {
    let fixture = Fixture::new();
    let old = fixture.remember("We deploy from laptops", "three people");
    let new = stored(fixture.supersede(old, "We deploy from the CI server", "laptops drifted")).claim_id;
    let answer = why(&fixture, &old.short());
    assert_eq!(answer.answer.unwrap().id, old);
    assert_eq!(answer.others[0].id, new);
    assert!(answer.note.unwrap().contains("superseded"));
}

#[test]
fn why_shows_two_claims_in_force_that_may_disagree_together() {
    let models = ergo::infer::FakeModels::new().embedding(|text| Ok(ergo::infer::FakeModels::bag_of_words(text)));
    let fixture = Fixture::new().reopen_with_models(Guard::default(), Arc::new(models));
    let older = fixture.remember("Releases leave on Tuesdays", "support is complete then");
    let newer = fixture.remember("Releases leave when built", "waiting cost days");
    fixture.remember("Doors are blue", "taste");
    while fixture.engine.fill_vectors().unwrap() > 0 {}
    let answer = why(&fixture, "when do releases leave?");
    let both: Vec<_> = answer.answer.iter().chain(&answer.may_disagree).map(|claim| claim.id).collect();
    assert!(both.len() == 2 && both.contains(&older) && both.contains(&newer), "{answer:?}");
    assert!(answer.note.as_deref().is_some_and(|note| note.contains("dates")), "{answer:?}");
    assert!(answer.others.iter().all(|other| !both.contains(&other.id)), "no claim twice: {answer:?}");
    // A replaced claim raises no question any more.
    fixture.retract(older, "it was never so");
    assert!(why(&fixture, "when do releases leave?").may_disagree.is_empty());
}

#[test]
fn why_as_of_a_time_answers_as_it_was() {
    let fixture = Fixture::new();
    let old = fixture.remember("We deploy from laptops", "three people");
    // The last look at the clock was the act's.
    let then = fixture.clock.load(std::sync::atomic::Ordering::Relaxed) - 1;
    fixture.supersede(old, "We deploy from the CI server", "laptops drifted");
    let request = WhyRequest {
        org_id: "acme".into(),
        project: "api".into(),
        question: "why do we deploy from laptops".into(),
        as_of: Some(then),
        ..WhyRequest::default()
    };
    assert_eq!(fixture.engine.why(&request).unwrap().answer.unwrap().id, old);
}

#[test]
fn claims_are_paged_filtered_and_searched() {
    let fixture = Fixture::new();
    for name in ["billing", "search", "mail", "checkout", "payroll", "booking", "ledger"] {
        fixture.remember(&format!("The {name} service logs to its own file"), "order");
    }
    stored(fixture.engine.remember(fact("The build server is in Bonn")).unwrap());
    let page = fixture.engine.claims(&ClaimsQuery { limit: Some(5), ..query() }).unwrap();
    assert_eq!((page.items.len(), page.total), (5, 8));
    let cursor = page.next;
    let rest = fixture.engine.claims(&ClaimsQuery { limit: Some(5), cursor: cursor.clone(), ..query() }).unwrap();
    assert_eq!((rest.items.len(), rest.next), (3, None));
    let facts = fixture.engine.claims(&ClaimsQuery { kind: Some("fact".into()), ..query() }).unwrap();
    assert_eq!(facts.total, 1);
    let found = fixture.engine.claims(&ClaimsQuery { q: Some("bonn".into()), ..query() }).unwrap();
    assert_eq!(found.items[0].statement, "The build server is in Bonn");
    for (bad, field) in [
        (ClaimsQuery { status: Some("odd".into()), ..query() }, "status"),
        (ClaimsQuery { kind: Some("odd".into()), ..query() }, "kind"),
        (ClaimsQuery { limit: Some(0), ..query() }, "limit"),
        (ClaimsQuery { limit: Some(100_000), ..query() }, "limit"),
        (ClaimsQuery { cursor: Some("odd".into()), ..query() }, "cursor"),
        (ClaimsQuery { kind: Some("decision".into()), cursor: cursor.clone(), ..query() }, "cursor"),
        (ClaimsQuery { org_id: None, ..query() }, "org_id"),
    ] {
        assert_eq!(fixture.engine.claims(&bad).unwrap_err().field.as_deref(), Some(field));
    }
    let (org_id, project) = (query().org_id, query().project);
    let log =
        LogQuery { org_id: org_id.clone(), project: project.clone(), cursor: cursor.clone(), ..LogQuery::default() };
    assert_eq!(fixture.engine.log(&log).unwrap_err().field.as_deref(), Some("cursor"));
    let cards = ConflictsQuery { org_id, project, cursor, ..ConflictsQuery::default() };
    assert_eq!(fixture.engine.conflicts(&cards).unwrap_err().field.as_deref(), Some("cursor"));
}

#[test]
fn search_takes_any_text() {
    let fixture = Fixture::new();
    fixture.remember("Logs are kept for 30 days", "disk");
    for text in ["\"", "a AND", "NEAR(", "*", "col:x", "'; DROP TABLE", "(((", "-", "émigré 決定", "x\0y"] {
        let _ = fixture.engine.claims(&ClaimsQuery { q: Some(text.into()), ..query() }).unwrap();
        if !text.contains('\0') {
            let _ = why(&fixture, text);
        }
    }
}

#[test]
fn the_log_and_the_scopes_say_what_was_done_where() {
    let fixture = Fixture::new();
    let id = fixture.remember("Logs are kept for 30 days", "disk");
    let mut elsewhere = request("We ship on Fridays", "habit");
    elsewhere.caller.project = "web".into();
    stored(fixture.engine.remember(elsewhere).unwrap());
    fixture.retract(id, "junk");
    let log = fixture.engine.log(&LogQuery::default()).unwrap();
    let kinds: Vec<&str> = log.items.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["retract", "assert", "assert"]);
    let scopes = fixture.engine.scopes().unwrap();
    let counts: Vec<_> =
        scopes.items.iter().map(|scope| (scope.scope.project.as_str(), scope.active, scope.total)).collect();
    assert_eq!(counts, [("api", 0, 1), ("web", 1, 1)]);
}

#[test]
fn a_claim_past_its_window_is_shown_as_expired() {
    let fixture = Fixture::new();
    let past = RememberRequest {
        qualifiers: ergo::domain::Qualifiers { valid_until: Some("2026-02-28".into()), ..Default::default() },
        ..request("Deployments must use a blue canary", "winter")
    };
    let id = stored(fixture.engine.remember(past).unwrap()).claim_id;
    assert!(fixture.claim(id).flags.expired);
    // An expired claim opposes nothing.
    fixture.remember("Deployments must use a red canary", "spring");
}

#[test]
fn a_backup_is_a_whole_store_and_never_overwrites() {
    let fixture = Fixture::new();
    let id = fixture.remember("Logs are kept for 30 days", "disk");
    let copy = fixture.dir.path().join("copy.db");
    assert!(fixture.engine.backup(&copy).unwrap() > 0);
    assert_eq!(fixture.engine.backup(&copy).unwrap_err().code, ErrorCode::BadRequest);
    let restored = Engine::open(EngineConfig::new(&copy, SigningKey::from_bytes(&[8; 32]))).unwrap();
    assert_eq!(restored.claim(&id.to_hex()).unwrap().statement, "Logs are kept for 30 days");
}

#[test]
fn a_claim_whose_successor_left_the_log_still_has_a_history() {
    let [a, b, c] = [1, 2, 3].map(|device| Fixture::of(device, AgentPolicy::Force));
    let team = team::create(&a).id;
    for (other, name) in [(&b, "bob-laptop"), (&c, "cy-laptop")] {
        let roster = team::add(&a, other, name, &team::all());
        other.engine.join_team(&caller(), team, &roster, Some(a.engine.device()), &[], &[]).unwrap();
    }
    let old = c.remember("Reports are kept in the archive", "audit");
    let new = b.remember("Invoices are printed on paper", "the law asks for it");
    team::pull(&c, &b, team);
    let request = SupersedeRequest {
        targets: vec![old.to_hex()],
        successor: Some(new.to_hex()),
        claim: request("", "invoices are all that is left"),
        ..SupersedeRequest::default()
    };
    stored(c.engine.supersede(request).unwrap());
    let revoke = ergo::api::RevokeRequest {
        caller: caller(),
        device: "bob-laptop".into(),
        reason: "left".into(),
        ..ergo::api::RevokeRequest::default()
    };
    a.engine.revoke_from_team(&revoke).unwrap();
    team::pull(&c, &a, team);
    assert!(c.engine.claim(&new.to_hex()).is_err(), "what was written after the cut is in quarantine");
    let history = c.engine.history(&old.to_hex()).unwrap();
    assert_eq!((history.claim.replaced_by.as_slice(), history.successors.len()), (&[new][..], 0));
}
