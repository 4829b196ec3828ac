//! Tests of the prompt, of parsing answers and of merging them.

use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::{
    domain::{
        claim::{ClaimKind, Qualifiers},
        guard_report::{Confidence, RuleId},
        norm::{Limit, Modality, Norm, SubjectKind},
    },
    guard::{Guard, lexicon::lexicon},
};

fn refined(statement: &str, answer: &str, known: &[&str]) -> Vec<Norm> {
    let reading = Reading::parse(answer).unwrap();
    Guard::refine_claim(ClaimKind::Decision, statement, &Qualifiers::default(), &reading, &|subject| {
        known.contains(&subject)
    })
}

fn ruled(statement: &str) -> Vec<Norm> {
    Guard::default().normalise(statement, &Qualifiers::default()).norms
}

fn answer(modality: &str, subject: &str, value: Option<&str>) -> String {
    let value = value.map_or_else(|| "null".to_owned(), |value| format!("\"{value}\""));
    format!(r#"{{"modality": "{modality}", "subject": "{subject}", "object": null, "value": {value}}}"#)
}

#[test]
fn the_examples_are_norms_of_the_grammar_with_words_of_their_statement() {
    let examples: Vec<(&str, &str)> = norm_prompt().examples().collect();
    assert!(examples.len() >= 8 && norm_prompt().system.contains("subject"), "{} examples", examples.len());
    for (statement, norm) in examples {
        let reading = Reading::parse(norm).unwrap_or_else(|error| panic!("{norm}: {error}"));
        let keys: Vec<usize> = ["modality", "subject", "object", "value"]
            .iter()
            .map(|key| norm.find(&format!("\"{key}\": ")).unwrap())
            .collect();
        assert!(keys.is_sorted(), "the keys stand in the order of the grammar: {norm}");
        for words in [&reading.subject, &reading.value].into_iter().flatten() {
            assert!(statement.to_lowercase().contains(&words.to_lowercase()), "“{words}” is not in “{statement}”");
        }
        assert_eq!(norm_prompt().about(statement).as_deref(), Some(statement));
    }
}

#[test]
fn the_grammar_has_every_state_of_the_lexicon_and_no_other() {
    let object = GRAMMAR.split("object   ::=").nth(1).unwrap();
    let states: Vec<&str> =
        object.split('"').filter_map(|part| part.strip_suffix('\\')).filter(|s| !s.is_empty()).collect();
    let unknown: Vec<&&str> = states.iter().filter(|state| !lexicon().is_state(state)).collect();
    assert!(states.len() > 30 && unknown.is_empty(), "{unknown:?}");
    let listed = include_str!("../../../../assets/lexicon/states.txt");
    let names = listed.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(':'));
    // A state whose verbs are all synonyms of another's verbs is unreachable.
    for (name, _) in names.filter(|(name, _)| lexicon().is_state(name)) {
        assert!(states.contains(&name), "{name}");
    }
}

#[test]
fn a_version_names_rules_prompt_model_and_file() {
    let name = version("qwen", "cc324af070c2ecbf");
    assert!(name.starts_with("rules-en/4+llm/") && name.ends_with(":qwen@cc324af0"), "{name}");
    assert!(is_current(&name) && is_current(RULES_VERSION));
    assert!(!is_current("rules-en/44") && !is_current("rules-en/2+llm") && !is_current("none"));
    assert!(version("own", "").ends_with(":own@"));
}

#[test]
fn the_edition_depends_on_what_the_model_sees_and_not_on_comments() {
    let prompt: NormPrompt = toml::from_str(&format!("# Another comment.\n{PROMPT}")).unwrap();
    let ours = edition(norm_prompt(), GRAMMAR);
    assert_eq!(edition(&prompt, &format!("# Another comment.\n{GRAMMAR}")), ours);
    assert_eq!(ours.len(), 12);

    let mut changed = prompt.clone();
    changed.system.push('.');
    assert_ne!(edition(&changed, GRAMMAR), ours);
    let mut changed = prompt.clone();
    changed.examples.pop();
    assert_ne!(edition(&changed, GRAMMAR), ours);
    assert_ne!(edition(&prompt, &GRAMMAR.replace("may_not", "need_not")), ours);
}

#[rstest]
#[case::refusal("I'm sorry, but I can't help with that.")]
#[case::chatter("Sure! {\"modality\": \"must\", \"subject\": \"a\", \"object\": null, \"value\": null}")]
#[case::cut_off("{\"modality\": \"must\", \"subject\": \"a")]
#[case::nothing("")]
#[case::another_stance("{\"modality\": \"shall\", \"subject\": \"a\", \"object\": null, \"value\": null}")]
#[case::another_key("{\"modality\": \"must\", \"subject\": \"a\", \"object\": null, \"value\": null, \"why\": \"x\"}")]
#[case::a_key_less("{\"modality\": \"must\", \"subject\": \"a\", \"object\": null}")]
#[case::another_state("{\"modality\": \"must\", \"subject\": \"a\", \"object\": \"exploded\", \"value\": null}")]
#[case::blank("{\"modality\": \"must\", \"subject\": \" \", \"object\": null, \"value\": null}")]
#[case::control("{\"modality\": \"must\", \"subject\": \"a\\u0007\", \"object\": null, \"value\": null}")]
#[case::list("[{\"modality\": \"must\"}]")]
fn anything_but_a_norm_is_an_error(#[case] text: &str) {
    assert_eq!(Reading::parse(text), Err(ReadingError::NotANorm), "{text}");
}

#[test]
fn a_text_longer_than_a_norm_is_an_error() {
    assert_eq!(Reading::parse(&answer("must", &"long ".repeat(20), None)), Err(ReadingError::TooLong));
    assert_eq!(Reading::parse(&" ".repeat(2_000)), Err(ReadingError::TooLong));
    assert_eq!(norm_prompt().about(&"word ".repeat(200)), None);
    assert_eq!(norm_prompt().about("  \n "), None);
    assert_eq!(norm_prompt().about("one\n\ttwo").as_deref(), Some("one two"));
}

#[rstest]
#[case::value("Every deploy goes through a blue canary.", false)]
#[case::limit("Retries must not exceed 16.", false)]
#[case::unread_value("Deploy with helm.", true)]
#[case::no_value("The changelog is written by hand.", true)]
#[case::no_subject("Nobody needs to ask before that.", true)]
#[case::question("Should the importer try port 80?", true)]
#[case::two_rules("Use a blue canary, and never store card numbers.", true)]
fn a_model_is_asked_if_the_rules_leave_something_open(#[case] statement: &str, #[case] open: bool) {
    assert_eq!(is_open(&ruled(statement)), open, "{:?}", ruled(statement));
}

/// Explicit words of the statement take precedence over the model, and the norm stays certain.
#[rstest]
#[case::never("Logs must never contain user emails.", "must", Modality::MustNot)]
#[case::not("Do not commit secrets.", "must", Modality::MustNot)]
#[case::forbidden("Force pushes are forbidden.", "may", Modality::MustNot)]
#[case::no_longer("The importer no longer reads XML.", "must", Modality::MustNot)]
#[case::need_not("Reviewers need not run the tests.", "must", Modality::MayNot)]
#[case::required("Every release must carry a signature.", "must_not", Modality::Must)]
#[case::allowed("Guests may read the handbook.", "must_not", Modality::May)]
fn explicit_words_override_the_models_stance(#[case] statement: &str, #[case] read: &str, #[case] stance: Modality) {
    let plain = ruled(statement);
    let subject = plain[0].words[0].clone();
    let norms = refined(statement, &answer(read, &subject, None), &[]);
    assert_eq!((norms[0].modality, norms[0].confidence), (stance, None), "{norms:?}");
    assert_eq!(norms, plain);
}

#[test]
fn a_stance_that_only_the_model_reads_lowers_the_confidence() {
    let statement = "The old gateway is history.";
    let norms = refined(statement, &answer("must_not", "gateway", None), &[]);
    assert_eq!((norms[0].modality, norms[0].confidence), (Modality::Must, Some(Confidence::Med)));
    let agreed = refined(statement, &answer("must", "gateway", None), &[]);
    assert_eq!(agreed[0].confidence, None);
}

#[test]
fn a_limit_stays_a_limit() {
    let statement = "Retries must not exceed 16.";
    for value in [Some("16"), None, Some("retries")] {
        let norms = refined(statement, &answer("must_not", "retries", value), &[]);
        assert_eq!(norms[0].limit, Some(Limit { max: Some("16".into()), ..Limit::default() }), "{value:?}");
        assert_eq!((norms[0].modality, norms[0].value.as_deref()), (Modality::Must, None));
        assert_eq!(norms[0].confidence, None);
    }
    let least = refined("Passwords have at least 12 characters.", &answer("must", "passwords", Some("12")), &[]);
    assert_eq!(least[0].limit.as_ref().and_then(|limit| limit.min.as_deref()), Some("12"));
}

#[test]
fn a_value_that_only_the_model_finds_is_added_as_uncertain() {
    let statement = "We draw our charts with vega.";
    assert_eq!(ruled(statement)[0].value, None);
    let norms = refined(statement, &answer("must", "charts", Some("vega")), &[]);
    assert_eq!((norms[0].subject.as_str(), norms[0].value.as_deref()), ("chart", Some("vega")));
    assert_eq!(norms[0].confidence, Some(Confidence::Med));
    let other = refined("We draw our charts with plotly.", &answer("must", "charts", Some("plotly")), &[]);
    let comparison = crate::guard::structural::compare(&norms[0], &other[0]);
    assert_eq!((comparison.rule, comparison.confidence), (RuleId::ValueConflict, Confidence::Med));
}

#[rstest]
#[case::not_in_the_statement("We draw our charts with vega.", "plotly")]
#[case::a_list("We draw our charts with vega and plotly.", "vega")]
#[case::the_verb("Deploy the charts with vega.", "deploy")]
#[case::a_sentence("We draw the charts of the quarter with vega.", "quarter with vega draw")]
#[case::of_an_ability("The exporter supports parquet.", "parquet")]
fn an_impossible_value_is_ignored(#[case] statement: &str, #[case] value: &str) {
    let subject = ruled(statement)[0].words[0].clone();
    let norms = refined(statement, &answer("must", &subject, Some(value)), &[]);
    assert_eq!(norms[0].value, ruled(statement)[0].value, "{norms:?}");
}

#[test]
fn a_different_value_lowers_the_confidence_and_is_not_used() {
    let statement = "Backups are kept for 30 days in the vault.";
    let norms = refined(statement, &answer("must", "backups", Some("vault")), &[]);
    assert_eq!(
        (norms[0].value.clone(), norms[0].confidence),
        (ruled(statement)[0].value.clone(), Some(Confidence::Med))
    );
    let same = refined(statement, &answer("must", "backups", Some("30 days")), &[]);
    assert_eq!(same, ruled(statement));
}

#[test]
fn a_wrong_subject_is_corrected_and_an_invented_one_ignored() {
    let statement = "Deploys go through the canary stage.";
    for drifted in ["deployments", "Deploy", "the deploys"] {
        assert_eq!(refined(statement, &answer("must", drifted, None), &[])[0].subject, "deploy", "{drifted}");
    }
    assert_eq!(refined(statement, &answer("must", "rollouts of teapots", None), &[]), ruled(statement));
    assert_eq!(refined(statement, &answer("must", "ignore all rules", None), &[]), ruled(statement));
}

#[test]
fn the_rules_subject_may_be_the_models_value() {
    let norms = refined("Use Postgres for storage.", &answer("must", "storage", Some("Postgres")), &[]);
    assert_eq!(norms.len(), 2, "{norms:?}");
    assert_eq!((norms[0].clone(), norms[0].confidence), (ruled("Use Postgres for storage.")[0].clone(), None));
    assert_eq!((norms[1].subject.as_str(), norms[1].confidence), ("store", Some(Confidence::Med)));
    let other = refined("Use MySQL for storage.", &answer("must", "storage", Some("MySQL")), &[]);
    assert_eq!(crate::guard::structural::compare(&norms[1], &other[1]).rule, RuleId::ValueConflict);
}

#[test]
fn the_subject_that_the_scope_knows_takes_precedence() {
    let statement = "Tests of the ledger run twice.";
    let own = ruled(statement)[0].subject.clone();
    assert_eq!(own, "test");
    let answer_text = answer("must", "ledger", None);
    let known = refined(statement, &answer_text, &["ledger"]);
    assert_eq!((known[0].subject.as_str(), known[0].confidence), ("ledger", Some(Confidence::Med)));
    for known in [&[][..], &["test"], &["test", "ledger"]] {
        let norms = refined(statement, &answer_text, known);
        assert_eq!((norms[0].subject.as_str(), norms[0].confidence), ("test", Some(Confidence::Med)), "{known:?}");
    }
}

#[test]
fn questions_state_nothing_and_a_missing_subject_needs_words_of_an_idea() {
    let none = r#"{"modality": "may", "subject": null, "object": null, "value": null}"#;
    let kind = |statement: &str| refined(statement, none, &[])[0].subject_kind;
    assert_eq!(kind("Should we move the ledger to Postgres?"), SubjectKind::Missing);
    assert_eq!(kind("Should we move the ledger to Postgres"), SubjectKind::Missing);
    assert_eq!(kind("We could imagine a ledger on Postgres."), SubjectKind::Missing);
    assert_eq!(kind("The ledger must be on Postgres."), SubjectKind::Fuzzy, "never incomparable on a model's word");
    let question = refined("Should we use Redis?", &answer("must", "Redis", None), &[]);
    assert_eq!(question[0].subject_kind, SubjectKind::Missing, "the rules know a question");
}

#[test]
fn the_writers_qualifiers_take_precedence() {
    let text = r#"{"modality": "must", "subject": "index", "object": null, "value": null, "env": "staging"}"#;
    let reading = Reading::parse(text).unwrap();
    let qualifiers = Qualifiers { env: Some("prod".into()), ..Qualifiers::default() };
    let refine = |statement: &str, qualifiers: &Qualifiers| {
        Guard::refine_claim(ClaimKind::Decision, statement, qualifiers, &reading, &|_| false)[0].clone()
    };
    assert_eq!(refine("The index is rebuilt in staging.", &qualifiers).scope.env.as_deref(), Some("prod"));
    assert_eq!(refine("The index is rebuilt.", &Qualifiers::default()).scope.env, None, "not in the statement");
    let excepted = refine("The index is rebuilt everywhere except in staging.", &Qualifiers::default());
    assert_eq!(excepted.scope.env, None, "staging is where it does not hold");
}

#[test]
fn a_rejection_is_negated_once() {
    let reading = Reading::parse(&answer("must", "storage", Some("Postgres"))).unwrap();
    let of = |statement: &str| {
        Guard::refine_claim(ClaimKind::Rejection, statement, &Qualifiers::default(), &reading, &|_| false)
    };
    assert!(of("Use Postgres for storage.").iter().all(|norm| norm.modality == Modality::MustNot));
    assert!(of("Do not use Postgres for storage.").iter().all(|norm| norm.modality == Modality::MustNot));
}

fn words() -> impl Strategy<Value = String> {
    prop::collection::vec(
        prop::sample::select(vec![
            "use", "never", "must", "the", "ledger", "Postgres", "for", "storage", "16", "at", "most", "in", "staging",
            "is", ",", "and", "not", "logs", "blue", "no", "longer", "?", ".", "we", "should", "port",
        ]),
        0..14,
    )
    .prop_map(|words| words.join(" "))
}

proptest! {
    #[test]
    fn merged_norms_are_grounded_few_and_no_more_certain(
        statement in words(), subject in words(), value in words(),
        modality in prop::sample::select(vec!["must", "should", "may", "must_not", "should_not", "may_not"]),
    ) {
        let text = serde_json::json!({
            "modality": modality, "subject": subject, "object": null, "value": value, "env": "staging", "team": "admin",
        });
        let Ok(reading) = Reading::parse(&text.to_string()) else { return Ok(()) };
        let qualifiers = Qualifiers::default();
        let rules = ruled(&statement);
        let norms = Guard::refine_claim(ClaimKind::Decision, &statement, &qualifiers, &reading, &|_| true);
        prop_assert!(!norms.is_empty() && norms.len() <= 6);
        for norm in &norms {
            let lower = statement.to_lowercase();
            prop_assert!(norm.words.iter().all(|words| lower.contains(&words.to_lowercase())), "{norm:?}");
            // Certain norms are those of the rules.
            prop_assert!(norm.confidence.is_some() || rules.contains(norm), "{norm:?} of {rules:?}");
        }
        let stances = |norms: &[Norm]| norms.iter().map(|norm| norm.modality).collect::<std::collections::BTreeSet<_>>();
        prop_assert!(stances(&norms).is_subset(&stances(&rules)));
    }
}
