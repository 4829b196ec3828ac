//! Parses exports of other memory tools: JSON lines of the official MCP memory server, and JSON lists (mem0, Engram and others).

use std::collections::BTreeMap;

use serde_json::Value;

use super::SkippedText;
use crate::domain::{ClaimKind, text::has_word};

/// One memory of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedMemory {
    /// Its line, or its position in the list, from 1.
    pub line: usize,
    pub statement: String,
    /// A fact, unless the export gives another kind.
    pub kind: ClaimKind,
    pub reason: Option<String>,
    /// The key of a fact: unique, so that memories do not overwrite each other.
    pub key: Option<String>,
    /// The agent that wrote it, if it is named.
    pub agent: Option<String>,
    /// The day from which the memory holds, `YYYY-MM-DD`: the one in the export, else the day on which the memory was written.
    pub valid_from: Option<String>,
    /// The last day of its validity.
    pub valid_until: Option<String>,
    /// When the memory was written, in milliseconds since the Unix epoch; the story reads memories of one day in this order.
    pub written: Option<i64>,
}

/// A parsed export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryExport {
    /// Its memories, the oldest first if each says when it was written, else in their order.
    pub memories: Vec<ImportedMemory>,
    pub skipped: Vec<SkippedText>,
    /// Whether the export is one JSON list, whose items are counted instead of its lines.
    pub is_list: bool,
    /// Fields that claims do not have, each with its number of occurrences.
    pub dropped: BTreeMap<String, usize>,
}

/// Names of the field with the author.
const AGENT_FIELDS: [&str; 3] = ["agent_id", "agent", "agent_name"];

/// Names of the field with the time of writing.
const TIME_FIELDS: [&str; 4] = ["committed_at", "created_at", "timestamp", "at"];

/// Names of fields that mean nothing outside of the export.
const EXPORT_ONLY_FIELDS: [&str; 4] = ["id", "fact_id", "content_hash", "hash"];

/// Names of the field with the list of memories.
const LIST_FIELDS: [&str; 6] = ["results", "memories", "facts", "claims", "data", "items"];

/// Names of the field with the text.
const TEXT_FIELDS: [&str; 5] = ["memory", "content", "text", "statement", "fact"];

/// Parses an export. The error is a message that says why the format is unknown.
pub fn read(text: &str) -> Result<MemoryExport, String> {
    let mut out = MemoryExport::default();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let list = match &value {
            Value::Array(list) => Some(list),
            Value::Object(fields) => LIST_FIELDS.iter().find_map(|name| fields.get(*name)?.as_array()),
            _ => None,
        };
        // An object without a list may be the only line of the server's format.
        if let Some(list) = list {
            out.is_list = true;
            list.iter().enumerate().for_each(|(at, item)| out.item(at + 1, item));
            // Some tools list the newest first, but the story keeps the order of import for claims of one day.
            if out.memories.iter().all(|memory| memory.written.is_some()) {
                out.memories.sort_by_key(|memory| memory.written);
            }
            return Ok(out);
        }
        if value.get("type").is_none() {
            return Err("not a list of memories".to_owned());
        }
    }
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => out.node(at + 1, &value),
            Err(error) if out.memories.is_empty() => {
                return Err(format!(
                    "line {} is not valid JSON ({error}); expected JSON lines or a list of memories",
                    at + 1
                ));
            }
            Err(error) => out.skip(at + 1, line, &format!("not valid JSON: {error}")),
        }
    }
    Ok(out)
}

impl MemoryExport {
    fn skip(&mut self, line: usize, text: &str, why: &str) {
        let text = text.chars().take(80).collect();
        self.skipped.push(SkippedText { line, text, why: why.to_owned() });
    }

    /// Parses a line of the official server: an entity with its observations, or a relation.
    fn node(&mut self, line: usize, value: &Value) {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().trim();
        match text("type") {
            "entity" => {
                let name = text("name");
                let observations = value.get("observations").and_then(Value::as_array).into_iter().flatten();
                let mut none = true;
                for observation in observations.filter_map(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
                {
                    none = false;
                    // An observation is stored without its entity, so it must name the entity itself.
                    let named = observation.to_lowercase().contains(&name.to_lowercase());
                    let statement = if named { observation.to_owned() } else { format!("{name}: {observation}") };
                    self.fact(line, statement);
                }
                if none {
                    self.skip(line, name, "an entity without observations");
                }
            }
            "relation" => {
                let verb = text("relationType").replace('_', " ");
                let (from, to) = (text("from"), text("to"));
                if from.is_empty() || to.is_empty() || verb.is_empty() {
                    self.skip(line, &verb, "a relation without `from` or `to`");
                } else {
                    self.fact(line, format!("{from} {verb} {to}."));
                }
            }
            other => self.skip(line, other, "neither an entity nor a relation"),
        }
    }

    fn fact(&mut self, line: usize, statement: String) {
        let hash = blake3::hash(statement.as_bytes()).to_hex();
        let key = format!("memory {}", hash.get(..16).unwrap_or_default());
        let (reason, agent, valid_from, valid_until) = (None, None, None, None);
        let (kind, key) = (ClaimKind::Fact, Some(key));
        let written = None;
        self.memories.push(ImportedMemory {
            line,
            statement,
            kind,
            reason,
            key,
            agent,
            valid_from,
            valid_until,
            written,
        });
    }

    /// Parses an element of a list: a text, or an object with one.
    fn item(&mut self, line: usize, value: &Value) {
        let field = |names: &[&str]| names.iter().find_map(|name| value.get(*name)?.as_str()).map(str::trim);
        let statement = value.as_str().or_else(|| field(&TEXT_FIELDS)).unwrap_or_default().trim();
        if statement.is_empty() {
            self.skip(line, &value.to_string(), "empty");
            return;
        }
        let named = field(&["fact_type", "kind", "type", "category"]).and_then(|kind| kind.parse::<ClaimKind>().ok());
        let kind = named.unwrap_or(ClaimKind::Fact);
        let reason = field(&["reason", "rationale", "because", "why"]).filter(|reason| has_word(reason));
        let kept = MemoryFields::of(value);
        self.fact(line, statement.to_owned());
        let Some(memory) = self.memories.last_mut() else { return };
        memory.agent.clone_from(&kept.agent);
        let written = kept.written.as_deref().and_then(time_of);
        memory.written = written.map(jiff::Timestamp::as_millisecond);
        memory.valid_from = kept.valid_from.clone().or_else(|| written.map(day));
        memory.valid_until.clone_from(&kept.valid_until);
        let words: Vec<String> = reason.map(str::to_owned).into_iter().chain(kept.words()).collect();
        memory.reason = (!words.is_empty()).then(|| words.join(" "));
        if kind.is_guarded() {
            (memory.kind, memory.key) = (kind, None);
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            let known = TEXT_FIELDS.contains(&name.as_str())
                || AGENT_FIELDS.contains(&name.as_str())
                || TIME_FIELDS.contains(&name.as_str())
                || EXPORT_ONLY_FIELDS.contains(&name.as_str())
                || [
                    "reason",
                    "rationale",
                    "because",
                    "why",
                    "scope",
                    "confidence",
                    "valid_from",
                    "valid_until",
                    "engineer",
                ]
                .contains(&name.as_str())
                || (["fact_type", "kind", "type", "category"].contains(&name.as_str()) && named.is_some());
            let empty = value.is_null() || value.as_str() == Some("") || value.as_array().is_some_and(Vec::is_empty);
            if !known && !empty {
                *self.dropped.entry(name.clone()).or_default() += 1;
            }
        }
    }
}

/// The fields of a memory besides its text.
#[derive(Default)]
struct MemoryFields {
    agent: Option<String>,
    engineer: Option<String>,
    scope: Option<String>,
    confidence: Option<String>,
    written: Option<String>,
    valid_from: Option<String>,
    valid_until: Option<String>,
}

impl MemoryFields {
    fn of(value: &Value) -> Self {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| value.get(*name).filter(|value| !value.is_null()))?;
            let text = found.as_str().map_or_else(|| found.to_string(), |text| text.trim().to_owned());
            (!text.is_empty() && (found.is_string() || found.is_number())).then_some(text)
        };
        let day = |names: &[&str]| text(names).and_then(|text| time_of(&text)).map(day);
        Self {
            agent: text(&AGENT_FIELDS),
            engineer: text(&["engineer"]),
            scope: text(&["scope"]),
            confidence: text(&["confidence"]),
            written: text(&TIME_FIELDS),
            valid_from: day(&["valid_from"]),
            valid_until: day(&["valid_until"]),
        }
    }

    /// Formats the fields that claims do not have as a sentence.
    fn words(&self) -> Option<String> {
        let named = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
        let all = [
            named("scope", &self.scope),
            named("confidence", &self.confidence),
            named("written", &self.written),
            named("by", &self.engineer),
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| format!("From the export: {}.", all.join(", ")))
    }
}

/// The number from which a time since the Unix epoch is in milliseconds and not in seconds. As seconds, it lies in the year 5138.
const MILLISECONDS_FROM: f64 = 1e11;

/// Parses a date, a date and time (in UTC unless it says otherwise), or seconds or milliseconds since the Unix epoch.
fn time_of(text: &str) -> Option<jiff::Timestamp> {
    if let Ok(number) = text.parse::<f64>() {
        let millis = if number.abs() < MILLISECONDS_FROM { number * 1000.0 } else { number };
        return jiff::Timestamp::from_millisecond(millis as i64).ok();
    }
    let utc = |time: jiff::civil::DateTime| time.to_zoned(jiff::tz::TimeZone::UTC).ok().map(|time| time.timestamp());
    let whole = || text.parse::<jiff::Timestamp>().ok();
    let local = || text.parse::<jiff::civil::DateTime>().ok().and_then(utc);
    let start = || text.get(..10)?.parse::<jiff::civil::Date>().ok().and_then(|day| utc(day.at(0, 0, 0, 0)));
    whole().or_else(local).or_else(start)
}

/// Returns the day of a time in UTC, `YYYY-MM-DD`.
fn day(time: jiff::Timestamp) -> String {
    time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_official_servers_graph_becomes_facts() {
        let text = "{\"type\":\"entity\",\"name\":\"Billing\",\"entityType\":\"service\",\"observations\":[\"Billing runs on port 81\",\"owned by Ada\"]}\n\
                    {\"type\":\"relation\",\"from\":\"Billing\",\"to\":\"Postgres\",\"relationType\":\"depends_on\"}\n\
                    {\"type\":\"entity\",\"name\":\"Empty\",\"entityType\":\"x\",\"observations\":[]}\nnonsense\n";
        let read = read(text).unwrap();
        let statements: Vec<_> = read.memories.iter().map(|memory| (memory.line, memory.statement.as_str())).collect();
        assert_eq!(
            statements,
            [(1, "Billing runs on port 81"), (1, "Billing: owned by Ada"), (2, "Billing depends on Postgres.")]
        );
        let keys: std::collections::BTreeSet<_> = read.memories.iter().map(|memory| memory.key.clone()).collect();
        assert_eq!(keys.len(), 3, "none overwrites another");
        assert_eq!(read.skipped.iter().map(|skip| skip.line).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(super::read(text.lines().next().unwrap()).unwrap().memories.len(), 2, "one line alone");
    }

    #[test]
    fn an_engram_export_keeps_times_scope_confidence_and_agent_and_says_what_it_drops() {
        let text = r#"{"facts": [{"fact_id": "f1", "content": "The rate limit is 1,000 req/s", "scope": "auth", "confidence": 0.9,
            "fact_type": "decision", "agent_id": "claude-1", "committed_at": "2026-03-01T10:00:00Z", "valid_from": "2026-03-01T10:00:00Z",
            "valid_until": null, "embedding": [1, 2], "keywords": []}]}"#;
        let read = read(text).unwrap();
        let memory = &read.memories[0];
        assert_eq!((memory.kind, memory.agent.as_deref()), (ClaimKind::Decision, Some("claude-1")));
        assert_eq!((memory.valid_from.as_deref(), memory.valid_until.as_deref()), (Some("2026-03-01"), None));
        let reason = memory.reason.as_deref().unwrap();
        assert_eq!(reason, "From the export: scope auth, confidence 0.9, written 2026-03-01T10:00:00Z.");
        assert_eq!(read.dropped, BTreeMap::from([("embedding".to_owned(), 1)]));
        assert!(memory.written.is_some());
    }

    #[test]
    fn a_reason_without_a_word_is_none() {
        let read = read(r#"[{"content": "We use REST.", "kind": "decision", "reason": "—"}]"#).unwrap();
        assert_eq!(read.memories[0].reason, None);
    }

    #[test]
    fn a_memory_holds_from_the_day_on_which_it_was_written_and_the_oldest_comes_first() {
        let text = r#"[{"content": "We use REST again.", "committed_at": "2026-03-01T18:00:00Z"},
            {"content": "We use GraphQL.", "committed_at": "2026-03-01 09:00:00"},
            {"content": "We use REST.", "created_at": 1767225600},
            {"content": "It holds later.", "created_at": "2026-03-02", "valid_from": "2026-04-01"}]"#;
        let read = read(text).unwrap();
        let dates: Vec<_> = read.memories.iter().map(|memory| (memory.line, memory.valid_from.as_deref())).collect();
        let expected = [(3, "2026-01-01"), (2, "2026-03-01"), (1, "2026-03-01"), (4, "2026-04-01")];
        assert_eq!(dates, expected.map(|(line, day)| (line, Some(day))));
        // Unless each memory has a time, the order of the list stays.
        let text = r#"[{"content": "b", "created_at": "2026-03-02"}, {"content": "a"}]"#;
        let read = super::read(text).unwrap();
        assert_eq!(read.memories.iter().map(|memory| memory.line).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn times_are_read_in_the_forms_that_tools_write() {
        for (text, expected) in [
            ("1772359200", Some("2026-03-01")),
            ("1772359200000", Some("2026-03-01")),
            ("2026-03-01T23:30:00-02:00", Some("2026-03-02")),
            ("2026-03-01T10:00:00.123456", Some("2026-03-01")),
            ("2026-03-01 is the day", Some("2026-03-01")),
            ("soon", None),
            ("ääääääää", None),
        ] {
            assert_eq!(time_of(text).map(day).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn lists_of_memories_become_facts_or_what_they_say_they_are() {
        let one = r#"{"results": [{"id": "1", "memory": "Likes tabs", "user_id": "ada"}, {"id": "2", "memory": ""}]}"#;
        let read_one = read(one).unwrap();
        assert_eq!((read_one.memories.len(), read_one.memories[0].kind), (1, ClaimKind::Fact));
        assert_eq!(read_one.skipped[0].line, 2);
        let two = r#"[{"content": "Use Rust", "fact_type": "decision", "reason": "Speed."}, {"content": "x", "fact_type": "warning"}, "plain"]"#;
        let memories = read(two).unwrap().memories;
        assert_eq!((memories[0].kind, memories[0].reason.as_deref()), (ClaimKind::Decision, Some("Speed.")));
        assert_eq!((memories[1].kind, memories[2].statement.as_str()), (ClaimKind::Fact, "plain"));
        for wrong in ["", "5", "{\"a\": 1}", "not json"] {
            assert!(read(wrong).map_or(true, |read| read.memories.is_empty()), "{wrong}");
        }
    }
}
