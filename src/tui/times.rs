//! Times for people: relative, and as a day.

use jiff::{Timestamp, tz::TimeZone};

pub use crate::domain::ago::{age, ago};

/// Formats the day, `2026-11-22`.
pub fn day(at: u64, zone: &TimeZone) -> String {
    format_at(at, zone, "%Y-%m-%d")
}

/// Returns the start of the day of a time; both are in milliseconds since the Unix epoch.
pub fn midnight(at: u64, zone: &TimeZone) -> u64 {
    let stamp = i64::try_from(at).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let start = stamp.and_then(|stamp| stamp.to_zoned(zone.clone()).start_of_day().ok());
    start.and_then(|start| u64::try_from(start.timestamp().as_millisecond()).ok()).unwrap_or_default()
}

/// Formats the day as people say it: `Today`, `Yesterday`, `Fri 20 Nov`, `20 Nov 2025`. At most eleven cells.
pub fn spoken_day(at: u64, now: u64, zone: &TimeZone) -> String {
    const DAY: u64 = 86_400_000;
    let today = midnight(now, zone);
    match (at >= today, at >= today.saturating_sub(DAY)) {
        (true, _) => "Today".to_owned(),
        (_, true) => "Yesterday".to_owned(),
        _ if today.saturating_sub(at) < 300 * DAY => format_at(at, zone, "%a %-d %b"),
        _ => format_at(at, zone, "%-d %b %Y"),
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
        assert_eq!(midnight(now, &zone), 1_795_305_600_000);
        assert_eq!(spoken_day(now, now, &zone), "Today");
        assert_eq!(spoken_day(now - 86_400_000, now, &zone), "Yesterday");
        assert_eq!(spoken_day(now - 2 * 86_400_000, now, &zone), "Fri 20 Nov");
        assert_eq!(spoken_day(now - 400 * 86_400_000, now, &zone), "18 Oct 2025");
        assert_eq!(clock(now, &zone), "14:00");
    }

    #[test]
    fn minutes_and_days_are_local() {
        let now = 1_795_300_000_000;
        assert_eq!(minute(now, &TimeZone::UTC), "2026-11-21 22:26");
        assert_eq!(day(u64::MAX, &TimeZone::UTC), "an unknown time");
    }
}
