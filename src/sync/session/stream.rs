//! Frames over a stream of bytes. One task reads and another writes, so that two peers with much to send never block
//! each other.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    sync::{Notify, mpsc},
    task::JoinHandle,
    time::timeout,
};

use super::{
    SessionLimits,
    step::{self, SessionStep},
};
use crate::sync::frame::{self, FrameError, LENGTH, Message, Rejection};

/// The number of frames that are read ahead of the session.
const READ_AHEAD: usize = 4;

/// The bytes read or written at once. The memory of an incoming frame grows by this much.
const CHUNK_BYTES: usize = 64 * 1024;

/// The length in bytes from which a frame is decoded on a thread that may block.
const LONG_FRAME_BYTES: usize = 256 * 1024;

/// The lowest accepted rate of a long frame. Its timeout is the idle time plus the time at this rate.
const MIN_BYTES_PER_SECOND: u64 = 64 * 1024;

/// The timeout for sending the last frames.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The reason why reading or writing failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum StreamError {
    /// The stream ended or failed.
    #[error("{0}")]
    Closed(String),
    /// The peer is too slow.
    #[error("the peer took longer than {} s for one message", .0.as_secs())]
    TimedOut(Duration),
    /// The peer sent an invalid frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Both directions of a session's stream.
pub(super) struct FrameStream {
    incoming: mpsc::Receiver<Result<Message, StreamError>>,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    unsent: Arc<Unsent>,
    max_unsent: usize,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

/// The bytes that were queued and not written yet.
#[derive(Default)]
struct Unsent {
    bytes: AtomicUsize,
    less: Notify,
}

impl FrameStream {
    pub(super) fn new<R, W>(reader: R, writer: W, limits: SessionLimits) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (received, incoming) = mpsc::channel(READ_AHEAD);
        let (outgoing, queue) = mpsc::unbounded_channel();
        let unsent = Arc::new(Unsent::default());
        Self {
            incoming,
            outgoing,
            reading: tokio::spawn(read_loop(reader, received, limits)),
            writing: tokio::spawn(write_loop(writer, queue, Arc::clone(&unsent), limits)),
            unsent,
            max_unsent: limits.unsent,
        }
    }

    /// Returns the next message, or an error if the stream failed in either direction. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Message, StreamError> {
        let next = self.receive().await;
        if let Ok(message) = &next {
            step::at(SessionStep::Receive(message.kind()));
        }
        next
    }

    async fn receive(&mut self) -> Result<Message, StreamError> {
        let over = || Err(StreamError::Closed("the stream has ended".to_owned()));
        tokio::select! {
            biased;
            message = self.incoming.recv() => message.unwrap_or_else(over),
            // The peer may have sent a reason before it stopped reading.
            () = self.outgoing.closed() => match timeout(FLUSH_TIMEOUT, self.incoming.recv()).await {
                Ok(Some(message)) => message,
                _ => Err(StreamError::Closed("the peer no longer reads".to_owned())),
            },
        }
    }

    pub(super) fn send(&self, message: &Message) -> Result<(), StreamError> {
        self.send_frame(frame::encode(message)?)
    }

    /// Queues a frame that was encoded elsewhere. Fails if too many bytes are unsent.
    pub(super) fn send_frame(&self, bytes: Vec<u8>) -> Result<(), StreamError> {
        if let Some(kind) = frame::kind(&bytes) {
            step::at(SessionStep::Send(kind));
        }
        if self.unsent.bytes.fetch_add(cost(&bytes), Ordering::Relaxed) > self.max_unsent {
            return Err(StreamError::Closed("the peer reads too slowly".to_owned()));
        }
        self.outgoing.send(bytes).map_err(|_| StreamError::Closed("the peer no longer reads".to_owned()))
    }

    /// Returns the message with which the peer ended the session, if it did and the message arrives in time. For a stream
    /// that failed: the peer may have said why before it stopped reading.
    pub(super) async fn closing_message(&mut self) -> Option<Message> {
        let find = async {
            while let Some(Ok(message)) = self.incoming.recv().await {
                match message {
                    Message::Bye | Message::Error(Rejection { document: None, .. }) => return Some(message),
                    _ => {}
                }
            }
            None
        };
        timeout(FLUSH_TIMEOUT, find).await.unwrap_or_default()
    }

    /// Returns the number of bytes that are not written yet.
    pub(super) fn unsent(&self) -> usize {
        self.unsent.bytes.load(Ordering::Relaxed)
    }

    /// Waits until a queued frame was written.
    pub(super) fn drained(&self) -> impl Future<Output = ()> + 'static {
        let unsent = Arc::clone(&self.unsent);
        async move { unsent.less.notified().await }
    }

    /// Closes the stream after the queued frames were written, or after a short timeout.
    pub(super) async fn finish(self) {
        self.reading.abort();
        let Self { outgoing, mut writing, .. } = self;
        drop(outgoing);
        if timeout(FLUSH_TIMEOUT, &mut writing).await.is_err() {
            writing.abort();
        }
    }

    /// Closes the stream at once.
    pub(super) fn abort(&self) {
        self.reading.abort();
        self.writing.abort();
    }
}

async fn read_loop<R: AsyncRead + Unpin>(
    mut from: R,
    received: mpsc::Sender<Result<Message, StreamError>>,
    limits: SessionLimits,
) {
    loop {
        let message = tokio::select! {
            message = read(&mut from, limits) => message,
            () = received.closed() => return,
        };
        let over = message.is_err();
        if received.send(message).await.is_err() || over {
            return;
        }
    }
}

/// Reads one message. A pause between frames may be of any length, but a frame that has begun must arrive in time.
async fn read<R: AsyncRead + Unpin>(from: &mut R, limits: SessionLimits) -> Result<Message, StreamError> {
    let mut head = [0; LENGTH];
    head[0] = from.read_u8().await.map_err(closed)?;
    let in_time = limits.idle;
    timeout(in_time, from.read_exact(&mut head[1..]))
        .await
        .map_err(|_| StreamError::TimedOut(in_time))?
        .map_err(closed)?;
    let length = frame::length(head)?;
    let in_time = limits.idle + Duration::from_secs(length as u64 / MIN_BYTES_PER_SECOND);
    let frame =
        timeout(in_time, body(from, length)).await.map_err(|_| StreamError::TimedOut(in_time))?.map_err(closed)?;
    if length < LONG_FRAME_BYTES {
        return Ok(frame::decode(&frame)?);
    }
    match tokio::task::spawn_blocking(move || frame::decode(&frame)).await {
        Ok(message) => Ok(message?),
        Err(error) => Err(StreamError::Closed(error.to_string())),
    }
}

/// Reads `length` bytes. Memory grows with the bytes that arrive.
async fn body<R: AsyncRead + Unpin>(from: &mut R, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let filled = bytes.len();
        bytes.resize(length.min(filled + CHUNK_BYTES), 0);
        from.read_exact(&mut bytes[filled..]).await?;
    }
    Ok(bytes)
}

async fn write_loop<W: AsyncWrite + Unpin>(
    mut to: W,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    unsent: Arc<Unsent>,
    limits: SessionLimits,
) {
    while let Some(bytes) = queue.recv().await {
        for piece in bytes.chunks(CHUNK_BYTES) {
            match timeout(limits.idle, to.write_all(piece)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return tracing::debug!(%error, "cannot write to the peer"),
                Err(_) => return tracing::debug!("the peer reads too slowly"),
            }
        }
        if queue.is_empty() && !matches!(timeout(limits.idle, to.flush()).await, Ok(Ok(()))) {
            return;
        }
        unsent.bytes.fetch_sub(cost(&bytes), Ordering::Relaxed);
        unsent.less.notify_one();
    }
    drop(to.shutdown().await);
}

/// Estimates the memory of a queued frame, in bytes.
fn cost(frame: &[u8]) -> usize {
    frame.len() + 64
}

fn closed(error: io::Error) -> StreamError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => StreamError::Closed("the peer ended the stream".to_owned()),
        _ => StreamError::Closed(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;
    use crate::{
        domain::replica::DocumentId,
        sync::{
            frame::{Nudge, RejectCode},
            session::{SessionEnd, StopReason},
        },
    };

    fn nudge(n: u8) -> Message {
        Message::Nudge(Nudge { state: [n; 32], clock: None })
    }

    fn stream(stream: tokio::io::DuplexStream) -> FrameStream {
        let (reader, writer) = tokio::io::split(stream);
        FrameStream::new(reader, writer, SessionLimits::default())
    }

    #[tokio::test]
    async fn two_busy_peers_do_not_wait_for_each_other() {
        let (a, b) = duplex(64);
        let (mut a, mut b) = (stream(a), stream(b));
        for n in 0..200 {
            a.send(&nudge(n)).unwrap();
            b.send(&nudge(n)).unwrap();
        }
        for n in 0..200 {
            assert_eq!(a.next().await.unwrap(), nudge(n));
            assert_eq!(b.next().await.unwrap(), nudge(n));
        }
        a.send(&Message::Bye).unwrap();
        a.finish().await;
        assert_eq!(b.next().await.unwrap(), Message::Bye, "the last words arrive");
        assert!(matches!(b.next().await, Err(StreamError::Closed(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_frame_times_out_and_a_pause_between_frames_does_not() {
        let (a, mut b) = duplex(1024);
        let mut a = stream(a);
        let bytes = frame::encode(&nudge(1)).unwrap();
        b.write_all(&bytes).await.unwrap();
        a.next().await.unwrap();
        tokio::time::sleep(Duration::from_hours(1)).await;
        b.write_all(&bytes).await.unwrap();
        assert_eq!(a.next().await.unwrap(), nudge(1));
        let drip = tokio::spawn(async move {
            for byte in bytes {
                b.write_all(&[byte]).await.unwrap();
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
        });
        assert!(matches!(a.next().await, Err(StreamError::TimedOut(_))));
        drip.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_read_is_disconnected() {
        let (a, b) = duplex(16);
        let a = stream(a);
        a.send(&nudge(1)).unwrap();
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert!(a.send(&nudge(2)).is_err(), "the writer has given up");
        drop(b);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_learns_that_it_can_no_longer_write() {
        let (a, b) = duplex(16);
        let mut a = stream(a);
        a.send(&nudge(1)).unwrap();
        let begun = tokio::time::Instant::now();
        assert!(matches!(a.next().await, Err(StreamError::Closed(why)) if why.contains("no longer reads")));
        let took = begun.elapsed();
        assert!(took <= SessionLimits::default().idle + 2 * FLUSH_TIMEOUT, "it was waited for {took:?}");
        drop(b);
    }

    #[tokio::test]
    async fn the_last_frames_of_a_closed_peer_are_read() {
        let ((to_a, from_b), (b_reads, b_writes)) = (duplex(1024), duplex(16));
        let mut a = FrameStream::new(to_a, b_reads, SessionLimits::default());
        let (_, mut from_b) = tokio::io::split(from_b);
        drop(b_writes);
        a.send(&nudge(1)).unwrap();
        tokio::task::yield_now().await;
        from_b.write_all(&frame::encode(&nudge(7)).unwrap()).await.unwrap();
        assert_eq!(a.next().await.unwrap(), nudge(7));
    }

    #[tokio::test]
    async fn a_failed_send_ends_the_session_as_the_waiting_closing_message_says() {
        let refused = Rejection { code: RejectCode::NotPaired, reason: "revoked".to_owned(), document: None };
        let of_document = Rejection { document: Some(DocumentId([1; 32])), ..refused.clone() };
        let rejection = SessionEnd::RejectedByPeer(RejectCode::NotPaired, "revoked".to_owned());
        let of_document = [nudge(1), Message::Error(of_document)];
        for (last, end) in [
            (Some(Message::Bye), SessionEnd::ClosedByPeer),
            (Some(Message::Error(refused)), rejection),
            (None, SessionEnd::Interrupted("the peer no longer reads".to_owned())),
        ] {
            let ((to_a, mut from_b), (a_writes, b_reads)) = (duplex(4096), duplex(16));
            let mut a = FrameStream::new(to_a, a_writes, SessionLimits::default());
            for message in of_document.iter().chain(&last) {
                from_b.write_all(&frame::encode(message).unwrap()).await.unwrap();
            }
            drop((from_b, b_reads));
            a.send(&nudge(2)).unwrap();
            a.outgoing.closed().await;
            let failed = StopReason::from(a.send(&nudge(3)).unwrap_err());
            assert_eq!(failed.or_closing_message(&mut a).await.into_session_end(), end);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_closing_message_that_never_comes_is_waited_for_briefly() {
        let (to_a, from_b) = duplex(1024);
        let mut a = FrameStream::new(to_a, tokio::io::sink(), SessionLimits::default());
        let begun = tokio::time::Instant::now();
        assert_eq!(a.closing_message().await, None);
        assert!(begun.elapsed() <= FLUSH_TIMEOUT + Duration::from_secs(1));
        drop(from_b);
    }

    #[tokio::test]
    async fn a_declared_length_reserves_nothing_and_an_oversized_one_ends_the_stream() {
        let (a, mut b) = duplex(1024);
        let mut a = stream(a);
        b.write_all(&u32::MAX.to_le_bytes()).await.unwrap();
        assert!(matches!(a.next().await, Err(StreamError::Frame(FrameError::TooLong(_)))));
        assert!(matches!(a.next().await, Err(StreamError::Closed(_))));
    }
}
