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
    api::{ApiError, BridgeView, CalibrateRequest, Calibrated, Change, ErrorCode, UnrelatedBaselineView},
    domain::{Scope, numeric},
    infer::{Call, InferError, ModelRole},
    recall::{
        Vocabulary,
        calibrate::{self, Bridge, ClaimText, ScopeWords, Word},
    },
    store::{EVER, Reader},
};

/// The greatest number of claims that are read, newest first.
const MAX_CLAIMS: usize = 20_000;

/// The greatest number of words in one call of the embedder.
const EMBED_BATCH: usize = 64;

/// The deadline of one call of the embedder.
const EMBED_TIMEOUT: Duration = Duration::from_mins(2);

/// The deadline of all questions to the language model together.
const LLM_TIMEOUT: Duration = Duration::from_mins(2);

/// Cached vocabularies of scopes, each with the stored text from which it was built.
#[derive(Default)]
pub(super) struct Vocabularies(Mutex<HashMap<Scope, (String, Arc<Vocabulary>)>>);

impl Vocabularies {
    /// Deletes all of them, because they contain words of claims.
    pub(super) fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The vector of each word.
type WordVectors = Vec<Vec<f32>>;

impl Engine {
    /// Learns the word pairs of a scope again and measures its unrelated baseline. Stores both, unless `dry_run` is set.
    ///
    /// # Errors
    /// `stale` if a claim was redacted meanwhile. A failing embedder is no error: pairs are then learned from
    /// co-occurrence alone, and the answer's note says so.
    pub fn calibrate(&self, request: &CalibrateRequest) -> Result<Calibrated, ApiError> {
        let scope = validate::named(&request.org_id, &request.project)?;
        let who = validate::optional_name("who", request.who.as_deref())?;
        let agent = validate::optional_name("agent", request.agent.as_deref())?;
        let (claims, read_at) = self
            .readers
            .lend()
            .snapshot(|reader| Ok::<_, ApiError>((claims(reader, &scope)?, reader.past_mark(Some(&scope), EVER)?)))?;
        let words = calibrate::words(&claims, Vocabulary::built_in_words());
        let (bridges, note) = match self.embed_vocabulary(&words) {
            Ok((plain, terms)) => {
                let cosine = |from: usize, to: usize| Some(numeric::cosine(plain.get(from)?, terms.get(to)?));
                let mut bridges = calibrate::bridges(&words, cosine);
                let (confirmed, note) = self.confirmed_bridges(calibrate::hints(&words, cosine), &claims);
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
            let mut writer = self.writer();
            // The pairs contain words of claims, and a claim may have been redacted during the minutes that the
            // language model took.
            if read_at.lost_words(&writer.reader().past_mark(Some(&scope), EVER)?) {
                let message =
                    format!("a claim of {scope} was redacted while word pairs were learned; none were stored");
                return Err(ApiError::new(ErrorCode::Stale, message).hint("run `ergo calibrate` again"));
            }
            writer.put_calibration(&scope, &text)?;
            drop(writer);
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

    /// Returns the pairs that the local language model confirms, none without a model, and a note if it was not asked
    /// about all of them.
    fn confirmed_bridges(&self, hints: Vec<Bridge>, claims: &[ClaimText]) -> (Vec<Bridge>, Option<String>) {
        if self.models.info().role(ModelRole::Llm).is_none() {
            return (Vec::new(), None);
        }
        let (until, all) = (Instant::now() + LLM_TIMEOUT, hints.len());
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

    /// Whether word pairs of a scope are stored.
    pub fn calibrated(&self, scope: &Scope) -> Result<bool, ApiError> {
        Ok(self.readers.lend().calibration(scope)?.is_some())
    }

    /// Returns the built-in word pairs together with those of a scope; `None` if the scope has none.
    pub(super) fn vocabulary(&self, reader: &Reader, scope: &Scope) -> Result<Option<Arc<Vocabulary>>, ApiError> {
        let Some(text) = reader.calibration(scope)? else { return Ok(None) };
        let mut known = self.vocabularies.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made_of, vocabulary)) = known.get(scope)
            && *made_of == text
        {
            return Ok(Some(Arc::clone(vocabulary)));
        }
        // A text that cannot be parsed must not make recall fail.
        let pairs: Vec<(String, String)> = serde_json::from_str(&text).unwrap_or_default();
        let vocabulary = Arc::new(calibrate::with(Vocabulary::built_in(), &pairs));
        known.insert(scope.clone(), (text, Arc::clone(&vocabulary)));
        Ok(Some(vocabulary))
    }

    /// Embeds the plain words and the terms of a scope.
    fn embed_vocabulary(&self, words: &ScopeWords) -> Result<(WordVectors, WordVectors), InferError> {
        if self.models.info().role(ModelRole::Embedder).is_none() {
            return Err(InferError::NoModel { role: ModelRole::Embedder });
        }
        Ok((self.embed_words(&words.plain)?, self.embed_words(&words.terms)?))
    }

    fn embed_words(&self, words: &[Word]) -> Result<WordVectors, InferError> {
        let mut all = Vec::with_capacity(words.len());
        for some in words.chunks(EMBED_BATCH) {
            let texts: Vec<String> = some.iter().map(|word| word.form.clone()).collect();
            all.extend(self.models.embed(&texts, Call::background(EMBED_TIMEOUT))?);
        }
        Ok(all)
    }
}

/// Returns the texts of the newest active claims of a scope.
fn claims(reader: &Reader, scope: &Scope) -> Result<Vec<ClaimText>, ApiError> {
    let (rows, _) = reader.newest_active(scope, None, MAX_CLAIMS)?;
    let claims =
        rows.into_iter().map(|row| ClaimText { statement: row.statement, reason: row.reason.unwrap_or_default() });
    Ok(claims.collect())
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::{
        api::{Caller, RememberRequest},
        engine::EngineConfig,
    };

    #[test]
    fn a_redaction_deletes_the_cached_words_of_claims() {
        let dir = tempfile::tempdir().unwrap();
        let config = EngineConfig::new(dir.path().join("store.db"), SigningKey::from_bytes(&[7; 32]));
        let engine = Engine::open(config).unwrap();
        let caller = Caller { org_id: "acme".into(), project: "api".into(), who: "jane".into(), ..Caller::default() };
        let statement = "The trinket is hunter2".to_owned();
        let reason = Some("nobody should know".to_owned());
        engine.remember(RememberRequest { caller, statement, reason, ..RememberRequest::default() }).unwrap();
        let scope = Scope::new("acme", "api").unwrap();
        engine.writer().put_calibration(&scope, r#"[["trinket", "hunter2"]]"#).unwrap();
        assert!(engine.vocabulary(&engine.readers.lend(), &scope).unwrap().is_some());
        engine.forget_texts();
        assert!(engine.vocabularies.0.lock().unwrap().is_empty());
    }
}
