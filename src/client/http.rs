//! HTTP/1.1 to the daemon, over its Unix socket, TCP or TLS. One connection per request: cheap here, and
//! nothing to keep alive.

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{
    future::BoxFuture,
    stream::{BoxStream, StreamExt, try_unfold},
};
use http::{Method, header};
use http_body_util::{BodyDataStream, BodyExt, BodyStream, Full, Limited, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    client::conn::http1,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
    time::timeout,
};
use tokio_rustls::TlsConnector;

pub use super::daemon_address::DaemonAddress;
use super::{
    Api, ByteStream, ClientError, DEADLINE, Download, Request, Response,
    credential::Credential,
    daemon_address::{host_and_port, loopback},
    sse, tls,
};
use crate::api::{ApiError, Change, SUMMARY_HEADER, VERSION_HEADER};

/// The largest response that is read, in bytes.
const MAX_ANSWER: usize = 64 * 1024 * 1024;

/// How often a daemon sends a sign of life on the event stream, unless it is reached by its Unix socket.
const KEEP_ALIVE: Duration = Duration::from_secs(30);

const FILE_CONTENT_TYPE: &str = "application/octet-stream";

/// The body of a request.
type Outgoing = UnsyncBoxBody<Bytes, std::io::Error>;

/// A daemon behind HTTP.
#[derive(Clone)]
pub struct HttpApi {
    place: DaemonAddress,
    credential: Credential,
    /// Created by the first request that needs it: it reads the system's certificates.
    tls: Arc<OnceLock<Result<TlsConnector, String>>>,
}

impl fmt::Debug for HttpApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpApi")
            .field("place", &self.place)
            .field("credential", &self.credential)
            .finish_non_exhaustive()
    }
}

impl HttpApi {
    /// Connects to the daemon at this socket.
    pub fn unix(socket: impl Into<PathBuf>) -> Self {
        Self::new(DaemonAddress::Unix(socket.into()), None)
    }

    /// Connects to the daemon at this address, with a bearer token if it needs one.
    pub fn new(place: DaemonAddress, token: Option<String>) -> Self {
        Self::with(place, token.map_or(Credential::None, Credential::Given))
    }

    pub(super) fn with(place: DaemonAddress, credential: Credential) -> Self {
        Self { place, credential, tls: Arc::default() }
    }

    fn unreachable(&self, cause: impl fmt::Display) -> ClientError {
        ClientError::Unreachable { place: self.place.to_string(), cause: cause.to_string() }
    }

    fn interrupted(&self, cause: impl fmt::Display) -> ClientError {
        ClientError::Interrupted { place: self.place.to_string(), cause: cause.to_string() }
    }

    async fn open(&self, request: &Request) -> Result<http::Response<Incoming>, ClientError> {
        let bytes = request.body.as_ref().map_or_else(Bytes::new, |value| Bytes::from(value.to_string()));
        let kind = request.body.as_ref().map(|_| "application/json");
        self.open_with(request, kind, Full::new(bytes).map_err(|never| match never {}).boxed_unsync()).await
    }

    async fn open_with(
        &self,
        request: &Request,
        kind: Option<&'static str>,
        body: Outgoing,
    ) -> Result<http::Response<Incoming>, ClientError> {
        match &self.place {
            DaemonAddress::Unix(path) => {
                let stream = UnixStream::connect(path).await.map_err(|e| self.unreachable(no_listener(&e)))?;
                self.exchange(stream, request, kind, body, "localhost").await
            }
            DaemonAddress::Tcp(authority) => {
                let addresses = match &self.credential {
                    Credential::Home(own) => vec![own.address()],
                    Credential::None | Credential::Given(_) => loopback(authority),
                };
                if addresses.is_empty() {
                    return Err(self.unreachable("plain HTTP is for addresses of this machine alone; use https://"));
                }
                let stream = TcpStream::connect(&addresses[..]).await.map_err(|e| self.unreachable(e))?;
                stream.set_nodelay(true).map_err(|e| self.unreachable(e))?;
                self.exchange(stream, request, kind, body, authority).await
            }
            DaemonAddress::Tls(authority) => {
                let (host, port) = host_and_port(authority).ok_or_else(|| self.unreachable("invalid address"))?;
                let connector = self.tls.get_or_init(tls::connector).as_ref().map_err(|e| self.unreachable(e))?;
                let stream = tls::connect(connector, host, port).await.map_err(|e| self.unreachable(e))?;
                self.exchange(stream, request, kind, body, authority).await
            }
        }
    }

    async fn exchange<S>(
        &self,
        stream: S,
        request: &Request,
        kind: Option<&'static str>,
        body: Outgoing,
        host: &str,
    ) -> Result<http::Response<Incoming>, ClientError>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        // Read for each request: a daemon that ended meanwhile may have left its port to another program.
        let token = self.credential.token().map_err(|e| self.unreachable(e))?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| self.unreachable(e))?;
        // Ends with the connection, which ends when the response body is read or dropped.
        tokio::spawn(connection);
        let mut builder =
            http::Request::builder().method(request.method.clone()).uri(request.target()).header(header::HOST, host);
        if let Some(token) = token {
            builder = builder.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(kind) = kind {
            builder = builder.header(header::CONTENT_TYPE, kind);
        }
        let message = builder
            .body(body)
            .map_err(|e| ClientError::Api(ApiError::internal(format!("the request cannot be encoded: {e}"))))?;
        sender.send_request(message).await.map_err(|e| self.interrupted(e))
    }

    async fn call(&self, request: &Request) -> Result<Response, ClientError> {
        let response = self.open(request).await?;
        self.read_response(response).await
    }

    async fn read_response(&self, response: http::Response<Incoming>) -> Result<Response, ClientError> {
        let status = response.status().as_u16();
        let version = response.headers().get(VERSION_HEADER).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await.map_err(|e| self.interrupted(e))?;
        Ok(Response { status, body: body.to_bytes(), version })
    }

    fn timed_out(&self, after: Duration) -> ClientError {
        ClientError::Timeout { place: self.place.to_string(), after }
    }

    /// Whether a connection may end without notice, as one over a network does while the machine sleeps.
    fn may_die_silently(&self) -> bool {
        !matches!(self.place, DaemonAddress::Unix(_))
    }

    async fn follow(&self) -> Result<Incoming, ClientError> {
        let query =
            if self.may_die_silently() { format!("keep_alive={}", KEEP_ALIVE.as_secs()) } else { String::new() };
        let request = Request { query, ..Request::new(Method::GET, "/events") };
        let response = timeout(DEADLINE, self.open(&request)).await.map_err(|_| self.timed_out(DEADLINE))??;
        if response.status().is_success() {
            return Ok(response.into_body());
        }
        let bad = |cause: String| ClientError::BadAnswer { place: self.place.to_string(), cause };
        let status = response.status();
        let body = timeout(DEADLINE, Limited::new(response.into_body(), MAX_ANSWER).collect())
            .await
            .map_err(|_| self.timed_out(DEADLINE))?
            .map_err(|e| bad(e.to_string()))?;
        Err(serde_json::from_slice(&body.to_bytes())
            .map_or_else(|_| bad(format!("HTTP {status} instead of a stream of events")), ClientError::Api))
    }
}

/// Returns why a socket cannot be connected to; without a listener, in simpler words than the system's.
pub(super) fn no_listener(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::ConnectionRefused => "it is not running".to_owned(),
        _ => crate::files::system_words(error),
    }
}

/// The state of a stream of changes.
struct ChangeStream {
    api: HttpApi,
    /// The data of the events; `None` before the connection.
    events: Option<BoxStream<'static, Result<String, sse_stream::Error>>>,
}

impl ChangeStream {
    async fn next(mut self) -> Result<Option<(Change, Self)>, ClientError> {
        let mut events = if let Some(events) = self.events.take() {
            events
        } else {
            let body = BodyDataStream::new(self.api.follow().await?);
            let may_die_silently = self.api.may_die_silently();
            if may_die_silently { sse::events(sse::while_alive(body, 3 * KEEP_ALIVE)) } else { sse::events(body) }
        };
        let bad = |cause: String| ClientError::BadAnswer { place: self.api.place.to_string(), cause };
        match events.next().await {
            None => Ok(None),
            Some(Err(sse_stream::Error::Body(cause))) => Err(self.api.interrupted(cause)),
            Some(Err(error)) => Err(bad(error.to_string())),
            Some(Ok(data)) => {
                let change = serde_json::from_str(&data).map_err(|e| bad(e.to_string()))?;
                self.events = Some(events);
                Ok(Some((change, self)))
            }
        }
    }
}

impl Api for HttpApi {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, ClientError>> {
        Box::pin(async move {
            timeout(request.deadline, self.call(&request))
                .await
                .unwrap_or_else(|_| Err(self.timed_out(request.deadline)))
        })
    }

    fn upload(&self, request: Request, file: ByteStream) -> BoxFuture<'_, Result<Response, ClientError>> {
        Box::pin(async move {
            let body = StreamBody::new(file.map(|bytes| bytes.map(Frame::data))).boxed_unsync();
            let answer =
                async { self.read_response(self.open_with(&request, Some(FILE_CONTENT_TYPE), body).await?).await };
            timeout(request.deadline, answer).await.unwrap_or_else(|_| Err(self.timed_out(request.deadline)))
        })
    }

    fn download(&self, request: Request) -> BoxFuture<'_, Result<Download, ClientError>> {
        Box::pin(async move {
            let response = timeout(request.deadline, self.open(&request))
                .await
                .map_err(|_| self.timed_out(request.deadline))??;
            let header_text = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
            Ok(Download {
                status: response.status().as_u16(),
                summary: header_text(SUMMARY_HEADER).map(str::to_owned),
                length: header_text(header::CONTENT_LENGTH.as_str()).and_then(|length| length.parse().ok()),
                body: BodyStream::new(response.into_body())
                    .filter_map(|frame| {
                        std::future::ready(match frame {
                            Ok(frame) => frame.into_data().ok().map(Ok),
                            Err(error) => Some(Err(std::io::Error::other(error))),
                        })
                    })
                    .boxed(),
            })
        })
    }

    fn changes(&self) -> BoxStream<'static, Result<Change, ClientError>> {
        try_unfold(ChangeStream { api: self.clone(), events: None }, ChangeStream::next).boxed()
    }

    fn place(&self) -> String {
        self.place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_there_is_unreachable_and_says_where() {
        let dir = tempfile::tempdir().unwrap();
        let api = HttpApi::unix(dir.path().join("none.sock"));
        let error = api.send(Request::new(Method::GET, "/health")).await.unwrap_err();
        assert!(matches!(error, ClientError::Unreachable { .. }), "{error}");
        assert!(error.to_string().contains("none.sock"), "{error}");
    }

    #[tokio::test]
    async fn one_who_listens_and_never_answers_is_a_timeout() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("mute.sock");
        let _mute = tokio::net::UnixListener::bind(&path).unwrap();
        let request = Request { deadline: Duration::from_millis(50), ..Request::new(Method::GET, "/health") };
        let error = HttpApi::unix(path).send(request).await.unwrap_err();
        assert!(matches!(error, ClientError::Timeout { .. }), "{error}");
    }
}
