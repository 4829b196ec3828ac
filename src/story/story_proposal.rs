//! Turns a language model's finding into a question. The rules decide whether anything is left to settle, and the kind of confusion.

use super::{StoryClaim, claim_marks::STALE_AGE};
use crate::domain::Confusion;

/// The maximum number of claims on a card.
const MAX_CARD_CLAIMS: usize = 3;

/// A language model's question, in the form of a card.
#[derive(Clone, Debug, PartialEq)]
pub struct StoryProposal {
    /// The kind of confusion.
    pub confusion: Confusion,
    /// The claims concerned, as indexes, in order.
    pub claims: Vec<usize>,
    /// The largest overlap of the last claim with another one, 0 to 1.
    pub strength: f32,
}

/// Returns the question about claims, given in story order. Returns `None` if there is nothing to settle, because fewer than two of them hold,
/// they are steps of one session, have no word in common, or the last one mentions the change.
pub fn propose(claims: &[&StoryClaim]) -> Option<StoryProposal> {
    let last = claims.iter().rposition(|claim| claim.standing.holds())?;
    let held: Vec<usize> = (0..last).filter(|at| claims[*at].standing.holds()).collect();
    let newest = claims[last];
    let reading = newest.reading();
    if held.is_empty() || reading.settles || reading.returns || reading.excepts || reading.past {
        return None;
    }
    // Claims that no longer hold are kept, because one may be the turn of a reversal.
    let chosen: Vec<usize> = if last < MAX_CARD_CLAIMS {
        (0..last).collect()
    } else {
        held[held.len().saturating_sub(MAX_CARD_CLAIMS - 1)..].to_vec()
    };
    let others = || chosen.iter().map(|at| claims[*at]);
    let is_one_session = chosen.iter().all(|at| claims[*at].is_session_with(newest, &claims[at + 1..last]));
    if is_one_session || others().any(|other| newest.explains(other)) {
        return None;
    }
    let strength = others().map(|other| reading.overlap(other.reading())).fold(0.0, f32::max);
    let overlap = |at: usize| reading.overlap(claims[at].reading());
    let (confusion, mut chosen) = match chosen.as_slice() {
        [first, turn] if overlap(*first) >= overlap(*turn) => (Confusion::Reversal, chosen),
        // The other kinds ask about the first and the last claim; their answers act on each claim that holds.
        _ => {
            let held: Vec<usize> = chosen.into_iter().filter(|at| claims[*at].standing.holds()).collect();
            let age = newest.written.saturating_sub(claims[*held.first()?].written);
            (if age >= STALE_AGE { Confusion::Stale } else { Confusion::Ambiguity }, held)
        }
    };
    chosen.push(last);
    (strength > 0.0 && chosen.len() >= 2).then_some(StoryProposal { confusion, claims: chosen, strength })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::{
        domain::{ClaimId, EventId, claim::Qualifiers},
        guard::{Guard, NormedClaim},
        story::{ClaimStanding, StoryText},
    };

    const DAY: u64 = 24 * 60 * 60 * 1000;

    fn claim(n: u8, minutes: u64, who: &str, statement: &str) -> StoryClaim {
        let norms = Guard::default().normalise(statement, &Qualifiers::default()).norms;
        let id: ClaimId = EventId([n; 32]);
        let claim = NormedClaim { id: Some(id), statement: statement.to_owned(), norms, ..NormedClaim::default() };
        let text = StoryText::new(claim, None);
        let written = 1_700_000_000_000 + minutes * 60_000;
        StoryClaim { written, recorded: written, who: who.to_owned(), standing: ClaimStanding::active(), text }
    }

    fn asked(claims: &[StoryClaim]) -> Option<(Confusion, Vec<usize>)> {
        propose(&claims.iter().collect::<Vec<_>>()).map(|found| (found.confusion, found.claims))
    }

    fn day(n: u64) -> u64 {
        n * DAY / 60_000
    }

    #[rstest]
    #[case::ambiguity(&[(0, "The cache holds a thousand pages."), (9, "Pages stay in the cache for good.")], Some((Confusion::Ambiguity, vec![0, 1])))]
    #[case::stale(&[(0, "Reports are laid out by hand."), (200, "The layout engine prints the reports.")], Some((Confusion::Stale, vec![0, 1])))]
    #[case::reversal(
        &[(0, "Reports are printed in colour."), (20, "The accountants asked for grey reports."), (60, "Colour reports are printed.")],
        Some((Confusion::Reversal, vec![0, 1, 2]))
    )]
    #[case::settled(&[(0, "The cache holds a thousand pages."), (9, "Decided: the cache holds ten pages.")], None)]
    #[case::nothing_in_common(&[(0, "The cache holds a thousand pages."), (9, "Invoices are blue.")], None)]
    #[case::one(&[(0, "The cache holds a thousand pages.")], None)]
    fn the_rules_say_what_is_left_to_ask(
        #[case] dated: &[(u64, &str)],
        #[case] expected: Option<(Confusion, Vec<usize>)>,
    ) {
        let claims: Vec<StoryClaim> = dated
            .iter()
            .zip(1..)
            .map(|((days, statement), n)| claim(n, day(*days), &format!("writer {n}"), statement))
            .collect();
        assert_eq!(asked(&claims), expected);
    }

    #[test]
    fn what_no_longer_holds_or_was_said_in_one_session_is_not_asked_about() {
        let mut claims = [
            claim(1, 0, "ada", "The cache holds a thousand pages."),
            claim(2, day(9), "bob", "Pages stay in the cache for good."),
        ];
        assert!(asked(&claims).is_some());
        claims[0].standing.in_force = false;
        assert_eq!(asked(&claims), None);
        let claims = [
            claim(1, 0, "ada", "The cache holds a thousand pages."),
            claim(2, 12, "ada", "Pages stay in the cache for good."),
        ];
        assert_eq!(asked(&claims), None);
    }
}
