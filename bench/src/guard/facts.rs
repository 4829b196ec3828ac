//! Fact sets in which later statements win: write, supersede on a conflict, answer from what is active.

use super::{
    data::FactSet,
    path::GuardPath,
    report::{Facts, Millis},
};

/// The reason that every statement is written with.
const REASON: &str = "stated later in the same source";

/// Lower case, letters and digits only, without articles: the usual normalisation of question answering.
fn plain(text: &str) -> String {
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !matches!(*word, "a" | "an" | "the"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes a fact set and asks its questions.
pub(super) fn measure(path: &mut dyn GuardPath, set: &FactSet) -> Facts {
    path.fresh();
    let (mut blocked, mut took) = (0, Vec::new());
    for fact in &set.facts {
        let (refused, time) = path.write_or_supersede(&fact.statement, REASON);
        blocked += usize::from(refused);
        took.push(time.as_secs_f64() * 1000.0);
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
    Facts {
        size: set.size.clone(),
        statements: set.facts.len(),
        questions: set.questions.len(),
        accuracy: right as f64 / set.questions.len().max(1) as f64,
        blocked,
        write_ms: Millis::of(took),
    }
}
