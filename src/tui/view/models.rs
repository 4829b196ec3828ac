//! The Models screen: the model of each role, the guard's counts, the state of the daemon.

use ratatui::{
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{
    claims::group,
    empty,
    paint::{Paint, labelled, span},
    progress,
};
use crate::{
    api::{Diagnose, ModelStatus},
    tui::{hits::Pane, text, times},
};

/// Columns of the labels.
const LABEL: usize = 14;

/// Draws the screen.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let models = &paint.state.models;
    let Some(diagnose) = &models.diagnose else {
        let inner = paint.pane(area, "Models and daemon", "", true);
        paint.hits.add_pane(inner, Pane::Models, usize::from(inner.height));
        let (heading, step) = match &models.error {
            Some(error) => (error.clone(), "{reload} tries again."),
            None => ("Loading…".to_owned(), ""),
        };
        return empty::card(paint, inner, &heading, &[paint.state.keys.say(step)]);
    };
    let width = usize::from(area.width.saturating_sub(4));
    let lines = lines(paint, diagnose, width);
    let at = times::clock(models.at, &paint.state.settings.zone);
    paint.document(area, Pane::Models, &format!("Models and daemon, at {at}"), &lines, models.scroll, true);
}

fn lines(paint: &Paint<'_>, diagnose: &Diagnose, width: usize) -> Vec<Line<'static>> {
    let mut out = Vec::new();
    problems(paint, diagnose, width, &mut out);
    roles(paint, diagnose, width, &mut out);
    progress::lines(paint, diagnose, width, &mut out);
    guard(paint, diagnose, width, &mut out);
    timings(paint, diagnose, &mut out);
    daemon(paint, diagnose, width, &mut out);
    out
}

pub(super) fn heading(paint: &Paint<'_>, text: &str, out: &mut Vec<Line<'static>>) {
    if !out.is_empty() {
        out.push(Line::default());
    }
    out.push(Line::from(span(text.to_owned(), paint.theme.accent)));
}

fn problems(paint: &Paint<'_>, diagnose: &Diagnose, width: usize, out: &mut Vec<Line<'static>>) {
    let theme = paint.theme;
    let all: Vec<&String> = diagnose.problems.iter().chain(&diagnose.models.problems).collect();
    // Trouble that stands further down is not repeated here, but nothing above it says that there is none.
    let failing = diagnose.models.roles.iter().any(|role| role.problem.is_some())
        || diagnose.models.workers.iter().any(|worker| worker.restarts > 0)
        || !diagnose.models.failures.is_empty()
        || diagnose.guard.ungated + diagnose.guard.skipped > 0;
    if all.is_empty() && !failing {
        out.push(Line::from(vec![
            span(format!("{} ", theme.glyphs.done), theme.ok),
            span("No problems found.", theme.title),
        ]));
        return;
    }
    for problem in all {
        let body = text::wrap(problem, width.saturating_sub(2), theme.text);
        out.extend(labelled(theme.glyphs.alert, body, 2, theme.warn));
    }
}

/// The roles, with what each is for.
const ROLES: [(&str, &str); 3] =
    [("embedder", "finds similar claims"), ("nli", "compares two claims"), ("llm", "reads and judges claims")];

fn roles(paint: &Paint<'_>, diagnose: &Diagnose, width: usize, out: &mut Vec<Line<'static>>) {
    let theme = paint.theme;
    heading(paint, "Models", out);
    for (role, use_of) in ROLES {
        let model = diagnose.models.roles.iter().find(|model| model.role == role);
        let (name, words, style) = match model {
            None => ("none".to_owned(), "not chosen; `ergo models list` shows models".to_owned(), theme.dim),
            Some(model) => standing(paint, model),
        };
        // What a role is for gives way to how its model is.
        let (for_what, named) = if width >= 100 { (26, 26) } else { (0, 22) };
        let room = width.saturating_sub(10 + for_what + named);
        out.push(Line::from(vec![
            span(text::pad(role, 10), theme.title),
            span(text::pad(use_of, for_what), theme.dim),
            span(text::pad(&name, named - 1), theme.text),
            Span::raw(" "),
            span(text::fit(&words, room), style),
        ]));
    }
    for worker in &diagnose.models.workers {
        let again = match worker.restarts {
            0 => String::new(),
            1 => ", restarted once".to_owned(),
            n => format!(", restarted {n} times"),
        };
        let roles = worker.roles.join(" and ");
        let words = match worker.pid {
            Some(pid) => format!("process {pid} of {roles}: {}{again}", bytes(worker.rss_bytes)),
            None => format!("the process of {roles} is not running{again}"),
        };
        out.push(Line::from(span(text::fit(&words, width), if worker.restarts > 0 { theme.warn } else { theme.dim })));
    }
    if !diagnose.models.failures.is_empty() {
        let words: Vec<String> = diagnose.models.failures.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
        out.push(Line::from(span(format!("Failed calls: {}", words.join(", ")), theme.warn)));
    }
}

fn standing(paint: &Paint<'_>, model: &ModelStatus) -> (String, String, Style) {
    let theme = paint.theme;
    if let Some(problem) = &model.problem {
        return (model.name.clone(), problem.clone(), theme.bad);
    }
    let place = model.computes.clone().unwrap_or_default();
    let words = match (model.loaded, place.is_empty()) {
        (true, true) => "ready".to_owned(),
        (true, false) => format!("ready, on {place}"),
        (false, _) => "loaded when it is needed".to_owned(),
    };
    (model.name.clone(), words, if model.loaded { theme.ok } else { theme.dim })
}

fn guard(paint: &Paint<'_>, diagnose: &Diagnose, width: usize, out: &mut Vec<Line<'static>>) {
    let theme = paint.theme;
    let counts = &diagnose.guard;
    heading(paint, "Guard, since the daemon started", out);
    let table: [(&str, u64, Style); 10] = [
        ("clean", counts.clean, theme.ok),
        ("warned", counts.warn, theme.warn),
        ("refused", counts.block, theme.warn),
        ("exceptions", counts.exception, theme.text),
        ("unchecked", counts.ungated, theme.bad),
        ("NLI pairs", counts.inferred, theme.text),
        ("LLM pairs", counts.deepened, theme.text),
        ("parsed by LLM", counts.refined, theme.text),
        ("wait for LLM", counts.waiting, theme.text),
        ("model failures", counts.skipped, theme.bad),
    ];
    // Beside what became of the writes only what happened is shown.
    let shown: Vec<_> = table.iter().enumerate().filter(|(at, row)| *at < 3 || row.1 > 0).map(|(_, row)| row).collect();
    let columns = (width / 24).clamp(1, 5);
    for row in shown.chunks(columns) {
        let mut spans = Vec::new();
        for (label, count, style) in row {
            spans.push(span(
                format!("{:>8} ", group(usize::try_from(*count).unwrap_or(usize::MAX))),
                if *count == 0 { theme.dim } else { *style },
            ));
            let label = if *count == 1 { label.strip_suffix('s').unwrap_or(label) } else { label };
            spans.push(span(text::pad(label, 15), theme.dim));
        }
        out.push(Line::from(spans));
    }
    for threshold in &diagnose.thresholds {
        let words = format!(
            "in {}, claims are refused from {:.2} (default {:.2}), adjusted by how cards were settled",
            threshold.scope, threshold.block, threshold.usual
        );
        out.extend(text::wrap(&words, width, theme.dim));
    }
    for raised in &diagnose.ask_thresholds {
        out.extend(text::wrap(&format!("in {}, {}", raised.scope, raised.words()), width, theme.dim));
    }
}

fn timings(paint: &Paint<'_>, diagnose: &Diagnose, out: &mut Vec<Line<'static>>) {
    if diagnose.timings.is_empty() {
        return;
    }
    let theme = paint.theme;
    heading(paint, "Timings", out);
    for timing in &diagnose.timings {
        out.push(Line::from(vec![
            span(text::pad(&timing.stage, 26), theme.text),
            span(format!("{:>9} times", group(usize::try_from(timing.count).unwrap_or(usize::MAX))), theme.dim),
            span(format!("{:>10} mean", span_of(timing.mean_us)), theme.text),
            span(format!("{:>10} max", span_of(timing.max_us)), theme.dim),
        ]));
    }
}

fn daemon(paint: &Paint<'_>, diagnose: &Diagnose, width: usize, out: &mut Vec<Line<'static>>) {
    let theme = paint.theme;
    heading(paint, "The daemon", out);
    let body = width.saturating_sub(LABEL);
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(label, text::wrap(value, body, theme.text), LABEL, theme.dim));
    };
    let health = &diagnose.health;
    field("version", &format!("{}, process {}, up {}", health.version, health.pid, lasting(health.uptime_s)));
    field(
        "claims",
        &format!("{} active of {}; {} events", group(diagnose.active), group(diagnose.claims), group(diagnose.events)),
    );
    field("store", &format!("{} ({}, schema {})", diagnose.store, bytes(diagnose.store_bytes), diagnose.schema));
    field("socket", diagnose.socket.as_deref().unwrap_or("none"));
    field("tcp", diagnose.tcp.as_deref().unwrap_or("not listening"));
    field("log", &diagnose.log);
}

/// A size for people: `12.3 MB`.
fn bytes(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < units.len() {
        size /= 1000.0;
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or_default();
    if unit == 0 { format!("{bytes} {name}") } else { format!("{size:.1} {name}") }
}

/// A time in microseconds for people: `1.2 ms`.
fn span_of(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1_000.0),
        _ => format!("{:.1} s", us as f64 / 1_000_000.0),
    }
}

/// Seconds for people: `3d 4h`.
fn lasting(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_shown_in_few_words() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(12_345_678), "12.3 MB");
        assert_eq!(span_of(40), "40 µs");
        assert_eq!(span_of(1_250), "1.2 ms");
        assert_eq!(lasting(90_000), "1 d 1 h");
        assert_eq!(lasting(61), "1 min");
    }
}
