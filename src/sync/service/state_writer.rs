//! Stores what the scheduler knows of peers, and the addresses that were contacted. A task of its own, because it waits
//! for the write lock, and the scheduler must not.

use std::collections::HashMap;

use tokio::sync::{mpsc, oneshot};

use super::peers::PeerKey;
use crate::{store::PeerRow, sync::session::SyncContext};

/// The most writes that are combined.
const BATCH_SIZE: usize = 256;

/// A write, or a question about the writes before it.
pub(super) enum StateWrite {
    Peer(Box<PeerRow>),
    Contact {
        address: String,
        what: &'static str,
        /// In milliseconds since the Unix epoch.
        at: u64,
    },
    /// Is answered when all earlier writes are stored or have failed.
    Flush(oneshot::Sender<()>),
}

/// Stores what it receives, until the scheduler has ended. Of several rows of one peer, only the last is stored.
pub(super) async fn run(context: SyncContext, mut writes: mpsc::UnboundedReceiver<StateWrite>) {
    let mut received = Vec::new();
    while writes.recv_many(&mut received, BATCH_SIZE).await > 0 {
        let (mut peers, mut contacts, mut answers) = (HashMap::<PeerKey, _>::new(), Vec::new(), Vec::new());
        for write in received.drain(..) {
            match write {
                StateWrite::Peer(row) => drop(peers.insert((row.team, row.device), row)),
                StateWrite::Contact { address, what, at } => contacts.push((address, what, at)),
                StateWrite::Flush(done) => answers.push(done),
            }
        }
        if !peers.is_empty() || !contacts.is_empty() {
            store(&context, peers, contacts).await;
        }
        for done in answers {
            let _gone = done.send(());
        }
    }
}

/// Stores rows and contacts, each under a write lock of its own; nothing in a damaged store.
async fn store(
    context: &SyncContext,
    peers: HashMap<PeerKey, Box<PeerRow>>,
    contacts: Vec<(String, &'static str, u64)>,
) {
    let stored = context.engine(move |engine| {
        if engine.damage().is_some() {
            return Ok(());
        }
        for row in peers.into_values() {
            if let Err(error) = engine.sync_write(|store| store.write_peer(&row)) {
                tracing::warn!(%error, "cannot store the state of a peer");
            }
        }
        for (address, what, at) in contacts {
            if let Err(error) = engine.sync_write(|store| store.note_contact(&address, what, at)) {
                tracing::warn!(%error, "cannot store a contact");
            }
        }
        Ok(())
    });
    // A panic is logged there.
    drop(stored.await);
}
