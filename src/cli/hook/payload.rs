//! The JSON that a coding agent's program writes to a hook's stdin. Programs differ in field names; unknown fields are ignored.

use std::io::{IsTerminal, Read};

use serde_json::Value;

use super::HookOutput;
use crate::setup::HookEvent;

/// The maximum number of bytes that are read: the output of a tool can be long, and is not needed. Longer input is cut, and so
/// cannot be read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// The fields of an event that ergo uses, as far as the program sends them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HookPayload {
    /// The session's id.
    pub(super) session: Option<String>,
    /// The agent's program, if it can be detected: the name that it gives itself over MCP, or the beginning of that name (see
    /// [`crate::api::is_name_of`]).
    pub(super) agent: Option<String>,
    /// The folder in which the agent works.
    pub(super) cwd: Option<String>,
    /// Why a session starts: `startup`, `resume`, `clear` or `compact`.
    pub(super) source: Option<String>,
    /// The user's prompt.
    pub(super) prompt: Option<String>,
    /// The file that a tool read or changed.
    pub(super) file: Option<String>,
    /// Whether the agent must not be asked to continue: a hook asked before, or the user stopped it.
    pub(super) stopping: bool,
    /// The event's name, as the program spells it.
    event: Option<String>,
}

impl HookPayload {
    /// Reads stdin, unless it is a terminal. Returns `None` if it cannot be read.
    pub(super) fn from_stdin() -> Option<Self> {
        let stdin = std::io::stdin();
        if stdin.is_terminal() { Some(Self::default()) } else { Self::read(stdin) }
    }

    /// Reads a payload, which may be empty. Returns `None` if it is not a JSON object.
    fn read(from: impl Read) -> Option<Self> {
        let mut bytes = Vec::new();
        from.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() {
            return Some(Self::default());
        }
        // The parser rejects lone surrogates, which are rare.
        let parsed = serde_json::from_str(&text);
        let value: Value = parsed.or_else(|_| serde_json::from_str(&replace_lone_surrogates(&text))).ok()?;
        value.is_object().then(|| Self::of(&value))
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

    /// Returns the output in the format of the agent's program.
    pub(super) fn output_json(&self, event: HookEvent, output: &HookOutput) -> Value {
        let usual = match event {
            HookEvent::SessionStart => "SessionStart",
            HookEvent::UserPrompt => "UserPromptSubmit",
            HookEvent::PostTool => "PostToolUse",
            HookEvent::PreCompact => "PreCompact",
            HookEvent::Stop => "Stop",
        };
        let event = self.event.as_deref().unwrap_or(usual);
        let camel = event.starts_with(|first: char| first.is_ascii_lowercase());
        output.json(event, camel)
    }
}

/// Replaces the escapes of lone surrogates in a JSON document (`\ud83d`), which name no character, by that of U+FFFD.
/// Programs that cut a text within an emoji write them, and the parser rejects the document.
fn replace_lone_surrogates(json: &str) -> String {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (length, lone) = match (unit(escape), escape.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, false),
            (Some(0xd800..=0xdfff), _) => (6, true),
            // The escaped character may be a backslash.
            _ => (escape.chars().take(2).map(char::len_utf8).sum(), false),
        };
        let (kept, after) = escape.split_at(length);
        out.push_str(if lone { "\\ufffd" } else { kept });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the first file that a patch in Codex's format changes; `None` for other commands.
fn patched(command: &str) -> Option<String> {
    let patch = command.get(command.find("*** Begin Patch")?..)?;
    let heads = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let file = patch.lines().find_map(|line| heads.iter().find_map(|head| line.strip_prefix(head)))?;
    Some(file.trim().to_owned()).filter(|file| !file.is_empty())
}

/// Returns the agent's program, detected by its transcript path or its own fields. Claude Code also sets a variable,
/// since its transcripts may lie elsewhere (`CLAUDE_CONFIG_DIR`).
fn agent(value: &Value) -> Option<String> {
    let has = |path: &str| value.pointer(path).is_some();
    let transcript = value.pointer("/transcript_path").and_then(Value::as_str).unwrap_or_default();
    let name = match transcript {
        _ if has("/cursor_version") || has("/workspace_roots") => "cursor",
        path if path.contains("/.claude/") => "claude-code",
        path if path.contains("/.codex/") => "codex",
        path if path.contains("/.gemini/") => "gemini",
        _ if std::env::var_os("CLAUDE_PROJECT_DIR").is_some() => "claude-code",
        _ => return None,
    };
    Some(name.to_owned())
}

/// Whether a claim's source names the file: the path, alone or before a line number.
pub(super) fn names(source: &str, path: &str) -> bool {
    let Some(at) = source.find(path) else { return false };
    let before = source.get(..at).and_then(|text| text.chars().next_back());
    let after = source.get(at + path.len()..).and_then(|text| text.chars().next());
    // Neither `lib/src/api.rs` nor `src/api.rs.bak` names `src/api.rs`; `./src/api.rs` does.
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
        let read = HookPayload::read(one.to_string().as_bytes()).unwrap();
        assert_eq!((read.session.as_deref(), read.file.as_deref()), (Some("s"), Some("/w/a.rs")));
        let answer = read.output_json(HookEvent::PostTool, &HookOutput::Context("x".into()));
        assert_eq!(
            answer.to_string(),
            r#"{"hookSpecificOutput":{"additionalContext":"x","hookEventName":"PostToolUse"}}"#
        );
        let other = json!({"conversation_id": "c", "workspace_roots": ["/w"], "hook_event_name": "sessionStart"});
        let read = HookPayload::read(other.to_string().as_bytes()).unwrap();
        assert_eq!((read.session.as_deref(), read.cwd.as_deref()), (Some("c"), Some("/w")));
        assert_eq!(
            read.output_json(HookEvent::SessionStart, &HookOutput::Context("x".into())).to_string(),
            r#"{"additional_context":"x"}"#
        );
        let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-*** Update File: b\n+x\n*** End Patch";
        let patch = json!({"session_id": "s", "tool_name": "apply_patch", "tool_input": {"command": patch}});
        assert_eq!(HookPayload::of(&patch).file.as_deref(), Some("src/a.rs"));
        assert_eq!(HookPayload::of(&json!({"tool_input": {"command": "ls src/a.rs"}})).file, None);
        let camel = json!({"sessionId": "v", "hookEventName": "Stop", "tool_input": {"files": ["b.rs"]}});
        assert_eq!(
            (HookPayload::of(&camel).session.as_deref(), HookPayload::of(&camel).file.as_deref()),
            (Some("v"), Some("b.rs"))
        );
        for (status, stopping) in [("completed", false), ("aborted", true), ("error", true)] {
            assert_eq!(HookPayload::of(&json!({"status": status})).stopping, stopping, "{status}");
        }
        assert_eq!(read.agent.as_deref(), Some("cursor"));
        let kept = json!({"session_id": "s", "transcript_path": "/home/zoe/.claude/projects/x/s.jsonl"});
        assert_eq!(HookPayload::read(kept.to_string().as_bytes()).unwrap().agent.as_deref(), Some("claude-code"));
        for nothing in ["", "\n", "{}", r#"{"session_id": 5, "cwd": null}"#] {
            assert_eq!(HookPayload::read(nothing.as_bytes()), Some(HookPayload::default()), "{nothing}");
        }
        for unreadable in ["no json", "[]", "5", r#"{"cwd": "/w""#] {
            assert_eq!(HookPayload::read(unreadable.as_bytes()), None, "{unreadable}");
        }
    }

    #[rstest::rstest]
    #[case(r"cut \ud83d", "cut \u{fffd}")]
    #[case(r"\uDE80 \ud83d\ude80", "\u{fffd} 🚀")]
    #[case(r"\ud83d\ud83d\ude80", "\u{fffd}🚀")]
    #[case(r"\ud83d\\ude80", r"�\ude80")]
    #[case(r"C:\\ud83d\n", "C:\\ud83d\n")]
    #[case(r"\ud83dé\u00e9", "\u{fffd}éé")]
    fn a_lone_surrogate_leaves_the_rest_of_the_input_readable(#[case] escaped: &str, #[case] prompt: &str) {
        let input = format!(r#"{{"cwd": "/w", "prompt": "{escaped}"}}"#);
        let read = HookPayload::read(input.as_bytes()).unwrap();
        assert_eq!((read.cwd.as_deref(), read.prompt.as_deref()), (Some("/w"), Some(prompt)));
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
