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
