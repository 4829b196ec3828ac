//! Compares the rules of a file with its last import: unchanged, moved, changed, new and removed lines.

use std::collections::{BTreeMap, BTreeSet};

use similar::TextDiff;

use super::rules::rule_words::demands;
use crate::domain::{
    stop_words::is_stop_word,
    text::{self, stems},
};

/// The similarity from which a line counts as a new version of another one, 0 to 1.
const MIN_SIMILARITY: f32 = 0.5;

/// The same for two lines at the same place: after the same line that both versions have. From here on, two short rules
/// have a word of their subject in common.
const MIN_SIMILARITY_IN_PLACE: f32 = 0.25;

/// Added to the similarity of two lines at the same place, to choose between several candidates.
const PLACE_BONUS: f32 = 0.3;

/// A rule and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleLine {
    /// The statement of its claim.
    pub statement: String,
    /// The line's number, from 1.
    pub line: usize,
}

/// The change of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineChange {
    /// Unchanged; with the index of the earlier line.
    Same(usize),
    /// Unchanged, but moved.
    Moved(usize),
    /// A new version of the earlier line.
    Changed(usize),
    New,
}

/// The difference between a file and its last import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The change of each current line.
    pub now: Vec<LineChange>,
    /// The removed lines, by earlier index.
    pub gone: Vec<usize>,
}

impl Difference {
    /// Takes a changed line for a new one, because an earlier line had its words: its last version is gone.
    pub fn separate(&mut self, at: usize) {
        if let Some(change) = self.now.get_mut(at)
            && let LineChange::Changed(old) = *change
        {
            *change = LineChange::New;
            self.gone.push(old);
        }
    }
}

/// Compares the current lines of a file with the earlier ones.
pub fn compare(earlier: &[RuleLine], now: &[RuleLine]) -> Difference {
    // For each line, the index of the equal line in the other version.
    let mut of_now: Vec<Option<usize>> = vec![None; now.len()];
    let mut of_earlier: Vec<Option<usize>> = vec![None; earlier.len()];
    let mut by_statement: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, line) in earlier.iter().enumerate() {
        by_statement.entry(&line.statement).or_default().push(at);
    }
    for (at, line) in now.iter().enumerate() {
        let same = by_statement.get(line.statement.as_str()).into_iter().flatten();
        // Two equal lines share one claim.
        let free = same.clone().find(|old| of_earlier.get(**old) == Some(&None)).or_else(|| same.clone().next());
        if let Some(&old) = free
            && let (Some(to), Some(from)) = (of_now.get_mut(at), of_earlier.get_mut(old))
        {
            (*to, *from) = (Some(old), Some(at));
        }
    }
    // Lines that keep their order have not moved.
    let kept: Vec<usize> = of_now.iter().flatten().copied().collect();
    let in_order = longest_increasing(&kept);
    let mut changes: Vec<LineChange> = of_now
        .iter()
        .map(|old| match old {
            Some(old) if in_order.contains(old) => LineChange::Same(*old),
            Some(old) => LineChange::Moved(*old),
            None => LineChange::New,
        })
        .collect();
    let mut pairs = Vec::new();
    let places = (places(&of_earlier, Some), places(&of_now, |at| of_now.get(at).copied().flatten()));
    let open = |paired: &[Option<usize>], lines: &[RuleLine]| -> Vec<(usize, Vec<String>)> {
        let open = lines.iter().enumerate().filter(|(at, _)| paired.get(*at) == Some(&None));
        open.map(|(at, line)| (at, subject_words(&line.statement))).collect()
    };
    let before = open(&of_earlier, earlier);
    for (at, new_words) in open(&of_now, now) {
        for (old, old_words) in &before {
            let same_place = places.0.get(*old) == places.1.get(at);
            let similarity = similarity(old_words, &new_words);
            if similarity >= if same_place { MIN_SIMILARITY_IN_PLACE } else { MIN_SIMILARITY } {
                pairs.push((similarity + if same_place { PLACE_BONUS } else { 0.0 }, *old, at));
            }
        }
    }
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    for (_, old, at) in pairs {
        if let (Some(from @ None), Some(change @ LineChange::New)) = (of_earlier.get_mut(old), changes.get_mut(at)) {
            (*from, *change) = (Some(at), LineChange::Changed(old));
        }
    }
    let gone = of_earlier.iter().enumerate().filter(|(_, now)| now.is_none()).map(|(old, _)| old).collect();
    Difference { now: changes, gone }
}

/// Returns the place of each line: the previous line that both versions have, by its earlier index.
fn places(paired: &[Option<usize>], earlier: impl Fn(usize) -> Option<usize>) -> Vec<Option<usize>> {
    let mut last = None;
    paired
        .iter()
        .enumerate()
        .map(|(at, pair)| {
            let place = last;
            if pair.is_some() {
                last = earlier(at);
            }
            place
        })
        .collect()
}

/// Returns the stems of the words of a sentence that say what it is about, in order.
fn subject_words(sentence: &str) -> Vec<String> {
    let words: Vec<String> = text::words(sentence).filter(|word| !is_stop_word(word) && !demands(word)).collect();
    stems(&words.join(" "))
}

/// Returns the similarity of two sentences by the words that say what they are about, 0 to 1.
fn similarity(a: &[String], b: &[String]) -> f32 {
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let (a, b): (Vec<&str>, Vec<&str>) =
        (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
    TextDiff::from_slices(&a, &b).ratio()
}

/// Returns the values of the longest increasing subsequence.
fn longest_increasing(list: &[usize]) -> BTreeSet<usize> {
    // For each position: the length of the longest subsequence that ends there, and the previous position.
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(list.len());
    for value in list {
        let before = list
            .iter()
            .zip(&best)
            .enumerate()
            .filter(|(_, (other, _))| *other < value)
            .max_by_key(|(_, (_, best))| best.0);
        best.push(before.map_or((1, None), |(from, (_, found))| (found.0 + 1, Some(from))));
    }
    let mut out = BTreeSet::new();
    let mut next = best.iter().enumerate().max_by_key(|(_, (length, _))| *length).map(|(at, _)| at);
    while let Some(at) = next {
        out.extend(list.get(at));
        next = best.get(at).and_then(|(_, before)| *before);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(statements: &[&str]) -> Vec<RuleLine> {
        statements
            .iter()
            .enumerate()
            .map(|(at, text)| RuleLine { statement: (*text).to_owned(), line: at + 1 })
            .collect()
    }

    fn difference(earlier: &[&str], now: &[&str]) -> (Vec<LineChange>, Vec<usize>) {
        let Difference { now, gone } = compare(&lines(earlier), &lines(now));
        (now, gone)
    }

    #[test]
    fn an_untouched_file_has_no_difference() {
        assert_eq!(
            difference(&["a b", "c d"], &["a b", "c d"]),
            (vec![LineChange::Same(0), LineChange::Same(1)], vec![])
        );
    }

    #[test]
    fn a_changed_line_is_the_next_version_by_its_place_or_its_words() {
        // At its place, though most words differ.
        let (now, gone) = difference(&["One.", "Indent with tabs.", "Two."], &["One.", "Spaces indent code.", "Two."]);
        assert_eq!((now, gone), (vec![LineChange::Same(0), LineChange::Changed(1), LineChange::Same(2)], vec![]));
        // By its words, though it stands elsewhere.
        let (now, gone) = difference(
            &["Requests time out after 20 seconds.", "One.", "Two."],
            &["One.", "Two.", "Requests time out after 30 seconds."],
        );
        assert_eq!((now, gone), (vec![LineChange::Same(1), LineChange::Same(2), LineChange::Changed(0)], vec![]));
    }

    #[test]
    fn an_unrelated_line_at_the_place_of_a_removed_one_is_new() {
        for (old, new) in [
            ("Never commit secrets.", "Never deploy on Fridays."),
            ("Tests must not use the network.", "Builds must not run as root."),
            ("Use it.", "Use them."),
        ] {
            let (now, gone) = difference(&["One.", old, "Two."], &["One.", new, "Two."]);
            let changes = vec![LineChange::Same(0), LineChange::New, LineChange::Same(2)];
            assert_eq!((now, gone), (changes, vec![1]), "{old} {new}");
        }
    }

    #[test]
    fn each_changed_line_finds_its_own_old_version() {
        let (now, gone) = difference(
            &["Unit tests take 10 seconds.", "Builds take 20 minutes."],
            &["Builds take 30 minutes.", "Unit tests take 15 seconds."],
        );
        assert_eq!((now, gone), (vec![LineChange::Changed(1), LineChange::Changed(0)], vec![]));
    }

    #[test]
    fn what_is_gone_is_gone_and_what_came_is_new() {
        assert_eq!(
            difference(&["a b", "c d", "e f"], &["a b", "e f"]),
            (vec![LineChange::Same(0), LineChange::Same(2)], vec![1])
        );
        assert_eq!(difference(&["a b"], &["a b", "c d"]), (vec![LineChange::Same(0), LineChange::New], vec![]));
        assert_eq!(difference(&[], &["a b"]), (vec![LineChange::New], vec![]));
    }

    #[test]
    fn a_moved_line_stays_the_same_claim() {
        let (now, gone) = difference(&["a", "b", "c"], &["c", "a", "b"]);
        assert_eq!((now, gone), (vec![LineChange::Moved(2), LineChange::Same(0), LineChange::Same(1)], vec![]));
    }

    #[test]
    fn two_equal_lines_are_one_claim() {
        assert_eq!(difference(&["a"], &["a", "a"]).1, Vec::<usize>::new());
        assert!(!difference(&["a"], &["a", "a"]).0.contains(&LineChange::New));
    }

    proptest::proptest! {
        #[test]
        fn each_earlier_line_has_one_change(earlier in proptest::collection::vec("[a-c]{1,2}", 0..8), now in proptest::collection::vec("[a-c]{1,2}", 0..8)) {
            let of = |list: &[String]| lines(&list.iter().map(String::as_str).collect::<Vec<_>>());
            let Difference { now: changes, gone } = compare(&of(&earlier), &of(&now));
            proptest::prop_assert_eq!(changes.len(), now.len());
            let changed: Vec<_> = changes.iter().filter_map(|change| if let LineChange::Changed(old) = change { Some(*old) } else { None }).collect();
            let mut seen = changed.clone();
            seen.sort_unstable();
            seen.dedup();
            proptest::prop_assert_eq!(seen.len(), changed.len());
            for change in &changes {
                if let LineChange::Same(old) | LineChange::Moved(old) | LineChange::Changed(old) = change {
                    proptest::prop_assert!(!gone.contains(old));
                }
            }
        }
    }
}
