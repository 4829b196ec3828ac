//! The unrelated baseline of each scope: the cosine similarity of its unrelated claims. It is measured by `calibrate`,
//! and in the background when a scope has outgrown the last measurement.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Engine;
use crate::{
    api::ApiError,
    domain::Scope,
    recall::unrelated_baseline::{MIN_SAMPLE, SAMPLE, UnrelatedBaseline},
    store::{Reader, VectorModel},
};

/// Cached baselines of scopes; `None` if not measured.
#[derive(Default)]
pub(super) struct BaselineCache(Mutex<HashMap<Scope, Option<UnrelatedBaseline>>>);

impl BaselineCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<Scope, Option<UnrelatedBaseline>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Returns by how much a scope's unrelated baseline raises the floor of recall for vectors of this model; 0 if it
    /// was not measured.
    pub(super) fn floor_shift(&self, reader: &Reader, scope: &Scope, model: &VectorModel) -> Result<f64, ApiError> {
        let unrelated_baseline = self.unrelated_baseline(reader, scope)?;
        let model = model.to_string();
        Ok(unrelated_baseline
            .filter(|unrelated_baseline| unrelated_baseline.embedder == model)
            .map_or(0.0, |unrelated_baseline| unrelated_baseline.raise()))
    }

    /// Measures the baseline of a scope; `None` if too few claims have a vector.
    pub(super) fn measure_unrelated_baseline(&self, scope: &Scope) -> Result<Option<UnrelatedBaseline>, ApiError> {
        self.readers.lend().snapshot(|reader| {
            let Some(model) = reader.vector_model()? else { return Ok(None) };
            let (_, claims) = reader.newest_active(scope, None, 0)?;
            Ok(UnrelatedBaseline::of(&model.to_string(), claims, reader.nearest_others(scope, SAMPLE)?))
        })
    }

    /// Stores the baseline of a scope.
    pub(super) fn store_unrelated_baseline(
        &self,
        scope: &Scope,
        unrelated_baseline: &UnrelatedBaseline,
    ) -> Result<(), ApiError> {
        let text = serde_json::to_string(unrelated_baseline).map_err(|error| ApiError::internal(error.to_string()))?;
        self.writer().put_unrelated_baseline(scope, &text)?;
        self.unrelated_baselines.lock().insert(scope.clone(), Some(unrelated_baseline.clone()));
        Ok(())
    }

    /// Measures the baseline of one scope that has outgrown its last measurement: some ten milliseconds, and a second
    /// or two among 100,000 claims. Returns whether there was one.
    pub fn refresh_unrelated_baseline(&self) -> Result<bool, ApiError> {
        for scope in self.outgrown()? {
            // If too few claims have a vector, the scope is tried again at the next change.
            if let Some(unrelated_baseline) = self.measure_unrelated_baseline(&scope)? {
                self.store_unrelated_baseline(&scope, &unrelated_baseline)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the scopes that have outgrown their baselines.
    fn outgrown(&self) -> Result<Vec<Scope>, ApiError> {
        let reader = self.readers.lend();
        let Some(model) = reader.vector_model()? else { return Ok(Vec::new()) };
        let model = model.to_string();
        let mut outgrown = Vec::new();
        for row in reader.scopes((self.config.clock)())?.into_iter().filter(|row| row.active >= MIN_SAMPLE) {
            let known = self.unrelated_baseline(&reader, &row.scope)?;
            if known.is_none_or(|known| known.is_outdated(&model, row.active)) {
                outgrown.push(row.scope);
            }
        }
        Ok(outgrown)
    }

    /// Returns the baseline of a scope.
    fn unrelated_baseline(&self, reader: &Reader, scope: &Scope) -> Result<Option<UnrelatedBaseline>, ApiError> {
        if let Some(known) = self.unrelated_baselines.lock().get(scope) {
            return Ok(known.clone());
        }
        // An unreadable baseline is measured again.
        let known =
            reader.unrelated_baseline(scope)?.and_then(|text| serde_json::from_str::<UnrelatedBaseline>(&text).ok());
        self.unrelated_baselines.lock().insert(scope.clone(), known.clone());
        Ok(known)
    }
}
