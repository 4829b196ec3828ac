//! Doubts over HTTP: a write is held, the daemon is killed, and the question is still there.

use ergo::{
    api::{Consider, DoubtsQuery, JudgeRequest, QuestionsQuery, RememberRequest, WriteOutcome},
    domain::{DoubtBand, PairVerdict},
};

use crate::{
    support::{
        TestHome, block_on, caller, decision,
        doubtful::{NEW, OLD},
        eventually,
    },
    term::App,
};

fn asking(statement: &str) -> RememberRequest {
    RememberRequest { consider: true, ..decision(statement) }
}

fn considered(outcome: WriteOutcome) -> Consider {
    match outcome {
        WriteOutcome::Consider(consider) => consider,
        other => panic!("not asked: {other:#?}"),
    }
}

fn answer(question: &Consider, verdict: PairVerdict) -> JudgeRequest {
    JudgeRequest {
        caller: caller(),
        token: question.token.clone(),
        verdicts: question.doubts.iter().map(|doubt| (doubt.id.to_hex(), verdict)).collect(),
        because: Some("read both".into()),
        ..JudgeRequest::default()
    }
}

#[test]
fn a_question_outlives_the_daemon_and_is_answered_once() {
    let home = TestHome::new();
    let daemon = home.daemon();
    let question = block_on(async {
        let client = home.client();
        client.remember(&decision(OLD)).await.unwrap();
        considered(client.remember(&asking(NEW)).await.unwrap())
    });
    daemon.kill();
    let _daemon = home.daemon();
    block_on(async {
        let client = home.client();
        let waiting = client.questions(&QuestionsQuery::default()).await.unwrap().items;
        assert_eq!(waiting.iter().map(|waiting| &waiting.token).collect::<Vec<_>>(), [&question.token]);
        let stored = match client.judge(&answer(&question, PairVerdict::Compatible)).await.unwrap() {
            WriteOutcome::Stored(stored) => stored,
            other => panic!("not stored: {other:#?}"),
        };
        match client.judge(&answer(&question, PairVerdict::Contradicts)).await.unwrap() {
            WriteOutcome::Stale(stale) => assert_eq!(stale.claim.unwrap().id, stored.claim_id),
            other => panic!("answered twice: {other:#?}"),
        }
        assert!(client.questions(&QuestionsQuery::default()).await.unwrap().items.is_empty());
    });
}

#[test]
fn a_contradiction_is_a_refusal() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    block_on(async {
        let client = home.client();
        client.remember(&decision(OLD)).await.unwrap();
        let question = considered(client.remember(&asking(NEW)).await.unwrap());
        match client.judge(&answer(&question, PairVerdict::Contradicts)).await.unwrap() {
            WriteOutcome::Conflict(refused) => assert!(refused.card_id.is_some()),
            other => panic!("not refused: {other:#?}"),
        }
    });
}

#[test]
fn a_person_at_a_terminal_answers_with_a_key() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.run(["remember", OLD, "--reason", "They plan by it."]).ok();
    let mut terminal = App::command(&home, &["remember", NEW, "--reason", "They asked for it."]);
    terminal.sees("because They plan by it.");
    terminal.sees("k: keep both");
    terminal.keys("y");
    terminal.enter();
    terminal.sees("Ctrl-D stores it");
    terminal.keys("r");
    terminal.enter();
    let (good, screen) = terminal.ends();
    assert!(good && screen.contains(OLD) && screen.contains("it replaces"), "{screen:?}");
}

#[test]
fn a_person_at_a_terminal_can_withdraw_the_claim_instead() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    home.run(["remember", OLD, "--reason", "They plan by it."]).ok();
    let stop: [fn(&mut App); 2] = [
        |terminal| {
            terminal.keys("x");
            terminal.enter();
        },
        |terminal| terminal.ctrl('c'),
    ];
    for stop in stop {
        let mut terminal = App::command(&home, &["remember", NEW, "--reason", "They asked for it."]);
        terminal.sees("k: keep both");
        stop(&mut terminal);
        let (good, screen) = terminal.ends();
        assert!(!good && screen.contains("nothing was stored"), "{screen:?}");
        assert_eq!(home.run(["claims", "--json"]).ok().json()["total"], 1);
        assert_eq!(home.run(["inbox", "--json"]).ok().json()["total"], 0, "nothing waits");
    }
}

#[test]
fn without_a_terminal_a_write_is_stored_and_names_what_it_may_contradict() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let old = home.run(["remember", OLD, "--reason", "They plan by it.", "--json"]).ok().json();
    let new = home.run(["remember", NEW, "--reason", "They asked for it.", "--json"]).ok().json();
    assert_eq!((&new["result"], &new["doubts"][0]["id"]), (&"stored".into(), &old["claim_id"]), "{new}");
    home.run(["undo"]).ok();
    let noted = home.run(["remember", NEW, "--reason", "They asked for it."]).ok();
    assert!(noted.stderr.contains("Similar claims.") && noted.stderr.contains(OLD), "{noted:?}");
    assert!(!noted.stdout.contains(OLD), "{noted:?}");
}

#[test]
fn the_app_asks_in_its_form_and_a_dead_daemon_loses_no_answer() {
    let home = TestHome::new();
    let daemon = home.daemon();
    home.run(["remember", OLD, "--reason", "They plan by it."]).ok();
    let mut app = App::open(&home, &[], (80, 24), &[]);
    app.sees("Nothing needs your attention");
    app.keys("+");
    app.sees("the claim, in a sentence");
    app.keys(NEW);
    app.enter();
    app.keys("They asked for it.");
    app.ctrl('s');
    app.sees("How do they relate?");
    app.sees(OLD);
    daemon.kill();
    app.sees("no daemon");
    app.keys("r");
    app.sees("is stored and supersedes");
    app.ctrl('s');
    app.sees("No daemon answers");
    let _daemon = home.daemon();
    app.until(|screen| !screen.contains("no daemon"));
    app.ctrl('s');
    app.undoable();
    let claims = home.run(["claims", "--json"]).ok().json();
    assert_eq!(
        claims["items"].as_array().map(|items| items.iter().map(|item| item["statement"].clone()).collect::<Vec<_>>()),
        Some(vec![NEW.into()])
    );
}

/// With the built-in models, a writer is not asked about claims on other subjects, however few claims there are.
#[test]
fn in_a_small_store_unrelated_claims_do_not_wait() {
    let home = TestHome::with_models();
    let _daemon = home.daemon();
    let unrelated = [
        "Payments go through Stripe only.",
        "Use tabs for indentation.",
        "The office closes at six on Fridays.",
        "Backups are encrypted with a key of the customer.",
    ];
    block_on(async {
        let client = home.client();
        let read = async || client.diagnose().await.unwrap().guard.waiting == 0;
        for statement in unrelated {
            match client.remember(&asking(statement)).await.unwrap() {
                // One may be mentioned, but nobody is asked.
                WriteOutcome::Stored(stored) => {
                    assert!(stored.doubts.iter().all(|doubt| doubt.band == DoubtBand::Mention), "{statement}");
                }
                other => panic!("{statement}: {other:#?}"),
            }
        }
        // Nor if the writer cannot be asked.
        for statement in ["Log lines are JSON objects.", "Icons are drawn by hand."] {
            client.remember(&decision(statement)).await.unwrap();
        }
        eventually("the background has read them", read).await;
        assert_eq!(client.doubts(&DoubtsQuery::default()).await.unwrap().total, 0);
    });
}
