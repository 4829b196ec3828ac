//! `guard.agents_may = propose`: what an agent may not do by itself waits on a card, or is refused.

use ergo::{
    api::{CardKind, CardStatus, ErrorCode, RememberRequest},
    domain::Status,
    engine::AgentPolicy,
};

use super::{stories::reversal_in, *};

/// An engine where agents may only propose, a person's claim, and the card on which an agent's proposal to retract it
/// waits.
fn proposal() -> (Fixture, ClaimId, Proposed) {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let claim = fixture.remember("We ship on Fridays", "habit");
    fixture.acts();
    let answer = proposed(fixture.engine.retract(by_agent(claim, "nobody ships then")).unwrap());
    (fixture, claim, answer)
}

fn by_agent(target: ClaimId, reason: &str) -> ActRequest {
    ActRequest { caller: agent(), ..on(target, reason) }
}

#[test]
fn a_retract_that_an_agent_may_only_propose_waits_and_a_person_accepts_it() {
    let (fixture, claim, answer) = proposal();
    assert_eq!((fixture.claim(claim).status, answer.claim.id, answer.known), (Status::Active, claim, false));
    assert!(answer.summary.contains(&answer.card_id.short()), "{}", answer.summary);
    let card = fixture.card(answer.card_id);
    assert_eq!((card.summary.kind, card.summary.status), (CardKind::Proposed, CardStatus::Open));
    assert_eq!(card.summary.agent.as_deref(), Some("claude"));
    assert!(card.summary.headline.contains("We ship on Fridays") && card.advice.contains("nobody ships then"));
    let possible: Vec<CardAct> = card.acts.iter().filter(|it| it.disabled.is_none()).map(|it| it.act).collect();
    assert_eq!(possible, [CardAct::Retract, CardAct::Dismiss, CardAct::Snooze]);
    let accept = card.acts.iter().find(|option| option.act == CardAct::Retract).unwrap();
    assert_eq!(accept.prefill.as_deref(), Some("nobody ships then"));

    done(fixture.resolve(answer.card_id, order(CardAct::Retract, "nobody ships then")));
    let retracted = fixture.claim(claim);
    assert_eq!((retracted.status, retracted.closing_reason.as_deref()), (Status::Retracted, Some("nobody ships then")));
    let settled = fixture.card(answer.card_id).settled.unwrap();
    assert_eq!((settled.act.as_str(), settled.agent), ("retract", None));
    assert_eq!((fixture.open_cards(), fixture.acts()), (0, vec!["proposed".to_owned(), "resolve".to_owned()]));

    fixture.undo();
    assert_eq!((fixture.claim(claim).status, fixture.open_cards()), (Status::Active, 1), "one undo takes both back");
}

#[test]
fn the_log_says_that_a_retraction_was_proposed() {
    let (fixture, ..) = proposal();
    let log = fixture.engine.log(&ergo::api::LogQuery { acts: true, limit: Some(1), ..Default::default() }).unwrap();
    let event = &log.items[0];
    assert_eq!((event.verb(), event.subject().as_deref()), ("proposed", Some("to retract “We ship on Fridays”")));
}

#[test]
fn a_person_keeps_the_claim_and_it_is_not_proposed_again() {
    let (fixture, claim, answer) = proposal();
    done(fixture.resolve(answer.card_id, order(CardAct::Dismiss, "we do, since May")));
    assert_eq!((fixture.claim(claim).status, fixture.open_cards()), (Status::Active, 0));
    let error = fixture.engine.retract(by_agent(claim, "really")).unwrap_err();
    assert_eq!(error.code, ErrorCode::NeedsPerson);
    assert!(error.message.contains("we do, since May") && error.hint.is_some(), "{error:?}");
    assert_eq!(fixture.open_cards(), 0);
}

#[test]
fn one_claim_has_one_open_proposal_and_a_retry_is_none() {
    let (fixture, claim, answer) = proposal();
    let again = proposed(fixture.engine.retract(by_agent(claim, "another reason")).unwrap());
    assert_eq!((again.card_id, again.known, fixture.open_cards()), (answer.card_id, true, 1));
    let other = fixture.remember("Tests run in parallel", "speed");
    let keyed = || ActRequest { caller: Caller { op_id: Some(op(9)), ..agent() }, ..on(other, "flaky") };
    let first = proposed(fixture.engine.retract(keyed()).unwrap());
    let retry = proposed(fixture.engine.retract(keyed()).unwrap());
    assert_eq!((first.known, retry.known, retry.card_id), (false, true, first.card_id));
    let fixture = fixture.reopen();
    assert_eq!((fixture.open_cards(), fixture.card(answer.card_id).summary.headline.is_empty()), (2, false));
}

#[test]
fn the_agent_may_withdraw_its_proposal_and_decide_nothing() {
    let (fixture, claim, answer) = proposal();
    for act in [CardAct::Retract, CardAct::Dismiss] {
        let own = ResolveRequest { caller: agent(), ..order(act, "I am sure") };
        let error = fixture.engine.resolve(&answer.card_id.to_hex(), own).unwrap_err();
        assert_eq!(error.code, ErrorCode::NeedsPerson);
    }
    let withdrawn = fixture.engine.undo(UndoRequest { caller: agent(), ..UndoRequest::default() }).unwrap();
    assert!(withdrawn.summary.contains("proposed to retract"), "{}", withdrawn.summary);
    assert_eq!((fixture.open_cards(), fixture.claim(claim).status), (0, Status::Active));
    let settled = fixture.card(answer.card_id).settled.unwrap();
    assert_eq!((settled.outcome(), settled.reason.as_deref()), ("the proposal was withdrawn", None));
    // An agent cannot undo a person's act.
    let persons = fixture.engine.log(&ergo::api::LogQuery::default()).unwrap().items;
    let remembered = persons.iter().find(|event| event.kind == "assert").unwrap();
    let undo = UndoRequest { caller: agent(), target_op: Some(remembered.op_id), ..UndoRequest::default() };
    let error = fixture.engine.undo(undo).unwrap_err();
    assert_eq!(error.code, ErrorCode::NeedsPerson);
    let id = remembered.id.short();
    assert!(error.message.contains(&format!("the change {id}, ")), "not as the log shows it: {error}");
    assert!(error.hint.unwrap().ends_with(&format!("`ergo undo {id}`")));
}

#[test]
fn a_proposal_that_a_person_settled_cannot_be_undone_unless_the_settlement_is() {
    for act in [CardAct::Dismiss, CardAct::Retract] {
        let (fixture, claim, answer) = proposal();
        done(fixture.resolve(answer.card_id, order(act, "decided")));
        for caller in [agent(), caller()] {
            let undo = UndoRequest { caller, target_op: Some(answer.op_id), ..UndoRequest::default() };
            let error = fixture.engine.undo(undo).unwrap_err();
            assert_eq!(error.code, ErrorCode::BuiltOn);
            assert!(error.message.contains("ada settled its card"), "{}", error.message);
            assert!(error.hint.unwrap().contains("`ergo undo"));
        }
        assert_eq!(fixture.card(answer.card_id).settled.unwrap().act, act.as_str());
        fixture.undo();
        fixture.engine.undo(UndoRequest { caller: agent(), ..UndoRequest::default() }).unwrap();
        assert_eq!((fixture.claim(claim).status, fixture.open_cards()), (Status::Active, 0));
    }
}

#[test]
fn a_write_that_was_discarded_has_a_card_again_and_an_agent_is_told_of_the_decision() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    fixture.remember("Deployments must use a blue canary", "safe");
    let red = "Deployments must use a red canary";
    let first = fixture.refuse(red, "festival week");
    done(fixture.resolve(first, order(CardAct::Discard, "the week is over")));
    let by_agent = RememberRequest { caller: agent(), ..request(red, "festival week") };
    let error = fixture.engine.remember(by_agent).unwrap_err();
    assert_eq!(error.code, ErrorCode::NeedsPerson);
    assert!(error.message.contains("ada discarded the same write: the week is over"), "{}", error.message);
    assert_eq!(fixture.open_cards(), 0);

    let again = fixture.refuse(red, "festival week");
    assert_ne!(again, first);
    assert_eq!((fixture.open_cards(), fixture.card(again).summary.status), (1, CardStatus::Open));
    done(fixture.resolve(again, order(CardAct::Discard, "still over")));

    // A rule file that is read again does not insist.
    let line = |n| RememberRequest { source: Some(format!("CLAUDE.md:{n}")), ..request(red, "festival week") };
    let read = refused(fixture.engine.remember(line(3)).unwrap()).card_id.unwrap();
    done(fixture.resolve(read, order(CardAct::Discard, "not in files either")));
    let repeated = refused(fixture.engine.remember(line(4)).unwrap());
    assert!(repeated.ways_on[0].contains("not in files either"), "{:?}", repeated.ways_on);
    assert_eq!((repeated.card_id, fixture.open_cards()), (Some(read), 0));
}

#[test]
fn an_agent_that_may_force_is_led_to_the_card_on_which_a_person_discarded_its_write() {
    let fixture = Fixture::new();
    fixture.remember("Deployments must use a blue canary", "safe");
    let red = |reason| RememberRequest { caller: agent(), ..request("Deployments must use a red canary", reason) };
    let first = refused(fixture.engine.remember(red("festival week")).unwrap()).card_id.unwrap();
    done(fixture.resolve(first, order(CardAct::Discard, "the week is over")));
    for reason in ["festival week", "a new week"] {
        let again = refused(fixture.engine.remember(red(reason)).unwrap());
        assert_eq!((again.card_id, fixture.open_cards()), (Some(first), 0));
        assert!(again.ways_on[0].contains("ada discarded the same write: the week is over"), "{:?}", again.ways_on);
    }
    let forced = RememberRequest { force_exception: Some("the festival is back".into()), ..red("festival week") };
    stored(fixture.engine.remember(forced).unwrap());
}

#[test]
fn an_agent_that_may_only_propose_does_not_write_again_what_a_person_retracted() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let claim = fixture.remember("We ship on Fridays", "habit");
    fixture.retract(claim, "we never did");
    let again = |caller| RememberRequest { caller, ..request("we ship  on Fridays.", "habit") };
    let error = fixture.engine.remember(again(agent())).unwrap_err();
    assert_eq!(error.code, ErrorCode::NeedsPerson);
    assert!(error.hint.unwrap().contains(&format!("ask ada to run `ergo reinstate {}", claim.short())));

    // Only the latest claim with these words counts.
    let persons = stored(fixture.engine.remember(again(caller())).unwrap()).claim_id;
    fixture.retract(persons, "no");
    assert!(fixture.engine.remember(again(agent())).is_err());
    let other = |caller| RememberRequest { caller, ..request("Tests run in parallel", "speed") };
    let own = stored(fixture.engine.remember(other(agent())).unwrap()).claim_id;
    done(fixture.engine.retract(by_agent(own, "looks wrong")).unwrap());
    assert!(!stored(fixture.engine.remember(other(agent())).unwrap()).duplicate);
}

#[test]
fn a_claim_that_goes_otherwise_closes_the_card() {
    let (fixture, claim, answer) = proposal();
    fixture.supersede(claim, "We ship on Mondays", "Fridays were bad");
    let card = fixture.card(answer.card_id);
    assert_eq!((fixture.open_cards(), card.summary.status), (0, CardStatus::Settled));
    assert_eq!(card.settled.unwrap().act, "moot");
    stale(fixture.engine.retract(by_agent(claim, "gone")).unwrap());
}

#[test]
fn what_an_agent_wrote_or_where_agents_may_force_is_done_at_once() {
    let (fixture, ..) = proposal();
    let own = RememberRequest { caller: agent(), ..request("Tests run in parallel", "speed") };
    let own = stored(fixture.engine.remember(own).unwrap()).claim_id;
    done(fixture.engine.retract(by_agent(own, "looks wrong")).unwrap());
    let fixture = Fixture::new();
    let persons = fixture.remember("We ship on Fridays", "habit");
    done(fixture.engine.retract(by_agent(persons, "looks wrong")).unwrap());
    assert_eq!(fixture.claim(persons).status, Status::Retracted);
}

#[test]
fn an_agent_that_may_only_propose_redacts_nothing() {
    let (fixture, claim, _) = proposal();
    let own = RememberRequest { caller: agent(), ..request("The staging password is hunter2", "handy") };
    let own = stored(fixture.engine.remember(own).unwrap()).claim_id;
    for target in [claim, own] {
        let error = fixture.engine.redact(by_agent(target, "a secret")).unwrap_err();
        assert_eq!(error.code, ErrorCode::NeedsPerson);
        assert!(error.hint.unwrap().contains(&format!("`ergo redact {target} --reason")));
        assert!(!fixture.claim(target).flags.redacted);
    }
    done(fixture.engine.redact(on(own, "a secret")).unwrap());
    assert!(fixture.claim(own).flags.redacted);
}

#[test]
fn an_agent_that_may_only_propose_discards_its_own_refused_write_and_no_persons() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let blue = fixture.remember("Deployments must use a blue canary", "safe");
    let red = "Deployments must use a red canary";
    let persons = fixture.refuse(red, "festival week");
    let discard = || ResolveRequest { caller: agent(), ..order(CardAct::Discard, "settled long ago") };
    let keep = ResolveRequest { act: CardAct::Supersede, winner: Some(blue.to_hex()), ..discard() };
    for act in [discard(), keep] {
        let error = fixture.engine.resolve(&persons.to_hex(), act).unwrap_err();
        assert_eq!((error.code, error.hint.unwrap().contains("ada")), (ErrorCode::NeedsPerson, true));
    }
    assert_eq!(fixture.open_cards(), 1);
    done(fixture.resolve(persons, order(CardAct::Discard, "the week is over")));

    let write = RememberRequest { caller: agent(), ..request("Deployments must use a green canary", "spring") };
    let own = refused(fixture.engine.remember(write).unwrap()).card_id.unwrap();
    done(fixture.engine.resolve(&own.to_hex(), discard()).unwrap());
    assert_eq!(fixture.open_cards(), 0);
}

#[test]
fn what_an_agent_would_put_in_place_of_a_persons_decision_waits_on_a_card() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let claim = fixture.remember("We ship on Fridays", "habit");
    let replace = |dry_run| SupersedeRequest {
        targets: vec![claim.to_hex()],
        claim: RememberRequest { caller: agent(), dry_run, ..request("We ship on Mondays", "Fridays were bad") },
        ..SupersedeRequest::default()
    };
    assert_eq!(fixture.engine.supersede(replace(true)).unwrap_err().code, ErrorCode::NeedsPerson);
    assert_eq!(fixture.open_cards(), 0);
    let answer = proposed(fixture.engine.supersede(replace(false)).unwrap());
    assert_eq!(answer.accept, CardAct::Supersede);
    assert_eq!((fixture.claim(claim).status, fixture.open_cards()), (Status::Active, 1));
    let new = fixture.card(answer.card_id).sides[0].claim.id.to_hex();
    done(fixture.resolve(answer.card_id, ResolveRequest { winner: Some(new), ..order(CardAct::Supersede, "agreed") }));
    assert_eq!((fixture.claim(claim).status, fixture.open_cards()), (Status::Superseded, 0));
}

#[test]
fn the_log_says_what_was_proposed_and_a_repeated_proposal_is_known() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let claim = fixture.remember("We ship on Fridays", "habit");
    let replace = || {
        let claim_request = RememberRequest { caller: agent(), ..request("We ship on Mondays", "Fridays were bad") };
        let targets = vec![claim.to_hex()];
        let request = SupersedeRequest { targets, claim: claim_request, ..SupersedeRequest::default() };
        proposed(fixture.engine.supersede(request).unwrap())
    };
    let (first, again) = (replace(), replace());
    assert_eq!((first.known, again.known, first.card_id), (false, true, again.card_id));
    assert!(first.summary.starts_with("Proposed: replace"), "{}", first.summary);
    assert!(again.summary.starts_with("Already proposed: replace"), "{}", again.summary);
    let query = ergo::api::LogQuery { acts: true, limit: Some(1), ..Default::default() };
    let event = &fixture.engine.log(&query).unwrap().items[0];
    assert_eq!(event.verb(), "proposed");
    assert_eq!(event.subject().as_deref(), Some("to replace “We ship on Fridays” with “We ship on Mondays”"));
}

#[test]
fn a_proposed_replacement_names_the_agent_and_all_claims_and_the_agent_stays_its_writer() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let old = ["We ship on Fridays", "We ship in the evening"].map(|text| fixture.remember(text, "habit"));
    fixture.acts();
    let request = SupersedeRequest {
        targets: old.iter().map(|id| id.to_hex()).collect(),
        claim: RememberRequest { caller: agent(), ..request("We ship on Monday mornings", "Fridays were bad") },
        ..SupersedeRequest::default()
    };
    let answer = proposed(fixture.engine.supersede(request).unwrap());
    let card = fixture.card(answer.card_id);
    assert!(card.summary.headline.starts_with("claude proposes to replace “"), "{}", card.summary.headline);
    for text in [&answer.summary, &card.summary.headline, &card.evidence[0].sentence] {
        assert!(text.contains("“We ship on Fridays”") && text.contains("“We ship in the evening”"), "{text}");
    }
    assert_eq!((card.summary.accept, fixture.acts()), (Some(CardAct::Supersede), vec!["proposed".to_owned()]));
    assert!(card.advice.starts_with("To accept the proposal"), "{}", card.advice);

    let winner = Some(card.sides[0].claim.id.to_hex());
    let accepted =
        done(fixture.resolve(answer.card_id, ResolveRequest { winner, ..order(CardAct::Supersede, "agreed") }));
    let new = fixture.claim(accepted.claim_id.unwrap());
    assert_eq!((new.who.as_str(), new.agent.as_deref()), ("ada", None), "a person decided it");
    assert_eq!(new.writer(), "ada via claude, accepted by ada");
    assert_eq!(old.map(|id| fixture.claim(id).status), [Status::Superseded; 2]);
}

#[test]
fn on_a_card_an_agent_that_may_only_propose_neither_replaces_nor_narrows_a_persons_decision() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let blue = fixture.remember("Deployments must use a blue canary", "safe");
    let write = RememberRequest { caller: agent(), ..request("Deployments must use a red canary", "festival week") };
    let card = refused(fixture.engine.remember(write).unwrap()).card_id.unwrap();
    let new = fixture.card(card).sides[0].claim.id.to_hex();
    let by_agent = |act| ResolveRequest { caller: agent(), ..order(act, "hurry") };
    let narrow =
        |target| ResolveRequest { target: Some(target), qualifiers: in_env("dev"), ..by_agent(CardAct::Narrow) };
    for act in [
        ResolveRequest { winner: Some(new.clone()), ..by_agent(CardAct::Supersede) },
        ResolveRequest { statement: Some("Deployments use any canary".into()), ..by_agent(CardAct::Supersede) },
        narrow(new),
        narrow(blue.to_hex()),
    ] {
        let error = fixture.engine.resolve(&card.to_hex(), act).unwrap_err();
        assert_eq!(error.code, ErrorCode::NeedsPerson, "{error:?}");
        assert!(error.hint.unwrap().contains(&format!("`ergo tui --conflict {}`", card.short())));
    }
    let own = RememberRequest { caller: agent(), ..request("Tests run in parallel", "speed") };
    let own = stored(fixture.engine.remember(own).unwrap()).claim_id;
    let by_claim = SupersedeRequest {
        targets: vec![blue.to_hex()],
        successor: Some(own.to_hex()),
        claim: RememberRequest { caller: agent(), reason: Some("tidy".into()), ..RememberRequest::default() },
        ..SupersedeRequest::default()
    };
    assert_eq!(fixture.engine.supersede(by_claim).unwrap_err().code, ErrorCode::NeedsPerson);
    assert_eq!((fixture.claim(blue).status, fixture.open_cards()), (Status::Active, 1));
}

#[test]
fn an_agent_that_may_only_propose_brings_back_what_an_agent_closed_and_nothing_else() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let claim = fixture.remember("We ship on Fridays", "habit");
    fixture.retract(claim, "we never did");
    let error = fixture.engine.reinstate(by_agent(claim, "we do")).unwrap_err();
    assert_eq!(error.code, ErrorCode::NeedsPerson);
    assert!(error.hint.unwrap().contains("ask ada to run `ergo reinstate"));
    assert_eq!(fixture.claim(claim).status, Status::Retracted);
    done(fixture.engine.reinstate(on(claim, "we do")).unwrap());

    let own = RememberRequest { caller: agent(), ..request("Tests run in parallel", "speed") };
    let own = stored(fixture.engine.remember(own).unwrap()).claim_id;
    done(fixture.engine.retract(by_agent(own, "looks wrong")).unwrap());
    done(fixture.engine.reinstate(by_agent(own, "it was right")).unwrap());
    assert_eq!(fixture.claim(own).status, Status::Active);
}

#[test]
fn an_agent_that_may_only_propose_hides_no_card() {
    let (fixture, _, answer) = proposal();
    let until = Some(fixture.clock.load(Ordering::Relaxed) + 3_600_000);
    let snooze = |caller| ResolveRequest { caller, until, ..order(CardAct::Snooze, "later") };
    let error = fixture.engine.resolve(&answer.card_id.to_hex(), snooze(agent())).unwrap_err();
    assert_eq!((error.code, fixture.open_cards()), (ErrorCode::NeedsPerson, 1));
    done(fixture.resolve(answer.card_id, snooze(caller())));
    assert_eq!(fixture.card(answer.card_id).summary.status, CardStatus::Snoozed);
}

#[test]
fn an_agent_that_may_only_propose_replaces_no_persons_decision_by_answering_a_story() {
    let fixture = Fixture::with(AgentPolicy::Propose);
    let ([_, graph, _], card) = reversal_in(&fixture);
    let yes = ResolveRequest { caller: agent(), ..order(CardAct::Yes, "it looks so") };
    let error = fixture.engine.resolve(&card.id.to_hex(), yes).unwrap_err();
    assert_eq!((error.code, fixture.claim(graph).status), (ErrorCode::NeedsPerson, Status::Active));
    done(fixture.resolve(card.id, order(CardAct::Yes, "it is so")));
    assert_eq!(fixture.claim(graph).status, Status::Superseded);
}
