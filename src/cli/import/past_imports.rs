//! The list of the rule files that this device imported: their last versions, and the claims that came from them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use crate::{
    cli::{CliError, Context},
    config::write_private,
    domain::ClaimId,
    files,
};

/// The version of the rule parser. It increases when the parser reads the same text differently, so that files are read again.
pub(super) const READER_VERSION: u32 = 5;

/// The maximum size of the list of imported files, in bytes.
const MAX_LIST: u64 = 64 * 1024 * 1024;

/// This device's record of the last import of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PastImport {
    /// The hash of the file's text; empty if the next import must compare the file in any case.
    pub(super) hash: String,
    /// The [`READER_VERSION`] of the import.
    pub(super) reader: u32,
    /// A claim of the import, and in `in_force` whether it was active afterwards: they show whether the import was undone.
    pub(super) probe: ClaimId,
    pub(super) in_force: bool,
    /// The claims that came from the file. Imports of a file with the same path in another repository do not change them.
    pub(super) claims: BTreeSet<ClaimId>,
}

/// The imports of this device, by daemon, scope, path and origin.
#[derive(Debug, Default)]
pub(super) struct PastImports {
    path: PathBuf,
    pub(super) imports: BTreeMap<String, PastImport>,
}

impl PastImports {
    /// Loads the list. An unreadable list is an error and not an empty history: without the list, claims from another
    /// repository's file with the same path would be taken for removed lines of this one.
    pub(super) fn load(cx: &Context) -> Result<Self, CliError> {
        let path = cx.paths()?.state.join("imports.json");
        let hint =
            "restore or remove it; without it, the next import compares each file with all claims from that path";
        let text = match files::text(&path, MAX_LIST) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self { path, ..Self::default() }),
            Err(error) => return Err(CliError::file("read", &path, &error).hint(hint)),
        };
        let imports = serde_json::from_str(&text).map_err(|error| {
            CliError::internal(format_args!("{} is damaged: {error}; nothing was imported", path.display())).hint(hint)
        })?;
        Ok(Self { path, imports })
    }

    /// Writes the list. If that fails, an import of another repository's file with the same path may retract the claims
    /// of this import.
    pub(super) fn save(&self) -> Result<(), CliError> {
        let written = serde_json::to_string(&self.imports).map_err(io::Error::from).and_then(|text| {
            self.path.parent().map_or(Ok(()), fs::create_dir_all)?;
            write_private(&self.path, text.as_bytes())
        });
        written.map_err(|error| {
            CliError::file("write", &self.path, &error)
                .hint("the claims are stored, but not recorded as imported: make the file writable and import again")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_cannot_be_written_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("state");
        let past = PastImports { path: state.join("imports.json"), ..PastImports::default() };
        past.save().unwrap();
        fs::remove_dir_all(&state).unwrap();
        fs::write(&state, "no folder").unwrap();
        let error = past.save().unwrap_err();
        assert!(error.to_string().contains("imports.json"), "{error}");
    }
}
