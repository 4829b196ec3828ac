//! Attacks of one malicious or broken peer on a shared document: each is rejected with its code and leaves the document
//! unchanged.

use automerge::{
    ActorId, Automerge, Change, ExpandedChange, ObjId, ObjType, ROOT, ReadDoc, ScalarValue,
    legacy::{Key, ObjectId, Op, OpId as Id, OpType},
    sync::{Message, State, SyncDoc},
    transaction::{Transactable, Transaction},
};
use sha2::{Digest, Sha256};

use super::*;
use crate::sync::{
    document::{self, ENTRIES, GENESIS_ACTOR, commit_options},
    preflight::{MAX_OPS, ViolationCode},
};

/// The document that is attacked.
fn victim() -> IndexDocument {
    holding(&entries(1, 0..10))
}

/// The attacker's copy of the document, as automerge holds it.
fn copy(victim: &IndexDocument) -> Automerge {
    victim.doc.fork()
}

fn edit(doc: &mut Automerge, act: impl FnOnce(&mut Transaction<'_>)) {
    doc.transact_with::<_, _, automerge::AutomergeError, _>(
        |()| commit_options(),
        |tx| {
            act(tx);
            Ok(())
        },
    )
    .unwrap();
}

/// Runs the attacker's side of a session with V1 messages. Returns the first violation that the victim finds, in a
/// message or at the end.
fn attack(victim: &IndexDocument, mut evil: Automerge) -> Violation {
    let before = (victim.summary(), ids(victim), victim.doc.save());
    let (mut exchange, first) = victim.begin_exchange(None, true);
    let (mut state, mut to_evil) = (State::new(), first);
    let mut violation = None;
    for _ in 0..20 {
        if let Some(bytes) = to_evil.take() {
            evil.receive_sync_message(&mut state, Message::decode(&bytes).unwrap()).unwrap();
        }
        let Some(mut message) = evil.generate_sync_message(&mut state) else { break };
        message.flags = None;
        match exchange.receive(&message.encode()) {
            Ok(step) => to_evil = step.reply,
            Err(found) => {
                violation = Some(found);
                break;
            }
        }
    }
    let violation = violation.unwrap_or_else(|| exchange.finish(victim).map(|_| ()).unwrap_err());
    assert_eq!((victim.summary(), ids(victim), victim.doc.save()), before, "the document was changed");
    violation
}

/// A message with these chunks.
fn message(chunks: Vec<Vec<u8>>) -> Vec<u8> {
    let (heads, need, have) = (vec![], vec![], vec![]);
    let version = automerge::sync::MessageVersion::V1;
    Message { heads, need, have, changes: chunks.into(), flags: None, version }.encode()
}

fn refused(bytes: &[u8]) -> ViolationCode {
    let victim = victim();
    let before = victim.doc.save();
    let violation = victim.begin_exchange(None, true).0.receive(bytes).unwrap_err();
    assert_eq!(victim.doc.save(), before);
    violation.code
}

fn entry_map() -> ObjId {
    document::entries()
}

fn put(tx: &mut Transaction<'_>, entry: &DocumentEntry) {
    tx.put(entry_map(), entry.id.to_hex(), entry.value()).unwrap();
}

/// A change as an attacker would construct it, with one valid entry unless it is modified.
fn by_hand(victim: &IndexDocument) -> ExpandedChange {
    let mut doc = copy(victim);
    edit(&mut doc, |tx| put(tx, &entries(6, [1])[0]));
    doc.get_last_local_change().unwrap().decode()
}

fn bring(change: ExpandedChange) -> Vec<u8> {
    message(vec![Change::from(change).raw_bytes().to_vec()])
}

#[test]
fn a_valid_change_by_hand_is_accepted() {
    let victim = victim();
    let step = victim.begin_exchange(None, true).0.receive(&bring(by_hand(&victim))).unwrap();
    assert_eq!(step.new, entries(6, [1]));
}

#[test]
fn a_deleted_map() {
    let victim = victim();
    let mut evil = copy(&victim);
    edit(&mut evil, |tx| tx.delete(ROOT, "e").unwrap());
    assert_eq!(attack(&victim, evil).code, ViolationCode::Delete);
}

#[test]
fn a_deleted_key() {
    let victim = victim();
    let mut evil = copy(&victim);
    edit(&mut evil, |tx| tx.delete(entry_map(), event(1, 4).id.to_hex()).unwrap());
    assert_eq!(attack(&victim, evil).code, ViolationCode::Delete);
}

#[test]
fn an_overwritten_entry() {
    let victim = victim();
    let mut evil = copy(&victim);
    let id = event(1, 4).id;
    edit(&mut evil, |tx| tx.put(entry_map(), id.to_hex(), vec![0; 100]).unwrap());
    let violation = attack(&victim, evil);
    assert_eq!((violation.code, violation.event), (ViolationCode::Overwrite, Some(id)));
}

#[test]
fn an_entry_with_a_forged_second_signature() {
    // The entry is not overwritten: the second value is put beside it by a peer that claims not to know the first.
    let victim = victim();
    let mut evil = IndexDocument::empty().doc;
    let mut entry = entries(1, [4]).remove(0);
    entry.signature[7] ^= 1;
    edit(&mut evil, |tx| put(tx, &entry));
    let violation = attack(&victim, evil);
    assert_eq!((violation.code, violation.event), (ViolationCode::BadSignature, Some(entry.id)));
}

#[test]
fn an_event_under_the_id_of_another() {
    let victim = victim();
    let mut evil = copy(&victim);
    let [one, other] = [entries(6, [1]).remove(0), entries(6, [2]).remove(0)];
    edit(&mut evil, |tx| tx.put(entry_map(), one.id.to_hex(), other.value()).unwrap());
    let violation = attack(&victim, evil);
    assert_eq!((violation.code, violation.event), (ViolationCode::WrongId, Some(one.id)));
}

#[test]
fn foreign_keys_and_maps() {
    let victim = victim();
    let entry = entries(6, [1]).remove(0);
    let acts: [&dyn Fn(&mut Transaction<'_>); 4] = [
        &|tx| tx.put(ROOT, "x", entry.value()).unwrap(),
        &|tx| tx.put(entry_map(), "not an id", entry.value()).unwrap(),
        &|tx| tx.put(entry_map(), entry.id.to_hex().to_uppercase(), entry.value()).unwrap(),
        &|tx| tx.put(ROOT, entry.id.to_hex(), entry.value()).unwrap(),
    ];
    for act in acts {
        let mut evil = copy(&victim);
        edit(&mut evil, act);
        assert_eq!(attack(&victim, evil).code, ViolationCode::ForeignKey);
    }
}

#[test]
fn values_that_are_no_events() {
    let victim = victim();
    let key = entries(6, [1]).remove(0).id.to_hex();
    let large = vec![0; 64 * 1024 + 1];
    let values: [(ScalarValue, ViolationCode); 4] = [
        (ScalarValue::Bytes(vec![0; 63]), ViolationCode::BadValue),
        ("text".into(), ViolationCode::BadValue),
        (ScalarValue::counter(3), ViolationCode::BadValue),
        (ScalarValue::Bytes(large), ViolationCode::TooBig),
    ];
    for (value, code) in values {
        let mut evil = copy(&victim);
        edit(&mut evil, |tx| tx.put(entry_map(), key.clone(), value).unwrap());
        assert_eq!(attack(&victim, evil).code, code);
    }
}

#[test]
fn lists_counters_and_other_maps() {
    let victim = victim();
    let acts: [&dyn Fn(&mut Transaction<'_>); 3] = [
        &|tx| _ = tx.put_object(entry_map(), "l", ObjType::List).unwrap(),
        &|tx| _ = tx.put_object(ROOT, "e", ObjType::Map).unwrap(),
        &|tx| {
            let text = tx.put_object(ROOT, "t", ObjType::Text).unwrap();
            tx.splice_text(text, 0, 0, "spam").unwrap();
        },
    ];
    for act in acts {
        let mut evil = copy(&victim);
        edit(&mut evil, act);
        assert_eq!(attack(&victim, evil).code, ViolationCode::NotAPut);
    }
}

#[test]
fn two_changes_under_one_actor_and_number() {
    // The cause is a restored backup, a cloned machine or malice. automerge itself can never merge the two copies.
    let actor = ActorId::from(&[5; 16]);
    let with = |seq| {
        let mut doc = IndexDocument::empty().doc.with_actor(actor.clone());
        edit(&mut doc, |tx| put(tx, &entries(6, [seq])[0]));
        doc
    };
    let victim = IndexDocument { doc: with(1), ..holding(&entries(6, [1])) };
    assert_eq!(attack(&victim, with(2)).code, ViolationCode::DuplicateSeq);
    // Each is sent in a session of its own, in which it is valid.
    let main = IndexDocument::empty();
    let (one, other) = (
        IndexDocument { doc: with(1), ..holding(&entries(6, [1])) },
        IndexDocument { doc: with(2), ..holding(&entries(6, [2])) },
    );
    let ((mut a, first), (mut from_one, _)) = (main.begin_exchange(None, true), one.begin_exchange(None, false));
    talk(&mut a, &mut from_one, [first, None]).unwrap();
    let ((mut b, first), (mut from_other, _)) = (main.begin_exchange(None, true), other.begin_exchange(None, false));
    talk(&mut b, &mut from_other, [first, None]).unwrap();
    let main = a.finish(&main).unwrap().0.document;
    let before = main.summary();
    assert_eq!(b.finish(&main).unwrap_err().code, ViolationCode::DuplicateSeq);
    assert_eq!(main.summary(), before);
    // Nobody writes as the actor that began every document.
    let mut evil = IndexDocument::empty().doc.with_actor(ActorId::from(GENESIS_ACTOR));
    edit(&mut evil, |tx| put(tx, &entries(6, [1])[0]));
    assert_eq!(attack(&IndexDocument::empty(), evil).code, ViolationCode::DuplicateSeq);
}

#[test]
fn a_counter_near_its_end() {
    let victim = victim();
    for first in [u64::from(u32::MAX) - 1, MAX_OPS, MAX_OPS - 5] {
        let change = ExpandedChange { start_op: first.try_into().unwrap(), ..by_hand(&victim) };
        let (mut exchange, _) = victim.begin_exchange(None, true);
        let code = match exchange.receive(&bring(change)) {
            Ok(_) => exchange.finish(&victim).map(|_| ()).unwrap_err().code,
            Err(violation) => violation.code,
        };
        assert_eq!(code, ViolationCode::Counter, "{first}");
    }
    // A counter that goes back to numbers that its actor has used.
    let change = ExpandedChange { start_op: 2.try_into().unwrap(), ..by_hand(&victim) };
    let (mut exchange, _) = victim.begin_exchange(None, true);
    let ended = exchange.receive(&bring(change)).and_then(|_| exchange.finish(&victim).map(|_| ()));
    assert_eq!(ended.unwrap_err().code, ViolationCode::Counter);
}

#[test]
fn a_compressed_bomb() {
    // 9 MiB of zeros are 9 KB here. The form is rejected before a byte is decompressed.
    let victim = victim();
    let mut doc = copy(&victim);
    edit(&mut doc, |tx| tx.put(ROOT, "x", vec![0; 9 * 1024 * 1024]).unwrap());
    let mut change = doc.get_last_local_change().unwrap();
    assert_eq!(refused(&message(vec![change.raw_bytes().to_vec()])), ViolationCode::TooBig);
    let compressed = change.bytes().to_vec();
    assert!(compressed.len() < 16 * 1024 && compressed[8] == 2);
    assert_eq!(refused(&message(vec![compressed.clone()])), ViolationCode::Chunk);
    let honest = Change::from(by_hand(&victim)).raw_bytes().to_vec();
    assert_eq!(refused(&message(vec![honest, compressed])), ViolationCode::Chunk);
}

#[test]
fn whole_documents_and_newer_messages() {
    let victim = victim();
    let mut evil = copy(&victim);
    edit(&mut evil, |tx| put(tx, &entries(6, [1])[0]));
    assert_eq!(refused(&message(vec![evil.save()])), ViolationCode::Chunk);
    let bundle = evil.bundle(evil.get_changes(&[]).iter().map(Change::hash)).unwrap();
    assert_eq!(refused(&message(vec![bundle.bytes().to_vec()])), ViolationCode::Chunk);
    // A message that announces other versions, and one of another version.
    let mut state = State::new();
    let offering = evil.generate_sync_message(&mut state).unwrap();
    assert!(offering.flags.is_some());
    assert_eq!(refused(&offering.clone().encode()), ViolationCode::Version);
    let newer = Message { version: automerge::sync::MessageVersion::V2, ..offering };
    assert_eq!(refused(&newer.encode()), ViolationCode::Version);
}

/// A chunk with its magic bytes, checksum and length around a body.
fn sealed(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut length = Vec::new();
    number(&mut length, body.len() as u64);
    let hash = Sha256::new().chain_update([kind]).chain_update(&length).chain_update(body).finalize();
    [&[0x85, 0x6f, 0x4a, 0x83], &hash[..4], &[kind], &length, body].concat()
}

fn number(to: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// A change of `count` operations of one kind on the map of entries or on a list, in a few bytes.
fn bomb(count: u64, action: u64, key: Option<&str>) -> Vec<u8> {
    let mut columns: Vec<(u64, Vec<u8>)> = Vec::new();
    // A run is its length and the value.
    let run = |value: &[u8]| {
        let mut run = Vec::new();
        number(&mut run, count);
        // Signed numbers end with a bit that is not set.
        if run.last().is_some_and(|last| last & 0x40 != 0) {
            *run.last_mut().unwrap() |= 0x80;
            run.push(0);
        }
        run.extend(value);
        run
    };
    columns.push((0x01, run(&[1])));
    columns.push((0x02, run(&[ENTRIES as u8])));
    if let Some(key) = key {
        columns.push((0x15, run(&[&[key.len() as u8], key.as_bytes()].concat())));
    }
    let mut all = Vec::new();
    number(&mut all, count);
    columns.push((0x34, all));
    columns.push((0x42, run(&[action as u8])));
    columns.push((0x56, run(&[0])));
    columns.push((0x70, run(&[0])));
    let mut body = vec![0, 16];
    body.extend([5; 16]);
    body.extend([1, 3, 0, 0, 1, 16]);
    body.extend(GENESIS_ACTOR);
    number(&mut body, columns.len() as u64);
    for (kind, data) in &columns {
        number(&mut body, *kind);
        number(&mut body, data.len() as u64);
    }
    for (_, data) in &columns {
        body.extend(data);
    }
    sealed(1, &body)
}

#[test]
fn a_million_operations_in_a_hundred_bytes() {
    let key = "k".repeat(64);
    // The form is valid: automerge itself reads such a change, and would loop as often as it declares.
    let small = bomb(1000, 1, Some(&key));
    assert_eq!(Change::try_from(&small[..]).unwrap().len(), 1000);
    for count in [257, 1_000_000, 1_000_000_000_000] {
        for chunk in [bomb(count, 1, Some(&key)), bomb(count, 3, None), bomb(count, 1, None)] {
            assert!(chunk.len() < 220, "{} bytes", chunk.len());
            assert_eq!(refused(&message(vec![chunk])), ViolationCode::OpBomb, "{count}");
        }
    }
    // A run of nulls instead of actions, and a change without operations.
    let empty = Change::from(ExpandedChange { operations: vec![], ..by_hand(&victim()) });
    assert_eq!(refused(&message(vec![empty.raw_bytes().to_vec()])), ViolationCode::OpBomb);
}

#[test]
fn more_operations_than_a_change_may_bring() {
    let victim = victim();
    let mut evil = copy(&victim);
    edit(&mut evil, |tx| entries(6, 0..257).iter().for_each(|entry| put(tx, entry)));
    assert_eq!(attack(&victim, evil).code, ViolationCode::OpBomb);
}

#[test]
fn orphans_are_not_kept() {
    let victim = victim();
    let mut evil = copy(&victim);
    edit(&mut evil, |tx| put(tx, &entries(6, [1])[0]));
    let missing = evil.get_heads();
    let mut orphans = Vec::new();
    for seq in 2..40 {
        edit(&mut evil, |tx| put(tx, &entries(6, [seq])[0]));
        orphans.push(evil.get_last_local_change().unwrap().raw_bytes().to_vec());
    }
    let before = victim.doc.save();
    let (mut exchange, _) = victim.begin_exchange(None, true);
    let step = exchange.receive(&message(orphans)).unwrap();
    assert!(!step.converged);
    assert_eq!(exchange.finish(&victim).unwrap_err().code, ViolationCode::Gaps);
    assert_eq!(victim.doc.save(), before);
    assert!(victim.doc.get_missing_deps(&missing).len() == 1);
}

#[test]
fn texts_times_and_authors_on_changes() {
    let victim = victim();
    let changes = [
        ExpandedChange { message: Some("read me".into()), ..by_hand(&victim) },
        ExpandedChange { time: 1, ..by_hand(&victim) },
        ExpandedChange { extra_bytes: vec![1; 90_000], ..by_hand(&victim) },
        ExpandedChange { actor_id: ActorId::from(&[1; 5]), ..by_hand(&victim) },
    ];
    for change in changes {
        assert_eq!(refused(&bring(change)), ViolationCode::Metadata);
    }
    // An operation on a list that is attributed to another actor.
    let stranger = Id::new(7, &ActorId::from(&[8; 16]));
    let mut change = by_hand(&victim);
    change.operations[0].obj = ObjectId::Id(stranger);
    assert_eq!(refused(&bring(change)), ViolationCode::ForeignKey);
    let mut change = by_hand(&victim);
    let op =
        Op { action: OpType::Delete, key: Key::Map("e".into()), obj: ObjectId::Root, ..change.operations[0].clone() };
    change.operations.push(op);
    assert_eq!(refused(&bring(change)), ViolationCode::Delete);
}

#[test]
fn a_change_with_a_wrong_checksum() {
    let mut chunk = Change::from(by_hand(&victim())).raw_bytes().to_vec();
    chunk[5] ^= 1;
    assert_eq!(refused(&message(vec![chunk])), ViolationCode::Malformed);
}

#[test]
fn filters_that_only_cost_time() {
    let with = |filter: &[u8]| {
        let mut bytes = vec![0x42, 0, 0, 1, 0];
        number(&mut bytes, filter.len() as u64);
        bytes.extend(filter);
        bytes.push(0);
        bytes
    };
    let many_probes = [&[1, 10][..], &[0xff, 0xff, 0xff, 0xff, 0x0f], &[0, 0]].concat();
    for filter in [&[0, 10, 7][..], &[1, 0, 7], &many_probes, &[1, 10, 7, 0], &[1, 10, 7, 0, 0, 0]] {
        assert_eq!(refused(&with(filter)), ViolationCode::Malformed, "{filter:?}");
    }
    let (mut exchange, _) = victim().begin_exchange(None, true);
    exchange.receive(&with(&[1, 10, 7, 0, 0])).unwrap();
}

#[test]
fn counts_that_claim_more_than_there_is() {
    let endless = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
    for place in 1..5 {
        let mut bytes = vec![0x42];
        bytes.extend(vec![0; place - 1]);
        bytes.extend(endless);
        let code = refused(&bytes);
        assert!(matches!(code, ViolationCode::Malformed | ViolationCode::TooBig), "{place}: {code}");
    }
    assert_eq!(refused(&[]), ViolationCode::Malformed);
    assert_eq!(refused(&vec![0x42; crate::sync::preflight::MAX_MESSAGE + 1]), ViolationCode::TooBig);
}
