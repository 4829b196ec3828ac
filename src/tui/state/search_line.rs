//! Filters of the list of claims, and the search line in which they can be typed: `canary by:max since:7d
//! source:docs/adr`. A `!` before a word, name, source or kind excludes it: `!canary !by:max`.

use jiff::{civil::Date, tz::TimeZone};

use crate::domain::{ClaimKind, Status};

pub(super) const DAY_MS: u64 = 86_400_000;

/// The guard's result for a claim, as a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictChoice {
    /// The claim is on an open card.
    Disputed,
    /// The claim was stored with a warning.
    Warned,
    /// Neither.
    Clean,
}

impl VerdictChoice {
    /// All values, in the order in which the filter's key cycles through them.
    pub const ALL: [Self; 3] = [Self::Disputed, Self::Warned, Self::Clean];

    /// Returns the word of the result on the wire and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disputed => "disputed",
            Self::Warned => "warned",
            Self::Clean => "clean",
        }
    }
}

/// The ages in days through which the age filter cycles.
pub const AGES: [u64; 3] = [1, 7, 30];

/// The beginning of a period, as it is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// So many days ago.
    Days(u64),
    /// At the start of this day.
    Date(Date),
}

impl Since {
    /// Returns the time in milliseconds since the Unix epoch.
    pub fn begin(self, now: u64, zone: &TimeZone) -> u64 {
        match self {
            Self::Days(days) => since(days, now),
            Self::Date(date) => {
                let begin = date.to_zoned(zone.clone()).map_or(0, |begin| begin.timestamp().as_millisecond());
                u64::try_from(begin).unwrap_or_default()
            }
        }
    }
}

/// A parsed search line: words and filters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchLine {
    /// Words to search for.
    pub words: String,
    /// Only claims by this person or agent.
    pub who: Option<String>,
    /// Only claims with this text in their source.
    pub source: Option<String>,
    /// Only claims written since then.
    pub since: Option<Since>,
    /// Only claims of this kind.
    pub kind: Option<ClaimKind>,
    /// Only claims of this status; `Some(None)` for all, `None` if the line does not say.
    pub status: Option<Option<Status>>,
    /// Only claims with this result of the guard.
    pub verdict: Option<VerdictChoice>,
    /// Words of which a claim may contain none.
    pub without: String,
    /// No claims by this person or agent.
    pub not_who: Option<String>,
    /// No claims with this text in their source.
    pub not_source: Option<String>,
    /// No claims of these kinds.
    pub not_kinds: Vec<ClaimKind>,
    /// The first filter without a valid value, which is a word to search for, and what its values are.
    pub invalid: Option<String>,
}

impl SearchLine {
    /// Parses a search line. A part that is not a valid filter is a word to search for, so that nothing that was typed
    /// is lost.
    pub fn parse(text: &str) -> Self {
        let mut line = Self::default();
        let (mut words, mut without) = (Vec::new(), Vec::new());
        for part in text.split_whitespace() {
            match part.strip_prefix('!') {
                // The part is still being typed.
                Some("") => {}
                Some(rest) if line.take_excluding(rest) => {}
                Some(rest) if rest.contains(char::is_alphanumeric) => {
                    if rest.starts_with("kind:") {
                        line.report_invalid(rest);
                    }
                    without.push(rest);
                }
                _ if line.take_filter(part) => {}
                _ => {
                    line.report_invalid(part);
                    words.push(part);
                }
            }
        }
        line.words = words.join(" ");
        line.without = without.join(" ");
        // White space at the end says that the last word is complete.
        if text.ends_with(' ') && !line.words.is_empty() {
            line.words.push(' ');
        }
        line
    }

    /// Records that a part has the name of a filter, but no valid value.
    fn report_invalid(&mut self, part: &str) {
        let Some((name, _)) = part.split_once(':') else { return };
        let values = match name {
            "kind" => "decision, constraint, rejection, convention or fact",
            "since" => "days (7d), weeks (2w) or a date (2026-11-22)",
            "status" => "active, superseded, retracted or all",
            "guard" => "disputed, warned or clean",
            _ => return,
        };
        self.invalid.get_or_insert_with(|| {
            format!("Invalid filter “{part}”, so it is searched for as a word: {name} takes {values}.")
        });
    }

    /// Returns the kinds that the line leaves, which may be none; `None` if it says nothing about kinds.
    pub fn kinds(&self) -> Option<Vec<ClaimKind>> {
        let left = |kind: &ClaimKind| self.kind.is_none_or(|only| only == *kind) && !self.not_kinds.contains(kind);
        let says = self.kind.is_some() || !self.not_kinds.is_empty();
        says.then(|| ClaimKind::ALL.into_iter().filter(left).collect())
    }

    /// Applies an excluding filter, such as the `by:max` of `!by:max`. Returns `false` if the part is not one.
    fn take_excluding(&mut self, part: &str) -> bool {
        let Some((name, value)) = part.split_once(':') else { return false };
        match (name, value) {
            ("by" | "source" | "kind", "") => {}
            ("source", value) if !has_word(value) => {}
            ("by", value) => self.not_who = Some(value.to_owned()),
            ("source", value) => self.not_source = Some(value.to_owned()),
            ("kind", value) => match value.parse::<ClaimKind>() {
                Ok(kind) => self.not_kinds.push(kind),
                Err(_) => return false,
            },
            _ => return false,
        }
        true
    }

    /// Applies a filter such as `by:max`. Returns `false` if the part is not a valid one.
    fn take_filter(&mut self, part: &str) -> bool {
        let Some((name, value)) = part.split_once(':') else { return false };
        if value.is_empty() || (name == "source" && !has_word(value)) {
            // The filter is still being typed: it is not a filter yet, and not a word either.
            return FILTER_NAMES.contains(&name);
        }
        match name {
            "by" => self.who = Some(value.to_owned()),
            "source" => self.source = Some(value.to_owned()),
            "since" => match days(value).map(Since::Days).or_else(|| value.parse().ok().map(Since::Date)) {
                Some(since) => self.since = Some(since),
                None => return false,
            },
            "kind" => match value.parse() {
                Ok(kind) => self.kind = Some(kind),
                Err(_) => return false,
            },
            "status" if value == "all" => self.status = Some(None),
            "status" => match value.parse() {
                Ok(status) => self.status = Some(Some(status)),
                Err(_) => return false,
            },
            "guard" => match VerdictChoice::ALL.into_iter().find(|verdict| verdict.as_str() == value) {
                Some(verdict) => self.verdict = Some(verdict),
                None => return false,
            },
            _ => return false,
        }
        true
    }
}

/// Returns whether a source has a letter or digit. The daemon rejects a search for a source without one.
fn has_word(source: &str) -> bool {
    source.contains(char::is_alphanumeric)
}

const FILTER_NAMES: [&str; 6] = ["by", "source", "since", "kind", "status", "guard"];

/// Parses a number of days such as `7d` or `2w`, from 1 to 3650 units.
fn days(text: &str) -> Option<u64> {
    let split = text.len().checked_sub(1)?;
    let (number, unit) = (text.get(..split)?, text.get(split..)?);
    let number: u64 = number.parse().ok().filter(|number| (1..=3650).contains(number))?;
    match unit {
        "d" => Some(number),
        "w" => Some(number * 7),
        _ => None,
    }
}

/// Returns the beginning of a period of so many days, in milliseconds since the Unix epoch. It is rounded down to the
/// hour, so that further pages of a list belong to the same query.
pub fn since(days: u64, now: u64) -> u64 {
    const HOUR: u64 = 3_600_000;
    now.saturating_sub(days * DAY_MS) / HOUR * HOUR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_words_and_filters_in_any_order() {
        let line =
            SearchLine::parse("canary by:max colour since:2w source:docs/adr guard:warned kind:decision status:all");
        assert_eq!(line.words, "canary colour");
        assert_eq!((line.who.as_deref(), line.source.as_deref()), (Some("max"), Some("docs/adr")));
        assert_eq!((line.since, line.invalid.as_deref()), (Some(Since::Days(14)), None));
        assert_eq!((line.verdict, line.kinds()), (Some(VerdictChoice::Warned), Some(vec![ClaimKind::Decision])));
        assert_eq!(line.status, Some(None));
    }

    #[test]
    fn what_is_no_filter_is_searched_for_and_what_is_half_typed_waits() {
        assert_eq!(SearchLine::parse("https://x since:soon kind:odd").words, "https://x since:soon kind:odd");
        assert_eq!(SearchLine::parse("canary by:"), SearchLine { words: "canary".into(), ..SearchLine::default() });
        for half in ["canary source:.", "canary source:/", "canary !source:."] {
            assert_eq!(
                SearchLine::parse(half),
                SearchLine { words: "canary".into(), ..SearchLine::default() },
                "{half}"
            );
        }
        assert_eq!(SearchLine::parse("source:.c").source.as_deref(), Some(".c"));
        assert_eq!(SearchLine::parse("can").words, "can");
        assert_eq!(SearchLine::parse("can ").words, "can ");
        assert_eq!(SearchLine::parse("since:99999999999999999999d").words, "since:99999999999999999999d");
        assert_eq!(SearchLine::parse("since:é").words, "since:é");
    }

    #[test]
    fn a_mark_before_it_means_all_but_that() {
        let line = SearchLine::parse("canary !blue !red !by:max !source:docs !kind:fact !kind:decision");
        assert_eq!((line.words.as_str(), line.without.as_str()), ("canary", "blue red"));
        assert_eq!((line.not_who.as_deref(), line.not_source.as_deref()), (Some("max"), Some("docs")));
        assert_eq!(line.kinds().unwrap(), [ClaimKind::Constraint, ClaimKind::Rejection, ClaimKind::Convention]);
        assert_eq!((line.who, line.source), (None, None));
        let half = SearchLine::parse("canary ! !by: !!");
        assert_eq!((half.words.as_str(), half.without.as_str(), half.not_who), ("canary !!", "", None), "half typed");
    }

    #[rstest::rstest]
    #[case("canary", None)]
    #[case("kind:fact !kind:decision", Some(vec![ClaimKind::Fact]))]
    #[case("kind:fact !kind:fact", Some(vec![]))]
    #[case("!kind:fact kind:fact", Some(vec![]))]
    #[case("!kind:fact !kind:decision !kind:constraint !kind:rejection !kind:convention", Some(vec![]))]
    fn kinds_that_exclude_each_other_leave_none(#[case] line: &str, #[case] kinds: Option<Vec<ClaimKind>>) {
        assert_eq!(SearchLine::parse(line).kinds(), kinds);
    }

    #[rstest::rstest]
    #[case("kind:bogus", "kind takes decision, constraint, rejection, convention or fact.")]
    #[case("canary !kind:bogus", "kind takes decision, constraint, rejection, convention or fact.")]
    #[case("since:yesterday", "since takes days (7d), weeks (2w) or a date (2026-11-22).")]
    #[case("status:open", "status takes active, superseded, retracted or all.")]
    #[case("guard:refused kind:odd", "guard takes disputed, warned or clean.")]
    fn a_filter_without_a_valid_value_is_reported(#[case] line: &str, #[case] values: &str) {
        let invalid = SearchLine::parse(line).invalid.unwrap();
        assert!(invalid.starts_with("Invalid filter “") && invalid.ends_with(values), "{invalid}");
    }

    #[test]
    fn a_period_begins_at_a_date_or_days_ago() {
        let line = SearchLine::parse("since:1970-01-03");
        assert_eq!((line.words.as_str(), line.invalid), ("", None));
        assert_eq!(line.since.unwrap().begin(0, &TimeZone::UTC), 2 * DAY_MS);
        assert_eq!(Since::Days(1).begin(3 * DAY_MS, &TimeZone::UTC), 2 * DAY_MS);
        assert_eq!(SearchLine::parse("https://x 12:30").invalid, None);
    }

    #[test]
    fn an_age_is_cut_to_the_hour() {
        assert_eq!(since(1, 2 * DAY_MS + 59), DAY_MS);
        assert_eq!(since(9, 3), 0);
    }
}
