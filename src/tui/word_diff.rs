//! The word diff of two statements: which words each side has that the other does not have.

use std::time::Duration;

use similar::{Algorithm, ChangeTag, TextDiff};

use super::text;

/// How long a diff may take; what is not compared by then is shown as differing.
const DEADLINE: Duration = Duration::from_millis(20);

/// A run of words on one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The words, with the spaces between them.
    pub text: String,
    /// Whether the other side does not have them.
    pub own: bool,
}

/// Two statements, each as runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PairDiff {
    pub left: Vec<Run>,
    pub right: Vec<Run>,
}

impl PairDiff {
    /// Whether the two have so little in common that highlighting what differs would highlight nearly everything: more
    /// than 70 % of the letters on both sides.
    pub fn is_apart(&self) -> bool {
        let own = |runs: &[Run]| {
            let (own, all) = runs.iter().fold((0, 0), |(own, all), run| {
                let letters = run.text.chars().filter(|c| !c.is_whitespace()).count();
                (own + if run.own { letters } else { 0 }, all + letters)
            });
            own * 10 > all * 7
        };
        own(&self.left) && own(&self.right)
    }
}

/// Compares two statements word by word (Unicode word boundaries, Patience diff), as safe single lines.
pub fn words(left: &str, right: &str) -> PairDiff {
    let (left, right) = (text::line(left), text::line(right));
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).timeout(DEADLINE).diff_unicode_words(&left, &right);
    let mut pair = PairDiff::default();
    for change in diff.iter_all_changes() {
        let text = change.value();
        match change.tag() {
            ChangeTag::Equal => {
                push(&mut pair.left, text, false);
                push(&mut pair.right, text, false);
            }
            ChangeTag::Delete => push(&mut pair.left, text, true),
            ChangeTag::Insert => push(&mut pair.right, text, true),
        }
    }
    pair
}

fn push(runs: &mut Vec<Run>, text: &str, own: bool) {
    match runs.last_mut() {
        Some(run) if run.own == own => run.text.push_str(text),
        _ => runs.push(Run { text: text.to_owned(), own }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_the_words_that_differ() {
        let pair = words("The canary is blue", "The canary is red");
        assert_eq!(pair.left.iter().filter(|run| run.own).map(|run| run.text.as_str()).collect::<Vec<_>>(), ["blue"]);
        assert_eq!(pair.right.iter().filter(|run| run.own).map(|run| run.text.as_str()).collect::<Vec<_>>(), ["red"]);
    }

    proptest! {
        #[test]
        fn each_side_keeps_its_whole_text(left in "\\PC{0,60}", right in "\\PC{0,60}") {
            let pair = words(&left, &right);
            let joined = |runs: &[Run]| runs.iter().map(|run| run.text.as_str()).collect::<String>();
            prop_assert_eq!(joined(&pair.left), text::line(&left));
            prop_assert_eq!(joined(&pair.right), text::line(&right));
        }
    }
}
