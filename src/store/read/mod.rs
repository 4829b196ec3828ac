//! Reads claims, pages, search results, nearby claims, neighbours, events and cards.

mod agent_judgements;
mod agents;
mod arrivals;
mod cards;
mod claims;
mod events;
mod nearby_claims;
mod neighbours;
mod notes;
mod notices;
pub(super) mod pages;
mod promotions;
mod recall;
mod search;

pub use agent_judgements::{AnswersInScope, NewestAnswers};
pub use agents::AgentTally;
pub(super) use claims::bare_claims_by_number;
pub use nearby_claims::{NearbyLists, PAIR_WEIGHT, SUBJECT_WEIGHT};
pub use notes::{ClaimLink, ClaimNews, JudgedWords, Sightings};
pub use promotions::RecordedPromotion;
pub(super) use recall::quoted;

use crate::store::StoreError;

/// A position in a list that is ordered by event clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ListPosition {
    wall: i64,
    tick: i64,
    n: i64,
}

impl ListPosition {
    /// The position before the first row of a list that is sorted newest first.
    const START: Self = Self { wall: i64::MAX, tick: i64::MAX, n: i64::MAX };

    fn cursor(self) -> String {
        format!("{:x}.{:x}.{:x}", self.wall, self.tick, self.n)
    }

    fn parse(cursor: Option<&str>) -> Result<Self, StoreError> {
        let Some(cursor) = cursor else { return Ok(Self::START) };
        let mut parts = cursor.split('.').map(|part| i64::from_str_radix(part, 16).ok());
        match (parts.next().flatten(), parts.next().flatten(), parts.next().flatten(), parts.next()) {
            (Some(wall), Some(tick), Some(n), None) => Ok(Self { wall, tick, n }),
            _ => Err(StoreError::BadCursor(cursor.chars().take(80).collect())),
        }
    }
}

/// Returns the lowest and highest id with this hexadecimal prefix; `None` if the text cannot be a prefix of an id.
pub(super) fn id_range(prefix: &str) -> Option<([u8; 32], [u8; 32])> {
    if !crate::domain::id::is_prefix(prefix) {
        return None;
    }
    let mut low = prefix.to_ascii_lowercase();
    let mut high = low.clone();
    low.extend(std::iter::repeat_n('0', 64 - prefix.len()));
    high.extend(std::iter::repeat_n('f', 64 - prefix.len()));
    let mut range = ([0; 32], [0; 32]);
    hex::decode_to_slice(low, &mut range.0).ok()?;
    hex::decode_to_slice(high, &mut range.1).ok()?;
    Some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_round_trip_and_foreign_ones_are_refused() {
        let place = ListPosition { wall: 1_700_000_000_000, tick: 3, n: 9 };
        assert_eq!(ListPosition::parse(Some(&place.cursor())).unwrap(), place);
        for bad in ["", "x", "1.2", "1.2.3.4", "1.2.-"] {
            assert!(ListPosition::parse(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_prefix_of_odd_length_covers_half_a_byte() {
        let (low, high) = id_range("ABCDE").unwrap();
        assert_eq!((&low[..3], &high[..3]), (&[0xab, 0xcd, 0xe0][..], &[0xab, 0xcd, 0xef][..]));
        assert!(id_range("abc").is_none() && id_range("wxyz").is_none());
    }
}
