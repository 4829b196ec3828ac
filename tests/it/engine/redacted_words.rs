//! The words of a claim are in no other event: once the claim is redacted, they are gone, however a command settled its card.

use super::*;

const WORD: &str = "hunter2swordfish";

/// A text that contains the word if the claim is the one to redact.
fn text(plain: &str, is_secret: bool) -> String {
    if is_secret { format!("{plain} ({WORD})") } else { plain.to_owned() }
}

/// The request with the reason that the command line sends if the person gives none.
fn by_default(view: &CardView, request: ResolveRequest) -> ResolveRequest {
    let reason = match &request.winner {
        Some(winner) => {
            let side = view.sides.iter().find(|side| side.claim.id.to_hex() == *winner).unwrap();
            side.claim.own_reason().map(str::to_owned)
        }
        None if request.statement.is_some() => None,
        None => view.acts.iter().find(|option| option.act == request.act).and_then(|option| option.prefill.clone()),
    };
    ResolveRequest { reason: reason.unwrap_or_else(|| "we decided so".to_owned()), ..request }
}

/// Every way to settle a card with two sides.
fn ways(view: &CardView) -> Vec<ResolveRequest> {
    let id = |at: usize| Some(view.sides[at].claim.id.to_hex());
    let merged = Some("Deployments must use a purple canary".to_owned());
    let narrow = |at| ResolveRequest { target: id(at), qualifiers: in_env("dev"), ..order(CardAct::Narrow, "") };
    let mut ways = vec![
        ResolveRequest { winner: id(0), ..order(CardAct::Supersede, "") },
        ResolveRequest { winner: id(1), ..order(CardAct::Supersede, "") },
        ResolveRequest { statement: merged, ..order(CardAct::Supersede, "") },
        ResolveRequest { target: id(1), ..order(CardAct::Retract, "") },
        narrow(0),
        narrow(1),
        order(CardAct::Exception, ""),
        order(CardAct::Dismiss, ""),
    ];
    if view.sides[0].new_claim {
        ways.push(order(CardAct::Discard, ""));
    }
    ways.into_iter().map(|way| by_default(view, way)).collect()
}

#[test]
fn no_way_to_settle_a_refused_write_leaves_the_words_of_a_redacted_side() {
    for is_new in [false, true] {
        for way in 0..9 {
            let fixture = Fixture::new();
            let old =
                fixture.remember("Deployments must use a blue canary", &text("blue is known to be safe", !is_new));
            let card = fixture
                .refuse(&text("Deployments must use a red canary", is_new), &text("red is seen from afar", is_new));
            let view = fixture.card(card);
            let request = ways(&view).remove(way);
            let answer = done(fixture.resolve(card, request.clone()));
            // A merged text is a claim of its own.
            let stored = answer.claim_id.filter(|_| request.statement.is_none());
            let secret = match (is_new, stored) {
                (false, _) => old,
                (true, Some(stored)) if fixture.claim(stored).statement.contains(WORD) => stored,
                (true, _) => view.sides[0].claim.id,
            };
            done(fixture.engine.redact(on(secret, "a secret was pasted")).unwrap());
            assert!(!fixture.holds(WORD), "{is_new} {request:?}");
        }
    }
}

#[test]
fn no_way_to_settle_a_contradiction_leaves_the_words_of_a_redacted_side() {
    for is_newer in [false, true] {
        for way in 0..8 {
            let fixture = Fixture::new();
            let blue = "Deployments must use a blue canary";
            let blue = fixture.remember(blue, &text("blue is known to be safe", !is_newer));
            let retract = fixture.retract(blue, "never so");
            let red = fixture.remember("Deployments must use a red canary", &text("red is seen from afar", is_newer));
            let undo = UndoRequest { caller: caller(), target_op: Some(retract.op_id), ..UndoRequest::default() };
            fixture.engine.undo(undo).unwrap();
            let card = fixture.engine.conflicts(&ConflictsQuery::default()).unwrap().items[0].id;
            let request = ways(&fixture.card(card)).remove(way);
            done(fixture.resolve(card, request.clone()));
            let secret = if is_newer { red } else { blue };
            done(fixture.engine.redact(on(secret, "a secret was pasted")).unwrap());
            assert!(!fixture.holds(WORD), "{is_newer} {request:?}");
        }
    }
}

#[test]
fn the_reason_of_the_side_that_stays_is_shown_until_the_side_is_redacted() {
    let fixture = Fixture::new();
    let blue = fixture.remember("Deployments must use a blue canary", "blue is known to be safe");
    let card = fixture.refuse("Deployments must use a red canary", "red is seen from afar");
    let winner = Some(blue.to_hex());
    let view = fixture.card(card);
    let keep = by_default(&view, ResolveRequest { winner, ..order(CardAct::Supersede, "") });
    assert_eq!(keep.reason, "blue is known to be safe");
    done(fixture.resolve(card, keep));
    let reason = || fixture.card(card).settled.unwrap().reason;
    assert_eq!(reason().as_deref(), Some("blue is known to be safe"));
    done(fixture.engine.redact(on(blue, "a secret was pasted")).unwrap());
    assert_eq!(reason(), None);
}

#[test]
fn a_claim_that_was_replaced_shows_the_reason_of_the_claim_that_was_kept() {
    let fixture = Fixture::new();
    let blue = fixture.remember("Deployments must use a blue canary", "safe");
    let tea = fixture.remember("Tea is served at four", "it was asked for");
    let by = SupersedeRequest {
        targets: vec![blue.to_hex()],
        successor: Some(tea.to_hex()),
        claim: RememberRequest { caller: caller(), reason: Some("it was asked for".into()), ..Default::default() },
        ..SupersedeRequest::default()
    };
    stored(fixture.engine.supersede(by).unwrap());
    assert_eq!(fixture.claim(blue).closing_reason.as_deref(), Some("it was asked for"));
    done(fixture.engine.redact(on(tea, "a secret was pasted")).unwrap());
    assert_eq!(fixture.claim(blue).closing_reason, None);
}
