//! `ergo sync quarantine`: what came and was not accepted.

use super::{
    super::show::{text::count, time::ago},
    CliError, Context, Exit, InTeam, Style, tell,
};
use crate::{
    api::{QuarantineRequest, QuarantinedQuery, QuarantinedView},
    domain::text::{escape, sanitize_line},
};

/// Look at what came and was not accepted, and settle it.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Act {
    /// List it, the latest first.
    List {
        /// Also what was discarded.
        #[arg(short, long)]
        all: bool,
        #[command(flatten)]
        team: InTeam,
    },
    /// Let it in, for the whole team. Admins only.
    Accept(Which),
    /// Put it away, on this machine. It is not deleted: an admin may still accept it.
    Discard(Which),
}

#[derive(Debug, clap::Args)]
pub(super) struct Which {
    /// The events, by id; any prefix that fits one alone will do.
    #[arg(value_name = "ID", required = true)]
    events: Vec<String>,
    /// Why.
    #[arg(short, long, value_name = "WHY")]
    reason: Option<String>,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(act: Act, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let request = |which: Which, cx: &Context| -> Result<QuarantineRequest, CliError> {
        let Which { events, reason, team } = which;
        Ok(QuarantineRequest { caller: cx.anyone()?, in_team: team.team, events, reason })
    };
    match act {
        Act::List { all, team } => {
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
                None => cx.ui.line("Nothing was kept out."),
                Some(first) => {
                    let more = list.total.saturating_sub(list.items.len());
                    if more > 0 {
                        cx.ui.line(text!("And {} more.", count(more, "event", "events")));
                    }
                    let id = first.id.short();
                    cx.ui.commands(&[
                        (format!("ergo sync quarantine accept {id}"), "let it in, for the whole team".to_owned()),
                        (format!("ergo sync quarantine discard {id}"), "put it away, here".to_owned()),
                    ]);
                }
            }
            Ok(Exit::Ok)
        }
        Act::Accept(which) => {
            let done = client.sync_accept(&request(which, cx)?).await?;
            Ok(tell(cx, &done))
        }
        Act::Discard(which) => {
            let done = client.sync_discard(&request(which, cx)?).await?;
            Ok(tell(cx, &done))
        }
    }
}

fn show(cx: &mut Context, event: &QuarantinedView, now: u64) {
    let id = cx.ui.paint(Style::Code, event.id.short());
    let (who, kind) = (escape(&event.who), sanitize_line(&event.kind));
    let device = event.author_name.as_deref().map_or_else(|| event.author.short(), escape);
    let scope = escape(&event.scope.to_string());
    let discarded = if event.discarded { ", discarded" } else { "" };
    cx.ui.line(text!(
        "{}  {} in {} by {} on “{}”, came {}{}",
        id,
        kind,
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
