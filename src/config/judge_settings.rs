//! The `[judge]` section: the language models that judge pairs of claims, filter results and select sentences.

use std::{
    env,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Deserializer, Serialize, de::Error};
use url::Url;

use crate::{domain::text::cut_line, files};

/// The environment variable that holds the endpoint's key.
pub const KEY_VARIABLE: &str = "ERGO_LLM_KEY";

/// The default timeout of a judge's answer, in milliseconds.
pub const ANSWER_TIMEOUT_MS: u64 = 120_000;

/// The allowed timeouts of a judge's answer, in milliseconds.
const ANSWER_TIMEOUTS: std::ops::RangeInclusive<u64> = 1_000..=600_000;

/// The maximum number of characters of a value that an error repeats.
const MAX_SHOWN: usize = 80;

/// The default share of the time in which judges may work on the queue of doubts in the background, in percent.
pub const BUDGET_PERCENT: u8 = 25;

/// The `[judge]` section. Judges are asked in the order local model, endpoint, command. Each one gets the pairs on
/// which the earlier ones gave no verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JudgeSettings {
    /// Whether the language model of this machine judges waiting pairs, if one is chosen.
    pub local: bool,
    /// A server with OpenAI-compatible chat completions, such as `http://127.0.0.1:8080/v1`. Claims and questions are
    /// sent to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The model's name on that server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A file with the endpoint's key; [`KEY_VARIABLE`] overrides it. Without a key, the server is never called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// A program and its arguments, which reads a prompt on standard input and prints an answer. It receives claims.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "command")]
    pub command: Vec<String>,
    /// The timeout of an answer of the endpoint or the command, in milliseconds; by default [`ANSWER_TIMEOUT_MS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The share of the time in which judges may work on the queue of doubts in the background, in percent; 0 for
    /// never.
    pub budget_percent: u8,
}

/// Reads `command`, whose first item must name a program.
fn command<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let command = Vec::<String>::deserialize(value)?;
    if command.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(D::Error::custom("no program, expected a program and its arguments, such as [\"claude\", \"-p\"]"));
    }
    Ok(command)
}

/// Says why a text is not the URL of a server.
fn url_problem(text: &str) -> Option<String> {
    match text.split_once("://") {
        None => Some("which has no scheme".to_owned()),
        Some(("http" | "https", _)) => Url::parse(text).err().map(|error| format!("which is not a URL ({error})")),
        Some((scheme, _)) => Some(format!("which has the scheme “{}”", cut_line(scheme, MAX_SHOWN))),
    }
}

impl Default for JudgeSettings {
    fn default() -> Self {
        Self {
            local: true,
            endpoint: None,
            model: None,
            key_file: None,
            command: Vec::new(),
            timeout_ms: None,
            budget_percent: BUDGET_PERCENT,
        }
    }
}

impl JudgeSettings {
    /// Returns the timeout of an answer of the endpoint or the command.
    pub fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.unwrap_or(ANSWER_TIMEOUT_MS))
    }

    /// Returns the first invalid setting, and why it is invalid.
    pub(super) fn invalid(&self) -> Option<(&'static str, String)> {
        if self.timeout_ms.is_some_and(|time| !ANSWER_TIMEOUTS.contains(&time)) {
            let (least, most) = (ANSWER_TIMEOUTS.start(), ANSWER_TIMEOUTS.end());
            return Some(("timeout_ms", format!("invalid `timeout_ms`: expected {least} to {most}")));
        }
        if self.budget_percent > 100 {
            return Some(("budget_percent", "invalid `budget_percent`: expected 0 to 100".to_owned()));
        }
        let endpoint = self.endpoint.as_deref()?;
        if let Some(problem) = url_problem(endpoint) {
            let found = cut_line(endpoint, MAX_SHOWN);
            let expected = "expected a URL such as http://127.0.0.1:8080/v1";
            return Some((
                "endpoint",
                format!("invalid `endpoint` in [judge]: found the text “{found}”, {problem}; {expected}"),
            ));
        }
        self.model
            .as_deref()
            .is_none_or(|model| model.trim().is_empty())
            .then(|| ("endpoint", "`endpoint` in [judge] requires `model`: the model's name on that server".to_owned()))
    }

    /// Says that the program of `command` does not exist. It runs in its own folder, so a relative path names none.
    pub(super) fn missing_program(&self) -> Option<String> {
        let program = self.command.first().filter(|program| files::find_program(program).is_none())?;
        let why = match program.as_str() {
            path if path.starts_with('/') && Path::new(path).exists() => "is not a file",
            path if path.starts_with('/') => "does not exist",
            path if path.contains('/') => "has a relative path",
            _ => "is not found on PATH",
        };
        Some(format!(
            "the program “{program}” of `command` in [judge] {why}, so it judges nothing: install it, or give its \
             absolute path"
        ))
    }

    /// Returns the endpoint's key, trimmed; `None` if there is none.
    ///
    /// # Errors
    /// A message if the key file cannot be read.
    pub fn key(&self) -> Result<Option<String>, String> {
        let variable = env::var(KEY_VARIABLE).ok();
        let key = match (variable, &self.key_file) {
            (Some(key), _) => key,
            (None, Some(path)) => files::text(path, files::MAX_SETTINGS)
                .map_err(|error| format!("cannot read the key file {}: {error}", path.display()))?,
            (None, None) => return Ok(None),
        };
        Ok(Some(key.trim().to_owned()).filter(|key| !key.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_endpoint_is_named_with_what_was_found_and_what_is_expected() {
        for (endpoint, problem) in [
            ("127.0.0.1:8080/v1", "“127.0.0.1:8080/v1”, which has no scheme"),
            ("localhost", "“localhost”, which has no scheme"),
            ("", "“”, which has no scheme"),
            ("ftp://host/v1", "which has the scheme “ftp”"),
            ("http://", "which is not a URL (empty host)"),
            ("http://host:99999/v1", "which is not a URL (invalid port number)"),
        ] {
            let settings = JudgeSettings {
                endpoint: Some(endpoint.to_owned()),
                model: Some("m".to_owned()),
                ..JudgeSettings::default()
            };
            let (setting, message) = settings.invalid().unwrap();
            assert_eq!(setting, "endpoint");
            assert!(message.starts_with("invalid `endpoint` in [judge]: found the text"), "{message}");
            assert!(message.contains(problem), "{message}");
            assert!(message.ends_with("expected a URL such as http://127.0.0.1:8080/v1"), "{message}");
        }
        for endpoint in ["http://127.0.0.1:8080/v1", "https://llm.example.com", "http://[::1]:8080/v1/"] {
            assert_eq!(url_problem(endpoint), None);
        }
    }

    #[test]
    fn a_missing_judge_is_reported_by_what_is_wrong_with_its_name() {
        for (program, why) in [
            ("/no/such/judge", "“/no/such/judge” of `command` in [judge] does not exist"),
            ("/", "is not a file"),
            ("./judge", "has a relative path"),
            ("no-such-judge-anywhere", "is not found on PATH"),
        ] {
            let settings = JudgeSettings { command: vec![program.to_owned()], ..JudgeSettings::default() };
            let message = settings.missing_program().unwrap();
            assert!(message.contains(why), "{message}");
        }
    }
}
