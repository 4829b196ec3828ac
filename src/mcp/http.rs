//! The MCP bridge over streamable HTTP, for clients that cannot start programs. It has no sessions.

use std::sync::Arc;

use axum::Router;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};

use super::{DaemonLink, McpBridge, McpSettings, Profile};

/// Returns the router of the path `/mcp`. It has no default project, so every call must name its scope. The daemon
/// checks who may call it.
pub fn router(link: DaemonLink) -> Router {
    let settings = McpSettings {
        profile: Profile::Default,
        scope: None,
        identities: Vec::new(),
        folder: None,
        who: None,
        ask_person: true,
    };
    let bridge = McpBridge::new(settings, link);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .disable_allowed_hosts();
    let service =
        StreamableHttpService::new(move || Ok(bridge.clone()), Arc::new(LocalSessionManager::default()), config);
    Router::new().route_service("/mcp", service)
}
