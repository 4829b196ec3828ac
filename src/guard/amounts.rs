//! Amounts: the numbers that a range or a bound allows.

use super::{
    features::negative,
    normalise::{Parsed, lexical_item::Item, norms::bound},
};

/// Returns the least and the greatest number that an amount allows. For an amount that is neither range nor bound, both are the number.
fn allowed(items: &[Item], at: usize) -> Option<(f64, f64)> {
    let quantity = items[at].quantity.as_ref()?;
    if let Some((least, greatest)) = quantity.range() {
        return least.parse().ok().zip(greatest.parse().ok());
    }
    let number = quantity.number()?;
    Some(match bound(items, at) {
        Some((true, _)) => (f64::NEG_INFINITY, number),
        Some((false, _)) => (number, f64::INFINITY),
        None => (number, number),
    })
}

/// Returns whether one number can satisfy both amounts, such as "at least 2" and "5". Two upper or two lower bounds are different settings
/// of one thing. Unknown bounds, such as "1.2.3 or newer", may allow the same number.
pub(crate) fn allow_the_same(ours: &[Item], x: usize, theirs: &[Item], y: usize) -> bool {
    let Some((a, b)) = allowed(ours, x).zip(allowed(theirs, y)) else {
        return bound(ours, x).is_some() || bound(theirs, y).is_some();
    };
    let open = |(least, greatest): (f64, f64)| (least.is_infinite(), greatest.is_infinite());
    (open(a) != open(b) || open(a) == (false, false)) && a.0 <= b.1 && b.0 <= a.1
}

/// Returns whether an item names a limit: "the limit is 1,000" is also a bound.
pub(crate) fn is_limit(item: &Item) -> bool {
    item.key == "limit"
}

/// Returns whether a statement gives an amount that is within the range or the bound of the other one, and they do not differ otherwise:
/// "run at most 4 workers", "run 2 workers".
pub(crate) fn give_one_within_the_other(ours: &Parsed, theirs: &Parsed) -> bool {
    let (Some(x), Some(y)) = (only_amount(ours), only_amount(theirs)) else { return false };
    let of = |parsed: &Parsed, at: usize| parsed.items[at].quantity.as_ref().map(|quantity| quantity.base);
    let is_exact =
        |parsed: &Parsed, at: usize| allowed(&parsed.items, at).is_some_and(|(least, greatest)| least >= greatest);
    // Two ranges are two settings of one thing.
    is_exact(ours, x) != is_exact(theirs, y)
        && of(ours, x) == of(theirs, y)
        && allow_the_same(&ours.items, x, &theirs.items, y)
        && ![ours, theirs].into_iter().any(|parsed| negative(parsed) || parsed.items.iter().any(is_limit))
        && (has_words_of(theirs, ours) || has_words_of(ours, theirs))
}

/// Returns the index of the amount of a statement, if it has only one.
fn only_amount(parsed: &Parsed) -> Option<usize> {
    let mut amounts = (0..parsed.items.len()).filter(|at| parsed.items[*at].quantity.is_some());
    amounts.next().filter(|_| amounts.next().is_none())
}

/// Returns whether `whole` has all words of `part` besides its amount.
fn has_words_of(whole: &Parsed, part: &Parsed) -> bool {
    let is_word = |item: &&Item| item.is_content() && item.quantity.is_none();
    let has = |item: &Item| whole.items.iter().any(|other| other.id == item.id && other.opposite == item.opposite);
    part.items.iter().filter(is_word).all(has)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::guard::normalise::parse;

    #[rstest]
    #[case::bound("Run at most 4 workers.", "Run 2 workers.", true)]
    #[case::range("Requests time out after 5 to 30 seconds.", "Requests time out after 10 seconds.", true)]
    #[case::narrower("Run at most 4 workers.", "On the CI host, run 2 workers.", true)]
    #[case::outside("Run at most 4 workers.", "Run 8 workers.", false)]
    #[case::other_words("Run at most 4 workers on Mondays.", "Run 2 workers on Fridays.", false)]
    #[case::two_bounds("Run at most 4 workers.", "Run at most 8 workers.", false)]
    #[case::two_ranges("Retry 3 to 5 times.", "Retry 4 to 8 times.", false)]
    #[case::two_amounts("Run 4 workers.", "Run 2 workers.", false)]
    #[case::negative("Never run at most 4 workers.", "Run 2 workers.", false)]
    #[case::limit("The limit is at most 4 workers.", "The limit is 2 workers.", false)]
    #[case::other_unit("Answers take at most 4 seconds.", "Answers take 2 MB.", false)]
    fn an_amount_within_a_range_or_a_bound(#[case] ours: &str, #[case] theirs: &str, #[case] expected: bool) {
        let (ours, theirs) = (parse(ours), parse(theirs));
        assert_eq!(give_one_within_the_other(&ours, &theirs), expected);
        assert_eq!(give_one_within_the_other(&theirs, &ours), expected);
    }
}
