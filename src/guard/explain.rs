//! Explains a contradiction to people, in one sentence.

use std::borrow::Cow;

use super::{
    align::Opposition,
    lexicon::lexicon,
    normalise::{Parsed, cue::Cue},
    structural::Comparison,
};
use crate::domain::{
    guard_report::RuleId,
    norm::{Modality, Norm},
};

/// The maximum length of a quotation in a sentence, in characters.
const MAX_QUOTE: usize = 90;

/// Returns the words of some items, joined if they are next to each other in the statement.
pub(crate) fn words(parsed: &Parsed, at: &[usize]) -> Vec<String> {
    let mut at: Vec<usize> = at.iter().copied().filter(|i| *i < parsed.items.len()).collect();
    at.sort_unstable_by_key(|i| parsed.items[*i].start);
    at.dedup();
    let mut out: Vec<(usize, usize)> = Vec::new();
    for i in at {
        let item = &parsed.items[i];
        match out.last_mut() {
            // A short word or a punctuation mark between two words belongs to the quotation.
            Some((_, end)) if item.start <= *end + 8 => *end = item.end.max(*end),
            _ => out.push((item.start, item.end)),
        }
    }
    out.iter().filter_map(|(from, to)| parsed.text.get(*from..*to)).map(str::to_owned).collect()
}

fn quote(words: &[String]) -> String {
    let text = words.iter().map(|words| closed(words)).collect::<Vec<_>>().join(" … ");
    if text.chars().count() <= MAX_QUOTE {
        return format!("“{text}”");
    }
    let cut: String = text.chars().take(MAX_QUOTE).collect();
    format!("“{}…”", cut.trim_end())
}

/// Adds the missing backtick of a code span that begins or ends outside the words.
fn closed(words: &str) -> Cow<'_, str> {
    if words.matches('`').count().is_multiple_of(2) {
        return words.into();
    }
    match words.rsplit_once('`') {
        Some((_, after)) if after.is_empty() || after.starts_with(' ') => format!("`{words}").into(),
        _ => format!("{words}`").into(),
    }
}

/// Explains why two aligned clauses contradict each other.
pub(crate) fn aligned(found: &Opposition, ours: &[String], theirs: &[String], our_parsed: &Parsed) -> String {
    let (ours, theirs) = (quote(ours), quote(theirs));
    match found.rule {
        // A rejection is quoted without "not".
        RuleId::OpposingModality if ours == theirs => format!("One forbids what the other requires or allows: {ours}."),
        RuleId::OpposingModality => format!("One forbids what the other requires or allows: {ours} against {theirs}."),
        RuleId::ExclusiveAlternative => {
            let set = found.ours.first().and_then(|at| our_parsed.items.get(*at)?.alternative);
            let set = set.map_or("option", |(set, _)| lexicon().set_name(set));
            format!("Only one {set} can be chosen: {ours} against {theirs}.")
        }
        RuleId::ValueConflict => format!("They set the same thing to different values: {ours} against {theirs}."),
        _ => format!("They ask for opposite things: {ours} against {theirs}."),
    }
}

/// Returns the words of each statement that the other one lacks.
pub(crate) fn differing_words(ours: &Parsed, theirs: &Parsed) -> (Vec<String>, Vec<String>) {
    let only = |a: &Parsed, b: &Parsed| {
        let at: Vec<usize> = (0..a.items.len())
            .filter(|&i| {
                let item = &a.items[i];
                let stance = item.cue().is_some_and(Cue::is_stance);
                (item.is_content() || stance)
                    && !b.items.iter().any(|other| {
                        if stance {
                            other.lower == item.lower
                        } else {
                            other.id == item.id && other.opposite == item.opposite
                        }
                    })
            })
            .take(8)
            .collect();
        words(a, &at)
    };
    (only(ours, theirs), only(theirs, ours))
}

/// Explains what a correction means for the claim that it corrects.
pub(crate) fn correction(ours: &[String], theirs: &[String]) -> String {
    if theirs.is_empty() {
        return format!(
            "{} corrects an earlier statement: if the new claim replaces this one, supersede this one.",
            quote(ours)
        );
    }
    format!(
        "{} drops what this claim relies on ({}): if the new claim replaces this one, supersede this one.",
        quote(ours),
        quote(theirs)
    )
}

/// Explains a result of language inference, with its probability.
pub(crate) fn inferred(ours: &[String], theirs: &[String], probability: Option<f32>) -> String {
    let share =
        probability.map_or_else(String::new, |probability| format!(" ({:.0} %)", (probability * 100.0).min(99.0)));
    let likely = if probability.is_some_and(|probability| probability < 0.5) { "may" } else { "probably" };
    let finding = format!("These {likely} contradict{share}");
    if ours.is_empty() || theirs.is_empty() {
        return format!("{finding}.");
    }
    format!("{finding}: {} against {}.", quote(ours), quote(theirs))
}

fn stance(modality: Modality) -> &'static str {
    match modality {
        Modality::Must => "required",
        Modality::Should => "preferred",
        Modality::May => "allowed",
        Modality::MustNot => "forbidden",
        Modality::ShouldNot => "discouraged",
        Modality::MayNot => "not required",
    }
}

/// Explains the result of comparing two norms.
pub(crate) fn structural(comparison: Comparison, ours: &Norm, theirs: &Norm) -> String {
    let subject = ours.words.first().map_or("the subject", String::as_str);
    match comparison.rule {
        RuleId::OpposingModality => {
            format!(
                "“{subject}” is {} in one claim and {} in the other.",
                stance(ours.modality),
                stance(theirs.modality)
            )
        }
        RuleId::OpposingObject => format!(
            "“{subject}” cannot be both {} and {}.",
            ours.object.as_deref().unwrap_or_default(),
            theirs.object.as_deref().unwrap_or_default()
        ),
        RuleId::ValueConflict | RuleId::DisjointLimits => {
            format!(
                "About “{subject}”, one says {} and the other says {}: they cannot both hold.",
                ours.written_value().unwrap_or_default(),
                theirs.written_value().unwrap_or_default()
            )
        }
        RuleId::DisjointScope => "They hold in different places.".into(),
        RuleId::DisjointTime => "They hold at different times.".into(),
        RuleId::MissingSubject => "One of them asserts nothing: it is a question or a hypothetical.".into(),
        RuleId::FuzzySubject => "One of them could not be parsed into a definite norm.".into(),
        RuleId::SameNorm => "They say the same.".into(),
        RuleId::OtherSubject | RuleId::OtherAspect | RuleId::OtherObject => "They are about different things.".into(),
        _ => "They are about the same thing, and no rule decides between them.".into(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::{domain::Qualifiers, guard::Guard};

    #[rstest]
    #[case("Never log with `println", "“Never log with `println`”")]
    #[case("println` is for tests", "“`println` is for tests”")]
    #[case("log with `tracing`", "“log with `tracing`”")]
    fn a_span_of_code_is_quoted_with_both_backticks(#[case] words: &str, #[case] quoted: &str) {
        assert_eq!(super::quote(&[words.to_owned()]), quoted);
    }

    #[rstest]
    #[case("A session lasts 8 hours.", "8 hours")]
    #[case("The session timeout is 90 min", "90 min")]
    #[case("Uploads have at most 2 GiB.", "at most 2 GiB")]
    #[case("Passwords have at least twelve characters.", "at least twelve characters")]
    #[case("The database of the archive is PostgreSQL", "PostgreSQL")]
    fn a_value_is_shown_as_it_was_written(#[case] statement: &str, #[case] shown: &str) {
        let norms = Guard::default().normalise(statement, &Qualifiers::default()).norms;
        assert_eq!(norms[0].written_value().as_deref(), Some(shown), "{norms:?}");
    }
}
