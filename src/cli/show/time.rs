//! Relative times, and parsing of times that people write.

pub(crate) use crate::domain::ago::{ago, day};
use crate::{cli::CliError, client, domain::ago::span};

/// Formats a duration, in seconds below a minute.
pub(crate) fn lasting(seconds: u64) -> String {
    span(seconds).unwrap_or_else(|| format!("{seconds} s"))
}

/// Formats the time left until a moment, rounded up to minutes. Both in milliseconds since the Unix epoch.
pub(crate) fn left(until: u64, now: u64) -> String {
    lasting(until.saturating_sub(now).div_ceil(60_000).max(1) * 60)
}

/// Parses the start of a period: like [`moment`] in the past, but a date means its first moment.
pub(crate) fn since(text: &str) -> Result<u64, CliError> {
    let begin =
        text.parse::<jiff::civil::Date>().ok().and_then(|date| date.to_zoned(jiff::tz::TimeZone::system()).ok());
    match begin {
        Some(begin) => Ok(u64::try_from(begin.timestamp().as_millisecond()).unwrap_or_default()),
        None => moment(text, -1),
    }
}

/// Parses a time that a person wrote ([`client::moment`]) to milliseconds since the Unix epoch.
pub(crate) fn moment(text: &str, sign: i64) -> Result<u64, CliError> {
    client::moment(text, sign).ok_or_else(|| {
        CliError::usage(format_args!("invalid time “{text}”")).hint(format_args!("write {}", client::MOMENT_FORMS))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case(0, "1 minute")]
    #[case(899, "15 minutes")]
    #[case(900, "15 minutes")]
    #[case(7_199, "2 hours")]
    fn what_is_left_counts_the_minute_that_has_begun(#[case] seconds: u64, #[case] expected: &str) {
        assert_eq!(left(1_000 + seconds * 1_000, 1_000), expected);
    }

    #[test]
    fn rubbish_says_what_was_expected() {
        assert!(moment("2020-02-30", 1).unwrap_err().hints[0].contains("3d"));
    }
}
