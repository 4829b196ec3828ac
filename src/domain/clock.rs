//! The hybrid logical clock that orders events.
//!
//! Source: Kulkarni et al., "Logical Physical Clocks and Consistent Snapshots in Globally Distributed Databases", 2014.

use std::fmt;

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// The maximum time by which an event's clock may be ahead of this machine's, in milliseconds: a day.
pub const AHEAD: u64 = 24 * 60 * 60 * 1000;

/// A hybrid logical time: the largest wall clock seen, in milliseconds since the Unix epoch, and a counter within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode)]
pub struct Hlc {
    /// Milliseconds since 1970-01-01 UTC.
    #[n(0)]
    pub wall: u64,
    /// A counter of the events within that millisecond.
    #[n(1)]
    pub count: u32,
}

impl Hlc {
    /// Returns the time of the next local event: not before `now` (wall clock, in milliseconds), and after `self`.
    ///
    /// If `self` is more than [`AHEAD`] after `now`, the wall clock was wrong and has been corrected. The result is then `now`, because
    /// peers would keep events with a later time in quarantine until that day.
    #[must_use]
    pub fn tick(self, now: u64) -> Self {
        if now > self.wall || self.wall > now.saturating_add(AHEAD) {
            Self { wall: now, count: 0 }
        } else {
            match self.count.checked_add(1) {
                Some(count) => Self { wall: self.wall, count },
                None => Self { wall: self.wall.saturating_add(1), count: 0 },
            }
        }
    }

    /// Returns the clock after an event of a peer was seen: the later of both.
    #[must_use]
    pub fn merge(self, seen: Self) -> Self {
        self.max(seen)
    }
}

impl fmt::Display for Hlc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.wall, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_was_ten_days_ahead_is_not_followed_once_it_is_right() {
        let (now, wrong) = (1_790_000_000_000, 1_790_000_000_000 + 10 * AHEAD);
        let ahead = Hlc::default().tick(wrong);
        assert_eq!(ahead.wall, wrong);
        assert_eq!(ahead.tick(now), Hlc { wall: now, count: 0 });
        let little = Hlc::default().tick(now + AHEAD);
        assert!(little.tick(now) > little, "a day is believed, and time does not go back");
    }

    #[test]
    fn tick_is_strictly_increasing_even_when_the_wall_clock_goes_back() {
        let mut clock = Hlc::default();
        for now in [5, 5, 3, 9, 0] {
            let next = clock.tick(now);
            assert!(next > clock);
            clock = next;
        }
        assert_eq!(clock.wall, 9);
        assert!(Hlc { wall: 1, count: u32::MAX }.tick(0) > Hlc { wall: 1, count: u32::MAX });
    }
}
