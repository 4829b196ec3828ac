//! Every act and every read of ergo, composed of guard and store; no HTTP and no screen.
//!
//! Methods block: call them only where blocking is allowed (`spawn_blocking`). The one writer is behind a mutex. Reads
//! use connections of their own, and wait for it only if they write, too: a story that is not up to date, and a recall
//! that asks a model at an address.

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
mod in_progress;
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
mod shared_reason;
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
    Arc, Mutex, OnceLock, PoisonError, RwLock,
    atomic::{AtomicU64, Ordering},
};

pub use config::{AgentPolicy, ClockFn, EngineConfig, LevelPolicy, PromoteMode, system_clock};
pub use deep_stage::{DeepMode, odds as deep_odds};
pub use doubt_judges::{JudgedBatch, rest_after};
pub use extract::{Extracted, fact_key_of};
pub use notes::{NoteProposal, ProposedNotes, ReconcileBudget, Reconciled, RefusedRule};
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
    domain::{CardId, ClaimId, DeviceId},
    guard::{CrossEncoder, Guard, StructuralPairCheck},
    infer::{ModelRole, Models, NoModels},
    recall::answer_model::AnswerFeatures,
    store::{AgentTally, EventTally, Store, StoreOptions},
    story,
};

/// Called with each change after it is committed, outside every lock, on the thread of the act.
pub type OnChange = Box<dyn Fn(Change) + Send + Sync>;

/// Sizes and counts for `GET /diagnose`.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineCounts {
    /// The store's schema version.
    pub schema: u32,
    /// The store's size in bytes, including the write-ahead log.
    pub store_bytes: u64,
    pub device: DeviceId,
    /// Events in both logs.
    pub events: usize,
    /// Claims of every status.
    pub claims: usize,
    pub active: usize,
    pub open_cards: usize,
    pub needs_review: usize,
    /// Counts of the guard's results since this engine was opened.
    pub guard: GuardCounts,
    /// The name of the cross-encoder, or `not available`.
    pub nli: String,
    /// There is a cross-encoder, but the judge's weights were fitted for another one: it only warns.
    pub nli_unfitted: bool,
    /// Scopes in which the probability from which inference refuses a write differs from the default.
    pub thresholds: Vec<ScopeThreshold>,
    /// Scopes in which writers are asked about likelier contradictions only.
    pub ask_thresholds: Vec<AskThreshold>,
    /// Durations of the stages of writes.
    pub timings: Vec<Timing>,
    /// Claims and chunks that have no vector yet.
    pub unembedded: Unembedded,
}

/// The owner of a store: performs every act and every read.
pub struct Engine {
    config: EngineConfig,
    guard: Guard,
    models: Arc<dyn Models>,
    // Before `writer`: fields are dropped in this order, and the write-ahead log is removed only if the last connection
    // that is closed may write.
    readers: Readers,
    writer: Mutex<Store>,
    /// The first damage of the store that a call met; every later write is refused with it.
    damage: OnceLock<ApiError>,
    /// Permits of writes that search and parse before they take the write lock. More concurrent writes would store no
    /// more claims, because the processor is busy already, but would slow down reads. No write holds a permit while it
    /// waits for a model.
    write_permits: Semaphore,
    /// Counts the writes of claims that clients wait for.
    writes_in_progress: in_progress::WritesInProgress,
    /// Results of the guard for the writes that wait for verdicts.
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
    /// Counts of what each agent wrote, up to the last read of them.
    agents: Mutex<AgentTally>,
}

/// Counts of the guard's results.
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
    /// Statements whose norms the language model parsed.
    refined: AtomicU64,
    /// Answers about stories that were discarded.
    story_dropped: AtomicU64,
    /// Stages that were skipped because a model failed.
    skipped: AtomicU64,
}

impl Engine {
    /// Opens the store, or creates it, and runs migrations.
    ///
    /// # Errors
    /// `unavailable` if the file cannot be opened, is not a store, or has a newer schema: the message says which.
    pub fn open(config: EngineConfig) -> Result<Self, ApiError> {
        let models = Arc::clone(&config.models);
        Self::open_with_models(config, Guard::default(), models)
    }

    /// [`Engine::open`] with the given guard and without models.
    pub fn open_with(config: EngineConfig, guard: Guard) -> Result<Self, ApiError> {
        Self::open_with_models(config, guard, Arc::new(NoModels))
    }

    /// [`Engine::open`] with the given guard and models.
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
            damage: OnceLock::new(),
            write_permits: Semaphore::new(std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2)),
            writes_in_progress: in_progress::WritesInProgress::default(),
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

    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// Registers a callback that runs after each committed act. Several may be registered.
    pub fn on_change(&self, callback: OnChange) {
        self.listeners.write().unwrap_or_else(PoisonError::into_inner).push(callback);
    }

    /// Writes a claim: guarded kinds pass the guard, a fact replaces the earlier one with its key.
    pub fn remember(&self, request: RememberRequest) -> Result<WriteOutcome, ApiError> {
        let _in_progress = self.writes_in_progress.begin();
        Ok(acts::after_write(self, &request.caller, acts::remember(self, &request)?))
    }

    /// [`Engine::remember`] with a required source.
    pub fn learn(&self, request: RememberRequest) -> Result<WriteOutcome, ApiError> {
        let _in_progress = self.writes_in_progress.begin();
        Ok(acts::after_write(self, &request.caller, acts::learn(self, &request)?))
    }

    /// Replaces claims by a new statement or by an existing claim.
    pub fn supersede(&self, request: SupersedeRequest) -> Result<WriteOutcome, ApiError> {
        let _in_progress = self.writes_in_progress.begin();
        Ok(acts::after_write(self, &request.claim.caller, acts::supersede(self, &request)?))
    }

    /// Withdraws a claim as never right.
    pub fn retract(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        acts::retract(self, &request)
    }

    /// Brings a superseded or retracted claim back.
    pub fn reinstate(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        acts::reinstate(self, &request)
    }

    /// Removes a claim's text for good, everywhere in the file; the record stays. Cannot be undone.
    pub fn redact(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        acts::redact(self, &request)
    }

    /// Records that a claim which needed review was checked and still holds.
    pub fn reviewed(&self, request: ActRequest) -> Result<WriteOutcome, ApiError> {
        acts::reviewed(self, &request)
    }

    /// Records that a claim depends on others.
    pub fn depend(&self, request: DependRequest) -> Result<WriteOutcome, ApiError> {
        acts::depend(self, &request)
    }

    /// Undoes the named act, or the caller's latest one.
    pub fn undo(&self, request: UndoRequest) -> Result<UndoOutcome, ApiError> {
        acts::undo(self, &request)
    }

    /// Settles or snoozes the card with this id or prefix.
    pub fn resolve(&self, card: &str, request: ResolveRequest) -> Result<WriteOutcome, ApiError> {
        acts::resolve(self, card, &request)
    }

    /// Settles or snoozes several cards of one scope in one act.
    pub fn resolve_many(&self, request: &ResolveManyRequest) -> Result<ResolvedMany, ApiError> {
        acts::resolve_many(self, request)
    }

    /// Answers the question about a held write: its verdicts decide whether the write is stored.
    pub fn judge(&self, request: &JudgeRequest) -> Result<WriteOutcome, ApiError> {
        Ok(acts::after_write(self, &request.caller, acts::judge(self, request)?))
    }

    /// Stores one held write whose writer did not answer in time, with a card for a person, unless it is in `failed`.
    /// One that cannot be stored is added there. Returns whether there was one.
    pub fn store_unanswered(&self, failed: &mut std::collections::BTreeSet<CardId>) -> Result<bool, ApiError> {
        acts::store_unanswered(self, failed)
    }

    /// Returns when the next held write is stored without verdicts, in milliseconds since the Unix epoch.
    pub fn next_unanswered(&self) -> Result<Option<u64>, ApiError> {
        acts::next_unanswered(self)
    }

    /// Lists the writes that wait for verdicts.
    pub fn questions(&self, query: &QuestionsQuery) -> Result<Questions, ApiError> {
        reads::questions(self, query)
    }

    /// Lists the pairs of claims that wait for a verdict.
    pub fn doubts(&self, query: &DoubtsQuery) -> Result<Doubts, ApiError> {
        reads::doubts(self, query)
    }

    /// Records verdicts on pairs of the queue of doubts: those of a person take effect, those of an agent open cards.
    pub fn judge_pairs(&self, request: &JudgePairsRequest) -> Result<JudgedPairs, ApiError> {
        acts::judge_pairs(self, request)
    }

    /// Compares the active claims and opens cards for contradictions.
    pub fn audit(&self, request: AuditRequest) -> Result<AuditOutcome, ApiError> {
        acts::audit(self, &request)
    }

    /// Ingests a file for reference, as it is now.
    pub fn ingest(&self, request: &IngestRequest) -> Result<Ingested, ApiError> {
        acts::ingest(self, request)
    }

    /// Lists the ingested files.
    pub fn ingested(&self, query: &IngestedQuery) -> Result<IngestedFiles, ApiError> {
        reads::ingested(self, query)
    }

    /// Finds the best claim with a reason for a question, and the chain that led to it.
    pub fn why(&self, request: &WhyRequest) -> Result<WhyAnswer, ApiError> {
        reads::why(self, request)
    }

    /// Finds the stored claims that answer a question, best first.
    pub fn recall(&self, request: &RecallRequest) -> Result<RecallAnswer, ApiError> {
        reads::recall(self, request, RecallMeans::default())
    }

    /// [`Engine::recall`] with some of its means only, to measure the contribution of each.
    pub fn recall_by(&self, request: &RecallRequest, ways: RecallMeans) -> Result<RecallAnswer, ApiError> {
        reads::recall(self, request, ways)
    }

    /// Returns the features of the best claim that a question finds, and the ids of the first three; `None` if it finds
    /// none. For measurements.
    pub fn recall_features(
        &self,
        request: &RecallRequest,
        ways: RecallMeans,
    ) -> Result<Option<(AnswerFeatures, Vec<ClaimId>)>, ApiError> {
        reads::recall_features(self, request, ways)
    }

    /// Returns what the local language model says about the claims that a question finds; `None` if the first claim is
    /// not in doubt. For measurements.
    pub fn weigh_recall(&self, request: &RecallRequest) -> Result<Option<Weighing>, ApiError> {
        reads::weigh(self, request)
    }

    /// Returns a scope on one page: the page that was made last, unless the request asks for a new one.
    pub fn snapshot(&self, query: &SnapshotQuery) -> Result<Snapshot, ApiError> {
        reads::snapshot(self, query)
    }

    /// Returns a page of claims.
    pub fn claims(&self, query: &ClaimsQuery) -> Result<ClaimsPage, ApiError> {
        reads::claims(self, query)
    }

    /// Returns one claim, by id or prefix.
    pub fn claim(&self, id: &str) -> Result<ClaimView, ApiError> {
        reads::claim(self, id, None)
    }

    /// [`Engine::claim`] at a time, in milliseconds since the Unix epoch by event clock.
    pub fn claim_at(&self, id: &str, as_of: Option<u64>) -> Result<ClaimView, ApiError> {
        reads::claim(self, id, as_of)
    }

    /// Returns every act on a claim, and its chain in both directions.
    pub fn history(&self, id: &str) -> Result<History, ApiError> {
        reads::history(self, id, None)
    }

    /// [`Engine::history`] at a time, in milliseconds since the Unix epoch by event clock.
    pub fn history_at(&self, id: &str, as_of: Option<u64>) -> Result<History, ApiError> {
        reads::history(self, id, as_of)
    }

    /// Returns a page of the log of acts, newest first.
    pub fn log(&self, query: &LogQuery) -> Result<LogPage, ApiError> {
        reads::log(self, query)
    }

    /// Returns the claims of a scope by date, with what would confuse a newcomer.
    pub fn story(&self, query: &StoryQuery) -> Result<Story, ApiError> {
        self.catch_up_with_stories()?;
        reads::story(self, query)
    }

    /// Returns everything that needs attention, in groups, except requests for admission to a team.
    pub fn inbox(&self, query: &InboxQuery) -> Result<Inbox, ApiError> {
        reads::inbox(self, query)
    }

    /// Returns a page of cards, newest first.
    pub fn conflicts(&self, query: &ConflictsQuery) -> Result<ConflictsPage, ApiError> {
        reads::conflicts(self, query)
    }

    /// Returns one card in full, by id or prefix.
    pub fn card(&self, id: &str) -> Result<CardView, ApiError> {
        reads::card(self, id, None)
    }

    /// [`Engine::card`] at a time, in milliseconds since the Unix epoch by event clock.
    pub fn card_at(&self, id: &str, as_of: Option<u64>) -> Result<CardView, ApiError> {
        reads::card(self, id, as_of)
    }

    /// Lists the agents, with what each wrote.
    pub fn agents(&self, query: &AgentsQuery) -> Result<Vec<AgentView>, ApiError> {
        reads::agents(self, query)
    }

    /// Lists all scopes with their counts.
    pub fn scopes(&self) -> Result<Scopes, ApiError> {
        reads::scopes(self, None)
    }

    /// [`Engine::scopes`] at a time, in milliseconds since the Unix epoch by event clock.
    pub fn scopes_at(&self, as_of: Option<u64>) -> Result<Scopes, ApiError> {
        reads::scopes(self, as_of)
    }

    /// Returns sizes and counts for `GET /diagnose`.
    pub fn counts(&self) -> Result<EngineCounts, ApiError> {
        let reader = self.readers.lend();
        let mut tally = self.event_tally.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = reader.counts_since(&mut tally, (self.config.clock)())?;
        drop(tally);
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
                waiting: self.deep_queue.unfinished() as u64,
                story_dropped: read(&self.counters.story_dropped),
                skipped: read(&self.counters.skipped),
            },
            nli: self.model_name(ModelRole::Nli),
            nli_unfitted: self.cross_encoder() == CrossEncoder::Unfitted,
            thresholds: self.thresholds(&reader)?,
            ask_thresholds: self.ask_thresholds(&reader)?,
            timings: self.timers.timings(),
            unembedded: self.unembedded(&reader)?,
        })
    }

    pub fn models(&self) -> &Arc<dyn Models> {
        &self.models
    }

    /// Returns the name of the model of a role, or `not available`.
    fn model_name(&self, role: ModelRole) -> String {
        self.models.info().role(role).map_or_else(|| "not available".into(), |info| info.name.clone())
    }
}
