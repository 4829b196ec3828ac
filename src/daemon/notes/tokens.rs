//! Counts tokens as the tokenizer o200k does.

/// Returns how many tokens a text has.
pub(super) fn count(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len()
}
