//! Measures the app against its targets, with 100,000 claims: first paint, key to paint, draw, idle frames, memory.
//!
//! Prints a table. A figure over its target is marked, but is not a failure, since a busy machine says little about the app.
//! The app runs in a real pseudo-terminal, with a daemon that only answers reads (`tests/it/support/crowd.rs`).
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, missing_docs, unreachable_pub, dead_code)]

mod claims_app;
#[path = "../../tests/it/support/crowd.rs"]
mod crowd;
mod crowded_store;
mod daemon_reads;

use std::{
    fs,
    time::{Duration, Instant},
};

use claims_app::{AREA, settle};
use ergo::tui::{key::KeyPress, msg::Msg, theme::Theme, update, view};
use ergo_bench::{
    daemon::{BenchDaemon, make_home, runtime},
    measure::{Quantiles, mib, millis, peak_memory},
};
use ratatui::buffer::Buffer;
use termlens::{Key, Terminal, TerminalBuilder};

/// Measurements of each kind.
const ROUNDS: usize = 200;

/// The time between two keys, as if a key is held down. Faster keys would share a frame, of which there are sixty a second.
const KEY_INTERVAL: Duration = Duration::from_millis(33);

fn main() {
    // Only `cargo bench` passes this. `cargo test --benches` runs benches, too: a few rounds show that they work.
    let brief = !std::env::args().any(|arg| arg == "--bench");
    let rounds = if brief { 5 } else { ROUNDS };
    println!("{:42} {:>12} {:>12}", "with 100,000 claims", "measured", "bar");
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("work")).unwrap();
    // Otherwise the app would offer the tour of a first run.
    fs::write(home.path().join("tui.json"), r#"{"toured":true}"#).unwrap();
    let url = crowd::start();
    let first = Quantiles::of((0..(rounds / 20).max(3)).map(|_| first_paint(&home, &url).0).collect());
    line("first paint, from the start of the program", first.p50, 100.0, "ms");
    let (_, mut app) = first_paint(&home, &url);
    let keys = Quantiles::of((0..rounds).map(|round| key_to_paint(&mut app, round)).collect());
    line("key to paint, the median", keys.p50, 16.0, "ms");
    line("key to paint, 95 of 100", keys.p95, 16.0, "ms");
    line("frames in three seconds at rest", idle_frames(&mut app), 0.0, "");
    app.send(Key::Char('G')).unwrap();
    app.wait_until(|screen| screen.contains("100,000 of 100,000")).unwrap();
    line("memory at most, the list read to its end", mib(peak_memory(app.pid().unwrap()).unwrap()), 64.0, "MiB");
    let draws = Quantiles::of(draws(rounds));
    line("one frame of 200 x 60, the median", draws.p50, 1.0, "ms");
    line("one frame of 200 x 60, 95 of 100", draws.p95, 4.0, "ms");
    crowded(rounds, if brief { 2_000 } else { crowded_store::CLAIMS });
}

/// Measures a real store in which many items need attention: how long the daemon takes to answer each read of the app, and
/// the app to show its inbox.
fn crowded(rounds: usize, claims: usize) {
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join("work")).unwrap();
    fs::write(home.path().join("tui.json"), r#"{"toured":true}"#).unwrap();
    let settings = "[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\n";
    let paths = make_home(home.path(), &crowded_store::key(), settings).unwrap();
    let begin = Instant::now();
    crowded_store::fill(&paths.store(), claims);
    let made = format!("{:.0} s", begin.elapsed().as_secs_f64());
    println!("\n{:42} {made:>12}", format!("a store of {claims} claims was made"));
    let runtime = runtime().unwrap();
    let mut daemon = BenchDaemon::new(paths, env!("CARGO_BIN_EXE_ergo-bench").into()).unwrap();
    runtime.block_on(daemon.start()).unwrap();
    runtime.block_on(daemon_reads::measure(&daemon.client, rounds.min(50)));
    let first = (0..(rounds / 20).max(3))
        .map(|_| {
            let begin = Instant::now();
            let mut app = terminal(&home).args(["tui", "--no-spawn"]).spawn(env!("CARGO_BIN_EXE_ergo-bench")).unwrap();
            app.wait_until(|screen| screen.contains("Found by models and audits")).unwrap();
            millis(begin.elapsed())
        })
        .collect();
    line("first paint of its inbox, with the rows", Quantiles::of(first).p50, 250.0, "ms");
    runtime.block_on(daemon.stop()).unwrap();
}

fn terminal(home: &tempfile::TempDir) -> TerminalBuilder {
    Terminal::builder()
        .size(200, 60)
        .env_clear()
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8")
        .env("USER", "ada")
        .env("HOME", home.path())
        .env("ERGO_HOME", home.path())
        .current_dir(home.path().join("work"))
        .timeout(Duration::from_mins(1))
}

/// Prints a row of the table.
fn line(what: &str, measured: f64, bar: f64, unit: &str) {
    let over = if measured > bar { "  over" } else { "" };
    println!("{what:42} {:>12} {:>12}{over}", format!("{measured:.2} {unit}"), format!("{bar:.0} {unit}"));
}

/// Starts the app and waits until it shows the first claims. Returns the milliseconds until it painted anything.
fn first_paint(home: &tempfile::TempDir, url: &str) -> (f64, Terminal) {
    let begin = Instant::now();
    let mut app = terminal(home)
        .env("ERGO_API_URL", url)
        .env("ERGO_API_TOKEN", "crowd")
        .args(["tui", "--no-spawn", "--screen", "claims"])
        .spawn(env!("CARGO_BIN_EXE_ergo-bench"))
        .unwrap();
    app.wait_until(|screen| screen.contains("ergo")).unwrap();
    let first = millis(begin.elapsed());
    app.wait_until(|screen| screen.contains("1 of 100,000")).unwrap();
    (first, app)
}

/// Presses a key; returns the milliseconds until the app has painted the result.
fn key_to_paint(app: &mut Terminal, round: usize) -> f64 {
    // Down through the first page and up again, so that the position shows that the frame is painted.
    let at = round % 80;
    let (key, shown) = if at < 40 { (Key::Down, at + 2) } else { (Key::Up, 80 - at) };
    let wanted = format!("{shown} of 100,000");
    std::thread::sleep(KEY_INTERVAL);
    let begin = Instant::now();
    app.send(key).unwrap();
    app.wait_until(|screen| screen.contains(&wanted)).unwrap();
    millis(begin.elapsed())
}

/// Counts the frames that the app paints in three seconds without input.
fn idle_frames(app: &mut Terminal) -> f64 {
    // Earlier input must have been painted.
    app.wait_idle(Duration::from_millis(500)).unwrap();
    let before = app.screen().repaints();
    let quiet = app.wait_until_for(|_| false, Duration::from_secs(3));
    assert!(quiet.is_err(), "the condition never holds");
    (app.screen().repaints() - before) as f64
}

/// Scrolls the Claims screen, and returns the milliseconds of each frame.
fn draws(rounds: usize) -> Vec<f64> {
    let mut state = claims_app::open();
    let theme = Theme::ansi(true);
    let mut buffer = Buffer::empty(AREA);
    let page = KeyPress::parse("pgdn").unwrap();
    let mut out = Vec::new();
    for _ in 0..rounds {
        let effects = update::update(&mut state, Msg::Key(page));
        settle(&mut state, effects);
        buffer.reset();
        let begin = Instant::now();
        let hits = view::draw(&state, &theme, AREA, &mut buffer);
        out.push(millis(begin.elapsed()));
        state.painted(hits);
    }
    out
}
