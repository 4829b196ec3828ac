//! The Timeline as a story: a line for each mark and each claim, and the one under the cursor in full, a mark with its
//! turns.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape, claim,
    claims::grouped,
    empty,
    paint::{Paint, labelled, rows, span},
};
use crate::{
    api::{ClaimView, StoryMark},
    domain::{Confusion, Status},
    tui::{
        hits::Pane,
        state::{
            Focus,
            acts::Period,
            story::{StoryRow, StoryState, turns},
        },
        text::{self, writer},
        times,
    },
};

/// Width of the kind of a mark, and of the day of a claim.
const KIND_WIDTH: usize = 12;

/// Width of a claim's writer.
const WRITER_WIDTH: usize = 14;

/// The width of a list from which it names the writers.
const MIN_WIDTH_WITH_WRITER: usize = 66;

const LABEL_WIDTH: usize = 11;

const HALF_DAY_MS: u64 = 12 * 60 * 60 * 1000;

/// Width of a turn on the line of a subject.
const TURN_WIDTH: usize = 14;

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, story: &StoryState) {
    let focus = paint.state.timeline.focus;
    match (Shape::of(paint), focus) {
        (Shape::Wide, _) => {
            let width = area.width * 11 / 20;
            list(paint, Rect { width, ..area }, story);
            detail(paint, Rect { x: area.x + width, width: area.width - width, ..area }, story);
        }
        (Shape::Mid, _) => {
            let height = (area.height * 9 / 20).max(5);
            list(paint, Rect { height, ..area }, story);
            detail(paint, Rect { y: area.y + height, height: area.height - height, ..area }, story);
        }
        (Shape::Single, Focus::List) => list(paint, area, story),
        (Shape::Single, Focus::Detail) => detail(paint, area, story),
    }
}

fn list(paint: &mut Paint<'_>, area: Rect, story: &StoryState) {
    let focused = paint.state.timeline.focus == Focus::List;
    let all = story.rows();
    let note = match (&story.error, &story.story) {
        (Some(error), Some(_)) => error.clone(),
        (_, None) => String::new(),
        (None, Some(read)) => {
            let waiting = if read.waiting > 0 { ", still reading" } else { "" };
            let marks = match read.marks.len() {
                0 => "nothing unclear".to_owned(),
                1 => "1 unclear".to_owned(),
                n => format!("{} unclear", grouped(n)),
            };
            let newest = if read.cut { ", the newest" } else { "" };
            let dot = paint.theme.glyphs.dot;
            format!(
                "{marks}{waiting} {dot} {} of {}{newest}",
                grouped((story.row() + 1).min(all.len())),
                grouped(all.len())
            )
        }
    };
    let since = match story.span {
        Period::LastHere => " since your last visit",
        Period::Yesterday => " since yesterday",
        Period::Week => " of the last seven days",
        Period::All => "",
    };
    let inner = paint.pane(area, &format!("Story of {}{since}", story.scope), &note, focused);
    let height = usize::from(inner.height);
    paint.hits.add_pane(inner, Pane::Story, height);
    if all.is_empty() {
        return draw_empty(paint, inner, story);
    }
    let top = (story.row() + 1).saturating_sub(height.saturating_sub(height / 3)).min(all.len().saturating_sub(height));
    let width = usize::from(inner.width);
    for (slot, (index, row)) in all.iter().enumerate().skip(top).take(height).enumerate() {
        let place = rows(inner, slot, 1);
        let current = index == story.row();
        let line = match row {
            StoryRow::Mark(mark) => mark_line(paint, mark, width, current),
            StoryRow::Claim(claim) => claim_line(paint, story, claim, width, current),
        };
        paint.line(place, 0, &line);
        paint.row(place, Pane::Story, index, current, focused);
    }
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect, story: &StoryState) {
    let keys = &paint.state.keys;
    if let Some(error) = &story.error {
        return empty::centred_message(
            paint,
            area,
            error,
            &[keys.say("{reload} tries again; {story} shows the changes.")],
        );
    }
    if story.story.is_none() {
        return empty::centred_message(paint, area, "Reading the story…", &[]);
    }
    let (heading, step) = match story.span {
        Period::All => ("No claims yet", "{add_claim} writes the first, or: ergo remember '…' --reason '…'"),
        _ => ("No claims in that time", "Press {timeline_period} to go further back, {story} to see the changes."),
    };
    empty::centred_message(paint, area, heading, &[keys.say(step)]);
}

/// Returns the heading for a kind of confusion.
pub(super) fn title(confusion: Confusion) -> &'static str {
    match confusion {
        Confusion::Reversal => "Reversal: an abandoned choice came back",
        Confusion::Ambiguity => "Ambiguity: two claims contradict each other",
        Confusion::Stale => "Stale: an old claim may be out of date",
    }
}

fn mark_line(paint: &Paint<'_>, mark: &StoryMark, width: usize, current: bool) -> Line<'static> {
    let theme = paint.theme;
    let cursor = span(if current { theme.glyphs.cursor } else { " " }, theme.accent);
    let room = width.saturating_sub(4 + KIND_WIDTH);
    Line::from(vec![
        cursor,
        Span::raw(" "),
        span(format!("{} ", theme.glyphs.alert), theme.warn),
        span(text::pad(mark.confusion.as_str(), KIND_WIDTH), theme.warn),
        span(text::fit(&mark.question, room), theme.text),
    ])
}

fn claim_line(paint: &Paint<'_>, story: &StoryState, claim: &ClaimView, width: usize, current: bool) -> Line<'static> {
    let theme = paint.theme;
    let cursor = span(if current { theme.glyphs.cursor } else { " " }, theme.accent);
    let marked = story.story.iter().flat_map(|story| &story.marks).any(|mark| mark.claims.contains(&claim.id));
    let mark = span(if marked { format!("{} ", theme.glyphs.alert) } else { "  ".to_owned() }, theme.warn);
    let day = times::spoken_day(happened(claim), paint.state.now, &paint.state.settings.zone);
    let who = if width < MIN_WIDTH_WITH_WRITER { 0 } else { WRITER_WIDTH };
    let (end, style) = match claim.status {
        Status::Active => (String::new(), theme.text),
        status => (format!(" {}", claim.flags.status_word(status)), theme.dim),
    };
    let room = width.saturating_sub(4 + KIND_WIDTH + who + end.len());
    let by = writer(&claim.who, claim.agent.as_deref());
    let statement = if claim.flags.redacted { "(its text was redacted)" } else { claim.statement.as_str() };
    let mut spans = vec![cursor, Span::raw(" "), mark, span(text::pad(&day, KIND_WIDTH), theme.dim)];
    if who > 0 {
        spans.extend([span(text::pad(&by, who - 1), theme.dim), Span::raw(" ")]);
    }
    spans.extend([span(text::pad(statement, room), style), span(end, theme.dim)]);
    Line::from(spans)
}

fn detail(paint: &mut Paint<'_>, area: Rect, story: &StoryState) {
    let focused = paint.state.timeline.focus == Focus::Detail;
    let width = usize::from(area.width.saturating_sub(4));
    let (heading, lines) = match story.current() {
        Some(StoryRow::Mark(mark)) => ("What is unclear", mark_in_full(paint, story, mark, width)),
        Some(StoryRow::Claim(claim)) => ("Claim", claim_in_full(paint, story, claim, width)),
        None => ("Claim", Vec::new()),
    };
    paint.document(area, Pane::StoryItem, heading, &lines, story.scroll, focused);
}

fn mark_in_full(paint: &Paint<'_>, story: &StoryState, mark: &StoryMark, width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let mut out = text::wrap(title(mark.confusion), width, theme.warn);
    out.extend(text::wrap(&mark.question, width, theme.title));
    out.push(Line::default());
    let claims: Vec<(char, Option<&ClaimView>)> = turns(mark.confusion, mark.claims.len())
        .into_iter()
        .zip(mark.claims.iter().map(|id| story.claim(*id)))
        .collect();
    out.extend(rail(paint, &claims, width));
    for (id, (letter, claim)) in mark.claims.iter().zip(&claims) {
        out.push(Line::default());
        let Some(claim) = claim else {
            let gone = format!("{} (not read)", id.short());
            out.extend(labelled(&format!("{letter}  "), text::wrap(&gone, width, theme.dim), 3, theme.accent));
            continue;
        };
        let style = if claim.status == Status::Active { theme.title } else { theme.text };
        let statement = if claim.flags.redacted { "(its text was redacted)" } else { claim.statement.as_str() };
        let body = width.saturating_sub(3);
        out.extend(labelled(&format!("{letter}  "), text::wrap(statement, body, style), 3, theme.accent));
        let dot = theme.glyphs.dot;
        let day = times::day(happened(claim), &state.settings.zone);
        let by = claim.writer();
        let meta = format!("{day} {dot} {by} {dot} {} {dot} {}", claim::status(claim), claim.id.short());
        out.extend(labelled("   ", text::wrap(&meta, body, theme.dim), 3, theme.dim));
        if let Some(reason) = &claim.reason {
            let body = width.saturating_sub(3 + LABEL_WIDTH);
            let lines = labelled("because", text::wrap(reason, body, theme.text), LABEL_WIDTH, theme.dim);
            out.extend(labelled("   ", lines, 3, theme.dim));
        }
    }
    out.push(Line::default());
    let how = if mark.card.is_some() {
        "{story_card} opens the card, where {answer_yes} and {answer_no} answer the question."
    } else {
        "No card asks about it. {story_card} opens the newest of these claims, with its history."
    };
    out.extend(text::wrap(&state.keys.say(how), width, theme.dim));
    out
}

/// Returns when the event that a claim tells of happened, in milliseconds since the Unix epoch. A day counts as noon in
/// UTC, which is on that day almost everywhere.
pub(super) fn happened(claim: &ClaimView) -> u64 {
    let start = claim.qualifiers.happened(claim.at);
    claim.at.min(start + HALF_DAY_MS)
}

/// Draws the turns of a subject as a line, `A ── B ── A`, with the day below each. If not all fit, the newest are
/// drawn.
pub(super) fn rail(paint: &Paint<'_>, claims: &[(char, Option<&ClaimView>)], width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let fit = (width / TURN_WIDTH).max(1);
    let skipped = claims.len().saturating_sub(fit);
    let shown = claims.get(skipped..).unwrap_or_default();
    let (mut turns, mut days) = (Vec::new(), Vec::new());
    for (at, (letter, claim)) in shown.iter().enumerate() {
        let active = claim.is_some_and(|claim| claim.status == Status::Active);
        let style = if active { theme.ok } else { theme.dim };
        let node = if active { theme.glyphs.node_active } else { theme.glyphs.node_past };
        let head = format!("{node} {letter} ");
        let rest = if at + 1 < shown.len() { TURN_WIDTH.saturating_sub(text::width(&head) + 1) } else { 0 };
        turns.push(span(head, style));
        turns.push(span(theme.glyphs.rule.repeat(rest), theme.border));
        turns.push(Span::raw(" "));
        let day = claim.map_or_else(String::new, |claim| {
            times::spoken_day(happened(claim), paint.state.now, &paint.state.settings.zone)
        });
        days.push(span(text::pad(&day, TURN_WIDTH), theme.dim));
    }
    let mut out = vec![Line::from(turns), Line::from(days)];
    if skipped > 0 {
        let more =
            if skipped == 1 { "One earlier claim is".to_owned() } else { format!("{skipped} earlier claims are") };
        out.extend(text::wrap(&format!("{more} not drawn."), width, theme.dim));
    }
    out
}

fn claim_in_full(paint: &Paint<'_>, story: &StoryState, claim: &ClaimView, width: usize) -> Vec<Line<'static>> {
    let mut out = claim::lines(paint, claim, width);
    for mark in story.story.iter().flat_map(|story| &story.marks).filter(|mark| mark.claims.contains(&claim.id)) {
        out.push(Line::default());
        out.extend(text::wrap(title(mark.confusion), width, paint.theme.warn));
        out.extend(text::wrap(&mark.question, width, paint.theme.text));
    }
    out.push(Line::default());
    out.extend(text::wrap(&paint.state.keys.say("Press {story_card} to open its history."), width, paint.theme.dim));
    out
}
