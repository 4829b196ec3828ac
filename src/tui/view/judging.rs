//! The overlay in which a person judges waiting pairs: both claims with the words that differ, and what each key does.

use ratatui::{
    layout::Rect,
    style::Style,
    text::{Line, Span},
};

use super::{
    card::written_by,
    claim,
    claims::grouped,
    empty,
    paint::{Paint, labelled, rows, side_by_side, span},
};
use crate::{
    api::{ClaimView, PairEffect},
    domain::PairVerdict,
    tui::{
        action::Action,
        hits::{Hit, Pane},
        state::judging::{JudgingState, PairToJudge},
        text, times,
        word_diff::Run,
    },
};

/// The width of the terminal from which the claims are side by side.
const SIDE_BY_SIDE_WIDTH: u16 = 96;

const LABEL_WIDTH: usize = 9;

/// What each verdict of a person does.
const EFFECTS: [(Action, PairVerdict, &str); 4] = [
    (Action::Compatible, PairVerdict::Compatible, "both hold; you are not asked again"),
    (Action::Replaces, PairVerdict::Replaces, "the newer claim supersedes the older one"),
    (Action::Same, PairVerdict::Same, "only the older claim stays active"),
    (Action::Contradicts, PairVerdict::Contradicts, "a card asks which of the two holds"),
];

/// What the verdicts that change a claim do if the two claims are of different scopes: no scope changes another one's
/// claim.
const EFFECTS_ACROSS_SCOPES: [(PairVerdict, &str); 2] = [
    (PairVerdict::Replaces, "a card asks what to do: no project replaces another one's claim"),
    (PairVerdict::Same, "both stay, and count as one rule of the organisation"),
];

/// The height from which each answer has a line of its own, which says what it does. Below it the claims need the room.
const TALL: u16 = 20;

/// Returns the height of the answers: four lines with a border, or two lines if there is little room.
pub(super) fn answers_height(area: Rect) -> u16 {
    if area.height < TALL { 2 } else { 6 }
}

/// Draws the overlay over a screen.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, judging: &JudgingState) {
    paint.clear(area);
    let dot = paint.theme.glyphs.dot;
    let mut title = "Judge pairs".to_owned();
    if let Some(scope) = &judging.scope {
        title = format!("{title}: {scope}");
    }
    let note = format!("{} judged {dot} {} left", grouped(judging.judged()), grouped(judging.total));
    let Some(shown) = judging.current().filter(|_| judging.loaded) else {
        let inner = paint.pane(area, &title, "", true);
        paint.hits.add_pane(inner, Pane::Pair, usize::from(inner.height));
        return draw_empty(paint, inner, judging);
    };
    let answers = answers_height(area) + u16::from(judging.error.is_some());
    let is_tall = area.height >= TALL;
    if !is_tall {
        title = format!("{title} {dot} {note}");
    }
    let upper = Rect { height: area.height.saturating_sub(answers), ..area };
    let width = usize::from(area.width.saturating_sub(4));
    let lines = pair(paint, shown, width);
    paint.document(upper, Pane::Pair, &title, &lines, judging.scroll, true);
    let lower = Rect { y: upper.y + upper.height, height: area.height - upper.height, ..area };
    let inner = if is_tall {
        paint.pane(lower, "How does the newer claim relate to the older one?", &note, false)
    } else {
        Rect { x: lower.x + 2, width: lower.width.saturating_sub(4), ..lower }
    };
    let mut y = 0;
    if let Some(error) = &judging.error {
        let line =
            Line::from(span(text::fit(&format!("{} {error}", paint.theme.glyphs.alert), width), paint.theme.bad));
        paint.line(inner, y, &line);
        y += 1;
    }
    let columns = if is_tall { 1 } else { 2 };
    let cell = inner.width / columns;
    for (number, row) in (0..).zip(EFFECTS) {
        let x = inner.x + cell * (number % columns);
        let place = rows(Rect { x, width: cell, ..inner }, y + usize::from(number / columns), 1);
        answer(paint, place, row, shown);
    }
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect, judging: &JudgingState) {
    let back = paint.state.keys.say("{judging_close} goes back.");
    if let Some(error) = &judging.error {
        return empty::centred_message(paint, area, error, &[back]);
    }
    if !judging.loaded {
        return empty::centred_message(paint, area, "Loading…", &[]);
    }
    let body = [
        "Pairs of claims that may contradict each other come here after an import, a sync, or an audit.".to_owned(),
        back,
    ];
    empty::centred_message(paint, area, "No pairs to judge", &body);
}

/// Draws a verdict's key, what it does, and whether it was given.
fn answer(paint: &mut Paint<'_>, place: Rect, row: (Action, PairVerdict, &str), shown: &PairToJudge) {
    let theme = paint.theme;
    let (action, verdict, effect) = row;
    let given = shown.verdict == Some(verdict);
    let mark = if given { theme.glyphs.done } else { " " };
    let effect = match (given, shown.stored) {
        (true, None) => "sending…".to_owned(),
        (true, Some((_, PairEffect::Stale))) => "already settled: nothing was changed".to_owned(),
        (true, Some(_)) => paint.state.keys.say("done; {judging_undo} undoes the last verdict"),
        (false, _) => {
            let across = EFFECTS_ACROSS_SCOPES
                .iter()
                .find(|(of, _)| shown.pair.newer.scope != shown.pair.older.scope && *of == verdict);
            across.map_or(effect, |(_, effect)| effect).to_owned()
        }
    };
    let words = verdict.words();
    let (key_style, style) = match (shown.verdict, given) {
        (None, _) => (theme.key, theme.title),
        (Some(_), true) => (theme.dim, theme.ok),
        (Some(_), false) => (theme.dim, theme.dim),
    };
    let room = usize::from(place.width).saturating_sub(5 + 13);
    // In a short window, the effects are left out rather than cut.
    let effect = if room < 20 { String::new() } else { effect };
    paint.line(
        place,
        0,
        &Line::from(vec![
            span(format!("{mark} "), theme.ok),
            span(text::pad(&paint.state.keys.first(action), 3), key_style),
            span(text::pad(words, 13), style),
            span(text::fit(&effect, room), theme.dim),
        ]),
    );
    paint.hits.add(place, Hit::Act(action));
}

/// Lays out both claims, side by side if there is room.
fn pair(paint: &Paint<'_>, shown: &PairToJudge, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let pair = &shown.pair;
    let wide = paint.size.0 >= SIDE_BY_SIDE_WIDTH;
    let (left, right) = if wide { ((width - 3) / 2, width - 3 - (width - 3) / 2) } else { (width, width) };
    // If nearly everything differs, highlighting it would say nothing.
    let nearly_all_differs = shown.diff.is_apart();
    let runs = |runs: &[Run]| -> Vec<Run> {
        runs.iter().map(|run| Run { own: run.own && !nearly_all_differs, text: run.text.clone() }).collect()
    };
    let across = pair.newer.scope != pair.older.scope;
    let newer = side(paint, ("Newer", &pair.newer), &runs(&shown.diff.left), theme.side_a, across, left);
    let older = side(paint, ("Older", &pair.older), &runs(&shown.diff.right), theme.side_b, across, right);
    let mut out = if wide {
        side_by_side(newer, older, left, span(format!(" {} ", theme.glyphs.column), theme.border))
    } else {
        let mut both = newer;
        both.push(Line::from(span(theme.glyphs.rule.repeat(width), theme.border)));
        both.extend(older);
        both
    };
    if paint.state.scope.is_none() && !across {
        out.push(Line::default());
        out.extend(labelled(
            "scope",
            text::wrap(&pair.scope.to_string(), width.saturating_sub(LABEL_WIDTH), theme.text),
            LABEL_WIDTH,
            theme.dim,
        ));
    }
    out
}

fn side(
    paint: &Paint<'_>,
    (name, claim): (&str, &ClaimView),
    runs: &[Run],
    highlight: Style,
    across: bool,
    width: usize,
) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let dot = theme.glyphs.dot;
    let what = format!(" {dot} {} {} {dot} {}", claim.kind, claim.id.short(), claim::status(claim));
    let what = text::fit(&what, width.saturating_sub(name.len()));
    let mut out = vec![Line::from(vec![span(name.to_owned(), theme.accent), span(what, theme.dim)])];
    if claim.flags.redacted {
        out.push(Line::from(Span::styled("(its text was redacted)", theme.dim)));
    } else {
        let runs: Vec<_> =
            runs.iter().map(|run| (run.text.clone(), if run.own { highlight } else { theme.title })).collect();
        out.extend(text::wrap_runs(&runs, width));
    }
    let body = width.saturating_sub(LABEL_WIDTH);
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(label, text::wrap(value, body, theme.text), LABEL_WIDTH, theme.dim));
    };
    if let Some(reason) = &claim.reason {
        field("because", reason);
    }
    if let Some(source) = &claim.source {
        field("source", source);
    }
    if across {
        field("scope", &claim.scope.to_string());
    }
    field("by", &format!("{}, {}", written_by(claim), times::ago(claim.at, paint.state.now)));
    if let Some(holds) = claim.qualifiers.holds() {
        field("holds", &holds);
    }
    out
}
