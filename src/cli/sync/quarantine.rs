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
    Discard(DiscardArgs),
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

#[derive(Debug, clap::Args)]
pub(super) struct DiscardArgs {
    /// The ids of the events, or unique prefixes.
    #[arg(value_name = "ID", required_unless_present_any = ["author", "all"], conflicts_with_all = ["author", "all"])]
    events: Vec<String>,
    /// Discard all quarantined events that this device wrote, by its name or id.
    #[arg(long, value_name = "DEVICE", conflicts_with = "all")]
    author: Option<String>,
    /// Discard all quarantined events of the team.
    #[arg(long)]
    all: bool,
    /// The reason.
    #[arg(short, long, alias = "because", value_name = "WHY")]
    reason: Option<String>,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(act: QuarantineCommand, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
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
                    let mut commands = Vec::new();
                    if let Some(event) = list.items.iter().find(|event| !event.waits_for_date()) {
                        let accept = format!("ergo sync quarantine accept {}", event.id.short());
                        commands.push((accept, "accept it for the whole team (admins only)".to_owned()));
                    }
                    let discard = format!("ergo sync quarantine discard {}", first.id.short());
                    commands.push((discard, "discard it on this device".to_owned()));
                    if list.total > 1 {
                        commands.push(("ergo sync quarantine discard --all".to_owned(), "discard all".to_owned()));
                    }
                    cx.ui.commands(&commands);
                }
            }
            Ok(Exit::Ok)
        }
        QuarantineCommand::Accept(named) => {
            let QuarantinedEvents { events, reason, team } = named;
            let caller = cx.caller()?;
            let request =
                QuarantineRequest { caller, in_team: team.team, events, reason, ..QuarantineRequest::default() };
            let done = client.sync_accept(&request).await?;
            Ok(show_done(cx, &done))
        }
        QuarantineCommand::Discard(args) => {
            let DiscardArgs { events, author, all, reason, team } = args;
            let request = QuarantineRequest { caller: cx.caller()?, in_team: team.team, events, author, all, reason };
            let done = client.sync_discard(&request).await?;
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
