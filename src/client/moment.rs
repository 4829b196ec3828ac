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
    if let Ok(date) = text.parse::<civil::Date>()
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
        assert_eq!(moment("1970-01-02T00:00:00Z", 1), Some(86_400_000));
        let now = Timestamp::now().as_millisecond() as u64;
        assert!(moment("3d", 1).unwrap() > now + 2 * 86_400_000);
        assert!(moment("2 weeks", -1).unwrap() < now - 13 * 86_400_000);
        assert_eq!(moment("2020-02-30", 1), None);
    }
}
