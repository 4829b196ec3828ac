//! Chooses which claims of a subject come first on a scope's page. A language model weighs each claim in the
//! background, and its choice is kept while the subject has the same claims.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crate::{
    api::ApiError,
    domain::{ClaimId, Scope},
    engine::{
        Engine,
        llm_choice::{self, Fallback},
    },
    infer::{Call, ModelRole},
    recall::snapshot::{self, SnapshotEntry},
};

/// The deadline of the answers about one subject. Long, because nobody waits for them.
const SUBJECT_TIMEOUT: Duration = Duration::from_mins(2);

/// The greatest number of remembered subjects. After that, all are removed.
const MAX_SUBJECTS: usize = 4096;

/// A hash of the claims of a subject and of the model that is asked.
type Group = [u8; 32];

/// The claims that a language model put first, by subject.
#[derive(Default)]
pub(super) struct LeadingClaims(Mutex<LeadingState>);

#[derive(Default)]
struct LeadingState {
    /// The leading claims in their order; none if the model chose none.
    known: HashMap<Group, Vec<ClaimId>>,
    /// Scopes for which a page was generated since the model was last asked.
    waiting: HashSet<Scope>,
}

impl LeadingClaims {
    fn lock(&self) -> MutexGuard<'_, LeadingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the leading claims with their positions. Returns the number of subjects that have some.
    pub(super) fn apply(&self, model: &str, entries: &mut [SnapshotEntry]) -> usize {
        let groups: Vec<Group> = snapshot::large_groups(entries).iter().map(|group| group_hash(model, group)).collect();
        let known = self.lock();
        let leads: Vec<&Vec<ClaimId>> =
            groups.iter().filter_map(|group| known.known.get(group)).filter(|leads| !leads.is_empty()).collect();
        let places: HashMap<ClaimId, usize> =
            leads.iter().flat_map(|leads| leads.iter().enumerate().map(|(place, id)| (*id, place))).collect();
        for entry in entries {
            entry.lead = places.get(&entry.id).copied().unwrap_or(usize::MAX);
        }
        leads.len()
    }

    /// Records that a page of this scope was generated.
    pub(super) fn made(&self, scope: &Scope) {
        self.lock().waiting.insert(scope.clone());
    }
}

impl Engine {
    /// Returns an identifier of the language model that chooses leading claims; `None` without one.
    pub(super) fn leader(&self) -> Option<String> {
        self.models.info().role(ModelRole::Llm).map(|role| format!("{} {}", role.name, role.sha256))
    }

    /// Whether [`Engine::lead_snapshot`] has something to do because a page of the scope was generated.
    pub fn snapshot_waits(&self, scope: &Scope) -> bool {
        self.leader().is_some() && self.pages.leads().lock().waiting.contains(scope)
    }

    /// Asks the language model for the leading claims of each crowded subject, if they are not known, and then
    /// generates the scope's pages again. Takes seconds for each subject, so nobody should wait for it. Returns about
    /// how many subjects the model was asked.
    ///
    /// # Errors
    /// Fails only if the store fails. If the model fails, the order stays as it is.
    pub fn lead_snapshot(&self, scope: &Scope) -> Result<usize, ApiError> {
        let Some(model) = self.leader() else { return Ok(0) };
        if !self.pages.leads().lock().waiting.remove(scope) {
            return Ok(0);
        }
        let now = (self.config.clock)();
        let (entries, _) = self.read_at(None, |reader| super::snapshot::entries(reader, scope, now))?;
        let mut asked = 0;
        for group in snapshot::large_groups(&entries) {
            let name = group_hash(&model, &group);
            if self.pages.leads().lock().known.contains_key(&name) {
                continue;
            }
            let statements: Vec<&str> = group.iter().map(|entry| entry.statement.as_str()).collect();
            let call = Call::background(SUBJECT_TIMEOUT);
            let odds = match llm_choice::odds(self, snapshot::SYSTEM, &snapshot::EXAMPLES, &statements, call) {
                Ok(odds) => odds,
                Err(Fallback(_, why)) => {
                    // The model is asked again after the next page is generated.
                    tracing::warn!(why, "the language model did not choose which claims come first on a page");
                    break;
                }
            };
            let ids = snapshot::leading(&odds)
                .into_iter()
                .filter_map(|place| group.get(place))
                .map(|entry| entry.id)
                .collect();
            let mut state = self.pages.leads().lock();
            if state.known.len() >= MAX_SUBJECTS {
                state.known.clear();
            }
            state.known.insert(name, ids);
            asked += 1;
        }
        if asked > 0 {
            super::snapshot::regenerate_all(self, scope)?;
        }
        Ok(asked)
    }
}

fn group_hash(model: &str, group: &[&SnapshotEntry]) -> Group {
    let mut hasher = blake3::Hasher::new();
    hasher.update(model.as_bytes());
    for entry in group {
        hasher.update(&entry.id.0);
    }
    hasher.finalize().into()
}
