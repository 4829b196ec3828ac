//! Writes the gate's features of each nearby claim to a file, for fitting outside the program and for inspecting
//! single cases.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{BenchError, memory::Doubted};
use ergo::{domain::DoubtBand, guard::doubt_gate::GateFeatures};

/// One nearby claim of a write.
#[derive(Serialize)]
pub(super) struct GateExample<'a> {
    /// The project or corpus.
    pub(super) set: &'a str,
    /// Tells the writes of a set apart.
    pub(super) write: usize,
    /// What the write is: `contradiction`, `harmless`, `rule`, `decision`, …
    pub(super) group: &'a str,
    /// Whether it is the claim that the write is about; in a replay, whether it counts.
    pub(super) target: bool,
    pub(super) blocked: bool,
    pub(super) band: Option<DoubtBand>,
    pub(super) new: &'a str,
    pub(super) existing: &'a str,
    /// `None` if the rules say that both hold.
    pub(super) features: Option<GateFeatures>,
}

impl<'a> GateExample<'a> {
    pub(super) fn of(seen: &Doubted, group: &'a str, new: &'a str, existing: &'a str, target: bool) -> Self {
        let (blocked, band, features) = (seen.blocked, seen.band, seen.features);
        Self { set: "", write: 0, group, target, blocked, band, new, existing, features }
    }
}

/// Writes examples as JSON lines; nothing without a file.
pub(super) struct ExampleFile(Option<(BufWriter<File>, PathBuf)>);

impl ExampleFile {
    pub(super) fn create(path: Option<&Path>) -> Result<Self, BenchError> {
        let Some(path) = path else { return Ok(Self(None)) };
        let file = File::create(path).map_err(|source| BenchError::Cache { path: path.to_owned(), source })?;
        Ok(Self(Some((BufWriter::new(file), path.to_owned()))))
    }

    pub(super) fn add(&mut self, example: &GateExample<'_>) -> Result<(), BenchError> {
        let Some((file, path)) = &mut self.0 else { return Ok(()) };
        let line = serde_json::to_string(example).unwrap_or_default();
        writeln!(file, "{line}").map_err(|source| BenchError::Cache { path: path.clone(), source })
    }

    pub(super) fn finish(self) -> Result<(), BenchError> {
        let Some((mut file, path)) = self.0 else { return Ok(()) };
        file.flush().map_err(|source| BenchError::Cache { path, source })
    }
}
