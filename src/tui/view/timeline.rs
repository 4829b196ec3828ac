//! The why-chain as lines: the newest claim first, each change with its reason on the rail between two claims.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

use super::{
    card::written_by,
    claim,
    conflicts::kind,
    paint::{Paint, span},
};
use crate::{
    api::{CardSummary, ChainLink, ClaimView},
    domain::Status,
    tui::{
        drift::Drift,
        graph::{self, Cell, GraphStep},
        state::why::{Node, NodeId, Section, WhyChain, replaced},
        text,
        theme::Theme,
        times,
    },
};

const LABEL_WIDTH: usize = 11;

/// A node of the chain and its lines.
pub(super) struct TimelineRow {
    /// The node that the cursor can be on; `None` for headings, notes and judgements.
    pub(super) id: Option<NodeId>,
    pub(super) lines: Vec<Line<'static>>,
}

/// Lays out the whole chain at this width.
pub(super) fn items(paint: &Paint<'_>, chain: &WhyChain, cursor: Option<NodeId>, width: usize) -> Vec<TimelineRow> {
    let theme = paint.theme;
    let nodes = chain.nodes();
    let links = nodes.iter().filter(|node| node.id().section == Section::Chain);
    let mut steps = graph::rails(&replaced(links)).into_iter();
    let mut out = Vec::new();
    let mut section = None;
    let mut first = true;
    if let Some(note) = &chain.note {
        let mut lines = text::wrap(note, width, theme.text);
        lines.extend(chain.answer.as_ref().map(|_| Line::default()));
        out.push(TimelineRow { id: None, lines });
    }
    for node in &nodes {
        let id = node.id();
        if section != Some(id.section) && id.section != Section::Chain {
            let heading = Line::from(span(heading(id.section, chain.answer.is_some()), theme.accent));
            out.push(TimelineRow { id: None, lines: vec![Line::default(), heading] });
        }
        section = Some(id.section);
        let here = cursor == Some(id);
        let lines = match node {
            Node::Claim { section: Section::Chain, claim, link } => {
                let asked = chain.answer.as_ref().is_some_and(|answer| answer.id == claim.id);
                let rails = Rails { step: steps.next().unwrap_or_default(), here, theme };
                let lines = link_lines(paint, claim, link.filter(|_| !first), (&rails, asked), width);
                first = false;
                lines
            }
            Node::Claim { claim, .. } => vec![claim_line(paint, claim, here, width)],
            Node::Card(card) => vec![card_line(paint, card, here, width)],
        };
        out.push(TimelineRow { id: Some(id), lines });
    }
    if !chain.judgements.is_empty() {
        out.push(TimelineRow { id: None, lines: judgements(paint, chain, width) });
    }
    out
}

/// Lists the verdicts of judges on the claim and others, each with its reason.
fn judgements(paint: &Paint<'_>, chain: &WhyChain, width: usize) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let dot = theme.glyphs.dot;
    let mut out = vec![Line::default(), Line::from(span("Judgements", theme.accent))];
    for event in &chain.judgements {
        let verdict = event.kind.strip_prefix("judgement.").unwrap_or(&event.kind);
        let by = text::writer(&event.who, event.agent.as_deref());
        let about = event.about.as_deref().map_or_else(String::new, |about| format!(" “{}”", text::fit(about, 60)));
        let undone = if event.undone { " (undone)" } else { "" };
        let head = format!("  {verdict}{about}{undone} {dot} {by} {dot} {}", times::ago(event.at, state.now));
        out.extend(text::wrap(&head, width, if event.undone { theme.dim } else { theme.text }));
        if let Some(reason) = &event.reason {
            let lines = text::wrap(reason, width.saturating_sub(2 + LABEL_WIDTH), theme.dim);
            out.extend(super::paint::labelled("  because", lines, 2 + LABEL_WIDTH, theme.dim));
        }
    }
    out
}

fn heading(section: Section, answered: bool) -> &'static str {
    match section {
        Section::Chain => "Chain",
        Section::Premises => "Depends on",
        Section::Dependents => "Dependents",
        Section::Cards => "Open cards",
        Section::Others if answered => "See also",
        Section::Others => "Closest claims",
    }
}

/// The rails beside a claim of the chain.
struct Rails<'a> {
    step: GraphStep,
    /// Whether the cursor is on the claim.
    here: bool,
    theme: &'a Theme,
}

impl Rails<'_> {
    fn start(&self, marked: bool) -> Vec<Span<'static>> {
        let mark = if marked && self.here { self.theme.glyphs.cursor } else { " " };
        vec![span(mark, self.theme.accent), Span::raw(" ")]
    }

    /// Returns the rails beside the first line of the claim.
    fn node(&self, active: bool) -> Vec<Span<'static>> {
        let glyphs = self.theme.glyphs;
        let mut spans = self.start(true);
        spans.extend(self.step.cells.iter().map(|cell| match cell {
            Cell::Empty => Span::raw("  "),
            Cell::Rail => span(format!("{} ", glyphs.rail), self.theme.dim),
            Cell::Node if active => span(format!("{} ", glyphs.node_active), self.theme.ok),
            Cell::Node => span(format!("{} ", glyphs.node_past), self.theme.dim),
        }));
        spans
    }

    /// Returns the rails beside the other lines of the claim.
    fn below(&self) -> Vec<Span<'static>> {
        let mut spans = self.start(true);
        for at in 0..self.step.cells.len().max(self.step.below.len()) {
            let rail = self.step.below.get(at) == Some(&true) && !self.step.splits.contains(&at);
            let text = if rail { format!("{} ", self.theme.glyphs.rail) } else { "  ".to_owned() };
            spans.push(span(text, self.theme.dim));
        }
        spans.push(Span::raw(" "));
        spans
    }

    /// Returns the rails beside the act that replaced the claim: those of the claim's first line, with the act on the
    /// claim's own rail.
    fn change(&self, first: bool) -> Vec<Span<'static>> {
        let glyphs = self.theme.glyphs;
        let mut spans = self.start(false);
        for (at, cell) in self.step.cells.iter().enumerate() {
            let text = match cell {
                Cell::Node if first && at + 1 == self.step.cells.len() => format!("{} ", glyphs.change),
                Cell::Node if first => glyphs.change.to_owned(),
                Cell::Empty => "  ".to_owned(),
                Cell::Rail | Cell::Node => format!("{} ", glyphs.rail),
            };
            spans.push(span(text, self.theme.dim));
        }
        if !first {
            spans.push(Span::raw(" "));
        }
        spans
    }

    /// Draws the line on which `others` end in the claim's column (`ends`) or begin there; `None` if there are none.
    fn meet(&self, others: &[usize], ends: bool) -> Option<Line<'static>> {
        let last = *others.iter().max()?;
        let corner = match (ends, self.theme.glyphs.is_ascii()) {
            (true, true) => "'",
            (false, true) => ".",
            (true, false) => "╯",
            (false, false) => "╮",
        };
        let (tee, rule) = if self.theme.glyphs.is_ascii() { ("+", "-") } else { ("├", "─") };
        let mut spans = self.start(false);
        let open = |at: usize| {
            if ends {
                self.step.cells.get(at).is_some_and(|cell| *cell != Cell::Empty)
            } else {
                self.step.below.get(at) == Some(&true)
            }
        };
        let columns = self.step.cells.len().max(self.step.below.len()).max(last + 1);
        for at in 0..columns {
            let between = at > self.step.column && at < last;
            let text = if at == self.step.column {
                format!("{tee}{rule}")
            } else if others.contains(&at) {
                if at == last { format!("{corner} ") } else { format!("{corner}{rule}") }
            } else if between {
                format!("{rule}{rule}")
            } else if open(at) {
                format!("{} ", self.theme.glyphs.rail)
            } else {
                "  ".to_owned()
            };
            spans.push(span(text, self.theme.dim));
        }
        Some(Line::from(spans))
    }

    /// Returns the width of the rails, with the spaces around them.
    fn width(&self) -> usize {
        3 + 2 * self.step.cells.len().max(self.step.below.len())
    }
}

fn link_lines(
    paint: &Paint<'_>,
    claim: &ClaimView,
    link: Option<&ChainLink>,
    (rails, asked): (&Rails<'_>, bool),
    width: usize,
) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let zone = &state.settings.zone;
    let mut out: Vec<Line<'static>> = rails.meet(&rails.step.joins, true).into_iter().collect();
    if let Some(link) = link {
        out.extend(change(paint, claim, link, rails, width));
    }
    let active = claim.status == Status::Active;
    let body = width.saturating_sub(rails.width());
    let asked = if asked { "  (this claim)" } else { "" };
    let dot = theme.glyphs.dot;
    let head = format!("{} {dot} {} {dot} {}{asked}", claim.kind, claim::status(claim), claim.id.short());
    let head_style = if claim.flags.needs_review || claim.flags.contested { theme.warn } else { theme.dim };
    let mut spans = rails.node(active);
    spans.push(span(text::fit(&head, body), head_style));
    out.push(Line::from(spans));
    let mut push = |lines: Vec<Line<'static>>| {
        for line in lines {
            let mut spans = rails.below();
            spans.extend(line.spans);
            out.push(Line::from(spans));
        }
    };
    let statement = if claim.flags.redacted { "(its text was redacted)" } else { &claim.statement };
    let style = if active { theme.title } else { theme.text };
    for paragraph in statement.split('\n') {
        let runs = state.claims.words().runs(paragraph);
        let runs: Vec<_> =
            runs.into_iter().map(|(run, hit)| (run, if hit { style.patch(theme.found) } else { style })).collect();
        push(text::wrap_runs(&runs, body));
    }
    let mut field = |label: &str, value: &str, style: Style| {
        push(super::paint::labelled(
            label,
            text::wrap(value, body.saturating_sub(LABEL_WIDTH), style),
            LABEL_WIDTH,
            theme.dim,
        ));
    };
    if claim.reason.is_some() || claim.kind.is_guarded() {
        field("because", claim.reason.as_deref().unwrap_or(claim.flags.missing_reason()), theme.text);
    }
    if claim.status == Status::Retracted
        && let Some(reason) = &claim.closing_reason
    {
        field(claim.flags.status_word(claim.status), reason, theme.text);
    }
    if let Some(source) = &claim.source {
        field("source", source, theme.text);
        if let Some((words, style)) = state.why.drifts.get(&claim.id).map(|drift| drifted(theme, *drift)) {
            field("", &words, style);
        }
    }
    let by = written_by(claim);
    let when = format!("{by} {dot} {} ({})", times::minute(claim.at, zone), times::ago(claim.at, state.now));
    field("by", &when, theme.text);
    if let Some(holds) = claim.qualifiers.holds() {
        field("holds", &holds, theme.text);
    }
    if claim.replaces.len() > 1 {
        field("merges", &format!("{} claims into one", claim.replaces.len()), theme.accent);
    }
    if claim.replaced_by.len() > 1 {
        let text = format!("replaced concurrently by {} claims", claim.replaced_by.len());
        field("contested", &text, theme.warn);
    }
    if let Some(split) = rails.meet(&rails.step.splits, false) {
        out.push(split);
    } else if !rails.step.below.is_empty() {
        out.push(Line::from(rails.below()));
    }
    out
}

/// Describes how a source changed, with a mark so that colour is not the only sign.
fn drifted(theme: &Theme, drift: Drift) -> (String, Style) {
    let glyphs = theme.glyphs;
    match drift {
        Drift::Same => (format!("{} source unchanged", glyphs.done), theme.ok),
        Drift::Moved(line) => (format!("{} moved to line {line}", glyphs.path), theme.dim),
        Drift::Changed => (format!("{} source no longer contains this statement", glyphs.alert), theme.warn),
        Drift::Gone => (format!("{} source file not found", glyphs.alert), theme.warn),
    }
}

/// Lays out the act that replaced a claim, on the rail above it.
fn change(
    paint: &Paint<'_>,
    claim: &ClaimView,
    link: &ChainLink,
    rails: &Rails<'_>,
    width: usize,
) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let mut words = "replaced".to_owned();
    if let Some(by) = &link.changed_by {
        words.push_str(" by ");
        words.push_str(by);
    }
    if let Some(device) = &link.changed_on {
        words.push_str(", on ");
        words.push_str(device);
    }
    if let Some(at) = link.changed_at {
        words.push_str(", ");
        words.push_str(&times::ago(at, paint.state.now));
    }
    if let Some(reason) = link.change_reason.as_ref().or(claim.closing_reason.as_ref()) {
        words.push_str(": ");
        words.push_str(reason);
    }
    let lines = text::wrap(&words, width.saturating_sub(rails.width() + 1), theme.warn);
    let mut out: Vec<Line<'static>> = lines
        .into_iter()
        .enumerate()
        .map(|(row, line)| {
            let mut spans = rails.change(row == 0);
            spans.extend(line.spans);
            Line::from(spans)
        })
        .collect();
    out.push(Line::from(rails.change(false)));
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
    let head = format!("{}: {}", kind(card), card.headline);
    Line::from(vec![
        span(mark, theme.accent),
        Span::raw(" "),
        span(format!("{} ", theme.glyphs.alert), theme.warn),
        span(text::fit(&head, width.saturating_sub(4)), theme.text),
    ])
}
