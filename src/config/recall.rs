//! The `[recall]` section: what recall asks beyond this program, and the listener for clients of another memory.

use std::{env, fs, net::SocketAddr, path::PathBuf};

use serde::{Deserialize, Serialize};

/// The environment variable that holds the endpoint's key.
pub const KEY_VARIABLE: &str = "ERGO_LLM_KEY";

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
}

impl RecallSettings {
    /// The first setting that cannot be, and why.
    pub(super) fn mistake(&self) -> Option<(&'static str, String)> {
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
            (None, Some(path)) => fs::read_to_string(path)
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
#[serde(deny_unknown_fields)]
pub struct CogitoSettings {
    /// Where it listens: an address of this machine alone, since it asks for no token.
    pub listen: SocketAddr,
    /// The scope that it reads and writes; by default `agent` in the organisation of the settings.
    #[serde(default = "project")]
    pub project: String,
}

fn project() -> String {
    "agent".to_owned()
}

impl CompatSettings {
    /// The first setting that cannot be, and why.
    pub(super) fn mistake(&self) -> Option<(&'static str, String)> {
        let cogito = self.cogito.as_ref()?;
        if !cogito.listen.ip().is_loopback() {
            let message = format!(
                "`listen` is {}: expected an address of this machine alone, such as 127.0.0.1:19420, since it asks for no token",
                cogito.listen
            );
            return Some(("listen", message));
        }
        let project = cogito.project.trim();
        let fits = !project.is_empty() && project.len() <= crate::domain::scope::MAX_NAME;
        (!fits).then(|| ("project", "`project` must be a text of 1 to 200 bytes".to_owned()))
    }
}
