//! Ten cards settled by keys, by the mouse and by one act, and while the daemon dies.

use ergo::{
    api::{CardStatus, ClaimsQuery, ConflictsQuery},
    domain::Status,
};
use rustix::process::Signal;
use termlens::Key;

use crate::{
    support::{Daemon, TestHome, block_on, signal, until},
    term::{App, assert_clean},
    term_flows::WIDE,
};

/// The subjects of the ten cards, the newest first.
const THINGS: [&str; 10] = [
    "night theme",
    "backup label",
    "warning stripe",
    "invoice header",
    "search icon",
    "release badge",
    "status lamp",
    "error page",
    "login banner",
    "canary deployment",
];

/// A home in which ten writes were refused.
fn ten() -> (TestHome, Daemon) {
    let home = TestHome::new();
    let daemon = home.daemon();
    for (color, why, code) in [("blue", "Blue is calm", 0), ("red", "Red is seen", 1)] {
        for thing in THINGS.iter().rev() {
            let statement = format!("The {thing} is always {color}");
            let output = home.run(["remember", statement.as_str(), "--reason", why]);
            assert_eq!(output.code, Some(code), "{output:?}");
        }
    }
    (home, daemon)
}

fn cards(home: &TestHome, status: &str) -> usize {
    let query = ConflictsQuery { status: Some(status.into()), ..ConflictsQuery::default() };
    block_on(async { home.client().conflicts(&query).await }).unwrap().total
}

fn active(home: &TestHome) -> Vec<String> {
    let page =
        block_on(async { home.client().claims(&ClaimsQuery { limit: Some(200), ..ClaimsQuery::default() }).await });
    page.unwrap()
        .items
        .into_iter()
        .filter(|claim| claim.status == Status::Active)
        .map(|claim| claim.statement)
        .collect()
}

/// Presses keys one by one and counts them: `⏎` enter, `⇥` tab, `⌃s` ctrl-s.
fn press(app: &mut App, keys: &str) -> usize {
    let mut count = 0;
    let mut chars = keys.chars();
    while let Some(key) = chars.next() {
        count += 1;
        match key {
            '⏎' => app.enter(),
            '⇥' => app.key(Key::Tab),
            '⌃' => app.ctrl(chars.next().unwrap()),
            key => app.keys(&key.to_string()),
        }
    }
    count
}

#[test]
fn ten_cards_are_settled_by_at_most_forty_keys() {
    let (home, _daemon) = ten();
    let mut app = App::open(&home, &[], WIDE, &[]);
    // Every act that a card offers, the reasons as they are known, or a word.
    let acts = [
        ("a", "The new claim is stored", "⏎"),
        ("b", "the new claim is discarded", "⏎"),
        ("D", "The new claim is discarded", "⏎"),
        ("z", "The card is hidden", "⏎"),
        ("x", "Both stay although", "brand⏎"),
        ("d", "No contradiction: the new", "moot⏎"),
        ("o", "The chosen claim gets", "⇥ci⌃s"),
        ("m", "One claim replaces", "⏎⏎"),
        ("r", "The chosen claim was never right", "⇥old⏎"),
        ("a", "The new claim is stored", "⏎"),
    ];
    let mut keys = 0;
    for (at, (thing, (act, says, rest))) in THINGS.iter().zip(acts).enumerate() {
        app.sees(&format!("1 of {}", 10 - at));
        app.until(|screen| {
            screen.contains(&format!("The {thing} is always red")) && screen.contains("What you can do")
        });
        keys += press(&mut app, act);
        app.sees(says);
        keys += press(&mut app, rest);
    }
    app.sees("Nothing needs your attention");
    assert!(keys <= 40, "{keys} keys");
    println!("ten cards by {keys} keys");
    assert_eq!((cards(&home, "open"), cards(&home, "snoozed")), (0, 1));
    let held = active(&home);
    assert!(held.contains(&"The night theme is always red".to_owned()), "{held:?}");
    assert!(held.contains(&"The backup label is always blue".to_owned()), "{held:?}");
    app.keys("q");
    let (well, left) = app.ends();
    assert!(well);
    assert_clean(&left);
}

#[test]
fn ten_cards_are_settled_by_the_mouse_alone() {
    let (home, _daemon) = ten();
    let mut app = App::open(&home, &[], WIDE, &[]);
    for (at, thing) in THINGS.iter().enumerate() {
        app.sees(&format!("1 of {}", 10 - at));
        app.until(|screen| {
            screen.contains(&format!("The {thing} is always red")) && screen.contains("What you can do")
        });
        app.click(if at % 2 == 0 { "Keep new" } else { "Keep existing" });
        app.sees("Reason");
        app.click("enter submit");
    }
    app.sees("Nothing needs your attention");
    assert_eq!((cards(&home, "open"), active(&home).len()), (0, 10));
    app.click("2 Claims");
    app.sees("Claims: active");
    app.wheel_down("always");
    // By a key: the footer moves with what the claim under the cursor allows, and a test does not see where to.
    app.keys("q");
    assert!(app.ends().0);
}

#[test]
fn marked_cards_are_settled_by_one_act_after_a_preview_and_come_back_by_one_undo() {
    let (home, _daemon) = ten();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.sees("1 of 10");
    app.keys("*");
    app.sees("10 marked");
    app.keys("b");
    app.sees("10 cards: keep existing");
    app.enter();
    let whole = ["Would settle 10 cards", "One undo reverts all of it", "y Settle"];
    app.until(|screen| whole.iter().all(|text| screen.contains(text)));
    // The key that opened the question does not answer it.
    app.enter();
    app.enter();
    app.keys("y");
    app.sees("Nothing needs your attention");
    assert_eq!((cards(&home, "open"), active(&home).len()), (0, 10));
    app.keys("u");
    app.sees("Undid: settled 10 cards at once");
    app.sees("of 10");
    assert_eq!(cards(&home, "open"), 10);
    // A few of them, with the mouse.
    app.right_click("login banner is always red");
    app.sees("1 marked");
    app.keys(" ");
    app.sees("2 marked");
    app.key(Key::Esc);
    app.until(|screen| !screen.contains("2 marked"));
}

#[test]
fn a_daemon_killed_in_the_middle_of_an_act_loses_nothing_and_does_nothing_twice() {
    let (home, daemon) = ten();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.until(|screen| screen.contains("The night theme is always red") && screen.contains("What you can do"));
    app.keys("a");
    app.sees("The new claim is stored");
    app.keys(", by far");
    // The daemon receives the act and does not answer any more.
    signal(daemon.pid(), Signal::STOP);
    app.enter();
    app.sees("Sending");
    daemon.kill();
    app.sees("Red is seen, by far");
    app.until(|screen| !screen.contains("Sending"));
    app.key(Key::Esc);
    app.until(|screen| !screen.contains("keep as a draft"));
    app.keys("s");
    app.sees("live");
    app.until(|screen| screen.contains("The night theme is always red") && screen.contains("What you can do"));
    app.keys("a");
    app.sees("Red is seen, by far");
    app.enter();
    app.undoable();
    until("the card is settled", || cards(&home, "open") == 9);
    let why = home.run(["why", "night theme", "--json"]).ok().json();
    assert_eq!(why["answer"]["reason"], "Red is seen", "why it is so stays its own");
    assert_eq!(why["chain"][1]["change_reason"], "Red is seen, by far");
    assert_eq!(active(&home).len(), 10, "it was done once");
}

#[test]
fn a_card_settled_elsewhere_while_its_form_is_open_keeps_what_was_written() {
    let (home, _daemon) = ten();
    let mut app = App::open(&home, &[], WIDE, &[]);
    app.until(|screen| screen.contains("The night theme is always red") && screen.contains("What you can do"));
    app.keys("d");
    app.sees("No contradiction: the new");
    app.keys("written in vain");
    let page = block_on(async { home.client().conflicts(&ConflictsQuery::default()).await }).unwrap();
    let card = page.items.iter().find(|card| card.status == CardStatus::Open).unwrap().id.short();
    let mut other = home.command(["resolve", card.as_str(), "--discard", "--reason", "a slip"]);
    assert!(other.env("USER", "max").status().unwrap().success());
    // The form stays open with its text, and says what happened.
    app.until(|screen| {
        screen.contains("Already settled by max") && screen.contains("(a slip)") && screen.contains("written in vain")
    });
    app.key(Key::Esc);
    app.until(|screen| screen.contains("Settled meanwhile by max") && !screen.contains("written in vain"));
}
