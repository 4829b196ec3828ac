//! The Inbox: everything that wants a person, in groups, and what is under the cursor in full.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape, card, empty, item,
    paint::{Paint, rows, span},
};
use crate::{
    api::{InboxItem, InboxKind, NoticeKind},
    tui::{
        hits::{Hit, Pane},
        state::inbox::{Focus, Row, id_of},
        text, when,
    },
};

/// Columns from which a thing has one line.
const ONE_LINE: u16 = 60;

/// Columns of who caused a thing, where it has one line.
const WHO: usize = 18;

/// Draws the screen.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let inbox = &paint.state.inbox;
    if inbox.view.is_none() || inbox.is_empty() {
        return nothing(paint, area);
    }
    match (Shape::of(paint.state), inbox.focus) {
        (Shape::Wide, _) => {
            let width = (area.width * 3 / 10).clamp(28, 46);
            list(paint, Rect { width, ..area });
            detail(paint, Rect { x: area.x + width, width: area.width - width, ..area });
        }
        (Shape::Mid, Focus::List) => {
            let most = area.height * 2 / 5;
            let height = u16::try_from(inbox.rows().len() + 2).unwrap_or(most).clamp(5, most);
            list(paint, Rect { height, ..area });
            detail(paint, Rect { y: area.y + height, height: area.height - height, ..area });
        }
        (Shape::Single, Focus::List) => list(paint, area),
        (Shape::Mid | Shape::Single, Focus::Detail) => detail(paint, area),
    }
}

fn nothing(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let inner = paint.pane(area, "Inbox", "", true);
    paint.hits.add_pane(inner, Pane::Inbox, usize::from(inner.height));
    if let Some(trouble) = &state.inbox.trouble {
        let trouble = trouble.clone();
        return empty::card(paint, inner, &trouble, &["ctrl-r tries again.".to_owned()]);
    }
    if state.inbox.view.is_none() {
        return empty::card(paint, inner, "Reading what wants you…", &[]);
    }
    let scope = state.scope.as_ref().map_or_else(|| "in any scope".to_owned(), |scope| format!("in {scope}"));
    let mut body = Vec::new();
    match state.inbox.settled {
        0 => {}
        1 => body.push("You settled one thing. 7 shows it, and takes it back.".to_owned()),
        n => body.push(format!("You settled {n} things. 7 shows them, and takes them back.")),
    }
    if state.scopes.iter().all(|scope| scope.total == 0) {
        body.push("Nothing is remembered yet: ergo remember “…” --reason “…” is the first step.".to_owned());
    } else {
        body.push("Refused writes, contradictions and reviews arrive here by themselves.".to_owned());
        body.push("A compares what is active · 5 tells what happened · 2 shows the claims".to_owned());
    }
    empty::card(paint, inner, &format!("Nothing waits for you {scope}"), &body);
}

fn list(paint: &mut Paint<'_>, area: Rect) {
    let inbox = &paint.state.inbox;
    let focused = inbox.focus == Focus::List;
    let total = inbox.total() + usize::from(inbox.gone.is_some());
    let mut note = match &inbox.trouble {
        Some(trouble) => trouble.clone(),
        None => format!("{} of {total}", (inbox.cursor() + 1).min(total.max(1))),
    };
    if inbox.settled > 0 && inbox.trouble.is_none() {
        note = format!("{} settled {} {note}", inbox.settled, paint.theme.glyphs.dot);
    }
    let title = match &paint.state.scope {
        Some(scope) => format!("Inbox: {scope}"),
        None => "Inbox".to_owned(),
    };
    let inner = paint.pane(area, &title, &note, focused);
    let compact = inner.width >= ONE_LINE;
    let all = inbox.rows();
    let heights: Vec<usize> = all.iter().enumerate().map(|(index, row)| height(row, index, compact)).collect();
    let visible = usize::from(inner.height);
    let per = if compact { 1 } else { 3 };
    paint.hits.add_pane(inner, Pane::Inbox, (visible / per).max(1));
    let here = all.iter().position(|row| row.id().is_some() && row.id().as_ref() == inbox.anchor());
    let skip = scroll(&heights, here.unwrap_or(0), visible);
    let (mut line, mut stop) = (0, 0);
    for (index, (row, height)) in all.iter().zip(&heights).enumerate() {
        let (from, to) = (line, line + height);
        line = to;
        let number = stop;
        stop += usize::from(row.id().is_some());
        if to <= skip || from >= skip + visible {
            continue;
        }
        let current = Some(index) == here;
        let lines = lines(paint, row, usize::from(inner.width), compact, current, *height);
        let hidden = skip.saturating_sub(from);
        let place = rows(inner, from.saturating_sub(skip), height - hidden);
        for (at, line) in lines.iter().skip(hidden).take(usize::from(place.height)).enumerate() {
            paint.line(place, at, line);
        }
        if row.id().is_some() {
            // The empty line between things belongs to none of them.
            let place = if compact { place } else { rows(place, 0, usize::from(place.height).min(2)) };
            paint.row(place, Pane::Inbox, number, current, focused);
        }
    }
}

/// Lines of a row: a heading has one above it, but for the first.
fn height(row: &Row<'_>, index: usize, compact: bool) -> usize {
    match row {
        Row::Heading(..) if index == 0 || compact => 1,
        Row::Heading(..) => 2,
        Row::Item(..) if compact => 1,
        Row::Item(..) => 2,
        Row::More(..) => 1,
    }
}

/// The first line shown, so that the row under the cursor is in view, with its heading where it is the first below one.
fn scroll(heights: &[usize], here: usize, visible: usize) -> usize {
    let before: usize = heights.iter().take(here).sum();
    let own = heights.get(here).copied().unwrap_or(1);
    let total: usize = heights.iter().sum();
    let after = heights.get(here + 1).copied().unwrap_or(0);
    // The next row is seen too, so that it is plain what comes then.
    (before + own + after).saturating_sub(visible).min(before).min(total.saturating_sub(visible))
}

fn lines(
    paint: &Paint<'_>,
    row: &Row<'_>,
    width: usize,
    compact: bool,
    current: bool,
    height: usize,
) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let mark = span(if current { theme.glyphs.cursor } else { " " }, theme.accent);
    match row {
        Row::Heading(kind, total) => {
            let count = total.to_string();
            let name = text::fit(heading(*kind), width.saturating_sub(count.len() + 1));
            let line = Line::from(vec![span(name, theme.accent), Span::raw(" "), span(count, theme.dim)]);
            let mut lines = vec![Line::default(); height - 1];
            lines.push(line);
            lines
        }
        Row::More(_, rest) => {
            let text = format!("{rest} more: enter shows all");
            vec![Line::from(vec![mark, Span::raw(" "), span(text::fit(&text, width.saturating_sub(2)), theme.dim)])]
        }
        Row::Item(kind, thing) => {
            let gone = paint.state.inbox.gone.as_ref().is_some_and(|gone| id_of(&gone.item) == id_of(thing));
            let said = said(paint, *kind, thing, gone);
            let style = if gone { theme.dim } else { theme.text };
            if compact {
                let room = width.saturating_sub(WHO + 9);
                let meta = text::pad(&said.who, WHO);
                return vec![Line::from(vec![
                    mark,
                    Span::raw(" "),
                    span(text::pad(&said.head, room), style),
                    Span::raw("  "),
                    span(meta, theme.dim),
                    span(format!("{:>5}", said.age), theme.dim),
                ])];
            }
            let room = width.saturating_sub(2);
            let meta = text::pad(&said.meta, room.saturating_sub(text::width(&said.age) + 3));
            vec![
                Line::from(vec![mark.clone(), Span::raw(" "), span(text::fit(&said.head, room), style)]),
                Line::from(vec![
                    mark,
                    Span::raw("   "),
                    span(meta, theme.dim),
                    Span::raw(" "),
                    span(said.age, theme.dim),
                ]),
            ]
        }
    }
}

/// The name of a group.
pub(super) fn heading(kind: InboxKind) -> &'static str {
    match kind {
        InboxKind::Joining => "At the door",
        InboxKind::Refused => "Refused writes",
        InboxKind::Contradiction => "Contradictions",
        InboxKind::Contested => "Replaced twice",
        InboxKind::Proposed => "Proposed by agents",
        InboxKind::Found => "Found by models and audits",
        InboxKind::ByAgents => "Done by agents on their own",
        InboxKind::NeedsReview => "Need review",
        InboxKind::Warned => "Stored with a warning",
        InboxKind::Quarantined => "Not let in from peers",
    }
}

/// A thing in few words.
struct Said {
    head: String,
    who: String,
    meta: String,
    age: String,
}

fn said(paint: &Paint<'_>, kind: InboxKind, thing: &InboxItem, gone: bool) -> Said {
    let state = paint.state;
    let dot = paint.theme.glyphs.dot;
    let (head, who, at) = match thing {
        InboxItem::Card(card) => (card.headline.clone(), by(&card.who, card.agent.as_deref()), card.at),
        InboxItem::Review(item) => {
            let cause = item.causes.first();
            let who = cause.map_or_else(String::new, |cause| by(&cause.who, cause.agent.as_deref()));
            (item.claim.statement.clone(), who, cause.map_or(item.claim.at, |cause| cause.at))
        }
        InboxItem::Notice(item) => {
            let did = match item.what {
                NoticeKind::Warned => "",
                NoticeKind::Forced => "Forced: ",
                NoticeKind::Retracted => "Retracted: ",
            };
            (format!("{did}{}", item.claim.statement), by(&item.who, item.agent.as_deref()), item.at)
        }
        InboxItem::Quarantined(item) => {
            let text = item.text.clone().unwrap_or_else(|| format!("an event: {}", item.kind));
            (text, item.author_name.clone().unwrap_or_else(|| item.who.clone()), item.received_at)
        }
        InboxItem::Joining(join) => {
            (format!("{} wants into {}", join.name, join.team_name), join.person.clone(), state.now)
        }
    };
    let place = thing.scope().filter(|_| state.scope.is_none()).map(|scope| scope.project.clone());
    let mut meta: Vec<String> = place.into_iter().chain([who.clone()]).filter(|part| !part.is_empty()).collect();
    if kind == InboxKind::Quarantined
        && let InboxItem::Quarantined(item) = thing
    {
        meta.push(item.refusal.replace('_', " "));
    }
    if gone {
        meta.insert(0, "settled meanwhile".to_owned());
    }
    let age = if kind == InboxKind::Joining { String::new() } else { when::age(at, state.now) };
    let who = if gone { "settled meanwhile".to_owned() } else { who };
    Said { head, who, meta: meta.join(&format!(" {dot} ")), age }
}

/// An agent by its own name, since it is the one to ask; else the person.
fn by(who: &str, agent: Option<&str>) -> String {
    agent.unwrap_or(who).to_owned()
}

fn detail(paint: &mut Paint<'_>, area: Rect) {
    let inbox = &paint.state.inbox;
    let focused = inbox.focus == Focus::Detail;
    let width = usize::from(area.width.saturating_sub(4));
    let path = paint.theme.glyphs.path;
    match inbox.current() {
        Some(Row::Item(_, InboxItem::Card(summary))) => {
            let title = format!("{} {path} card {}", summary.scope, summary.id.short());
            let open = paint.state.conflicts.card.as_ref().filter(|card| card.view.summary.id == summary.id);
            let Some(open) = open else {
                let text = paint.state.conflicts.trouble.clone().unwrap_or_else(|| "Reading the card…".to_owned());
                let inner = paint.pane(area, &title, "", focused);
                paint.hits.add_pane(inner, Pane::Card, usize::from(inner.height));
                return empty::card(paint, inner, &text, &[]);
            };
            card::draw(paint, area, open, &title, focused);
        }
        Some(Row::Item(kind, thing)) => {
            let title = heading(kind);
            let lines = item::lines(paint, kind, thing, width);
            paint.document(area, Pane::Item, title, &lines, inbox.scroll, focused);
        }
        Some(Row::More(kind, rest)) => {
            let inner = paint.pane(area, heading(kind), "", focused);
            paint.hits.add(inner, Hit::Pane(Pane::Item));
            empty::card(paint, inner, &format!("{rest} more"), &["enter shows all of them.".to_owned()]);
        }
        Some(Row::Heading(..)) | None => {
            let inner = paint.pane(area, "", "", focused);
            paint.hits.add(inner, Hit::Pane(Pane::Item));
        }
    }
}
