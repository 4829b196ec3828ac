//! The compact encoding of a document's sync messages, which leaves out what the peer can compute.
//!
//! A change names each entry by the hash of the header in its value, and most headers name the previous event of
//! their chain, which is in the same message. Hashes do not compress and are a third of a first sync, so they are
//! left out. Other incompressible bytes (signatures, hashes of bodies) are kept apart from the compressible ones. Pure.
//!
//! Architecture Invariant: the sender checks that the original bytes can be restored, and the receiver passes
//! the restored message through the preflight check like any other. So the encoding needs no trust.

use std::collections::HashMap;

use minicbor::{Decode, Decoder, Encode, decode};

use super::{
    frame::{DocumentMessage, FrameError, TurnKind, WireBody},
    preflight::{MAX_MESSAGE, MAX_OPS, scan},
};
use crate::domain::{EventId, Scope, replica::Month};

/// The feature name by which a device announces this encoding in its greeting. Part of the protocol.
pub const FEATURE: &str = "lean";

/// The most messages in a turn: a side sends two in its first turn.
const MAX_MESSAGES: usize = 4;

/// The bytes of a signature, with which every value begins.
const SIGNATURE_BYTES: usize = 64;

const HASH_BYTES: usize = 32;

/// The incompressible bytes of each entry: its signature, and the hash of the body at the end of its header.
const INCOMPRESSIBLE_BYTES: usize = SIGNATURE_BYTES + HASH_BYTES;

/// The bytes of a key in a change: its length, and the id in hexadecimal.
const KEY_BYTES: usize = 1 + 2 * HASH_BYTES;

/// The field number of the previous event in a header.
const PREV_FIELD: u64 = 6;

/// A sync message of a document, without what the receiver can compute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct CompactMessage {
    /// The message without the keys and values of its entries.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub skeleton: Vec<u8>,
    /// Where keys and values belong, as three numbers each: bytes to copy from the skeleton first, number of keys,
    /// number
    /// of values.
    #[cbor(n(1), decode_with = "decode_numbers")]
    pub gaps: Vec<u32>,
    /// The length of each header.
    #[cbor(n(2), decode_with = "decode_numbers")]
    pub header_lengths: Vec<u32>,
    /// The distance to the entry of the header's previous event, counted in entries backwards; 0 if it is not in the
    /// message.
    #[cbor(n(3), decode_with = "decode_numbers")]
    pub prev_distance: Vec<u32>,
    /// The offset of the previous event's id in each header.
    #[cbor(n(4), decode_with = "decode_numbers")]
    pub prev_offset: Vec<u32>,
    /// The signature and the last bytes of the header of each entry.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub incompressible: Vec<u8>,
    /// The headers without their last bytes and without the ids that are left out.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub headers: Vec<u8>,
}

/// Decodes at most three numbers for each operation that a document may have, so that a short frame cannot take much
/// memory.
pub(super) fn decode_numbers<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Vec<u32>, decode::Error> {
    let mut numbers = Vec::new();
    for number in d.array_iter::<u32>()? {
        if numbers.len() as u64 >= 3 * MAX_OPS {
            return Err(decode::Error::message("it declares more numbers than the document has entries"));
        }
        numbers.push(number?);
    }
    Ok(numbers)
}

impl CompactMessage {
    /// Encodes a message. Also returns the ids of its entries, in order. `None` if the message could not be restored
    /// exactly and must be sent in the full encoding.
    pub fn of(message: &[u8]) -> Option<(Self, Vec<EventId>)> {
        let mut compactor =
            Compactor { compact: Self::default(), ids: Vec::new(), positions: HashMap::new(), position: 0 };
        for columns in scan::columns(message)? {
            let first = compactor.ids.len();
            let keys = compactor.keys(message, columns.keys)?;
            compactor.values(message, columns.values)?;
            let ids = compactor.ids.get(first..)?;
            if keys.len() != ids.len() || !ids.iter().zip(keys).all(|(id, key)| id.to_hex().as_bytes() == key) {
                return None;
            }
        }
        let Compactor { mut compact, ids, position, .. } = compactor;
        compact.skeleton.extend_from_slice(message.get(position..)?);
        compact.restore().is_ok_and(|(whole, _)| whole == message).then_some((compact, ids))
    }

    /// Restores the message and the ids of its entries, in order. Time and memory are proportional to the
    /// input.
    ///
    /// # Errors
    /// If the parts are inconsistent, or the message would be longer than [`MAX_MESSAGE`].
    pub fn restore(&self) -> Result<(Vec<u8>, Vec<EventId>), FrameError> {
        let malformed = || FrameError::Malformed("the parts of a compact message are inconsistent".to_owned());
        let (values, ends, ids) = self.entries().ok_or_else(malformed)?;
        let length = self.skeleton.len() + values.len() + ids.len() * KEY_BYTES;
        if length > MAX_MESSAGE {
            return Err(FrameError::TooBig(MAX_MESSAGE as u64));
        }
        let message = self.assemble(length, &values, &ends, &ids).ok_or_else(malformed)?;
        Ok((message, ids))
    }

    /// Returns the values, the end of each, and the ids.
    fn entries(&self) -> Option<(Vec<u8>, Vec<usize>, Vec<EventId>)> {
        let count = self.header_lengths.len();
        if self.prev_distance.len() != count
            || self.prev_offset.len() != count
            || self.incompressible.len() != count.checked_mul(INCOMPRESSIBLE_BYTES)?
        {
            return None;
        }
        let (mut values, mut ends, mut ids) = (Vec::new(), Vec::with_capacity(count), Vec::<EventId>::new());
        let mut headers = self.headers.as_slice();
        let prevs = self.prev_distance.iter().zip(&self.prev_offset);
        for ((incompressible, length), (prev_distance, at)) in
            self.incompressible.chunks_exact(INCOMPRESSIBLE_BYTES).zip(&self.header_lengths).zip(prevs)
        {
            let (signature, tail) = incompressible.split_at_checked(SIGNATURE_BYTES)?;
            let omitted = if *prev_distance == 0 { 0 } else { HASH_BYTES };
            let (kept, more) = headers.split_at_checked((*length as usize).checked_sub(HASH_BYTES + omitted)?)?;
            headers = more;
            values.extend_from_slice(signature);
            let start = values.len();
            if *prev_distance == 0 {
                values.extend_from_slice(kept);
            } else {
                let (before, after) = kept.split_at_checked(*at as usize)?;
                let prev = ids.get(ids.len().checked_sub(*prev_distance as usize)?)?;
                values.extend_from_slice(before);
                values.extend_from_slice(&prev.0);
                values.extend_from_slice(after);
            }
            values.extend_from_slice(tail);
            ids.push(EventId::of_header(values.get(start..)?));
            ends.push(values.len());
        }
        headers.is_empty().then_some((values, ends, ids))
    }

    /// Puts keys and values back into the skeleton.
    fn assemble(&self, length: usize, values: &[u8], ends: &[usize], ids: &[EventId]) -> Option<Vec<u8>> {
        if !self.gaps.len().is_multiple_of(3) {
            return None;
        }
        let mut message = Vec::with_capacity(length);
        let (mut rest, mut keys, mut from, mut placed) = (self.skeleton.as_slice(), ids.iter(), 0, 0_usize);
        for gap in self.gaps.chunks_exact(3) {
            let [skip, key_count, value_count] = [gap[0], gap[1], gap[2]].map(|number| number as usize);
            let (before, after) = rest.split_at_checked(skip)?;
            rest = after;
            message.extend_from_slice(before);
            for _ in 0..key_count {
                message.push(2 * HASH_BYTES as u8);
                message.extend_from_slice(keys.next()?.to_hex().as_bytes());
            }
            placed = placed.checked_add(value_count)?;
            let to = if placed == 0 { 0 } else { *ends.get(placed - 1)? };
            message.extend_from_slice(values.get(from..to)?);
            from = to;
        }
        message.extend_from_slice(rest);
        (keys.next().is_none() && placed == ends.len()).then_some(message)
    }
}

/// A [`DocumentMessage`] in the compact encoding. The bodies of its entries follow in the same order, as
/// [`FollowingBodies`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct CompactDocument {
    #[n(0)]
    pub scope: Scope,
    #[n(1)]
    pub month: Month,
    #[n(2)]
    pub part: u32,
    #[n(3)]
    pub exchange: u64,
    #[n(4)]
    pub turn: TurnKind,
    /// The messages of the sender's document.
    #[cbor(n(5), decode_with = "decode_messages")]
    pub messages: Vec<CompactMessage>,
}

/// Decodes at most [`MAX_MESSAGES`] messages.
pub(super) fn decode_messages<'b, C, T: Decode<'b, C>>(
    d: &mut Decoder<'b>,
    c: &mut C,
) -> Result<Vec<T>, decode::Error> {
    let mut messages = Vec::new();
    for message in d.array_iter_with::<C, T>(c)? {
        if messages.len() >= MAX_MESSAGES {
            return Err(decode::Error::message("more messages than a turn has"));
        }
        messages.push(message?);
    }
    Ok(messages)
}

impl CompactDocument {
    /// Encodes a turn. Also returns the ids of its entries, in order. `None` if it must be sent in the full encoding.
    pub fn of(doc: &DocumentMessage) -> Option<(Self, Vec<EventId>)> {
        let (mut messages, mut all) = (Vec::new(), Vec::new());
        for message in &doc.messages {
            let (compact, ids) = CompactMessage::of(message)?;
            messages.push(compact);
            all.extend(ids);
        }
        let DocumentMessage { scope, month, part, exchange, turn, .. } = doc.clone();
        Some((Self { scope, month, part, exchange, turn, messages }, all))
    }

    /// Restores the turn and the ids of its entries, in order. Fails as [`CompactMessage::restore`] does.
    pub fn restore(self) -> Result<(DocumentMessage, Vec<EventId>), FrameError> {
        let (mut messages, mut all) = (Vec::new(), Vec::new());
        for compact in self.messages {
            let (message, ids) = compact.restore()?;
            messages.push(message.into());
            all.extend(ids);
        }
        let Self { scope, month, part, exchange, turn, .. } = self;
        Ok((DocumentMessage { scope, month, part, exchange, turn, messages }, all))
    }
}

/// The next bodies of the entries of a [`CompactDocument`], which are identified by their order alone.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct FollowingBodies {
    #[n(0)]
    pub scope: Scope,
    #[n(1)]
    pub month: Month,
    #[n(2)]
    pub part: u32,
    #[n(3)]
    pub exchange: u64,
    /// The length of each body plus one; 0 if the sender has none, or it was redacted.
    #[cbor(n(4), decode_with = "decode_numbers")]
    pub lengths: Vec<u32>,
    /// The salts of the bodies that are present, one after the other.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub salts: Vec<u8>,
    /// The bytes of the bodies that are present, one after the other.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
}

impl FollowingBodies {
    /// Appends a body; `None` if the sender has none.
    pub fn push(&mut self, body: Option<WireBody>) {
        let Some(body) = body else { return self.lengths.push(0) };
        // A body has at most 32 KiB.
        self.lengths.push(u32::try_from(body.bytes.len()).unwrap_or(u32::MAX - 1) + 1);
        self.salts.extend_from_slice(&body.salt);
        self.bytes.extend_from_slice(&body.bytes);
    }

    /// Returns the bodies, in order. Fails if the parts are inconsistent.
    pub fn bodies(&self) -> Result<Vec<Option<WireBody>>, FrameError> {
        let malformed = || FrameError::Malformed("the parts of the bodies are inconsistent".to_owned());
        let (mut salts, mut bytes) = (self.salts.as_slice(), self.bytes.as_slice());
        let mut next = |length: u32| {
            let (salt, more) = salts.split_first_chunk()?;
            let (body, others) = bytes.split_at_checked(length as usize)?;
            (salts, bytes) = (more, others);
            Some(WireBody { salt: *salt, bytes: body.to_vec() })
        };
        let body = |length: &u32| match length.checked_sub(1) {
            None => Ok(None),
            Some(length) => next(length).map(Some).ok_or_else(malformed),
        };
        let bodies: Vec<Option<WireBody>> = self.lengths.iter().map(body).collect::<Result<_, _>>()?;
        if salts.is_empty() && bytes.is_empty() { Ok(bodies) } else { Err(malformed()) }
    }
}

/// The encoder of a message.
struct Compactor {
    compact: CompactMessage,
    ids: Vec<EventId>,
    positions: HashMap<EventId, usize>,
    /// The number of bytes of the message that were read.
    position: usize,
}

impl Compactor {
    /// Leaves out the range from `start` to `end`, which holds this many keys and values.
    fn push_gap(&mut self, message: &[u8], start: usize, end: usize, keys: usize, values: usize) -> Option<()> {
        let kept = message.get(self.position..start)?;
        self.compact.skeleton.extend_from_slice(kept);
        for number in [kept.len(), keys, values] {
            self.compact.gaps.push(u32::try_from(number).ok()?);
        }
        self.position = end;
        Some(())
    }

    /// Leaves out the keys of a column, whose runs must all be of single values, and returns the text of each key.
    fn keys<'m>(&mut self, message: &'m [u8], column: std::ops::Range<usize>) -> Option<Vec<&'m [u8]>> {
        let end = column.end;
        let mut rest = scan::ByteReader(message.get(column)?);
        let mut keys = Vec::new();
        while !rest.0.is_empty() {
            let count = usize::try_from(rest.signed()?.checked_neg()?).ok().filter(|count| *count > 0)?;
            let start = end - rest.0.len();
            for _ in 0..count {
                keys.push(rest.prefixed()?);
            }
            self.push_gap(message, start, end - rest.0.len(), count, 0)?;
        }
        Some(keys)
    }

    /// Leaves out the values of a column.
    fn values(&mut self, message: &[u8], column: std::ops::Range<usize>) -> Option<()> {
        let (start, end) = (column.start, column.end);
        let (mut rest, mut count) = (message.get(column)?, 0);
        while !rest.is_empty() {
            let (signature, more) = rest.split_at_checked(SIGNATURE_BYTES)?;
            let mut decoder = Decoder::new(more);
            decoder.skip().ok()?;
            let (header, more) = more.split_at_checked(decoder.position())?;
            self.entry(signature, header)?;
            (rest, count) = (more, count + 1);
        }
        self.push_gap(message, start, end, 0, count)
    }

    fn entry(&mut self, signature: &[u8], header: &[u8]) -> Option<()> {
        let (kept, tail) = header.split_at_checked(header.len().checked_sub(HASH_BYTES)?)?;
        let prev = prev_offset(kept).and_then(|at| {
            let id = EventId::from_slice(kept.get(at..at + HASH_BYTES)?)?;
            Some((at, self.ids.len() - self.positions.get(&id)?))
        });
        let (at, prev_distance) = prev.unwrap_or_default();
        let compact = &mut self.compact;
        for (numbers, number) in [
            (&mut compact.header_lengths, header.len()),
            (&mut compact.prev_offset, at),
            (&mut compact.prev_distance, prev_distance),
        ] {
            numbers.push(u32::try_from(number).ok()?);
        }
        compact.incompressible.extend_from_slice(signature);
        compact.incompressible.extend_from_slice(tail);
        compact.headers.extend_from_slice(kept.get(..at)?);
        compact.headers.extend_from_slice(kept.get(if prev_distance == 0 { at } else { at + HASH_BYTES }..)?);
        let id = EventId::of_header(header);
        self.positions.insert(id, self.ids.len());
        self.ids.push(id);
        Some(())
    }
}

/// Returns the offset of the previous event's id in a header; `None` if the header has none.
fn prev_offset(header: &[u8]) -> Option<usize> {
    let mut decoder = Decoder::new(header);
    for _ in 0..decoder.map().ok()?? {
        match decoder.u64().ok()? {
            PREV_FIELD => {
                let length = decoder.bytes().ok()?.len();
                return (length == HASH_BYTES).then(|| decoder.position() - HASH_BYTES);
            }
            field if field > PREV_FIELD => return None,
            _ => decoder.skip().ok()?,
        }
    }
    None
}

#[cfg(test)]
mod tests;
