//! The endpoints of the API, one file per group.

mod agents;
mod bundle;
mod claims;
mod conflicts;
#[cfg(test)]
mod contract_tests;
mod events;
mod models;
mod notes;
mod questions;
mod status;
mod sync;
mod writes;

use axum::{Router, middleware, routing};
use tower_http::catch_panic::CatchPanicLayer;

use super::{request_checks, state::SharedState};

/// Defines the table of operations, from which the router and the OpenAPI document are generated. The types of requests and
/// answers are in the handlers' signatures and, for the document, in their attributes.
macro_rules! routes {
    ($($method:ident $path:literal => $family:ident::$handler:ident),+ $(,)?) => {
        /// The operations: method, in lower case as in the OpenAPI document, and path.
        pub const ROUTES: &[(&str, &str)] = &[$((stringify!($method), $path)),+];

        fn table() -> Router<SharedState> {
            Router::new()$(.route($path, routing::$method($family::$handler)))+
        }

        /// The OpenAPI documentation of the handlers.
        #[derive(utoipa::OpenApi)]
        #[openapi(paths($($family::$handler),+))]
        pub(super) struct DocumentedRoutes;
    };
}

routes! {
    get "/health" => status::health,
    get "/diagnose" => status::diagnose,
    get "/size" => status::size,
    get "/tasks" => status::tasks,
    post "/check" => status::check,
    get "/scopes" => status::scopes,
    get "/openapi.json" => status::openapi,
    get "/models" => models::models,
    post "/models/reload" => models::reload,
    post "/reembed" => models::reembed,
    post "/calibrate" => claims::calibrate,
    post "/backup" => status::backup,
    post "/shutdown" => status::shutdown,
    get "/claims" => claims::claims,
    get "/claims/{id}" => claims::claim,
    get "/claims/{id}/history" => claims::history,
    post "/why" => claims::why,
    post "/recall" => claims::recall,
    post "/add" => writes::add,
    post "/ingest" => writes::ingest,
    get "/ingested" => claims::ingested,
    get "/snapshot" => claims::snapshot,
    get "/log" => claims::log,
    get "/story" => claims::story,
    post "/story/read" => claims::read_story,
    post "/remember" => writes::remember,
    post "/learn" => writes::learn,
    post "/supersede" => writes::supersede,
    post "/retract" => writes::retract,
    post "/reinstate" => writes::reinstate,
    post "/redact" => writes::redact,
    post "/reviewed" => writes::reviewed,
    post "/depend" => writes::depend,
    post "/promote" => writes::promote,
    post "/demote" => writes::demote,
    get "/promotions" => claims::promotions,
    post "/undo" => writes::undo,
    post "/audit" => writes::audit,
    post "/judge" => questions::judge,
    get "/questions" => questions::questions,
    get "/doubts" => questions::doubts,
    post "/doubts" => questions::judge_pairs,
    post "/doubts/judge" => questions::judge_next,
    get "/inbox" => conflicts::inbox,
    get "/conflicts" => conflicts::conflicts,
    get "/conflicts/{id}" => conflicts::card,
    post "/conflicts/resolve" => conflicts::resolve_many,
    post "/conflicts/{id}/resolve" => conflicts::resolve,
    post "/sync/export" => bundle::export,
    post "/sync/import" => bundle::import,
    get "/notes/status" => notes::notes_status,
    post "/notes/add" => notes::notes_add,
    post "/notes/scan" => notes::notes_scan,
    post "/notes/write" => notes::notes_write,
    post "/notes/check" => notes::notes_check,
    get "/notes/insights" => notes::notes_insights,
    get "/notes/clusters" => notes::notes_clusters,
    get "/notes/links" => notes::notes_links,
    post "/notes/calibrate" => notes::notes_calibrate,
    get "/insights" => notes::insights,
    get "/events" => events::events,
    get "/agents" => agents::agents,
    get "/agents/present" => agents::present,
    get "/sync/status" => sync::sync_status,
    get "/sync/peers" => sync::sync_peers,
    get "/sync/contacts" => sync::sync_contacts,
    get "/sync/invites" => sync::sync_invites,
    post "/sync/invites/{id}/cancel" => sync::sync_cancel,
    get "/sync/pending" => sync::sync_pending,
    post "/sync/pending/{id}" => sync::sync_answer,
    get "/sync/joins/{id}" => sync::sync_joined,
    get "/sync/quarantined" => sync::sync_quarantined,
    post "/sync/now" => sync::sync_now,
    post "/sync/create" => sync::sync_create,
    post "/sync/invite" => sync::sync_invite,
    post "/sync/join" => sync::sync_join,
    post "/sync/card" => sync::sync_card,
    post "/sync/approve" => sync::sync_approve,
    post "/sync/rename" => sync::sync_rename,
    post "/sync/grant" => sync::sync_grant,
    post "/sync/revoke" => sync::sync_revoke,
    post "/sync/leave" => sync::sync_leave,
    post "/sync/adopt" => sync::sync_adopt,
    post "/sync/bind" => sync::sync_bind,
    post "/sync/quarantined/accept" => sync::sync_accept,
    post "/sync/quarantined/discard" => sync::sync_discard,
    post "/sync/mode" => sync::sync_mode,
    post "/sync/address" => sync::sync_address,
}

/// Returns the router of the whole API, with the paths of `more` behind the same checks.
pub(super) fn router(shared: SharedState, more: Router) -> Router {
    with_checks(table().merge(more.with_state(())), shared)
}

/// Puts the checks of every request in front of a table of paths. A panic is caught inside of them, so that its response is
/// completed like any other.
fn with_checks(table: Router<SharedState>, shared: SharedState) -> Router {
    table
        .fallback(request_checks::no_path)
        .method_not_allowed_fallback(request_checks::no_method)
        .layer(CatchPanicLayer::custom(request_checks::panicked))
        .layer(middleware::from_fn_with_state(shared.clone(), request_checks::check_request))
        .with_state(shared)
}

#[cfg(test)]
mod tests {
    use axum::{extract::State, response::Response};
    use http_body_util::BodyExt;

    use super::{
        contract_tests::{call, error},
        *,
    };
    use crate::{
        api::{ApiError, ErrorCode},
        daemon::{
            request_checks::RequestSource,
            response::{JsonResult, value},
            state::testing::shared,
        },
    };

    async fn in_handler() -> JsonResult<u8> {
        panic!("in the handler")
    }

    async fn in_engine(State(shared): State<SharedState>) -> JsonResult<u8> {
        value(shared.engine(|_| panic!("in the engine")).await)
    }

    /// Sends a request over the socket.
    async fn send(router: &mut Router, method: &str, path: &str, body: &str) -> Response {
        call(router, method, &path.replace("{id}", "abcd"), RequestSource::Socket, &[], body.to_owned()).await
    }

    async fn get_over_tcp(router: &mut Router, path: &str) -> Response {
        call(router, "get", path, RequestSource::Tcp, &[], String::new()).await
    }

    #[tokio::test]
    async fn a_panic_costs_one_answer_and_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let table = table().route("/in_handler", routing::get(in_handler)).route("/in_engine", routing::get(in_engine));
        let mut router = with_checks(table, shared(dir.path()));
        for path in ["/in_handler", "/in_engine"] {
            let response = send(&mut router, "get", path, "").await;
            assert_eq!(response.status(), 500, "{path}");
            assert!(response.headers().contains_key(crate::api::VERSION_HEADER));
            assert_eq!(error(response).await.code, ErrorCode::Internal, "{path}");
        }
        assert_eq!(send(&mut router, "get", "/health", "").await.status(), 200);
    }

    #[tokio::test]
    async fn every_path_but_health_asks_for_the_token_on_tcp() {
        let dir = tempfile::tempdir().unwrap();
        let mut router = router(shared(dir.path()), Router::new());
        for (_, path) in ROUTES.iter().filter(|(_, path)| *path != "/health") {
            let response = get_over_tcp(&mut router, path).await;
            assert_eq!(response.status(), 401, "{path}");
            assert_eq!(response.headers()[http::header::WWW_AUTHENTICATE], "Bearer");
        }
        assert_eq!(get_over_tcp(&mut router, "/nothing").await.status(), 401, "nor does it say what is there");
        assert_eq!(get_over_tcp(&mut router, "/health").await.status(), 200);
    }

    #[tokio::test]
    async fn an_unknown_field_of_a_request_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut router = router(shared(dir.path()), Router::new());
        // The body of an import is a bundle.
        let posts = ROUTES.iter().filter(|(method, path)| *method == "post" && *path != "/sync/import");
        for (method, path) in posts {
            let response = send(&mut router, method, path, r#"{"no_such_field": 1}"#).await;
            assert_eq!(response.status(), 400, "{path}");
            let error = error(response).await;
            assert_eq!(error.field.as_deref(), Some("no_such_field"), "{path}: {error}");
        }
    }

    #[tokio::test]
    async fn an_unknown_parameter_of_a_query_is_refused_on_every_path() {
        let dir = tempfile::tempdir().unwrap();
        let mut router = router(shared(dir.path()), Router::new());
        for (method, path) in ROUTES {
            let response = send(&mut router, method, &format!("{path}?no_such_field=1"), "{}").await;
            assert_eq!(response.status(), 400, "{method} {path}");
            let error = error(response).await;
            assert_eq!(error.field.as_deref(), Some("no_such_field"), "{path}: {error}");
        }
    }

    #[tokio::test]
    async fn every_path_refuses_other_methods_and_every_unknown_path_is_an_error_in_json() {
        let dir = tempfile::tempdir().unwrap();
        let mut router = router(shared(dir.path()), Router::new());
        for (_, path) in ROUTES {
            for method in ["delete", "options", "patch", "put", "trace"] {
                let response = send(&mut router, method, path, "").await;
                assert_eq!(response.status(), 405, "{method} {path}");
                assert!(response.headers().contains_key(http::header::ALLOW), "{method} {path}");
                assert_eq!(error(response).await.code, ErrorCode::MethodNotAllowed, "{method} {path}");
            }
        }
        for (method, path) in [("get", "/"), ("post", "/claims/"), ("options", "*"), ("head", "/nothing")] {
            let response = send(&mut router, method, path, "").await;
            assert_eq!(response.status(), 404, "{method} {path}");
            if method != "head" {
                assert_eq!(error(response).await.code, ErrorCode::NotFound, "{method} {path}");
            }
        }
        assert_eq!(send(&mut router, "head", "/claims", "").await.status(), 200);
        assert_eq!(send(&mut router, "head", "/remember", "").await.status(), 405);
    }

    #[tokio::test]
    async fn a_page_is_as_large_as_the_document_says() {
        let dir = tempfile::tempdir().unwrap();
        let mut router = router(shared(dir.path()), Router::new());
        let document = serde_json::to_value(crate::daemon::openapi::document()).unwrap();
        for (_, path) in ROUTES {
            let parameters = document["paths"][*path]["get"]["parameters"].as_array().cloned().unwrap_or_default();
            let limit = parameters.iter().find(|parameter| parameter["name"] == "limit");
            let Some(most) = limit.and_then(|limit| limit["schema"]["maximum"].as_u64()) else { continue };
            let needed = parameters.iter().filter(|parameter| parameter["required"] == true);
            let needed = needed.map(|parameter| format!("{}=acme&", parameter["name"].as_str().unwrap()));
            let needed = needed.collect::<Vec<_>>().concat();
            for (limit, status) in [(most, 200), (most + 1, 400), (0, 400)] {
                let response = send(&mut router, "get", &format!("{path}?{needed}limit={limit}"), "").await;
                assert_eq!(response.status(), status, "{path} {limit}");
            }
        }
    }

    #[tokio::test]
    async fn a_field_of_a_body_that_is_in_the_query_is_refused_and_its_place_named() {
        let dir = tempfile::tempdir().unwrap();
        let mut router = router(shared(dir.path()), Router::new());
        let body = r#"{"who": "ada", "org_id": "acme", "project": "api", "statement": "x", "kind": "fact"}"#;
        let response = send(&mut router, "post", "/remember?dry_run=true", body).await;
        assert_eq!(response.status(), 400);
        let error = error(response).await;
        assert_eq!(error.field.as_deref(), Some("dry_run"));
        assert!(error.hint.unwrap().contains("`dry_run` belongs in the body"));
        let claims = send(&mut router, "get", "/claims", "").await.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&claims).unwrap()["total"], 0, "nothing was stored");
    }

    #[tokio::test]
    async fn after_damage_was_met_writes_are_refused_and_reads_go_on() {
        let dir = tempfile::tempdir().unwrap();
        let state = shared(dir.path());
        let mut router = router(state.clone(), Router::new());
        let body =
            r#"{"who": "ada", "org_id": "acme", "project": "api", "statement": "Logs are JSON.", "kind": "fact"}"#;
        assert_eq!(send(&mut router, "post", "/remember", body).await.status(), 200);
        let damaged = ApiError::new(ErrorCode::Damaged, "the store is damaged").hint("run `ergo doctor`");
        let met = damaged.clone();
        assert!(state.engine(move |_| Err::<(), _>(met)).await.is_err());
        let response = send(&mut router, "post", "/remember", body).await;
        assert_eq!(response.status(), 500);
        assert_eq!(error(response).await, damaged);
        assert_eq!(send(&mut router, "get", "/claims", "").await.status(), 200);
        assert_eq!(state.health().status, "damaged");
        let diagnose = send(&mut router, "get", "/diagnose", "").await.into_body().collect().await.unwrap().to_bytes();
        let diagnose: crate::api::Diagnose = serde_json::from_slice(&diagnose).unwrap();
        assert_eq!(diagnose.store_problem, Some(damaged));
    }
}
