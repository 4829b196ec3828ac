//! The structural comparison of two norms.
//!
//! Norms for different environments, teams, tenants or periods are compatible. Values are compared only within one subject,
//! attribute and state verb; limits are compared as ranges.

use super::lexicon::lexicon;
use crate::domain::{
    guard_report::{Confidence, Relation, RuleId},
    norm::{Limit, Modality, Norm, NormScope, SubjectKind},
};

/// The result of comparing two norms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The relation of the two norms.
    pub relation: Relation,
    /// The confidence in it.
    pub confidence: Confidence,
    /// The rule that decided.
    pub rule: RuleId,
    /// The field that decided.
    pub field: &'static str,
}

const fn comparison(relation: Relation, confidence: Confidence, rule: RuleId, field: &'static str) -> Comparison {
    Comparison { relation, confidence, rule, field }
}

/// Returns whether two modalities exclude each other.
fn opposing(a: Modality, b: Modality) -> bool {
    use Modality::{May, MayNot, Must, MustNot, Should, ShouldNot};
    matches!(
        (a, b),
        (Must | Should, MustNot | ShouldNot)
            | (MustNot | ShouldNot, Must | Should)
            | (May, MustNot)
            | (MustNot, May)
            | (Must, MayNot)
            | (MayNot, Must)
    )
}

/// Returns whether two modalities have the same direction.
fn same_direction(a: Modality, b: Modality) -> bool {
    use Modality::{May, MayNot, Must, MustNot, Should, ShouldNot};
    a == b
        || matches!((a, b), (Must, Should) | (Should, Must) | (MustNot, ShouldNot) | (ShouldNot, MustNot))
            && !matches!(a, May | MayNot)
}

/// Returns whether a modality requires something.
fn demands(modality: Modality) -> bool {
    matches!(modality, Modality::Must | Modality::Should)
}

fn differ(a: Option<&String>, b: Option<&String>) -> bool {
    a.zip(b).is_some_and(|(a, b)| !a.eq_ignore_ascii_case(b))
}

/// Returns whether two scopes exclude each other.
pub(crate) fn disjoint_scope(a: &NormScope, b: &NormScope) -> bool {
    differ(a.env.as_ref(), b.env.as_ref())
        || differ(a.team.as_ref(), b.team.as_ref())
        || differ(a.tenant.as_ref(), b.tenant.as_ref())
}

/// Returns whether two periods have no day in common. Days are `YYYY-MM-DD`, so they sort as text.
pub(crate) fn disjoint_time(a: &Norm, b: &Norm) -> bool {
    let before = |until: &Option<String>, from: &Option<String>| {
        until.as_ref().zip(from.as_ref()).is_some_and(|(until, from)| until < from)
    };
    before(&a.valid_until, &b.valid_from) || before(&b.valid_until, &a.valid_from)
}

/// Returns the result for two norms with the same demand: they say the same if they hold at the same times.
fn same_norm(ours: &Norm, theirs: &Norm, field: &'static str) -> Comparison {
    if (&ours.valid_from, &ours.valid_until) == (&theirs.valid_from, &theirs.valid_until) {
        comparison(Relation::Consistent, Confidence::High, RuleId::SameNorm, field)
    } else {
        comparison(Relation::Uncertain, Confidence::Med, RuleId::Undecided, "time")
    }
}

/// Returns whether exactly one of two norms is limited in scope or time.
fn one_sided(a: &Norm, b: &Norm) -> bool {
    a.scope.env.is_some() != b.scope.env.is_some()
        || a.scope.team.is_some() != b.scope.team.is_some()
        || a.scope.tenant.is_some() != b.scope.tenant.is_some()
        || (a.valid_from.is_some() || a.valid_until.is_some()) != (b.valid_from.is_some() || b.valid_until.is_some())
}

/// Returns whether a value is atomic: at most two tokens, or one name.
fn is_atomic(norm: &Norm, value: &str) -> bool {
    value.split_whitespace().count() <= 2
        || norm.words.iter().any(|words| {
            words.to_lowercase() == value.to_lowercase()
                || words.split_whitespace().all(|w| w.chars().next().is_some_and(char::is_uppercase) || w.len() <= 3)
        })
}

/// Returns the set of days or of languages to which a value belongs, if any. Things can have such a value besides their other ones.
fn day_or_language(value: &str) -> Option<&'static str> {
    let set = lexicon().set_name(lexicon().alternative_set(value)?);
    ["weekday", "natural language"].into_iter().find(|name| *name == set)
}

/// Returns whether two values after a preposition answer the same question, as far as the rules can tell. Unknown names of different
/// forms ("stored in S3", "stored in Frankfurt") may be places of different sorts, and a thing is in a place of each sort.
fn answer_one_question(ours: &Norm, a: &str, theirs: &Norm, b: &str) -> bool {
    let placed = ours.attribute.iter().flat_map(|attribute| attribute.split(' ')).any(|word| word.starts_with('@'));
    // "S3", "AWS", "web1".
    let coined = |norm: &Norm, value: &str| {
        let written = norm.words.last().map_or(value, String::as_str);
        written.contains(|c: char| c.is_ascii_digit()) || !written.contains(char::is_lowercase)
    };
    let known = |value: &str| lexicon().alternative_set(value).is_some();
    !placed || known(a) || known(b) || coined(ours, a) == coined(theirs, b)
}

/// Returns whether two values are the same number, written differently.
fn are_one_number(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    number(a).zip(number(b)).is_some_and(|(a, b)| a.total_cmp(&b).is_eq())
}

/// Returns whether two ranges have no number in common, or `None` if their units differ.
fn disjoint_ranges(a: &Limit, b: &Limit) -> Option<bool> {
    if a.unit != b.unit {
        return None;
    }
    let number = |text: &Option<String>| text.as_ref().and_then(|t| t.parse::<f64>().ok());
    let below = |max: Option<f64>, min: Option<f64>| max.zip(min).is_some_and(|(max, min)| max < min);
    Some(below(number(&a.max), number(&b.min)) || below(number(&b.max), number(&a.min)))
}

/// Returns a value as the range of one number.
fn point(value: &str) -> Limit {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    Limit { min: Some(number.to_owned()), max: Some(number.to_owned()), unit: unit.to_owned() }
}

/// Compares a new norm with an existing one. The result is at most as certain as either norm.
pub fn compare(ours: &Norm, theirs: &Norm) -> Comparison {
    let comparison = compare_certain(ours, theirs);
    if comparison.relation == Relation::Incomparable {
        return comparison;
    }
    let sure = |norm: &Norm| norm.confidence.unwrap_or(Confidence::High);
    Comparison { confidence: comparison.confidence.min(sure(ours)).min(sure(theirs)), ..comparison }
}

fn compare_certain(ours: &Norm, theirs: &Norm) -> Comparison {
    use Confidence::{High, Low};
    use Relation::{Coexist, Incomparable, Unknown};
    use RuleId::{DisjointScope, DisjointTime, FuzzySubject, MissingSubject, OtherSubject};

    if ours.subject_kind == SubjectKind::Missing || theirs.subject_kind == SubjectKind::Missing {
        return comparison(Incomparable, High, MissingSubject, "subject");
    }
    let scopes_differ = disjoint_scope(&ours.scope, &theirs.scope);
    let periods_differ = disjoint_time(ours, theirs);
    let present = ours.subject_kind == SubjectKind::Present && theirs.subject_kind == SubjectKind::Present;
    let same_subject = present && !ours.subject.is_empty() && ours.subject == theirs.subject;
    if same_subject && !scopes_differ && !periods_differ {
        return compare_same_subject(ours, theirs);
    }
    if !present {
        return comparison(Unknown, Low, FuzzySubject, "subject");
    }
    if scopes_differ {
        return comparison(Coexist, High, DisjointScope, "scope");
    }
    if periods_differ {
        return comparison(Coexist, High, DisjointTime, "time");
    }
    comparison(Unknown, Low, OtherSubject, "subject")
}

/// Compares two norms about one subject that hold in a common scope and period.
fn compare_same_subject(ours: &Norm, theirs: &Norm) -> Comparison {
    use Confidence::{High, Low, Med};
    use Relation::{Consistent, Contradiction, Uncertain, Unknown};
    use RuleId::{
        DisjointLimits, DoubleOpposition, NarrowerScope, OpposingModality, OpposingObject, OtherAspect, OtherLimit,
        OtherObject, OtherValue, Undecided, ValueConflict,
    };

    if ours.attribute != theirs.attribute {
        return comparison(Unknown, Low, OtherAspect, "attribute");
    }
    let same_object = ours.object == theirs.object;
    let opposite_states =
        ours.object.as_deref().zip(theirs.object.as_deref()).is_some_and(|(a, b)| lexicon().states_exclude(a, b));
    if !same_object && !opposite_states {
        return comparison(Unknown, Low, OtherObject, "object");
    }
    let same_value = ours.value == theirs.value && ours.limit == theirs.limit;
    if opposite_states {
        return if !same_value {
            comparison(Uncertain, Med, Undecided, "object")
        } else if same_direction(ours.modality, theirs.modality) && demands(ours.modality) {
            comparison(Contradiction, High, OpposingObject, "object")
        } else if opposing(ours.modality, theirs.modality) {
            comparison(Consistent, Med, DoubleOpposition, "object")
        } else {
            comparison(Uncertain, Med, Undecided, "object")
        };
    }
    if opposing(ours.modality, theirs.modality) {
        // "must not be 80" allows "must be 443".
        return if same_value
            || (ours.value.is_none() && ours.limit.is_none())
            || (theirs.value.is_none() && theirs.limit.is_none())
        {
            comparison(Contradiction, High, OpposingModality, "modality")
        } else {
            comparison(Uncertain, Med, OtherValue, "value")
        };
    }
    if same_direction(ours.modality, theirs.modality) {
        let demanded = demands(ours.modality);
        let ranges = match (&ours.limit, &theirs.limit, &ours.value, &theirs.value) {
            (Some(a), Some(b), ..) => disjoint_ranges(a, b),
            (Some(a), None, _, Some(value)) | (None, Some(a), Some(value), _) => disjoint_ranges(a, &point(value)),
            _ => None,
        };
        if let Some(disjoint) = ranges {
            return if disjoint && demanded {
                comparison(Contradiction, High, DisjointLimits, "limit")
            } else if ours.limit == theirs.limit {
                same_norm(ours, theirs, "limit")
            } else {
                comparison(Uncertain, Med, OtherLimit, "limit")
            };
        }
        return match (&ours.value, &theirs.value) {
            (Some(a), Some(b)) if a == b => same_norm(ours, theirs, "value"),
            // "0.5" and "0.50" are one number or two versions.
            (Some(a), Some(b)) if are_one_number(a, b) => comparison(Uncertain, Med, Undecided, "value"),
            // A value that is limited in scope or time may be an exception to one that is not.
            (Some(_), Some(_)) if one_sided(ours, theirs) => comparison(Uncertain, Med, NarrowerScope, "scope"),
            (Some(a), Some(b)) if demanded && is_atomic(ours, a) && is_atomic(theirs, b) => {
                // "On Kubernetes" and "on Fridays" answer different questions.
                if day_or_language(a) != day_or_language(b) {
                    comparison(Uncertain, Med, Undecided, "value")
                } else if answer_one_question(ours, a, theirs, b) {
                    comparison(Contradiction, High, ValueConflict, "value")
                } else {
                    comparison(Contradiction, Med, ValueConflict, "value")
                }
            }
            (None, None) if ours.limit == theirs.limit => same_norm(ours, theirs, "modality"),
            _ => comparison(Uncertain, Med, Undecided, "value"),
        };
    }
    comparison(Uncertain, Med, Undecided, "modality")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// Creates a norm from a shorthand: `subject.attribute object =value <=max >=min @env #team from..until`.
    fn norm(modality: Modality, text: &str) -> Norm {
        let mut norm = Norm { modality, subject_kind: SubjectKind::Present, ..Norm::default() };
        for (index, word) in text.split_whitespace().enumerate() {
            if index == 0 {
                let (subject, attribute) = word.split_once('.').map_or((word, None), |(s, a)| (s, Some(a.to_owned())));
                subject.clone_into(&mut norm.subject);
                norm.attribute = attribute;
            } else if let Some(value) = word.strip_prefix('=') {
                norm.value = Some(value.replace('_', " "));
            } else if let Some(max) = word.strip_prefix("<=") {
                norm.limit = Some(Limit { max: Some(max.into()), ..Limit::default() });
            } else if let Some(min) = word.strip_prefix(">=") {
                norm.limit = Some(Limit { min: Some(min.into()), ..Limit::default() });
            } else if let Some(env) = word.strip_prefix('@') {
                norm.scope.env = Some(env.into());
            } else if let Some(team) = word.strip_prefix('#') {
                norm.scope.team = Some(team.into());
            } else if let Some((from, until)) = word.split_once("..") {
                norm.valid_from = (!from.is_empty()).then(|| from.to_owned());
                norm.valid_until = (!until.is_empty()).then(|| until.to_owned());
            } else {
                norm.object = Some(word.into());
            }
        }
        norm
    }

    use Confidence::{High, Low, Med};
    use Modality::{May, MayNot, Must, MustNot, Should, ShouldNot};
    use Relation::{Coexist, Consistent, Contradiction, Uncertain, Unknown};

    #[rstest]
    // Opposing modalities of the same thing.
    #[case(Must, "deploy used", MustNot, "deploy used", Contradiction, High, RuleId::OpposingModality)]
    #[case(Should, "deploy used", MustNot, "deploy used", Contradiction, High, RuleId::OpposingModality)]
    #[case(May, "deploy used", MustNot, "deploy used", Contradiction, High, RuleId::OpposingModality)]
    #[case(Must, "doc required", MayNot, "doc required", Contradiction, High, RuleId::OpposingModality)]
    #[case(May, "deploy used", ShouldNot, "deploy used", Uncertain, Med, RuleId::Undecided)]
    #[case(May, "deploy used", Must, "deploy used", Uncertain, Med, RuleId::Undecided)]
    // The same demanding modality with another atomic value.
    #[case(
        Must,
        "deploy.canary used =blue",
        Must,
        "deploy.canary used =red",
        Contradiction,
        High,
        RuleId::ValueConflict
    )]
    #[case(
        Should,
        "deploy.canary used =blue",
        Must,
        "deploy.canary used =red",
        Contradiction,
        High,
        RuleId::ValueConflict
    )]
    #[case(May, "deploy.canary used =blue", May, "deploy.canary used =red", Uncertain, Med, RuleId::Undecided)]
    #[case(MustNot, "deploy.canary used =blue", MustNot, "deploy.canary used =red", Uncertain, Med, RuleId::Undecided)]
    #[case(MustNot, "api.port =80", Must, "api.port =443", Uncertain, Med, RuleId::OtherValue)]
    #[case(Must, "api.port =80", Must, "api.port =a_b_c", Uncertain, Med, RuleId::Undecided)]
    // Values of different kinds.
    #[case(
        Must,
        "service.@on deployed =kubernetes",
        Must,
        "service.@on deployed =friday",
        Uncertain,
        Med,
        RuleId::Undecided
    )]
    // Values compare only within one attribute and state verb.
    #[case(Must, "postgres.port =5432", Must, "postgres.version =16", Unknown, Low, RuleId::OtherAspect)]
    #[case(Must, "cache used", Must, "cache tested", Unknown, Low, RuleId::OtherObject)]
    // Opposite states.
    #[case(Must, "cache enabled", Must, "cache disabled", Contradiction, High, RuleId::OpposingObject)]
    #[case(MustNot, "cache disabled", Must, "cache enabled", Consistent, Med, RuleId::DoubleOpposition)]
    // Limits are ranges.
    #[case(Must, "upload <=5", Must, "upload >=10", Contradiction, High, RuleId::DisjointLimits)]
    #[case(Must, "upload <=5", Must, "upload <=10", Uncertain, Med, RuleId::OtherLimit)]
    #[case(Must, "upload <=5", Must, "upload <=5", Consistent, High, RuleId::SameNorm)]
    #[case(Must, "upload <=5", Must, "upload =7", Contradiction, High, RuleId::DisjointLimits)]
    #[case(Must, "rate =0.5", Must, "rate =0.50", Uncertain, Med, RuleId::Undecided)]
    #[case(Must, "upload <=5", Must, "upload =3", Uncertain, Med, RuleId::OtherLimit)]
    // Norms with disjoint scopes or periods coexist.
    #[case(Must, "deploy used =blue @prod", Must, "deploy used =red @dev", Coexist, High, RuleId::DisjointScope)]
    #[case(Must, "deploy used #data", MustNot, "deploy used #web", Coexist, High, RuleId::DisjointScope)]
    #[case(Must, "api.port =80 ..2026-03-31", Must, "api.port =81 2026-04-01..", Coexist, High, RuleId::DisjointTime)]
    #[case(
        Must,
        "api.port =80 ..2026-04-01",
        Must,
        "api.port =81 2026-04-01..",
        Contradiction,
        High,
        RuleId::ValueConflict
    )]
    #[case(Must, "deploy used =blue", Must, "deploy used =red @dev", Uncertain, Med, RuleId::NarrowerScope)]
    // The same norm, and different ones.
    #[case(Must, "deploy.canary used =blue", Must, "deploy.canary used =blue", Consistent, High, RuleId::SameNorm)]
    #[case(Must, "deploy used", Must, "deploy used", Consistent, High, RuleId::SameNorm)]
    #[case(Must, "deploy used", Must, "deploy used =blue", Uncertain, Med, RuleId::Undecided)]
    #[case(Must, "api.port =80 ..2026-03-31", Must, "api.port =80", Uncertain, Med, RuleId::Undecided)]
    #[case(Must, "deploy used", MustNot, "test used", Unknown, Low, RuleId::OtherSubject)]
    fn the_comparison(
        #[case] a: Modality,
        #[case] ours: &str,
        #[case] b: Modality,
        #[case] theirs: &str,
        #[case] relation: Relation,
        #[case] confidence: Confidence,
        #[case] rule: RuleId,
    ) {
        for (x, y) in [(norm(a, ours), norm(b, theirs)), (norm(b, theirs), norm(a, ours))] {
            let found = compare(&x, &y);
            assert_eq!(
                (found.relation, found.confidence, found.rule),
                (relation, confidence, rule),
                "{ours} / {theirs}"
            );
        }
    }

    #[test]
    fn a_comparison_is_no_surer_than_its_norms() {
        let doubted = Norm { confidence: Some(Med), ..norm(Must, "deploy.canary used =blue") };
        let plain = norm(Must, "deploy.canary used =red");
        for found in [compare(&doubted, &plain), compare(&plain, &doubted)] {
            assert_eq!((found.relation, found.confidence, found.rule), (Contradiction, Med, RuleId::ValueConflict));
        }
        assert_eq!(compare(&doubted, &norm(Must, "test")).confidence, Low);
    }

    #[test]
    fn nothing_compares_with_what_has_no_subject_and_vague_subjects_are_left_to_inference() {
        let (missing, fuzzy) = (
            Norm { subject_kind: SubjectKind::Missing, ..norm(Must, "deploy used") },
            Norm { subject_kind: SubjectKind::Fuzzy, ..norm(MustNot, "deploy used") },
        );
        let plain = norm(MustNot, "deploy used");
        assert_eq!(compare(&missing, &plain).relation, Relation::Incomparable);
        assert_eq!(compare(&plain, &missing).relation, Relation::Incomparable);
        let found = compare(&fuzzy, &norm(Must, "deploy used"));
        assert_eq!((found.relation, found.confidence, found.rule), (Unknown, Low, RuleId::FuzzySubject));
    }
}
