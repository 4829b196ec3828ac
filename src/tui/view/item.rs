//! What is under the cursor of the Inbox, in full, where it is no card.

use ratatui::text::{Line, Span};

use super::{
    claim,
    paint::{Paint, labelled, span},
    peer,
};
use crate::{
    api::{EventView, InboxItem, InboxKind, NoticeItem, NoticeKind, QuarantinedView, ReviewItem},
    domain::{text::escape, verdict::Stage},
    tui::{
        action::{self, Danger, KeyScope},
        text::{self, writer},
        update::verb,
        when,
    },
};

/// Columns of the labels.
const LABEL: usize = 11;

/// The thing as text at this width.
pub(super) fn lines(paint: &Paint<'_>, kind: InboxKind, thing: &InboxItem, width: usize) -> Vec<Line<'static>> {
    let mut out = match thing {
        InboxItem::Review(item) => review(paint, item, width),
        InboxItem::Notice(item) => notice(paint, item, width),
        InboxItem::Quarantined(item) => quarantined(paint, item, width),
        InboxItem::Joining(join) => peer::pending(paint, join, width),
        InboxItem::Card(_) => Vec::new(),
    };
    let gone = paint.state.inbox.is_gone();
    if gone {
        let mut banner = text::wrap("Settled meanwhile. It goes when the cursor leaves it.", width, paint.theme.warn);
        banner.push(Line::default());
        banner.append(&mut out);
        return banner;
    }
    let scopes: &[KeyScope] = match kind {
        InboxKind::Quarantined | InboxKind::Joining => &[KeyScope::Door],
        _ => &[KeyScope::Claim],
    };
    out.push(Line::default());
    out.extend(acts(paint, scopes, width));
    out
}

fn review(paint: &Paint<'_>, item: &ReviewItem, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let mut out = text::wrap("What this claim rests on has changed. Does it still hold?", width, theme.warn);
    out.push(Line::default());
    for cause in &item.causes {
        out.extend(change(paint, cause, width));
    }
    if !item.causes.is_empty() {
        out.push(Line::default());
    }
    out.extend(claim::lines(paint, &item.claim, width));
    out
}

/// An act on a premise.
fn change(paint: &Paint<'_>, cause: &EventView, width: usize) -> Vec<Line<'static>> {
    let (theme, zone) = (paint.theme, &paint.state.settings.zone);
    let who = writer(&cause.who, cause.agent.as_deref());
    let mut words = format!("{who} {} a premise, {}", verb(&cause.kind), when::ago(cause.at, paint.state.now, zone));
    if let Some(new) = &cause.statement {
        words = format!("{words}: “{new}”");
    }
    if let Some(reason) = &cause.reason {
        words = format!("{words} ({reason})");
    }
    labelled(
        &format!("{} ", theme.glyphs.change),
        text::wrap(&words, width.saturating_sub(3), theme.text),
        3,
        theme.dim,
    )
}

fn notice(paint: &Paint<'_>, item: &NoticeItem, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let who = writer(&item.who, item.agent.as_deref());
    let says = match item.what {
        NoticeKind::Warned => format!("{who} stored this although the guard warned."),
        NoticeKind::Forced => {
            format!(
                "{who} let this stand beside what it contradicts: an exception, with its justification on the record."
            )
        }
        NoticeKind::Dismissed => {
            format!("{who} said that these do not contradict each other, and let both stand.")
        }
        NoticeKind::Retracted => format!("{who} retracted this claim, which a person wrote."),
    };
    let mut out = text::wrap(&item.sentence, width, theme.title);
    out.extend(text::wrap(&says, width, theme.warn));
    if let Some(guard) = guard(item) {
        out.extend(labelled("guard", text::wrap(&guard, width.saturating_sub(LABEL), theme.text), LABEL, theme.dim));
    }
    out.push(Line::default());
    out.extend(claim::lines(paint, &item.claim, width));
    for other in &item.against {
        out.push(Line::default());
        let label = if item.what == NoticeKind::Warned { "It may not fit with" } else { "It stands beside" };
        out.push(Line::from(span(label, theme.accent)));
        out.extend(claim::lines(paint, other, width));
    }
    out
}

/// The guard's word in a line.
fn guard(item: &NoticeItem) -> Option<String> {
    let stage = match item.stage? {
        Stage::Normalise => "the normaliser",
        Stage::Structural => "the rules",
        Stage::Nli => "language inference",
        Stage::Judge => "the judge",
    };
    let rule = item.rule.as_deref().map(|rule| format!(", {}", rule.replace('_', " "))).unwrap_or_default();
    let score = item.score.map(|score| format!(", {:.0} %", score * 100.0)).unwrap_or_default();
    Some(format!("{stage}{rule}{score}"))
}

fn quarantined(paint: &Paint<'_>, item: &QuarantinedView, width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let zone = &state.settings.zone;
    let mut out = text::wrap(&item.why, width, theme.warn);
    out.push(Line::default());
    out.extend(text::wrap(item.text.as_deref().unwrap_or("(it has no text)"), width, theme.title));
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(label, text::wrap(value, width.saturating_sub(LABEL), theme.text), LABEL, theme.dim));
    };
    field("would", &format!("{} ({})", verb(&item.kind), item.kind));
    field("by", &escape(&item.who));
    field("device", &item.author_name.as_deref().map_or_else(|| item.author.short(), escape));
    if let Some(from) = item.from_name.clone().or_else(|| item.from.map(crate::domain::DeviceId::short)) {
        field("came from", &escape(&from));
    }
    field("scope", &escape(&item.scope.to_string()));
    field("written", &when::minute(item.at, zone));
    field(
        "came",
        &format!("{} ({})", when::minute(item.received_at, zone), when::ago(item.received_at, state.now, zone)),
    );
    field("event", &item.id.short());
    out
}

/// What can be done, and why what cannot be done cannot.
fn acts(paint: &Paint<'_>, scopes: &[KeyScope], width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let mut out = vec![Line::from(span("What you can do", theme.accent))];
    for spec in action::in_chain(scopes) {
        let (style, words) = match spec.check(state) {
            Ok(()) => (theme.text, state.keys.say(spec.help)),
            Err(why) => (theme.dim, format!("not now: {why}")),
        };
        let key = if spec.check(state).is_ok() { theme.key } else { theme.dim };
        let mark = if spec.danger == Danger::Final { theme.glyphs.alert } else { " " };
        let lines = text::wrap(&words, width.saturating_sub(24), theme.dim);
        for (row, line) in lines.into_iter().enumerate() {
            let mut spans = if row == 0 {
                vec![
                    span(text::pad(&state.keys.first(spec.id), 3), key),
                    span(format!("{mark} "), theme.warn),
                    span(text::pad(spec.title, 18), style),
                    Span::raw(" "),
                ]
            } else {
                vec![Span::raw(" ".repeat(24))]
            };
            spans.extend(line.spans);
            out.push(Line::from(spans));
        }
    }
    out
}
