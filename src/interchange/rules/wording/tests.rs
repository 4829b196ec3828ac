use super::*;

#[test]
fn words_count_whole_and_outside_code() {
    assert!(has("You must not.", "must"));
    assert!(!has("mustard", "must") && !has("run `must`", "must"));
    assert!(has("Don’t do it", "don't"));
}

#[rstest::rstest]
#[case("Never commit secrets.", ClaimKind::Constraint)]
#[case("Tests must pass before a merge.", ClaimKind::Constraint)]
#[case("Prefer small functions.", ClaimKind::Convention)]
#[case("Use tabs.", ClaimKind::Convention)]
#[case("If you don't have it, install it.", ClaimKind::Convention)]
fn the_wording_makes_the_kind(#[case] rule: &str, #[case] expected: ClaimKind) {
    assert_eq!(kind(rule), expected);
}

#[rstest::rstest]
#[case("Use tabs for indentation.", true)]
#[case("Please run the tests first.", true)]
#[case("Errors: wrap them with context.", false)]
#[case("The project began in 2019.", false)]
#[case("You should write a test.", true)]
#[case("Do you need help?", false)]
fn running_text_asks_or_tells(#[case] sentence: &str, #[case] asks: bool) {
    assert_eq!(is_imperative(sentence), asks, "{sentence}");
}

#[rstest::rstest]
#[case("Order service for the shop.", false)]
#[case("Import pipeline of the data team.", false)]
#[case("Report generator written in Rust.", false)]
#[case("Order the imports by name.", true)]
#[case("Order imports by name.", true)]
#[case("Order it as the style guide does.", true)]
#[case("Use tabs for indentation.", true)]
#[case("Use Redis for sessions.", true)]
#[case("Run `make test` in the folder.", true)]
#[case("Sort code alphabetically in each file.", true)]
#[case("Keep state in one place, never in globals.", true)]
#[case("Every service of the shop needs an owner.", true)]
fn at_the_beginning_of_a_file_a_noun_phrase_describes(#[case] sentence: &str, #[case] asks: bool) {
    assert!(is_rule_sentence(sentence), "elsewhere it is read as an instruction: {sentence}");
    assert_eq!(is_opening_rule(sentence), asks, "{sentence}");
}
