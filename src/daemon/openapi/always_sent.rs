//! Declares the fields that answers always have as required.
//!
//! utoipa does not require a field that a client may do without when it reads an answer of an older daemon. Only serde
//! knows which of these the daemon always sends. So an answer with nothing but the required fields is read and written
//! again: the fields that it then has are always sent.

use std::borrow::Cow;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use utoipa::{ToSchema, openapi::OpenApi};

use super::{own_fields, reference};
use crate::{
    api::*,
    domain::{
        AgentJudgements, Flags, Norm, Qualifiers, Scope, TextWriter,
        guard_report::Evidence,
        norm::{Limit, NormScope},
    },
};

/// A type of answers, or of a part of them.
struct AnswerType {
    name: fn() -> Cow<'static, str>,
    read_and_write: fn(Value) -> Option<Value>,
}

/// Lists types of answers.
macro_rules! answers {
    ($($answer:ident),+ $(,)?) => {
        &[$(AnswerType { name: <$answer as ToSchema>::name, read_and_write: read_and_write::<$answer> }),+]
    };
}

/// Every type of answers with named fields.
const ANSWERS: &[AnswerType] = answers![
    ActOption,
    Added,
    AgentJudgements,
    AgentSession,
    AgentView,
    Agents,
    ApiError,
    AskThreshold,
    AuditOutcome,
    BackupOutcome,
    Bearing,
    Beside,
    BoundScope,
    BridgeView,
    Calibrated,
    CardPair,
    CardSettlement,
    CardSide,
    CardSummary,
    CardView,
    ChainLink,
    Change,
    ClaimView,
    ClaimsPage,
    ClusterMember,
    Conflict,
    ConflictsPage,
    Consider,
    ContactView,
    Contacts,
    ContestedSubject,
    Derivation,
    DeviceCard,
    DeviceName,
    Diagnose,
    DomainThreshold,
    Done,
    Doubt,
    Doubts,
    EventView,
    Evidence,
    Flags,
    GuardCounts,
    Health,
    History,
    ImportOutcome,
    ImportedScope,
    Inbox,
    InboxGroup,
    Ingested,
    IngestedFile,
    IngestedFiles,
    InsightFigures,
    InsightView,
    Insights,
    InviteView,
    Invites,
    JoinView,
    JudgeView,
    JudgedNext,
    JudgedPair,
    JudgedPairs,
    KindSize,
    Limit,
    LogPage,
    LongTask,
    LongTasks,
    ModelStatus,
    ModelsStatus,
    Norm,
    NormScope,
    NoteCluster,
    NoteClusters,
    NoteConflict,
    NoteFileView,
    NoteLink,
    NoteLinks,
    NotesAdded,
    NotesCalibrated,
    NotesCheck,
    NotesRun,
    NotesStatus,
    NotesWritten,
    NoticeItem,
    PairInDoubt,
    PeerView,
    Peers,
    PendingJoin,
    PendingJoins,
    Promotable,
    Promotions,
    Proposed,
    Provenance,
    Qualifiers,
    QuarantinedList,
    QuarantinedView,
    Questions,
    RecallAnswer,
    RecallHit,
    Reembedded,
    Reference,
    Refused,
    RefusedEvent,
    ResolvedCard,
    ResolvedMany,
    ReviewItem,
    RoundPeer,
    Scope,
    ScopeDoubts,
    ScopeStatus,
    ScopeThreshold,
    ScopeView,
    Scopes,
    SizeByKind,
    Snapshot,
    Stale,
    Stopping,
    StoreCheck,
    Stored,
    Story,
    StoryMark,
    StoryProgress,
    StoryQuestion,
    SyncRound,
    SyncStatus,
    TeamDone,
    TeamEnd,
    TeamStatus,
    TeamView,
    TextWriter,
    Timing,
    UndoOutcome,
    Unembedded,
    UnrelatedBaselineView,
    UnsharedChanges,
    Warning,
    WhyAnswer,
    WorkerStatus,
];

fn read_and_write<T: DeserializeOwned + Serialize>(value: Value) -> Option<Value> {
    serde_json::to_value(serde_json::from_value::<T>(value).ok()?).ok()
}

/// Adds the fields that each answer always has to its required fields.
pub(super) fn declare(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    let schemas = serde_json::to_value(&components.schemas).unwrap_or_default();
    for answer in ANSWERS {
        let schema = components.schemas.get_mut(&*(answer.name)()).and_then(own_fields);
        if let (Some(object), Some(sent)) = (schema, sent_fields(answer, &schemas)) {
            object.required = object.properties.keys().filter(|name| sent.contains_key(*name)).cloned().collect();
        }
    }
}

/// Returns the fields of the shortest answer of a type; `None` if the type cannot be read from its schema.
fn sent_fields(answer: &AnswerType, schemas: &Value) -> Option<Map<String, Value>> {
    match (answer.read_and_write)(shortest(schemas.get(&*(answer.name)())?, schemas))? {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

/// Returns the shortest value that fits a schema.
pub(super) fn shortest(schema: &Value, schemas: &Value) -> Value {
    let part = |name: &str| schema.get(name).and_then(Value::as_array);
    if let Some(name) = reference(schema) {
        return schemas.get(name).map_or(Value::Null, |schema| shortest(schema, schemas));
    }
    if let Some(parts) = part("allOf") {
        let values = parts.iter().map(|part| shortest(part, schemas));
        return Value::Object(values.filter_map(|value| value.as_object().cloned()).flatten().collect());
    }
    if let Some(first) = part("oneOf").or_else(|| part("anyOf")).and_then(|choices| choices.first()) {
        return shortest(first, schemas);
    }
    if let Some(first) = part("enum").and_then(|words| words.first()) {
        return first.clone();
    }
    let number = |name: &str| schema.get(name).and_then(Value::as_u64).unwrap_or_default();
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let required = part("required").into_iter().flatten().filter_map(Value::as_str);
            let properties = schema.get("properties");
            let of = |name: &str| Some((name.to_owned(), shortest(properties?.get(name)?, schemas)));
            Value::Object(required.filter_map(of).collect())
        }
        Some("array") => match schema.get("items") {
            Some(item) => vec![shortest(item, schemas); number("minItems") as usize].into(),
            None => part("prefixItems").into_iter().flatten().map(|item| shortest(item, schemas)).collect(),
        },
        Some("string") => "0".repeat(number("minLength") as usize).into(),
        Some("integer" | "number") => number("minimum").into(),
        Some("boolean") => false.into(),
        // Several types, of which one is null.
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::daemon::openapi::{document, referenced};

    #[test]
    fn every_answer_declares_the_fields_that_it_always_has() {
        let mut document = document();
        let value = serde_json::to_value(&document).unwrap();
        let schemas = &value["components"]["schemas"];
        let mut reached = BTreeSet::new();
        for methods in value["paths"].as_object().unwrap().values() {
            methods.as_object().unwrap().values().for_each(|one| referenced(&one["responses"], schemas, &mut reached));
        }
        let components = document.components.as_mut().unwrap();
        reached.retain(|name| {
            let object = components.schemas.get_mut(name).and_then(own_fields);
            object.is_some_and(|object| !object.properties.is_empty())
        });
        let listed: BTreeSet<String> = ANSWERS.iter().map(|answer| (answer.name)().into_owned()).collect();
        let differ: Vec<_> = reached.symmetric_difference(&listed).collect();
        assert!(differ.is_empty(), "in answers or in ANSWERS, but not in both: {differ:?}");
        for answer in ANSWERS {
            let name = (answer.name)();
            let sample = shortest(&schemas[&*name], schemas);
            assert!(sent_fields(answer, schemas).is_some(), "{name} cannot be read from {sample}");
        }
    }

    #[test]
    fn what_is_always_sent_is_required_and_what_has_a_default_in_a_request_is_not() {
        let document = serde_json::to_value(document()).unwrap();
        let required = |name: &str| document["components"]["schemas"][name]["required"].to_string();
        let stored = required("Stored");
        for field in ["claim_id", "duplicate", "replayed", "superseded", "warnings"] {
            assert!(stored.contains(&format!("\"{field}\"")), "{field}: {stored}");
        }
        assert!(required("ClaimView").contains("\"reason\""), "a field that may be null is sent as well");
        assert!(!required("ApiError").contains("hint"));
        assert!(!required("JudgeRequest").contains("verdicts") && !required("RememberRequest").contains("dry_run"));
    }
}
