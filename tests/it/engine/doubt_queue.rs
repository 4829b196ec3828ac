//! The queue of doubts: what nobody was asked about waits for a judge, and a verdict does what its judge may do.

use ergo::{
    api::{
        CardKind, Doubts, DoubtsQuery, ErrorCode, InboxQuery, JudgeNextRequest, JudgePairsRequest, JudgedPairs,
        PairEffect, VerdictOnPair,
    },
    domain::{PairVerdict, Status},
    guard::GateWeights,
    infer::{InferError, JudgeCommand, ModelJudge},
};

use super::{
    doubts::doubting,
    inference::{EARLY, LATE, deepening, early_or_late, unsure},
    *,
};

const OLD: &str = "The weekly report goes to the finance team first";
const NEW: &str = "The weekly report goes to the finance team as a draft";

fn bed() -> Bed {
    Bed::new().reopen_with(doubting())
}

/// Two claims that nobody was asked about, the older one first, once the background has looked at both.
fn pair(bed: &Bed) -> (ClaimId, ClaimId) {
    let old = bed.remember(OLD, "they plan by it");
    let new = bed.remember(NEW, "they asked for it");
    work(bed);
    (old, new)
}

fn work(bed: &Bed) {
    while bed.engine.deepen_next().unwrap() {}
}

fn waiting(bed: &Bed) -> Doubts {
    bed.engine.doubts(&DoubtsQuery::default()).unwrap()
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

fn judge(bed: &Bed, caller: Caller, verdict: PairVerdict) -> JudgedPairs {
    let id = waiting(bed).items[0].id;
    bed.engine.judge_pairs(&order(caller, &[(id, verdict)])).unwrap()
}

fn undo(bed: &Bed, act: OpId) {
    bed.engine.undo(UndoRequest { caller: caller(), target_op: Some(act) }).unwrap();
}

fn kinds(bed: &Bed, id: ClaimId) -> Vec<String> {
    bed.engine.history(&id.to_hex()).unwrap().events.into_iter().map(|event| event.kind).collect()
}

#[test]
fn doubts_without_a_writer_wait_and_the_inbox_counts_them() {
    let bed = bed();
    let (old, new) = pair(&bed);
    let queue = waiting(&bed);
    assert_eq!((queue.total, queue.scopes.len(), queue.scopes[0].pairs), (1, 1, 1));
    assert_eq!((queue.items[0].older.id, queue.items[0].newer.id), (old, new));
    let inbox = bed.engine.inbox(&InboxQuery::default()).unwrap();
    assert_eq!(inbox.doubts, 1);
    // It is there after a restart, and once.
    let bed = bed.reopen_with(doubting());
    work(&bed);
    assert_eq!(waiting(&bed).total, 1);
    // While one side is not in force it does not wait.
    let retracted = bed.retract(new, "not yet");
    assert_eq!(waiting(&bed).total, 0);
    undo(&bed, retracted.op_id);
    assert_eq!(waiting(&bed).total, 1);
}

#[test]
fn a_writer_that_was_asked_is_not_asked_again() {
    let bed = bed();
    let asked = |statement| RememberRequest { caller: agent(), consider: true, ..request(statement, "why") };
    stored(bed.engine.remember(asked(OLD)).unwrap());
    assert!(matches!(bed.engine.remember(asked(NEW)).unwrap(), WriteOutcome::Consider(_)));
    work(&bed);
    assert_eq!(waiting(&bed).total, 0);
}

#[test]
fn what_waited_for_the_background_is_looked_at_after_a_restart() {
    let bed = bed();
    bed.remember(OLD, "they plan by it");
    work(&bed);
    bed.remember(NEW, "they asked for it");
    let bed = bed.reopen_with(doubting());
    work(&bed);
    assert_eq!(waiting(&bed).total, 1);
}

#[test]
fn verdicts_of_a_person_take_effect() {
    for (verdict, effect) in [
        (PairVerdict::Compatible, PairEffect::Kept),
        (PairVerdict::Replaces, PairEffect::Replaced),
        (PairVerdict::Same, PairEffect::Merged),
        (PairVerdict::Contradicts, PairEffect::Card),
    ] {
        let bed = bed();
        let (old, new) = pair(&bed);
        let judged = judge(&bed, caller(), verdict);
        assert_eq!((judged.pairs[0].effect, judged.left), (effect, 0), "{verdict}");
        assert_eq!(waiting(&bed).total, 0);
        assert!(kinds(&bed, old).contains(&format!("judgement.{verdict}")), "{verdict}");
        let status = (bed.claim(old).status, bed.claim(new).status);
        let expected = match verdict {
            PairVerdict::Replaces => (Status::Superseded, Status::Active),
            PairVerdict::Same => (Status::Active, Status::Superseded),
            PairVerdict::Compatible | PairVerdict::Contradicts => (Status::Active, Status::Active),
        };
        assert_eq!(status, expected, "{verdict}");
        assert_eq!(bed.open_cards(), usize::from(verdict == PairVerdict::Contradicts), "{verdict}");
        // One undo takes all of it back.
        undo(&bed, judged.op_id);
        assert_eq!((bed.claim(old).status, bed.claim(new).status), (Status::Active, Status::Active), "{verdict}");
        assert_eq!((waiting(&bed).total, bed.open_cards()), (1, 0), "{verdict}");
    }
}

#[test]
fn verdicts_of_an_agent_become_cards() {
    for verdict in PairVerdict::ALL {
        let bed = bed();
        let (old, new) = pair(&bed);
        let judged = judge(&bed, agent(), verdict);
        assert_eq!((bed.claim(old).status, bed.claim(new).status), (Status::Active, Status::Active), "{verdict}");
        assert_eq!(waiting(&bed).total, 0, "{verdict}");
        if verdict == PairVerdict::Compatible {
            assert_eq!((judged.pairs[0].effect, bed.open_cards()), (PairEffect::Kept, 0));
            continue;
        }
        assert_eq!(judged.pairs[0].effect, PairEffect::Card);
        let card = bed.card(judged.pairs[0].card_id.unwrap());
        assert_eq!(card.summary.kind, CardKind::Found);
        assert!(card.summary.headline.starts_with("claude") && card.summary.headline.contains("read both"));
    }
}

#[test]
fn two_judges_of_one_pair_and_a_bad_order_do_no_harm() {
    let bed = bed();
    pair(&bed);
    let id = waiting(&bed).items[0].id;
    let twice = order(caller(), &[(id, PairVerdict::Same), (id, PairVerdict::Compatible)]);
    assert_eq!(bed.engine.judge_pairs(&twice).unwrap_err().field.as_deref(), Some("verdicts"));
    let silent = JudgePairsRequest { because: None, ..order(agent(), &[(id, PairVerdict::Same)]) };
    assert_eq!(bed.engine.judge_pairs(&silent).unwrap_err().field.as_deref(), Some("because"));
    let unknown = order(caller(), &[(CardId([9; 32]), PairVerdict::Same)]);
    assert_eq!(bed.engine.judge_pairs(&unknown).unwrap_err().code, ErrorCode::NotFound);
    assert!(bed.engine.judge_pairs(&order(caller(), &[])).is_err());
    let first = JudgePairsRequest {
        caller: Caller { op_id: Some(op(5)), ..agent() },
        ..order(agent(), &[(id, PairVerdict::Compatible)])
    };
    bed.engine.judge_pairs(&first).unwrap();
    assert!(bed.engine.judge_pairs(&first).unwrap().replayed);
    let late = bed.engine.judge_pairs(&order(caller(), &[(id, PairVerdict::Replaces)])).unwrap_err();
    assert_eq!(late.code, ErrorCode::Stale);
}

#[test]
fn a_claim_that_gives_way_is_in_no_further_pair_of_the_same_order() {
    let bed = bed();
    pair(&bed);
    bed.remember("The weekly report goes to the finance team on paper", "they file it");
    work(&bed);
    let queue = waiting(&bed);
    assert_eq!(queue.total, 3);
    let all: Vec<_> = queue.items.iter().map(|pair| (pair.id, PairVerdict::Replaces)).collect();
    let judged = bed.engine.judge_pairs(&order(caller(), &all)).unwrap();
    let effects: Vec<_> = judged.pairs.iter().map(|pair| pair.effect).collect();
    // The newest replaces both others, which are no longer in force when their own pair comes.
    assert_eq!(effects, [PairEffect::Replaced, PairEffect::Replaced, PairEffect::Stale]);
    assert_eq!((judged.left, bed.open_cards()), (0, 0));
}

/// A judge that is a shell script.
fn judge_by(script: &str) -> ModelJudge {
    let words = ["sh", "-c", script].map(str::to_owned);
    ModelJudge::Command(JudgeCommand::new(&words, std::env::temp_dir()).unwrap())
}

/// The queue's engine with this judge.
fn with_judges(bed: Bed, judges: Vec<ModelJudge>) -> Bed {
    bed.reopen_as(doubting(), move |config| config.judges = judges)
}

#[test]
fn a_model_judges_the_newest_pairs_and_what_it_leaves_out_it_is_not_asked_again() {
    let bed = bed();
    let (old, _) = pair(&bed);
    bed.remember("The weekly report goes to the finance team on paper", "they file it");
    work(&bed);
    assert_eq!(waiting(&bed).total, 3);
    let one = judge_by(r#"echo 'Sure: [{"pair": 1, "verdict": "compatible", "because": "read"}]'"#);
    let bed = with_judges(bed, vec![one]);
    let newest = waiting(&bed).items[0].id;
    let judged = bed.engine.judge_next(None, 20).unwrap().unwrap();
    assert_eq!((judged.asked, judged.judged, judged.cards), (3, 1, 0));
    assert!(waiting(&bed).items.iter().all(|pair| pair.id != newest) && waiting(&bed).total == 2);
    assert_eq!(bed.engine.judge_next(None, 20).unwrap(), None, "the others are left to a person");
    // Another judge gets what the first one left open, also after a restart.
    let all = judge_by(r#"echo '[{"pair": 1, "verdict": "contradicts"}, {"pair": 2, "verdict": "replaces"}]'"#);
    let bed = with_judges(bed, vec![all]);
    assert_eq!(bed.engine.judge_next(None, 20).unwrap(), None, "it is the same kind of judge");
    assert!(kinds(&bed, old).iter().all(|kind| kind != "judgement.contradicts"));
}

#[test]
fn a_judge_that_cannot_be_asked_leaves_the_pairs_waiting() {
    let bed = bed();
    pair(&bed);
    let bed = with_judges(bed, vec![judge_by("echo no key >&2; exit 1")]);
    let error = bed.engine.judge_next(None, 20).unwrap_err();
    assert!(error.code == ErrorCode::Unavailable && error.message.contains("no key"), "{error:?}");
    assert_eq!(waiting(&bed).total, 1);
    let bed = with_judges(bed, vec![judge_by(r#"echo '[{"pair": 1, "verdict": "contradicts", "because": "read"}]'"#)]);
    assert_eq!(bed.engine.judge_next(None, 20).unwrap().unwrap().cards, 1, "it was not counted as tried");
    assert_eq!(bed.open_cards(), 1);
}

#[test]
fn the_local_model_finds_contradictions_and_leaves_the_rest() {
    for contradicts in [true, false] {
        let bed = bed();
        bed.remember(EARLY, "cheap to change");
        bed.remember(LATE, "one look is enough");
        work(&bed);
        assert_eq!(waiting(&bed).total, 1);
        let says = |_: &_| Ok(r#"[{"pair": 1, "verdict": "contradicts", "because": "early, late"}]"#.to_owned());
        let models: Arc<dyn Models> = Arc::new(unsure(contradicts).generating(says));
        let judges = vec![ModelJudge::Local(Arc::clone(&models))];
        let bed = bed.reopen_with_models_as(deepening(), models, move |config| config.judges = judges);
        let judged = bed.engine.judge_next(None, 20).unwrap().unwrap();
        let cards = usize::from(contradicts);
        assert_eq!((judged.asked, judged.cards, bed.open_cards()), (1, cards, cards));
        assert_eq!(waiting(&bed).total, 1 - cards, "what is no contradiction is left to a person");
        assert_eq!(bed.engine.judge_next(None, 20).unwrap(), None);
    }
}

#[test]
fn while_a_judge_cannot_be_asked_the_next_one_is() {
    let bed = bed();
    bed.remember(EARLY, "cheap to change");
    bed.remember(LATE, "one look is enough");
    work(&bed);
    let broken = || Err(InferError::Refused("broken".into()));
    let models: Arc<dyn Models> = Arc::new(early_or_late(0.8).answering(move |_, _| broken()));
    let command = judge_by(r#"echo '[{"pair": 1, "verdict": "replaces", "because": "later"}]'"#);
    let judges = vec![ModelJudge::Local(Arc::clone(&models)), command];
    let bed = bed.reopen_with_models_as(deepening(), models, move |config| config.judges = judges);
    let judged = bed.engine.judge_next(None, 20).unwrap().unwrap();
    assert_eq!((judged.judged, judged.cards, waiting(&bed).total), (1, 1, 0));
}

#[test]
fn an_audit_queues_what_is_in_doubt() {
    let bed = Bed::new().reopen_with(Guard::default().with_gate(GateWeights::default()));
    bed.remember(OLD, "they plan by it");
    bed.remember(NEW, "they asked for it");
    work(&bed);
    let bed = bed.reopen_with(doubting());
    work(&bed);
    assert_eq!(waiting(&bed).total, 0, "the gate saw nothing when they were stored");
    let request = ergo::api::AuditRequest { caller: caller(), dry_run: false };
    bed.engine.audit(request).unwrap();
    assert_eq!(waiting(&bed).total, 1);
    assert!(
        bed.engine
            .judge_for(&JudgeNextRequest { caller: caller(), ..JudgeNextRequest::default() })
            .unwrap()
            .judges
            .is_empty()
    );
}

#[test]
fn a_pair_of_two_levels_waits_in_the_project_and_a_verdict_changes_neither_side() {
    for verdict in PairVerdict::ALL {
        let bed = bed();
        let rule =
            RememberRequest { caller: Caller { project: "*".into(), ..caller() }, ..request(OLD, "they plan by it") };
        let old = stored(bed.engine.remember(rule).unwrap()).claim_id;
        let new = bed.remember(NEW, "they asked for it");
        work(&bed);
        let queue = waiting(&bed);
        assert_eq!((queue.total, &queue.items[0].scope), (1, &bed.claim(new).scope));
        assert_eq!((queue.items[0].older.id, queue.items[0].newer.id), (old, new));
        let elsewhere =
            DoubtsQuery { org_id: Some("acme".into()), project: Some("*".into()), ..DoubtsQuery::default() };
        assert_eq!(bed.engine.doubts(&elsewhere).unwrap().total, 0);
        let judged = judge(&bed, caller(), verdict);
        let kept = verdict == PairVerdict::Compatible;
        assert_eq!(judged.pairs[0].effect, if kept { PairEffect::Kept } else { PairEffect::Card }, "{verdict}");
        assert_eq!((bed.claim(old).status, bed.claim(new).status), (Status::Active, Status::Active), "{verdict}");
        assert_eq!((waiting(&bed).total, bed.open_cards()), (0, usize::from(!kept)), "{verdict}");
        if let Some(card) = judged.pairs[0].card_id {
            assert_eq!(bed.card(card).summary.scope, bed.claim(new).scope);
        }
        assert!(bed.engine.check_store().unwrap().problems.is_empty());
        undo(&bed, judged.op_id);
        assert_eq!((waiting(&bed).total, bed.open_cards()), (1, 0), "{verdict}");
    }
}

#[test]
fn the_estimate_goes_by_what_the_last_pairs_took() {
    let bed = bed();
    for way in ["first", "as a draft", "on paper", "by mail"] {
        bed.remember(&format!("The weekly report goes to the finance team {way}"), "they asked for it");
    }
    work(&bed);
    let pairs = waiting(&bed).total;
    let estimate = |bed: &Bed| {
        let request = JudgeNextRequest { caller: caller(), dry_run: true, ..JudgeNextRequest::default() };
        let estimate = bed.engine.judge_for(&request).unwrap();
        (estimate.left, estimate.seconds)
    };
    let slow = || judge_by(r#"sleep 4; echo '[{"pair": 1, "verdict": "compatible"}]'"#);
    let bed = with_judges(bed, vec![slow()]);
    assert_eq!(estimate(&bed), (pairs, (pairs as u64 * 3).div_ceil(2)), "a guess before anything was measured");
    bed.engine.judge_next(None, 1).unwrap();
    // Also after a restart.
    let bed = with_judges(bed, vec![slow()]);
    let (left, seconds) = estimate(&bed);
    assert_eq!(left, pairs - 1);
    assert!((4 * left as u64..=8 * left as u64).contains(&seconds), "{seconds} s for {left} pairs of 4 s each");
    // Another command is another judge.
    let bed = with_judges(bed, vec![judge_by("echo '[]'")]);
    assert_eq!(estimate(&bed).1, (left as u64 * 3).div_ceil(2));
}

#[test]
fn what_an_agent_judged_is_counted_and_what_a_person_turned_over() {
    let bed = bed();
    pair(&bed);
    let judged = judge(&bed, agent(), PairVerdict::Contradicts);
    let of = |bed: &Bed| {
        let agents = bed.engine.agents(&ergo::api::AgentsQuery::default()).unwrap();
        agents.iter().find(|one| one.agent == "claude").unwrap().judgements
    };
    let counts = of(&bed);
    assert_eq!((counts.contradicts, counts.overturned, counts.verdicts()), (1, 0, 1));
    let dismiss = super::order(ergo::api::CardAct::Dismiss, "both hold");
    bed.resolve(judged.pairs[0].card_id.unwrap(), dismiss);
    assert_eq!(of(&bed).overturned, 1);
    assert!(!of(&bed).always_compatible);
}
