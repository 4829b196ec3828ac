//! One name for one thing: no two public types share a name, and no two files do, unless a list here says why.

use std::collections::{BTreeMap, BTreeSet};

use crate::arch::{rust_files, scan};

/// Names that several public types have, and why.
const SHARED_TYPES: &[(&str, &str)] = &[("Args", "the arguments of a verb, beside the verb")];

/// Names of files that occur on several layers, and the one thing that each means.
const SHARED_FILES: &[(&str, &str)] = &[("error", "the error type of a module")];

/// Names that are still shared, and are being told apart.
const STILL_SHARED_TYPES: &[&str] = &[
    "About",
    "Act",
    "Agents",
    "AgentsMay",
    "Answer",
    "Asked",
    "Base",
    "Bridge",
    "Call",
    "Candidate",
    "CardFilter",
    "CardKind",
    "CardStatus",
    "Chain",
    "Change",
    "Client",
    "Clock",
    "Counts",
    "Cut",
    "Deep",
    "Document",
    "Draft",
    "Entry",
    "Evidence",
    "Failure",
    "Fate",
    "Figures",
    "File",
    "Focus",
    "Form",
    "Found",
    "Gate",
    "Given",
    "Guard",
    "Held",
    "Inbox",
    "Input",
    "Item",
    "Kept",
    "Known",
    "Ledger",
    "Line",
    "Link",
    "Memory",
    "Models",
    "Options",
    "Order",
    "Origin",
    "Page",
    "Pair",
    "Peers",
    "Place",
    "Plan",
    "Prompt",
    "Proposal",
    "Provenance",
    "Question",
    "Reader",
    "Reference",
    "Refused",
    "Relation",
    "Reply",
    "Role",
    "Row",
    "Rules",
    "Said",
    "Screen",
    "Session",
    "Settings",
    "Settlement",
    "Skipped",
    "Stage",
    "Standing",
    "State",
    "Status",
    "Step",
    "SyncMode",
    "Ticket",
    "Tool",
    "Unread",
    "Verdict",
    "Weights",
    "Which",
    "Window",
    "Words",
    "Write",
    "Written",
];
const STILL_SHARED_FILES: &[&str] = &[
    "act",
    "acts",
    "agents",
    "audit",
    "background",
    "backup",
    "bundle",
    "calibrate",
    "card",
    "cards",
    "chain",
    "change",
    "chat",
    "check",
    "chunk",
    "chunks",
    "claim",
    "claims",
    "conflicts",
    "deep",
    "depend",
    "diff",
    "documents",
    "drift",
    "effect",
    "events",
    "exchange",
    "export",
    "fake",
    "file",
    "files",
    "filter",
    "fold",
    "follow",
    "form",
    "found",
    "frame",
    "gate",
    "history",
    "host",
    "http",
    "import",
    "inbox",
    "index",
    "ingest",
    "injected",
    "input",
    "invite",
    "item",
    "join",
    "jsonl",
    "lean",
    "ledger",
    "link",
    "list",
    "live",
    "log",
    "lookup",
    "many",
    "marks",
    "memory",
    "mode",
    "models",
    "norms",
    "notices",
    "page",
    "pair",
    "palette",
    "past",
    "peers",
    "place",
    "process",
    "quarantine",
    "reads",
    "recall",
    "reconcile",
    "record",
    "redact",
    "reembed",
    "reinstate",
    "remember",
    "report",
    "resolve",
    "retract",
    "review",
    "reviewed",
    "rows",
    "rules",
    "scope",
    "scopes",
    "session",
    "snapshot",
    "stance",
    "state",
    "status",
    "strangers",
    "supersede",
    "table",
    "teams",
    "text",
    "tour",
    "undo",
    "verbs",
    "verdict",
    "verify",
    "when",
    "why",
    "wire",
    "writes",
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
            if matches!(text(next), "struct" | "enum" | "trait" | "type" | "union") {
                found.push(text(next + 1));
            }
        }
        at += 1;
    }
    found
}

/// The files of the program that are no tests.
fn sources() -> BTreeMap<String, String> {
    let is_test = |file: &str| file.ends_with("/tests.rs") || file.contains("/tests/");
    let files: BTreeMap<_, _> = rust_files("src").into_iter().filter(|(file, _)| !is_test(file)).collect();
    assert!(files.len() > 20, "only {} files were found", files.len());
    files
}

/// What stands in several files, without what a list permits.
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
    sources().into_iter().flat_map(of).collect()
}

fn files() -> Vec<(String, String)> {
    let stem = |file: &str| file.rsplit('/').next().unwrap_or_default().trim_end_matches(".rs").to_owned();
    let all = sources().into_keys().map(|file| (stem(&file), file));
    all.filter(|(stem, _)| stem != "mod").collect()
}

#[test]
fn public_types_are_found_and_those_of_tests_are_not() {
    let source = r#"
        pub struct A; pub(crate) enum B {} pub(in crate::x) trait C {} pub type D = A; pub union E { f: u8 }
        struct F; pub fn g() {} const H: &str = "pub struct I;"; // pub struct J;
        impl C for A { type K = u8; }
        #[cfg(test)]
        mod tests { pub struct L; }
    "#;
    assert_eq!(public_types(source), ["A", "B", "C", "D", "E"]);
}

#[test]
fn no_two_public_types_share_a_name_without_a_reason() {
    let all = types();
    let permitted = [permitted(SHARED_TYPES, &all), STILL_SHARED_TYPES.to_vec()].concat();
    let doubles = doubles(all, &permitted);
    assert!(doubles.is_empty(), "name them by what each is:\n{}", doubles.join("\n"));
}

#[test]
fn no_two_files_share_a_name_with_two_meanings() {
    let all = files();
    let permitted = [permitted(SHARED_FILES, &all), STILL_SHARED_FILES.to_vec()].concat();
    let doubles = doubles(all, &permitted);
    assert!(doubles.is_empty(), "name them by what each is:\n{}", doubles.join("\n"));
}

#[test]
fn what_is_shared_stands_in_one_list_once() {
    for (list, still) in [(SHARED_TYPES, STILL_SHARED_TYPES), (SHARED_FILES, STILL_SHARED_FILES)] {
        let names: BTreeSet<&str> = list.iter().map(|(name, _)| *name).chain(still.iter().copied()).collect();
        assert_eq!(names.len(), list.len() + still.len());
    }
}
