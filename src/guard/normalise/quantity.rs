//! Numbers with their units, times of day and versions.

use super::super::lexicon::lexicon;

/// A number in the base unit of its dimension.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantity {
    /// The number in the base unit, as a short decimal; a range as two of them joined by an en dash; a time of day as `14:00`; a
    /// version as written.
    pub(crate) value: String,
    /// The base unit; `time`, `version` or `date` if it is not an amount; empty for a number without a unit.
    pub(crate) base: &'static str,
}

impl Quantity {
    /// Returns the number, if it is one.
    pub(crate) fn number(&self) -> Option<f64> {
        self.value.parse().ok()
    }

    /// Returns the ends of a range, inclusive, if it is one.
    pub(crate) fn range(&self) -> Option<(&str, &str)> {
        self.value.split_once('–')
    }
}

const WORDS: [&str; 21] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
    "twenty",
];

/// Returns the number that a word names. "one" is excluded, because it is more often a pronoun.
fn number_word(word: &str) -> Option<f64> {
    if let Some(at) = WORDS.iter().position(|w| *w == word) {
        return (at != 1).then_some(at as f64);
    }
    Some(match word {
        "thirty" => 30.0,
        "forty" => 40.0,
        "fifty" => 50.0,
        "sixty" => 60.0,
        "seventy" => 70.0,
        "eighty" => 80.0,
        "ninety" => 90.0,
        "hundred" => 100.0,
        "thousand" => 1000.0,
        "twice" => 2.0,
        _ => return None,
    })
}

/// Formats a number as a decimal without trailing zeros, to nine places.
pub(crate) fn decimal(number: f64) -> String {
    let mut text = format!("{number:.9}");
    if text.contains('.') {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    text
}

/// Reads a time of day such as `09:00`, `9am` or `9 pm`, given its first number, the rest of the word, and the next word.
fn time_of_day(number: &str, suffix: &str, next: Option<&str>) -> Option<(Quantity, usize)> {
    let half = |text: &str| matches!(text, "am" | "pm").then(|| text == "pm");
    let (clock, pm) = match suffix.len().checked_sub(2).and_then(|at| suffix.split_at_checked(at)) {
        Some((clock, end)) if half(end).is_some() => (clock, half(end)),
        _ => (suffix, None),
    };
    let (pm, words) = match next.and_then(half) {
        Some(afternoon) if pm.is_none() => (Some(afternoon), 2),
        _ => (pm, 1),
    };
    let stated = match clock.strip_prefix(':') {
        Some(rest) => rest.len() >= 2 && rest.bytes().all(|b| b.is_ascii_digit() || b == b':'),
        None => clock.is_empty() && pm.is_some(),
    };
    let hour: u32 = number.parse().ok().filter(|_| stated)?;
    let hour = match pm {
        Some(true) if hour < 12 => hour + 12,
        Some(false) if hour == 12 => 0,
        _ => hour,
    };
    let minutes = if clock.is_empty() { ":00" } else { clock };
    Some((Quantity { value: format!("{hour}{minutes}"), base: "time" }, words))
}

/// Reads a range such as `5-10 seconds`, given its first number, the text after the hyphen, and the next word. `2026-01` and `01-05` are
/// not ranges.
fn range(first: &str, rest: &str, next: Option<&str>) -> Option<(Quantity, usize)> {
    let digits = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (last, suffix) = rest.split_at(digits);
    let dated = |number: &str| number.starts_with('0') && number.len() > 1 && !number.contains('.');
    let years = first.len() == 4 && last.len() == 4;
    let (least, greatest): (f64, f64) = first.parse().ok().zip(last.parse().ok())?;
    if dated(first) || dated(last) || years || least >= greatest {
        return None;
    }
    let unit = if suffix.is_empty() { next } else { Some(suffix) };
    let known = unit.and_then(|unit| lexicon().unit(unit));
    if known.is_none() && !suffix.is_empty() {
        return None;
    }
    let (base, factor) = known.unwrap_or(("", 1.0));
    let words = if known.is_some() && suffix.is_empty() { 2 } else { 1 };
    Some((Quantity { value: format!("{}–{}", decimal(least * factor), decimal(greatest * factor)), base }, words))
}

/// Reads a range in words such as "5 to 10 seconds" or "between 5 and 10", given its first amount with the number of its words, and the word
/// before it. `word` returns a word by its distance from the first one. "From 5 to 10" is not a range, because it is more often a change.
pub(crate) fn range_in_words<'a>(
    (first, words): &(Quantity, usize),
    before: &str,
    word: impl Fn(usize) -> Option<&'a str>,
) -> Option<(Quantity, usize)> {
    let joined = match word(*words)? {
        "to" => before != "from",
        "and" => before == "between",
        _ => false,
    };
    if !joined {
        return None;
    }
    let (start, end) = (word(0)?, word(words + 1)?);
    let (last, more) = read(end, word(words + 2))?;
    // The unit of the second number is that of both.
    let attached = end.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let unit = if more == 2 { word(words + 2) } else { Some(attached) };
    let (first, _) = if first.base.is_empty() { read(start, unit)? } else { (first.clone(), *words) };
    let years = last.base.is_empty() && start.len() == 4 && end.len() == 4;
    let rising = first.number().zip(last.number()).is_some_and(|(least, greatest)| least < greatest);
    (rising && !years && first.base == last.base)
        .then(|| (Quantity { value: format!("{}–{}", first.value, last.value), base: last.base }, words + 1 + more))
}

/// Reads a quantity from a word and the word after it; returns it with the number of words, 1 or 2.
pub(crate) fn read(word: &str, next: Option<&str>) -> Option<(Quantity, usize)> {
    let unit_of = |number: f64, suffix: &str| {
        lexicon().unit(suffix).map(|(base, factor)| Quantity { value: decimal(number * factor), base })
    };
    let spelled = number_word(word)
        .or_else(|| (word == "one" && next.is_some_and(|next| lexicon().unit(next).is_some())).then_some(1.0));
    if let Some(number) = spelled {
        if let Some(times) = next.and_then(number_word).filter(|n| *n >= 100.0 && number < 100.0) {
            return Some((Quantity { value: decimal(number * times), base: "" }, 2));
        }
        if let Some(quantity) = next.and_then(|unit| unit_of(number, unit)) {
            return Some((quantity, 2));
        }
        return Some((Quantity { value: decimal(number), base: "" }, 1));
    }
    let (sign, word) = word.strip_prefix('-').map_or(("", word), |rest| ("-", rest));
    if !word.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    let text = word.replace([',', '_'], "");
    let digits = text.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
    let (number, suffix) = text.split_at(digits);
    let number = number.trim_end_matches('.');
    if number.matches('.').count() > 1 {
        return Some((Quantity { value: text.clone(), base: "version" }, 1));
    }
    if let Some(time) = time_of_day(number, suffix, next) {
        return Some(time);
    }
    if let Some(rest) = suffix.strip_prefix('-') {
        if let Some(range) = range(number, rest, next).filter(|_| sign.is_empty()) {
            return Some(range);
        }
        return Some((Quantity { value: text.clone(), base: "date" }, 1));
    }
    let number = format!("{sign}{number}");
    let parsed: f64 = number.parse().ok()?;
    if suffix.is_empty() {
        if let Some(quantity) = next.and_then(|unit| unit_of(parsed, unit)) {
            return Some((quantity, 2));
        }
        // A version such as 1.10 is not the number 1.1.
        let value = if number.contains('.') { number } else { decimal(parsed) };
        return Some((Quantity { value, base: "" }, 1));
    }
    match suffix {
        "k" => Some((Quantity { value: decimal(parsed * 1e3), base: "" }, 1)),
        "th" | "st" | "nd" | "rd" => None,
        _ => unit_of(parsed, suffix).map(|quantity| (quantity, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("60", Some("s"), "60", "s", 2)]
    #[case("one", Some("minute"), "60", "s", 2)]
    #[case("60s", None, "60", "s", 1)]
    #[case("1,000", Some("requests"), "1000", "", 1)]
    #[case("1k", None, "1000", "", 1)]
    #[case("10mb", None, "10000000", "byte", 1)]
    #[case("five", Some("minutes"), "300", "s", 2)]
    #[case("two", Some("hundred"), "200", "", 2)]
    #[case("02:00", None, "2:00", "time", 1)]
    #[case("9am", None, "9:00", "time", 1)]
    #[case("2", Some("pm"), "14:00", "time", 2)]
    #[case("12:30am", None, "0:30", "time", 1)]
    #[case("5-10", Some("seconds"), "5–10", "s", 2)]
    #[case("5-10m", None, "5-10m", "date", 1)]
    #[case("1-2h", None, "3600–7200", "s", 1)]
    #[case("2026-01", None, "2026-01", "date", 1)]
    #[case("-10", None, "-10", "", 1)]
    #[case("-2.5", Some("h"), "-9000", "s", 2)]
    #[case("5%", None, "5", "percent", 1)]
    #[case("1.2.3", None, "1.2.3", "version", 1)]
    fn numbers_become_base_units(
        #[case] word: &str,
        #[case] next: Option<&str>,
        #[case] value: &str,
        #[case] base: &str,
        #[case] words: usize,
    ) {
        let (quantity, taken) = read(word, next).unwrap();
        assert_eq!((quantity.value.as_str(), quantity.base, taken), (value, base, words));
    }

    #[rstest]
    #[case("10 to 50", "is", "10–50", "", 3)]
    #[case("5 to 30 seconds", "after", "5–30", "s", 4)]
    #[case("100 ms to 1 s", "waits", "0.1–1", "s", 5)]
    #[case("1 to 2h", "", "3600–7200", "s", 3)]
    #[case("three to five retries", "", "3–5", "", 3)]
    #[case("3 and 5 retries", "between", "3–5", "", 3)]
    fn ranges_in_words_are_ranges(
        #[case] text: &str,
        #[case] before: &str,
        #[case] value: &str,
        #[case] base: &str,
        #[case] taken: usize,
    ) {
        let words: Vec<&str> = text.split(' ').collect();
        let first = read(words[0], words.get(1).copied()).unwrap();
        let (quantity, length) = range_in_words(&first, before, |at| words.get(at).copied()).unwrap();
        assert_eq!((quantity.value.as_str(), quantity.base, length), (value, base, taken));
    }

    #[rstest]
    #[case::change("18 to 20", "from")]
    #[case::falling("50 to 10", "")]
    #[case::list("3 and 5", "are")]
    #[case::years("2024 to 2026", "")]
    #[case::units("5 seconds to 10 requests", "")]
    #[case::no_number("1 to many", "")]
    fn other_numbers_are_not_ranges(#[case] text: &str, #[case] before: &str) {
        let words: Vec<&str> = text.split(' ').collect();
        let first = read(words[0], words.get(1).copied()).unwrap();
        assert_eq!(range_in_words(&first, before, |at| words.get(at).copied()), None);
    }

    #[test]
    fn other_words_are_not_numbers() {
        assert!(read("one", Some("thing")).is_none() && read("x1", None).is_none() && read("1st", None).is_none());
    }
}
