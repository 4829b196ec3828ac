//! A chunk of an ingested file. It is not a claim, and the guard does not compare it.

use serde::{Deserialize, Serialize};

/// The location of a chunk: the data of a `chunk` or `local.chunk` event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChunkPlace {
    /// The name under which the file was ingested.
    pub path: String,
    /// Its first line, from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
}

impl ChunkPlace {
    /// Formats the location as a source: `path:line`.
    pub fn source(&self) -> String {
        format!("{}:{}", self.path, self.first)
    }
}
