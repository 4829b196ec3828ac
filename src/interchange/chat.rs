//! Extracts proposed decisions from chat exports, as a list for a person to tick.

mod decided;

use std::{collections::HashSet, fmt::Write};

use serde_json::Value;

use super::rules;
use crate::domain::{ClaimKind, text::STATED};

/// The maximum length of the parsed part of a message, in characters: longer messages are mostly pasted text.
const MAX_MESSAGE: usize = 20_000;

/// A sentence that may become a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatProposal {
    pub kind: ClaimKind,
    pub statement: String,
    pub reason: String,
    /// The name of the chat.
    pub source: String,
}

/// Parses a chat export. The error is a message that says why it is none.
pub fn read(text: &str) -> Result<Vec<ChatProposal>, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("not valid JSON ({error})"))?;
    let list = value.as_array().or_else(|| value.get("conversations")?.as_array());
    let chats = list.ok_or("not a list of chats")?;
    let mut out: Vec<ChatProposal> = Vec::new();
    let mut seen: HashSet<String> = HashSet::new();
    for chat in chats {
        let title = ["title", "name"].iter().find_map(|name| chat.get(*name)?.as_str()).unwrap_or("without a title");
        let title: String = title.chars().filter(|c| !c.is_control() && *c != '|').take(80).collect();
        for message in messages(chat) {
            let message: String = message.chars().take(MAX_MESSAGE).collect();
            for (kind, statement, reason) in proposals(&message) {
                if seen.insert(statement.clone()) {
                    out.push(ChatProposal { kind, statement, reason, source: format!("chat “{title}”") });
                }
            }
        }
    }
    Ok(out)
}

/// Returns the decisions and rules of a message, each with its kind and reason.
fn proposals(message: &str) -> Vec<(ClaimKind, String, String)> {
    let place = format!("{STATED}the chat.");
    let decided = decided::decisions(message);
    let decisions = decided.iter().map(|decided| {
        let reason = decided.reason.iter().map(|reason| format!("{reason} {place}")).next();
        (ClaimKind::Decision, decided.statement.clone(), reason.unwrap_or_else(|| place.clone()))
    });
    // A rule that is the same sentence with the words that introduce the decision.
    let is_decided = |rule: &rules::Rule| {
        let rule = rule.statement.to_lowercase();
        decided.iter().any(|decided| rule.ends_with(&decided.statement.to_lowercase()))
    };
    let rules = rules::parse("the chat", message).rules.into_iter().filter(|rule| !is_decided(rule));
    decisions.chain(rules.map(|rule| (rule.kind, rule.statement, rule.reason))).collect()
}

/// Returns the messages of a chat, in ChatGPT's or Claude's format.
fn messages(chat: &Value) -> Vec<String> {
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    if let Some(list) = chat.get("chat_messages").and_then(Value::as_array) {
        let message = |message: &Value| {
            let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
            let blocks: Vec<String> = blocks.filter_map(|block| text(block.get("text")?)).collect();
            message.get("text").and_then(text).unwrap_or_else(|| blocks.join("\n"))
        };
        return list.iter().map(message).collect();
    }
    let nodes = chat.get("mapping").and_then(Value::as_object).into_iter().flatten();
    let parts = nodes.filter_map(|(_, node)| node.pointer("/message/content/parts")?.as_array());
    parts.flatten().filter_map(text).collect()
}

/// Formats proposals as a Markdown list to tick.
pub fn list(proposals: &[ChatProposal]) -> String {
    let mut text = String::from(
        "# Proposals\n\nTo store a line, put an x into its brackets; correct the wording if needed. Then run `ergo \
            import proposals FILE`.\n\n",
    );
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/");
    for ChatProposal { kind, statement, reason, source } in proposals {
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "- [ ] {kind}: {} | because: {} | from: {}", line(statement), line(reason), line(source));
    }
    text
}

/// Returns the ticked proposals with their lines, from 1, and the ticked lines that cannot be parsed.
pub fn ticked(text: &str) -> (Vec<(usize, ChatProposal)>, Vec<usize>) {
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        let Some(rest) = ["- [x] ", "- [X] ", "* [x] "].iter().find_map(|mark| line.strip_prefix(mark)) else {
            continue;
        };
        match proposal(rest) {
            Some(proposal) => found.push((at + 1, proposal)),
            None => wrong.push(at + 1),
        }
    }
    (found, wrong)
}

fn proposal(text: &str) -> Option<ChatProposal> {
    let mut parts = text.split('|').map(str::trim);
    let (kind, statement) = parts.next()?.split_once(':')?;
    let (mut reason, mut source) = (String::new(), String::new());
    for part in parts {
        if let Some(text) = part.strip_prefix("because:") {
            text.trim().clone_into(&mut reason);
        } else if let Some(text) = part.strip_prefix("from:") {
            text.trim().clone_into(&mut source);
        }
    }
    let statement = statement.trim().to_owned();
    let kind = kind.trim().parse().ok()?;
    (!statement.is_empty()).then_some(ChatProposal { kind, statement, reason, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sounds_like_a_decision_is_proposed_from_both_forms() {
        let one = r#"[{"title": "Plan | x", "mapping": {"a": {"message": {"content": {"parts": ["- Never log request bodies, because they hold card numbers."]}}}, "b": {"message": null}}}]"#;
        let two = r#"[{"name": "Plan", "chat_messages": [{"sender": "human", "text": "Hello!"}, {"sender": "assistant", "text": "- Never log request bodies, because they hold card numbers.\n- Never log request bodies, because they hold card numbers."}]}]"#;
        let three = r#"[{"name": "Plan", "chat_messages": [{"text": "", "content": [{"type": "text", "text": "- Never log request bodies, because they hold card numbers."}]}]}]"#;
        for text in [one, two, three] {
            let found = read(text).unwrap();
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(
                found[0].statement.contains("log request bodies") && found[0].reason.contains("card numbers"),
                "{found:?}"
            );
            assert!(found[0].source.starts_with("chat “Plan"), "{found:?}");
        }
        assert!(read("5").is_err() && read("no").is_err());
        assert_eq!(read("[]").unwrap(), []);
    }

    #[test]
    fn a_decision_is_proposed_once() {
        let chats = r#"[{"name": "Plan", "chat_messages": [{"text": "Decision: use Postgres for orders, because they need transactions.\nLet's go with Redis for sessions"}]}]"#;
        let found: Vec<_> = read(chats).unwrap().into_iter().map(|one| (one.kind, one.statement, one.reason)).collect();
        let of = |statement: &str, reason: &str| (ClaimKind::Decision, statement.to_owned(), reason.to_owned());
        let because = "They need transactions. Stated in the chat.";
        assert_eq!(
            found,
            [of("Use Postgres for orders.", because), of("Use Redis for sessions.", "Stated in the chat.")]
        );
    }

    #[test]
    fn only_what_is_ticked_comes_back() {
        let proposal = |statement: &str| ChatProposal {
            kind: ClaimKind::Constraint,
            statement: statement.into(),
            reason: "It is so.".into(),
            source: "chat “x”".into(),
        };
        let (yes, no) = (proposal("Never log."), proposal("Always log."));
        let text = list(&[yes.clone(), no]);
        assert_eq!(ticked(&text), (vec![], vec![]));
        let text = text.replacen("[ ]", "[x]", 1) + "- [x] nonsense\n- [x] wish: to fly\n";
        let (found, wrong) = ticked(&text);
        assert_eq!((found, wrong), (vec![(5, yes)], vec![7, 8]));
    }
}
