use super::*;

const NYGARD: &str = "# 9. Use PostgreSQL for the event store\n\nDate: 2019-08-01\n\n## Status\n\nAccepted\n\nSupercedes [3. Use MongoDB](0003-use-mongodb.md)\n\n## Context\n\nWe need transactions. MongoDB lost writes.\n\n## Decision\n\nWe will use PostgreSQL for the event store, because it has transactions. It runs in the cluster.\n\n## Consequences\n\nOps must learn it.\n";

#[test]
fn a_nygard_record_is_read_whole() {
    let record = Record::parse("docs/adr/0009-use-postgresql.md", NYGARD).unwrap();
    assert_eq!(
        record,
        Record {
            file: "docs/adr/0009-use-postgresql.md".into(),
            line: 17,
            number: Some(9),
            title: "Use PostgreSQL for the event store".into(),
            status: RecordStatus::Accepted,
            date: Some("2019-08-01".into()),
            statement: "We will use PostgreSQL for the event store.".into(),
            reason: "It has transactions. We need transactions. MongoDB lost writes.".into(),
            supersedes: vec![RecordRef { file: Some("0003-use-mongodb.md".into()), number: None }],
            superseded_by: vec![],
            exported: None,
        }
    );
    assert_eq!(record.source(), "docs/adr/0009-use-postgresql.md:17");
}

#[test]
fn a_madr_record_with_front_matter_takes_its_chosen_option() {
    let text = "---\nstatus: superseded by [ADR-0012](0012-x.md)\ndate: 2024-02-03\ndecision-makers: Ann\n---\n\n# Database for the event store\n\n## Context and Problem Statement\n\nWhere do events live?\n\n## Decision Drivers\n\n* durability\n* skills in the team\n\n## Considered Options\n\n* MongoDB\n* PostgreSQL\n\n## Decision Outcome\n\nChosen option: \"PostgreSQL\", because it is known here.\n";
    let record = Record::parse("0005-db.md", text).unwrap();
    assert_eq!(record.statement, "Database for the event store: PostgreSQL.");
    assert_eq!(record.reason, "It is known here. Durability. Skills in the team.");
    assert_eq!(record.status, RecordStatus::Superseded);
    assert_eq!(record.superseded_by, [RecordRef { file: Some("0012-x.md".into()), number: None }]);
    assert_eq!((record.date.as_deref(), record.number), (Some("2024-02-03"), Some(5)));
}

#[rstest::rstest]
#[case("Accepted", RecordStatus::Accepted)]
#[case("Proposed (2020-01-01)", RecordStatus::Proposed)]
#[case("rejected, too slow", RecordStatus::Rejected)]
#[case("~~Proposed~~ Accepted", RecordStatus::Accepted)]
#[case("Deprecated", RecordStatus::Deprecated)]
#[case("Superseded by ADR-0007", RecordStatus::Superseded)]
#[case("Amended by ADR-0007", RecordStatus::Accepted)]
#[case("Proposed (supersedes ADR-0003)", RecordStatus::Proposed)]
#[case("Proposed\nSupersedes [3. X](0003-x.md)", RecordStatus::Proposed)]
#[case("Rejected, replaces nothing", RecordStatus::Rejected)]
#[case("Supersedes ADR-0003", RecordStatus::Accepted)]
#[case("", RecordStatus::Accepted)]
#[case("On hold", RecordStatus::Unknown("On hold".into()))]
#[case("On hold\n\nAccepted", RecordStatus::Accepted)]
#[case("Accepted\n\nAsk Bob.", RecordStatus::Accepted)]
fn the_standing_is_recognised_by_its_word(#[case] status: &str, #[case] expected: RecordStatus) {
    let text = format!("# T\n\n## Status\n\n{status}\n\n## Decision\n\nWe will do the thing.\n");
    assert_eq!(Record::parse("1-t.md", &text).unwrap().status, expected);
}

#[rstest::rstest]
#[case("* Status: accepted\n* Date: 2020-01-02\n")]
#[case("Status: Accepted\nDate: 2020-01-02\n")]
#[case("**Status:** accepted\n\n**Date:** 2020-01-02\n")]
fn labelled_lines_are_understood(#[case] lines: &str) {
    let record = Record::parse("x.md", &format!("# T\n\n{lines}\n## Decision\n\nWe will do the thing.\n")).unwrap();
    assert_eq!((record.status, record.date.as_deref()), (RecordStatus::Accepted, Some("2020-01-02")));
}

#[test]
fn numbers_and_files_name_other_records() {
    let text = "# ADR-0007: T\n\n## Status\n\nSuperseded by ADR-0012 and #13 on 2020-02-02\n\n## Decision\n\nWe will do it so.\n";
    let record = Record::parse("adr-7.md", text).unwrap();
    let numbers: Vec<_> = record.superseded_by.iter().filter_map(|reference| reference.number).collect();
    assert_eq!((record.number, record.title.as_str()), (Some(7), "T"));
    assert_eq!(numbers, [12, 13]);
    assert!(record.matches(&RecordRef { file: None, number: Some(7) }));
    assert!(record.matches(&RecordRef { file: Some("adr-7.md".into()), number: None }));
}

#[rstest::rstest]
#[case("Yes.", "Use X: Yes.")]
#[case("We will:\n\n- do one\n- do two\n", "We will: do one; do two.")]
#[case("This is what we do from now on.", "Use X: This is what we do from now on.")]
#[case("Chosen option: Keep the monolith, because splitting costs.", "Keep the monolith.")]
fn a_sentence_that_leans_on_others_is_made_whole(#[case] decision: &str, #[case] expected: &str) {
    let record = Record::parse("x.md", &format!("# Use X\n\n## Decision\n\n{decision}\n")).unwrap();
    assert_eq!(record.statement, expected);
}

#[test]
fn a_file_without_a_decision_says_so() {
    let error = Record::parse("x.md", "# Notes\n\nHello.\n").unwrap_err();
    assert!(error.to_string().contains("Decision"));
}

#[test]
fn a_title_may_begin_with_a_figure() {
    assert_eq!(split_number("3 tier architecture"), (None, "3 tier architecture".into()));
    assert_eq!(split_number("3. Tiers"), (Some(3), "Tiers".into()));
    assert_eq!(number_of_name("2020-01-02-use-x.md"), None);
    assert_eq!(date_of("2020-13-02"), None);
}

#[test]
fn a_title_in_the_front_matter_leaves_the_first_heading_to_its_section() {
    let text = "---\ntitle: Store events in PostgreSQL\nstatus: accepted\n---\n\n## Context\n\nEvents got lost.\n\n## Decision\n\nEvents are stored in PostgreSQL.\n";
    let record = Record::parse("0001-x.md", text).unwrap();
    assert_eq!((record.title.as_str(), record.reason.as_str()), ("Store events in PostgreSQL", "Events got lost."));
}
