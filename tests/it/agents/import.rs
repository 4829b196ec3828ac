use std::fs;

use crate::support::TestHome;

#[test]
fn another_tools_memories_a_chats_decisions_and_a_block_for_agents() {
    let home = TestHome::new();
    let _daemon = home.daemon();
    let write = |name: &str, text: &str| fs::write(home.work().join(name), text).unwrap();
    write(
        "memory.json",
        r#"{"type":"entity","name":"Billing","entityType":"service","observations":["listens on port 81"]}"#,
    );
    let stdout = home.run(["import", "memory", "memory.json"]).ok().stdout;
    assert!(stdout.contains('1'), "{stdout}");
    let again = home.run(["import", "memory", "memory.json", "--json"]).ok().stdout;
    assert!(!again.is_empty());
    let claims = home.run(["claims", "--json"]).ok().json();
    assert_eq!(
        (&claims["total"], &claims["items"][0]["statement"]),
        (&1.into(), &"Billing: listens on port 81".into())
    );

    write(
        "conversations.json",
        r#"[{"name": "Plan", "chat_messages": [{"text": "- Never log request bodies, because they hold card numbers.\n- Always use tabs."}]}]"#,
    );
    let stdout = home.run(["import", "chat", "conversations.json"]).ok().stdout;
    assert!(stdout.contains("Nothing was stored"), "{stdout}");
    assert_eq!(home.run(["claims", "--json"]).ok().json()["total"], 1);
    let list = fs::read_to_string(home.work().join("proposals.md")).unwrap();
    assert_eq!(list.matches("- [ ]").count(), 2, "{list}");
    write("proposals.md", &list.replacen("- [ ]", "- [x]", 1));
    home.run(["import", "proposals", "proposals.md"]).ok();
    assert_eq!(home.run(["claims", "--json"]).ok().json()["total"], 2);
    assert_eq!(home.run(["import", "chat", "conversations.json"]).code, Some(2), "a list is never overwritten");

    write("AGENTS.md", "# Rules\n");
    home.run(["export", "agents", "AGENTS.md"]).ok();
    let text = fs::read_to_string(home.work().join("AGENTS.md")).unwrap();
    assert!(text.starts_with("# Rules\n\n<!-- ergo:claims:begin") && text.contains("request bodies"), "{text}");
    let again = home.run(["export", "agents", "AGENTS.md"]).ok().stdout;
    assert!(again.contains("is up to date"), "{again}");
}
