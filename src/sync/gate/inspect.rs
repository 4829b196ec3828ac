//! The operations of a change: each is to put one new entry into the map of entries.

use automerge::{
    Change, ScalarValue,
    legacy::{Key, ObjectId, Op, OpType},
};

use super::{Code, Violation, scan::TYPE_AT};
use crate::{
    domain::{EventId, event::MAX_EVENT},
    sync::document::{ENTRIES, Entry, GENESIS_ACTOR},
};

/// Bytes of a signature, with which every value begins.
const SIGNATURE: usize = 64;

/// Decodes a chunk that [`super::scan`] let through.
///
/// # Errors
/// Where it is no change.
pub(in crate::sync) fn change(chunk: &[u8]) -> Result<Change, Violation> {
    let change = Change::try_from(chunk).map_err(|error| Violation::malformed(error.to_string()))?;
    // automerge drops a change whose checksum is wrong, and whatever follows it, without a word.
    if chunk.get(TYPE_AT - 4..TYPE_AT) != change.hash().as_ref().get(..4) {
        return Err(Violation::malformed("a change whose checksum is wrong"));
    }
    Ok(change)
}

/// The entries that a change puts.
///
/// # Errors
/// The rule that it breaks.
pub(in crate::sync) fn entries(change: &Change) -> Result<Vec<Entry>, Violation> {
    if change.actor_id().to_bytes() == GENESIS_ACTOR {
        return Err(Violation::new(Code::DuplicateSeq, "the actor that began the document"));
    }
    if change.author().is_some() || change.message().is_some() || !change.extra_bytes().is_empty() {
        return Err(Violation::new(Code::Metadata, "an author or a text"));
    }
    change.decode().operations.into_iter().map(entry).collect()
}

/// The entry that an operation puts.
fn entry(op: Op) -> Result<Entry, Violation> {
    let OpType::Put(value) = op.action else {
        let code = if op.action == OpType::Delete { Code::Delete } else { Code::NotAPut };
        return Err(Violation::new(code, ""));
    };
    if op.insert {
        return Err(Violation::new(Code::NotAPut, "an item of a list"));
    }
    let in_entries = matches!(&op.obj, ObjectId::Id(id) if id.0 == ENTRIES && id.1.to_bytes() == GENESIS_ACTOR);
    let Key::Map(key) = &op.key else { return Err(Violation::new(Code::NotAPut, "an item of a list")) };
    // Only the one spelling: two keys must not mean one event.
    let id = key.parse::<EventId>().ok().filter(|id| in_entries && id.to_hex() == **key);
    let Some(id) = id else { return Err(Violation::new(Code::ForeignKey, "")) };
    if !op.pred.is_empty() {
        return Err(Violation::of(Code::Overwrite, id, ""));
    }
    let ScalarValue::Bytes(value) = value else {
        return Err(Violation::of(Code::BadValue, id, "not bytes"));
    };
    if value.len() > MAX_EVENT {
        return Err(Violation::of(Code::TooBig, id, format!("{} bytes; at most {MAX_EVENT}", value.len())));
    }
    let Some((signature, header)) = value.split_first_chunk::<SIGNATURE>() else {
        return Err(Violation::of(Code::BadValue, id, format!("{} bytes", value.len())));
    };
    if EventId::of_header(header) != id {
        return Err(Violation::of(Code::WrongId, id, ""));
    }
    Ok(Entry { id, signature: *signature, header: header.to_vec() })
}
