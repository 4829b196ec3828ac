//! Speaking to the daemon: a transport that can be replaced ([`Api`]), and a typed [`Client`] over it.
//!
//! [`HttpApi`] speaks HTTP over the daemon's Unix socket, TCP or TLS.

mod agents;
mod bundle;
mod credential;
pub mod drift;
mod error;
#[cfg(test)]
mod fake;
pub mod files;
pub mod http;
pub mod injected;
pub mod launch;
mod moment;
mod place;
mod scope;
mod sse;
mod teams;
mod tls;
mod typed;

use std::{fmt, time::Duration};

pub use ::http::Method;
use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};

/// Bytes as they come: a file on its way.
pub type ByteStream = BoxStream<'static, std::io::Result<Bytes>>;

pub use error::ClientError;
#[cfg(test)]
pub(crate) use fake::{FakeApi, Reply};
pub use http::{HttpApi, Place};
pub use launch::Connect;
pub use moment::{MOMENT_FORMS, moment};
pub use scope::known_scope;
pub use typed::Client;

use crate::api::Change;

/// How long a call waits for its answer, unless it says otherwise.
pub const DEADLINE: Duration = Duration::from_secs(15);

/// How long a call waits that works through the whole store: audit, backup.
pub const LONG_DEADLINE: Duration = Duration::from_mins(10);

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// The path, percent-encoded: `/claims/3f2a`.
    pub path: String,
    /// The query, percent-encoded, without the question mark; empty for none.
    pub query: String,
    /// The JSON body.
    pub body: Option<serde_json::Value>,
    /// How long to wait for the answer.
    pub deadline: Duration,
}

impl Request {
    /// A call without query and body, with the usual deadline.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), query: String::new(), body: None, deadline: DEADLINE }
    }

    /// The request's target: path and query.
    pub fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// The body, not yet parsed.
    pub body: Bytes,
    /// The daemon's program version, where it says one.
    pub version: Option<String>,
}

/// The beginning of an answer whose body is a file.
pub struct Download {
    /// The HTTP status.
    pub status: u16,
    /// What the daemon says about the file ([`crate::api::SUMMARY_HEADER`]).
    pub summary: Option<String>,
    /// How many bytes are coming, where the daemon says so.
    pub length: Option<u64>,
    /// The file, or the error as JSON.
    pub body: ByteStream,
}

/// A way to a daemon. Object-safe, so that screens and verbs are tested without one.
pub trait Api: fmt::Debug + Send + Sync + 'static {
    /// Sends one call and waits for its answer, at most until its deadline.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, ClientError>>;

    /// Sends one call whose body is a file, and waits for its answer. `request.body` is not sent.
    fn upload(&self, request: Request, file: ByteStream) -> BoxFuture<'_, Result<Response, ClientError>>;

    /// Sends one call whose answer is a file.
    fn download(&self, request: Request) -> BoxFuture<'_, Result<Download, ClientError>>;

    /// Follows what changes in the daemon, from now on. The stream ends after its first error, or when the daemon goes;
    /// to go on, call again and read everything again.
    fn changes(&self) -> BoxStream<'static, Result<Change, ClientError>>;

    /// Where the daemon is, for messages: `unix:/run/…/ergo.sock`.
    fn place(&self) -> String;
}
