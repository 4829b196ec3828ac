//! Times for people: how long ago, and how long a span a person may write.

use crate::{cli::CliError, client};

/// The units of an age, the largest first: seconds, and the word for one.
const UNITS: [(u64, &str); 6] = [
    (365 * 86_400, "year"),
    (30 * 86_400, "month"),
    (7 * 86_400, "week"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
];

/// How long before `now` something happened; both in milliseconds since the Unix epoch.
pub(crate) fn ago(at: u64, now: u64) -> String {
    match span(now.abs_diff(at) / 1000) {
        None => "just now".to_owned(),
        Some(span) if at > now => format!("in {span}"),
        Some(span) => format!("{span} ago"),
    }
}

/// A length of time in its largest whole unit; `None` under a minute.
fn span(seconds: u64) -> Option<String> {
    let (size, word) = UNITS.iter().find(|(size, _)| seconds >= *size)?;
    let count = seconds / size;
    Some(if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") })
}

/// A length of time, also below a minute.
pub(crate) fn lasting(seconds: u64) -> String {
    span(seconds).unwrap_or_else(|| format!("{seconds} s"))
}

/// How long until a moment, in minutes or more; one that has begun counts as whole. Both in milliseconds since the Unix epoch.
pub(crate) fn left(until: u64, now: u64) -> String {
    lasting(until.saturating_sub(now).div_ceil(60_000).max(1) * 60)
}

/// [`moment`] in the past, but a date alone means its beginning: from when on.
pub(crate) fn since(text: &str) -> Result<u64, CliError> {
    let begin =
        text.parse::<jiff::civil::Date>().ok().and_then(|date| date.to_zoned(jiff::tz::TimeZone::system()).ok());
    match begin {
        Some(begin) => Ok(u64::try_from(begin.timestamp().as_millisecond()).unwrap_or_default()),
        None => moment(text, -1),
    }
}

/// The moment that a person wrote ([`client::moment`]), in milliseconds since the Unix epoch.
pub(crate) fn moment(text: &str, sign: i64) -> Result<u64, CliError> {
    client::moment(text, sign).ok_or_else(|| {
        CliError::usage(format_args!("invalid time “{text}”")).hint(format_args!("write {}", client::MOMENT_FORMS))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(5, "just now")]
    #[case(60, "1 minute ago")]
    #[case(2 * 3600 + 5, "2 hours ago")]
    #[case(3 * 86_400, "3 days ago")]
    #[case(400 * 86_400, "1 year ago")]
    fn ages_are_told_in_their_largest_unit(#[case] seconds: u64, #[case] told: &str) {
        assert_eq!(ago(1_000_000_000_000, 1_000_000_000_000 + seconds * 1000), told);
    }

    #[test]
    fn what_is_to_come_is_told_so() {
        assert_eq!(ago(86_400_000, 0), "in 1 day");
    }

    #[rstest::rstest]
    #[case(0, "1 minute")]
    #[case(899, "15 minutes")]
    #[case(900, "15 minutes")]
    #[case(7_199, "2 hours")]
    fn what_is_left_counts_the_minute_that_has_begun(#[case] seconds: u64, #[case] told: &str) {
        assert_eq!(left(1_000 + seconds * 1_000, 1_000), told);
    }

    #[test]
    fn rubbish_says_what_was_expected() {
        assert!(moment("2020-02-30", 1).unwrap_err().hints[0].contains("3d"));
    }
}
