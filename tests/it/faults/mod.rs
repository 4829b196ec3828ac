//! Syncing real daemons under faults of their machines: kill -9, a copied disk, a full disk.

mod clone;
mod crash;
mod disk;
mod steps;
mod three;

use std::{fs, path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use ergo::{guard::StructuralPairCheck, store::Store};

use crate::support::laptop::{Laptop, write_facts};

/// The store of a laptop whose daemon does not run.
fn store(laptop: &Laptop) -> Store {
    let text = fs::read_to_string(laptop.home.paths().device_key()).unwrap();
    let mut seed = [0; 32];
    hex::decode_to_slice(text.trim(), &mut seed).unwrap();
    Store::open(&laptop.home.paths().store(), SigningKey::from_bytes(&seed), Arc::new(StructuralPairCheck)).unwrap()
}

/// Asserts that the store's file is sound.
fn assert_sound(laptop: &Laptop) {
    let report = store(laptop).check().unwrap();
    assert!(report.problems.is_empty(), "{}: {report:?}", laptop.who);
}

/// Asserts that `ergo doctor` finds no problem except the missing model.
fn assert_well(laptop: &Laptop) {
    let report = laptop.run(&["doctor", "--json"]).json();
    let is_wrong = |finding: &&serde_json::Value| finding["health"] == "problem" && finding["what"] != "vectors";
    let wrong: Vec<_> = report["findings"].as_array().unwrap().iter().filter(is_wrong).collect();
    assert!(wrong.is_empty() && report.to_string().contains("all signatures checked"), "{}: {report}", laptop.who);
}

/// Facts in `acme/api`, written past the guard in few transactions.
fn facts(laptop: &Laptop, count: usize) {
    facts_of(laptop, "host", count);
}

/// Facts of hosts whose names begin alike.
fn facts_of(laptop: &Laptop, names: &str, count: usize) {
    write_facts(&mut store(laptop), 1_790_000_000_000, laptop.who, names, count);
}

/// Copies a folder with everything in it but sockets.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (kind, to) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &to);
        } else if kind.is_file() {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}
