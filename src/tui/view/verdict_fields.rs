//! The questions about a held write, in a form: each claim that it may contradict on a line with its answer, and the
//! one under the cursor in full.

use ratatui::{layout::Rect, text::Line};

use super::paint::{Paint, labelled, span};
use crate::{
    api::{Doubt, DoubtBand},
    domain::PairVerdict,
    tui::{
        action::Action,
        state::{ActForm, form::FormSubject},
        text::{self, writer},
        times,
    },
};

/// Width of the answers, before the claims.
const ANSWER_WIDTH: usize = 13;

const LABEL_WIDTH: usize = 9;

/// The most lines that are shown of a claim, and of its reason.
const MAX_LINES: usize = 3;

/// The keys that answer a question.
pub(super) const HINTS: [(Action, &str); 7] = [
    (Action::Compatible, PairVerdict::Compatible.words()),
    (Action::Replaces, PairVerdict::Replaces.words()),
    (Action::Same, PairVerdict::Same.words()),
    (Action::Contradicts, PairVerdict::Contradicts.words()),
    (Action::Withdraw, "withdraw"),
    (Action::NextField, "next"),
    (Action::Cancel, "later"),
];

/// Draws a claim in question on a line, with its answer.
pub(super) fn row(paint: &mut Paint<'_>, area: Rect, doubt: &Doubt, chosen: Option<PairVerdict>, focused: bool) {
    let theme = paint.theme;
    let (answer, style) = match (chosen, doubt.band) {
        (Some(verdict), _) => (verdict.words(), theme.ok),
        (None, DoubtBand::Ask) => ("?", theme.warn),
        (None, DoubtBand::Mention) => ("(optional)", theme.dim),
    };
    let mark = span(if focused { theme.glyphs.cursor } else { " " }, theme.accent);
    let room = usize::from(area.width).saturating_sub(2 + ANSWER_WIDTH);
    let claim = text::pad(&doubt.statement, room);
    let line = Line::from(vec![
        mark,
        span(" ", theme.text),
        span(text::pad(answer, ANSWER_WIDTH), style),
        span(claim, theme.text),
    ]);
    paint.line(area, 0, &line);
    if focused {
        paint.style(area, theme.selected);
    }
}

/// Returns the lines below the claims: the one under the cursor in full, or what follows from the answers.
///
/// The number of lines does not depend on the claim, and is at most what `room` leaves besides the fields. There are
/// none in other forms.
pub(super) fn aside(paint: &Paint<'_>, form: &ActForm, columns: usize, room: usize) -> Vec<Line<'static>> {
    if !matches!(form.about, FormSubject::Held { .. }) {
        return Vec::new();
    }
    let all: Vec<Vec<Line<'static>>> = form.verdicts().map(|(doubt, _)| in_full(paint, doubt, columns)).collect();
    let follows = text::wrap(&consequence(form), columns, paint.theme.text);
    let height = all.iter().map(Vec::len).chain([follows.len()]).max().unwrap_or(0);
    let shown = if form.asks_verdict() { all.into_iter().nth(form.focus).unwrap_or_default() } else { follows };
    let mut out = vec![Line::default()];
    out.extend(shown);
    // Each claim takes one line, and the reason three.
    let room = room.saturating_sub(form.verdicts().count() + 3);
    if height + 2 > room {
        out.remove(0);
    }
    let rows = (height + 2).min(room);
    if out.len() > rows
        && let Some(last) = out.get_mut(rows.saturating_sub(1))
    {
        mark_cut(paint, last);
    }
    out.resize(rows, Line::default());
    out
}

/// Marks that the text goes on after a line. The column after a text in a form is free.
fn mark_cut(paint: &Paint<'_>, line: &mut Line<'static>) {
    line.push_span(span("…", paint.theme.dim));
}

fn in_full(paint: &Paint<'_>, doubt: &Doubt, columns: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let cut = |text: &str| {
        let mut lines = text::wrap(text, columns.saturating_sub(LABEL_WIDTH), theme.text);
        if lines.len() > MAX_LINES {
            lines.truncate(MAX_LINES);
            if let Some(last) = lines.last_mut() {
                mark_cut(paint, last);
            }
        }
        lines
    };
    let mut out = labelled("says", cut(&doubt.statement), LABEL_WIDTH, theme.dim);
    if let Some(reason) = &doubt.reason {
        out.extend(labelled("because", cut(reason), LABEL_WIDTH, theme.dim));
    }
    let dot = theme.glyphs.dot;
    let by = writer(&doubt.who, doubt.agent.as_deref());
    let by = format!("{by}, {} {dot} {} {}", times::ago(doubt.at, paint.state.now), doubt.kind, doubt.id.short());
    out.extend(labelled("by", cut(&by), LABEL_WIDTH, theme.dim));
    out
}

/// Says in a sentence what follows from the answers.
fn consequence(form: &ActForm) -> String {
    let statements_with = |wanted| {
        let matching = form.verdicts().filter(move |(_, verdict)| *verdict == Some(wanted));
        matching.map(|(doubt, _)| format!("“{}”", text::fit(&doubt.statement, 60))).collect::<Vec<_>>()
    };
    if form.fields.iter().any(crate::tui::state::form::Field::is_unanswered) {
        return "A question above has no answer yet.".to_owned();
    }
    if !statements_with(PairVerdict::Contradicts).is_empty() {
        return "The new claim is refused, and kept on a card until somebody decides.".to_owned();
    }
    if let Some(same) = statements_with(PairVerdict::Same).first() {
        return format!("Nothing new is stored: {same} says the same, and gets this as one more source.");
    }
    match statements_with(PairVerdict::Replaces) {
        replaced if replaced.is_empty() => "The new claim is stored beside the others.".to_owned(),
        replaced => format!("The new claim is stored and supersedes {}.", replaced.join(" and ")),
    }
}
