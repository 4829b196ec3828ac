//! `ergo sync quarantine`: received events that were not accepted.

use super::{
    super::show::{text::count, time::ago},
    CliError, Context, Exit, InTeam, Style, show_done,
};
use crate::{
    api::{QuarantineRequest, QuarantinedQuery, QuarantinedView},
    domain::text::escape,
};

/// List, accept or discard quarantined events: received ones that the team does not accept.
#[derive(Debug, clap::Subcommand)]
pub(super) enum QuarantineCommand {
    /// List quarantined events, newest first.
    List {
        /// Include discarded events.
        #[arg(short, long)]
        all: bool,
        #[command(flatten)]
        team: InTeam,
    },
    /// Accept events for the whole team. Admins only.
    Accept(QuarantinedEvents),
    /// Discard events on this device. They are not deleted: an admin can still accept them.
    Discard(QuarantinedEvents),
}

#[derive(Debug, clap::Args)]
pub(super) struct QuarantinedEvents {
    /// The ids of the events, or unique prefixes.
    #[arg(value_name = "ID", required = true)]
    events: Vec<String>,
    /// The reason.
    #[arg(short, long, alias = "because", value_name = "WHY")]
    reason: Option<String>,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(act: QuarantineCommand, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let request = |named: QuarantinedEvents, cx: &Context| -> Result<QuarantineRequest, CliError> {
        let QuarantinedEvents { events, reason, team } = named;
        Ok(QuarantineRequest { caller: cx.anyone()?, in_team: team.team, events, reason })
    };
    match act {
        QuarantineCommand::List { all, team } => {
            let query = QuarantinedQuery { in_team: team.team, discarded: all, limit: None };
            let list = client.sync_quarantined(&query).await?;
            if cx.ui.json {
                cx.ui.value(&list);
                return Ok(Exit::Ok);
            }
            let now = Context::now();
            for event in &list.items {
                show(cx, event, now);
            }
            match list.items.first() {
                None => cx.ui.line("The quarantine is empty."),
                Some(first) => {
                    let more = list.total.saturating_sub(list.items.len());
                    if more > 0 {
                        cx.ui.line(text!("{} more.", count(more, "event", "events")));
                    }
                    let id = first.id.short();
                    cx.ui.commands(&[
                        (format!("ergo sync quarantine accept {id}"), "accept it for the whole team".to_owned()),
                        (format!("ergo sync quarantine discard {id}"), "discard it on this device".to_owned()),
                    ]);
                }
            }
            Ok(Exit::Ok)
        }
        QuarantineCommand::Accept(named) => {
            let done = client.sync_accept(&request(named, cx)?).await?;
            Ok(show_done(cx, &done))
        }
        QuarantineCommand::Discard(named) => {
            let done = client.sync_discard(&request(named, cx)?).await?;
            Ok(show_done(cx, &done))
        }
    }
}

fn show(cx: &mut Context, event: &QuarantinedView, now: u64) {
    let id = cx.ui.paint(Style::Code, event.id.short());
    let who = escape(&event.who);
    let device = event.author_name.as_deref().map_or_else(|| event.author.short(), escape);
    let scope = escape(&event.scope.to_string());
    let discarded = if event.discarded { ", discarded" } else { "" };
    cx.ui.line(text!(
        "{}  {} in {} by {} on “{}”, received {}{}",
        id,
        event.verb(),
        scope,
        who,
        device,
        ago(event.received_at, now),
        discarded
    ));
    if let Some(text) = &event.text {
        let text = cx.ui.fit(text, 4);
        cx.ui.line(text!("    {}", text));
    }
    cx.ui.prose(4, Some(Style::Warn), &event.why);
}
