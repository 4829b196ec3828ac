//! Fake workers, whose behaviour is a closure, and pools of them.

use std::{
    io,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use super::super::{process::Event, *};
use crate::{
    infer::{
        ModelFile, ModelSource,
        wire::{InferRequest, InferResponse, MAX_FRAME},
    },
    worker::{
        frame,
        process::{self, WorkerHandle},
    },
};

pub(super) type Sink = process::EventSink<InferResponse>;

/// Handles a request to a fake worker. It is called on the sending thread with the worker's number, and answers through
/// the sink.
pub(super) type Behave = dyn Fn(u64, &InferRequest, &Arc<Sink>) + Send + Sync;

pub(super) struct Fake {
    pub(super) starts: AtomicU64,
    behave: Box<Behave>,
}

struct FakeWorker {
    number: u64,
    fake: Arc<Fake>,
    sink: Arc<Sink>,
}

struct FakeLaunch(Arc<Fake>);

impl process::LaunchWorker<InferRequest, InferResponse> for FakeLaunch {
    fn launch(&self, sink: Sink) -> io::Result<Box<dyn WorkerHandle<InferRequest>>> {
        let number = self.0.starts.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(Box::new(FakeWorker { number, fake: Arc::clone(&self.0), sink: Arc::new(sink) }))
    }
}

impl WorkerHandle<InferRequest> for FakeWorker {
    fn send(&mut self, request: InferRequest) -> io::Result<()> {
        frame::encode(MAX_FRAME, &request)?;
        match &request.command {
            InferCommand::Hello(_) => reply_to(&self.sink, request.id, InferReply::Ready(VERSION)),
            _ => (self.fake.behave)(self.number, &request, &self.sink),
        }
        Ok(())
    }

    fn pid(&self) -> u32 {
        0
    }

    fn ended(&mut self) -> Option<String> {
        None
    }
}

pub(super) fn reply_to(sink: &Sink, id: u64, reply: InferReply) {
    sink(Event::Answer(InferResponse { id, reply }));
}

pub(super) fn classification() -> Classification {
    Classification { logits: [0.0, 1.0, 2.0], gate: Some(0.5) }
}

/// Answers a request successfully and at once.
pub(super) fn succeed(request: &InferRequest, sink: &Sink) {
    let reply = match &request.command {
        InferCommand::Load { .. } => {
            InferReply::Loaded(ModelFacts { dimension: 2, computes: "CPU".into(), ..ModelFacts::default() })
        }
        InferCommand::Embed(texts) => {
            let vectors = texts.iter().map(|text| wire::pack(&[text.len() as f32, 0.0])).collect();
            InferReply::Vectors(vectors, texts.iter().map(|text| text.len() as u64).sum())
        }
        InferCommand::Classify(pairs) => InferReply::Classifications(vec![classification(); pairs.len()]),
        InferCommand::Generate { prompt, .. } => InferReply::Text(prompt.text.clone()),
        InferCommand::Answers { answers, .. } => InferReply::Weights(answers.iter().map(|_| -1.0).collect()),
        InferCommand::Likelihood { .. } => InferReply::Weights(vec![-1.0]),
        InferCommand::Hello(_) | InferCommand::Cancel => return,
    };
    reply_to(sink, request.id, reply);
}

pub(super) struct Stage {
    pub(super) pool: Arc<Pool>,
    pub(super) fake: Arc<Fake>,
    /// The folder of the models' files.
    pub(super) dir: tempfile::TempDir,
}

pub(super) fn stage(behave: impl Fn(u64, &InferRequest, &Arc<Sink>) + Send + Sync + 'static) -> Stage {
    stage_with(|_| {}, behave)
}

pub(super) fn stage_with(
    set_up: impl FnOnce(&mut PoolOptions),
    behave: impl Fn(u64, &InferRequest, &Arc<Sink>) + Send + Sync + 'static,
) -> Stage {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, name).unwrap();
        Some(ModelSource::File(ModelFile { name: name.into(), sha256: String::new(), path }))
    };
    let set = ModelSet { embedder: file("e.gguf"), nli: file("n.gguf"), llm: file("l.gguf") };
    let fake = Arc::new(Fake { starts: AtomicU64::new(0), behave: Box::new(behave) });
    // Use one process of the small models, whatever the number of cores.
    let mut options = PoolOptions { small_workers: 1, ..PoolOptions::new(dir.path()) };
    set_up(&mut options);
    let pool = Arc::new(Pool::over(Arc::new(FakeLaunch(Arc::clone(&fake))), options, set));
    Stage { pool, fake, dir }
}

/// Returns a gate: each call of the function blocks until the sender sends a message.
pub(super) fn gate() -> (mpsc::Sender<()>, impl Fn() + Send + Sync + 'static) {
    let (open, opened) = mpsc::channel();
    let opened = Mutex::new(opened);
    (open, move || opened.lock().unwrap().recv().unwrap())
}

pub(super) const LONG: Duration = Duration::from_secs(20);

pub(super) fn soon() -> Call {
    Call::foreground(LONG)
}

pub(super) fn later() -> Call {
    Call::background(LONG)
}

pub(super) fn texts(many: usize) -> Vec<String> {
    (0..many).map(|at| "x".repeat(at)).collect()
}

pub(super) fn prompt(text: &str) -> Prompt {
    Prompt { text: text.into(), ..Prompt::default() }
}

/// Waits until `holds` returns true; panics after a minute.
#[track_caller]
pub(super) fn until(mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_mins(1), "waited in vain");
        thread::sleep(Duration::from_millis(1));
    }
}
