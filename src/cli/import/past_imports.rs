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

/// The version of the rule parser: increases when it reads the same text differently, so that files are read again.
pub(super) const READER_VERSION: u32 = 2;

/// The maximum size of the list of imported files, in bytes.
const MAX_LIST: u64 = 64 * 1024 * 1024;

/// What this device remembers of an import.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct PastImport {
    pub(super) hash: String,
    pub(super) reader: u32,
    /// A claim of the import and whether it was active afterwards, to detect an undo of the import.
    pub(super) probe: ClaimId,
    pub(super) in_force: bool,
    /// The claims that came from the file: a file with the same path in another repository does not change them.
    pub(super) claims: BTreeSet<ClaimId>,
}

/// The imports of this device, by daemon, scope, path and origin.
#[derive(Debug, Default)]
pub(super) struct PastImports {
    path: PathBuf,
    pub(super) imports: BTreeMap<String, PastImport>,
}

impl PastImports {
    /// Without it, claims of another repository's file of that path would be taken for removed lines of this one. So a
    /// file that cannot be read is an error, and not an empty history.
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

    pub(super) fn save(&self) {
        // Best effort: if it fails, the next import compares again.
        let _kept = serde_json::to_string(&self.imports).ok().and_then(|text| {
            fs::create_dir_all(self.path.parent()?).ok()?;
            write_private(&self.path, text.as_bytes()).ok()
        });
    }
}
