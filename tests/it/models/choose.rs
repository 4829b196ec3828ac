//! `ergo models use`, `remove`, `verify`, and what `ergo doctor` says.

use std::fs;

use super::{
    bytes, home_with, listed,
    server::{Does, Server},
    serves, target,
};
use crate::support::TestHome;

/// A home in which `tiny` is installed and serves, and its server.
fn installed() -> (Vec<u8>, Server, TestHome) {
    let file = bytes(5_000);
    let server = Server::new(&file, []);
    let home = home_with(&file, &server.address, "");
    fs::write(home.work().join("tiny.bin"), &file).unwrap();
    home.run(["models", "import", "tiny.bin", "--use", "--quiet"]).ok();
    (file, server, home)
}

#[test]
fn a_model_serves_until_another_is_chosen_and_only_then_can_be_removed() {
    let (_, _server, home) = installed();
    assert_eq!(
        (serves(&home, "llm")["model"].as_str(), serves(&home, "llm")["by"].as_str()),
        (Some("tiny"), Some("machine"))
    );
    let refused = home.run(["models", "remove", "tiny"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("in use as llm") && refused.stderr.contains("ergo models use llm default"),
        "{refused:?}"
    );
    let wrong = home.run(["models", "use", "embedder", "tiny"]);
    assert!(wrong.stderr.contains("a model for llm"), "{wrong:?}");
    home.run(["models", "use", "normaliser", "default"]).ok();
    assert_eq!(serves(&home, "llm")["model"], serde_json::Value::Null);
    home.run(["models", "use", "llm", "tiny"]).ok();
    home.run(["models", "use", "llm", "none"]).ok();
    home.run(["models", "remove", "tiny"]).ok();
    assert!(!target(&home).exists());
    assert_eq!(listed(&home, "tiny")["state"], "available");
    let inside = home.run(["models", "remove", "minilm-l6"]);
    assert!(inside.stderr.contains("built in"), "{inside:?}");
    let nothing = home.run(["models", "remove", "tinny"]);
    assert_eq!(nothing.code, Some(2));
    let unpulled = home.run(["models", "use", "llm", "tiny"]);
    assert!(unpulled.stderr.contains("ergo models pull tiny"), "{unpulled:?}");
}

#[test]
fn settings_go_before_what_is_chosen_here() {
    let (file, server, home) = installed();
    let config = fs::read_to_string(home.paths().config).unwrap();
    fs::write(home.paths().config, format!("{config}llm = \"none\"\nembedder = \"tiny\"\n")).unwrap();
    assert_eq!(serves(&home, "llm")["by"], "settings");
    assert_eq!(serves(&home, "llm")["model"], serde_json::Value::Null);
    let embedder = serves(&home, "embedder");
    assert!(embedder["problem"].as_str().unwrap().contains("a model for llm"), "{embedder}");
    assert_eq!(embedder["model"], "minilm-l6");
    let refused = home.run(["models", "use", "llm", "tiny"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("config.toml sets none for llm"), "{refused:?}");
    drop((file, server));
}

#[test]
fn a_damaged_or_lost_file_is_reported_and_can_be_fetched_again() {
    let (file, server, home) = installed();
    assert!(home.run(["models", "verify"]).ok().stdout.contains("ok"));
    let doctor = home.run(["doctor"]).ok();
    assert!(
        doctor.stdout.contains("embedder minilm-l6 (built in)") && doctor.stdout.contains("llm tiny"),
        "{doctor:?}"
    );
    let mut other = file.clone();
    other[0] ^= 1;
    fs::write(target(&home), other).unwrap();
    let verify = home.run(["models", "verify", "tiny"]);
    assert_eq!(verify.code, Some(4));
    assert!(verify.stdout.contains("damaged") && verify.stdout.contains("ergo models pull tiny"), "{verify:?}");
    assert_eq!(serves(&home, "llm")["model"], serde_json::Value::Null, "it falls back to the default: nothing");
    let doctor = home.run(["doctor"]).ok();
    assert!(doctor.stdout.contains("tiny cannot be used as llm") && doctor.stdout.contains("damaged"), "{doctor:?}");
    server.then([Does::Serve]);
    home.run(["models", "pull", "tiny"]).ok();
    assert_eq!(serves(&home, "llm")["model"], "tiny");
    fs::remove_file(target(&home)).unwrap();
    let list = home.run(["models", "list"]).ok();
    assert!(list.stdout.contains("its file is missing") && list.stdout.contains("Note:"), "{list:?}");
    fs::write(home.paths().models().join("models.json"), "{").unwrap();
    let broken = home.run(["models", "list"]);
    assert!(broken.code == Some(4) && broken.stderr.contains("models.json is damaged"), "{broken:?}");
    assert!(home.run(["doctor"]).ok().stdout.contains("models.json is damaged"));
}
