//! The guard's evidence on a card: what it concluded, by which rule and on what basis, and the words.

use ratatui::text::Line;

use super::paint::{Paint, labelled};
use crate::{
    domain::guard_report::{Evidence, Stage},
    tui::{state::conflicts::Card, text},
};

const LABEL_WIDTH: usize = 11;

/// Lays out the evidence about the two sides shown.
pub(super) fn lines(paint: &Paint<'_>, card: &Card, evidence: &Evidence, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let dot = theme.glyphs.dot;
    let body = width.saturating_sub(LABEL_WIDTH);
    let rule = evidence.rule.as_str().replace('_', " ");
    let sentence = if evidence.sentence.is_empty() { &card.view.summary.headline } else { &evidence.sentence };
    let mut out = labelled("Guard", text::wrap(sentence, body, theme.text), LABEL_WIDTH, theme.accent);
    let basis = evidence.basis().unwrap_or_else(|| stage(evidence.stage).to_owned());
    let found = format!("{rule} {dot} {basis}");
    let mut more = |label: &str, text: &str| {
        out.extend(labelled(label, text::wrap(text, body, theme.dim), LABEL_WIDTH, theme.dim));
    };
    more("rule", &found);
    if !evidence.words.is_empty() || !evidence.their_words.is_empty() {
        more(
            "words",
            &format!("new says {}, existing says {}", quoted(&evidence.words), quoted(&evidence.their_words)),
        );
    }
    out
}

fn quoted(words: &[String]) -> String {
    if words.is_empty() {
        return "nothing".to_owned();
    }
    words.iter().map(|word| format!("“{word}”")).collect::<Vec<_>>().join(" ")
}

/// Names what found the contradiction.
fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Normalise | Stage::Structural => "by rules",
        Stage::Nli => "by the cross-encoder",
        Stage::Judge => "by the combined score",
    }
}
