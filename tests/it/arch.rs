//! The structure of the code as ARCHITECTURE.md states it: which modules may import which, how long files may be, and
//! what pure modules must not use.

pub(crate) mod scan;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

/// The modules that each top-level module may import. A module that is not listed may import none.
const EDGES: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("files", &[]),
    ("steps", &[]),
    ("config", &["files", "domain"]),
    ("guard", &["domain"]),
    ("recall", &["domain"]),
    ("story", &["guard", "domain"]),
    ("worker", &[]),
    ("infer", &["worker", "files", "domain"]),
    ("store", &["files", "steps", "domain"]),
    ("notes", &["domain"]),
    ("api", &["notes", "domain"]),
    ("interchange", &["api", "domain"]),
    ("client", &["api", "config", "files", "domain"]),
    ("engine", &["guard", "notes", "story", "recall", "infer", "store", "api", "domain"]),
    ("sync", &["engine", "store", "worker", "steps", "api", "domain"]),
    ("daemon", &["engine", "infer", "interchange", "notes", "sync", "api", "config", "files", "domain"]),
    ("mcp", &["client", "api", "config", "files", "domain"]),
    ("setup", &["files", "domain"]),
    ("tui", &["client", "setup", "api", "config", "files", "domain"]),
    ("cli", &["client", "interchange", "setup", "api", "config", "files", "domain"]),
];

/// Further imports that single files may have: file, module, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("src/cli/tui.rs", "tui", "the verb that opens the app"),
    ("src/cli/app_capture.rs", "tui", "draws the app to a file, for the README and for tests"),
    ("src/cli/mcp.rs", "mcp", "the verb that is the bridge"),
    ("src/cli/daemon.rs", "mcp", "the daemon serves the bridge over HTTP too; neither knows the other"),
    ("src/cli/args.rs", "store", "`ergo --version` names the schema"),
    ("src/cli/man.rs", "tui", "the app's manual page has its keys"),
    (
        "src/cli/demo/private_daemon.rs",
        "daemon",
        "the demonstration's daemon lives in its own process, and ends with it",
    ),
    ("src/cli/daemon.rs", "daemon", "the verb that is the daemon"),
    ("src/daemon/notes/tests.rs", "guard", "tests with a gate that has every pair in doubt"),
    ("src/daemon/teams/join_requests.rs", "store", "an invitation, as it is kept"),
    ("src/daemon/teams/invites.rs", "store", "the same"),
    ("src/daemon/teams/status.rs", "store", "what is kept of teams and peers, put into one answer"),
    ("src/cli/worker.rs", "infer", "the verb that is the worker"),
    ("src/cli/worker.rs", "sync", "the verb that is the worker"),
    ("src/cli/models/mod.rs", "infer", "the verb that works on model files, with and without a daemon"),
    ("src/cli/models/accept.rs", "infer", "a part of it: a file is probed before it is accepted"),
    ("src/cli/models/bench.rs", "infer", "a part of it: measures without a daemon"),
    ("src/cli/models/choose.rs", "infer", "a part of it"),
    ("src/cli/models/health.rs", "infer", "a part of it, for `ergo doctor`"),
    ("src/cli/models/import.rs", "infer", "a part of it"),
    ("src/cli/models/list.rs", "infer", "a part of it"),
    ("src/cli/models/pull.rs", "infer", "a part of it"),
    ("src/cli/models/verify.rs", "infer", "a part of it"),
    ("src/cli/compact_log.rs", "store", "compacts the file itself, which no daemon has open"),
    ("src/cli/compact_log.rs", "guard", "the store is opened with the guard's comparison"),
    ("src/cli/doctor/leftovers.rs", "store", "names the folder of a dry run beside the store"),
    ("src/cli/doctor/examine.rs", "store", "examines the file itself, also where no daemon can open it"),
    ("src/cli/doctor/examine.rs", "guard", "the store is opened with the guard's comparison"),
    (
        "src/cli/doctor/examine.rs",
        "engine",
        "stories are read anew and compared with their cards, also without a daemon",
    ),
];

/// The most lines that a file has, unless [`LONG_FILES`] says otherwise.
const MAX_LINES: usize = 500;

/// Files that may be longer: file, the most lines, reason.
const LONG_FILES: &[(&str, usize, &str)] = &[];

/// Modules that do no I/O and read no clock, which each enforces by lints.
const PURE: &[&str] = &[
    "src/core.rs",
    "src/interchange/mod.rs",
    "src/sync/bundle/mod.rs",
    "src/sync/preflight/mod.rs",
    "src/sync/pairing/proof.rs",
    "src/sync/ticket.rs",
    "src/sync/verification.rs",
    "src/tui/update/mod.rs",
    "src/tui/view/mod.rs",
];
const PURITY: [&str; 3] = ["#![deny(", "clippy::disallowed_methods", "clippy::disallowed_types"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file under a folder of the package, by its path in the package, with its text.
pub(crate) fn rust_files(folder: &str) -> BTreeMap<String, String> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![root().join(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root()).unwrap().to_string_lossy().into_owned();
                files.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    files
}

/// The module that a file is, as segments: `src/store/log.rs` is `[store, log]`.
fn module_of(file: &str, base: &str) -> Vec<String> {
    let path = file.strip_prefix(base).unwrap_or(file).trim_start_matches('/').trim_end_matches(".rs");
    let mut segments: Vec<String> = path.split('/').map(str::to_owned).collect();
    if segments.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib" | "main" | "core")) {
        segments.pop();
    }
    segments
}

/// The forbidden imports of a file, as messages.
fn forbidden_edges(file: &str, source: &str) -> Vec<String> {
    let module = module_of(file, "src");
    let Some(layer) = module.first() else { return Vec::new() };
    let Some((_, allowed)) = EDGES.iter().find(|(name, _)| name == layer) else {
        return vec![format!("{file}: the table of edges does not know `{layer}`")];
    };
    let excepted = |target: &str| EXCEPTIONS.iter().any(|(from, to, _)| *from == file && *to == target);
    scan::mentions(&module, source)
        .paths
        .into_iter()
        .filter_map(|(path, line)| path.first().map(|target| (target.clone(), line)))
        .filter(|(target, _)| target != layer && !allowed.contains(&target.as_str()) && !excepted(target))
        .map(|(target, line)| format!("{file}:{line}: `{layer}` may not name `{target}`"))
        .collect()
}

#[test]
fn the_scanner_sees_every_way_to_name_a_module() {
    let source = r##"
        use crate::{domain::{Scope, id::EventId as Id}, daemon};
        // use crate::commented::Out;
        /* crate::also /* nested */ crate::out */
        const TEXT: &str = "crate::text"; const RAW: &str = r#"crate::"raw"#; const C: char = '"';
        pub(crate) fn f<'a>(x: &'a str) -> crate::tui::App { crate::store::open::<u8>(x); super::sibling::g() }
        mod tests { use super::*; use super::super::engine; fn h() { self::inner() } }
        mod child;
    "##;
    let found = scan::mentions(&["guard".into(), "judge".into()], source);
    let paths: BTreeSet<String> = found.paths.iter().map(|(path, _)| path.join("::")).collect();
    let expected = [
        "daemon",
        "domain::Scope",
        "domain::id::EventId",
        "guard::engine",
        "guard::judge::*",
        "guard::judge::tests::inner",
        "guard::sibling::g",
        "store::open",
        "tui::App",
    ];
    assert_eq!(paths, expected.map(str::to_owned).into());
    assert_eq!(found.children, [["guard", "judge", "child"].map(str::to_owned)]);
    assert_eq!(found.paths.iter().find(|(path, _)| path[0] == "tui").unwrap().1, 6);
}

#[test]
fn a_forbidden_edge_is_named_with_its_line() {
    let source = "//! Made up.\nuse crate::domain::Scope;\nuse super::daemon::Bus;\n";
    assert_eq!(
        forbidden_edges("src/guard/mod.rs", source),
        ["src/guard/mod.rs:3: `guard` may not name `daemon`"],
        "`super` in a top-level module is the crate's root"
    );
    assert_eq!(forbidden_edges("src/guard/rules.rs", "use crate::*;").len(), 1);
    assert_eq!(forbidden_edges("src/novel/mod.rs", "").len(), 1, "a new module must join the table");
}

#[test]
fn imports_follow_the_table() {
    let files = rust_files("src");
    assert!(files.len() > 20, "only {} files were found", files.len());
    let problems: Vec<String> = files.iter().flat_map(|(file, source)| forbidden_edges(file, source)).collect();
    assert!(problems.is_empty(), "\n{}\nARCHITECTURE.md says which way imports go", problems.join("\n"));
}

#[test]
fn every_exception_is_in_use() {
    let files = rust_files("src");
    for (file, target, why) in EXCEPTIONS {
        let source = files.get(*file).unwrap_or_else(|| panic!("EXCEPTIONS names {file}, which does not exist"));
        let paths = scan::mentions(&module_of(file, "src"), source).paths;
        assert!(!why.is_empty());
        assert!(
            paths.iter().any(|(path, _)| path[0] == *target),
            "{file} no longer names {target}: drop the exception"
        );
    }
}

#[test]
fn files_stay_small() {
    let files = [rust_files("src"), rust_files("tests"), rust_files("bench")].into_iter().flatten();
    let lengths: BTreeMap<String, usize> = files.map(|(file, source)| (file, source.lines().count())).collect();
    assert!(lengths.len() > 20, "only {} files were found", lengths.len());
    let most = |file: &str| LONG_FILES.iter().find(|(long, ..)| *long == file).map_or(MAX_LINES, |(_, most, _)| *most);
    let long: Vec<String> = lengths
        .iter()
        .filter(|(file, length)| **length > most(file))
        .map(|(file, length)| format!("{file} has {length} lines; at most {}", most(file)))
        .collect();
    assert!(long.is_empty(), "divide by what the parts do:\n{}", long.join("\n"));
    for (file, _, why) in LONG_FILES {
        let length = lengths.get(*file).copied().unwrap_or(0);
        assert!(!why.is_empty() && length > MAX_LINES, "{file} has {length} lines: it needs no place in LONG_FILES");
    }
}

#[test]
fn no_file_is_forgotten() {
    for (folder, roots) in
        [("src", &["src/lib.rs", "src/main.rs", "src/core.rs"][..]), ("tests/it", &["tests/it/main.rs"])]
    {
        let files = rust_files(folder);
        let (mut reached, mut next) = (BTreeSet::new(), roots.iter().map(PathBuf::from).collect::<Vec<_>>());
        while let Some(file) = next.pop() {
            let name = file.to_string_lossy().into_owned();
            let source = files.get(&name).unwrap_or_else(|| panic!("{name} is declared but not there"));
            for child in scan::mentions(&module_of(&name, folder), source).children {
                let stem = format!("{folder}/{}", child.join("/"));
                let (flat, nested) = (format!("{stem}.rs"), format!("{stem}/mod.rs"));
                next.push(PathBuf::from(if files.contains_key(&flat) { flat } else { nested }));
            }
            reached.insert(name);
        }
        let forgotten: Vec<_> = files.keys().filter(|file| !reached.contains(*file)).collect();
        assert!(forgotten.is_empty(), "no `mod` declares {forgotten:?}");
    }
}

#[test]
fn pure_modules_say_so_to_the_compiler() {
    for file in PURE {
        let source = std::fs::read_to_string(root().join(file)).unwrap();
        let says = |line: &str| PURITY.iter().all(|part| line.contains(part));
        assert!(source.lines().any(says), "{file} lacks {}", PURITY.join(" "));
    }
}

/// The only code that may read automerge's bytes, and the part of the preflight check that inspects its changes.
const NAMING_AUTOMERGE: &[&str] = &["src/sync/document/", "src/sync/preflight/inspect.rs"];

#[test]
fn automerge_is_named_where_it_is_fenced_in() {
    let names = |source: &str| scan::tokens(source).iter().any(|token| token.text == "automerge");
    assert!(names("use automerge::Change;") && !names("// automerge\nconst X: &str = \"automerge\";"));
    let files = rust_files("src");
    let naming: Vec<&String> = files.iter().filter(|(_, source)| names(source)).map(|(file, _)| file).collect();
    for place in NAMING_AUTOMERGE {
        assert!(naming.iter().any(|file| file.starts_with(place)), "{place} no longer names it");
    }
    let outside = |file: &&&String| !NAMING_AUTOMERGE.iter().any(|place| file.starts_with(place));
    let stray: Vec<_> = naming.iter().filter(outside).collect();
    assert!(stray.is_empty(), "{stray:?} name automerge");
}

#[test]
fn the_store_alone_names_the_database() {
    let names = |source: &str| scan::tokens(source).iter().any(|token| token.text == "rusqlite");
    let files = rust_files("src");
    let naming: Vec<&String> = files.iter().filter(|(_, source)| names(source)).map(|(file, _)| file).collect();
    assert!(!naming.is_empty());
    // Their tests make SQLite's errors.
    let with_errors = ["src/engine/error.rs", "src/cli/doctor/examine.rs"];
    let known = |file: &str| file.starts_with("src/store/") || with_errors.contains(&file);
    let stray: Vec<_> = naming.iter().filter(|file| !known(file)).collect();
    assert!(stray.is_empty(), "{stray:?} name rusqlite");
}

/// Files of the command line that print unsanitised bytes: file, reason.
const RAW: &[(&str, &str)] = &[
    ("src/cli/completions.rs", "a script, generated"),
    ("src/cli/export.rs", "an export, for a file or a pipe"),
    ("src/cli/man.rs", "a manual page, generated"),
    ("src/cli/sync/export.rs", "a bundle, for a file or a pipe"),
];

#[test]
fn few_files_write_past_the_type_that_sanitises() {
    let writes = |source: &str| {
        let tokens = scan::tokens(source);
        tokens.windows(3).any(|three| [three[0].text, three[1].text, three[2].text] == [".", "raw", "("])
    };
    assert!(writes("cx.ui.raw(&bytes);") && !writes("// ui.raw(x)\ncx.ui.line(\"x\");"));
    let files = rust_files("src/cli");
    let found: Vec<&str> = files
        .iter()
        .filter(|(file, source)| *file != "src/cli/ui.rs" && writes(source))
        .map(|(file, _)| file.as_str())
        .collect();
    let known: Vec<&str> = RAW.iter().map(|(file, _)| *file).collect();
    assert_eq!(found, known, "print `text!(…)` instead; what must be exact goes into the table with its reason");
}

/// The lints that apply everywhere outside tests.
const LAWS: &[&str] = &[
    "unwrap_used",
    "expect_used",
    "panic",
    "print_stdout",
    "print_stderr",
    "unsafe_code",
    "disallowed_methods",
    "disallowed_types",
];

/// Places where one of these lints is disabled on purpose: file, lint, reason.
const LOOSENED: &[(&str, &str, &str)] = &[
    ("src/tui/runtime/mod.rs", "panic", "the test of a panicking app asks for a panic"),
    (
        "src/domain/asset.rs",
        "panic",
        "with an invalid built-in file the program is broken, which a test of each file finds",
    ),
    (
        "src/store/vectors/vector_index.rs",
        "unsafe_code",
        "sqlite-vec is C, and is registered by the address of a function",
    ),
];

/// Finds code that disables the lints in Cargo.toml, or that they cannot detect.
fn loosened(file: &str, source: &str) -> Vec<String> {
    let tokens = scan::tokens(source);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text);
    let mut problems = Vec::new();
    // The one file in which it is allowed.
    let mut unsafe_left = usize::from(LOOSENED.iter().any(|(at, what, _)| *at == file && *what == "unsafe_code"));
    for (at, token) in tokens.iter().enumerate() {
        if token.text == "unsafe" {
            match unsafe_left.checked_sub(1) {
                Some(left) => unsafe_left = left,
                None => problems.push(format!("{file}:{}: `unsafe`", token.line)),
            }
        }
        if matches!(token.text, "allow" | "expect") && text(at + 1) == "(" && text(at.wrapping_sub(1)) == "[" {
            let end = (at..tokens.len()).find(|end| text(*end) == "]").unwrap_or(tokens.len());
            for lint in (at..end).map(text).filter(|lint| {
                let vocabulary = ["src/domain/", "src/api/"].iter().any(|folder| file.starts_with(folder));
                let law = LAWS.contains(lint) || (*lint == "missing_docs" && vocabulary);
                law && !LOOSENED.iter().any(|(at, what, _)| *at == file && what == lint)
            }) {
                problems.push(format!("{file}:{}: switches off `{lint}`", token.line));
            }
        }
    }
    problems
}

#[test]
fn no_file_switches_off_a_law() {
    assert_eq!(loosened("made_up.rs", "#[allow(clippy::unwrap_used)]\nfn f() { unsafe { g() } }").len(), 2);
    assert_eq!(loosened("made_up.rs", "// unsafe\n#[allow(dead_code)] fn f() {}"), Vec::<String>::new());
    let files = [rust_files("src"), rust_files("bench/src")].into_iter().flatten();
    let problems: Vec<String> = files.flat_map(|(file, source)| loosened(&file, &source)).collect();
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
