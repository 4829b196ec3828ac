//! Ingest: files ingested for reference, in pieces.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::request;
use crate::domain::EventId;

/// The largest file that can be ingested, in bytes.
pub const MAX_FILE: usize = 2 * 1024 * 1024;

/// The longest name of a file, in bytes.
pub const MAX_FILE_NAME: usize = 1024;

/// The largest body of `POST /ingest`, in bytes: a file as JSON.
pub const MAX_INGEST_BODY: usize = 3 * MAX_FILE;

request! {
    /// `POST /ingest`: ingests one file in its current state. Unchanged chunks are kept, and chunks that are no longer
    /// in the file are removed.
    #[derive(Default)]
    pub struct IngestRequest {
        /// Who acts, and where.
        caller,
        /// The file's name, as shown with its passages; best relative to the project.
        #[serde(default)]
        pub path: String,
        /// Its text, at most 2 MiB; omit it to remove a deleted file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub text: Option<String>,
        /// Share its chunks with everyone who shares the scope. Otherwise they stay on this device, and what was shared
        /// of the file before stays shared.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub share: bool,
    }
}

/// The answer to `ingest`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ingested {
    /// The file.
    pub path: String,
    /// Its current chunks.
    pub chunks: usize,
    /// Of those, how many are new.
    pub added: usize,
    /// How many were stored already.
    pub kept: usize,
    /// Chunks that were removed because the file no longer has them.
    pub retired: usize,
}

request! {
    /// `POST /add`: a text from which the sentences worth keeping are stored as facts.
    #[derive(Default)]
    pub struct AddRequest {
        /// Who acts, and where.
        caller,
        /// The text; required.
        #[serde(default)]
        pub text: String,
        /// Where it comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub source: Option<String>,
    }
}

/// The answer to `add`: what was stored, word for word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Added {
    /// How many facts were stored.
    pub count: usize,
    /// Their ids.
    pub stored: Vec<EventId>,
    /// Their statements: sentences of the text, word for word.
    pub memories: Vec<String>,
    /// `extract` if the language model chose, `question` if the text only asks, else why the whole text was stored: `verbatim` or `fallback_…`.
    pub method: String,
    /// The same in words.
    pub note: String,
}

/// `GET /ingested`: files of which there are chunks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct IngestedQuery {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// Only files whose names begin so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// The files of a scope of which there are chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IngestedFiles {
    /// The files, by name.
    pub items: Vec<IngestedFile>,
    /// Chunks of all of them together.
    pub chunks: usize,
}

/// A file of which there are chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IngestedFile {
    /// Its name.
    pub path: String,
    /// The number of its chunks.
    pub chunks: usize,
}
