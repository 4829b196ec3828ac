//! The MCP bridge over streamable HTTP, for clients that start no programs. There are no sessions.

use std::sync::Arc;

use axum::Router;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};

use super::{DaemonLink, McpBridge, McpSettings, Profile};

/// The path `/mcp`. No project is known here, so that every call says its scope. Who may speak is the daemon's to decide.
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
