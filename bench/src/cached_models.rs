//! A cache of the models' answers, since several measurements ask about the same pairs.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{BufRead, BufReader, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use ergo::infer::{Call, Classification, InferError, ModelRole, Models, ModelsInfo, Prompt, WorkerInfo};

/// Models with a cache of their answers, by question and model file.
pub(super) struct CachedModels {
    models: Arc<dyn Models>,
    known: Mutex<Known>,
    /// The hash of each role's file.
    hashes: HashMap<ModelRole, String>,
    /// Whether the cache is a file with answers of earlier measurements. Timings are then invalid.
    kept: bool,
}

#[derive(Default)]
struct Known {
    answers: HashMap<String, Vec<f32>>,
    texts: HashMap<String, String>,
    file: Option<File>,
}

/// A line of the cache file: the key, and the numbers or the text of the answer.
#[derive(Serialize, Deserialize)]
struct Line {
    k: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    v: Vec<f32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t: Option<String>,
}

impl CachedModels {
    /// Caches the answers of `models`, in a file if one is named.
    pub(super) fn new(models: Arc<dyn Models>, file: Option<&Path>) -> std::io::Result<Self> {
        let hashes = models.info().roles.into_iter().map(|role| (role.role, role.sha256)).collect();
        let mut known = Known::default();
        if let Some(path) = file {
            if let Ok(old) = File::open(path) {
                // Truncated lines are ignored.
                for line in BufReader::new(old).lines().map_while(Result::ok) {
                    let Ok(line) = serde_json::from_str::<Line>(&line) else { continue };
                    match line.t {
                        Some(text) => drop(known.texts.insert(line.k, text)),
                        None => drop(known.answers.insert(line.k, line.v)),
                    }
                }
            }
            known.file = Some(OpenOptions::new().create(true).append(true).open(path)?);
        }
        Ok(Self { models, known: Mutex::new(known), hashes, kept: file.is_some() })
    }

    /// Returns the models for timed measurements: the cache is used only if it is a file.
    pub(super) fn timed(self: &Arc<Self>) -> Arc<dyn Models> {
        Arc::new(CachingView { cache: Arc::clone(self), look_up: self.kept })
    }

    /// Returns the models with the cache.
    pub(super) fn cached(self: &Arc<Self>) -> Arc<dyn Models> {
        Arc::new(CachingView { cache: Arc::clone(self), look_up: true })
    }

    fn key(&self, role: ModelRole, what: &[&str]) -> String {
        let mut hash = blake3::Hasher::new();
        hash.update(self.hashes.get(&role).map_or("", String::as_str).as_bytes());
        for part in what {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        hash.finalize().to_hex()[..32].to_owned()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn keep(&mut self, line: &Line) {
        if let (Some(file), Ok(mut text)) = (&mut self.file, serde_json::to_string(line)) {
            text.push('\n');
            // A cache that cannot be written only costs time.
            drop(file.write_all(text.as_bytes()));
        }
    }
}

/// The models, with or without looking up the cache.
struct CachingView {
    cache: Arc<CachedModels>,
    look_up: bool,
}

/// The deadline of cached calls, whose time is not measured.
const UNTIMED_DEADLINE: Duration = Duration::from_mins(5);

impl CachingView {
    /// Extends the deadline of a call that is not timed.
    fn patient(&self, call: Call) -> Call {
        if self.look_up { Call { deadline: call.deadline.max(UNTIMED_DEADLINE), ..call } } else { call }
    }
}

impl Models for CachingView {
    fn embed(&self, texts: &[String], call: Call) -> Result<Vec<Vec<f32>>, InferError> {
        let call = self.patient(call);
        let keys: Vec<String> =
            texts.iter().map(|text| self.cache.key(ModelRole::Embedder, &["embed", text])).collect();
        self.recall(&keys, |unknown| {
            let texts: Vec<String> = unknown.iter().map(|at| texts[*at].clone()).collect();
            self.cache.models.embed(&texts, call)
        })
    }

    fn classify(&self, pairs: &[(String, String)], call: Call) -> Result<Vec<Classification>, InferError> {
        let call = self.patient(call);
        let keys: Vec<String> =
            pairs.iter().map(|(a, b)| self.cache.key(ModelRole::Nli, &["classify", a, b])).collect();
        let answers = self.recall(&keys, |unknown| {
            let pairs: Vec<(String, String)> = unknown.iter().map(|at| pairs[*at].clone()).collect();
            Ok(self.cache.models.classify(&pairs, call)?.into_iter().map(numbers).collect())
        })?;
        Ok(answers.iter().map(|numbers| classification(numbers)).collect())
    }

    fn generate(&self, prompt: &Prompt, grammar: &str, most: usize, call: Call) -> Result<String, InferError> {
        let prefix = format!("{:?}", prompt.prefix);
        let key = self.cache.key(ModelRole::Llm, &["generate", &prefix, &prompt.text, grammar]);
        if self.look_up
            && let Some(text) = self.cache.known().texts.get(&key)
        {
            return Ok(text.clone());
        }
        let text = self.cache.models.generate(prompt, grammar, most, self.patient(call))?;
        let mut known = self.cache.known();
        known.keep(&Line { k: key.clone(), v: Vec::new(), t: Some(text.clone()) });
        known.texts.insert(key, text.clone());
        Ok(text)
    }

    fn answers(&self, prompt: &Prompt, answers: &[String], call: Call) -> Result<Vec<f32>, InferError> {
        let call = self.patient(call);
        let prefix = format!("{:?}", prompt.prefix);
        let key = self.cache.key(ModelRole::Llm, &["answers", &prefix, &prompt.text, &answers.join("\u{1f}")]);
        let found = self.recall(&[key], |_| Ok(vec![self.cache.models.answers(prompt, answers, call)?]))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    fn likelihood(&self, prompt: &Prompt, answer: &str, call: Call) -> Result<Vec<f32>, InferError> {
        let call = self.patient(call);
        let prefix = format!("{:?}", prompt.prefix);
        let key = self.cache.key(ModelRole::Llm, &["likelihood", &prefix, &prompt.text, answer]);
        let found = self.recall(&[key], |_| Ok(vec![self.cache.models.likelihood(prompt, answer, call)?]))?;
        Ok(found.into_iter().next().unwrap_or_default())
    }

    fn info(&self) -> ModelsInfo {
        self.cache.models.info()
    }

    fn workers(&self) -> Vec<WorkerInfo> {
        self.cache.models.workers()
    }
}

/// Returns a classification as the numbers of a line: the logits, then that of the gate if there is one.
fn numbers(of: Classification) -> Vec<f32> {
    of.logits.into_iter().chain(of.gate).collect()
}

/// Reads [`numbers`] back.
fn classification(numbers: &[f32]) -> Classification {
    let logits = numbers.first_chunk().copied().unwrap_or_default();
    Classification { logits, gate: numbers.get(logits.len()).copied() }
}

impl CachingView {
    /// Returns the answers for `keys`. The model is asked about all unknown ones in one call.
    fn recall(
        &self,
        keys: &[String],
        ask: impl FnOnce(&[usize]) -> Result<Vec<Vec<f32>>, InferError>,
    ) -> Result<Vec<Vec<f32>>, InferError> {
        let unknown: Vec<usize> = {
            let known = self.cache.known();
            (0..keys.len()).filter(|at| !self.look_up || !known.answers.contains_key(&keys[*at])).collect()
        };
        if !unknown.is_empty() {
            let answers = ask(&unknown)?;
            let mut known = self.cache.known();
            for (at, answer) in unknown.iter().zip(answers) {
                let line = Line { k: keys[*at].clone(), v: answer, t: None };
                known.keep(&line);
                known.answers.insert(line.k, line.v);
            }
        }
        let known = self.cache.known();
        Ok(keys.iter().map(|key| known.answers.get(key).cloned().unwrap_or_default()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ergo::infer::FakeModels;

    #[test]
    fn an_answer_is_asked_for_once_and_outlives_the_process() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("answers.jsonl");
        let call = Call::foreground(Duration::from_secs(1));
        let pairs = [("a".to_owned(), "b".to_owned())];
        let fake = FakeModels::new().classifying(|a, _| Ok([a.len() as f32, 0.0, 1.5])).gating(|_, _| 0.5);
        let answer = Classification { logits: [1.0, 0.0, 1.5], gate: Some(0.5) };
        let fake = Arc::new(fake);
        let cached = Arc::new(CachedModels::new(Arc::clone(&fake) as Arc<dyn Models>, Some(&file)).unwrap());
        for _ in 0..2 {
            assert_eq!(cached.timed().classify(&pairs, call).unwrap(), [answer]);
        }
        assert_eq!(fake.asked().len(), 1);
        let silent = Arc::new(FakeModels::new().classifying(|_, _| Ok([9.0; 3])));
        let again = Arc::new(CachedModels::new(silent, Some(&file)).unwrap());
        assert_eq!(again.cached().classify(&pairs, call).unwrap(), [answer]);
    }
}
