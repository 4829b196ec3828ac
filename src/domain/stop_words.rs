//! Words that say nothing about a subject.

/// The stop words, sorted.
const STOP_WORDS: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "because", "been",
    "before", "being", "but", "by", "can", "could", "did", "do", "does", "doing", "don", "done", "each", "ever",
    "every", "for", "from", "had", "happen", "happens", "has", "have", "having", "he", "her", "here", "him", "his",
    "how", "i", "if", "in", "into", "is", "it", "its", "just", "let", "like", "ll", "made", "make", "many", "may",
    "me", "might", "more", "most", "much", "must", "my", "no", "not", "of", "often", "ok", "okay", "on", "only", "or",
    "other", "others", "our", "ours", "out", "over", "own", "please", "re", "reason", "s", "shall", "she", "should",
    "so", "some", "still", "such", "t", "tell", "than", "that", "the", "their", "them", "then", "there", "these",
    "they", "this", "those", "to", "too", "under", "up", "us", "use", "used", "uses", "using", "ve", "very", "was",
    "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "would", "you",
    "your",
];

/// Returns whether a lower-case word is a stop word.
pub fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        assert!(STOP_WORDS.windows(2).all(|pair| pair[0] < pair[1]), "a binary search needs it");
        assert!(is_stop_word("why") && !is_stop_word("deploy"));
    }
}
