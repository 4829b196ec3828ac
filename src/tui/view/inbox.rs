//! The Inbox: everything that needs attention, in groups, and what is under the cursor in full.

use std::borrow::Cow;

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    Shape, claim_pair,
    claims::group,
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

/// Columns from which an item has one line.
const ONE_LINE: u16 = 60;

/// Columns of who caused an item, if it has one line.
const WHO: usize = 12;

/// Draws the screen.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect) {
    let inbox = &paint.state.inbox;
    if inbox.view.is_none() || inbox.is_empty() {
        return nothing(paint, area);
    }
    match (Shape::of(paint.state), inbox.focus) {
        (Shape::Wide, _) => {
            let width = super::list_width(area);
            list(paint, Rect { width, ..area });
            inbox_detail::draw(paint, Rect { x: area.x + width, width: area.width - width, ..area });
        }
        (Shape::Mid, Focus::List) => {
            let most = area.height / 2;
            let height = u16::try_from(inbox.rows().len() + 2).unwrap_or(most).clamp(5, most);
            list(paint, Rect { height, ..area });
            inbox_detail::draw(paint, Rect { y: area.y + height, height: area.height - height, ..area });
        }
        (Shape::Single, Focus::List) => list(paint, area),
        (Shape::Mid | Shape::Single, Focus::Detail) => inbox_detail::draw(paint, area),
    }
}

fn nothing(paint: &mut Paint<'_>, area: Rect) {
    let state = paint.state;
    let inner = paint.pane(area, "Inbox", "", true);
    paint.hits.add_pane(inner, Pane::Inbox, usize::from(inner.height));
    if let Some(error) = &state.inbox.error {
        let error = error.clone();
        return empty::card(paint, inner, &error, &[state.keys.say("{reload} tries again.")]);
    }
    if state.inbox.view.is_none() {
        return empty::card(paint, inner, "Loading…", &[]);
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
        body.push("There are no claims yet. Write the first: ergo remember '…' --reason '…'".to_owned());
    } else {
        body.push("Refused writes, contradictions, warnings and claims to review appear here.".to_owned());
        let ways =
            ["{audit}: compare the active claims", "{card_filter}: see settled cards", "{show_claims}: see the claims"];
        body.push(state.keys.say(&ways.join(&format!(" {} ", paint.theme.glyphs.dot))));
    }
    empty::card(paint, inner, &format!("Nothing needs your attention {scope}"), &body);
}

fn list(paint: &mut Paint<'_>, area: Rect) {
    let inbox = &paint.state.inbox;
    let focused = inbox.focus == Focus::List;
    let total = inbox.total() + usize::from(inbox.settled_item.is_some());
    let mut note = match &inbox.error {
        Some(error) => error.clone(),
        None => format!("{} of {}", group((inbox.cursor() + 1).min(total.max(1))), group(total)),
    };
    if inbox.settled > 0 && inbox.error.is_none() {
        note = format!("{} settled {} {note}", group(inbox.settled), paint.theme.glyphs.dot);
    }
    let marks = &paint.state.conflicts.marks;
    if !marks.is_empty() {
        note = format!("{} marked {} {note}", group(marks.len()), paint.theme.glyphs.dot);
    }
    let title = match &paint.state.scope {
        Some(scope) => format!("Inbox: {scope}"),
        None => "Inbox: all scopes".to_owned(),
    };
    let inner = paint.pane(area, &title, &note, focused);
    let compact = inner.width >= ONE_LINE;
    let all = inbox.rows();
    let visible = usize::from(inner.height);
    // In a low list a second line would cost the sight of the next item.
    let room = if visible < 16 { usize::MAX } else { usize::from(inner.width).saturating_sub(2) };
    let heights: Vec<usize> = all.iter().enumerate().map(|(index, row)| height(row, index, compact, room)).collect();
    let per = if compact { 1 } else { 3 };
    paint.hits.add_pane(inner, Pane::Inbox, (visible / per).max(1));
    let here = all.iter().position(|row| row.id().is_some() && row.id().as_ref() == inbox.anchor());
    let here_at = here.unwrap_or(0);
    let lead = here_at.checked_sub(1).and_then(|before| all.get(before)).is_some_and(|row| row.id().is_none());
    let skip = scroll(&heights, here_at, lead, visible);
    let (mut line, mut stop) = (0, 0);
    let mut within = None;
    for (index, (row, height)) in all.iter().zip(&heights).enumerate() {
        let (from, to) = (line, line + height);
        line = to;
        let number = stop;
        let indent = match row {
            InboxRow::Import(_, import) => {
                within = Some(import.number);
                0
            }
            InboxRow::Item(kind, item) if within.is_some() && number_of(*kind, item) == within => 2,
            _ => 0,
        };
        stop += usize::from(row.id().is_some());
        if to <= skip || from >= skip + visible {
            continue;
        }
        let current = Some(index) == here;
        let look = Look { width: usize::from(inner.width), compact, current, height: *height, indent };
        let lines = lines(paint, row, &look);
        let hidden = skip.saturating_sub(from);
        let place = rows(inner, from.saturating_sub(skip), height - hidden);
        for (at, line) in lines.iter().skip(hidden).take(usize::from(place.height)).enumerate() {
            paint.line(place, at, line);
        }
        if row.id().is_some() {
            // The empty line between items belongs to none of them.
            let place = if compact { place } else { rows(place, 0, usize::from(place.height)) };
            paint.row(place, Pane::Inbox, number, current, focused);
        }
    }
}

/// Lines of a row: a heading has one above it, but for the first.
fn height(row: &InboxRow<'_>, index: usize, compact: bool, room: usize) -> usize {
    match row {
        InboxRow::Heading(..) if index == 0 || compact => 1,
        InboxRow::Heading(..) => 2,
        InboxRow::Item(..) | InboxRow::Import(..) if compact => 1,
        InboxRow::Import(..) => 2,
        InboxRow::Item(_, thing) if pair_of(thing).is_some() => 3,
        // What does not fit one line has two, and below it who and when.
        InboxRow::Item(_, thing) => 2 + usize::from(text::width(head(thing)) + prefix(thing).len() > room),
        InboxRow::Before(..) | InboxRow::More(..) | InboxRow::Pairs(_) | InboxRow::Promotions(_) => 1,
    }
}

/// The first line shown, so that the row under the cursor is in view, with its heading if it is the first below one.
fn scroll(heights: &[usize], here: usize, lead: bool, visible: usize) -> usize {
    let before: usize = heights.iter().take(here).sum();
    let own = heights.get(here).copied().unwrap_or(1);
    let total: usize = heights.iter().sum();
    let after = heights.get(here + 1).copied().unwrap_or(0);
    let lead = if lead { heights.get(here.saturating_sub(1)).copied().unwrap_or(0) } else { 0 };
    let top = if lead + own <= visible { before - lead } else { before };
    // The next row is seen too, so that it is plain what comes then.
    (before + own + after).saturating_sub(visible).min(top).min(total.saturating_sub(visible))
}

/// How many rules may be promoted, in words.
pub(super) fn rules_to_promote(count: usize) -> String {
    if count == 1 { "1 rule to promote".to_owned() } else { format!("{} rules to promote", group(count)) }
}

/// How a row is drawn.
struct Look {
    width: usize,
    compact: bool,
    current: bool,
    height: usize,
    /// Columns by which it stands in, below the import that it is part of.
    indent: usize,
}

fn lines(paint: &Paint<'_>, row: &InboxRow<'_>, look: &Look) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let marks = &paint.state.conflicts.marks;
    let items = if matches!(row, InboxRow::Import(..)) { paint.state.inbox.items(row) } else { Vec::new() };
    let is_marked = match row {
        InboxRow::Item(_, thing) => marks.has(thing),
        InboxRow::Heading(..)
        | InboxRow::Import(..)
        | InboxRow::Before(..)
        | InboxRow::More(..)
        | InboxRow::Pairs(_)
        | InboxRow::Promotions(_) => items.iter().any(|item| marks.has(item)),
    };
    // The marks have a column of their own as soon as there is one.
    let flag = match (marks.is_empty() || matches!(row, InboxRow::Heading(..)), is_marked) {
        (true, _) => "",
        (false, true) => theme.glyphs.mark,
        (false, false) => " ",
    };
    let mark = span(if look.current { theme.glyphs.cursor } else { " " }, theme.accent);
    let before = [mark.clone(), span(flag, theme.warn), Span::raw(" ".repeat(1 + look.indent))];
    let room = look.width.saturating_sub(2 + look.indent + text::width(flag));
    match row {
        InboxRow::Heading(kind, total) => {
            let more = if total.at_least { "+" } else { "" };
            let count = format!("{}{more}", group(total.total));
            let name = text::fit(kind.title(), look.width.saturating_sub(count.len() + 1));
            let line = Line::from(vec![span(name, theme.accent), Span::raw(" "), span(count, theme.dim)]);
            let mut lines = vec![Line::default(); look.height.saturating_sub(1)];
            lines.push(line);
            lines
        }
        InboxRow::Before(_, count) | InboxRow::More(_, count) => {
            let word = if matches!(row, InboxRow::More(..)) { "more" } else { "earlier" };
            let how = paint.state.keys.say("{open} shows them");
            let text = format!("{} {word}: {how}", group(*count));
            vec![before.into_iter().chain([span(text::fit(&text, room), theme.dim)]).collect()]
        }
        InboxRow::Pairs(count) => {
            let words =
                if *count == 1 { "1 pair to judge".to_owned() } else { format!("{} pairs to judge", group(*count)) };
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
            let files = sources(&items);
            let head = format!("{glyph} {} from the import of {files}", group(import.count));
            let age = times::age(at(import.first), paint.state.now);
            let place = import.first.scope().filter(|_| paint.state.scope.is_none());
            let place = place.map_or_else(String::new, |scope| scope.project.clone());
            if look.compact {
                let head = text::pad(&head, room.saturating_sub(WHO + 7));
                let end = [span(head, theme.title), Span::raw("  "), span(text::pad(&place, WHO), theme.dim)];
                let end = end.into_iter().chain([span(format!("{age:>5}"), theme.dim)]);
                return vec![before.into_iter().chain(end).collect()];
            }
            let how = paint.state.keys.say(if import.open { "{open} closes" } else { "{open} opens" });
            let meta = if place.is_empty() { how } else { format!("{place} {} {how}", theme.glyphs.dot) };
            let meta = text::pad(&meta, room.saturating_sub(text::width(&age) + 3));
            let below = [Span::raw("  "), span(meta, theme.dim), Span::raw(" "), span(age, theme.dim)];
            vec![
                before.clone().into_iter().chain([span(text::fit(&head, room), theme.title)]).collect(),
                before.into_iter().chain(below).collect(),
            ]
        }
        InboxRow::Item(kind, thing) => {
            let gone = paint.state.inbox.settled_item.as_ref().is_some_and(|gone| id_of(&gone.item) == id_of(thing));
            let texts = summary(paint, *kind, thing, gone);
            let style = if gone { theme.dim } else { theme.text };
            let pair = pair_of(thing);
            if look.compact {
                let room = room.saturating_sub(WHO + 7);
                let head = match &pair {
                    Some(pair) => claim_pair::one_line(paint, pair, room, style),
                    None => vec![span(text::pad(&texts.head, room), style)],
                };
                let meta = [Span::raw("  "), span(text::pad(&texts.short, WHO), theme.dim)];
                let age = span(format!("{:>5}", texts.age), theme.dim);
                return vec![before.into_iter().chain(head).chain(meta).chain([age]).collect()];
            }
            let head: Vec<Vec<Span<'static>>> = if let Some(pair) = &pair {
                claim_pair::two_lines(paint, pair, room, style).into()
            } else {
                let lines = two(&texts.head, room, look.height.saturating_sub(1)).into_iter();
                lines.map(|line| vec![span(line, style)]).collect()
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

/// Where the items of an import come from: their file, else the folder of all their files.
fn sources(items: &[InboxItem]) -> String {
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

/// Both claims of an item that is about two.
pub(super) fn pair_of(thing: &InboxItem) -> Option<Cow<'_, CardPair>> {
    match thing {
        InboxItem::Card(card) => card.pair.as_ref().map(Cow::Borrowed),
        InboxItem::Notice(item) if item.what != NoticeKind::Retracted => item.against.first().map(|other| {
            let new = format!("{}{}", prefix(thing), item.claim.statement);
            Cow::Owned(CardPair { new, existing: other.statement.clone(), source: None })
        }),
        _ => None,
    }
}

/// A text in at most `most` lines, the last of them cut.
fn two(text: &str, room: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> =
        text::wrap(text, room, ratatui::style::Style::default()).iter().map(ToString::to_string).collect();
    if lines.len() > most.max(1) {
        let rest = lines.split_off(most.max(1) - 1).join(" ");
        lines.push(text::fit(&rest, room));
    }
    lines.truncate(most.max(1));
    lines
}

/// What an item is, without what was done to it.
pub(super) fn head(thing: &InboxItem) -> &str {
    match thing {
        InboxItem::Card(card) => &card.headline,
        InboxItem::Review(item) => &item.claim.statement,
        InboxItem::Notice(item) => &item.claim.statement,
        InboxItem::Quarantined(item) => item.text.as_deref().unwrap_or(&item.kind),
        InboxItem::Joining(_) => "",
    }
}

/// What was done to an item, as a word in front of it.
fn prefix(thing: &InboxItem) -> &'static str {
    let InboxItem::Notice(item) = thing else { return "" };
    match item.what {
        NoticeKind::Warned => "",
        NoticeKind::Forced => "Exception: ",
        NoticeKind::Dismissed => "Dismissed: ",
        NoticeKind::Retracted => "Retracted: ",
    }
}

/// An item in few words.
struct Summary {
    head: String,
    /// Where, if all scopes are listed; else who.
    short: String,
    meta: String,
    age: String,
}

/// Since when an item is listed.
fn at(thing: &InboxItem) -> u64 {
    match thing {
        InboxItem::Card(card) => card.at,
        InboxItem::Review(item) => item.causes.first().map_or(item.claim.at, |cause| cause.at),
        InboxItem::Notice(item) => item.at,
        InboxItem::Quarantined(item) => item.received_at,
        InboxItem::Joining(_) => 0,
    }
}

fn summary(paint: &Paint<'_>, kind: InboxKind, thing: &InboxItem, gone: bool) -> Summary {
    let state = paint.state;
    let dot = paint.theme.glyphs.dot;
    let (head, who) = match thing {
        InboxItem::Card(card) => (card.headline.clone(), by(&card.who, card.agent.as_deref())),
        InboxItem::Review(item) => {
            let who = item.causes.first().map_or_else(String::new, |cause| by(&cause.who, cause.agent.as_deref()));
            (item.claim.statement.clone(), who)
        }
        InboxItem::Notice(item) => {
            (format!("{}{}", prefix(thing), item.claim.statement), by(&item.who, item.agent.as_deref()))
        }
        InboxItem::Quarantined(item) => {
            let text = item.text.clone().unwrap_or_else(|| format!("({}, without text)", item.verb()));
            (text, item.author_name.clone().unwrap_or_else(|| item.who.clone()))
        }
        InboxItem::Joining(join) => (format!("{} asks to join {}", join.name, join.team_name), join.person.clone()),
    };
    let place = thing.scope().filter(|_| state.scope.is_none()).map(|scope| scope.project.clone());
    let short = if gone { "settled".to_owned() } else { place.clone().unwrap_or_else(|| who.clone()) };
    let mut meta: Vec<String> = place.into_iter().chain([who]).filter(|part| !part.is_empty()).collect();
    if kind == InboxKind::Quarantined
        && let InboxItem::Quarantined(item) = thing
    {
        let refusal = if item.refusal == "after_cut" { "no longer a member" } else { &item.refusal };
        meta.push(refusal.replace('_', " "));
    }
    if gone {
        meta.insert(0, "already settled".to_owned());
    }
    let age = if kind == InboxKind::Joining { String::new() } else { times::age(at(thing), state.now) };
    Summary { head, short, meta: meta.join(&format!(" {dot} ")), age }
}

/// An agent by its own name, since it is the one to ask; else the person.
fn by(who: &str, agent: Option<&str>) -> String {
    agent.unwrap_or(who).to_owned()
}
