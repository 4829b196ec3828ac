//! `ergo sync now`: syncs immediately and shows the result.

use std::time::Duration;

use super::{super::show::text::count, CliError, Context, Exit, SafeText, Style, status};
use crate::{
    api::{RoundResult, SyncNowRequest, SyncRound, SyncStatus},
    domain::text::sanitize_line,
};

/// The interval between updates of the progress bar.
const TICK: Duration = Duration::from_millis(250);

/// The width of the progress bar, in columns.
const BAR_WIDTH: usize = 20;

/// Sync with all peers, or one, now, and wait for the result.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Exit code 0: in sync with every requested peer. 3: a peer could not be reached. 1: events are still missing, or were not accepted.")]
pub(super) struct Args {
    /// Only this device, by name or id.
    #[arg(value_name = "PEER")]
    peer: Option<String>,
    /// How long to wait, in seconds; 0 returns immediately.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=600))]
    wait: u64,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let wait_ms = (args.wait > 0).then_some(args.wait * 1000);
    let request = SyncNowRequest { device: args.peer, wait_ms };
    let client = cx.client().await?;
    let round = client.sync_now(&request);
    tokio::pin!(round);
    let (mut tick, mut most) = (tokio::time::interval(TICK), 0);
    let round = loop {
        tokio::select! {
            round = &mut round => break round,
            _ = tick.tick() => {
                // Progress is optional.
                let missing = client.sync_status().await.map_or(0, |status| missing(&status));
                most = missing.max(most);
                cx.ui.progress(bar(most - missing, most));
            }
        }
    };
    cx.ui.progress_done();
    let round = round?;
    if cx.ui.json {
        cx.ui.value(&round);
    } else if !cx.ui.quiet {
        show(cx, &round, Context::now());
    }
    Ok(exit(&round, wait_ms.is_some()))
}

/// Counts the events that this device and its connected peers still miss.
fn missing(status: &SyncStatus) -> u64 {
    let peers = status.teams.iter().flat_map(|team| &team.peers).filter(|peer| peer.connected);
    peers.map(|peer| peer.we_lack.saturating_add(peer.they_lack)).fold(0, u64::saturating_add)
}

/// Formats a progress bar.
fn bar(done: u64, all: u64) -> SafeText {
    if all == 0 {
        return "comparing …".into();
    }
    let filled = usize::try_from(done.min(all).saturating_mul(BAR_WIDTH as u64) / all).unwrap_or(BAR_WIDTH);
    text!("[{}{}] {} of {} events", "#".repeat(filled), "-".repeat(BAR_WIDTH - filled), done, all)
}

fn exit(round: &SyncRound, waited: bool) -> Exit {
    let any = |result| round.peers.iter().any(|one| one.result == result);
    let kept_out = round.status.teams.iter().any(|team| team.quarantined > 0 || team.forks > 0);
    match () {
        () if !waited => Exit::Ok,
        () if any(RoundResult::NotReached) => Exit::Unreachable,
        () if any(RoundResult::NotYet) || kept_out => Exit::Refused,
        () => Exit::Ok,
    }
}

fn show(cx: &mut Context, round: &SyncRound, now: u64) {
    for one in &round.peers {
        status::show_peer(cx, &one.peer, now);
        if one.received > 0 {
            let received = count(usize::try_from(one.received).unwrap_or(usize::MAX), "event", "events");
            cx.ui.prose(6, Some(Style::Good), &format!("received {received}"));
        }
    }
    let whole = !round.peers.is_empty() && exit(round, true) == Exit::Ok;
    let summary = cx.ui.paint(if whole { Style::Good } else { Style::Warn }, sanitize_line(&round.summary));
    cx.ui.line(summary);
    for team in round.status.teams.iter().filter(|team| team.ended.is_none()) {
        if team.quarantined > 0 {
            let (style, verdict) = status::verdict(team, round.status.mode);
            let verdict = cx.ui.paint(style, verdict);
            cx.ui.line(verdict);
            cx.ui.commands(&[("ergo sync quarantine list".to_owned(), "see which events, and why".to_owned())]);
        }
        for problem in &team.problems {
            cx.ui.prose(0, Some(Style::Bad), problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        api::{PeerView, RoundPeer, TeamStatus},
        cli::{args::Globals, ui::captured},
        domain::EventId,
    };

    fn round(result: RoundResult, quarantined: usize) -> SyncRound {
        let team = TeamStatus { quarantined, ..TeamStatus::new(EventId([1; 32]), "platform") };
        let connected = result != RoundResult::NotReached;
        let peer = PeerView { connected, ..status::tests::peer("bob-laptop") };
        SyncRound {
            done: true,
            summary: "In step with bob-laptop.".into(),
            peers: vec![RoundPeer { result, received: 3, peer }],
            status: SyncStatus { teams: vec![team], ..SyncStatus::default() },
        }
    }

    #[test]
    fn how_far_it_has_come_is_a_bar_and_nothing_missing_is_no_bar() {
        assert_eq!(bar(0, 0), "comparing …");
        assert_eq!(bar(0, 100_000), "[--------------------] 0 of 100000 events");
        assert_eq!(bar(50_000, 100_000), "[##########----------] 50000 of 100000 events");
        assert_eq!(bar(9, 9), "[####################] 9 of 9 events");
    }

    #[test]
    fn the_code_says_whether_everyone_has_the_same() {
        assert_eq!(exit(&round(RoundResult::InStep, 0), true), Exit::Ok);
        assert_eq!(exit(&round(RoundResult::InStep, 1), true), Exit::Refused, "something was kept out");
        assert_eq!(exit(&round(RoundResult::NotYet, 0), true), Exit::Refused);
        assert_eq!(exit(&round(RoundResult::NotReached, 0), true), Exit::Unreachable);
        assert_eq!(exit(&round(RoundResult::NotReached, 0), false), Exit::Ok, "nobody waited for it");
    }

    #[test]
    fn what_arrived_is_reported_and_what_was_kept_out_too() {
        let mut cx = Context::new(Globals::default());
        let (ui, out, _) = captured::ui(None, false);
        cx.ui = ui;
        show(&mut cx, &round(RoundResult::InStep, 1), 1_900_000_000_000);
        let text = out.text();
        assert!(text.contains("bob-laptop") && text.contains("received 3 events"), "{text}");
        assert!(text.contains("Not in sync: 1 event was received and not accepted."), "{text}");
    }
}
