//! `ergo sync peers`: lists the devices of the teams.

use super::{super::show::time::ago, CliError, Context, Exit, Style, scopes_in_words};
use crate::{
    api::{PeerState, PeerView},
    domain::text::escape,
};

/// List the devices of your teams.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Include devices that left or were revoked.
    #[arg(short, long)]
    all: bool,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let mut peers = client.sync_peers().await?;
    if !args.all {
        peers.items.retain(|peer| peer.state == PeerState::Active);
    }
    if cx.ui.json {
        cx.ui.value(&peers);
        return Ok(Exit::Ok);
    }
    if peers.items.is_empty() {
        super::status::no_team(cx);
        return Ok(Exit::Ok);
    }
    let teams = client.sync_status().await?.teams;
    let now = Context::now();
    for team in teams.iter().filter(|team| team.ended.is_none()) {
        let name = cx.ui.paint(Style::Strong, escape(&team.name));
        cx.ui.line(name);
        for peer in peers.items.iter().filter(|peer| peer.team == team.id) {
            line(cx, peer, now);
        }
    }
    Ok(Exit::Ok)
}

fn line(cx: &mut Context, peer: &PeerView, now: u64) {
    let name = cx.ui.paint(Style::Strong, escape(&peer.name));
    let id = cx.ui.paint(Style::Dim, peer.device.short());
    let mut parts = vec![escape(&peer.person)];
    match peer.state {
        PeerState::Active => {
            parts.push(peer.role.to_string());
            if let Some(scopes) = &peer.scopes {
                parts.push(scopes_in_words(scopes));
            }
        }
        PeerState::Left => parts.push("left the team".to_owned()),
        PeerState::Revoked => parts.push("revoked".to_owned()),
    }
    if peer.you {
        parts.push("this device".to_owned());
    } else if peer.connected {
        parts.push("connected".to_owned());
    } else if let Some(seen) = peer.last_seen {
        parts.push(format!("last seen {}", ago(seen, now)));
    }
    cx.ui.line(text!("  {}  {}  {}", name, parts.join(", "), id));
}
