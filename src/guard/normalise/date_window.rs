//! Dates and periods: "until 31 March 2026", "between 1 January and 31 March 2026", "in Q3 2026".
//!
//! Only some dates say when a statement holds. In "the launch is on 31 March" and "as decided in 2024", the date is content, and
//! statements with different dates do not say the same.

use jiff::civil::Date;

use super::token::{Token, TokenKind};
use crate::guard::lexicon::lexicon;

/// A period of days, both ends inclusive; an open end is unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DateWindow {
    pub(crate) from: Option<Date>,
    pub(crate) until: Option<Date>,
}

impl DateWindow {
    /// Returns whether two periods have no day in common.
    pub(crate) fn is_disjoint(self, other: Self) -> bool {
        let before = |a: Option<Date>, b: Option<Date>| a.zip(b).is_some_and(|(until, from)| until < from);
        before(self.until, other.from) || before(other.until, self.from)
    }

    /// Returns whether both ends are open.
    pub(crate) fn is_open(self) -> bool {
        self.from.is_none() && self.until.is_none()
    }
}

/// The role of a date in its statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DateRole {
    /// A part of the period in which the statement holds.
    Period,
    /// The value of the subject: "the launch date is 2026-03-31".
    Value,
    /// A word like any other.
    Content,
}

/// A date in a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatedDate {
    /// The index of its first token.
    pub(crate) at: usize,
    /// The number of its tokens.
    pub(crate) length: usize,
    pub(crate) role: DateRole,
    /// The days that it names, as `YYYY-MM-DD` or `YYYY-MM-DD/YYYY-MM-DD`, without the year if that is unknown.
    pub(crate) name: String,
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

/// Returns the last day of a month in any year: 29 for February.
fn last_day(month: i8) -> i8 {
    match month {
        2 => 29,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The years that a statement may name.
const YEARS: std::ops::Range<i16> = 1970..2200;

fn year(word: &str) -> Option<i16> {
    (word.len() == 4).then(|| word.parse().ok()).flatten().filter(|year| YEARS.contains(year))
}

fn day(word: &str) -> Option<i8> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    (digits.len() <= 2).then(|| digits.parse().ok()).flatten().filter(|day| (1..=31).contains(day))
}

fn quarter(number: i8) -> Option<((i8, i8), (i8, i8))> {
    let last = number.checked_mul(3).filter(|m| (3..=12).contains(m))?;
    Some(((last - 2, 1), (last, last_day(last))))
}

/// Returns the month that the token at `at` names. "May" and "march" are verbs unless written as names.
fn month_at(tokens: &[Token], at: usize) -> Option<i8> {
    let token = tokens.get(at).filter(|t| t.kind == TokenKind::Word)?;
    month(&token.lower).filter(|_| token.capital || !matches!(token.lower.as_str(), "may" | "march"))
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
    // Other numbers of eight digits are no dates.
    if let Some(date) = first.parse::<Date>().ok().filter(|date| YEARS.contains(&date.year())) {
        let day = (date.month(), date.day());
        return Some((Span { year: Some(date.year()), first: day, last: day }, 1));
    }
    if let Some(month) = month_at(tokens, at) {
        if let Some(day) = word(1).and_then(day) {
            return with_year((month, day), (month, day), 2);
        }
        if let Some((year, more)) = year_at(1) {
            return Some((Span { year: Some(year), first: (month, 1), last: (month, last_day(month)) }, 1 + more));
        }
        // "The owner is April": a name.
        let named = tokens[at].capital && (is_introduced(tokens, at) || at > 0 && tokens[at - 1].lower == "between");
        return named.then_some((Span { year: None, first: (month, 1), last: (month, last_day(month)) }, 1));
    }
    // "Phase 2 may run": only before a year is the small "may" a month.
    let month_after = |offset: usize| {
        month_at(tokens, at + offset).or_else(|| year_at(offset + 1).and_then(|_| word(offset).and_then(month)))
    };
    if let (Some(day), Some(month)) = (day(first), month_after(1)) {
        return with_year((month, day), (month, day), 2);
    }
    if let (Some(day), Some("of"), Some(month)) = (day(first), word(1), month_after(2)) {
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
    let bare = year(first).filter(|_| is_introduced(tokens, at) && !is_counted(tokens, at))?;
    Some((Span { year: Some(bare), first: (1, 1), last: (12, 31) }, 1))
}

/// Returns whether a word before the token at `at` introduces a date.
fn is_introduced(tokens: &[Token], at: usize) -> bool {
    at > 0
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
        )
}

/// Returns whether the number at `at` is an amount, not a year: "for 2000 connections", "in 2000 ms".
fn is_counted(tokens: &[Token], at: usize) -> bool {
    let Some(next) = tokens.get(at + 1).filter(|t| t.kind == TokenKind::Word) else { return false };
    let (lexicon, word) = (lexicon(), next.lower.as_str());
    // "From 2000 to 3000 connections".
    let other = tokens.get(at + 2).filter(|t| t.kind == TokenKind::Number && matches!(word, "to" | "and" | "or"));
    if other.is_some_and(|other| year(&other.lower).is_none() && day(&other.lower).is_none()) {
        return true;
    }
    // "In 2026 deploys are frozen" begins with a year.
    lexicon.unit(word).is_some()
        || !(is_opening(tokens, at - 1) || lexicon.is_stop(word) || lexicon.cues(word, |_| None).next().is_some())
}

/// Returns whether the token at `at` begins a statement, or a part of it after a punctuation mark.
fn is_opening(tokens: &[Token], at: usize) -> bool {
    at.checked_sub(1).is_none_or(|before| matches!(tokens[before].kind, TokenKind::Punct(_)))
}

/// Returns whether the token at `at` is in an aside about something else: "which is supported until 2026".
fn is_aside(tokens: &[Token], at: usize) -> bool {
    tokens[..at]
        .iter()
        .rev()
        .take_while(|t| !matches!(t.kind, TokenKind::Punct(_)))
        .any(|t| matches!(t.lower.as_str(), "which" | "who" | "whose" | "because"))
}

fn date(year: Option<i16>, (month, day): (i8, i8)) -> Option<Date> {
    let date = |day| Date::new(year?, month, day).ok();
    // 29 February as the end of the month in a year that is not a leap year.
    date(day).or_else(|| date(28).filter(|_| (month, day) == (2, 29)))
}

/// Returns the period in which a statement holds, and its dates.
pub(crate) fn date_window(tokens: &[Token]) -> (DateWindow, Vec<StatedDate>) {
    let mut found: Vec<(Span, usize, usize)> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match span(tokens, at) {
            Some((span, taken)) => {
                found.push((span, at, taken));
                at += taken;
            }
            None => at += 1,
        }
    }
    let known = found.iter().rev().find_map(|(span, ..)| span.year);
    let mut window = DateWindow::default();
    let mut dates: Vec<StatedDate> = Vec::new();
    for (span, at, length) in &found {
        let year = span.year.or(known);
        let (first, last) = (date(year, span.first), date(year, span.last));
        let back = |offset: usize| at.checked_sub(offset).map_or("", |i| tokens[i].lower.as_str());
        let introduced_by = match back(1) {
            "the" | "end" | "start" | "beginning" => 2,
            "of" if back(2) != "as" => 4,
            _ => 1,
        };
        let preposition = at.checked_sub(introduced_by);
        let opens = preposition.is_some_and(|at| is_opening(tokens, at));
        let follows = dates.last().is_some_and(|before| *at <= before.at + before.length + 2);
        let mut role = DateRole::Period;
        match back(introduced_by) {
            _ if is_aside(tokens, *at) => role = DateRole::Content,
            "until" | "till" | "through" | "til" => window.until = last,
            // Elsewhere it is a deadline.
            "before" if opens => window.until = first.and_then(|d| d.yesterday().ok()),
            "from" | "since" | "starting" | "beginning" | "between" => window.from = first,
            "after" => window.from = last.and_then(|d| d.tomorrow().ok()),
            // "In 2026, …"; elsewhere it may be the day of an event.
            "on" | "in" | "for" | "within" if opens && window.is_open() => {
                window = DateWindow { from: first, until: last }
            }
            "during" | "throughout" if window.is_open() => window = DateWindow { from: first, until: last },
            "of" if back(introduced_by + 1) == "as" => window.from = first,
            "is" | "are" | "was" | "were" | "be" => role = DateRole::Value,
            // "From 1 January to 31 March".
            _ if follows && window.from.is_some() && window.until.is_none() => window.until = last,
            _ => role = DateRole::Content,
        }
        dates.push(StatedDate { at: *at, length: *length, role, name: name(year, *span) });
    }
    if window.from.zip(window.until).is_some_and(|(from, until)| from > until) {
        window = DateWindow::default();
    }
    (window, dates)
}

/// Returns the name of the days of a span.
fn name(year: Option<i16>, span: Span) -> String {
    let day = |(month, day): (i8, i8)| {
        year.map_or_else(|| format!("{month:02}-{day:02}"), |year| format!("{year}-{month:02}-{day:02}"))
    };
    if span.first == span.last { day(span.first) } else { format!("{}/{}", day(span.first), day(span.last)) }
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
    #[case("We freeze deploys until 2 may 2026.", None, Some("2026-05-02"))]
    #[case("As of 2026-01-01 the port is 80.", Some("2026-01-01"), None)]
    #[case("In 2026 deploys are frozen.", Some("2026-01-01"), Some("2026-12-31"))]
    // Amounts.
    #[case("The pool is sized for 2000 connections.", None, None)]
    #[case("Requests time out in 2000 ms.", None, None)]
    #[case("Sessions expire after 2000 seconds.", None, None)]
    // Days of events.
    #[case("The migration must be finished by 2027-03-31.", None, None)]
    #[case("The release must be out before 2027-01-01.", None, None)]
    #[case("Support for Node 16 ends in 2027.", None, None)]
    #[case("Sessions are kept in Redis, as decided in 2024.", None, None)]
    #[case("Do not use Redis which was chosen in 2019.", None, None)]
    #[case("Use Node 18, which is supported until 2025-04-30.", None, None)]
    #[case("The launch moved to 2026-04-15.", None, None)]
    // Verbs and names.
    #[case("Phase 2 may run in parallel until 2026-03-31.", None, Some("2026-03-31"))]
    #[case("The owner is April.", None, None)]
    fn windows(#[case] text: &str, #[case] from: Option<&str>, #[case] until: Option<&str>) {
        let (window, _) = date_window(&super::super::token::tokenise(text));
        let text = |d: Option<Date>| d.map(|d| d.to_string());
        assert_eq!((text(window.from).as_deref(), text(window.until).as_deref()), (from, until));
    }

    #[rstest]
    #[case("The launch date is 31 March 2026.", Some((DateRole::Value, "2026-03-31")))]
    #[case("The migration must be finished by 2027-03-31.", Some((DateRole::Content, "2027-03-31")))]
    #[case("Support ends in February 2027.", Some((DateRole::Content, "2027-02-01/2027-02-29")))]
    #[case("In Q3 2026 we use the old API.", Some((DateRole::Period, "2026-07-01/2026-09-30")))]
    #[case("Phase 2 may run in parallel.", None)]
    #[case("The owner of the billing service is June.", None)]
    #[case("Retry in 2000 ms.", None)]
    #[case("The account is 02020202.", None)]
    fn dates_have_a_role(#[case] text: &str, #[case] expected: Option<(DateRole, &str)>) {
        let (_, dates) = date_window(&super::super::token::tokenise(text));
        assert_eq!(dates.first().map(|date| (date.role, date.name.as_str())), expected);
    }
}
