//! Claims that stand beside what they contradict: which is the rule, which the exception, and why; and the relations
//! that survive a change.

use ergo::{
    api::{Beside, BesideRelation, CardStatus, ErrorCode, RecallRequest, Warning, WhyRequest},
    domain::Status,
};

use super::*;

const RULE: &str = "Deployments must use a blue canary";
const ODD: &str = "Deployments must use a red canary";

/// A rule, and a statement that opposes it without the guard noticing.
const STORE: &str = "Every service keeps its data in PostgreSQL";
const LOCAL: &str = "The kiosk keeps a small SQLite file on its disk";

fn forced(statement: &str, why: &str, to: &[ClaimId]) -> RememberRequest {
    RememberRequest {
        force_exception: Some(why.into()),
        exception_to: to.iter().map(|id| id.to_hex()).collect(),
        ..request(statement, "festival week")
    }
}

fn warned<'a>(stored: &'a Stored, code: &str) -> Option<&'a Warning> {
    stored.warnings.iter().find(|warning| warning.code == code)
}

/// The relation of a claim to the only claim that it stands beside.
fn beside(claim: &ClaimView) -> (BesideRelation, ClaimId, Option<&str>) {
    let [Beside { relation, claim, reason, .. }] = claim.beside.as_slice() else { panic!("not one: {claim:#?}") };
    (*relation, *claim, reason.as_deref())
}

#[test]
fn recall_why_and_history_say_which_is_the_rule_and_why() {
    let fixture = Fixture::new();
    let rule = fixture.remember(RULE, "safe");
    let odd = stored(fixture.engine.remember(forced(ODD, "one week only", &[])).unwrap()).claim_id;
    let in_order = [(odd, BesideRelation::Rule, rule), (rule, BesideRelation::Exception, odd)];
    for (id, relation, other) in in_order {
        let expected = (relation, other, Some("one week only"));
        let history = fixture.engine.history(&id.to_hex()).unwrap();
        assert_eq!(beside(&history.claim), expected);
        assert_eq!(beside(&history.chain[0].claim), expected);
        assert_eq!(history.claim.closing_reason, None, "it is in force");
        let question =
            WhyRequest { org_id: "acme".into(), project: "api".into(), question: id.to_hex(), ..WhyRequest::default() };
        assert_eq!(beside(&fixture.engine.why(&question).unwrap().answer.unwrap()), expected);
    }
    let question = RecallRequest {
        org_id: "acme".into(),
        project: "api".into(),
        query: "canary of deployments".into(),
        ..RecallRequest::default()
    };
    let hits = fixture.engine.recall(&question).unwrap().hits;
    for (id, relation, other) in in_order {
        let hit = hits.iter().find(|hit| hit.claim.id == id).unwrap();
        assert_eq!(beside(&hit.claim), (relation, other, Some("one week only")));
    }
    // A question in words is answered with the rule, and with the exception beside it, even if the exception fits better.
    let question = WhyRequest {
        org_id: "acme".into(),
        project: "api".into(),
        question: "why must deployments use a red canary?".into(),
        ..WhyRequest::default()
    };
    let answer = fixture.engine.why(&question).unwrap();
    assert_eq!(answer.answer.as_ref().map(|claim| claim.id), Some(rule));
    assert_eq!(beside(&answer.answer.unwrap()), (BesideRelation::Exception, odd, Some("one week only")));
    assert!(answer.others.iter().chain(&answer.may_disagree).all(|claim| claim.id != odd), "named once");
    // If the rule is not in force, there is nothing to be an exception to.
    fixture.retract(rule, "a typo");
    assert_eq!(fixture.claim(odd).beside, []);
}

#[test]
fn a_rule_that_the_guard_does_not_see_is_named() {
    let fixture = Fixture::new();
    let rule = fixture.remember(STORE, "one thing to run");
    let local = stored(fixture.engine.remember(forced(LOCAL, "it has no network", &[rule])).unwrap());
    let warning = warned(&local, "exception").unwrap();
    assert!(warning.message.contains("as an exception to “Every service"), "{warning:?}");
    assert_eq!(warning.claims[0].id, rule);
    assert_eq!(beside(&fixture.claim(local.claim_id)), (BesideRelation::Rule, rule, Some("it has no network")));
    assert!(fixture.claim(rule).flags.excepted);
    fixture.undo();
    assert_eq!(fixture.claim(rule).beside, []);
}

#[test]
fn the_reason_is_the_justification_unless_another_is_given() {
    let fixture = Fixture::new();
    let rule = fixture.remember(STORE, "one thing to run");
    let named = RememberRequest { exception_to: vec![rule.short()], ..request(LOCAL, "it has no network") };
    let local = stored(fixture.engine.remember(named).unwrap()).claim_id;
    assert_eq!(beside(&fixture.claim(local)).2, Some("it has no network"));
    let bare = RememberRequest { exception_to: vec![rule.short()], ..fact("The till keeps its data in a file.") };
    assert_eq!(fixture.engine.remember(bare).unwrap_err().field.as_deref(), Some("force_exception"));
}

#[test]
fn an_exception_without_a_rule_is_told_how_to_name_one_and_can() {
    let fixture = Fixture::new();
    let rule = fixture.remember(STORE, "one thing to run");
    let first = stored(fixture.engine.remember(forced(LOCAL, "it has no network", &[])).unwrap());
    let warning = warned(&first, "exception").unwrap();
    assert!(warning.message.contains("`exception_to`"), "{warning:?}");
    assert!(!fixture.claim(rule).flags.excepted, "nothing is put on the record that nobody said");
    let again = stored(fixture.engine.remember(forced(LOCAL, "it has no network", &[rule])).unwrap());
    assert!(again.duplicate && again.claim_id == first.claim_id);
    assert_eq!(beside(&fixture.claim(first.claim_id)), (BesideRelation::Rule, rule, Some("it has no network")));
    let third = stored(fixture.engine.remember(forced(LOCAL, "it has no network", &[rule])).unwrap());
    assert!(warned(&third, "exception").unwrap().message.contains("already"), "{third:?}");
    assert_eq!(fixture.claim(rule).beside.len(), 1);
}

#[test]
fn who_names_one_rule_is_still_refused_by_another() {
    let fixture = Fixture::new();
    let rule = fixture.remember(STORE, "one thing to run");
    let blue = fixture.remember(RULE, "safe");
    let refusal = refused(fixture.engine.remember(forced(ODD, "one week only", &[rule])).unwrap());
    let against: Vec<ClaimId> = refusal.conflicts.iter().map(|conflict| conflict.claim.id).collect();
    assert_eq!(against, [blue]);
    let both = stored(fixture.engine.remember(forced(ODD, "one week only", &[rule, blue])).unwrap());
    assert_eq!(fixture.claim(both.claim_id).beside.len(), 2);
    assert_eq!(fixture.card(refusal.card_id.unwrap()).summary.status, CardStatus::Settled);
}

#[test]
fn a_rule_is_a_claim_in_force_that_the_write_does_not_replace() {
    let fixture = Fixture::new();
    let rule = fixture.remember(RULE, "safe");
    let replacing = SupersedeRequest {
        targets: vec![rule.to_hex()],
        claim: forced(ODD, "one week only", &[rule]),
        ..SupersedeRequest::default()
    };
    assert_eq!(fixture.engine.supersede(replacing).unwrap_err().field.as_deref(), Some("exception_to"));
    fixture.retract(rule, "a typo");
    let answer = stale(fixture.engine.remember(forced(ODD, "one week only", &[rule])).unwrap());
    assert!(answer.message.contains("already retracted"), "{answer:?}");
}

#[test]
fn an_agent_that_may_only_propose_proposes_an_exception_to_the_rule_it_names() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let rule = fixture.remember(STORE, "one thing to run");
    let by_agent = RememberRequest { caller: agent(), ..forced(LOCAL, "it has no network", &[rule]) };
    let answer = proposed(fixture.engine.remember(by_agent).unwrap());
    assert_eq!((answer.claim.id, answer.accept), (rule, CardAct::Exception));
    assert!(!fixture.claim(rule).flags.excepted, "a person decides");
    let card = fixture.card(answer.card_id);
    assert!(card.summary.headline.contains("claude says that it is an exception to"), "{}", card.summary.headline);
    assert!(card.advice.contains("it has no network"), "{}", card.advice);
    let local = done(fixture.resolve(answer.card_id, order(CardAct::Exception, "it has no network"))).claim_id.unwrap();
    assert_eq!(beside(&fixture.claim(local)), (BesideRelation::Rule, rule, Some("it has no network")));
}

#[test]
fn a_card_can_say_which_side_is_the_exception() {
    for named in [None, Some(0), Some(1)] {
        let fixture = Fixture::new();
        let old = fixture.remember(RULE, "safe");
        let card = fixture.refuse(ODD, "prettier");
        let target = named.map(|at: usize| fixture.card(card).sides[at].claim.id.to_hex());
        let answer =
            done(fixture.resolve(card, ResolveRequest { target, ..order(CardAct::Exception, "for the festival") }));
        let new = answer.claim_id.unwrap();
        let (exception, rule) = if named == Some(1) { (old, new) } else { (new, old) };
        assert_eq!(beside(&fixture.claim(exception)), (BesideRelation::Rule, rule, Some("for the festival")));
        assert_eq!(beside(&fixture.claim(rule)), (BesideRelation::Exception, exception, Some("for the festival")));
    }
}

#[test]
fn a_dismissal_keeps_its_reason_with_both_claims() {
    let fixture = Fixture::new();
    let old = fixture.remember(RULE, "safe");
    let card = fixture.refuse(ODD, "prettier");
    let new = done(fixture.resolve(card, order(CardAct::Dismiss, "two different fleets"))).claim_id.unwrap();
    assert_eq!(beside(&fixture.claim(old)), (BesideRelation::Compatible, new, Some("two different fleets")));
    assert_eq!(beside(&fixture.claim(new)), (BesideRelation::Compatible, old, Some("two different fleets")));
    assert_eq!(fixture.card(card).settled.unwrap().reason.as_deref(), Some("two different fleets"));
    fixture.undo();
    assert_eq!(fixture.claim(old).beside, []);
}

#[test]
fn the_id_of_a_refused_write_leads_to_the_claim_that_it_became() {
    let fixture = Fixture::new();
    let old = fixture.remember(RULE, "safe");
    let card = fixture.refuse(ODD, "prettier");
    let refused = fixture.card(card).sides[0].claim.id;
    let error = fixture.engine.history(&refused.to_hex()).unwrap_err();
    assert_eq!(error.code, ErrorCode::NotFound);
    assert!(error.message.contains("it is on card") && error.hint.unwrap().contains(&card.short()));
    let winner = Some(refused.to_hex());
    let answer =
        done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "the brand changed") }));
    let new = answer.claim_id.unwrap();
    assert_eq!(fixture.claim(refused).id, new, "the old id leads to the new one");
    assert_eq!(fixture.claim(new).reason.as_deref(), Some("prettier"), "it keeps its reason");
    let history = fixture.engine.history(&refused.short()).unwrap();
    assert_eq!((history.claim.id, history.chain[1].change_reason.as_deref()), (new, Some("the brand changed")));
    assert_eq!(history.chain[1].claim.id, old);
    assert_eq!(fixture.card(card).settled.unwrap().stored_as, Some(new));
    let question = WhyRequest {
        org_id: "acme".into(),
        project: "api".into(),
        question: refused.to_hex(),
        ..WhyRequest::default()
    };
    assert_eq!(fixture.engine.why(&question).unwrap().answer.unwrap().id, new);
    // An act on the old id is an act on the claim.
    assert_eq!(fixture.retract(refused, "no").claims[0].id, new);
}

#[test]
fn the_id_of_a_refused_write_that_was_dropped_says_so() {
    let fixture = Fixture::new();
    fixture.remember(RULE, "safe");
    let card = fixture.refuse(ODD, "prettier");
    let refused = fixture.card(card).sides[0].claim.id;
    done(fixture.resolve(card, order(CardAct::Discard, "a mistake")));
    let error = fixture.engine.claim(&refused.to_hex()).unwrap_err();
    assert!(error.message.contains("was discarded"), "{error:?}");
}

#[test]
fn a_refused_write_that_is_sent_again_as_an_exception_is_found_by_its_first_id() {
    let fixture = Fixture::new();
    let rule = fixture.remember(RULE, "safe");
    let card = fixture.refuse(ODD, "festival week");
    let refused = fixture.card(card).sides[0].claim.id;
    let odd = stored(fixture.engine.remember(forced(ODD, "one week only", &[rule])).unwrap()).claim_id;
    assert_eq!(fixture.claim(refused).id, odd);
    assert_eq!(fixture.engine.counts().unwrap().guard.exception, 1);
}

#[test]
fn what_is_narrowed_keeps_its_reason_and_says_why_it_was_narrowed() {
    for stored_side in [false, true] {
        let fixture = Fixture::new();
        let old = fixture.remember(RULE, "safe");
        let card = fixture.refuse(ODD, "prettier");
        let refused = fixture.card(card).sides[0].claim.id;
        let (target, reason) = if stored_side { (old, "safe") } else { (refused, "prettier") };
        let narrowed = ResolveRequest {
            target: Some(target.to_hex()),
            qualifiers: in_env("dev"),
            ..order(CardAct::Narrow, "only there")
        };
        done(fixture.resolve(card, narrowed));
        let narrowed = if stored_side { fixture.claim(old).replaced_by[0] } else { fixture.claim(refused).id };
        let narrowed = fixture.claim(narrowed);
        assert_eq!((narrowed.qualifiers.clone(), narrowed.reason.as_deref()), (in_env("dev"), Some(reason)));
        if stored_side {
            assert_eq!(fixture.claim(old).closing_reason.as_deref(), Some("only there"));
        }
        let general = fixture.claim(if stored_side { fixture.card(card).sides[0].claim.id } else { old });
        assert_eq!(beside(&narrowed), (BesideRelation::General, general.id, Some("only there")));
        assert_eq!(beside(&general), (BesideRelation::Limited, narrowed.id, Some("only there")));
        assert_eq!(general.beside[0].holds.as_deref(), Some("env dev"));
        fixture.undo();
        assert_eq!((fixture.open_cards(), fixture.claim(old).status), (1, Status::Active));
    }
}

#[test]
fn a_change_names_what_speaks_of_the_same_and_stays_in_force() {
    let fixture = Fixture::new();
    let pnpm = fixture.remember("The package manager is pnpm.", "fast");
    let pinned = fixture.remember("pnpm is pinned to 10.5.2.", "the lock file changed its form");
    let store = stored(fixture.engine.remember(fact("The pnpm store is at /var/cache/pnpm.")).unwrap()).claim_id;
    fixture.remember("The build server has 16 cores.", "links are slow");
    fixture.remember("The release manager signs each package.", "trust");
    let gone = fixture.remember("Use pnpm workspaces for the shop.", "one lock file");
    fixture.retract(gone, "the shop moved away");
    let answer = stored(fixture.supersede(pnpm, "The package manager is Bun.", "one tool for all"));
    let left = warned(&answer, "still_in_force").unwrap();
    let mut named: Vec<ClaimId> = left.claims.iter().map(|claim| claim.id).collect();
    named.sort();
    let mut expected = vec![pinned, store];
    expected.sort();
    assert_eq!(named, expected, "{:?}", left.claims.iter().map(|claim| &claim.statement).collect::<Vec<_>>());
    // A claim that is there already can take another's place, and a change of words leaves nothing.
    let reworded = stored(fixture.supersede(answer.claim_id, "Bun is the package manager.", "shorter"));
    assert!(warned(&reworded, "still_in_force").is_none(), "{reworded:?}");
}

#[test]
fn figures_that_fall_away_are_looked_for_too() {
    let fixture = Fixture::new();
    let port = fixture.remember("The gateway listens on port 8443.", "the proxy expects it");
    let probe = fixture.remember("The health probe asks localhost:8443 each minute.", "the orchestrator wants it");
    fixture.remember("The gateway logs in JSON.", "one parser");
    let answer = stored(fixture.supersede(port, "The gateway listens on port 9443.", "the old one is taken"));
    let left = warned(&answer, "still_in_force").unwrap();
    assert_eq!(left.claims.iter().map(|claim| claim.id).collect::<Vec<_>>(), [probe]);
}

#[test]
fn settling_a_card_names_what_stays_in_force_too() {
    let fixture = Fixture::new();
    fixture.remember("The canary must be blue.", "safe");
    let paint = fixture.remember("The blue paint of the canary is RAL 5015.", "the brand");
    let card = fixture.refuse("The canary must be red.", "prettier");
    let winner = Some(fixture.card(card).sides[0].claim.id.to_hex());
    let answer =
        done(fixture.resolve(card, ResolveRequest { winner, ..order(CardAct::Supersede, "the brand changed") }));
    let left = answer.warnings.iter().find(|warning| warning.code == "still_in_force").unwrap();
    assert_eq!(left.claims[0].id, paint);
}

#[test]
fn a_statement_of_several_sentences_is_told_to_be_split() {
    let fixture = Fixture::new();
    let two = "Deploy with Helm, e.g. by the pipeline. Never log request bodies.";
    let answer = stored(fixture.try_remember(two, "safe"));
    let warning = warned(&answer, Warning::SEVERAL_CLAIMS).unwrap();
    assert!(warning.message.contains("2 sentences"), "{warning:?}");
    let one = stored(fixture.try_remember("Use Node.js v22.1, e.g. for the CI scripts.", "it is there"));
    assert!(warned(&one, Warning::SEVERAL_CLAIMS).is_none(), "{one:?}");
}

#[test]
fn a_question_is_stored_and_its_writer_is_told_to_decide() {
    let fixture = Fixture::new();
    let answer = stored(fixture.try_remember("Do we deploy with Helm? ", "somebody asked"));
    assert!(warned(&answer, Warning::QUESTION).is_some(), "{answer:?}");
    let answer = stored(fixture.try_remember("Whether we deploy with Helm is open", "nobody knows"));
    assert!(warned(&answer, Warning::QUESTION).is_none(), "{answer:?}");
}
