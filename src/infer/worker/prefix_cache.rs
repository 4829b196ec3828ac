//! The prefix cache: files with the evaluated prefixes of prompts.
//!
//! Evaluating a prompt's examples takes ten seconds and more on a slow core, and a process ends after some idle
//! minutes. A file's name contains a key (a hash of the prefix, the model's file and this program's version) and a hash
//! of the content, so that a truncated or damaged file is detected. Prefixes are ergo's own instructions and examples:
//! they contain no claims. If a prefix cannot be cached, it is evaluated again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use llama_cpp_2::{context::LlamaContext, token::LlamaToken};

/// The maximum number of files in the folder; the least recently used ones are removed. A file has about 15 MiB with a
/// 1.5B model.
const MAX_FILES: usize = 8;

/// The length in tokens from which prefixes are cached: a slow core evaluates as many in a few seconds.
const MIN_TOKENS: usize = 128;

/// The suffix of a complete file.
const SUFFIX: &str = ".prefix";

/// The suffix of a file that is being written.
const PART_SUFFIX: &str = ".part";

/// The cache of one model.
pub(super) struct PrefixCache {
    folder: PathBuf,
    /// The path, size and modification time of the model's file.
    model: String,
}

impl PrefixCache {
    /// Opens the cache in `folder` for the model file at `path`; `None` if either cannot be read.
    pub(super) fn new(folder: &str, path: &str) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        let changed = facts.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let model = format!("{path}\n{}\n{}", facts.len(), changed.as_nanos());
        Some(Self { folder: PathBuf::from(folder), model })
    }

    /// Fills an empty sequence with a cached prefix. Returns whether there was one.
    pub(super) fn load(&self, context: &mut LlamaContext<'_>, sequence: usize, prefix: &[LlamaToken]) -> bool {
        if prefix.len() < MIN_TOKENS {
            return false;
        }
        let key = self.key(prefix);
        for path in files(&self.folder).into_iter().filter(|path| name(path).starts_with(&key)) {
            let intact = fs::read(&path).is_ok_and(|bytes| name(&path) == name_of(&key, &bytes));
            let loaded = intact.then(|| context.state_seq_load_file(&path, sequence as i32, prefix.len()));
            if loaded.is_some_and(|loaded| loaded.is_ok_and(|(tokens, _)| tokens == prefix)) {
                let _unknown =
                    fs::File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
                return true;
            }
            let _there_still = fs::remove_file(&path);
            let _empty = context.clear_kv_cache_seq(Some(sequence as u32), None, None);
        }
        false
    }

    /// Writes the state of a sequence that consists of exactly this prefix.
    pub(super) fn save(&self, context: &LlamaContext<'_>, sequence: usize, prefix: &[LlamaToken]) {
        if prefix.len() < MIN_TOKENS {
            return;
        }
        let key = self.key(prefix);
        let part = self.folder.join(format!("{key}{PART_SUFFIX}"));
        let saved = fs::create_dir_all(&self.folder).and_then(|()| {
            let written = context.state_seq_save_file(&part, sequence as i32, prefix).map_err(io::Error::other)?;
            let bytes = fs::read(&part)?;
            if bytes.len() != written {
                return Err(io::Error::other("the file was truncated"));
            }
            fs::rename(&part, self.folder.join(name_of(&key, &bytes)))
        });
        if let Err(error) = saved {
            tracing::debug!(%error, folder = %self.folder.display(), "cannot cache a prefix");
            let _not_there = fs::remove_file(&part);
        }
        self.prune();
    }

    fn prune(&self) {
        let mut files = files(&self.folder);
        files.sort_by_cached_key(|path| fs::metadata(path).and_then(|facts| facts.modified()).ok());
        for path in files.iter().rev().skip(MAX_FILES) {
            let _there_still = fs::remove_file(path);
        }
    }

    fn key(&self, prefix: &[LlamaToken]) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(env!("CARGO_PKG_VERSION").as_bytes()).update(self.model.as_bytes());
        for token in prefix {
            hasher.update(&token.0.to_le_bytes());
        }
        short(&hasher.finalize())
    }
}

fn short(hash: &blake3::Hash) -> String {
    hash.to_hex().chars().take(24).collect()
}

/// Returns the name of a file with this key and content.
fn name_of(key: &str, bytes: &[u8]) -> String {
    format!("{key}-{}{SUFFIX}", short(&blake3::hash(bytes)))
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Returns the complete files of a folder; none if the folder cannot be read.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| name(path).ends_with(SUFFIX)).collect()
}
