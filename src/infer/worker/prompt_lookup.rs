//! Prompt lookup decoding (Saxena 2023): guesses the next tokens from earlier text, which costs nothing.
//!
//! Answers follow the form of the prompt's examples and repeat words of the question. Where the last tokens
//! occurred before, the tokens after them are drafted; if they occurred several times, as far as those agree.

use llama_cpp_2::token::LlamaToken;

/// The most tokens that are drafted: those of a key with its quotes, and some.
const MOST: usize = 8;

/// The most tokens that are drafted if the last ones occurred once only: one word of the question.
const ONCE: usize = 3;

/// Tokens that must agree before anything is drafted, the longest first.
const CONTEXT: [usize; 2] = [3, 2];

/// Returns what likely follows `text`, at most `room` tokens; often nothing.
pub(super) fn after(text: &[LlamaToken], room: usize) -> Vec<LlamaToken> {
    CONTEXT
        .iter()
        .map(|context| following(text, *context, room.min(MOST)))
        .find(|draft| !draft.is_empty())
        .unwrap_or_default()
}

/// Returns what followed the last `context` tokens at earlier occurrences, as far as those agree.
fn following(text: &[LlamaToken], context: usize, most: usize) -> Vec<LlamaToken> {
    let Some((before, last)) = text.len().checked_sub(context).map(|at| text.split_at(at)) else { return Vec::new() };
    let mut places = text
        .windows(context)
        .take(before.len())
        .enumerate()
        .filter(|(_, window)| *window == last)
        .filter_map(|(at, _)| text.get(at + context..));
    let Some(first) = places.next() else { return Vec::new() };
    let alike = |agreed: usize, next: &[LlamaToken]| {
        first.iter().zip(next).take(agreed).take_while(|(one, other)| one == other).count()
    };
    let agreed = match places.next() {
        None => first.len().min(ONCE),
        Some(second) => places.fold(alike(first.len(), second), alike),
    };
    first.iter().take(agreed.min(most)).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<LlamaToken> {
        text.bytes().map(|byte| LlamaToken(i32::from(byte))).collect()
    }

    fn draft(text: &str) -> String {
        after(&tokens(text), 100).iter().map(|token| token.0 as u8 as char).collect()
    }

    #[test]
    fn what_followed_the_last_words_is_drafted_as_far_as_it_was_the_same() {
        assert_eq!(draft("{key: one} {key: two} {ke"), "y: ");
        assert_eq!(draft("0123456789ab 0123456789cd 0123"), "456789", "up to where they differ");
        assert_eq!(draft("abcdefghijklmn abcdefghijklmn abc"), "defghijk", "no more than a few");
        assert_eq!(draft("abcdefghijklmn abc"), "def", "of one place still fewer");
        assert_eq!(draft("(abX)(abZ)(ab"), "", "they differ at once");
        assert_eq!(draft("1ab2 3ab4 3ab"), "4 3", "the longer context counts");
    }

    #[test]
    fn what_is_new_brings_no_draft() {
        for text in ["", "a", "ab", "abc", "abcdef"] {
            assert_eq!(draft(text), "", "{text}");
        }
        assert_eq!(after(&tokens("abc abc"), 0), Vec::new());
        assert_eq!(draft("aaaa"), "a", "a run goes on as far as it is known");
    }
}
