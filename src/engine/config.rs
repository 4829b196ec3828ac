//! What an engine is opened with.

use std::{
    fmt,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ed25519_dalek::SigningKey;

use crate::infer::{Endpoint, ModelJudge, Models, NoModels};

/// Tells the time: milliseconds since 1970-01-01 UTC. Replaced in tests.
pub type ClockFn = Arc<dyn Fn() -> u64 + Send + Sync>;

/// What an agent may do without a person.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentPolicy {
    /// Exceptions and retracts happen at once and are on the record.
    #[default]
    Force,
    /// An agent's exception, and its retract of a person's claim, wait on a card for a person.
    Propose,
}

/// What follows if projects of an organisation say the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PromoteMode {
    /// A promotion is proposed.
    #[default]
    Ask,
    /// It becomes a claim of the organisation's level at once.
    Auto,
    /// Nothing.
    Never,
}

/// How projects and their organisation relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPolicy {
    /// How many projects must say the same.
    pub promote_at: usize,
    /// What follows then.
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
    /// The store's file; made if it is absent.
    pub path: PathBuf,
    /// The key with which this device signs.
    pub device: SigningKey,
    /// Where the time comes from.
    pub clock: ClockFn,
    /// What an agent may do without a person.
    pub agents_may: AgentPolicy,
    /// What follows if projects say the same.
    pub levels: LevelPolicy,
    /// When the language model judges, if there is one.
    pub deep: super::DeepMode,
    /// Read-only connections kept for reads beside the writer; at least one.
    pub readers: usize,
    /// Wait for the disk at each write (`synchronous=FULL`). Off only to measure what that costs.
    pub durable: bool,
    /// The models; none, unless set.
    pub models: Arc<dyn Models>,
    /// The language model that chooses among what recall found, in place of the one of this machine.
    pub endpoint: Option<Endpoint>,
    /// The language models that judge pairs which wait, in the order in which they are asked.
    pub judges: Vec<ModelJudge>,
    /// How long such a judge has for an answer.
    pub judge_timeout: Duration,
    /// The share of the time in which the background may have pairs judged, in percent.
    pub judge_budget: u8,
    /// How long a question waits for the language model that chooses, loading included.
    pub filter_timeout: Duration,
}

impl EngineConfig {
    /// The usual settings for a store at `path`, signed by `device`, with the system's clock.
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
        // Never the key.
        f.debug_struct("EngineConfig")
            .field("path", &self.path)
            .field("agents_may", &self.agents_may)
            .field("readers", &self.readers)
            .field("durable", &self.durable)
            .finish_non_exhaustive()
    }
}

/// The system's clock: milliseconds since 1970-01-01 UTC, 0 before it.
pub fn system_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
