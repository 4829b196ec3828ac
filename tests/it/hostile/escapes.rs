//! Foreign escape sequences: every field of a claim, a name and a file holds sequences that a terminal obeys, and the
//! output of every command and of the app is checked.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    process::Stdio,
};

use clap::CommandFactory;
use ergo::{
    api::{RememberRequest, SupersedeRequest},
    domain::text::unprintable,
};

use super::peer::{CONFIG, EVIL, evil, place, victim};
use crate::support::{Output, TestHome, block_on, decision};

/// The styles of ergo's own, as `src/cli/ui.rs` and the QR code write them.
const OWN: [&str; 8] = [
    "\u{1b}[0m",
    "\u{1b}[1m",
    "\u{1b}[2m",
    "\u{1b}[31m",
    "\u{1b}[32m",
    "\u{1b}[33m",
    "\u{1b}[36m",
    "\u{1b}[38;5;16;48;5;231m",
];

/// The problem of bytes that go to a terminal, if any; `colour` allows ergo's own styles.
fn wrong(text: &str, colour: bool) -> Option<String> {
    let mut rest = text.to_owned();
    if colour {
        for own in OWN {
            rest = rest.replace(own, "");
        }
    }
    let bad = rest.chars().find(|c| !matches!(c, '\n' | '\t') && unprintable(&c.to_string()).is_some())?;
    let line = rest.lines().find(|line| line.contains(bad)).unwrap_or(&rest).escape_debug().to_string();
    Some(format!("U+{:04X} in {line}", u32::from(bad)))
}

#[test]
fn the_check_itself_finds_each_of_them() {
    for c in EVIL.chars().filter(|c| *c != '\n' && unprintable(&c.to_string()).is_some()) {
        assert!(wrong(&format!("a{c}b"), true).is_some(), "{c:?}");
    }
    assert_eq!(wrong("\u{1b}[31mred\u{1b}[0m 決定\n\tx", true), None);
    assert!(wrong("\u{1b}[31mred\u{1b}[0m", false).is_some() && wrong("\u{1b}[35mx", true).is_some());
}

/// Runs the program with an answer on stdin.
fn run(home: &TestHome, args: &[&str], input: &str) -> Output {
    let mut command = home.command(args);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A verb that asks nothing may be gone already.
    let _gone = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap().into()
}

/// The forms of output.
const FORMS: [&[&str]; 3] = [&["--color", "never"], &["--color", "always"], &["--json"]];

/// Runs a command in several forms of output, and checks the bytes of each. Returns the output of the first form.
fn tried(home: &TestHome, args: &[&str], forms: &[&[&str]], input: &str, wrongs: &mut Vec<String>) -> String {
    let mut first = String::new();
    for form in forms {
        let args: Vec<&str> = args.iter().chain(*form).copied().collect();
        let output = run(home, &args, input);
        for text in [&output.stdout, &output.stderr] {
            wrongs.extend(wrong(text, form.contains(&"always")).map(|wrong| format!("{args:?}: {wrong}")));
        }
        if first.is_empty() {
            first = format!("{}{}", output.stdout, output.stderr);
        }
    }
    first
}

/// Commands that are not tried, with the reason.
const LEFT_OUT: [(&str, &str); 6] = [
    ("demo", "runs other verbs on ergo's own texts"),
    ("mcp", "speaks JSON-RPC to a program"),
    ("worker", "speaks frames to the daemon"),
    ("completions", "generated from the program alone"),
    ("man", "generated from the program alone"),
    ("help", "generated from the program alone"),
];

#[test]
fn no_verb_lets_escape_bytes_of_others_through() {
    let (bob, _daemon) = victim();
    let home = &bob.home;
    let mut wrongs = Vec::new();
    let bad = evil("arg");
    let scope = place().to_string();
    let at = ["--scope", scope.as_str()];
    let imported = tried(home, &["sync", "import", "hostile.ergo"], &FORMS, "", &mut wrongs);
    assert!(
        imported.contains("lap$(touch pwned)\\u{1b}") && imported.contains("team\\u{1b}"),
        "names are shown: {imported}"
    );
    assert!(
        imported.contains("\\u{202e}") && imported.contains("in quarantine"),
        "the scope, and quarantine: {imported}"
    );

    let ids = |list: &[&str]| -> Vec<String> {
        let items = home.run(list).ok().json()["items"].clone();
        items.as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap()[..16].to_owned()).collect()
    };
    let claims = ids(&["claims", "--all", "--status", "all", "--json"]);
    let cards = ids(&["conflicts", "--all", "--json"]);
    assert!(claims.len() >= 6 && !cards.is_empty(), "{claims:?} {cards:?}");

    // Files whose names and texts are poisoned.
    let text = evil("We must use Kafka as the message broker.").replace(['\r', '\n'], " ");
    fs::create_dir(home.work().join("notes")).unwrap();
    fs::create_dir(home.work().join("adr")).unwrap();
    fs::write(home.work().join(format!("notes/{}.md", evil("n"))), &text).unwrap();
    let record = format!("# 1. {text}\n\n## Status\n\nAccepted\n\n## Decision\n\n{text}\n\n## Context\n\n{text}\n");
    fs::write(home.work().join(format!("adr/0001-{}.md", evil("r"))), record).unwrap();
    fs::write(home.work().join("RULES.md"), format!("- You must {text}\n- Never {text}\n- {text}\n")).unwrap();
    home.run(["export", "jsonl", "rows.jsonl", "--scope", &scope]).ok();
    let mut rows = OpenOptions::new().append(true).open(home.work().join("rows.jsonl")).unwrap();
    writeln!(rows, "{{\"{}", bad.replace(['\r', '\n'], "")).unwrap();
    let memory = serde_json::json!({"type": "entity", "name": bad, "entityType": bad, "observations": [evil("It must be red.")]});
    fs::write(home.work().join("memory.jsonl"), memory.to_string()).unwrap();
    let chat = serde_json::json!([{"title": bad, "uuid": bad, "name": bad, "chat_messages": [{"sender": "human",
        "text": evil("We decided to use Postgres because it is known.")}]}]);
    fs::write(home.work().join("chats.json"), chat.to_string()).unwrap();
    let diff = format!("--- a/{bad}\n+++ b/{bad}\n@@ -1 +1 @@\n+{text}\n");
    fs::write(home.work().join("change.diff"), diff).unwrap();

    let mut verbs: Vec<(Vec<&str>, &[&[&str]])> = vec![];
    let mut add = |args: &[&'_ str], forms| {
        // The lifetimes of all arguments are those of this function.
        verbs.push((args.iter().map(|arg| (*arg).to_owned().leak() as &str).collect(), forms));
    };
    // A second scope or claim has other texts, which each form shows as it shows the first one's.
    for (place, forms) in [(&at[..], &FORMS[..]), (&[], &FORMS[1..2])] {
        let mut with = |args: &[&str]| add(&[args, place].concat(), forms);
        with(&["claims", "--status", "all"]);
        with(&["claims", "nothing", &bad]);
        with(&["recall", "must be blue canary", "--history"]);
        with(&["recall", &bad]);
        with(&["why", "must the canary be blue"]);
        with(&["why", &bad]);
        with(&["inbox", "--here"]);
        with(&["conflicts"]);
        with(&["audit"]);
        with(&["judge"]);
        with(&["audit", "--dry-run"]);
        with(&["agents"]);
        with(&["log"]);
        with(&["log", "--who", &bad]);
        with(&["status"]);
        with(&["snapshot", "--rebuild"]);
        with(&["calibrate"]);
        with(&["resolve", "--all", "--dismiss", "--reason", &bad, "--dry-run"]);
        with(&["remember", &evil("The canary must not be blue."), "--reason", &bad, "--source", &bad]);
        with(&["learn", &evil("The quota must be five."), "--source", &bad, "--reason", &bad]);
        with(&["remember", "x", "--kind", "fact", "--key", &bad]);
        with(&["export", "adr", &format!("out-{}", place.len())]);
        with(&["export", "jsonl", &format!("{}-{}", bad.replace('/', ""), place.len())]);
        with(&["export", "agents", "AGENTS.md"]);
        with(&["import", "adr", "adr", "--dry-run"]);
        with(&["import", "adr", "adr"]);
        with(&["import", "rules", "RULES.md", "--dry-run", "--details"]);
        with(&["import", "rules", "RULES.md", "--details"]);
        with(&["import", "jsonl", "rows.jsonl", "--details"]);
        with(&["import", "memory", "memory.jsonl", "--details"]);
        with(&["import", "chat", "chats.json", "--to", &format!("list-{}.md", place.len())]);
        with(&["import", "proposals", &format!("list-{}.md", place.len())]);
        with(&["ingest", "notes"]);
        with(&["seed", "notes"]);
        with(&["add", &bad]);
        with(&["recall", "kafka message broker"]);
        with(&["commit-check", "--diff", "change.diff"]);
        with(&["tui", "--plain"]);
        with(&["tui", "--plain", "--read-only"]);
        with(&["sync", "adopt"]);
    }
    for (at, claim) in claims.iter().enumerate() {
        let forms = if at == 0 { &FORMS[..] } else { &FORMS[1..2] };
        let mut with = |args: &[&str]| add(args, forms);
        for verb in ["history", "why"] {
            with(&[verb, claim]);
        }
        with(&["history", claim, "--json"]);
        for verb in ["retract", "reinstate", "reviewed"] {
            with(&[verb, claim, "--reason", &bad]);
        }
        with(&["redact", claim, "--yes", "--reason", &bad]);
        with(&["depend", claim, "--on", &claims[0]]);
        with(&["supersede", claim, &evil("The canary must be violet."), "--reason", &bad]);
        with(&["tui", "--plain", "--claim", claim]);
    }
    for card in &cards {
        let mut with = |args: &[&str]| add(args, &FORMS);
        with(&["conflicts", card]);
        with(&["resolve", card, "--interactive"]);
        with(&["resolve", card, "--narrow", "1", "--env", &bad, "--reason", &bad]);
        with(&["resolve", card, "--dismiss", "--reason", &bad]);
        with(&["tui", "--plain", "--conflict", card]);
    }
    for args in [
        &["claims", "--all"][..],
        &["conflicts", "--all", "--status", "all"],
        &["inbox"],
        &["judge", "--all"],
        &["judge", &bad, "same"],
        &["log", "--all", "-n", "100"],
        &["scopes"],
        &["agents", "--all"],
        &["injected"],
        &["reembed"],
        &["undo"],
        &["undo", &bad],
        &["undo", "--import", &bad],
        &["doctor"],
        &["daemon", "status"],
        &["models", "list", "--long"],
        &["models", "pull", &bad],
        &["models", "use", "nli", &bad],
        &["models", "remove", &bad],
        &["models", "verify", &bad],
        &["models", "import", &bad],
        &["setup", &bad],
        &["setup", "--project", "claude-code", "--dry-run"],
        &["backup", &bad],
        &["backup", "copy.db"],
        &["compact"],
        &["compact", "--dry-run"],
        &["hook", "session-start"],
        &["hook", &bad],
        &[&bad],
        &["claims", &format!("--{bad}")],
        &["claims", "--scope", &bad],
        &["story"],
        &["promote"],
        &["promote", &bad, "--reason", &bad],
        &["demote", &bad, "--reason", &bad],
        &["story", "--subject", &bad, "--json"],
        &["manual", &bad],
        &["tour", "--dry-run"],
        &["tour", "--yes"],
        &["tour", "--undo"],
        &["notes", "add", &bad],
        &["notes", "add", "."],
        &["notes", "scan"],
        &["notes", "scan", &bad],
        &["notes", "status", "--runs"],
        &["notes", "clusters"],
        &["notes", "check"],
        &["notes", "write", "AGENTS.md", "--dry-run"],
        &["notes", "insights", "--status", "all"],
        &["notes", "insights", "--status", &bad],
        &["notes", "principles"],
        &["notes", "links"],
        &["notes", "prune"],
        &["notes", "calibrate"],
        &["insights"],
        &["tui", "--plain"],
        &["sync", "status"],
        &["sync", "peers", "--all"],
        &["sync", "pending"],
        &["sync", "quarantine", "list"],
        &["sync", "quarantine", "accept", &bad],
        &["sync", "quarantine", "discard", &bad, "--reason", &bad],
        &["sync", "mode"],
        &["sync", "now"],
        &["sync", "invite", "--no-wait"],
        &["sync", "join", &bad],
        &["sync", "admit", &bad, "--words", &bad],
        &["sync", "deny", &bad],
        &["sync", "address", &bad, &bad],
        &["sync", "request", "--out", "request.ergo"],
        &["sync", "approve", "request.ergo", "--out", "grant.ergo", "--yes"],
        &["sync", "map", &scope, "acme/api"],
        &["sync", "export", "out.ergo"],
        &["sync", "export", "out.ergo", "--force", "--open"],
        &["sync", "export", "out.ergo", "--force", "--since", &bad],
        &["sync", "export", "out.ergo", "--force", "--to", &bad],
        &["sync", "import", "hostile.ergo", "--dry-run"],
        &["sync", "import", "hostile.ergo", "--receipt", "receipt.ergo", "--force"],
        &["sync", "import", &bad],
        &["sync", "grant", &evil("eves"), "--role", "reader"],
        &["sync", "grant", &bad, "--role", "reader"],
        &["sync", "revoke", &evil("eves"), "--reason", &bad],
        &["sync", "revoke", &evil("eves"), "--reason", &bad, "--yes"],
        &["sync", "rename", "boat"],
        &["sync", "rename", &bad],
        &["sync", "create", &bad],
        &["sync", "status"],
        &["sync", "leave", "--yes"],
        &["sync", "status"],
        &["daemon", "stop"],
        &["daemon", "start"],
    ] {
        add(args, &FORMS);
    }
    let answers = "y\ny\n?\nw 1\nx\nq\n";
    let mut shown = String::new();
    for (args, forms) in &verbs {
        shown.push_str(&tried(home, args, forms, answers, &mut wrongs));
    }
    wrongs.dedup();
    assert!(wrongs.is_empty(), "{} places:\n{}", wrongs.len(), wrongs.join("\n"));
    // What is hostile was there to be shown: with its escapes visible in names, without them in texts.
    assert!(shown.matches("\\u{202e}").count() > 50, "names are escaped");
    assert!(shown.matches("]52;c;eA==").count() > 100, "texts are shown");

    let tried: Vec<&str> = verbs.iter().filter_map(|(args, _)| args.first().copied()).collect();
    for verb in ergo::cli::Cli::command().get_subcommands().map(|verb| verb.get_name().to_owned()) {
        let known = tried.contains(&verb.as_str()) || LEFT_OUT.iter().any(|(name, _)| *name == verb);
        assert!(known, "`ergo {verb}` is not tried");
    }
}

#[test]
fn a_refused_undo_of_an_import_shows_the_claim_without_its_escapes() {
    let (other, home) = (TestHome::with_config(CONFIG), TestHome::with_config(CONFIG));
    let (_others, _daemon) = (other.daemon(), home.daemon());
    // The command line refuses such texts; the API keeps them.
    let poisoned = |text: &str| RememberRequest { reason: Some(evil("why")), ..decision(&evil(text)) };
    let at = ["--scope", "acme/api"];
    block_on(other.client().remember(&poisoned("The tunnel must be green."))).unwrap();
    let rows = other.run([&["export", "jsonl"], &at[..]].concat()).ok().stdout;
    fs::write(home.work().join("rows.jsonl"), rows).unwrap();
    let import = home.run([&["import", "jsonl", "rows.jsonl", "--json"], &at[..]].concat()).ok().json();
    let number = import["import"].as_str().unwrap().to_owned();
    let listed = home.run([&["claims", "--json"], &at[..]].concat()).ok().json();
    let claim = listed["items"][0]["id"].as_str().unwrap().to_owned();
    let built = ["remember", "The tunnel's lamps must be green.", "--reason", "it is", "--depends-on", &claim];
    home.run([&built, &at[..]].concat()).ok();
    let claim = SupersedeRequest {
        targets: vec![claim],
        successor: None,
        expect_rev: None,
        drop_conditions: false,
        claim: poisoned("The tunnel must be grey."),
    };
    block_on(home.client().supersede(&claim)).unwrap();
    for form in [&["--color", "never"][..], &["--color", "always"], &["--json"]] {
        let output = home.run(["undo", "--import", &number].iter().chain(form));
        assert_eq!(output.code, Some(5), "{output:?}");
        for text in [&output.stdout, &output.stderr] {
            assert_eq!(wrong(text, form.contains(&"always")), None);
        }
    }
}

#[test]
fn names_that_cannot_be_seen_are_refused_where_they_are_made() {
    let home = TestHome::with_config(CONFIG);
    let _daemon = home.daemon();
    let long = |name: &str| format!("na{name}me");
    for (bad, shown) in [("\u{1b}[31m", "U+001B"), ("\u{202e}", "U+202E"), ("\u{200b}", "U+200B"), ("\u{9b}", "U+009B")]
    {
        let name = long(bad);
        let scope = format!("acme/{name}");
        let fact = ["remember", "The wiki is up.", "--kind", "fact"];
        for args in [
            &["sync", "create", &name][..],
            &["sync", "create", "platform", "--device", &name],
            &["sync", "request", "--out", "request.ergo", "--device", &name],
            &[&fact[..], &["--key", &name]].concat(),
            &[&fact[..], &["--env", &name]].concat(),
            &[&fact[..], &["--team", &name]].concat(),
            &[&fact[..], &["--scope", &scope]].concat(),
        ] {
            let output = home.run(args);
            assert_eq!(output.code, Some(2), "{args:?}: {output:?}");
            let control = args.contains(&scope.as_str()) && output.stderr.contains("control characters");
            assert!(output.stderr.contains(shown) || control, "{args:?}: {output:?}");
            assert_eq!(wrong(&output.stderr, false), None, "{args:?}");
        }
        let output = home.command(fact).env("ERGO_AGENT", &name).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(shown) && stderr.contains("agent"), "{stderr}");
    }
    let person = TestHome::with_config(&CONFIG.replace("bob", "b\\u202eob"));
    for args in [&["remember", "The wiki is up.", "--kind", "fact"][..], &["daemon", "start"]] {
        let output = person.run(args);
        let named = output.stderr.contains("invalid `who`: it contains the invisible character U+202E");
        assert!(output.code == Some(2) && named, "{args:?}: {output:?}");
    }
    home.run(["sync", "create", "platform"]).ok();
    let output = home.run(["sync", "rename", "bo\u{2066}at"]);
    assert!(output.code == Some(2) && output.stderr.contains("U+2066"), "{output:?}");
}

#[test]
fn the_app_draws_no_escape_bytes_of_others() {
    let (bob, _daemon) = victim();
    let home = &bob.home;
    home.run(["sync", "import", "hostile.ergo"]);
    let scope = place().to_string();
    for screen in ["inbox", "claims", "why", "peers", "timeline", "models", "log", "conflicts", "agents"] {
        for size in ["160x60", "60x30"] {
            let args = [
                "tui",
                "--record",
                "app.cast",
                "--screen",
                screen,
                "--size",
                size,
                "--read-only",
                "--scope",
                &scope,
                "--keys",
                "j j enter j enter",
            ];
            home.run(args).ok();
            let cast = fs::read_to_string(home.work().join("app.cast")).unwrap();
            fs::remove_file(home.work().join("app.cast")).unwrap();
            let mut drawn = String::new();
            for line in cast.lines().skip(1) {
                let event: serde_json::Value = serde_json::from_str(line).unwrap();
                drawn.push_str(event[2].as_str().unwrap());
            }
            let left = without_csi(&drawn);
            assert_eq!(wrong(&left, false), None, "{screen} at {size}");
            if size == "160x60" && matches!(screen, "claims" | "peers") {
                assert!(left.contains("]52;c") || left.contains("u{1b}"), "{screen} shows the hostile texts: {left}");
            }
        }
    }
}

/// The drawn text, without the control sequences `CSI … letter`.
fn without_csi(drawn: &str) -> String {
    let mut out = String::new();
    let mut rest = drawn;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ';' | '?' | ':'))
            .get(1..)
            .unwrap_or("");
    }
    out + rest
}
