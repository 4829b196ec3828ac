//! The Inbox screen: the items that need attention, in groups, and the item under the cursor in full.

use std::borrow::Cow;

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape, claim_pair,
    claims::grouped,
    empty, inbox_detail,
    paint::{Paint, rows, span},
};
use crate::{
    api::{CardPair, InboxItem, InboxKind, NoticeKind},
    tui::{
        hits::Pane,
        state::{
            Focus,
            inbox::{InboxRow, id_of, number_of},
        },
        text, times,
    },
};

/// The width of the list from which an item takes one line.
const COMPACT_WIDTH: u16 = 60;

/// Width of the project or writer of an item that takes one line.
const WHO_WIDTH: usize = 12;

pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let inbox = &paint.state.inbox;
    if inbox.view.is_none() || inbox.is_empty() {
        return draw_empty(paint, area);
    }
    match (Shape::of(paint), inbox.focus) {
        (Shape::Wide, _) => {
            let width = super::list_width(area);
            list(paint, Rect { width, ..area });
            inbox_detail::draw(paint, Rect { x: area.x + width, width: area.width - width, ..area });
        }
        (Shape::Mid, Focus::List) => {
            let most = area.height / 2;
            let height = u16::try_from(inbox.rows().count() + 2).unwrap_or(most).clamp(5, most);
            list(paint, Rect { height, ..area });
            inbox_detail::draw(paint, Rect { y: area.y + height, height: area.height - height, ..area });
        }
        (Shape::Single, Focus::List) => list(paint, area),
        (Shape::Mid | Shape::Single, Focus::Detail) => inbox_detail::draw(paint, area),
    }
}

fn draw_empty(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let inner = paint.pane(area, "Inbox", "", true);
    paint.hits.add_pane(inner, Pane::Inbox, usize::from(inner.height));
    if let Some(error) = &state.inbox.error {
        let error = error.clone();
        return empty::centred_message(paint, inner, &error, &[state.keys.say("{reload} tries again.")]);
    }
    if state.inbox.view.is_none() {
        return empty::centred_message(paint, inner, "Loading…", &[]);
    }
    let scope = state.scope.as_ref().map_or_else(|| "in any scope".to_owned(), |scope| format!("in {scope}"));
    let mut body = Vec::new();
    match state.inbox.settled {
        0 => {}
        1 => body.push(state.keys.say("You settled one item. {undo} undoes it.")),
        n => {
            let how = state.keys.say("{undo} undoes the last one; {show_timeline} shows them all.");
            body.push(format!("You settled {n} items. {how}"));
        }
    }
    let elsewhere: usize =
        state.scopes.iter().filter(|view| !state.shows(&view.scope)).map(|view| view.open_cards).sum();
    if elsewhere > 0 {
        let how = state.keys.say("{all_scopes} shows all scopes.");
        let cards = if elsewhere == 1 { "One card is open" } else { "Cards are open" };
        body.push(format!("{cards} in other scopes: {how}"));
    }
    if state.scopes.iter().all(|scope| scope.total == 0) {
        body.push(
            state.keys.say("There are no claims yet. {add_claim} writes the first, or: ergo remember '…' --reason '…'"),
        );
    } else {
        body.push("Refused writes, contradictions, warnings and claims to review appear here.".to_owned());
        let ways =
            ["{audit}: compare the active claims", "{card_filter}: see settled cards", "{show_claims}: see the claims"];
        body.push(state.keys.say(&ways.join(&format!(" {} ", paint.theme.glyphs.dot))));
    }
    empty::centred_message(paint, inner, &format!("Nothing needs your attention {scope}"), &body);
}

fn list(paint: &mut Paint<'_>, area: Rect) {
    let inbox = &paint.state.inbox;
    let focused = inbox.focus == Focus::List;
    let total = inbox.total() + usize::from(inbox.kept_item.as_ref().is_some_and(|kept| kept.settled));
    let all: Vec<InboxRow<'_>> = inbox.rows().collect();
    let here = all.iter().position(|row| row.id().is_some() && row.id().as_ref() == inbox.anchor());
    let here_at = here.unwrap_or(0);
    let mut note = match &inbox.error {
        Some(error) => error.clone(),
        None if matches!(all.get(here_at), Some(InboxRow::Pairs(_) | InboxRow::Promotions(_)) | None) => {
            crate::domain::text::count(total, "item", "items")
        }
        None => format!("{} of {}", grouped(item_number(&all, here_at).min(total.max(1))), grouped(total)),
    };
    if inbox.settled > 0 && inbox.error.is_none() {
        note = format!("{} settled {} {note}", grouped(inbox.settled), paint.theme.glyphs.dot);
    }
    let marks = &paint.state.conflicts.marks;
    if !marks.is_empty() {
        note = format!("{} marked {} {note}", grouped(marks.len()), paint.theme.glyphs.dot);
    }
    let title = match &paint.state.scope {
        Some(scope) => format!("Inbox: {scope}"),
        None => "Inbox: all scopes".to_owned(),
    };
    let inner = paint.pane(area, &title, &note, focused);
    let compact = inner.width >= COMPACT_WIDTH;
    let visible = usize::from(inner.height);
    // In a short list, a second line per item would hide the next item.
    let room = if visible < 16 { usize::MAX } else { usize::from(inner.width).saturating_sub(2) };
    let heights: Vec<usize> = all.iter().enumerate().map(|(index, row)| height(row, index, compact, room)).collect();
    let per = if compact { 1 } else { 3 };
    paint.hits.add_pane(inner, Pane::Inbox, (visible / per).max(1));
    let below_heading = here_at.checked_sub(1).and_then(|before| all.get(before)).is_some_and(|row| row.id().is_none());
    let skip = scroll(&heights, here_at, below_heading, visible);
    let (mut line, mut stop) = (0, 0);
    let mut open_import = None;
    for (index, (row, height)) in all.iter().zip(&heights).enumerate() {
        let (from, to) = (line, line + height);
        line = to;
        let number = stop;
        let indent = match row {
            InboxRow::Import(_, import) => {
                open_import = Some(import.number);
                0
            }
            InboxRow::Item(kind, item) if open_import.is_some() && number_of(*kind, item) == open_import => 2,
            _ => 0,
        };
        stop += usize::from(row.id().is_some());
        if to <= skip || from >= skip + visible {
            continue;
        }
        let current = Some(index) == here;
        let row_layout = RowLayout { width: usize::from(inner.width), compact, current, height: *height, indent };
        let lines = lines(paint, row, &row_layout);
        let hidden = skip.saturating_sub(from);
        let place = rows(inner, from.saturating_sub(skip), height - hidden);
        for (at, line) in lines.iter().skip(hidden).take(usize::from(place.height)).enumerate() {
            paint.line(place, at, line);
        }
        if row.id().is_some() {
            paint.row(place, Pane::Inbox, number, current, focused);
        }
    }
}

/// Returns the number of the item at a row, from 1, among all items: those of closed imports and of other pages count
/// too.
fn item_number(all: &[InboxRow<'_>], here: usize) -> usize {
    let items = |row: &InboxRow<'_>| match row {
        InboxRow::Item(..) => 1,
        InboxRow::Import(_, import) if !import.open => import.count,
        InboxRow::Before(_, count) | InboxRow::More(_, count) => *count,
        InboxRow::Heading(..) | InboxRow::Import(..) | InboxRow::Pairs(_) | InboxRow::Promotions(_) => 0,
    };
    all.iter().take(here).map(items).sum::<usize>() + 1
}

/// Returns the number of lines of a row. Except in a compact list, a heading has an empty line above it, but not the
/// first one.
fn height(row: &InboxRow<'_>, index: usize, compact: bool, room: usize) -> usize {
    match row {
        InboxRow::Heading(..) if index == 0 || compact => 1,
        InboxRow::Heading(..) => 2,
        InboxRow::Item(..) | InboxRow::Import(..) if compact => 1,
        InboxRow::Import(..) => 2,
        InboxRow::Item(_, inbox_item) if pair_of(inbox_item).is_some() => 3,
        // The text takes one or two lines, the writer and the age another.
        InboxRow::Item(_, inbox_item) => {
            2 + usize::from(text::width(item_text(inbox_item)) + prefix(inbox_item).len() > room)
        }
        InboxRow::Before(..) | InboxRow::More(..) | InboxRow::Pairs(_) | InboxRow::Promotions(_) => 1,
    }
}

/// Returns the first line to show so that the row under the cursor is in view, with the heading right above it if it
/// has one.
fn scroll(heights: &[usize], here: usize, below_heading: bool, visible: usize) -> usize {
    let before: usize = heights.iter().take(here).sum();
    let own = heights.get(here).copied().unwrap_or(1);
    let total: usize = heights.iter().sum();
    let after = heights.get(here + 1).copied().unwrap_or(0);
    let heading = if below_heading { heights.get(here.saturating_sub(1)).copied().unwrap_or(0) } else { 0 };
    let top = if heading + own <= visible { before - heading } else { before };
    // The next row is shown too, so that it is clear what follows.
    (before + own + after).saturating_sub(visible).min(top).min(total.saturating_sub(visible))
}

/// Formats the number of rules that may be promoted.
pub(super) fn rules_to_promote(count: usize) -> String {
    if count == 1 { "1 rule to promote".to_owned() } else { format!("{} rules to promote", grouped(count)) }
}

/// The layout of one row.
struct RowLayout {
    width: usize,
    compact: bool,
    current: bool,
    height: usize,
    /// Columns of indentation below the import that the item is part of.
    indent: usize,
}

fn lines(paint: &Paint<'_>, row: &InboxRow<'_>, row_layout: &RowLayout) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let marks = &paint.state.conflicts.marks;
    let items = if matches!(row, InboxRow::Import(..)) { paint.state.inbox.items(row) } else { Vec::new() };
    let is_marked = match row {
        InboxRow::Item(_, inbox_item) => marks.has(inbox_item),
        InboxRow::Heading(..)
        | InboxRow::Import(..)
        | InboxRow::Before(..)
        | InboxRow::More(..)
        | InboxRow::Pairs(_)
        | InboxRow::Promotions(_) => items.iter().any(|item| marks.has(item)),
    };
    // Marks get a column of their own once an item is marked.
    let flag = match (marks.is_empty() || matches!(row, InboxRow::Heading(..)), is_marked) {
        (true, _) => "",
        (false, true) => theme.glyphs.mark,
        (false, false) => " ",
    };
    let mark = span(if row_layout.current { theme.glyphs.cursor } else { " " }, theme.accent);
    let before = [mark.clone(), span(flag, theme.warn), Span::raw(" ".repeat(1 + row_layout.indent))];
    let room = row_layout.width.saturating_sub(2 + row_layout.indent + text::width(flag));
    match row {
        InboxRow::Heading(kind, total) => {
            let more = if total.at_least { "+" } else { "" };
            let count = format!("{}{more}", grouped(total.total));
            let name = text::fit(paint.state.inbox.title(*kind), row_layout.width.saturating_sub(count.len() + 1));
            let line = Line::from(vec![span(name, theme.accent), Span::raw(" "), span(count, theme.dim)]);
            let mut lines = vec![Line::default(); row_layout.height.saturating_sub(1)];
            lines.push(line);
            lines
        }
        InboxRow::Before(_, count) | InboxRow::More(_, count) => {
            let word = if matches!(row, InboxRow::More(..)) { "more" } else { "earlier" };
            let how = paint.state.keys.say("{open} shows them");
            let text = format!("{} {word}: {how}", grouped(*count));
            vec![before.into_iter().chain([span(text::fit(&text, room), theme.dim)]).collect()]
        }
        InboxRow::Pairs(count) => {
            let words =
                if *count == 1 { "1 pair to judge".to_owned() } else { format!("{} pairs to judge", grouped(*count)) };
            let how = paint.state.keys.say("press {judge}");
            let words = text::fit(&format!("{} {words}: {how}", theme.glyphs.pair), room);
            vec![before.into_iter().chain([span(words, theme.title)]).collect()]
        }
        InboxRow::Promotions(count) => {
            let how = paint.state.keys.say("{open} shows them");
            let words = format!("{} {}: {how}", theme.glyphs.mark, rules_to_promote(*count));
            vec![before.into_iter().chain([span(text::fit(&words, room), theme.title)]).collect()]
        }
        InboxRow::Import(_, import) => {
            let [closed, open] = theme.glyphs.fold;
            let glyph = if import.open { open } else { closed };
            let files = import_source(&items);
            let head = format!("{glyph} {} from the import of {files}", grouped(import.count));
            let age = times::age(listed_since(import.first), paint.state.now);
            let scope = import.first.scope().filter(|_| paint.state.scope.is_none());
            let project = scope.map_or_else(String::new, |scope| scope.project.clone());
            if row_layout.compact {
                let head = text::pad(&head, room.saturating_sub(WHO_WIDTH + 7));
                let end = [span(head, theme.title), Span::raw("  "), span(text::pad(&project, WHO_WIDTH), theme.dim)];
                let end = end.into_iter().chain([span(format!("{age:>5}"), theme.dim)]);
                return vec![before.into_iter().chain(end).collect()];
            }
            let how = paint.state.keys.say(if import.open { "{open} closes" } else { "{open} opens" });
            let meta = if project.is_empty() { how } else { format!("{project} {} {how}", theme.glyphs.dot) };
            let meta = text::pad(&meta, room.saturating_sub(text::width(&age) + 3));
            let below = [Span::raw("  "), span(meta, theme.dim), Span::raw(" "), span(age, theme.dim)];
            vec![
                before.clone().into_iter().chain([span(text::fit(&head, room), theme.title)]).collect(),
                before.into_iter().chain(below).collect(),
            ]
        }
        InboxRow::Item(kind, inbox_item) => {
            let settled = paint.state.inbox.is_settled(&id_of(inbox_item));
            let texts = summary(paint, *kind, inbox_item, settled);
            let style = if settled { theme.dim } else { theme.text };
            let pair = pair_of(inbox_item);
            if row_layout.compact {
                let room = room.saturating_sub(WHO_WIDTH + 7);
                let head = match &pair {
                    Some(pair) => claim_pair::one_line(paint, pair, room, style),
                    None => vec![span(text::pad(&texts.head, room), style)],
                };
                let meta = [Span::raw("  "), span(text::pad(&texts.short, WHO_WIDTH), theme.dim)];
                let age = span(format!("{:>5}", texts.age), theme.dim);
                return vec![before.into_iter().chain(head).chain(meta).chain([age]).collect()];
            }
            let head: Vec<Vec<Span<'static>>> = if let Some(pair) = &pair {
                claim_pair::two_lines(paint, pair, room, style).into()
            } else {
                let lines = text::wrap_at_most(&texts.head, room, row_layout.height.saturating_sub(1), style);
                lines.into_iter().map(|line| line.spans).collect()
            };
            let meta = text::pad(&texts.meta, room.saturating_sub(text::width(&texts.age) + 3));
            let mut out: Vec<Line<'static>> =
                head.into_iter().map(|spans| before.clone().into_iter().chain(spans).collect()).collect();
            let end = [Span::raw("  "), span(meta, theme.dim), Span::raw(" "), span(texts.age, theme.dim)];
            out.push(before.into_iter().chain(end).collect());
            out
        }
    }
}

/// Names where the items of an import come from: their file, else the folder of all their files.
fn import_source(items: &[InboxItem]) -> String {
    let file = |item: &InboxItem| {
        let source = match item {
            InboxItem::Card(card) => card.pair.as_ref()?.source.clone()?,
            InboxItem::Notice(item) => item.claim.source.clone()?,
            _ => return None,
        };
        let line = source.rsplit_once(':').filter(|(_, line)| line.bytes().all(|b| b.is_ascii_digit()));
        Some(line.map_or_else(|| source.clone(), |(file, _)| file.to_owned()))
    };
    let files: Vec<String> = items.iter().filter_map(file).collect();
    let Some((first, rest)) = files.split_first() else { return "elsewhere".to_owned() };
    if rest.iter().all(|file| file == first) {
        return first.clone();
    }
    let mut folder = first.as_str();
    while let Some((parent, _)) = folder.rsplit_once('/') {
        folder = parent;
        if rest.iter().all(|file| file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))) {
            return folder.to_owned();
        }
    }
    "several files".to_owned()
}

/// Returns both claims of an item that is about two.
pub(super) fn pair_of(inbox_item: &InboxItem) -> Option<Cow<'_, CardPair>> {
    match inbox_item {
        InboxItem::Card(card) => card.pair.as_ref().map(Cow::Borrowed),
        InboxItem::Notice(item) if item.what != NoticeKind::Retracted => item.against.first().map(|other| {
            let new = format!("{}{}", prefix(inbox_item), item.claim.statement);
            Cow::Owned(CardPair { new, existing: other.statement.clone(), source: None })
        }),
        _ => None,
    }
}

/// Returns the text of an item without the [`prefix`] that says what was done to it.
pub(super) fn item_text(inbox_item: &InboxItem) -> &str {
    match inbox_item {
        InboxItem::Card(card) => &card.headline,
        InboxItem::Review(item) => &item.claim.statement,
        InboxItem::Notice(item) => &item.claim.statement,
        InboxItem::Quarantined(item) => item.text.as_deref().unwrap_or(&item.kind),
        InboxItem::Joining(_) => "",
    }
}

/// Returns what was done to the claim of a notice, as a prefix of its text.
fn prefix(inbox_item: &InboxItem) -> &'static str {
    let InboxItem::Notice(item) = inbox_item else { return "" };
    match item.what {
        NoticeKind::Warned => "",
        NoticeKind::Forced => "Exception: ",
        NoticeKind::Dismissed => "Dismissed: ",
        NoticeKind::Retracted => "Retracted: ",
    }
}

/// The texts of an item in the list.
struct Summary {
    head: String,
    /// The project if all scopes are listed, else the writer; “settled” for a settled item.
    short: String,
    meta: String,
    age: String,
}

/// Returns since when an item is listed, in milliseconds since the Unix epoch; 0 for a join request.
fn listed_since(inbox_item: &InboxItem) -> u64 {
    match inbox_item {
        InboxItem::Card(card) => card.at,
        InboxItem::Review(item) => item.causes.first().map_or(item.claim.at, |cause| cause.at),
        InboxItem::Notice(item) => item.at,
        InboxItem::Quarantined(item) => item.received_at,
        InboxItem::Joining(_) => 0,
    }
}

fn summary(paint: &Paint<'_>, kind: InboxKind, inbox_item: &InboxItem, settled: bool) -> Summary {
    let state = paint.state;
    let dot = paint.theme.glyphs.dot;
    let (head, who) = match inbox_item {
        InboxItem::Card(card) => (card.headline.clone(), actor(&card.who, card.agent.as_deref())),
        InboxItem::Review(item) => {
            let who = item.causes.first().map_or_else(String::new, |cause| actor(&cause.who, cause.agent.as_deref()));
            (item.claim.statement.clone(), who)
        }
        InboxItem::Notice(item) => {
            (format!("{}{}", prefix(inbox_item), item.claim.statement), actor(&item.who, item.agent.as_deref()))
        }
        InboxItem::Quarantined(item) => {
            let text = item.text.clone().unwrap_or_else(|| format!("({}, without text)", item.verb()));
            (text, item.author_name.clone().unwrap_or_else(|| item.who.clone()))
        }
        InboxItem::Joining(join) => (format!("{} asks to join {}", join.name, join.team_name), join.person.clone()),
    };
    let project = inbox_item.scope().filter(|_| state.scope.is_none()).map(|scope| scope.project.clone());
    let short = if settled { "settled".to_owned() } else { project.clone().unwrap_or_else(|| who.clone()) };
    let mut meta: Vec<String> = project.into_iter().chain([who]).filter(|part| !part.is_empty()).collect();
    if kind == InboxKind::Quarantined
        && let InboxItem::Quarantined(item) = inbox_item
    {
        let refusal = if item.refusal == "after_cut" { "no longer a member" } else { &item.refusal };
        meta.push(refusal.replace('_', " "));
    }
    if settled {
        meta.insert(0, "already settled".to_owned());
    }
    let age = if kind == InboxKind::Joining { String::new() } else { times::age(listed_since(inbox_item), state.now) };
    Summary { head, short, meta: meta.join(&format!(" {dot} ")), age }
}

/// Names the agent if there is one, because it can be asked; else the person.
fn actor(who: &str, agent: Option<&str>) -> String {
    agent.unwrap_or(who).to_owned()
}
