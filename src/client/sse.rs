//! Server-sent events of a response, each of a bounded length.

use std::{
    future::ready,
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::stream::{BoxStream, Stream, StreamExt, unfold};
use sse_stream::{Error, SseStream};
use tokio::time::timeout;

/// The most bytes that arrive without completing an event, far above what the daemon sends.
const MAX_EVENT: usize = 1024 * 1024;

/// Parses the bytes of a response and returns the `data` of each event.
pub(super) fn events<E>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> BoxStream<'static, Result<String, Error>>
where
    E: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let pending = Arc::new(AtomicUsize::new(0));
    let completed = Arc::clone(&pending);
    let bounded = bytes.map(move |bytes| {
        let bytes = bytes.map_err(io::Error::other)?;
        if pending.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len() > MAX_EVENT {
            return Err(io::Error::other(format!("an event is longer than {MAX_EVENT} bytes")));
        }
        Ok(bytes)
    });
    SseStream::from_bytes_stream(bounded)
        .filter_map(move |event| {
            completed.store(0, Ordering::Relaxed);
            ready(event.map(|event| event.data).transpose())
        })
        .boxed()
}

/// Ends a response with an error if nothing arrives for `max_silence`: then its connection counts as dead.
pub(super) fn while_alive<E>(
    bytes: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    max_silence: Duration,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static
where
    E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
{
    unfold(Some(bytes), move |bytes| async move {
        let mut bytes = bytes?;
        if let Ok(next) = timeout(max_silence, bytes.next()).await {
            return Some((next?.map_err(io::Error::other), Some(bytes)));
        }
        let silence = format!("nothing arrived for {} s", max_silence.as_secs());
        Some((Err(io::Error::new(io::ErrorKind::TimedOut, silence)), None))
    })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream::iter;

    use super::*;

    const STREAM: &[u8] = b": hi\n\nevent: hello\ndata: {\"a\":1}\n\ndata: x\r\ndata: y\r\n\r\nid: 3\n\n";

    fn pieces(bytes: &[u8], size: usize) -> impl Stream<Item = Result<Bytes, Infallible>> + 'static {
        iter(bytes.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect::<Vec<_>>())
    }

    #[tokio::test]
    async fn a_silent_connection_is_taken_for_dead() {
        let bytes = pieces(b"data: x\n\n", 64).chain(futures_util::stream::pending());
        let events: Vec<_> = events(while_alive(bytes, Duration::from_millis(50))).collect().await;
        assert_eq!(events.len(), 2);
        assert_eq!(events[0].as_ref().unwrap(), "x");
        assert!(matches!(&events[1], Err(Error::Body(cause)) if cause.to_string().contains("nothing arrived")));
    }

    #[tokio::test]
    async fn any_cut_of_the_bytes_gives_the_same_events() {
        for size in 1..STREAM.len() {
            let events: Vec<_> = events(pieces(STREAM, size)).map(Result::unwrap).collect().await;
            assert_eq!(events, ["{\"a\":1}", "x\ny"], "pieces of {size}");
        }
    }

    #[tokio::test]
    async fn an_endless_event_is_refused_and_a_long_stream_is_not() {
        let endless = vec![b'a'; MAX_EVENT + 1];
        let mut refused = events(pieces(&endless, 64 * 1024));
        assert!(matches!(refused.next().await, Some(Err(Error::Body(_)))));
        let long = b"data: x\n\n".repeat(MAX_EVENT / 4);
        assert_eq!(events(pieces(&long, 64 * 1024)).map(Result::unwrap).count().await, MAX_EVENT / 4);
    }
}
