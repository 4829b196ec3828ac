//! Snapshots of output from made-up answers: piped (no width, no colour) and on a terminal of 80 columns.

use crate::{
    api::*,
    cli::ui::captured::ui,
    domain::{
        CardId, ClaimKind, DeviceId, EventId, Flags, OpId, Qualifiers, Scope, Status, Tier,
        guard_report::{Confidence, Evidence, RuleId, Stage},
    },
};

const NOW: u64 = 1_800_000_000_000;
const DAY: u64 = 86_400_000;

fn claim(number: u8, statement: &str) -> ClaimView {
    ClaimView {
        id: EventId([number; 32]),
        scope: Scope { org_id: "acme".into(), project: "api".into() },
        kind: ClaimKind::Decision,
        status: Status::Active,
        flags: Flags::default(),
        statement: statement.into(),
        reason: Some(
            "Two weekend outages in May began with a deploy on a Friday afternoon, and nobody was there.".into(),
        ),
        source: Some("docs/runbook.md:12".into()),
        who: "ada".into(),
        agent: Some("claude".into()),
        device: DeviceId([0; 32]),
        provenance: crate::api::Provenance::default(),
        at: NOW - 3 * DAY,
        key: None,
        qualifiers: Qualifiers::default(),
        norms: vec![],
        replaced_by: vec![],
        replaces: vec![],
        premises: vec![],
        dependents: 2,
        closing_reason: None,
        beside: vec![],
        level: crate::domain::Level::Project,
        seen_in: 0,
        rev: 1,
    }
}

fn evidence() -> Evidence {
    Evidence {
        stage: Stage::Structural,
        rule: RuleId::OpposingModality,
        confidence: Confidence::High,
        sentence: "One says that deploys on Fridays must happen, the other that they must not.".into(),
        words: vec!["must".into()],
        their_words: vec!["never".into()],
        ..Evidence::default()
    }
}

fn refused() -> Refused {
    let conflict = Conflict {
        claim: claim(0x3f, "Never deploy on Fridays."),
        tier: Tier::Block,
        score: 0.97,
        stage: Stage::Structural,
        rule: "opposing_modality".into(),
        evidence: evidence(),
    };
    Refused {
        conflicts: vec![conflict],
        card_id: Some(CardId([0x5a; 32])),
        settled: None,
        unsettled: false,
        scope: Scope { org_id: "acme".into(), project: "api".into() },
        ways_on: vec![],
        may_only_propose: false,
    }
}

fn card() -> CardView {
    let mut new_claim = claim(0xc1, "Deploys must go out on Fridays.");
    new_claim.at = NOW - 3_600_000;
    new_claim.source = None;
    new_claim.dependents = 0;
    CardView {
        summary: CardSummary {
            id: CardId([0x5a; 32]),
            kind: CardKind::Refused,
            status: CardStatus::Open,
            scope: new_claim.scope.clone(),
            headline: "One says that deploys on Fridays must happen, the other that they must not.".into(),
            pair: None,
            story: None,
            accept: None,
            op_id: None,
            members: vec![new_claim.id, EventId([0x3f; 32])],
            at: NOW - 3_600_000,
            who: "ada".into(),
            agent: Some("claude".into()),
            score: 0.97,
            rev: 1,
        },
        sides: vec![
            CardSide { claim: new_claim, new_claim: true, bears: vec![], now: vec![] },
            CardSide { claim: claim(0x3f, "Never deploy on Fridays."), new_claim: false, bears: vec![], now: vec![] },
        ],
        evidence: vec![evidence()],
        acts: CardAct::ALL
            .into_iter()
            .map(|act| ActOption {
                act,
                disabled: matches!(act, CardAct::Yes | CardAct::No).then(|| "this card asks no question".into()),
                prefill: (act == CardAct::Supersede).then(|| "It's urgent.".into()),
            })
            .collect(),
        advice: "Keep one of them.".into(),
        settled: None,
        snoozed_until: None,
    }
}

fn chain() -> Vec<ChainLink> {
    let mut old = claim(0x11, "Deploy on any day.");
    old.status = Status::Superseded;
    old.at = NOW - 90 * DAY;
    old.reason = Some("We were small.".into());
    let link = |claim: ClaimView, depth: usize, by: Option<&ClaimView>| ChainLink {
        claim,
        depth,
        replaced_by: by.map(|by| by.id),
        change_reason: by.map(|_| "Two weekend outages in May.".into()),
        changed_by: by.map(|_| "ada".into()),
        changed_on: None,
        changed_at: by.map(|by| by.at),
    };
    let new = claim(0x3f, "Never deploy on Fridays.");
    vec![link(new.clone(), 0, None), link(old, 1, Some(&new))]
}

/// Renders twice: as in a pipe, and as on a terminal of 80 columns (without colour, which changes no letter).
fn both(name: &str, draw: impl Fn(&mut crate::cli::ui::Ui)) {
    for (suffix, width) in [("piped", None), ("80", Some(80))] {
        let (mut ui, out, _) = ui(width, false);
        draw(&mut ui);
        let text = out.text();
        if let Some(width) = width {
            for line in text.lines().filter(|line| !line.trim_start().starts_with("ergo ")) {
                assert!(unicode_width::UnicodeWidthStr::width(line) <= width, "too wide: {line}");
            }
        }
        insta::assert_snapshot!(format!("{name}_{suffix}"), text);
    }
}

#[test]
fn a_refusal_says_what_why_and_how_to_go_on() {
    both("refusal", |ui| ui.refused(&refused(), Some("Deploys must go out on Fridays."), NOW));
}

#[test]
fn a_refused_resolution_leaves_its_card_as_it_was() {
    let refused = Refused { unsettled: true, ..refused() };
    both("refused_resolution", |ui| ui.refused(&refused, Some("Deploy on Fridays after lunch."), NOW));
}

#[test]
fn a_refusal_whose_card_is_settled_says_how_and_how_to_open_it_again() {
    let settled = CardSettlement {
        act: "discard".into(),
        who: "ada".into(),
        agent: None,
        at: NOW - 2 * DAY,
        reason: Some("No deploys on Fridays.".into()),
        op_id: Some(OpId([0x7c; 16])),
        stored_as: None,
        merged: false,
    };
    for may_only_propose in [false, true] {
        let refused = Refused { settled: Some(Box::new(settled.clone())), may_only_propose, ..refused() };
        let (mut ui, out, _) = ui(None, false);
        ui.refused(&refused, Some("Deploys must go out on Fridays."), NOW);
        let text = out.text();
        assert!(text.contains("was settled by ada (the new claim was discarded), 2 days ago."), "{text}");
        assert!(text.contains("No deploys on Fridays.") && text.contains("ergo undo 7c7c"), "{text}");
        assert!(!text.contains("is kept on card") && !text.contains("--keep"), "{text}");
    }
}

#[test]
fn a_side_says_what_replaced_it_since_and_as_what_it_was_stored() {
    let mut card = card();
    card.summary.status = CardStatus::Settled;
    card.sides[0].now = vec![claim(0x61, "Deploys must go out on Fridays.")];
    card.sides[1].now = vec![claim(0x62, "Deploy on any day.")];
    card.settled = Some(CardSettlement {
        act: "narrow".into(),
        who: "ada".into(),
        agent: None,
        at: NOW - DAY,
        reason: None,
        op_id: Some(OpId([0x7c; 16])),
        stored_as: Some(EventId([0x61; 32])),
        merged: false,
    });
    let (mut ui, out, _) = ui(None, false);
    ui.card(&card, NOW);
    let text = out.text();
    let (stored, replaced) = (EventId([0x61; 32]).short(), EventId([0x62; 32]).short());
    assert!(text.contains(&format!("{stored}: “Deploys must go out on Fridays.”")), "{text}");
    assert!(text.contains(&format!("since by {replaced}: “Deploy on any day.”")), "{text}");
}

#[test]
fn an_accepted_text_names_its_writer_and_who_accepted_it() {
    let mut claim = claim(0x3f, "Never deploy on Fridays.");
    let writer = crate::domain::TextWriter { who: "ada".into(), agent: Some("claude".into()) };
    (claim.agent, claim.provenance.text_writer) = (None, Some(writer));
    assert_eq!(super::claim::writer(&claim), "ada via claude, accepted by ada");
}

#[test]
fn a_proposed_replacement_is_not_called_a_refused_write() {
    let mut card = card();
    card.summary.accept = Some(CardAct::Supersede);
    let (mut ui, out, _) = ui(None, false);
    ui.card(&card, NOW);
    ui.card_commands(&card);
    let text = out.text();
    assert!(text.contains("replacement proposed by an agent") && !text.contains("refused write"), "{text}");
    assert!(
        text.contains("accept: store the new claim instead") && text.contains("# reject: discard the new claim"),
        "{text}"
    );
}

#[test]
fn a_card_shows_both_sides_and_the_ways_on() {
    both("card", |ui| {
        ui.card(&card(), NOW);
        ui.line("");
        ui.card_commands(&card());
    });
}

#[test]
fn the_ways_on_count_the_sides_of_a_card() {
    let mut card = card();
    let third = CardSide { claim: claim(0x22, "Deploy on any day."), new_claim: false, bears: vec![], now: vec![] };
    card.sides.push(third);
    let (mut ui, out, _) = ui(None, false);
    ui.card_commands(&card);
    let text = out.text();
    assert!(text.contains("a new statement supersedes all 3"), "{text}");
    assert!(text.contains("keep all 3, as an exception") && !text.contains("both"), "{text}");
}

#[test]
fn a_side_that_is_not_active_is_offered_for_nothing() {
    let mut card = card();
    for claim in [claim(0x22, "Deploy on any day."), claim(0x23, "Deploy at night.")] {
        card.sides.push(CardSide { claim, new_claim: false, bears: vec![], now: vec![] });
    }
    card.sides[0].new_claim = false;
    for inactive in [0, 2] {
        card.sides[inactive].claim.status = Status::Superseded;
    }
    let (mut ui, out, _) = ui(None, false);
    ui.card_commands(&card);
    let text = out.text();
    for side in [1, 3] {
        assert!(!text.contains(&format!("--keep {side}")) && !text.contains(&format!("--retract {side}")), "{text}");
    }
    assert!(text.contains("--keep 2") && text.contains("--retract 4"), "{text}");
    assert!(text.contains("--narrow 2") && text.contains("limit [2]; both stay active"), "{text}");
}

#[test]
fn a_claim_of_the_organisation_is_not_replaced_from_a_project() {
    let mut card = card();
    card.sides[1].claim.scope = Scope { org_id: "acme".into(), project: "*".into() };
    let (mut ui, out, _) = ui(None, false);
    ui.card(&card, NOW);
    ui.card_commands(&card);
    let text = out.text();
    assert!(text.contains("active · acme/*"), "{text}");
    for act in ["--keep 1", "--merge", "--retract"] {
        assert!(!text.contains(act), "{act}: {text}");
    }
    for act in ["--keep 2", "--narrow 1", "--exception", "--discard"] {
        assert!(text.contains(act), "{act}: {text}");
    }
}

#[test]
fn a_claim_and_its_chain_read_as_a_timeline() {
    both("why", |ui| {
        ui.claim(&claim(0x3f, "Never deploy on Fridays."), NOW);
        ui.chain(&chain(), NOW);
    });
}

fn undone_change(statement: &str) -> EventView {
    EventView {
        id: EventId([9; 32]),
        kind: "supersede".into(),
        op_id: OpId([0xab; 16]),
        scope: Scope { org_id: "acme".into(), project: "api".into() },
        who: "ada".into(),
        agent: None,
        device: DeviceId([0; 32]),
        device_name: None,
        at: NOW - 120_000,
        targets: vec![EventId([0x22; 32])],
        reason: Some("The cluster moved.".into()),
        statement: Some(statement.into()),
        about: None,
        outcome: None,
        accept: None,
        undone: true,
        redo: false,
    }
}

#[test]
fn a_long_change_leaves_room_for_its_mark_and_a_long_label_for_its_text() {
    let (mut ui, out, _) = ui(Some(80), false);
    crate::cli::log::row(&mut ui, &undone_change(&"Use the new cluster. ".repeat(9)), NOW);
    ui.field("a-long-organisation/a-long-project", &"claims of a long list ".repeat(9));
    let text = out.text();
    assert!(text.contains("[undone]"), "{text}");
    for line in text.lines() {
        assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "too wide: {line}");
    }
}

#[test]
fn rows_of_lists_fit_on_one_line() {
    both("rows", |ui| {
        let mut long = claim(0x22, &"A statement that goes on and on, so that it cannot fit. ".repeat(4));
        long.flags.needs_review = true;
        ui.claim_row(&claim(0x3f, "Never deploy on Fridays."), NOW);
        ui.claim_row(&long, NOW);
        ui.card_row(&card().summary, NOW);
        crate::cli::log::row(ui, &undone_change("Use the new cluster."), NOW);
    });
}

#[test]
fn what_memory_holds_cannot_write_to_the_terminal() {
    let (mut ui, out, _) = ui(Some(80), false);
    let mut claim = claim(0x3f, "Never \u{1b}[2Jdeploy \u{202e}on Fridays\u{7}.");
    claim.reason = Some("a\u{1b}]0;title\u{7}b".into());
    claim.source = Some("x\u{1b}[31m".into());
    claim.who = "eve\u{1b}[1m".into();
    ui.claim(&claim, NOW);
    ui.claim_row(&claim, NOW);
    let text = out.text();
    assert!(!text.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{text:?}");
}

#[test]
fn colour_changes_no_letter() {
    let (mut plain, without, _) = ui(Some(80), false);
    let (mut coloured, with, _) = ui(Some(80), true);
    for ui in [&mut plain, &mut coloured] {
        ui.card(&card(), NOW);
        ui.refused(&refused(), Some("x"), NOW);
    }
    let mut bare = with.text();
    assert!(bare.contains("\u{1b}["));
    for code in ["0", "1", "2", "31", "32", "33", "36"] {
        bare = bare.replace(&format!("\u{1b}[{code}m"), "");
    }
    assert_eq!(bare, without.text());
}
