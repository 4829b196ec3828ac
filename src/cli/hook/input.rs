//! What a coding agent's program says on a hook's stdin. Programs differ in names, not in what they say; what is not understood is as if
//! it were not said.

use std::io::{IsTerminal, Read};

use serde_json::Value;

use super::Given;

/// The most that is read, in bytes: what a tool gave back can be long, and is not needed.
const MOST: u64 = 8 * 1024 * 1024;

/// What happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Input {
    /// The session's name.
    pub(super) session: Option<String>,
    /// The agent's program, as far as what it says tells.
    pub(super) agent: Option<String>,
    /// The folder in which the agent works.
    pub(super) cwd: Option<String>,
    /// Why a session starts: `startup`, `resume`, `clear`, `compact`.
    pub(super) source: Option<String>,
    /// What the person wrote.
    pub(super) prompt: Option<String>,
    /// The file that a tool read or changed.
    pub(super) file: Option<String>,
    /// The agent is not to be told to go on: a hook told it so before, or its person stopped it.
    pub(super) stopping: bool,
    /// The event's name as the program gives it.
    event: Option<String>,
}

impl Input {
    /// What this process is told; nothing from a terminal, where nobody types JSON.
    pub(super) fn given() -> Self {
        let stdin = std::io::stdin();
        if stdin.is_terminal() { Self::default() } else { Self::read(stdin) }
    }

    /// Reads it; nothing where it is none.
    fn read(from: impl Read) -> Self {
        let mut text = Vec::new();
        match from.take(MOST).read_to_end(&mut text) {
            Ok(_) => serde_json::from_slice(&text).map(|value| Self::of(&value)).unwrap_or_default(),
            Err(_) => Self::default(),
        }
    }

    fn of(value: &Value) -> Self {
        let text = |paths: &[&str]| {
            let found = paths.iter().find_map(|path| value.pointer(path)?.as_str());
            found.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        Self {
            session: text(&["/session_id", "/conversation_id", "/sessionId", "/session/id"]),
            agent: agent(value),
            cwd: text(&["/cwd", "/workspace_roots/0", "/directory"]),
            source: text(&["/source", "/trigger"]),
            prompt: text(&["/prompt", "/user_prompt"]),
            file: text(&[
                "/tool_input/file_path",
                "/tool_input/absolute_path",
                "/tool_input/notebook_path",
                "/tool_input/path",
                "/tool_input/filePath",
                "/tool_input/files/0",
                "/file_path",
            ])
            .or_else(|| patched(&text(&["/tool_input/command", "/tool_input/input"])?)),
            stopping: value.get("stop_hook_active").and_then(Value::as_bool).unwrap_or(false)
                || text(&["/status"]).is_some_and(|status| status != "completed"),
            event: text(&["/hook_event_name", "/hookEventName"]),
        }
    }

    /// What was given, in the words that the program reads.
    pub(super) fn answer(&self, moment: &str, given: &Given) -> Value {
        let usual = match moment {
            "session-start" => "SessionStart",
            "user-prompt" => "UserPromptSubmit",
            "post-tool" => "PostToolUse",
            "pre-compact" => "PreCompact",
            _ => "Stop",
        };
        let event = self.event.as_deref().unwrap_or(usual);
        let camel = event.starts_with(|first: char| first.is_ascii_lowercase());
        given.json(event, camel)
    }
}

/// The first file that a patch in Codex's form changes; nothing of a command that is no patch.
fn patched(command: &str) -> Option<String> {
    let patch = command.get(command.find("*** Begin Patch")?..)?;
    let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let file = patch.lines().find_map(|line| heads.iter().find_map(|head| line.strip_prefix(head)))?;
    Some(file.trim().to_owned()).filter(|file| !file.is_empty())
}

/// The agent's program, by where it keeps its transcripts or by fields that only it has, under the name by which it calls itself over MCP.
fn agent(value: &Value) -> Option<String> {
    let has = |path: &str| value.pointer(path).is_some();
    let kept = value.pointer("/transcript_path").and_then(Value::as_str).unwrap_or_default();
    let name = match kept {
        _ if has("/cursor_version") || has("/workspace_roots") => "cursor",
        path if path.contains("/.claude/") => "claude-code",
        path if path.contains("/.codex/") => "codex",
        path if path.contains("/.gemini/") => "gemini",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Whether a claim's source names the file: the path, alone or before a line number.
pub(super) fn names(source: &str, path: &str) -> bool {
    let Some(at) = source.find(path) else { return false };
    let before = source.get(..at).and_then(|text| text.chars().next_back());
    let after = source.get(at + path.len()..).and_then(|text| text.chars().next());
    // `src/api.rs` is not named by `lib/src/api.rs`, nor by `src/api.rs.bak`; `./src/api.rs` names it.
    let begins = match before {
        None => true,
        Some('/') => source.get(..at).is_some_and(|text| text.ends_with("./") && text.len() == 2),
        Some(other) => !(other.is_alphanumeric() || matches!(other, '-' | '_' | '.')),
    };
    begins && after.is_none_or(|next| !(next.is_alphanumeric() || matches!(next, '-' | '_' | '/' | '.')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn programs_that_name_things_otherwise_are_understood() {
        let one = json!({"session_id": "s", "cwd": "/w", "hook_event_name": "PostToolUse", "tool_input": {"file_path": "/w/a.rs"}});
        let read = Input::read(one.to_string().as_bytes());
        assert_eq!((read.session.as_deref(), read.file.as_deref()), (Some("s"), Some("/w/a.rs")));
        let answer = read.answer("post-tool", &Given::Context("x".into()));
        assert_eq!(
            answer.to_string(),
            r#"{"hookSpecificOutput":{"additionalContext":"x","hookEventName":"PostToolUse"}}"#
        );
        let other = json!({"conversation_id": "c", "workspace_roots": ["/w"], "hook_event_name": "sessionStart"});
        let read = Input::read(other.to_string().as_bytes());
        assert_eq!((read.session.as_deref(), read.cwd.as_deref()), (Some("c"), Some("/w")));
        assert_eq!(
            read.answer("session-start", &Given::Context("x".into())).to_string(),
            r#"{"additional_context":"x"}"#
        );
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-*** Update File: b\n+x\n*** End Patch";
        let patch = json!({"session_id": "s", "tool_name": "apply_patch", "tool_input": {"command": patch}});
        assert_eq!(Input::of(&patch).file.as_deref(), Some("src/a.rs"));
        assert_eq!(Input::of(&json!({"tool_input": {"command": "ls src/a.rs"}})).file, None);
        let camel = json!({"sessionId": "v", "hookEventName": "Stop", "tool_input": {"files": ["b.rs"]}});
        assert_eq!(
            (Input::of(&camel).session.as_deref(), Input::of(&camel).file.as_deref()),
            (Some("v"), Some("b.rs"))
        );
        for (status, stopping) in [("completed", false), ("aborted", true), ("error", true)] {
            assert_eq!(Input::of(&json!({"status": status})).stopping, stopping, "{status}");
        }
        assert_eq!(read.agent.as_deref(), Some("cursor"));
        let kept = json!({"session_id": "s", "transcript_path": "/home/zoe/.claude/projects/x/s.jsonl"});
        assert_eq!(Input::read(kept.to_string().as_bytes()).agent.as_deref(), Some("claude-code"));
        for nothing in ["", "no json", "[]", "5", r#"{"session_id": 5, "cwd": null}"#] {
            assert_eq!(Input::read(nothing.as_bytes()), Input::default(), "{nothing}");
        }
    }

    #[rstest::rstest]
    #[case("src/api.rs", true)]
    #[case("src/api.rs:14", true)]
    #[case("./src/api.rs:14", true)]
    #[case("see src/api.rs, line 3", true)]
    #[case("lib/src/api.rs", false)]
    #[case("src/api.rs.bak", false)]
    #[case("mysrc/api.rs", false)]
    #[case("docs/api.md", false)]
    fn a_source_names_a_file(#[case] source: &str, #[case] named: bool) {
        assert_eq!(names(source, "src/api.rs"), named);
    }
}
