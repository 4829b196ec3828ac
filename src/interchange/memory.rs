//! What other memory tools export: the official MCP memory server's lines of JSON, and lists of memories as JSON (mem0, Engram and
//! their kin). Each memory becomes a claim with where it is from; what is none is skipped with its place.

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
}

/// What an export holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memories {
    /// In order.
    pub memories: Vec<Memory>,
    /// What became none, and why.
    pub skipped: Vec<Skipped>,
}

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
        self.memories.push(Memory { line, statement, kind: ClaimKind::Fact, reason: None, key: Some(key) });
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
        let reason = field(&["reason", "rationale", "because", "why"]).filter(|reason| !reason.is_empty());
        match (named.unwrap_or(ClaimKind::Fact), reason) {
            (ClaimKind::Fact, _) => self.fact(line, statement.to_owned()),
            (kind, reason) => self.memories.push(Memory {
                line,
                statement: statement.to_owned(),
                kind,
                reason: reason.map(str::to_owned),
                key: None,
            }),
        }
    }
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
