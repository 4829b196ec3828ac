//! The listeners, and limits that prevent a bad connection from affecting others.

use std::{
    fs, future::Future, io, net::SocketAddr, os::unix::fs::PermissionsExt, path::Path, sync::Arc, time::Duration,
};

use axum::{Router, body::Body};
use futures_util::future::{join_all, pending};
use http::header;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::{GracefulShutdown, Watcher},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    sync::Semaphore,
    time::sleep,
};
use tower_service::Service;

use super::{DaemonError, drain, request_checks::RequestSource, state::SharedState};
use crate::config::ConfigError;

/// The timeout for the head of a request. An idle connection is closed after this time, too.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// The maximum number of connections of the socket, and of TCP. Further ones wait. All listeners together stay well
/// under the usual limit of 1,024 open files, so that none of them uses up the files of another.
const MAX_CONNECTIONS: usize = 256;

/// The maximum number of connections of clients of cogito-ergo.
const MAX_COMPAT_CONNECTIONS: usize = 64;

/// The maximum size of a request's head in bytes.
const MAX_HEAD: usize = 32 * 1024;

/// How long running requests may continue when the daemon ends.
const GRACE_PERIOD: Duration = Duration::from_secs(10);

/// How long a complete response may take to reach its client when the daemon ends.
const FLUSH_TIME: Duration = Duration::from_millis(250);

/// Opens the Unix socket. Replaces an existing one, which must be stale: the caller owns the store, so no daemon
/// listens on it.
pub(super) fn unix(path: &Path) -> Result<UnixListener, DaemonError> {
    match fs::remove_file(path) {
        Ok(()) => tracing::info!(socket = %path.display(), "removed a stale socket"),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(ConfigError::io("remove the stale socket", path, e).into()),
    }
    let listener = UnixListener::bind(path).map_err(|e| ConfigError::io("listen on", path, e))?;
    // The daemon's umask already ensures this; other callers may have another umask.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .map_err(|e| ConfigError::io("restrict the permissions of", path, e))?;
    Ok(listener)
}

/// Opens the TCP listener. A port in use is added to `problems` and not an error, since the socket is still available.
pub(super) async fn tcp(address: SocketAddr, problems: &mut Vec<String>) -> Option<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Some(listener),
        Err(error) => {
            let problem = format!(
                "cannot listen on {address} ({error}), so only the socket is available; set `address` in [daemon] of \
                    config.toml to a free port, or set `tcp = false`"
            );
            tracing::warn!("{problem}");
            problems.push(problem);
            None
        }
    }
}

/// A TCP listener and its router.
pub(super) struct Port {
    pub(super) listener: TcpListener,
    pub(super) source: RequestSource,
    pub(super) app: Router,
}

/// Serves until the daemon ends, then completes running requests for at most [`GRACE_PERIOD`]. `on_stop` is called as
/// soon as no new request is accepted.
pub(super) async fn serve(
    app: Router,
    shared: &SharedState,
    socket: UnixListener,
    ports: Vec<Port>,
    on_stop: impl FnOnce(),
) {
    let graceful = GracefulShutdown::new();
    {
        let by_socket = accept(&graceful, &app, RequestSource::Socket, &socket);
        let by_tcp = async {
            join_all(ports.iter().map(|port| accept(&graceful, &port.app, port.source, &port.listener))).await;
            // Without any port, this must not complete.
            pending::<()>().await;
        };
        let mut ending = shared.ending.subscribe();
        tokio::select! {
            () = by_socket => {}
            () = by_tcp => {}
            _ = ending.wait_for(|ending| *ending) => {}
        }
    }
    on_stop();
    drop((socket, ports));
    let mut busy = shared.busy.subscribe();
    let finished = async {
        // This cannot fail, since `shared` holds the sender.
        drop(busy.wait_for(|count| *count == 0).await);
        sleep(FLUSH_TIME).await;
    };
    tokio::select! {
        () = graceful.shutdown() => {}
        () = finished => {}
        () = sleep(GRACE_PERIOD) => tracing::warn!("requests were still running at shutdown"),
    }
}

/// A source of connections.
trait Listener: Sync {
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// Waits for the next connection.
    fn next(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
}

impl Listener for UnixListener {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<UnixStream> {
        Ok(self.accept().await?.0)
    }
}

impl Listener for TcpListener {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<TcpStream> {
        let (stream, _) = self.accept().await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}

/// Accepts connections forever, and serves each in a task of its own.
async fn accept(graceful: &GracefulShutdown, app: &Router, source: RequestSource, listener: &impl Listener) {
    let room = Arc::new(Semaphore::new(match source {
        RequestSource::Socket | RequestSource::Tcp => MAX_CONNECTIONS,
        RequestSource::Compat => MAX_COMPAT_CONNECTIONS,
    }));
    loop {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else { return };
        match listener.next().await {
            Ok(stream) => {
                let connection = connection(stream, app.clone(), source, graceful.watcher());
                tokio::spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            Err(error) => {
                // Too many open files, or the client has already closed the connection. The pause avoids a busy loop.
                tracing::warn!(%error, "cannot take a connection");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

fn connection<S>(stream: S, app: Router, source: RequestSource, watcher: Watcher) -> impl Future<Output = ()> + Send
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(source);
        let expects_continue = request.headers().contains_key(header::EXPECT);
        let (parts, body) = request.into_parts();
        let (lent, unread) = drain::lend(body, expects_continue);
        let answer = app.clone().call(hyper::Request::from_parts(parts, Body::new(lent)));
        async move {
            let answer = answer.await;
            unread.drain().await;
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let served = watcher.watch(connection);
    async move {
        if let Err(error) = served.await {
            tracing::debug!(%error, "a connection ended with an error");
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        time::Instant,
    };

    use super::*;
    use crate::daemon::{request_checks::TIMEOUT, routes, state::testing::shared};

    /// Serves a daemon's API on a socket in this folder, and connects to it. Tests run with tokio's paused clock.
    async fn serving(folder: &Path) -> UnixStream {
        let shared = shared(folder);
        let path = folder.join("ergo.sock");
        let socket = unix(&path).unwrap();
        tokio::spawn(async move {
            serve(routes::router(shared.clone(), axum::Router::new()), &shared, socket, Vec::new(), || {}).await;
        });
        UnixStream::connect(path).await.unwrap()
    }

    /// Reads to the end of the connection.
    async fn rest(stream: &mut UnixStream) -> String {
        let mut out = Vec::new();
        stream.read_to_end(&mut out).await.unwrap();
        String::from_utf8(out).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_says_nothing_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let begin = Instant::now();
        let mut silent = serving(dir.path()).await;
        assert_eq!(rest(&mut silent).await, "");
        assert!(begin.elapsed() < HEAD_TIMEOUT * 2, "{:?}", begin.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_trickles_in_is_cut_off() {
        let dir = tempfile::tempdir().unwrap();
        let mut slow = serving(dir.path()).await;
        let begin = Instant::now();
        slow.write_all(b"GET /health HTTP/1.1\r\n").await.unwrap();
        let mut sent = 0;
        // Each line comes well within the limit; all of them together do not.
        while sent < 100 && slow.write_all(format!("X-{sent}: y\r\n").as_bytes()).await.is_ok() {
            sent += 1;
            sleep(HEAD_TIMEOUT / 4).await;
        }
        assert!(begin.elapsed() < HEAD_TIMEOUT * 3, "{sent} lines were taken in {:?}", begin.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_ends_is_a_timeout_in_json() {
        // The answer to a recall may take longer than its body.
        for path in ["/remember", "/recall", "/reembed"] {
            let dir = tempfile::tempdir().unwrap();
            let mut slow = serving(dir.path()).await;
            let begin = Instant::now();
            let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{{");
            slow.write_all(head.as_bytes()).await.unwrap();
            let answer = rest(&mut slow).await;
            assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("\"timeout\""), "{path}: {answer}");
            assert!(begin.elapsed() < TIMEOUT * 2, "{path}: {:?}", begin.elapsed());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_is_too_large_or_not_http_is_refused_without_a_body() {
        let large = format!("GET /health HTTP/1.1\r\nX-Large: {}\r\n\r\n", "x".repeat(2 * MAX_HEAD));
        for (head, status) in [(large.as_str(), 431), ("no HTTP\r\n\r\n", 400)] {
            let dir = tempfile::tempdir().unwrap();
            let mut stream = serving(dir.path()).await;
            // The daemon closes the connection before it has read everything, so both may end with an error.
            drop(stream.write_all(head.as_bytes()).await);
            let mut answer = Vec::new();
            drop(stream.read_to_end(&mut answer).await);
            let answer = String::from_utf8(answer).unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.ends_with("\r\n\r\n"), "{answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_connection_is_closed_after_its_answer() {
        let dir = tempfile::tempdir().unwrap();
        let mut idle = serving(dir.path()).await;
        idle.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        let begin = Instant::now();
        assert!(rest(&mut idle).await.starts_with("HTTP/1.1 200"));
        assert!(begin.elapsed() < HEAD_TIMEOUT * 2, "{:?}", begin.elapsed());
    }
}
