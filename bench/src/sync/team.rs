//! The initial state: a team, its claims, and their index.

use std::{io::Write, sync::Arc, time::Instant};

use flate2::{Compression, write::DeflateEncoder};
use tokio::sync::mpsc;

use super::{
    Options,
    laptop::{Laptop, scope},
};
use crate::{store::BenchError, store_synth as synth};
use ergo::{
    api::CreateTeamRequest,
    domain::{
        Body, ClaimKind, EventId, EventKind, OpId, Qualifiers,
        roster::{Grant, Granted, Role},
    },
    engine::Engine,
    guard::Guard,
    store::{Act, EventDraft},
    sync::{
        index,
        service::EngineDocumentStore,
        session::{SessionLimits, SyncContext},
        worker::{self, Documents},
    },
};

/// Claims in one act while the store is filled.
const BATCH: usize = 500;

/// Events that are read at once.
const PAGE: usize = 1_000;

/// What the first device has.
pub(super) struct Filled {
    pub(super) team: EventId,
    /// Seconds that putting the events into the replication index took.
    pub(super) index_s: f64,
    /// Bytes of the events: headers, signatures, bodies.
    pub(super) bytes: u64,
    /// The same, deflated as one stream.
    pub(super) deflated: u64,
}

/// Makes a team of two in both stores; the first writes its claims, and the second knows nothing but the roster.
pub(super) async fn found(ada: &Laptop, bob: &Laptop, options: &Options) -> Result<Filled, BenchError> {
    let engine = Arc::new(ada.engine()?);
    let request = CreateTeamRequest {
        caller: ada.caller(),
        name: "bench".into(),
        device_name: Some("ada-laptop".into()),
        scopes: vec![scope()],
    };
    let team = engine.create_team(&request)?.id;
    let grant = Grant { role: Role::Writer, scopes: Granted::All };
    let (_, roster) = engine.add_member(&ada.caller(), None, bob.device(), "bob", "bob-laptop", &grant)?;
    bob.engine()?.join_team(&bob.caller(), team, &roster, Some(ada.device()), &[], &[])?;
    fill(&engine, "ada", 0..options.claims)?;
    let begin = Instant::now();
    let (peer_events, _none) = mpsc::unbounded_channel();
    let worker = worker::WorkerOptions { program: options.program.clone(), ..worker::WorkerOptions::standard() };
    let documents = Documents::new(worker, Arc::new(EngineDocumentStore::new(Arc::clone(&engine))));
    let context = SyncContext {
        engine: Arc::clone(&engine),
        documents,
        instance: 1,
        limits: SessionLimits::default(),
        peer_events,
    };
    index::flush(&context, team).await.map_err(|failed| BenchError::Index(failed.message))?;
    let index_s = begin.elapsed().as_secs_f64();
    let (bytes, deflated) = size(&engine, team)?;
    Ok(Filled { team, index_s, bytes, deflated })
}

/// Writes claims past the guard, in few transactions.
pub(super) fn fill(engine: &Engine, who: &str, claims: std::ops::Range<usize>) -> Result<(), BenchError> {
    let guard = Guard::default();
    let numbers: Vec<usize> = claims.collect();
    for (batch, numbers) in numbers.chunks(BATCH).enumerate() {
        let mut op = [0; 16];
        op[..8].copy_from_slice(&(batch as u64 + 1).to_be_bytes());
        let act = Act {
            scope: scope(),
            identity: None,
            who: who.into(),
            agent: None,
            op: OpId(op),
            now: engine.now(),
            drafts: numbers.iter().map(|n| draft(&guard, *n)).collect(),
        };
        engine.with_store(|store| store.commit(act))?;
    }
    Ok(())
}

fn draft(guard: &Guard, n: usize) -> EventDraft {
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

/// Bytes of all events of the scope, plain and deflated.
fn size(engine: &Engine, team: EventId) -> Result<(u64, u64), BenchError> {
    let (mut plain, mut cursor) = (0, None);
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
    let mut take = |bytes: &[u8]| {
        plain += bytes.len() as u64;
        // It writes into memory.
        drop(packed.write_all(bytes));
    };
    loop {
        let page = engine.with_reader(|r| r.events_after(&team, &scope(), &[], cursor.as_ref(), PAGE))?;
        for event in &page.events {
            take(&event.header_bytes);
            take(&event.signature);
            if let Some(body) = &event.body {
                take(&body.salt);
                take(&body.bytes);
            }
        }
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let packed = packed.finish().map_or(0, |bytes| bytes.len() as u64);
    Ok((plain, packed))
}
