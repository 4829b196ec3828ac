//! Every act of the app has a command line with the same effect, which the app's own log shows.

use std::collections::BTreeSet;

use ergo::{
    api::{ClaimsQuery, ConflictsQuery, InboxKind},
    tui::action::{ACTIONS, Action, Danger},
};
use termlens::Key;

use crate::{
    support::{Daemon, TestHome, block_on, in_place_of},
    term::App,
};

/// The size of a terminal in which no command line is truncated.
const HUGE: (u16, u16) = (250, 60);

/// The subjects of the cards and claims, the newest card first.
const THINGS: [&str; 11] =
    ["theme", "label", "stripe", "header", "icon", "badge", "lamp", "banner", "page", "arrow", "frame"];

/// The acts on the cards, in their order: action, key, text of the form, and typed text.
const ON_CARDS: [(Action, &str, &str, &str); 9] = [
    (Action::KeepNew, "a", "The new claim is stored", "⏎"),
    (Action::KeepExisting, "b", "the new claim is discarded", "⏎"),
    (Action::Discard, "D", "The new claim is discarded", "⏎"),
    (Action::Snooze, "z", "The card is hidden", "⏎"),
    (Action::Exception, "x", "Both stay although", "law⏎"),
    (Action::Dismiss, "d", "No contradiction: the new", "moot⏎"),
    (Action::Narrow, "o", "The chosen claim gets", "⇥ci⌃s"),
    (Action::Retract, "r", "The chosen claim was never right", "⇥old⏎"),
    (Action::Merge, "m", "One claim replaces", "⏎⏎"),
];

/// The acts on claims, which are found by a search.
const ON_CLAIMS: [(Action, &str, &str, &str, &str); 5] = [
    (Action::ClaimSupersede, "Tabs", "e", "The new claim replaces it", "!⇥why⏎"),
    (Action::ClaimRetract, "Spaces", "r", "It was never right: it", "why⏎"),
    (Action::ClaimReviewed, "Rests", "v", "although a claim that it depends on", "why⏎"),
    (Action::ClaimRedact, "Secret", "X", "Its text is deleted", "leak⏎"),
    (Action::ClaimReinstate, "Premises", "i", "becomes active again", "why⏎"),
];

/// Further acts of the flow. Undoing an act from the log is undo by its id.
const BESIDES: [Action; 6] =
    [Action::KeepSource, Action::Undo, Action::Redo, Action::Audit, Action::UndoSelected, Action::AddClaim];

/// Acts that change teams, each with its command, which `tests/it/sync_flows.rs` tests.
const ON_TEAMS: [(Action, [&str; 2]); 6] = [
    (Action::NewTeam, ["sync", "create"]),
    (Action::JoinTeam, ["sync", "join"]),
    (Action::AdmitDevice, ["sync", "admit"]),
    (Action::RejectDevice, ["sync", "deny"]),
    (Action::AdmitPending, ["sync", "admit"]),
    (Action::RejectPending, ["sync", "deny"]),
];

/// Acts on insights, each with its command, which `tests/it/engine/levels.rs` tests.
const ON_NOTES: [(Action, [&str; 1]); 1] = [(Action::NotesPromote, ["promote"])];

/// Acts on files of other programs, each with its command.
const ON_FILES: [(Action, [&str; 1]); 1] = [(Action::PageApply, ["setup"])];

/// Acts that only show something or change this machine, not the memory, each with its command.
const BESIDE_MEMORY: [(Action, &[&str]); 8] = [
    (Action::Search, &["claims"]),
    (Action::Search, &["recall"]),
    (Action::Snapshot, &["snapshot"]),
    (Action::Reembed, &["reembed"]),
    (Action::ShowAgents, &["agents"]),
    (Action::AgentFilter, &["log", "--refused"]),
    (Action::AgentSetup, &["setup", "--dry-run"]),
    (Action::AgentRemove, &["setup", "--remove"]),
];

#[test]
fn every_act_on_memory_is_in_the_tables_of_this_file() {
    let here: BTreeSet<String> = ON_CARDS
        .iter()
        .map(|row| row.0)
        .chain(ON_CLAIMS.iter().map(|row| row.0))
        .chain(BESIDES)
        .chain(ON_TEAMS.iter().map(|row| row.0))
        .chain(ON_NOTES.iter().map(|row| row.0))
        .chain(ON_FILES.iter().map(|row| row.0))
        .map(Action::name)
        .collect();
    let acts: BTreeSet<String> =
        ACTIONS.iter().filter(|spec| spec.danger != Danger::None).map(|spec| spec.id.name()).collect();
    // Answers to questions have flows of their own: `ergo judge`, `ergo resolve --yes|--no` and the question at the
    // terminal.
    let answers =
        "answer_later answer_never answer_no answer_yes compatible contradicts judging_undo replaces same withdraw";
    let answers = answers.split(' ');
    let acts = &acts - &answers.map(str::to_owned).collect::<BTreeSet<String>>();
    assert_eq!(here, acts, "an act that is new needs its command line, and its row here");
    let home = TestHome::new();
    for (_, verb) in ON_TEAMS {
        home.run([verb[0], verb[1], "--help"]).ok();
    }
    for (_, verb) in ON_NOTES.into_iter().chain(ON_FILES) {
        home.run([verb[0], "--help"]).ok();
    }
    for (_, verb) in BESIDE_MEMORY {
        home.run([verb, &["--help"]].concat()).ok();
    }
}

/// A home with something for each act, without a daemon.
fn prepared() -> TestHome {
    let home = TestHome::new();
    let daemon = home.daemon();
    let write = |statement: &str, why: &str, code: i32| {
        let output = home.run(["remember", statement, "--reason", why]);
        assert_eq!(output.code, Some(code), "{output:?}");
    };
    for (color, source, code) in [("blue", "CLAUDE.md:3", 0), ("red", "a talk", 1)] {
        for thing in THINGS.iter().rev() {
            let statement = format!("The {thing} is always {color}");
            let output = home.run(["remember", statement.as_str(), "--reason", "we said so", "--source", source]);
            assert_eq!(output.code, Some(code), "{output:?}");
        }
    }
    write("Tabs indent the code", "taste", 0);
    write("Spaces align the comments", "taste", 0);
    write("Secret tokens are called hunter", "a slip", 0);
    write("Premises are listed first", "order", 0);
    let premise = home.run(["claims", "--json"]).ok().json()["items"][0]["id"].as_str().unwrap().to_owned();
    home.run(["remember", "Rests of the day are for reading", "--reason", "calm", "--depends-on", &premise]).ok();
    home.run(["retract", &premise, "--reason", "never so"]).ok();
    assert_eq!(daemon.terminate(), Some(0));
    home
}

/// The same home again: the same ids, keys and log.
fn copy(home: &TestHome) -> TestHome {
    let other = TestHome::new();
    for entry in std::fs::read_dir(home.path()).unwrap().flatten() {
        // The record of a daemon does not apply to another home.
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().unwrap().is_file()
            && name != "daemon.json"
            && entry.path().extension().is_none_or(|ending| ending != "lock")
        {
            std::fs::copy(entry.path(), other.path().join(entry.file_name())).unwrap();
        }
    }
    other
}

fn press(app: &mut App, keys: &str) {
    let mut chars = keys.chars();
    while let Some(key) = chars.next() {
        match key {
            '⏎' => app.enter(),
            '⇥' => app.key(Key::Tab),
            '⌃' => app.ctrl(chars.next().unwrap()),
            key => app.keys(&key.to_string()),
        }
    }
}

/// The claims and cards as text, without parts that differ by chance.
fn memory(home: &TestHome) -> (BTreeSet<String>, BTreeSet<String>) {
    block_on(async {
        let client = home.client();
        let query = ClaimsQuery { status: Some("all".into()), limit: Some(200), ..ClaimsQuery::default() };
        let claims = client.claims(&query).await.unwrap().items;
        let claims = claims.into_iter().map(|claim| {
            let (id, only) = (claim.closing_reason, claim.qualifiers.env);
            let (status, reason, flags) = (claim.status, claim.reason, claim.flags);
            format!("{} {status} {reason:?} {id:?} {only:?} {flags:?} by {}", claim.statement, claim.who)
        });
        let query = ConflictsQuery { status: Some("all".into()), limit: Some(200), ..ConflictsQuery::default() };
        let mut cards = BTreeSet::new();
        for card in client.conflicts(&query).await.unwrap().items {
            let view = client.card(&card.id.to_hex()).await.unwrap();
            let settled = view.settled.map(|by| (by.act, by.who, by.reason));
            cards.insert(format!("{} {:?} {settled:?}", view.sides[0].claim.statement, card.status));
        }
        (claims.collect(), cards)
    })
}

/// The command lines in the app's log, the oldest first.
fn lines(app: &mut App) -> Vec<String> {
    app.keys("@");
    // The screen is drawn to its lower edge, so the line of the last act is on it.
    let screen = app.until(|screen| screen.contains("$ ergo audit") && screen.contains("esc closes"));
    let mut out = Vec::new();
    for line in screen.text().lines() {
        if let Some((_, command)) = line.split_once("$ ergo ") {
            out.push(command.trim_end_matches(['│', ' ']).to_owned());
        }
    }
    out
}

#[test]
fn the_inbox_of_the_command_line_is_that_of_the_app() {
    let home = prepared();
    let _daemon = home.daemon();
    let inbox = home.run(["inbox", "--json"]).ok().json();
    let mut app = App::open(&home, &[], HUGE, &[]);
    app.sees(&format!("1 Inbox {}", inbox["total"]));
    let lines = home.run(["inbox"]).ok().stdout;
    for group in inbox["groups"].as_array().unwrap() {
        let kind: InboxKind = serde_json::from_value(group["group"].clone()).unwrap();
        let (title, total) = (kind.title(), &group["total"]);
        app.sees(&format!("{title} {total}"));
        assert!(lines.contains(&format!("{title}: {total}")), "{lines}");
    }
    // The item that is selected first is the next one of the command line.
    let first = &inbox["groups"][0]["items"][0];
    let id = &first["id"].as_str().unwrap()[..10];
    assert!(inbox["next"]["command"].as_str().unwrap().contains(id), "{inbox}");
    app.sees(&format!("card {id}"));
}

#[test]
fn the_command_lines_in_the_log_do_what_the_app_did() {
    let home = prepared();
    let other = copy(&home);
    let daemon: Daemon = home.daemon();
    let mut app = App::open(&home, &[], HUGE, &[]);
    app.sees("live");
    for (at, (thing, (_, act, says, rest))) in THINGS.iter().zip(ON_CARDS).enumerate() {
        // One more claim waits for a review.
        app.sees(&format!("1 of {}", THINGS.len() + 1 - at));
        app.until(|screen| {
            screen.contains(&format!("The {thing} is always red")) && screen.contains("What you can do")
        });
        press(&mut app, act);
        app.sees(says);
        press(&mut app, rest);
    }
    app.sees("1 of 3");
    app.keys("*");
    app.sees("2 marked");
    app.until(|screen| screen.contains("The arrow is always red") && screen.contains("What you can do"));
    app.keys("p");
    app.sees("Claim to keep");
    app.enter();
    app.enter();
    app.sees("Would settle 2 cards");
    app.keys("y");
    app.sees("1 of 1");
    app.keys("2");
    app.sees("Claims: active");
    for (_, word, act, says, rest) in ON_CLAIMS {
        if act == "i" {
            app.keys("f");
            app.sees("All claims");
            app.keys("f");
            app.sees("Claims: superseded");
            app.keys("f");
            app.sees("Claims: retracted");
        }
        app.keys("/");
        app.keys(word);
        // Wait for the result of the whole word: each letter starts a new search, and until it ends there is nothing to
        // act on.
        app.until(|screen| {
            let text = screen.text();
            text.lines().any(|line| ["Search", word, "1 found"].iter().all(|part| line.contains(part)))
        });
        app.enter();
        app.until(|screen| screen.contains("1 of 1 match, ") && screen.contains(word));
        press(&mut app, act);
        app.sees(says);
        press(&mut app, rest);
        if act == "X" {
            app.sees("y Redact");
            app.keys("y");
            app.sees("edacted");
        }
        // The subject of the form stays on it to the end; its keys are redrawn for each field.
        app.until(|screen| !["keep as a draft", "Sending", "y Redact", says].iter().any(|word| screen.contains(word)));
        app.key(Key::Esc);
        // Until Esc is handled, a letter after it would be read as Alt and that letter.
        app.until(|screen| !screen.contains("1 of 1 match, ") && !screen.contains(&format!("matching “{word}”")));
    }
    app.keys("u");
    app.sees("U to redo");
    app.keys("U");
    app.sees("Redid");
    app.keys("A");
    app.sees("claims compared");
    let lines = lines(&mut app);
    assert_eq!(lines.len(), ON_CARDS.len() + 2 + ON_CLAIMS.len() + 3, "{lines:#?}");

    // The shell's folder is another project.
    const LAST: &str = "undo --scope claude-code/work --json";
    let _beside = other.daemon();
    let mut undone = None;
    for line in &lines {
        // Undoing an act has another key there: the act is the last one, and then its undo is.
        let line = match (line.starts_with("undo "), &undone) {
            (true, None) => LAST.to_owned(),
            (true, Some(op)) => format!("undo {op}"),
            (false, _) => line.clone(),
        };
        let script = format!("\"$ERGO\" {line}");
        let mut shell = in_place_of(&other.command(["status"]), "sh");
        let run = shell.args(["-c", &script]).env("ERGO", crate::support::PROGRAM).output().unwrap();
        assert!(run.status.success(), "{line}: {}", String::from_utf8_lossy(&run.stderr));
        if line == LAST {
            let answer: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
            undone = Some(answer["op_id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(memory(&home), memory(&other));
    drop(daemon);
}
