//! Reads a sync message and its changes without automerge, and without allocating what the bytes declare.
//!
//! The formats are automerge's sync message of version 1 and its change chunk
//! (<https://automerge.org/automerge-binary-format-spec/>). A message is read twice, here and by automerge, so that a
//! count that would make automerge run or allocate without limit never reaches it.

use std::ops::Range;

use super::{MAX_CHANGE, MAX_ENTRIES_PER_CHANGE, MAX_HEADS, MAX_MESSAGE, MAX_OPS, Violation, ViolationCode};

/// The first byte of a message of version 1, and of version 2.
const MESSAGE: u8 = 0x42;
const MESSAGE_V2: u8 = 0x43;

/// The first bytes of every chunk.
const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];

/// The type of a chunk with one uncompressed change.
const CHANGE: u8 = 1;

/// The type of a chunk with a whole document.
pub(in crate::sync) const DOCUMENT: u8 = 0;

/// The offset of a chunk's type: after the magic bytes and the checksum.
pub(in crate::sync) const TYPE_OFFSET: usize = 8;

/// The parameters of automerge's Bloom filters. Other values would only cost time.
const BITS_PER_ENTRY: u64 = 10;
const PROBES: u64 = 7;

/// The id of the column that holds the action of each operation of a change.
const ACTION_COLUMN: u64 = 0x42;
const DEFLATED_COLUMN: u64 = 0x08;

/// The ids of the columns that hold the keys and the bytes of the values.
const KEY_COLUMN: u64 = 0x15;
const VALUE_COLUMN: u64 = 0x57;

/// Bytes of an actor id.
const ACTOR_BYTES: usize = 16;

/// A reader of bytes from a slice. Every method returns `None` if the bytes end too early or are invalid.
#[derive(Clone, Copy)]
pub(in crate::sync) struct ByteReader<'a>(pub(in crate::sync) &'a [u8]);

impl<'a> ByteReader<'a> {
    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    /// Reads an unsigned LEB128 number.
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a signed LEB128 number.
    pub(in crate::sync) fn signed(&mut self) -> Option<i64> {
        let mut number = 0_i64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= i64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                let sign = shift + 7 < 64 && byte & 0x40 != 0;
                return Some(if sign { number | (-1_i64 << (shift + 7)) } else { number });
            }
        }
        None
    }

    /// Reads bytes that follow their length.
    pub(in crate::sync) fn prefixed(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    /// Skips a list of hashes and returns their number.
    fn hashes(&mut self) -> Option<u64> {
        let count = self.number()?;
        self.take(count.checked_mul(32)?)?;
        Some(count)
    }
}

fn truncated() -> Violation {
    Violation::malformed("the message is truncated")
}

/// Returns the chunks of changes in a message, each checked with [`change`].
pub(in crate::sync) fn message(bytes: &[u8]) -> Result<Vec<&[u8]>, Violation> {
    Ok(chunks(bytes)?.into_iter().map(|(_, chunk)| chunk).collect())
}

/// The byte ranges of a change's keys and values in a message.
pub(in crate::sync) struct ChangeColumns {
    /// The keys, in runs.
    pub(in crate::sync) keys: Range<usize>,
    /// The values, one after the other.
    pub(in crate::sync) values: Range<usize>,
}

/// Returns the columns of each change of a message; `None` if [`message`] rejects it.
pub(in crate::sync) fn columns(bytes: &[u8]) -> Option<Vec<ChangeColumns>> {
    chunks(bytes).ok()?.into_iter().map(|(at, chunk)| columns_of(at, chunk)).collect()
}

/// Returns the columns of the change in `chunk`, which begins at `at`.
fn columns_of(at: usize, chunk: &[u8]) -> Option<ChangeColumns> {
    let mut rest = ByteReader(chunk.get(TYPE_OFFSET + 1..)?);
    let mut rest = ByteReader(rest.prefixed()?);
    rest.hashes()?;
    rest.prefixed()?;
    rest.number()?;
    rest.number()?;
    rest.signed()?;
    rest.prefixed()?;
    for _ in 0..rest.number()? {
        rest.prefixed()?;
    }
    let (mut keys, mut values, mut end) = (0..0, 0..0, 0_usize);
    for _ in 0..rest.number()? {
        let (kind, length) = (rest.number()?, usize::try_from(rest.number()?).ok()?);
        let column = end..end.checked_add(length)?;
        end = column.end;
        match kind {
            KEY_COLUMN => keys = column,
            VALUE_COLUMN => values = column,
            _ => {}
        }
    }
    // The columns' data is the end of the chunk.
    let data = at + chunk.len().checked_sub(end)?;
    let in_message = |column: Range<usize>| data + column.start..data + column.end;
    Some(ChangeColumns { keys: in_message(keys), values: in_message(values) })
}

/// Returns the chunks of changes in a message, each with its offset.
fn chunks(bytes: &[u8]) -> Result<Vec<(usize, &[u8])>, Violation> {
    if bytes.len() > MAX_MESSAGE {
        return Err(Violation::new(ViolationCode::TooBig, format!("{} bytes; at most {MAX_MESSAGE}", bytes.len())));
    }
    let mut rest = ByteReader(bytes);
    match rest.byte() {
        Some(MESSAGE) => {}
        Some(MESSAGE_V2) => return Err(Violation::new(ViolationCode::Version, "version 2")),
        _ => return Err(Violation::malformed("not a sync message")),
    }
    check_head_count(rest.hashes())?;
    let needed = rest.hashes().ok_or_else(truncated)?;
    if needed > MAX_OPS {
        return Err(Violation::new(ViolationCode::TooBig, format!("{needed} changes asked for")));
    }
    let summaries = rest.number().ok_or_else(truncated)?;
    if summaries > 1 {
        return Err(Violation::malformed(format!("{summaries} summaries of its changes")));
    }
    for _ in 0..summaries {
        check_head_count(rest.hashes())?;
        check_bloom_filter(rest.prefixed().ok_or_else(truncated)?)?;
    }
    let count = rest.number().ok_or_else(truncated)?;
    let mut changes = Vec::new();
    for _ in 0..count {
        let chunk = rest.prefixed().ok_or_else(truncated)?;
        change(chunk)?;
        changes.push((bytes.len() - rest.0.len() - chunk.len(), chunk));
    }
    if !rest.0.is_empty() {
        return Err(Violation::new(ViolationCode::Version, "it offers other forms of message"));
    }
    Ok(changes)
}

fn check_head_count(count: Option<u64>) -> Result<(), Violation> {
    match count.ok_or_else(truncated)? {
        count if count > MAX_HEADS => {
            Err(Violation::new(ViolationCode::TooBig, format!("{count} heads; at most {MAX_HEADS}")))
        }
        _ => Ok(()),
    }
}

/// Checks a Bloom filter: absent, or with automerge's parameters and exactly the bits that its entries need.
fn check_bloom_filter(bytes: &[u8]) -> Result<(), Violation> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut rest = ByteReader(bytes);
    let mut number = || rest.number().ok_or_else(truncated);
    let (entries, bits, probes) = (number()?, number()?, number()?);
    let usual = (1..=MAX_OPS).contains(&entries) && (bits, probes) == (BITS_PER_ENTRY, PROBES);
    if usual && rest.0.len() as u64 == (entries * bits).div_ceil(8) {
        Ok(())
    } else {
        Err(Violation::malformed(format!("a filter of {entries} entries, {bits} bits, {probes} probes")))
    }
}

/// Checks a chunk: one uncompressed change of at most [`MAX_ENTRIES_PER_CHANGE`] operations, with nothing
/// attached.
fn change(chunk: &[u8]) -> Result<(), Violation> {
    if chunk.len() > MAX_CHANGE {
        return Err(Violation::new(
            ViolationCode::TooBig,
            format!("a change of {} bytes; at most {MAX_CHANGE}", chunk.len()),
        ));
    }
    let mut rest = ByteReader(chunk);
    if rest.take(4).ok_or_else(truncated)? != MAGIC {
        return Err(Violation::malformed("a chunk without its magic bytes"));
    }
    rest.take(4).ok_or_else(truncated)?;
    match rest.byte().ok_or_else(truncated)? {
        CHANGE => {}
        kind => return Err(Violation::new(ViolationCode::Chunk, format!("a chunk of type {kind}"))),
    }
    let body = rest.prefixed().ok_or_else(truncated)?;
    if !rest.0.is_empty() {
        return Err(Violation::malformed("a second chunk after the first"));
    }
    let mut rest = ByteReader(body);
    check_head_count(rest.hashes())?;
    let actor = rest.prefixed().ok_or_else(truncated)?;
    if actor.len() != ACTOR_BYTES {
        return Err(Violation::new(ViolationCode::Metadata, format!("an actor of {} bytes", actor.len())));
    }
    let sequence = rest.number().ok_or_else(truncated)?;
    let first = rest.number().ok_or_else(truncated)?;
    let time = rest.signed().ok_or_else(truncated)?;
    let message = rest.prefixed().ok_or_else(truncated)?;
    if time != 0 || !message.is_empty() {
        return Err(Violation::new(ViolationCode::Metadata, "a time or a text"));
    }
    let others = rest.number().ok_or_else(truncated)?;
    for _ in 0..others {
        let other = rest.prefixed().ok_or_else(truncated)?;
        if other.len() != ACTOR_BYTES {
            return Err(Violation::new(ViolationCode::Metadata, format!("an actor of {} bytes", other.len())));
        }
    }
    let ops = operations(&mut rest)?;
    if ops == 0 || ops > MAX_ENTRIES_PER_CHANGE as u64 {
        return Err(Violation::new(
            ViolationCode::OpBomb,
            format!("{ops} operations; at most {MAX_ENTRIES_PER_CHANGE}"),
        ));
    }
    if sequence == 0 || first == 0 || sequence.max(first.saturating_add(ops)) > MAX_OPS {
        return Err(Violation::new(ViolationCode::Counter, format!("change {sequence}, operation {first}")));
    }
    Ok(())
}

/// Counts the operations by the action column alone. Rejects bytes after the columns.
fn operations(rest: &mut ByteReader<'_>) -> Result<u64, Violation> {
    let columns = rest.number().ok_or_else(truncated)?;
    let (mut before, mut total, mut action) = (None, 0_u64, None);
    for _ in 0..columns {
        let mut number = || rest.number().ok_or_else(truncated);
        let (kind, length) = (number()?, number()?);
        if kind & DEFLATED_COLUMN != 0 {
            return Err(Violation::new(ViolationCode::Chunk, "a compressed column"));
        }
        if before.is_some_and(|before| before >= kind) {
            return Err(Violation::malformed("columns out of order"));
        }
        if kind == ACTION_COLUMN {
            action = Some((total, length));
        }
        before = Some(kind);
        total = total.checked_add(length).ok_or_else(truncated)?;
    }
    let data = rest.take(total).ok_or_else(truncated)?;
    if !rest.0.is_empty() {
        return Err(Violation::new(ViolationCode::Metadata, format!("{} bytes after the change", rest.0.len())));
    }
    let Some((start, length)) = action else { return Ok(0) };
    let mut column = ByteReader(data);
    column.take(start).ok_or_else(truncated)?;
    let mut column = ByteReader(column.take(length).ok_or_else(truncated)?);
    let mut ops = 0_u64;
    while !column.0.is_empty() {
        // A run is a repeated value, nulls, or single values.
        let run = column.signed().ok_or_else(truncated)?;
        let count = if run == 0 { column.number().ok_or_else(truncated)? } else { run.unsigned_abs() };
        ops = ops.saturating_add(count);
        if ops > MAX_ENTRIES_PER_CHANGE as u64 {
            return Ok(ops);
        }
        let values = if run > 0 { 1 } else { run.unsigned_abs() };
        for _ in 0..values {
            column.number().ok_or_else(truncated)?;
        }
    }
    Ok(ops)
}
