//! Downloads a model file. An interrupted download is resumed, and the file gets its name only if its hash is right.
//!
//! The part file is a prefix of the file. Another file beside it holds the entity tag that the server sent with it, so
//! that the server starts over if its file has changed since. If the part nevertheless belongs to another file, the
//! hash reveals it, and the file is downloaded once more.

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
use crate::files::{is_full, with_suffix, write_private};

/// The number of bytes that are read at a time.
const CHUNK: usize = 1 << 17;

/// The file to download.
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

    /// Returns the path of the file with the part's entity tag.
    fn tag(&self) -> PathBuf {
        with_suffix(&self.target, ".part.json")
    }
}

/// How often, and after which delay, an interrupted download is retried. The count starts over when bytes arrive.
#[derive(Clone, Copy, Debug)]
pub struct RetryPolicy {
    /// The number of consecutive attempts without any bytes after which the download fails.
    pub attempts: u32,
    /// The delay after the first attempt. It doubles with each further one.
    pub first: Duration,
    /// The maximum delay.
    pub longest: Duration,
}

impl RetryPolicy {
    /// Returns the delay after this many consecutive attempts without bytes, counted from 1.
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
        /// The number of bytes downloaded so far.
        bytes: u64,
        /// The expected size in bytes.
        total_bytes: u64,
    },
    /// An earlier part is resumed.
    Resumed {
        /// The size of the part in bytes.
        from: u64,
    },
    /// The download starts over although there was a part.
    Restarted { why: String },
    /// The download was interrupted, and is retried after a delay.
    Retrying { why: String, after: Duration },
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
    /// The download was interrupted too often.
    #[error("{why} ({attempts} attempts); {kept} bytes are kept")]
    GaveUp {
        /// The reason of the last interruption.
        why: String,
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
        /// The number of bytes downloaded.
        done: u64,
        /// The expected size in bytes.
        total: u64,
    },
    /// Another command is downloading the same file.
    #[error("another command is downloading this file: wait for it to finish")]
    Busy,
    /// A file cannot be used.
    #[error("cannot {act} {}: {cause}", path.display())]
    File {
        /// `write`, …
        act: &'static str,
        path: PathBuf,
        /// The system's error message.
        cause: String,
    },
}

/// The position at which a download is resumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumeFrom {
    /// The first byte to send.
    pub offset: u64,
    /// The entity tag of the part, if the server sent one.
    pub tag: Option<String>,
}

/// A server's response.
pub struct SourceResponse {
    /// The offset of the first byte of the body: the requested one, or 0.
    pub offset: u64,
    /// The size of the whole file, if the response has it.
    pub total: Option<u64>,
    /// A strong entity tag, if the response has one.
    pub tag: Option<String>,
    pub body: Box<dyn Read>,
}

/// Why a server's response cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceError {
    /// A retry may succeed. With the delay that the server asks for, if any.
    Transient(String, Option<Duration>),
    /// The server cannot resume at the requested byte.
    CannotResume,
    /// A retry would fail, too.
    Final(FetchError),
}

/// The source of a download.
pub trait FileSource {
    /// Requests the file, from a byte on or from its beginning.
    fn open(&mut self, from: Option<&ResumeFrom>) -> Result<SourceResponse, SourceError>;

    /// Returns the address of the file. An entity tag is valid only for the address that sent it.
    fn address(&self) -> &str;
}

/// The entity tag of a part, as it is stored beside it.
#[derive(Debug, Serialize, Deserialize)]
struct PartTag {
    address: String,
    tag: Option<String>,
}

/// Downloads a file. `pause` is called to wait between attempts, and `report` with the progress.
///
/// # Errors
/// [`FetchError`]. The part is kept for the next attempt, unless the error says that it was deleted.
pub fn fetch(
    wanted: &FetchTarget,
    source: &mut dyn FileSource,
    retry: RetryPolicy,
    pause: &dyn Fn(Duration),
    report: &mut dyn FnMut(FetchProgress),
) -> Result<(), FetchError> {
    let path = wanted.part();
    let mut part = open_private(&path).map_err(file_error("open", &path))?;
    match part.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(FetchError::Busy),
        Err(TryLockError::Error(error)) => return Err(file_error("lock", &path)(error)),
    }
    // A part that an earlier run downloaded may belong to another file.
    let mut may_be_other_file = length(&part, &path)? > 0;
    loop {
        if let Err(error) = complete(wanted, source, retry, &mut part, pause, report) {
            if length(&part, &path).is_ok_and(|length| length == 0) {
                discard_part(wanted);
            }
            return Err(error);
        }
        report(FetchProgress::Checking);
        part.sync_all().map_err(file_error("write", &path))?;
        let came = digest::of_file(&path, &mut |_| {}).map_err(file_error("read", &path))?;
        if came == wanted.sha256 {
            break;
        }
        if !may_be_other_file {
            discard(wanted, &part)?;
            return Err(FetchError::OtherHash { came, wanted: wanted.sha256 });
        }
        may_be_other_file = false;
        empty(&mut part, &path)?;
        report(FetchProgress::Restarted { why: "the earlier part belongs to another file".to_owned() });
    }
    fs::rename(&path, &wanted.target).map_err(file_error("write", &wanted.target))?;
    drop(fs::remove_file(wanted.tag()));
    // Sync the folder, so that the rename survives a power failure, too.
    if let Some(folder) = wanted.target.parent() {
        drop(File::open(folder).and_then(|folder| folder.sync_all()));
    }
    Ok(())
}

/// Removes the part and its tag. Returns whether there was a part.
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
    report: &mut dyn FnMut(FetchProgress),
) -> Result<(), FetchError> {
    let path = wanted.part();
    let mut attempt = 0;
    loop {
        let before = length(part, &path)?;
        if before > wanted.bytes {
            empty(part, &path)?;
            report(FetchProgress::Restarted { why: "the earlier part is longer than the file".to_owned() });
            continue;
        }
        if before == wanted.bytes {
            return Ok(());
        }
        let interruption = match transfer(wanted, source, part, before, report) {
            Ok(()) => continue,
            Err(error) => error,
        };
        let (why, requested_delay) = match interruption {
            SourceError::Final(error @ FetchError::DiskFull { .. }) => {
                discard(wanted, part)?;
                return Err(error);
            }
            SourceError::Final(error) => return Err(error),
            SourceError::CannotResume => {
                empty(part, &path)?;
                report(FetchProgress::Restarted { why: "the server does not continue the earlier part".to_owned() });
                ("the server does not continue".to_owned(), Some(Duration::ZERO))
            }
            SourceError::Transient(why, delay) => (why, delay),
        };
        let kept = length(part, &path)?;
        attempt = if kept > before { 1 } else { attempt + 1 };
        if attempt >= retry.attempts {
            return Err(FetchError::GaveUp { why, attempts: attempt, kept });
        }
        let after = requested_delay.unwrap_or_else(|| retry.pause(attempt)).min(retry.longest);
        report(FetchProgress::Retrying { why, after });
        pause(after);
    }
}

/// Requests the rest of the file once, and appends what arrives to the part.
fn transfer(
    wanted: &FetchTarget,
    source: &mut dyn FileSource,
    part: &mut File,
    before: u64,
    report: &mut dyn FnMut(FetchProgress),
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
        report(FetchProgress::Resumed { from: before });
    } else if opened.offset != before {
        if opened.offset != 0 {
            return Err(SourceError::CannotResume);
        }
        part.set_len(0).map_err(failed("write"))?;
        report(FetchProgress::Restarted { why: "the server sends the file from its beginning".to_owned() });
    }
    let tag = PartTag { address: source.address().to_owned(), tag: opened.tag };
    let text = serde_json::to_vec(&tag).unwrap_or_default();
    write_private(&wanted.tag(), &text)
        .map_err(|error| write_error(&wanted.tag(), error, opened.offset, wanted.bytes))?;
    part.seek(SeekFrom::Start(opened.offset)).map_err(failed("write"))?;
    let mut done = opened.offset;
    let copied = copy(&mut *opened.body, part, wanted.bytes - done, &mut |more| {
        done += more;
        report(FetchProgress::Downloaded { bytes: done, total_bytes: wanted.bytes });
    });
    match copied {
        Ok(()) if done == wanted.bytes => Ok(()),
        Ok(()) => {
            Err(SourceError::Transient(format!("the transfer ended after {done} of {} bytes", wanted.bytes), None))
        }
        Err(CopyError::Read(error)) => Err(SourceError::Transient(format!("the transfer was cut off: {error}"), None)),
        Err(CopyError::Write(error)) => Err(write_error(&path, error, done, wanted.bytes)),
    }
}

/// The side of a copy that failed.
#[derive(Debug)]
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

/// Copies at most `limit` bytes. `report` is called with the number of bytes of each piece that was written.
fn copy(from: &mut dyn Read, to: &mut dyn Write, limit: u64, report: &mut dyn FnMut(u64)) -> Result<(), CopyError> {
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
        report(read as u64);
    }
}

fn write_error(path: &Path, error: io::Error, done: u64, total: u64) -> SourceError {
    SourceError::Final(match error {
        error if is_full(&error) => FetchError::DiskFull { done, total },
        error => file_error("write", path)(error),
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

/// Removes the part, which is open and locked.
fn discard(wanted: &FetchTarget, part: &File) -> Result<(), FetchError> {
    // Truncating frees the space even if the file cannot be removed.
    let freed = part.set_len(0);
    discard_part(wanted);
    freed.map_err(file_error("empty", &wanted.part()))
}

#[cfg(test)]
mod tests;
