//! The guard's evidence on a card: what it concluded and by which rule, the words, what inference said in each order, the figures.

use ratatui::text::Line;

use super::paint::{Paint, labelled};
use crate::{
    domain::verdict::{Confidence, Evidence, Relation, Stage},
    tui::{state::conflicts::Card, text},
};

/// Columns of the labels.
const LABEL: usize = 9;

/// The evidence about the two sides shown, at this width.
pub(super) fn lines(paint: &Paint<'_>, card: &Card, evidence: &Evidence, width: usize) -> Vec<Line<'static>> {
    let theme = paint.theme;
    let dot = theme.glyphs.dot;
    let body = width.saturating_sub(LABEL);
    let rule = evidence.rule.replace('_', " ");
    let sentence = if evidence.sentence.is_empty() { &card.view.summary.headline } else { &evidence.sentence };
    let mut out = labelled("Guard", text::wrap(sentence, body, theme.text), LABEL, theme.accent);
    let found = format!(
        "{rule} {dot} {} {dot} {} {dot} {} confidence",
        relation(evidence.relation),
        stage(evidence.stage),
        sure(evidence.confidence),
    );
    let mut more =
        |label: &str, text: &str| out.extend(labelled(label, text::wrap(text, body, theme.dim), LABEL, theme.dim));
    more("rule", &found);
    if !evidence.words.is_empty() || !evidence.their_words.is_empty() {
        more(
            "words",
            &format!("new says {}, existing says {}", quoted(&evidence.words), quoted(&evidence.their_words)),
        );
    }
    for (label, text) in inferred(evidence) {
        more(label, &text);
    }
    let figures = figures(evidence);
    if !figures.is_empty() {
        more("figures", &figures.join(&format!(" {dot} ")));
    }
    out
}

fn quoted(words: &[String]) -> String {
    if words.is_empty() {
        return "nothing".to_owned();
    }
    words.iter().map(|word| format!("“{word}”")).collect::<Vec<_>>().join(" ")
}

/// What inference said, in each order: how likely the second statement contradicts the first, and how likely it follows from it.
fn inferred(evidence: &Evidence) -> Vec<(&'static str, String)> {
    let Some(both) = evidence.inferred() else { return Vec::new() };
    let said = both.into_iter().zip([("inferred", "new, then existing"), ("", "existing, then new")]);
    said.map(|(one, (label, order))| {
        let (contradicts, follows) = (one.contradicts * 100.0, one.follows * 100.0);
        (label, format!("{order}: contradicts {contradicts:.0} %, follows {follows:.0} %"))
    })
    .collect()
}

/// The other figures that a person can weigh, in words.
fn figures(evidence: &Evidence) -> Vec<String> {
    let get = |name: &str| evidence.features.get(name).copied();
    let mut out = Vec::new();
    match (get("probability"), get("limit")) {
        (Some(probability), Some(limit)) => {
            out.push(format!("{:.0} % likely, refused from {:.0} %", probability * 100.0, limit * 100.0));
        }
        (Some(probability), None) => out.push(format!("{:.0} % likely", probability * 100.0)),
        _ => {}
    }
    for (name, words) in [("deep", "language model"), ("cosine", "nearness of meaning"), ("overlap", "words in common")]
    {
        if let Some(figure) = get(name) {
            out.push(format!("{words} {figure:.2}"));
        }
    }
    out
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Normalise => "read into fields",
        Stage::Structural => "compared field by field",
        Stage::Nli => "found by a language model",
        Stage::Judge => "weighed by the judge",
    }
}

fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::Contradiction => "contradiction",
        Relation::Consistent => "consistent",
        Relation::Coexist => "coexist",
        Relation::Uncertain => "uncertain",
        Relation::Incomparable => "incomparable",
        Relation::Unknown => "unknown",
    }
}

fn sure(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Low => "low",
        Confidence::Med => "medium",
        Confidence::High => "high",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inference_is_said_in_both_orders_and_only_where_it_was_asked() {
        let mut evidence = Evidence::default();
        assert!(inferred(&evidence).is_empty());
        for (name, figure) in [
            ("contradiction_forward", 3.0),
            ("contradiction_backward", 0.0),
            ("entailment_forward", -20.0),
            ("entailment_backward", -3.0),
        ] {
            evidence.features.insert(name.into(), figure);
        }
        let said: Vec<String> = inferred(&evidence).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            said,
            ["new, then existing: contradicts 50 %, follows 5 %", "existing, then new: contradicts 95 %, follows 0 %"]
        );
    }
}
