//! A store of 100,000 claims, most of them written by agents, in which a great deal wants a person: reviews, warnings, what agents did
//! against the guard, cards.

use std::{fs, path::Path, sync::Arc};

use ed25519_dalek::SigningKey;
use ergo::{
    config::Paths,
    domain::{ClaimId, EventKind, OpId, Scope, derive::local},
    guard::StructuralPairCheck,
    store::{Act, EventDraft, Ref, Store, StoreOptions},
};
use ergo_bench::synth::Synth;

/// Active claims.
pub(crate) const CLAIMS: usize = 100_000;

/// Claims in one act.
const BATCH: usize = 100;

/// Of so many claims, one was stored with a warning.
const WARNED: usize = 5;

/// Of so many claims, one was written by an agent against the guard.
const FORCED: usize = 20;

/// Of so many claims, one rests on what changed.
const REVIEWED: usize = 10;

/// Of so many claims, one stands on a card that an audit opened.
const FOUND: usize = 50;

/// The key of the device that wrote it all.
pub(crate) fn key() -> SigningKey {
    SigningKey::from_bytes(&[7; 32])
}

/// The one scope of the store.
pub(crate) fn scope() -> Scope {
    Scope { org_id: "bench".into(), project: "store".into() }
}

/// Fills the store of a home, which has none yet, and gives it the key.
pub(crate) fn fill(home: &Path, claims: usize) {
    let paths = Paths::under(home);
    fs::write(paths.device_key(), hex::encode(key().to_bytes())).unwrap();
    let mut store =
        Store::open_with(&paths.store(), key(), Arc::new(StructuralPairCheck), StoreOptions { durable: false })
            .unwrap();
    let mut synth = Synth::new(1);
    let mut acts = 0;
    let mut commit = |drafts: Vec<EventDraft>| {
        acts += 1;
        let mut op = [0; 16];
        op[..8].copy_from_slice(&(acts as u64).to_be_bytes());
        let now = 1_700_000_000_000 + acts as u64;
        let agent = [Some("claude-code"), Some("codex"), None][acts % 3].map(str::to_owned);
        let act = Act { scope: scope(), identity: None, who: "ada".into(), agent, op: OpId(op), now, drafts };
        store.commit(act).unwrap().created
    };
    let mut next = 0;
    let mut assert = |synth: &mut Synth| {
        next += 1;
        let claim = synth.claim(next);
        EventDraft { claim_kind: Some(claim.kind), body: claim.body, ..EventDraft::new(EventKind::Assert, []) }
    };
    let mut premises: Vec<ClaimId> = Vec::new();
    let mut made = 0;
    while made < claims {
        let many = BATCH.min(claims - made);
        made += many;
        let mut drafts: Vec<EventDraft> = (0..many).map(|_| assert(&mut synth)).collect();
        for at in 0..many {
            if at % REVIEWED == 4 {
                drafts.push(EventDraft::new(EventKind::Depend, [Ref::Draft(at), Ref::Draft(0)]));
            }
            if at % WARNED == 1 {
                let warned = EventKind::Local(local::WARNED.into());
                drafts.push(EventDraft::new(warned, [Ref::Draft(at), Ref::Draft(at - 1)]));
            }
            if at % FORCED == 3 {
                let forced = EventKind::Local(local::FORCED.into());
                drafts.push(EventDraft::new(forced, [Ref::Draft(at), Ref::Draft(at - 1)]));
            }
            if at % FOUND == 2 {
                let found = EventKind::Local(local::FOUND.into());
                drafts.push(EventDraft::new(found, [Ref::Draft(at), Ref::Draft(at - 1)]));
            }
        }
        premises.push(commit(drafts)[0]);
    }
    for premises in premises.chunks(BATCH) {
        let gone = premises.iter().map(|premise| {
            let mut gone = EventDraft::new(EventKind::Retract, [Ref::Id(*premise)]);
            gone.body.reason = Some("it never was so".into());
            gone
        });
        commit(gone.collect());
    }
}
