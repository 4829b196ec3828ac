//! Checks that no two public types share a name, unless a list here gives the reason.

use std::collections::BTreeMap;

use crate::arch::{rust_files, scan};

/// Names that several public types have, with the reason.
const SHARED_TYPES: &[(&str, &str)] = &[("Args", "the arguments of a verb, beside the verb")];

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

/// The names that are declared in several places, without those that a list permits.
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
