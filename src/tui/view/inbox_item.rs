//! The item under the cursor of the Inbox in full, unless it is a card.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::{
    claim,
    paint::{Paint, labelled, span},
    peer,
};
use crate::{
    api::{ClaimView, EventView, InboxItem, InboxKind, NoticeItem, NoticeKind, QuarantinedView, ReviewItem},
    domain::text::escape,
    tui::{
        action::{self, Action, ActionSpec, Danger, KeyScope},
        text::{self, writer},
        times,
        word_diff::{self, Run},
    },
};

const LABEL_WIDTH: usize = 12;

/// Lays out the item at this width.
pub(super) fn lines(paint: &Paint<'_>, kind: InboxKind, inbox_item: &InboxItem, width: usize) -> Vec<Line<'static>> {
    let mut out = match inbox_item {
        InboxItem::Review(item) => review(paint, item, width),
        InboxItem::Notice(item) => notice(paint, item, width),
        InboxItem::Quarantined(item) => quarantined(paint, item, width),
        InboxItem::Joining(join) => peer::pending(paint, join, width),
        InboxItem::Card(_) => Vec::new(),
    };
    let settled = paint.state.inbox.is_on_settled();
    if settled {
        let mut banner = text::wrap("Already settled. It disappears when you move on.", width, paint.theme.warn);
        banner.push(Line::default());
        banner.append(&mut out);
        return banner;
    }
    let scopes: &[KeyScope] = match kind {
        InboxKind::Quarantined | InboxKind::Joining => &[KeyScope::Pending],
        _ => &[KeyScope::Claim],
    };
    out.push(Line::default());
    out.extend(acts(paint, inbox_item, scopes, width));
    out
}

fn review(paint: &Paint<'_>, item: &ReviewItem, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let mut out = text::wrap("A claim that this one depends on changed. Does this one still hold?", width, theme.warn);
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

/// Lays out an act on a claim on which another depends.
fn change(paint: &Paint<'_>, cause: &EventView, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let who = writer(&cause.who, cause.agent.as_deref());
    let mut words =
        format!("{who} {} a claim that it depends on, {}", cause.verb(), times::ago(cause.at, paint.state.now));
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
    // A lower probability is that of the rules, which means little to a reader.
    let heading = match item.score.filter(|score| *score >= 0.5) {
        Some(score) => format!("These probably contradict ({:.0} %)", (score * 100.0).min(99.0)),
        None => "These may contradict".to_owned(),
    };
    let (heading, says) = match item.what {
        NoticeKind::Warned => (heading, format!("stored with a warning, by {who}")),
        NoticeKind::Forced => (heading, format!("{who} kept both, as an exception")),
        NoticeKind::Dismissed => (heading, format!("{who} dismissed this and kept both")),
        NoticeKind::Retracted => ("An agent retracted what a person wrote".to_owned(), format!("by {who}")),
    };
    let mut out = text::wrap(&heading, width, theme.title);
    out.extend(text::wrap(&says, width, theme.dim));
    out.push(Line::default());
    if let Some(other) = item.against.first() {
        let diff = word_diff::words(&item.claim.statement, &other.statement);
        out.extend(side(paint, "New", &item.claim, (&diff.left, theme.side_a), width));
        for (at, other) in item.against.iter().enumerate() {
            let plain = word_diff::words(&other.statement, &other.statement);
            let runs = if at == 0 { &diff.right } else { &plain.left };
            out.push(Line::default());
            out.extend(side(paint, "Existing", other, (runs, theme.side_b), width));
        }
    } else {
        out.extend(claim::lines(paint, &item.claim, width));
    }
    out.push(Line::default());
    out.extend(labelled(
        "guard",
        text::wrap(&item.sentence, width.saturating_sub(LABEL_WIDTH), theme.dim),
        LABEL_WIDTH,
        theme.dim,
    ));
    out
}

/// Lays out one of two claims. `highlight` is the style of the words that only it has.
fn side(
    paint: &Paint<'_>,
    label: &str,
    claim: &ClaimView,
    (runs, highlight): (&[Run], Style),
    width: usize,
) -> Vec<Line<'static>> {
    let (theme, dot) = (paint.theme, paint.theme.glyphs.dot);
    let what = format!(" {dot} {} {} {dot} {}", claim.kind, claim.id.short(), claim::status(claim));
    let what = text::fit(&what, width.saturating_sub(label.len()));
    let mut out = vec![Line::from(vec![span(label, theme.accent), span(what, theme.dim)])];
    if claim.flags.redacted {
        out.push(Line::from(span("(its text was redacted)", theme.dim)));
    } else {
        let runs: Vec<_> =
            runs.iter().map(|run| (run.text.clone(), if run.own { highlight } else { theme.title })).collect();
        out.extend(text::wrap_runs(&runs, width));
    }
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(
            label,
            text::wrap(value, width.saturating_sub(LABEL_WIDTH), theme.text),
            LABEL_WIDTH,
            theme.dim,
        ));
    };
    if let Some(reason) = &claim.reason {
        field("because", reason);
    }
    if let Some(source) = &claim.source {
        field("source", source);
    }
    let ago = times::ago(claim.at, paint.state.now);
    field("by", &format!("{}, {ago}", claim.writer()));
    out
}

fn quarantined(paint: &Paint<'_>, item: &QuarantinedView, width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let mut out = text::wrap(&item.why, width, theme.warn);
    out.push(Line::default());
    out.extend(text::wrap(item.text.as_deref().unwrap_or("(no text)"), width, theme.title));
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(
            label,
            text::wrap(value, width.saturating_sub(LABEL_WIDTH), theme.text),
            LABEL_WIDTH,
            theme.dim,
        ));
    };
    let change = if item.kind == "supersede" { "replaced another claim with this one" } else { item.verb() };
    field("change", change);
    field("by", &escape(&item.who));
    field("written on", &item.author_name.as_deref().map_or_else(|| item.author.short(), escape));
    if let Some(from) = item.from_name.clone().or_else(|| item.from.map(crate::domain::DeviceId::short)) {
        field("sent by", &escape(&from));
    }
    field("scope", &escape(&item.scope.to_string()));
    field("received", &times::ago(item.received_at, state.now));
    out
}

/// Returns the title and the help of an action for this kind of item: a device is admitted or denied, an event accepted
/// or discarded.
fn pending_words(inbox_item: &InboxItem, spec: &ActionSpec) -> (&'static str, &'static str) {
    match (spec.id, inbox_item) {
        (Action::AdmitPending, InboxItem::Joining(_)) => ("Admit", "Admit the device to the team; asks first."),
        (Action::RejectPending, InboxItem::Joining(_)) => ("Deny", "Deny the device; asks first."),
        (Action::AdmitPending, _) => ("Accept", "Accept the event for the whole team; asks first."),
        (Action::RejectPending, _) => ("Discard", "Discard the event on this device; asks first."),
        _ => (spec.title, spec.help),
    }
}

/// Lists the possible actions.
fn acts(paint: &Paint<'_>, inbox_item: &InboxItem, scopes: &[KeyScope], width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let mut out = vec![Line::from(span("What you can do", theme.accent))];
    for spec in action::in_chain(scopes).filter(|spec| state.check(spec).is_ok()) {
        let (title, help) = pending_words(inbox_item, spec);
        let words = state.keys.say(help);
        let mark = if spec.danger == Danger::Final { theme.glyphs.alert } else { " " };
        let lines = text::wrap(&words, width.saturating_sub(24), theme.dim);
        for (row, line) in lines.into_iter().enumerate() {
            let mut spans = if row == 0 {
                vec![
                    span(text::pad(&state.keys.first(spec.id), 3), theme.key),
                    span(format!("{mark} "), theme.warn),
                    span(text::pad(title, 18), theme.text),
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
