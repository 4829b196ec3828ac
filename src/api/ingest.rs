//! Ingested files: they are stored in chunks, which recall returns as references.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::request;
use crate::domain::EventId;

/// The largest file that can be ingested, in bytes.
pub const MAX_FILE: usize = 2 * 1024 * 1024;

/// The maximum length of a file's name, in bytes.
pub const MAX_FILE_NAME: usize = 1024;

/// The largest body of `POST /ingest`, in bytes: a file as JSON.
pub const MAX_INGEST_BODY: usize = 3 * MAX_FILE;

request! {
    /// `POST /ingest`: ingests one file in its current state. Unchanged chunks are kept, and chunks that are no longer
    /// in the file are removed.
    #[derive(Default)]
    pub struct IngestRequest {
        /// Who acts, and where.
        caller(who, scope),
        /// The file's name, as shown with its passages; best relative to the project.
        pub path: String,
        /// Its text, at most 2 MiB; omit it to remove a deleted file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub text: Option<String>,
        /// Share its chunks with everyone who shares the scope. Otherwise new chunks stay on this device; chunks that were
        /// shared before stay shared.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        pub share: bool,
    }
}

/// The answer to `ingest`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ingested {
    /// The file.
    pub path: String,
    /// The number of its current chunks.
    pub chunks: usize,
    /// The number of chunks that are new.
    pub added: usize,
    /// The number of chunks that were already stored.
    pub kept: usize,
    /// The number of chunks that were removed because the file no longer contains them.
    pub retired: usize,
}

request! {
    /// `POST /add`: stores the sentences of a text that are worth keeping as facts.
    #[derive(Default)]
    pub struct AddRequest {
        /// Who acts, and where.
        caller(who, scope),
        /// The text; required.
        pub text: String,
        /// Its source.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub source: Option<String>,
    }
}

/// The answer to `add`: the sentences that were stored, word for word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Added {
    /// The number of facts that were stored.
    pub count: usize,
    /// Their ids.
    pub stored: Vec<EventId>,
    /// Their statements: sentences of the text, word for word.
    pub memories: Vec<String>,
    /// `extract` if the language model chose the sentences, `question` if the text only asks, or why the whole text was stored: `verbatim`
    /// or `fallback_…`.
    pub method: String,
    /// The same in words.
    pub note: String,
}

/// `GET /ingested`: the files with chunks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IngestedQuery {
    /// The organisation.
    pub org_id: String,
    /// The project.
    pub project: String,
    /// Only files whose names begin with this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under: Option<String>,
}

/// The files of a scope that have chunks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IngestedFiles {
    /// The files, by name.
    pub items: Vec<IngestedFile>,
    /// The number of chunks of all files.
    pub chunks: usize,
}

/// A file that has chunks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IngestedFile {
    /// Its name.
    pub path: String,
    /// The number of its chunks.
    pub chunks: usize,
}
