//! `ergo tui`: opens the review app, or runs the line-based review.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::FutureExt;

#[cfg(feature = "testing")]
use super::app_capture::{CaptureArgs, ScriptArgs};
use super::{
    CliError, Context, Exit,
    args::When,
    review::{self, CardSelection},
};
use crate::{
    client::{ClientError, Connect},
    config::{ConfigError, Paths, TuiTheme},
    files,
    tui::{
        self, AppOptions, Starter, TuiError, action::Keymap, config_file::Mistake, state::Screen, theme::ThemeBase,
        theme_file::ThemeFile,
    },
};

/// Open the review app: inbox, claims, reasons, conflicts.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Open this conflict.
    #[arg(long, value_name = "ID")]
    conflict: Option<String>,
    /// Open this claim.
    #[arg(long, value_name = "ID", conflicts_with = "conflict")]
    claim: Option<String>,
    /// Show the introductory tour again.
    #[arg(long)]
    tour: bool,
    /// Disable all changes.
    #[arg(long)]
    read_only: bool,
    /// The colour theme: auto, dark, light or mono.
    #[arg(long, value_name = "THEME", value_parser = theme)]
    theme: Option<ThemeBase>,
    /// Do not use the mouse; the terminal keeps it for selecting text.
    #[arg(long)]
    no_mouse: bool,
    /// Draw lines and marks in ASCII.
    #[arg(long)]
    ascii: bool,
    /// Review line by line instead: no drawing, no cursor, no colour, for screen readers. The default without a terminal.
    #[arg(long)]
    plain: bool,
    /// The first screen: inbox, claims, why, peers, timeline, models or agents.
    #[arg(long, value_name = "SCREEN", hide = true)]
    screen: Option<String>,
    #[cfg(feature = "testing")]
    #[command(flatten)]
    capture: CaptureArgs,
    #[cfg(feature = "testing")]
    #[command(flatten)]
    script: ScriptArgs,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    #[cfg(feature = "testing")]
    let to_file = args.capture.is_set();
    #[cfg(not(feature = "testing"))]
    let to_file = false;
    if !to_file && (args.plain || cx.ui.json || !interactive()) {
        return review_lines(args, cx);
    }
    cx.block_on(async |cx| check_link(cx, &args).await)?;
    let here = cx.here()?;
    let linked = args.conflict.is_some() || args.claim.is_some();
    let set = cx.config()?.tui.clone();
    let paths = cx.paths()?.clone();
    let options = AppOptions {
        base: args.theme.unwrap_or(base(set.theme)),
        theme_file: read(&paths.theme(), ThemeFile::parse)?,
        keys: read(&paths.keys(), Keymap::parse)?.unwrap_or_default(),
        ascii: if args.ascii { Some(true) } else { set.ascii },
        mouse: set.mouse && !args.no_mouse,
        identities: here.identities.clone(),
        // A link opens its card or claim in any scope.
        scope: (cx.names_scope() || (!linked && opens_on_project(cx))).then(|| here.scope.clone()),
        conflict: args.conflict,
        claim: args.claim,
        screen: args.screen.as_deref().and_then(screen),
        tour: args.tour,
        memory: Some(cx.paths()?.app()),
        folder: std::env::current_dir().ok().map(|folder| super::scope::top_of(&folder)),
        state: Some(paths.state.clone()),
        read_only: args.read_only,
        demonstration: cx.is_private(),
        autostart: !cx.globals.no_spawn,
        no_color: matches!(cx.globals.color, When::Never),
        ..AppOptions::new(cx.caller()?.who, here.scope)
    };
    #[cfg(feature = "testing")]
    if args.capture.is_set() {
        let client = cx.block_on(async |cx| cx.client().await)?;
        return args.capture.run(cx, &options, &client, &args.script);
    }
    let connect = Connect { spawn: false, ..cx.connect()? };
    let client = connect.lazy()?;
    let start: Starter = Arc::new(move || {
        let connect = connect.clone();
        async move { connect.start().await.map(drop).map_err(|error| error.to_string()) }.boxed()
    });
    tui::run(options, client, start).map(|()| Exit::Ok).map_err(failed)
}

/// Checks that the linked card or claim exists, since the app would open on another one. If the daemon cannot be reached, the app
/// itself reports it.
async fn check_link(cx: &Context, args: &Args) -> Result<(), CliError> {
    if args.conflict.is_none() && args.claim.is_none() {
        return Ok(());
    }
    let Ok(client) = cx.connect()?.client().await else { return Ok(()) };
    let found = match (&args.conflict, &args.claim) {
        (Some(card), _) => client.card(card).await.map(drop),
        (None, Some(claim)) => client.claim(claim).await.map(drop),
        (None, None) => Ok(()),
    };
    match found {
        Err(ClientError::Api(error)) => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Runs the line-based review.
fn review_lines(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    cx.ui.disable_decoration();
    let selection = args.conflict.map(CardSelection::Card).or(args.claim.map(CardSelection::Claim));
    cx.block_on(async |cx| {
        let client = cx.client().await?;
        if let Some(selection) = selection {
            return review::cards(cx, &client, selection, args.read_only).await;
        }
        let scope = if opens_on_project(cx) { Some(cx.known_scope(&client).await?) } else { None };
        review::inbox(cx, &client, scope, args.read_only).await
    })
}

/// Whether the review opens on one project: the one that a flag names, or the repository of the working directory.
fn opens_on_project(cx: &Context) -> bool {
    let folder = std::env::current_dir().ok();
    cx.names_scope() || (!cx.is_private() && folder.is_some_and(|folder| super::scope::in_repository(&folder)))
}

/// Checks the user's files for the app. Returns the name and the path of each that exists, with its mistake.
pub(super) fn check_files(paths: &Paths) -> Vec<(&'static str, PathBuf, Result<(), CliError>)> {
    let (keys, theme) = (paths.keys(), paths.theme());
    let found = [
        ("keys", read(&keys, Keymap::parse).map(|keys| keys.is_some()), keys),
        ("theme", read(&theme, ThemeFile::parse).map(|theme| theme.is_some()), theme),
    ];
    let existing = found.into_iter().filter(|(_, read, _)| !matches!(read, Ok(false)));
    existing.map(|(what, read, path)| (what, path, read.map(drop))).collect()
}

/// Reads and parses a file of the user; `None` if it does not exist.
fn read<T>(path: &Path, parse: fn(&str) -> Result<T, Mistake>) -> Result<Option<T>, CliError> {
    let text = match files::text(path, files::MAX_SETTINGS) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(CliError::file("read", path, &error)),
    };
    let mistake = |Mistake { line, message }| ConfigError::Invalid { path: path.to_owned(), line, message };
    parse(&text).map(Some).map_err(|error| mistake(error).into())
}

fn base(theme: TuiTheme) -> ThemeBase {
    match theme {
        TuiTheme::Auto => ThemeBase::Auto,
        TuiTheme::Dark => ThemeBase::Dark,
        TuiTheme::Light => ThemeBase::Light,
        TuiTheme::Mono => ThemeBase::Mono,
    }
}

fn theme(word: &str) -> Result<ThemeBase, String> {
    ThemeBase::named(word).ok_or_else(|| "expected auto, dark, light or mono".to_owned())
}

/// Whether stdin and stdout are a terminal that can draw.
fn interactive() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

fn screen(name: &str) -> Option<Screen> {
    Screen::TABS.into_iter().find(|screen| screen.title().eq_ignore_ascii_case(name))
}

pub(super) fn failed(error: TuiError) -> CliError {
    match error {
        TuiError::NoTerminal => CliError::usage(error),
        TuiError::Terminal(_) | TuiError::Panicked => CliError::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        api::CardAct,
        cli::review::{ReviewCommand, parse},
        tui::action::{Action, Keymap},
    };

    #[test]
    fn the_letters_are_those_of_the_app() {
        let keys = Keymap::default();
        for (action, act) in [
            (Action::KeepNew, CardAct::Supersede),
            (Action::KeepExisting, CardAct::Supersede),
            (Action::Retract, CardAct::Retract),
            (Action::Narrow, CardAct::Narrow),
            (Action::Exception, CardAct::Exception),
            (Action::Dismiss, CardAct::Dismiss),
            (Action::Discard, CardAct::Discard),
            (Action::Snooze, CardAct::Snooze),
            (Action::Merge, CardAct::Supersede),
        ] {
            let answer = parse(&keys.first(action), true);
            assert!(matches!(&answer, ReviewCommand::Card(own, _) if *own == act), "{action:?}: {answer:?}");
        }
        let others = [Action::CardWhy, Action::Undo, Action::NextCard, Action::Quit, Action::Palette];
        let commands = others.map(|action| parse(&keys.first(action), true));
        let expected = [
            ReviewCommand::Why("1".into()),
            ReviewCommand::Undo,
            ReviewCommand::Next,
            ReviewCommand::Quit,
            ReviewCommand::Help,
        ];
        assert_eq!(commands, expected);
    }
}
