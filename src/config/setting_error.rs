//! Errors of the parser of settings, in the words of the settings file.

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::toml_text::{kind, line_of, nearest};
use crate::domain::text::cut_line;

/// The maximum number of characters of a value that an error repeats.
const MAX_VALUE: usize = 40;

/// The numbers that a setting may have, where fewer than its type has: section, name, least and greatest.
const RANGES: [(&str, &str, u64, Option<u64>); 13] = [
    ("compat.cogito", "recall_limit", 1, Some(50)),
    ("judge", "budget_percent", 0, Some(100)),
    ("judge", "timeout_ms", 1_000, Some(600_000)),
    ("levels", "promote_at", 2, None),
    ("models", "idle_minutes", 1, None),
    ("models", "threads", 1, Some(256)),
    ("notes", "entailment", 1, Some(100)),
    ("notes", "every_minutes", 1, Some(10_080)),
    ("notes", "nearest_similarity", 1, Some(100)),
    ("notes", "similarity", 1, Some(100)),
    ("recall", "filter_timeout_ms", 1, Some(600_000)),
    ("store", "keep_local_days", 7, Some(36_500)),
    ("sync", "port", 1, Some(65_535)),
];

/// Describes the numbers that a setting may have, if they are fewer than its type has.
fn range(section: &str, name: &str) -> Option<String> {
    let (.., least, most) = RANGES.into_iter().find(|range| (range.0, range.1) == (section, name))?;
    Some(match most {
        Some(most) => format!("a whole number from {least} to {most}"),
        None => format!("a whole number, {least} or more"),
    })
}

/// Returns the line of an error, and a message: which setting is wrong, what was found, and what is expected.
pub(super) fn explain(text: &str, error: &toml::de::Error) -> (usize, String) {
    let at = error.span().map_or(0, |span| span.start);
    let message = match DeTable::parse(text) {
        Ok(file) => match setting_at(text, file.get_ref(), at) {
            Some(setting) => setting.explain(error.message()),
            None => error.message().to_owned(),
        },
        Err(_) => format!("this line is not valid TOML: {}", error.message()),
    };
    (line_of(text, at), message)
}

/// A setting or a section of the file.
struct SettingInFile {
    /// Its names, the outermost first.
    path: Vec<String>,
    /// What its value is.
    found: String,
}

/// Returns the setting whose name or value is at this byte offset.
fn setting_at(text: &str, table: &DeTable<'_>, at: usize) -> Option<SettingInFile> {
    for (name, value) in table {
        let inner = match value.get_ref() {
            DeValue::Table(inner) => setting_at(text, inner, at),
            _ => None,
        };
        if let Some(SettingInFile { mut path, found }) = inner {
            path.insert(0, name.get_ref().to_string());
            return Some(SettingInFile { path, found });
        }
        let in_value = match value.get_ref() {
            // The span of a section is that of its first header.
            DeValue::Table(_) => value.span().start == at,
            _ => value.span().contains(&at),
        };
        if in_value || name.span().start == at {
            let found = describe(text, value, at);
            return Some(SettingInFile { path: vec![name.get_ref().to_string()], found });
        }
    }
    None
}

/// Says what a value is; of a list, what its item at this byte offset is.
fn describe(text: &str, value: &Spanned<DeValue<'_>>, at: usize) -> String {
    match value.get_ref() {
        DeValue::String(words) => format!("the text “{}”", cut_line(words, MAX_VALUE)),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) => {
            cut_line(text.get(value.span()).unwrap_or_default(), MAX_VALUE)
        }
        DeValue::Array(items) => match items.iter().find(|item| item.span().start == at) {
            Some(item) => describe(text, item, at),
            None => kind(value.get_ref()).to_owned(),
        },
        other => kind(other).to_owned(),
    }
}

impl SettingInFile {
    /// Translates a message of the parser.
    fn explain(&self, message: &str) -> String {
        let (problem, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
        let (name, sections) = self.path.split_last().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
        let within = if sections.is_empty() { String::new() } else { format!(" in [{}]", sections.join(".")) };
        let words: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        if problem.starts_with("unknown field") {
            let known = words.join(", ");
            return format!("unknown setting `{name}`{within}; known: {known}{}", nearest(name, words));
        }
        if let Some(missing) = problem.strip_prefix("missing field ") {
            return format!("{missing} is missing in [{}]", self.path.join("."));
        }
        let found = &self.found;
        if let Some(word) = problem.strip_prefix("unknown variant ") {
            let near = nearest(word.trim_matches('`'), words.clone());
            let quoted = words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
            return format!("invalid `{name}`{within}: found {found}, expected one of {quoted}{near}");
        }
        if matches!(expected, "u8" | "u16" | "u32" | "u64" | "usize")
            && let Some(range) = range(&sections.join("."), name)
        {
            return format!("invalid `{name}`{within}: found {found}, expected {range}");
        }
        // The parser names types of Rust.
        let expected = match (problem, expected) {
            (_, "a boolean") => "true or false",
            (_, "a string" | "path string") => "text in quotation marks",
            (_, "a sequence") => "a list, such as [\"one\", \"two\"]",
            (_, "u8") => "a whole number from 0 to 255",
            (_, "u16") => "a whole number from 0 to 65535",
            (_, "u32" | "u64" | "usize") => "a whole number, 0 or more",
            (_, "f64") => "a number",
            (_, "socket address") | ("invalid socket address syntax", _) => "an address such as 127.0.0.1:8788",
            (_, rust_type) if rust_type.starts_with("struct ") => "a section",
            ("wanted string or table", _) => "one of the words for it, in quotation marks",
            (problem, "") => return format!("invalid `{name}`{within}: found {found}: {problem}"),
            (_, other) => other,
        };
        format!("invalid `{name}`{within}: found {found}, expected {expected}")
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::Config;

    #[rstest::rstest]
    #[case("orgid = \"b\"", "1: unknown setting `orgid`; known: org_id, who, daemon, ")]
    #[case(
        "[guard]\nagent_may = 1",
        "2: unknown setting `agent_may` in [guard]; known: agents_may, deep; did you mean `agents_may`?"
    )]
    #[case("[daemon]\ntcp = \"yes\"", "2: invalid `tcp` in [daemon]: found the text “yes”, expected true or false")]
    #[case("[daemon.tcp]\non = 1", "1: invalid `tcp` in [daemon]: found a table, expected true or false")]
    #[case("daemon = 5", "1: invalid `daemon`: found 5, expected a section")]
    #[case(
        "[daemon]\naddress = \"x\"",
        "2: invalid `address` in [daemon]: found the text “x”, expected an address such as 127.0.0.1:8788"
    )]
    #[case(
        "[sync]\nport = \"x\"",
        "2: invalid `port` in [sync]: found the text “x”, expected a whole number from 1 to 65535"
    )]
    #[case("[sync]\nport = 70000", "2: invalid `port` in [sync]: found 70000, expected a whole number from 1 to 65535")]
    #[case("sync.port = -1", "1: invalid `port` in [sync]: found -1, expected a whole number from 1 to 65535")]
    #[case(
        "[guard]\nagents_may = \"porpose\"",
        "2: invalid `agents_may` in [guard]: found the text “porpose”, expected one of \"force\", \"propose\"; did you mean `propose`?"
    )]
    #[case(
        "[notes]\nsimilarity = 0.7",
        "2: invalid `similarity` in [notes]: found 0.7, expected a whole number from 1 to 100"
    )]
    #[case(
        "[notes]\nsimilarity = 300",
        "2: invalid `similarity` in [notes]: found 300, expected a whole number from 1 to 100"
    )]
    #[case(
        "[models]\nidle_minutes = -1",
        "2: invalid `idle_minutes` in [models]: found -1, expected a whole number, 1 or more"
    )]
    #[case("[guard]\nagents_may = 5", "2: invalid `agents_may` in [guard]: found 5, expected one of the words for it")]
    #[case(
        "[judge]\ncommand = \"claude -p\"",
        "2: invalid `command` in [judge]: found the text “claude -p”, expected a list"
    )]
    #[case("[judge]\ncommand = [\n\"claude\",\n5]", "4: invalid `command` in [judge]: found 5, expected text")]
    #[case("[compat.cogito]\nproject = \"x\"", "1: `listen` is missing in [compat.cogito]")]
    #[case("who = 2020-01-01", "1: invalid `who`: found a time, expected text in quotation marks")]
    #[case("who = ada", "1: this line is not valid TOML: ")]
    #[case("[daemon]\ntcp = true\ntcp = false", "3: this line is not valid TOML: duplicate key")]
    fn a_wrong_setting_is_named_with_what_was_found_and_what_is_expected(#[case] text: &str, #[case] expected: &str) {
        let error = Config::parse(text, Path::new("config.toml")).unwrap_err();
        let message = error.to_string();
        assert!(message.starts_with(&format!("config.toml:{expected}")), "{message}");
        assert!(error.hint().unwrap().contains("ergo manual settings"));
    }

    #[test]
    fn the_ranges_are_those_that_are_accepted() {
        for (section, name, least, most) in super::RANGES {
            let parse = |number: u64| {
                let listen = if section == "compat.cogito" { "listen = \"127.0.0.1:1\"\n" } else { "" };
                Config::parse(&format!("[{section}]\n{listen}{name} = {number}"), Path::new("config.toml"))
            };
            assert!(parse(least).is_ok() && most.is_none_or(|most| parse(most).is_ok()), "{name}");
            let beyond = [least.checked_sub(1), most.map(|most| most + 1)];
            for number in beyond.into_iter().flatten() {
                assert!(parse(number).is_err(), "{name} = {number}");
            }
        }
    }
}
