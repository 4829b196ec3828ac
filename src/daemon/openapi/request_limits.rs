//! Declares the limits of requests that the daemon enforces: the lengths of texts and lists, and numbers.

use std::collections::BTreeSet;

use utoipa::openapi::{
    OpenApi, RefOr, Schema,
    schema::{ArrayItems, SchemaType, Type},
};

use super::{own_fields, referenced};
use crate::{
    api::{
        MAX_CARDS, MAX_CLUSTERED, MAX_FILE, MAX_FILE_NAME, MAX_IDENTITY, MAX_IDS, MAX_LISTED_INSIGHTS, MAX_NAME,
        MAX_PAGE, MAX_PAIRS, MAX_QUERY, MAX_RECALL, MAX_TEXT,
    },
    domain::{pair_prompt::MAX_PROMPT_PAIRS, scope},
};

/// The greatest lengths of lists: schema, field, limit.
const LISTS: [(&str, &str, usize); 8] = [
    // The claim in `target` counts, too.
    ("ActRequest", "also", MAX_CARDS - 1),
    ("DependRequest", "premises", MAX_IDS),
    ("JudgePairsRequest", "verdicts", MAX_PAIRS),
    ("PromoteRequest", "claims", MAX_IDS),
    ("RememberRequest", "depends_on", MAX_IDS),
    ("RememberRequest", "exception_to", MAX_IDS),
    ("ResolveManyRequest", "cards", MAX_CARDS),
    ("SupersedeRequest", "targets", MAX_IDS),
];

/// The greatest lengths of texts in bytes, if they differ from [`MAX_TEXT`]: schema, field, limit.
const TEXTS: [(&str, &str, usize); 13] = [
    ("Caller", "agent", MAX_NAME),
    ("Caller", "identity", MAX_IDENTITY),
    ("Caller", "org_id", scope::MAX_NAME),
    ("Caller", "project", scope::MAX_NAME),
    ("Caller", "who", MAX_NAME),
    ("IngestRequest", "path", MAX_FILE_NAME),
    ("IngestRequest", "text", MAX_FILE),
    ("JudgeRequest", "model", MAX_NAME),
    ("Qualifiers", "env", MAX_NAME),
    ("Qualifiers", "team", MAX_NAME),
    ("Qualifiers", "tenant", MAX_NAME),
    ("RecallRequest", "query", MAX_QUERY),
    ("RememberRequest", "key", MAX_NAME),
];

/// The greatest `limit` of requests with a body: schema, limit.
const BODY_PAGES: [(&str, usize); 3] =
    [("JudgeNextRequest", MAX_PROMPT_PAIRS), ("RecallRequest", MAX_RECALL), ("WhyRequest", MAX_RECALL)];

/// The greatest `limit` of lists: path, limit.
const QUERY_PAGES: [(&str, usize); 8] = [
    ("/claims", MAX_PAGE),
    ("/conflicts", MAX_PAGE),
    ("/doubts", MAX_PAIRS),
    ("/inbox", MAX_PAGE),
    ("/log", MAX_PAGE),
    ("/notes/clusters", MAX_CLUSTERED),
    ("/notes/insights", MAX_LISTED_INSIGHTS),
    ("/sync/quarantined", MAX_PAGE),
];

/// Adds the limits to the schemas of requests.
pub(super) fn declare(document: &mut OpenApi) {
    let value = serde_json::to_value(&*document).unwrap_or_default();
    let operations = value["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    let operations = operations.flat_map(|path| path.as_object().into_iter().flat_map(|path| path.values()));
    let mut requests = BTreeSet::new();
    operations.for_each(|one| referenced(&one["requestBody"], &value["components"]["schemas"], &mut requests));
    for (path, most) in QUERY_PAGES {
        let get = document.paths.paths.get_mut(path).and_then(|path| path.get.as_mut());
        for parameter in get.and_then(|get| get.parameters.as_mut()).into_iter().flatten() {
            if let RefOr::T(parameter) = parameter
                && parameter.name == "limit"
            {
                parameter.schema.iter_mut().for_each(|schema| limit_number(schema, most));
            }
        }
    }
    let Some(components) = &mut document.components else { return };
    let mut limit = |schema: &str, field: &str, by: &dyn Fn(&mut RefOr<Schema>)| {
        let object = components.schemas.get_mut(schema).and_then(own_fields);
        if let Some(property) = object.and_then(|object| object.properties.get_mut(field)) {
            by(property);
        }
    };
    for (schema, field, most) in LISTS {
        limit(schema, field, &|list| limit_list(list, most));
    }
    for (schema, field, most) in TEXTS {
        limit(schema, field, &|text| limit_text(text, most));
    }
    for (schema, most) in BODY_PAGES {
        limit(schema, "limit", &|number| limit_number(number, most));
    }
    for name in &requests {
        if let Some(schema) = components.schemas.get_mut(name) {
            limit_text(schema, MAX_TEXT);
        }
    }
}

fn limit_number(schema: &mut RefOr<Schema>, most: usize) {
    if let RefOr::T(Schema::Object(number)) = schema {
        number.maximum = Some(most.into());
    }
}

fn limit_list(schema: &mut RefOr<Schema>, most: usize) {
    if let RefOr::T(Schema::Array(list)) = schema {
        list.max_items = Some(most);
    }
}

/// Limits a text, or every text that a schema contains, except those that have a limit.
fn limit_text(schema: &mut RefOr<Schema>, most: usize) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(object) => {
            let is_text = match &object.schema_type {
                SchemaType::Type(kind) => *kind == Type::String,
                SchemaType::Array(kinds) => kinds.contains(&Type::String),
                SchemaType::AnyValue => false,
            };
            if is_text && object.enum_values.is_none() {
                object.max_length.get_or_insert(most);
            }
            object.properties.values_mut().for_each(|property| limit_text(property, most));
        }
        Schema::Array(list) => {
            if let ArrayItems::RefOrSchema(item) = &mut list.items {
                limit_text(item, most);
            }
        }
        Schema::AllOf(parts) => parts.items.iter_mut().for_each(|part| limit_text(part, most)),
        Schema::OneOf(choices) => choices.items.iter_mut().for_each(|choice| limit_text(choice, most)),
        Schema::AnyOf(choices) => choices.items.iter_mut().for_each(|choice| limit_text(choice, most)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::daemon::openapi::document;

    fn property<'a>(document: &'a Value, schema: &str, field: &str) -> &'a Value {
        let schema = &document["components"]["schemas"][schema];
        let parts = schema["allOf"].as_array();
        let own = parts.and_then(|parts| parts.iter().find(|part| part["properties"].is_object()));
        &own.unwrap_or(schema)["properties"][field]
    }

    #[test]
    fn every_limit_is_declared() {
        let document = serde_json::to_value(document()).unwrap();
        for (schema, field, most) in LISTS {
            assert_eq!(property(&document, schema, field)["maxItems"], most, "{schema} {field}");
        }
        for (schema, field, most) in TEXTS.into_iter().chain([("RememberRequest", "statement", MAX_TEXT)]) {
            assert_eq!(property(&document, schema, field)["maxLength"], most, "{schema} {field}");
        }
        for (schema, most) in BODY_PAGES {
            assert_eq!(property(&document, schema, "limit")["maximum"], most, "{schema}");
        }
        for (path, most) in QUERY_PAGES {
            let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap();
            let limit = parameters.iter().find(|parameter| parameter["name"] == "limit").unwrap();
            assert_eq!(limit["schema"]["maximum"], most, "{path}");
        }
    }
}
