//! The `[recall]` section: what recall asks beyond this program, and the listener for clients of another memory.

use std::{env, net::SocketAddr, path::PathBuf};

use crate::files;
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
#[serde(deny_unknown_fields)]
pub struct CogitoSettings {
    /// Where it listens: an address of this machine alone, since the connection is not encrypted.
    pub listen: SocketAddr,
    /// The scope that it reads and writes; by default `agent` in the organisation of the settings.
    #[serde(default = "project")]
    pub project: String,
    /// A file with the token that clients must send; without it everyone on this machine may read and write there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
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

impl CompatSettings {
    /// The first setting that cannot be, and why.
    pub(super) fn mistake(&self) -> Option<(&'static str, String)> {
        let cogito = self.cogito.as_ref()?;
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
