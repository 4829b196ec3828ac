//! The OpenAPI document, generated from the handlers and the types of [`crate::api`].

mod always_sent;
mod request_limits;
mod required_fields;

use std::collections::BTreeSet;

use serde_json::Value;
use utoipa::{
    Modify, OpenApi,
    openapi::{
        Content, Object, Ref, RefOr, ResponseBuilder, Schema,
        security::{Http, HttpAuthScheme, SecurityScheme},
    },
};

use super::routes::DocumentedRoutes;
use crate::api::ErrorCode;

#[derive(OpenApi)]
#[openapi(
    info(title = "ergo", description = "Memory for coding agents: keeps decisions with their reasons, and refuses what contradicts them. Lengths of texts are limited in bytes of UTF-8."),
    modifiers(&TokenScheme),
    security(("token" = [])),
)]
struct Document;

/// Adds the bearer token, which requests over TCP need, to the document.
struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// Returns the OpenAPI document.
pub fn document() -> utoipa::openapi::OpenApi {
    let mut document = Document::openapi().merge_from(DocumentedRoutes::openapi());
    always_sent::declare(&mut document);
    request_limits::declare(&mut document);
    // Last, because it copies parts of requests with their limits.
    required_fields::declare(&mut document);
    describe_errors(&mut document);
    document
}

/// Adds the meaning and the HTTP status of each error code, and to each operation the errors that it does not list:
/// those that any request can get, and one entry for all others.
fn describe_errors(document: &mut utoipa::openapi::OpenApi) {
    let codes = ErrorCode::ALL.iter().map(|(code, meaning)| {
        let name = serde_json::to_value(code).unwrap_or_default();
        format!("\n- `{}`, HTTP {}:{meaning}", name.as_str().unwrap_or_default(), code.status())
    });
    let codes: String = codes.collect();
    let schemas = document.components.as_mut().map(|components| &mut components.schemas);
    if let Some(object) = schemas.and_then(|schemas| schemas.get_mut("ErrorCode")).and_then(own_fields) {
        object.description = Some(format!("A stable code of an error; each has one HTTP status.\n{codes}"));
    }
    let response = |description: &str| {
        let content = Content::new(Some(Ref::from_schema_name("ApiError")));
        ResponseBuilder::new().description(description).content("application/json", content)
    };
    for (name, path) in &mut document.paths.paths {
        for (operation, has_body) in [(&mut path.get, false), (&mut path.post, true)] {
            let Some(operation) = operation else { continue };
            for status in statuses_of_any(name, has_body) {
                let declared = operation.responses.responses.entry(status.to_string());
                declared.or_insert_with(|| response(&meaning(status)).into());
            }
            operation.responses.responses.insert("default".to_owned(), response("Any other error").into());
        }
    }
}

/// Returns the statuses of the errors that any request to a path can get.
fn statuses_of_any(path: &str, has_body: bool) -> impl Iterator<Item = u16> {
    let always =
        [ErrorCode::BadRequest, ErrorCode::Forbidden, ErrorCode::Timeout, ErrorCode::Internal, ErrorCode::Unavailable];
    let of_body = [ErrorCode::TooLarge, ErrorCode::UnsupportedMediaType].into_iter().filter(move |_| has_body);
    let of_token = (path != "/health").then_some(ErrorCode::Unauthorized);
    always.into_iter().chain(of_body).chain(of_token).map(ErrorCode::status)
}

/// Returns the meaning of the error codes with a status.
fn meaning(status: u16) -> String {
    let codes = ErrorCode::ALL.iter().filter(|(code, _)| code.status() == status);
    codes.map(|(_, meaning)| meaning.trim()).collect::<Vec<_>>().join(" Or: ")
}

/// Returns the part of a struct's schema that has its own fields, without those of structs that are flattened into it.
fn own_fields(schema: &mut RefOr<Schema>) -> Option<&mut Object> {
    match schema {
        RefOr::T(Schema::Object(object)) => Some(object),
        RefOr::T(Schema::AllOf(parts)) => parts.items.iter_mut().find_map(own_fields),
        _ => None,
    }
}

/// Returns the name of the schema to which this one refers.
fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.rsplit('/').next()
}

/// Adds the names of the schemas to which a part of the document refers, directly or through others.
fn referenced(part: &Value, schemas: &Value, names: &mut BTreeSet<String>) {
    match part {
        Value::Object(fields) => {
            if let Some(name) = reference(part)
                && names.insert(name.to_owned())
            {
                referenced(schemas.get(name).unwrap_or(&Value::Null), schemas, names);
            }
            fields.values().for_each(|value| referenced(value, schemas, names));
        }
        Value::Array(items) => items.iter().for_each(|value| referenced(value, schemas, names)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::daemon::ROUTES;

    #[test]
    fn every_route_is_in_the_document_and_nothing_else() {
        let document = serde_json::to_value(document()).unwrap();
        let mut documented = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            documented.extend(methods.as_object().unwrap().keys().map(|method| (method.clone(), path.clone())));
        }
        let routed: BTreeSet<_> =
            ROUTES.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
        assert_eq!(documented, routed);
    }

    #[test]
    fn every_error_code_is_described_with_its_status() {
        let document = serde_json::to_value(document()).unwrap();
        let schema = &document["components"]["schemas"]["ErrorCode"];
        let codes = schema["enum"].as_array().unwrap();
        assert_eq!(codes.len(), ErrorCode::ALL.len());
        let text = schema["description"].as_str().unwrap();
        assert!(codes.iter().all(|code| text.contains(&format!("`{}`, HTTP ", code.as_str().unwrap()))), "{text}");
        assert!(text.contains("`op_id_reused`, HTTP 409: The `op_id` was used for another request"), "{text}");
        for path in document["paths"].as_object().unwrap().values() {
            for operation in path.as_object().unwrap().values() {
                assert!(operation["responses"]["default"]["content"]["application/json"].is_object(), "{operation}");
            }
        }
    }

    #[test]
    fn every_parameter_is_part_of_its_path_or_of_the_query() {
        let document = serde_json::to_value(document()).unwrap();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
                let named = |place: &str| -> BTreeSet<&str> {
                    parameters.iter().filter(|one| one["in"] == place).filter_map(|one| one["name"].as_str()).collect()
                };
                let segments = path.split('/');
                let in_path: BTreeSet<_> =
                    segments.filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).collect();
                assert_eq!(named("path"), in_path, "{method} {path}");
                assert_eq!(named("path").len() + named("query").len(), parameters.len(), "{method} {path}");
            }
        }
    }

    #[test]
    fn every_write_declares_the_errors_that_it_can_answer() {
        let document = serde_json::to_value(document()).unwrap();
        let body = |response: &serde_json::Value| {
            response["content"]["application/json"]["schema"]["$ref"].as_str().map(str::to_owned)
        };
        let mut writes = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                let responses = &operation["responses"];
                if body(&responses["200"]).as_deref() != Some("#/components/schemas/WriteOutcome") {
                    continue;
                }
                writes += 1;
                assert!(responses["400"].is_object() && responses["404"].is_object(), "{path}");
                assert_eq!(body(&responses["409"]).as_deref(), Some("#/components/schemas/WriteConflict"), "{path}");
            }
        }
        assert!(writes >= 12, "{writes}");
        let either = document["components"]["schemas"]["WriteConflict"]["oneOf"].to_string();
        assert!(either.contains("schemas/WriteOutcome\"") && either.contains("schemas/ApiError\""), "{either}");
        for (path, status) in [("/promote", "403"), ("/retract", "403"), ("/undo", "403"), ("/undo", "400")] {
            assert!(document["paths"][path]["post"]["responses"][status].is_object(), "{path} {status}");
        }
        for path in ["/undo", "/audit", "/ingest", "/doubts", "/conflicts/resolve"] {
            let response = &document["paths"][path]["post"]["responses"]["409"];
            assert_eq!(body(response).as_deref(), Some("#/components/schemas/ApiError"), "{path}");
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn walk(value: &serde_json::Value, root: &serde_json::Value) {
            match value {
                serde_json::Value::Object(map) => {
                    if let Some(to) = map.get("$ref").and_then(|to| to.as_str()) {
                        assert!(root.pointer(to.trim_start_matches('#')).is_some(), "{to} leads nowhere");
                    }
                    map.values().for_each(|value| walk(value, root));
                }
                serde_json::Value::Array(items) => items.iter().for_each(|value| walk(value, root)),
                _ => {}
            }
        }
        let document = serde_json::to_value(document()).unwrap();
        walk(&document, &document);
        assert!(document["components"]["schemas"]["RememberRequest"].is_object());
    }
}
