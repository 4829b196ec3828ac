//! A sync round: dials peers and compares with them, for a person who waits for the result.

use std::{collections::HashMap, time::Duration};

use tokio::time::{Instant, timeout_at};

use super::Teams;
use crate::{
    api::{ApiError, PeerState, RoundPeer, RoundResult, SyncMode, SyncNowRequest, SyncRound, SyncStatus},
    domain::{DeviceId, EventId},
    sync::service::NetworkStatus,
};

/// The maximum time to wait for a round.
const MAX_WAIT: Duration = Duration::from_mins(10);

/// The number of events received from each peer.
type Received = HashMap<(EventId, DeviceId), u64>;

impl Teams {
    /// Dials or compares with every peer, or with one. Returns at once, or with the result if the request has
    /// `wait_ms`.
    pub(in crate::daemon) async fn sync_now(&self, request: SyncNowRequest) -> Result<SyncRound, ApiError> {
        let only = match &request.device {
            Some(named) => Some(self.device_in_any(named).await?),
            None => None,
        };
        if only == Some(self.me()) {
            return Err(ApiError::field("device", "a device cannot sync with itself").hint("name another, or none"));
        }
        let wait = request.wait_ms.map(|wait| Duration::from_millis(wait).min(MAX_WAIT));
        let end = Instant::now() + wait.unwrap_or_default();
        let before = received(&self.service.status());
        if wait.is_some() {
            self.wait_until_documented(end).await?;
        }
        let round = self.service.sync_now(only).await;
        let mut network = self.service.watch();
        let over = |status: &NetworkStatus| {
            let mut peers = status.peers.iter().filter(|peer| only.is_none_or(|only| only == peer.device));
            peers.all(|peer| peer.round >= round)
        };
        let done = wait.is_some() && matches!(timeout_at(end, network.wait_for(over)).await, Ok(Ok(_)));
        let after = received(&self.service.status());
        Ok(round_result(self.status().await?, only, done, &before, &after))
    }

    /// Waits until new events of this device are in the documents, through which peers receive them.
    async fn wait_until_documented(&self, end: Instant) -> Result<(), ApiError> {
        self.service.changed();
        let events_wait = || {
            self.engine(|engine| {
                engine.sync_read(|reader| {
                    for team in reader.teams()?.into_iter().filter(|team| team.left_at.is_none()) {
                        for row in reader.team_scopes(&team.id)? {
                            if !reader.undocumented(&team.id, &row.scope, 1)?.is_empty() {
                                return Ok(true);
                            }
                        }
                    }
                    Ok(false)
                })
            })
        };
        loop {
            // Created before the check, so that no attempt is missed.
            let flushed = self.service.flushed();
            if !events_wait().await? || timeout_at(end, flushed).await.is_err() {
                return Ok(());
            }
        }
    }
}

fn received(status: &NetworkStatus) -> Received {
    status.peers.iter().map(|peer| ((peer.team, peer.device), peer.received)).collect()
}

fn round_result(
    status: SyncStatus,
    only: Option<DeviceId>,
    done: bool,
    before: &Received,
    after: &Received,
) -> SyncRound {
    let peers_of_teams = status.teams.iter().filter(|team| team.ended.is_none()).flat_map(|team| &team.peers);
    let peers: Vec<RoundPeer> = peers_of_teams
        .filter(|peer| peer.state == PeerState::Active && only.is_none_or(|only| only == peer.device))
        .map(|peer| {
            let key = (peer.team, peer.device);
            let count = |of: &Received| of.get(&key).copied().unwrap_or_default();
            RoundPeer {
                result: match (peer.connected, peer.digests_equal && peer.not_taken == 0) {
                    (true, true) => RoundResult::InStep,
                    (true, false) => RoundResult::NotYet,
                    (false, _) => RoundResult::NotReached,
                },
                received: count(after).saturating_sub(count(before)),
                peer: peer.clone(),
            }
        })
        .collect();
    SyncRound { done, summary: summary(&peers, done, &status), peers, status }
}

fn summary(peers: &[RoundPeer], done: bool, status: &SyncStatus) -> String {
    let named = |result: RoundResult| {
        let names: Vec<_> = peers.iter().filter(|one| one.result == result).map(|one| one.peer.name.as_str()).collect();
        names.join(", ")
    };
    if peers.is_empty() {
        let team = status.teams.iter().any(|team| team.ended.is_none());
        return if team { "The team has no other device yet." } else { "This device is in no team." }.to_owned();
    }
    let kept_out = status.teams.iter().any(|team| team.quarantined > 0 || team.forks > 0);
    let in_step = if kept_out { "Same events, but problems remain (see `ergo sync status`):" } else { "In sync with" };
    let parts = [
        (RoundResult::InStep, in_step, ""),
        (RoundResult::NotYet, "Not in sync yet with", if done { "" } else { " (still running)" }),
        (RoundResult::NotReached, "Not reached:", ""),
    ];
    let mut lines: Vec<String> = parts
        .into_iter()
        .filter(|(result, ..)| peers.iter().any(|one| one.result == *result))
        .map(|(result, what, more)| format!("{what} {}{more}.", named(result)))
        .collect();
    if status.mode == SyncMode::Off {
        lines.push("Sync is off: `ergo sync mode lan` turns it on.".to_owned());
    }
    lines.join(" ")
}
