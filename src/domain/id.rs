//! Identifiers: content hashes for events, claims and cards; random bytes for operations; public keys for devices.
//!
//! All of them are written as lower-case hexadecimal. A person may shorten an event, claim or card id to any
//! unambiguous prefix of at least [`MIN_PREFIX`] digits; ergo prints [`SHORT`] digits.

use std::{fmt, str::FromStr};

use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};
use serde::{Deserialize, Serialize};

/// The number of hexadecimal digits of an id that are shown: 40 bits, so that any two of 100,000 claims collide with probability 0.005.
pub const SHORT: usize = 10;

/// The minimum number of digits of a shortened id.
pub const MIN_PREFIX: usize = 4;

/// A text that is not an identifier of the expected form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("“{text}” is not {what}: expected {digits} hexadecimal digits")]
pub struct ParseIdError {
    what: &'static str,
    digits: usize,
    text: String,
}

macro_rules! hex_id {
    ($(#[$doc:meta])* $name:ident, $len:literal, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            /// Returns the full id in hexadecimal.
            pub fn to_hex(self) -> String {
                hex::encode(self.0)
            }

            /// Returns the first [`SHORT`] hexadecimal digits, as shown to people.
            pub fn short(self) -> String {
                let mut text = self.to_hex();
                text.truncate(SHORT);
                text
            }

            /// Returns whether a text is this id or a prefix of it, of at least [`MIN_PREFIX`] digits, in upper or lower
            /// case.
            pub fn has_prefix(self, text: &str) -> bool {
                is_prefix(text) && self.to_hex().starts_with(&text.to_ascii_lowercase())
            }

            /// Returns the raw bytes.
            pub fn as_bytes(&self) -> &[u8] {
                &self.0
            }

            /// Creates an id from raw bytes; `None` if the length is wrong.
            pub fn from_slice(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.to_hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.short())
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let mut bytes = [0; $len];
                match hex::decode_to_slice(text, &mut bytes) {
                    Ok(()) => Ok(Self(bytes)),
                    Err(_) => Err(ParseIdError { what: $what, digits: $len * 2, text: text.chars().take(80).collect() }),
                }
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.to_hex())
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl<C> Encode<C> for $name {
            fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
                e.bytes(&self.0)?.ok()
            }
        }

        impl<'b, C> Decode<'b, C> for $name {
            fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
                Self::from_slice(d.bytes()?).ok_or_else(|| decode::Error::message(concat!("wrong length of ", $what)))
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let digits = Some($len * 2);
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .min_length(digits)
                    .max_length(digits)
                    .pattern(Some("^[0-9a-fA-F]*$"))
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

hex_id!(
    /// The content address of an event: `blake3("ergo/event/1" ‖ header bytes)`.
    EventId, 32, "an event id"
);
hex_id!(
    /// The id of a conflict card: a hash of the sorted ids of its members, hence the same on every device.
    CardId, 32, "a card id"
);
hex_id!(
    /// The id of one act, which may consist of several events. The client chooses it, so that a retry is recognised.
    OpId, 16, "an operation id"
);
hex_id!(
    /// The id of a device: its ed25519 public key.
    DeviceId, 32, "a device id"
);

/// The id of a claim: that of the event that created it.
pub type ClaimId = EventId;

impl EventId {
    /// Computes the id of an event from its canonical header bytes.
    pub fn of_header(header: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/event/1");
        hasher.update(header);
        Self(*hasher.finalize().as_bytes())
    }
}

impl CardId {
    /// Computes the id of the card with exactly these members, given in any order.
    pub fn of_members(members: &[EventId]) -> Self {
        let mut sorted = members.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/card/1");
        for member in &sorted {
            hasher.update(&member.0);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// Computes the id of the story card of this kind of confusion about exactly these claims, given in any order.
    pub fn of_story(confusion: super::Confusion, members: &[EventId]) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/story-card/1");
        hasher.update(confusion.as_str().as_bytes());
        hasher.update(&Self::of_members(members).0);
        Self(*hasher.finalize().as_bytes())
    }
}

/// Returns whether `text` can be a shortened id: hexadecimal, of a length between [`MIN_PREFIX`] and 64.
pub fn is_prefix(text: &str) -> bool {
    (MIN_PREFIX..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn card_id_ignores_order_and_repeats() {
        let (a, b) = (EventId([1; 32]), EventId([2; 32]));
        assert_eq!(CardId::of_members(&[a, b]), CardId::of_members(&[b, a, b]));
        assert_ne!(CardId::of_members(&[a]), CardId::of_members(&[b]));
    }

    #[test]
    fn hex_round_trips_and_names_what_was_expected() {
        let id = EventId([0xab; 32]);
        assert_eq!(id.to_hex().parse::<EventId>(), Ok(id));
        assert_eq!(id.short().len(), SHORT);
        let error = "xyz".parse::<EventId>().unwrap_err().to_string();
        assert!(error.contains("an event id") && error.contains("64"), "{error}");
    }

    #[test]
    fn prefixes_are_hexadecimal_and_not_too_short() {
        assert!(is_prefix("abcd") && is_prefix(&"0".repeat(64)));
        assert!(!is_prefix("abc") && !is_prefix("abcg") && !is_prefix(&"0".repeat(65)));
        let id = EventId([0xab; 32]);
        for prefix in ["abab", "ABAB", "aBaBa", &id.to_hex().to_uppercase()] {
            assert!(id.has_prefix(prefix), "{prefix}");
        }
        for other in ["aba", "baba", "", "abag", &(id.to_hex() + "a")] {
            assert!(!id.has_prefix(other), "{other}");
        }
    }
}
