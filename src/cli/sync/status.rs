//! `ergo sync status`: shows the sync state of all peers.

use super::{
    super::show::{text::count, time::ago},
    CliError, Context, Exit, Style,
};
use crate::{
    api::{PeerState, PeerView, Role, SyncMode, SyncStatus, TeamStatus},
    domain::text::{escape, sanitize_line},
};

/// Show the sync state of all teams and peers, and any problems.
#[derive(Debug, clap::Args)]
pub(super) struct Args {}

/// Runs `status`.
pub(super) async fn run(_args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let status = cx.client().await?.sync_status().await?;
    if cx.ui.json {
        cx.ui.value(&status);
    } else {
        show(cx, &status, Context::now());
    }
    Ok(Exit::Ok)
}

/// Shows what to do without a team.
pub(super) fn no_team(cx: &mut Context) {
    cx.ui.line("This device is in no team.");
    cx.ui.commands(&[
        ("ergo sync create NAME".to_owned(), "create a team".to_owned()),
        ("ergo sync join TICKET".to_owned(), "join a team".to_owned()),
    ]);
}

fn show(cx: &mut Context, status: &SyncStatus, now: u64) {
    let style = if status.mode == SyncMode::Internet { Style::Warn } else { Style::Good };
    let says = cx.ui.paint(style, sanitize_line(&status.says));
    cx.ui.line(says);
    if !status.addresses.is_empty() {
        cx.ui.field("listens at", &status.addresses.join(", "));
    }
    for problem in &status.problems {
        let label = cx.ui.paint(Style::Warn, "Note:");
        cx.ui.line(text!("{} {}", label, sanitize_line(problem)));
    }
    if status.teams.iter().all(|team| team.ended.is_some()) {
        no_team(cx);
    }
    for team in &status.teams {
        cx.ui.line("");
        show_team(cx, team, status.mode, now);
    }
    if status.pending > 0 {
        cx.ui.line("");
        let waits = if status.pending == 1 { "asks" } else { "ask" };
        cx.ui.line(text!("{} {} to join.", count(status.pending, "device", "devices"), waits));
        cx.ui.commands(&[("ergo sync pending".to_owned(), "list them and compare the words".to_owned())]);
    }
}

fn show_team(cx: &mut Context, team: &TeamStatus, mode: SyncMode, now: u64) {
    let name = cx.ui.paint(Style::Strong, escape(&team.name));
    if let Some(end) = &team.ended {
        cx.ui.line(text!("{}  {}", name, if end.left { "left" } else { "revoked" }));
        cx.ui.prose(2, Some(Style::Warn), &end.says);
        return;
    }
    let role = team.role.map_or("no longer a member", Role::as_str);
    cx.ui.line(text!("{}  {}", name, role));
    if team.role == Some(Role::Reader) && team.kept.is_empty() {
        cx.ui.line("  As a reader you receive the team's claims; what you write stays on this device.");
    }
    for scope in &team.scopes {
        let (theirs, here) = (escape(&scope.bound.scope.to_string()), escape(&scope.bound.local.to_string()));
        let name = if theirs == here { theirs } else { format!("{theirs}, on this device {here}") };
        cx.ui.line(text!("  {}: {}", name, count(scope.events, "event", "events")));
    }
    for peer in team.peers.iter().filter(|peer| peer.state == PeerState::Active) {
        show_peer(cx, peer, now);
    }
    let (style, verdict) = verdict(team, mode);
    let verdict = cx.ui.paint(style, verdict);
    cx.ui.line(text!("  {}", verdict));
    for problem in &team.problems {
        cx.ui.prose(2, Some(Style::Bad), problem);
    }
    for kept in &team.kept {
        cx.ui.prose(2, Some(if kept.before { Style::Dim } else { Style::Warn }), &kept.says);
    }
    if team.open_cards > 0 {
        cx.ui.line(text!("  {}: settle with `ergo tui`", count(team.open_cards, "open conflict", "open conflicts")));
    }
    if team.quarantined > 0 {
        cx.ui.commands(&[("ergo sync quarantine list".to_owned(), "see which events, and why".to_owned())]);
    }
}

/// Describes whether the team is in sync. With quarantined events it never is.
pub(super) fn verdict(team: &TeamStatus, mode: SyncMode) -> (Style, String) {
    let active: Vec<_> = team.peers.iter().filter(|peer| peer.state == PeerState::Active).collect();
    let connected = active.iter().filter(|peer| peer.connected).count();
    if team.quarantined > 0 {
        let what = count(team.quarantined, "event", "events");
        let was = if team.quarantined == 1 { "was" } else { "were" };
        return (Style::Bad, format!("Not in sync: {what} {was} received and not accepted."));
    }
    if team.forks > 0 {
        let where_ = count(team.forks, "place", "places");
        return (
            Style::Bad,
            format!("Not in sync: the history of a device forks in {where_}: its store was copied, or its key stolen."),
        );
    }
    let not_taken = team.not_taken();
    if not_taken > 0 {
        let (what, are) = (count(not_taken, "event", "events"), if not_taken == 1 { "is" } else { "are" });
        return (Style::Bad, format!("Not in sync: {what} of this device {are} in a peer's quarantine."));
    }
    if team.role.is_none() {
        return (Style::Warn, "This device no longer syncs with the team.".to_owned());
    }
    let untaken = team.untaken();
    if untaken > 0 {
        let what = count(untaken, "change", "changes");
        return (Style::Warn, format!("Not in sync: no peer accepts {what} of this device."));
    }
    match (active.len(), connected) {
        (0, _) => (Style::Dim, "This is the only device in the team. Invite another: `ergo sync invite`.".to_owned()),
        (_, 0) if mode == SyncMode::Off => (Style::Warn, "No peer is connected, because sync is off.".to_owned()),
        (_, 0) => (Style::Warn, "No peer is connected. Changes are sent when one connects.".to_owned()),
        (all, some) if team.in_sync && all == some => (Style::Good, "In sync with all peers.".to_owned()),
        (all, some) if team.in_sync => {
            (Style::Good, format!("In sync with {some} of {all} peers; the others are offline."))
        }
        _ => (Style::Warn, "Not in sync yet.".to_owned()),
    }
}

pub(super) fn show_peer(cx: &mut Context, peer: &PeerView, now: u64) {
    let dot = if peer.connected { cx.ui.paint(Style::Good, "●") } else { cx.ui.paint(Style::Dim, "○") };
    let name = cx.ui.paint(Style::Strong, escape(&peer.name));
    cx.ui.line(text!("  {} {}  {}", dot, name, details(peer, now).join(", ")));
    if let Some(error) = &peer.last_error {
        cx.ui.prose(6, Some(Style::Warn), error);
    }
    if let Some(advice) = &peer.advice {
        cx.ui.prose(6, None, advice);
    }
}

fn details(peer: &PeerView, now: u64) -> Vec<String> {
    let path = match (peer.connected, peer.last_seen) {
        (true, _) => peer.path_words(),
        (false, Some(seen)) => format!("offline, last seen {}", ago(seen, now)),
        (false, None) => "not seen yet".to_owned(),
    };
    let mut parts = vec![escape(&peer.person), path];
    // The counts are unknown until the first comparison.
    if peer.connected || peer.last_sync.is_some() {
        let to_receive = count(usize::try_from(peer.we_lack).unwrap_or(usize::MAX), "event", "events");
        parts.push(format!("{to_receive} to receive, {} to send", peer.they_lack));
    }
    if peer.is_in_sync() {
        parts.push("in sync".to_owned());
    }
    if peer.quarantined > 0 {
        parts.push(format!("{} that it sent not accepted here", count(peer.quarantined, "event", "events")));
    }
    if peer.not_taken > 0 {
        parts.push(format!("{} of this device not accepted there", count(peer.not_taken, "event", "events")));
    }
    parts
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        api::{BoundScope, PeerPath, ScopeStatus, TeamEnd, UnsharedChanges},
        cli::{args::Globals, ui::captured},
        domain::{DeviceId, EventId, Scope},
    };

    const NOW: u64 = 1_900_000_000_000;

    pub(in crate::cli::sync) fn peer(name: &str) -> PeerView {
        PeerView {
            device: DeviceId([2; 32]),
            team: EventId([1; 32]),
            name: name.to_owned(),
            person: "bob".to_owned(),
            you: false,
            state: PeerState::Active,
            role: Role::Writer,
            scopes: None,
            connected: true,
            path: Some(PeerPath::Lan),
            latency_ms: Some(2.2),
            sent_bytes: 0,
            received_bytes: 0,
            addresses: vec![],
            last_seen: Some(NOW - 7_200_000),
            last_sync: Some(NOW - 7_200_000),
            we_lack: 0,
            they_lack: 0,
            digests_equal: true,
            quarantined: 0,
            not_taken: 0,
            clock_ahead_ms: None,
            last_error: None,
            advice: None,
            needs_person: false,
        }
    }

    fn team(peers: Vec<PeerView>) -> TeamStatus {
        let scope = Scope { org_id: "acme".into(), project: "api".into() };
        let local = Scope { org_id: "acme".into(), project: "api-2".into() };
        let scope = ScopeStatus {
            bound: BoundScope { scope, local },
            events: 312,
            digest: "ab".into(),
            quarantined: 0,
            open_cards: 1,
        };
        TeamStatus {
            role: Some(Role::Admin),
            scopes: vec![scope],
            peers,
            open_cards: 1,
            in_sync: true,
            ..TeamStatus::new(EventId([1; 32]), "platform")
        }
    }

    #[test]
    fn it_is_never_in_sync_where_something_was_kept_out() {
        let mut team = team(vec![peer("bob-laptop")]);
        assert_eq!(verdict(&team, SyncMode::Lan).1, "In sync with all peers.");
        team.quarantined = 1;
        assert_eq!(verdict(&team, SyncMode::Lan).1, "Not in sync: 1 event was received and not accepted.");
        team.quarantined = 0;
        team.forks = 2;
        assert!(verdict(&team, SyncMode::Lan).1.starts_with("Not in sync: the history of a device forks in 2 places"));
        team.forks = 0;
        team.peers[0].not_taken = 1;
        assert_eq!(verdict(&team, SyncMode::Lan).1, "Not in sync: 1 event of this device is in a peer's quarantine.");
        team.peers[0].not_taken = 0;
        let scope = team.scopes[0].bound.clone();
        let kept = |before, events| UnsharedChanges {
            bound: scope.clone(),
            events,
            reason: "reader".into(),
            before,
            says: "why".into(),
        };
        team.kept = vec![kept(true, 4)];
        assert_eq!(verdict(&team, SyncMode::Lan).1, "In sync with all peers.", "what was kept by choice is no trouble");
        team.kept.push(kept(false, 1));
        assert_eq!(verdict(&team, SyncMode::Lan).1, "Not in sync: no peer accepts 1 change of this device.");
        team.kept.clear();
        team.in_sync = false;
        assert_eq!(verdict(&team, SyncMode::Lan).1, "Not in sync yet.");
        team.peers.push(PeerView { connected: false, ..peer("carol-desk") });
        team.in_sync = true;
        assert_eq!(verdict(&team, SyncMode::Lan).1, "In sync with 1 of 2 peers; the others are offline.");
        team.peers.remove(0);
        assert!(verdict(&team, SyncMode::Lan).1.ends_with("Changes are sent when one connects."));
        assert!(verdict(&team, SyncMode::Off).1.ends_with("because sync is off."));
        team.peers.clear();
        assert!(verdict(&team, SyncMode::Lan).1.contains("only device"));
    }

    #[test]
    fn a_peer_is_in_sync_only_if_neither_side_rejected_events() {
        let parts = |quarantined, not_taken| {
            let peer = PeerView { quarantined, not_taken, ..peer("bob-laptop") };
            details(&peer, NOW).split_off(3)
        };
        assert_eq!(parts(0, 0), ["in sync"]);
        assert_eq!(parts(1, 0), ["1 event that it sent not accepted here"]);
        assert_eq!(parts(0, 7), ["7 events of this device not accepted there"]);
        // Two peers reject the same seven events.
        let rejects = || PeerView { not_taken: 7, ..peer("bob-laptop") };
        let team = team(vec![rejects(), rejects()]);
        assert_eq!(verdict(&team, SyncMode::Lan).1, "Not in sync: 7 events of this device are in a peer's quarantine.");
    }

    #[test]
    fn who_left_or_was_revoked_sees_so_and_what_stays() {
        let says = "ada (ada-laptop) put this device out of platform on 2026-11-22 (“it was lost”). What it holds stays here, and \
                    is shared no more. To come back, ask an admin of the team for a new invitation.";
        let ended = Some(TeamEnd { left: false, by: None, at: NOW, reason: None, says: says.into() });
        let teams = vec![TeamStatus { ended, ..TeamStatus::new(EventId([1; 32]), "platform") }];
        let status = SyncStatus { says: "off".into(), teams, ..SyncStatus::default() };
        let mut cx = Context::new(Globals::default());
        let (ui, out, _) = captured::ui(None, false);
        cx.ui = ui;
        show(&mut cx, &status, NOW);
        let text = out.text();
        assert!(text.contains("platform  revoked") && text.contains("it was lost"), "{text}");
        assert!(text.contains("This device is in no team.") && !text.contains("sync with"), "{text}");
    }

    #[test]
    fn the_status_says_what_a_person_asks() {
        let carol = PeerView {
            connected: false,
            they_lack: 3,
            digests_equal: false,
            last_error: Some("it did not answer at 192.168.1.7:4242".into()),
            advice: Some("is it on this network? `ergo sync address carol-desk IP:PORT` says where it is".into()),
            person: "carol".into(),
            ..peer("carol-desk")
        };
        let status = SyncStatus {
            mode: SyncMode::Lan,
            says: SyncMode::Lan.meaning().into(),
            addresses: vec!["192.168.1.20:4242".into()],
            teams: vec![team(vec![peer("bob-laptop"), carol])],
            pending: 1,
            ..SyncStatus::default()
        };
        let mut cx = Context::new(Globals::default());
        let (ui, out, _) = captured::ui(None, false);
        cx.ui = ui;
        show(&mut cx, &status, NOW);
        insta::assert_snapshot!(out.text(), @r"
        LAN only: nothing leaves this network
          listens at  192.168.1.20:4242

        platform  admin
          acme/api, on this device acme/api-2: 312 events
          ● bob-laptop  bob, LAN 2.2 ms, 0 events to receive, 0 to send, in sync
          ○ carol-desk  carol, offline, last seen 2 hours ago, 0 events to receive, 3 to send
              it did not answer at 192.168.1.7:4242
              is it on this network? `ergo sync address carol-desk IP:PORT` says where it is
          In sync with 1 of 2 peers; the others are offline.
          1 open conflict: settle with `ergo tui`

        1 device asks to join.
          ergo sync pending  # list them and compare the words
        ");
    }
}
