//! Names files beside the store that interrupted commands left, or that were kept before a repair.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{Finding, note};
use crate::{
    cli::status::bytes,
    config::Paths,
    files::{left_drafts, with_suffix},
    store::dry_run_folder,
};

/// Reports the files that are left; `running` says whether a daemon runs, which may use the copy of a dry run.
pub(super) fn check(paths: &Paths, running: bool) -> Vec<Finding> {
    let store = paths.store();
    let mut interrupted = left_drafts(&paths.data);
    if paths.state != paths.data {
        interrupted.extend(left_drafts(&paths.state));
    }
    let copy = dry_run_folder(&store);
    if !running && copy.exists() {
        interrupted.push(copy);
    }
    let removed = "`ergo daemon start` removes it; if a daemon runs, stop it first: `ergo daemon stop`";
    let kept = "delete it when you no longer need it: texts that are redacted stay in it";
    let named = |what: &str, file: PathBuf, hint: &str| {
        let size = fs::metadata(&file).map_or(0, |meta| meta.len());
        let message = format!("{} ({}) {what}", file.display(), bytes(size));
        Finding { hint: Some(hint.to_owned()), ..note("leftover", message) }
    };
    let mut out: Vec<_> =
        interrupted.into_iter().map(|file| named("was left by an interrupted command", file, removed)).collect();
    out.extend(kept_beside(&store).into_iter().map(|file| named("was kept when the store was replaced", file, kept)));
    out
}

/// Returns the damaged files that a rebuild kept, and the write-ahead log of a store that a backup replaced.
fn kept_beside(store: &Path) -> Vec<PathBuf> {
    let starts: Vec<_> = [".damaged", "-wal.old"].iter().map(|ending| with_suffix(store, ending)).collect();
    let Some(entries) = store.parent().and_then(|folder| fs::read_dir(folder).ok()) else { return Vec::new() };
    let is_kept = |path: &PathBuf| {
        let name = path.as_os_str().as_encoded_bytes();
        starts.iter().any(|start| name.starts_with(start.as_os_str().as_encoded_bytes()))
    };
    let mut kept: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_kept).collect();
    kept.sort();
    kept
}
