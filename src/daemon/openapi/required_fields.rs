//! Declares the fields that a request must have, if it contains the fields of another struct.
//!
//! utoipa requires a field of a struct in the same way for every request that contains this struct. Only serde knows
//! which of these fields a request cannot do without. So a request is read without any fields, and again with each
//! field that was missing, until it can be read.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use utoipa::{
    ToSchema,
    openapi::{AllOf, OpenApi, RefOr, Schema},
};

use super::{always_sent::shortest, own_fields, reference};
use crate::api::*;

/// A type of requests.
struct RequestType {
    name: fn() -> Cow<'static, str>,
    read: fn(&Value) -> Result<(), serde_json::Error>,
}

/// Lists types of requests.
macro_rules! requests {
    ($($request:ident),+ $(,)?) => {
        &[$(RequestType { name: <$request as ToSchema>::name, read: read::<$request> }),+]
    };
}

/// Every type of requests that contains the fields of another struct.
const REQUESTS: &[RequestType] = requests![
    ActRequest,
    AddRequest,
    AdoptRequest,
    AnswerJoinRequest,
    ApproveRequest,
    AuditRequest,
    BindRequest,
    CardRequest,
    CreateTeamRequest,
    DependRequest,
    GrantRequest,
    IngestRequest,
    InviteRequest,
    JoinRequest,
    JudgeNextRequest,
    JudgePairsRequest,
    JudgeRequest,
    LearnRequest,
    LeaveRequest,
    ModeRequest,
    NotesAddRequest,
    NotesCalibrateRequest,
    NotesCheckRequest,
    NotesScanRequest,
    NotesWriteRequest,
    PromoteRequest,
    QuarantineRequest,
    ReadStoryRequest,
    RememberRequest,
    RenameRequest,
    ResolveManyRequest,
    ResolveRequest,
    RevokeRequest,
    SupersedeRequest,
    UndoRequest,
];

fn read<T: DeserializeOwned>(value: &Value) -> Result<(), serde_json::Error> {
    T::deserialize(value).map(drop)
}

/// Adds the fields that each request must have to its required fields.
pub(super) fn declare(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    let before = components.schemas.clone();
    let schemas = serde_json::to_value(&before).unwrap_or_default();
    for request in REQUESTS {
        let name = (request.name)();
        let Some(schema) = components.schemas.get_mut(&*name) else { continue };
        if let RefOr::T(Schema::AllOf(parts)) = schema {
            copy_requests(parts, |name| before.get(name));
        }
        let Some(object) = own_fields(schema) else { continue };
        for field in required(request, &schemas).0 {
            if !object.required.contains(&field) {
                object.required.push(field);
            }
        }
    }
}

/// Replaces references to other requests by copies of them that require nothing, because the other request may require
/// more. A part with fields of its own becomes the first one.
fn copy_requests<'a>(parts: &mut AllOf, schema: impl Fn(&str) -> Option<&'a RefOr<Schema>>) {
    let (own, others): (Vec<_>, Vec<_>) = parts.items.drain(..).partition(|part| matches!(part, RefOr::T(_)));
    let copies = others.into_iter().flat_map(|part| {
        let RefOr::Ref(to) = &part else { return vec![part] };
        let name = to.ref_location.rsplit('/').next().unwrap_or_default();
        match schema(name) {
            Some(RefOr::T(Schema::AllOf(other))) if REQUESTS.iter().any(|request| (request.name)() == name) => {
                other.items.iter().cloned().map(without_required).collect()
            }
            _ => vec![part],
        }
    });
    parts.items = own.into_iter().chain(copies).collect();
}

fn without_required(mut part: RefOr<Schema>) -> RefOr<Schema> {
    if let RefOr::T(Schema::Object(object)) = &mut part {
        object.required.clear();
    }
    part
}

/// Returns the fields that a request must have, and the error of reading it with these fields.
fn required(request: &RequestType, schemas: &Value) -> (Vec<String>, Option<serde_json::Error>) {
    let mut given = Map::new();
    let error = loop {
        let Err(error) = (request.read)(&Value::Object(given.clone())) else { break None };
        let message = error.to_string();
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let Some(name) = missing.filter(|name| !given.contains_key(*name)) else { break Some(error) };
        let property = property(schemas.get(&*(request.name)()), name, schemas);
        let value = property.map_or(Value::Null, |property| shortest(&without_null(property), schemas));
        given.insert(name.to_owned(), value);
    };
    (given.into_iter().map(|(name, _)| name).collect(), error)
}

/// Returns the schema of a field that must be given, whose value cannot be null.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(types) = schema.get_mut("type")
        && let Some(other) = types.as_array().and_then(|all| all.iter().find(|one| *one != "null")).cloned()
    {
        *types = other;
    }
    schema
}

/// Returns the schema of a field of a request or of a struct that it contains.
fn property<'a>(schema: Option<&'a Value>, field: &str, schemas: &'a Value) -> Option<&'a Value> {
    let schema = schema?;
    if let Some(name) = reference(schema) {
        return property(schemas.get(name), field, schemas);
    }
    let parts = schema.get("allOf").and_then(Value::as_array);
    let own = schema.get("properties").and_then(|properties| properties.get(field));
    own.or_else(|| parts?.iter().find_map(|part| property(Some(part), field, schemas)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::daemon::openapi::document;

    fn required_of(name: &str) -> BTreeSet<String> {
        fn add(schema: &Value, document: &Value, names: &mut BTreeSet<String>) {
            if let Some(to) = schema["$ref"].as_str() {
                return add(document.pointer(to.trim_start_matches('#')).unwrap(), document, names);
            }
            names.extend(schema["required"].as_array().into_iter().flatten().map(|name| name.as_str().unwrap().into()));
            schema["allOf"].as_array().into_iter().flatten().for_each(|part| add(part, document, names));
        }
        let document = serde_json::to_value(document()).unwrap();
        let mut names = BTreeSet::new();
        add(&document["components"]["schemas"][name], &document, &mut names);
        names
    }

    #[test]
    fn every_request_with_the_fields_of_others_is_listed_and_can_be_read() {
        let document = serde_json::to_value(document()).unwrap();
        let schemas = &document["components"]["schemas"];
        let mut found = BTreeSet::new();
        for methods in document["paths"].as_object().unwrap().values() {
            for operation in methods.as_object().unwrap().values() {
                let body = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
                let name = body.as_str().and_then(|to| to.rsplit('/').next());
                found.extend(name.filter(|name| schemas[*name]["allOf"].is_array()).map(str::to_owned));
            }
        }
        let listed: BTreeSet<String> = REQUESTS.iter().map(|request| (request.name)().into_owned()).collect();
        assert_eq!(found, listed);
        for request in REQUESTS {
            let (_, error) = required(request, schemas);
            assert!(error.is_none(), "{}: {error:?}", (request.name)());
        }
    }

    #[test]
    fn requests_that_share_fields_require_what_each_of_them_needs() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        let claim = ["org_id", "project", "who", "statement"];
        assert_eq!(required_of("RememberRequest"), names(&claim));
        assert_eq!(required_of("LearnRequest"), names(&[&claim[..], &["source"]].concat()));
        assert_eq!(required_of("SupersedeRequest"), names(&["org_id", "project", "who", "targets"]));
        assert_eq!(required_of("ActRequest"), names(&["who", "target", "reason"]));
        assert_eq!(required_of("ResolveRequest"), names(&["who", "act"]));
        assert_eq!(required_of("UndoRequest"), names(&["who"]));
        assert_eq!(required_of("JoinRequest"), BTreeSet::new());
        assert_eq!(required_of("RecallRequest"), names(&["org_id", "project", "query"]));
    }
}
