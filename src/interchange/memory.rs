//! What other memory tools export: the official MCP memory server's lines of JSON, and lists of memories as JSON (mem0, Engram and
//! their kin). Each memory becomes a claim with where it is from; what is none is skipped with its place.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Skipped;
use crate::domain::ClaimKind;

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its place: the line, or the number in the list, from 1.
    pub line: usize,
    /// What it says.
    pub statement: String,
    /// What it is: a fact, unless the export says otherwise.
    pub kind: ClaimKind,
    /// Why, where the export says so.
    pub reason: Option<String>,
    /// The key of a fact: one memory must not overwrite another of the same subject.
    pub key: Option<String>,
    /// The agent that wrote it, where the export says so.
    pub agent: Option<String>,
    /// The first day on which it holds, `YYYY-MM-DD`.
    pub valid_from: Option<String>,
    /// The last day on which it holds.
    pub valid_until: Option<String>,
}

/// What an export holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memories {
    /// In order.
    pub memories: Vec<Memory>,
    /// What became none, and why.
    pub skipped: Vec<Skipped>,
    /// The fields that no claim has a place for, each with the number of memories that had it.
    pub dropped: BTreeMap<String, usize>,
}

/// The names under which an export says who wrote a memory.
const AGENTS: [&str; 3] = ["agent_id", "agent", "agent_name"];

/// The names under which it says when the memory was written.
const WRITTEN: [&str; 4] = ["committed_at", "created_at", "timestamp", "at"];

/// Fields that only name the memory within its export, or say again what the list says.
const OF_THE_EXPORT: [&str; 4] = ["id", "fact_id", "content_hash", "hash"];

/// The names under which a list of memories stands in a JSON object.
const LISTS: [&str; 6] = ["results", "memories", "facts", "claims", "data", "items"];

/// The names under which a memory says what it says.
const TEXTS: [&str; 5] = ["memory", "content", "text", "statement", "fact"];

/// Reads an export.
///
/// # Errors
/// A sentence where it is neither of the forms.
pub fn read(text: &str) -> Result<Memories, String> {
    let mut out = Memories::default();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let list = match &value {
            Value::Array(list) => Some(list),
            Value::Object(fields) => LISTS.iter().find_map(|name| fields.get(*name)?.as_array()),
            _ => None,
        };
        // A graph in one object, as some write it, and a file of one line are the server's own form.
        if let Some(list) = list {
            list.iter().enumerate().for_each(|(at, item)| out.item(at + 1, item));
            return Ok(out);
        }
        if value.get("type").is_none() {
            return Err("this is JSON, but no list of memories".to_owned());
        }
    }
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match serde_json::from_str::<Value>(line) {
            Ok(value) => out.node(at + 1, &value),
            Err(error) if out.memories.is_empty() => {
                return Err(format!(
                    "line {} is no JSON ({error}); expected lines of JSON or a list of memories",
                    at + 1
                ));
            }
            Err(error) => out.skip(at + 1, line, &format!("no JSON: {error}")),
        }
    }
    Ok(out)
}

impl Memories {
    fn skip(&mut self, line: usize, text: &str, why: &str) {
        let text = text.chars().take(80).collect();
        self.skipped.push(Skipped { line, text, why: why.to_owned() });
    }

    /// A line of the official server: an entity with its observations, or a relation between two.
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
                    // Out of its entity, an observation must still say what it is about.
                    let named = observation.to_lowercase().contains(&name.to_lowercase());
                    let statement = if named { observation.to_owned() } else { format!("{name}: {observation}") };
                    self.fact(line, statement);
                }
                if none {
                    self.skip(line, name, "an entity of which nothing is said");
                }
            }
            "relation" => {
                let verb = text("relationType").replace('_', " ");
                let (from, to) = (text("from"), text("to"));
                if from.is_empty() || to.is_empty() || verb.is_empty() {
                    self.skip(line, &verb, "a relation without both ends");
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
        self.memories.push(Memory { line, statement, kind, reason, key, agent, valid_from, valid_until });
    }

    /// An element of a list: a text, or an object that holds one.
    fn item(&mut self, line: usize, value: &Value) {
        let field = |names: &[&str]| names.iter().find_map(|name| value.get(*name)?.as_str()).map(str::trim);
        let statement = value.as_str().or_else(|| field(&TEXTS)).unwrap_or_default().trim();
        if statement.is_empty() {
            self.skip(line, &value.to_string(), "it says nothing");
            return;
        }
        let named = field(&["fact_type", "kind", "type", "category"]).and_then(|kind| kind.parse::<ClaimKind>().ok());
        let kind = named.unwrap_or(ClaimKind::Fact);
        let reason = field(&["reason", "rationale", "because", "why"]).filter(|reason| !reason.is_empty());
        let kept = Kept::of(value);
        self.fact(line, statement.to_owned());
        let Some(memory) = self.memories.last_mut() else { return };
        memory.agent.clone_from(&kept.agent);
        (memory.valid_from, memory.valid_until) = (kept.valid_from.clone(), kept.valid_until.clone());
        let words: Vec<String> = reason.map(str::to_owned).into_iter().chain(kept.words()).collect();
        memory.reason = (!words.is_empty()).then(|| words.join(" "));
        if kind.is_guarded() {
            (memory.kind, memory.key) = (kind, None);
        }
        for (name, value) in value.as_object().into_iter().flatten() {
            let known = TEXTS.contains(&name.as_str())
                || AGENTS.contains(&name.as_str())
                || WRITTEN.contains(&name.as_str())
                || OF_THE_EXPORT.contains(&name.as_str())
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

/// What an export says of a memory beside its words.
#[derive(Default)]
struct Kept {
    agent: Option<String>,
    engineer: Option<String>,
    scope: Option<String>,
    confidence: Option<String>,
    written: Option<String>,
    valid_from: Option<String>,
    valid_until: Option<String>,
}

impl Kept {
    fn of(value: &Value) -> Self {
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| value.get(*name).filter(|value| !value.is_null()))?;
            let text = found.as_str().map_or_else(|| found.to_string(), |text| text.trim().to_owned());
            (!text.is_empty() && (found.is_string() || found.is_number())).then_some(text)
        };
        let day = |names: &[&str]| text(names).and_then(|text| day_of(&text));
        Self {
            agent: text(&AGENTS),
            engineer: text(&["engineer"]),
            scope: text(&["scope"]),
            confidence: text(&["confidence"]),
            written: text(&WRITTEN),
            valid_from: day(&["valid_from"]),
            valid_until: day(&["valid_until"]),
        }
    }

    /// What has no field of its own in a claim, as a sentence.
    fn words(&self) -> Option<String> {
        let named = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
        let all = [
            named("scope", &self.scope),
            named("confidence", &self.confidence),
            named("written", &self.written),
            named("by", &self.engineer),
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        (!all.is_empty()).then(|| format!("In its export: {}.", all.join(", ")))
    }
}

/// The day of a time: `YYYY-MM-DD`, from a date, a date and time, or seconds since the Unix epoch.
fn day_of(text: &str) -> Option<String> {
    if let Ok(seconds) = text.parse::<f64>() {
        let time = jiff::Timestamp::from_second(seconds as i64).ok()?;
        return Some(time.to_zoned(jiff::tz::TimeZone::UTC).date().to_string());
    }
    text.get(..10)?.parse::<jiff::civil::Date>().ok().map(|date| date.to_string())
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
        let said: Vec<_> = read.memories.iter().map(|memory| (memory.line, memory.statement.as_str())).collect();
        assert_eq!(
            said,
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
        assert_eq!(reason, "In its export: scope auth, confidence 0.9, written 2026-03-01T10:00:00Z.");
        assert_eq!(read.dropped, BTreeMap::from([("embedding".to_owned(), 1)]));
        assert_eq!(day_of("1772359200").as_deref(), Some("2026-03-01"));
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
