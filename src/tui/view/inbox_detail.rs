//! The Inbox: the item under the cursor in full.

use ratatui::{layout::Rect, text::Line};

use super::{
    card, claim_pair,
    claims::grouped,
    conflicts::unread_card,
    empty,
    inbox::{item_text, pair_of},
    inbox_item,
    paint::Paint,
};
use crate::{
    api::{InboxItem, InboxKind},
    tui::{
        hits::{Hit, Pane},
        state::{Focus, inbox::InboxRow},
        text,
    },
};

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let inbox = &paint.state.inbox;
    let focused = inbox.focus == Focus::Detail;
    let width = usize::from(area.width.saturating_sub(4));
    let path = paint.theme.glyphs.path;
    match inbox.current() {
        Some(InboxRow::Item(_, InboxItem::Card(summary))) => {
            let title = format!("{} {path} card {}", summary.scope, summary.id.short());
            let open = paint.state.conflicts.card.as_ref().filter(|card| card.view.summary.id == summary.id);
            let Some(open) = open else { return unread_card(paint, area, &title, focused) };
            card::draw(paint, area, open, &title, focused);
        }
        Some(row @ InboxRow::Import(kind, import)) => {
            let lines = import_lines(paint, &row, width);
            let title = format!("{}: {} from an import", inbox.title(kind), grouped(import.count));
            paint.document(area, Pane::Item, &title, &lines, inbox.scroll, focused);
        }
        Some(InboxRow::Item(kind, item)) => {
            let title = inbox.title(kind);
            let lines = inbox_item::lines(paint, kind, item, width);
            paint.document(area, Pane::Item, title, &lines, inbox.scroll, focused);
        }
        Some(row @ (InboxRow::Before(kind, count) | InboxRow::More(kind, count))) => {
            let inner = paint.pane(area, inbox.title(kind), "", focused);
            paint.hits.add(inner, Hit::Pane(Pane::Item));
            let keys = &paint.state.keys;
            let (word, how) = match row {
                InboxRow::Before(..) => ("earlier", "{open} shows the previous page."),
                _ => ("more", "{open} shows the next page."),
            };
            let body = [keys.say(how)];
            empty::centred_message(paint, inner, &format!("{} {word}", grouped(count)), &body);
        }
        Some(InboxRow::Pairs(count)) => {
            let inner = paint.pane(area, "Pairs to judge", "", focused);
            paint.hits.add_pane(inner, Pane::Item, usize::from(inner.height));
            let heading = match count {
                1 => "One pair of claims may contradict each other".to_owned(),
                n => format!("{} pairs of claims may contradict each other", grouped(n)),
            };
            let body = [
                "They were imported, synced or written before the guard could compare them. One key per pair says how the two relate.".to_owned(),
                paint.state.keys.say("Press {judge} to judge them. Until then they stay as they are."),
            ];
            empty::centred_message(paint, inner, &heading, &body);
        }
        Some(InboxRow::Promotions(count)) => {
            let inner = paint.pane(area, "Rules to promote", "", focused);
            paint.hits.add_pane(inner, Pane::Item, usize::from(inner.height));
            let body = [
                "Several projects share the same rule. If it is promoted, it holds in all projects of the organisation.".to_owned(),
                paint.state.keys.say("Press {open} to see them, each with its supporting claims."),
            ];
            empty::centred_message(paint, inner, &super::inbox::rules_to_promote(count), &body);
        }
        Some(InboxRow::Heading(..)) | None => {
            let inner = paint.pane(area, "", "", focused);
            paint.hits.add(inner, Hit::Pane(Pane::Item));
        }
    }
}

/// Lists the items of an import, and says what can be done with all of them.
fn import_lines(paint: &Paint<'_>, row: &InboxRow<'_>, width: usize) -> Vec<Line<'static>> {
    let (theme, keys) = (paint.theme, &paint.state.keys);
    let InboxRow::Import(kind, import) = row else { return Vec::new() };
    let list = if import.open { "Press {open} to close the list." } else { "Press {open} to list each." };
    let settle = if *kind == InboxKind::Refused {
        "{keep_new}, {keep_existing}, {exception}, {dismiss} or {discard} settles all, after a preview."
    } else {
        "{claim_reviewed} marks all as reviewed."
    };
    let mut out = text::wrap(&keys.say(&format!("{list} {settle}")), width, theme.dim);
    for item in paint.state.inbox.items(row) {
        out.push(Line::default());
        match pair_of(&item) {
            Some(pair) => out.extend(claim_pair::two_lines(paint, &pair, width, theme.text).map(Line::from)),
            None => out.extend(text::wrap(item_text(&item), width, theme.text)),
        }
    }
    out
}
