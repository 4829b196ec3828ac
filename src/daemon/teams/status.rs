//! How the teams stand: what the engine knows of them, and what the network does, in one answer.

use std::collections::HashMap;

use super::{
    Teams,
    lookup::{Known, scopes_of},
    mode,
};
use crate::{
    api::{ApiError, BoundScope, PeerPath, PeerState, PeerView, Peers, ScopeStatus, SyncMode, SyncStatus, TeamStatus},
    domain::{
        DeviceId, EventId, Scope,
        roster::{Granted, Member, MemberState},
    },
    store::{PeerRow, TeamScopeRow},
    sync::{
        endpoint::{Mode, Path},
        service::{PeerStatus, Status},
        session::Phase,
    },
};

/// What the store says of one team.
struct Stored {
    team: Known,
    scopes: Vec<TeamScopeRow>,
    peers: HashMap<DeviceId, PeerRow>,
    quarantined: usize,
}

impl Teams {
    /// How the teams stand.
    pub(in crate::daemon) async fn status(&self) -> Result<SyncStatus, ApiError> {
        let network = self.service.status();
        let open: HashMap<Scope, usize> = {
            let scopes = self.engine(crate::engine::Engine::scopes).await?.items;
            scopes.into_iter().map(|view| (view.scope, view.open_cards)).collect()
        };
        let me = self.me();
        let mut teams: Vec<_> = self.stored().await?.iter().map(|stored| team(stored, &network, &open, me)).collect();
        teams.sort_by(|a, b| a.name.cmp(&b.name).then(a.id.cmp(&b.id)));
        let mode = mode::said(network.mode);
        Ok(SyncStatus {
            mode,
            says: says(mode, self.choice.mode(), &teams),
            device: Some(me),
            addresses: network.addresses.clone(),
            problems: network.problems.clone(),
            teams,
            pending: self.pending().items.len(),
        })
    }

    /// Every device of every team, this one first in each.
    pub(in crate::daemon) async fn peers(&self) -> Result<Peers, ApiError> {
        let network = self.service.status();
        let me = self.me();
        let mut items = Vec::new();
        for stored in self.stored().await? {
            let mut peers = peers(&stored, &network, me);
            peers.sort_by_key(|peer| !peer.you);
            items.append(&mut peers);
        }
        Ok(Peers { items })
    }

    async fn stored(&self) -> Result<Vec<Stored>, ApiError> {
        let teams = self.teams().await?;
        self.engine(move |engine| {
            engine.sync_read(|reader| {
                teams
                    .into_iter()
                    .map(|team| {
                        let peers = reader.peers(Some(&team.id))?;
                        Ok(Stored {
                            scopes: reader.team_scopes(&team.id)?,
                            peers: peers.into_iter().map(|row| (row.device, row)).collect(),
                            quarantined: reader.quarantined_count(&team.id)?,
                            team,
                        })
                    })
                    .collect()
            })
        })
        .await
    }
}

/// The mode in words. Nothing listens before there is somebody to talk to, whatever the mode.
fn says(mode: SyncMode, chosen: Option<Mode>, teams: &[TeamStatus]) -> String {
    if mode != SyncMode::Off || chosen == Some(Mode::Off) {
        return mode.meaning().to_owned();
    }
    let until = if teams.is_empty() { "there is a team" } else { "somebody else is in the team" };
    format!("nothing is sent, and nothing listens, until {until}")
}

fn team(stored: &Stored, network: &Status, open: &HashMap<Scope, usize>, me: DeviceId) -> TeamStatus {
    let roster = &stored.team.roster;
    let scopes: Vec<_> = stored.scopes.iter().filter(|row| !row.is_roster).map(|row| scope(row, open)).collect();
    let peers: Vec<_> = peers(stored, network, me).into_iter().filter(|peer| !peer.you).collect();
    let mut connected = peers.iter().filter(|peer| peer.connected).peekable();
    let anyone = connected.peek().is_some();
    TeamStatus {
        id: stored.team.id,
        name: roster.name().to_owned(),
        role: roster.role(&me),
        quarantined: stored.quarantined,
        open_cards: scopes.iter().map(|scope| scope.open_cards).sum(),
        in_sync: stored.quarantined == 0 && anyone && connected.all(|peer| peer.digests_equal),
        scopes,
        peers,
    }
}

fn scope(row: &TeamScopeRow, open: &HashMap<Scope, usize>) -> ScopeStatus {
    ScopeStatus {
        bound: BoundScope { scope: row.scope.clone(), local: row.local.clone() },
        events: row.events,
        digest: hex::encode(row.digest.0),
        quarantined: row.quarantined,
        open_cards: open.get(&row.local).copied().unwrap_or_default(),
    }
}

/// The devices of a team, those that are in it first.
fn peers(stored: &Stored, network: &Status, me: DeviceId) -> Vec<PeerView> {
    let live: HashMap<_, _> =
        network.peers.iter().filter(|peer| peer.team == stored.team.id).map(|peer| (peer.device, peer)).collect();
    let mut peers: Vec<_> = stored
        .team
        .roster
        .members()
        .map(|member| {
            let (live, row) = (live.get(&member.device).copied(), stored.peers.get(&member.device));
            peer(stored.team.id, member, live, row, me)
        })
        .collect();
    peers.sort_by(|a, b| (a.state != PeerState::Active, &a.name).cmp(&(b.state != PeerState::Active, &b.name)));
    peers
}

fn peer(team: EventId, member: &Member, live: Option<&PeerStatus>, row: Option<&PeerRow>, me: DeviceId) -> PeerView {
    let connected = live.is_some_and(|live| live.session.is_some());
    let trouble = live.and_then(|live| live.trouble.as_ref()).filter(|trouble| !connected || !trouble.quiet);
    let route = live.and_then(|live| live.route.as_ref());
    PeerView {
        device: member.device,
        team,
        name: member.name.clone(),
        person: member.person.clone(),
        you: member.device == me,
        state: match member.state {
            MemberState::Active => PeerState::Active,
            MemberState::Left => PeerState::Left,
            MemberState::Revoked => PeerState::Revoked,
        },
        role: member.grant.role,
        scopes: match &member.grant.scopes {
            Granted::All => None,
            some @ Granted::Only(_) => Some(scopes_of(some)),
        },
        connected,
        path: route.map(|route| match route.path {
            Path::Lan => PeerPath::Lan,
            Path::Direct => PeerPath::Direct,
            Path::Relay => PeerPath::Relay,
        }),
        latency_ms: route.map(|route| route.rtt.as_secs_f64() * 1e3),
        sent_bytes: live.map_or(0, |live| live.traffic.sent),
        received_bytes: live.map_or(0, |live| live.traffic.received),
        addresses: live.map(|live| live.addresses.iter().map(ToString::to_string).collect()).unwrap_or_default(),
        last_seen: live.and_then(|live| live.last_seen).or_else(|| row.and_then(|row| row.last_seen)),
        last_sync: live.and_then(|live| live.last_sync).or_else(|| row.and_then(|row| row.last_sync)),
        we_lack: live.map_or_else(|| row.map_or(0, |row| row.behind), |live| live.we_lack),
        they_lack: live.map_or_else(|| row.map_or(0, |row| row.ahead), |live| live.they_lack),
        digests_equal: live.is_some_and(|live| live.equal && live.session == Some(Phase::Live)),
        last_error: trouble.map(|trouble| trouble.words.clone()),
        advice: trouble.and_then(|trouble| trouble.advice.clone()),
    }
}
