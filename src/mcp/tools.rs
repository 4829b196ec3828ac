//! The tools: names, descriptions, schemas. Each word of them costs tokens in every session of every agent.

use std::{borrow::Cow, sync::Arc};

use rmcp::model::{Tool as ListedTool, ToolAnnotations, object};
use serde_json::{Value, json};

use crate::{api::CardAct, domain::PairVerdict};

/// The set of tools that are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// All tools, except those that others replace.
    #[default]
    Default,
    /// Only the six essential tools.
    Minimal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum McpTool {
    Remember,
    Learn,
    Supersede,
    Judge,
    Retract,
    Why,
    Recall,
    Ingest,
    History,
    Conflicts,
    Resolve,
    Diagnose,
    Scopes,
    Undo,
}

impl McpTool {
    /// All tools in the order of the list, the most used first.
    const ALL: [Self; 14] = [
        Self::Recall,
        Self::Why,
        Self::Remember,
        Self::Supersede,
        Self::Judge,
        Self::Conflicts,
        Self::Learn,
        Self::Retract,
        Self::Resolve,
        Self::Undo,
        Self::Ingest,
        Self::History,
        Self::Diagnose,
        Self::Scopes,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Remember => "ergo_remember",
            Self::Learn => "ergo_learn",
            Self::Supersede => "ergo_supersede",
            Self::Judge => "ergo_judge",
            Self::Retract => "ergo_retract",
            Self::Why => "ergo_why",
            Self::Recall => "ergo_recall",
            Self::Ingest => "ergo_ingest",
            Self::History => "ergo_history",
            Self::Conflicts => "ergo_conflicts",
            Self::Resolve => "ergo_resolve",
            Self::Diagnose => "ergo_diagnose",
            Self::Scopes => "ergo_scopes",
            Self::Undo => "ergo_undo",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Remember => {
                "Store one claim with its reason. If it contradicts an active claim, nothing is stored: result is \
                    \"conflict\", with the contradicting claims and the ways to continue."
            }
            Self::Learn => {
                "Like ergo_remember, for what you read in a document or in code: source is required, reason only if it \
                    gives one."
            }
            Self::Supersede => {
                "Replace active claims with a new statement because something changed; reason says what changed."
            }
            Self::Judge => {
                "Answer a result \"consider\": how your statement relates to each claim. Without token: judge pairs of stored claims; \
                    call it without arguments to list them."
            }
            Self::Retract => "Withdraw a claim that was never right. It stays in the history.",
            Self::Why => {
                "Why something is so: the active claim, its reason, and the claims that it replaced. Takes a question \
                    or a claim id."
            }
            Self::Recall => "What is known about a subject: active claims, best first. Ask before you decide.",
            Self::Ingest => {
                "Ingest a file for reference: ergo_recall then finds its passages. Call it again when the file has \
                    changed or was deleted."
            }
            Self::History => "Everything that happened to a claim.",
            Self::Conflicts => "List open conflicts; with card, show one in full.",
            Self::Resolve => "Settle a conflict as the user wants. ergo_conflicts with card lists the possible acts.",
            Self::Diagnose => "The scopes that hold claims, counts, and problems with the store, if any.",
            Self::Scopes => "The scopes that hold claims, and which is yours.",
            Self::Undo => "Undo your own last change here; call it again to undo the one before.",
        }
    }

    /// Whether the profile lists the tool. [`McpTool::Scopes`] is part of [`McpTool::Diagnose`], and [`McpTool::Why`]
    /// gives most of what [`McpTool::History`] does. Both can still be called.
    fn is_listed(self, profile: Profile) -> bool {
        match profile {
            Profile::Default => !matches!(self, Self::Scopes | Self::History),
            Profile::Minimal => self.minimal(),
        }
    }

    fn minimal(self) -> bool {
        matches!(self, Self::Remember | Self::Supersede | Self::Judge | Self::Why | Self::Recall | Self::Conflicts)
    }

    fn input(self) -> Value {
        let text = json!({"type": "string"});
        let texts = json!({"type": "array", "items": {"type": "string"}});
        let kinds = ["decision", "constraint", "rejection", "convention", "fact"];
        let (kind, new_kind) = (json!({"enum": kinds}), json!({"enum": kinds, "default": "decision"}));
        let scope = json!({"type": "string", "description": "ORG/PROJECT; default: this project"});
        let reason = json!({"type": "string", "description": "required unless kind is fact"});
        let day = json!({"type": "string", "description": "YYYY-MM-DD"});
        let (properties, required): (Value, &[&str]) = match self {
            Self::Remember => (
                json!({
                    "statement": {"type": "string", "description": "one self-contained sentence"},
                    "reason": reason, "kind": new_kind, "source": text,
                    "env": {"type": "string", "description": "environment in which it holds, such as staging; default: all"},
                    "team": text, "tenant": text, "valid_from": day, "valid_until": text,
                    "key": {"type": "string", "description": "facts only: a later fact with the same key replaces this one"},
                    "depends_on": texts,
                    "force_exception": {"type": "string", "description": "why both may stand; stores the claim \
                        although it contradicts an active one"},
                    "exception_to": {"type": "array", "items": {"type": "string"}, "description": "ids of the claims \
                        to which this one is an exception"},
                    "scope": scope,
                }),
                &["statement"],
            ),
            Self::Learn => (
                json!({"statement": text, "source": {"type": "string", "description": "path:line or URL"},
                    "reason": text, "kind": new_kind, "env": text, "team": text, "tenant": text, "valid_from": text,
                    "valid_until": text, "force_exception": text, "exception_to": texts, "scope": scope}),
                &["statement", "source"],
            ),
            Self::Supersede => (
                json!({"targets": {"type": "array", "items": {"type": "string"}, "description": "claim ids"},
                    "statement": text, "reason": text, "kind": kind, "source": text, "env": text, "team": text, "tenant": text,
                    "valid_from": text, "valid_until": text, "drop_conditions": {"type": "boolean"},
                    "force_exception": text, "exception_to": texts, "scope": scope}),
                &["targets", "statement", "reason"],
            ),
            Self::Judge => (
                json!({"token": text, "because": text, "verdicts": {"type": "object",
                    "additionalProperties": {"enum": PairVerdict::ALL.map(PairVerdict::as_str)}}}),
                &[],
            ),
            Self::Retract => (json!({"target": text, "reason": text, "scope": scope}), &["target", "reason"]),
            Self::Why => (json!({"question": text, "limit": {"type": "integer"}, "scope": scope}), &["question"]),
            Self::Recall => (
                json!({"query": text, "limit": {"type": "integer", "description": "default 3"}, "kinds": {"type": "array", "items": kind},
                    "include_history": {"type": "boolean"}, "scope": scope}),
                &["query"],
            ),
            Self::Ingest => (
                json!({"path": {"type": "string", "description": "path relative to the project's root"},
                    "text": {"type": "string", "description": "the file's content; by default the file is read"}, "scope": scope}),
                &["path"],
            ),
            Self::History => (json!({"claim": text}), &["claim"]),
            Self::Conflicts => (
                json!({"card": text, "status": {"enum": ["open", "snoozed", "settled", "all"]},
                    "limit": {"type": "integer"}, "cursor": text, "scope": scope}),
                &[],
            ),
            Self::Resolve => (
                json!({"card": text,
                    "act": {"enum": CardAct::ALL.map(CardAct::as_str)},
                    "reason": {"type": "string", "description": "required unless act is snooze"},
                    "winner": {"type": "string", "description": "supersede: id of the claim to keep"},
                    "target": {"type": "string", "description": "retract, narrow: id of the claim to change; \
                        exception: id of the claim that is the exception"},
                    "statement": {"type": "string", "description": "supersede: merged text; narrow: reworded text"},
                    "env": {"type": "string", "description": "narrow: environment in which the target holds"},
                    "team": text, "tenant": text, "valid_from": text, "valid_until": text, "drop_conditions": {"type": "boolean"},
                    "until": {"type": "string", "description": "snooze: when to show the card again, such as 3d or 2026-12-01"}}),
                &["card", "act"],
            ),
            Self::Undo => (json!({"scope": scope}), &[]),
            Self::Diagnose | Self::Scopes => (json!({}), &[]),
        };
        let mut schema = json!({"type": "object", "properties": properties});
        if let (Value::Object(fields), false) = (&mut schema, required.is_empty()) {
            fields.insert("required".to_owned(), json!(required));
        }
        schema
    }

    /// Returns the names of the arguments in the tool's schema.
    pub(super) fn arguments(self) -> Vec<String> {
        match &self.input()["properties"] {
            Value::Object(properties) => properties.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    fn output(self) -> Value {
        let (object_, array, text) = (json!({"type": "object"}), json!({"type": "array"}), json!({"type": "string"}));
        let (properties, required): (Value, &[&str]) = match self {
            Self::Remember | Self::Learn | Self::Supersede => (
                json!({"result": {"enum": ["stored", "consider", "conflict", "stale", "done", "proposed"]}, "claim_id": text,
                    "conflicts": array, "ways_to_continue": array, "warnings": array, "doubts": array, "token": text}),
                &["result"],
            ),
            Self::Judge => (json!({"result": text}), &["result"]),
            Self::Retract | Self::Resolve => (
                json!({"result": {"enum": ["done", "stored", "conflict", "stale", "proposed"]}, "summary": text}),
                &["result"],
            ),
            Self::Why => (
                json!({"answer": object_, "may_disagree": array, "replaced": array, "others": array, "note": text}),
                &[],
            ),
            Self::Recall => (
                json!({"verdict": {"enum": ["known", "reference", "nearest", "nothing"]}, "probability": {"type": "number"},
                    "answer_in_file": object_, "claims": array, "references": array, "notes": array}),
                &["verdict"],
            ),
            Self::Ingest => (json!({"chunks": {"type": "integer"}, "added": {"type": "integer"}}), &[]),
            Self::History => (json!({"claim": object_, "events": array}), &["claim"]),
            Self::Conflicts => (json!({"total": {"type": "integer"}, "cards": array, "sides": array}), &[]),
            Self::Undo => (json!({"result": {"const": "done"}, "summary": text}), &["result"]),
            Self::Diagnose => (json!({"here": text, "scopes": array, "problems": array}), &["here"]),
            Self::Scopes => (json!({"here": text, "scopes": array}), &["here"]),
        };
        let mut schema = json!({"type": "object", "properties": properties});
        if let (Value::Object(fields), false) = (&mut schema, required.is_empty()) {
            fields.insert("required".to_owned(), json!(required));
        }
        schema
    }

    /// Returns the hints by which a client decides whether to ask its user before a call. No tool is destructive, since
    /// history is kept, and none reaches beyond the store.
    fn annotations(self) -> ToolAnnotations {
        let closed = ToolAnnotations::new().open_world(false);
        match self {
            Self::Why | Self::Recall | Self::History | Self::Conflicts | Self::Diagnose | Self::Scopes => {
                closed.read_only(true)
            }
            // Storing the same claim twice makes one claim.
            Self::Remember | Self::Learn | Self::Retract | Self::Ingest => {
                closed.read_only(false).destructive(false).idempotent(true)
            }
            Self::Supersede | Self::Judge | Self::Resolve | Self::Undo => closed.read_only(false).destructive(false),
        }
    }

    fn to_listed(self) -> ListedTool {
        ListedTool::new_with_raw(self.name(), Some(Cow::Borrowed(self.about())), object(self.input()))
            .with_raw_output_schema(Arc::new(object(self.output())))
            .with_annotations(self.annotations())
    }
}

fn listed_in(profile: Profile) -> impl Iterator<Item = McpTool> {
    McpTool::ALL.into_iter().filter(move |tool| tool.is_listed(profile))
}

/// Returns the tools of a profile, as a client lists them.
pub(super) fn list(profile: Profile) -> Vec<ListedTool> {
    listed_in(profile).map(McpTool::to_listed).collect()
}

/// Returns the names of the tools of a profile.
pub(super) fn names(profile: Profile) -> impl Iterator<Item = &'static str> {
    listed_in(profile).map(McpTool::name)
}

/// Returns the tool with this name, listed or not: an answer may name a tool that the profile does not list.
pub(super) fn named(name: &str) -> Option<McpTool> {
    McpTool::ALL.into_iter().find(|tool| tool.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_small_and_every_tool_says_what_it_does_to_the_store() {
        assert!(list(Profile::Default).len() <= 12);
        assert_eq!(list(Profile::Minimal).len(), 6);
        for tool in list(Profile::Default) {
            let hints = tool.annotations.unwrap();
            assert_eq!(hints.open_world_hint, Some(false), "{}", tool.name);
            assert!(hints.read_only_hint == Some(true) || hints.destructive_hint == Some(false), "{}", tool.name);
            assert!(tool.output_schema.is_some() && tool.name.starts_with("ergo_"));
            let known = tool.input_schema["properties"].as_object().unwrap();
            let required = tool.input_schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            assert!(required.iter().all(|name| known.contains_key(name.as_str().unwrap())), "{}", tool.name);
        }
    }

    #[test]
    fn the_whole_list_costs_at_most_2500_tokens() {
        // A token is at least 4.1 bytes of these texts (tokenizers o200k and cl100k), so this is 2,500 and 1,320 tokens.
        for (profile, most) in [(Profile::Default, 10_300), (Profile::Minimal, 5_500)] {
            let bytes = serde_json::to_string(&json!({"tools": list(profile)})).unwrap().len();
            assert!(bytes <= most, "{profile:?} has {bytes} bytes; at most {most}");
        }
    }
}
