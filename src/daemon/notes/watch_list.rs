//! The files that are followed, with what was last seen of each. Kept in a file of the home.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{discover, file_reader::FileStat};
use crate::{
    api::{ApiError, ErrorCode, NotesRun},
    config::write_private,
    domain::{CardId, ClaimId, ClaimKind, Scope},
    files,
};

/// The largest list that is read, in bytes.
const MAX_LIST: u64 = 64 * 1024 * 1024;

/// The runs that are kept.
const RUNS: usize = 50;

/// A rule of a file, as it was last read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WatchedRule {
    /// Its statement.
    pub(super) statement: String,
    /// Its kind.
    pub(super) kind: ClaimKind,
    /// Its line, from 1.
    pub(super) line: usize,
    /// Its claim; `None` if it was refused.
    pub(super) claim: Option<ClaimId>,
    /// Whether the claim was stored before a followed file said it, other than by an import or a scan of this file: it stays when
    /// the line goes.
    #[serde(default)]
    pub(super) was_stored: bool,
    /// The card on which it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) card: Option<CardId>,
}

/// A fragment of a file, as it was last read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WatchedFragment {
    /// Its id.
    pub(super) id: String,
    /// Its first and last line, from 1.
    pub(super) lines: (usize, usize),
    /// The hash of its text.
    pub(super) hash: String,
}

/// A file, as it was last read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WatchedFile {
    /// The organisation that was named when it was added.
    pub(super) org: String,
    /// The name of its project.
    pub(super) project: String,
    /// What tells its project from others of the same name.
    pub(super) identities: Vec<String>,
    /// The scope of its claims, once it was read.
    pub(super) scope: Option<Scope>,
    /// Its path as the sources of its claims name it.
    pub(super) shown: String,
    /// Its time and size.
    pub(super) stat: FileStat,
    /// The hash of its text without ergo's section.
    pub(super) hash: String,
    /// The version of the reader that read it.
    pub(super) reader: u32,
    /// Its rules.
    pub(super) rules: Vec<WatchedRule>,
    /// Its fragments.
    pub(super) fragments: Vec<WatchedFragment>,
    /// When it was read, in milliseconds since the Unix epoch.
    pub(super) scanned_at: Option<u64>,
    /// When its claims were recorded as seen.
    pub(super) observed_at: u64,
    /// When ergo's section was written.
    pub(super) written_at: Option<u64>,
    /// Why it could not be read.
    pub(super) problem: Option<String>,
}

/// All that is followed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WatchList {
    #[serde(skip)]
    path: PathBuf,
    /// The paths that were added, each with its organisation.
    pub(super) roots: BTreeMap<PathBuf, String>,
    /// Paths below one of these that are not to be followed.
    pub(super) left_out: BTreeSet<PathBuf>,
    /// The files.
    pub(super) files: BTreeMap<PathBuf, WatchedFile>,
    /// The last runs, the newest last.
    pub(super) runs: Vec<NotesRun>,
    /// Keys of pairs of claims that the cross-encoder was asked about, by organisation.
    pub(super) asked: BTreeMap<String, BTreeSet<u64>>,
    /// Organisations whose last run left pairs over.
    pub(super) pending: BTreeSet<String>,
    /// The least similarity of equal claims by organisation and domain, where it is not that of the settings.
    pub(super) thresholds: BTreeMap<String, BTreeMap<String, f32>>,
    /// Claims whose pairs were all looked at, by organisation.
    pub(super) reconciled: BTreeMap<String, BTreeSet<ClaimId>>,
    /// With what and when the claims of an organisation were last compared.
    pub(super) compared: BTreeMap<String, LastComparison>,
}

/// With what and when the claims of an organisation were last compared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LastComparison {
    /// The models.
    pub(super) models: String,
    /// The state of the log.
    pub(super) at: (i64, i64),
}

impl WatchList {
    /// Reads the list. One that cannot be read is empty: what it knew is read from the files again.
    pub(super) fn load(path: PathBuf) -> Self {
        let read = files::text(&path, MAX_LIST).map_err(|error| error.to_string());
        let list = read.and_then(|text| serde_json::from_str::<Self>(&text).map_err(|error| error.to_string()));
        if let Err(error) = &list
            && path.exists()
        {
            tracing::warn!(path = %path.display(), error, "cannot read the list of followed files");
            let _kept = fs::rename(&path, path.with_extension("json.unreadable"));
        }
        Self { path, ..list.unwrap_or_default() }
    }

    /// Writes the list, whole or not at all.
    pub(super) fn save(&self) -> Result<(), ApiError> {
        let failed =
            |error: String| ApiError::new(ErrorCode::Unavailable, format!("cannot save the list of files: {error}"));
        let text = serde_json::to_vec(self).map_err(|error| failed(error.to_string()))?;
        write_private(&self.path, &text).map_err(|error| failed(error.to_string()))
    }

    /// Follows a path and the files found there; returns these files.
    pub(super) fn follow(&mut self, root: &Path, org: &str, found: Vec<PathBuf>) -> Vec<PathBuf> {
        self.roots.insert(root.to_owned(), org.to_owned());
        self.left_out.retain(|path| !path.starts_with(root) && !root.starts_with(path));
        for path in &found {
            if !self.files.contains_key(path) {
                let file = discover::watched_file(path, org, self.root_of(path));
                self.files.insert(path.clone(), file);
            }
        }
        found
    }

    /// The nearest added folder in which a file is.
    pub(super) fn root_of(&self, path: &Path) -> Option<&Path> {
        let roots = self.roots.keys().filter(|root| path.starts_with(root) && *root != path);
        roots.max_by_key(|root| root.components().count()).map(PathBuf::as_path)
    }

    /// Whether a file that is found below a followed path is to be followed.
    pub(super) fn wants(&self, path: &Path) -> bool {
        !self.files.contains_key(path) && !self.left_out.iter().any(|left_out| path.starts_with(left_out))
    }

    /// Follows a path no longer, nor what is below it; returns the files. Whether the path itself had been added does not matter: below one that
    /// stays it is left out from now on.
    pub(super) fn remove(&mut self, root: &Path) -> Vec<(PathBuf, WatchedFile)> {
        self.roots.retain(|path, _| !path.starts_with(root));
        let gone: Vec<PathBuf> = self.files.keys().filter(|path| path.starts_with(root)).cloned().collect();
        if !gone.is_empty() && self.roots.keys().any(|path| root.starts_with(path)) {
            self.left_out.insert(root.to_owned());
        }
        gone.into_iter().filter_map(|path| self.files.remove_entry(&path)).collect()
    }

    /// Forgets which claims of an organisation were compared, and which of their pairs: they are compared anew.
    pub(super) fn compare_anew(&mut self, org: &str) {
        self.asked.remove(org);
        self.reconciled.remove(org);
        self.pending.insert(org.to_owned());
    }

    /// Keeps a run.
    pub(super) fn log(&mut self, run: NotesRun) {
        self.runs.push(run);
        let old = self.runs.len().saturating_sub(RUNS);
        self.runs.drain(..old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_below_a_followed_folder_stays_away_until_it_is_added_again() {
        let mut list = WatchList::default();
        let (root, file) = (Path::new("/src/api"), PathBuf::from("/src/api/web/AGENTS.md"));
        list.follow(root, "acme", vec![file.clone()]);
        assert_eq!(list.remove(&file).len(), 1);
        assert!(!list.wants(&file) && list.wants(Path::new("/src/api/AGENTS.md")));
        list.follow(&file, "acme", Vec::new());
        assert!(list.wants(&file));
        list.follow(root, "acme", vec![file.clone()]);
        assert_eq!(list.remove(root).len(), 1);
        assert!(list.left_out.is_empty() && list.roots.is_empty());
    }
}
