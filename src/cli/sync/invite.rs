//! `ergo sync invite`: creates a ticket for one device and waits for it.

use std::time::Duration;

use super::{
    super::{
        ask::Asker,
        show::{text::quote, time},
    },
    CliError, Context, Exit, InTeam, RightsArgs, scopes_in_words, show_words, wait, with_global_scopes,
};
use crate::{
    api::{AnswerJoinRequest, ErrorCode, InviteRequest, InviteView, PendingJoin},
    client::{Client, ClientError},
    domain::text::escape,
};

/// Invite a device: show a ticket, wait for the device, and compare the words.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Send the ticket over a channel that you trust. It admits one device, once, until it expires. If you press Ctrl-C, the ticket stays
valid: continue with `ergo sync pending` and `ergo sync admit`.")]
pub(super) struct Args {
    #[command(flatten)]
    allowed: RightsArgs,
    /// How long the ticket is valid: 15m, 2h; at most a day [default: 15m].
    #[arg(long, value_name = "SPAN")]
    ttl: Option<String>,
    /// Admit any device with the ticket without comparing words, for scripts.
    #[arg(short, long)]
    yes: bool,
    /// Do not wait for the device.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let ttl_s = args.ttl.as_deref().map(seconds).transpose()?;
    let scopes = with_global_scopes(cx, args.allowed.only)?;
    let client = cx.client().await?;
    let request = InviteRequest {
        caller: cx.caller()?,
        in_team: args.team.team,
        role: args.allowed.role.into(),
        scopes,
        ttl_s,
        yes: args.yes,
    };
    let invite = client.sync_invite(&request).await?;
    if cx.ui.json {
        cx.ui.value(&invite);
        return Ok(Exit::Ok);
    }
    show(cx, &invite);
    if args.no_wait {
        cx.ui.commands(&[("ergo sync pending".to_owned(), "see which device used it".to_owned())]);
        return Ok(Exit::Ok);
    }
    if args.yes { wait_for_anyone(cx, &client, &invite).await } else { wait_and_ask(cx, &client, &invite).await }
}

/// Parses a duration to seconds.
fn seconds(text: &str) -> Result<u64, CliError> {
    let span = text.parse::<jiff::Span>().ok().and_then(|span| span.total(jiff::Unit::Second).ok());
    span.filter(|seconds| *seconds >= 1.0).map(|seconds| seconds as u64).ok_or_else(|| {
        CliError::usage(format_args!("invalid `--ttl` “{text}”"))
            .hint("write 15m, 2h or 24h; a ticket is valid for at most one day")
    })
}

fn show(cx: &mut Context, invite: &InviteView) {
    let ticket = invite.ticket.clone().unwrap_or_default();
    let team = escape(&invite.team_name);
    let left = time::left(invite.expires_at, Context::now());
    let (role, scopes) = (invite.role, scopes_in_words(&invite.scopes));
    if cx.ui.quiet {
        cx.ui.line(text!("{}", ticket));
        return;
    }
    cx.ui.line(text!("This ticket admits one device to {} as {} in {}. It is valid for {}.", team, role, scopes, left));
    cx.ui.line("");
    // Not wrapped, so that it can be copied.
    cx.ui.line(text!("{}", ticket));
    cx.ui.line("");
    if cx.ui.qr(&ticket) {
        cx.ui.line("");
    }
    if invite.addresses.is_empty() {
        cx.ui.prose(0, None, "The address of this device is unknown. The other device can only join if it finds this one on the local network.");
    }
    cx.ui.commands(&[("ergo sync join TICKET".to_owned(), "on the other device".to_owned())]);
}

fn time_left(invite: &InviteView) -> Duration {
    Duration::from_millis(invite.expires_at.saturating_sub(Context::now()))
}

/// The state of an invitation.
enum InviteProgress {
    Pending(Box<PendingJoin>),
    Done,
    Gone,
}

async fn progress_of(client: &Client, invite: &InviteView) -> Result<Option<InviteProgress>, CliError> {
    let pending = client.sync_pending().await?.items.into_iter().find(|pending| pending.invite == invite.id);
    if let Some(pending) = pending {
        return Ok(Some(InviteProgress::Pending(Box::new(pending))));
    }
    let invites = client.sync_invites().await?.items;
    Ok(match invites.into_iter().find(|known| known.id == invite.id) {
        Some(known) if known.done => Some(InviteProgress::Done),
        Some(_) => None,
        None => Some(InviteProgress::Gone),
    })
}

async fn wait_and_ask(cx: &mut Context, client: &Client, invite: &InviteView) -> Result<Exit, CliError> {
    let mut asker = None;
    loop {
        cx.ui.progress("Waiting for the other device …");
        let found = wait::until(client, time_left(invite), async || progress_of(client, invite).await).await;
        cx.ui.progress_done();
        let guest = match found? {
            Some(InviteProgress::Pending(guest)) => guest,
            Some(InviteProgress::Done) => return Ok(admitted(cx)),
            Some(InviteProgress::Gone) | None => return Err(unused()),
        };
        let (person, name) = (escape(&guest.person), escape(&guest.name));
        cx.ui.line(text!("{} asks to join with the device “{}”. Both screens must show:", person, name));
        show_words(cx, &guest.words);
        if asker.is_none() {
            asker = Asker::new();
        }
        let Some(asker) = &mut asker else {
            cx.ui.commands(&[(
                format!("ergo sync admit {} --words {}", guest.id, quote(&guest.words.join(" "))),
                "after comparing the words".to_owned(),
            )]);
            return Ok(Exit::Ok);
        };
        let accept = asker.yes(cx, "Does the other screen show the same words?")?;
        let words = if accept { guest.words.clone() } else { Vec::new() };
        let answer = AnswerJoinRequest { caller: cx.caller()?, accept, words };
        match client.sync_answer(&guest.id, &answer).await {
            Ok(_) if accept => return Ok(admitted(cx)),
            Ok(_) => {
                cx.ui.line("Not admitted. The ticket cannot be used again: create another one for the right device.");
                return Ok(Exit::Refused);
            }
            // The device disconnected in the meantime; it may use the same ticket again.
            Err(ClientError::Api(error)) if matches!(error.code, ErrorCode::Stale | ErrorCode::NotFound) => {
                cx.ui.note(text!("{}; waiting for the device to reconnect", error.message));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

async fn wait_for_anyone(cx: &mut Context, client: &Client, invite: &InviteView) -> Result<Exit, CliError> {
    cx.ui.progress("Waiting for the other device …");
    let found = wait::until(client, time_left(invite), async || {
        let found = progress_of(client, invite).await?;
        Ok(found.filter(|found| !matches!(found, InviteProgress::Pending(_))))
    })
    .await;
    cx.ui.progress_done();
    match found? {
        Some(InviteProgress::Done) => Ok(admitted(cx)),
        _ => Err(unused()),
    }
}

fn admitted(cx: &mut Context) -> Exit {
    cx.ui.line("The device was admitted to the team.");
    cx.ui.commands(&[
        ("ergo sync status".to_owned(), "show the sync status".to_owned()),
        ("ergo sync revoke DEVICE --reason '…'".to_owned(), "revoke it".to_owned()),
    ]);
    Exit::Ok
}

fn unused() -> CliError {
    CliError::new(Exit::Stale, "no device used this ticket before it expired")
        .hint("create another one: `ergo sync invite`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_as_people_write_them() {
        for (text, expected) in [("15m", 900), ("2h", 7_200), ("1h30m", 5_400), ("90 seconds", 90)] {
            assert_eq!(seconds(text).unwrap(), expected, "{text}");
        }
        for text in ["", "15", "soon", "-5m", "0s"] {
            assert_eq!(seconds(text).unwrap_err().kind, Exit::Usage, "{text}");
        }
    }
}
