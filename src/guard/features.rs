//! The figures that the judge weighs about one pair. All lie near 0 to 1, so that weights can be read side by side.

use std::collections::BTreeMap;

use super::{
    align::{self, weight},
    judge::{ParsedClaim, Ruling},
    nli::PairScores,
    normalise::{
        Parsed,
        item::{Item, ItemKind},
    },
};
use crate::domain::{
    norm::Modality,
    verdict::{Confidence, Relation, RuleId, Stage},
};

/// The names of the figures, in their order.
pub const NAMES: [&str; 30] = [
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
    "strangers",
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

/// The figures that are weighed where no model was heard: what the rules find, and nothing that only suggests it.
pub const FOUND: [&str; 3] = ["structural_contradiction", "aligned", "found"];

/// The figures of one pair, by [`NAMES`].
pub type Figures = [f32; NAMES.len()];

/// One log-odds unit of a model becomes this much: ±5 is as sure as it gets.
const LOGIT: f32 = 0.2;

/// The share of the shorter statement's words from which two speak of one matter.
const SAME_MATTER: f32 = 0.2;

/// The strength from which the rules find something opposed at all.
const SOMETHING: f32 = 0.01;

fn squash(margin: f32) -> f32 {
    (margin * LOGIT).clamp(-1.5, 1.5)
}

fn flag(is: bool) -> f32 {
    f32::from(u8::from(is))
}

/// The share of content that two statements have in common: of everything, and of the shorter one.
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

fn negative(parsed: &Parsed) -> bool {
    parsed.clauses.iter().any(|clause| clause.negative)
}

/// Whether both name amounts, and no amount is the same.
fn other_numbers(ours: &Parsed, theirs: &Parsed) -> bool {
    let of = |parsed: &Parsed| -> Vec<(String, &'static str)> {
        let names = |at: usize| {
            align::names_something(&parsed.items, at)
                || parsed.clauses.iter().any(|clause| align::names_in(&parsed.items, clause, at))
        };
        parsed
            .items
            .iter()
            .enumerate()
            .filter(|(at, _)| !names(*at))
            .filter_map(|(_, item)| item.quantity.as_ref())
            .map(|q| (q.value.clone(), q.base))
            .collect()
    };
    let (a, b) = (of(ours), of(theirs));
    !a.is_empty() && !b.is_empty() && a.iter().any(|x| b.iter().any(|y| x.1 == y.1)) && !a.iter().any(|x| b.contains(x))
}

/// How many things each of two statements names that the other does not, the smaller number: two files, two tools, two modules.
fn strangers(ours: &Parsed, theirs: &Parsed) -> f32 {
    let named = |item: &&Item| {
        item.kind == ItemKind::Content
            && item.alternative.is_none()
            && (item.code || item.capital && item.start > 0 && item.weight >= 0.9)
    };
    let only =
        |a: &Parsed, b: &Parsed| a.items.iter().filter(named).filter(|x| !b.items.iter().any(|y| x.id == y.id)).count();
    (only(ours, theirs).min(only(theirs, ours)) as f32 / 2.0).min(1.5)
}

/// The figures of a pair: what the rules found, what the words share, and what models say.
pub(crate) fn figures(ruling: &Ruling, ours: &ParsedClaim, theirs: &ParsedClaim, said: &PairScores) -> Figures {
    let (a, b) = (&ours.parsed, &theirs.parsed);
    let (overlap, containment) = shared(a, b);
    let evidence = &ruling.evidence;
    let structural = evidence.stage == Stage::Structural;
    let rule = evidence.rule;
    // Of norms that contradict each other every machine must get the same figures: those of the norms alone.
    let structural = structural || ruling.decided;
    let aligned = if structural || rule == RuleId::ChangeInWords { 0.0 } else { ruling.strength };
    let of = |id: RuleId| if !structural && rule == id { aligned.max(0.1) } else { 0.0 };
    let subject =
        ours.norms.iter().any(|x| !x.subject.is_empty() && theirs.norms.iter().any(|y| x.subject == y.subject));
    let conditional = |p: &Parsed| p.clauses.iter().any(|c| c.conditional || !c.exceptions.is_empty());
    let permits = |p: &Parsed| p.clauses.iter().any(|c| matches!(c.modality, Modality::May | Modality::MayNot));
    let polarity = flag(negative(a) != negative(b));
    let words = (a.items.len() + b.items.len()) as f32;
    let cosine = said.cosine.unwrap_or(overlap.sqrt());
    let (mean, low, entailment) = said.inference.map_or((0.0, 0.0, 0.0), |inference| {
        let least = |[forward, backward]: [f32; 2]| squash(forward.min(backward));
        (squash(inference.mean()), least(inference.contradiction()), least(inference.entailment()))
    });
    let up = mean.max(0.0);
    // How much less the shorter statement shares than what two of one matter do.
    let far = (1.0 - containment / SAME_MATTER).max(0.0);
    [
        flag(ruling.decided),
        flag(structural && evidence.relation == Relation::Consistent && evidence.confidence == Confidence::High),
        flag(subject),
        flag(a.place.is_one_sided(&b.place) || a.window.is_open() != b.window.is_open()),
        of(RuleId::OpposingModality),
        of(RuleId::OpposedWords),
        of(RuleId::ExclusiveAlternative),
        of(RuleId::ValueConflict),
        of(RuleId::SwappedChoice),
        of(RuleId::ChangeInWords),
        aligned,
        polarity,
        flag(other_numbers(a, b)),
        overlap,
        containment,
        strangers(a, b),
        flag(conditional(a) != conditional(b)),
        flag(permits(a) != permits(b)),
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
        flag(ruling.decided || aligned >= SOMETHING),
    ]
}
