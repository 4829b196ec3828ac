//! Compares what the OpenAPI document says about requests and errors with what the daemon does.

use std::{collections::BTreeSet, path::Path};

use axum::{Router, body::Body, response::Response};
use http::{Request, header};
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use tower_service::Service;
use url::form_urlencoded;

use super::{ROUTES, router};
use crate::{
    api::{ApiError, ErrorCode, MAX_BODY},
    daemon::{openapi::document, request_checks::RequestSource, state::testing::shared},
};

/// An operation of the document.
struct Operation<'a> {
    method: &'static str,
    path: &'static str,
    /// What the document says about it.
    described: &'a Value,
    /// Its fields, in the query or in the body.
    fields: BTreeSet<String>,
    /// Those that it requires.
    required: BTreeSet<String>,
}

impl<'a> Operation<'a> {
    fn of(method: &'static str, path: &'static str, document: &'a Value) -> Self {
        let described = &document["paths"][path][method];
        let mut operation = Self { method, path, described, fields: BTreeSet::new(), required: BTreeSet::new() };
        for parameter in described["parameters"].as_array().into_iter().flatten().filter(|one| one["in"] == "query") {
            let name = parameter["name"].as_str().unwrap().to_owned();
            if parameter["required"] == true {
                operation.required.insert(name.clone());
            }
            operation.fields.insert(name);
        }
        operation.add(&described["requestBody"]["content"]["application/json"]["schema"], document);
        operation
    }

    /// Adds the fields of a schema.
    fn add(&mut self, schema: &Value, document: &Value) {
        if let Some(to) = schema["$ref"].as_str() {
            return self.add(document.pointer(to.trim_start_matches('#')).unwrap(), document);
        }
        self.fields.extend(schema["properties"].as_object().into_iter().flat_map(|fields| fields.keys().cloned()));
        let required = schema["required"].as_array().into_iter().flatten();
        self.required.extend(required.map(|name| name.as_str().unwrap().to_owned()));
        schema["allOf"].as_array().into_iter().flatten().for_each(|part| self.add(part, document));
    }

    /// Returns the smallest valid request: the required fields, and those without which it would say nothing.
    fn smallest(&self) -> Map<String, Value> {
        let mut request: Map<_, _> = self.required.iter().map(|name| (name.clone(), sample(name, self.path))).collect();
        let more = match self.path {
            "/remember" => json!({"kind": "fact"}),
            "/supersede" => json!({"kind": "fact", "statement": "Deploys run on Mondays"}),
            "/conflicts/{id}/resolve" => json!({"reason": "They differ."}),
            "/judge" => json!({"verdicts": {"abcdabcd": "compatible"}, "because": "Both hold."}),
            "/sync/join" => json!({"ticket": "ergo1abcd"}),
            "/sync/quarantined/accept" | "/sync/quarantined/discard" => json!({"events": ["abcdabcd"]}),
            _ => json!({}),
        };
        request.extend(more.as_object().unwrap().clone());
        request
    }

    /// Sends a request with these fields over the socket.
    async fn send(&self, router: &mut Router, fields: &Map<String, Value>) -> Response {
        let path = self.path.replace("{id}", "abcdabcd");
        let (path, body) = if self.method == "get" {
            let mut query = form_urlencoded::Serializer::new(String::new());
            for (name, value) in fields {
                query.append_pair(name, value.as_str().unwrap());
            }
            (format!("{path}?{}", query.finish()), String::new())
        } else {
            (path, Value::Object(fields.clone()).to_string())
        };
        call(router, self.method, &path, RequestSource::Socket, &[], body).await
    }
}

/// Returns a valid value of a field.
fn sample(field: &str, path: &str) -> Value {
    match (field, path) {
        ("org_id" | "name", _) => json!("acme"),
        ("project", _) => json!("api"),
        ("who", _) => json!("ada"),
        ("agent", _) => json!("claude-code"),
        ("statement" | "text", _) => json!("Deploys run on Fridays"),
        ("reason", _) => json!("It was decided."),
        ("source", _) => json!("docs/deploys.md:3"),
        ("target" | "claim" | "token", _) => json!("abcdabcd"),
        ("targets" | "claims" | "premises", _) => json!(["abcdabcd"]),
        ("query" | "question", _) => json!("When do deploys run?"),
        ("path", "/ingest") => json!("docs/deploys.md"),
        ("path" | "out" | "card", _) => json!("/nowhere/file.md"),
        ("paths", _) => json!(["/nowhere"]),
        ("act", _) => json!("dismiss"),
        ("cards", _) => json!([{"id": "abcdabcd"}]),
        ("verdicts", _) => json!([{"pair": "abcdabcd", "verdict": "compatible"}]),
        ("device", _) => json!("laptop"),
        ("address", _) => json!("127.0.0.1:9"),
        ("mode", _) => json!("off"),
        ("scope" | "local", _) => json!({"org_id": "acme", "project": "api"}),
        _ => panic!("{path} requires `{field}`, of which there is no sample"),
    }
}

/// Sends a request.
pub(super) async fn call(
    router: &mut Router,
    method: &str,
    path: &str,
    source: RequestSource,
    headers: &[(&str, &str)],
    body: String,
) -> Response {
    let mut request = Request::builder().method(&*method.to_uppercase()).uri(path).header(header::HOST, "127.0.0.1");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    router.call(request.extension(source).body(Body::from(body)).unwrap()).await.unwrap()
}

/// Returns the error in a response.
pub(super) async fn error(response: Response) -> ApiError {
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&bytes)))
}

/// Returns the API with a new store. Sync is off.
fn offline(folder: &Path) -> Router {
    std::fs::write(folder.join("sync-mode"), "off\n").unwrap();
    router(shared(folder), Router::new())
}

#[tokio::test]
async fn a_request_needs_the_fields_that_the_document_requires_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let mut router = offline(dir.path());
    let document = serde_json::to_value(document()).unwrap();
    // The body of an import is a bundle.
    for (method, path) in ROUTES.iter().filter(|(_, path)| *path != "/sync/import") {
        let operation = Operation::of(method, path, &document);
        let smallest = operation.smallest();
        for field in &operation.required {
            let mut request = smallest.clone();
            request.remove(field);
            let response = operation.send(&mut router, &request).await;
            assert_eq!(response.status(), 400, "{method} {path} without `{field}`");
            let error = error(response).await;
            assert_eq!(error.field.as_deref(), Some(&**field), "{method} {path}: {error}");
        }
        if operation.fields.is_empty() {
            continue;
        }
        let optional = smallest.keys().filter(|field| !operation.required.contains(*field));
        for dropped in optional.map(Some).chain([None]) {
            let mut request = smallest.clone();
            if let Some(field) = dropped {
                request.remove(field);
            }
            let response = operation.send(&mut router, &request).await;
            // The body of a conflict may be the result of a write.
            if response.status().is_success() || response.status() == 409 {
                continue;
            }
            let error = error(response).await;
            let named = error.field.clone().unwrap_or_default();
            match dropped {
                // What is needed without another field, or with a certain one, is no missing field.
                Some(_) => assert!(!error.message.starts_with("missing field"), "{method} {path}: {error}"),
                None => assert!(
                    request.contains_key(&named) || !operation.fields.contains(&named),
                    "{method} {path} needs `{named}`, which the document does not require: {error}"
                ),
            }
        }
    }
}

#[tokio::test]
async fn every_error_that_any_request_can_get_is_declared() {
    let dir = tempfile::tempdir().unwrap();
    let mut router = offline(dir.path());
    let document = serde_json::to_value(document()).unwrap();
    let json = (header::CONTENT_TYPE.as_str(), "application/json");
    let token = (header::AUTHORIZATION.as_str(), "Bearer secret");
    let long = (MAX_BODY * 100).to_string();
    for (method, path) in ROUTES {
        let operation = Operation::of(method, path, &document);
        let uri = path.replace("{id}", "abcdabcd");
        let unknown = format!("{uri}?no_such_field=1");
        let is_post = *method == "post";
        let mut attempts = vec![
            (unknown.as_str(), RequestSource::Socket, vec![], 400),
            (unknown.as_str(), RequestSource::Socket, vec![("origin", "https://evil.example")], 403),
        ];
        if *path != "/health" {
            attempts.push((unknown.as_str(), RequestSource::Tcp, vec![json], 401));
        }
        if is_post {
            attempts.push((unknown.as_str(), RequestSource::Tcp, vec![token, ("content-type", "text/plain")], 415));
        }
        if is_post && *path != "/sync/import" {
            attempts.push((uri.as_str(), RequestSource::Socket, vec![("content-length", &*long)], 413));
        }
        for (uri, source, headers, status) in attempts {
            let response = call(&mut router, method, uri, source, &headers, "{}".to_owned()).await;
            assert_eq!(response.status(), status, "{method} {path}");
            let declared = &operation.described["responses"][status.to_string()]["content"]["application/json"];
            assert!(declared.is_object(), "{method} {path} does not declare {status}");
        }
        // These depend on the state of the store and of the machine.
        for code in [ErrorCode::Timeout, ErrorCode::Internal, ErrorCode::Unavailable] {
            let declared = &operation.described["responses"][code.status().to_string()];
            assert!(declared.is_object(), "{method} {path} does not declare {code:?}");
        }
    }
}
