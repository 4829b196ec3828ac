//! `ergo sync join`: joins a team with a ticket or a grant file.

use std::{io::Read, path::Path, time::Duration};

use super::{super::ask::Asker, CliError, Context, Exit, parse_scope, show_team, show_words, wait};
use crate::{
    api::{BoundScope, JoinRequest, JoinState, JoinView, Role},
    client::Client,
    domain::{Scope, text::escape},
};

/// Join a team with a ticket, or with a grant file if there is no network.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Both screens show six words. If they differ, it may be a man-in-the-middle attack, and the inviter must deny the request.
Scopes with the same name and repository on both sides are merged. What you wrote in them before stays on this device unless you
share it with `--bring`, or later with `ergo sync adopt`.")]
pub(super) struct Args {
    /// The ticket, ergo1…; a grant file of `ergo sync approve`; or - to read a ticket from stdin.
    #[arg(value_name = "TICKET|FILE")]
    with: String,
    /// The name of this device in the team [default: the host name].
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// Use another name for a scope of the team on this device; may be given several times.
    #[arg(long, value_name = "SCOPE=NAME", value_parser = parse_map)]
    map: Vec<BoundScope>,
    /// Share this device's claims in a scope, with their history; may be given several times.
    #[arg(long, value_name = "SCOPE", value_parser = parse_scope)]
    bring: Vec<Scope>,
    /// With a grant file: join without comparing words, for scripts.
    #[arg(short, long)]
    yes: bool,
}

fn parse_map(text: &str) -> Result<BoundScope, String> {
    let (scope, local) = text.split_once('=').ok_or("expected ORG/PROJECT=ORG/NAME")?;
    Ok(BoundScope { scope: parse_scope(scope)?, local: parse_scope(local)? })
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let mut request =
        JoinRequest { device_name: args.device, map: args.map, bring: args.bring, ..JoinRequest::default() };
    let file = Path::new(&args.with);
    if args.with != "-" && !args.with.starts_with("ergo") || file.is_file() {
        let path = std::path::absolute(file).map_err(|error| CliError::file("find", file, &error))?;
        if !path.is_file() {
            return Err(CliError::usage(format_args!("“{}” is neither a ticket nor a file", args.with)).hint(
                "a ticket begins with ergo1; `ergo sync invite` creates one, `ergo sync approve` writes a grant file",
            ));
        }
        request.grant = Some(path.display().to_string());
    } else {
        request.ticket = Some(read_ticket(args.with)?);
    }
    let client = cx.client().await?;
    request.caller = cx.caller()?;
    if request.grant.is_some() {
        by_file(cx, &client, request, args.yes).await
    } else {
        by_ticket(cx, &client, request).await
    }
}

fn read_ticket(arg: String) -> Result<String, CliError> {
    if arg != "-" {
        return Ok(arg);
    }
    let mut text = String::new();
    std::io::stdin()
        .take(16 * 1024)
        .read_to_string(&mut text)
        .map_err(|error| CliError::usage(format_args!("cannot read the ticket from stdin: {error}")))?;
    Ok(text)
}

async fn by_ticket(cx: &mut Context, client: &Client, request: JoinRequest) -> Result<Exit, CliError> {
    cx.ui.progress("Connecting to the other device …");
    let begun = client.sync_join(&request).await;
    cx.ui.progress_done();
    let begun = begun?;
    if !cx.ui.json {
        introduce(cx, &begun);
        cx.ui.line("The other screen must show the same words. Its user must confirm them there.");
    }
    cx.ui.progress("Waiting for confirmation …");
    let timeout = Duration::from_millis(begun.expires_at.saturating_sub(Context::now())) + Duration::from_secs(15);
    let ended = wait::until(client, timeout, async || {
        let view = client.sync_joined(&begun.id).await?;
        Ok((view.state != JoinState::Waiting).then_some(view))
    })
    .await;
    cx.ui.progress_done();
    let Some(ended) = ended? else {
        return Err(CliError::new(Exit::Unreachable, "the other device did not confirm in time")
            .hint("try again with the same ticket"));
    };
    show_result(cx, &ended)
}

async fn by_file(cx: &mut Context, client: &Client, mut request: JoinRequest, yes: bool) -> Result<Exit, CliError> {
    let view = client.sync_join(&request).await?;
    if !yes {
        if cx.ui.json {
            return Err(CliError::usage("not joined: the words must be compared, and `--json` asks no questions")
                .hint("compare them without `--json`, or join without comparing with `--yes`"));
        }
        let asker = Asker::new();
        introduce(cx, &view);
        let Some(mut asker) = asker else {
            return Err(CliError::usage("not joined: the words must be compared, and stdin is empty")
                .hint("join without comparing with `--yes`"));
        };
        if !asker.yes(cx, "Does the person who approved it see the same words?")? {
            cx.ui.line("Not joined. Ask the admin for the grant file again, over a channel that you trust.");
            return Ok(Exit::Refused);
        }
    }
    request.words = view.words;
    let view = client.sync_join(&request).await?;
    show_result(cx, &view)
}

fn introduce(cx: &mut Context, view: &JoinView) {
    let (team, person, inviter) = (escape(&view.team_name), escape(&view.person), escape(&view.inviter));
    cx.ui.line(text!("{} (device “{}”) invites you to join {} as {}.", person, inviter, team, view.role));
    show_words(cx, &view.words);
}

fn show_result(cx: &mut Context, view: &JoinView) -> Result<Exit, CliError> {
    if let Some(error) = &view.error {
        return Err(error.clone().into());
    }
    if cx.ui.json {
        cx.ui.value(view);
        return Ok(Exit::Ok);
    }
    if let Some(team) = &view.team {
        show_team(cx, team);
    }
    let mut next = vec![("ergo sync status".to_owned(), "show the sync status".to_owned())];
    if view.role != Role::Reader {
        next.push(("ergo sync adopt".to_owned(), "share this device's claims of this project".to_owned()));
    }
    cx.ui.commands(&next);
    Ok(Exit::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_names_both_scopes() {
        let bound = parse_map("acme/api=acme/api-2").unwrap();
        assert_eq!((bound.scope.to_string(), bound.local.to_string()), ("acme/api".into(), "acme/api-2".into()));
        for wrong in ["acme/api", "acme=api", "acme/api=", "=acme/api", ""] {
            assert!(parse_map(wrong).is_err(), "{wrong}");
        }
    }
}
