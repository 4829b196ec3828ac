//! `ergo status`: shows the daemon, the store and this project.

use super::{
    CliError, Context, Exit, doctor,
    show::{text::count, time::lasting},
};
use crate::{
    api::{Diagnose, NLI_UNFITTED, ScopeView, SizeByKind, SizeQuery},
    domain::text::escape,
};

/// Show the daemon, the store and this project. Does not start the daemon.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the size of each kind of data, which reads the whole file of the store.
    #[arg(long)]
    sizes: bool,
}

/// The status as JSON.
#[derive(serde::Serialize)]
struct StatusView<'a> {
    #[serde(flatten)]
    diagnose: &'a Diagnose,
    size: &'a SizeByKind,
    /// The scope of the working directory, or that the flags name; absent before its first claim.
    this_scope: Option<&'a ScopeView>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    cx.globals.no_spawn = true;
    let client = cx.client().await?;
    let diagnose = client.diagnose().await?;
    let old_before = cx.config()?.store.old_before(Context::now());
    let size = client.size_by_kind(&SizeQuery { before: Some(old_before), by_kind: args.sizes }).await?;
    let scope = cx.known_scope(&client).await?;
    let scopes = client.scopes().await?.items;
    let here = scopes.into_iter().find(|view| view.scope == scope);
    if cx.ui.json {
        cx.ui.value(&StatusView { diagnose: &diagnose, size: &size, this_scope: here.as_ref() });
        return Ok(Exit::Ok);
    }
    let ui = &mut cx.ui;
    let health = &diagnose.health;
    let up = lasting(health.uptime_s);
    ui.field("daemon", &format!("ergo {}, process {}, up {up}", health.version, health.pid));
    let listens: Vec<_> = [&diagnose.socket, &diagnose.tcp].into_iter().flatten().map(String::as_str).collect();
    ui.field("listens", &listens.join(", "));
    let whole = bytes(diagnose.store_bytes);
    ui.field("store", &format!("{} ({whole}, {})", diagnose.store, count(diagnose.events, "event", "events")));
    let parts = size.parts.iter().filter(|part| part.bytes > 0);
    ui.field("size", &parts.map(|part| format!("{} {}", part.kind, bytes(part.bytes))).collect::<Vec<_>>().join(", "));
    if size.compact_events > 0 {
        let events = count(size.compact_events, "event", "events");
        ui.field(
            "old",
            &format!("{events} of the local log ({}): `ergo compact` removes them", bytes(size.compact_bytes)),
        );
    }
    ui.field("log", &diagnose.log);
    let guard = &diagnose.guard;
    ui.field(
        "guard",
        &format!(
            "since the daemon started: {} clean, {} warned, {} refused, {} exceptions, {} unchecked",
            guard.clean, guard.warn, guard.block, guard.exception, guard.ungated
        ),
    );
    if diagnose.nli_unfitted {
        ui.field("threshold", NLI_UNFITTED);
    }
    for moved in &diagnose.thresholds {
        let text = format!(
            "{}: the cross-encoder refuses from {:.2} instead of {:.2}, adjusted to how cards were settled",
            escape(&moved.scope.to_string()),
            moved.block,
            moved.usual
        );
        ui.field("threshold", &text);
    }
    for raised in &diagnose.ask_thresholds {
        ui.field("questions", &format!("{}: {}", escape(&raised.scope.to_string()), escape(&raised.words())));
    }
    ui.field("models", &format!("cross-encoder {}, embedder {}", health.nli, health.embedder));
    ui.field(
        "claims",
        &format!(
            "{} active of {}, {}, {} to review",
            diagnose.active,
            diagnose.claims,
            count(diagnose.open_cards, "open conflict", "open conflicts"),
            diagnose.needs_review
        ),
    );
    let name = escape(&scope.to_string());
    match here {
        Some(view) => {
            let open = count(view.open_cards, "open conflict", "open conflicts");
            ui.field("this scope", &format!("{name}: {} active, {open}, {} to review", view.active, view.needs_review));
        }
        None => ui.field("this scope", &format!("{name}: no claims yet")),
    }
    doctor::daemon_findings::show(&diagnose, ui);
    if diagnose.open_cards > 0 {
        cx.ui.commands(&[(cx.in_scope("ergo tui"), "settle the open conflicts".to_owned())]);
    }
    Ok(Exit::Ok)
}

/// Formats a size in bytes.
pub(crate) fn bytes(size: u64) -> String {
    match size {
        0..1_000 => format!("{size} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", size as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", size as f64 / 1e6),
        _ => format!("{:.1} GB", size as f64 / 1e9),
    }
}
