//! `ergo sync`: shares scopes with a team, peer to peer.

mod admit;
mod adopt;
mod approve;
mod bundle_file;
mod create;
mod export;
mod grant;
mod import;
mod invite;
mod join;
mod join_request;
mod leave;
mod map;
mod mode;
mod now;
mod peers;
mod quarantine;
mod rename;
mod revoke;
mod status;
mod wait;

use clap::ValueEnum;

use super::{
    CliError, Context, Exit,
    api_words::in_arguments,
    ui::{SafeText, Style},
};
use crate::{
    api::{Caller, Role, TeamDone, TeamView},
    client::Client,
    domain::{
        Scope,
        scope::InvalidScope,
        text::{escape, sanitize_line},
    },
};

/// Share claims with a team, peer to peer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two laptops on one network:
  ergo sync create platform          on the first
  ergo sync adopt                    on the first, in a project: shares it with the team
  ergo sync invite                   on the first: shows a ticket, then six words
  ergo sync join ergo1…              on the second: shows the same six words
  ergo sync status                   on either

Without a network: `ergo sync request`, `ergo sync approve`, `ergo sync join FILE`.
Nothing is sent until you invite a device or join a team. After that nothing leaves the local network unless you run
`ergo sync mode internet`.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: SyncCommand,
}

#[derive(Debug, clap::Subcommand)]
enum SyncCommand {
    Create(create::Args),
    Invite(Box<invite::Args>),
    Join(join::Args),
    Status(status::Args),
    Now(now::Args),
    Peers(peers::Args),
    /// List the devices that ask to join.
    Pending(admit::PendingArgs),
    Admit(admit::Args),
    Deny(admit::DenyArgs),
    Rename(rename::Args),
    Grant(grant::Args),
    Revoke(revoke::Args),
    Leave(leave::Args),
    Adopt(adopt::Args),
    Map(map::Args),
    /// List, accept or discard quarantined events: received ones that the team does not accept.
    #[command(subcommand)]
    Quarantine(quarantine::QuarantineCommand),
    Mode(mode::Args),
    Address(mode::AddressArgs),
    Request(join_request::Args),
    Approve(approve::Args),
    Export(export::Args),
    Import(import::Args),
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    match args.command {
        SyncCommand::Create(args) => create::run(args, cx).await,
        SyncCommand::Invite(args) => invite::run(*args, cx).await,
        SyncCommand::Join(args) => join::run(args, cx).await,
        SyncCommand::Status(args) => status::run(args, cx).await,
        SyncCommand::Now(args) => now::run(args, cx).await,
        SyncCommand::Peers(args) => peers::run(args, cx).await,
        SyncCommand::Pending(args) => admit::pending(args, cx).await,
        SyncCommand::Admit(args) => admit::run(args, cx).await,
        SyncCommand::Deny(args) => admit::deny(args, cx).await,
        SyncCommand::Rename(args) => rename::run(args, cx).await,
        SyncCommand::Grant(args) => grant::run(args, cx).await,
        SyncCommand::Revoke(args) => revoke::run(args, cx).await,
        SyncCommand::Leave(args) => leave::run(args, cx).await,
        SyncCommand::Adopt(args) => adopt::run(args, cx).await,
        SyncCommand::Map(args) => map::run(args, cx).await,
        SyncCommand::Quarantine(act) => quarantine::run(act, cx).await,
        SyncCommand::Mode(args) => mode::run(args, cx).await,
        SyncCommand::Address(args) => mode::address(args, cx).await,
        SyncCommand::Request(args) => join_request::run(args, cx).await,
        SyncCommand::Approve(args) => approve::run(args, cx).await,
        SyncCommand::Export(args) => export::run(args, cx).await,
        SyncCommand::Import(args) => import::run(args, cx).await,
    }
}

/// Selects the team.
#[derive(Clone, Debug, Default, clap::Args)]
struct InTeam {
    /// The team, by name or id, if this device is in several.
    #[arg(long = "in", value_name = "TEAM")]
    team: Option<String>,
}

/// A device's role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleArg {
    /// Can read.
    Reader,
    /// Can read and write.
    Writer,
    /// Can read, write and change the team.
    Admin,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Reader => Self::Reader,
            RoleArg::Writer => Self::Writer,
            RoleArg::Admin => Self::Admin,
        }
    }
}

/// A device's role and scopes.
#[derive(Clone, Debug, clap::Args)]
struct RightsArgs {
    /// The role of the new device.
    #[arg(long, value_enum, default_value = "writer", hide_possible_values = false)]
    role: RoleArg,
    /// Only this scope of the team, ORG/PROJECT; may be given several times [default: all current and future scopes].
    #[arg(long, value_name = "SCOPE", value_parser = parse_scope, value_delimiter = ',')]
    only: Vec<Scope>,
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    text.parse()
        .map_err(|error: InvalidScope| format!("{}; `ergo scopes` lists the scopes", in_arguments(&error.to_string())))
}

/// Returns the caller of a request that shares `scopes`, with the identity of the current project if that is one of
/// them.
async fn caller_sharing(cx: &Context, client: &Client, scopes: &[Scope]) -> Result<Caller, CliError> {
    let caller = cx.caller()?;
    let (Ok(here), Ok((scope, identity))) = (cx.here(), cx.known(client).await) else { return Ok(caller) };
    if !scopes.contains(&scope) {
        return Ok(caller);
    }
    Ok(Caller { org_id: here.scope.org_id, project: here.scope.project, identity, ..caller })
}

/// Adds the scopes of the global `--scope` or `--project` to those named individually.
fn with_global_scopes(cx: &Context, mut scopes: Vec<Scope>) -> Result<Vec<Scope>, CliError> {
    let named = match &cx.globals.scope {
        Some(several) if several.contains(',') => split_scopes(several)?,
        None if cx.globals.project.is_none() => Vec::new(),
        _ => vec![cx.here()?.scope],
    };
    for scope in named {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    Ok(scopes)
}

/// Parses comma-separated scopes.
fn split_scopes(text: &str) -> Result<Vec<Scope>, CliError> {
    let wrong = |part: &str, error: String| {
        CliError::usage(format_args!("`--scope {text}`: invalid scope “{part}”: {error}"))
            .hint("write ORG/PROJECT, or several separated by commas: acme/api,acme/web")
    };
    text.split(',').map(str::trim).map(|part| parse_scope(part).map_err(|error| wrong(part, error))).collect()
}

/// Describes the scopes of a grant.
fn scopes_in_words(scopes: &[Scope]) -> String {
    if scopes.is_empty() {
        return "all scopes".to_owned();
    }
    let names: Vec<_> = scopes.iter().map(|scope| escape(&scope.to_string())).collect();
    names.join(", ")
}

/// Shows the result of an act on a team.
fn show_done(cx: &mut Context, done: &TeamDone) -> Exit {
    if cx.ui.json {
        cx.ui.value(done);
    } else if !cx.ui.quiet {
        cx.ui.prose(0, None, &done.summary);
        for warning in &done.warnings {
            let label = cx.ui.paint(Style::Warn, "Note:");
            cx.ui.line(text!("{} {}", label, sanitize_line(warning)));
        }
    }
    Exit::Ok
}

/// Shows a team and its scopes.
fn show_team(cx: &mut Context, team: &TeamView) {
    cx.ui.prose(0, None, &team.summary);
    for bound in &team.scopes {
        let name = escape(&bound.scope.to_string());
        if bound.scope == bound.local {
            cx.ui.line(text!("  {}", name));
        } else {
            cx.ui.line(text!("  {}, on this device {}", name, escape(&bound.local.to_string())));
        }
    }
}

/// Shows the words to compare.
fn show_words(cx: &mut Context, words: &[String]) {
    let words = cx.ui.paint(Style::Strong, sanitize_line(&words.join("  ")));
    cx.ui.line("");
    cx.ui.line(text!("    {}", words));
    cx.ui.line("");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_scopes_stand_in_one_flag_and_what_is_none_is_named() {
        let two = split_scopes("acme/api, acme/web").unwrap();
        assert_eq!(two.iter().map(ToString::to_string).collect::<Vec<_>>(), ["acme/api", "acme/web"]);
        for (text, part) in [("acme/api,", "“”"), ("acme/api,web", "“web”"), (",", "“”")] {
            let error = split_scopes(text).unwrap_err();
            assert!(error.error.contains(part) && !error.hints.is_empty(), "{error:?}");
        }
    }
}
