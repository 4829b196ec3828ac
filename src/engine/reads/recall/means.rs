//! The means by which recall finds claims.

/// The means by which recall finds claims: all of them, unless a measurement leaves one out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallMeans {
    /// By the question's words.
    pub words: bool,
    /// By words that stand for those of the question.
    pub vocabulary: bool,
    /// By meaning, i.e. vectors.
    pub meaning: bool,
}

impl Default for RecallMeans {
    fn default() -> Self {
        Self { words: true, vocabulary: true, meaning: true }
    }
}
