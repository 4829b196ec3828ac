//! The OpenAPI document, generated from the handlers and the types of [`crate::api`].

use utoipa::{
    Modify, OpenApi,
    openapi::security::{Http, HttpAuthScheme, SecurityScheme},
};

use super::routes::DocumentedRoutes;

#[derive(OpenApi)]
#[openapi(
    info(title = "ergo", description = "Memory for coding agents: keeps decisions with their reasons, and refuses what contradicts them."),
    modifiers(&Token),
    security(("token" = [])),
)]
struct Document;

/// TCP asks for a bearer token.
struct Token;

impl Modify for Token {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        openapi.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// The OpenAPI document of this daemon.
pub fn document() -> utoipa::openapi::OpenApi {
    Document::openapi().merge_from(DocumentedRoutes::openapi())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

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
