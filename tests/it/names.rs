//! Checks that no two public types and no two files share a name, unless a list here gives the reason.

use std::collections::BTreeMap;

use crate::arch::{rust_files, scan};

/// Names that several public types have, with the reason.
const SHARED_TYPES: &[(&str, &str)] = &[("Args", "the arguments of a verb, beside the verb")];

/// Names of files that occur on several layers, and the one thing that each means.
const SHARED_FILES: &[(&str, &str)] = &[
    ("act", "the events of one request"),
    ("acts", "the list of acts in the app"),
    ("agents", "agents that are connected, and what they did"),
    ("audit", "the search for contradictions among what is stored"),
    ("backup", "the copy of the store"),
    ("beside", "claims that stand beside what they seem to contradict"),
    ("bundle", "files of events for devices without a network"),
    ("calibrate", "fitting the floor to a scope"),
    ("card", "the record of one contradiction"),
    ("cards", "the list of cards"),
    ("chain", "what a claim replaced, and what replaced it"),
    ("chat", "rules read from a conversation"),
    ("chunks", "the pieces of files that were ingested"),
    ("claim", "one claim"),
    ("claims", "the list of claims"),
    ("compact_log", "removing old events of the local log"),
    ("conflicts", "cards, as the API and the app list them"),
    ("depend", "a claim that depends on others"),
    ("documents", "the documents of the replication index"),
    ("drift", "claims whose files have changed since"),
    ("effect", "what an event does to claims"),
    ("doubts", "claims that a write may contradict"),
    ("error", "the error type of a module"),
    ("events", "the events of the log"),
    ("exchange", "bringing one document to the same state on both sides"),
    ("export", "writing a file for others"),
    ("fake", "stand-ins for tests"),
    ("filter", "the language model that chooses among what was found"),
    ("form", "the form of the app"),
    ("frame", "messages with their length in front"),
    ("history", "the versions of one claim"),
    ("host", "the side of a worker process that does the work"),
    ("http", "the transport over HTTP"),
    ("import", "reading a file of others"),
    ("inbox", "what needs a person's attention"),
    ("ingest", "files taken in as references"),
    ("injected", "claims that hooks added to sessions of agents"),
    ("invite", "letting a device into a team"),
    ("join", "coming into a team"),
    ("jsonl", "JSON lines"),
    ("judging", "pairs of claims judged one after another in the app"),
    ("judge", "who says whether two claims contradict each other"),
    ("live", "the stream of changes, as the app follows it"),
    ("log", "the log of acts"),
    ("many", "several cards settled at once"),
    ("marks", "the rows that are marked in the app"),
    ("memory", "what other memory tools export"),
    ("mode", "whether and how far this device syncs"),
    ("models", "the model of each role"),
    ("norms", "what the guard reads in a statement"),
    ("notes", "files of rules that are followed, and what rises from them"),
    ("note_files", "the files of rules that are followed, on their screen"),
    ("notices", "local events that tell something"),
    ("page", "a thing on a page of its own in the app"),
    ("palette", "the list of actions in the app"),
    ("peer_progress", "how far a peer has come"),
    ("peers", "the other devices of a team"),
    ("process", "the process of a worker"),
    ("promote", "making a claim of the organisation of claims of its projects"),
    ("promotions", "claims that are promoted to the organisation's level"),
    ("quarantine", "events that the team's roster did not accept"),
    ("questions", "writes that wait for verdicts"),
    ("recall", "the search for what is known"),
    ("redact", "removing the body of an event"),
    ("reembed", "computing vectors anew"),
    ("reinstate", "taking back a retract"),
    ("remember", "storing a claim"),
    ("retract", "withdrawing a claim"),
    ("review", "claims whose premises are no longer active"),
    ("reviewed", "a claim found still right"),
    ("scopes", "the list of scopes"),
    ("snapshot", "the claims of a scope within a budget"),
    ("status", "what a part of the program reports about itself"),
    ("story", "the history of a scope, and what would confuse in it"),
    ("supersede", "replacing a claim"),
    ("teams", "teams, as clients see them"),
    ("team_acts", "what a person does to a team"),
    ("text", "text made safe, measured and wrapped"),
    ("tour", "a tour for somebody new: of the app, or of the own repository"),
    ("undo", "the act that takes another one back"),
    ("unrelated_baseline", "how similar unrelated claims of a scope are"),
    ("why", "what a claim rests on and replaced"),
    ("wire", "the messages between two processes"),
    ("writes", "requests that write"),
];

/// The public types that a source declares outside its tests.
fn public_types(source: &str) -> Vec<&str> {
    let tokens = scan::tokens(source);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        // `#[cfg(test)] mod tests {` ends what a file declares: it stands last.
        if text(at) == "cfg"
            && text(at + 2) == "test"
            && (at..at + 16).any(|at| text(at) == "mod" && text(at + 2) == "{")
        {
            break;
        }
        if text(at) == "pub" {
            let mut next = at + 1;
            if text(next) == "(" {
                next += (next..tokens.len()).take_while(|at| text(*at) != ")").count() + 1;
            }
            // A macro names its types by a variable.
            if matches!(text(next), "struct" | "enum" | "trait" | "type" | "union") && text(next + 1) != "$" {
                found.push(text(next + 1));
            }
        }
        at += 1;
    }
    found
}

/// The source files of a folder, without tests.
fn sources(folder: &str) -> BTreeMap<String, String> {
    let is_test = |file: &str| file.ends_with("/tests.rs") || file.contains("/tests/");
    let files: BTreeMap<_, _> = rust_files(folder).into_iter().filter(|(file, _)| !is_test(file)).collect();
    assert!(files.len() > 20, "only {} files were found", files.len());
    files
}

/// The names that occur in several files, without those that a list permits.
fn doubles(named: Vec<(String, String)>, permitted: &[&str]) -> Vec<String> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, file) in named {
        places.entry(name).or_default().push(file);
    }
    places.retain(|name, files| files.len() > 1 && !permitted.contains(&name.as_str()));
    places.into_iter().map(|(name, files)| format!("{name}: {}", files.join(", "))).collect()
}

/// The names of a list. Each has a reason, and several things still bear it.
fn permitted(list: &[(&'static str, &str)], named: &[(String, String)]) -> Vec<&'static str> {
    for (name, why) in list {
        let count = named.iter().filter(|(known, _)| known == name).count();
        assert!(!why.is_empty() && count > 1, "`{name}` is borne {count} times: it needs no place in the list");
    }
    list.iter().map(|(name, _)| *name).collect()
}

fn types() -> Vec<(String, String)> {
    let of = |(file, source): (String, String)| {
        public_types(&source).into_iter().map(|name| (name.to_owned(), file.clone())).collect::<Vec<_>>()
    };
    sources("src").into_iter().chain(sources("bench/src")).flat_map(of).collect()
}

fn files() -> Vec<(String, String)> {
    let stem = |file: &str| file.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
    let all = sources("src").into_keys().map(|file| (stem(&file), file));
    all.filter(|(stem, _)| stem != "mod").collect()
}

#[test]
fn public_types_are_found_and_those_of_tests_are_not() {
    let source = r#"
        pub struct A; pub(crate) enum B {} pub(in crate::x) trait C {} pub type D = A; pub union E { f: u8 }
        struct F; pub fn g() {} const H: &str = "pub struct I;"; // pub struct J;
        impl C for A { type K = u8; }
        macro_rules! m { ($n:ident) => { pub struct $n; } }
        #[cfg(test)]
        mod tests { pub struct L; }
    "#;
    assert_eq!(public_types(source), ["A", "B", "C", "D", "E"]);
}

#[test]
fn no_two_public_types_share_a_name_without_a_reason() {
    let all = types();
    let permitted = permitted(SHARED_TYPES, &all);
    let doubles = doubles(all, &permitted);
    assert!(doubles.is_empty(), "name them by what each is:\n{}", doubles.join("\n"));
}

#[test]
fn no_two_files_share_a_name_with_two_meanings() {
    let all = files();
    let permitted = permitted(SHARED_FILES, &all);
    let doubles = doubles(all, &permitted);
    assert!(doubles.is_empty(), "name them by what each is:\n{}", doubles.join("\n"));
}
