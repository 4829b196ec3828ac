//! What a document says to a peer, without what the peer can compute.
//!
//! A change names each entry by a key that is the hash of the header in its value, and most headers name the event before theirs, which
//! stands beside them. Hashes do not pack: they are a third of a first sync. Here they are left out, and what does not pack either
//! (signatures, the hashes of bodies) stands apart from what does.
//!
//! Whoever writes has made sure that the same bytes come back. Whoever reads gives them to the gate as if they had come whole: nothing
//! is believed for having come this way. Pure.

use std::collections::HashMap;

use minicbor::{Decode, Decoder, Encode, decode};

use super::{
    frame::{Body, DocMessage, FrameError, Turn},
    gate::{MAX_MESSAGE, MAX_OPS, scan},
};
use crate::domain::{EventId, Scope, replica::Month};

/// The word by which a side says in its greeting that it understands these messages.
pub const FEATURE: &str = "lean";

/// Messages in one turn, at most: a side that had not spoken yet says two.
const MESSAGES: usize = 4;

/// Bytes of a signature, with which every value begins.
const SIGNATURE: usize = 64;

/// Bytes of a hash.
const HASH: usize = 32;

/// What of each entry does not pack: the signature, and the end of the header, where the body's hash stands.
const NOISE: usize = SIGNATURE + HASH;

/// A key as it stands in a change: its length, and the id in hexadecimal.
const KEY: usize = 1 + 2 * HASH;

/// The field of a header that names the event before it.
const PREV: u64 = 6;

/// A sync message of a document, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Lean {
    /// The message without its entries' keys and values.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub rest: Vec<u8>,
    /// Where keys and values go, three numbers each: so many bytes on in the rest, so many keys, so many values.
    #[cbor(n(1), decode_with = "numbers")]
    pub gaps: Vec<u32>,
    /// The lengths of the headers.
    #[cbor(n(2), decode_with = "numbers")]
    pub lengths: Vec<u32>,
    /// How many entries before each that one stands which its header names as the event before; 0 where it stands elsewhere.
    #[cbor(n(3), decode_with = "numbers")]
    pub back: Vec<u32>,
    /// Where in the header that name stands.
    #[cbor(n(4), decode_with = "numbers")]
    pub at: Vec<u32>,
    /// Of each entry its signature and the last bytes of its header.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub noise: Vec<u8>,
    /// The headers without their last bytes and without the names that are left out.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub headers: Vec<u8>,
}

/// Numbers, no more than a document has operations, of which a message has three at most: a short frame must not become much memory.
pub(super) fn numbers<C>(d: &mut Decoder<'_>, _: &mut C) -> Result<Vec<u32>, decode::Error> {
    let mut numbers = Vec::new();
    for number in d.array_iter::<u32>()? {
        if numbers.len() as u64 >= 3 * MAX_OPS {
            return Err(decode::Error::message("more numbers than a document has entries"));
        }
        numbers.push(number?);
    }
    Ok(numbers)
}

impl Lean {
    /// Takes a message apart; also the ids of its entries, in their order. `None` where it does not come back the same: such a
    /// message goes as it is.
    pub fn of(message: &[u8]) -> Option<(Self, Vec<EventId>)> {
        let mut taken = Taken { lean: Self::default(), ids: Vec::new(), places: HashMap::new(), upto: 0 };
        for columns in scan::columns(message)? {
            let first = taken.ids.len();
            let keys = taken.keys(message, columns.keys)?;
            taken.values(message, columns.values)?;
            let ids = taken.ids.get(first..)?;
            if keys.len() != ids.len() || !ids.iter().zip(keys).all(|(id, key)| id.to_hex().as_bytes() == key) {
                return None;
            }
        }
        let Taken { mut lean, ids, upto, .. } = taken;
        lean.rest.extend_from_slice(message.get(upto..)?);
        lean.restore().is_ok_and(|(whole, _)| whole == message).then_some((lean, ids))
    }

    /// The message, and the ids of its entries in their order. Takes time and memory in proportion to what came.
    ///
    /// # Errors
    /// Where it does not fit together, or would be longer than [`MAX_MESSAGE`].
    pub fn restore(&self) -> Result<(Vec<u8>, Vec<EventId>), FrameError> {
        let malformed = || FrameError::Malformed("the parts of a document's message do not fit together".to_owned());
        let (values, ends, ids) = self.entries().ok_or_else(malformed)?;
        let length = self.rest.len() + values.len() + ids.len() * KEY;
        if length > MAX_MESSAGE {
            return Err(FrameError::TooBig(MAX_MESSAGE as u64));
        }
        let message = self.lay_out(length, &values, &ends, &ids).ok_or_else(malformed)?;
        Ok((message, ids))
    }

    /// The values, where each ends, and the ids.
    fn entries(&self) -> Option<(Vec<u8>, Vec<usize>, Vec<EventId>)> {
        let count = self.lengths.len();
        if self.back.len() != count || self.at.len() != count || self.noise.len() != count.checked_mul(NOISE)? {
            return None;
        }
        let (mut values, mut ends, mut ids) = (Vec::new(), Vec::with_capacity(count), Vec::<EventId>::new());
        let mut headers = self.headers.as_slice();
        let places = self.back.iter().zip(&self.at);
        for ((noise, length), (back, at)) in self.noise.chunks_exact(NOISE).zip(&self.lengths).zip(places) {
            let (signature, tail) = noise.split_at_checked(SIGNATURE)?;
            let named = if *back == 0 { 0 } else { HASH };
            let (kept, more) = headers.split_at_checked((*length as usize).checked_sub(HASH + named)?)?;
            headers = more;
            values.extend_from_slice(signature);
            let start = values.len();
            if *back == 0 {
                values.extend_from_slice(kept);
            } else {
                let (before, after) = kept.split_at_checked(*at as usize)?;
                let prev = ids.get(ids.len().checked_sub(*back as usize)?)?;
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

    /// The rest with keys and values where they belong.
    fn lay_out(&self, length: usize, values: &[u8], ends: &[usize], ids: &[EventId]) -> Option<Vec<u8>> {
        if !self.gaps.len().is_multiple_of(3) {
            return None;
        }
        let mut message = Vec::with_capacity(length);
        let (mut rest, mut keys, mut from, mut placed) = (self.rest.as_slice(), ids.iter(), 0, 0_usize);
        for gap in self.gaps.chunks_exact(3) {
            let [skip, names, entries] = [gap[0], gap[1], gap[2]].map(|number| number as usize);
            let (before, after) = rest.split_at_checked(skip)?;
            rest = after;
            message.extend_from_slice(before);
            for _ in 0..names {
                message.push(2 * HASH as u8);
                message.extend_from_slice(keys.next()?.to_hex().as_bytes());
            }
            placed = placed.checked_add(entries)?;
            let to = if placed == 0 { 0 } else { *ends.get(placed - 1)? };
            message.extend_from_slice(values.get(from..to)?);
            from = to;
        }
        message.extend_from_slice(rest);
        (keys.next().is_none() && placed == ends.len()).then_some(message)
    }
}

/// A [`DocMessage`] whose entries' bodies follow by themselves, in their order, as [`Following`].
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct LeanDoc {
    /// The document's scope.
    #[n(0)]
    pub scope: Scope,
    /// Its month.
    #[n(1)]
    pub month: Month,
    /// Its part.
    #[n(2)]
    pub part: u32,
    /// Which exchange.
    #[n(3)]
    pub exchange: u64,
    /// What this is.
    #[n(4)]
    pub turn: Turn,
    /// What the sender's document says.
    #[cbor(n(5), decode_with = "few")]
    pub messages: Vec<Lean>,
}

/// As many messages as a turn has.
pub(super) fn few<'b, C, T: Decode<'b, C>>(d: &mut Decoder<'b>, c: &mut C) -> Result<Vec<T>, decode::Error> {
    let mut messages = Vec::new();
    for message in d.array_iter_with::<C, T>(c)? {
        if messages.len() >= MESSAGES {
            return Err(decode::Error::message("more messages than a turn has"));
        }
        messages.push(message?);
    }
    Ok(messages)
}

impl LeanDoc {
    /// A turn taken apart, and its entries in their order; `None` where it goes as it is.
    pub fn of(doc: &DocMessage) -> Option<(Self, Vec<EventId>)> {
        let (mut messages, mut all) = (Vec::new(), Vec::new());
        for message in &doc.messages {
            let (lean, ids) = Lean::of(message)?;
            messages.push(lean);
            all.extend(ids);
        }
        let DocMessage { scope, month, part, exchange, turn, .. } = doc.clone();
        Some((Self { scope, month, part, exchange, turn, messages }, all))
    }

    /// The turn, and its entries in their order.
    ///
    /// # Errors
    /// As [`Lean::restore`].
    pub fn restore(self) -> Result<(DocMessage, Vec<EventId>), FrameError> {
        let (mut messages, mut all) = (Vec::new(), Vec::new());
        for lean in self.messages {
            let (message, ids) = lean.restore()?;
            messages.push(message.into());
            all.extend(ids);
        }
        let Self { scope, month, part, exchange, turn, .. } = self;
        Ok((DocMessage { scope, month, part, exchange, turn, messages }, all))
    }
}

/// The next bodies of the entries of a [`LeanDoc`], by their order alone.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct Following {
    /// The document's scope.
    #[n(0)]
    pub scope: Scope,
    /// Its month.
    #[n(1)]
    pub month: Month,
    /// Its part.
    #[n(2)]
    pub part: u32,
    /// Which exchange.
    #[n(3)]
    pub exchange: u64,
    /// The length of each body and one; 0 for one that the sender has not, or that was redacted there.
    #[cbor(n(4), decode_with = "numbers")]
    pub lengths: Vec<u32>,
    /// The salts of those that are there.
    #[cbor(n(5), with = "minicbor::bytes")]
    pub salts: Vec<u8>,
    /// Their bytes.
    #[cbor(n(6), with = "minicbor::bytes")]
    pub bytes: Vec<u8>,
}

impl Following {
    /// One more body, or that there is none.
    pub fn push(&mut self, body: Option<Body>) {
        let Some(body) = body else { return self.lengths.push(0) };
        // A body is 32 KiB at most.
        self.lengths.push(u32::try_from(body.bytes.len()).unwrap_or(u32::MAX - 1) + 1);
        self.salts.extend_from_slice(&body.salt);
        self.bytes.extend_from_slice(&body.bytes);
    }

    /// The bodies, in their order.
    ///
    /// # Errors
    /// Where the parts do not fit together.
    pub fn bodies(&self) -> Result<Vec<Option<Body>>, FrameError> {
        let malformed = || FrameError::Malformed("the parts of bodies do not fit together".to_owned());
        let (mut salts, mut bytes) = (self.salts.as_slice(), self.bytes.as_slice());
        let mut next = |length: u32| {
            let (salt, more) = salts.split_first_chunk()?;
            let (body, others) = bytes.split_at_checked(length as usize)?;
            (salts, bytes) = (more, others);
            Some(Body { salt: *salt, bytes: body.to_vec() })
        };
        let body = |length: &u32| match length.checked_sub(1) {
            None => Ok(None),
            Some(length) => next(length).map(Some).ok_or_else(malformed),
        };
        let bodies: Vec<Option<Body>> = self.lengths.iter().map(body).collect::<Result<_, _>>()?;
        if salts.is_empty() && bytes.is_empty() { Ok(bodies) } else { Err(malformed()) }
    }
}

/// A message that is being taken apart.
struct Taken {
    lean: Lean,
    ids: Vec<EventId>,
    places: HashMap<EventId, usize>,
    /// How much of the message has been taken.
    upto: usize,
}

impl Taken {
    /// Leaves a stretch of the message out, which is made of so many keys and values.
    fn gap(&mut self, message: &[u8], start: usize, end: usize, keys: usize, values: usize) -> Option<()> {
        let kept = message.get(self.upto..start)?;
        self.lean.rest.extend_from_slice(kept);
        for number in [kept.len(), keys, values] {
            self.lean.gaps.push(u32::try_from(number).ok()?);
        }
        self.upto = end;
        Some(())
    }

    /// Takes the keys out, which stand in runs of single ones: their text.
    fn keys<'m>(&mut self, message: &'m [u8], column: std::ops::Range<usize>) -> Option<Vec<&'m [u8]>> {
        let end = column.end;
        let mut rest = scan::Rest(message.get(column)?);
        let mut keys = Vec::new();
        while !rest.0.is_empty() {
            let count = usize::try_from(rest.signed()?.checked_neg()?).ok().filter(|count| *count > 0)?;
            let start = end - rest.0.len();
            for _ in 0..count {
                keys.push(rest.prefixed()?);
            }
            self.gap(message, start, end - rest.0.len(), count, 0)?;
        }
        Some(keys)
    }

    /// Takes the values out.
    fn values(&mut self, message: &[u8], column: std::ops::Range<usize>) -> Option<()> {
        let (start, end) = (column.start, column.end);
        let (mut rest, mut count) = (message.get(column)?, 0);
        while !rest.is_empty() {
            let (signature, more) = rest.split_at_checked(SIGNATURE)?;
            let mut decoder = Decoder::new(more);
            decoder.skip().ok()?;
            let (header, more) = more.split_at_checked(decoder.position())?;
            self.entry(signature, header)?;
            (rest, count) = (more, count + 1);
        }
        self.gap(message, start, end, 0, count)
    }

    fn entry(&mut self, signature: &[u8], header: &[u8]) -> Option<()> {
        let (kept, tail) = header.split_at_checked(header.len().checked_sub(HASH)?)?;
        let named = prev(kept).and_then(|at| {
            let id = EventId::from_slice(kept.get(at..at + HASH)?)?;
            Some((at, self.ids.len() - self.places.get(&id)?))
        });
        let (at, back) = named.unwrap_or_default();
        let lean = &mut self.lean;
        for (numbers, number) in [(&mut lean.lengths, header.len()), (&mut lean.at, at), (&mut lean.back, back)] {
            numbers.push(u32::try_from(number).ok()?);
        }
        lean.noise.extend_from_slice(signature);
        lean.noise.extend_from_slice(tail);
        lean.headers.extend_from_slice(kept.get(..at)?);
        lean.headers.extend_from_slice(kept.get(if back == 0 { at } else { at + HASH }..)?);
        let id = EventId::of_header(header);
        self.places.insert(id, self.ids.len());
        self.ids.push(id);
        Some(())
    }
}

/// Where in a header the name of the event before it stands, where it has one.
fn prev(header: &[u8]) -> Option<usize> {
    let mut decoder = Decoder::new(header);
    for _ in 0..decoder.map().ok()?? {
        match decoder.u64().ok()? {
            PREV => {
                let length = decoder.bytes().ok()?.len();
                return (length == HASH).then(|| decoder.position() - HASH);
            }
            field if field > PREV => return None,
            _ => decoder.skip().ok()?,
        }
    }
    None
}

#[cfg(test)]
mod tests;
