//! The app in a real terminal against a real daemon.

use ergo::{
    api::{Caller, CardAct, ConflictsQuery, ResolveRequest},
    domain::Qualifiers,
};

use crate::{
    support::{Daemon, TestHome, block_on},
    term::{App, assert_clean},
};

pub(crate) const WIDE: (u16, u16) = (120, 40);
pub(crate) const USUAL: (u16, u16) = (80, 24);

/// A home with two refused writes: the newest card is about Fridays.
pub(crate) fn home() -> (TestHome, Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    let reason = |why: &'static str| ["--reason", why];
    for (statement, why) in [
        ("The canary deployment is always blue", "Blue is what the dashboards show"),
        ("Never deploy on Fridays", "Nobody is there to mend it"),
    ] {
        home.run(["remember", statement].into_iter().chain(reason(why))).ok();
    }
    for (statement, why) in [
        ("The canary deployment is always red", "Red is what the alerts use"),
        ("Always deploy on Fridays", "Releases before the weekend"),
    ] {
        let refused = home.run(["remember", statement].into_iter().chain(reason(why)));
        assert_eq!(refused.code, Some(1), "{refused:?}");
    }
    (home, daemon)
}

/// The ids of the open cards, the newest first.
fn open_cards(home: &TestHome) -> Vec<String> {
    let page = block_on(async { home.client().conflicts(&ConflictsQuery::default()).await }).unwrap();
    page.items.iter().map(|card| card.id.to_hex()).collect()
}

fn statements(home: &TestHome) -> Vec<String> {
    let page = block_on(async { home.client().claims(&ergo::api::ClaimsQuery::default()).await }).unwrap();
    page.items.into_iter().map(|claim| claim.statement).collect()
}

#[test]
fn a_card_is_settled_by_supersede_with_a_reason() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("1 of 2");
    app.until(|screen| screen.contains("Never deploy on Fridays") && screen.contains("What you can do"));
    app.keys("a");
    app.sees("The new claim is stored and replaces");
    app.keys(", and that is final");
    app.sees("weekend, and that is final");
    app.enter();
    app.undoable();
    app.sees("1 of 1");
    let now = statements(&home);
    assert!(now.contains(&"Always deploy on Fridays".to_owned()), "{now:?}");
    assert!(!now.contains(&"Never deploy on Fridays".to_owned()), "{now:?}");
    app.keys("q");
    let (well, left) = app.ends();
    assert!(well);
    assert_clean(&left);
}

#[test]
fn a_link_opens_its_card_and_its_claim() {
    let (home, _daemon) = home();
    let oldest = open_cards(&home).pop().unwrap();
    let mut app = App::open(&home, &["--conflict", &oldest[..10]], USUAL, &[]);
    app.sees(&format!("card {}", &oldest[..10]));
    app.sees("The canary deployment is always red");
    let claim = home.run(["claims", "--json"]).ok().json()["items"][0]["id"].as_str().unwrap().to_owned();
    let mut app = App::open(&home, &["--claim", &claim[..10]], USUAL, &[]);
    app.sees("(this claim)");
    app.sees("Nobody is there to mend it");
}

#[test]
fn a_link_to_no_card_or_claim_is_an_error_and_opens_nothing() {
    let (home, _daemon) = home();
    let links = [
        ("--conflict", "nope", "invalid id"),
        ("--conflict", "ffffffff", "no card"),
        ("--claim", "nope", "invalid id"),
        ("--claim", "ffffffff", "no claim"),
    ];
    for (option, id, error) in links {
        let mut app = App::command(&home, &["tui", option, id]);
        app.sees(error);
        let (well, _) = app.ends();
        assert!(!well, "{option} {id}");
    }
}

#[test]
fn a_claim_is_retracted_and_brought_back() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("1 of 2");
    app.keys("2");
    app.sees("Claims: active");
    app.sees("Never deploy on Fridays");
    app.keys("r");
    app.sees("It was never right");
    app.keys("typo");
    app.enter();
    app.undoable();
    assert_eq!(statements(&home), ["The canary deployment is always blue"]);
    app.keys("u");
    app.sees("U to redo");
    assert_eq!(statements(&home).len(), 2);
}

#[test]
fn a_card_settled_elsewhere_says_so_and_by_whom() {
    let (home, _daemon) = home();
    let card = open_cards(&home)[0].clone();
    let mut app = App::open(&home, &["--conflict", &card], WIDE, &[]);
    app.sees("card ");
    app.ready();
    let request = ResolveRequest {
        caller: Caller { who: "max".into(), ..Caller::default() },
        act: CardAct::Discard,
        reason: "It was a slip".into(),
        winner: None,
        target: None,
        statement: None,
        qualifiers: Qualifiers::default(),
        drop_conditions: false,
        until: None,
        expect_rev: None,
    };
    block_on(async { home.client().resolve(&card, &request).await }).unwrap();
    app.sees("Already settled by max");
    app.sees("It was a slip");
}

#[test]
fn every_way_out_leaves_a_clean_terminal() {
    let home = TestHome::new();
    // After a normal exit, a panic and a signal, `stty` shows whether line mode and echo are restored.
    for (way, env) in [("quit", None), ("defect", Some(("ERGO_TEST_PANIC", "1"))), ("signal", None)] {
        let mut app = App::within_shell(&home, env.as_slice());
        match way {
            "quit" => {
                app.sees("No daemon is running");
                app.keys("q");
            }
            "signal" => {
                app.sees("No daemon is running");
                App::terminate(&home);
            }
            _ => {}
        }
        let screen = app.sees("left the app");
        assert_clean(&screen);
        let text = screen.full_text();
        assert!(text.contains(" icanon") && text.contains(" echo "), "{way}: {text}");
        assert!(!text.contains("-icanon"), "{way}: {text}");
        assert_eq!(way == "defect", text.contains("asked to stop by a defect"), "{way}: {text}");
    }
}

#[test]
fn without_colours_the_row_under_the_cursor_is_still_marked() {
    let (home, _daemon) = home();
    for env in [&[("NO_COLOR", "1")][..], &[]] {
        let mut app = App::open(&home, &[], USUAL, env);
        app.keys("2");
        let screen = app.until(|screen| {
            let at = screen.find("Never deploy on Fridays");
            at.and_then(|(row, column)| screen.cell(row, column)).is_some_and(|cell| cell.style().reverse)
        });
        let coloured = (0..24).any(|row| {
            (0..80)
                .any(|column| screen.cell(row, column).is_some_and(|cell| cell.style().fg != termlens::Color::Default))
        });
        assert_eq!(coloured, env.is_empty());
    }
}

#[test]
fn a_window_made_tiny_and_large_again_shows_the_same() {
    let (home, _daemon) = home();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.ready();
    app.resize(30, 8);
    app.sees("make the window larger");
    app.resize(40, 10);
    app.sees("Refused writes");
    app.resize(120, 40);
    app.ready();
}

#[test]
fn without_a_daemon_the_app_says_how_to_start_one_and_starts_it() {
    let home = TestHome::new();
    let mut app = App::open(&home, &["--no-spawn"], USUAL, &[]);
    app.sees("s starts it, or run: ergo daemon start");
    app.keys("s");
    app.sees("Nothing needs your attention");
    app.sees("live");
}
