//! `ergo mcp`: an MCP server for coding agents, on stdin and stdout.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::{CliError, Context, Exit, context::Here, scope::top_of};
use crate::{
    config::log_filter,
    mcp::{self, DaemonLink, McpBridge, McpSettings, Profile},
};

/// Run an MCP server for a coding agent, on stdin and stdout.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The agent's program starts this; `ergo setup` configures it. Starts the daemon if it is not running.
ERGO_MCP_LOG sets the log filter for stderr [default: warn].")]
pub(crate) struct Args {
    /// Which tools to offer: `default` (all) or `minimal` (the essential ones).
    #[arg(long, value_name = "PROFILE", default_value = "default", hide_possible_values = true)]
    profile: ProfileArg,
    /// The name to record as the author of all writes [default: the agent's own name].
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Never ask the user to settle a conflict, even if the agent can ask (elicitation).
    #[arg(long)]
    no_ask: bool,
}

/// Which tools to offer.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProfileArg {
    Default,
    Minimal,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    log();
    let Here { scope, identities } = cx.here()?;
    let settings = McpSettings {
        profile: match args.profile {
            ProfileArg::Default => Profile::Default,
            ProfileArg::Minimal => Profile::Minimal,
        },
        scope: Some(scope),
        identities,
        folder: std::env::current_dir().ok().map(|here| top_of(&here)),
        who: args.who,
        ask_person: !args.no_ask,
    };
    let bridge = McpBridge::new(settings, DaemonLink::new(cx.connect()?));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::internal(format_args!("cannot start the runtime: {error}")))?;
    let served = runtime.block_on(async {
        let early = bridge.clone();
        tokio::spawn(async move { early.warm().await });
        mcp::serve(bridge, tokio::io::stdin(), tokio::io::stdout()).await
    });
    // A pending read of stdin cannot be cancelled.
    runtime.shutdown_background();
    served.map_err(|error| CliError::usage(error).hint("agents start this; `ergo setup` configures them"))?;
    Ok(Exit::Ok)
}

/// Sends log lines to stderr, since stdout carries the protocol.
fn log() {
    let set = std::env::var("ERGO_MCP_LOG").ok().filter(|filter| !filter.trim().is_empty());
    let (filter, problem) = match set.map(|filter| log_filter(&filter)).transpose() {
        Ok(filter) => (filter, None),
        Err(problem) => (None, Some(problem)),
    };
    let filter = filter.unwrap_or_else(|| EnvFilter::new("warn,rmcp=error"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(std::io::stderr)
        .finish();
    drop(tracing::subscriber::set_global_default(subscriber));
    if let Some(problem) = problem {
        tracing::warn!("ERGO_MCP_LOG is invalid and was ignored: {problem}");
    }
}
