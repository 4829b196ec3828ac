//! Downloads a model file: an interrupted download is resumed, and the file gets its name only if its hash is
//! right.
//!
//! The part file is a prefix of the file. Beside it is the entity tag under which the server sent it: a server
//! whose file has changed since is asked to start over. If the prefix still belongs to another file, the hash
//! detects it, and the file is downloaded once more.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    digest::{self, Sha256},
    model_store::open_private,
};
use crate::files::write_private;

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 17;

/// What to download.
#[derive(Clone, Debug)]
pub struct FetchTarget {
    /// The expected size in bytes.
    pub bytes: u64,
    /// The expected hash.
    pub sha256: Sha256,
    /// The path of the file. The part file has the suffix `.part`.
    pub target: PathBuf,
}

impl FetchTarget {
    /// Returns the path of the part file.
    pub fn part(&self) -> PathBuf {
        with_suffix(&self.target, ".part")
    }

    /// Returns the path of the part's entity tag.
    fn tag(&self) -> PathBuf {
        with_suffix(&self.target, ".part.json")
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// How often, and after which delay, an interrupted download is retried. The count starts over when bytes
/// arrive.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// Attempts in a row without any bytes before it fails.
    pub attempts: u32,
    /// The delay after the first; it doubles with each next one.
    pub first: Duration,
    /// The longest delay.
    pub longest: Duration,
}

impl RetryPolicy {
    /// Returns the delay after this many attempts in a row without bytes, from 1.
    pub fn pause(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.longest)
    }
}

impl Default for RetryPolicy {
    /// Six attempts, half a minute in all.
    fn default() -> Self {
        Self { attempts: 6, first: Duration::from_secs(1), longest: Duration::from_secs(30) }
    }
}

/// The progress of a download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchProgress {
    /// Bytes have arrived.
    Downloaded {
        /// Bytes downloaded.
        bytes: u64,
        /// Expected size in bytes.
        total_bytes: u64,
    },
    /// An earlier part is resumed.
    Resumed {
        /// Bytes downloaded before.
        from: u64,
    },
    /// The download starts over although there was a part.
    Restarted {
        /// The reason.
        why: String,
    },
    /// It was interrupted, and is retried after a delay.
    Retrying {
        /// The reason.
        why: String,
        /// The delay.
        after: Duration,
    },
    /// All bytes have arrived; the hash is being computed.
    Checking,
}

/// Why a download failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The server has another file, or rejects the request.
    #[error("{0}")]
    Refused(String),
    /// The server cannot be reached.
    #[error("{0}")]
    Unreachable(String),
    /// It was interrupted too often.
    #[error("{why} ({attempts} attempts); {kept} bytes are kept")]
    GaveUp {
        /// The last reason.
        why: String,
        /// The number of attempts.
        attempts: u32,
        /// The size of the part in bytes.
        kept: u64,
    },
    /// The server's file has another size than expected.
    #[error("the server's file has {there} bytes instead of {wanted}: it is another file, and was not downloaded")]
    OtherSize {
        /// The server's size in bytes.
        there: u64,
        /// The expected size in bytes.
        wanted: u64,
    },
    /// The downloaded file has another hash than expected.
    #[error(
        "the downloaded file has the SHA-256 {came} instead of {wanted}, and was deleted; try again, or use another source"
    )]
    OtherHash {
        /// The hash of the download.
        came: Sha256,
        /// The expected hash.
        wanted: Sha256,
    },
    /// The disk is full. The part is deleted, since the store is on the same disk and must be able to write.
    #[error(
        "the disk is full after {done} of {total} bytes; the partial download was deleted, so that the store still has room"
    )]
    DiskFull {
        /// Bytes downloaded.
        done: u64,
        /// Expected size in bytes.
        total: u64,
    },
    /// Another command downloads the same file.
    #[error("another command is downloading this file: wait for it to finish")]
    Busy,
    /// A file cannot be used.
    #[error("cannot {act} {}: {cause}", path.display())]
    File {
        /// `write`, …
        act: &'static str,
        /// The path.
        path: PathBuf,
        /// The system's error.
        cause: String,
    },
}

/// Where to resume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeFrom {
    /// The first byte to send.
    pub offset: u64,
    /// The entity tag of the part, if the server sent one.
    pub tag: Option<String>,
}

/// A server's response.
pub struct SourceResponse {
    /// The first byte that it sends: the requested one, or 0.
    pub offset: u64,
    /// The size of the whole file, if it says so.
    pub total: Option<u64>,
    /// A strong entity tag.
    pub tag: Option<String>,
    /// The body.
    pub body: Box<dyn Read>,
}

/// Why a server's response cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// A retry may help; with the delay that the server asks for, if any.
    Transient(String, Option<Duration>),
    /// The server cannot resume from that byte.
    CannotResume,
    /// A retry does not help.
    Final(FetchError),
}

/// The source of a download.
pub trait FileSource {
    /// Requests the file, from a byte on or from its beginning.
    ///
    /// # Errors
    /// If there is no response with the bytes.
    fn open(&mut self, from: Option<&ResumeFrom>) -> Result<SourceResponse, SourceError>;

    /// Returns its address; an entity tag is valid only for the address that sent it.
    fn address(&self) -> &str;
}

/// The stored entity tag of a part.
#[derive(Debug, Serialize, Deserialize)]
struct PartTag {
    address: String,
    tag: Option<String>,
}

/// Downloads a file. `pause` waits; `hear` receives the progress.
///
/// # Errors
/// [`FetchError`]. The part is kept for the next attempt, unless the error says that it was deleted.
pub fn fetch(
    wanted: &FetchTarget,
    source: &mut dyn FileSource,
    retry: RetryPolicy,
    pause: &dyn Fn(Duration),
    hear: &mut dyn FnMut(FetchProgress),
) -> Result<(), FetchError> {
    let path = wanted.part();
    let mut part = open_private(&path).map_err(file_error("open", &path))?;
    match part.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(FetchError::Busy),
        Err(TryLockError::Error(error)) => return Err(file_error("lock", &path)(error)),
    }
    // Only a part from before this run may belong to another file without being noticed.
    let mut suspect = length(&part, &path)? > 0;
    loop {
        if let Err(error) = complete(wanted, source, retry, &mut part, pause, hear) {
            if length(&part, &path).is_ok_and(|length| length == 0) {
                discard_part(wanted);
            }
            return Err(error);
        }
        hear(FetchProgress::Checking);
        part.sync_all().map_err(file_error("write", &path))?;
        let came = digest::of_file(&path, &mut |_| {}).map_err(file_error("read", &path))?;
        if came == wanted.sha256 {
            break;
        }
        if !suspect {
            discard(wanted, &part)?;
            return Err(FetchError::OtherHash { came, wanted: wanted.sha256 });
        }
        suspect = false;
        empty(&mut part, &path)?;
        hear(FetchProgress::Restarted { why: "the earlier part belongs to another file".to_owned() });
    }
    fs::rename(&path, &wanted.target).map_err(file_error("write", &wanted.target))?;
    drop(fs::remove_file(wanted.tag()));
    // The rename must survive a power failure, too.
    if let Some(folder) = wanted.target.parent() {
        drop(File::open(folder).and_then(|folder| folder.sync_all()));
    }
    Ok(())
}

/// Removes the part and its tag; returns whether there was one.
pub fn discard_part(wanted: &FetchTarget) -> bool {
    drop(fs::remove_file(wanted.tag()));
    fs::remove_file(wanted.part()).is_ok()
}

/// Downloads until the part is complete.
fn complete(
    wanted: &FetchTarget,
    source: &mut dyn FileSource,
    retry: RetryPolicy,
    part: &mut File,
    pause: &dyn Fn(Duration),
    hear: &mut dyn FnMut(FetchProgress),
) -> Result<(), FetchError> {
    let path = wanted.part();
    let mut attempt = 0;
    loop {
        let before = length(part, &path)?;
        if before > wanted.bytes {
            empty(part, &path)?;
            hear(FetchProgress::Restarted { why: "the earlier part is longer than the file".to_owned() });
            continue;
        }
        if before == wanted.bytes {
            return Ok(());
        }
        let cut = match transfer(wanted, source, part, before, hear) {
            Ok(()) => continue,
            Err(cut) => cut,
        };
        let (why, asked) = match cut {
            SourceError::Final(error @ FetchError::DiskFull { .. }) => {
                discard(wanted, part)?;
                return Err(error);
            }
            SourceError::Final(error) => return Err(error),
            SourceError::CannotResume => {
                empty(part, &path)?;
                hear(FetchProgress::Restarted { why: "the server does not continue the earlier part".to_owned() });
                ("the server does not continue".to_owned(), Some(Duration::ZERO))
            }
            SourceError::Transient(why, asked) => (why, asked),
        };
        let kept = length(part, &path)?;
        attempt = if kept > before { 1 } else { attempt + 1 };
        if attempt >= retry.attempts {
            return Err(FetchError::GaveUp { why, attempts: attempt, kept });
        }
        let after = asked.unwrap_or_else(|| retry.pause(attempt)).min(retry.longest);
        hear(FetchProgress::Retrying { why, after });
        pause(after);
    }
}

/// Copies one response, as far as it goes.
fn transfer(
    wanted: &FetchTarget,
    source: &mut dyn FileSource,
    part: &mut File,
    before: u64,
    hear: &mut dyn FnMut(FetchProgress),
) -> Result<(), SourceError> {
    let path = wanted.part();
    let failed = |act: &'static str| {
        let path = path.clone();
        move |cause: io::Error| SourceError::Final(file_error(act, &path)(cause))
    };
    let known: Option<PartTag> = fs::read(wanted.tag()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let tag = known.filter(|known| known.address == source.address()).and_then(|known| known.tag);
    let from = (before > 0).then_some(ResumeFrom { offset: before, tag });
    let mut opened = source.open(from.as_ref())?;
    if let Some(there) = opened.total.filter(|there| *there != wanted.bytes) {
        return Err(SourceError::Final(FetchError::OtherSize { there, wanted: wanted.bytes }));
    }
    if opened.offset == before && before > 0 {
        hear(FetchProgress::Resumed { from: before });
    } else if opened.offset != before {
        if opened.offset != 0 {
            return Err(SourceError::CannotResume);
        }
        part.set_len(0).map_err(failed("write"))?;
        hear(FetchProgress::Restarted { why: "the server sends the file from its beginning".to_owned() });
    }
    let tag = PartTag { address: source.address().to_owned(), tag: opened.tag };
    let text = serde_json::to_vec(&tag).unwrap_or_default();
    write_private(&wanted.tag(), &text).map_err(|error| at_write(&wanted.tag(), error, opened.offset, wanted.bytes))?;
    part.seek(SeekFrom::Start(opened.offset)).map_err(failed("write"))?;
    let mut done = opened.offset;
    let copied = copy(&mut *opened.body, part, wanted.bytes - done, &mut |more| {
        done += more;
        hear(FetchProgress::Downloaded { bytes: done, total_bytes: wanted.bytes });
    });
    match copied {
        Ok(()) if done == wanted.bytes => Ok(()),
        Ok(()) => {
            Err(SourceError::Transient(format!("the transfer ended after {done} of {} bytes", wanted.bytes), None))
        }
        Err(CopyError::Read(error)) => Err(SourceError::Transient(format!("the transfer was cut off: {error}"), None)),
        Err(CopyError::Write(error)) => Err(at_write(&path, error, done, wanted.bytes)),
    }
}

/// The side of a copy that failed.
#[derive(Debug)]
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

/// Copies at most `limit` bytes; `hear` is called for each piece that was written.
fn copy(from: &mut dyn Read, to: &mut dyn Write, limit: u64, hear: &mut dyn FnMut(u64)) -> Result<(), CopyError> {
    let mut from = from.take(limit);
    let mut buffer = vec![0; CHUNK];
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        to.write_all(buffer.get(..read).unwrap_or_default()).map_err(CopyError::Write)?;
        hear(read as u64);
    }
}

fn at_write(path: &Path, error: io::Error, done: u64, total: u64) -> SourceError {
    SourceError::Final(match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => FetchError::DiskFull { done, total },
        _ => file_error("write", path)(error),
    })
}

fn file_error(act: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FetchError {
    let path = path.to_owned();
    move |error| FetchError::File { act, path, cause: error.to_string() }
}

fn length(part: &File, path: &Path) -> Result<u64, FetchError> {
    part.metadata().map(|meta| meta.len()).map_err(file_error("read", path))
}

fn empty(part: &mut File, path: &Path) -> Result<(), FetchError> {
    part.set_len(0).and_then(|()| part.rewind()).map_err(file_error("write", path))
}

/// Removes the part that is open and locked.
fn discard(wanted: &FetchTarget, part: &File) -> Result<(), FetchError> {
    // This frees the space at once, even if the name cannot be removed.
    let freed = part.set_len(0);
    discard_part(wanted);
    freed.map_err(file_error("empty", &wanted.part()))
}

#[cfg(test)]
mod tests;
