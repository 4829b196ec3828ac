//! The paths of the API, one file a family.

mod claims;
mod conflicts;
mod events;
mod status;
mod writes;

use axum::{Router, middleware, routing};
use tower_http::catch_panic::CatchPanicLayer;

use super::{gate, state::Shared};

macro_rules! routes {
    ($($method:ident $path:literal => $handler:path),+ $(,)?) => {
        /// Every path with its method, in lower case as in the OpenAPI document.
        pub const ROUTES: &[(&str, &str)] = &[$((stringify!($method), $path)),+];

        fn table() -> Router<Shared> {
            Router::new()$(.route($path, routing::$method($handler)))+
        }
    };
}

routes! {
    get "/health" => status::health,
    get "/diagnose" => status::diagnose,
    get "/scopes" => status::scopes,
    get "/openapi.json" => status::openapi,
    post "/backup" => status::backup,
    post "/shutdown" => status::shutdown,
    get "/claims" => claims::claims,
    get "/claims/{id}" => claims::claim,
    get "/claims/{id}/history" => claims::history,
    post "/why" => claims::why,
    get "/log" => claims::log,
    post "/remember" => writes::remember,
    post "/learn" => writes::learn,
    post "/supersede" => writes::supersede,
    post "/retract" => writes::retract,
    post "/reinstate" => writes::reinstate,
    post "/redact" => writes::redact,
    post "/reviewed" => writes::reviewed,
    post "/depend" => writes::depend,
    post "/undo" => writes::undo,
    post "/audit" => writes::audit,
    get "/conflicts" => conflicts::conflicts,
    get "/conflicts/{id}" => conflicts::card,
    post "/conflicts/{id}/resolve" => conflicts::resolve,
    get "/events" => events::events,
}

/// What the documentation of the handlers generates.
pub(super) mod docs {
    pub(in crate::daemon) use super::{claims::*, conflicts::*, events::*, status::*, writes::*};
}

/// The whole API.
pub(super) fn router(shared: Shared) -> Router {
    guarded(table(), shared)
}

/// Puts the gate in front of a table of paths. A panic is caught inside the gate, so that its answer is like any other.
fn guarded(table: Router<Shared>, shared: Shared) -> Router {
    table
        .fallback(gate::no_path)
        .method_not_allowed_fallback(gate::no_method)
        .layer(CatchPanicLayer::custom(gate::panicked))
        .layer(middleware::from_fn_with_state(shared.clone(), gate::pass))
        .with_state(shared)
}
