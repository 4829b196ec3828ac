//! `ergo sync`: share a memory with a team, peer to peer.

mod admit;
mod adopt;
mod approve;
mod card;
mod create;
mod export;
mod file;
mod follow;
mod grant;
mod import;
mod invite;
mod join;
mod leave;
mod map;
mod mode;
mod now;
mod peers;
mod quarantine;
mod rename;
mod revoke;
mod status;

use clap::ValueEnum;

use super::{
    CliError, Context, Exit,
    ask::Asker,
    ui::{SafeText, Style},
};
use crate::{
    api::{Role, TeamDone, TeamView},
    domain::{
        Scope,
        text::{escape, sanitize_line},
    },
};

/// Share a memory with a team, peer to peer.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Two laptops on one network:
  ergo sync create platform          on the first
  ergo sync adopt                    there, in a project: the team shares it from now on
  ergo sync invite                   there: shows a ticket, then six words
  ergo sync join ergo1…              on the second: shows the same six words
  ergo sync status                   on either

Without a network: `ergo sync card`, `ergo sync approve`, `ergo sync join FILE`.
Nothing is sent until a team is created or joined, and then nothing leaves the local network unless
`ergo sync mode internet` says so.")]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    Create(create::Args),
    Invite(Box<invite::Args>),
    Join(join::Args),
    Status(status::Args),
    Now(now::Args),
    Peers(peers::Args),
    /// Show who waits for admission.
    Pending(admit::PendingArgs),
    Admit(admit::Args),
    Deny(admit::DenyArgs),
    Rename(rename::Args),
    Grant(grant::Args),
    Revoke(revoke::Args),
    Leave(leave::Args),
    Adopt(adopt::Args),
    Map(map::Args),
    /// Look at what came and was not accepted, and settle it.
    #[command(subcommand)]
    Quarantine(quarantine::Act),
    Mode(mode::Args),
    Address(mode::AddressArgs),
    Card(card::Args),
    Approve(approve::Args),
    Export(export::Args),
    Import(import::Args),
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    match args.act {
        Act::Create(args) => create::run(args, cx).await,
        Act::Invite(args) => invite::run(*args, cx).await,
        Act::Join(args) => join::run(args, cx).await,
        Act::Status(args) => status::run(args, cx).await,
        Act::Now(args) => now::run(args, cx).await,
        Act::Peers(args) => peers::run(args, cx).await,
        Act::Pending(args) => admit::pending(args, cx).await,
        Act::Admit(args) => admit::run(args, cx).await,
        Act::Deny(args) => admit::deny(args, cx).await,
        Act::Rename(args) => rename::run(args, cx).await,
        Act::Grant(args) => grant::run(args, cx).await,
        Act::Revoke(args) => revoke::run(args, cx).await,
        Act::Leave(args) => leave::run(args, cx).await,
        Act::Adopt(args) => adopt::run(args, cx).await,
        Act::Map(args) => map::run(args, cx).await,
        Act::Quarantine(act) => quarantine::run(act, cx).await,
        Act::Mode(args) => mode::run(args, cx).await,
        Act::Address(args) => mode::address(args, cx).await,
        Act::Card(args) => card::run(args, cx).await,
        Act::Approve(args) => approve::run(args, cx).await,
        Act::Export(args) => export::run(args, cx).await,
        Act::Import(args) => import::run(args, cx).await,
    }
}

/// Which team, for those who are in several.
#[derive(Clone, Debug, Default, clap::Args)]
struct InTeam {
    /// The team, by name or id; needed only by those who are in several.
    #[arg(long = "in", value_name = "TEAM")]
    team: Option<String>,
}

/// What a device may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleArg {
    /// Reads.
    Reader,
    /// Reads and writes.
    Writer,
    /// Reads, writes, and changes who is in the team.
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

/// What a device may do and see.
#[derive(Clone, Debug, clap::Args)]
struct Allowed {
    /// What the new device may do.
    #[arg(long, value_enum, default_value = "writer", hide_possible_values = false)]
    role: RoleArg,
    /// Only this scope of the team, ORG/PROJECT; may be given several times [default: all, also those to come].
    #[arg(long, value_name = "SCOPE", value_parser = parse_scope, value_delimiter = ',')]
    only: Vec<Scope>,
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    let (org, project) = text.split_once('/').ok_or("expected ORG/PROJECT; `ergo scopes` lists them")?;
    Scope::new(org, project).map_err(|error| error.to_string())
}

/// Scopes as they were named one by one, and that which the flags for every verb name.
fn with_flag(cx: &Context, mut scopes: Vec<Scope>) -> Result<Vec<Scope>, CliError> {
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

/// The scopes that one flag names, with commas between them.
fn split_scopes(text: &str) -> Result<Vec<Scope>, CliError> {
    let wrong = |part: &str, error: String| {
        CliError::usage(format_args!("`--scope {text}`: “{part}” is no scope: {error}"))
            .hint("write ORG/PROJECT, or several with commas between them: acme/api,acme/web")
    };
    text.split(',').map(str::trim).map(|part| parse_scope(part).map_err(|error| wrong(part, error))).collect()
}

/// The scopes of a grant in words.
fn scopes_in_words(scopes: &[Scope]) -> String {
    if scopes.is_empty() {
        return "all scopes".to_owned();
    }
    let names: Vec<_> = scopes.iter().map(|scope| escape(&scope.to_string())).collect();
    names.join(", ")
}

/// Says what an act on a team did.
fn tell(cx: &mut Context, done: &TeamDone) -> Exit {
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

/// Says what a team now is.
fn tell_team(cx: &mut Context, team: &TeamView) {
    cx.ui.prose(0, None, &team.summary);
    for bound in &team.scopes {
        let name = escape(&bound.scope.to_string());
        if bound.scope == bound.local {
            cx.ui.line(text!("  {}", name));
        } else {
            cx.ui.line(text!("  {}, here {}", name, escape(&bound.local.to_string())));
        }
    }
}

/// The words to compare, on a line of their own.
fn show_words(cx: &mut Context, words: &[String]) {
    let words = cx.ui.paint(Style::Strong, sanitize_line(&words.join("  ")));
    cx.ui.line("");
    cx.ui.line(text!("    {}", words));
    cx.ui.line("");
}

/// Whether a person says yes; without one to ask, what to do instead.
fn confirm(cx: &mut Context, yes: bool, question: impl Into<SafeText>) -> Result<bool, CliError> {
    if yes {
        return Ok(true);
    }
    let question = question.into();
    let answers = if cx.ui.json { None } else { Asker::new() };
    match answers {
        Some(mut asker) => asker.yes(cx, question),
        None => Err(CliError::usage(text!("{} Nobody is there to answer", question)).hint("say so with `--yes`")),
    }
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
