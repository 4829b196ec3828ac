//! Dates and periods: "until 31 March 2026", "between 1 January and 31 March 2026", "in Q3 2026".

use jiff::civil::Date;

use super::token::{Token, TokenKind};

/// A period of days, both ends inclusive; an open end is unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DateWindow {
    pub(crate) from: Option<Date>,
    pub(crate) until: Option<Date>,
}

impl DateWindow {
    /// Returns whether the two have no day in common.
    pub(crate) fn is_disjoint(self, other: Self) -> bool {
        let before = |a: Option<Date>, b: Option<Date>| a.zip(b).is_some_and(|(until, from)| until < from);
        before(self.until, other.from) || before(other.until, self.from)
    }

    /// Returns whether both ends are open.
    pub(crate) fn is_open(self) -> bool {
        self.from.is_none() && self.until.is_none()
    }
}

/// The days that one expression names; the year may be missing.
#[derive(Clone, Copy, Debug)]
struct Span {
    year: Option<i16>,
    first: (i8, i8),
    last: (i8, i8),
}

fn month(word: &str) -> Option<i8> {
    const NAMES: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let at = NAMES.iter().position(|name| {
        *name == word || (word.len() == 3 && name.starts_with(word)) || (word == "sept" && *name == "september")
    })?;
    i8::try_from(at + 1).ok()
}

/// The last day of a month, in whatever year.
fn last_day(month: i8) -> i8 {
    match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn year(word: &str) -> Option<i16> {
    (word.len() == 4).then(|| word.parse().ok()).flatten().filter(|year| (1970..2200).contains(year))
}

fn day(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    (digits.len() <= 2).then(|| digits.parse().ok()).flatten().filter(|day| (1..=31).contains(day))
}

fn quarter(number: i8) -> Option<((i8, i8), (i8, i8))> {
    let last = number.checked_mul(3).filter(|m| (3..=12).contains(m))?;
    Some(((last - 2, 1), (last, last_day(last))))
}

/// Reads a span that starts at token `at`; returns it with the number of tokens.
fn span(tokens: &[Token], at: usize) -> Option<(Span, usize)> {
    let word = |offset: usize| {
        tokens.get(at + offset).filter(|t| !matches!(t.kind, TokenKind::Punct(_))).map(|t| t.lower.as_str())
    };
    // A comma may stand before the year.
    let year_at = |offset: usize| match tokens.get(at + offset) {
        Some(t) if t.kind == TokenKind::Punct(',') => word(offset + 1).and_then(year).map(|y| (y, 2)),
        Some(t) => year(&t.lower).map(|y| (y, 1)),
        None => None,
    };
    let with_year = |first, last, taken: usize| {
        let (year, more) = year_at(taken).map_or((None, 0), |(year, more)| (Some(year), more));
        Some((Span { year, first, last }, taken + more))
    };
    let first = word(0)?;
    if let Ok(date) = first.parse::<Date>() {
        let day = (date.month(), date.day());
        return Some((Span { year: Some(date.year()), first: day, last: day }, 1));
    }
    if let Some(month) = month(first) {
        let capital = tokens[at].capital;
        if let Some(day) = word(1).and_then(day) {
            return with_year((month, day), (month, day), 2);
        }
        if let Some((year, more)) = year_at(1) {
            return Some((Span { year: Some(year), first: (month, 1), last: (month, last_day(month)) }, 1 + more));
        }
        // "may" and "march" are verbs unless written as names.
        return (capital && at > 0)
            .then_some((Span { year: None, first: (month, 1), last: (month, last_day(month)) }, 1));
    }
    if let (Some(day), Some(month)) = (day(first), word(1).and_then(month)) {
        return with_year((month, day), (month, day), 2);
    }
    if let (Some(day), Some("of"), Some(month)) = (day(first), word(1), word(2).and_then(month)) {
        return with_year((month, day), (month, day), 3);
    }
    if let Some((first, last)) = first.strip_prefix('q').and_then(|n| n.parse().ok()).and_then(quarter) {
        return with_year(first, last, 1);
    }
    if word(1) == Some("quarter") {
        let number = match first {
            "first" | "1st" => 1,
            "second" | "2nd" => 2,
            "third" | "3rd" => 3,
            "fourth" | "4th" | "last" => 4,
            _ => return None,
        };
        let (from, to) = quarter(number)?;
        let skip = if word(2) == Some("of") { 3 } else { 2 };
        return with_year(from, to, skip);
    }
    year(first).map(|year| (Span { year: Some(year), first: (1, 1), last: (12, 31) }, 1))
}

fn date(year: Option<i16>, (month, day): (i8, i8)) -> Option<Date> {
    let date = |day| Date::new(year?, month, day).ok();
    // The end of February, whose year was not known yet.
    date(day).or_else(|| date(28).filter(|_| (month, day) == (2, 29)))
}

/// Returns the period that the dates of a statement define, and the indexes of their tokens.
pub(crate) fn date_window(tokens: &[Token]) -> (DateWindow, Vec<usize>) {
    let mut found: Vec<(Span, usize, usize)> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let bare_year = year(&tokens[at].lower).is_some();
        let introduced = at > 0
            && matches!(
                tokens[at - 1].lower.as_str(),
                "in" | "during"
                    | "since"
                    | "until"
                    | "till"
                    | "from"
                    | "before"
                    | "after"
                    | "through"
                    | "throughout"
                    | "of"
                    | "by"
                    | "for"
            );
        match span(tokens, at) {
            Some((span, taken)) if !bare_year || introduced => {
                found.push((span, at, taken));
                at += taken;
            }
            _ => at += 1,
        }
    }
    let known = found.iter().rev().find_map(|(span, ..)| span.year);
    let mut window = DateWindow::default();
    let mut taken = Vec::new();
    for (index, (span, at, length)) in found.iter().enumerate() {
        taken.extend(*at..at + length);
        let year = span.year.or(known);
        let (first, last) = (date(year, span.first), date(year, span.last));
        let back = |offset: usize| at.checked_sub(offset).map_or("", |i| tokens[i].lower.as_str());
        let before = match back(1) {
            "the" | "end" | "start" | "beginning" => back(2),
            "of" => back(4),
            word => word,
        };
        match before {
            "until" | "till" | "through" | "by" | "to" | "til" => window.until = last,
            "before" => window.until = first.and_then(|d| d.yesterday().ok()),
            "from" | "since" | "starting" | "beginning" | "between" => window.from = first,
            "after" => window.from = last.and_then(|d| d.tomorrow().ok()),
            "and" if index > 0 => window.until = last,
            "on" | "in" | "during" | "for" | "throughout" | "within" if window.is_open() => {
                window = DateWindow { from: first, until: last }
            }
            "of" if back(1) == "as" || back(2) == "as" => window.from = first,
            _ if index > 0 && window.from.is_some() && window.until.is_none() => window.until = last,
            _ => {}
        }
    }
    if window.from.zip(window.until).is_some_and(|(from, until)| from > until) {
        window = DateWindow::default();
    }
    (window, taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("The freeze holds until 31 March 2026.", None, Some("2026-03-31"))]
    #[case("From 2026-04-01 on deploys are open.", Some("2026-04-01"), None)]
    #[case("Between 1 January and 31 March 2026 nobody deploys.", Some("2026-01-01"), Some("2026-03-31"))]
    #[case("In Q3 2026 we use the old API.", Some("2026-07-01"), Some("2026-09-30"))]
    #[case("In the first quarter of 2026 we freeze.", Some("2026-01-01"), Some("2026-03-31"))]
    #[case("Since June 5, 2025 the port is 80.", Some("2025-06-05"), None)]
    #[case("Before 2027-01-01 the port is 80.", None, Some("2026-12-31"))]
    #[case("In February 2028 nobody deploys.", Some("2028-02-01"), Some("2028-02-29"))]
    #[case("In February 2027 nobody deploys.", Some("2027-02-01"), Some("2027-02-28"))]
    #[case("During 2025 the port is 80.", Some("2025-01-01"), Some("2025-12-31"))]
    #[case("You may use port 2026.", None, None)]
    fn windows(#[case] text: &str, #[case] from: Option<&str>, #[case] until: Option<&str>) {
        let (window, _) = date_window(&super::super::token::tokenise(text));
        let text = |d: Option<Date>| d.map(|d| d.to_string());
        assert_eq!((text(window.from).as_deref(), text(window.until).as_deref()), (from, until));
    }
}
