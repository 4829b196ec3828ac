//! The hash of a request, which tells a retry from another request with the same `op_id`.

use serde::Serialize;
use serde_json::Value;

use crate::store::RequestHash;

/// Fields that say who sends the request, from where and how; a retry may differ in them.
const IGNORED_FIELDS: [&str; 7] = ["op_id", "who", "agent", "identity", "source", "dry_run", "expect_rev"];

/// Returns the hash of a request to `act`. Fields without a value do not count, so that a field added in a later
/// version does not change the hash of requests that don't use it.
pub(super) fn request_hash(act: &str, request: &impl Serialize) -> Option<RequestHash> {
    let mut value = serde_json::to_value(request).ok()?;
    prune(&mut value);
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/request/1");
    hasher.update(act.as_bytes());
    hasher.update(&[0]);
    // Objects are serialised with sorted keys.
    hasher.update(value.to_string().as_bytes());
    let mut hash = [0; 16];
    hash.copy_from_slice(hasher.finalize().as_bytes().get(..16)?);
    Some(RequestHash(hash))
}

/// Removes the [`IGNORED_FIELDS`], and fields without a value.
fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, field| {
                // In `keep`, the source names the side of a card that stays.
                if name != "keep" {
                    prune(field);
                }
                !IGNORED_FIELDS.contains(&name.as_str()) && !is_nothing(field)
            });
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        Value::String(text) if text.trim().len() < text.len() => *text = text.trim().to_owned(),
        _ => {}
    }
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_retry_by_a_later_version_asks_for_the_same() {
        let first = json!({"statement": "a", "reason": "b", "op_id": "1", "depends_on": ["x"], "who": "ada"});
        let later = json!({
            "who": "ada", "agent": "bot/2", "reason": " b ", "statement": "a", "depends_on": ["x"], "op_id": "1",
            "identity": "git@a", "source": "a.md:7", "expect_rev": 3, "fresh": null, "flag": false, "more": {"of": []},
        });
        assert_eq!(request_hash("remember", &first), request_hash("remember", &later));
    }

    #[test]
    fn another_matter_is_another_request() {
        let first = request_hash("retract", &json!({"target": "aa", "reason": "b", "project": "api"}));
        for other in [
            json!({"target": "ab", "reason": "b", "project": "api"}),
            json!({"target": "aa", "reason": "c", "project": "api"}),
            json!({"target": "aa", "reason": "b", "project": "web"}),
            json!({"target": "aa", "reason": "b", "project": "api", "force": true}),
        ] {
            assert_ne!(request_hash("retract", &other), first, "{other}");
        }
        let keep =
            |source: &str| request_hash("resolve_many", &json!({"act": "supersede", "keep": {"source": source}}));
        assert_ne!(keep("CLAUDE.md"), keep("AGENTS.md"));
        assert_ne!(request_hash("reinstate", &json!({"target": "aa", "reason": "b", "project": "api"})), first);
    }
}
