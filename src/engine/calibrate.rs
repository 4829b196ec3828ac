//! `calibrate`: learns pairs of a plain word and a word of the scope from its claims, with which recall extends
//! questions. A local language model, if there is one, decides about uncertain pairs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    Engine,
    llm_choice::{self, Fallback},
    validate,
};
use crate::{
    api::{ApiError, BridgeView, CalibrateRequest, Calibrated, Change, UnrelatedBaselineView},
    domain::Scope,
    infer::{Call, InferError, ModelRole},
    recall::{
        Vocabulary,
        calibrate::{self, Bridge, ClaimText, ScopeWords, Word},
    },
    store::Reader,
};

/// The newest claims that are read.
const READ: usize = 20_000;

/// Words that are embedded in one call, and how long that may take.
const BATCH: usize = 64;
const PATIENCE: Duration = Duration::from_mins(2);

/// How long the language model may take for all that it is asked.
const ASKING: Duration = Duration::from_mins(2);

/// The vocabularies of scopes that were asked about, with what they were made of.
#[derive(Default)]
pub(super) struct Vocabularies(Mutex<HashMap<Scope, (String, Arc<Vocabulary>)>>);

/// The vector of each word.
type WordVectors = Vec<Vec<f32>>;

impl Engine {
    /// Makes the bridge of a scope anew, and measures how similar its unrelated claims are to each other; keeps both unless they are only to be shown.
    ///
    /// # Errors
    /// If the store fails. That the embedder does is told in the answer: words that come together are left.
    pub fn calibrate(&self, request: &CalibrateRequest) -> Result<Calibrated, ApiError> {
        let scope = validate::named(&request.org_id, &request.project)
            .map_err(|error| ApiError::field(error.field, error.to_string()))?;
        let who = validate::optional_name("who", request.who.as_deref())?;
        let agent = validate::optional_name("agent", request.agent.as_deref())?;
        let claims = self.readers.lend().snapshot(|reader| claims(reader, &scope))?;
        let words = calibrate::words(&claims, Vocabulary::built_in_words());
        let (bridges, note) = match self.near(&words) {
            Ok((plain, terms)) => {
                let cosine = |from: usize, to: usize| Some(dot(plain.get(from)?, terms.get(to)?));
                let mut bridges = calibrate::bridges(&words, cosine);
                let (confirmed, note) = self.confirmed(calibrate::hints(&words, cosine), &claims);
                bridges.extend(confirmed);
                (bridges, note)
            }
            Err(error) => {
                let note = format!("Word pairs were learned from co-occurrence only: {error}.");
                (calibrate::bridges(&words, |_, _| None), Some(note))
            }
        };
        let baseline = self.measure_unrelated_baseline(&scope)?;
        if !request.dry_run {
            if let Some(baseline) = &baseline {
                self.store_unrelated_baseline(&scope, baseline)?;
            }
            let pairs: Vec<(&str, &str)> =
                bridges.iter().map(|one| (one.from.stem.as_str(), one.to.stem.as_str())).collect();
            let text = serde_json::to_string(&pairs).map_err(|error| ApiError::internal(error.to_string()))?;
            self.writer.lock().unwrap_or_else(PoisonError::into_inner).put_calibration(&scope, &text)?;
            if let Some(who) = who {
                let summary = format!("Learned {} word pairs for {scope}", bridges.len());
                let scope = Some(scope.clone());
                self.tell(Change { scope, act: "calibrate".to_owned(), who, agent, summary, ..Change::default() });
            }
        }
        let view = |Bridge { from, to, together, cosine, confirmed }| BridgeView {
            from: from.form,
            to: to.form,
            together,
            cosine,
            confirmed,
        };
        let unrelated_baseline = baseline.map(|known| UnrelatedBaselineView {
            sample: known.sample,
            cosine: known.cosine,
            raise: known.raise() as f32,
        });
        Ok(Calibrated {
            claims: claims.len(),
            bridges: bridges.into_iter().map(view).collect(),
            unrelated_baseline,
            note,
        })
    }

    /// Those of the pairs that the local language model says are bridges; none without one. What it could not be asked is told.
    fn confirmed(&self, hints: Vec<Bridge>, claims: &[ClaimText]) -> (Vec<Bridge>, Option<String>) {
        if self.models.info().role(ModelRole::Llm).is_none() {
            return (Vec::new(), None);
        }
        let (until, all) = (Instant::now() + ASKING, hints.len());
        let mut confirmed = Vec::new();
        for (asked, bridge) in hints.into_iter().enumerate() {
            let call = Call::background(until.saturating_duration_since(Instant::now()));
            let text = calibrate::ask(&bridge, claims);
            match llm_choice::odds(self, calibrate::SYSTEM, &calibrate::EXAMPLES, &[&text], call).as_deref() {
                Ok([odds]) if *odds > 0.0 => confirmed.push(Bridge { confirmed: true, ..bridge }),
                Ok(_) => {}
                Err(Fallback(_, why)) => {
                    let note = format!("The language model was asked about only {asked} of {all} pairs: {why}.");
                    return (confirmed, Some(note));
                }
            }
        }
        (confirmed, None)
    }

    /// Whether a scope has a bridge.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn calibrated(&self, scope: &Scope) -> Result<bool, ApiError> {
        Ok(self.readers.lend().calibration(scope)?.is_some())
    }

    /// The words that stand for each other in a scope, those that are built in and its own; `None` if it has none of its own.
    pub(super) fn vocabulary(&self, reader: &Reader, scope: &Scope) -> Result<Option<Arc<Vocabulary>>, ApiError> {
        let Some(text) = reader.calibration(scope)? else { return Ok(None) };
        let mut known = self.vocabularies.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made_of, vocabulary)) = known.get(scope)
            && *made_of == text
        {
            return Ok(Some(Arc::clone(vocabulary)));
        }
        // What cannot be read costs the bridge, and no answer.
        let pairs: Vec<(String, String)> = serde_json::from_str(&text).unwrap_or_default();
        let vocabulary = Arc::new(calibrate::with(Vocabulary::built_in(), &pairs));
        known.insert(scope.clone(), (text, Arc::clone(&vocabulary)));
        Ok(Some(vocabulary))
    }

    /// The vectors of plain words and of terms.
    fn near(&self, words: &ScopeWords) -> Result<(WordVectors, WordVectors), InferError> {
        if self.models.info().role(ModelRole::Embedder).is_none() {
            return Err(InferError::NoModel { role: ModelRole::Embedder });
        }
        Ok((self.embed_words(&words.plain)?, self.embed_words(&words.terms)?))
    }

    fn embed_words(&self, words: &[Word]) -> Result<WordVectors, InferError> {
        let mut all = Vec::with_capacity(words.len());
        for some in words.chunks(BATCH) {
            let texts: Vec<String> = some.iter().map(|word| word.form.clone()).collect();
            all.extend(self.models.embed(&texts, Call::background(PATIENCE))?);
        }
        Ok(all)
    }
}

/// What a scope says: claims in force, and why they hold.
fn claims(reader: &Reader, scope: &Scope) -> Result<Vec<ClaimText>, ApiError> {
    let (rows, _) = reader.newest_active(scope, READ)?;
    let claims =
        rows.into_iter().map(|row| ClaimText { statement: row.statement, reason: row.reason.unwrap_or_default() });
    Ok(claims.collect())
}

/// The cosine of two vectors of length 1.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
