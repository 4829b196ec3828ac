//! JSON-RPC over a pair of pipes, one message per line. The client may send anything: a line that is too long, invalid
//! JSON or not a message is answered with an error, and the session continues.

use std::io;

use rmcp::{
    RoleServer,
    model::{ErrorCode, ErrorData, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::JoinHandle,
};

/// The maximum size of a message in bytes: far more than the daemon accepts, so that usually the daemon's limits apply.
pub(super) const MAX_LINE: usize = 1024 * 1024;

/// The maximum number of answers that wait for a client that does not read them. Then its requests are no longer read.
const MAX_UNREAD: usize = 256;

/// The transport. Reading and writing are independent, except that [`MAX_UNREAD`] answers stop the reading.
pub(super) struct Pipe<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Whether the rest of a line that is too long is being skipped. A field, because the future that reads may be
    /// dropped at any time.
    skipping: bool,
    /// An error that was not sent yet.
    unsent_error: Option<Vec<u8>>,
    /// Whether a handshake was received. Before it, only requests are passed on.
    begun: bool,
    out: Option<mpsc::Sender<Vec<u8>>>,
}

/// The task that writes answers.
pub(super) struct Writer(JoinHandle<()>);

impl Writer {
    /// Waits until everything is written.
    pub(super) async fn end(self) {
        // Fails only if the task panicked. Then nothing more is written.
        drop(self.0.await);
    }
}

impl<R: AsyncRead + Send + Unpin> Pipe<R> {
    /// Creates a transport over two pipes, and starts the task that writes.
    pub(super) fn new<W: AsyncWrite + Send + Unpin + 'static>(read: R, mut write: W) -> (Self, Writer) {
        let (out, mut lines) = mpsc::channel::<Vec<u8>>(MAX_UNREAD);
        let writer = tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                if write.write_all(&line).await.is_err() || write.flush().await.is_err() {
                    // The client has closed its end.
                    return;
                }
            }
        });
        let pipe = Self {
            read: BufReader::new(read),
            line: Vec::new(),
            skipping: false,
            unsent_error: None,
            begun: false,
            out: Some(out),
        };
        (pipe, Writer(writer))
    }

    /// Reads until `line` holds a whole line. The inner error says that the line is too long; `Ok(None)` means the end
    /// of the input. Nothing is lost if the future is dropped while it waits.
    async fn next_line(&mut self) -> io::Result<Option<Result<(), ErrorData>>> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let fits = self.line.len() + taken <= MAX_LINE;
            if !self.skipping && fits {
                self.line.extend_from_slice(available.get(..taken).unwrap_or_default());
            }
            self.read.consume(taken);
            let whole = end.is_some();
            if self.skipping {
                self.skipping = !whole;
            } else if !fits {
                self.line.clear();
                self.skipping = !whole;
                let message = format!("message too long: at most {MAX_LINE} bytes are allowed; it was not read");
                return Ok(Some(Err(ErrorData::invalid_request(message, None))));
            } else if whole {
                return Ok(Some(Ok(())));
            }
        }
    }

    /// Parses the line into a message, or into the error to answer with; `None` if the line needs neither.
    fn message(&mut self) -> Option<Result<RxJsonRpcMessage<RoleServer>, Refusal>> {
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        if text.is_empty() {
            return None;
        }
        match parse(text) {
            Ok(Some(Parsed { message, begins })) => {
                self.begun |= begins;
                // Before the handshake, only requests are passed on.
                let early = !self.begun && !matches!(message, RxJsonRpcMessage::<RoleServer>::Request(_));
                (!early).then_some(Ok(message))
            }
            Ok(None) => None,
            Err(answer) => Some(Err(answer)),
        }
    }
}

/// The error for an invalid message, and the id of its request if it has one.
type Refusal = (Option<RequestId>, ErrorData);

struct Parsed {
    message: RxJsonRpcMessage<RoleServer>,
    /// Whether the message opens a session: `initialize`, or a request that contains the protocol's version.
    begins: bool,
}

/// Parses one message; `None` for an unknown notification.
fn parse(text: &[u8]) -> Result<Option<Parsed>, Refusal> {
    let value: Value = serde_json::from_slice(text)
        .map_err(|error| (None, ErrorData::parse_error(format!("invalid JSON: {error}"), None)))?;
    let wrong = |id, message: String| (id, ErrorData::invalid_request(message, None));
    let Value::Object(fields) = &value else {
        let what = if value.is_array() { "several messages at once" } else { "not an object" };
        return Err(wrong(None, format!("invalid message: expected one JSON object, got {what}")));
    };
    let id = fields.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    if fields.contains_key("id") && id.is_none() {
        return Err(wrong(None, "`id` must be a string or a whole number".to_owned()));
    }
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(wrong(id, "`jsonrpc` must be \"2.0\"".to_owned()));
    }
    let method = fields.get("method").and_then(Value::as_str).map(str::to_owned);
    let meta = value.pointer("/params/_meta").is_some_and(|meta| meta.get(VERSION_KEY).is_some());
    let begins = match method.as_deref() {
        Some("initialize") => true,
        Some("ping" | "server/discover") => false,
        _ => meta,
    };
    match serde_json::from_value(value) {
        Ok(message) => Ok(Some(Parsed { message, begins })),
        // Notifications are not answered.
        Err(_) if id.is_none() && method.is_some() => Ok(None),
        Err(_) => {
            let message = match &method {
                Some(method) => format!("invalid parameters for `{}`", shown(method)),
                None => "this is neither a request nor a response".to_owned(),
            };
            let code = if method.is_some() { ErrorCode::INVALID_PARAMS } else { ErrorCode::INVALID_REQUEST };
            Err((id, ErrorData::new(code, message, None)))
        }
    }
}

/// The key in `_meta` under which each request of the current protocol has the protocol's version.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// Returns a word of the client for an answer: cut to 60 characters and without invisible ones.
pub(super) fn shown(word: &str) -> String {
    crate::domain::text::sanitize_line(word).chars().take(60).collect()
}

/// Encodes a message as a line.
fn line(message: &TxJsonRpcMessage<RoleServer>) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Pipe<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let out = self.out.clone();
        async move {
            let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
            let line = line(&item)?;
            out.ok_or_else(gone)?.send(line).await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            // Wait for room for an answer first, so that a client that does not read answers is not read from either.
            let room = self.out.as_ref()?.reserve().await.ok()?;
            if let Some(error) = self.unsent_error.take() {
                room.send(error);
                continue;
            }
            drop(room);
            let (id, error) = match self.next_line().await {
                Ok(Some(Ok(()))) => match self.message() {
                    Some(Ok(message)) => return Some(message),
                    Some(Err(answer)) => answer,
                    None => continue,
                },
                Ok(Some(Err(error))) => (None, error),
                Ok(None) => return None,
                Err(error) => {
                    tracing::error!("cannot read from the client: {error}");
                    return None;
                }
            };
            tracing::debug!(%error.message, "rejected an invalid message");
            self.unsent_error = line(&TxJsonRpcMessage::<RoleServer>::error(error, id)).ok();
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.out = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (Option<RequestId>, i32, String) {
        match parse(text.as_bytes()) {
            Err((id, error)) => (id, error.code.0, error.message.into_owned()),
            Ok(_) => panic!("accepted: {text:.80}"),
        }
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        let id = |n| Some(RequestId::Number(n));
        assert_eq!(refused("{").1, -32700);
        assert_eq!(refused(&"[".repeat(100_000)).1, -32700);
        assert_eq!(refused("[]").1, -32600);
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#).1, -32600);
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#).1, -32600);
        assert_eq!(refused(r#"{"jsonrpc":"1.0","id":4,"method":"ping"}"#).0, id(4));
        assert_eq!(refused(r#"{"jsonrpc":"2.0","id":5}"#).0, id(5));
    }

    #[test]
    fn a_notification_that_nobody_knows_is_passed_over() {
        assert!(parse(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).unwrap().is_some());
        assert!(!parse(br#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#).unwrap().unwrap().begins);
        assert!(parse(br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}"#).unwrap().unwrap().begins);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_costs_an_error_and_the_next_is_read() {
        let mut input = vec![b'x'; MAX_LINE + 10];
        input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n");
        let (write, mut replies) = tokio::io::duplex(4096);
        let (mut pipe, writer) = Pipe::new(std::io::Cursor::new(input), write);
        let got = pipe.receive().await.unwrap().into_request().unwrap();
        assert_eq!(got.1, RequestId::Number(7));
        assert!(pipe.receive().await.is_none());
        pipe.close().await.unwrap();
        writer.end().await;
        let mut text = String::new();
        tokio::io::AsyncReadExt::read_to_string(&mut replies, &mut text).await.unwrap();
        let answer: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answer["error"]["code"], -32600);
        assert!(answer["error"]["message"].as_str().unwrap().contains("at most"), "{text}");
    }
}
