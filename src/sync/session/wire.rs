//! Frames over a stream of bytes, both ways at once: one task reads, one writes, so that two peers who both have much to say never
//! wait for each other to listen.

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
    Limits,
    step::{self, Step},
};
use crate::sync::frame::{self, FrameError, LENGTH, Message};

/// Frames that are read ahead of the session.
const AHEAD: usize = 4;

/// Bytes read or written at once; memory for a frame grows by this much.
const PIECE: usize = 64 * 1024;

/// From this length on, a frame is unpacked on a thread of its own.
const LONG: usize = 256 * 1024;

/// The slowest that a peer may send a long frame, in bytes a second, beside the idle time that every frame has.
const SLOWEST: u64 = 64 * 1024;

/// How long the last words may take to get out.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why nothing more comes, or goes.
#[derive(Debug, thiserror::Error)]
pub(super) enum WireError {
    /// The stream ended or failed.
    #[error("{0}")]
    Cut(String),
    /// The peer is too slow.
    #[error("the peer took longer than {} s for a frame", .0.as_secs())]
    Slow(Duration),
    /// The peer sent what is no frame.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Both directions of a session's stream.
pub(super) struct Wire {
    incoming: mpsc::Receiver<Result<Message, WireError>>,
    outgoing: mpsc::UnboundedSender<Vec<u8>>,
    waiting: Arc<Waiting>,
    reading: JoinHandle<()>,
    writing: JoinHandle<()>,
}

/// What has not gone out yet.
#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    less: Notify,
}

impl Wire {
    pub(super) fn new<R, W>(reader: R, writer: W, limits: Limits) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (heard, incoming) = mpsc::channel(AHEAD);
        let (outgoing, queue) = mpsc::unbounded_channel();
        let waiting = Arc::new(Waiting::default());
        Self {
            incoming,
            outgoing,
            reading: tokio::spawn(listen(reader, heard, limits)),
            writing: tokio::spawn(speak(writer, queue, Arc::clone(&waiting), limits)),
            waiting,
        }
    }

    /// The next message; an error also where nothing can be said any more. Safe to cancel.
    pub(super) async fn next(&mut self) -> Result<Message, WireError> {
        let next = self.hear().await;
        if let Ok(message) = &next {
            step::at(Step::Hear(message.kind()));
        }
        next
    }

    async fn hear(&mut self) -> Result<Message, WireError> {
        let over = || Err(WireError::Cut("the stream is over".to_owned()));
        tokio::select! {
            biased;
            message = self.incoming.recv() => message.unwrap_or_else(over),
            // The peer may have said why before it ceased to listen.
            () = self.outgoing.closed() => match timeout(LAST_WORDS, self.incoming.recv()).await {
                Ok(Some(message)) => message,
                _ => Err(WireError::Cut("the peer does not listen any more".to_owned())),
            },
        }
    }

    /// Sends a message when those before it have gone.
    pub(super) fn send(&self, message: &Message) -> Result<(), WireError> {
        self.send_frame(frame::encode(message)?)
    }

    /// Sends a frame that was made elsewhere.
    pub(super) fn send_frame(&self, bytes: Vec<u8>) -> Result<(), WireError> {
        if let Some(kind) = frame::kind(&bytes) {
            step::at(Step::Say(kind));
        }
        self.waiting.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        self.outgoing.send(bytes).map_err(|_| WireError::Cut("the peer does not listen any more".to_owned()))
    }

    /// Bytes that have not gone out yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.bytes.load(Ordering::Relaxed)
    }

    /// Returns once fewer bytes wait than when it was called.
    pub(super) fn drained(&self) -> impl Future<Output = ()> + 'static {
        let waiting = Arc::clone(&self.waiting);
        async move { waiting.less.notified().await }
    }

    /// Ends: what was sent goes out first, for a short while.
    pub(super) async fn finish(self) {
        self.reading.abort();
        let Self { outgoing, mut writing, .. } = self;
        drop(outgoing);
        if timeout(LAST_WORDS, &mut writing).await.is_err() {
            writing.abort();
        }
    }

    /// Ends at once.
    pub(super) fn cut(&self) {
        self.reading.abort();
        self.writing.abort();
    }
}

async fn listen<R: AsyncRead + Unpin>(mut from: R, heard: mpsc::Sender<Result<Message, WireError>>, limits: Limits) {
    loop {
        let message = tokio::select! {
            message = read(&mut from, limits) => message,
            () = heard.closed() => return,
        };
        let over = message.is_err();
        if heard.send(message).await.is_err() || over {
            return;
        }
    }
}

/// Reads one message. Between frames there may be any silence; a frame that has begun must come.
async fn read<R: AsyncRead + Unpin>(from: &mut R, limits: Limits) -> Result<Message, WireError> {
    let mut head = [0; LENGTH];
    head[0] = from.read_u8().await.map_err(cut)?;
    let in_time = limits.idle;
    timeout(in_time, from.read_exact(&mut head[1..])).await.map_err(|_| WireError::Slow(in_time))?.map_err(cut)?;
    let length = frame::length(head)?;
    let in_time = limits.idle + Duration::from_secs(length as u64 / SLOWEST);
    let frame = timeout(in_time, body(from, length)).await.map_err(|_| WireError::Slow(in_time))?.map_err(cut)?;
    if length < LONG {
        return Ok(frame::decode(&frame)?);
    }
    match tokio::task::spawn_blocking(move || frame::decode(&frame)).await {
        Ok(message) => Ok(message?),
        Err(error) => Err(WireError::Cut(error.to_string())),
    }
}

/// Reads `length` bytes; memory follows what comes.
async fn body<R: AsyncRead + Unpin>(from: &mut R, length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < length {
        let filled = bytes.len();
        bytes.resize(length.min(filled + PIECE), 0);
        from.read_exact(&mut bytes[filled..]).await?;
    }
    Ok(bytes)
}

async fn speak<W: AsyncWrite + Unpin>(
    mut to: W,
    mut queue: mpsc::UnboundedReceiver<Vec<u8>>,
    waiting: Arc<Waiting>,
    limits: Limits,
) {
    while let Some(bytes) = queue.recv().await {
        for piece in bytes.chunks(PIECE) {
            match timeout(limits.idle, to.write_all(piece)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => return tracing::debug!(%error, "the peer cannot be told"),
                Err(_) => return tracing::debug!("the peer does not listen"),
            }
        }
        if queue.is_empty() && !matches!(timeout(limits.idle, to.flush()).await, Ok(Ok(()))) {
            return;
        }
        waiting.bytes.fetch_sub(bytes.len(), Ordering::Relaxed);
        waiting.less.notify_one();
    }
    drop(to.shutdown().await);
}

fn cut(error: io::Error) -> WireError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => WireError::Cut("the peer ended the stream".to_owned()),
        _ => WireError::Cut(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;
    use crate::sync::frame::Nudge;

    fn nudge(n: u8) -> Message {
        Message::Nudge(Nudge { state: [n; 32] })
    }

    fn wire(stream: tokio::io::DuplexStream) -> Wire {
        let (reader, writer) = tokio::io::split(stream);
        Wire::new(reader, writer, Limits::default())
    }

    #[tokio::test]
    async fn two_who_both_talk_much_do_not_wait_for_each_other() {
        let (a, b) = duplex(64);
        let (mut a, mut b) = (wire(a), wire(b));
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
        assert!(matches!(b.next().await, Err(WireError::Cut(_))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_drips_a_frame_is_cut_and_one_that_is_silent_between_frames_is_not() {
        let (a, mut b) = duplex(1024);
        let mut a = wire(a);
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
        assert!(matches!(a.next().await, Err(WireError::Slow(_))));
        drip.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_does_not_listen_is_cut() {
        let (a, b) = duplex(16);
        let a = wire(a);
        a.send(&nudge(1)).unwrap();
        tokio::time::sleep(Duration::from_mins(2)).await;
        assert!(a.send(&nudge(2)).is_err(), "the writer has given up");
        drop(b);
    }

    #[tokio::test(start_paused = true)]
    async fn who_only_listens_hears_that_it_cannot_speak_any_more() {
        let (a, b) = duplex(16);
        let mut a = wire(a);
        a.send(&nudge(1)).unwrap();
        let begun = tokio::time::Instant::now();
        assert!(matches!(a.next().await, Err(WireError::Cut(why)) if why.contains("listen")));
        let took = begun.elapsed();
        assert!(took <= Limits::default().idle + 2 * LAST_WORDS, "it was waited for {took:?}");
        drop(b);
    }

    #[tokio::test]
    async fn the_last_words_of_a_peer_that_listens_no_more_are_heard() {
        let ((to_a, from_b), (b_reads, b_writes)) = (duplex(1024), duplex(16));
        let mut a = Wire::new(to_a, b_reads, Limits::default());
        let (_, mut from_b) = tokio::io::split(from_b);
        drop(b_writes);
        a.send(&nudge(1)).unwrap();
        tokio::task::yield_now().await;
        from_b.write_all(&frame::encode(&nudge(7)).unwrap()).await.unwrap();
        assert_eq!(a.next().await.unwrap(), nudge(7));
    }

    #[tokio::test]
    async fn a_declared_length_reserves_nothing_and_an_oversized_one_ends_the_stream() {
        let (a, mut b) = duplex(1024);
        let mut a = wire(a);
        b.write_all(&u32::MAX.to_le_bytes()).await.unwrap();
        assert!(matches!(a.next().await, Err(WireError::Frame(FrameError::TooLong(_)))));
        assert!(matches!(a.next().await, Err(WireError::Cut(_))));
    }
}
