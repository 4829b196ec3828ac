//! The sections `[recall]` (the filter of recall) and `[compat]` (the listener for clients of cogito-ergo).

use std::{fmt, net::SocketAddr, path::PathBuf, time::Duration};

use crate::files;
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

/// The default timeout of the language model in `recall --filter`, in milliseconds, including loading it.
pub const FILTER_TIMEOUT_MS: u64 = 60_000;

/// The allowed timeouts in milliseconds. The daemon cancels a request after ten minutes.
const FILTER_TIMEOUTS: std::ops::RangeInclusive<u64> = 1..=600_000;

/// The `[recall]` section: settings of the language model that filters results. The section `[judge]` selects the
/// model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallSettings {
    /// The timeout of the language model, in milliseconds; by default [`FILTER_TIMEOUT_MS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_timeout_ms: Option<u64>,
    /// Now `endpoint` in `[judge]`.
    #[serde(skip_serializing)]
    endpoint: MovedSetting,
    /// Now `model` in `[judge]`.
    #[serde(skip_serializing)]
    model: MovedSetting,
    /// Now `key_file` in `[judge]`.
    #[serde(skip_serializing)]
    key_file: MovedSetting,
}

/// A setting that was moved to another section. True if the file still has it in the old one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct MovedSetting(bool);

impl<'de> Deserialize<'de> for MovedSetting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(from).map(|_| Self(true))
    }
}

impl RecallSettings {
    /// Returns the timeout of the language model.
    pub fn filter_timeout(&self) -> Duration {
        Duration::from_millis(self.filter_timeout_ms.unwrap_or(FILTER_TIMEOUT_MS))
    }

    /// Returns the first invalid setting, and why it is invalid.
    pub(super) fn invalid(&self) -> Option<(&'static str, String)> {
        let moved = [("endpoint", &self.endpoint), ("model", &self.model), ("key_file", &self.key_file)];
        if let Some((name, _)) = moved.into_iter().find(|(_, moved)| moved.0) {
            let message =
                format!("`{name}` of [recall] is now in [judge]: move `endpoint`, `model` and `key_file` there");
            return Some((name, message));
        }
        if self.filter_timeout_ms.is_some_and(|time| !FILTER_TIMEOUTS.contains(&time)) {
            let (least, most) = (FILTER_TIMEOUTS.start(), FILTER_TIMEOUTS.end());
            return Some(("filter_timeout_ms", format!("invalid `filter_timeout_ms`: expected {least} to {most}")));
        }
        None
    }
}

/// The `[compat]` section: listeners with the APIs of other memory tools.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompatSettings {
    /// The listener for clients of cogito-ergo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cogito: Option<CogitoSettings>,
}

/// The `[compat.cogito]` section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CogitoSettings {
    /// The address on which to listen: a loopback address, since the connection is not encrypted.
    pub listen: SocketAddr,
    /// The project whose claims clients read and write, in the organisation of the settings; by default `agent`.
    #[serde(default = "project")]
    pub project: String,
    /// A file with the token that clients must send. Without it, every local user may read and write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// The default `limit` of `/recall` and `/recall_b`.
    #[serde(default = "recall_limit")]
    pub recall_limit: usize,
    /// The default `threshold` of `/recall` and `/recall_b`: memories at this distance or farther are left out.
    #[serde(default = "recall_threshold")]
    pub recall_threshold: Distance,
    /// The default `threshold` of `/query`.
    #[serde(default = "query_threshold")]
    pub query_threshold: Distance,
    /// The first unknown setting. [`REPLACED`] explains those that cogito-ergo has.
    #[serde(flatten, skip_serializing)]
    pub unknown: UnknownSetting,
}

/// The maximum number of memories in an answer.
const MAX_LIMIT: usize = 50;

/// The distance of a memory from a question, from 0 (identical) to 500 (unrelated).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Distance(pub f64);

// `CompatSettings::invalid` accepts only finite numbers.
impl Eq for Distance {}

/// Settings of cogito-ergo that do not exist in ergo, and what to use instead.
const REPLACED: [(&str, &str); 16] = [
    ("collection", "use `project`, which names the scope"),
    ("user_id", "use `project`, which names the scope"),
    ("port", "use `listen`, which takes address and port"),
    ("filter_timeout_ms", "set it in [recall]"),
    ("filter_endpoint", "use `endpoint` in [judge]"),
    ("filter_token", "use `key_file` in [judge], or ERGO_LLM_KEY"),
    ("filter_model", "use `model` in [judge]"),
    ("anthropic_api_key", "use `endpoint` and `key_file` in [judge]"),
    ("store_path", "set ERGO_HOME to move the store"),
    ("ollama_url", "models run inside ergo: see `ergo models`"),
    ("llm_model", "use `llm` in [models]"),
    ("embed_model", "use `embedder` in [models]"),
    ("calibrate_model", "use `llm` in [models]"),
    ("vocab_map", "`ergo calibrate` creates it"),
    ("snapshot_path", "`ergo snapshot` prints it"),
    ("custom_fact_extraction_prompt", "the prompt is built in"),
];

/// The name of the first unknown setting, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownSetting(Option<String>);

impl<'de> Deserialize<'de> for UnknownSetting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> serde::de::Visitor<'de> for Names {
            type Value = UnknownSetting;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<UnknownSetting, A::Error> {
                let mut first = None;
                while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    first.get_or_insert(name);
                }
                Ok(UnknownSetting(first))
            }
        }
        from.deserialize_map(Names)
    }
}

impl CogitoSettings {
    /// Returns the token, trimmed; `None` if clients need none.
    ///
    /// # Errors
    /// A message if the file cannot be read or is empty.
    pub fn token(&self) -> Result<Option<String>, String> {
        let Some(path) = &self.token_file else { return Ok(None) };
        let text = files::text(path, files::MAX_SETTINGS)
            .map_err(|error| format!("cannot read `token_file` in [compat.cogito], {}: {error}", path.display()))?;
        match text.trim() {
            "" => Err(format!("`token_file` in [compat.cogito], {}, is empty: write a token to it", path.display())),
            token => Ok(Some(token.to_owned())),
        }
    }
}

fn project() -> String {
    "agent".to_owned()
}

fn recall_limit() -> usize {
    MAX_LIMIT
}

fn recall_threshold() -> Distance {
    Distance(400.0)
}

fn query_threshold() -> Distance {
    Distance(250.0)
}

impl CompatSettings {
    /// Returns the first invalid setting of [`CogitoSettings`], and why it is invalid.
    pub(super) fn invalid(&self) -> Option<(&str, String)> {
        let cogito = self.cogito.as_ref()?;
        if let Some(name) = &cogito.unknown.0 {
            let known = REPLACED.iter().find(|(refused, _)| refused == name);
            let message = match known {
                Some((_, instead)) => format!("unknown setting `{name}` in [compat.cogito]: {instead}"),
                None => format!(
                    "unknown setting `{name}` in [compat.cogito]: expected listen, project, token_file, recall_limit, recall_threshold or query_threshold"
                ),
            };
            return Some((name, message));
        }
        if !(1..=MAX_LIMIT).contains(&cogito.recall_limit) {
            return Some((
                "recall_limit",
                format!("invalid `recall_limit` {}: expected 1 to {MAX_LIMIT}", cogito.recall_limit),
            ));
        }
        for (key, distance) in
            [("recall_threshold", cogito.recall_threshold), ("query_threshold", cogito.query_threshold)]
        {
            if !distance.0.is_finite() || distance.0 <= 0.0 {
                return Some((key, format!("invalid `{key}` {}: expected a number above 0, such as 400", distance.0)));
            }
        }
        if !cogito.listen.ip().is_loopback() {
            let message = format!(
                "invalid `listen` {}: expected a loopback address such as 127.0.0.1:19420, since the connection is not encrypted",
                cogito.listen
            );
            return Some(("listen", message));
        }
        if let Some(path) = cogito.token_file.as_deref().filter(|path| !path.is_absolute()) {
            // A relative path would be ambiguous: the daemon's working directory is not the user's.
            return Some(("token_file", format!("invalid `token_file` {}: expected an absolute path", path.display())));
        }
        let project = cogito.project.trim();
        let fits = !project.is_empty() && project.len() <= crate::domain::scope::MAX_NAME;
        (!fits).then(|| ("project", "`project` must be a string of 1 to 200 bytes".to_owned()))
    }
}
