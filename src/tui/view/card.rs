//! A card as text, in the order in which a person decides: how likely the contradiction is, both claims, the advice,
//! the possible actions. A key shows the guard's evidence.

use ratatui::{
    layout::Rect,
    text::{Line, Span},
};

use super::{
    evidence, norms,
    paint::{Paint, labelled, rows, side_by_side, span},
    story_card,
};
use crate::{
    api::{CardAct, CardKind, CardSide, CardStatus, ClaimView},
    domain::{
        guard_report::{Evidence, Relation, RuleId},
        text::both_or_all,
    },
    tui::{
        action::{self, Action, KeyScope},
        hits::{Hit, Pane},
        state::conflicts::{Card, HighlightMode},
        text::{self, writer},
        times,
        word_diff::Run,
    },
};

/// The width of the terminal from which the claims are side by side.
const SIDE_BY_SIDE_WIDTH: u16 = 100;

/// Width of the labels before reason, source and writer.
const LABEL_WIDTH: usize = 11;

/// A card as text.
struct CardText {
    lines: Vec<Line<'static>>,
    /// The actions that are possible, each with its position in the text: line, column, width.
    acts: Vec<(usize, usize, usize, Action)>,
}

/// Draws the card into a pane and makes its actions clickable.
pub(super) fn draw(paint: &mut Paint<'_>, area: Rect, card: &Card, title: &str, focused: bool) {
    let CardText { lines, acts } = card_text(paint, card, usize::from(area.width.saturating_sub(4)));
    let (inner, scroll) = paint.document(area, Pane::Card, title, &lines, card.scroll, focused);
    for (line, x, cells, id) in acts {
        if let Some(row) = line.checked_sub(scroll) {
            let place = rows(inner, row, 1);
            let (x, cells) = (u16::try_from(x).unwrap_or(u16::MAX), u16::try_from(cells).unwrap_or(0));
            let place = Rect { x: place.x.saturating_add(x), width: cells, ..place }.intersection(place);
            paint.hits.add(place, Hit::Act(id));
        }
    }
}

/// Lays out the whole card at this width.
fn card_text(paint: &Paint<'_>, card: &Card, width: usize) -> CardText {
    if let Some(question) = &card.view.summary.story {
        let (mut lines, places) = story_card::lines(paint, card, question, width);
        let banner = banner(paint, card, width);
        let shift = banner.len();
        lines.splice(0..0, banner);
        let acts = places.into_iter().map(|(line, action)| (line + shift, 0, width, action)).collect();
        return CardText { lines, acts };
    }
    let theme = paint.theme;
    let mut out = banner(paint, card, width);
    out.extend(text::wrap(&heading(card), width, theme.title));
    out.extend(meta(paint, card, width));
    out.push(Line::default());
    out.extend(sides(paint, card, width));
    if let Some(evidence) = card.evidence().filter(|_| paint.state.conflicts.details) {
        out.push(Line::default());
        out.extend(evidence::lines(paint, card, evidence, width));
        out.push(Line::default());
        let text = |side: Option<&CardSide>| side.map_or("", |side| side.claim.statement.as_str()).to_owned();
        out.extend(norms::table(theme, evidence, [&text(card.a()), &text(card.b())], width));
    }
    if !card.view.advice.is_empty() {
        out.push(Line::default());
        out.extend(labelled(
            "Advice",
            text::wrap(&card.view.advice, width.saturating_sub(LABEL_WIDTH), theme.text),
            LABEL_WIDTH,
            theme.accent,
        ));
    }
    out.push(Line::default());
    let mut places = Vec::new();
    let acts = acts(paint, width, &mut places);
    let from = out.len();
    out.extend(acts);
    CardText { lines: out, acts: places.into_iter().map(|(line, x, cells, id)| (line + from, x, cells, id)).collect() }
}

/// Returns the heading. It does not name what differs, because the claims below show that.
fn heading(card: &Card) -> String {
    let percent = (card.probability() * 100.0).round().clamp(1.0, 99.0);
    let judged = card.evidence().map(|evidence| (evidence.rule, evidence.relation));
    match card.view.summary.kind {
        CardKind::Proposed => "An agent proposes to retract this claim".to_owned(),
        CardKind::Held if card.view.settled.is_some() => "The new claim waited for its writer's verdict".to_owned(),
        CardKind::Held => "The new claim waits for its writer's verdict".to_owned(),
        CardKind::Contested => "Two writers changed this claim concurrently".to_owned(),
        CardKind::Story => "It is unclear which claim is in force".to_owned(),
        CardKind::Refused if card.view.summary.accept.is_some() => {
            let by = card.a().and_then(|side| side.claim.agent.clone()).unwrap_or_else(|| "An agent".to_owned());
            let several = card.view.sides.len() > 2;
            match (card.view.summary.accept, several) {
                (Some(CardAct::Supersede), true) => format!("{by} proposes to replace these claims"),
                (Some(CardAct::Supersede), false) => format!("{by} proposes to replace this claim"),
                (_, true) => format!("{by} proposes an exception to these claims"),
                (_, false) => format!("{by} proposes an exception to this claim"),
            }
        }
        _ if card.is_replaced() => "The claim that contradicted the new claim was replaced".to_owned(),
        _ if judged == Some((RuleId::Judged, Relation::Contradiction)) => {
            "A judge says that these claims contradict each other".to_owned()
        }
        _ if judged.is_some_and(|(rule, _)| rule == RuleId::Judged) => {
            "A judge proposes to keep only one of these claims".to_owned()
        }
        _ if judged.is_some_and(|(rule, _)| rule == RuleId::Unanswered) => {
            "Not judged yet: these may contradict".to_owned()
        }
        _ if card.evidence().is_some_and(Evidence::is_by_rules) => {
            let certain = judged.is_some_and(|(_, relation)| relation == Relation::Contradiction);
            if certain { "These claims contradict each other" } else { "These claims may contradict" }.to_owned()
        }
        _ if percent < 50.0 => format!("These may contradict ({percent} %)"),
        _ => format!("These probably contradict ({percent} %)"),
    }
}

fn meta(paint: &Paint<'_>, card: &Card, width: usize) -> Vec<Line<'static>> {
    let (summary, dot) = (&card.view.summary, paint.theme.glyphs.dot);
    let by = writer(&summary.who, summary.agent.as_deref());
    let ago = times::ago(summary.at, paint.state.now);
    let what = match summary.kind {
        CardKind::Refused => match summary.accept {
            Some(CardAct::Supersede) => "a person decided what it is to replace, so a person must decide".to_owned(),
            Some(_) => "agents may only propose an exception, so a person must decide".to_owned(),
            None => "the new claim was refused".to_owned(),
        },
        CardKind::Held if card.view.settled.is_some() => "the new claim was not active until then".to_owned(),
        CardKind::Held => "the new claim is not active yet".to_owned(),
        CardKind::Contradiction | CardKind::Contested => active_sides(card),
        CardKind::Found => format!("{}, found later", active_sides(card)),
        CardKind::Proposed => "a person wrote it, so a person must decide".to_owned(),
        CardKind::Story => "read from the history of the scope".to_owned(),
    };
    let text = format!("{what} {dot} by {by} {dot} {ago}");
    let mut out = text::wrap(&text, width, paint.theme.dim);
    // The judge and its reason help a person to decide.
    if let Some(evidence) = card.evidence().filter(|evidence| evidence.rule == RuleId::Judged) {
        out.extend(text::wrap(&evidence.sentence, width, paint.theme.text));
    }
    out
}

/// Says which of the stored claims of a card are active.
fn active_sides(card: &Card) -> String {
    let sides = &card.view.sides;
    let active: Vec<usize> =
        (0..sides.len()).filter(|side| sides.get(*side).is_some_and(CardSide::takes_acts)).collect();
    match *active {
        [] => "none of the claims is active".to_owned(),
        [_] if sides.len() == 1 => "the claim is active".to_owned(),
        _ if active.len() == sides.len() => format!("{} are active", both_or_all(sides.len())),
        [only] => format!("only the {} claim is active", card.name(only)),
        _ => format!("{} of {} are active", active.len(), sides.len()),
    }
}

/// Returns the status of a settled or snoozed card, with an empty line below; nothing for an open one.
fn banner(paint: &Paint<'_>, card: &Card, width: usize) -> Vec<Line<'static>> {
    let (theme, view) = (paint.theme, &card.view);
    let zone = &paint.state.settings.zone;
    let text = match (&view.settled, view.summary.status) {
        (Some(settled), _) => {
            let by = writer(&settled.who, settled.agent.as_deref());
            let ago = times::ago(settled.at, paint.state.now);
            let meanwhile = if card.elsewhere { " meanwhile" } else { "" };
            let reason = settled.reason.as_deref().map_or_else(String::new, |reason| format!(" ({reason})"));
            let how = view.outcome().unwrap_or_default();
            let settled = || format!("Settled{meanwhile} by {by} {ago}: {how}{reason}");
            format!("{} {}", theme.glyphs.done, Card::moot(view).unwrap_or_else(settled))
        }
        (None, CardStatus::Settled) => format!("{} Settled: they no longer contradict", theme.glyphs.done),
        (None, CardStatus::Snoozed) => {
            let until = view.snoozed_until.map_or_else(|| "later".to_owned(), |at| times::minute(at, zone));
            format!("Snoozed until {until}")
        }
        (None, CardStatus::Open) => return Vec::new(),
    };
    let mut out = text::wrap(&text, width, theme.warn);
    out.push(Line::default());
    out
}

fn sides(paint: &Paint<'_>, card: &Card, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let evidence = card.evidence();
    let words = |mine: bool| evidence.map(|e| if mine { &e.words } else { &e.their_words }).map(Vec::as_slice);
    let highlighting = paint.state.conflicts.words;
    let nearly_all_differs = card.diff.is_apart();
    let runs = |runs: &[Run], mine| match highlighting {
        HighlightMode::Off => None,
        HighlightMode::Guard if nearly_all_differs => Some(guard_words(runs, words(mine).unwrap_or_default())),
        HighlightMode::Guard | HighlightMode::Differences => Some(runs.to_vec()),
    };
    let (Some(a), b) = (card.a(), card.b()) else { return Vec::new() };
    let wide = paint.size.0 >= SIDE_BY_SIDE_WIDTH && b.is_some();
    let (left, right) = if wide { ((width - 3) / 2, width - 3 - (width - 3) / 2) } else { (width, width) };
    let a = side(paint, a, (card, 0), runs(&card.diff.left, true).as_deref(), theme.side_a, left);
    let Some(b) = b else { return a };
    let b = side(paint, b, (card, card.other), runs(&card.diff.right, false).as_deref(), theme.side_b, right);
    let mut out = if wide {
        side_by_side(a, b, left, span(format!(" {} ", theme.glyphs.column), theme.border))
    } else {
        let mut both = a;
        both.push(Line::from(span(theme.glyphs.rule.repeat(width), theme.border)));
        both.extend(b);
        both
    };
    let what = match highlighting {
        HighlightMode::Guard => "",
        HighlightMode::Differences => "Every word that differs is highlighted. {highlight_words} highlights none.",
        HighlightMode::Off => "Nothing is highlighted. {highlight_words} highlights what differs.",
    };
    if !what.is_empty() {
        out.push(Line::default());
        out.extend(text::wrap(&paint.state.keys.say(what), width, theme.dim));
    }
    let others = card.view.sides.iter().enumerate().skip(1).filter(|(index, _)| *index != card.other);
    let hidden = others.filter(|(_, side)| side.takes_acts()).count();
    if hidden > 0 {
        let text = paint.state.keys.say("{compare_next} compares with the next one");
        let text = format!("{hidden} more existing claims contradict it: {text}");
        let text = if hidden == 1 { text.replace("claims contradict", "claim contradicts") } else { text };
        out.push(Line::default());
        out.extend(text::wrap(&text, width, theme.warn));
    }
    out
}

/// Splits a statement into words and marks as own those that decided for the guard.
fn guard_words(runs: &[Run], words: &[String]) -> Vec<Run> {
    let whole: String = runs.iter().map(|run| run.text.as_str()).collect();
    let wanted: Vec<String> = words.iter().flat_map(|word| word.split_whitespace()).map(str::to_lowercase).collect();
    let trim = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    whole
        .split_inclusive(' ')
        .map(|word| Run { text: word.to_owned(), own: !trim(word).is_empty() && wanted.contains(&trim(word)) })
        .collect()
}

/// Lays out one side. `highlight` is the style of the runs that are `own`. Without `runs` the statement is shown as it
/// was written, line by line.
fn side(
    paint: &Paint<'_>,
    side: &CardSide,
    (card, index): (&Card, usize),
    runs: Option<&[Run]>,
    highlight: ratatui::style::Style,
    width: usize,
) -> Vec<Line<'static>> {
    let (theme, claim) = (paint.theme, &side.claim);
    let dot = theme.glyphs.dot;
    let key = paint.state.keys.first(if index == 0 { Action::KeepNew } else { Action::KeepExisting });
    let single = card.view.sides.len() == 1 || key.is_empty();
    let badge = if single { String::new() } else { format!(" {key} ") };
    let mut name = card.name(index);
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let what = if side.new_claim && !side.now.is_empty() {
        format!("{}, stored since", claim.kind)
    } else if side.new_claim {
        format!("{}, not stored", claim.kind)
    } else {
        format!("{} {} {dot} {}", claim.kind, claim.id.short(), super::claim::status(claim))
    };
    let space = if single { "" } else { " " };
    let mut head = vec![span(badge, theme.badge), Span::raw(space), span(name, theme.title)];
    let joined = span(format!(" {dot} {what}"), theme.dim);
    let used: usize = head.iter().chain([&joined]).map(|span| text::width(&span.content)).sum();
    let mut below = Vec::new();
    if used <= width {
        head.push(joined);
    } else {
        // What does not fit beside the name has lines of its own: the status must not be cut off.
        below = text::wrap(&what, width, theme.dim);
    }
    let mut out = vec![Line::from(head)];
    out.extend(below);
    if claim.flags.redacted {
        out.push(Line::from(span("(its text was redacted)", theme.dim)));
    } else if let Some(runs) = runs {
        let runs: Vec<_> =
            runs.iter().map(|run| (run.text.clone(), if run.own { highlight } else { theme.title })).collect();
        out.extend(text::wrap_runs(&runs, width));
    } else {
        out.extend(text::wrap(&claim.statement, width, theme.title));
    }
    let body = width.saturating_sub(LABEL_WIDTH);
    let mut field = |label: &str, value: &str| {
        out.extend(labelled(label, text::wrap(value, body, theme.text), LABEL_WIDTH, theme.dim));
    };
    if claim.reason.is_some() || claim.kind.is_guarded() {
        field("because", claim.reason.as_deref().unwrap_or(claim.flags.missing_reason()));
    }
    if let Some(source) = &claim.source {
        field("source", source);
    }
    if claim.scope != card.view.summary.scope {
        field("scope", &claim.scope.to_string());
    }
    let ago = times::ago(claim.at, paint.state.now);
    field("by", &format!("{}, {ago}", written_by(claim)));
    if let Some(text) = claim.qualifiers.holds() {
        field("holds", &text);
    }
    for now in &side.now {
        let limits = now.limits().map_or_else(String::new, |limits| format!(", {limits}"));
        let stored = card.view.is_stored_as(side, now);
        let (label, since) = if stored { ("stored as", "") } else { ("replaced", "since by ") };
        field(label, &format!("{since}{}: “{}”{limits}", now.id.short(), now.statement));
    }
    if claim.dependents > 0 {
        let count = if claim.dependents == 1 { "1 claim".to_owned() } else { format!("{} claims", claim.dependents) };
        let named: Vec<String> =
            side.bears.iter().map(|bearing| format!("“{}”", text::fit(&bearing.statement, 60))).collect();
        let more = if named.len() < claim.dependents && !named.is_empty() { ", …" } else { "" };
        let named = if named.is_empty() { String::new() } else { format!(": {}{more}", named.join(", ")) };
        field("dependents", &format!("{count}{named}"));
    }
    out
}

/// Names who wrote a claim, and the device if a team names it.
pub(super) fn written_by(claim: &ClaimView) -> String {
    let who = claim.writer();
    match claim.device_words() {
        Some(device) => format!("{who}, on {device}"),
        None => who,
    }
}

/// Lists the possible actions with their keys, in two columns if there is room, and adds their positions to `places`.
/// The palette says why other actions are impossible.
fn acts(paint: &Paint<'_>, width: usize, places: &mut Vec<(usize, usize, usize, Action)>) -> Vec<Line<'static>> {
    let (theme, state) = (paint.theme, paint.state);
    let navigation = [Action::NextCard, Action::PrevCard];
    let held = state.selected_card().is_some_and(|card| card.view.summary.kind == CardKind::Held);
    let judge = held.then(|| Action::Judge.spec());
    let possible: Vec<&action::ActionSpec> = judge
        .into_iter()
        .chain(action::in_chain(&[KeyScope::Card]))
        .filter(|spec| !navigation.contains(&spec.id) && state.check(spec).is_ok())
        .collect();
    let columns = if width >= 60 { 2 } else { 1 };
    let cell = (width / columns).saturating_sub(1);
    let entry = |spec: &action::ActionSpec| {
        let title = text::pad(spec.title, cell.saturating_sub(4));
        [span(text::pad(&state.keys.first(spec.id), 3), theme.key), span(title, theme.text), Span::raw(" ")]
    };
    let height = possible.len().div_ceil(columns);
    let mut out: Vec<Line<'static>> = vec![Line::from(span("What you can do", theme.accent))];
    for row in 0..height {
        let mut spans: Vec<Span<'static>> = Vec::new();
        for (column, spec) in
            (0..columns).filter_map(|column| possible.get(column * height + row).map(|spec| (column, spec)))
        {
            places.push((out.len(), column * cell, 3 + text::width(spec.title), spec.id));
            spans.extend(entry(spec));
        }
        out.push(Line::from(spans));
    }
    out
}
