//! The client of the daemon: a replaceable transport ([`Api`]) and a typed [`Client`] on top of it.
//!
//! [`HttpApi`] speaks HTTP over the daemon's Unix socket, TCP or TLS.

mod agents;
mod bundle;
mod credential;
mod daemon_address;
mod doubts;
pub mod drift;
mod error;
#[cfg(test)]
mod fake;
pub mod http;
pub mod injected;
mod last_act;
pub mod launch;
mod moment;
mod notes;
pub mod reference_files;
mod sse;
mod teams;
mod tls;
mod typed;

use std::{fmt, time::Duration};

pub use ::http::Method;
use bytes::Bytes;
use futures_util::{future::BoxFuture, stream::BoxStream};
use serde_json::Value;

/// The bytes of a file, as they arrive.
pub type ByteStream = BoxStream<'static, std::io::Result<Bytes>>;

pub use crate::api::known_scope;
pub use error::ClientError;
#[cfg(test)]
pub(crate) use fake::{FakeApi, FakeReply};
pub use http::{DaemonAddress, HttpApi};
pub use launch::Connect;
pub use moment::{MOMENT_FORMS, moment};
pub use typed::Client;

use crate::api::Change;

/// The default deadline of a call.
pub const DEADLINE: Duration = Duration::from_secs(15);

/// The deadline of a call that reads the whole store or rebuilds a state of it, or asks a language model.
pub const LONG_DEADLINE: Duration = Duration::from_mins(10);

#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub method: Method,
    /// The path, percent-encoded: `/claims/3f2a`.
    pub path: String,
    /// The query, percent-encoded, without the question mark; may be empty.
    pub query: String,
    pub body: Option<Value>,
    /// The deadline of the answer.
    pub deadline: Duration,
}

impl Request {
    /// Creates a request without query and body, with the default deadline.
    pub fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), query: String::new(), body: None, deadline: DEADLINE }
    }

    /// Creates a request with a JSON body. If it is about the past, whose state is rebuilt first, or wants a language model, it waits longer.
    pub fn post(path: impl Into<String>, body: Value) -> Self {
        let is_long = !body["as_of"].is_null() || body["filter"] == true;
        let deadline = if is_long { LONG_DEADLINE } else { DEADLINE };
        Self { body: Some(body), deadline, ..Self::new(Method::POST, path) }
    }

    /// Returns the request's target: path and query.
    pub fn target(&self) -> String {
        if self.query.is_empty() { self.path.clone() } else { format!("{}?{}", self.path, self.query) }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// The body, not yet parsed.
    pub body: Bytes,
    /// The daemon's program version, if it names one.
    pub version: Option<String>,
}

/// The start of a response whose body is a file.
pub struct Download {
    pub status: u16,
    /// The daemon's summary of the file ([`crate::api::SUMMARY_HEADER`]).
    pub summary: Option<String>,
    /// The length of the file, if the daemon names it.
    pub length: Option<u64>,
    /// The file, or the error as JSON.
    pub body: ByteStream,
}

/// A transport to a daemon. Object-safe, so that screens and commands can be tested without a daemon.
pub trait Api: fmt::Debug + Send + Sync + 'static {
    /// Sends a request and waits for its answer, at most until its deadline.
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, ClientError>>;

    /// Sends a request whose body is a file, and waits for its answer. `request.body` is not sent.
    fn upload(&self, request: Request, file: ByteStream) -> BoxFuture<'_, Result<Response, ClientError>>;

    /// Sends a request whose answer is a file.
    fn download(&self, request: Request) -> BoxFuture<'_, Result<Download, ClientError>>;

    /// Streams what changes in the daemon from now on. The stream ends after its first error, or when the daemon ends;
    /// to continue, call again and read everything again.
    fn changes(&self) -> BoxStream<'static, Result<Change, ClientError>>;

    /// Returns the daemon's address for messages: `unix:/run/…/ergo.sock`.
    fn place(&self) -> String;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[rstest::rstest]
    #[case(json!({"as_of": 1_700_000_000_000_u64}), LONG_DEADLINE)]
    #[case(json!({"as_of": 0}), LONG_DEADLINE)]
    #[case(json!({"filter": true}), LONG_DEADLINE)]
    #[case(json!({"as_of": null, "filter": false}), DEADLINE)]
    #[case(json!({"query": "as_of", "filter": "true"}), DEADLINE)]
    #[case(json!({}), DEADLINE)]
    #[case(json!([{"as_of": 5}]), DEADLINE)]
    #[case(json!(null), DEADLINE)]
    fn a_post_about_the_past_or_to_a_language_model_waits_longer(#[case] body: Value, #[case] deadline: Duration) {
        let request = Request::post("/recall", body.clone());
        assert_eq!((request.deadline, request.method, request.body), (deadline, Method::POST, Some(body)));
    }
}
