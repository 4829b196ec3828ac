//! The queue of doubts: pairs that nobody was asked about wait for a judge, and each verdict does only what its judge
//! may do.

use ergo::{
    api::{
        CardKind, Doubts, DoubtsQuery, ErrorCode, InboxQuery, JudgeNextRequest, JudgePairsRequest, JudgedPairs,
        PairEffect, VerdictOnPair,
    },
    domain::{EventKind, PairVerdict, Status},
    guard::GateWeights,
    infer::{InferError, JudgeCommand, ModelJudge, ModelRole},
    store::EventDraft,
};

use super::{
    doubts::{commit, doubting},
    inference::{EARLY, LATE, deepening, early_or_late, unsure},
    *,
};
use crate::support::doubtful::{NEW, OLD};

fn fixture() -> Fixture {
    Fixture::new().reopen_with(doubting())
}

/// Two claims that nobody was asked about, the older one first, after the background pass has read both.
fn pair(fixture: &Fixture) -> (ClaimId, ClaimId) {
    let old = fixture.remember(OLD, "they plan by it");
    let new = fixture.remember(NEW, "they asked for it");
    work(fixture);
    (old, new)
}

fn work(fixture: &Fixture) {
    while fixture.engine.deepen_next().unwrap() {}
}

fn waiting(fixture: &Fixture) -> Doubts {
    fixture.engine.doubts(&DoubtsQuery::default()).unwrap()
}

fn order(caller: Caller, pairs: &[(CardId, PairVerdict)]) -> JudgePairsRequest {
    let verdict = |(pair, verdict): &(CardId, PairVerdict)| VerdictOnPair {
        pair: pair.to_hex(),
        verdict: *verdict,
        because: None,
    };
    JudgePairsRequest {
        caller,
        verdicts: pairs.iter().map(verdict).collect(),
        because: Some("read both".into()),
        ..JudgePairsRequest::default()
    }
}

fn judge(fixture: &Fixture, caller: Caller, verdict: PairVerdict) -> JudgedPairs {
    let id = waiting(fixture).items[0].id;
    fixture.engine.judge_pairs(&order(caller, &[(id, verdict)])).unwrap()
}

fn undo(fixture: &Fixture, act: OpId) {
    fixture.engine.undo(UndoRequest { caller: caller(), target_op: Some(act), ..UndoRequest::default() }).unwrap();
}

fn kinds(fixture: &Fixture, id: ClaimId) -> Vec<String> {
    fixture.engine.history(&id.to_hex()).unwrap().events.into_iter().map(|event| event.kind).collect()
}

#[test]
fn doubts_without_a_writer_wait_and_the_inbox_counts_them() {
    let fixture = fixture();
    let (old, new) = pair(&fixture);
    let queue = waiting(&fixture);
    assert_eq!((queue.total, queue.scopes.len(), queue.scopes[0].pairs), (1, 1, 1));
    assert_eq!((queue.items[0].older.id, queue.items[0].newer.id), (old, new));
    let inbox = fixture.engine.inbox(&InboxQuery::default()).unwrap();
    assert_eq!(inbox.doubts, 1);
    // It is there after a restart, and once.
    let fixture = fixture.reopen_with(doubting());
    work(&fixture);
    assert_eq!(waiting(&fixture).total, 1);
    // The pair does not wait while one of its claims is not active.
    let retracted = fixture.retract(new, "not yet");
    assert_eq!(waiting(&fixture).total, 0);
    undo(&fixture, retracted.op_id);
    assert_eq!(waiting(&fixture).total, 1);
}

#[test]
fn a_writer_that_was_asked_is_not_asked_again() {
    let fixture = fixture();
    let asked = |statement| RememberRequest { caller: agent(), consider: true, ..request(statement, "why") };
    stored(fixture.engine.remember(asked(OLD)).unwrap());
    assert!(matches!(fixture.engine.remember(asked(NEW)).unwrap(), WriteOutcome::Consider(_)));
    work(&fixture);
    assert_eq!(waiting(&fixture).total, 0);
}

#[test]
fn what_waited_for_the_background_is_looked_at_after_a_restart() {
    let fixture = fixture();
    fixture.remember(OLD, "they plan by it");
    work(&fixture);
    fixture.remember(NEW, "they asked for it");
    let fixture = fixture.reopen_with(doubting());
    work(&fixture);
    assert_eq!(waiting(&fixture).total, 1);
}

#[test]
fn verdicts_of_a_person_take_effect() {
    for (verdict, effect) in [
        (PairVerdict::Compatible, PairEffect::Kept),
        (PairVerdict::Replaces, PairEffect::Replaced),
        (PairVerdict::Same, PairEffect::Merged),
        (PairVerdict::Contradicts, PairEffect::Card),
    ] {
        let fixture = fixture();
        let (old, new) = pair(&fixture);
        let judged = judge(&fixture, caller(), verdict);
        assert_eq!((judged.pairs[0].effect, judged.left), (effect, 0), "{verdict}");
        assert_eq!(waiting(&fixture).total, 0);
        assert!(kinds(&fixture, old).contains(&format!("judgement.{verdict}")), "{verdict}");
        let status = (fixture.claim(old).status, fixture.claim(new).status);
        let expected = match verdict {
            PairVerdict::Replaces => (Status::Superseded, Status::Active),
            PairVerdict::Same => (Status::Active, Status::Superseded),
            PairVerdict::Compatible | PairVerdict::Contradicts => (Status::Active, Status::Active),
        };
        assert_eq!(status, expected, "{verdict}");
        assert_eq!(fixture.open_cards(), usize::from(verdict == PairVerdict::Contradicts), "{verdict}");
        // One undo takes all of it back.
        undo(&fixture, judged.op_id);
        assert_eq!(
            (fixture.claim(old).status, fixture.claim(new).status),
            (Status::Active, Status::Active),
            "{verdict}"
        );
        assert_eq!((waiting(&fixture).total, fixture.open_cards()), (1, 0), "{verdict}");
    }
}

#[test]
fn verdicts_of_an_agent_become_cards() {
    for verdict in PairVerdict::ALL {
        let fixture = fixture();
        let (old, new) = pair(&fixture);
        let judged = judge(&fixture, agent(), verdict);
        assert_eq!(
            (fixture.claim(old).status, fixture.claim(new).status),
            (Status::Active, Status::Active),
            "{verdict}"
        );
        assert_eq!(waiting(&fixture).total, 0, "{verdict}");
        if verdict == PairVerdict::Compatible {
            assert_eq!((judged.pairs[0].effect, fixture.open_cards()), (PairEffect::Kept, 0));
            continue;
        }
        assert_eq!(judged.pairs[0].effect, PairEffect::Card);
        let card = fixture.card(judged.pairs[0].card_id.unwrap());
        assert_eq!(card.summary.kind, CardKind::Found);
        assert!(card.summary.headline.starts_with("claude") && card.summary.headline.contains("read both"));
    }
}

#[test]
fn two_judges_of_one_pair_and_a_bad_order_do_no_harm() {
    let fixture = fixture();
    pair(&fixture);
    let id = waiting(&fixture).items[0].id;
    let twice = order(caller(), &[(id, PairVerdict::Same), (id, PairVerdict::Compatible)]);
    assert_eq!(fixture.engine.judge_pairs(&twice).unwrap_err().field.as_deref(), Some("verdicts"));
    let silent = JudgePairsRequest { because: None, ..order(agent(), &[(id, PairVerdict::Same)]) };
    assert_eq!(fixture.engine.judge_pairs(&silent).unwrap_err().field.as_deref(), Some("because"));
    let unknown = order(caller(), &[(CardId([9; 32]), PairVerdict::Same)]);
    assert_eq!(fixture.engine.judge_pairs(&unknown).unwrap_err().code, ErrorCode::NotFound);
    assert!(fixture.engine.judge_pairs(&order(caller(), &[])).is_err());
    let first = JudgePairsRequest {
        caller: Caller { op_id: Some(op(5)), ..agent() },
        ..order(agent(), &[(id, PairVerdict::Compatible)])
    };
    fixture.engine.judge_pairs(&first).unwrap();
    assert!(fixture.engine.judge_pairs(&first).unwrap().replayed);
    let late = fixture.engine.judge_pairs(&order(caller(), &[(id, PairVerdict::Replaces)])).unwrap_err();
    assert_eq!(late.code, ErrorCode::Stale);
}

#[test]
fn a_claim_that_gives_way_is_in_no_further_pair_of_the_same_order() {
    let fixture = fixture();
    pair(&fixture);
    fixture.remember("The weekly report goes to the finance team on paper", "they file it");
    work(&fixture);
    let queue = waiting(&fixture);
    assert_eq!(queue.total, 3);
    let all: Vec<_> = queue.items.iter().map(|pair| (pair.id, PairVerdict::Replaces)).collect();
    let judged = fixture.engine.judge_pairs(&order(caller(), &all)).unwrap();
    let effects: Vec<_> = judged.pairs.iter().map(|pair| pair.effect).collect();
    // The newest claim replaces both others, which are no longer active when their own pair is judged.
    assert_eq!(effects, [PairEffect::Replaced, PairEffect::Replaced, PairEffect::Stale]);
    assert_eq!((judged.left, fixture.open_cards()), (0, 0));
}

/// A judge that is a shell script.
fn judge_by(script: &str) -> ModelJudge {
    let words = ["sh", "-c", script].map(str::to_owned);
    ModelJudge::Command(JudgeCommand::new(&words, std::env::temp_dir()).unwrap())
}

/// The queue's engine with this judge.
fn with_judges(fixture: Fixture, judges: Vec<ModelJudge>) -> Fixture {
    fixture.reopen_as(doubting(), move |config| config.judges = judges)
}

#[test]
fn a_model_judges_the_newest_pairs_and_what_it_leaves_out_it_is_not_asked_again() {
    let fixture = fixture();
    let (old, _) = pair(&fixture);
    fixture.remember("The weekly report goes to the finance team on paper", "they file it");
    work(&fixture);
    assert_eq!(waiting(&fixture).total, 3);
    let one = judge_by(r#"echo 'Sure: [{"pair": 1, "verdict": "compatible", "because": "read"}]'"#);
    let fixture = with_judges(fixture, vec![one]);
    let newest = waiting(&fixture).items[0].id;
    let judged = fixture.engine.judge_next(None, 20).unwrap().unwrap();
    assert_eq!((judged.asked, judged.judged, judged.cards), (3, 1, 0));
    assert!(waiting(&fixture).items.iter().all(|pair| pair.id != newest) && waiting(&fixture).total == 2);
    assert_eq!(fixture.engine.judge_next(None, 20).unwrap(), None, "the others are left to a person");
    // Another judge gets what the first one left open, also after a restart.
    let all = judge_by(r#"echo '[{"pair": 1, "verdict": "contradicts"}, {"pair": 2, "verdict": "replaces"}]'"#);
    let fixture = with_judges(fixture, vec![all]);
    assert_eq!(fixture.engine.judge_next(None, 20).unwrap(), None, "it is the same kind of judge");
    assert!(kinds(&fixture, old).iter().all(|kind| kind != "judgement.contradicts"));
}

#[test]
fn a_judge_that_cannot_be_asked_leaves_the_pairs_waiting() {
    let fixture = fixture();
    pair(&fixture);
    let fixture = with_judges(fixture, vec![judge_by("echo no key >&2; exit 1")]);
    let error = fixture.engine.judge_next(None, 20).unwrap_err();
    assert!(error.code == ErrorCode::Unavailable && error.message.contains("no key"), "{error:?}");
    assert_eq!(waiting(&fixture).total, 1);
    let fixture =
        with_judges(fixture, vec![judge_by(r#"echo '[{"pair": 1, "verdict": "contradicts", "because": "read"}]'"#)]);
    assert_eq!(fixture.engine.judge_next(None, 20).unwrap().unwrap().cards, 1, "it was not counted as tried");
    assert_eq!(fixture.open_cards(), 1);
}

/// A pair that waits, and these models, which judge it.
fn waiting_for_local(models: Arc<dyn Models>) -> Fixture {
    let fixture = fixture();
    fixture.remember(EARLY, "cheap to change");
    fixture.remember(LATE, "one look is enough");
    work(&fixture);
    let judges = vec![ModelJudge::Local(Arc::clone(&models))];
    fixture.reopen_with_models_as(deepening(), models, move |config| config.judges = judges)
}

#[test]
fn the_local_model_finds_contradictions_and_leaves_the_rest() {
    for contradicts in [true, false] {
        let says = |_: &_| Ok(r#"[{"pair": 1, "verdict": "contradicts", "because": "early, late"}]"#.to_owned());
        let models: Arc<dyn Models> = Arc::new(unsure(contradicts).generating(says));
        let fixture = waiting_for_local(models);
        assert_eq!(waiting(&fixture).total, 1);
        let judged = fixture.engine.judge_next(None, 20).unwrap().unwrap();
        let cards = usize::from(contradicts);
        assert_eq!((judged.asked, judged.cards, fixture.open_cards()), (1, cards, cards));
        assert_eq!(waiting(&fixture).total, 1 - cards, "what is no contradiction is left to a person");
        assert_eq!(fixture.engine.judge_next(None, 20).unwrap(), None);
    }
}

#[test]
fn a_pair_that_the_model_refuses_counts_as_asked_about() {
    let too_long = || InferError::Refused("the prompt is too long".into());
    let (of_the_question, of_the_verdict): (Arc<dyn Models>, Arc<dyn Models>) = (
        Arc::new(early_or_late(0.8).answering(move |_, _| Err(too_long()))),
        Arc::new(unsure(false).generating(move |_| Err(too_long()))),
    );
    for models in [of_the_question, of_the_verdict] {
        let fixture = waiting_for_local(models);
        let judged = fixture.engine.judge_next(None, 20).unwrap().unwrap();
        assert_eq!((judged.asked, judged.judged, waiting(&fixture).total), (1, 0, 1), "it is left to a person");
        assert_eq!(fixture.engine.judge_next(None, 20).unwrap(), None);
    }
}

#[test]
fn a_pair_keeps_its_turn_while_the_cross_encoder_fails() {
    let failing = Arc::new(std::sync::atomic::AtomicBool::new(true));
    let seen = Arc::clone(&failing);
    let says = |_: &_| Ok(r#"[{"pair": 1, "verdict": "contradicts", "because": "early, late"}]"#.to_owned());
    let models: Arc<dyn Models> = Arc::new(unsure(true).generating(says).classifying(move |a, b| {
        if seen.load(Ordering::Relaxed) {
            return Err(InferError::Crashed { role: ModelRole::Nli, why: "was killed".into() });
        }
        Ok([0.0, 0.0, if a.contains("early") == b.contains("early") { -5.0 } else { 0.8 }])
    }));
    let fixture = waiting_for_local(models);
    let error = fixture.engine.judge_next(None, 20).unwrap_err();
    assert!(error.code == ErrorCode::Unavailable && error.message.contains("was killed"), "{error:?}");
    failing.store(false, Ordering::Relaxed);
    let judged = fixture.engine.judge_next(None, 20).unwrap().expect("its turn is still to come");
    assert_eq!((judged.asked, judged.cards, fixture.open_cards()), (1, 1, 1));
}

#[test]
fn a_prompt_that_an_endpoint_refuses_is_asked_in_parts_and_not_again() {
    use std::io::{Read, Write};

    let fixture = fixture();
    pair(&fixture);
    fixture.remember("The weekly report goes to the finance team on paper", "they file it");
    work(&fixture);
    assert_eq!(waiting(&fixture).total, 3);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        // The server refuses everything at first; then only what is about pairs: all three, the first of them, both others, and
        // each of these. After each refusal it is asked for a word.
        for n in 0..12 {
            let (mut stream, _) = listener.accept().unwrap();
            let (mut asked, mut part) = (Vec::new(), [0; 4096]);
            while !asked.ends_with(b"\"stream\":false}") {
                let read = stream.read(&mut part).unwrap();
                asked.extend_from_slice(&part[..read]);
            }
            let answer = r#"{"choices":[{"message":{"content":"yes"}}]}"#;
            let (status, body) = if n < 2 || n % 2 == 0 { ("400 Bad Request", "") } else { ("200 OK", answer) };
            let length = body.len();
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}").unwrap();
        }
    });
    let endpoint = ergo::infer::Endpoint::new(&address, "small", "a-key").unwrap();
    let fixture = with_judges(fixture, vec![ModelJudge::Endpoint(endpoint)]);
    assert!(fixture.engine.judge_next(None, 20).is_err(), "its settings are wrong: the pairs wait");
    let judged = fixture.engine.judge_next(None, 20).unwrap().unwrap();
    assert_eq!((judged.asked, judged.judged, waiting(&fixture).total), (3, 0, 3), "they are left to a person");
    served.join().unwrap();
    assert_eq!(fixture.engine.judge_next(None, 20).unwrap(), None);
}

#[test]
fn a_peers_claim_whose_writer_has_a_name_that_is_refused_here_is_judged() {
    let fixture = fixture();
    fixture.remember(OLD, "they plan by it");
    work(&fixture);
    let mut draft = EventDraft::new(EventKind::Assert, []);
    draft.claim_kind = Some(ClaimKind::Decision);
    draft.body.statement = Some(NEW.into());
    draft.body.reason = Some("they asked for it".into());
    commit(&fixture, "\u{202e}bob", vec![draft]);
    let says = r#"echo '[{"pair": 1, "verdict": "contradicts", "because": "read"}]'"#;
    let fixture = with_judges(fixture, vec![judge_by(says)]);
    work(&fixture);
    assert_eq!(fixture.engine.judge_next(None, 20).unwrap().unwrap().cards, 1);
    assert_eq!(fixture.engine.judge_next(None, 20).unwrap(), None);
}

#[test]
fn while_a_judge_cannot_be_asked_the_next_one_is() {
    let fixture = fixture();
    fixture.remember(EARLY, "cheap to change");
    fixture.remember(LATE, "one look is enough");
    work(&fixture);
    let broken = || Err(InferError::Crashed { role: ModelRole::Llm, why: "was killed".into() });
    let models: Arc<dyn Models> = Arc::new(early_or_late(0.8).answering(move |_, _| broken()));
    let command = judge_by(r#"echo '[{"pair": 1, "verdict": "replaces", "because": "later"}]'"#);
    let judges = vec![ModelJudge::Local(Arc::clone(&models)), command];
    let fixture = fixture.reopen_with_models_as(deepening(), models, move |config| config.judges = judges);
    let judged = fixture.engine.judge_next(None, 20).unwrap().unwrap();
    assert_eq!((judged.judged, judged.cards, waiting(&fixture).total), (1, 1, 0));
}

#[test]
fn an_audit_queues_what_is_in_doubt() {
    let fixture = Fixture::new().reopen_with(Guard::default().with_gate(GateWeights::default()));
    fixture.remember(OLD, "they plan by it");
    fixture.remember(NEW, "they asked for it");
    work(&fixture);
    let fixture = fixture.reopen_with(doubting());
    work(&fixture);
    assert_eq!(waiting(&fixture).total, 0, "the gate saw nothing when they were stored");
    let request = ergo::api::AuditRequest { caller: caller(), dry_run: false };
    fixture.engine.audit(request).unwrap();
    assert_eq!(waiting(&fixture).total, 1);
    assert!(
        fixture
            .engine
            .judge_for(&JudgeNextRequest { caller: caller(), ..JudgeNextRequest::default() })
            .unwrap()
            .judges
            .is_empty()
    );
}

#[test]
fn a_pair_of_two_levels_waits_in_the_project_and_a_verdict_changes_neither_side() {
    for verdict in PairVerdict::ALL {
        let fixture = fixture();
        let rule =
            RememberRequest { caller: Caller { project: "*".into(), ..caller() }, ..request(OLD, "they plan by it") };
        let old = stored(fixture.engine.remember(rule).unwrap()).claim_id;
        let new = fixture.remember(NEW, "they asked for it");
        work(&fixture);
        let queue = waiting(&fixture);
        assert_eq!((queue.total, &queue.items[0].scope), (1, &fixture.claim(new).scope));
        assert_eq!((queue.items[0].older.id, queue.items[0].newer.id), (old, new));
        let elsewhere =
            DoubtsQuery { org_id: Some("acme".into()), project: Some("*".into()), ..DoubtsQuery::default() };
        assert_eq!(fixture.engine.doubts(&elsewhere).unwrap().total, 0);
        let judged = judge(&fixture, caller(), verdict);
        let kept = verdict == PairVerdict::Compatible;
        assert_eq!(judged.pairs[0].effect, if kept { PairEffect::Kept } else { PairEffect::Card }, "{verdict}");
        assert_eq!(
            (fixture.claim(old).status, fixture.claim(new).status),
            (Status::Active, Status::Active),
            "{verdict}"
        );
        assert_eq!((waiting(&fixture).total, fixture.open_cards()), (0, usize::from(!kept)), "{verdict}");
        if let Some(card) = judged.pairs[0].card_id {
            assert_eq!(fixture.card(card).summary.scope, fixture.claim(new).scope);
        }
        assert!(fixture.engine.check_store().unwrap().problems.is_empty());
        undo(&fixture, judged.op_id);
        assert_eq!((waiting(&fixture).total, fixture.open_cards()), (1, 0), "{verdict}");
    }
}

#[test]
fn the_estimate_goes_by_what_the_last_pairs_took() {
    let fixture = fixture();
    for way in ["first", "as a draft", "on paper", "by mail"] {
        fixture.remember(&format!("The weekly report goes to the finance team {way}"), "they asked for it");
    }
    work(&fixture);
    let pairs = waiting(&fixture).total;
    let estimate = |fixture: &Fixture| {
        let request = JudgeNextRequest { caller: caller(), dry_run: true, ..JudgeNextRequest::default() };
        let estimate = fixture.engine.judge_for(&request).unwrap();
        (estimate.left, estimate.seconds)
    };
    let slow = || judge_by(r#"sleep 2; echo '[{"pair": 1, "verdict": "compatible"}]'"#);
    let fixture = with_judges(fixture, vec![slow()]);
    assert_eq!(estimate(&fixture), (pairs, (pairs as u64 * 3).div_ceil(2)), "a guess before anything was measured");
    fixture.engine.judge_next(None, 1).unwrap();
    // Also after a restart.
    let fixture = with_judges(fixture, vec![slow()]);
    let (left, seconds) = estimate(&fixture);
    assert_eq!(left, pairs - 1);
    assert!(seconds >= 2 * left as u64, "{seconds} s for {left} pairs of 2 s each");
    // Another command is another judge.
    let fixture = with_judges(fixture, vec![judge_by("echo '[]'")]);
    assert_eq!(estimate(&fixture).1, (left as u64 * 3).div_ceil(2));
}

#[test]
fn what_an_agent_judged_is_counted_and_what_a_person_turned_over() {
    let fixture = fixture();
    pair(&fixture);
    let judged = judge(&fixture, agent(), PairVerdict::Contradicts);
    let of = |fixture: &Fixture| {
        let agents = fixture.engine.agents(&ergo::api::AgentsQuery::default()).unwrap();
        agents.iter().find(|one| one.agent == "claude").unwrap().judgements
    };
    let counts = of(&fixture);
    assert_eq!((counts.contradicts, counts.overturned, counts.verdicts()), (1, 0, 1));
    let dismiss = super::order(ergo::api::CardAct::Dismiss, "both hold");
    fixture.resolve(judged.pairs[0].card_id.unwrap(), dismiss);
    assert_eq!(of(&fixture).overturned, 1);
    assert!(!of(&fixture).always_compatible);
}
