//! The Models screen: the model of each role, the guard's counts, the state of the daemon.

use ratatui::{
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{
    claims::grouped,
    empty,
    paint::{Paint, labelled, span},
    progress,
};
use crate::{
    api::{Diagnose, ModelStatus, NLI_UNFITTED},
    tui::{hits::Pane, text, times},
};

const LABEL_WIDTH: usize = 14;

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let models = &paint.state.models;
    let Some(diagnose) = &models.diagnose else {
        let inner = paint.pane(area, "Models and daemon", "", true);
        paint.hits.add_pane(inner, Pane::Models, usize::from(inner.height));
        let (heading, step) = match &models.error {
            Some(error) => (error.clone(), "{reload} tries again."),
            None => ("Loading…".to_owned(), ""),
        };
        return empty::centred_message(paint, inner, &heading, &[paint.state.keys.say(step)]);
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
    // Problems that are shown further down are not repeated here, but then this must not say that there are none.
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

/// The roles of models, each with its purpose.
const ROLES: [(&str, &str); 3] =
    [("embedder", "finds similar claims"), ("nli", "compares two claims"), ("llm", "reads and judges claims")];

fn roles(paint: &Paint<'_>, diagnose: &Diagnose, width: usize, out: &mut Vec<Line<'static>>) {
    let theme = paint.theme;
    heading(paint, "Models", out);
    for (role, purpose) in ROLES {
        let model = diagnose.models.roles.iter().find(|model| model.role == role);
        let (name, words, style) = match model {
            None => ("none".to_owned(), "not chosen; `ergo models list` shows models".to_owned(), theme.dim),
            Some(model) => model_state(paint, model),
        };
        // If there is little room, the model's state is shown instead of the role's purpose.
        let (purpose_width, name_width) = if width >= 100 { (26, 26) } else { (0, 22) };
        let room = width.saturating_sub(10 + purpose_width + name_width);
        out.push(Line::from(vec![
            span(text::pad(role, 10), theme.title),
            span(text::pad(purpose, purpose_width), theme.dim),
            span(text::pad(&name, name_width - 1), theme.text),
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

fn model_state(paint: &Paint<'_>, model: &ModelStatus) -> (String, String, Style) {
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
    // Besides the first three counts, only those above 0 are shown.
    let shown: Vec<_> = table.iter().enumerate().filter(|(at, row)| *at < 3 || row.1 > 0).map(|(_, row)| row).collect();
    let columns = (width / 24).clamp(1, 5);
    for row in shown.chunks(columns) {
        let mut spans = Vec::new();
        for (label, count, style) in row {
            spans.push(span(
                format!("{:>8} ", grouped(usize::try_from(*count).unwrap_or(usize::MAX))),
                if *count == 0 { theme.dim } else { *style },
            ));
            let label = if *count == 1 { label.strip_suffix('s').unwrap_or(label) } else { label };
            spans.push(span(text::pad(label, 15), theme.dim));
        }
        out.push(Line::from(spans));
    }
    if diagnose.nli_unfitted {
        out.extend(text::wrap(NLI_UNFITTED, width, theme.dim));
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
            span(format!("{:>9} times", grouped(usize::try_from(timing.count).unwrap_or(usize::MAX))), theme.dim),
            span(format!("{:>10} mean", microseconds(timing.mean_us)), theme.text),
            span(format!("{:>10} max", microseconds(timing.max_us)), theme.dim),
        ]));
    }
}

fn daemon(paint: &Paint<'_>, diagnose: &Diagnose, width: usize, out: &mut Vec<Line<'static>>) {
    let theme = paint.theme;
    heading(paint, "The daemon", out);
    let body = width.saturating_sub(LABEL_WIDTH);
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(label, text::wrap(value, body, theme.text), LABEL_WIDTH, theme.dim));
    };
    let health = &diagnose.health;
    field("version", &format!("{}, process {}, up {}", health.version, health.pid, uptime(health.uptime_s)));
    field(
        "claims",
        &format!(
            "{} active of {}; {} events",
            grouped(diagnose.active),
            grouped(diagnose.claims),
            grouped(diagnose.events)
        ),
    );
    field("store", &format!("{} ({}, schema {})", diagnose.store, bytes(diagnose.store_bytes), diagnose.schema));
    field("socket", diagnose.socket.as_deref().unwrap_or("none"));
    field("tcp", diagnose.tcp.as_deref().unwrap_or("not listening"));
    field("log", &diagnose.log);
}

/// Formats a size: `12.3 MB`.
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

/// Formats microseconds: `1.2 ms`.
fn microseconds(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1_000.0),
        _ => format!("{:.1} s", us as f64 / 1_000_000.0),
    }
}

/// Formats seconds: `3 d 4 h`.
fn uptime(seconds: u64) -> String {
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
        assert_eq!(microseconds(40), "40 µs");
        assert_eq!(microseconds(1_250), "1.2 ms");
        assert_eq!(uptime(90_000), "1 d 1 h");
        assert_eq!(uptime(61), "1 min");
    }
}
