//! Checks the operations of a change: each must put a new entry into the map of entries.

use automerge::{
    Change, ScalarValue,
    legacy::{Key, ObjectId, Op, OpType},
};

use super::{Violation, ViolationCode, scan::TYPE_OFFSET};
use crate::{
    domain::{EventId, event::MAX_EVENT},
    sync::document::{DocumentEntry, ENTRIES, GENESIS_ACTOR},
};

/// The bytes of a signature, with which every value begins.
const SIGNATURE_BYTES: usize = 64;

/// Decodes a chunk that passed [`super::scan`].
pub(in crate::sync) fn change(chunk: &[u8]) -> Result<Change, Violation> {
    let change = Change::try_from(chunk).map_err(|error| Violation::malformed(error.to_string()))?;
    // automerge silently drops a change with a wrong checksum, and whatever follows it.
    if chunk.get(TYPE_OFFSET - 4..TYPE_OFFSET) != change.hash().as_ref().get(..4) {
        return Err(Violation::malformed("a change with a wrong checksum"));
    }
    Ok(change)
}

/// Returns the entries that a change puts.
///
/// # Errors
/// The rule that it breaks.
pub(in crate::sync) fn entries(change: &Change) -> Result<Vec<DocumentEntry>, Violation> {
    if change.actor_id().to_bytes() == GENESIS_ACTOR {
        return Err(Violation::new(ViolationCode::DuplicateSeq, "the actor that began the document"));
    }
    if change.author().is_some() || change.message().is_some() || !change.extra_bytes().is_empty() {
        return Err(Violation::new(ViolationCode::Metadata, "an author or a text"));
    }
    change.decode().operations.into_iter().map(entry).collect()
}

/// Returns the entry that an operation puts.
fn entry(op: Op) -> Result<DocumentEntry, Violation> {
    let OpType::Put(value) = op.action else {
        let code = if op.action == OpType::Delete { ViolationCode::Delete } else { ViolationCode::NotAPut };
        return Err(Violation::new(code, ""));
    };
    if op.insert {
        return Err(Violation::new(ViolationCode::NotAPut, "an item of a list"));
    }
    let in_entries = matches!(&op.obj, ObjectId::Id(id) if id.0 == ENTRIES && id.1.to_bytes() == GENESIS_ACTOR);
    let Key::Map(key) = &op.key else { return Err(Violation::new(ViolationCode::NotAPut, "an item of a list")) };
    // Only the canonical spelling is accepted, since two keys must not name one event.
    let id = key.parse::<EventId>().ok().filter(|id| in_entries && id.to_hex() == **key);
    let Some(id) = id else { return Err(Violation::new(ViolationCode::ForeignKey, "")) };
    if !op.pred.is_empty() {
        return Err(Violation::for_event(ViolationCode::Overwrite, id, ""));
    }
    let ScalarValue::Bytes(value) = value else {
        return Err(Violation::for_event(ViolationCode::BadValue, id, "not bytes"));
    };
    if value.len() > MAX_EVENT {
        return Err(Violation::for_event(
            ViolationCode::TooBig,
            id,
            format!("{} bytes; at most {MAX_EVENT}", value.len()),
        ));
    }
    let Some((signature, header)) = value.split_first_chunk::<SIGNATURE_BYTES>() else {
        return Err(Violation::for_event(ViolationCode::BadValue, id, format!("{} bytes", value.len())));
    };
    if EventId::of_header(header) != id {
        return Err(Violation::for_event(ViolationCode::WrongId, id, ""));
    }
    Ok(DocumentEntry { id, signature: *signature, header: header.to_vec() })
}
