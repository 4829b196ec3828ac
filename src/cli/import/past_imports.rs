//! The list of the rule files that this device imported: their last versions, and the claims that came from them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::PathBuf,
};

use serde::{Deserialize, Serialize};

use crate::{
    cli::{CliError, Context},
    domain::{ClaimId, Scope},
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
    /// The claims of the file's lines after the import. If one of them was undone since, the file must be compared, although the
    /// probe belongs to a later import. Empty in the records of earlier versions of ergo.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) of_lines: BTreeSet<ClaimId>,
    /// The claims that came from the file. Imports of a file with the same path in another repository do not change them.
    pub(super) claims: BTreeSet<ClaimId>,
}

/// What the imports of one file have in common. In the list it is a text of four lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub(super) struct ImportKey {
    /// The daemon.
    place: String,
    scope: String,
    /// The file's path in sources.
    path: String,
    /// The file's repository, or else its folder.
    origin: String,
}

impl ImportKey {
    /// Creates a key. Line breaks in its parts become spaces.
    pub(super) fn new(place: &str, scope: &Scope, path: &str, origin: &str) -> Self {
        let [place, scope, path, origin] =
            [place, &scope.to_string(), path, origin].map(|part| part.replace('\n', " "));
        Self { place, scope, path, origin }
    }
}

impl From<ImportKey> for String {
    fn from(ImportKey { place, scope, path, origin }: ImportKey) -> Self {
        [place, scope, path, origin].join("\n")
    }
}

impl TryFrom<String> for ImportKey {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let parts: Vec<&str> = text.split('\n').collect();
        let [place, scope, path, origin] = parts[..] else {
            return Err("the key of an import does not have four lines");
        };
        let [place, scope, path, origin] = [place, scope, path, origin].map(str::to_owned);
        Ok(Self { place, scope, path, origin })
    }
}

/// The imports of this device.
#[derive(Debug, Default)]
pub(super) struct PastImports {
    path: PathBuf,
    pub(super) imports: BTreeMap<ImportKey, PastImport>,
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

    /// Returns the claims of files with the path of this one in other repositories.
    pub(super) fn claims_of_others(&self, file: &ImportKey) -> BTreeSet<ClaimId> {
        let others = self.imports.iter().filter(|(key, _)| *key != file && key.path == file.path);
        others.flat_map(|(_, import)| import.claims.iter().copied()).collect()
    }

    /// Returns the paths in sources and the origins of the other files that were imported into the same scope.
    pub(super) fn others_in_scope(&self, file: &ImportKey) -> impl Iterator<Item = (&str, &str)> {
        let others =
            self.imports.keys().filter(move |key| *key != file && key.place == file.place && key.scope == file.scope);
        others.map(|key| (key.path.as_str(), key.origin.as_str()))
    }

    /// Writes the list. If that fails, an import of another repository's file with the same path may retract the claims
    /// of this import.
    pub(super) fn save(&self) -> Result<(), CliError> {
        let written = serde_json::to_string(&self.imports).map_err(io::Error::from).and_then(|text| {
            self.path.parent().map_or(Ok(()), fs::create_dir_all)?;
            files::write_private(&self.path, text.as_bytes())
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
    use crate::domain::EventId;

    #[test]
    fn the_claims_of_other_files_with_the_same_path_are_found_after_the_list_was_read_again() {
        let scope = Scope { org_id: "acme".into(), project: "api".into() };
        let key = |path: &str, origin: &str| ImportKey::new("here", &scope, path, origin);
        let import = |n: u8| {
            let probe = EventId([n; 32]);
            let claims = BTreeSet::from([probe]);
            PastImport { hash: String::new(), reader: 1, probe, in_force: true, of_lines: BTreeSet::new(), claims }
        };
        let imports = [("AGENTS.md", "one", 1), ("AGENTS.md", "two\nlines", 2), ("CLAUDE.md", "two", 3)];
        let imports: BTreeMap<ImportKey, PastImport> =
            imports.into_iter().map(|(path, origin, n)| (key(path, origin), import(n))).collect();
        let text = serde_json::to_string(&imports).unwrap();
        assert!(text.contains(r"here\nacme/api\nAGENTS.md\ntwo lines"), "{text}");
        let past = PastImports { imports: serde_json::from_str(&text).unwrap(), path: PathBuf::new() };
        assert_eq!(past.imports, imports);
        let of = |path, origin| past.claims_of_others(&key(path, origin)).into_iter().collect::<Vec<_>>();
        assert_eq!(of("AGENTS.md", "one"), [EventId([2; 32])]);
        assert_eq!(of("CLAUDE.md", "two"), []);
        serde_json::from_str::<BTreeMap<ImportKey, PastImport>>(&text.replace(r"here\n", "")).unwrap_err();
    }

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
