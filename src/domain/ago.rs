//! Formats times as days and ages, in words and for columns. Pure; times are milliseconds since the Unix epoch.

use jiff::{Timestamp, tz::TimeZone};

/// The units of an age, the largest first: length in seconds, and name.
const UNITS: [(u64, &str); 6] = [
    (365 * 86_400, "year"),
    (30 * 86_400, "month"),
    (7 * 86_400, "week"),
    (86_400, "day"),
    (3_600, "hour"),
    (60, "minute"),
];

/// Describes a time relative to `now`: `just now`, `5 minutes ago`, `in 2 days`.
pub fn ago(at: u64, now: u64) -> String {
    match span(now.abs_diff(at) / 1000) {
        None => "just now".to_owned(),
        Some(span) if at > now => format!("in {span}"),
        Some(span) => format!("{span} ago"),
    }
}

/// Describes a duration in its largest whole unit; `None` if it is under a minute.
pub fn span(seconds: u64) -> Option<String> {
    let (size, word) = UNITS.iter().find(|(size, _)| seconds >= *size)?;
    let count = seconds / size;
    Some(if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") })
}

/// Formats an age in at most four characters, for columns: `now`, `5m`, `3h`, `12d`, `9w`, `2y`.
pub fn age(at: u64, now: u64) -> String {
    let minutes = now.saturating_sub(at) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes}m"),
        60..1440 => format!("{}h", minutes / 60),
        1440..86_400 => format!("{}d", minutes / 1440),
        86_400..1_048_320 => format!("{}w", minutes / 10_080),
        _ => format!("{}y", (minutes / 525_600).min(999)),
    }
}

/// Returns the UTC day of a time: `2026-03-01`.
pub fn day(at: u64) -> String {
    let stamp = i64::try_from(at).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX);
    stamp.to_zoned(TimeZone::UTC).date().to_string()
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
    fn an_age_is_in_its_largest_unit(#[case] seconds: u64, #[case] words: &str) {
        assert_eq!(ago(1_000_000_000_000, 1_000_000_000_000 + seconds * 1000), words);
    }

    #[test]
    fn the_future_is_named() {
        assert_eq!(ago(86_400_000, 0), "in 1 day");
    }

    #[test]
    fn a_column_has_four_cells() {
        let now = 1_795_300_000_000;
        for at in [0, now - 300_000, now - 86_400_000 * 400, now] {
            assert!(age(at, now).len() <= 4);
        }
    }

    #[test]
    fn days_are_utc() {
        assert_eq!(day(0), "1970-01-01");
        assert_eq!(day(1_795_305_600_000), "2026-11-22");
        assert_eq!(day(u64::MAX).len(), 10);
    }
}
