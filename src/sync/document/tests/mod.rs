//! Tests of documents with honest, interrupted and malicious peers.

mod attacks;
mod fuzz;
mod honest;
mod simulation;

use std::collections::BTreeSet;

use ed25519_dalek::SigningKey;

use super::{DocumentEntry, DocumentExchange, IndexDocument, NextDocument};
use crate::{
    domain::{Body, DeviceId, EventId, EventKind, Header, Hlc, OpId, Scope, SignedEvent, event::VERSION},
    sync::preflight::Violation,
};

/// The `seq`-th event of a device.
pub(crate) fn event(device: u8, seq: u64) -> SignedEvent {
    let key = SigningKey::from_bytes(&[device; 32]);
    let header = Header {
        version: VERSION,
        team: Some(EventId([9; 32])),
        scope: Scope { org_id: "acme".into(), project: "api".into() },
        author: DeviceId(key.verifying_key().to_bytes()),
        epoch: 1,
        seq,
        prev: None,
        clock: Hlc { wall: 1_790_000_000_000 + seq, count: 0 },
        kind: EventKind::Assert,
        op: OpId([device; 16]),
        targets: vec![],
        successor: None,
        seen: vec![EventId([3; 32])],
        claim_kind: None,
        key_hash: None,
        who: "ada".into(),
        agent: None,
        body_hash: EventId([0; 32]),
    };
    let body = Body { reason: Some(format!("because of {seq}")), ..Body::default() }.seal([device; 16]);
    SignedEvent::sign(header, body, &key).unwrap()
}

/// Entries of a device's events.
pub(crate) fn entries(device: u8, seqs: impl IntoIterator<Item = u64>) -> Vec<DocumentEntry> {
    seqs.into_iter().map(|seq| DocumentEntry::of(&event(device, seq))).collect()
}

/// A document with these entries.
pub(crate) fn holding(entries: &[DocumentEntry]) -> IndexDocument {
    IndexDocument::empty().with_entries(entries).unwrap().document
}

fn ids(document: &IndexDocument) -> BTreeSet<EventId> {
    document.ids().collect()
}

/// Exchanges messages until both sides have converged. Returns the number of messages.
fn talk(a: &mut DocumentExchange, b: &mut DocumentExchange, first: [Option<Vec<u8>>; 2]) -> Result<usize, Violation> {
    let [mut to_b, mut to_a] = first;
    let (mut a_done, mut b_done, mut messages) = (false, false, 0);
    while to_a.is_some() || to_b.is_some() {
        if let Some(bytes) = to_b.take() {
            let step = b.receive(&bytes)?;
            (b_done, messages) = (step.converged, messages + 1);
            to_a = step.reply.or(to_a);
        }
        if let Some(bytes) = to_a.take() {
            let step = a.receive(&bytes)?;
            (a_done, messages) = (step.converged, messages + 1);
            to_b = step.reply;
        }
        assert!(messages < 100, "they talk without end");
    }
    assert!(a_done && b_done, "they stopped talking before they agreed");
    Ok(messages)
}

/// Runs a whole exchange that `a` begins. Returns the next state of each document.
fn exchange_once(a: &IndexDocument, b: &IndexDocument) -> (NextDocument, NextDocument) {
    let ((mut from_a, first), (mut from_b, _)) = (a.begin_exchange(None, true), b.begin_exchange(None, false));
    talk(&mut from_a, &mut from_b, [first, None]).unwrap();
    (from_a.finish(a).unwrap().0, from_b.finish(b).unwrap().0)
}
