//! Insights: equal words, different words, contradictions, and two devices.

use std::collections::HashSet;

use ergo::{
    api::{
        DoubtsQuery, InboxQuery, InsightFiguresQuery, InsightsQuery, JudgePairsRequest, Lifecycle, NoteLinksQuery,
        PairEffect, PromoteRequest, PromotionsQuery, VerdictOnPair,
    },
    domain::PairVerdict,
    engine::{ReconcileBudget, Reconciled},
    infer::{FakeModels, JudgeCommand, ModelJudge},
    notes::sameness::{SameThresholds, may_be_same},
};

use super::{doubts::doubting, *};

pub(super) fn rule(project: &str, statement: &str) -> RememberRequest {
    RememberRequest {
        caller: Caller { org_id: "acme".into(), project: project.into(), who: "jane".into(), ..Caller::default() },
        statement: statement.into(),
        kind: Some(ClaimKind::Convention),
        reason: Some("Stated in CLAUDE.md.".into()),
        source: Some("CLAUDE.md:3".into()),
        ..RememberRequest::default()
    }
}

pub(super) fn caller(project: &str) -> Caller {
    Caller { org_id: "acme".into(), project: project.into(), who: "jane".into(), ..Caller::default() }
}

/// Every sentence about tabs entails the others; so do those about kindness, one way.
fn models() -> FakeModels {
    FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text))).classifying(|a, b| {
        let about = |text: &str, word: &str| text.to_lowercase().contains(word);
        let tabs = about(a, "tabs") && about(b, "tabs");
        let kind = about(a, "very kind") && about(b, "kind");
        Ok(if tabs || kind { [6.0, 0.0, -2.0] } else { [-3.0, 4.0, -2.0] })
    })
}

fn fixture() -> Fixture {
    fixture_of(1)
}

/// A device with these models.
pub(super) fn fixture_of(device: u8) -> Fixture {
    Fixture::of(device, AgentPolicy::Force).reopen_with_models(Guard::default(), Arc::new(models()))
}

pub(super) fn reconcile(fixture: &Fixture) -> Reconciled {
    let judge = Caller { agent: Some("ergo notes".into()), ..caller("notes") };
    let budget = ReconcileBudget::default();
    fixture.engine.reconcile_notes(&judge, &HashSet::new(), &HashSet::new(), &budget).unwrap()
}

pub(super) fn insights(fixture: &Fixture) -> Vec<ergo::api::InsightView> {
    let query = InsightsQuery { org_id: "acme".into(), status: Some("all".into()), ..InsightsQuery::default() };
    fixture.engine.insights(&query).unwrap().items
}

/// The reasons of the judgements in a claim's history.
fn reasons_of_judgements(fixture: &Fixture, id: ClaimId) -> Vec<String> {
    let events = fixture.engine.history(&id.to_hex()).unwrap().events;
    events.into_iter().filter(|event| event.kind.starts_with("judgement")).filter_map(|event| event.reason).collect()
}

#[test]
fn a_rule_of_five_projects_is_one_insight_and_outranks_one_seen_once() {
    let fixture = Fixture::new();
    for at in 0..5 {
        stored(fixture.engine.remember_by_rules(&rule(&format!("p{at}"), "Use tabs for indentation.")).unwrap());
    }
    stored(fixture.engine.remember_by_rules(&rule("p0", "Be kind in reviews.")).unwrap());
    let found = insights(&fixture);
    assert_eq!(found.iter().map(|one| (one.projects, one.sightings)).collect::<Vec<_>>(), [(5, 5), (1, 1)]);
    assert!(found[0].rank > found[1].rank);
    assert!((found[0].derivations.iter().map(|one| one.weight).sum::<f64>() - 1.0).abs() < 1e-9);
    let figures = fixture.engine.insight_figures(&InsightFiguresQuery { org_id: "acme".into() }).unwrap();
    assert_eq!((figures.projects, figures.claims, figures.shared.len()), (5, 6, 1));
}

#[test]
fn a_contested_subject_is_named_as_it_was_written() {
    let fixture = Fixture::new();
    fixture.remember("Approvals are required.", "safety");
    fixture.refuse("Approvals are forbidden.", "speed");
    let figures = fixture.engine.insight_figures(&InsightFiguresQuery { org_id: "acme".into() }).unwrap();
    let subjects: Vec<_> = figures.contested.iter().map(|one| (one.subject.as_str(), one.cards)).collect();
    assert_eq!(subjects, [("Approvals", 1)]);
}

#[test]
fn paraphrases_are_joined_only_if_each_entails_the_other() {
    let fixture = fixture();
    let rules = [
        ("a", "Use tabs for indentation in code."),
        ("b", "Use tabs for indentation of code."),
        ("a", "Be very kind to people in reviews."),
        ("b", "Be kind to people in reviews."),
    ];
    let claims = rules.map(|(project, statement)| {
        stored(fixture.engine.remember_by_rules(&rule(project, statement)).unwrap()).claim_id
    });
    let found = reconcile(&fixture);
    assert_eq!((found.merged, found.linked), (1, 1), "{found:?}");
    assert_eq!(insights(&fixture).len(), 3);
    let links = fixture.engine.note_links(&NoteLinksQuery { org_id: "acme".into() }).unwrap().items;
    assert_eq!(links[0].from_statement, "Be very kind to people in reviews.");
    // The judgements in one project's log do not quote the other project, with which it may not be shared.
    let reasons: Vec<String> = claims.iter().flat_map(|id| reasons_of_judgements(&fixture, *id)).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons.iter().all(|reason| rules.iter().all(|(_, words)| !reason.contains(words))), "{reasons:?}");
    assert!(reasons.iter().all(|reason| !reason.contains("acme")), "{reasons:?}");
    let again = reconcile(&fixture);
    assert_eq!((again.merged, again.linked, again.cards), (0, 0, 0), "{again:?}");
}

#[test]
fn two_projects_that_contradict_each_other_are_one_card() {
    let fixture = fixture();
    stored(fixture.engine.remember_by_rules(&rule("a", "Commits must be signed.")).unwrap());
    stored(fixture.engine.remember_by_rules(&rule("b", "Commits must not be signed.")).unwrap());
    assert_eq!(reconcile(&fixture).cards, 1);
    assert_eq!(reconcile(&fixture).cards, 0);
    let cards = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items;
    assert_eq!(cards.len(), 1);
    assert_eq!(cards[0].members.len(), 2);
    assert!(insights(&fixture).iter().all(|one| one.contradicted));
    // A project does not change another one's claims.
    let order = ResolveRequest {
        caller: caller("b"),
        target: Some(cards[0].members[1].to_hex()),
        ..order(CardAct::Retract, "wrong")
    };
    let refused = fixture.engine.resolve(&cards[0].id.to_hex(), order.clone()).unwrap_err();
    assert!(refused.message.contains("dismiss"), "{refused:?}");
    done(
        fixture
            .engine
            .resolve(&cards[0].id.to_hex(), ResolveRequest { act: CardAct::Dismiss, target: None, ..order })
            .unwrap(),
    );
    assert_eq!(fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items.len(), 0);
    assert_eq!(reconcile(&fixture).cards, 0, "it was settled");
    assert!(insights(&fixture).iter().all(|one| !one.contradicted));
}

#[rstest::rstest]
#[case::direct("Commits must be signed.", "Commits must not be signed.", "direct", "contradict each other")]
#[case::condition(
    "In production, commits must be signed.",
    "Commits must not be signed.",
    "contextual",
    "dismiss the card"
)]
fn projects_exclude_each_other_in_three_ways_and_the_card_says_what_to_do(
    #[case] one: &str,
    #[case] other: &str,
    #[case] kind: &str,
    #[case] advice: &str,
) {
    let fixture = fixture();
    stored(fixture.engine.remember_by_rules(&rule("a", one)).unwrap());
    stored(fixture.engine.remember_by_rules(&rule("b", other)).unwrap());
    assert_eq!(reconcile(&fixture).cards, 1);
    let card = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items.remove(0);
    let found = fixture.engine.conflict_kind(&card.id).unwrap().unwrap();
    assert_eq!(found.as_str(), kind);
    let view = fixture.engine.card(&card.id.to_hex()).unwrap();
    assert!(view.advice.contains(advice) && view.advice.contains("acme/a"), "{}", view.advice);
}

#[test]
fn what_is_withdrawn_in_its_project_closes_the_card() {
    let fixture = fixture();
    let first = stored(fixture.engine.remember_by_rules(&rule("a", "Commits must be signed.")).unwrap());
    stored(fixture.engine.remember_by_rules(&rule("b", "Commits must not be signed.")).unwrap());
    assert_eq!(reconcile(&fixture).cards, 1);
    let request = ActRequest {
        caller: caller("a"),
        target: first.claim_id.to_hex(),
        reason: "nobody did".into(),
        ..ActRequest::default()
    };
    fixture.engine.retract(request).unwrap();
    assert_eq!(fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items.len(), 0);
}

#[test]
fn an_unobserved_insight_is_pruned_and_returns_when_observed_again() {
    let fixture = Fixture::new();
    let claim = stored(fixture.engine.remember_by_rules(&rule("a", "Use tabs for indentation.")).unwrap()).claim_id;
    let day = 86_400_000;
    let status = |fixture: &Fixture| insights(fixture)[0].status;
    assert_eq!(status(&fixture), Lifecycle::Active);
    fixture.clock.fetch_add(270 * day, Ordering::Relaxed);
    assert_eq!(status(&fixture), Lifecycle::Decaying);
    fixture.clock.fetch_add(150 * day, Ordering::Relaxed);
    assert_eq!(status(&fixture), Lifecycle::Pruned);
    let shown = InsightsQuery { org_id: "acme".into(), ..InsightsQuery::default() };
    assert_eq!(fixture.engine.insights(&shown).unwrap().total, 0, "hidden");
    assert_eq!(fixture.claim(claim).status, ergo::domain::Status::Active, "and in force");
    assert_eq!(fixture.engine.observe(&caller("a"), &[claim, claim]).unwrap(), 1);
    assert_eq!(status(&fixture), Lifecycle::Active);
    assert_eq!(insights(&fixture)[0].sightings, 2);
    // After the undo, the insight is not seen.
    fixture.engine.undo(UndoRequest { caller: caller("a"), ..UndoRequest::default() }).unwrap();
    assert_eq!(status(&fixture), Lifecycle::Pruned);
}

#[test]
fn projects_that_agree_in_other_words_are_proposed_promoted_and_listed_with_what_supports_them() {
    let fixture = fixture();
    let first = stored(fixture.engine.remember_by_rules(&rule("a", "Use tabs for indentation in code.")).unwrap());
    stored(fixture.engine.remember_by_rules(&rule("b", "Use tabs for indentation of code.")).unwrap());
    stored(fixture.engine.remember_by_rules(&rule("c", "Use tabs for the indentation of code.")).unwrap());
    let query = PromotionsQuery { org_id: "acme".into() };
    let proposed = |fixture: &Fixture| fixture.engine.promotions(&query).unwrap().items;
    let counted = |fixture: &Fixture| fixture.engine.inbox(&InboxQuery::default()).unwrap().promotions;
    assert_eq!((proposed(&fixture).len(), counted(&fixture)), (0, 0));
    assert!(reconcile(&fixture).merged >= 2);
    let items = proposed(&fixture);
    assert_eq!((items.len(), items[0].projects, items[0].claims.len(), counted(&fixture)), (1, 3, 3, 1));
    assert!(insights(&fixture)[0].candidate);

    let request = PromoteRequest {
        caller: caller("a"),
        claims: vec![first.claim_id.to_hex()],
        statement: Some("Indent code with tabs.".into()),
        reason: Some("all teams agree".into()),
    };
    let promoted = stored(fixture.engine.promote(request).unwrap());
    assert_eq!((proposed(&fixture).len(), counted(&fixture)), (0, 0));
    // Its words are others, and yet it is what the projects say.
    let query = InsightsQuery { org_id: "acme".into(), principles: true, ..InsightsQuery::default() };
    let principles = fixture.engine.insights(&query).unwrap().items;
    assert_eq!((principles.len(), principles[0].projects), (1, 3));
    assert_eq!(principles[0].principle, Some(promoted.claim_id));
    assert_eq!(principles[0].statement, "Indent code with tabs.");
    let supports = &principles[0].derivations;
    assert!(supports.len() == 3 && supports.iter().all(|one| one.promoted && (one.weight - 1.0 / 3.0).abs() < 0.01));
    // A claim that is seen later supports it, too, but was not promoted.
    stored(fixture.engine.remember_by_rules(&rule("d", "Use tabs for indentation in code.")).unwrap());
    let principles = fixture.engine.insights(&query).unwrap().items;
    assert_eq!(principles[0].derivations.iter().filter(|one| !one.promoted).count(), 1);
    assert_eq!(principles[0].projects, 4);
    // After the demotion, no person is asked again.
    done(fixture.engine.demote(super::on(promoted.claim_id, "they differ")).unwrap());
    assert_eq!((proposed(&fixture).len(), counted(&fixture)), (0, 0));
    assert!(insights(&fixture).iter().all(|one| !one.candidate));
}

const REPORT: &str = "The weekly report goes to the finance team first";
const DRAFT: &str = "The weekly report goes to the finance team as a draft";

/// Two projects with claims of which nothing decides whether they contradict each other; the older claim comes first.
fn undecided(judges: Vec<ModelJudge>) -> (Fixture, ClaimId, ClaimId) {
    let fixture =
        Fixture::of(1, AgentPolicy::Force).reopen_with_models_as(doubting(), Arc::new(models()), move |config| {
            config.judges = judges;
        });
    let old = stored(fixture.engine.remember_by_rules(&rule("a", REPORT)).unwrap()).claim_id;
    let new = stored(fixture.engine.remember_by_rules(&rule("b", DRAFT)).unwrap()).claim_id;
    let found = reconcile(&fixture);
    assert_eq!((found.doubts, found.cards, found.merged), (1, 0, 0), "{found:?}");
    (fixture, old, new)
}

#[test]
fn what_two_projects_leave_in_doubt_waits_for_a_judge_whose_verdict_changes_neither_claim() {
    for (verdict, is_agent) in PairVerdict::ALL.into_iter().flat_map(|verdict| [(verdict, false), (verdict, true)]) {
        let (fixture, old, new) = undecided(Vec::new());
        assert_eq!(reconcile(&fixture).doubts, 0, "it waits already");
        let waiting = || fixture.engine.doubts(&DoubtsQuery::default()).unwrap();
        let pair = waiting().items.remove(0);
        assert_eq!((pair.newer.id, pair.older.id, &*pair.scope.project), (new, old, "b"));
        assert_eq!((&*pair.newer.scope.project, &*pair.older.scope.project), ("b", "a"));
        let agent = is_agent.then(|| "claude".to_owned());
        let order = JudgePairsRequest {
            caller: Caller { agent, ..caller("b") },
            verdicts: vec![VerdictOnPair { pair: pair.id.to_hex(), verdict, because: Some("read both".into()) }],
            ..JudgePairsRequest::default()
        };
        let judged = fixture.engine.judge_pairs(&order).unwrap();
        let card = matches!(verdict, PairVerdict::Contradicts | PairVerdict::Replaces);
        let effect = if card { PairEffect::Card } else { PairEffect::Kept };
        assert_eq!((judged.pairs[0].effect, judged.left, waiting().total), (effect, 0, 0), "{verdict}");
        assert_eq!(fixture.open_cards(), usize::from(card), "{verdict}");
        if card {
            let view = fixture.card(judged.pairs[0].card_id.unwrap());
            assert!(view.summary.headline.contains("acme/a"), "{}", view.summary.headline);
            assert_eq!(fixture.engine.conflict_kind(&view.summary.id).unwrap().unwrap().as_str(), "direct");
        }
        assert_eq!(insights(&fixture).len(), if verdict == PairVerdict::Same { 1 } else { 2 }, "{verdict}");
        let active = ergo::domain::Status::Active;
        assert_eq!((fixture.claim(old).status, fixture.claim(new).status), (active, active), "{verdict}");
        // The other project's events do not mention it.
        let kinds = |id: ClaimId| -> Vec<String> {
            let events = fixture.engine.history(&id.to_hex()).unwrap().events;
            events.into_iter().map(|event| event.kind).filter(|kind| kind.starts_with("judgement")).collect()
        };
        assert_eq!((kinds(old).len(), kinds(new).len()), (0, 1));
        // A person's reason is recorded; an agent's may quote the other project.
        assert_eq!(reasons_of_judgements(&fixture, new), vec!["read both"; usize::from(!is_agent)]);
        assert_eq!(reconcile(&fixture).doubts, 0, "it was judged");
        fixture
            .engine
            .undo(UndoRequest { caller: caller("b"), target_op: Some(judged.op_id), ..UndoRequest::default() })
            .unwrap();
        assert_eq!((waiting().total, fixture.open_cards()), (1, 0), "{verdict}");
        assert!(fixture.engine.check_store().unwrap().problems.is_empty());
    }
}

#[test]
fn a_judge_is_told_the_projects_of_both_claims_and_finds_in_which_way_they_exclude_each_other() {
    let script = r#"grep -q '"project":"acme/a"' && echo '[{"pair": 1, "verdict": "contradicts", "because": "read"}]'"#;
    let command = JudgeCommand::new(&["sh", "-c", script].map(str::to_owned), std::env::temp_dir()).unwrap();
    let (fixture, ..) = undecided(vec![ModelJudge::Command(command)]);
    let judged = fixture.engine.judge_next(None, 20).unwrap().unwrap();
    assert_eq!((judged.judged, judged.cards, fixture.open_cards()), (1, 1, 1));
}

#[test]
fn what_a_judge_found_on_one_device_is_a_card_on_the_other_one() {
    let (a, b) =
        super::shared_notes::pair_of(|device| fixture_of(device).reopen_with_models(doubting(), Arc::new(models())));
    stored(a.engine.remember_by_rules(&rule("api", REPORT)).unwrap());
    stored(b.engine.remember_by_rules(&rule("web", DRAFT)).unwrap());
    super::shared_notes::exchange(&a, &b);
    assert_eq!(reconcile(&a).doubts, 1);
    let pair = a.engine.doubts(&DoubtsQuery::default()).unwrap().items.remove(0);
    let order = JudgePairsRequest {
        caller: caller("web"),
        verdicts: vec![VerdictOnPair { pair: pair.id.to_hex(), verdict: PairVerdict::Contradicts, because: None }],
        ..JudgePairsRequest::default()
    };
    a.engine.judge_pairs(&order).unwrap();
    super::shared_notes::exchange(&a, &b);
    let found = reconcile(&b);
    assert_eq!((found.cards, found.doubts), (1, 0), "{found:?}");
    let cards = |fixture: &Fixture| fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items[0].id;
    assert_eq!(cards(&a), cards(&b));
    assert_eq!(reconcile(&b).cards, 0, "once");
}

#[test]
fn pairs_about_other_things_are_distinguished_from_paraphrases_by_their_norms() {
    let guard = Guard::default();
    let norms = |text: &str| guard.normalise_claim(ClaimKind::Convention, text, &Qualifiers::default()).norms;
    let from = SameThresholds::default();
    let mut apart = [0, 0];
    for line in include_str!("../../data/notes/pairs.jsonl").lines() {
        let pair: serde_json::Value = serde_json::from_str(line).unwrap();
        let (a, b) = (pair["a"].as_str().unwrap(), pair["b"].as_str().unwrap());
        let by_words = may_be_same((a, &[]), (b, &[]), 1.0, from);
        let with_norms = may_be_same((a, &norms(a)), (b, &norms(b)), 1.0, from);
        apart[usize::from(pair["same"] == true)] += usize::from(by_words && !with_norms);
    }
    let [different, equal] = apart;
    assert!(different >= 10 && equal <= 1, "{different} that differ, {equal} that are equal");
}
