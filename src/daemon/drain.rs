//! Reads the rest of a request's body, up to a limit, if the handler answered without reading all of it.
//!
//! Otherwise the connection would be closed after the response, and a client that is still writing would see a broken
//! pipe instead of the response.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, SizeHint};
use tokio::{sync::oneshot, time::timeout};

/// The maximum number of bytes of a body that are read and discarded.
const MAX_DRAIN: usize = 16 * 1024 * 1024;

/// The timeout for the rest of a body.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// A request body for a handler. When it is dropped, the unread rest goes to its [`UnreadBody`].
pub(super) struct LentBody<B: Body> {
    body: Option<B>,
    back: Option<oneshot::Sender<B>>,
    /// True until the first read if the client waits for `100 Continue`, which the first read sends.
    expects_continue: bool,
}

/// The receiver of the unread rest of a body.
pub(super) struct UnreadBody<B>(oneshot::Receiver<B>);

/// Splits a body into the part for the handler and the receiver of the unread rest. `expects_continue`: the client
/// sends the body only after `100 Continue`.
pub(super) fn lend<B: Body>(body: B, expects_continue: bool) -> (LentBody<B>, UnreadBody<B>) {
    let (back, unread) = oneshot::channel();
    (LentBody { body: Some(body), back: Some(back), expects_continue }, UnreadBody(unread))
}

impl<B: Body + Unpin> UnreadBody<B> {
    /// Reads and discards what the handler left unread. Errors are ignored, since the response is already determined.
    pub(super) async fn drain(mut self) {
        let Ok(mut body) = self.0.try_recv() else { return };
        let discard = async {
            let mut read = 0;
            while let Some(Ok(frame)) = body.frame().await {
                read += frame.data_ref().map_or(0, bytes::Buf::remaining);
                if read > MAX_DRAIN {
                    return;
                }
            }
        };
        drop(timeout(DRAIN_TIMEOUT, discard).await);
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for LentBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.expects_continue = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B: Body> Drop for LentBody<B> {
    fn drop(&mut self) {
        let unread = self.body.take().filter(|body| !self.expects_continue && !body.is_end_stream());
        if let (Some(body), Some(back)) = (unread, self.back.take()) {
            // Sending fails if the connection is closed.
            drop(back.send(body));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use futures_util::stream::{self, StreamExt};
    use http_body_util::StreamBody;

    use super::*;

    /// Returns a body of `count` KiB, and the number of KiB that were read from it.
    fn pieces(count: usize) -> (impl Body<Data = Bytes, Error = Infallible> + Unpin, Arc<AtomicUsize>) {
        let read = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&read);
        let stream = stream::repeat(Bytes::from_static(&[b'x'; 1024])).take(count).map(move |bytes| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(Frame::data(bytes))
        });
        (StreamBody::new(Box::pin(stream)), read)
    }

    #[tokio::test]
    async fn what_a_handler_leaves_is_read_to_its_end() {
        let (body, read) = pieces(100);
        let (mut lent, unread) = lend(body, false);
        lent.frame().await.unwrap().unwrap();
        drop(lent);
        unread.drain().await;
        assert_eq!(read.load(Ordering::Relaxed), 100);
    }

    #[tokio::test]
    async fn a_body_without_end_is_given_up() {
        let (body, read) = pieces(usize::MAX);
        let (lent, unread) = lend(body, false);
        drop(lent);
        unread.drain().await;
        assert_eq!(read.load(Ordering::Relaxed), MAX_DRAIN / 1024 + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_comes_is_given_up() {
        let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let (lent, unread) = lend(body, false);
        drop(lent);
        let begin = tokio::time::Instant::now();
        unread.drain().await;
        assert!(begin.elapsed() < DRAIN_TIMEOUT * 2);
    }

    #[tokio::test]
    async fn a_body_that_the_client_holds_back_is_not_asked_for() {
        let (body, read) = pieces(3);
        let (lent, unread) = lend(body, true);
        drop(lent);
        unread.drain().await;
        assert_eq!(read.load(Ordering::Relaxed), 0);
    }
}
