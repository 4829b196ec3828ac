//! Replaces commands in hints by the tools that agents have for them.

use super::tools;
use crate::client::ClientError;

/// Verbs whose tool has another name.
const RENAMED_VERBS: [(&str, &str); 5] = [
    ("claims", "ergo_recall"),
    ("doctor", "ergo_diagnose"),
    ("status", "ergo_diagnose"),
    ("scopes", "ergo_diagnose"),
    ("history", "ergo_why"),
];

/// Requests that an agent cannot send, and what it can use instead.
const REQUESTS: [(&str, &str); 2] =
    [("GET /doubts", "ergo_judge without arguments"), ("GET /openapi.json", "the tool's input schema")];

/// Returns what an agent can do next after an error.
pub(super) fn next_step(error: &ClientError) -> Option<String> {
    // The daemon's hint is to repeat the request with the same `op_id`, but each tool call gets a new one.
    if error.is_unanswered() {
        return Some(
            "if this was a write, it may have been stored: look with ergo_recall before you repeat it".to_owned(),
        );
    }
    error.hint()
}

/// Replaces each command in backticks by the tool for it, with the scope that the command names. If there is no tool,
/// the command stays, as one for a person: “`ergo redact 3f2a`” becomes “`ergo redact 3f2a` in a terminal”. A command
/// that somebody else is to run stays as it is.
pub(super) fn as_tools(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, quoted, after)) = quoted(rest) {
        out.push_str(before);
        let command = quoted.strip_prefix("ergo ");
        if let Some((_, instead)) = REQUESTS.iter().find(|(request, _)| *request == quoted) {
            out.push_str(instead);
            rest = after;
            continue;
        }
        match command.map(|command| tool(command.split_whitespace().next().unwrap_or_default())) {
            Some(_) if before.ends_with(" to run ") => out.extend(["`", quoted, "`"]),
            Some(Some(tool)) => {
                out.push_str(&tool);
                out.extend(scope_of(quoted).into_iter().flat_map(|scope| [" with scope ", scope]));
            }
            Some(None) => out.extend(["`", quoted, "` in a terminal"]),
            None => out.extend(["`", quoted, "`"]),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the texts before, between and after the next two backticks.
fn quoted(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (quoted, after) = rest.split_once('`')?;
    Some((before, quoted, after))
}

/// Returns the scope that a command names.
fn scope_of(command: &str) -> Option<&str> {
    let (_, after) = command.split_once(" --scope ")?;
    Some(after.split_whitespace().next()?.trim_matches('\''))
}

fn tool(verb: &str) -> Option<String> {
    if let Some((_, tool)) = RENAMED_VERBS.iter().find(|(other, _)| *other == verb) {
        return Some((*tool).to_owned());
    }
    let name = format!("ergo_{verb}");
    tools::named(&name).map(|_| name)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::api::{ApiError, ErrorCode};

    #[test]
    fn a_call_without_an_answer_is_not_repeated_blindly() {
        let late = ApiError::new(ErrorCode::Timeout, "late").hint("repeat it with the same `op_id`");
        let timeout = ClientError::Timeout { place: "there".into(), after: Duration::from_secs(1) };
        for error in [timeout, ClientError::Api(late)] {
            let next = next_step(&error).unwrap();
            assert!(next.contains("before you repeat it") && !next.contains("op_id"), "{next}");
        }
        let missing = ClientError::Api(ApiError::not_found("no such claim").hint("look again"));
        assert_eq!(next_step(&missing).as_deref(), Some("look again"));
    }

    #[test]
    fn a_hint_names_tools_where_there_are_some() {
        for (hint, expected) in [
            ("`ergo conflicts` shows the claims on a card", "ergo_conflicts shows the claims on a card"),
            ("`ergo claims` and `ergo conflicts` show ids", "ergo_recall and ergo_conflicts show ids"),
            ("propose it with `ergo retract 3f2a`, or leave it", "propose it with ergo_retract, or leave it"),
            ("`ergo history 3f2a` shows all", "ergo_why shows all"),
            ("to undo that one: `ergo undo --scope acme/web`", "to undo that one: ergo_undo with scope acme/web"),
            ("`ergo supersede 3f2a '…' --reason '…' --scope 'acme/*'`", "ergo_supersede with scope acme/*"),
            ("ask ada to run `ergo undo 3f2a`", "ask ada to run `ergo undo 3f2a`"),
            ("start it with `ergo daemon start`", "start it with `ergo daemon start` in a terminal"),
            ("`GET /openapi.json` lists the fields", "the tool's input schema lists the fields"),
            ("`reason` is empty", "`reason` is empty"),
            ("a lone ` stays", "a lone ` stays"),
        ] {
            assert_eq!(as_tools(hint), expected);
        }
    }
}
