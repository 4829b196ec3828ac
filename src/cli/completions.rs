//! `ergo completions`: shell completions, generated from the arguments.

use clap::{Command, CommandFactory};
use clap_complete::Shell;

use super::{Cli, CliError, Context, Exit};

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Install:
  bash  ergo completions bash > ~/.local/share/bash-completion/completions/ergo
  zsh   ergo completions zsh > \"${fpath[1]}/_ergo\"
  fish  ergo completions fish > ~/.config/fish/completions/ergo.fish")]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

/// Runs the verb.
#[allow(clippy::unnecessary_wraps, reason = "every verb has this signature")]
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let mut script = Vec::new();
    // clap would complete hidden commands, too.
    let all = Cli::command();
    let mut shown = Command::new("ergo")
        .version(env!("CARGO_PKG_VERSION"))
        .args(all.get_arguments().cloned())
        .subcommands(all.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned());
    clap_complete::generate(args.shell, &mut shown, "ergo", &mut script);
    cx.ui.raw(&script);
    Ok(Exit::Ok)
}
