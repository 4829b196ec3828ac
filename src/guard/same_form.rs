//! Facts of one form with different values: "the service runs in eu-central-1", "the service runs in us-east-1". The later one may make
//! the earlier one outdated.

use super::{
    features::negative,
    normalise::{
        Parsed,
        lexical_item::{Item, ItemKind},
    },
};

/// Returns whether two statements have the same words, except for values after their subject.
pub(crate) fn differ_in_values(ours: &Parsed, theirs: &Parsed) -> bool {
    let content =
        |parsed: &Parsed| (0..parsed.items.len()).filter(|at| parsed.items[*at].is_content()).collect::<Vec<_>>();
    let (our_words, their_words) = (content(ours), content(theirs));
    if our_words.len() != their_words.len() || negative(ours) != negative(theirs) {
        return false;
    }
    let mut differs = false;
    for (order, (x, y)) in our_words.into_iter().zip(their_words).enumerate() {
        let (a, b) = (&ours.items[x], &theirs.items[y]);
        if a.id == b.id && a.opposite == b.opposite {
            continue;
        }
        let names = |parsed: &Parsed, at: usize| parsed.clauses.iter().any(|clause| clause.subject.contains(&at));
        if order == 0 || !are_values(a, b) || names(ours, x) || names(theirs, y) {
            return false;
        }
        differs = true;
    }
    differs
}

/// Returns whether two words are values of one sort: amounts in one unit, written names, or members of one set.
fn are_values(a: &Item, b: &Item) -> bool {
    let is_name = |item: &Item| item.kind == ItemKind::Content && (item.code || item.capital);
    match (&a.quantity, &b.quantity) {
        (Some(a), Some(b)) => a.base == b.base,
        (None, None) => {
            is_name(a) && is_name(b) || a.alternative.zip(b.alternative).is_some_and(|(a, b)| a.0 == b.0 && a.1 != b.1)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::guard::normalise::parse;

    #[rstest]
    #[case::region(
        "The payments service is deployed to eu-central-1.",
        "The payments service is deployed to us-east-1.",
        true
    )]
    #[case::host(
        "The staging database runs on db-stg-2.internal, port 5433.",
        "The staging database runs on db-stg-3.internal, port 5433.",
        true
    )]
    #[case::two_values("Backups go to nas-1, every 6 hours.", "Backups go to nas-2, every 12 hours.", true)]
    #[case::name("The on-call engineer this week is Ada.", "The on-call engineer this week is Zoe.", true)]
    #[case::set("Nightly builds run on Jenkins.", "Nightly builds run on Buildkite.", true)]
    #[case::other_subject("Worker 3 runs on port 9003.", "Worker 4 runs on port 9004.", false)]
    #[case::other_name("Ada joined the team in May.", "Zoe joined the team in May.", false)]
    #[case::other_word("The cache is warm.", "The cache is big.", false)]
    #[case::other_unit("The job takes 5 minutes.", "The job takes 5 MB.", false)]
    #[case::since("The service runs on host-1.", "The service runs on host-2 since May.", true)]
    #[case::negative("The service runs on host-1.", "The service does not run on host-2.", false)]
    #[case::the_same("The service runs on host-1.", "The service runs on host-1", false)]
    fn facts_that_differ_in_a_value(#[case] ours: &str, #[case] theirs: &str, #[case] expected: bool) {
        let (ours, theirs) = (parse(ours), parse(theirs));
        assert_eq!(differ_in_values(&ours, &theirs), expected, "{:?} {:?}", ours.items, theirs.clauses);
        assert_eq!(differ_in_values(&theirs, &ours), expected);
    }
}
