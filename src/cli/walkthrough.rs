//! Command lines that run in this process and show their real output, with text between them.

use clap::Parser;

use super::{
    Cli, CliError, Context, Exit, dispatch,
    show::text::quote,
    ui::{SafeText, Style},
};

/// Shows a command line and runs it. A refusal is expected.
pub(super) fn step(cx: &mut Context, args: &[&str]) -> Result<(), CliError> {
    let line: Vec<_> = args.iter().map(|arg| quote(arg)).collect();
    let line = cx.ui.paint(Style::Code, format_args!("$ ergo {}", line.join(" ")));
    say(cx, text!("\n{}", line));
    run_command(cx, args)?;
    // Flush, so that people can read along.
    cx.ui.prompt("");
    Ok(())
}

/// Runs a command line.
pub(super) fn run_command(cx: &mut Context, args: &[&str]) -> Result<Exit, CliError> {
    let cli = Cli::try_parse_from(["ergo"].iter().chain(args))
        .map_err(|error| CliError::internal(format_args!("invalid command of the program: {error}")))?;
    dispatch(cli.command, cx)
}

/// Prints a heading, unless with `--json`.
pub(super) fn heading(cx: &mut Context, text: &str) {
    let text = cx.ui.paint(Style::Strong, text);
    say(cx, text!("\n{}", text));
}

/// Prints text between the steps, unless with `--json`.
pub(super) fn say(cx: &mut Context, text: impl Into<SafeText>) {
    if !cx.ui.json {
        cx.ui.line(text);
    }
}
