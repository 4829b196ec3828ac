//! Writes the gate's features of each nearby claim to a file, for fitting outside the program and for inspecting
//! single cases.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{GuardBenchError, memory_project::GatedClaim};
use ergo::{domain::DoubtBand, guard::doubt_gate::GateFeatures};

/// A nearby claim of a write.
#[derive(Serialize)]
pub(super) struct GateExample<'a> {
    /// The project or corpus.
    pub(super) set: &'a str,
    /// Identifies the write in the set.
    pub(super) write: usize,
    /// The kind of write: `contradiction`, `harmless`, `rule`, `decision`, …
    pub(super) group: &'a str,
    /// Whether it is the claim of the labelled pair; in a replay, whether it is unrelated.
    pub(super) target: bool,
    pub(super) blocked: bool,
    pub(super) band: Option<DoubtBand>,
    pub(super) new: &'a str,
    pub(super) existing: &'a str,
    /// `None` if the rules say that both hold.
    pub(super) features: Option<GateFeatures>,
}

impl<'a> GateExample<'a> {
    pub(super) fn of(claim: &GatedClaim, group: &'a str, new: &'a str, existing: &'a str, target: bool) -> Self {
        let (blocked, band, features) = (claim.blocked, claim.band, claim.features);
        Self { set: "", write: 0, group, target, blocked, band, new, existing, features }
    }
}

/// Writes examples as JSON lines, or nothing without a file.
pub(super) struct ExampleFile(Option<(BufWriter<File>, PathBuf)>);

impl ExampleFile {
    pub(super) fn create(path: Option<&Path>) -> Result<Self, GuardBenchError> {
        let Some(path) = path else { return Ok(Self(None)) };
        let file = File::create(path).map_err(|source| GuardBenchError::File { path: path.to_owned(), source })?;
        Ok(Self(Some((BufWriter::new(file), path.to_owned()))))
    }

    pub(super) fn add(&mut self, example: &GateExample<'_>) -> Result<(), GuardBenchError> {
        let Some((file, path)) = &mut self.0 else { return Ok(()) };
        let line = serde_json::to_string(example).unwrap_or_default();
        writeln!(file, "{line}").map_err(|source| GuardBenchError::File { path: path.clone(), source })
    }

    pub(super) fn finish(self) -> Result<(), GuardBenchError> {
        let Some((mut file, path)) = self.0 else { return Ok(()) };
        file.flush().map_err(|source| GuardBenchError::File { path, source })
    }
}
