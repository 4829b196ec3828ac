//! Chooses which claims of a subject come first on a scope's page: a language model weighs each in the background,
//! and its choice is kept while the subject has the same claims.

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

/// How long the answers about one subject may take: nobody waits.
const PATIENCE: Duration = Duration::from_mins(2);

/// How many subjects are remembered; beyond, all are forgotten.
const KEPT: usize = 4096;

/// A subject's claims, and the model that is asked: a hash of both.
type Group = [u8; 32];

/// The claims that a language model put first, by subject.
#[derive(Default)]
pub(super) struct LeadingClaims(Mutex<LeadingState>);

#[derive(Default)]
struct LeadingState {
    /// The claims that lead, in their order; none if the model pointed at none, or failed.
    known: HashMap<Group, Vec<ClaimId>>,
    /// Scopes whose page was made since they were last looked at.
    waiting: HashSet<Scope>,
}

impl LeadingClaims {
    fn lock(&self) -> MutexGuard<'_, LeadingState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts those first that a model pointed at; answers of how many subjects.
    pub(super) fn apply(&self, model: &str, entries: &mut [SnapshotEntry]) -> usize {
        let groups: Vec<Group> = snapshot::large_groups(entries).iter().map(|group| name(model, group)).collect();
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

    /// A page of this scope was made.
    pub(super) fn made(&self, scope: &Scope) {
        self.lock().waiting.insert(scope.clone());
    }
}

impl Engine {
    /// The language model that says which claims lead; `None` without one.
    pub(super) fn leader(&self) -> Option<String> {
        self.models.info().role(ModelRole::Llm).map(|role| format!("{} {}", role.name, role.sha256))
    }

    /// Whether [`Engine::lead_snapshot`] has something to do since a page of the scope was last made.
    pub fn snapshot_waits(&self, scope: &Scope) -> bool {
        self.leader().is_some() && self.pages.leads().lock().waiting.contains(scope)
    }

    /// Asks the language model which claims of each crowded subject lead, if that is not known yet, and makes the scope's pages anew if it said so.
    /// Takes seconds for each subject: nobody may wait for it. Returns about how many subjects it was asked.
    ///
    /// # Errors
    /// If the store fails. A model that fails leaves the order as it is.
    pub fn lead_snapshot(&self, scope: &Scope) -> Result<usize, ApiError> {
        let Some(model) = self.leader() else { return Ok(0) };
        if !self.pages.leads().lock().waiting.remove(scope) {
            return Ok(0);
        }
        let (entries, _) = self.read_at(None, |reader| super::snapshot::entries(reader, scope))?;
        let mut asked = 0;
        for group in snapshot::large_groups(&entries) {
            let name = name(&model, &group);
            if self.pages.leads().lock().known.contains_key(&name) {
                continue;
            }
            let statements: Vec<&str> = group.iter().map(|entry| entry.statement.as_str()).collect();
            let call = Call::background(PATIENCE);
            let odds = match llm_choice::odds(self, snapshot::SYSTEM, &snapshot::EXAMPLES, &statements, call) {
                Ok(odds) => odds,
                Err(Fallback(_, why)) => {
                    // Asked again when the next page is made.
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
            if state.known.len() >= KEPT {
                state.known.clear();
            }
            state.known.insert(name, ids);
            asked += 1;
        }
        if asked > 0 {
            super::snapshot::again(self, scope)?;
        }
        Ok(asked)
    }
}

fn name(model: &str, group: &[&SnapshotEntry]) -> Group {
    let mut hasher = blake3::Hasher::new();
    hasher.update(model.as_bytes());
    for entry in group {
        hasher.update(&entry.id.0);
    }
    hasher.finalize().into()
}
