//! Prompt lookup decoding (Saxena 2023): guesses the next tokens from earlier text, at almost no cost.
//!
//! Answers follow the form of the prompt's examples and repeat words of the question. If the last tokens occurred
//! before, the tokens that followed them are drafted. If they occurred several times, only tokens that followed each
//! occurrence are drafted.

use llama_cpp_2::token::LlamaToken;

/// The maximum number of drafted tokens: those of a JSON key with its quotes, and a few more.
const MAX_DRAFT: usize = 8;

/// The maximum number of drafted tokens if the last tokens occurred only once before: one word of the question.
const MAX_DRAFT_FROM_ONE: usize = 3;

/// The numbers of last tokens that are looked up, in this order.
const CONTEXT_LENGTHS: [usize; 2] = [3, 2];

/// Returns the tokens that likely follow `text`, at most `room` of them; often none.
pub(super) fn guess_next(text: &[LlamaToken], room: usize) -> Vec<LlamaToken> {
    CONTEXT_LENGTHS
        .iter()
        .map(|context| following(text, *context, room.min(MAX_DRAFT)))
        .find(|draft| !draft.is_empty())
        .unwrap_or_default()
}

/// Returns the tokens that followed every earlier occurrence of the last `context` tokens, at most `most` of them.
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
        None => first.len().min(MAX_DRAFT_FROM_ONE),
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
        guess_next(&tokens(text), 100).iter().map(|token| token.0 as u8 as char).collect()
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
        assert_eq!(guess_next(&tokens("abc abc"), 0), Vec::new());
        assert_eq!(draft("aaaa"), "a", "a run goes on as far as it is known");
    }
}
