//! The row `facts`: sets of statements in which later ones win. Each is written, and supersedes those that it conflicts
//! with. Questions are answered from the active statements.

use super::{data::FactSet, path::GuardPath, report::FactsRow};
use crate::measure::{Quantiles, millis};

/// The reason that every statement is written with.
const REASON: &str = "stated later in the same source";

/// Normalises an answer as usual in question answering: lower case, letters and digits only, without articles.
fn plain(text: &str) -> String {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !matches!(*word, "a" | "an" | "the"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes a fact set and asks its questions.
pub(super) fn measure(path: &mut dyn GuardPath, set: &FactSet) -> FactsRow {
    path.fresh();
    let (mut blocked, mut took) = (0, Vec::new());
    for fact in &set.facts {
        let (refused, time) = path.write_or_supersede(&fact.statement, REASON);
        blocked += usize::from(refused);
        took.push(millis(time));
    }
    let right = set
        .questions
        .iter()
        .filter(|question| {
            let answer = path.answer(&question.question).map(|text| plain(&text)).unwrap_or_default();
            question.gold_answers.iter().any(|gold| {
                let gold = plain(gold);
                !gold.is_empty() && answer.contains(&gold)
            })
        })
        .count();
    FactsRow {
        size: set.size.clone(),
        statements: set.facts.len(),
        questions: set.questions.len(),
        accuracy: right as f64 / set.questions.len().max(1) as f64,
        blocked,
        write_ms: Quantiles::of(took),
    }
}
