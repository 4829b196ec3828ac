//! The ways to write that are measured.

use std::{sync::Arc, time::Duration};

use super::{cached_models::CachedModels, lexical::Lexical, memory_project::MemoryProject, shipped::Shipped};
use ergo::{
    api::ApiError,
    domain::{ClaimKind, Tier, guard_report::Evidence},
    engine::DeepMode,
    guard::{Guard, JudgeWeights, Stages},
    infer::ModelRole,
};

/// An earlier statement that a new one may contradict, by its number in the project.
#[derive(Clone, Debug)]
pub(super) struct Opposed {
    pub(super) number: usize,
    pub(super) tier: Tier,
    pub(super) score: f32,
    pub(super) why: String,
}

/// The answer to one write.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteAnswer {
    /// The earlier statements with a score above 0, the strongest first.
    pub(super) opposed: Vec<Opposed>,
    pub(super) took: Duration,
}

/// A way to write guarded claims that goes on after a refusal.
pub(super) trait GuardPath {
    /// Starts an empty project.
    fn fresh(&mut self);

    /// Writes the next statement of the project. It is stored even if it is refused.
    fn write(&mut self, kind: ClaimKind, statement: &str) -> WriteAnswer;

    /// Writes a statement, and supersedes the statements that refuse it. Returns whether it was refused at first, and the
    /// time.
    fn write_or_supersede(&mut self, statement: &str, reason: &str) -> (bool, Duration);

    /// Returns the active statement that best answers a question.
    fn answer(&mut self, question: &str) -> Option<String>;

    /// Returns the errors so far.
    fn failures(&self) -> &[String] {
        &[]
    }
}

/// Describes the guard's evidence in one line: the rule, the sentence, the features.
pub(super) fn why(evidence: &Evidence) -> String {
    let features: Vec<String> =
        evidence.features.iter().map(|(name, feature)| format!("{name} {feature:.2}")).collect();
    format!("{}: {} [{}]", evidence.rule.as_str(), evidence.sentence, features.join(", "))
}

/// The ways to compare claims, each of which is a row of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GuardWay {
    Lexical,
    Structural,
    Rules,
    Nli,
    Default,
    Deep,
}

impl GuardWay {
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

    /// Returns the model without which the way cannot be measured.
    pub(super) fn needs(self) -> Option<ModelRole> {
        match self {
            Self::Nli => Some(ModelRole::Nli),
            Self::Deep => Some(ModelRole::Llm),
            Self::Lexical | Self::Structural | Self::Rules | Self::Default => None,
        }
    }

    /// Opens an empty project with the judge's weights, and the models if there are any.
    pub(super) fn open(
        self,
        weights: &JudgeWeights,
        cache: Option<&Arc<CachedModels>>,
    ) -> Result<Box<dyn GuardPath>, ApiError> {
        let guard = || Guard::default().with_weights(weights.clone());
        Ok(match self {
            Self::Lexical => Box::new(Lexical::default()),
            Self::Structural => {
                Box::new(MemoryProject::new(guard().with_stages(Stages { structural: true, aligned: false }), None))
            }
            Self::Rules => Box::new(MemoryProject::new(guard(), None)),
            Self::Nli => {
                Box::new(MemoryProject::new(guard(), cache.map(CachedModels::cached)).with_cross_encoder_alone())
            }
            Self::Default => Box::new(Shipped::open(weights, cache, DeepMode::Off)?),
            // In the background the deep stage finds the same, only later.
            Self::Deep => Box::new(Shipped::open(weights, cache, DeepMode::Inline)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::GuardWay;

    #[test]
    fn each_way_is_a_row_that_can_be_chosen() {
        let names = GuardWay::ALL.map(GuardWay::name);
        assert_eq!(names[..], super::super::ROWS[..names.len()]);
    }
}
