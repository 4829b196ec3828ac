use rstest::rstest;

use super::*;
use PairVerdict::{Compatible, Contradicts, Replaces, Same};

#[rstest]
#[case::compatible(&[Compatible, Compatible], false, Consequence::Store)]
#[case::replaces(&[Compatible, Replaces], false, Consequence::Store)]
#[case::same(&[Compatible, Same, Replaces], false, Consequence::Observe)]
#[case::contradicts(&[Compatible, Same, Replaces, Contradicts], false, Consequence::Refuse)]
#[case::none_in_force(&[], false, Consequence::Store)]
#[case::agent_replaces_a_persons(&[Replaces, Same], true, Consequence::Propose)]
#[case::agent_contradicts_a_persons(&[Replaces, Contradicts], true, Consequence::Refuse)]
fn the_strongest_verdict_decides(
    #[case] verdicts: &[PairVerdict],
    #[case] proposes: bool,
    #[case] expected: Consequence,
) {
    assert_eq!(consequence(verdicts.iter().copied(), proposes), expected);
}

#[test]
fn every_claim_to_be_asked_about_needs_a_verdict_and_no_other_has_one() {
    let doubt = |n: u8, band| question::QuestionDoubt { id: EventId([n; 32]), band };
    let question =
        HeldQuestion { doubts: vec![doubt(0x1a, DoubtBand::Ask), doubt(0x2b, DoubtBand::Mention)], until: 0 };
    let given = |verdicts: &[(&str, PairVerdict)]| GivenVerdicts {
        verdicts: verdicts.iter().map(|(id, verdict)| ((*id).to_owned(), *verdict)).collect(),
        ..GivenVerdicts::default()
    };
    let active = question.doubts.iter().map(|doubt| doubt.id).collect();
    let found = given(&[("1a1a", Same)]).by_claim(&question, &active).unwrap();
    assert_eq!(found, [(EventId([0x1a; 32]), Same)].into());
    let error = given(&[("1a1a", Same), ("ffff", Compatible)]).by_claim(&question, &active).unwrap_err();
    assert!(error.message.contains("ffff"), "{error:?}");
    assert!(error.hint.is_some_and(|hint| hint.contains("1a1a1a1a1a, 2b2b2b2b2b")));
    let error = given(&[("2b2b", Same)]).by_claim(&question, &active).unwrap_err();
    assert!(error.message.contains("1a1a1a1a1a"), "{error:?}");
    assert!(given(&[("1a1a", Same), ("1a1a1a", Same)]).by_claim(&question, &active).is_err());
    let gone = [EventId([0x2b; 32])].into();
    assert!(given(&[("2b2b", Same)]).by_claim(&question, &gone).is_ok(), "the other one is no longer active");
}
