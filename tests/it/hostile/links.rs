//! Links that lead out of a project, and names that nobody can keep.

use std::{fs, os::unix::fs::symlink, path::PathBuf};

use serde_json::Value;

use super::{pipe, refused, run};
use crate::support::TestHome;

fn why(report: &Value, name: &str) -> String {
    let items = report["skipped"].as_array().unwrap();
    let found = items.iter().find(|item| item["path"].as_str().unwrap().contains(name));
    found.unwrap_or_else(|| panic!("{name} is not in {report}"))["why"].as_str().unwrap().to_owned()
}

#[test]
fn an_ingest_follows_no_link_out_of_the_project_and_goes_on_past_odd_names() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let at = |name: &str| home.work().join(name);
    fs::create_dir(at(".git")).unwrap();
    fs::create_dir(at("docs")).unwrap();
    fs::write(home.path().join("secret"), "The vault opens with marzipan.\n").unwrap();
    fs::write(at("docs/guide.md"), "The press stands in the cellar.\n").unwrap();
    fs::write(at("docs/later.md"), "Nothing yet.\n").unwrap();
    fs::write(at("z.md"), "The last file is about herons.\n").unwrap();
    symlink(home.path().join("secret"), at("docs/passwd.md")).unwrap();
    fs::write(at("docs/odd\nname.md"), "odd\n").unwrap();
    pipe(&at("docs/pipe.md"));
    let deep: PathBuf = std::iter::repeat_n("d".repeat(200), 6).collect();
    fs::create_dir_all(home.work().join(&deep)).unwrap();
    fs::write(home.work().join(&deep).join("deep.md"), "deep\n").unwrap();

    let report = run(&home, &["ingest", ".", "--json"]).ok().json();
    assert_eq!(report["files"], 3, "{report}");
    assert!(why(&report, "passwd.md").contains("secret, outside of the project"), "{report}");
    assert!(why(&report, "odd\nname.md").contains("line break"), "{report}");
    assert!(why(&report, "deep.md").contains("the limit is 1024"), "{report}");
    assert!(why(&report, "pipe.md").contains("regular"), "{report}");
    let named = run(&home, &["ingest", "docs/passwd.md", "--json"]);
    assert_eq!(named.code, Some(2), "{named:?}");
    let recall = |words: &str| run(&home, &["recall", words, "--json"]).stdout;
    assert!(!recall("what opens the vault").contains("marzipan"));
    assert!(recall("where does the press stand").contains("cellar"));
    assert!(recall("what is the last file about").contains("herons"));

    fs::remove_file(at("docs/guide.md")).unwrap();
    symlink(home.path().join("secret"), at("docs/guide.md")).unwrap();
    let report = run(&home, &["ingest", ".", "--json"]).ok().json();
    assert_eq!(report["gone"], 1, "what was taken in under that name goes: {report}");
    assert!(!recall("where does the press stand").contains("cellar"));
}

#[test]
fn files_below_a_folder_that_is_not_read_are_not_taken_for_deleted() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    fs::create_dir(home.work().join(".git")).unwrap();
    // One more than are entered from the top.
    let deep: PathBuf = std::iter::repeat_n("d", 65).collect();
    fs::create_dir_all(home.work().join(&deep)).unwrap();
    fs::write(home.work().join(&deep).join("a.md"), "The press stands in the cellar.\n").unwrap();
    let deep = deep.to_str().unwrap();
    assert_eq!(run(&home, &["ingest", deep, "--json"]).ok().json()["files"], 1);
    let report = run(&home, &["ingest", ".", "--json"]).json();
    assert!(why(&report, "d/d").contains("folders deep"), "{report}");
    assert_eq!((&report["gone"], &report["retired"]), (&0.into(), &0.into()), "{report}");
    let again = run(&home, &["ingest", deep, "--json"]).ok().json();
    assert_eq!((&again["chunks"], &again["added"]), (&1.into(), &0.into()), "{again}");
}

#[test]
fn setup_writes_through_no_link_out_of_the_project() {
    let home = TestHome::new();
    let at = |name: &str| home.work().join(name);
    let rc = home.path().join(".bashrc");
    fs::create_dir(at(".git")).unwrap();
    fs::write(&rc, "alias l=ls\n").unwrap();
    symlink(&rc, at("AGENTS.md")).unwrap();
    let real = fs::canonicalize(&rc).unwrap();
    let real = real.to_str().unwrap();
    for args in [&["setup", "--yes", "codex", "--project"][..], &["setup", "--yes", "codex", "--project", "--remove"]] {
        refused(&run(&home, args), &["AGENTS.md", real, "outside of the project", "nothing was changed"]);
    }
    assert_eq!(fs::read_to_string(&rc).unwrap(), "alias l=ls\n");
    assert!(!at(".codex").exists(), "nothing is written at all");

    fs::remove_file(at("AGENTS.md")).unwrap();
    fs::create_dir(home.path().join("dotfiles")).unwrap();
    symlink("../dotfiles", at(".codex")).unwrap();
    refused(
        &run(&home, &["setup", "--yes", "codex", "--project"]),
        &["dotfiles/config.toml", "outside of the project"],
    );
    assert_eq!(fs::read_dir(home.path().join("dotfiles")).unwrap().count(), 0);

    fs::remove_file(at(".codex")).unwrap();
    fs::create_dir(at("docs")).unwrap();
    fs::write(at("docs/agents.md"), "# Rules\n").unwrap();
    symlink("docs/agents.md", at("AGENTS.md")).unwrap();
    run(&home, &["setup", "--yes", "codex", "--project"]).ok();
    assert!(
        fs::read_to_string(at("docs/agents.md")).unwrap().contains("ergo:begin"),
        "a link within the project is fine"
    );
}
