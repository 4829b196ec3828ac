//! How near strangers stand in each scope: learned from its own claims, in the background whenever a scope has outgrown what is known, and by `calibrate`.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use super::Engine;
use crate::{
    api::ApiError,
    domain::Scope,
    recall::strangers::{FEWEST, SAMPLE, Strangers},
    store::{Reader, VectorModel},
};

/// What is known of scopes that were asked about. `None`: nothing was learned.
#[derive(Default)]
pub(super) struct Known(Mutex<HashMap<Scope, Option<Strangers>>>);

impl Known {
    fn lock(&self) -> MutexGuard<'_, HashMap<Scope, Option<Strangers>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// By how much a scope's own strangers raise the floor of recall, by vectors of this model; 0 where nothing is known of them.
    pub(super) fn raise(&self, reader: &Reader, scope: &Scope, model: &VectorModel) -> Result<f64, ApiError> {
        let strangers = self.strangers(reader, scope)?;
        let model = model.to_string();
        Ok(strangers.filter(|strangers| strangers.embedder == model).map_or(0.0, |strangers| strangers.raise()))
    }

    /// Looks at the claims of a scope; `None` where too few have a vector to tell.
    pub(super) fn look_for_strangers(&self, scope: &Scope) -> Result<Option<Strangers>, ApiError> {
        self.readers.lend().snapshot(|reader| {
            let Some(model) = reader.vector_model()? else { return Ok(None) };
            let (_, claims) = reader.newest_active(scope, 0)?;
            Ok(Strangers::of(&model.to_string(), claims, reader.nearest_others(scope, SAMPLE)?))
        })
    }

    /// Keeps what was learned of a scope.
    pub(super) fn keep_strangers(&self, scope: &Scope, strangers: &Strangers) -> Result<(), ApiError> {
        let text = serde_json::to_string(strangers).map_err(|error| ApiError::internal(error.to_string()))?;
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).put_strangers(scope, &text)?;
        self.strangers.lock().insert(scope.clone(), Some(strangers.clone()));
        Ok(())
    }

    /// Learns anew how near strangers stand in one scope that has outgrown what is known of it: some ten milliseconds, and a second or two among
    /// 100,000 claims. Answers whether there was one.
    ///
    /// # Errors
    /// Where the store cannot be read or written.
    pub fn learn_strangers(&self) -> Result<bool, ApiError> {
        for scope in self.outgrown()? {
            // Where too few have a vector as yet, they are looked at again with the next change.
            if let Some(strangers) = self.look_for_strangers(&scope)? {
                self.keep_strangers(&scope, &strangers)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The scopes that have outgrown what is known of their strangers.
    fn outgrown(&self) -> Result<Vec<Scope>, ApiError> {
        let reader = self.readers.lend();
        let Some(model) = reader.vector_model()? else { return Ok(Vec::new()) };
        let model = model.to_string();
        let mut outgrown = Vec::new();
        for row in reader.scopes()?.into_iter().filter(|row| row.active >= FEWEST) {
            let known = self.strangers(&reader, &row.scope)?;
            if known.is_none_or(|known| known.is_outgrown(&model, row.active)) {
                outgrown.push(row.scope);
            }
        }
        Ok(outgrown)
    }

    /// What is known of a scope's strangers.
    fn strangers(&self, reader: &Reader, scope: &Scope) -> Result<Option<Strangers>, ApiError> {
        if let Some(known) = self.strangers.lock().get(scope) {
            return Ok(known.clone());
        }
        // What cannot be read is learned anew.
        let known = reader.strangers(scope)?.and_then(|text| serde_json::from_str::<Strangers>(&text).ok());
        self.strangers.lock().insert(scope.clone(), known.clone());
        Ok(known)
    }
}
