//! Checks before the handler of every request: its origin, host and token. Also the timeout, and the answer after a
//! panic, which fails only its own request.

use std::{any::Any, net::IpAddr, sync::Arc, time::Duration};

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderValue, Method, Uri, header, uri::Authority};
use hyper::body::Body as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{response::ErrorResponse, state::SharedState};
use crate::api::{ApiError, ErrorCode, VERSION_HEADER};

/// The timeout of a request, including its body.
pub(super) const TIMEOUT: Duration = Duration::from_secs(30);

/// The timeout of a request that works through the whole store, asks a language model or waits for other devices.
pub(super) const LONG_TIMEOUT: Duration = Duration::from_mins(10);

/// The listener that received a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestSource {
    /// The Unix socket, which only this user can open.
    Socket,
    /// TCP. Every program on this machine can connect, so requests need the token.
    Tcp,
    /// The TCP port for clients of cogito-ergo.
    Compat,
}

/// The maximum number of endless responses over TCP. Each occupies a connection, and some must stay free for other
/// requests.
const MAX_TCP_STREAMS: usize = 64;

/// The maximum number of endless responses over the socket.
const MAX_SOCKET_STREAMS: usize = 192;

/// The permits of endless responses, such as `GET /events`.
pub(super) struct StreamPermits {
    tcp: Arc<Semaphore>,
    socket: Arc<Semaphore>,
}

impl Default for StreamPermits {
    fn default() -> Self {
        let of = |most| Arc::new(Semaphore::new(most));
        Self { tcp: of(MAX_TCP_STREAMS), socket: of(MAX_SOCKET_STREAMS) }
    }
}

impl StreamPermits {
    /// Takes a permit. Fails if all are taken.
    pub(super) fn take(&self, source: RequestSource) -> Result<OwnedSemaphorePermit, ApiError> {
        let (permits, message, hint) = match source {
            RequestSource::Socket => (&self.socket, socket_in_use(), "close clients that no longer need them"),
            RequestSource::Tcp | RequestSource::Compat => {
                (&self.tcp, tcp_in_use(), "close one, or use the daemon's socket, which has its own limit")
            }
        };
        let permit = Arc::clone(permits).try_acquire_owned();
        permit.map_err(|_| ApiError::new(ErrorCode::Unavailable, message).hint(hint))
    }

    /// Returns a message for each listener whose permits are all taken.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        let full = |permits: &Semaphore| permits.available_permits() == 0;
        let tcp = full(&self.tcp).then(|| {
            format!(
                "{}, so new ones are refused: close clients that no longer need them, or connect them over the daemon's \
                    socket",
                tcp_in_use()
            )
        });
        let socket = full(&self.socket)
            .then(|| format!("{}, so new ones are refused: close clients that no longer need them", socket_in_use()));
        tcp.into_iter().chain(socket)
    }
}

fn tcp_in_use() -> String {
    format!("all {MAX_TCP_STREAMS} event streams over TCP are in use")
}

fn socket_in_use() -> String {
    format!("all {MAX_SOCKET_STREAMS} event streams over the socket are in use")
}

/// Middleware: counts the request, checks it, limits its time, and adds the program's version to the response.
pub(super) async fn check_request(State(shared): State<SharedState>, request: Request, next: Next) -> Response {
    let _busy = RunningRequest::new(&shared);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let timeout = timeout_of(request.uri());
    let mut response = match authorise(&shared, &request) {
        Err(error) => ErrorResponse(error).into_response(),
        Ok(()) => tokio::time::timeout(timeout, next.run(request)).await.unwrap_or_else(|_| timed_out(timeout)),
    };
    tracing::debug!(%method, path, status = response.status().as_u16(), "answered");
    response.headers_mut().insert(VERSION_HEADER, HeaderValue::from_static(env!("CARGO_PKG_VERSION")));
    response
}

/// Returns the timeout of a request.
fn timeout_of(uri: &Uri) -> Duration {
    match uri.path() {
        "/add" | "/audit" | "/backup" | "/calibrate" | "/check" | "/conflicts/resolve" | "/doubts/judge"
        | "/ingest" | "/models/reload" | "/promotions" | "/reembed" | "/size" | "/story" | "/story/read"
        | "/sync/export" | "/sync/import" | "/sync/join" | "/sync/now" => LONG_TIMEOUT,
        // The first scan of many projects computes thousands of vectors and may compare all claims of an organisation.
        "/insights" => LONG_TIMEOUT,
        path if path.starts_with("/notes/") => LONG_TIMEOUT,
        // A past state of a large scope must be rebuilt.
        _ if uri.query().is_some_and(|query| query.contains("as_of=")) => LONG_TIMEOUT,
        "/why" | "/recall" | "/snapshot" => LONG_TIMEOUT,
        // A tool call makes requests to the daemon itself. Their errors must reach the client as its answer.
        "/mcp" => LONG_TIMEOUT + TIMEOUT,
        _ => TIMEOUT,
    }
}

fn timed_out(timeout: Duration) -> Response {
    let message = format!("the request took longer than {} s", timeout.as_secs());
    let hint = "a write may still complete: look with `ergo log`, or repeat it with the same `op_id`, so that it is done \
        only once";
    ErrorResponse(ApiError::new(ErrorCode::Timeout, message).hint(hint)).into_response()
}

/// Counts a request as in progress until it is dropped.
pub(super) struct RunningRequest<'a>(&'a SharedState);

impl<'a> RunningRequest<'a> {
    pub(super) fn new(shared: &'a SharedState) -> Self {
        shared.count_request();
        shared.busy.send_modify(|count| *count += 1);
        Self(shared)
    }
}

impl Drop for RunningRequest<'_> {
    fn drop(&mut self) {
        self.0.busy.send_modify(|count| *count = count.saturating_sub(1));
    }
}

fn authorise(shared: &SharedState, request: &Request) -> Result<(), ApiError> {
    check_origin(request.headers())?;
    let source = request.extensions().get::<RequestSource>().copied().unwrap_or(RequestSource::Tcp);
    // Only this user can open the socket, so it needs no further checks.
    if source == RequestSource::Socket {
        return Ok(());
    }
    check_host(request.headers(), request.uri())?;
    if request.uri().path() != "/health" {
        check_token(request.headers(), &shared.token)?;
    }
    check_type(request)
}

/// Refuses requests with an `Origin` header, which browsers send for web pages.
pub(super) fn check_origin(headers: &HeaderMap) -> Result<(), ApiError> {
    if headers.contains_key(header::ORIGIN) {
        return Err(ApiError::new(ErrorCode::Forbidden, "requests from web pages are refused")
            .hint("call the API from a program that sends no Origin header"));
    }
    Ok(())
}

/// Refuses a request without a `Host` header or with a foreign one, which shows that a foreign name was resolved to
/// this machine (DNS rebinding).
pub(super) fn check_host(headers: &HeaderMap, target: &Uri) -> Result<(), ApiError> {
    let hint = "connect to 127.0.0.1, localhost or the daemon's socket";
    if !headers.contains_key(header::HOST) {
        let error = ApiError::new(ErrorCode::BadRequest, "the request has no Host header");
        return Err(error.hint("send `Host: 127.0.0.1`, or use the daemon's socket, which needs none"));
    }
    let hosts = headers.get_all(header::HOST).iter().map(|value| value.to_str().unwrap_or_default());
    for host in hosts.chain(target.authority().map(Authority::as_str)) {
        if !is_loopback_host(host) {
            let message = format!(
                "the Host header names “{}”, which is not this machine",
                host.chars().take(80).collect::<String>()
            );
            return Err(ApiError::new(ErrorCode::Forbidden, message).hint(hint));
        }
    }
    Ok(())
}

/// Refuses a POST that is not declared as JSON: a web page can send other types without a preflight request. A bundle
/// must be declared as bytes, and a POST without a body needs no type.
fn check_type(request: &Request) -> Result<(), ApiError> {
    if request.method() != Method::POST {
        return Ok(());
    }
    let wanted = if request.uri().path() == "/sync/import" { "application/octet-stream" } else { "application/json" };
    let message = match request.headers().get(header::CONTENT_TYPE) {
        None if request.body().is_end_stream() => return Ok(()),
        None => "the request has no Content-Type header".to_owned(),
        Some(given) => {
            let given = given.to_str().unwrap_or_default();
            let kind = given.split(';').next().unwrap_or_default().trim();
            if kind.eq_ignore_ascii_case(wanted) {
                return Ok(());
            }
            format!("the Content-Type “{}” is not accepted here", given.chars().take(80).collect::<String>())
        }
    };
    Err(ApiError::new(ErrorCode::UnsupportedMediaType, message).hint(format!("send `Content-Type: {wanted}`")))
}

/// Whether a `Host` header names this machine itself.
fn is_loopback_host(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    !host.contains('@')
        && (name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()))
}

fn check_token(headers: &HeaderMap, token: &str) -> Result<(), ApiError> {
    let hint = "send `Authorization: Bearer TOKEN`; the token is in ERGO_API_TOKEN or in the file `token` beside the \
        daemon's log (`ergo daemon status` shows where)";
    check_bearer(headers, token).map_err(|error| error.hint(hint))
}

/// Checks that a request has this bearer token.
pub(super) fn check_bearer(headers: &HeaderMap, token: &str) -> Result<(), ApiError> {
    let refused = |message: &str| Err(ApiError::new(ErrorCode::Unauthorized, message));
    let Some(value) = headers.get(header::AUTHORIZATION) else { return refused("this needs the daemon's token") };
    let bytes = value.as_bytes();
    let given = match bytes.split_at_checked(7) {
        Some((scheme, given)) if scheme.eq_ignore_ascii_case(b"bearer ") => given,
        _ => return refused("the Authorization header is not a bearer token"),
    };
    // BLAKE3 hashes are compared in constant time, so the duration reveals nothing about the token.
    if blake3::hash(given.trim_ascii()) == blake3::hash(token.as_bytes()) {
        Ok(())
    } else {
        refused("the token is wrong")
    }
}

/// Returns the response for a handler that panicked.
pub(super) fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    ErrorResponse(ApiError::internal(
        "an internal error in the daemon; its log has the details (`ergo status` shows \
        the file). Other requests are still served",
    ))
    .into_response()
}

/// Returns the error for an unknown path.
pub(super) async fn no_path(uri: Uri) -> ErrorResponse {
    let path: String = uri.path().chars().take(120).collect();
    ErrorResponse(ApiError::not_found(format!("there is no path {path}")).hint("`GET /openapi.json` lists all paths"))
}

/// Returns the error for a method that the path does not accept.
pub(super) async fn no_method(method: http::Method, uri: Uri) -> ErrorResponse {
    let message = format!("{} does not accept the method {method}", uri.path().chars().take(120).collect::<String>());
    ErrorResponse(
        ApiError::new(ErrorCode::MethodNotAllowed, message).hint("`GET /openapi.json` lists all paths and methods"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_works_through_many_files_or_claims_may_take_long() {
        let limit = |uri: &str| timeout_of(&uri.parse().unwrap());
        for uri in
            ["/notes/scan", "/notes/add", "/notes/insights?org_id=acme", "/insights", "/audit", "/claims?as_of=5"]
        {
            assert_eq!(limit(uri), LONG_TIMEOUT, "{uri}");
        }
        let waiting = ["/check", "/sync/now", "/sync/join", "/doubts/judge", "/story?org_id=acme", "/story/read"];
        let many = ["/promotions?org_id=acme", "/conflicts/resolve", "/models/reload"];
        for uri in waiting.into_iter().chain(many) {
            assert_eq!(limit(uri), LONG_TIMEOUT, "{uri}");
        }
        for uri in ["/remember", "/claims", "/health", "/doubts", "/conflicts", "/models"] {
            assert_eq!(limit(uri), TIMEOUT, "{uri}");
        }
        assert!(limit("/mcp") > LONG_TIMEOUT, "longer than any request that a tool makes");
    }

    #[test]
    fn local_hosts_are_names_and_addresses_of_this_machine() {
        for host in ["localhost", "LOCALHOST:1", "127.0.0.1:8788", "127.9.9.9", "[::1]:8788"] {
            assert!(is_loopback_host(host), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "10.0.0.1:8788", "localhost@evil", "a b"]
        {
            assert!(!is_loopback_host(host), "{host}");
        }
    }

    #[test]
    fn the_token_must_be_the_whole_token() {
        let with = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, value.parse().unwrap());
            check_token(&headers, "secret").map_err(|error| error.code)
        };
        assert_eq!(with("Bearer secret"), Ok(()));
        assert_eq!(with("bearer secret"), Ok(()));
        for wrong in ["Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "secret", "Bear"] {
            assert_eq!(with(wrong), Err(ErrorCode::Unauthorized), "{wrong}");
        }
        assert_eq!(check_token(&HeaderMap::new(), "secret").map_err(|e| e.code), Err(ErrorCode::Unauthorized));
    }
}
