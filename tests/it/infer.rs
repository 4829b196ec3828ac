//! The real worker process: with the models that ship in the program, and with a language model made here.

mod daemon;
mod failures;
mod language;
mod normalise;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use ergo::infer::{
    Call, InferError, ModelFile, ModelRole, ModelSet, ModelSource, Models, Pool, PoolOptions, Prompt, Speaker, Turn,
    catalogue,
};

use crate::support::{PROGRAM, gguf, until};

/// Long enough to load a model on a busy machine.
const LONG: Call = Call::foreground(Duration::from_mins(2));

fn built_in(role: ModelRole) -> Option<ModelSource> {
    catalogue::embedded(role).map(ModelSource::Embedded)
}

fn file(path: &Path) -> ModelSource {
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    ModelSource::File(ModelFile { name, sha256: String::new(), path: path.to_owned() })
}

/// The language model whose file `ERGO_TEST_LLM` names.
fn real_llm() -> ModelSource {
    let path = std::env::var_os("ERGO_TEST_LLM").expect("ERGO_TEST_LLM names the file of a language model");
    file(Path::new(&path))
}

fn pool(folder: &Path, set: ModelSet) -> Pool {
    pool_with(folder, set, |_| {})
}

fn pool_with(folder: &Path, set: ModelSet, set_up: impl FnOnce(&mut PoolOptions)) -> Pool {
    let mut options = PoolOptions { program: PROGRAM.into(), threads: 1, ..PoolOptions::new(folder.join("built-in")) };
    set_up(&mut options);
    Pool::new(options, set)
}

fn small() -> ModelSet {
    ModelSet { embedder: built_in(ModelRole::Embedder), nli: built_in(ModelRole::Nli), llm: None }
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn pid(pool: &Pool, worker: usize) -> u32 {
    pool.workers()[worker].pid.expect("the worker runs")
}

#[test]
fn sentences_that_say_the_same_are_near_and_strangers_are_far() {
    let dir = tempfile::tempdir().unwrap();
    let pool = pool(dir.path(), small());
    let sentences = texts(&[
        "Every service logs in JSON to standard output.",
        "Services write their logs as JSON on stdout.",
        "The office closes at six on Fridays.",
        "Backups of the ledger are kept for seven years.",
        "The ledger's backups stay for seven years.",
    ]);
    let together = pool.embed(&sentences, LONG).unwrap();
    assert!(together.iter().all(|vector| vector.len() == 384 && (cosine(vector, vector) - 1.0).abs() < 1e-3));
    let near = [cosine(&together[0], &together[1]), cosine(&together[3], &together[4])];
    let far = [cosine(&together[0], &together[2]), cosine(&together[2], &together[4])];
    assert!(near.iter().all(|near| *near > 0.75) && far.iter().all(|far| *far < 0.35), "{near:?} {far:?}");
    for (sentence, vector) in sentences.iter().zip(&together) {
        let alone = pool.embed(std::slice::from_ref(sentence), LONG).unwrap();
        assert!(cosine(&alone[0], vector) > 0.999, "one pass gives what many give: {sentence}");
    }
    let info = pool.info();
    let role = info.role(ModelRole::Embedder).unwrap();
    assert_eq!((role.loaded, role.dimension, role.computes.as_deref()), (true, Some(384), Some("CPU")));
}

#[test]
fn no_text_is_too_strange_to_be_embedded() {
    let dir = tempfile::tempdir().unwrap();
    let pool = pool(dir.path(), small());
    let long = "word and another word, ".repeat(2_000);
    let strange = ["", " ", "\0\0 a\0b", "[CLS] [SEP] [MASK] [UNK]", "🦀 \u{202e} ü 漢字", &"x".repeat(30_000), &long];
    let vectors = pool.embed(&texts(&strange), LONG).unwrap();
    assert!(vectors.iter().all(|vector| (cosine(vector, vector) - 1.0).abs() < 1e-3));
    let end = pool.embed(&[format!("{long} and a different end")], LONG).unwrap();
    assert!(cosine(&end[0], vectors.last().unwrap()) > 0.999, "what is too long is cut");
    let many: Vec<String> = (0..200).map(|at| format!("Service {at} listens on port {}.", 8000 + at)).collect();
    assert_eq!(pool.embed(&many, Call::background(LONG.deadline)).unwrap().len(), 200);
    assert!(pool.info().failures.is_empty());
}

#[test]
fn the_cross_encoder_tells_contradiction_from_agreement_and_strangers() {
    let dir = tempfile::tempdir().unwrap();
    let pool = pool(dir.path(), small());
    let pairs: Vec<(String, String)> = [
        ("Backups are encrypted.", "Backups are not encrypted."),
        ("Only the billing service writes to the ledger.", "Every service may write to the ledger."),
        ("Use tabs for indentation.", "Never use tabs for indentation."),
        ("Backups are encrypted.", "We encrypt the backups."),
        ("Use tabs for indentation.", "Code is indented with tabs."),
        ("Backups are encrypted.", "The office closes at six on Fridays."),
        ("Only the billing service writes to the ledger.", "Logos are stored as vector graphics."),
    ]
    .map(|(a, b)| (a.to_owned(), b.to_owned()))
    .into();
    let together = pool.classify(&pairs, LONG).unwrap();
    let margin = |[entailment, neutral, contradiction]: [f32; 3]| contradiction - entailment.max(neutral);
    let margins: Vec<f32> = together.iter().map(|of| margin(of.logits)).collect();
    let (against, beside) = margins.split_at(3);
    let least = against.iter().copied().fold(f32::INFINITY, f32::min);
    let most = beside.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    assert!(least > most, "contradictions {against:?}, others {beside:?}");
    for (pair, of) in pairs.iter().zip(&together) {
        let alone = pool.classify(std::slice::from_ref(pair), LONG).unwrap()[0];
        assert!(of.logits.iter().zip(alone.logits).all(|(one, other)| (one - other).abs() < 0.1), "{of:?} {alone:?}");
    }
    let long = "a rule about something, ".repeat(3_000);
    let strange = [(long.clone(), long.clone()), (String::new(), long), ("\0".into(), String::new())];
    let logits = pool.classify(&strange, LONG).unwrap();
    assert!(logits.iter().all(|of| of.logits.iter().chain(&of.gate).all(|logit| logit.is_finite())));
    // The memory of the process with both models: mapped files, and little more.
    pool.embed(&texts(&["Backups are encrypted."]), LONG).unwrap();
    let rss = pool.workers()[0].rss_bytes;
    eprintln!("the worker holds {} MB with both models", rss / 1_000_000);
    assert!(rss < 160_000_000, "{rss}");
}

#[test]
fn pairs_of_one_pass_do_not_see_each_other_and_the_order_counts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tiny-nli.gguf");
    gguf::write_tiny_nli(&path);
    let pool = pool(dir.path(), ModelSet { nli: Some(file(&path)), ..ModelSet::default() });
    let facts = pool.load(ModelRole::Nli, LONG).unwrap();
    assert_eq!((facts.architecture.as_str(), facts.classes.len()), ("bert", 3));
    let long = "a rule of many words ".repeat(500);
    let one = [("ab", "c"), ("c", "ab"), ("", ""), ("\0", "x"), (&*long, &*long), ("a b c", &*long), (&*long, "a b c")];
    let pairs: Vec<(String, String)> = one.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    let together = pool.classify(&pairs, LONG).unwrap();
    for (pair, of) in pairs.iter().zip(&together) {
        let alone = pool.classify(std::slice::from_ref(pair), LONG).unwrap()[0];
        assert!(
            of.logits.iter().zip(alone.logits).all(|(one, other)| (one - other).abs() < 1e-3),
            "{pair:?} {of:?} {alone:?}"
        );
    }
    let [one, other] = [together[0].logits, together[1].logits];
    assert!(one.iter().zip(other).any(|(one, other)| (one - other).abs() > 1e-6), "{together:?}");
    assert!(together.iter().all(|of| of.gate.is_none()), "three outputs have no gate: {together:?}");
}

#[test]
fn a_fourth_output_is_the_gate_wherever_it_stands() {
    let dir = tempfile::tempdir().unwrap();
    let pairs = [("ab".to_owned(), "c".to_owned()), ("c".to_owned(), "ab".to_owned())];
    let classify = |outputs: &[&str]| {
        let path = dir.path().join(format!("{}.gguf", outputs.join("-")));
        gguf::write_tiny_classifier(&path, outputs);
        let pool = pool(dir.path(), ModelSet { nli: Some(file(&path)), ..ModelSet::default() });
        pool.classify(&pairs, LONG)
    };
    let last = classify(&["entailment", "neutral", "contradiction", "same decision"]).unwrap();
    let first = classify(&["same decision", "neutral", "contradiction", "entailment"]).unwrap();
    for (last, first) in last.iter().zip(first) {
        assert_eq!((last.gate, Some(last.logits[0])), (Some(first.logits[0]), first.gate), "the same numbers");
        assert_eq!(last.logits[1..], first.logits[1..]);
    }
    assert!(classify(&["entailment", "neutral", "contradiction", "other"]).is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_worker_gets_nothing_that_is_not_its_own() {
    use std::{fs, os::unix::net::UnixListener};
    let dir = tempfile::tempdir().unwrap();
    let _lock = fs::File::create(dir.path().join("ergo.db.lock")).unwrap();
    let _socket = UnixListener::bind(dir.path().join("ergo.sock")).unwrap();
    let pool = pool(dir.path(), small());
    pool.embed(&texts(&["a"]), LONG).unwrap();
    let proc = PathBuf::from(format!("/proc/{}", pid(&pool, 0)));
    for entry in fs::read_dir(proc.join("fd")).unwrap().flatten() {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let target = target.to_string_lossy();
        assert!(target.starts_with("pipe:") || target == "/dev/null", "{target}");
    }
    let environment = fs::read(proc.join("environ")).unwrap();
    let environment = String::from_utf8_lossy(&environment);
    assert!(!environment.contains("CARGO_") && !environment.contains("ERGO_"), "{environment}");
    let limits = fs::read_to_string(proc.join("limits")).unwrap();
    let limit = |name: &str| limits.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(!limit("Max data size").contains("unlimited"), "{limits}");
    assert!(limit("Max core file size").contains(" 0 "), "{limits}");
}
