//! The Why screen.

use ratatui::layout::Rect;

use super::{
    empty,
    paint::{Paint, rows},
    timeline,
};
use crate::tui::{
    hits::{Hit, Pane},
    msg::Slot,
    state::why::Subject,
};

/// Draws the screen: the chain, scrolled so that the node under the cursor is in view.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let why = &paint.state.why;
    let title = match &why.subject {
        Some(Subject::Question { text, scope }) => format!("Why{}: {text}", paint.state.scope_suffix(scope)),
        Some(Subject::Claim(_)) | None => "Why".to_owned(),
    };
    let Some(chain) = why.shown() else {
        let inner = paint.pane(area, &title, "", true);
        paint.hits.add_pane(inner, Pane::Chain, 1);
        let waiting = paint.state.waits(Slot::Why);
        match &why.error {
            Some(error) => {
                let how = paint.state.keys.say("Press {ask} to ask another question, {back} to go back.");
                empty::centred_message(paint, inner, error, &[how]);
            }
            None if waiting => empty::centred_message(paint, inner, "Loading…", &[]),
            None => {
                let keys = &paint.state.keys;
                let body = [
                    keys.say("Press {ask} to ask a question in words; the answer is a claim with its reasons and its history."),
                    keys.say("Press {claim_why} on a claim to see its history, {show_claims} to see the claims."),
                ];
                empty::centred_message(paint, inner, "Ask why something was decided", &body);
            }
        }
        return;
    };
    let width = usize::from(area.width.saturating_sub(4));
    let current = why.current().map(|(_, node)| node.id());
    let items = timeline::items(paint, chain, current, width);
    let height = usize::from(area.height.saturating_sub(2));
    let total: usize = items.iter().map(|item| item.lines.len()).sum();
    let (start, end) = extent(&items, current, height, total);
    // Lines of the node under the cursor that do not fit, and of what follows it up to the next node.
    let overflow = end.saturating_sub(start + height);
    let scrolled = why.scroll.min(overflow);
    let scroll = start + scrolled;
    let nodes = items.iter().filter(|item| item.id.is_some()).count();
    let here = items.iter().filter(|item| item.id.is_some()).position(|item| item.id == current);
    let (down, dot) = (paint.theme.glyphs.more[1], paint.theme.glyphs.dot);
    let more = (overflow > scrolled).then(|| format!("{down} {} more", overflow - scrolled));
    let number = (nodes > 1).then(|| format!("{} of {nodes}", here.map_or(1, |here| here + 1)));
    let note = more.into_iter().chain(number).collect::<Vec<_>>().join(&format!(" {dot} "));
    let inner = paint.pane(area, &title, &note, true);
    paint.hits.add_pane(inner, Pane::Chain, 3);
    paint.hits.add_overflow(Pane::Chain, overflow);
    if let Some(note) = chain.note.as_ref().filter(|_| chain.answer.is_none() && nodes == 0) {
        let how = paint.state.keys.say("Press {ask} to ask another question, {show_claims} to see the claims.");
        return empty::centred_message(paint, inner, note, &[how]);
    }
    let (mut line, mut index) = (0, 0);
    for item in &items {
        for own in &item.lines {
            if line >= scroll && line < scroll + height {
                let place = rows(inner, line - scroll, 1);
                paint.line(place, 0, own);
                if item.id.is_some() {
                    paint.hits.add(place, Hit::Row(Pane::Chain, index));
                }
            }
            line += 1;
        }
        index += usize::from(item.id.is_some());
    }
}

/// Returns the first line to show so that the node under the cursor is in the middle, or at the top if it is higher than
/// the pane; and the line at which the next node begins.
fn extent(
    items: &[timeline::TimelineRow],
    current: Option<crate::tui::state::why::NodeId>,
    height: usize,
    total: usize,
) -> (usize, usize) {
    let lines = |items: &[timeline::TimelineRow]| items.iter().map(|item| item.lines.len()).sum::<usize>();
    let at = items.iter().position(|item| item.id.is_some() && item.id == current).unwrap_or(0);
    let (before, rest) = items.split_at(at);
    let (start, own) = (lines(before), rest.first().map_or(0, |item| item.lines.len()));
    let after = rest.get(1..).unwrap_or_default();
    let next = after.iter().position(|item| item.id.is_some()).unwrap_or(after.len());
    let end = start + own + lines(after.get(..next).unwrap_or_default());
    let above = height.saturating_sub(own) / 2;
    (start.saturating_sub(above).min(total.saturating_sub(height)), end)
}
