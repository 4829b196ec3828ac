//! `ergo models import`: what is a model, and what is not.

use std::fs;

use ergo::api::WriteOutcome;

use super::{bytes, embedder_file, home_with, listed, serves, sha256};
use crate::support::{
    TestHome, block_on, decision,
    gguf::{write_tiny_llm, write_tiny_nli},
};

#[test]
fn garbage_is_refused_in_words() {
    let home = TestHome::new();
    let file = home.work().join("model.gguf");
    let import = |content: &[u8]| {
        fs::write(&file, content).unwrap();
        let output = home.run(["models", "import", "model.gguf"]);
        assert_eq!(output.code, Some(2), "{output:?}");
        output.stderr
    };
    let model = embedder_file();
    assert!(import(b"").contains("not a GGUF file"));
    let page = import(b"<!doctype html><title>Sign in</title>");
    assert!(page.contains("not a GGUF file") && page.contains("not an HTML page"), "{page}");
    assert!(import(&bytes(100_000)).contains("not a GGUF file"));
    assert!(import(&model[..50_000]).contains("part of it is missing"));
    let missing = home.run(["models", "import", "nowhere.gguf"]);
    assert_eq!(missing.code, Some(2));
    let folder = home.run(["models", "import", "."]);
    assert!(folder.stderr.contains("folder"), "{folder:?}");
    fs::write(&file, &model).unwrap();
    let role = home.run(["models", "import", "model.gguf", "--role", "nli"]);
    assert_eq!(role.code, Some(2));
    assert!(role.stderr.contains("a model for embedder, not for nli"), "{role:?}");
    let installed = fs::read_dir(home.paths().models()).into_iter().flatten().count();
    assert_eq!(installed, 0, "nothing of it was kept");
}

#[test]
fn a_file_of_the_catalogue_is_recognised_by_its_hash() {
    let file = bytes(20_000);
    let home = home_with(&file, "http://127.0.0.1:9", "offline = true\n");
    fs::write(home.work().join("whatever.bin"), &file).unwrap();
    fs::create_dir_all(home.paths().models()).unwrap();
    let killed = home.paths().models().join("tiny.gguf.partial-0123456789ab");
    fs::write(&killed, &file[..50]).unwrap();
    let output = home.run(["models", "import", "whatever.bin", "--use"]).ok();
    assert!(!killed.exists(), "what an import that was killed left behind goes");
    assert!(output.stdout.contains("Installed tiny as llm"), "{output:?}");
    let model = listed(&home, "tiny");
    assert_eq!((model["state"].as_str(), model["licence"].as_str()), (Some("in_use"), Some("MIT")));
    assert_eq!(model["sha256"], sha256(&file));
    let renamed = home.run(["models", "import", "whatever.bin", "--name", "mine"]);
    assert!(
        renamed.code == Some(2) && renamed.stderr.contains("the file is the catalogue's model tiny"),
        "{renamed:?}"
    );
    let again = home.run(["models", "import", "whatever.bin", "--json"]).ok();
    assert_eq!(again.json()["result"], "already_installed");
    fs::write(home.work().join("inside.gguf"), embedder_file()).unwrap();
    let inside = home.run(["models", "import", "inside.gguf", "--json"]).ok();
    assert_eq!(inside.json()["result"], "embedded");
    assert_eq!(serde_json::json!(fs::read_dir(home.paths().models()).unwrap().count()), 3, "model, record, lock");
}

/// The built-in embedder with a byte behind its end: the same model, with a hash that stands in no catalogue.
fn own_embedder(home: &TestHome) -> Vec<u8> {
    let mut model = embedder_file();
    model.push(0);
    fs::write(home.work().join("Own Embedder.gguf"), &model).unwrap();
    model
}

#[test]
fn an_own_model_is_loaded_and_asked_before_it_is_accepted() {
    let home = TestHome::new();
    let model = own_embedder(&home);
    let output = home.run(["models", "import", "Own Embedder.gguf"]).ok();
    assert!(output.stderr.contains("384 dimensions"), "{output:?}");
    let own = listed(&home, "own-embedder");
    assert_eq!((own["state"].as_str(), own["licence"].as_str()), (Some("installed"), Some("apache-2.0")));
    write_tiny_llm(&home.work().join("writer.gguf"), 7);
    let output = home.run(["models", "import", "writer.gguf", "--name", "tiny-writer", "--use"]).ok();
    assert!(output.stderr.contains("answered {\"limit\":"), "{output:?}");
    assert_eq!(serves(&home, "llm")["model"], "tiny-writer");
    let taken = home.run(["models", "import", "writer.gguf", "--name", "own-embedder"]);
    assert!(taken.code == Some(2) && taken.stderr.contains("another model is named own-embedder"), "{taken:?}");
    write_tiny_nli(&home.work().join("chance.gguf"));
    let chance = home.run(["models", "import", "chance.gguf"]);
    assert!(chance.code == Some(2) && chance.stderr.contains("Its labels must mean"), "{chance:?}");
    // The header is whole, and the numbers behind it are not.
    fs::write(home.work().join("cut.gguf"), &model[..model.len() / 2]).unwrap();
    let cut = home.run(["models", "import", "cut.gguf"]);
    assert_eq!(cut.code, Some(2), "{cut:?}");
    assert!(cut.stderr.contains("is not accepted as embedder"), "{cut:?}");
    assert!(!home.paths().models().join("cut.gguf").exists());
}

#[test]
fn a_running_daemon_takes_up_what_is_chosen_and_what_is_lost() {
    let home = TestHome::new();
    own_embedder(&home);
    // The guard asks the embedder where there is a cross-encoder that will be asked next.
    let judge = home.work().join("judge.gguf");
    write_tiny_nli(&judge);
    let settings = format!("[daemon]\ntcp = false\n[models]\nnli = {:?}\n", judge.display());
    fs::write(home.paths().config, settings).unwrap();
    let daemon = home.daemon();
    let embedder = || {
        let models = block_on(home.client().models()).unwrap();
        let role = models.roles.into_iter().find(|role| role.role == "embedder").unwrap();
        (role.name, models.problems)
    };
    assert_eq!(embedder(), ("minilm-l6".to_owned(), Vec::new()));
    let output = home.run(["models", "use", "embedder", "Own Embedder.gguf", "--json"]).ok();
    assert_eq!(
        (output.json()["model"].as_str(), output.json()["daemon"].as_bool()),
        (Some("own-embedder"), Some(true))
    );
    assert_eq!(embedder().0, "own-embedder");
    assert_eq!(block_on(home.client().health()).unwrap().embedder, "own-embedder");
    fs::remove_file(home.work().join("Own Embedder.gguf")).unwrap();
    // The next write needs it, finds it gone, and goes on with what is built in.
    let stored = block_on(home.client().remember(&decision("Release notes are written in English."))).unwrap();
    assert!(matches!(&stored, WriteOutcome::Stored(_)), "{stored:?}");
    let (name, problems) = embedder();
    assert_eq!(name, "minilm-l6");
    assert!(problems[0].contains("own-embedder cannot be used") && problems[0].contains("is missing"), "{problems:?}");
    let doctor = home.run(["doctor"]).ok();
    assert!(doctor.stdout.contains("own-embedder cannot be used"), "{doctor:?}");
    fs::write(home.paths().config, "[daemon]\ntcp = false\n[models]\nembedder = 5\n").unwrap();
    let error = block_on(home.client().reload_models()).unwrap_err().to_string();
    assert!(error.contains("config.toml:4"), "{error}");
    drop(daemon);
}

#[test]
fn the_models_of_this_machine_are_measured() {
    let home = TestHome::with_models();
    let output = home.run(["models", "bench", "embedder", "--calls", "2", "--threads", "1", "--json"]).ok();
    let value = output.json();
    let timings = value["models"][0]["timings"].as_array().unwrap();
    assert_eq!((value["models"][0]["model"].as_str(), timings.len()), (Some("minilm-l6"), 3));
    assert!(timings.iter().all(|timing| timing["p50_ms"].as_f64().unwrap() > 0.0), "{value}");
    let none = home.run(["models", "bench", "llm"]);
    assert!(none.code == Some(2) && none.stderr.contains("no model has the role llm"), "{none:?}");
}
