//! The write paths that are measured.

use std::{sync::Arc, time::Duration};

use super::{cached_models::CachedModels, lexical::Lexical, memory::Memory, shipped::Shipped};
use ergo::{
    api::ApiError,
    domain::{ClaimKind, Tier, guard_report::Evidence},
    engine::DeepMode,
    guard::{Guard, JudgeWeights, Stages},
    infer::ModelRole,
};

/// What a way says of one earlier statement, by its number in the project.
#[derive(Clone, Debug)]
pub(super) struct Opposed {
    pub(super) number: usize,
    pub(super) tier: Tier,
    pub(super) score: f32,
    pub(super) why: String,
}

/// The answer to one write.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    /// The earlier statements with any score, the strongest first.
    pub(super) opposed: Vec<Opposed>,
    /// How long the write took.
    pub(super) took: Duration,
}

/// A way to write guarded claims, and to go on past a refusal.
pub(super) trait GuardPath {
    /// Begins an empty project.
    fn fresh(&mut self);

    /// Writes the next statement of the project. It is stored whatever is said of it.
    fn write(&mut self, kind: ClaimKind, statement: &str) -> Answer;

    /// Writes; on a block supersedes what blocks. Says whether it blocked.
    fn write_or_supersede(&mut self, statement: &str, reason: &str) -> (bool, Duration);

    /// The active statement that best answers a question.
    fn answer(&mut self, question: &str) -> Option<String>;

    /// What went wrong on the way, in words.
    fn failures(&self) -> &[String] {
        &[]
    }
}

/// Why the guard says what it says, in one line: the rule, the sentence, the figures.
pub(super) fn why(evidence: &Evidence) -> String {
    let figures: Vec<String> = evidence.features.iter().map(|(name, figure)| format!("{name} {figure:.2}")).collect();
    format!("{}: {} [{}]", evidence.rule.as_str(), evidence.sentence, figures.join(", "))
}

/// The rows of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ways {
    Lexical,
    Structural,
    Rules,
    Nli,
    Default,
    Deep,
}

impl Ways {
    pub(super) const ALL: [Self; 6] =
        [Self::Lexical, Self::Structural, Self::Rules, Self::Nli, Self::Default, Self::Deep];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Structural => "structural",
            Self::Rules => "rules",
            Self::Nli => "nli",
            Self::Default => "default",
            Self::Deep => "deep",
        }
    }

    /// The model without which it says nothing of its own.
    pub(super) fn needs(self) -> Option<ModelRole> {
        match self {
            Self::Nli => Some(ModelRole::Nli),
            Self::Deep => Some(ModelRole::Llm),
            Self::Lexical | Self::Structural | Self::Rules | Self::Default => None,
        }
    }

    /// Opens it, with the weights of the judge and the models, where there are any.
    pub(super) fn open(
        self,
        weights: &JudgeWeights,
        cache: Option<&Arc<CachedModels>>,
    ) -> Result<Box<dyn GuardPath>, ApiError> {
        let guard = || Guard::default().with_weights(weights.clone());
        Ok(match self {
            Self::Lexical => Box::new(Lexical::default()),
            Self::Structural => {
                Box::new(Memory::new(guard().with_stages(Stages { structural: true, aligned: false }), None))
            }
            Self::Rules => Box::new(Memory::new(guard(), None)),
            Self::Nli => Box::new(Memory::new(guard(), cache.map(CachedModels::cached)).alone()),
            Self::Default => Box::new(Shipped::open(weights, cache, DeepMode::Off)?),
            // What the background finds is what it finds before the write, later.
            Self::Deep => Box::new(Shipped::open(weights, cache, DeepMode::Inline)?),
        })
    }
}
