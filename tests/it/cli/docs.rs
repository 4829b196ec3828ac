//! The texts that are generated from the arguments: reference, manual page, completions.

use std::path::Path;

use super::super::support::TestHome;

#[test]
fn the_reference_is_what_the_arguments_say() {
    let home = TestHome::new();
    let generated = home.run(["man", "--markdown"]).ok().stdout;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(kept == generated, "docs/cli.md is out of date: run `cargo run -q -- man --markdown > docs/cli.md`");
}

#[test]
fn a_shell_gets_completions_for_every_verb() {
    let home = TestHome::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.run(["completions", shell]).ok().stdout;
        for verb in ["remember", "supersede", "conflicts", "import", "doctor"] {
            assert!(script.contains(verb), "{shell} does not know {verb}");
        }
        assert!(!script.contains("worker infer") && !script.contains("ergo,worker"), "{shell} names a hidden command");
    }
    assert_eq!(home.run(["completions", "tcsh"]).code, Some(2));
    let error = home.run(["--project", "claims"]).stderr;
    assert!(error.contains("remember, ") && !error.contains("worker"), "{error}");
}

#[test]
fn the_manual_page_is_one_and_each_verb_has_its_own() {
    let home = TestHome::new();
    let page = home.run(["man"]).ok().stdout;
    assert!(page.contains(".TH ergo 1") && page.contains(".SH EXTRA"), "{page}");
    let page = home.run(["man", "tui"]).ok().stdout;
    assert!(page.contains(".SH KEYS") && page.contains("Keep new: The new claim stays and replaces"), "{page}");
    let page = home.run(["man", "resolve"]).ok().stdout;
    assert!(page.contains("ergo\\-resolve") && page.contains("\\-\\-merge"), "{page}");
    let page = home.run(["man", "sync", "join"]).ok().stdout;
    assert!(page.contains("ergo\\-sync\\-join") && !page.contains(".SH KEYS"), "{page}");
    home.run(["man", "--folder", "pages"]).ok();
    for (name, part) in [("ergo", "remember"), ("ergo-tui", ".SH KEYS"), ("ergo-sync-join", "ergo sync join")] {
        let page = std::fs::read_to_string(home.work().join(format!("pages/{name}.1"))).unwrap();
        assert!(page.replace("\\-", "-").contains(part), "{name}: {page}");
    }
    let unknown = home.run(["man", "sync", "frob"]);
    assert!(unknown.stderr.contains("`ergo sync --help` lists them"), "{unknown:?}");
    let output = home.run(["man", "frob"]);
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("Hint: `ergo --help` lists them"), "{output:?}");
}
