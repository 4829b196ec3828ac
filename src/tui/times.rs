//! Times for people: relative, and as a day.

use jiff::{Timestamp, ToSpan, tz::TimeZone};

pub use crate::domain::ago::{age, ago};

/// Formats the day, `2026-11-22`.
pub fn day(at: u64, zone: &TimeZone) -> String {
    format_at(at, zone, "%Y-%m-%d")
}

/// Returns the start of the day so many days before that of a time; both are in milliseconds since the Unix epoch. Days
/// are those of the calendar: one on which the clocks change has 23 or 25 hours.
pub fn midnight_before(at: u64, days: i64, zone: &TimeZone) -> u64 {
    let stamp = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let day = stamp.and_then(|stamp| stamp.to_zoned(zone.clone()).date().checked_sub(days.days()).ok());
    let start = day.and_then(|day| day.to_zoned(zone.clone()).ok());
    start.and_then(|start| u64::try_from(start.timestamp().as_millisecond()).ok()).unwrap_or_default()
}

/// Formats the day as people say it: `Today`, `Yesterday`, `Fri 20 Nov`, `20 Nov 2025`. At most eleven cells.
pub fn spoken_day(at: u64, now: u64, zone: &TimeZone) -> String {
    const DAY: u64 = 86_400_000;
    let today = midnight_before(now, 0, zone);
    if at >= today {
        "Today".to_owned()
    } else if at >= midnight_before(now, 1, zone) {
        "Yesterday".to_owned()
    } else if today.saturating_sub(at) < 300 * DAY {
        format_at(at, zone, "%a %-d %b")
    } else {
        format_at(at, zone, "%-d %b %Y")
    }
}

/// Formats the minute of the day, `14:05`.
pub fn clock(at: u64, zone: &TimeZone) -> String {
    format_at(at, zone, "%H:%M")
}

/// Formats day and minute, `2026-11-22 14:05`.
pub fn minute(at: u64, zone: &TimeZone) -> String {
    format_at(at, zone, "%Y-%m-%d %H:%M")
}

/// Formats a time so that a command line reads the same time in every time zone: `2026-11-22T14:05:09Z`.
pub fn utc(at: u64) -> String {
    format_at(at, &TimeZone::UTC, "%Y-%m-%dT%H:%M:%SZ")
}

fn format_at(at: u64, zone: &TimeZone, format: &str) -> String {
    i64::try_from(at)
        .ok()
        .and_then(|at| Timestamp::from_millisecond(at).ok())
        .map_or_else(|| "an unknown time".to_owned(), |at| at.to_zoned(zone.clone()).strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_called_as_people_call_them() {
        let now = 1_795_356_000_000;
        let zone = TimeZone::UTC;
        assert_eq!(midnight_before(now, 0, &zone), 1_795_305_600_000);
        assert_eq!(spoken_day(now, now, &zone), "Today");
        assert_eq!(spoken_day(now - 86_400_000, now, &zone), "Yesterday");
        assert_eq!(spoken_day(now - 2 * 86_400_000, now, &zone), "Fri 20 Nov");
        assert_eq!(spoken_day(now - 400 * 86_400_000, now, &zone), "18 Oct 2025");
        assert_eq!(clock(now, &zone), "14:00");
    }

    /// A point in time in milliseconds since the Unix epoch.
    fn at(text: &str) -> u64 {
        u64::try_from(text.parse::<Timestamp>().unwrap().as_millisecond()).unwrap()
    }

    #[rstest::rstest]
    // On October 25 the clocks go back: the day has 25 hours.
    #[case("2026-10-26T12:00+01:00", "2026-10-25T00:30+02:00", "Yesterday")]
    #[case("2026-10-26T12:00+01:00", "2026-10-24T23:30+02:00", "Sat 24 Oct")]
    // On March 29 they go forward: the day has 23 hours.
    #[case("2026-03-30T12:00+02:00", "2026-03-29T00:00+01:00", "Yesterday")]
    #[case("2026-03-30T12:00+02:00", "2026-03-28T23:30+01:00", "Sat 28 Mar")]
    fn yesterday_is_a_civil_day(#[case] now: &str, #[case] then: &str, #[case] expected: &str) {
        // The rule of Berlin, which needs no time zone database.
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        assert_eq!(spoken_day(at(then), at(now), &zone), expected);
    }

    #[test]
    fn minutes_and_days_are_local() {
        let now = 1_795_300_000_000;
        assert_eq!(minute(now, &TimeZone::UTC), "2026-11-21 22:26");
        assert_eq!(day(u64::MAX, &TimeZone::UTC), "an unknown time");
    }
}
