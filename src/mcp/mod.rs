//! The Model Context Protocol (MCP): tools, resources and prompts, through which agents use the daemon.
//!
//! This is a thin bridge: arguments go to the daemon with author and scope, and the daemon checks them. Answers are
//! shortened and made safe to show ([`shape`]). A conflict is a result, not an error. [`serve`] serves a client over a
//! pair of pipes, to which only JSON-RPC is written.

mod call;
mod call_limit;
mod client_question;
mod daemon_link;
mod doubts;
mod http;
mod ingest;
mod judge_tool;
mod person;
mod pipe;
mod prompts;
mod recent_clients;
mod resources;
mod sampling;
mod server;
mod shape;
mod tool_hints;
mod tools;

pub use daemon_link::DaemonLink;
pub use http::router;
pub use server::{McpBridge, McpSettings};
pub use tools::Profile;

use rmcp::{ServiceExt, service::ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};

/// Serves one client until it closes its end.
///
/// # Errors
/// If the client does not start an MCP session, or the session ends by itself.
pub async fn serve<R, W>(bridge: McpBridge, read: R, write: W) -> Result<(), McpError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (pipe, writer) = pipe::Pipe::new(read, write);
    let served = match bridge.serve(pipe).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| McpError::Stopped(error.to_string())),
        // The client has closed the connection without a request.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(McpError::NotBegun(error.to_string())),
    };
    writer.end().await;
    served
}

/// Why a session ended, if the client did not end it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// The first messages are not a valid handshake.
    #[error("the client did not start an MCP session: {0}")]
    NotBegun(String),
    /// The session's task ended by itself, which is a defect.
    #[error("the MCP session ended: {0}")]
    Stopped(String),
}
