//! The types by which two stores find their differences: ends of chains, digests of sets, documents.

use std::fmt;

use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use super::{
    clock::Hlc,
    id::{DeviceId, EventId},
    scope::Scope,
};

/// The key of a chain within a scope. A chain is the events that one device wrote in one epoch, each of which names the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
pub struct Chain {
    /// The device.
    #[n(0)]
    pub author: DeviceId,
    /// Its epoch.
    #[n(1)]
    pub epoch: u64,
    /// Whether it was written before the scope belonged to the team, and was adopted by the team.
    #[n(2)]
    pub adopted: bool,
}

/// The end of the known part of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub struct ChainEnd {
    /// The chain.
    #[n(0)]
    pub chain: Chain,
    /// The first missing sequence number.
    #[n(1)]
    pub next: u64,
    /// The event before it; if the chain forks there, the one with the smallest id.
    #[n(2)]
    pub head: Option<EventId>,
}

/// The number of numbers in a [`SetSum`].
const LANES: usize = 1024;

/// The size of a [`SetSum`] in bytes.
pub const SUM_BYTES: usize = 2 * LANES;

/// A sum over a set of events that does not depend on their order, and from which events can be removed again: 1024 numbers of 16
/// bits, to which each event adds `blake3-xof("ergo/set/1" ‖ id)`.
///
/// Source: Lewi, Kim, Maykov and Weis, "Securing Update Propagation with Homomorphic Hashing" (LtHash16), 2019. With shorter sums,
/// such as an exclusive or of hashes, a member could choose events so that two different sets have the same sum.
#[derive(Clone, PartialEq, Eq)]
pub struct SetSum([u16; LANES]);

impl Default for SetSum {
    fn default() -> Self {
        Self([0; LANES])
    }
}

impl fmt::Debug for SetSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digest().fmt(f)
    }
}

impl SetSum {
    /// Adds an event that is not in the set.
    pub fn add(&mut self, id: &EventId) {
        self.change(id, u16::wrapping_add);
    }

    /// Removes an event that is in the set.
    pub fn remove(&mut self, id: &EventId) {
        self.change(id, u16::wrapping_sub);
    }

    fn change(&mut self, id: &EventId, by: fn(u16, u16) -> u16) {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/set/1");
        hasher.update(&id.0);
        let mut bytes = [0; SUM_BYTES];
        hasher.finalize_xof().fill(&mut bytes);
        for (lane, number) in self.0.iter_mut().zip(bytes.chunks_exact(2)) {
            *lane = by(*lane, u16::from_le_bytes([number[0], number[1]]));
        }
    }

    /// Computes the digest that is sent to peers. Equal sets have equal digests.
    pub fn digest(&self) -> SetDigest {
        if *self == Self::default() {
            return SetDigest::default();
        }
        SetDigest(*blake3::hash(&self.to_bytes()).as_bytes())
    }

    /// Encodes the sum for storage.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|lane| lane.to_le_bytes()).collect()
    }

    /// Decodes a stored sum. No bytes are the sum of the empty set; any other wrong length gives `None`.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut sum = Self::default();
        match bytes.len() {
            0 => Some(sum),
            SUM_BYTES => {
                for (lane, number) in sum.0.iter_mut().zip(bytes.chunks_exact(2)) {
                    *lane = u16::from_le_bytes([number[0], number[1]]);
                }
                Some(sum)
            }
            _ => None,
        }
    }
}

/// The digest of a set of events in any order: see [`SetSum`]. That of the empty set is all zeros.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetDigest(pub [u8; 32]);

impl SetDigest {
    /// Computes the digest of some events, each given once.
    pub fn of<'a>(ids: impl IntoIterator<Item = &'a EventId>) -> Self {
        let mut sum = SetSum::default();
        for id in ids {
            sum.add(id);
        }
        sum.digest()
    }
}

/// The id of a document: `blake3("ergo/doc/1" ‖ team ‖ scope ‖ month ‖ part)`. It does not reveal the scope's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocumentId(pub [u8; 32]);

impl DocumentId {
    /// Computes the id of the document of one month of a team's scope; `part` counts from 0.
    pub fn of(team: EventId, scope: &Scope, month: Month, part: u32) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/doc/1");
        hasher.update(&team.0);
        for name in [&scope.org_id, &scope.project] {
            hasher.update(&(name.len() as u64).to_le_bytes());
            hasher.update(name.as_bytes());
        }
        hasher.update(&month.0.to_le_bytes());
        hasher.update(&part.to_le_bytes());
        Self(*hasher.finalize().as_bytes())
    }
}

macro_rules! thirty_two_bytes {
    ($name:ident, $what:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), &hex::encode(&self.0[..5]))
            }
        }

        impl<C> Encode<C> for $name {
            fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
                e.bytes(&self.0)?.ok()
            }
        }

        impl<'b, C> Decode<'b, C> for $name {
            fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
                d.bytes()?.try_into().map(Self).map_err(|_| decode::Error::message(concat!("wrong length of ", $what)))
            }
        }
    };
}

thirty_two_bytes!(SetDigest, "a digest");
thirty_two_bytes!(DocumentId, "a document's id");

/// A month of the Gregorian calendar, UTC, as the number `YYYYMM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Encode, Decode)]
#[cbor(transparent)]
pub struct Month(#[n(0)] pub u32);

impl Month {
    /// The last month. Events with a later date belong to its document.
    pub const LAST: Self = Self(999_912);

    /// Returns the month of an event's clock.
    pub fn of(clock: Hlc) -> Self {
        // Days to year and month: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
        let days = clock.wall / 86_400_000 + 719_468;
        let era = days / 146_097;
        let day = days % 146_097;
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let of_year = day - (365 * year + year / 4 - year / 100);
        let shifted = (5 * of_year + 2) / 153;
        let (month, carry) = if shifted < 10 { (shifted + 3, 0) } else { (shifted - 9, 1) };
        let year = year + era * 400 + carry;
        u32::try_from(year * 100 + month).map_or(Self::LAST, |number| Self(number).min(Self::LAST))
    }
}

impl Month {
    /// Returns whether the calendar has this month, so that it can have events.
    pub fn exists(self) -> bool {
        Self::of(Hlc { wall: self.bounds().0, count: 0 }) == self
    }

    /// Returns the first millisecond of this month and that of the next one.
    pub fn bounds(self) -> (u64, u64) {
        let first = |year: u64, month: u64| {
            // days_from_civil, from the same source.
            let year = year - u64::from(month <= 2);
            let of_era = year % 400;
            let of_year = (153 * ((month + 9) % 12) + 2) / 5;
            let days = year / 400 * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year;
            days.saturating_sub(719_468) * 86_400_000
        };
        let (year, month) = (u64::from(self.0 / 100).max(1970), u64::from(self.0 % 100).clamp(1, 12));
        let end = match month {
            _ if self >= Self::LAST => u64::MAX,
            12 => first(year + 1, 1),
            _ => first(year, month + 1),
        };
        (first(year, month), end)
    }
}

impl fmt::Display for Month {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}", self.0 / 100, self.0 % 100)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_forgets_order_and_what_was_taken_out() {
        let [a, b, c] = [1, 2, 3].map(|n| EventId([n; 32]));
        assert_eq!(SetDigest::of([&a, &b]), SetDigest::of([&b, &a]));
        assert_ne!(SetDigest::of([&a, &b]), SetDigest::of([&a, &c]));
        let mut sum = SetSum::default();
        for id in [&b, &a] {
            sum.add(id);
        }
        assert_eq!(sum.digest(), SetDigest::of([&a, &b]));
        assert_eq!(SetSum::from_bytes(&sum.to_bytes()), Some(sum.clone()));
        sum.remove(&b);
        assert_eq!(sum.digest(), SetDigest::of([&a]));
        sum.remove(&a);
        assert_eq!((sum.digest(), SetSum::from_bytes(&[])), (SetDigest::default(), Some(sum)));
        assert_eq!(SetSum::from_bytes(&[1]), None);
    }

    #[test]
    fn months_begin_and_end_where_the_calendar_says() {
        let month = |wall| Month::of(Hlc { wall, count: 0 }).to_string();
        assert_eq!(month(0), "1970-01");
        // 2024-02-29T23:59:59.999Z and the millisecond after; 2026-11-22T12:00:00Z.
        assert_eq!(month(1_709_251_199_999), "2024-02");
        assert_eq!(month(1_709_251_200_000), "2024-03");
        assert_eq!(month(1_795_348_800_000), "2026-11");
        assert_eq!(month(1_767_225_599_999), "2025-12");
        assert_eq!(month(u64::MAX), "9999-12");
        let mut at = 0;
        while at < 4_102_444_800_000 {
            let (first, next) = Month::of(Hlc { wall: at, count: 0 }).bounds();
            assert_eq!(first, at);
            assert_eq!(Month::of(Hlc { wall: next - 1, count: 0 }).bounds(), (first, next));
            at = next;
        }
        assert_eq!(at, 4_102_444_800_000, "2100-01-01");
        assert_eq!(Month::LAST.bounds().1, u64::MAX);
        assert!([197_001, 202_612, 999_912].into_iter().all(|month| Month(month).exists()));
        assert!(![0, 196_912, 202_600, 202_613, 1_000_001, u32::MAX].into_iter().any(|month| Month(month).exists()));
    }

    #[test]
    fn documents_of_other_names_are_others() {
        let team = EventId([7; 32]);
        let scope = |org: &str, project: &str| Scope { org_id: org.into(), project: project.into() };
        let id = |scope: &Scope, part| DocumentId::of(team, scope, Month(202_611), part);
        assert_ne!(id(&scope("a", "bc"), 0), id(&scope("ab", "c"), 0));
        assert_ne!(id(&scope("a", "b"), 0), id(&scope("a", "b"), 1));
    }
}
