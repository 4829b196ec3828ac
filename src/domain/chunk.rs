//! A chunk of an ingested file. It is not a claim, and the guard does not compare it.

use serde::{Deserialize, Serialize};

/// Where a chunk stands: the data of a `chunk` or `local.chunk` event.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ChunkPlace {
    /// The file, as it was named when it was taken in.
    pub path: String,
    /// Its first line, from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
}

impl ChunkPlace {
    /// As a source: `path:line`.
    pub fn source(&self) -> String {
        format!("{}:{}", self.path, self.first)
    }
}
