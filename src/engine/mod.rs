//! The acts and reads of ergo, composed of guard and store; no HTTP, no screen.
//!
//! Methods block: call them where that is allowed (`spawn_blocking`). One writer inside a mutex; reads use connections
//! of their own and never wait for it.

mod check;
mod config;
mod fact_key;
mod gate;
mod reads;
mod words;

use std::path::Path;

pub use config::{AgentsMay, Clock, EngineConfig, system_clock};

use crate::{
    api::{
        ActRequest, ApiError, AuditOutcome, AuditRequest, CardView, Change, ClaimView, ClaimsPage, ClaimsQuery,
        ConflictsPage, ConflictsQuery, DependRequest, GuardCounts, History, LogPage, LogQuery, RememberRequest,
        ResolveRequest, Scopes, SupersedeRequest, UndoOutcome, UndoRequest, WhyAnswer, WhyRequest, WriteOutcome,
    },
    domain::DeviceId,
};

/// Called with each change after it is committed, outside every lock, on the thread of the act.
pub type OnChange = Box<dyn Fn(Change) + Send + Sync>;

/// What [`Engine::counts`] knows for `GET /diagnose`.
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
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
}

/// The one owner of a store.
pub struct Engine {
    config: EngineConfig,
}

fn not_built<T>() -> Result<T, ApiError> {
    Err(ApiError::internal("not built yet"))
}

impl Engine {
    /// Opens the store, or makes it; runs migrations.
    ///
    /// # Errors
    /// `unavailable` where the file cannot be opened, is not a store, or is of a newer schema: the message says which.
    pub fn open(config: EngineConfig) -> Result<Self, ApiError> {
        Ok(Self { config })
    }

    /// The settings it was opened with.
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }

    /// Registers what is called after each committed act; several may be registered.
    pub fn on_change(&self, _callback: OnChange) {}

    /// Writes a claim: guarded kinds pass the guard, facts upsert by key.
    pub fn remember(&self, _request: RememberRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// [`Engine::remember`] with a required source.
    pub fn learn(&self, _request: RememberRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// Replaces claims by a new statement or by an existing claim.
    pub fn supersede(&self, _request: SupersedeRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// Takes a claim out: wrong at birth.
    pub fn retract(&self, _request: ActRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// Brings a superseded or retracted claim back.
    pub fn reinstate(&self, _request: ActRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// Drops a claim's text for good, everywhere in the file; the record stays. Cannot be undone.
    pub fn redact(&self, _request: ActRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// Records that a claim which needed review was looked at and still holds.
    pub fn reviewed(&self, _request: ActRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// Records that a claim rests on others.
    pub fn depend(&self, _request: DependRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// Takes an act back: the named one, or the caller's own last.
    pub fn undo(&self, _request: UndoRequest) -> Result<UndoOutcome, ApiError> {
        not_built()
    }

    /// Settles, or puts off, the card with this id or prefix.
    pub fn resolve(&self, _card: &str, _request: ResolveRequest) -> Result<WriteOutcome, ApiError> {
        not_built()
    }

    /// Compares what is active and opens cards.
    pub fn audit(&self, _request: AuditRequest) -> Result<AuditOutcome, ApiError> {
        not_built()
    }

    /// The best reasoned claim for a question, and the chain that led to it.
    pub fn why(&self, _request: &WhyRequest) -> Result<WhyAnswer, ApiError> {
        not_built()
    }

    /// A page of claims.
    pub fn claims(&self, _query: &ClaimsQuery) -> Result<ClaimsPage, ApiError> {
        not_built()
    }

    /// One claim, by id or prefix.
    pub fn claim(&self, _id: &str) -> Result<ClaimView, ApiError> {
        not_built()
    }

    /// Every act that touched a claim, and its chain both ways.
    pub fn history(&self, _id: &str) -> Result<History, ApiError> {
        not_built()
    }

    /// A page of the log of acts, newest first.
    pub fn log(&self, _query: &LogQuery) -> Result<LogPage, ApiError> {
        not_built()
    }

    /// A page of cards, newest first.
    pub fn conflicts(&self, _query: &ConflictsQuery) -> Result<ConflictsPage, ApiError> {
        not_built()
    }

    /// One card in full, by id or prefix.
    pub fn card(&self, _id: &str) -> Result<CardView, ApiError> {
        not_built()
    }

    /// Every scope with its counts.
    pub fn scopes(&self) -> Result<Scopes, ApiError> {
        not_built()
    }

    /// Sizes and counts for `GET /diagnose`.
    pub fn counts(&self) -> Result<Counts, ApiError> {
        not_built()
    }

    /// Copies the store to a new file, safely while it is in use. Answers with the copy's size in bytes.
    ///
    /// # Errors
    /// `bad_request` where the file exists already.
    pub fn backup(&self, _to: &Path) -> Result<u64, ApiError> {
        not_built()
    }
}
