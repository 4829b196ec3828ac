//! The list of followed files, with the last known state of each. It is kept in a file of the home.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    discover,
    file_reader::{FileStat, READER, is_record},
};
use crate::{
    api::{ApiError, ErrorCode, NotesRun},
    config::write_private,
    domain::{CardId, ClaimId, ClaimKind, Scope},
    files,
};

/// The maximum size of the list's file in bytes.
const MAX_LIST: u64 = 64 * 1024 * 1024;

/// The number of runs that are kept.
const KEPT_RUNS: usize = 50;

/// The number of removed and changed lines of a file that are kept.
const KEPT_GONE: usize = 500;

/// A rule of a file, as it was last read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct WatchedRule {
    pub(super) statement: String,
    pub(super) kind: ClaimKind,
    /// The line number, from 1.
    pub(super) line: usize,
    /// The rule's claim; `None` if it was refused.
    pub(super) claim: Option<ClaimId>,
    /// Whether the claim was stored before a followed file contained it, other than by an import or a scan of this
    /// file. Such a claim stays active when the line is removed.
    #[serde(default)]
    pub(super) was_stored: bool,
    /// Whether the rule is that of a decision record that is no longer in force, so that its claim is not active.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) closed: bool,
    /// The card of the refused claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) card: Option<CardId>,
    /// Why the rule itself cannot be stored, such as that it is too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
}

impl WatchedRule {
    pub(super) fn says_same(&self, kind: ClaimKind, statement: &str) -> bool {
        self.kind == kind && self.statement == statement
    }
}

/// A fragment of a file, as it was last read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WatchedFragment {
    pub(super) id: String,
    /// The first and the last line, from 1.
    pub(super) lines: (usize, usize),
    /// The hash of the fragment's text.
    pub(super) hash: String,
}

/// A file, as it was last read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WatchedFile {
    /// The organisation that the request to follow the file named.
    pub(super) org: String,
    /// The name of the file's project.
    pub(super) project: String,
    /// Texts that distinguish the project from others of the same name.
    pub(super) identities: Vec<String>,
    /// The scope of the file's claims; `None` until the file is read.
    pub(super) scope: Option<Scope>,
    /// The path in the sources of the file's claims.
    pub(super) shown: String,
    pub(super) stat: FileStat,
    /// The hash of the text without ergo's section.
    pub(super) hash: String,
    /// The version of the reader that read the file (see [`READER`]).
    pub(super) reader: u32,
    pub(super) rules: Vec<WatchedRule>,
    /// The lines of a rule file that were removed or changed, the latest last: with another branch of a repository they
    /// may return.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) gone: Vec<WatchedRule>,
    pub(super) fragments: Vec<WatchedFragment>,
    /// When the file was read, in milliseconds since the Unix epoch.
    pub(super) scanned_at: Option<u64>,
    /// When the file's claims were recorded as seen, in milliseconds since the Unix epoch.
    pub(super) observed_at: u64,
    /// When ergo's section was written, in milliseconds since the Unix epoch.
    pub(super) written_at: Option<u64>,
    /// Why the file could not be read or stored.
    pub(super) problem: Option<String>,
}

impl WatchedFile {
    /// Whether the file was read by this version of the reader.
    pub(super) fn is_current(&self) -> bool {
        self.scanned_at.is_some() && self.reader == READER
    }

    /// Keeps a removed or changed line, in place of an earlier one with the same words.
    pub(super) fn keep_gone(&mut self, rule: &WatchedRule) {
        self.gone.retain(|gone| !gone.says_same(rule.kind, &rule.statement));
        self.gone.push(rule.clone());
        let old = self.gone.len().saturating_sub(KEPT_GONE);
        self.gone.drain(..old);
    }

    /// Adds a line that the file has now. It is then no longer among those that were removed.
    pub(super) fn add_rule(&mut self, rule: WatchedRule) {
        self.gone.retain(|gone| !gone.says_same(rule.kind, &rule.statement));
        self.rules.push(rule);
    }

    /// Says why the file could not be read or stored, or else which of its rules could not be stored, and why.
    pub(super) fn problem(&self) -> Option<String> {
        let of_rule = |rule: &WatchedRule| Some(format!("line {}: {}", rule.line, rule.problem.as_deref()?));
        let of_rules: Vec<String> = self.rules.iter().filter_map(of_rule).collect();
        self.problem.clone().or_else(|| (!of_rules.is_empty()).then(|| of_rules.join("; ")))
    }

    /// Returns the claims of the rules.
    pub(super) fn claims(&self) -> Vec<ClaimId> {
        self.rules.iter().filter_map(|rule| rule.claim).collect()
    }
}

/// The followed files and folders, and what is known of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WatchList {
    #[serde(skip)]
    path: PathBuf,
    /// Why the list could not be read.
    #[serde(skip)]
    unusable: Option<String>,
    /// The paths that were added, each with its organisation.
    pub(super) roots: BTreeMap<PathBuf, String>,
    /// Paths below one of the roots that are not followed.
    pub(super) left_out: BTreeSet<PathBuf>,
    pub(super) files: BTreeMap<PathBuf, WatchedFile>,
    /// The last runs, the newest last.
    pub(super) runs: Vec<NotesRun>,
    /// The keys of pairs of claims that the cross-encoder has classified, by organisation.
    pub(super) asked: BTreeMap<String, BTreeSet<u64>>,
    /// The organisations that wait for a comparison of claims.
    pub(super) pending: BTreeSet<String>,
    /// The minimum similarity of equal claims by organisation and domain, if it differs from the settings.
    pub(super) thresholds: BTreeMap<String, BTreeMap<String, f32>>,
    /// The claims whose pairs were all compared, by organisation.
    pub(super) reconciled: BTreeMap<String, BTreeSet<ClaimId>>,
    /// The last comparison of claims, by organisation.
    pub(super) compared: BTreeMap<String, LastComparison>,
}

/// The models and the log at the last comparison of an organisation's claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct LastComparison {
    pub(super) models: String,
    /// The position in the log.
    pub(super) at: (i64, i64),
}

impl WatchList {
    /// Reads the list. A list whose content is invalid is renamed and replaced by an empty one. After any other error
    /// the list cannot be used, because saving it would replace the one in the file.
    pub(super) fn load(path: PathBuf) -> Self {
        let list = match files::text(&path, MAX_LIST) {
            Ok(text) => serde_json::from_str::<Self>(&text).map_err(|error| error.to_string()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) if error.kind() == ErrorKind::InvalidData => Err(error.to_string()),
            Err(error) => return Self { unusable: Some(error.to_string()), path, ..Self::default() },
        };
        let list = list.unwrap_or_else(|error| {
            tracing::warn!(path = %path.display(), error, "the list of followed files is invalid");
            let renamed = fs::rename(&path, invalid_list(&path));
            Self { unusable: renamed.err().map(|error| error.to_string()), ..Self::default() }
        });
        Self { path, ..list }
    }

    /// Returns an error if the list could not be read.
    pub(super) fn usable(&self) -> Result<(), ApiError> {
        let Some(error) = &self.unusable else { return Ok(()) };
        let message = format!("the list of followed files ({}) cannot be read: {error}", self.path.display());
        Err(ApiError::new(ErrorCode::Unavailable, message).hint(
            "repair the file, then run `ergo daemon stop` and `ergo daemon start`: until then no file is followed",
        ))
    }

    /// Returns the problem with the list that a person must solve.
    pub(super) fn problem(&self) -> Option<String> {
        if let Err(error) = self.usable() {
            return Some([error.message, error.hint.unwrap_or_default()].join("; "));
        }
        let kept = invalid_list(&self.path);
        kept.exists().then(|| {
            format!(
                "the list of followed files was invalid and is kept as {}: follow the files again with `ergo notes add`, \
                 then delete it",
                kept.display()
            )
        })
    }

    /// Writes the list atomically.
    pub(super) fn save(&self) -> Result<(), ApiError> {
        self.usable()?;
        let failed =
            |error: String| ApiError::new(ErrorCode::Unavailable, format!("cannot save the list of files: {error}"));
        let text = serde_json::to_vec(self).map_err(|error| failed(error.to_string()))?;
        if text.len() as u64 > MAX_LIST {
            return Err(failed(format!("it would have more than {} MiB", MAX_LIST >> 20))
                .hint("stop following some of the files (`ergo notes remove PATH`)"));
        }
        write_private(&self.path, &text).map_err(|error| failed(error.to_string()))
    }

    /// Follows a path and the files found there. Returns these files.
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

    /// Whether a followed file is a decision record.
    pub(super) fn is_record(&self, path: &Path) -> bool {
        self.files.get(path).is_some_and(|file| is_record(&file.shown))
    }

    /// Returns the innermost followed folder that contains a file.
    pub(super) fn root_of(&self, path: &Path) -> Option<&Path> {
        let roots = self.roots.keys().filter(|root| path.starts_with(root) && *root != path);
        roots.max_by_key(|root| root.components().count()).map(PathBuf::as_path)
    }

    /// Whether a file that was found below a followed path should be added to the list.
    pub(super) fn should_follow(&self, path: &Path) -> bool {
        !self.files.contains_key(path) && !self.left_out.iter().any(|left_out| path.starts_with(left_out))
    }

    /// Stops following a path and everything below it. Returns the removed files. The path need not have been added
    /// itself: if it is below a followed one, it is left out from now on.
    pub(super) fn remove(&mut self, root: &Path) -> Vec<(PathBuf, WatchedFile)> {
        self.roots.retain(|path, _| !path.starts_with(root));
        let gone: Vec<PathBuf> = self.files.keys().filter(|path| path.starts_with(root)).cloned().collect();
        if !gone.is_empty() && self.roots.keys().any(|path| root.starts_with(path)) {
            self.left_out.insert(root.to_owned());
        }
        gone.into_iter().filter_map(|path| self.files.remove_entry(&path)).collect()
    }

    /// Forgets the comparisons of an organisation's claims, so that all pairs are compared again.
    pub(super) fn compare_again(&mut self, org: &str) {
        self.asked.remove(org);
        self.reconciled.remove(org);
        self.pending.insert(org.to_owned());
    }

    /// Records a run, and removes the oldest if there are more than [`KEPT_RUNS`].
    pub(super) fn record_run(&mut self, run: NotesRun) {
        self.runs.push(run);
        let old = self.runs.len().saturating_sub(KEPT_RUNS);
        self.runs.drain(..old);
    }
}

/// Returns the path under which an invalid list is kept.
fn invalid_list(path: &Path) -> PathBuf {
    path.with_extension("json.unreadable")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_cannot_be_read_is_not_replaced_and_an_invalid_one_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("notes.json");
        assert_eq!(WatchList::load(path.clone()).problem(), None, "there is none yet");
        let mut list = WatchList { path: path.clone(), ..WatchList::default() };
        list.follow(Path::new("/src/api"), "acme", Vec::new());
        list.save().unwrap();
        assert_eq!(WatchList::load(path.clone()), list);
        // A list that is too large is an example of one that cannot be read.
        fs::File::options().write(true).open(&path).unwrap().set_len(MAX_LIST + 1).unwrap();
        let unusable = WatchList::load(path.clone());
        assert!(unusable.problem().unwrap().contains("cannot be read"), "{:?}", unusable.problem());
        unusable.save().unwrap_err();
        assert_eq!(fs::metadata(&path).unwrap().len(), MAX_LIST + 1);
        fs::write(&path, "{").unwrap();
        let empty = WatchList::load(path.clone());
        assert!(empty.problem().unwrap().contains("notes.json.unreadable"), "{:?}", empty.problem());
        empty.save().unwrap();
        assert_eq!(fs::read_to_string(invalid_list(&path)).unwrap(), "{");
    }

    #[test]
    fn what_is_removed_below_a_followed_folder_stays_away_until_it_is_added_again() {
        let mut list = WatchList::default();
        let (root, file) = (Path::new("/src/api"), PathBuf::from("/src/api/web/AGENTS.md"));
        list.follow(root, "acme", vec![file.clone()]);
        assert_eq!(list.remove(&file).len(), 1);
        assert!(!list.should_follow(&file) && list.should_follow(Path::new("/src/api/AGENTS.md")));
        list.follow(&file, "acme", Vec::new());
        assert!(list.should_follow(&file));
        list.follow(root, "acme", vec![file.clone()]);
        assert_eq!(list.remove(root).len(), 1);
        assert!(list.left_out.is_empty() && list.roots.is_empty());
    }
}
