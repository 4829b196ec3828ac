//! `ergo sync now`: calls and compares at once, waits, and says what came of it.

use std::time::Duration;

use super::{super::show::text::count, CliError, Context, Exit, SafeText, Style, status};
use crate::{
    api::{RoundResult, SyncNowRequest, SyncRound, SyncStatus},
    domain::text::sanitize_line,
};

/// How often the bar is drawn anew.
const TICK: Duration = Duration::from_millis(250);

/// How wide it is.
const BAR: usize = 20;

/// Call every peer, or one, and compare with it, without waiting for its turn; wait for what comes of it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Ends with code 0 where every peer that was meant has the same as this device, with 3 where one was not reached, and with 1 where
something is still missing or was kept out.")]
pub(super) struct Args {
    /// Only this device, by name or id.
    #[arg(value_name = "PEER")]
    peer: Option<String>,
    /// How long to wait, in seconds; 0 to answer at once.
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
                // How far it has come is worth no failure.
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

/// Events that are still to come or to go, between this device and all that are connected.
fn missing(status: &SyncStatus) -> u64 {
    let peers = status.teams.iter().flat_map(|team| &team.peers).filter(|peer| peer.connected);
    peers.map(|peer| peer.we_lack.saturating_add(peer.they_lack)).fold(0, u64::saturating_add)
}

/// How far it has come, as a bar.
fn bar(done: u64, all: u64) -> SafeText {
    if all == 0 {
        return "comparing …".into();
    }
    let filled = usize::try_from(done.min(all).saturating_mul(BAR as u64) / all).unwrap_or(BAR);
    text!("[{}{}] {} of {} events", "#".repeat(filled), "-".repeat(BAR - filled), done, all)
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
            let came = count(usize::try_from(one.received).unwrap_or(usize::MAX), "event", "events");
            cx.ui.prose(6, Some(Style::Good), &format!("{came} came from it"));
        }
    }
    let whole = !round.peers.is_empty() && exit(round, true) == Exit::Ok;
    let summary = cx.ui.paint(if whole { Style::Good } else { Style::Warn }, sanitize_line(&round.summary));
    cx.ui.line(summary);
    for team in round.status.teams.iter().filter(|team| team.ended.is_none()) {
        if team.quarantined > 0 {
            let (style, verdict) = status::verdict(team);
            let verdict = cx.ui.paint(style, verdict);
            cx.ui.line(verdict);
            cx.ui.commands(&[("ergo sync quarantine list".to_owned(), "see what was kept out, and why".to_owned())]);
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
    fn what_came_is_told_and_what_was_kept_out_too() {
        let mut cx = Context::new(Globals::default());
        let (ui, out, _) = captured::ui(None, false);
        cx.ui = ui;
        show(&mut cx, &round(RoundResult::InStep, 1), 1_900_000_000_000);
        let text = out.text();
        assert!(text.contains("bob-laptop") && text.contains("3 events came from it"), "{text}");
        assert!(text.contains("Not in sync: 1 event that came was not accepted."), "{text}");
    }
}
