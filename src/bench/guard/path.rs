//! The ways to write that are measured.

use std::time::Duration;

use super::{lexical::Lexical, memory::Memory, shipped::Shipped};
use crate::{
    api::ApiError,
    domain::{ClaimKind, Tier},
    guard::{Guard, NoNli, Stages},
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

/// The rows of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ways {
    Lexical,
    Structural,
    Default,
}

impl Ways {
    pub(super) const ALL: [Self; 3] = [Self::Lexical, Self::Structural, Self::Default];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lexical => "lexical",
            Self::Structural => "structural",
            Self::Default => "default",
        }
    }

    pub(super) fn open(self) -> Result<Box<dyn GuardPath>, ApiError> {
        let guard = || Guard::new(Box::new(NoNli));
        Ok(match self {
            Self::Lexical => Box::new(Lexical::default()),
            Self::Structural => Box::new(Memory::new(guard().with_stages(Stages { structural: true, aligned: false }))),
            Self::Default => Box::new(Shipped::open()?),
        })
    }
}
