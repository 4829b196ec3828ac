//! Whether two claims in other words say the same, and in which way two claims exclude each other.

use std::collections::BTreeSet;

use super::stated_part::one_sided_part;
use crate::domain::{
    ConflictKind,
    guard_report::{Evidence, Relation, RuleId},
    norm::{Modality, Norm, NormScope, SubjectKind},
};

/// From when on two claims are taken for the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SameThresholds {
    /// The least cosine of their vectors.
    pub cosine: f32,
    /// The least cosine of two claims each of which is the other's nearest: both are the heart of a cluster, and there is nothing nearer that either
    /// could say the same as.
    pub nearest: f32,
    /// The least probability, in each direction, that one follows from the other.
    pub entailed: f32,
}

impl Default for SameThresholds {
    /// Measured with `ergo-bench notes` and the built-in models on the 200 labelled pairs in tests/data/notes: precision 0.989, recall 0.900.
    ///
    /// - `entailed` at 0.5, 0.65 and 0.8: precision 0.978, 0.989 and 1.000, recall 0.900, 0.900 and 0.830.
    /// - `cosine` from 0.4 to 0.7 and `nearest` from 0.3 to 0.6 change neither, since what the cross-encoder calls entailed both ways is
    ///   nearer than that; at 0.8 the recall is 0.830. They bound how many pairs it is asked about.
    fn default() -> Self {
        Self { cosine: 0.6, nearest: 0.5, entailed: 0.65 }
    }
}

impl SameThresholds {
    /// Returns those of two claims, each of which is the other's nearest or not.
    #[must_use]
    pub fn of_pair(self, mutual: bool) -> Self {
        Self { cosine: if mutual { self.nearest.min(self.cosine) } else { self.cosine }, ..self }
    }

    /// Returns those with another least cosine; that of nearest claims moves with it.
    #[must_use]
    pub fn at_cosine(self, cosine: f32) -> Self {
        Self { cosine, nearest: self.nearest + cosine - self.cosine, ..self }
    }
}

/// From this probability on, a claim that is not entailed back refines the other one.
const REFINES_FROM: f32 = 0.85;

/// Up to this probability, the other direction is not entailed.
const NOT_ENTAILED: f32 = 0.3;

/// How one claim follows from another and back, by a cross-encoder: probabilities, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entailment {
    /// The second follows from the first.
    pub forward: f32,
    /// The first follows from the second.
    pub backward: f32,
}

impl Entailment {
    /// Of the logits of entailment, neutral and contradiction in both orders.
    pub fn of(forward: [f32; 3], backward: [f32; 3]) -> Self {
        let share = |logits: [f32; 3]| {
            let most = logits.iter().copied().fold(f32::MIN, f32::max);
            let [yes, neutral, no] = logits.map(|logit| (logit - most).exp());
            yes / (yes + neutral + no)
        };
        Self { forward: share(forward), backward: share(backward) }
    }

    /// Whether the first claim says more than the second: the second follows from it, and it does not follow from the second.
    pub fn refines(self) -> bool {
        self.forward >= REFINES_FROM && self.backward <= NOT_ENTAILED
    }
}

/// A statement with its norms.
pub type Normed<'a> = (&'a str, &'a [Norm]);

/// Whether two claims say the same: near in meaning, of one polarity, about the same things, numbers and names, and each follows from the other.
pub fn is_same(one: Normed<'_>, other: Normed<'_>, cosine: f32, entailment: Entailment, from: SameThresholds) -> bool {
    may_be_same(one, other, cosine, from) && entailment.forward >= from.entailed && entailment.backward >= from.entailed
}

/// Whether it is worth to ask a cross-encoder if two claims say the same: all but the last condition of [`is_same`].
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

/// Whether two claims demand the same of two things of one sort, or in two environments, such as “the birch router” and “the beech router”: their
/// norms differ in one word of the subject and its property alone. A cross-encoder takes such names for each other.
/// On the 200 labelled pairs this costs one paraphrase and changes nothing else, since they have no wrong pair of this sort.
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

/// Whether a statement forbids or denies: an odd number of its words do.
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

/// The words of a statement that a paraphrase keeps: numbers, code, and names in mixed or upper case.
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

/// Whether two claims of one subject that no rule calls a contradiction differ all the same: another limit, or a condition that only one of them has.
/// Within a project that is how rules are refined; between projects nobody has seen both.
pub fn differs_in_part(evidence: &Evidence) -> bool {
    matches!(evidence.rule, RuleId::OtherLimit | RuleId::NarrowerScope)
}

/// Makes the evidence say that two claims contradict each other apart from a part of the work that only one of them names.
pub fn limit_to_part(evidence: &mut Evidence, sentence: String) {
    (evidence.rule, evidence.relation) = (RuleId::NarrowerScope, Relation::Coexist);
    (evidence.field, evidence.sentence) = ("condition".to_owned(), sentence);
}

/// Returns the evidence, without its sentence, that two claims set different limits of one direction for one subject in one unit: whoever meets the
/// narrower one meets both. `None` if they do not.
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

/// Adds to the evidence of a judge, who names no rule, in which way two claims exclude each other; each is a statement with its norms.
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
    let conditional =
        |norm: &Norm| norm.scope != NormScope::default() || norm.valid_from.is_some() || norm.valid_until.is_some();
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
        evidence.their_norm.modality = Modality::Should;
        assert_eq!(conflict_kind(&evidence), ConflictKind::Partial);
        evidence.norm.valid_until = Some("2026-01-01".into());
        assert_eq!(conflict_kind(&evidence), ConflictKind::Contextual);
        evidence = Evidence { rule: RuleId::OtherLimit, ..Evidence::default() };
        assert_eq!(conflict_kind(&evidence), ConflictKind::Partial);
        // No number meets both.
        evidence.rule = RuleId::DisjointLimits;
        assert_eq!(conflict_kind(&evidence), ConflictKind::Direct);
        limit_to_part(&mut evidence, "x".into());
        assert_eq!(conflict_kind(&evidence), ConflictKind::Contextual);
    }
}
