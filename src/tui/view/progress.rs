//! Progress of the vectors, and the ingested files.

use ratatui::text::{Line, Span};

use super::{
    claims::grouped,
    models::heading,
    paint::{Paint, span},
};
use crate::{api::Diagnose, tui::text};

const BAR_WIDTH: usize = 24;

/// The most files that are named, those with the most passages first.
const MAX_FILES: usize = 4;

const LABEL_WIDTH: usize = 14;

/// Adds the lines; none if no file was ingested and no vector is missing.
pub(super) fn lines(paint: &Paint<'_>, diagnose: &Diagnose, width: usize, out: &mut Vec<Line<'static>>) {
    let (theme, models) = (paint.theme, &paint.state.models);
    let waits = &diagnose.unembedded;
    let files = models.files.as_ref().filter(|files| !files.items.is_empty());
    let waiting = waits.claims + waits.chunks;
    if waiting == 0 && files.is_none() && models.reembed.is_none() {
        return;
    }
    heading(paint, "Vectors for search by meaning", out);
    if let Some(done) = &models.reembed {
        let words = match done.total {
            0 => "starting…".to_owned(),
            total => format!("{} of {} recomputed with {}", grouped(done.done), grouped(total), done.model),
        };
        out.push(bar(paint, "vectors", (done.done, done.total), &words, width));
    } else if waits.off {
        out.push(field(paint, "vectors", "none: no embedder is chosen, so search is by words only", width));
    } else if waiting > 0 {
        let mut parts = Vec::new();
        for (count, one, many) in [(waits.claims, "claim", "claims"), (waits.chunks, "passage", "passages")] {
            if count > 0 {
                parts.push(format!("{} {}", grouped(count), if count == 1 { one } else { many }));
            }
        }
        let verb = if waiting == 1 { "has" } else { "have" };
        let mut words = format!("{} {verb} no vector yet", parts.join(" and "));
        if width >= 100 {
            words.push_str("; until then they are found by words only");
        }
        out.push(bar(
            paint,
            "vectors",
            (models.most_waiting.saturating_sub(waiting), models.most_waiting),
            &words,
            width,
        ));
        if let Some(problem) = &waits.problem {
            out.extend(text::wrap(&format!("Delayed: {problem}"), width, theme.warn));
        }
    } else {
        out.push(field(paint, "vectors", "complete", width));
    }
    let Some(files) = files else { return };
    let scope = paint.state.shown_scope();
    let words = format!("{} with {} passages, in {scope}", counted(files.items.len(), "file"), grouped(files.chunks));
    out.push(field(paint, "ingested", &words, width));
    let mut items: Vec<_> = files.items.iter().collect();
    items.sort_by(|a, b| b.chunks.cmp(&a.chunks).then_with(|| a.path.cmp(&b.path)));
    for file in items.iter().take(MAX_FILES) {
        out.push(field(paint, "", &format!("{} ({})", file.path, grouped(file.chunks)), width));
    }
    if items.len() > MAX_FILES {
        out.push(field(paint, "", &format!("and {} more", grouped(items.len() - MAX_FILES)), width));
    }
}

fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{} {one}s", grouped(count)) }
}

fn field(paint: &Paint<'_>, label: &str, words: &str, width: usize) -> Line<'static> {
    let words = text::fit(words, width.saturating_sub(LABEL_WIDTH));
    Line::from(vec![span(text::pad(label, LABEL_WIDTH), paint.theme.dim), span(words, paint.theme.text)])
}

/// Formats a bar with words beside it; if there is little room, the words alone.
fn bar(paint: &Paint<'_>, label: &str, (done, total): (usize, usize), words: &str, width: usize) -> Line<'static> {
    let theme = paint.theme;
    if width < LABEL_WIDTH + BAR_WIDTH + 30 {
        return field(paint, label, words, width);
    }
    let full = (done.min(total) * BAR_WIDTH).checked_div(total).unwrap_or(0);
    let words = text::fit(words, width.saturating_sub(LABEL_WIDTH + BAR_WIDTH + 1));
    Line::from(vec![
        span(text::pad(label, LABEL_WIDTH), theme.dim),
        span(theme.glyphs.full.repeat(full), theme.accent),
        span(theme.glyphs.open.repeat(BAR_WIDTH - full), theme.dim),
        Span::raw(" "),
        span(words, theme.text),
    ])
}
