//! Places and words in TOML files, for errors about the settings, the keys and the theme.

use toml::de::{DeTable, DeValue};

/// Returns the line, from 1, of a byte offset.
pub fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes().iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

/// Returns the byte offset of a setting in a valid file: that of its section if the file does not have the setting, and
/// 0 if it has neither. The section is "" for the settings that precede all sections.
pub(super) fn start_of_setting(text: &str, section: &str, key: &str) -> usize {
    let Ok(file) = DeTable::parse(text) else { return 0 };
    let (mut table, mut start) = (file.into_inner(), 0);
    for name in section.split('.').filter(|name| !name.is_empty()).chain([key]) {
        let Some((name, value)) = table.remove_entry(name) else { break };
        start = name.span().start;
        let DeValue::Table(inner) = value.into_inner() else { break };
        table = inner;
    }
    start
}

/// Names the type of a value.
pub fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Returns a hint that names the word of `known` most similar to `word`; empty if none is similar.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let best = known
        .into_iter()
        .map(|other| (similar::TextDiff::from_chars(word, other).ratio(), other))
        .filter(|(ratio, _)| *ratio >= 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.map_or_else(String::new, |(_, other)| format!("; did you mean `{other}`?"))
}
