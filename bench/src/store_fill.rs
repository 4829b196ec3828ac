//! Fills stores with made-up claims. They skip the guard, since only later writes are measured.

use std::ops::Range;

use ergo::{
    domain::{Body, ClaimKind, EventKind, OpId, Qualifiers, Scope},
    guard::Guard,
    store::{Act, EventDraft, Ref, Store, VectorModel},
};

use crate::{error::BenchError, store::scope, store_synth as synth};

/// Claims per act.
pub(super) const CLAIMS_PER_ACT: usize = 500;

/// Returns the operation id of a numbered act of a measurement.
pub fn numbered_op(number: u64) -> OpId {
    let mut op = [0; 16];
    op[..8].copy_from_slice(&number.to_be_bytes());
    OpId(op)
}

/// Returns the draft of the event that asserts claim `n` of [`synth`] as a decision.
pub(super) fn claim_draft(guard: &Guard, n: usize) -> EventDraft {
    let statement = synth::statement(n);
    let normed = guard.normalise(&statement, &Qualifiers::default());
    let body = Body {
        reason: Some(synth::reason(n)),
        norms: Some(normed.norms),
        normaliser: Some(normed.version),
        statement: Some(statement),
        ..Body::default()
    };
    EventDraft { claim_kind: Some(ClaimKind::Decision), body, ..EventDraft::new(EventKind::Assert, []) }
}

/// Fills the scope of the measurements with the first claims, which do not contradict each other, and their vectors.
pub(super) fn fill(
    mut store: Store,
    claims: usize,
    model: &VectorModel,
    vector: &dyn Fn(usize) -> Vec<f32>,
) -> Result<(), BenchError> {
    fill_in(&mut store, &scope(), 0..claims, model, vector)
}

/// Fills a scope with the claims of these numbers, and their vectors.
pub(super) fn fill_in(
    store: &mut Store,
    scope: &Scope,
    numbers: Range<usize>,
    model: &VectorModel,
    vector: &dyn Fn(usize) -> Vec<f32>,
) -> Result<(), BenchError> {
    let guard = Guard::default();
    let numbers: Vec<usize> = numbers.collect();
    for (batch, numbers) in numbers.chunks(CLAIMS_PER_ACT).enumerate() {
        let act = Act {
            scope: scope.clone(),
            identity: None,
            who: "bench".into(),
            agent: None,
            op: numbered_op(numbers[0] as u64 + 1),
            now: 1_700_000_000_000 + batch as u64,
            drafts: numbers.iter().map(|n| claim_draft(&guard, *n)).collect(),
        };
        let vectors: Vec<_> = numbers.iter().enumerate().map(|(draft, n)| (Ref::Draft(draft), vector(*n))).collect();
        store.commit_with_vectors(act, model, &vectors)?;
        // The daemon embeds reasons, too, once nothing else is left to do.
        let mut reasons = numbers.iter().map(|n| vector(*n));
        loop {
            let waiting = store.look_at_reasons(CLAIMS_PER_ACT)?.waiting;
            if waiting.is_empty() {
                break;
            }
            let vectors: Vec<_> = waiting.into_iter().map(|(id, _)| (id, reasons.next())).collect();
            store.put_reason_vectors(model, &vectors)?;
        }
    }
    Ok(())
}
