//! The state of the daemon: health, diagnosis, scopes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ApiError;
use crate::domain::{DeviceId, Scope};

/// `GET /health`, which needs no token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok`, or `damaged` once a request found the store damaged: writes are then refused.
    pub status: String,
    /// The program's version.
    pub version: String,
    /// [`super::API_VERSION`] of the daemon.
    pub api: u32,
    /// The daemon's process id.
    pub pid: u32,
    /// Seconds since it started.
    pub uptime_s: u64,
    /// Whether reads work.
    pub retrieval: bool,
    /// The name of the cross-encoder, or `not available`.
    pub nli: String,
    /// The name of the embedder, or `not available`.
    pub embedder: String,
}

/// `GET /diagnose`, which needs a token: counts and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Diagnose {
    /// The same as `GET /health`.
    pub health: Health,
    /// The store's file.
    pub store: String,
    /// Its size in bytes, including the write-ahead log.
    pub store_bytes: u64,
    /// The store's schema version.
    pub schema: u32,
    /// The daemon's log file.
    pub log: String,
    /// The socket.
    pub socket: Option<String>,
    /// The TCP address, absent if the port was taken.
    pub tcp: Option<String>,
    /// This device.
    pub device: DeviceId,
    /// The number of events in the log.
    pub events: usize,
    /// The number of all claims.
    pub claims: usize,
    /// Active claims.
    pub active: usize,
    /// Open cards that are not snoozed.
    pub open_cards: usize,
    /// Claims that need review.
    pub needs_review: usize,
    /// Counts of writes by the guard's result since the daemon started.
    pub guard: GuardCounts,
    /// Whether the judge's weights were fitted for another cross-encoder than the one in use: it then warns and refuses nothing.
    #[serde(default)]
    pub nli_unfitted: bool,
    /// Scopes that have a refusal threshold of their own.
    #[serde(default)]
    pub thresholds: Vec<ScopeThreshold>,
    /// Scopes in which writers are only asked about contradictions above a higher probability.
    #[serde(default)]
    pub ask_thresholds: Vec<AskThreshold>,
    /// Requests served and refused since the daemon started.
    pub requests: u64,
    /// The error of every write, if the store's file was removed, replaced or truncated while the daemon has it open,
    /// or if a request found it damaged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_problem: Option<ApiError>,
    /// Problems, each with advice.
    pub problems: Vec<String>,
    /// The names of the settings, such as `guard.agents_may`, that were changed in config.toml after the daemon had
    /// read it: they apply once the daemon is restarted.
    #[serde(default)]
    pub changed_settings: Vec<String>,
    /// Settings that have no effect because what they name does not exist, one sentence each with advice.
    #[serde(default)]
    pub settings_without_effect: Vec<String>,
    /// The models and their processes.
    #[serde(default)]
    pub models: ModelsStatus,
    /// Durations of the stages of a write since the daemon started.
    #[serde(default)]
    pub timings: Vec<Timing>,
    /// Texts that have no vector yet; they are found by words only.
    #[serde(default)]
    pub unembedded: Unembedded,
}

/// The answer to `POST /reembed`: progress of computing vectors with the current embedder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reembedded {
    /// The embedder's name.
    pub model: String,
    /// The number of texts that have a vector of this model.
    pub done: usize,
    /// The number of all texts.
    pub total: usize,
    /// Whether all vectors in use are of this model; if not, call again.
    pub finished: bool,
}

/// Counts of texts that have no vector yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Unembedded {
    /// Active claims.
    pub claims: usize,
    /// Reference chunks.
    pub chunks: usize,
    /// Why the vectors cannot be computed, if known; ergo tries again at the next change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether no embedder is selected, so that claims are found by words only.
    pub off: bool,
}

/// The durations of one stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Timing {
    /// The stage, in a few words.
    pub stage: String,
    /// How often it was measured.
    pub count: u64,
    /// The mean duration, in microseconds.
    pub mean_us: u64,
    /// The longest duration, in microseconds.
    pub max_us: u64,
}

/// `GET /models`, and the answer to `POST /models/reload`: the models and their processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ModelsStatus {
    /// The roles that have a model.
    pub roles: Vec<ModelStatus>,
    /// The worker processes.
    pub workers: Vec<WorkerStatus>,
    /// Calls that failed since the daemon started, by kind: `timeout`, `crashed`, `hung`, `bad_model`, `out_of_memory`,
    /// `refused`.
    pub failures: BTreeMap<String, u64>,
    /// Selected models that cannot be used, each with the model used instead and advice.
    pub problems: Vec<String>,
}

/// A role that has a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ModelStatus {
    /// `embedder`, `nli` or `llm`.
    pub role: String,
    /// The model's name.
    pub name: String,
    /// The SHA-256 of its file; empty if it was not computed.
    pub sha256: String,
    /// Whether it is in memory.
    pub loaded: bool,
    /// The processor that runs it once it is loaded: `CPU` or the name of a GPU.
    pub computes: Option<String>,
    /// The number of layers that a GPU computes.
    pub gpu_layers: u32,
    /// Why it is not used.
    pub problem: Option<String>,
}

/// A worker process, which runs models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct WorkerStatus {
    /// The roles that it serves.
    pub roles: Vec<String>,
    /// Its process id, while it runs.
    pub pid: Option<u32>,
    /// Its resident memory in bytes, including mapped model files.
    pub rss_bytes: u64,
    /// How often it was restarted after it had died.
    pub restarts: u64,
}

/// Counts of the guard's work since the daemon started: writes, unless a field says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GuardCounts {
    /// Stored without a warning.
    pub clean: u64,
    /// Stored with a warning.
    pub warn: u64,
    /// Refused.
    pub block: u64,
    /// Stored as an exception although the guard would have refused it.
    pub exception: u64,
    /// Stored unchecked because a stage failed.
    pub ungated: u64,
    /// Pairs that the cross-encoder judged.
    #[serde(default)]
    pub inferred: u64,
    /// Pairs that the language model judged.
    #[serde(default)]
    pub deepened: u64,
    /// Statements whose norm the language model read.
    #[serde(default)]
    pub refined: u64,
    /// Claims that the background still has to compare.
    #[serde(default)]
    pub waiting: u64,
    /// Answers of language models about stories that were dropped because they were invalid, or about something that is settled.
    #[serde(default)]
    pub story_dropped: u64,
    /// Stages that were skipped because a model failed; the other stages checked these writes.
    #[serde(default)]
    pub skipped: u64,
}

/// What people are told if [`Diagnose::nli_unfitted`].
pub const NLI_UNFITTED: &str = "the cross-encoder only warns and never refuses, because no weights were fitted for it";

/// A scope whose refusal threshold was adjusted because of people's dismissals and confirmations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScopeThreshold {
    /// The scope.
    pub scope: Scope,
    /// The probability from which a write is refused there.
    pub block: f32,
    /// The threshold in other scopes.
    pub usual: f32,
}

/// A scope in which a writer is only asked about contradictions above a higher probability, because earlier questions there found
/// none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AskThreshold {
    /// The scope.
    pub scope: Scope,
    /// The agent to which the threshold applies, because of its own answers and those of people; `None` for agents that have given no
    /// answers there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The probability from which the agent is asked.
    pub ask: f32,
    /// The threshold in other scopes.
    pub usual: f32,
}

impl AskThreshold {
    /// Describes the threshold in one sentence without a period.
    pub fn words(&self) -> String {
        let who = self.agent.as_deref().unwrap_or("a writer");
        format!(
            "{who} is asked about contradictions from {:.2} instead of {:.2}, because earlier questions were in vain",
            self.ask, self.usual
        )
    }
}

/// A scope in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScopeView {
    /// The scope.
    pub scope: Scope,
    /// Active claims.
    pub active: usize,
    /// All claims.
    pub total: usize,
    /// Open cards that are not snoozed.
    pub open_cards: usize,
    /// Claims that need review.
    pub needs_review: usize,
    /// The time of its latest event, in milliseconds since the Unix epoch.
    pub latest: u64,
    /// The URL of the git remote, or the common directory, that identifies the project.
    pub identity: Option<String>,
}

/// `GET /scopes`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Scopes {
    /// The scopes, by name.
    pub items: Vec<ScopeView>,
}

/// `POST /backup`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BackupRequest {
    /// The absolute path of the file to create; it must not exist.
    pub path: String,
}

/// The answer to `POST /backup`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupOutcome {
    /// The file that was created.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The answer to `POST /shutdown`: the daemon finishes the requests that it has begun, and stops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stopping {
    /// Its process id.
    pub pid: u32,
}

/// The answer to `POST /check`: the result of checking the whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct StoreCheck {
    /// The number of events that were read and whose signatures were checked.
    pub events: usize,
    /// The number of devices that wrote them.
    pub devices: usize,
    /// The number of redacted bodies.
    pub redacted: usize,
    /// Problems, one sentence each.
    pub problems: Vec<String>,
    /// Observations that are no damage: a gap or a fork in another device's chain, events that a team does not accept.
    pub notes: Vec<String>,
}

/// An address that this device has contacted, or from which it was contacted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContactView {
    /// The address.
    pub address: String,
    /// The kind of contact: `dialled`, …
    pub what: String,
    /// The first time, in milliseconds since the Unix epoch.
    pub first: u64,
    /// The last time, in milliseconds since the Unix epoch.
    pub last: u64,
}

/// The answer to `GET /sync/contacts`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Contacts {
    /// Every address, the latest first.
    pub items: Vec<ContactView>,
}
