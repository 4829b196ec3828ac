//! A scripted daemon for the tests of the typed client.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use futures_util::{
    future::BoxFuture,
    stream::{BoxStream, StreamExt},
};
use http::Method;
use serde::Serialize;

use super::{Api, ByteStream, ClientError, Download, Request, Response};
use crate::api::{ApiError, Change, ErrorCode};

/// One scripted answer.
#[derive(Clone, Debug)]
pub(crate) struct FakeReply(Response);

impl FakeReply {
    /// A JSON answer.
    pub(crate) fn json(status: u16, body: &impl Serialize) -> Self {
        let body = Bytes::from(serde_json::to_vec(body).unwrap_or_default());
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        Self(Response { status, body, version })
    }

    /// An error as the daemon would send it.
    pub(crate) fn error(code: ErrorCode, message: &str) -> Self {
        Self::json(code.status(), &ApiError::new(code, message))
    }

    /// Sets the program version of the daemon that answers.
    #[must_use]
    pub(crate) fn version(mut self, version: &str) -> Self {
        self.0.version = Some(version.to_owned());
        self
    }
}

#[derive(Debug)]
struct Script {
    method: Method,
    path: String,
    replies: VecDeque<FakeReply>,
}

/// Answers from a script and records the requests. A request that is not in the script gets a 404.
#[derive(Debug, Default)]
pub(crate) struct FakeApi {
    scripts: Mutex<Vec<Script>>,
    requests: Mutex<Vec<Request>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FakeApi {
    /// Creates a daemon with an empty script.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds an answer to the calls of this method and exact path (without query). Several answers are given in turn; the
    /// last stays.
    pub(crate) fn on(&self, method: Method, path: &str, reply: FakeReply) {
        let mut scripts = locked(&self.scripts);
        match scripts.iter_mut().find(|script| script.method == method && script.path == path) {
            Some(script) => script.replies.push_back(reply),
            None => scripts.push(Script { method, path: path.to_owned(), replies: [reply].into() }),
        }
    }

    /// Returns all requests so far, in order.
    pub(crate) fn requests(&self) -> Vec<Request> {
        locked(&self.requests).clone()
    }

    fn reply(&self, request: &Request) -> FakeReply {
        let mut scripts = locked(&self.scripts);
        let script = scripts.iter_mut().find(|script| script.method == request.method && script.path == request.path);
        let reply = script.and_then(|script| {
            if script.replies.len() > 1 { script.replies.pop_front() } else { script.replies.front().cloned() }
        });
        reply.unwrap_or_else(|| {
            FakeReply::error(ErrorCode::NotFound, &format!("the script has no {} {}", request.method, request.path))
        })
    }
}

impl Api for FakeApi {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Response, ClientError>> {
        Box::pin(async move {
            let reply = self.reply(&request);
            locked(&self.requests).push(request);
            Ok(reply.0)
        })
    }

    fn upload(&self, request: Request, file: ByteStream) -> BoxFuture<'_, Result<Response, ClientError>> {
        Box::pin(async move {
            // The content does not matter to a script, but it must be read to the end.
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
        futures_util::stream::empty().boxed()
    }

    fn place(&self) -> String {
        "fake:".to_owned()
    }
}
