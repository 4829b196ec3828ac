//! The engine with a store on disk: each act, each refusal, the documented examples.

mod acts;
mod agents;
mod audit;
mod batch;
mod bundles;
mod cached_prefixes;
mod calibrate;
mod cards;
mod conditions;
mod doubt_queue;
mod doubts;
mod exceptions;
mod facts;
mod held_writes;
mod inbox;
mod inference;
mod ingest;
mod insights;
mod kept_and_retracted;
mod levels;
mod pass_order;
mod past;
mod proposals;
mod reads;
mod recall;
mod recall_filter;
mod redacted_reasons;
mod redacted_words;
mod reembed;
mod refine;
mod replaced_sides;
mod shared_notes;
mod snapshot;
mod stories;
mod stories_of_devices;
mod story_edges;
mod story_model;
mod strangers;
mod team;
mod team_edges;
mod undo;
mod write_lock;
mod writes;

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use ed25519_dalek::SigningKey;
use ergo::{
    api::{
        ActRequest, Caller, CardAct, CardView, Change, ClaimView, ConflictsQuery, Done, Proposed, Refused,
        RememberRequest, ResolveRequest, Stale, Stored, SupersedeRequest, UndoRequest, WriteOutcome,
    },
    domain::{CardId, ClaimId, ClaimKind, OpId, Qualifiers},
    engine::{AgentPolicy, DeepMode, Engine, EngineConfig},
    guard::Guard,
    infer::{Models, NoModels},
};
use tempfile::TempDir;

/// 2026-03-01T12:00:00Z.
pub(crate) const NOON: u64 = 1_772_366_400_000;

/// An engine with a store of its own, and a clock that advances one second with each reading.
pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    pub(crate) engine: Engine,
    pub(crate) changes: Arc<Mutex<Vec<Change>>>,
    pub(crate) clock: Arc<AtomicU64>,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        Self::with(AgentPolicy::Force)
    }

    pub(crate) fn with(agents_may: AgentPolicy) -> Self {
        Self::of(7, agents_may)
    }

    /// The engine of a device of its own.
    pub(crate) fn of(device: u8, agents_may: AgentPolicy) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicU64::new(NOON));
        let mut config = config(&dir.path().join("store.db"), agents_may, &clock);
        config.device = SigningKey::from_bytes(&[device; 32]);
        let engine = Engine::open_with(config, Guard::default()).unwrap();
        Self::around(dir, engine, Arc::default(), clock)
    }

    /// Closes the store. Returns whether one of its files contains a text, in upper or lower case.
    pub(crate) fn holds(self, text: &str) -> bool {
        let Self { dir, engine, .. } = self;
        drop(engine);
        std::fs::read_dir(dir.path()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
        })
    }

    /// Closes the store and opens it again.
    pub(crate) fn reopen(self) -> Self {
        self.reopen_with(Guard::default())
    }

    /// Closes the store and opens it again with another guard.
    pub(crate) fn reopen_with(self, guard: Guard) -> Self {
        self.reopen_with_models(guard, Arc::new(NoModels))
    }

    /// Closes the store and opens it again with another guard and with models.
    pub(crate) fn reopen_with_models(self, guard: Guard, models: Arc<dyn Models>) -> Self {
        self.reopen_deep(guard, models, DeepMode::default())
    }

    /// [`Fixture::reopen_with_models`], and when the language model is asked.
    pub(crate) fn reopen_deep(self, guard: Guard, models: Arc<dyn Models>, deep: DeepMode) -> Self {
        self.reopen_with_models_as(guard, models, |config| config.deep = deep)
    }

    /// [`Fixture::reopen_with`], with other settings.
    pub(crate) fn reopen_as(self, guard: Guard, change: impl FnOnce(&mut EngineConfig)) -> Self {
        self.reopen_with_models_as(guard, Arc::new(NoModels), change)
    }

    /// [`Fixture::reopen_with_models`], with other settings.
    pub(crate) fn reopen_with_models_as(
        self,
        guard: Guard,
        models: Arc<dyn Models>,
        change: impl FnOnce(&mut EngineConfig),
    ) -> Self {
        let Self { dir, engine, changes, clock } = self;
        let (agents_may, device) = (engine.config().agents_may, engine.config().device.clone());
        drop(engine);
        let mut config = config(&dir.path().join("store.db"), agents_may, &clock);
        config.device = device;
        change(&mut config);
        let engine = Engine::open_with_models(config, guard, models).unwrap();
        Self::around(dir, engine, changes, clock)
    }

    /// Closes the store and opens it again with another policy for agreeing projects.
    pub(crate) fn reopen_leveled(self, levels: ergo::engine::LevelPolicy) -> Self {
        let Self { dir, engine, changes, clock } = self;
        drop(engine);
        let mut config = config(&dir.path().join("store.db"), AgentPolicy::Force, &clock);
        config.levels = levels;
        let engine = Engine::open_with(config, Guard::default()).unwrap();
        Self::around(dir, engine, changes, clock)
    }

    fn around(dir: TempDir, engine: Engine, changes: Arc<Mutex<Vec<Change>>>, clock: Arc<AtomicU64>) -> Self {
        let seen = Arc::clone(&changes);
        engine.on_change(Box::new(move |change| seen.lock().unwrap().push(change)));
        Self { dir, engine, changes, clock }
    }

    pub(crate) fn try_remember(&self, statement: &str, reason: &str) -> WriteOutcome {
        self.engine.remember(request(statement, reason)).unwrap()
    }

    pub(crate) fn remember(&self, statement: &str, reason: &str) -> ClaimId {
        stored(self.try_remember(statement, reason)).claim_id
    }

    /// The card of a write that must be refused.
    pub(crate) fn refuse(&self, statement: &str, reason: &str) -> CardId {
        refused(self.try_remember(statement, reason)).card_id.expect("a card")
    }

    pub(crate) fn supersede(&self, target: ClaimId, statement: &str, reason: &str) -> WriteOutcome {
        let claim = request(statement, reason);
        self.engine
            .supersede(SupersedeRequest { targets: vec![target.to_hex()], claim, ..SupersedeRequest::default() })
            .unwrap()
    }

    pub(crate) fn retract(&self, target: ClaimId, reason: &str) -> Done {
        done(self.engine.retract(on(target, reason)).unwrap())
    }

    pub(crate) fn claim(&self, id: ClaimId) -> ClaimView {
        self.engine.claim(&id.to_hex()).unwrap()
    }

    pub(crate) fn card(&self, id: CardId) -> CardView {
        self.engine.card(&id.to_hex()).unwrap()
    }

    pub(crate) fn open_cards(&self) -> usize {
        self.engine.conflicts(&ConflictsQuery::default()).unwrap().total
    }

    pub(crate) fn resolve(&self, card: CardId, order: ResolveRequest) -> WriteOutcome {
        self.engine.resolve(&card.to_hex(), order).unwrap()
    }

    /// Undoes the caller's last act.
    pub(crate) fn undo(&self) -> ergo::api::UndoOutcome {
        self.engine.undo(UndoRequest { caller: caller(), ..UndoRequest::default() }).unwrap()
    }

    /// The acts in the event stream since the last call.
    pub(crate) fn acts(&self) -> Vec<String> {
        self.changes.lock().unwrap().drain(..).map(|change| change.act).collect()
    }
}

fn config(path: &Path, agents_may: AgentPolicy, clock: &Arc<AtomicU64>) -> EngineConfig {
    let clock = Arc::clone(clock);
    let mut config = EngineConfig::new(path, SigningKey::from_bytes(&[7; 32]));
    config.clock = Arc::new(move || clock.fetch_add(1000, Ordering::Relaxed));
    config.agents_may = agents_may;
    // Tests cannot see whether writes were flushed to disk.
    config.durable = false;
    config
}

pub(crate) fn caller() -> Caller {
    Caller { org_id: "acme".into(), project: "api".into(), who: "ada".into(), ..Caller::default() }
}

pub(crate) fn agent() -> Caller {
    Caller { agent: Some("claude".into()), ..caller() }
}

pub(crate) fn op(n: u8) -> OpId {
    OpId([n; 16])
}

pub(crate) fn request(statement: &str, reason: &str) -> RememberRequest {
    RememberRequest {
        caller: caller(),
        statement: statement.into(),
        reason: Some(reason.into()),
        ..RememberRequest::default()
    }
}

pub(crate) fn fact(statement: &str) -> RememberRequest {
    RememberRequest { kind: Some(ClaimKind::Fact), reason: None, ..request(statement, "") }
}

pub(crate) fn in_env(env: &str) -> Qualifiers {
    Qualifiers { env: Some(env.into()), ..Qualifiers::default() }
}

pub(crate) fn on(target: ClaimId, reason: &str) -> ActRequest {
    ActRequest { caller: caller(), target: target.to_hex(), reason: reason.into(), ..ActRequest::default() }
}

pub(crate) fn order(act: CardAct, reason: &str) -> ResolveRequest {
    ResolveRequest {
        caller: caller(),
        act,
        reason: reason.into(),
        winner: None,
        target: None,
        statement: None,
        qualifiers: Qualifiers::default(),
        drop_conditions: false,
        until: None,
        expect_rev: None,
    }
}

pub(crate) fn stored(outcome: WriteOutcome) -> Stored {
    match outcome {
        WriteOutcome::Stored(stored) => stored,
        other => panic!("not stored: {other:#?}"),
    }
}

pub(crate) fn done(outcome: WriteOutcome) -> Done {
    match outcome {
        WriteOutcome::Done(done) => done,
        other => panic!("not done: {other:#?}"),
    }
}

pub(crate) fn refused(outcome: WriteOutcome) -> Refused {
    match outcome {
        WriteOutcome::Conflict(refused) => refused,
        other => panic!("not refused: {other:#?}"),
    }
}

pub(crate) fn proposed(outcome: WriteOutcome) -> Proposed {
    match outcome {
        WriteOutcome::Proposed(proposed) => proposed,
        other => panic!("not proposed: {other:#?}"),
    }
}

pub(crate) fn stale(outcome: WriteOutcome) -> Stale {
    match outcome {
        WriteOutcome::Stale(stale) => stale,
        other => panic!("not stale: {other:#?}"),
    }
}
