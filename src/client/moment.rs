//! Points in time, as people and agents write them.

use jiff::{Span, Timestamp, civil, tz::TimeZone};

/// What [`moment`] accepts, for a message.
pub const MOMENT_FORMS: &str = "a date (2026-11-22), a time (2026-11-22T09:00) or a span (3d, 2 weeks)";

/// Parses a date, a date with time, or a span such as `3d` or `2 weeks`, counted from now in the direction of
/// `sign`. A date alone means its end. Returns milliseconds since the Unix epoch, or `None` if the text is
/// invalid.
pub fn moment(text: &str, sign: i64) -> Option<u64> {
    let millis = |timestamp: Timestamp| u64::try_from(timestamp.as_millisecond()).unwrap_or_default();
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Some(millis(timestamp));
    }
    let zone = TimeZone::system();
    // A date with a time is also parsed as a date.
    if let Ok(date) = text.parse::<civil::Date>()
        && date.to_string() == text
        && let Ok(next) = date.tomorrow().and_then(|next| next.to_zoned(zone.clone()))
    {
        return Some(millis(next.timestamp()).saturating_sub(1));
    }
    if let Ok(time) = text.parse::<civil::DateTime>()
        && let Ok(zoned) = time.to_zoned(zone.clone())
    {
        return Some(millis(zoned.timestamp()));
    }
    let span = text.parse::<Span>().ok()?;
    let span = if span.is_negative() { span.negate() } else { span };
    let moved = Timestamp::now().to_zoned(zone).checked_add(if sign < 0 { span.negate() } else { span }).ok()?;
    Some(millis(moved.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_spans_and_times_are_understood() {
        const HOUR: u64 = 60 * 60 * 1000;
        assert_eq!(moment("1970-01-02T00:00:00Z", 1), Some(24 * HOUR));
        assert_eq!(moment("2026-11-22", 1).map(|end| end + 1), moment("2026-11-23T00:00", 1), "the end of the day");
        let now = Timestamp::now().as_millisecond() as u64;
        // Clocks may change in the meantime.
        let is_about = |moment: Option<u64>, expected: u64| moment.unwrap().abs_diff(expected) < 2 * HOUR;
        assert!(is_about(moment("3d", 1), now + 3 * 24 * HOUR));
        assert!(is_about(moment("2 weeks", -1), now - 14 * 24 * HOUR));
        assert!(is_about(moment("-2 weeks", -1), now - 14 * 24 * HOUR), "the sign is that of the direction");
        assert_eq!(moment("2020-02-30", 1), None);
    }
}
