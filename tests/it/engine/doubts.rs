//! Doubts: a write that may contradict others is held, its writer's verdicts decide, and a judged pair is not asked
//! about again.

use std::collections::{BTreeMap, BTreeSet};

use ergo::{
    api::{CardKind, CardStatus, Consider, DoubtBand, JudgeRequest, MAX_PAGE, QuestionsQuery},
    domain::{EventKind, PairVerdict, Scope, Status, derive::local},
    guard::{
        GateWeights, JudgeWeights, StructuralPairCheck,
        doubt_gate::{GateFirstStage, GateRegression},
    },
    infer::FakeModels,
    store::{Act, EventDraft, Ref, Store},
};

use super::*;
use crate::support::doubtful::{NEW, OLD};

/// A gate that doubts every claim whose words are compared.
pub(super) fn doubting() -> Guard {
    let weights = [("intercept".to_owned(), 3.0)].into();
    let words = GateRegression { ask: 0.5, mention: 0.2, weights };
    Guard::default().with_gate(GateWeights { words, ..GateWeights::default() })
}

fn fixture_with(agents_may: AgentPolicy) -> Fixture {
    Fixture::with(agents_may).reopen_with(doubting())
}

fn fixture() -> Fixture {
    fixture_with(AgentPolicy::Force)
}

fn asking(statement: &str) -> RememberRequest {
    RememberRequest { caller: agent(), consider: true, ..request(statement, "they asked for it") }
}

fn considered(outcome: WriteOutcome) -> Consider {
    match outcome {
        WriteOutcome::Consider(consider) => consider,
        other => panic!("not asked: {other:#?}"),
    }
}

fn ask(fixture: &Fixture, statement: &str) -> Consider {
    considered(fixture.engine.remember(asking(statement)).unwrap())
}

fn verdicts(token: &str, verdicts: &[(ClaimId, PairVerdict)]) -> JudgeRequest {
    JudgeRequest {
        caller: agent(),
        token: token.to_owned(),
        verdicts: verdicts.iter().map(|(id, verdict)| (id.short(), *verdict)).collect::<BTreeMap<_, _>>(),
        because: Some("read both".into()),
        model: Some("a-model".into()),
        ..JudgeRequest::default()
    }
}

fn judge(fixture: &Fixture, question: &Consider, id: ClaimId, verdict: PairVerdict) -> WriteOutcome {
    fixture.engine.judge(&verdicts(&question.token, &[(id, verdict)])).unwrap()
}

fn questions(fixture: &Fixture) -> usize {
    fixture.engine.questions(&QuestionsQuery::default()).unwrap().items.len()
}

/// Stores an act as it is, past all checks of the engine.
pub(super) fn commit(fixture: &Fixture, who: &str, drafts: Vec<EventDraft>) {
    commit_in(fixture, &Scope::new("acme", "api").unwrap(), who, None, drafts);
}

fn commit_in(fixture: &Fixture, scope: &Scope, who: &str, agent: Option<&str>, drafts: Vec<EventDraft>) {
    let path = fixture.dir.path().join("store.db");
    let key = fixture.engine.config().device.clone();
    let mut store = Store::open(&path, key, Arc::new(StructuralPairCheck)).unwrap();
    let (scope, agent, now) = (scope.clone(), agent.map(str::to_owned), fixture.engine.now());
    store.commit(Act { scope, identity: None, who: who.into(), agent, op: op(77), now, drafts }).unwrap();
}

fn active(fixture: &Fixture) -> Vec<String> {
    let claims = fixture.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items;
    claims.into_iter().map(|claim| claim.statement).collect()
}

#[test]
fn a_write_in_doubt_waits_and_one_that_cannot_wait_is_warned() {
    let fixture = fixture();
    let old = fixture.remember(OLD, "they plan by it");
    let previewed = stored(fixture.engine.remember(RememberRequest { dry_run: true, ..asking(NEW) }).unwrap());
    assert_eq!(
        previewed.doubts.iter().map(|doubt| (doubt.id, doubt.band)).collect::<Vec<_>>(),
        [(old, DoubtBand::Ask)]
    );
    let question = ask(&fixture, NEW);
    assert_eq!((question.doubts[0].id, question.doubts[0].statement.as_str()), (old, OLD));
    assert_eq!(question.doubts[0].reason.as_deref(), Some("they plan by it"));
    assert_eq!(active(&fixture), [OLD]);
    assert_eq!(fixture.card(question.card_id).summary.kind, CardKind::Held);
    // The same words again are the same question.
    let again = ask(&fixture, NEW);
    assert_eq!((again.token, again.replayed), (question.token, true));
    assert_eq!(questions(&fixture), 1);
    // A writer that does not wait stores the claim, and the question is gone.
    let stored = stored(fixture.try_remember(NEW, "they asked for it"));
    assert_eq!((stored.doubts.len(), questions(&fixture)), (1, 0));
}

#[test]
fn compatible_is_stored_and_not_asked_again() {
    let fixture = fixture();
    let old = fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let new = stored(judge(&fixture, &question, old, PairVerdict::Compatible));
    assert!(new.doubts.is_empty() && new.superseded.is_empty() && !new.duplicate, "{new:?}");
    assert_eq!(active(&fixture).len(), 2);
    let history = fixture.engine.history(&old.to_hex()).unwrap();
    let judged = history.events.iter().find(|event| event.kind == "judgement.compatible").expect("a judgement");
    assert_eq!((judged.reason.as_deref(), judged.agent.as_deref()), (Some("read both"), Some("claude")));
    assert_eq!(judged.targets, [new.claim_id, old]);
    // The same words are not in doubt any more once the claim is gone.
    fixture.retract(new.claim_id, "not yet");
    assert!(stored(fixture.engine.remember(asking(NEW)).unwrap()).doubts.is_empty());
}

#[test]
fn the_same_is_not_stored_twice() {
    let fixture = fixture();
    let old = fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let same = stored(judge(&fixture, &question, old, PairVerdict::Same));
    assert_eq!((same.claim_id, same.duplicate), (old, true));
    assert_eq!(active(&fixture), [OLD]);
    let history = fixture.engine.history(&old.to_hex()).unwrap();
    assert!(history.events.iter().any(|event| event.kind == "judgement.same"));
    let again = stored(fixture.engine.remember(asking(NEW)).unwrap());
    assert_eq!((again.claim_id, again.duplicate), (old, true));
}

#[test]
fn what_replaces_supersedes_with_the_reason_given() {
    let fixture = fixture();
    let old = fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let new = stored(judge(&fixture, &question, old, PairVerdict::Replaces));
    assert_eq!(new.superseded, [old]);
    assert_eq!(fixture.claim(old).status, Status::Superseded);
    let history = fixture.engine.history(&old.to_hex()).unwrap();
    let reasons: Vec<_> = history.events.iter().filter(|event| event.kind == "supersede").collect();
    assert_eq!(reasons[0].reason.as_deref(), Some("read both"));
}

#[test]
fn what_contradicts_is_refused_also_when_it_comes_again() {
    let fixture = fixture();
    let old = fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let refusal = refused(judge(&fixture, &question, old, PairVerdict::Contradicts));
    let card = refusal.card_id.expect("a card");
    assert_eq!(fixture.card(card).summary.kind, CardKind::Refused);
    assert!(refusal.conflicts[0].evidence.sentence.contains("read both"));
    assert_eq!(active(&fixture), [OLD]);
    assert_eq!(refused(fixture.engine.remember(asking(NEW)).unwrap()).card_id, Some(card));
    // A person settles it as any refusal.
    done(fixture.resolve(card, order(CardAct::Dismiss, "both hold")));
    assert_eq!(active(&fixture).len(), 2);
}

#[test]
fn an_agent_that_may_only_propose_does_not_replace_a_persons_claim() {
    let fixture = fixture_with(AgentPolicy::Propose);
    let old = fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let proposal = proposed(judge(&fixture, &question, old, PairVerdict::Replaces));
    assert_eq!((proposal.claim.id, active(&fixture)), (old, vec![OLD.to_owned()]));
    let new_claim = fixture.card(proposal.card_id).sides[0].claim.id;
    let winner = ResolveRequest { winner: Some(new_claim.to_hex()), ..order(CardAct::Supersede, "agreed") };
    done(fixture.resolve(proposal.card_id, winner));
    assert_eq!(active(&fixture), [NEW]);
}

#[test]
fn what_a_person_discarded_is_not_proposed_again() {
    let fixture = fixture_with(AgentPolicy::Propose);
    let old = fixture.remember(OLD, "they plan by it");
    let proposal = proposed(judge(&fixture, &ask(&fixture, NEW), old, PairVerdict::Replaces));
    done(fixture.resolve(proposal.card_id, order(CardAct::Discard, "they plan by the first one")));
    let mut again = verdicts(&ask(&fixture, NEW).token, &[(old, PairVerdict::Replaces)]);
    again.caller.op_id = Some(op(9));
    let refusal = refused(fixture.engine.judge(&again).unwrap());
    assert!(refusal.ways_on[0].contains("they plan by the first one"), "{:?}", refusal.ways_on);
    assert_eq!((refusal.card_id, fixture.open_cards()), (Some(proposal.card_id), 0));
    // No verdict is on the record, and a retry is answered all the same.
    let retry = stale(fixture.engine.judge(&again).unwrap());
    assert!(retry.message.contains("already answered by claude (proposed)"), "{}", retry.message);
}

#[test]
fn wrong_answers_name_what_is_wrong() {
    let fixture = fixture();
    let old = fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let other = fixture.remember("Containers run as an ordinary user", "least privilege");
    let error = fixture.engine.judge(&verdicts(&question.token, &[(other, PairVerdict::Same)])).unwrap_err();
    assert_eq!(error.field.as_deref(), Some("verdicts"));
    assert!(error.message.contains(&other.short()) && error.hint.as_ref().unwrap().contains(&old.short()), "{error:?}");
    let empty = fixture.engine.judge(&verdicts(&question.token, &[])).unwrap_err();
    assert_eq!(empty.field.as_deref(), Some("verdicts"));
    let mute = JudgeRequest { because: None, ..verdicts(&question.token, &[(old, PairVerdict::Same)]) };
    assert_eq!(fixture.engine.judge(&mute).unwrap_err().field.as_deref(), Some("because"));
    assert!(fixture.engine.judge(&verdicts("0123456789", &[(old, PairVerdict::Same)])).is_err());
    assert_eq!(questions(&fixture), 1);
}

#[test]
fn a_question_has_one_answer_and_a_retry_gets_it_again() {
    let fixture = fixture();
    let old = fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let mut first = verdicts(&question.token, &[(old, PairVerdict::Compatible)]);
    first.caller.op_id = Some(op(9));
    let new = stored(fixture.engine.judge(&first).unwrap()).claim_id;
    let again = stored(fixture.engine.judge(&first).unwrap());
    assert_eq!((again.claim_id, again.replayed), (new, true));
    let late = stale(judge(&fixture, &question, old, PairVerdict::Contradicts));
    assert!(late.message.contains("already answered by claude (compatible)"), "{}", late.message);
    assert_eq!(late.claim.expect("what came of it").id, new);
}

#[test]
fn nobody_answers_and_the_write_is_stored_with_a_card() {
    let fixture = fixture();
    fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    assert!(!fixture.engine.store_unanswered(&mut BTreeSet::new()).unwrap());
    // It survives a restart.
    let fixture = fixture.reopen_with(doubting());
    assert_eq!((questions(&fixture), fixture.engine.next_unanswered().unwrap()), (1, Some(question.until)));
    fixture.clock.store(question.until, Ordering::Relaxed);
    assert!(fixture.engine.store_unanswered(&mut BTreeSet::new()).unwrap());
    assert!(!fixture.engine.store_unanswered(&mut BTreeSet::new()).unwrap());
    assert_eq!((active(&fixture).len(), questions(&fixture)), (2, 0));
    let cards = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items;
    assert_eq!((cards.len(), cards[0].kind, cards[0].status), (1, CardKind::Found, CardStatus::Open));
    assert!(cards[0].headline.contains("Not judged yet"), "{}", cards[0].headline);
}

#[test]
fn of_many_held_writes_the_oldest_is_stored_too() {
    let fixture = fixture();
    let held = |n: u64| {
        let mut draft = EventDraft::new(EventKind::Local(local::HELD.into()), []);
        draft.claim_kind = Some(ClaimKind::Decision);
        draft.body.statement = Some(format!("Shelf {n} is painted blue"));
        draft.body.reason = Some("it was there".into());
        let until = if n == 0 { 0 } else { u64::MAX };
        draft.body.data = Some(format!(r#"{{"question": {{"doubts": [], "until": {until}}}}}"#));
        draft
    };
    commit(&fixture, "ada", (0..=MAX_PAGE as u64).map(held).collect());
    assert_eq!(fixture.engine.next_unanswered().unwrap(), Some(0));
    assert!(fixture.engine.store_unanswered(&mut BTreeSet::new()).unwrap());
    assert_eq!(active(&fixture), ["Shelf 0 is painted blue"]);
    assert!(!fixture.engine.store_unanswered(&mut BTreeSet::new()).unwrap());
}

#[test]
fn a_claim_in_question_may_leave_the_log_before_the_answer() {
    const KAFKA: &str = "We must use Kafka as the message broker";
    const NO_KAFKA: &str = "We must not use Kafka as the message broker";
    let (a, b) = (Fixture::of(1, AgentPolicy::Force), Fixture::of(2, AgentPolicy::Force));
    let c = Fixture::of(3, AgentPolicy::Force).reopen_with(doubting());
    let team = team::create(&a).id;
    for (other, name) in [(&b, "bob-laptop"), (&c, "cy-laptop")] {
        let roster = team::add(&a, other, name, &team::all());
        other.engine.join_team(&caller(), team, &roster, Some(a.engine.device()), &[], &[]).unwrap();
    }
    let old = b.remember(OLD, "they plan by it");
    let kafka = b.remember(KAFKA, "we know it");
    team::pull(&c, &b, team);
    let question = ask(&c, NEW);
    let other = ask(&c, "The weekly report goes to the finance team on paper");
    assert_eq!(question.doubts[0].id, old);
    let by = Caller { op_id: Some(op(8)), ..caller() };
    let opposed = RememberRequest { caller: by, ..request(NO_KAFKA, "too heavy") };
    assert_eq!(refused(c.engine.remember(opposed.clone()).unwrap()).conflicts[0].claim.id, kafka);

    let revoke = ergo::api::RevokeRequest {
        caller: caller(),
        device: "bob-laptop".into(),
        reason: "left".into(),
        ..ergo::api::RevokeRequest::default()
    };
    a.engine.revoke_from_team(&revoke).unwrap();
    team::pull(&c, &a, team);
    assert!(c.engine.claim(&old.to_hex()).is_err(), "what was written after the cut is in quarantine");
    let open = c.engine.questions(&QuestionsQuery::default()).unwrap().items;
    assert_eq!(open.iter().map(|question| question.doubts.len()).collect::<Vec<_>>(), [0, 0]);
    assert!(refused(c.engine.remember(opposed).unwrap()).conflicts.is_empty(), "a retry is answered");
    stored(judge(&c, &question, old, PairVerdict::Replaces));
    c.clock.store(other.until, Ordering::Relaxed);
    assert!(c.engine.store_unanswered(&mut BTreeSet::new()).unwrap());
    assert_eq!((active(&c).len(), questions(&c)), (2, 0));
}

#[test]
fn a_session_that_ends_says_that_nobody_will_answer() {
    let fixture = fixture();
    fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let no_answer = JudgeRequest { unanswered: true, because: None, ..verdicts(&question.token, &[]) };
    let stored = stored(fixture.engine.judge(&JudgeRequest { caller: caller(), ..no_answer }).unwrap());
    let claim = fixture.engine.claim(&stored.claim_id.to_hex()).unwrap();
    assert_eq!(claim.agent, agent().agent, "whoever says it, the claim is its writer's");
    assert!(stored.warnings.iter().any(|warning| warning.code == "unanswered"), "{:?}", stored.warnings);
    assert_eq!(fixture.open_cards(), 1);
}

#[test]
fn an_answer_that_is_undone_leaves_the_question_to_a_person() {
    let fixture = fixture();
    let old = fixture.remember(OLD, "they plan by it");
    let question = ask(&fixture, NEW);
    let new = stored(judge(&fixture, &question, old, PairVerdict::Replaces));
    fixture
        .engine
        .undo(UndoRequest { caller: caller(), target_op: Some(new.op_id), ..UndoRequest::default() })
        .unwrap();
    assert_eq!(active(&fixture), [OLD]);
    assert_eq!(fixture.card(question.card_id).summary.status, CardStatus::Open);
    fixture.clock.store(question.until, Ordering::Relaxed);
    assert!(!fixture.engine.store_unanswered(&mut BTreeSet::new()).unwrap());
    let of_agent = QuestionsQuery { agent: agent().agent, ..QuestionsQuery::default() };
    assert!(fixture.engine.questions(&of_agent).unwrap().items.is_empty(), "the session's end stores it again");
    let no_answer = JudgeRequest { unanswered: true, because: None, ..verdicts(&question.token, &[]) };
    assert_eq!(fixture.engine.judge(&no_answer).unwrap_err().field.as_deref(), Some("unanswered"));
    assert_eq!((active(&fixture).len(), questions(&fixture)), (1, 1));
    // The judgement is no longer on the record, so the question comes again.
    assert_eq!(ask(&fixture, NEW).token, question.token);
}

#[test]
fn a_verdict_never_goes_around_a_refusal() {
    let fixture = fixture();
    let old = fixture.remember("The gateway's port on host3 is documented in the wiki.", "people look there");
    let question = ask(&fixture, "The gateway's port is 8080 on host3.");
    let opposed = fixture.remember("The gateway's port is 9090 on host3.", "8080 is taken");
    let refusal = refused(judge(&fixture, &question, old, PairVerdict::Compatible));
    assert!(refusal.conflicts.iter().any(|conflict| conflict.claim.id == opposed));
    assert_eq!(questions(&fixture), 0);
}

/// A gate that asks the cross-encoder about two pairs of a write, and asks where its fourth output is sure.
fn gating() -> Guard {
    let weights =
        |weights: &[(&str, f32)]| weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect();
    let first = GateFirstStage { least: 0.5, most: 2, weights: weights(&[("intercept", 3.0), ("cosine", 1.0)]) };
    let models = GateRegression { ask: 0.5, mention: 0.2, weights: weights(&[("intercept", 0.0), ("gate", 9.0)]) };
    let words = GateRegression { ask: 0.5, mention: 0.2, weights: weights(&[("intercept", 3.0)]) };
    // The judge asks about no pair.
    let mut judge = JudgeWeights::default();
    judge.gate.most = 0;
    Guard::default().with_weights(judge).with_gate(GateWeights { first, models, words, ..GateWeights::default() })
}

#[test]
fn the_cross_encoder_reads_few_pairs_for_the_gate_once_and_only_if_somebody_answers() {
    let models = FakeModels::new()
        .embedding(|text| Ok(FakeModels::bag_of_words(text)))
        .classifying(|_, _| Ok([0.0; 3]))
        .gating(|existing, _| if existing == OLD { 5.0 } else { -5.0 });
    let fixture = Fixture::new().reopen_with_models(gating(), Arc::new(models));
    let inferred = || fixture.engine.counts().unwrap().guard.inferred;
    fixture.remember(OLD, "they plan by it");
    for other in ["is written in plain words", "fits on one page", "names its author and the finance team"] {
        fixture.remember(&format!("The weekly report {other}"), "they plan by it");
    }
    assert_eq!(inferred(), 0, "nobody answers, so nothing is asked");
    let question = ask(&fixture, NEW);
    assert_eq!(inferred(), 2, "two of four pairs");
    let named: Vec<&str> = question.doubts.iter().map(|doubt| doubt.statement.as_str()).collect();
    assert_eq!(named, [OLD], "what the cross-encoder was not asked about is in no doubt");
    assert_eq!(ask(&fixture, NEW).token, question.token);
    assert_eq!(inferred(), 2, "what was asked lately is not asked again");
}

#[test]
fn settling_the_card_replaces_only_what_was_asked_about() {
    let weights = [("intercept".to_owned(), -1.0), ("overlap".to_owned(), 4.0)].into();
    let words = GateRegression { ask: 0.6, mention: 0.2, weights };
    let guard = Guard::default().with_gate(GateWeights { words, ..GateWeights::default() });
    let fixture = Fixture::with(AgentPolicy::Force).reopen_with(guard);
    let old = fixture.remember(OLD, "they plan by it");
    let near = fixture.remember("The finance team reads the weekly summary on Mondays", "habit");
    let question = ask(&fixture, NEW);
    let bands: BTreeMap<ClaimId, DoubtBand> = question.doubts.iter().map(|doubt| (doubt.id, doubt.band)).collect();
    assert_eq!(bands, [(old, DoubtBand::Ask), (near, DoubtBand::Mention)].into());
    let card = fixture.card(question.card_id);
    let winner = Some(card.sides[0].claim.id.to_hex());
    done(
        fixture.resolve(question.card_id, ResolveRequest { winner, ..order(CardAct::Supersede, "drafts come first") }),
    );
    assert_eq!((fixture.claim(old).status, fixture.claim(near).status), (Status::Superseded, Status::Active));
}

/// A gate that asks about every doubt until five answers were in vain.
fn barely_doubting() -> Fixture {
    let weights = [("intercept".to_owned(), 0.45)].into();
    let words = GateRegression { ask: 0.5, mention: 0.2, weights };
    let fixture =
        Fixture::new().reopen_with(Guard::default().with_gate(GateWeights { words, ..GateWeights::default() }));
    fixture.remember(OLD, "they plan by it");
    while fixture.engine.deepen_next().unwrap() {}
    fixture
}

/// Says what else becomes of the report, by an agent that can be asked.
fn write_as(fixture: &Fixture, agent: &str, how: &str) -> WriteOutcome {
    let caller = Caller { agent: Some(agent.into()), ..caller() };
    let statement = format!("The weekly report goes to the finance team {how}");
    fixture.engine.remember(RememberRequest { caller, ..asking(&statement) }).unwrap()
}

/// Gives one verdict on every claim in question.
fn judge_all(fixture: &Fixture, caller: Caller, question: &Consider, verdict: PairVerdict) -> WriteOutcome {
    let all: Vec<_> = question.doubts.iter().map(|doubt| (doubt.id, verdict)).collect();
    fixture.engine.judge(&JudgeRequest { caller, ..verdicts(&question.token, &all) }).unwrap()
}

fn only_mentions(outcome: WriteOutcome) -> bool {
    let doubts = stored(outcome).doubts;
    !doubts.is_empty() && doubts.iter().all(|doubt| doubt.band == DoubtBand::Mention)
}

#[test]
fn questions_in_vain_raise_the_bar_for_their_writer_alone() {
    let fixture = barely_doubting();
    let compatible = |how: &str, doubts: usize| {
        let question = considered(write_as(&fixture, "claude", how));
        assert_eq!(question.doubts.len(), doubts, "{how}");
        stored(judge_all(&fixture, agent(), &question, PairVerdict::Compatible))
    };
    compatible("as a draft", 1);
    compatible("in an envelope", 2);
    let third = compatible("by mail", 3);
    assert!(only_mentions(write_as(&fixture, "claude", "with a summary")), "six answers were in vain");
    while fixture.engine.deepen_next().unwrap() {}
    assert_eq!(fixture.engine.doubts(&ergo::api::DoubtsQuery::default()).unwrap().total, 0, "nobody else is asked");
    let other = considered(write_as(&fixture, "codex", "on thick paper"));
    let raised = fixture.engine.counts().unwrap().ask_thresholds;
    let words: Vec<String> = raised.iter().map(|raised| format!("{}: {}", raised.scope, raised.words())).collect();
    let told = "acme/api: claude is asked about contradictions from 0.65 instead of 0.50, because earlier questions were in vain";
    assert_eq!(words, [told]);

    fixture
        .engine
        .undo(UndoRequest { caller: caller(), target_op: Some(third.op_id), ..UndoRequest::default() })
        .unwrap();
    compatible("after lunch", 4);
    assert!(only_mentions(write_as(&fixture, "claude", "with a cover letter")));

    refused(judge_all(&fixture, caller(), &other, PairVerdict::Contradicts));
    considered(write_as(&fixture, "claude", "with two charts"));
}

#[test]
fn answers_of_persons_and_of_the_writer_count_in_their_scope() {
    let (here, elsewhere) = (Scope::new("acme", "api").unwrap(), Scope::new("acme", "web").unwrap());
    for (scope, agent, raises) in [
        (&here, None, true),
        (&here, Some("claude"), true),
        (&here, Some("codex"), false),
        (&here, Some("ergo"), false),
        (&elsewhere, None, false),
        (&elsewhere, Some("claude"), false),
    ] {
        let fixture = barely_doubting();
        let old = fixture.engine.claims(&ergo::api::ClaimsQuery::default()).unwrap().items[0].id;
        let judged = || EventDraft::new(EventKind::Judgement(PairVerdict::Compatible), [Ref::Id(old)]);
        commit_in(&fixture, scope, "ada", agent, (0..5).map(|_| judged()).collect());
        let raised = fixture.engine.counts().unwrap().ask_thresholds;
        let listed: Vec<_> = raised.iter().map(|raised| (&raised.scope, raised.agent.as_deref())).collect();
        assert_eq!(listed, if agent == Some("ergo") { vec![] } else { vec![(scope, agent)] });
        let stored = matches!(write_as(&fixture, "claude", "as a draft"), WriteOutcome::Stored(_));
        assert_eq!(stored, raises, "{scope} {agent:?}");
        // Parts of ergo that judge ask nobody, but no answer of theirs counts for themselves either.
        let asked = matches!(write_as(&fixture, "ergo", "by mail"), WriteOutcome::Consider(_));
        assert_eq!(asked, (scope, agent) != (&here, None), "{scope} {agent:?}");
    }
}
