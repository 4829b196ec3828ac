//! Two tables, both called `FAULTS.md`, name a test for each thing that may go wrong: each of them is there.

use std::{fs, path::Path};

/// The tests that the tables name.
fn named() -> Vec<&'static str> {
    let tables = concat!(include_str!("FAULTS.md"), include_str!("../hostile/FAULTS.md"));
    tables.split('`').skip(1).step_by(2).filter(|name| name.matches("::").count() > 1).collect()
}

/// Whether a test of this name is in the file of its module.
fn stands(name: &str) -> bool {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (folder, path) = match name.strip_prefix("it::") {
        Some(path) => ("tests/it", path),
        None => ("src", name),
    };
    let Some((module, test)) = path.rsplit_once("::") else { return false };
    // A module of tests may stand in the file that it tests.
    let modules = [Some(module), module.strip_suffix("::tests")];
    modules.into_iter().flatten().any(|module| {
        let stem = module.replace("::", "/");
        [format!("{folder}/{stem}.rs"), format!("{folder}/{stem}/mod.rs")]
            .iter()
            .any(|file| fs::read_to_string(root.join(file)).is_ok_and(|source| source.contains(&format!("fn {test}("))))
    })
}

#[test]
fn every_test_that_the_tables_of_faults_name_is_there() {
    let named = named();
    assert!(named.len() > 70, "{} names were read", named.len());
    let missing: Vec<_> = named.into_iter().filter(|name| !stands(name)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(!stands("it::sync::named::no_such_test"));
}
