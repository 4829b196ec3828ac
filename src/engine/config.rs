//! Settings of an engine.

use std::{
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ed25519_dalek::SigningKey;

use crate::infer::{Endpoint, ModelJudge, Models, NoModels};

/// A clock: returns milliseconds since 1970-01-01 UTC. Replaced in tests.
pub type ClockFn = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The rights of agents to act without a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentPolicy {
    /// Exceptions and retracts happen at once and are on the record.
    #[default]
    Force,
    /// An agent's exception, and its retract of a person's claim, wait on a card for a person.
    Propose,
}

/// The effect of agreement between projects of an organisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromoteMode {
    /// A promotion is proposed.
    #[default]
    Ask,
    /// The claim is promoted to the organisation's level at once.
    Auto,
    /// No effect.
    Never,
}

/// The rules for promotion from projects to their organisation's level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPolicy {
    /// The number of projects that must agree.
    pub promote_at: usize,
    /// The effect of their agreement.
    pub promote: PromoteMode,
}

impl Default for LevelPolicy {
    fn default() -> Self {
        Self { promote_at: 3, promote: PromoteMode::default() }
    }
}

/// Settings of an [`super::Engine`].
#[derive(Clone)]
pub struct EngineConfig {
    /// The store's file; created if it is missing.
    pub path: PathBuf,
    /// The key with which this device signs.
    pub device: SigningKey,
    pub clock: ClockFn,
    /// The rights of agents to act without a person.
    pub agents_may: AgentPolicy,
    /// The rules for promotion to the organisation's level.
    pub levels: LevelPolicy,
    /// When the language model judges, if there is one.
    pub deep: super::DeepMode,
    /// The number of read-only connections; at least one.
    pub readers: usize,
    /// Whether each write waits for the disk (`synchronous=FULL`). Off only to measure its cost.
    pub durable: bool,
    /// The models; none by default.
    pub models: Arc<dyn Models>,
    /// The language model that selects from recall's results, instead of the one of this device.
    pub endpoint: Option<Endpoint>,
    /// The language models that judge pairs of the queue of doubts, in the order in which they are asked.
    pub judges: Vec<ModelJudge>,
    /// The deadline of a judge for one answer.
    pub judge_timeout: Duration,
    /// The share of time that judging in the background may take, in percent.
    pub judge_budget: u8,
    /// The deadline of the language model that selects from recall's results, including the time to load it.
    pub filter_timeout: Duration,
}

impl EngineConfig {
    /// Returns the default settings for a store at `path`, signed by `device`, with the system's clock.
    pub fn new(path: impl Into<PathBuf>, device: SigningKey) -> Self {
        Self {
            path: path.into(),
            device,
            clock: Arc::new(system_clock),
            agents_may: AgentPolicy::default(),
            levels: LevelPolicy::default(),
            deep: super::DeepMode::default(),
            readers: 3,
            durable: true,
            models: Arc::new(NoModels),
            endpoint: None,
            judges: Vec::new(),
            judge_timeout: Duration::from_mins(2),
            judge_budget: 25,
            filter_timeout: Duration::from_mins(1),
        }
    }
}

impl fmt::Debug for EngineConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key must never be shown.
        f.debug_struct("EngineConfig")
            .field("path", &self.path)
            .field("agents_may", &self.agents_may)
            .field("readers", &self.readers)
            .field("durable", &self.durable)
            .finish_non_exhaustive()
    }
}

/// Returns the system's time: milliseconds since 1970-01-01 UTC, 0 before it.
pub fn system_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
