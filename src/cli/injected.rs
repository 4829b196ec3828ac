//! `ergo injected`: lists the claims that hooks injected into agents' sessions.

use super::{
    CliError, Context, Exit,
    show::{text::count, time::ago},
};
use crate::{
    client::injected::{self, Injection},
    domain::text::escape,
};

/// List the claims that hooks injected into the sessions of coding agents.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo injected                   newest first
  ergo injected --claim 3f2a91bc  every session that got this claim")]
pub(crate) struct Args {
    /// Only this claim, by its id or a prefix of it.
    #[arg(long, value_name = "ID")]
    claim: Option<String>,
    /// Only this session.
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Maximum number.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 50)]
    limit: usize,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let mut found = injected::all(&cx.paths()?.state).map_err(|(path, error)| CliError::file("read", &path, &error))?;
    found.retain(|one| !one.claims.is_empty());
    if let Some(claim) = &args.claim {
        found.retain(|one| one.claims.iter().any(|id| id.to_hex().starts_with(&claim.to_ascii_lowercase())));
    }
    if let Some(session) = &args.session {
        found.retain(|one| one.session == *session);
    }
    let total = found.len();
    found.truncate(args.limit);
    if cx.ui.json {
        cx.ui.value(&serde_json::json!({ "items": found, "total": total }));
        return Ok(Exit::Ok);
    }
    let now = Context::now();
    for Injection { at, session, agent, hook, scope, claims, .. } in &found {
        let ids: Vec<_> = claims.iter().map(|id| id.short()).collect();
        let of = agent.as_deref().map_or_else(String::new, |agent| format!(" of {agent}"));
        let (of, scope) = (escape(&of), escape(&scope.to_string()));
        cx.ui.line(text!("{} · session {}{} · {} · {}", hook, session, of, scope, ago(*at, now)));
        cx.ui.line(text!("  {}", ids.join(" ")));
    }
    if found.is_empty() && (args.claim.is_some() || args.session.is_some()) {
        cx.ui.line("No injection matches.");
    } else if found.is_empty() {
        cx.ui.line("No claims were injected into any session. `ergo setup` installs the hooks that inject them.");
    } else if found.len() < total {
        cx.ui.line(text!("{} in total; show more with --limit.", count(total, "injection", "injections")));
    }
    Ok(Exit::Ok)
}
