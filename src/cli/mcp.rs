//! `ergo mcp`: a coding agent's way in, as an MCP server on stdin and stdout.

use clap::ValueEnum;
use tracing_subscriber::EnvFilter;

use super::{CliError, Context, Exit, context::Here, scope::top_of};
use crate::mcp::{self, Bridge, Link, Profile, Settings};

/// Serve a coding agent over MCP, on stdin and stdout.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Started by the agent, not by hand: `ergo setup` tells each agent so. Starts the daemon where it is not running.
ERGO_MCP_LOG sets what is logged on stderr [default: warn].")]
pub(crate) struct Args {
    /// Which tools to offer: all (default), or the five without which there is no memory (minimal).
    #[arg(long, value_name = "PROFILE", default_value = "default", hide_possible_values = true)]
    profile: Offered,
    /// Who acts [default: the agent, by the name that it gives itself].
    #[arg(long, value_name = "NAME")]
    who: Option<String>,
    /// Never ask the person about a conflict, even where the agent's program could.
    #[arg(long)]
    no_ask: bool,
}

/// Which tools to offer.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Offered {
    Default,
    Minimal,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    log();
    let Here { scope, identities } = cx.here()?;
    let settings = Settings {
        profile: match args.profile {
            Offered::Default => Profile::Default,
            Offered::Minimal => Profile::Minimal,
        },
        scope: Some(scope),
        identities,
        folder: std::env::current_dir().ok().map(|here| top_of(&here)),
        who: args.who,
        ask_person: !args.no_ask,
    };
    let bridge = Bridge::new(settings, Link::new(cx.connect()?));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::internal(format_args!("cannot start the runtime: {error}")))?;
    let served = runtime.block_on(async {
        let early = bridge.clone();
        tokio::spawn(async move { early.warm().await });
        mcp::serve(bridge, tokio::io::stdin(), tokio::io::stdout()).await
    });
    // A read of stdin that nobody waits for any more cannot be called back.
    runtime.shutdown_background();
    served.map_err(|error| CliError::usage(error).hint("an agent starts this; `ergo setup` tells it how"))?;
    Ok(Exit::Ok)
}

/// What is logged goes to stderr: stdout is the protocol's.
fn log() {
    let filter = std::env::var("ERGO_MCP_LOG").ok().and_then(|filter| EnvFilter::try_new(filter).ok());
    let filter = filter.unwrap_or_else(|| EnvFilter::new("warn,rmcp=error"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(std::io::stderr)
        .finish();
    drop(tracing::subscriber::set_global_default(subscriber));
}
