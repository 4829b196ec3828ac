//! Decides whether two claims with different words say the same, and in which way two claims exclude each other.

use std::collections::BTreeSet;

use super::stated_part::one_sided_part;
use crate::domain::{
    ConflictKind,
    guard_report::{Evidence, Relation, RuleId},
    norm::{Modality, Norm, NormScope, SubjectKind},
    numeric::log_sum_exp,
};

/// The thresholds from which two claims count as the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SameThresholds {
    /// The minimum cosine of their vectors.
    pub cosine: f32,
    /// The minimum cosine of two claims that are each other's nearest neighbour. It is lower, because no other claim is more likely to say the
    /// same as either.
    pub nearest: f32,
    /// The minimum probability, in each direction, that one claim entails the other.
    pub entailed: f32,
}

impl Default for SameThresholds {
    /// Measured with `ergo-bench notes` and the built-in models on the 200 labelled pairs in tests/data/notes: precision 0.989, recall 0.900.
    ///
    /// - `entailed` at 0.5, 0.65 and 0.8: precision 0.978, 0.989 and 1.000, recall 0.900, 0.900 and 0.830.
    /// - `cosine` from 0.4 to 0.7 and `nearest` from 0.3 to 0.6 change neither, because pairs that the cross-encoder finds entailed in both
    ///   directions have a higher cosine; at 0.8 the recall is 0.830. They limit the number of pairs that it is asked about.
    fn default() -> Self {
        Self { cosine: 0.6, nearest: 0.5, entailed: 0.65 }
    }
}

impl SameThresholds {
    /// Returns the thresholds for a pair; `mutual` tells whether the claims are each other's nearest neighbour.
    #[must_use]
    pub fn of_pair(self, mutual: bool) -> Self {
        Self { cosine: if mutual { self.nearest.min(self.cosine) } else { self.cosine }, ..self }
    }

    /// Returns the thresholds with another minimum cosine; that of nearest neighbours moves by the same amount.
    #[must_use]
    pub fn at_cosine(self, cosine: f32) -> Self {
        Self { cosine, nearest: self.nearest + cosine - self.cosine, ..self }
    }
}

/// The probability of entailment from which a claim refines the other one, if it is not entailed by it.
const REFINEMENT_ENTAILMENT: f32 = 0.85;

/// The probability up to which a claim counts as not entailed.
const MAX_NOT_ENTAILED: f32 = 0.3;

/// The probabilities, 0 to 1, that each of two claims entails the other, by a cross-encoder.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entailment {
    /// The probability that the first entails the second.
    pub forward: f32,
    /// The probability that the second entails the first.
    pub backward: f32,
}

impl Entailment {
    /// Computes the probabilities from the logits of entailment, neutral and contradiction in both orders.
    pub fn of(forward: [f32; 3], backward: [f32; 3]) -> Self {
        let share = |logits: [f32; 3]| (logits[0] - log_sum_exp(&logits)).exp();
        Self { forward: share(forward), backward: share(backward) }
    }

    /// Returns whether the first claim is more specific: it entails the second, but the second does not entail it.
    pub fn refines(self) -> bool {
        self.forward >= REFINEMENT_ENTAILMENT && self.backward <= MAX_NOT_ENTAILED
    }
}

/// A statement with its norms.
pub type Normed<'a> = (&'a str, &'a [Norm]);

/// Returns whether two claims say the same: they are similar in meaning, have the same polarity, are about the same things, numbers and names,
/// and entail each other.
pub fn is_same(one: Normed<'_>, other: Normed<'_>, cosine: f32, entailment: Entailment, from: SameThresholds) -> bool {
    may_be_same(one, other, cosine, from) && entailment.forward >= from.entailed && entailment.backward >= from.entailed
}

/// Returns whether two claims satisfy all conditions of [`is_same`] except entailment, so that a cross-encoder should be asked.
pub fn may_be_same(
    (one, norms): Normed<'_>,
    (other, their_norms): Normed<'_>,
    cosine: f32,
    from: SameThresholds,
) -> bool {
    cosine >= from.cosine
        && is_negative(one) == is_negative(other)
        && anchors(one) == anchors(other)
        && !are_of_other_things(norms, their_norms)
}

/// Returns whether two claims demand the same of two things of one kind, such as “the birch router” and “the beech router”, or in two
/// environments: their norms differ only in the scope, or in one word of subject and attribute. A cross-encoder confuses such names.
/// On the 200 labelled pairs this costs one paraphrase and changes nothing else, because they contain no wrong pair of this kind.
fn are_of_other_things(ours: &[Norm], theirs: &[Norm]) -> bool {
    let ([one], [other]) = (ours, theirs) else { return false };
    let demand = |norm: &Norm| Norm {
        subject: String::new(),
        attribute: None,
        scope: NormScope::default(),
        words: Vec::new(),
        ..norm.clone()
    };
    if one.subject_kind != SubjectKind::Present || demand(one) != demand(other) {
        return false;
    }
    let words = |norm: &Norm| -> BTreeSet<String> {
        let attribute = norm.attribute.as_deref().unwrap_or_default();
        norm.subject.split(' ').chain(attribute.split(' ')).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (a, b) = (words(one), words(other));
    let elsewhere = [&one.scope, &other.scope].iter().all(|scope| **scope != NormScope::default());
    match (a.difference(&b).count(), b.difference(&a).count()) {
        (0, 0) => elsewhere && one.scope != other.scope,
        (1, 1) => a.len() > 1,
        _ => false,
    }
}

/// Returns whether a statement forbids or denies something: it contains an odd number of negative words.
pub fn is_negative(statement: &str) -> bool {
    const NEGATIVE: [&str; 22] = [
        "not",
        "never",
        "no",
        "don't",
        "doesn't",
        "avoid",
        "without",
        "forbidden",
        "forbid",
        "isn't",
        "aren't",
        "can't",
        "cannot",
        "won't",
        "mustn't",
        "shouldn't",
        "rejected",
        "reject",
        "prohibited",
        "disallow",
        "disallowed",
        "none",
    ];
    let lower = statement.to_lowercase().replace('’', "'");
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    words.filter(|word| NEGATIVE.contains(word)).count() % 2 == 1
}

/// Returns the words of a statement that a paraphrase keeps: numbers, code, and names in mixed or upper case.
fn anchors(statement: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, part) in statement.split('`').enumerate() {
        if at % 2 == 1 {
            found.insert(part.trim().to_lowercase());
            continue;
        }
        for word in part.split(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '/')) {
            let word = word.trim_matches(|c: char| matches!(c, '.' | '_' | '/'));
            let upper = word.chars().skip(1).any(char::is_uppercase) || word.contains('_');
            if word.chars().any(|c| c.is_ascii_digit()) || upper && word.chars().count() > 1 {
                found.insert(word.to_lowercase());
            }
        }
        for number in NUMBERS.iter().filter(|number| has_word(part, number)) {
            found.insert((*number).to_owned());
        }
    }
    found
}

/// Numbers in words.
const NUMBERS: [&str; 9] = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];

fn has_word(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric()).any(|other| other.eq_ignore_ascii_case(word))
}

/// Returns whether two claims about one subject differ in part, although no rule finds a contradiction: they have different limits, or only one
/// has a condition. Within a project, rules are refined in this way; of different projects, nobody may have seen both claims.
pub fn differs_in_part(evidence: &Evidence) -> bool {
    matches!(evidence.rule, RuleId::OtherLimit | RuleId::NarrowerScope)
}

/// Changes the evidence to a contradiction that is limited to the part of the work that only one claim names.
pub fn limit_to_part(evidence: &mut Evidence, sentence: String) {
    (evidence.rule, evidence.relation) = (RuleId::NarrowerScope, Relation::Coexist);
    (evidence.field, evidence.sentence) = ("condition".to_owned(), sentence);
}

/// Returns the evidence, without its sentence, that two claims set different limits for one subject, in the same direction and unit, so that
/// satisfying the narrower limit satisfies both. `None` if they do not.
pub fn other_limit(ours: &[Norm], theirs: &[Norm]) -> Option<Evidence> {
    let differ = |one: &&Norm, other: &&Norm| {
        let limits = one.limit.as_ref().zip(other.limit.as_ref());
        !one.subject.is_empty()
            && one.subject == other.subject
            && one.subject_kind == SubjectKind::Present
            && one.attribute == other.attribute
            && one.modality == other.modality
            && limits.is_some_and(|(a, b)| {
                let one_way = a.min.is_some() == b.min.is_some() && a.max.is_some() == b.max.is_some();
                one_way && a.unit == b.unit && a != b
            })
    };
    let (norm, their_norm) =
        ours.iter().find_map(|one| theirs.iter().find(|other| differ(&one, other)).map(|other| (one, other)))?;
    Some(Evidence {
        rule: RuleId::OtherLimit,
        relation: Relation::Uncertain,
        field: "limit".to_owned(),
        words: norm.words.clone(),
        their_words: their_norm.words.clone(),
        norm: norm.clone(),
        their_norm: their_norm.clone(),
        ..Evidence::default()
    })
}

/// Adds to a judge's evidence, which names no rule, in which way two claims exclude each other.
pub fn describe_judged(evidence: &mut Evidence, (ours, norms): Normed<'_>, (theirs, their_norms): Normed<'_>) {
    let limits = other_limit(norms, their_norms);
    let first = |norms: &[Norm]| norms.first().cloned().unwrap_or_default();
    if one_sided_part(ours, theirs).is_some() {
        (evidence.relation, evidence.field) = (Relation::Coexist, "condition".to_owned());
    } else if limits.is_some() {
        "limit".clone_into(&mut evidence.field);
    }
    (evidence.norm, evidence.their_norm) =
        limits.map_or_else(|| (first(norms), first(their_norms)), |limits| (limits.norm, limits.their_norm));
}

/// Returns in which way two claims exclude each other.
pub fn conflict_kind(evidence: &Evidence) -> ConflictKind {
    let (one, other) = (&evidence.norm, &evidence.their_norm);
    // A first day is no condition: that of an imported rule or record is only its date.
    let conditional = |norm: &Norm| norm.scope != NormScope::default() || norm.valid_until.is_some();
    if evidence.relation == Relation::Coexist || conditional(one) != conditional(other) {
        return ConflictKind::Contextual;
    }
    let soft = |norm: &Norm| {
        matches!(norm.modality, Modality::Should | Modality::ShouldNot | Modality::May | Modality::MayNot)
    };
    let partial = matches!(evidence.rule, RuleId::OtherLimit | RuleId::NarrowerScope)
        || evidence.rule == RuleId::Judged && evidence.field == "limit";
    if partial || soft(one) != soft(other) { ConflictKind::Partial } else { ConflictKind::Direct }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SURE: Entailment = Entailment { forward: 0.9, backward: 0.9 };

    #[rstest::rstest]
    #[case("Use tabs for indentation", "Indent with tabs", true)]
    #[case("Requests time out after 20 seconds", "Requests time out after 30 seconds", false)]
    #[case("Never commit secrets", "Commit secrets", false)]
    #[case("Do not use mocks", "Avoid mocks", true)]
    #[case("Install with `npm`", "Install with `pnpm`", false)]
    #[case("Store data in PostgreSQL", "Store data in MySQL", false)]
    #[case("Two people review a change", "Three people review a change", false)]
    fn polarity_numbers_and_names_have_to_agree(#[case] one: &str, #[case] other: &str, #[case] same: bool) {
        let (one, other): (Normed<'_>, Normed<'_>) = ((one, &[]), (other, &[]));
        assert_eq!(is_same(one, other, 0.9, SURE, SameThresholds::default()), same);
        assert_eq!(is_same(other, one, 0.9, SURE, SameThresholds::default()), same);
    }

    #[test]
    fn a_cosine_alone_is_not_enough_nor_one_direction() {
        let (a, b): (Normed<'_>, Normed<'_>) = (("Use tabs for indentation", &[]), ("Indent with tabs", &[]));
        let from = SameThresholds::default();
        assert!(!is_same(a, b, 0.99, Entailment { forward: 0.9, backward: 0.2 }, from));
        assert!(!is_same(a, b, 0.2, SURE, from));
        assert!(Entailment { forward: 0.9, backward: 0.2 }.refines() && !SURE.refines());
        let of = Entailment::of([4.0, 0.0, 0.0], [0.0, 0.0, 4.0]);
        assert!(of.forward > 0.9 && of.backward < 0.1);
    }

    #[test]
    fn conflicts_are_direct_partial_or_contextual() {
        let mut evidence = Evidence { rule: RuleId::OpposingModality, ..Evidence::default() };
        assert_eq!(conflict_kind(&evidence), ConflictKind::Direct);
        evidence.norm.valid_from = Some("2024-01-01".into());
        assert_eq!(conflict_kind(&evidence), ConflictKind::Direct);
        evidence.their_norm.modality = Modality::Should;
        assert_eq!(conflict_kind(&evidence), ConflictKind::Partial);
        evidence.norm.valid_until = Some("2026-01-01".into());
        assert_eq!(conflict_kind(&evidence), ConflictKind::Contextual);
        evidence = Evidence { rule: RuleId::OtherLimit, ..Evidence::default() };
        assert_eq!(conflict_kind(&evidence), ConflictKind::Partial);
        // No number satisfies both.
        evidence.rule = RuleId::DisjointLimits;
        assert_eq!(conflict_kind(&evidence), ConflictKind::Direct);
        limit_to_part(&mut evidence, "x".into());
        assert_eq!(conflict_kind(&evidence), ConflictKind::Contextual);
    }
}
