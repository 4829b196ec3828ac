//! `ergo tui`: opens the review app, or prints the same review as lines.

use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::Arc,
};

use futures_util::FutureExt;

use super::{CliError, Context, Exit, args::When, review, triage};
use crate::{
    client::{Client, Connect},
    config::{ConfigError, TuiTheme},
    files,
    tui::{
        self, AppOptions, Starter, TuiError, action::Keymap, config_file::Mistake, state::Screen, theme::ThemeBase,
        theme_file::ThemeFile,
    },
};

/// Open the review app: claims, why-chains, conflicts.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Open this conflict.
    #[arg(long, value_name = "ID")]
    conflict: Option<String>,
    /// Open this claim.
    #[arg(long, value_name = "ID", conflicts_with = "conflict")]
    claim: Option<String>,
    /// Show the tour that a first run begins with.
    #[arg(long)]
    tour: bool,
    /// Change nothing.
    #[arg(long)]
    read_only: bool,
    /// For which background to draw.
    #[arg(long, value_name = "THEME", value_parser = theme)]
    theme: Option<ThemeBase>,
    /// Leave the mouse to the terminal.
    #[arg(long)]
    no_mouse: bool,
    /// Draw lines and marks in ASCII.
    #[arg(long)]
    ascii: bool,
    /// The whole review as lines: no drawing, no cursor, no colour; reads well aloud. Also where there is no terminal.
    #[arg(long)]
    plain: bool,
    /// Write a picture of the app to this SVG file instead of opening it.
    #[arg(long, value_name = "FILE", hide = true)]
    capture: Option<PathBuf>,
    /// Write a recording of the app (an asciicast) to this file instead of opening it. The keys act.
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "capture")]
    record: Option<PathBuf>,
    /// The picture's size in columns and rows.
    #[arg(long, value_name = "COLUMNSxROWS", default_value = "120x40", hide = true)]
    size: String,
    /// Keys pressed before the picture is taken, separated by spaces.
    #[arg(long, value_name = "KEYS", default_value = "", hide = true)]
    keys: String,
    /// The screen to begin on: inbox, claims, why, peers, timeline, models or agents.
    #[arg(long, value_name = "SCREEN", hide = true)]
    screen: Option<String>,
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let lines = args.plain || cx.ui.json || !interactive();
    if lines && args.capture.is_none() && args.record.is_none() {
        cx.ui.plainly();
        let which = review::Which { card: args.conflict, claim: args.claim, read_only: args.read_only };
        return cx.block_on(async |cx| {
            let client = cx.client().await?;
            if which.card.is_some() || which.claim.is_some() {
                return review::run(cx, &client, which).await;
            }
            let scope = if opens_on_project(cx) { Some(cx.known_scope(&client).await?) } else { None };
            triage::run(cx, &client, scope, which.read_only).await
        });
    }
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
        // A link leads to its card or claim, wherever that is.
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
        ..AppOptions::new(cx.anyone()?.who, here.scope)
    };
    if let Some(file) = args.capture {
        let client = cx.block_on(async |cx| cx.client().await)?;
        return capture(cx, &options, &client, &file, (&args.size, &args.keys), tui::capture);
    }
    if let Some(file) = args.record {
        let client = cx.block_on(async |cx| cx.client().await)?;
        return capture(cx, &options, &client, &file, (&args.size, &args.keys), tui::record);
    }
    let connect = Connect { spawn: false, ..cx.connect()? };
    let client = connect.lazy()?;
    let start: Starter = Arc::new(move || {
        let connect = connect.clone();
        async move { connect.start().await.map(drop).map_err(|error| error.to_string()) }.boxed()
    });
    tui::run(options, client, start).map(|()| Exit::Ok).map_err(failed)
}

/// Whether the review begins with one project: that which a flag names, or the repository in which it is opened.
fn opens_on_project(cx: &Context) -> bool {
    let folder = std::env::current_dir().ok();
    cx.names_scope() || (!cx.is_private() && folder.is_some_and(|folder| super::scope::in_repository(&folder)))
}

/// Reads a file of the person's, where there is one.
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

/// Whether there is a terminal that can be drawn on.
fn interactive() -> bool {
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !dumb && std::io::stdin().is_terminal() && std::io::stdout().is_terminal()
}

/// Draws the app at a size after some keys, as the text of a file.
type Made = fn(&AppOptions, &Client, (u16, u16), &str) -> Result<String, TuiError>;

fn capture(
    cx: &mut Context,
    options: &AppOptions,
    client: &Client,
    file: &std::path::Path,
    (size, keys): (&str, &str),
    made: Made,
) -> Result<Exit, CliError> {
    let parsed = size.split_once('x').and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    let size = parsed
        .filter(|(columns, rows)| (1..=400).contains(columns) && (1..=200).contains(rows))
        .ok_or_else(|| CliError::usage(format_args!("“{size}” is no size: expected COLUMNSxROWS, such as 120x40")))?;
    let text = made(options, client, size, keys).map_err(failed)?;
    std::fs::write(file, text).map_err(|error| CliError::file("write", file, &error))?;
    cx.ui.note(text!("Wrote {}", file.display()));
    Ok(Exit::Ok)
}

fn screen(name: &str) -> Option<Screen> {
    Screen::TABS.into_iter().find(|screen| screen.title().eq_ignore_ascii_case(name))
}

fn failed(error: TuiError) -> CliError {
    match error {
        TuiError::NoTerminal => CliError::usage(error),
        TuiError::Terminal(_) | TuiError::Panicked => CliError::internal(error),
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        api::CardAct,
        cli::review::{Answer, parse},
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
        ] {
            let answer = parse(&keys.first(action));
            assert!(matches!(&answer, Answer::Act(own, _) if *own == act), "{action:?}: {answer:?}");
        }
        let others = [Action::Merge, Action::CardWhy, Action::Undo, Action::NextCard, Action::Quit, Action::Palette];
        let told = others.map(|action| parse(&keys.first(action)));
        let expected = [Answer::Merge, Answer::Why("1".into()), Answer::Undo, Answer::Next, Answer::Quit, Answer::Help];
        assert_eq!(told, expected);
    }
}
