//! `ergo sync join`: joins a team with a ticket or a grant file.

use std::{io::Read, path::Path, time::Duration};

use super::{
    super::{ask::Asker, context::Here, ui::Style},
    CliError, Context, Exit, parse_scope, show_team, show_words, wait,
};
use crate::{
    api::{BoundScope, JoinRequest, JoinState, JoinView, Role, ScopeView, TeamView},
    client::Client,
    domain::{
        Scope,
        text::{escape, quote},
    },
    files::repository::in_repository,
};

/// Join a team with a ticket, or with a grant file if there is no network.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Both screens show six words. If they differ, it may be a man-in-the-middle attack, and the inviter must deny the request.
Scopes with the same name and repository on both sides are merged; a repository is recognised by the URL of its remote `origin`.
What you wrote in them before stays on this device unless you share it with `--bring`, or later with `ergo sync adopt`. If this
project has another name or repository than in the team, the answer says how to join the two: `ergo sync map`.")]
pub(super) struct Args {
    /// The ticket, ergo1…; a grant file of `ergo sync approve`; or - to read a ticket from stdin.
    #[arg(value_name = "TICKET|FILE")]
    with: String,
    /// With a ticket: the name of this device in the team [default: the host name].
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
    show_result(cx, client, &ended).await
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
    show_result(cx, client, &view).await
}

fn introduce(cx: &mut Context, view: &JoinView) {
    let (team, person, inviter) = (escape(&view.team_name), escape(&view.person), escape(&view.inviter));
    cx.ui.line(text!("{} (device “{}”) invites you to join {} as {}.", person, inviter, team, view.role));
    show_words(cx, &view.words);
}

async fn show_result(cx: &mut Context, client: &Client, view: &JoinView) -> Result<Exit, CliError> {
    if let Some(error) = &view.error {
        return Err(error.clone().into());
    }
    if cx.ui.json {
        cx.ui.value(view);
        return Ok(Exit::Ok);
    }
    let mut next = vec![("ergo sync status".to_owned(), "show the sync status".to_owned())];
    if let Some(team) = &view.team {
        show_team(cx, team);
        if !cx.ui.quiet {
            // The team was joined, whether or not this can be shown.
            next.extend(show_unshared(cx, client, team).await.unwrap_or_default());
        }
    }
    cx.ui.commands(&next);
    Ok(Exit::Ok)
}

/// Says which claims of this device, and whether this project, are not shared with a team that was just joined. Returns
/// the commands that share the project.
async fn show_unshared(cx: &mut Context, client: &Client, team: &TeamView) -> Result<Vec<(String, String)>, CliError> {
    let status = client.sync_status().await?;
    for kept in status.teams.iter().filter(|known| known.id == team.id).flat_map(|known| &known.kept) {
        cx.ui.prose(0, Some(Style::Warn), &kept.says);
    }
    let (here, scope) = (cx.here()?, cx.known_scope(client).await?);
    let scopes = client.scopes().await?.items;
    // Outside of a project there is nothing to share.
    let is_project = cx.names_scope()
        || std::env::current_dir().is_ok_and(|folder| in_repository(&folder))
        || scopes.iter().any(|known| known.scope == scope && known.total > 0);
    // A scope belongs to one team at most.
    let shared = status.teams.iter().flat_map(|known| &known.scopes).any(|known| known.bound.local == scope);
    if !is_project || shared || team.scopes.iter().any(|bound| bound.local == scope) {
        return Ok(Vec::new());
    }
    // With one team, the commands find it.
    let in_team = match status.teams.iter().filter(|known| known.ended.is_none()).count() {
        ..2 => String::new(),
        _ => format!(" --in {}", quote(&team.name)),
    };
    let (name, team_name) = (escape(&scope.to_string()), escape(&team.name));
    let text =
        format!("This project, {name}, is not shared with {team_name}: what you store in it stays on this device.");
    cx.ui.prose(0, Some(Style::Warn), &text);
    let mut commands = Vec::new();
    if let Some(same) = probably_same(team, &here, &scopes) {
        let command = format!("ergo sync map {} {}{in_team}", quote(&same.to_string()), quote(&scope.to_string()));
        commands.push((command, format!("if it is the same project as the team's {}", escape(&same.to_string()))));
    }
    // Under a name that another project of the team has, it cannot be shared.
    let named_alike = team.scopes.iter().any(|bound| bound.scope == scope);
    if team.role == Role::Admin && !named_alike {
        let adopt = format!("{}{in_team}", cx.in_scope("ergo sync adopt"));
        commands.push((adopt, "share it as another project of the team".to_owned()));
    } else if !named_alike {
        cx.ui.line(text!(
            "To share it as another project of the team, ask an admin to run: ergo sync adopt {}",
            quote(&scope.to_string())
        ));
    }
    Ok(commands)
}

/// Returns the scope of a team that is probably the project `here` under another name: one of the same repository,
/// otherwise one of the same name, otherwise the only one.
fn probably_same<'a>(team: &'a TeamView, here: &Here, known: &[ScopeView]) -> Option<&'a Scope> {
    let identity = |local: &Scope| known.iter().find(|view| view.scope == *local)?.identity.as_ref();
    let same_repository =
        |bound: &&BoundScope| identity(&bound.local).is_some_and(|identity| here.identities.contains(identity));
    let found = team.scopes.iter().find(same_repository);
    let found = found.or_else(|| team.scopes.iter().find(|bound| bound.scope.project == here.scope.project));
    found.or_else(|| team.scopes.first().filter(|_| team.scopes.len() == 1)).map(|bound| &bound.scope)
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
