//! A store of 100,000 claims, most of them written by agents, in which many items need attention: reviews, warnings, forced
//! writes of agents, cards.

use std::{path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use ergo::{
    domain::{ClaimId, EventKind, Scope, derive::local},
    guard::StructuralPairCheck,
    store::{Act, EventDraft, Ref, Store, StoreOptions},
};
use ergo_bench::{store_fill::numbered_op, synth::Synth};

/// Active claims.
pub(crate) const CLAIMS: usize = 100_000;

/// Claims per act.
const CLAIMS_PER_ACT: usize = 100;

/// One of this many claims was stored with a warning.
const ONE_WARNED_IN: usize = 5;

/// One of this many claims was written by an agent in spite of the guard.
const ONE_FORCED_IN: usize = 20;

/// One of this many claims rests on a retracted one.
const ONE_REVIEWED_IN: usize = 10;

/// One of this many claims is on a card that an audit opened.
const ONE_FOUND_IN: usize = 50;

/// Returns the key of the device that wrote all claims.
pub(crate) fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// Returns the only scope of the store.
pub(crate) fn scope() -> Scope {
    Scope { org_id: "bench".into(), project: "store".into() }
}

/// Creates the store.
pub(crate) fn fill(path: &Path, claims: usize) {
    let mut store =
        Store::open_with(path, key(), Arc::new(StructuralPairCheck), StoreOptions { durable: false }).unwrap();
    let mut synth = Synth::new(1);
    let mut acts = 0;
    let mut commit = |drafts: Vec<EventDraft>| {
        acts += 1;
        let now = 1_700_000_000_000 + acts as u64;
        let agent = [Some("claude-code"), Some("codex"), None][acts % 3].map(str::to_owned);
        let act =
            Act { scope: scope(), identity: None, who: "ada".into(), agent, op: numbered_op(acts as u64), now, drafts };
        store.commit(act).unwrap().created
    };
    let mut next = 0;
    let mut assert = |synth: &mut Synth| {
        next += 1;
        synth.claim(next).draft()
    };
    let mut premises: Vec<ClaimId> = Vec::new();
    let mut made = 0;
    while made < claims {
        let count = CLAIMS_PER_ACT.min(claims - made);
        made += count;
        let mut drafts: Vec<EventDraft> = (0..count).map(|_| assert(&mut synth)).collect();
        for at in 0..count {
            if at % ONE_REVIEWED_IN == 4 {
                drafts.push(EventDraft::new(EventKind::Depend, [Ref::Draft(at), Ref::Draft(0)]));
            }
            if at % ONE_WARNED_IN == 1 {
                let warned = EventKind::Local(local::WARNED.into());
                drafts.push(EventDraft::new(warned, [Ref::Draft(at), Ref::Draft(at - 1)]));
            }
            if at % ONE_FORCED_IN == 3 {
                let forced = EventKind::Local(local::FORCED.into());
                drafts.push(EventDraft::new(forced, [Ref::Draft(at), Ref::Draft(at - 1)]));
            }
            if at % ONE_FOUND_IN == 2 {
                let found = EventKind::Local(local::FOUND.into());
                drafts.push(EventDraft::new(found, [Ref::Draft(at), Ref::Draft(at - 1)]));
            }
        }
        premises.push(commit(drafts)[0]);
    }
    for premises in premises.chunks(CLAIMS_PER_ACT) {
        let gone = premises.iter().map(|premise| {
            let mut gone = EventDraft::new(EventKind::Retract, [Ref::Id(*premise)]);
            gone.body.reason = Some("it never was so".into());
            gone
        });
        commit(gone.collect());
    }
}
