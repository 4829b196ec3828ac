//! The acts and reads of ergo, composed of guard and store; no HTTP, no screen.
//!
//! Methods block: call them only where blocking is allowed (`spawn_blocking`). One writer inside a mutex; reads use connections
//! of their own and never wait for it.

mod act_context;
mod acts;
mod agreement;
mod answer_cache;
mod beside;
mod calibrate;
mod config;
mod contacts;
mod deep_stage;
mod doubt_judges;
mod doubt_pass;
mod embed_backlog;
mod error;
mod extract;
mod fact_key;
mod find;
mod guard_calls;
mod guard_result;
mod held_results;
mod llm_choice;
mod model_results;
mod notes;
mod pair_inference;
mod past_reads;
mod proposal_counts;
mod question;
mod readers;
mod reads;
mod reembed;
mod refine;
mod request_hash;
mod semaphore;
mod still_in_force;
mod store_care;
mod story_model;
mod story_reading;
mod team;
mod threshold_shift;
mod timers;

mod unrelated_baseline;
mod validate;
mod view;
mod wording;

use std::sync::{
    Arc, Mutex, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

pub use config::{AgentPolicy, ClockFn, EngineConfig, LevelPolicy, PromoteMode, system_clock};
pub use deep_stage::{DeepMode, odds as deep_odds};
pub use doubt_judges::{JudgedBatch, rest_after};
pub use extract::{Extracted, fact_key_of};
pub use notes::{NoteProposal, ProposedNotes, ReconcileBudget, Reconciled};
pub use pair_inference::infer_pairs;
pub use reads::{RecallMeans, Weighing};
pub use refine::norm_prompt;
pub use store_care::{StoreProgress, StoreStep};
pub use story_reading::check_stories;
pub use team::{SyncReader, SyncWriter, TeamNotes};

use readers::Readers;
use semaphore::Semaphore;

use crate::{
    api::{
        ActRequest, AgentView, AgentsQuery, ApiError, AskThreshold, AuditOutcome, AuditRequest, CardView, Change,
        ClaimView, ClaimsPage, ClaimsQuery, ConflictsPage, ConflictsQuery, DependRequest, Doubts, DoubtsQuery,
        GuardCounts, History, Inbox, InboxQuery, IngestRequest, Ingested, IngestedFiles, IngestedQuery,
        JudgePairsRequest, JudgeRequest, JudgedPairs, LogPage, LogQuery, Questions, QuestionsQuery, RecallAnswer,
        RecallRequest, RememberRequest, ResolveManyRequest, ResolveRequest, ResolvedMany, ScopeThreshold, Scopes,
        Snapshot, SnapshotQuery, Story, StoryQuery, SupersedeRequest, Timing, UndoOutcome, UndoRequest, Unembedded,
        WhyAnswer, WhyRequest, WriteOutcome,
    },
    domain::{ClaimId, DeviceId, EventId},
    guard::{Guard, StructuralPairCheck},
    infer::{ModelRole, Models, NoModels},
    recall::answer_model::AnswerFeatures,
    store::{AgentTally, EventTally, Store, StoreError, StoreOptions, VectorModel},
    story,
};

/// Called with each change after it is committed, outside every lock, on the thread of the act.
pub type OnChange = Box<dyn Fn(Change) + Send + Sync>;

/// What [`Engine::counts`] knows for `GET /diagnose`.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineCounts {
    /// The store's schema version.
    pub schema: u32,
    /// The store's size in bytes, write-ahead log included.
    pub store_bytes: u64,
    /// This device.
    pub device: DeviceId,
    /// Events in both logs.
    pub events: usize,
    /// Claims, whatever their status.
    pub claims: usize,
    /// Active claims.
    pub active: usize,
    /// Open cards.
    pub open_cards: usize,
    /// Active claims that need review.
    pub needs_review: usize,
    /// What the guard did since this engine was opened.
    pub guard: GuardCounts,
    /// The language-inference stage: its name, or `not available`.
    pub nli: String,
    /// Scopes in which inference refuses from another probability than elsewhere.
    pub thresholds: Vec<ScopeThreshold>,
    /// Scopes in which writers are asked about likelier contradictions only.
    pub ask_thresholds: Vec<AskThreshold>,
    /// How long parts of a write took.
    pub timings: Vec<Timing>,
    /// What waits for its vector.
    pub unembedded: Unembedded,
}

/// The one owner of a store.
pub struct Engine {
    config: EngineConfig,
    guard: Guard,
    models: Arc<dyn Models>,
    // Before the writer: fields are dropped in this order, and only a connection that may write can, as the last one, put
    // the write-ahead log away.
    readers: Readers,
    writer: Mutex<Store>,
    /// Permits of writes that search and parse before they take the write lock. More of them at once store no more claims, since
    /// the processor is busy already, but slow down reads. Nobody keeps one while it waits for a model.
    write_permits: Semaphore,
    /// What was found about the writes that wait for verdicts.
    held_results: held_results::HeldResults,
    listeners: RwLock<Vec<OnChange>>,
    counters: Counters,
    timers: timers::StageTimers,
    deep_queue: deep_stage::DeepQueue,
    answer_cache: answer_cache::AnswerCache,
    unembeddable: embed_backlog::Unembeddable,
    event_tally: Mutex<EventTally>,
    past: past_reads::PastCache,
    pages: reads::Pages,
    vocabularies: calibrate::Vocabularies,
    story_texts: story_reading::StoryTexts,
    proposals: proposal_counts::ProposalCounts,
    unrelated_baselines: unrelated_baseline::BaselineCache,
    /// What agents wrote, as far as anybody asked.
    agents: Mutex<AgentTally>,
}

/// What the guard did, counted.
#[derive(Default)]
struct Counters {
    clean: AtomicU64,
    warn: AtomicU64,
    block: AtomicU64,
    exception: AtomicU64,
    ungated: AtomicU64,
    /// Pairs that a cross-encoder judged.
    inferred: AtomicU64,
    /// Pairs that the language model judged.
    deepened: AtomicU64,
    /// Statements of which the language model read the norm.
    refined: AtomicU64,
    /// Answers about stories that were dropped.
    story_dropped: AtomicU64,
    /// Stages that were skipped since a model failed.
    skipped: AtomicU64,
}

impl Engine {
    /// Opens the store, or makes it; runs migrations.
    ///
    /// # Errors
    /// `unavailable` if the file cannot be opened, is not a store, or is of a newer schema: the message says which.
    pub fn open(config: EngineConfig) -> Result<Self, ApiError> {
        let models = Arc::clone(&config.models);
        Self::open_with_models(config, Guard::default(), models)
    }

    /// [`Engine::open`] with another guard and without models.
    pub fn open_with(config: EngineConfig, guard: Guard) -> Result<Self, ApiError> {
        Self::open_with_models(config, guard, Arc::new(NoModels))
    }

    /// [`Engine::open_with`] with models.
    pub fn open_with_models(config: EngineConfig, guard: Guard, models: Arc<dyn Models>) -> Result<Self, ApiError> {
        let options = StoreOptions { durable: config.durable };
        let mut store = Store::open_with(&config.path, config.device.clone(), Arc::new(StructuralPairCheck), options)?;
        store.start_story(story::VERSION)?;
        let readers = Readers::open(&store, config.readers)?;
        let engine = Self {
            config,
            guard,
            models,
            writer: Mutex::new(store),
            write_permits: Semaphore::new(std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2)),
            held_results: held_results::HeldResults::default(),
            readers,
            listeners: RwLock::default(),
            counters: Counters::default(),
            timers: timers::StageTimers::default(),
            deep_queue: deep_stage::DeepQueue::default(),
            answer_cache: answer_cache::AnswerCache::default(),
            unembeddable: embed_backlog::Unembeddable::default(),
            event_tally: Mutex::default(),
            past: past_reads::PastCache::default(),
            pages: reads::Pages::default(),
            vocabularies: calibrate::Vocabularies::default(),
            story_texts: story_reading::StoryTexts::default(),
            proposals: proposal_counts::ProposalCounts::default(),
            unrelated_baselines: unrelated_baseline::BaselineCache::default(),
            agents: Mutex::default(),
        };
        engine.resume_deepening()?;
        Ok(engine)
    }

    /// The settings it was opened with.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// Registers what is called after each committed act; several may be registered.
    pub fn on_change(&self, callback: OnChange) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(callback);
    }

    /// Writes a claim: guarded kinds pass the guard, facts upsert by key.
    pub fn remember(&self, request: RememberRequest) -> Result<WriteOutcome, ApiError> {
        Ok(acts::after_write(self, &request.caller, acts::remember(self, &request)?))
    }

    /// [`Engine::remember`] with a required source.
    pub fn learn(&self, request: RememberRequest) -> Result<WriteOutcome, ApiError> {
        Ok(acts::after_write(self, &request.caller, acts::learn(self, &request)?))
    }

    /// Replaces claims by a new statement or by an existing claim.
    pub fn supersede(&self, request: SupersedeRequest) -> Result<WriteOutcome, ApiError> {
        Ok(acts::after_write(self, &request.claim.caller, acts::supersede(self, &request)?))
    }

    /// Takes a claim out: never right.
    pub fn retract(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        acts::retract(self, &request)
    }

    /// Brings a superseded or retracted claim back.
    pub fn reinstate(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        acts::reinstate(self, &request)
    }

    /// Drops a claim's text for good, everywhere in the file; the record stays. Cannot be undone.
    pub fn redact(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        acts::redact(self, &request)
    }

    /// Records that a claim which needed review was looked at and still holds.
    pub fn reviewed(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        acts::reviewed(self, &request)
    }

    /// Records that a claim depends on others.
    pub fn depend(&self, request: DependRequest) -> Result<WriteOutcome, ApiError> {
        acts::depend(self, &request)
    }

    /// Takes an act back: the named one, or the caller's own last.
    pub fn undo(&self, request: UndoRequest) -> Result<UndoOutcome, ApiError> {
        acts::undo(self, &request)
    }

    /// Settles, or puts off, the card with this id or prefix.
    pub fn resolve(&self, card: &str, request: ResolveRequest) -> Result<WriteOutcome, ApiError> {
        acts::resolve(self, card, &request)
    }

    /// Settles, or puts off, many cards of one scope by one act.
    pub fn resolve_many(&self, request: &ResolveManyRequest) -> Result<ResolvedMany, ApiError> {
        acts::resolve_many(self, request)
    }

    /// Answers the question about a write that waits: its verdicts decide what becomes of it.
    pub fn judge(&self, request: &JudgeRequest) -> Result<WriteOutcome, ApiError> {
        Ok(acts::after_write(self, &request.caller, acts::judge(self, request)?))
    }

    /// Stores one write whose writer did not answer in time, with a card for a person; whether there was one.
    pub fn store_unanswered(&self) -> Result<bool, ApiError> {
        acts::store_unanswered(self)
    }

    /// When the next write that waits for verdicts is stored without them, in milliseconds since the Unix epoch.
    pub fn next_unanswered(&self) -> Result<Option<u64>, ApiError> {
        acts::next_unanswered(self)
    }

    /// The writes that wait for verdicts.
    pub fn questions(&self, query: &QuestionsQuery) -> Result<Questions, ApiError> {
        reads::questions(self, query)
    }

    /// The pairs of claims that wait for a verdict.
    pub fn doubts(&self, query: &DoubtsQuery) -> Result<Doubts, ApiError> {
        reads::doubts(self, query)
    }

    /// Takes verdicts on pairs that wait: those of a person take effect, those of an agent open cards.
    pub fn judge_pairs(&self, request: &JudgePairsRequest) -> Result<JudgedPairs, ApiError> {
        acts::judge_pairs(self, request)
    }

    /// Compares what is active and opens cards.
    pub fn audit(&self, request: AuditRequest) -> Result<AuditOutcome, ApiError> {
        acts::audit(self, &request)
    }

    /// Takes in a file for reference, as it is now.
    pub fn ingest(&self, request: &IngestRequest) -> Result<Ingested, ApiError> {
        acts::ingest(self, request)
    }

    /// The files that were ingested.
    pub fn ingested(&self, query: &IngestedQuery) -> Result<IngestedFiles, ApiError> {
        reads::ingested(self, query)
    }

    /// The best reasoned claim for a question, and the chain that led to it.
    pub fn why(&self, request: &WhyRequest) -> Result<WhyAnswer, ApiError> {
        reads::why(self, request)
    }

    /// What is known about a question: stored claims, the best first.
    pub fn recall(&self, request: &RecallRequest) -> Result<RecallAnswer, ApiError> {
        reads::recall(self, request, RecallMeans::default())
    }

    /// [`Engine::recall`] by some of its means, to measure what each of them brings.
    pub fn recall_by(&self, request: &RecallRequest, ways: RecallMeans) -> Result<RecallAnswer, ApiError> {
        reads::recall(self, request, ways)
    }

    /// What is known of the best claim that a question finds, with the ids of the first three; `None` if it finds none. For measurements.
    pub fn recall_figures(
        &self,
        request: &RecallRequest,
        ways: RecallMeans,
    ) -> Result<Option<(AnswerFeatures, Vec<ClaimId>)>, ApiError> {
        reads::figures(self, request, ways)
    }

    /// What the local language model says of what a question finds; `None` if the first claim is not to be doubted. For measurements.
    pub fn weigh_recall(&self, request: &RecallRequest) -> Result<Option<Weighing>, ApiError> {
        reads::weigh(self, request)
    }

    /// A scope on one page: the last one that was made, unless a new one is asked for.
    pub fn snapshot(&self, query: &SnapshotQuery) -> Result<Snapshot, ApiError> {
        reads::snapshot(self, query)
    }

    /// A page of claims.
    pub fn claims(&self, query: &ClaimsQuery) -> Result<ClaimsPage, ApiError> {
        reads::claims(self, query)
    }

    /// One claim, by id or prefix.
    pub fn claim(&self, id: &str) -> Result<ClaimView, ApiError> {
        reads::claim(self, id, None)
    }

    /// [`Engine::claim`] as it was at a time, in milliseconds since the Unix epoch by event clock.
    pub fn claim_at(&self, id: &str, as_of: Option<u64>) -> Result<ClaimView, ApiError> {
        reads::claim(self, id, as_of)
    }

    /// Every act that touched a claim, and its chain both ways.
    pub fn history(&self, id: &str) -> Result<History, ApiError> {
        reads::history(self, id, None)
    }

    /// [`Engine::history`] as it was at a time, in milliseconds since the Unix epoch by event clock.
    pub fn history_at(&self, id: &str, as_of: Option<u64>) -> Result<History, ApiError> {
        reads::history(self, id, as_of)
    }

    /// A page of the log of acts, newest first.
    pub fn log(&self, query: &LogQuery) -> Result<LogPage, ApiError> {
        reads::log(self, query)
    }

    /// The claims of a scope in order, with what would confuse a newcomer.
    pub fn story(&self, query: &StoryQuery) -> Result<Story, ApiError> {
        self.catch_up_with_stories()?;
        reads::story(self, query)
    }

    /// Everything that needs attention, in groups; who waits for admission is not among it.
    pub fn inbox(&self, query: &InboxQuery) -> Result<Inbox, ApiError> {
        reads::inbox(self, query)
    }

    /// A page of cards, newest first.
    pub fn conflicts(&self, query: &ConflictsQuery) -> Result<ConflictsPage, ApiError> {
        reads::conflicts(self, query)
    }

    /// One card in full, by id or prefix.
    pub fn card(&self, id: &str) -> Result<CardView, ApiError> {
        reads::card(self, id, None)
    }

    /// [`Engine::card`] as it was at a time, in milliseconds since the Unix epoch by event clock.
    pub fn card_at(&self, id: &str, as_of: Option<u64>) -> Result<CardView, ApiError> {
        reads::card(self, id, as_of)
    }

    /// Agents, by what they wrote.
    pub fn agents(&self, query: &AgentsQuery) -> Result<Vec<AgentView>, ApiError> {
        reads::agents(self, query)
    }

    /// Every scope with its counts.
    pub fn scopes(&self) -> Result<Scopes, ApiError> {
        reads::scopes(self, None)
    }

    /// [`Engine::scopes`] as they were at a time, in milliseconds since the Unix epoch by event clock.
    pub fn scopes_at(&self, as_of: Option<u64>) -> Result<Scopes, ApiError> {
        reads::scopes(self, as_of)
    }

    /// Sizes and counts for `GET /diagnose`.
    pub fn counts(&self) -> Result<EngineCounts, ApiError> {
        let reader = self.readers.lend();
        let counts = reader.counts_since(&mut self.event_tally.lock().unwrap_or_else(PoisonError::into_inner))?;
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Ok(EngineCounts {
            schema: reader.schema()?,
            store_bytes: reader.size()?,
            device: DeviceId(self.config.device.verifying_key().to_bytes()),
            events: counts.events,
            claims: counts.claims,
            active: counts.active,
            open_cards: counts.open_cards,
            needs_review: counts.needs_review,
            guard: GuardCounts {
                clean: read(&self.counters.clean),
                warn: read(&self.counters.warn),
                block: read(&self.counters.block),
                exception: read(&self.counters.exception),
                ungated: read(&self.counters.ungated),
                inferred: read(&self.counters.inferred),
                deepened: read(&self.counters.deepened),
                refined: read(&self.counters.refined),
                waiting: self.deep_queue.len() as u64,
                story_dropped: read(&self.counters.story_dropped),
                skipped: read(&self.counters.skipped),
            },
            nli: self.model_name(ModelRole::Nli),
            thresholds: self.thresholds(&reader)?,
            ask_thresholds: self.ask_thresholds(&reader)?,
            timings: self.timers.timings(),
            unembedded: self.unembedded(&reader)?,
        })
    }

    /// Stores vectors of chunks under the write lock.
    fn write_chunk_vectors(&self, model: &VectorModel, vectors: &[(EventId, Vec<f32>)]) -> Result<usize, StoreError> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).put_chunk_vectors(model, vectors)
    }

    /// Stores vectors of claims under the write lock.
    fn write_vectors(&self, model: &VectorModel, vectors: &[(ClaimId, Vec<f32>)]) -> Result<usize, StoreError> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).put_vectors(model, vectors)
    }

    /// The models that it asks.
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.models
    }

    /// The name of the model of a role, or `not available`.
    fn model_name(&self, role: ModelRole) -> String {
        self.models.info().role(role).map_or_else(|| "not available".into(), |info| info.name.clone())
    }
}
