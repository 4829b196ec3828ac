//! Creates the team and its claims, and puts them into the replication index.

use std::{io::Write, ops::Range, sync::Arc, time::Instant};

use flate2::{Compression, write::DeflateEncoder};
use tokio::sync::mpsc;

use super::{
    SyncOptions,
    laptop::{Laptop, scope},
};
use crate::{
    error::BenchError,
    store_fill::{CLAIMS_PER_ACT, claim_draft, numbered_op},
};
use ergo::{
    api::CreateTeamRequest,
    domain::{
        EventId,
        roster::{Grant, Granted, Role},
    },
    engine::Engine,
    guard::Guard,
    store::Act,
    sync::{
        index,
        service::EngineDocumentStore,
        session::{SessionLimits, SyncContext},
        worker::{self, Documents},
    },
};

/// Events that are read at once.
const PAGE_SIZE: usize = 1_000;

/// What the first device has before the first sync.
pub(super) struct FilledTeam {
    pub(super) team: EventId,
    /// Seconds that it took to put the events into the replication index.
    pub(super) index_s: f64,
    /// Bytes of the events: headers, signatures, bodies.
    pub(super) bytes: u64,
    /// Bytes of the events, deflated as one stream.
    pub(super) deflated: u64,
}

/// Creates a team of two devices. The first one has all claims; the second one knows only the roster.
pub(super) async fn create(ada: &Laptop, bob: &Laptop, options: &SyncOptions) -> Result<FilledTeam, BenchError> {
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
    let (peer_events, _receiver) = mpsc::unbounded_channel();
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
    Ok(FilledTeam { team, index_s, bytes, deflated })
}

/// Stores claims without the guard, in few transactions.
pub(super) fn fill(engine: &Engine, who: &str, claims: Range<usize>) -> Result<(), BenchError> {
    let guard = Guard::default();
    let numbers: Vec<usize> = claims.collect();
    for (batch, numbers) in numbers.chunks(CLAIMS_PER_ACT).enumerate() {
        let act = Act {
            scope: scope(),
            identity: None,
            who: who.into(),
            agent: None,
            op: numbered_op(batch as u64 + 1),
            now: engine.now(),
            drafts: numbers.iter().map(|n| claim_draft(&guard, *n)).collect(),
        };
        engine.with_store(|store| store.commit(act))?;
    }
    Ok(())
}

/// Returns the bytes of all events of the scope, plain and deflated.
fn size(engine: &Engine, team: EventId) -> Result<(u64, u64), BenchError> {
    let (mut plain, mut cursor) = (0, None);
    let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
    let mut take = |bytes: &[u8]| {
        plain += bytes.len() as u64;
        // Writing into memory cannot fail.
        drop(packed.write_all(bytes));
    };
    loop {
        let page = engine.with_reader(|r| r.events_after(&team, &scope(), &[], cursor.as_ref(), PAGE_SIZE))?;
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
