//! The bytes of a sync message and of its changes, read without automerge: nothing here allocates by what the bytes say.
//!
//! The forms: automerge's sync message of version 1, and its change chunk
//! (<https://automerge.org/automerge-binary-format-spec/>). A message is read twice, here and by automerge, so that a count that
//! would make automerge run or grow never reaches it.

use std::ops::Range;

use super::{Code, MAX_CHANGE, MAX_ENTRIES_PER_CHANGE, MAX_HEADS, MAX_MESSAGE, MAX_OPS, Violation};

/// The first byte of a message of version 1, and of version 2.
const MESSAGE: u8 = 0x42;
const MESSAGE_V2: u8 = 0x43;

/// What every chunk begins with.
const MAGIC: [u8; 4] = [0x85, 0x6f, 0x4a, 0x83];

/// The type of a chunk that is one change, uncompressed.
const CHANGE: u8 = 1;

/// The type of a chunk that is a whole document.
pub(in crate::sync) const DOCUMENT: u8 = 0;

/// Where the type of a chunk stands: after the magic bytes and the checksum.
pub(in crate::sync) const TYPE_AT: usize = 8;

/// The Bloom filters that automerge makes. Others would only cost time.
const BITS_PER_ENTRY: u64 = 10;
const PROBES: u64 = 7;

/// The column of a change in which every operation has exactly one value: which action it is.
const ACTION_COLUMN: u64 = 0x42;
const DEFLATED_COLUMN: u64 = 0x08;

/// The columns of a change in which the keys stand, and the bytes of the values.
const KEY_COLUMN: u64 = 0x15;
const VALUE_COLUMN: u64 = 0x57;

/// Bytes of an actor's id.
const ACTOR: usize = 16;

/// Bytes that are still to be read. Every method answers `None` where they end too early or make no sense.
#[derive(Clone, Copy)]
pub(in crate::sync) struct Rest<'a>(pub(in crate::sync) &'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|taken| taken[0])
    }

    /// An unsigned LEB128 number.
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

    /// A signed LEB128 number.
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

    /// Bytes behind their length.
    pub(in crate::sync) fn prefixed(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(length)
    }

    /// Skips a list of hashes and says how many there were.
    fn hashes(&mut self) -> Option<u64> {
        let count = self.number()?;
        self.take(count.checked_mul(32)?)?;
        Some(count)
    }
}

fn cut() -> Violation {
    Violation::malformed("it ends too early")
}

/// The chunks of changes in a message. Each has been looked at with [`change`].
pub(in crate::sync) fn message(bytes: &[u8]) -> Result<Vec<&[u8]>, Violation> {
    Ok(chunks(bytes)?.into_iter().map(|(_, chunk)| chunk).collect())
}

/// Where in a message a change has its keys and its values: each is one column.
pub(in crate::sync) struct Columns {
    /// The keys, in runs.
    pub(in crate::sync) keys: Range<usize>,
    /// The values, one after the other.
    pub(in crate::sync) values: Range<usize>,
}

/// The columns of each change of a message; `None` where it is none that [`message`] lets through.
pub(in crate::sync) fn columns(bytes: &[u8]) -> Option<Vec<Columns>> {
    chunks(bytes).ok()?.into_iter().map(|(at, chunk)| columns_of(at, chunk)).collect()
}

/// The columns of the change in `chunk`, which begins at `at`.
fn columns_of(at: usize, chunk: &[u8]) -> Option<Columns> {
    let mut rest = Rest(chunk.get(TYPE_AT + 1..)?);
    let mut rest = Rest(rest.prefixed()?);
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
    // What the columns hold is what the chunk ends with.
    let data = at + chunk.len().checked_sub(end)?;
    let placed = |column: Range<usize>| data + column.start..data + column.end;
    Some(Columns { keys: placed(keys), values: placed(values) })
}

/// The chunks of changes in a message, and where each begins.
fn chunks(bytes: &[u8]) -> Result<Vec<(usize, &[u8])>, Violation> {
    if bytes.len() > MAX_MESSAGE {
        return Err(Violation::new(Code::TooBig, format!("{} bytes; at most {MAX_MESSAGE}", bytes.len())));
    }
    let mut rest = Rest(bytes);
    match rest.byte() {
        Some(MESSAGE) => {}
        Some(MESSAGE_V2) => return Err(Violation::new(Code::Version, "version 2")),
        _ => return Err(Violation::malformed("it is no sync message")),
    }
    few_heads(rest.hashes())?;
    let needed = rest.hashes().ok_or_else(cut)?;
    if needed > MAX_OPS {
        return Err(Violation::new(Code::TooBig, format!("{needed} changes asked for")));
    }
    let haves = rest.number().ok_or_else(cut)?;
    if haves > 1 {
        return Err(Violation::malformed(format!("{haves} summaries of what it has")));
    }
    for _ in 0..haves {
        few_heads(rest.hashes())?;
        filter(rest.prefixed().ok_or_else(cut)?)?;
    }
    let count = rest.number().ok_or_else(cut)?;
    let mut changes = Vec::new();
    for _ in 0..count {
        let chunk = rest.prefixed().ok_or_else(cut)?;
        change(chunk)?;
        changes.push((bytes.len() - rest.0.len() - chunk.len(), chunk));
    }
    if !rest.0.is_empty() {
        return Err(Violation::new(Code::Version, "it offers other forms of message"));
    }
    Ok(changes)
}

fn few_heads(count: Option<u64>) -> Result<(), Violation> {
    match count.ok_or_else(cut)? {
        count if count > MAX_HEADS => Err(Violation::new(Code::TooBig, format!("{count} heads; at most {MAX_HEADS}"))),
        _ => Ok(()),
    }
}

/// A Bloom filter: absent, or with the usual parameters and exactly the bits that its entries need.
fn filter(bytes: &[u8]) -> Result<(), Violation> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut rest = Rest(bytes);
    let mut number = || rest.number().ok_or_else(cut);
    let (entries, bits, probes) = (number()?, number()?, number()?);
    let usual = (1..=MAX_OPS).contains(&entries) && (bits, probes) == (BITS_PER_ENTRY, PROBES);
    if usual && rest.0.len() as u64 == (entries * bits).div_ceil(8) {
        Ok(())
    } else {
        Err(Violation::malformed(format!("a filter of {entries} entries, {bits} bits, {probes} probes")))
    }
}

/// Looks at a chunk: one uncompressed change of at most [`MAX_ENTRIES_PER_CHANGE`] operations, with nothing attached to it.
fn change(chunk: &[u8]) -> Result<(), Violation> {
    if chunk.len() > MAX_CHANGE {
        return Err(Violation::new(Code::TooBig, format!("a change of {} bytes; at most {MAX_CHANGE}", chunk.len())));
    }
    let mut rest = Rest(chunk);
    if rest.take(4).ok_or_else(cut)? != MAGIC {
        return Err(Violation::malformed("a chunk without its mark"));
    }
    rest.take(4).ok_or_else(cut)?;
    match rest.byte().ok_or_else(cut)? {
        CHANGE => {}
        kind => return Err(Violation::new(Code::Chunk, format!("a chunk of type {kind}"))),
    }
    let body = rest.prefixed().ok_or_else(cut)?;
    if !rest.0.is_empty() {
        return Err(Violation::malformed("a second chunk behind the first"));
    }
    let mut rest = Rest(body);
    few_heads(rest.hashes())?;
    let actor = rest.prefixed().ok_or_else(cut)?;
    if actor.len() != ACTOR {
        return Err(Violation::new(Code::Metadata, format!("an actor of {} bytes", actor.len())));
    }
    let sequence = rest.number().ok_or_else(cut)?;
    let first = rest.number().ok_or_else(cut)?;
    let time = rest.signed().ok_or_else(cut)?;
    let message = rest.prefixed().ok_or_else(cut)?;
    if time != 0 || !message.is_empty() {
        return Err(Violation::new(Code::Metadata, "a time or a text"));
    }
    let others = rest.number().ok_or_else(cut)?;
    for _ in 0..others {
        let other = rest.prefixed().ok_or_else(cut)?;
        if other.len() != ACTOR {
            return Err(Violation::new(Code::Metadata, format!("an actor of {} bytes", other.len())));
        }
    }
    let ops = operations(&mut rest)?;
    if ops == 0 || ops > MAX_ENTRIES_PER_CHANGE as u64 {
        return Err(Violation::new(Code::OpBomb, format!("{ops} operations; at most {MAX_ENTRIES_PER_CHANGE}")));
    }
    if sequence == 0 || first == 0 || sequence.max(first.saturating_add(ops)) > MAX_OPS {
        return Err(Violation::new(Code::Counter, format!("change {sequence}, operation {first}")));
    }
    Ok(())
}

/// How many operations the columns hold, without reading the operations. What follows the columns is refused.
fn operations(rest: &mut Rest<'_>) -> Result<u64, Violation> {
    let columns = rest.number().ok_or_else(cut)?;
    let (mut before, mut total, mut action) = (None, 0_u64, None);
    for _ in 0..columns {
        let mut number = || rest.number().ok_or_else(cut);
        let (kind, length) = (number()?, number()?);
        if kind & DEFLATED_COLUMN != 0 {
            return Err(Violation::new(Code::Chunk, "a compressed column"));
        }
        if before.is_some_and(|before| before >= kind) {
            return Err(Violation::malformed("columns out of order"));
        }
        if kind == ACTION_COLUMN {
            action = Some((total, length));
        }
        before = Some(kind);
        total = total.checked_add(length).ok_or_else(cut)?;
    }
    let data = rest.take(total).ok_or_else(cut)?;
    if !rest.0.is_empty() {
        return Err(Violation::new(Code::Metadata, format!("{} bytes behind the change", rest.0.len())));
    }
    let Some((start, length)) = action else { return Ok(0) };
    let mut column = Rest(data);
    column.take(start).ok_or_else(cut)?;
    let mut column = Rest(column.take(length).ok_or_else(cut)?);
    let mut ops = 0_u64;
    while !column.0.is_empty() {
        // A run of one value, a run of nothing, or single values one after the other.
        let run = column.signed().ok_or_else(cut)?;
        let count = if run == 0 { column.number().ok_or_else(cut)? } else { run.unsigned_abs() };
        ops = ops.saturating_add(count);
        if ops > MAX_ENTRIES_PER_CHANGE as u64 {
            return Ok(ops);
        }
        let values = if run > 0 { 1 } else { run.unsigned_abs() };
        for _ in 0..values {
            column.number().ok_or_else(cut)?;
        }
    }
    Ok(ops)
}
