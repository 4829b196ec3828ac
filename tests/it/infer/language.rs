//! The language model: a tiny one that is made here, and SmolLM2 if the tester has it.

use std::time::Instant;

use super::*;

const GRAMMAR: &str = r#"root ::= "{\"limit\": " [1-9] [0-9]? ", \"unit\": \"" [a-z] [a-z] [a-z]? "\"}""#;

fn turns(turns: &[(Speaker, &str)]) -> Vec<Turn> {
    turns.iter().map(|(speaker, text)| Turn { speaker: *speaker, text: (*text).to_owned() }).collect()
}

fn prefix() -> Vec<Turn> {
    turns(&[
        (Speaker::System, "Read the limit in the sentence."),
        (Speaker::User, "Uploads have at most 16 megabytes."),
        (Speaker::Assistant, "{\"limit\": 16, \"unit\": \"mb\"}"),
    ])
}

fn prompt(text: &str) -> Prompt {
    Prompt { prefix: prefix(), text: text.to_owned() }
}

fn tiny(dir: &Path) -> Pool {
    let path = dir.join("tiny.gguf");
    gguf::write_tiny_llm(&path, 7);
    pool(dir, ModelSet { llm: Some(file(&path)), ..ModelSet::default() })
}

fn keeps_to_the_grammar(text: &str) -> bool {
    let read = serde_json::from_str::<serde_json::Value>(text).ok();
    read.is_some_and(|value| value["limit"].is_u64() && value["unit"].is_string())
}

#[test]
fn whatever_the_model_thinks_it_keeps_to_the_grammar() {
    let dir = tempfile::tempdir().unwrap();
    let pool = tiny(dir.path());
    for text in ["A page holds 25 rows.", "", "\0", "<|im_end|><|im_start|>system", "Ü 漢字 🦀"] {
        let answer = pool.generate(&prompt(text), GRAMMAR, 64, LONG).unwrap();
        assert!(keeps_to_the_grammar(&answer), "{text:?}: {answer}");
        assert_eq!(pool.generate(&prompt(text), GRAMMAR, 64, LONG).as_deref(), Ok(&*answer), "the same each time");
    }
    let short = pool.generate(&prompt("A page holds 25 rows."), GRAMMAR, 3, LONG).unwrap();
    assert!(short.len() < 12, "{short}");
    let workers = pool.workers();
    assert_eq!((workers[0].roles.as_slice(), workers[0].restarts), (&[ModelRole::Llm][..], 0));
}

#[test]
fn the_kept_prefix_changes_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (warm, answers) = (tiny(dir.path()), texts(&["yes", "no", "maybe"]));
    let other = |at: usize| Prompt { prefix: turns(&[(Speaker::System, &format!("Rule {at}."))]), text: "And?".into() };
    let fresh = |prompt: &Prompt| tiny(dir.path()).answers(prompt, &answers, LONG).unwrap();
    let ask = |prompt: &Prompt| warm.answers(prompt, &answers, LONG).unwrap();
    let near = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3);
    let (one, two) = (prompt("A page holds 25 rows."), prompt("A page holds 30 rows."));
    let first = ask(&one);
    assert!(first.iter().all(|weight| *weight < 0.0));
    assert_ne!(first, ask(&two), "what is asked counts");
    // More prefixes than are kept, between two times of the same.
    (0..6).for_each(|at| drop(ask(&other(at))));
    assert!(near(&ask(&one), &first) && near(&ask(&one), &fresh(&one)));
    assert!(near(&ask(&two), &fresh(&two)));
    assert!(near(&ask(&other(5)), &fresh(&other(5))));
}

/// A process that ends after minutes without work takes nothing with it that the next one would have to read again for seconds.
#[test]
fn a_prefix_outlives_the_process_and_a_damaged_file_of_it_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tiny.gguf");
    gguf::write_tiny_llm(&path, 7);
    let folder = dir.path().join("built-in/prefixes");
    let files = || -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    };
    let ask = |number: usize| {
        let pool = pool(dir.path(), ModelSet { llm: Some(file(&path)), ..ModelSet::default() });
        let system = format!("Rule {number}. {}", "What a rule says is meant. ".repeat(8));
        let prompt = Prompt { prefix: turns(&[(Speaker::System, &system)]), text: "And?".into() };
        pool.answers(&prompt, &texts(&["yes", "no"]), LONG).unwrap()
    };
    let first = ask(0);
    let kept = files();
    let [kept] = &*kept else { panic!("{kept:?}") };
    let long_ago = std::time::SystemTime::UNIX_EPOCH;
    let age = || std::fs::File::options().append(true).open(kept).unwrap().set_modified(long_ago).unwrap();
    let used = || std::fs::metadata(kept).unwrap().modified().unwrap() > long_ago;
    age();
    let again = ask(0);
    assert!(used() && (first[0] - again[0]).abs() < 1e-3, "{first:?} {again:?}");

    let whole = std::fs::read(kept).unwrap();
    let mut damaged = whole.clone();
    *damaged.last_mut().unwrap() ^= 1;
    for wrong in [&damaged[..], &whole[..whole.len() / 2], b""] {
        std::fs::write(kept, wrong).unwrap();
        assert!((ask(0)[0] - first[0]).abs() < 1e-3);
        assert_eq!(
            (files(), std::fs::read(kept).unwrap().len()),
            (vec![kept.clone()], whole.len()),
            "it was made anew"
        );
    }
    age();
    (1..10).for_each(|number| drop(ask(number)));
    assert!(files().len() == 8 && !kept.exists(), "the oldest goes: {:?}", files());
}

#[test]
fn the_likelihood_of_an_answer_is_that_of_each_of_its_tokens() {
    let dir = tempfile::tempdir().unwrap();
    let pool = tiny(dir.path());
    let near = |a: &[f32], b: &[f32]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3);
    let asked = prompt("A page holds 25 rows.");
    let first = pool.answers(&asked, &texts(&["yes"]), LONG).unwrap();
    let short = pool.likelihood(&asked, "yes", LONG).unwrap();
    assert!(near(&short[..1], &first), "{short:?} {first:?}");
    // Longer than what is evaluated in one step; what comes later does not count.
    let long = pool.likelihood(&asked, &"yes ".repeat(60), LONG).unwrap();
    assert!(long.len() >= 60 && long.iter().all(|weight| *weight < 0.0));
    let longer = pool.likelihood(&asked, &format!("{}no", "yes ".repeat(60)), LONG).unwrap();
    assert!(near(&long[..60], &longer[..60]));
    assert!(near(&pool.likelihood(&asked, "yes", LONG).unwrap(), &short), "nothing is left of what was asked before");
    assert!(
        !near(&pool.likelihood(&prompt("A page holds 30 rows."), "yes", LONG).unwrap(), &short),
        "what is asked counts"
    );
}

#[test]
fn what_cannot_be_answered_is_refused_and_the_process_lives_on() {
    let dir = tempfile::tempdir().unwrap();
    let pool = tiny(dir.path());
    let refused = |error: InferError, word: &str| {
        assert!(matches!(&error, InferError::Refused(_)) && error.to_string().contains(word), "{word}: {error}");
    };
    for wrong in ["", "root ::= (", "root ::= other", "tree ::= \"a\"", "root ::= \"a\"\0"] {
        refused(pool.generate(&prompt("a"), wrong, 9, LONG).unwrap_err(), "grammar");
    }
    refused(pool.generate(&prompt(&"long ".repeat(5_000)), GRAMMAR, 9, LONG).unwrap_err(), "too long");
    refused(pool.answers(&prompt("a"), &texts(&["yes", "yet"]), LONG).unwrap_err(), "begin with the same token");
    refused(pool.answers(&prompt("a"), &texts(&["yes", ""]), LONG).unwrap_err(), "empty answer");
    refused(pool.likelihood(&prompt("a"), "", LONG).unwrap_err(), "empty answer");
    let nul = Prompt { prefix: turns(&[(Speaker::System, "a\0b")]), text: "c".into() };
    refused(pool.answers(&nul, &texts(&["yes"]), LONG).unwrap_err(), "NUL");
    assert_eq!(pool.answers(&prompt("a"), &[], LONG), Ok(vec![]));
    assert!(pool.answers(&prompt("a"), &texts(&["yes", "no"]), LONG).is_ok());
    assert_eq!(pool.workers()[0].restarts, 0);
}

#[test]
fn what_was_read_of_a_prefix_is_kept_when_its_caller_goes() {
    let dir = tempfile::tempdir().unwrap();
    let pool = tiny(dir.path());
    let answers = texts(&["yes"]);
    let long = |begin: &str| Prompt { prefix: turns(&[(Speaker::System, &begin.repeat(85))]), text: "And?".into() };
    pool.answers(&prompt("a"), &answers, LONG).unwrap();
    let start = Instant::now();
    pool.answers(&long("One. "), &answers, LONG).unwrap();
    // Too short for all of it: nobody would ever get an answer if each had to begin anew.
    let short = Call::background((start.elapsed() / 3).max(Duration::from_millis(2)));
    let tries = (1..100).find(|_| pool.answers(&long("Two. "), &answers, short).is_ok());
    assert!(tries.is_some(), "it never came to an end");
    let fresh = tiny(dir.path()).answers(&long("Two. "), &answers, LONG).unwrap();
    assert!((pool.answers(&long("Two. "), &answers, LONG).unwrap()[0] - fresh[0]).abs() < 1e-3);
}

#[test]
fn a_generation_stops_when_its_caller_has_gone() {
    let dir = tempfile::tempdir().unwrap();
    let pool = tiny(dir.path());
    pool.answers(&prompt("a"), &texts(&["yes"]), LONG).unwrap();
    let process = pid(&pool, 0);
    // 200 tokens that none may end: far more than there is time for.
    let endless = "root ::= [a-z ]{200}";
    let brief = Call::background(Duration::from_millis(1));
    assert!(matches!(pool.generate(&prompt("a"), endless, 200, brief), Err(InferError::Timeout { .. })));
    assert!(pool.answers(&prompt("a"), &texts(&["yes"]), LONG).is_ok());
    assert_eq!(pid(&pool, 0), process);
}

#[cfg(target_os = "linux")]
#[test]
fn the_language_model_stands_back() {
    let dir = tempfile::tempdir().unwrap();
    let pool = tiny(dir.path());
    pool.answers(&prompt("a"), &texts(&["yes"]), LONG).unwrap();
    // After the name in brackets: the 19th field of proc(5) is `nice`.
    let nice = |process: String| -> i32 {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        stat.rsplit(") ").next().unwrap().split(' ').nth(16).unwrap().parse().unwrap()
    };
    assert_eq!(nice(pid(&pool, 0).to_string()), (nice("self".into()) + 10).min(19));
}

#[test]
#[ignore = "needs a model: ERGO_TEST_LLM=FILE cargo test --test it a_real -- --ignored"]
fn a_real_model_reads_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    let pool = pool(dir.path(), ModelSet { llm: Some(real_llm()), ..ModelSet::default() });
    let facts = pool.load(ModelRole::Llm, LONG).unwrap();
    eprintln!("{facts:?}");
    let grammar = r#"root ::= "{\"limit\": " [1-9] [0-9]* ", \"unit\": \"" [a-z]+ "\"}""#;
    let answer = pool.generate(&prompt("A request takes at most 30 seconds."), grammar, 48, LONG).unwrap();
    assert!(keeps_to_the_grammar(&answer) && answer.contains("30"), "{answer}");
    let weights = pool.answers(&prompt("Is a limit named here? At most 30."), &texts(&["yes", "no"]), LONG).unwrap();
    assert!(weights.iter().all(|weight| weight.is_finite() && *weight < 0.0), "{weights:?}");
    eprintln!("{answer}; the process holds {} MB", pool.workers()[0].rss_bytes / 1_000_000);
}
