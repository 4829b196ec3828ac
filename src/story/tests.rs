use jiff::civil::Date;
use jiff::tz::TimeZone;
use rstest::rstest;

use super::*;
use crate::domain::claim::Qualifiers;

/// Reads a story of claims in force, given as (date, writer, statement), and returns its marks.
fn marks(story: &[(&str, &str, &str)]) -> Vec<(Confusion, Vec<usize>)> {
    let guard = Guard::default();
    let lines: Vec<StoryClaim> = story
        .iter()
        .map(|(at, who, statement)| {
            let norms = guard.normalise(statement, &Qualifiers::default()).norms;
            let claim = NormedClaim { statement: (*statement).to_owned(), norms, ..NormedClaim::default() };
            line(millis(at), who, claim)
        })
        .collect();
    read(&guard, &lines).into_iter().map(|mark| (mark.confusion, mark.claims)).collect()
}

fn line(written: u64, who: &str, claim: NormedClaim) -> StoryClaim {
    let text = StoryText::new(claim, None);
    StoryClaim { written, recorded: written, who: who.to_owned(), standing: ClaimStanding::active(), text }
}

/// Parses a time `YYYY-MM-DD` or `YYYY-MM-DD HH:MM`.
fn millis(at: &str) -> u64 {
    let (day, time) = at.split_once(' ').unwrap_or((at, "09:00"));
    let (hour, minute) = time.split_once(':').unwrap();
    let day: Date = day.parse().unwrap();
    let zoned = day.at(hour.parse().unwrap(), minute.parse().unwrap(), 0, 0).to_zoned(TimeZone::UTC).unwrap();
    zoned.timestamp().as_millisecond().cast_unsigned()
}

#[test]
fn a_choice_that_comes_back_without_a_word_is_a_reversal() {
    let story = [
        ("2026-01-05", "ada", "We use REST."),
        ("2026-02-05", "bob", "We switched to GraphQL."),
        ("2026-04-05", "cleo", "The API is REST-based."),
    ];
    assert_eq!(marks(&story), [(Confusion::Reversal, vec![0, 1, 2])]);
}

#[rstest]
#[case(["Search runs on Solr.", "Solr was retired, and search uses Postgres full text.", "Solr answers the search requests."])]
#[case(["Builds run on Jenkins.", "We moved the builds from Jenkins to Buildkite.", "Nightly builds run on Jenkins."])]
#[case(["Use tabs for indentation.", "Use spaces for indentation.", "Indentation is done with tabs."])]
fn a_turn_back_needs_no_neighbours_that_oppose_each_other(#[case] story: [&str; 3]) {
    let story = [("2026-01-05", "ada", story[0]), ("2026-02-05", "bob", story[1]), ("2026-06-05", "cleo", story[2])];
    assert_eq!(marks(&story), [(Confusion::Reversal, vec![0, 1, 2])]);
}

#[test]
fn two_limits_of_one_thing_are_ambiguous() {
    let story = [
        ("2026-03-01", "ada", "The rate limit of auth is 1,000 requests per second per IP."),
        ("2026-03-09", "bob", "Auth allows 5,000 requests per second per IP."),
    ];
    assert_eq!(marks(&story), [(Confusion::Ambiguity, vec![0, 1])]);
}

#[test]
fn a_version_that_was_left_behind_is_stale() {
    let story = [
        ("2025-09-01", "ada", "Postgres 14 is our database version."),
        ("2026-05-01", "bob", "The migration to Postgres 17 needs an hour of downtime."),
    ];
    assert_eq!(marks(&story), [(Confusion::Stale, vec![0, 1])]);
}

#[test]
fn what_rests_on_something_that_ended_is_stale() {
    let story = [
        ("2025-11-01", "ada", "Thumbnails are made by the resizer service."),
        ("2026-03-01", "bob", "The resizer service was decommissioned."),
    ];
    assert_eq!(marks(&story), [(Confusion::Stale, vec![0, 1])]);
}

#[rstest]
// Progress.
#[case(&[("2026-01-01", "ada", "The export takes 40 minutes."), ("2026-02-01", "bob", "After the rewrite the export takes 3 minutes.")])]
// A change of mind that names the replacement.
#[case(&[("2025-01-01", "ada", "Builds run on Jenkins."), ("2026-02-01", "bob", "Jenkins is replaced by Buildkite.")])]
#[case(&[("2026-01-01", "ada", "The weekly meeting is on Monday."), ("2026-02-01", "bob", "The weekly meeting moved to Thursday.")])]
// A return to an earlier choice that says so.
#[case(&[
    ("2026-01-01", "ada", "Builds run on Jenkins."),
    ("2026-02-01", "bob", "We moved the builds from Jenkins to Buildkite."),
    ("2026-04-01", "cleo", "We went back to Jenkins because Buildkite was too dear.")
])]
// Other subjects.
#[case(&[("2026-01-01", "ada", "Sessions are kept in Redis."), ("2026-02-01", "bob", "Invoices are kept in Postgres.")])]
#[case(&[("2026-01-01", "ada", "In production the cache is Redis."), ("2026-02-01", "bob", "In development the cache is a map in memory.")])]
// One working session.
#[case(&[("2026-01-01 09:00", "ada", "The limit is 10 requests per second."), ("2026-01-01 09:20", "ada", "The limit is 20 requests per second.")])]
// Amounts of different things, in similar words.
#[case(&[("2026-01-01", "ada", "The search service allows 100 requests/s."), ("2026-01-09", "bob", "The billing service allows 500 requests/s.")])]
#[case(&[("2026-01-01", "ada", "The import of orders retries 3 times."), ("2026-01-09", "bob", "The import of invoices retries 7 times.")])]
#[case(&[("2026-01-01", "ada", "Uploads are limited to 10 MB."), ("2026-01-09", "bob", "Downloads are limited to 2 GB.")])]
#[case(&[("2026-01-01", "ada", "Sessions last 30 minutes."), ("2026-01-09", "bob", "Lessons last 45 minutes.")])]
// Numbers that name things.
#[case(&[("2026-01-01", "ada", "Phase 1 takes two weeks."), ("2026-01-20", "bob", "Phase 2 takes four weeks.")])]
#[case(&[("2026-01-01", "ada", "Worker 3 runs on port 9003."), ("2026-01-20", "bob", "Worker 4 runs on port 9004.")])]
#[case(&[("2026-01-01", "ada", "ADR 12 covers the cache."), ("2026-01-20", "bob", "ADR 13 covers the queue.")])]
#[case(&[("2026-01-01", "ada", "Errors follow RFC 7807."), ("2026-01-20", "bob", "JSON documents follow RFC 8259.")])]
// Opposites are different subjects.
#[case(&[("2026-01-01", "ada", "Imports run for 10 minutes."), ("2026-01-20", "bob", "Exports run for 2 hours.")])]
// A repeated procedure.
#[case(&[("2026-01-01", "ada", "Sessions are kept in Redis."), ("2026-01-20", "bob", "Sessions are deleted after 30 days.")])]
// An exception.
#[case(&[("2026-01-01", "ada", "All services must use TLS."), ("2026-01-09", "bob", "The fax bridge is exempt from TLS.")])]
fn what_the_latest_claim_settles_is_not_marked(#[case] story: &[(&str, &str, &str)]) {
    assert_eq!(marks(story), []);
}

fn reading(statement: &str) -> ClaimReading {
    ClaimReading::of(&ParsedClaim::new(NormedClaim { statement: statement.to_owned(), ..NormedClaim::default() }))
}

#[rstest]
#[case("Postgres 14 is our database.", "Postgres 17 is our database.", true)]
#[case("React 17 is our framework.", "The upgrade to React 18 took a week.", true)]
#[case("The client has version 1.4.2.", "The client has version 1.5.0.", true)]
#[case("Phase 1 is about search.", "Phase 2 is about billing.", false)]
#[case("Worker 3 reads the mail.", "Worker 4 reads the queue.", false)]
#[case("Errors follow RFC 7807.", "JSON documents follow RFC 8259.", false)]
fn a_number_after_a_capital_is_a_version_unless_it_names_one_of_several(
    #[case] older: &str,
    #[case] newer: &str,
    #[case] expected: bool,
) {
    assert_eq!(reading(newer).has_newer_version_than(&reading(older)), expected, "{newer}");
}

#[rstest]
#[case("Solr was removed in March.", true)]
#[case("The resizer service is retired.", true)]
#[case("The SOAP gateway is dropped in favour of REST.", true)]
#[case("Jenkins has been disabled for good.", true)]
#[case("Feature branches are deleted after the merge.", false)]
#[case("Debug logging is disabled in production.", false)]
#[case("Sessions are removed daily.", false)]
fn what_is_removed_again_and_again_has_not_ended(#[case] statement: &str, #[case] ends: bool) {
    assert_eq!(!reading(statement).ended.is_empty(), ends, "{statement}");
}

#[rstest]
#[case("Imports run for 10 minutes.", "Exports run for 2 hours.")]
#[case("The server starts in 5 seconds.", "The server stops in 30 seconds.")]
fn opposites_are_different_words(#[case] one: &str, #[case] other: &str) {
    let (one, other) = (reading(one), reading(other));
    assert!(!other.states_other_amount_than(&one));
    assert!(!one.words.is_subset(&other.words) && one.topic != other.topic);
}

#[test]
fn steps_of_a_session_are_not_compared_unless_one_superseded_another() {
    let guard = Guard::default();
    let steps = [(1, "09:00", "We use REST."), (2, "09:08", "We use GraphQL."), (3, "09:16", "The API is REST-based.")];
    let mut lines: Vec<StoryClaim> = steps
        .iter()
        .map(|(n, at, statement)| {
            let norms = guard.normalise(statement, &Qualifiers::default()).norms;
            let id = Some(crate::domain::EventId([*n; 32]));
            let statement = (*statement).to_owned();
            line(
                millis(&format!("2026-01-05 {at}")),
                "ada",
                NormedClaim { id, statement, norms, ..NormedClaim::default() },
            )
        })
        .collect();
    assert_eq!(read(&guard, &lines), []);
    for at in 0..2 {
        let by = lines[at + 1].id().into_iter().collect();
        lines[at].standing = ClaimStanding { in_force: false, replaced_by: by, ..ClaimStanding::default() };
    }
    let found: Vec<_> = read(&guard, &lines).into_iter().map(|mark| (mark.confusion, mark.claims)).collect();
    assert_eq!(found, [(Confusion::Reversal, vec![0, 1, 2])]);
    // If another person writes it the next day, it is not the same session.
    let mut later = lines;
    for (claim, days) in later.iter_mut().zip([0, 1, 2]) {
        claim.standing = ClaimStanding::active();
        claim.written += days * 24 * 60 * 60 * 1000;
    }
    assert_eq!(read(&guard, &later).len(), 1);
}

#[test]
fn a_record_that_is_rejected_does_not_repeat_the_one_that_it_had_replaced() {
    let guard = Guard::default();
    let records = [
        (1, "2026-01-05", ClaimKind::Decision, "We will use Jenkins for builds."),
        (2, "2026-02-05", ClaimKind::Decision, "We will use Buildkite for builds."),
        (3, "2026-06-05", ClaimKind::Rejection, "Rejected: use Buildkite for builds."),
    ];
    let mut lines: Vec<StoryClaim> = records
        .iter()
        .map(|(n, at, kind, statement)| {
            let norms = guard.normalise_claim(*kind, statement, &Qualifiers::default()).norms;
            let (id, statement) = (Some(crate::domain::EventId([*n; 32])), (*statement).to_owned());
            line(millis(at), "ada", NormedClaim { id, kind: *kind, statement, norms, ..NormedClaim::default() })
        })
        .collect();
    for at in 0..2 {
        let by = lines[at + 1].id().into_iter().collect();
        lines[at].standing = ClaimStanding { in_force: false, replaced_by: by, ..ClaimStanding::default() };
    }
    assert_eq!(read(&guard, &lines), []);
}

#[test]
fn a_story_is_read_the_same_each_time() {
    let story = [
        ("2026-01-05", "ada", "Search runs on Solr."),
        ("2026-02-05", "bob", "Solr was retired."),
        ("2026-06-05", "cleo", "Solr answers the search requests."),
    ];
    assert_eq!(marks(&story), marks(&story));
}

/// A story of the fixture: its expected confusion, and its claims.
struct Fixture<'a> {
    title: &'a str,
    expected: Option<(&'a str, Vec<usize>)>,
    claims: Vec<(u64, &'a str, &'a str)>,
}

fn fixtures() -> Vec<Fixture<'static>> {
    let text = include_str!("../../tests/data/story/stories.txt");
    let mut stories = Vec::new();
    for block in text.split("\n\n").filter(|block| !block.starts_with('#')) {
        let mut lines = block.lines().filter(|line| !line.is_empty());
        let (head, title) = lines.next().unwrap().split_once(": ").unwrap();
        let mut head = head.split(' ');
        let kind = head.next().unwrap();
        let at: Vec<usize> = head.map(|n| n.parse::<usize>().unwrap() - 1).collect();
        let claims = lines
            .map(|line| {
                let (when, rest) = line.split_once(' ').unwrap();
                let (who, statement) = rest.split_once(": ").unwrap();
                (millis(&when.replace('T', " ")), who, statement)
            })
            .collect();
        stories.push(Fixture { title, expected: (kind != "coherent").then_some((kind, at)), claims });
    }
    stories
}

#[test]
fn the_written_stories_are_marked_as_they_should_be() {
    let guard = Guard::default();
    let mut wrong = Vec::new();
    for kind in [ClaimKind::Decision, ClaimKind::Fact] {
        for story in fixtures() {
            let lines: Vec<StoryClaim> = story
                .claims
                .iter()
                .map(|(at, who, statement)| {
                    let norms = guard.normalise(statement, &Qualifiers::default()).norms;
                    let statement = (*statement).to_owned();
                    line(*at, who, NormedClaim { kind, statement, norms, ..NormedClaim::default() })
                })
                .collect();
            let found: Vec<(&str, Vec<usize>)> =
                read(&guard, &lines).into_iter().map(|mark| (mark.confusion.as_str(), mark.claims)).collect();
            if found != story.expected.iter().cloned().collect::<Vec<_>>() {
                wrong.push(format!("{kind} {}: expected {:?}, found {found:?}", story.title, story.expected));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
