//! The status of the teams, from the engine and the network.

use std::{
    collections::{BTreeMap, HashMap},
    time::Duration,
};

use super::{
    Teams,
    find_team::{KnownTeam, scopes_of},
    mode,
};
use crate::{
    api::{ApiError, BoundScope, PeerPath, PeerState, PeerView, Peers, ScopeStatus, SyncMode, SyncStatus, TeamStatus},
    domain::{
        DeviceId, EventId, Scope,
        ago::span,
        roster::{Granted, Member, MemberState},
    },
    engine::TeamNotes,
    store::{PeerRow, StoreError, TeamScopeRow},
    sync::{
        endpoint::{NetworkMode, PathKind},
        service::{NetworkStatus, PeerStatus},
        session::SessionPhase,
    },
};

/// The difference of clocks from which it is reported.
const MIN_CLOCK_SKEW: Duration = Duration::from_mins(5);

/// The stored state of a team.
struct Stored {
    team: KnownTeam,
    /// The scopes, each with its number of quarantined events.
    scopes: Vec<(TeamScopeRow, usize)>,
    peers: HashMap<DeviceId, PeerRow>,
    quarantined: usize,
    /// The number of quarantined events by the device that sent them.
    quarantined_by: BTreeMap<Option<DeviceId>, usize>,
    notes: TeamNotes,
}

impl Teams {
    /// Returns the status of the teams.
    pub(in crate::daemon) async fn status(&self) -> Result<SyncStatus, ApiError> {
        let network = self.service.status();
        let open: HashMap<Scope, usize> = {
            let scopes = self.engine(crate::engine::Engine::scopes).await?.items;
            scopes.into_iter().map(|view| (view.scope, view.open_cards)).collect()
        };
        let me = self.me();
        let mut teams: Vec<_> = self.stored().await?.iter().map(|stored| team(stored, &network, &open, me)).collect();
        teams.sort_by(|a, b| a.name.cmp(&b.name).then(a.id.cmp(&b.id)));
        let in_a_team = !teams.is_empty();
        let has_peer = teams.iter().flat_map(|team| &team.peers).any(|peer| peer.state == PeerState::Active);
        teams.extend(self.left().await?);
        let chosen = self.choice.mode();
        let mode = mode::api_mode(current_mode(network.mode, chosen, has_peer));
        Ok(SyncStatus {
            mode,
            says: says(mode, chosen, in_a_team),
            device: Some(me),
            addresses: network.addresses.clone(),
            problems: network.problems.clone(),
            teams,
            pending: self.pending().items.len(),
        })
    }

    /// Returns the devices of all teams, this one first in each.
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
            let read = |team: KnownTeam| {
                let notes = engine.team_notes(team.id)?;
                engine.sync_read(|reader| {
                    let mut peers = reader.peers(Some(&team.id))?;
                    let unsent = reader.unsent(&team.id, &peers, &team.roster)?;
                    for row in &mut peers {
                        // What was written since then.
                        row.ahead = row.ahead.max(unsent.get(&row.device).copied().unwrap_or_default());
                    }
                    let count = |row: TeamScopeRow| {
                        let quarantined = reader.quarantined_count_in(&team.id, &row.scope)?;
                        Ok((row, quarantined))
                    };
                    let quarantined_by = reader.quarantined_by(&team.id)?;
                    Ok(Stored {
                        scopes: reader
                            .team_scopes(&team.id)?
                            .into_iter()
                            .map(count)
                            .collect::<Result<_, StoreError>>()?,
                        peers: peers.into_iter().map(|row| (row.device, row)).collect(),
                        quarantined: quarantined_by.values().sum(),
                        quarantined_by,
                        notes,
                        team,
                    })
                })
            };
            teams.into_iter().map(read).collect()
        })
        .await
    }

    /// Returns the teams that this device has left, and why, latest first.
    async fn left(&self) -> Result<Vec<TeamStatus>, ApiError> {
        let teams = self.past_teams().await?;
        let mut ended = self
            .engine(move |engine| {
                let end = |team: KnownTeam| {
                    let ended = engine.team_end(team.id)?;
                    Ok(TeamStatus { ended, ..TeamStatus::new(team.id, team.roster.name()) })
                };
                teams.into_iter().map(end).collect::<Result<Vec<_>, ApiError>>()
            })
            .await?;
        ended.sort_by_key(|team| std::cmp::Reverse(team.ended.as_ref().map(|end| end.at)));
        Ok(ended)
    }
}

/// Returns the mode, given that of the endpoint. Without a peer, the device does not listen, whatever mode was chosen.
/// With one, the endpoint is off only while the daemon starts.
fn current_mode(bound: NetworkMode, chosen: Option<NetworkMode>, has_peer: bool) -> NetworkMode {
    match bound {
        NetworkMode::Off if has_peer => chosen.unwrap_or(NetworkMode::Lan),
        bound => bound,
    }
}

/// Explains the mode.
fn says(mode: SyncMode, chosen: Option<NetworkMode>, in_a_team: bool) -> String {
    if mode != SyncMode::Off || chosen == Some(NetworkMode::Off) {
        return mode.meaning().to_owned();
    }
    let until = if in_a_team { "invite a device" } else { "invite a device or join a team" };
    format!("Nothing is sent or received until you {until}")
}

fn team(stored: &Stored, network: &NetworkStatus, open: &HashMap<Scope, usize>, me: DeviceId) -> TeamStatus {
    let roster = &stored.team.roster;
    let scopes: Vec<_> =
        stored.scopes.iter().filter(|(row, _)| !row.is_roster).map(|(row, held)| scope(row, *held, open)).collect();
    let peers: Vec<_> = peers(stored, network, me).into_iter().filter(|peer| !peer.you).collect();
    let mut connected = peers.iter().filter(|peer| peer.connected).peekable();
    let anyone = connected.peek().is_some();
    let whole = stored.quarantined == 0 && stored.notes.forks == 0 && stored.notes.kept.iter().all(|kept| kept.before);
    TeamStatus {
        kept: stored.notes.kept.clone(),
        role: roster.role(&me),
        quarantined: stored.quarantined,
        forks: stored.notes.forks,
        problems: stored.notes.says.clone(),
        open_cards: scopes.iter().map(|scope| scope.open_cards).sum(),
        in_sync: whole && anyone && connected.all(PeerView::is_in_sync),
        scopes,
        peers,
        ..TeamStatus::new(stored.team.id, roster.name())
    }
}

fn scope(row: &TeamScopeRow, quarantined: usize, open: &HashMap<Scope, usize>) -> ScopeStatus {
    ScopeStatus {
        bound: BoundScope { scope: row.scope.clone(), local: row.local.clone() },
        events: row.events,
        digest: hex::encode(row.digest.0),
        quarantined,
        open_cards: open.get(&row.local).copied().unwrap_or_default(),
    }
}

/// Returns the devices of a team, active members first.
fn peers(stored: &Stored, network: &NetworkStatus, me: DeviceId) -> Vec<PeerView> {
    // In mode `off` the state of the last attempts explains nothing.
    let live = network.peers.iter().filter(|peer| peer.team == stored.team.id && network.mode != NetworkMode::Off);
    let live: HashMap<_, _> = live.map(|peer| (peer.device, peer)).collect();
    let mut peers: Vec<_> = stored
        .team
        .roster
        .members()
        .map(|member| {
            let (live, row) = (live.get(&member.device).copied(), stored.peers.get(&member.device));
            let quarantined = stored.quarantined_by.get(&Some(member.device)).copied().unwrap_or_default();
            PeerView { quarantined, ..peer(stored.team.id, member, live, row, me) }
        })
        .collect();
    peers.sort_by(|a, b| (a.state != PeerState::Active, &a.name).cmp(&(b.state != PeerState::Active, &b.name)));
    peers
}

fn peer(team: EventId, member: &Member, live: Option<&PeerStatus>, row: Option<&PeerRow>, me: DeviceId) -> PeerView {
    let connected = live.is_some_and(|live| live.session.is_some());
    let problem = live.and_then(|live| live.problem.as_ref()).filter(|problem| !connected || !problem.transient);
    let skew = live.and_then(|live| live.clock_skew_ms);
    let wrong_clock = skew.and_then(|ahead| clock(&member.name, ahead));
    let refused = live.map_or(0, |live| live.not_accepted);
    let other = wrong_clock.or_else(|| explain_quarantine(&member.name, refused));
    let needs_person = problem.map_or(other.is_some(), |problem| !problem.transient);
    let (last_error, advice) = match (problem, other) {
        (Some(problem), _) => (Some(problem.message.clone()), problem.advice.clone()),
        (None, Some((words, advice))) => (Some(words), Some(advice)),
        (None, None) => (None, None),
    };
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
            PathKind::Lan => PeerPath::Lan,
            PathKind::Direct => PeerPath::Direct,
            PathKind::Relay => PeerPath::Relay,
        }),
        latency_ms: route.map(|route| route.rtt.as_secs_f64() * 1e3),
        sent_bytes: live.map_or(0, |live| live.traffic.sent),
        received_bytes: live.map_or(0, |live| live.traffic.received),
        addresses: live.map(|live| live.addresses.iter().map(ToString::to_string).collect()).unwrap_or_default(),
        last_seen: live.and_then(|live| live.last_seen).or_else(|| row.and_then(|row| row.last_seen)),
        last_sync: live.and_then(|live| live.last_sync).or_else(|| row.and_then(|row| row.last_sync)),
        we_lack: live.map_or_else(|| row.map_or(0, |row| row.behind), |live| live.missing_here),
        // A peer that is not connected is not compared, so what it lacks is counted in the store.
        they_lack: live
            .map_or(0, |live| live.missing_at_peer)
            .max(row.filter(|_| !connected).map_or(0, |row| row.ahead)),
        digests_equal: live.is_some_and(|live| live.in_sync && live.session == Some(SessionPhase::Live)),
        quarantined: 0,
        not_taken: usize::try_from(refused).unwrap_or(usize::MAX),
        clock_ahead_ms: skew,
        last_error,
        advice,
        needs_person,
    }
}

/// Explains that a peer has events of this device in quarantine.
fn explain_quarantine(name: &str, events: u64) -> Option<(String, String)> {
    let what = match events {
        0 => return None,
        1 => "The peer has quarantined 1 event from this device".to_owned(),
        _ => format!("The peer has quarantined {events} events from this device"),
    };
    let advice = format!(
        "`ergo sync quarantine list` on {name} shows why. Events dated in the future are accepted when their date \
            comes; an admin can accept the others"
    );
    Some((what, advice))
}

/// Explains a difference of clocks; `None` if it is less than [`MIN_CLOCK_SKEW`].
fn clock(name: &str, ahead_ms: i64) -> Option<(String, String)> {
    let apart = Duration::from_millis(ahead_ms.unsigned_abs());
    if apart < MIN_CLOCK_SKEW {
        return None;
    }
    // Rounded to a minute, so that both devices name the same duration although they measure it with a delay.
    let long = span(apart.as_secs().saturating_add(30))?;
    let (side, whose, at) = if ahead_ms > 0 { ("ahead of", name, "here") } else { ("behind", "this device", "there") };
    let words = format!("its clock is {long} {side} this device's");
    let advice = format!(
        "correct the wrong clock; events from {whose} dated more than a day ahead stay in quarantine {at} until their date comes"
    );
    Some((words, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_team_with_peers_is_not_told_to_invite_one_while_the_daemon_starts() {
        let says = |chosen, in_a_team, has_peer| {
            says(mode::api_mode(current_mode(NetworkMode::Off, chosen, has_peer)), chosen, in_a_team)
        };
        assert_eq!(says(None, true, true), SyncMode::Lan.meaning());
        assert_eq!(says(Some(NetworkMode::Internet), true, true), SyncMode::Internet.meaning());
        assert_eq!(says(Some(NetworkMode::Off), true, true), SyncMode::Off.meaning());
        assert!(says(None, true, false).ends_with("until you invite a device"));
        assert!(says(None, false, false).ends_with("invite a device or join a team"));
    }

    #[test]
    fn a_wrong_clock_is_reported_with_what_to_do_and_minutes_are_not() {
        assert_eq!(clock("bobs", 60_000), None);
        assert_eq!(clock("bobs", -60_000), None);
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let (words, advice) = clock("bobs", 10 * DAY).unwrap();
        assert_eq!(words, "its clock is 1 week ahead of this device's");
        assert!(advice.contains("correct the wrong clock") && advice.contains("events from bobs"), "{advice}");
        let (behind, ahead) = (clock("bobs", -2 * DAY + 900).unwrap().0, clock("bobs", 2 * DAY + 900).unwrap().0);
        assert!(behind.contains("2 days behind") && ahead.contains("2 days ahead"), "{behind}, {ahead}");
        let (words, advice) = clock("bobs", -3_600_000).unwrap();
        assert_eq!(words, "its clock is 1 hour behind this device's");
        assert!(advice.contains("events from this device") && advice.contains("in quarantine there"), "{advice}");
        assert_eq!(clock("bobs", i64::MIN).unwrap().0.split(' ').next_back(), Some("device's"));
    }
}
