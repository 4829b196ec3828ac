//! A fake daemon with scripted responses, for tests of screens and verbs: responses, delays, failures, and the
//! requests.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{
    future::BoxFuture,
    stream::{BoxStream, StreamExt, unfold},
};
use http::Method;
use serde::Serialize;
use tokio::sync::broadcast;

use super::{Api, ByteStream, ClientError, Download, Request, Response};
use crate::api::{ApiError, Change, ErrorCode};

/// A scripted response.
#[derive(Clone, Debug)]
pub struct Reply {
    result: Result<Response, ClientError>,
    delay: Duration,
}

impl Reply {
    /// Returns a JSON response.
    pub fn json(status: u16, body: &impl Serialize) -> Self {
        let body = Bytes::from(serde_json::to_vec(body).unwrap_or_default());
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        Self { result: Ok(Response { status, body, version }), delay: Duration::ZERO }
    }

    /// Returns an error as the daemon would send it.
    pub fn error(code: ErrorCode, message: &str) -> Self {
        Self::json(code.status(), &ApiError::new(code, message))
    }

    /// Returns no response at all.
    pub fn fail(error: ClientError) -> Self {
        Self { result: Err(error), delay: Duration::ZERO }
    }

    /// Delays the response.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Sets the program version of the daemon.
    #[must_use]
    pub fn version(mut self, version: &str) -> Self {
        if let Ok(response) = &mut self.result {
            response.version = Some(version.to_owned());
        }
        self
    }
}

#[derive(Debug)]
struct Script {
    method: Method,
    path: String,
    replies: VecDeque<Reply>,
}

/// Responds from a script and records the requests. What is not in the script is a 404.
#[derive(Debug)]
pub struct FakeApi {
    scripts: Mutex<Vec<Script>>,
    requests: Mutex<Vec<Request>>,
    changes: Mutex<Option<broadcast::Sender<Change>>>,
}

impl Default for FakeApi {
    fn default() -> Self {
        let changes = Mutex::new(Some(broadcast::channel(256).0));
        Self { scripts: Mutex::default(), requests: Mutex::default(), changes }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeApi {
    /// Creates a daemon without a script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a response for this method and exact path (without query). Several are used in turn; the last one
    /// stays.
    pub fn on(&self, method: Method, path: &str, reply: Reply) {
        let mut scripts = locked(&self.scripts);
        match scripts.iter_mut().find(|script| script.method == method && script.path == path) {
            Some(script) => script.replies.push_back(reply),
            None => scripts.push(Script { method, path: path.to_owned(), replies: [reply].into() }),
        }
    }

    /// Removes the responses of this method and path.
    pub fn forget(&self, method: &Method, path: &str) {
        locked(&self.scripts).retain(|script| script.method != *method || script.path != path);
    }

    /// Returns all requests so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        locked(&self.requests).clone()
    }

    /// Sends a change to every subscriber.
    pub fn push(&self, change: Change) {
        if let Some(sender) = &*locked(&self.changes) {
            drop(sender.send(change));
        }
    }

    /// Ends every stream of changes, as a daemon that exits.
    pub fn hang_up(&self) {
        locked(&self.changes).take();
    }

    fn reply(&self, request: &Request) -> Reply {
        let mut scripts = locked(&self.scripts);
        let script = scripts.iter_mut().find(|script| script.method == request.method && script.path == request.path);
        let reply = script.and_then(|script| {
            if script.replies.len() > 1 { script.replies.pop_front() } else { script.replies.front().cloned() }
        });
        reply.unwrap_or_else(|| {
            Reply::error(ErrorCode::NotFound, &format!("the script has no {} {}", request.method, request.path))
        })
    }
}

impl Api for FakeApi {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, ClientError>> {
        Box::pin(async move {
            let reply = self.reply(&request);
            let deadline = request.deadline;
            locked(&self.requests).push(request);
            if reply.delay >= deadline {
                tokio::time::sleep(deadline).await;
                return Err(ClientError::Timeout { place: self.place(), after: deadline });
            }
            if !reply.delay.is_zero() {
                tokio::time::sleep(reply.delay).await;
            }
            reply.result
        })
    }

    fn upload(&self, request: Request, file: ByteStream) -> BoxFuture<'_, Result<Response, ClientError>> {
        Box::pin(async move {
            // The content does not matter to a script, but it must be consumed.
            file.for_each(|_| std::future::ready(())).await;
            self.send(request).await
        })
    }

    fn download(&self, request: Request) -> BoxFuture<'_, Result<Download, ClientError>> {
        Box::pin(async move {
            let Response { status, body, .. } = self.send(request).await?;
            let length = Some(body.len() as u64);
            let body = futures_util::stream::once(std::future::ready(Ok(body))).boxed();
            Ok(Download { status, summary: None, length, body })
        })
    }

    fn changes(&self) -> BoxStream<'static, Result<Change, ClientError>> {
        let receiver = locked(&self.changes).as_ref().map(broadcast::Sender::subscribe);
        unfold(receiver, |receiver| async move {
            let mut receiver = receiver?;
            match receiver.recv().await {
                Ok(change) => Some((Ok(change), Some(receiver))),
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    let lagged = Change { event: "lagged".to_owned(), ..Change::default() };
                    Some((Ok(lagged), Some(receiver)))
                }
                Err(broadcast::error::RecvError::Closed) => None,
            }
        })
        .boxed()
    }

    fn place(&self) -> String {
        "fake:".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn answers_come_in_turn_and_the_last_stays() {
        let fake = FakeApi::new();
        fake.on(Method::GET, "/x", Reply::json(200, &1));
        fake.on(Method::GET, "/x", Reply::json(200, &2));
        let mut seen = Vec::new();
        for _ in 0..3 {
            seen.push(fake.send(Request::new(Method::GET, "/x")).await.unwrap().body);
        }
        assert_eq!(seen, ["1", "2", "2"]);
        assert_eq!(fake.send(Request::new(Method::GET, "/y")).await.unwrap().status, 404);
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_later_than_the_deadline_is_a_timeout() {
        let fake = FakeApi::new();
        fake.on(Method::GET, "/x", Reply::json(200, &1).after(Duration::from_mins(1)));
        let error = fake.send(Request::new(Method::GET, "/x")).await.unwrap_err();
        assert!(matches!(error, ClientError::Timeout { .. }), "{error}");
    }

    #[tokio::test]
    async fn changes_reach_who_follows_until_it_hangs_up() {
        let fake = FakeApi::new();
        let mut stream = fake.changes();
        fake.push(Change { seq: 3, ..Change::default() });
        assert_eq!(stream.next().await.unwrap().unwrap().seq, 3);
        fake.hang_up();
        assert!(stream.next().await.is_none());
    }
}
