//! `ergo tui`: opens the review app, or prints the same review as lines.

use std::{io::IsTerminal, sync::Arc};

use futures_util::FutureExt;

use super::{CliError, Context, Exit, args::When, review};
use crate::{
    client::Connect,
    tui::{self, Options, Starter, TuiError},
};

/// Open the review app: claims, why-chains, conflicts.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --scope, --org or --project the app shows that scope alone.
Where there is no terminal it does what --plain does.")]
pub(crate) struct Args {
    /// Open this conflict.
    #[arg(long, value_name = "ID")]
    conflict: Option<String>,
    /// Open this claim.
    #[arg(long, value_name = "ID", conflicts_with = "conflict")]
    claim: Option<String>,
    /// Change nothing.
    #[arg(long)]
    read_only: bool,
    /// The same review as lines: no drawing, no cursor. Reads well aloud.
    #[arg(long)]
    plain: bool,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    let terminal = cx.ui.terminal && std::io::stdin().is_terminal() && !dumb;
    if args.plain || cx.ui.json || !terminal {
        let which = review::Which { card: args.conflict, claim: args.claim, read_only: args.read_only };
        return cx.block_on(async |cx| {
            let client = cx.client().await?;
            review::run(cx, &client, which).await
        });
    }
    let here = cx.here()?;
    let flags = &cx.globals;
    let named = flags.scope.is_some() || flags.org.is_some() || flags.project.is_some();
    let options = Options {
        identity: here.identity,
        scope: named.then(|| here.scope.clone()),
        conflict: args.conflict,
        claim: args.claim,
        read_only: args.read_only,
        no_color: flags.color == When::Never,
        ..Options::new(cx.config()?.who.clone(), here.scope)
    };
    let connect = cx.connect()?;
    if connect.spawn {
        // Where it does not start, the app says so and offers to try again.
        let _shown_there = cx.block_on(async |cx| cx.client().await.map(drop));
    }
    let client = connect.lazy()?;
    let starter: Starter = Arc::new(move || start(connect.clone()).boxed());
    match tui::run(options, client, starter) {
        Ok(()) => Ok(Exit::Ok),
        Err(error @ TuiError::NoTerminal) => Err(CliError::usage(error)),
        Err(error) => Err(CliError::internal(error)),
    }
}

async fn start(connect: Connect) -> Result<(), String> {
    match connect.start().await {
        Ok(_) => Ok(()),
        Err(error) => {
            let error = CliError::from(error);
            let hints = error.hints.iter().map(|hint| format!(" Hint: {hint}"));
            Err(std::iter::once(error.error.clone()).chain(hints).collect())
        }
    }
}
