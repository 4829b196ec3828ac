//! The state of the daemon: health, diagnosis, scopes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::{DeviceId, Scope};

/// `GET /health`: needs no token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    /// `ok`.
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
    /// The language-inference stage: its model's name, or `not available`.
    pub nli: String,
    /// The embedder: its model's name, or `not available`.
    pub embedder: String,
}

/// `GET /diagnose`: counts and settings; needs a token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Diagnose {
    /// As `GET /health`.
    pub health: Health,
    /// The store's file.
    pub store: String,
    /// Its size in bytes, write-ahead log included.
    pub store_bytes: u64,
    /// The store's schema version.
    pub schema: u32,
    /// The daemon's log file.
    pub log: String,
    /// The socket, and the TCP address where it listens.
    pub socket: Option<String>,
    /// The TCP address, absent if the port was taken.
    pub tcp: Option<String>,
    /// This device.
    pub device: DeviceId,
    /// Events in the log.
    pub events: usize,
    /// All claims.
    pub claims: usize,
    /// Active claims.
    pub active: usize,
    /// Open cards.
    pub open_cards: usize,
    /// Claims that need review.
    pub needs_review: usize,
    /// Writes stored, refused, stored with a warning, and stored unchecked since the daemon started.
    pub guard: GuardCounts,
    /// Scopes with their own refusal threshold.
    #[serde(default)]
    pub thresholds: Vec<ScopeThreshold>,
    /// Scopes in which writers are asked about likelier contradictions only.
    #[serde(default)]
    pub ask_thresholds: Vec<AskThreshold>,
    /// Requests served and refused since the daemon started.
    pub requests: u64,
    /// Problems, each with advice.
    pub problems: Vec<String>,
    /// The models and their processes.
    #[serde(default)]
    pub models: ModelsStatus,
    /// How long parts of a write took since the daemon started.
    #[serde(default)]
    pub timings: Vec<Timing>,
    /// Texts without a vector yet; until then they are found by words only.
    #[serde(default)]
    pub unembedded: Unembedded,
}

/// The answer to `POST /reembed`: progress with the vectors of the current embedder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reembedded {
    /// The embedder's name.
    pub model: String,
    /// Texts that are done.
    pub done: usize,
    /// Texts in all.
    pub total: usize,
    /// Whether all vectors in use are of this model; if not, call again.
    pub finished: bool,
}

/// What waits for its vector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Unembedded {
    /// Active claims.
    pub claims: usize,
    /// Reference chunks.
    pub chunks: usize,
    /// Why the vectors cannot be computed, if known; ergo tries again with the next change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Whether no embedder is selected, so that claims are found by words only.
    pub off: bool,
}

/// How long something took.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct Timing {
    /// What, in a few words.
    pub stage: String,
    /// How often.
    pub count: u64,
    /// The mean, in microseconds.
    pub mean_us: u64,
    /// The longest, in microseconds.
    pub max_us: u64,
}

/// `GET /models`, and the answer to `POST /models/reload`: the models and their processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct ModelsStatus {
    /// The roles that have a model.
    pub roles: Vec<ModelStatus>,
    /// The processes that compute.
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
    /// SHA-256 of its file; empty if nobody computed it.
    pub sha256: String,
    /// Whether it is in memory.
    pub loaded: bool,
    /// The device that runs it once it is loaded: `CPU` or the name of a GPU.
    pub computes: Option<String>,
    /// Layers that a GPU computes.
    pub gpu_layers: u32,
    /// Why it is not used.
    pub problem: Option<String>,
}

/// A process that computes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct WorkerStatus {
    /// The roles that it serves.
    pub roles: Vec<String>,
    /// Its process id, while it runs.
    pub pid: Option<u32>,
    /// Memory that it holds, in bytes, mapped model files included.
    pub rss_bytes: u64,
    /// How often it was started again after it had died.
    pub restarts: u64,
}

/// What the guard did since the daemon started.
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
    /// Claims that wait for the language model.
    #[serde(default)]
    pub waiting: u64,
    /// Answers of language models about stories that were dropped: invalid, or about something that is settled.
    #[serde(default)]
    pub story_dropped: u64,
    /// Stages that were skipped because a model failed; the other stages checked these writes.
    #[serde(default)]
    pub skipped: u64,
}

/// A scope whose refusal threshold was adjusted by people's dismissals and confirmations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ScopeThreshold {
    /// The scope.
    pub scope: Scope,
    /// The threshold there; a value above 1 means that inference refuses nothing, because the weights do not fit the
    /// cross-encoder in use.
    pub block: f32,
    /// The probability elsewhere.
    pub usual: f32,
}

/// A scope in which a writer is asked about likelier contradictions only, because earlier questions there were in vain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AskThreshold {
    /// The scope.
    pub scope: Scope,
    /// The agent that is asked, because of its own answers and those of persons; `None` for those that gave no answers there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The least probability from which it is asked.
    pub ask: f32,
    /// The same elsewhere.
    pub usual: f32,
}

impl AskThreshold {
    /// What it says, in one sentence without a period.
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
    /// Open cards.
    pub open_cards: usize,
    /// Claims that need review.
    pub needs_review: usize,
    /// The time of its latest event, in milliseconds since the Unix epoch.
    pub latest: u64,
    /// The git remote's URL or common directory that identifies it.
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
#[serde(default, deny_unknown_fields)]
pub struct BackupRequest {
    /// The file to make, as an absolute path; it must not exist.
    pub path: String,
}

/// The answer to `POST /backup`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackupOutcome {
    /// The file that was made.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The answer to `POST /shutdown`: the daemon finishes what it has begun, and ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Stopping {
    /// Its process id.
    pub pid: u32,
}

/// `POST /check`: what a look over the whole store found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct StoreCheck {
    /// Events that were read, and whose signatures were checked.
    pub events: usize,
    /// Devices that wrote them.
    pub devices: usize,
    /// Bodies that were redacted.
    pub redacted: usize,
    /// What is wrong, one sentence each; empty when all is well.
    pub problems: Vec<String>,
    /// What is unusual but not damaged: a gap or a fork in another device's chain, events that a team does not accept.
    pub notes: Vec<String>,
}

/// An address that this device has contacted, or been contacted from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ContactView {
    /// The address.
    pub address: String,
    /// For what: `dialled`, …
    pub what: String,
    /// When first, in milliseconds since the Unix epoch.
    pub first: u64,
    /// When last.
    pub last: u64,
}

/// The answer to `GET /sync/contacts`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Contacts {
    /// Every address, the latest first.
    pub items: Vec<ContactView>,
}
