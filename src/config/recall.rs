//! The `[recall]` section: what recall asks beyond this program, and the listener for clients of another memory.

use std::{env, fmt, net::SocketAddr, path::PathBuf, time::Duration};

use crate::files;
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

/// The environment variable that holds the endpoint's key.
pub const KEY_VARIABLE: &str = "ERGO_LLM_KEY";

/// How long a question waits for the language model that chooses unless the settings say, in milliseconds; loading it is part of that.
pub const FILTER_TIMEOUT_MS: u64 = 60_000;

/// What may be set: a daemon gives up a question after ten minutes.
const FILTER_TIMEOUTS: std::ops::RangeInclusive<u64> = 1..=600_000;

/// The `[recall]` section: a language model behind an address, which may choose among what was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallSettings {
    /// A server with chat completions in the form of `OpenAI`, such as `http://127.0.0.1:8080/v1`. What is asked and found goes there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The model's name there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// A file with the key; [`KEY_VARIABLE`] goes before it. Without a key nothing is ever called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_file: Option<PathBuf>,
    /// How long a question waits for the language model that chooses, in milliseconds; by default [`FILTER_TIMEOUT_MS`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter_timeout_ms: Option<u64>,
}

impl RecallSettings {
    /// How long a question waits for the language model that chooses.
    pub fn filter_timeout(&self) -> Duration {
        Duration::from_millis(self.filter_timeout_ms.unwrap_or(FILTER_TIMEOUT_MS))
    }

    /// The first setting that cannot be, and why.
    pub(super) fn mistake(&self) -> Option<(&'static str, String)> {
        if self.filter_timeout_ms.is_some_and(|time| !FILTER_TIMEOUTS.contains(&time)) {
            let (least, most) = (FILTER_TIMEOUTS.start(), FILTER_TIMEOUTS.end());
            return Some(("filter_timeout_ms", format!("`filter_timeout_ms` is not {least} to {most}")));
        }
        let endpoint = self.endpoint.as_deref()?;
        if !endpoint.starts_with("https://") && !endpoint.starts_with("http://") {
            return Some((
                "endpoint",
                format!("`endpoint` is {endpoint}: expected an address such as http://127.0.0.1:8080/v1"),
            ));
        }
        self.model
            .as_deref()
            .is_none_or(|model| model.trim().is_empty())
            .then(|| ("endpoint", "`endpoint` needs `model` beside it: the model's name there".to_owned()))
    }

    /// The key, without white space around it; `None` where there is none.
    ///
    /// # Errors
    /// Where the file that was named cannot be read, in words.
    pub fn key(&self) -> Result<Option<String>, String> {
        let given = env::var(KEY_VARIABLE).ok();
        let key = match (given, &self.key_file) {
            (Some(key), _) => key,
            (None, Some(path)) => files::text(path, files::MAX_SETTINGS)
                .map_err(|error| format!("the key in {} cannot be read: {error}", path.display()))?,
            (None, None) => return Ok(None),
        };
        Ok(Some(key.trim().to_owned()).filter(|key| !key.is_empty()))
    }
}

/// The `[compat]` section: listeners that speak as other memories do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CompatSettings {
    /// As cogito-ergo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cogito: Option<CogitoSettings>,
}

/// The `[compat.cogito]` section.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CogitoSettings {
    /// Where it listens: an address of this machine alone, since the connection is not encrypted.
    pub listen: SocketAddr,
    /// The scope that it reads and writes; by default `agent` in the organisation of the settings.
    #[serde(default = "project")]
    pub project: String,
    /// A file with the token that clients must send; without it everyone on this machine may read and write there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// How many memories an answer of `/recall` and `/recall_b` has where the client gives no `limit`.
    #[serde(default = "recall_limit")]
    pub recall_limit: usize,
    /// The distance from which on `/recall` and `/recall_b` leave a memory out where the client gives no `threshold`.
    #[serde(default = "recall_threshold")]
    pub recall_threshold: Distance,
    /// The same of `/query`.
    #[serde(default = "query_threshold")]
    pub query_threshold: Distance,
    /// Settings of that program which mean nothing here: [`REFUSED`] says what does.
    #[serde(flatten, skip_serializing)]
    pub refused: Refused,
}

/// The most memories of one answer.
const MAX_LIMIT: usize = 50;

/// How far a memory is from a question: 0 says what was asked, 500 has nothing in common with it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Distance(pub f64);

// Settings that are read are numbers: what is not finite is refused.
impl Eq for Distance {}

/// Settings of cogito-ergo that mean nothing here, and what does.
const REFUSED: [(&str, &str); 16] = [
    ("collection", "`project` names the scope"),
    ("user_id", "`project` names the scope"),
    ("port", "`listen` is address and port"),
    ("filter_timeout_ms", "it stands in [recall]"),
    ("filter_endpoint", "`endpoint` in [recall] does that"),
    ("filter_token", "`key_file` in [recall], or ERGO_LLM_KEY, does that"),
    ("filter_model", "`model` in [recall] does that"),
    ("anthropic_api_key", "`endpoint` and `key_file` in [recall] do that"),
    ("store_path", "ERGO_HOME moves the store"),
    ("ollama_url", "models run in the program itself: see `ergo models`"),
    ("llm_model", "`llm` in [models] does that"),
    ("embed_model", "`embedder` in [models] does that"),
    ("calibrate_model", "`llm` in [models] does that"),
    ("vocab_map", "`ergo calibrate` makes and keeps it"),
    ("snapshot_path", "`ergo snapshot` prints it"),
    ("custom_fact_extraction_prompt", "the prompt is built in"),
];

/// The first setting that is not read, by its name; empty where all are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refused(Option<String>);

impl<'de> Deserialize<'de> for Refused {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> serde::de::Visitor<'de> for Names {
            type Value = Refused;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Refused, A::Error> {
                let mut first = None;
                while let Some((name, IgnoredAny)) = map.next_entry::<String, IgnoredAny>()? {
                    first.get_or_insert(name);
                }
                Ok(Refused(first))
            }
        }
        from.deserialize_map(Names)
    }
}

impl CogitoSettings {
    /// Returns the token, without white space around it; `None` where clients need none.
    ///
    /// # Errors
    /// Where the file cannot be read, or holds nothing, in words.
    pub fn token(&self) -> Result<Option<String>, String> {
        let Some(path) = &self.token_file else { return Ok(None) };
        let text = files::text(path, files::MAX_SETTINGS)
            .map_err(|error| format!("`token_file` in [compat.cogito], {}, cannot be read: {error}", path.display()))?;
        match text.trim() {
            "" => Err(format!("`token_file` in [compat.cogito], {}, is empty: put a token into it", path.display())),
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
    /// The first setting that cannot be, and why.
    pub(super) fn mistake(&self) -> Option<(&'static str, String)> {
        let cogito = self.cogito.as_ref()?;
        if let Some(name) = &cogito.refused.0 {
            let known = REFUSED.iter().find(|(refused, _)| refused == name);
            let message = match known {
                Some((_, instead)) => format!("`{name}` is not read in [compat.cogito]: {instead}"),
                None => format!(
                    "unknown setting `{name}` in [compat.cogito]: expected listen, project, token_file, recall_limit, recall_threshold or query_threshold"
                ),
            };
            return Some((known.map_or("[compat.cogito]", |(name, _)| name), message));
        }
        if !(1..=MAX_LIMIT).contains(&cogito.recall_limit) {
            return Some((
                "recall_limit",
                format!("`recall_limit` is {}: expected 1 to {MAX_LIMIT}", cogito.recall_limit),
            ));
        }
        for (key, distance) in
            [("recall_threshold", cogito.recall_threshold), ("query_threshold", cogito.query_threshold)]
        {
            if !distance.0.is_finite() || distance.0 <= 0.0 {
                return Some((key, format!("`{key}` is {}: expected a number above 0, such as 400", distance.0)));
            }
        }
        if !cogito.listen.ip().is_loopback() {
            let message = format!(
                "`listen` is {}: expected an address of this machine alone, such as 127.0.0.1:19420, since the connection is not encrypted",
                cogito.listen
            );
            return Some(("listen", message));
        }
        if let Some(path) = cogito.token_file.as_deref().filter(|path| !path.is_absolute()) {
            // The daemon's own folder is none of the person's.
            return Some(("token_file", format!("`token_file` is {}: expected an absolute path", path.display())));
        }
        let project = cogito.project.trim();
        let fits = !project.is_empty() && project.len() <= crate::domain::scope::MAX_NAME;
        (!fits).then(|| ("project", "`project` must be a text of 1 to 200 bytes".to_owned()))
    }
}
