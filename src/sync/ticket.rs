//! Tickets: an invitation of one device as a single line of text, `ergo1…`, which a person sends to another over a
//! channel that both trust.
//!
//! After `ergo1` comes base32 of: the length of the ticket in bytes (two bytes, big endian), [`Ticket`] as CBOR, and
//! the first four bytes of its BLAKE3 hash. The length tells a truncated ticket from a mistyped one. Case and white
//! space are ignored.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::{
    collections::BTreeSet,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use iroh::{EndpointAddr, PublicKey, RelayUrl, TransportAddr};
use iroh_tickets::{ParseError, Ticket as _};
use minicbor::{Decode, Decoder, Encode, Encoder, decode, encode};

use super::endpoint::is_local;
use crate::domain::{DeviceId, EventId, ago::ago};

/// The most addresses in a ticket; a machine has more only if some of its networks are virtual.
pub const MAX_ADDRESSES: usize = 12;

/// The most characters of a ticket that are read.
const MAX_TEXT: usize = 4096;

/// The content of a ticket.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Ticket {
    #[n(0)]
    pub device: DeviceId,
    #[n(1)]
    pub addresses: Vec<TicketAddress>,
    #[n(2)]
    pub team: EventId,
    #[n(3)]
    pub team_name: String,
    /// The secret that proves possession of the ticket.
    #[n(4)]
    pub secret: InviteSecret,
    /// The time at which the ticket expires, in seconds since the Unix epoch.
    #[n(5)]
    pub expires: u64,
}

/// The secret of an invitation. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct InviteSecret(pub [u8; 16]);

/// An address of a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TicketAddress {
    Ip(SocketAddr),
    /// The URL of a relay.
    Relay(String),
}

/// The reason why a text is not a usable ticket; the message says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// The text does not begin with `ergo1`.
    #[error(
        "this is not an ergo ticket: a ticket begins with ergo1; copy the whole line that `ergo sync invite` shows"
    )]
    NotATicket,
    /// The ticket has a later version.
    #[error("this ticket was made by a newer ergo: update ergo here, or ask for a ticket made by this version")]
    Newer,
    /// The end of the ticket is missing.
    #[error("this ticket is truncated{}: copy all of it", if *.expected == 0 { String::new() } else { format!(" ({} of {} characters)", .got, .expected) })]
    Truncated {
        /// The number of characters that are present.
        got: usize,
        /// The number of characters of the whole ticket; 0 if unknown.
        expected: usize,
    },
    /// An invalid character (with its position) or a wrong checksum.
    #[error("this ticket is corrupted{}: copy all of it again", .0.map_or_else(String::new, |at| format!(" (invalid character at position {at})")))]
    Corrupted(Option<usize>),
    /// The ticket expired this many seconds ago.
    #[error("this ticket expired {}: ask for a new one", ago(0, .0.saturating_mul(1000)))]
    Expired(u64),
}

impl Ticket {
    /// Returns the ticket as text, `ergo1…`.
    pub fn to_text(&self) -> String {
        // Encoding into a vector cannot fail.
        let body = minicbor::to_vec(self).unwrap_or_default();
        let mut bytes = (body.len() as u16).to_be_bytes().to_vec();
        bytes.extend_from_slice(&body);
        bytes.extend_from_slice(&checksum(&body));
        TicketEnvelope(bytes).encode_string()
    }

    /// Parses a ticket as a person enters it. `now` is in seconds since the Unix epoch.
    pub fn parse(text: &str, now: u64) -> Result<Self, TicketError> {
        let text: String =
            text.chars().filter(|c| !c.is_whitespace()).take(MAX_TEXT).collect::<String>().to_lowercase();
        let Some(rest) = text.strip_prefix(TicketEnvelope::KIND) else {
            let newer =
                text.strip_prefix("ergo").and_then(|rest| rest.chars().next()).is_some_and(|c| c.is_ascii_digit());
            return Err(if newer { TicketError::Newer } else { TicketError::NotATicket });
        };
        if let Some(at) = rest.chars().position(|c| !matches!(c, 'a'..='z' | '2'..='7')) {
            return Err(TicketError::Corrupted(Some(TicketEnvelope::KIND.len() + at + 1)));
        }
        // Eight base32 characters hold whole bytes, so each such prefix of a truncated ticket can be decoded.
        let whole = |chars: usize| text.get(..TicketEnvelope::KIND.len() + chars).unwrap_or_default();
        let begun =
            TicketEnvelope::decode_string(whole(rest.len() / 8 * 8)).map_err(|_| TicketError::Corrupted(None))?.0;
        let Some(length) = begun.first_chunk::<2>().map(|length| usize::from(u16::from_be_bytes(*length))) else {
            return Err(TicketError::Truncated { got: text.len(), expected: 0 });
        };
        let expected = (length + 6) * 8;
        let expected = expected / 5 + usize::from(expected % 5 != 0);
        if rest.len() < expected {
            return Err(TicketError::Truncated { got: text.len(), expected: expected + TicketEnvelope::KIND.len() });
        }
        let bytes = TicketEnvelope::decode_string(&text).map_err(|_| TicketError::Corrupted(None))?.0;
        let (body, sum) =
            bytes.get(2..).and_then(|b| b.split_at_checked(length)).ok_or(TicketError::Corrupted(None))?;
        if sum != checksum(body) {
            return Err(TicketError::Corrupted(None));
        }
        let ticket: Self = minicbor::decode(body).map_err(|_| TicketError::Newer)?;
        if PublicKey::from_bytes(&ticket.device.0).is_err() {
            return Err(TicketError::Corrupted(None));
        }
        if ticket.expires <= now {
            return Err(TicketError::Expired(now - ticket.expires));
        }
        Ok(ticket)
    }

    /// Returns the address to dial; `None` if the device's key is invalid, which [`Ticket::parse`] excludes.
    pub fn endpoint(&self) -> Option<EndpointAddr> {
        let id = PublicKey::from_bytes(&self.device.0).ok()?;
        let addresses = self.addresses.iter().filter_map(|address| match address {
            TicketAddress::Ip(address) => Some(TransportAddr::Ip(*address)),
            TicketAddress::Relay(url) => url.parse::<RelayUrl>().ok().map(TransportAddr::Relay),
        });
        Some(EndpointAddr::from_parts(id, addresses))
    }

    /// Returns the addresses of an endpoint that a ticket names: in LAN mode those on local networks, otherwise all,
    /// and its
    /// relays.
    pub fn addresses_of(endpoint: &EndpointAddr, lan: bool) -> Vec<TicketAddress> {
        let all: BTreeSet<TicketAddress> = endpoint
            .addrs
            .iter()
            .filter_map(|address| match address {
                TransportAddr::Ip(address) if !lan || is_local(address.ip()) => Some(TicketAddress::Ip(*address)),
                TransportAddr::Relay(url) if !lan => Some(TicketAddress::Relay(url.to_string())),
                _ => None,
            })
            .collect();
        all.into_iter().take(MAX_ADDRESSES).collect()
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("device", &self.device).field("team", &self.team_name).finish_non_exhaustive()
    }
}

impl fmt::Debug for InviteSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for TicketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => address.fmt(f),
            Self::Relay(url) => f.write_str(url),
        }
    }
}

fn checksum(body: &[u8]) -> [u8; 4] {
    let hash = blake3::derive_key("ergo/ticket/1 check", body);
    let mut out = [0; 4];
    out.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
    out
}

/// The bytes of a ticket in iroh's ticket format. The version is the digit 1, which base32 does not have.
struct TicketEnvelope(Vec<u8>);

impl iroh_tickets::Ticket for TicketEnvelope {
    const KIND: &'static str = "ergo1";

    fn encode_bytes(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn decode_bytes(bytes: &[u8]) -> Result<Self, ParseError> {
        Ok(Self(bytes.to_vec()))
    }
}

impl<C> Encode<C> for InviteSecret {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        e.bytes(&self.0)?.ok()
    }
}

impl<'b, C> Decode<'b, C> for InviteSecret {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        d.bytes()?.try_into().map(Self).map_err(|_| decode::Error::message("a secret has 16 bytes"))
    }
}

/// Encodes an IP address as its 4 or 16 bytes and two of the port, and a relay as text.
impl<C> Encode<C> for TicketAddress {
    fn encode<W: encode::Write>(&self, e: &mut Encoder<W>, _: &mut C) -> Result<(), encode::Error<W::Error>> {
        match self {
            Self::Ip(SocketAddr::V4(address)) => {
                e.bytes(&[&address.ip().octets()[..], &address.port().to_be_bytes()].concat())?.ok()
            }
            Self::Ip(SocketAddr::V6(address)) => {
                e.bytes(&[&address.ip().octets()[..], &address.port().to_be_bytes()].concat())?.ok()
            }
            Self::Relay(url) => e.str(url)?.ok(),
        }
    }
}

impl<'b, C> Decode<'b, C> for TicketAddress {
    fn decode(d: &mut Decoder<'b>, _: &mut C) -> Result<Self, decode::Error> {
        if d.datatype()? == minicbor::data::Type::String {
            return Ok(Self::Relay(d.str()?.to_owned()));
        }
        let bytes = d.bytes()?;
        let (ip, port) =
            bytes.split_last_chunk::<2>().ok_or_else(|| decode::Error::message("an address without a port"))?;
        let ip = if let Ok(v4) = <[u8; 4]>::try_from(ip) {
            IpAddr::V4(Ipv4Addr::from(v4))
        } else if let Ok(v6) = <[u8; 16]>::try_from(ip) {
            IpAddr::V6(Ipv6Addr::from(v6))
        } else {
            return Err(decode::Error::message("an address of a wrong length"));
        };
        Ok(Self::Ip(SocketAddr::new(ip, u16::from_be_bytes(*port))))
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;
    use proptest::prelude::*;

    use super::*;

    fn ticket() -> Ticket {
        Ticket {
            device: DeviceId(SigningKey::from_bytes(&[7; 32]).verifying_key().to_bytes()),
            addresses: vec![
                TicketAddress::Ip("192.168.1.20:4242".parse().unwrap()),
                TicketAddress::Ip("[fd00::1]:4242".parse().unwrap()),
            ],
            team: EventId([3; 32]),
            team_name: "platform".to_owned(),
            secret: InviteSecret([9; 16]),
            expires: 2_000_000_000,
        }
    }

    const NOW: u64 = 1_900_000_000;

    #[test]
    fn a_ticket_survives_its_text_as_people_pass_it_on() {
        let text = ticket().to_text();
        // Every later version must read it.
        assert_eq!(
            text,
            "ergo1acc2macyedveu3dd4kofecv66vihwezoyx4zkr3wv27l464siipou2iui3jcyamci3akqaiuccjff7iaaaaaaaaaaaaaaaaaaaaaaaiqsibfqiadambqgaydambqgaydambqgaydambqgaydambqgaydambqgaydambwq4dmmf2gm33snucfacijbeeqscijbeeqscijbeeqscifdj3tlfaa637sxwy"
        );
        assert_eq!(Ticket::parse(&text, NOW).unwrap(), ticket());
        let wrapped: String = text
            .chars()
            .enumerate()
            .flat_map(|(at, c)| (at % 40 == 39).then_some('\n').into_iter().chain([c]))
            .collect();
        for given in [text.to_uppercase(), format!("  {text}\r\n"), wrapped] {
            assert_eq!(Ticket::parse(&given, NOW).unwrap(), ticket());
        }
    }

    #[test]
    fn every_damage_of_a_ticket_is_named() {
        let text = ticket().to_text();
        for cut in 5..text.len() {
            let error = Ticket::parse(&text[..cut], NOW).unwrap_err();
            assert!(
                matches!(error, TicketError::Truncated { got, expected } if got == cut && (expected == text.len() || expected == 0)),
                "{cut}: {error}"
            );
        }
        for at in 9..text.len() {
            let mut typed = text.clone().into_bytes();
            typed[at] = if typed[at] == b'a' { b'b' } else { b'a' };
            let error = Ticket::parse(&String::from_utf8(typed).unwrap(), NOW).unwrap_err();
            assert!(matches!(error, TicketError::Corrupted(_)), "{at}: {error}");
        }
        let with = |c| Ticket::parse(&text.replacen(|x: char| x == text.chars().nth(20).unwrap(), c, 1), NOW);
        assert!(matches!(with("0"), Err(TicketError::Corrupted(Some(_)))));
        assert_eq!(Ticket::parse("ergo2abcdefgh", NOW), Err(TicketError::Newer));
        for foreign in ["", "hello", "endpointaaaa", "https://example.org/ergo1", "ergo", "ergo!"] {
            assert_eq!(Ticket::parse(foreign, NOW), Err(TicketError::NotATicket), "{foreign}");
        }
        for (seconds, when) in [(0, "just now"), (120, "2 minutes ago"), (86_400, "1 day ago")] {
            let late = Ticket::parse(&text, 2_000_000_000 + seconds).unwrap_err();
            assert_eq!(late.to_string(), format!("this ticket expired {when}: ask for a new one"));
        }
        assert!(!format!("{:?}", ticket()).contains("09"), "a log never holds the secret");
    }

    #[test]
    fn on_the_local_network_only_its_addresses_are_announced() {
        let relay: RelayUrl = "https://relay.example.org".parse().unwrap();
        let ips = [
            "192.168.1.2:1",
            "10.0.0.1:1",
            "100.100.0.1:1",
            "8.8.8.8:1",
            "[2001:db8::1]:1",
            "[fe80::1]:1",
            "127.0.0.1:1",
        ];
        let id = ticket().endpoint().unwrap().id;
        let all = ips.iter().map(|ip| TransportAddr::Ip(ip.parse().unwrap())).chain([TransportAddr::Relay(relay)]);
        let endpoint = EndpointAddr::from_parts(id, all);
        let addresses =
            |lan| Ticket::addresses_of(&endpoint, lan).iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let lan: BTreeSet<_> =
            ["192.168.1.2:1", "10.0.0.1:1", "100.100.0.1:1", "[fe80::1]:1", "127.0.0.1:1"].map(str::to_owned).into();
        assert_eq!(addresses(true), lan);
        assert_eq!(addresses(false).len(), ips.len() + 1);
        let whole = Ticket { addresses: Ticket::addresses_of(&endpoint, false), ..ticket() };
        assert_eq!(
            Ticket::parse(&whole.to_text(), NOW).unwrap().endpoint().unwrap(),
            endpoint,
            "addresses survive the text"
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "ergo1?[a-z2-7 ]{0,300}|.{0,60}") {
            let _ = Ticket::parse(&text, NOW);
        }

        #[test]
        fn no_bytes_inside_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = (body.len() as u16).to_be_bytes().to_vec();
            bytes.extend_from_slice(&body);
            bytes.extend_from_slice(&checksum(&body));
            prop_assert!(Ticket::parse(&TicketEnvelope(bytes).encode_string(), NOW).is_err());
        }

        #[test]
        fn every_ticket_survives(name in ".{0,80}", secret: [u8; 16], v4 in proptest::collection::vec(any::<([u8; 4], u16)>(), 0..12), expires in NOW + 1..) {
            let addresses = v4.into_iter().map(|(ip, port)| TicketAddress::Ip((ip, port).into())).collect();
            let ticket = Ticket { team_name: name, secret: InviteSecret(secret), addresses, expires, ..ticket() };
            prop_assert_eq!(Ticket::parse(&ticket.to_text(), NOW), Ok(ticket));
        }
    }
}
