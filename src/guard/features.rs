//! The features of one pair for the judge's regression. All are about 0 to 1, so that their weights are comparable.

use std::collections::BTreeMap;

use super::{
    align::{self, weight},
    judge::{ParsedClaim, Ruling},
    nli::PairScores,
    normalise::{
        Parsed,
        lexical_item::{Item, ItemKind},
    },
};
use crate::domain::{
    guard_report::{Confidence, Relation, RuleId, Stage},
    norm::Modality,
};

/// The names of the features, in order.
pub const FEATURE_NAMES: [&str; 30] = [
    "structural_contradiction",
    "structural_same",
    "same_subject",
    "narrower_place",
    "opposing_modality",
    "opposed_words",
    "exclusive_alternative",
    "value_conflict",
    "swapped_choice",
    "change_in_words",
    "aligned",
    "polarity",
    "numbers",
    "overlap",
    "containment",
    "different_names",
    "condition",
    "permission",
    "length",
    "cosine",
    "margin",
    "margin_low",
    "entailment",
    "margin_overlap",
    "margin_cosine",
    "margin_aligned",
    "margin_polarity",
    "far",
    "margin_far",
    "found",
];

/// The features that are used without a cross-encoder: the findings of the rules.
pub const RULE_FEATURES: [&str; 3] = ["structural_contradiction", "aligned", "found"];

/// The features of one pair, by [`FEATURE_NAMES`].
pub type Features = [f32; FEATURE_NAMES.len()];

/// The factor by which a model's log-odds, usually within ±5, become a feature.
const LOGIT_SCALE: f32 = 0.2;

/// The minimum share of the shorter statement's words that two statements on one topic have in common.
const MIN_TOPIC_OVERLAP: f32 = 0.2;

/// The minimum strength that counts as a finding of the rules.
const MIN_STRENGTH: f32 = 0.01;

/// Scales log-odds to a feature.
pub(super) fn squash(margin: f32) -> f32 {
    (margin * LOGIT_SCALE).clamp(-1.5, 1.5)
}

/// Returns the weight of the shared words, as a share of both statements and as a share of the shorter one.
pub(crate) fn shared(ours: &Parsed, theirs: &Parsed) -> (f32, f32) {
    let of = |parsed: &Parsed| -> BTreeMap<u64, f32> {
        parsed.items.iter().filter(|i| i.is_content()).map(|i| (i.id, weight(i))).collect()
    };
    let (a, b) = (of(ours), of(theirs));
    let sum = |of: &BTreeMap<u64, f32>| of.values().sum::<f32>();
    let both: f32 = a.iter().filter(|(id, _)| b.contains_key(id)).map(|(_, w)| w).sum();
    let (a, b) = (sum(&a), sum(&b));
    (both / (a + b - both).max(0.01), both / a.min(b).max(0.01))
}

/// Returns whether a clause of the statement forbids or denies something.
pub(super) fn negative(parsed: &Parsed) -> bool {
    parsed.clauses.iter().any(|clause| clause.negative)
}

/// Returns whether both contain amounts, but none in common.
fn numbers_differ(ours: &Parsed, theirs: &Parsed) -> bool {
    let of = |parsed: &Parsed| -> Vec<(String, &'static str)> {
        let names = |at: usize| {
            align::names_something(&parsed.items, at)
                || parsed.clauses.iter().any(|clause| align::names_in(&parsed.items, clause, at))
        };
        parsed
            .items
            .iter()
            .enumerate()
            .filter_map(|(at, item)| item.quantity.as_ref().filter(|_| !names(at)))
            .map(|q| (q.value.clone(), q.base))
            .collect()
    };
    let (a, b) = (of(ours), of(theirs));
    !a.is_empty() && !b.is_empty() && a.iter().any(|x| b.iter().any(|y| x.1 == y.1)) && !a.iter().any(|x| b.contains(x))
}

/// Counts the named things (files, tools, modules) that only one statement contains, and returns the smaller count of the two.
fn different_names(ours: &Parsed, theirs: &Parsed) -> f32 {
    let named = |item: &&Item| {
        item.kind == ItemKind::Content
            && item.alternative.is_none()
            && (item.code || item.capital && item.start > 0 && item.weight >= 0.9)
    };
    let only =
        |a: &Parsed, b: &Parsed| a.items.iter().filter(named).filter(|x| !b.items.iter().any(|y| x.id == y.id)).count();
    (only(ours, theirs).min(only(theirs, ours)) as f32 / 2.0).min(1.5)
}

/// Returns whether the norms decide. If they contradict each other, every device must get the same features, those of the norms alone.
fn is_structural(ruling: &Ruling) -> bool {
    ruling.evidence.stage == Stage::Structural || ruling.norms_contradict
}

/// Returns the strength of the opposition between words, if the norms do not decide.
fn aligned(ruling: &Ruling) -> f32 {
    if is_structural(ruling) || ruling.evidence.rule == RuleId::ChangeInWords { 0.0 } else { ruling.strength }
}

/// Returns whether the rules found something, as a feature.
fn found(ruling: &Ruling) -> f32 {
    f32::from(ruling.norms_contradict || aligned(ruling) >= MIN_STRENGTH)
}

/// Returns the features of a pair that are used without a cross-encoder ([`RULE_FEATURES`]). The others are 0, because comparing all words
/// of two claims takes most of the time.
pub(crate) fn by_rules(ruling: &Ruling) -> Features {
    FEATURE_NAMES.map(|name| match name {
        "structural_contradiction" => f32::from(ruling.norms_contradict),
        "aligned" => aligned(ruling),
        "found" => found(ruling),
        _ => 0.0,
    })
}

/// Returns the features of a pair: the findings of the rules, the shared words, and the scores of models.
pub(crate) fn extract(ruling: &Ruling, ours: &ParsedClaim, theirs: &ParsedClaim, scores: &PairScores) -> Features {
    let (a, b) = (&ours.parsed, &theirs.parsed);
    let (overlap, containment) = shared(a, b);
    let evidence = &ruling.evidence;
    let rule = evidence.rule;
    let structural = is_structural(ruling);
    let aligned = aligned(ruling);
    let of = |id: RuleId| if !structural && rule == id { aligned.max(0.1) } else { 0.0 };
    let subject =
        ours.norms().iter().any(|x| !x.subject.is_empty() && theirs.norms().iter().any(|y| x.subject == y.subject));
    let conditional = |p: &Parsed| p.clauses.iter().any(|c| c.conditional || !c.exceptions.is_empty());
    let permits = |p: &Parsed| p.clauses.iter().any(|c| matches!(c.modality, Modality::May | Modality::MayNot));
    let polarity = f32::from(negative(a) != negative(b));
    let words = (a.items.len() + b.items.len()) as f32;
    let cosine = scores.cosine.unwrap_or(overlap.sqrt());
    let (mean, low, entailment) = scores.inference.map_or((0.0, 0.0, 0.0), |inference| {
        let least = |[forward, backward]: [f32; 2]| squash(forward.min(backward));
        (squash(inference.mean()), least(inference.contradiction()), least(inference.entailment()))
    });
    let up = mean.max(0.0);
    // The distance of the two from sharing a topic.
    let far = (1.0 - containment / MIN_TOPIC_OVERLAP).max(0.0);
    [
        f32::from(ruling.norms_contradict),
        f32::from(structural && evidence.relation == Relation::Consistent && evidence.confidence == Confidence::High),
        f32::from(subject),
        f32::from(a.stated_scope.is_one_sided(&b.stated_scope) || a.window.is_open() != b.window.is_open()),
        of(RuleId::OpposingModality),
        of(RuleId::OpposedWords),
        of(RuleId::ExclusiveAlternative),
        of(RuleId::ValueConflict),
        of(RuleId::SwappedChoice),
        of(RuleId::ChangeInWords),
        aligned,
        polarity,
        f32::from(numbers_differ(a, b)),
        overlap,
        containment,
        different_names(a, b),
        f32::from(conditional(a) != conditional(b)),
        f32::from(permits(a) != permits(b)),
        (words.max(1.0).ln() / 5.0).min(1.5),
        cosine,
        mean,
        low,
        entailment,
        up * overlap,
        up * cosine,
        up * aligned,
        up * polarity,
        far,
        up * far,
        found(ruling),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Guard, NormedClaim};

    #[test]
    fn what_is_weighed_without_a_cross_encoder_is_the_same_as_among_all_features() {
        let guard = Guard::default();
        let parsed = |statement: &str| {
            let norms = guard.normalise(statement, &crate::domain::claim::Qualifiers::default()).norms;
            ParsedClaim::new(NormedClaim { statement: statement.to_owned(), norms, ..NormedClaim::default() })
        };
        let mut found = Vec::new();
        for (ours, theirs) in [
            ("Tokens must expire after 5 minutes.", "Tokens must expire after 9 minutes."),
            ("Never log tokens.", "Please do write the tokens into the log."),
            ("We are switching away from Redis.", "Sessions are kept in Redis."),
            ("Invoices are blue.", "Tokens must expire after 9 minutes."),
        ] {
            let (ours, theirs) = (parsed(ours), parsed(theirs));
            let ruling = guard.compare(&ours, &theirs, &PairScores::default());
            let (all, few) = (extract(&ruling, &ours, &theirs, &PairScores::default()), by_rules(&ruling));
            for (at, name) in FEATURE_NAMES.iter().enumerate() {
                let expected = if RULE_FEATURES.contains(name) { all[at] } else { 0.0 };
                assert_eq!(few[at].to_bits(), expected.to_bits(), "{name}");
            }
            found.push(few.iter().sum::<f32>() > 0.0);
        }
        assert!(found.contains(&true) && found.contains(&false), "{found:?}");
    }
}
