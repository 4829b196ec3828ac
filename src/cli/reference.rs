//! The reference of the command line as Markdown, generated from the arguments.

use std::fmt::Write;

use clap::{Arg, Command};

/// Returns the reference of a built command and all its verbs.
pub(crate) fn markdown(root: &Command) -> String {
    let mut out = String::from("# The command line\n\n");
    out.push_str("This page is generated: `ergo man --markdown > docs/cli.md`.\n\n");
    paragraph(&mut out, &text(root.get_about()));
    out.push_str("## Global options\n\n");
    for arg in root.get_arguments().filter(|arg| arg.is_global_set() && !arg.is_hide_set()) {
        option(&mut out, arg);
    }
    out.push('\n');
    paragraph(&mut out, &text(root.get_after_long_help()));
    for verb in visible(root) {
        section(&mut out, verb, "ergo", 2);
    }
    let mut out = out.trim_end().to_owned();
    out.push('\n');
    out
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set() && verb.get_name() != "help")
}

fn section(out: &mut String, command: &Command, above: &str, level: usize) {
    let name = format!("{above} {}", command.get_name());
    write(out, format_args!("{} {name}\n\n", "#".repeat(level)));
    paragraph(out, &text(command.get_long_about().or(command.get_about())));
    let mut usage = name.clone();
    for arg in command.get_positionals().filter(|arg| !arg.is_hide_set()) {
        write(&mut usage, format_args!(" {arg}"));
    }
    if command.has_subcommands() {
        usage.push_str(" <COMMAND>");
    }
    let own =
        |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version");
    let options: Vec<_> = command.get_arguments().filter(own).filter(|arg| !arg.is_positional()).collect();
    for arg in options.iter().filter(|arg| arg.is_required_set()) {
        write(&mut usage, format_args!(" {arg}"));
    }
    if options.iter().any(|arg| !arg.is_required_set()) {
        usage.push_str(" [OPTIONS]");
    }
    write(out, format_args!("```text\n{usage}\n```\n\n"));
    let positionals: Vec<_> = command.get_positionals().filter(own).collect();
    for arg in positionals.iter().chain(&options) {
        option(out, arg);
    }
    if !positionals.is_empty() || !options.is_empty() {
        out.push('\n');
    }
    let after = text(command.get_after_help());
    if !after.is_empty() {
        write(out, format_args!("```text\n{}\n```\n\n", after.trim_end()));
    }
    for verb in visible(command) {
        section(out, verb, &name, level + 1);
    }
}

fn option(out: &mut String, arg: &Arg) {
    let mut name = arg.to_string();
    if let (Some(short), false) = (arg.get_short(), arg.is_positional()) {
        name = format!("-{short}, {name}");
    }
    let help = text(arg.get_long_help().or(arg.get_help()));
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut more = Vec::new();
    if !arg.is_positional() && arg.get_action().takes_values() {
        let defaults: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !defaults.is_empty() {
            more.push(format!("default: {}", defaults.join(" ")));
        }
    }
    let choices: Vec<_> = arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
    if arg.get_action().takes_values() && !choices.is_empty() && !arg.is_hide_possible_values_set() {
        more.push(format!("one of {}", choices.join(", ")));
    }
    let more = if more.is_empty() { String::new() } else { format!(" ({})", more.join("; ")) };
    write(out, format_args!("- `{name}`: {help}{more}\n"));
}

fn text(styled: Option<&clap::builder::StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

fn paragraph(out: &mut String, text: &str) {
    if !text.trim().is_empty() {
        write(out, format_args!("{}\n\n", text.trim_end()));
    }
}

fn write(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = out.write_fmt(text);
}
