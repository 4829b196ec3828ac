//! The why-chain as lines: the newest claim first, each change with its reason on the rail between.

use ratatui::text::{Line, Span};

use super::{
    card::writer,
    claim,
    conflicts::kind,
    paint::{Paint, span},
};
use crate::{
    api::{CardSummary, ChainLink, ClaimView},
    domain::Status,
    tui::{
        state::why::{Chain, Node, NodeId, Section},
        text, when,
    },
};

/// A node of the chain and its lines.
pub(super) struct Item {
    /// What the cursor holds on to; headings have none.
    pub(super) id: Option<NodeId>,
    /// Its lines.
    pub(super) lines: Vec<Line<'static>>,
}

/// The whole chain at this width.
pub(super) fn items(paint: &Paint<'_>, chain: &Chain, cursor: Option<NodeId>, width: usize) -> Vec<Item> {
    let theme = paint.theme;
    let nodes = chain.nodes();
    let mut out = Vec::new();
    let mut section = None;
    let last_link = nodes.iter().filter(|node| node.id().section == Section::Chain).count();
    let mut seen = 0;
    for node in &nodes {
        let id = node.id();
        if section != Some(id.section) && id.section != Section::Chain {
            let heading = Line::from(span(heading(id.section), theme.accent));
            out.push(Item { id: None, lines: vec![Line::default(), heading] });
        }
        section = Some(id.section);
        let here = cursor == Some(id);
        let lines = match node {
            Node::Claim { section: Section::Chain, claim, link } => {
                seen += 1;
                let asked = chain.answer.as_ref().is_some_and(|answer| answer.id == claim.id);
                link_lines(paint, claim, *link, Place { asked, here, last: seen == last_link, first: seen == 1 }, width)
            }
            Node::Claim { claim, .. } => vec![claim_line(paint, claim, here, width)],
            Node::Card(card) => vec![card_line(paint, card, here, width)],
        };
        out.push(Item { id: Some(id), lines });
    }
    out
}

fn heading(section: Section) -> &'static str {
    match section {
        Section::Chain => "Chain",
        Section::Premises => "Rests on",
        Section::Dependents => "Bears (these rest on it)",
        Section::Cards => "Open cards",
        Section::Others => "Also fits the question",
    }
}

/// Where a claim stands in the chain.
struct Place {
    /// It is the claim in question.
    asked: bool,
    /// The cursor is on it.
    here: bool,
    /// It is the oldest.
    last: bool,
    /// It is the newest.
    first: bool,
}

fn link_lines(
    paint: &Paint<'_>,
    claim: &ClaimView,
    link: Option<&ChainLink>,
    place: Place,
    width: usize,
) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let glyphs = theme.glyphs;
    let zone = &state.settings.zone;
    let mut out = Vec::new();
    if !place.first
        && let Some(link) = link
    {
        out.extend(change(paint, link, width));
    }
    let active = claim.status == Status::Active;
    let node = if active { glyphs.node_active } else { glyphs.node_past };
    let mark = if place.here { glyphs.cursor } else { " " };
    let rail = if place.last { " " } else { glyphs.rail };
    let body = width.saturating_sub(5);
    let asked = if place.asked { "  (asked for)" } else { "" };
    let dot = glyphs.dot;
    let head = format!("{} {dot} {} {dot} {}{asked}", claim.kind, claim::status(claim), claim.id.short());
    let style = if active { theme.ok } else { theme.dim };
    let head_style = if claim.flags.needs_review || claim.flags.contested { theme.warn } else { theme.dim };
    out.push(Line::from(vec![
        span(mark, theme.accent),
        Span::raw(" "),
        span(format!("{node} "), style),
        span(text::fit(&head, body), head_style),
    ]));
    let mut push = |lines: Vec<Line<'static>>| {
        for line in lines {
            let mut spans = vec![span(mark, theme.accent), Span::raw(" "), span(format!("{rail}  "), theme.dim)];
            spans.extend(line.spans);
            out.push(Line::from(spans));
        }
    };
    let statement = if claim.flags.redacted { "(its text was redacted)" } else { &claim.statement };
    push(text::wrap(statement, body, if active { theme.title } else { theme.text }));
    let mut field = |label: &str, value: &str| {
        push(super::paint::labelled(label, text::wrap(value, body.saturating_sub(9), theme.text), 9, theme.dim));
    };
    if claim.reason.is_some() || claim.kind.is_guarded() {
        field("because", claim.reason.as_deref().unwrap_or("(no reason given)"));
    }
    if claim.status == Status::Retracted
        && let Some(reason) = &claim.closing_reason
    {
        field("retracted", reason);
    }
    if let Some(source) = &claim.source {
        field("source", source);
    }
    let by = writer(&claim.who, claim.agent.as_deref());
    field("by", &format!("{by} {dot} {} ({})", when::minute(claim.at, zone), when::ago(claim.at, state.now, zone)));
    if let Some(only) = super::card::qualifiers(&claim.qualifiers) {
        field("only", &only);
    }
    if !place.last {
        push(vec![Line::default()]);
    }
    out
}

/// The act that replaced a claim, on the rail above it.
fn change(paint: &Paint<'_>, link: &ChainLink, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let zone = &paint.state.settings.zone;
    let mut words = "replaced".to_owned();
    if let Some(by) = &link.changed_by {
        words.push_str(" by ");
        words.push_str(by);
    }
    if let Some(at) = link.changed_at {
        words.push_str(", ");
        words.push_str(&when::ago(at, paint.state.now, zone));
    }
    if let Some(reason) = &link.change_reason {
        words.push_str(": ");
        words.push_str(reason);
    }
    let lines = text::wrap(&words, width.saturating_sub(6), theme.warn);
    let mut out: Vec<Line<'static>> = lines
        .into_iter()
        .enumerate()
        .map(|(row, line)| {
            let rail = if row == 0 { format!("{} ", theme.glyphs.change) } else { format!("{}  ", theme.glyphs.rail) };
            let mut spans = vec![Span::raw("  "), span(rail, theme.dim)];
            spans.extend(line.spans);
            Line::from(spans)
        })
        .collect();
    out.push(Line::from(vec![Span::raw("  "), span(theme.glyphs.rail, theme.dim)]));
    out
}

fn claim_line(paint: &Paint<'_>, claim: &ClaimView, here: bool, width: usize) -> Line<'static> {
    let theme = paint.theme;
    let mark = if here { theme.glyphs.cursor } else { " " };
    let active = claim.status == Status::Active;
    let node = if active { theme.glyphs.node_active } else { theme.glyphs.node_past };
    let state =
        if active && !claim.flags.needs_review { String::new() } else { format!("  ({})", claim::status(claim)) };
    let statement = if claim.flags.redacted { "(redacted)" } else { &claim.statement };
    let room = width.saturating_sub(15 + text::width(&state));
    Line::from(vec![
        span(mark, theme.accent),
        Span::raw(" "),
        span(format!("{node} "), if active { theme.ok } else { theme.dim }),
        span(claim.id.short(), theme.dim),
        Span::raw(" "),
        span(text::fit(statement, room), theme.text),
        span(state, theme.warn),
    ])
}

fn card_line(paint: &Paint<'_>, card: &CardSummary, here: bool, width: usize) -> Line<'static> {
    let theme = paint.theme;
    let mark = if here { theme.glyphs.cursor } else { " " };
    let head = format!("{}: {}", kind(card.kind), card.headline);
    Line::from(vec![
        span(mark, theme.accent),
        Span::raw(" "),
        span(format!("{} ", theme.glyphs.alert), theme.warn),
        span(text::fit(&head, width.saturating_sub(4)), theme.text),
    ])
}
