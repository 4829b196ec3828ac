//! Prefixes that outlive the process: what a model made of them, in files.
//!
//! To read a prompt's examples takes a slow core ten seconds and more, and a process ends when nobody asks for some minutes. A file's name says what
//! it holds (the prefix, the model's file, this program's version) and the hash of its own content, so that one which was cut or damaged is known.
//! Prefixes are ergo's own instructions and examples: nothing of anybody's claims is in them. What cannot be kept is read again.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use llama_cpp_2::{context::LlamaContext, token::LlamaToken};

/// Files of one folder; the one that was used the longest time ago goes first. Some 15 MiB each with a 1.5B model.
const MOST: usize = 8;

/// Tokens of a prefix that is worth a file: a few seconds of a slow core.
const WORTH: usize = 128;

/// What a file's name ends with, and that of one which is being written.
const DONE: &str = ".prefix";
const PART: &str = ".part";

/// The files of one model.
pub(super) struct Kept {
    folder: PathBuf,
    model: String,
}

impl Kept {
    /// Files in `folder`, of the model in the file at `path`; `None` where neither can be told from others.
    pub(super) fn new(folder: &str, path: &str) -> Option<Self> {
        let facts = fs::metadata(path).ok()?;
        let changed = facts.modified().ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let model = format!("{path}\n{}\n{}", facts.len(), changed.as_nanos());
        Some(Self { folder: PathBuf::from(folder), model })
    }

    /// Fills an empty sequence with a prefix from its file. Answers whether there was one that fits.
    pub(super) fn load(&self, context: &mut LlamaContext<'_>, sequence: usize, prefix: &[LlamaToken]) -> bool {
        if prefix.len() < WORTH {
            return false;
        }
        let key = self.key(prefix);
        for path in files(&self.folder).into_iter().filter(|path| name(path).starts_with(&key)) {
            let whole = fs::read(&path).is_ok_and(|bytes| name(&path) == named(&key, &bytes));
            let loaded = whole.then(|| context.state_seq_load_file(&path, sequence as i32, prefix.len()));
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

    /// Keeps what a sequence holds: a prefix and nothing else.
    pub(super) fn save(&self, context: &LlamaContext<'_>, sequence: usize, prefix: &[LlamaToken]) {
        if prefix.len() < WORTH {
            return;
        }
        let key = self.key(prefix);
        let part = self.folder.join(format!("{key}{PART}"));
        let saved = fs::create_dir_all(&self.folder).and_then(|()| {
            let written = context.state_seq_save_file(&part, sequence as i32, prefix).map_err(io::Error::other)?;
            let bytes = fs::read(&part)?;
            if bytes.len() != written {
                return Err(io::Error::other("the file was cut"));
            }
            fs::rename(&part, self.folder.join(named(&key, &bytes)))
        });
        if let Err(error) = saved {
            tracing::debug!(%error, folder = %self.folder.display(), "a prefix could not be kept");
            let _not_there = fs::remove_file(&part);
        }
        self.prune();
    }

    fn prune(&self) {
        let mut files = files(&self.folder);
        files.sort_by_cached_key(|path| fs::metadata(path).and_then(|facts| facts.modified()).ok());
        for path in files.iter().rev().skip(MOST) {
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

/// The name of a file with this content.
fn named(key: &str, bytes: &[u8]) -> String {
    format!("{key}-{}{DONE}", short(&blake3::hash(bytes)))
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// The whole files of a folder; none where there is no folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| name(path).ends_with(DONE)).collect()
}
