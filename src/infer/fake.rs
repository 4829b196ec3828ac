//! Fake models for tests.

use std::{
    fmt,
    sync::{Mutex, PoisonError},
};

use super::{Call, Classification, InferError, ModelRole, Models, ModelsInfo, Prompt, RoleInfo};

type Embed = Box<dyn Fn(&str) -> Result<Vec<f32>, InferError> + Send + Sync>;
type Classify = Box<dyn Fn(&str, &str) -> Result<[f32; 3], InferError> + Send + Sync>;
type Gate = Box<dyn Fn(&str, &str) -> f32 + Send + Sync>;
type Generate = Box<dyn Fn(&Prompt) -> Result<String, InferError> + Send + Sync>;
type Answers = Box<dyn Fn(&Prompt, &[String]) -> Result<Vec<f32>, InferError> + Send + Sync>;
type Likelihood = Box<dyn Fn(&Prompt, &str) -> Result<Vec<f32>, InferError> + Send + Sync>;

/// Models whose answers come from functions. A role without a function has no model.
#[derive(Default)]
pub struct FakeModels {
    embed: Option<Embed>,
    classify: Option<Classify>,
    gate: Option<Gate>,
    generate: Option<Generate>,
    answers: Option<Answers>,
    likelihood: Option<Likelihood>,
    asked: Mutex<Vec<(ModelRole, Call)>>,
}

impl fmt::Debug for FakeModels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeModels").finish_non_exhaustive()
    }
}

impl FakeModels {
    /// The dimension of [`FakeModels::bag_of_words`].
    pub const DIMENSION: usize = 64;

    /// Creates models without any role.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an embedder.
    #[must_use]
    pub fn embedding(mut self, with: impl Fn(&str) -> Result<Vec<f32>, InferError> + Send + Sync + 'static) -> Self {
        self.embed = Some(Box::new(with));
        self
    }

    /// Adds a cross-encoder.
    #[must_use]
    pub fn classifying(
        mut self,
        with: impl Fn(&str, &str) -> Result<[f32; 3], InferError> + Send + Sync + 'static,
    ) -> Self {
        self.classify = Some(Box::new(with));
        self
    }

    /// Adds the gate of the cross-encoder: the logit that both texts are about the same decision.
    #[must_use]
    pub fn gating(mut self, with: impl Fn(&str, &str) -> f32 + Send + Sync + 'static) -> Self {
        self.gate = Some(Box::new(with));
        self
    }

    /// Adds a language model that generates text.
    #[must_use]
    pub fn generating(mut self, with: impl Fn(&Prompt) -> Result<String, InferError> + Send + Sync + 'static) -> Self {
        self.generate = Some(Box::new(with));
        self
    }

    /// Adds a language model that scores answers.
    #[must_use]
    pub fn answering(
        mut self,
        with: impl Fn(&Prompt, &[String]) -> Result<Vec<f32>, InferError> + Send + Sync + 'static,
    ) -> Self {
        self.answers = Some(Box::new(with));
        self
    }

    /// Adds a language model that scores each token of an answer.
    #[must_use]
    pub fn expecting(
        mut self,
        with: impl Fn(&Prompt, &str) -> Result<Vec<f32>, InferError> + Send + Sync + 'static,
    ) -> Self {
        self.likelihood = Some(Box::new(with));
        self
    }

    /// Returns a vector of length 1 from the words of a text: the more words two texts share, the closer their vectors
    /// are.
    pub fn bag_of_words(text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; Self::DIMENSION];
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let hash = blake3::hash(word.to_lowercase().as_bytes());
            let at = usize::from(hash.as_bytes()[0]) % Self::DIMENSION;
            if let Some(number) = vector.get_mut(at) {
                *number += 1.0;
            }
        }
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        vector.iter().map(|number| number / length).collect()
    }

    /// Returns the calls so far, in order.
    pub fn asked(&self) -> Vec<(ModelRole, Call)> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, role: ModelRole, call: Call) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push((role, call));
    }
}

impl Models for FakeModels {
    fn embed(&self, texts: &[String], call: Call) -> Result<Vec<Vec<f32>>, InferError> {
        self.note(ModelRole::Embedder, call);
        let embed = self.embed.as_ref().ok_or(InferError::NoModel { role: ModelRole::Embedder })?;
        texts.iter().map(|text| embed(text)).collect()
    }

    fn classify(&self, pairs: &[(String, String)], call: Call) -> Result<Vec<Classification>, InferError> {
        self.note(ModelRole::Nli, call);
        let classify = self.classify.as_ref().ok_or(InferError::NoModel { role: ModelRole::Nli })?;
        let gate = |premise: &str, hypothesis: &str| Some(self.gate.as_ref()?(premise, hypothesis));
        let each = pairs.iter().map(|(premise, hypothesis)| {
            let logits = classify(premise, hypothesis)?;
            Ok(Classification { logits, gate: gate(premise, hypothesis) })
        });
        each.collect()
    }

    fn generate(&self, prompt: &Prompt, _grammar: &str, _max: usize, call: Call) -> Result<String, InferError> {
        self.note(ModelRole::Llm, call);
        self.generate.as_ref().ok_or(InferError::NoModel { role: ModelRole::Llm })?(prompt)
    }

    fn answers(&self, prompt: &Prompt, answers: &[String], call: Call) -> Result<Vec<f32>, InferError> {
        self.note(ModelRole::Llm, call);
        self.answers.as_ref().ok_or(InferError::NoModel { role: ModelRole::Llm })?(prompt, answers)
    }

    fn likelihood(&self, prompt: &Prompt, answer: &str, call: Call) -> Result<Vec<f32>, InferError> {
        self.note(ModelRole::Llm, call);
        self.likelihood.as_ref().ok_or(InferError::NoModel { role: ModelRole::Llm })?(prompt, answer)
    }

    fn info(&self) -> ModelsInfo {
        let has = |role| match role {
            ModelRole::Embedder => self.embed.is_some(),
            ModelRole::Nli => self.classify.is_some(),
            ModelRole::Llm => self.generate.is_some() || self.answers.is_some() || self.likelihood.is_some(),
        };
        let roles = ModelRole::ALL.into_iter().filter(|role| has(*role)).map(|role| RoleInfo {
            role,
            name: format!("fake-{role}"),
            sha256: String::new(),
            loaded: true,
            dimension: (role == ModelRole::Embedder).then_some(Self::DIMENSION),
            computes: Some("CPU".to_owned()),
            gpu_layers: 0,
            problem: None,
        });
        ModelsInfo { roles: roles.collect(), ..ModelsInfo::default() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_role_without_a_function_has_no_model_and_what_is_asked_is_noted() {
        let models = FakeModels::new().embedding(|text| Ok(FakeModels::bag_of_words(text)));
        let call = Call::foreground(Duration::from_secs(1));
        let vectors = models.embed(&["Use Postgres".into(), "use postgres!".into()], call).unwrap();
        assert_eq!(vectors[0], vectors[1]);
        let error = models.classify(&[("a".into(), "b".into())], call).unwrap_err();
        assert_eq!((error.kind(), error.to_string().contains("nli")), ("no_model", true));
        assert_eq!(models.asked(), [(ModelRole::Embedder, call), (ModelRole::Nli, call)]);
        assert_eq!(models.info().roles.len(), 1);
    }
}
