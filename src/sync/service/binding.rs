//! The binding of the endpoint: the scheduler binds it while there are peers or pairing windows, and closes it after
//! the last of them.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::time::{Instant, sleep, timeout_at};

use super::{
    decisions,
    peers::Peer,
    scheduler::{Scheduler, SchedulerEvent},
    tasks::{self, EventSender},
};
use crate::sync::{
    endpoint::{EndpointOptions, NetworkMode, Transport, TransportError},
    session::SessionCommand,
};

/// The time in which sessions must end in order before the endpoint closes.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

impl Scheduler {
    /// Binds the endpoint if there is a peer or an open pairing window, and closes it if not.
    pub(super) async fn bind_if_needed(&mut self, has_peers: bool) {
        let mode = self.settings.mode.unwrap_or(NetworkMode::Lan);
        let wanted = mode != NetworkMode::Off && (has_peers || self.shared.pairing_windows.load(Ordering::Relaxed) > 0);
        if !wanted || self.is_resting() {
            self.problem = None;
            return self.unbind().await;
        }
        if self.transport.is_some() {
            self.problem = None;
            return;
        }
        let lease = self.settings.leases.as_ref().map(|folder| folder.join(format!("ergo-{}.lease", self.me.short())));
        let options = EndpointOptions {
            key: self.settings.key.clone(),
            mode,
            relay: self.settings.relay.clone(),
            port: self.settings.port,
            loopback: self.settings.loopback,
            lease,
        };
        let event_sender = EventSender::new(self.context.clone(), self.shared.events.clone());
        match Transport::bind(options, Arc::new(event_sender)).await {
            Ok(transport) => {
                self.problem = None;
                self.bind_failures = 0;
                self.transport = Some(Arc::new(transport));
            }
            Err(error) => {
                let problem = error.to_string();
                if self.problem.as_ref() != Some(&problem) {
                    tracing::warn!(%error, "cannot listen for peers");
                }
                self.problem = Some(problem);
                // The obstacle may be temporary, such as the last socket of this device that is still closing.
                self.bind_failures = self.bind_failures.saturating_add(1);
                let wait = decisions::backoff(self.bind_failures, tasks::chance());
                let events = self.shared.events.clone();
                let again = tokio::spawn(async move {
                    sleep(wait).await;
                    drop(events.send(SchedulerEvent::Refresh(None)));
                });
                if let Some(old) = self.rebind_task.replace(again.abort_handle()) {
                    old.abort();
                }
            }
        }
    }

    /// Ends all sessions in order, so that the peers don't see a failure, and closes the endpoint.
    pub(super) async fn unbind(&mut self) {
        let Some(transport) = self.transport.take() else { return };
        let deadline = Instant::now() + STOP_TIMEOUT;
        for peer in self.peers.values() {
            peer.send(SessionCommand::Stop);
        }
        for connection in self.peers.values().filter_map(Peer::connection) {
            drop(timeout_at(deadline, connection.closed()).await);
        }
        transport.close().await;
        tracing::info!("stopped listening for peers");
    }

    pub(super) fn bind_error(&self) -> TransportError {
        self.problem.clone().map_or(TransportError::Off, TransportError::Bind)
    }
}
