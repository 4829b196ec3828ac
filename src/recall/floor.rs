//! Below which match a claim is a stranger: then it is honest to say that nothing is known.

/// The floor that was measured on the corpus in tests/data/recall (docs/recall.md), for questions with and without a vector.
pub const WITH_MEANING: f64 = 0.42;
/// By words alone.
pub const BY_WORDS: f64 = 0.2;

/// Whether the best match answers the question. `by_meaning`: the question had a vector.
pub fn answers(best: f64, by_meaning: bool) -> bool {
    best >= if by_meaning { WITH_MEANING } else { BY_WORDS }
}
