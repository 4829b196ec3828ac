//! Adds ergo's entries to a text, and removes them. Pure.

use super::{
    SetupError,
    agents::{Edit, Target},
    instructions, json, toml,
};

/// Returns the text with ergo's entries; unchanged if it has them already.
pub(super) fn set(text: Option<&str>, target: &Target) -> Result<String, SetupError> {
    let each = |text: String, edit: &Edit| match edit {
        Edit::Entry(path, value) => json::set_entry(&text, path, value),
        Edit::Hook(hook) => json::set_hook(&text, hook),
        Edit::Default(name, value) => json::set_default(&text, name, value),
        Edit::Server(program) => toml::set(&text, program),
        Edit::Instructions => instructions::set(&text),
    };
    fold(text.unwrap_or_default(), target, each)
}

/// Returns the text without ergo's entries.
pub(super) fn unset(text: &str, target: &Target) -> Result<String, SetupError> {
    let each = |text: String, edit: &Edit| match edit {
        Edit::Entry(path, _) => json::unset_entry(&text, path),
        Edit::Hook(hook) => json::unset_hook(&text, hook),
        // The default does nothing by itself, and a person may rely on it by now.
        Edit::Default(..) => Ok(text),
        Edit::Server(_) => toml::unset(&text),
        Edit::Instructions => instructions::unset(&text),
    };
    fold(text, target, each)
}

/// Makes the edits in a text. Keeps a byte order mark, which the parsers would treat as part of the text.
fn fold(
    text: &str,
    target: &Target,
    each: impl Fn(String, &Edit) -> Result<String, String>,
) -> Result<String, SetupError> {
    let own = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mark = text.get(..text.len() - own.len()).unwrap_or_default();
    let edited = target.edits.iter().try_fold(own.to_owned(), each).map_err(|why| {
        SetupError::input(
            format!("{} {why}; nothing was changed", target.path.display()),
            "fix the file, or add the entry by hand: docs/clients shows it for each agent",
        )
    })?;
    Ok([mark, &edited].concat())
}
