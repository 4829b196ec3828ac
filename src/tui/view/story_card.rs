//! A story card: its question, the claims with their turns, and what each answer does.

use ratatui::text::Line;

use super::{
    claim,
    paint::{Paint, labelled},
    story::{happened, rail, title},
};
use crate::{
    api::{ClaimView, StoryQuestion},
    domain::{Status, guard_report::RuleId},
    tui::{
        action::Action,
        state::{conflicts::Card, story::turns},
        text, times,
    },
};

const LABEL_WIDTH: usize = 11;

/// Lays out the card. Also returns the number of each line of an answer, with its action.
pub(super) fn lines(
    paint: &Paint<'_>,
    card: &Card,
    question: &StoryQuestion,
    width: usize,
) -> (Vec<Line<'static>>, Vec<(usize, Action)>) {
    let (theme, state) = (paint.theme, paint.state);
    let dot = theme.glyphs.dot;
    let mut out = text::wrap(&question.question, width, theme.title);
    out.extend(text::wrap(title(question.confusion), width, theme.warn));
    // A language model explains its question; the rules name only the kind of confusion.
    let asked = card.view.evidence.iter().filter(|evidence| evidence.rule == RuleId::Judged);
    asked.for_each(|evidence| out.extend(text::wrap(&evidence.sentence, width, theme.dim)));
    out.push(Line::default());
    let find = |id| card.view.sides.iter().map(|side| &side.claim).find(|claim| claim.id == id);
    let claims: Vec<(char, Option<&ClaimView>)> = turns(question.confusion, question.claims.len())
        .into_iter()
        .zip(question.claims.iter().map(|id| find(*id)))
        .collect();
    out.extend(rail(paint, &claims, width));
    let mut places = Vec::new();
    out.push(Line::default());
    let answers = [(Action::AnswerYes, "Yes", &question.yes), (Action::AnswerNo, "No", &question.no)];
    for (action, word, effect) in answers {
        let can = state.check(action.spec());
        let key = state.keys.first(action);
        let head = format!("{key} {word}: ");
        let style = if can.is_ok() { theme.key } else { theme.dim };
        let from = out.len();
        let column = text::width(&head);
        out.extend(labelled(&head, text::wrap(effect, width.saturating_sub(column), theme.text), column, style));
        places.extend((from..out.len()).map(|line| (line, action)));
    }
    let others = [Action::AnswerNever, Action::AnswerLater, Action::AnswerWhy];
    let others: Vec<String> = others
        .iter()
        .filter(|action| state.check(action.spec()).is_ok())
        .map(|action| format!("{} {}", state.keys.first(*action), action.spec().title.to_lowercase()))
        .collect();
    if !others.is_empty() {
        out.extend(text::wrap(&others.join(&format!(" {dot} ")), width, theme.dim));
    }
    for (letter, claim) in claims {
        let Some(claim) = claim else { continue };
        out.push(Line::default());
        let style = if claim.status == Status::Active { theme.title } else { theme.text };
        let statement = if claim.flags.redacted { "(its text was redacted)" } else { claim.statement.as_str() };
        let body = width.saturating_sub(3);
        out.extend(labelled(&format!("{letter}  "), text::wrap(statement, body, style), 3, theme.accent));
        let day = times::day(happened(claim), &state.settings.zone);
        let by = claim.writer();
        let meta = format!("{day} {dot} {by} {dot} {} {dot} {}", claim::status(claim), claim.id.short());
        out.extend(labelled("   ", text::wrap(&meta, body, theme.dim), 3, theme.dim));
        if let Some(reason) = &claim.reason {
            let lines = text::wrap(reason, width.saturating_sub(3 + LABEL_WIDTH), theme.text);
            let lines = labelled("because", lines, LABEL_WIDTH, theme.dim);
            out.extend(labelled("   ", lines, 3, theme.dim));
        }
    }
    (out, places)
}
