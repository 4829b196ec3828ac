//! What the list of claims is limited to, and the search line that says it in words: `canary by:max since:7d source:docs/adr`. A `!`
//! before a word, a name, a source or a kind means all but that: `!canary !by:max`.

use crate::domain::{ClaimKind, Status};

/// Milliseconds of a day.
const DAY: u64 = 86_400_000;

/// The guard's result for a claim, as a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerdictChoice {
    /// It stands on an open card.
    Disputed,
    /// It was stored with a warning.
    Warned,
    /// Neither.
    Clean,
}

impl VerdictChoice {
    /// Every one, in the order in which the key goes through them.
    pub const ALL: [Self; 3] = [Self::Disputed, Self::Warned, Self::Clean];

    /// The word on the wire and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disputed => "disputed",
            Self::Warned => "warned",
            Self::Clean => "clean",
        }
    }
}

/// How old a claim may be, in days.
pub const AGES: [u64; 3] = [1, 7, 30];

/// What the search line says: words, and what narrows the list besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchLine {
    /// Words to search for.
    pub words: String,
    /// Only by this person or agent.
    pub who: Option<String>,
    /// Only with this in their source.
    pub source: Option<String>,
    /// Only of the last so many days.
    pub days: Option<u64>,
    /// Only of these kinds; empty for all.
    pub kinds: Vec<ClaimKind>,
    /// Only of this status; `Some(None)` for all.
    pub status: Option<Option<Status>>,
    /// Only claims with this result of the guard.
    pub verdict: Option<VerdictChoice>,
    /// Words of which none may be there.
    pub without: String,
    /// Only by anybody but this person or agent.
    pub not_who: Option<String>,
    /// Only without this in their source.
    pub not_source: Option<String>,
}

impl SearchLine {
    /// Reads a search line. What is no filter is a word to search for, so that nothing that is typed is lost.
    pub fn parse(text: &str) -> Self {
        let mut line = Self::default();
        let (mut words, mut without) = (Vec::new(), Vec::new());
        for part in text.split_whitespace() {
            match part.strip_prefix('!') {
                // Half typed.
                Some("") => {}
                Some(rest) if line.leave(rest) => {}
                Some(rest) if rest.contains(char::is_alphanumeric) => without.push(rest),
                _ if line.take(part) => {}
                _ => words.push(part),
            }
        }
        line.words = words.join(" ");
        line.without = without.join(" ");
        // The white space says that the last word is whole.
        if text.ends_with(' ') && !line.words.is_empty() {
            line.words.push(' ');
        }
        line
    }

    /// Takes what is not wanted.
    fn leave(&mut self, part: &str) -> bool {
        let Some((name, value)) = part.split_once(':') else { return false };
        match (name, value) {
            ("by" | "source" | "kind", "") => {}
            ("source", value) if !has_word(value) => {}
            ("by", value) => self.not_who = Some(value.to_owned()),
            ("source", value) => self.not_source = Some(value.to_owned()),
            ("kind", value) => match value.parse::<ClaimKind>() {
                Ok(not) => {
                    let among = if self.kinds.is_empty() { ClaimKind::ALL.to_vec() } else { self.kinds.clone() };
                    self.kinds = among.into_iter().filter(|kind| *kind != not).collect();
                }
                Err(_) => return false,
            },
            _ => return false,
        }
        true
    }

    fn take(&mut self, part: &str) -> bool {
        let Some((name, value)) = part.split_once(':') else { return false };
        if value.is_empty() || (name == "source" && !has_word(value)) {
            // Half typed: neither a filter yet nor a word.
            return NAMES.contains(&name);
        }
        match name {
            "by" => self.who = Some(value.to_owned()),
            "source" => self.source = Some(value.to_owned()),
            "since" => match days(value) {
                Some(days) => self.days = Some(days),
                None => return false,
            },
            "kind" => match value.parse() {
                Ok(kind) => self.kinds = vec![kind],
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

/// Whether a source has letters or digits; without any, the daemon refuses to search for it.
fn has_word(source: &str) -> bool {
    source.contains(char::is_alphanumeric)
}

const NAMES: [&str; 6] = ["by", "source", "since", "kind", "status", "guard"];

/// `7d` or `2w` as days.
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

/// The moment from which on claims of the last so many days were written. Cut to the hour, so that a list that is read on is
/// the same list.
pub fn since(days: u64, now: u64) -> u64 {
    const HOUR: u64 = 3_600_000;
    now.saturating_sub(days * DAY) / HOUR * HOUR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_words_and_filters_in_any_order() {
        let line =
            SearchLine::parse("canary by:max colour since:2w source:docs/adr guard:warned kind:decision status:all");
        assert_eq!(line.words, "canary colour");
        assert_eq!((line.who.as_deref(), line.source.as_deref(), line.days), (Some("max"), Some("docs/adr"), Some(14)));
        assert_eq!((line.verdict, line.kinds), (Some(VerdictChoice::Warned), vec![ClaimKind::Decision]));
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
        assert_eq!(line.kinds, [ClaimKind::Constraint, ClaimKind::Rejection, ClaimKind::Convention]);
        assert_eq!((line.who, line.source), (None, None));
        let half = SearchLine::parse("canary ! !by: !!");
        assert_eq!((half.words.as_str(), half.without.as_str(), half.not_who), ("canary !!", "", None), "half typed");
    }

    #[test]
    fn an_age_is_cut_to_the_hour() {
        assert_eq!(since(1, 2 * DAY + 59), DAY);
        assert_eq!(since(9, 3), 0);
    }
}
