use std::fs;

use crate::support::{Output, TestHome};

fn setup(home: &TestHome, args: &[&str]) -> Output {
    home.run([&["setup", "--yes"], args].concat())
}

#[test]
fn what_is_installed_is_set_up_shown_first_and_taken_back() {
    let home = TestHome::new();
    let settings = home.path().join(".claude/settings.json");
    let none = home.command(["setup"]).env("PATH", "").output().unwrap();
    assert_eq!(none.status.code(), Some(2), "nothing is installed: {none:?}");
    let none = home.command(["setup", "--remove"]).env("PATH", "").output().unwrap();
    assert!(none.status.success(), "nothing to remove: {none:?}");
    fs::create_dir(home.path().join(".claude")).unwrap();
    let own = "{\n  // mine\n  \"model\": \"x\",\n}\n";
    fs::write(&settings, own).unwrap();

    let shown = setup(&home, &["claude-code", "--dry-run"]).ok().stdout;
    assert!(
        shown.contains("+++") && shown.contains("hook session-start") && shown.contains("nothing was written"),
        "{shown}"
    );
    assert_eq!(fs::read_to_string(&settings).unwrap(), own);

    setup(&home, &["claude-code"]).ok();
    let text = fs::read_to_string(&settings).unwrap();
    assert!(text.starts_with("{\n  // mine\n  \"model\": \"x\",") && text.contains("hook user-prompt"), "{text}");
    let server = fs::read_to_string(home.path().join(".claude.json")).unwrap();
    let server: serde_json::Value = serde_json::from_str(&server).unwrap();
    assert_eq!(server["mcpServers"]["ergo"]["args"], serde_json::json!(["mcp"]));
    assert!(fs::read_to_string(home.path().join(".claude/CLAUDE.md")).unwrap().contains("ergo_recall"));

    let again = setup(&home, &["claude-code"]).ok().stdout;
    assert!(again.contains("already set up"), "{again}");
    assert_eq!(fs::read_to_string(&settings).unwrap(), text);

    setup(&home, &["claude-code", "--remove"]).ok();
    assert_eq!(fs::read_to_string(&settings).unwrap(), own);
    assert!(!home.path().join(".claude.json").exists(), "a file that setup made goes with it");
    let again = setup(&home, &["claude-code", "--remove"]).ok().stdout;
    assert!(again.contains("Nothing changes"), "{again}");
}

#[test]
fn ergo_is_removed_from_the_settings_of_an_agent_that_is_gone() {
    let home = TestHome::new();
    setup(&home, &["claude-code"]).ok();
    fs::remove_dir_all(home.path().join(".claude")).unwrap();
    let settings = home.path().join(".claude.json");
    assert!(settings.exists());
    let removed = home.command(["setup", "--remove", "--yes"]).env("PATH", "").output().unwrap();
    assert!(removed.status.success(), "{removed:?}");
    assert!(!settings.exists(), "{removed:?}");
}

#[test]
fn a_project_gets_files_that_a_team_can_share() {
    let home = TestHome::new();
    fs::create_dir(home.work().join(".git")).unwrap();
    fs::write(home.work().join("AGENTS.md"), "# Rules\n\nBe kind.").unwrap();
    let written = setup(&home, &["--all", "--project"]).ok().stdout;
    assert!(written.contains("`ergo setup --remove --project` restores them"), "{written}");
    let read = |name: &str| fs::read_to_string(home.work().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    for name in [
        ".mcp.json",
        ".cursor/mcp.json",
        ".gemini/settings.json",
        ".vscode/mcp.json",
        "opencode.json",
        ".codex/config.toml",
    ] {
        let text = read(name);
        assert!(text.contains("ergo") && text.contains("mcp") && !text.contains("/target/"), "{name}: {text}");
    }
    assert!(read("AGENTS.md").starts_with("# Rules\n\nBe kind.\n<!-- ergo:begin"));
    let own = setup(&home, &["claude-code", "--remove"]).ok().stdout;
    assert!(own.contains("ergo setup --remove --all --project") && own.contains("work/.mcp.json"), "{own}");
    let document: toml::Table = read(".codex/config.toml").parse().unwrap();
    assert_eq!(document["mcp_servers"]["ergo"]["command"].as_str(), Some("ergo"));
    setup(&home, &["--all", "--project", "--remove"]).ok();
    assert_eq!(read("AGENTS.md"), "# Rules\n\nBe kind.");
    assert!(!home.work().join(".mcp.json").exists());
    let own = setup(&home, &["claude-code", "--remove", "--json"]).ok().json();
    assert_eq!((&own["result"], &own["in_repositories"]), (&"unchanged".into(), &serde_json::json!([])), "{own}");
    let wrong = setup(&home, &["--project", "nonsense"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let both = setup(&home, &["--user", "--project"]);
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn a_file_that_is_not_understood_is_named_and_nothing_is_written() {
    let home = TestHome::new();
    fs::create_dir(home.path().join(".claude")).unwrap();
    fs::write(home.path().join(".claude.json"), "{ not json").unwrap();
    let output = setup(&home, &["claude-code"]);
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains(".claude.json") && output.stderr.contains("nothing was changed"),
        "{}",
        output.stderr
    );
    assert!(!home.path().join(".claude/settings.json").exists());
}
