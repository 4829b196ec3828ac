//! The shipped way to write: the engine over a real store in a private folder.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ed25519_dalek::SigningKey;

use super::{
    cached_models::CachedModels,
    memory_project::MemoryProject,
    path::{GuardPath, Opposed, WriteAnswer},
};
use crate::store;
use ergo::{
    api::{ApiError, Caller, Conflict, RememberRequest, SupersedeRequest, WhyRequest, WriteOutcome},
    domain::{ClaimId, ClaimKind, Scope, Tier},
    engine::{DeepMode, Engine, EngineConfig},
    guard::{Guard, JudgeWeights},
};

const ORG: &str = "bench";

/// The number of stores that this process has opened. Each has a folder of its own.
static OPENED: AtomicUsize = AtomicUsize::new(0);

/// An engine over a store, to which one project after the other is written.
pub(super) struct Shipped {
    engine: Engine,
    folder: PathBuf,
    project: usize,
    /// The number of each claim in its project.
    numbers: HashMap<ClaimId, usize>,
    written: usize,
    /// The same claims in memory, for the scores below the thresholds, which the engine does not report.
    scores: MemoryProject,
    failures: Vec<String>,
}

impl Shipped {
    /// Opens a store in a folder that is removed with it. Writes do not wait for the disk, which is measured elsewhere.
    pub(super) fn open(
        weights: &JudgeWeights,
        cache: Option<&Arc<CachedModels>>,
        deep: DeepMode,
    ) -> Result<Self, ApiError> {
        let folder = std::env::temp_dir().join(format!(
            "ergo-bench-guard-{}-{}",
            std::process::id(),
            OPENED.fetch_add(1, Ordering::Relaxed)
        ));
        // An earlier process with the same id may have left a folder.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder)
            .map_err(|error| ApiError::internal(format!("cannot make {}: {error}", folder.display())))?;
        let engine = engine(&folder, weights, cache, deep)?;
        let scores =
            MemoryProject::new(Guard::default().with_weights(weights.clone()), cache.map(CachedModels::cached));
        Ok(Self { engine, folder, project: 0, numbers: HashMap::new(), written: 0, scores, failures: Vec::new() })
    }

    /// Opens a store that contains claims of one project, which were stored without the cross-encoder.
    pub(super) fn with_claims(
        claims: &[(ClaimKind, &str)],
        weights: &JudgeWeights,
        cache: Option<&Arc<CachedModels>>,
    ) -> Result<Self, ApiError> {
        let mut without_inference = weights.clone();
        without_inference.gate.most = 0;
        let mut shipped = Self::open(&without_inference, cache, DeepMode::Off)?;
        for (kind, statement) in claims {
            let request = shipped.request(*kind, statement, "measured");
            let forced = RememberRequest { force_exception: Some("the replay goes on".into()), ..request };
            if let WriteOutcome::Stored(stored) = shipped.engine.remember(forced)? {
                shipped.stored(stored.claim_id);
            }
            shipped.written += 1;
        }
        shipped.engine = engine(&shipped.folder, weights, cache, DeepMode::Off)?;
        Ok(shipped)
    }

    /// Returns the numbers of the claims because of which a statement is refused, and the time. The statement is not stored.
    pub(super) fn refusing(&self, kind: ClaimKind, statement: &str) -> Result<(Vec<usize>, Duration), ApiError> {
        let request = RememberRequest { dry_run: true, ..self.request(kind, statement, "measured") };
        let start = Instant::now();
        let outcome = self.engine.remember(request)?;
        let took = start.elapsed();
        let WriteOutcome::Conflict(refused) = outcome else { return Ok((Vec::new(), took)) };
        let blocking = refused.conflicts.iter().filter(|conflict| conflict.tier == Tier::Block);
        Ok((blocking.filter_map(|conflict| self.numbers.get(&conflict.claim.id).copied()).collect(), took))
    }

    fn caller(&self) -> Caller {
        store::caller(Scope { org_id: ORG.into(), project: format!("p{}", self.project) })
    }

    fn request(&self, kind: ClaimKind, statement: &str, reason: &str) -> RememberRequest {
        RememberRequest {
            caller: self.caller(),
            statement: statement.to_owned(),
            kind: Some(kind),
            reason: Some(reason.to_owned()),
            ..RememberRequest::default()
        }
    }

    fn opposed(&self, conflict: &Conflict) -> Option<Opposed> {
        Some(Opposed {
            number: *self.numbers.get(&conflict.claim.id)?,
            tier: conflict.tier,
            score: conflict.score,
            why: super::path::why(&conflict.evidence),
        })
    }

    fn stored(&mut self, id: ClaimId) {
        self.numbers.entry(id).or_insert(self.written);
    }

    fn failed(&mut self, error: impl std::fmt::Display) {
        self.failures.push(error.to_string());
    }
}

/// Opens an engine over the store of a folder. Writes do not wait for the disk.
fn engine(
    folder: &Path,
    weights: &JudgeWeights,
    cache: Option<&Arc<CachedModels>>,
    deep: DeepMode,
) -> Result<Engine, ApiError> {
    let mut config = EngineConfig::new(folder.join("bench.db"), SigningKey::from_bytes(&[7; 32]));
    config.durable = false;
    config.deep = deep;
    let guard = Guard::default().with_weights(weights.clone());
    match cache {
        Some(cache) => Engine::open_with_models(config, guard, cache.timed()),
        None => Engine::open_with(config, guard),
    }
}

impl Drop for Shipped {
    fn drop(&mut self) {
        // A temporary folder that cannot be removed does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl GuardPath for Shipped {
    fn fresh(&mut self) {
        self.project += 1;
        self.written = 0;
        self.numbers.clear();
        self.scores.fresh();
    }

    fn write(&mut self, kind: ClaimKind, statement: &str) -> WriteAnswer {
        let request = self.request(kind, statement, "measured");
        let start = Instant::now();
        let outcome = self.engine.remember(request.clone());
        let took = start.elapsed();
        let mut opposed: Vec<Opposed> = Vec::new();
        match outcome {
            Ok(WriteOutcome::Stored(stored)) => {
                opposed.extend(stored.warnings.iter().filter_map(|w| self.opposed(w.conflict.as_ref()?)));
                if let Some(skipped) = stored.warnings.iter().find(|w| w.code == "stage_skipped") {
                    self.failed(&skipped.message);
                }
                self.stored(stored.claim_id);
            }
            Ok(WriteOutcome::Conflict(refused)) => {
                opposed.extend(refused.conflicts.iter().filter_map(|conflict| self.opposed(conflict)));
                let forced = RememberRequest { force_exception: Some("the replay goes on".into()), ..request };
                match self.engine.remember(forced) {
                    Ok(WriteOutcome::Stored(stored)) => self.stored(stored.claim_id),
                    Ok(other) => self.failed(format!("a forced write was not stored: {other:?}")),
                    Err(error) => self.failed(error),
                }
            }
            Ok(other) => self.failed(format!("a write was neither stored nor refused: {other:?}")),
            Err(error) => self.failed(error),
        }
        for mut other in self.scores.write(kind, statement).opposed {
            if !opposed.iter().any(|o| o.number == other.number) {
                other.tier = Tier::Clean;
                opposed.push(other);
            }
        }
        opposed.sort_by(|a, b| b.tier.cmp(&a.tier).then(b.score.total_cmp(&a.score)));
        self.written += 1;
        WriteAnswer { opposed, took }
    }

    fn write_or_supersede(&mut self, statement: &str, reason: &str) -> (bool, Duration) {
        let request = self.request(ClaimKind::Decision, statement, reason);
        let start = Instant::now();
        let mut outcome = self.engine.remember(request.clone());
        let mut blocked = false;
        // A successor is judged too: whatever else it contradicts gives way with the rest.
        let mut targets: Vec<String> = Vec::new();
        while let Ok(WriteOutcome::Conflict(refused)) = &outcome {
            blocked = true;
            let before = targets.len();
            for conflict in refused.conflicts.iter().filter(|c| c.tier == Tier::Block) {
                let id = conflict.claim.id.to_hex();
                if !targets.contains(&id) {
                    targets.push(id);
                }
            }
            if targets.len() == before {
                self.failed("a supersede was refused by its own targets");
                break;
            }
            outcome = self.engine.supersede(SupersedeRequest {
                targets: targets.clone(),
                claim: request.clone(),
                ..SupersedeRequest::default()
            });
        }
        if let Err(error) = outcome {
            self.failed(error);
        }
        (blocked, start.elapsed())
    }

    fn answer(&mut self, question: &str) -> Option<String> {
        let request = WhyRequest {
            org_id: ORG.into(),
            project: format!("p{}", self.project),
            question: question.to_owned(),
            ..WhyRequest::default()
        };
        match self.engine.why(&request) {
            Ok(answer) => answer.answer.map(|claim| claim.statement),
            Err(error) => {
                self.failed(error);
                None
            }
        }
    }

    fn failures(&self) -> &[String] {
        &self.failures
    }
}
