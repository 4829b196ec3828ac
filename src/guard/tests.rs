//! The guard as a whole: the table of written pairs, the laws of the normaliser and of the comparison.

use proptest::prelude::*;

use super::*;
use crate::domain::{id::EventId, norm::SubjectKind, verdict::Relation};

fn candidate(statement: &str) -> Candidate {
    let norms = Guard::default().normalise(statement, &Qualifiers::default()).norms;
    Candidate { id: Some(EventId([1; 32])), kind: ClaimKind::Decision, statement: statement.into(), norms }
}

fn judged(first: &str, second: &str) -> Verdict {
    Guard::default().judge(&candidate(second), &[candidate(first)], "2026-01-01")
}

#[test]
fn the_written_pairs() {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in include_str!("fixtures/pairs.tsv").lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut fields = line.split('\t');
        let (Some(label), Some(first), Some(second)) = (fields.next(), fields.next(), fields.next()) else {
            panic!("a row has a label and two statements: {line}");
        };
        rows += 1;
        let verdict = judged(first, second);
        let right = match label {
            "contradiction" => verdict.tier == Tier::Block,
            "known miss" => true,
            _ => verdict.tier != Tier::Block,
        };
        if !right {
            let why = verdict
                .findings
                .first()
                .map(|f| format!("{} {:.2}: {}", f.evidence.rule, f.score, f.evidence.sentence));
            wrong.push(format!("{label}: {:?} {why:?}\n  {first}\n  {second}", verdict.tier));
        }
    }
    assert!(rows >= 60, "{rows} rows");
    assert!(wrong.is_empty(), "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_block_explains_itself() {
    let verdict = judged("Wrap lines at 72 characters.", "Wrap lines at 100 characters.");
    let finding = &verdict.findings[0];
    assert_eq!(verdict.tier, Tier::Block);
    assert_eq!(finding.evidence.relation, Relation::Contradiction);
    assert!(
        finding.evidence.sentence.contains("72") && finding.evidence.sentence.contains("100"),
        "{}",
        finding.evidence.sentence
    );
    assert!(!finding.evidence.words.is_empty() && !finding.evidence.their_words.is_empty());
}

#[test]
fn a_rejection_says_not() {
    let guard = Guard::default();
    let norms = guard.normalise_claim(ClaimKind::Rejection, "Use MongoDB for sessions.", &Qualifiers::default()).norms;
    let rejected = Candidate {
        id: Some(EventId([2; 32])),
        kind: ClaimKind::Rejection,
        statement: "Use MongoDB for sessions.".into(),
        norms,
    };
    let verdict = guard.judge(&candidate("Use MongoDB for sessions."), &[rejected], "2026-01-01");
    assert_eq!(verdict.tier, Tier::Block);
}

#[test]
fn what_is_over_opposes_nothing() {
    let verdict = Guard::default().judge(
        &candidate("The API port is 9090."),
        &[candidate("Until 2025-03-31 the API port is 8080.")],
        "2026-01-01",
    );
    assert_eq!(verdict.tier, Tier::Clean);
}

#[test]
fn qualifiers_overrule_the_text() {
    let guard = Guard::default();
    let of = |env: &str, statement: &str| {
        let qualifiers = Qualifiers { env: Some(env.into()), ..Qualifiers::default() };
        Candidate { norms: guard.normalise(statement, &qualifiers).norms, ..candidate(statement) }
    };
    let (blue, red) = ("Deploys must use a blue canary.", "Deploys must use a red canary.");
    assert_eq!(guard.judge(&of("prod", red), &[of("dev", blue)], "2026-01-01").tier, Tier::Clean);
    assert_eq!(guard.judge(&of("prod", red), &[of("production", blue)], "2026-01-01").tier, Tier::Block);
}

#[test]
fn questions_are_missing_and_prose_is_not() {
    let kind = |statement: &str| candidate(statement).norms[0].subject_kind;
    assert_eq!(kind("Should we use Postgres?"), SubjectKind::Missing);
    assert_eq!(kind("What if we used Postgres"), SubjectKind::Missing);
    assert_eq!(kind("Things."), SubjectKind::Fuzzy);
    assert_eq!(kind("Use Postgres."), SubjectKind::Present);
}

#[test]
fn subjects_are_canonical() {
    for statement in [
        "Deploys must use a blue canary",
        "Deployments must use a blue canary.",
        "Deploying must use a blue canary",
        "The deploy must use a blue canary.",
    ] {
        let norm = &candidate(statement).norms[0];
        assert_eq!(
            (norm.subject.as_str(), norm.object.as_deref(), norm.value.as_deref()),
            ("deploy", Some("used"), Some("blue")),
            "{statement}"
        );
    }
}

#[test]
fn inference_that_is_not_there_is_said_once() {
    let against =
        [candidate("Tests run in parallel on every push."), candidate("Tests run in order on every push to main.")];
    let verdict = Guard::default().judge(&candidate("Tests run on every push of a branch."), &against, "2026-01-01");
    assert!(verdict.skipped.len() <= 1, "{:?}", verdict.skipped);
}

proptest! {
    #[test]
    fn any_text_has_norms_and_compares_with_itself(text in "\\PC{0,200}", other in "\\PC{0,200}") {
        let (a, b) = (candidate(&text), candidate(&other));
        prop_assert!(!a.norms.is_empty());
        let guard = Guard::default();
        prop_assert!(guard.judge(&a, &[b.clone(), a.clone()], "2026-01-01").compared == 2);
        prop_assert!(guard.compare(&b, &a).score <= 1.0);
        let _ = Guard::index_terms(&a.norms, &text);
    }

    #[test]
    fn words_of_rules_in_any_order_never_panic(words in proptest::collection::vec(proptest::sample::select(vec![
        "never", "use", "not", "only", "the", "tabs", "spaces", ",", ".", "(", ")", "if", "because", "over", "prefer", "than", "rather", "10", "MB", "at", "most", "`x`",
        "is", "are", "forbidden", "in", "production", "until", "2026-01-01", "between", "and", "may", "must", "unless", ":", "—", "no", "longer", "q3", "may", "1",
    ]), 0..40)) {
        let text = words.join(" ");
        let a = candidate(&text);
        prop_assert!(!a.norms.is_empty());
        // Whether a pair contradicts does not depend on which came first.
        let b = candidate("Never use tabs in production, only spaces.");
        let guard = Guard::default();
        let (one, two) = (guard.compare(&a, &b), guard.compare(&b, &a));
        prop_assert!((one.score - two.score).abs() < 1e-4, "{} {}", one.score, two.score);
    }
}
