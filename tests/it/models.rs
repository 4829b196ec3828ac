//! `ergo models`: fetching from failing servers, importing, choosing, and the effects on the daemon.

mod choose;
mod fetch;
mod import;
mod server;

use std::{fs, path::PathBuf};

use ergo::infer::{ModelRole, catalogue};
use serde_json::Value;

use crate::support::TestHome;

/// A model file for tests. Its bytes are no valid model, since fetching checks only the hash.
pub(crate) fn bytes(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

/// A home whose own catalogue has one language model, `tiny`, with these bytes, at this address.
fn home_with(file: &[u8], address: &str, settings: &str) -> TestHome {
    let home = TestHome::with_config("");
    let catalogue = home.path().join("catalogue.toml");
    let hash = sha256(file);
    let text = format!(
        "[[model]]\nname = \"tiny\"\nrole = \"llm\"\nfile = \"tiny.gguf\"\nbytes = {}\nsha256 = \"{hash}\"\n\
         licence = \"MIT\"\npublisher = \"nobody\"\npage = \"{address}/about\"\nurl = \"{address}/tiny.gguf\"\n\
         about = \"for tests\"\nquality = \"none\"\ntime = \"none\"\nmeasured = \"never\"\n",
        file.len()
    );
    fs::write(&catalogue, text).unwrap();
    let config = format!("[daemon]\ntcp = false\n[models]\ncatalogue = {:?}\n{settings}", catalogue.display());
    fs::write(home.paths().config, config).unwrap();
    home
}

fn sha256(bytes: &[u8]) -> String {
    ergo::infer::catalogue::digest::of_bytes(bytes).to_string()
}

fn target(home: &TestHome) -> PathBuf {
    home.paths().models().join("tiny.gguf")
}

fn part(home: &TestHome) -> PathBuf {
    home.paths().models().join("tiny.gguf.part")
}

/// The files that are left in the folder of models.
fn left(home: &TestHome) -> Vec<String> {
    let entries = fs::read_dir(home.paths().models()).into_iter().flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.starts_with("tiny")).collect();
    names.sort();
    names
}

/// A model, from `ergo models list --json`.
fn listed(home: &TestHome, name: &str) -> Value {
    let value = home.run(["models", "list", "--json"]).ok().json();
    let models = value["models"].as_array().unwrap();
    models.iter().find(|model| model["name"] == name).unwrap_or_else(|| panic!("{name} is not listed: {value}")).clone()
}

/// The model that serves a role, from `ergo models list --json`.
fn serves(home: &TestHome, role: &str) -> Value {
    let value = home.run(["models", "list", "--json"]).ok().json();
    value["roles"].as_array().unwrap().iter().find(|item| item["role"] == role).unwrap().clone()
}

/// The built-in embedder as a GGUF file.
fn embedder_file() -> Vec<u8> {
    catalogue::embedded(ModelRole::Embedder).unwrap().unpack().unwrap()
}
