//! Fetching a model file: in pieces that may be cut off, into a part file that the next attempt continues, and to its place
//! only with the right hash.
//!
//! The part is a prefix of the file. Beside it stands the entity tag under which the server sent it: a server whose file has
//! changed since is asked to begin anew. Should the prefix still be another file's, the hash finds it, and the file is fetched
//! anew once.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    digest::{self, Sha256},
    shelf::{open_private, write_private},
};

/// How much is read at a time, in bytes.
const CHUNK: usize = 1 << 17;

/// What is to be fetched.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The size that the file must have.
    pub bytes: u64,
    /// The hash that it must have.
    pub sha256: Sha256,
    /// Where it belongs. The part is the same path with `.part` behind it.
    pub target: PathBuf,
}

impl Wanted {
    /// The part file.
    pub fn part(&self) -> PathBuf {
        with_suffix(&self.target, ".part")
    }

    /// Where the entity tag of the part stands.
    fn tag(&self) -> PathBuf {
        with_suffix(&self.target, ".part.json")
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// How often, and after which pause, a cut transfer is continued. The count begins anew when bytes came.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Attempts in a row that bring nothing before it is given up.
    pub attempts: u32,
    /// The pause after the first; each next one is twice as long.
    pub first: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Patience {
    /// The pause after this many attempts in a row that brought nothing, from 1.
    pub fn pause(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt.saturating_sub(1));
        self.first.saturating_mul(factor).min(self.longest)
    }
}

impl Default for Patience {
    /// Six attempts, half a minute in all.
    fn default() -> Self {
        Self { attempts: 6, first: Duration::from_secs(1), longest: Duration::from_secs(30) }
    }
}

/// What happens meanwhile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes that are there, of all.
    At {
        /// There.
        done: u64,
        /// Of so many.
        total: u64,
    },
    /// An earlier part is continued from here.
    Continued {
        /// Bytes that are there.
        from: u64,
    },
    /// It begins from the first byte although there was a part.
    Anew {
        /// Why.
        why: String,
    },
    /// It was cut off and goes on after a pause.
    Again {
        /// Why.
        why: String,
        /// The pause.
        after: Duration,
    },
    /// Everything is there; the hash is being computed.
    Checking,
}

/// Why it did not work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// The server has something else there, or refuses.
    #[error("{0}")]
    Refused(String),
    /// The machine has no way to the server.
    #[error("{0}")]
    Unreachable(String),
    /// It was cut off again and again.
    #[error("{why}, {attempts} times in a row; {kept} bytes are kept")]
    GaveUp {
        /// The last reason.
        why: String,
        /// How often.
        attempts: u32,
        /// The size of the part.
        kept: u64,
    },
    /// The server's file has another size than the one that is wanted.
    #[error("the file there has {there} bytes, and the one that is wanted has {wanted}: it is another file")]
    OtherSize {
        /// There.
        there: u64,
        /// Wanted.
        wanted: u64,
    },
    /// The file came whole, and is not the one that is wanted.
    #[error("the file that came has the SHA-256 {came}, and the one that is wanted has {wanted}: it was removed")]
    OtherHash {
        /// What came.
        came: Sha256,
        /// What is wanted.
        wanted: Sha256,
    },
    /// The disk is full. The part is removed: the memory lives on the same disk, and must be able to write.
    #[error(
        "the disk is full after {done} of {total} bytes; what had come was removed, so that there is room for the memory"
    )]
    DiskFull {
        /// Bytes that had been written.
        done: u64,
        /// Of so many.
        total: u64,
    },
    /// Another command is fetching the same file.
    #[error("another command is fetching this file now")]
    Busy,
    /// A file cannot be used.
    #[error("cannot {act} {}: {cause}", path.display())]
    File {
        /// `write`, …
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: String,
    },
}

/// How a server is asked to continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct From {
    /// The first byte that is wanted.
    pub offset: u64,
    /// The entity tag of what came before it, where the server had named one.
    pub tag: Option<String>,
}

/// A server's answer.
pub struct Opened {
    /// The first byte that it sends: the one that was asked for, or 0.
    pub offset: u64,
    /// The size of the whole file, where it says so.
    pub total: Option<u64>,
    /// A strong entity tag of it.
    pub tag: Option<String>,
    /// The bytes.
    pub body: Box<dyn Read>,
}

/// Why a server did not answer as it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Trying again may help; the pause that the server asks for, where it does.
    Passing(String, Option<Duration>),
    /// The server does not go on from that byte.
    NotFromThere,
    /// Nothing helps.
    Final(FetchError),
}

/// Where a file comes from.
pub trait Source {
    /// Asks for the file, from a byte on or from its beginning.
    ///
    /// # Errors
    /// Where no answer comes that has the bytes.
    fn open(&mut self, from: Option<&From>) -> Result<Opened, Cut>;

    /// Its address; an entity tag counts for the address that gave it alone.
    fn address(&self) -> &str;
}

/// What is known of a part.
#[derive(Debug, Serialize, Deserialize)]
struct Tag {
    address: String,
    tag: Option<String>,
}

/// Fetches a file to its place. `pause` waits; `hear` hears what happens.
///
/// # Errors
/// [`FetchError`]. Whatever came is kept in the part for the next attempt, unless the error says that it was removed.
pub fn fetch(
    wanted: &Wanted,
    source: &mut dyn Source,
    patience: Patience,
    pause: &dyn Fn(Duration),
    hear: &mut dyn FnMut(Step),
) -> Result<(), FetchError> {
    let path = wanted.part();
    let mut part = open_private(&path).map_err(file_error("open", &path))?;
    match part.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(FetchError::Busy),
        Err(TryLockError::Error(error)) => return Err(file_error("lock", &path)(error)),
    }
    // Only a part from before this run may come from another file without our having seen it.
    let mut suspect = length(&part, &path)? > 0;
    loop {
        if let Err(error) = complete(wanted, source, patience, &mut part, pause, hear) {
            if length(&part, &path).is_ok_and(|length| length == 0) {
                discard_part(wanted);
            }
            return Err(error);
        }
        hear(Step::Checking);
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
        hear(Step::Anew { why: "the earlier part belongs to another file".to_owned() });
    }
    fs::rename(&path, &wanted.target).map_err(file_error("write", &wanted.target))?;
    drop(fs::remove_file(wanted.tag()));
    // The new name, too, must survive a power cut.
    if let Some(folder) = wanted.target.parent() {
        drop(File::open(folder).and_then(|folder| folder.sync_all()));
    }
    Ok(())
}

/// Removes the part and what is known of it; whether there was one.
pub fn discard_part(wanted: &Wanted) -> bool {
    drop(fs::remove_file(wanted.tag()));
    fs::remove_file(wanted.part()).is_ok()
}

/// Lets the part grow until it is whole.
fn complete(
    wanted: &Wanted,
    source: &mut dyn Source,
    patience: Patience,
    part: &mut File,
    pause: &dyn Fn(Duration),
    hear: &mut dyn FnMut(Step),
) -> Result<(), FetchError> {
    let path = wanted.part();
    let mut attempt = 0;
    loop {
        let before = length(part, &path)?;
        if before > wanted.bytes {
            empty(part, &path)?;
            hear(Step::Anew { why: "the earlier part is longer than the file".to_owned() });
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
            Cut::Final(error @ FetchError::DiskFull { .. }) => {
                discard(wanted, part)?;
                return Err(error);
            }
            Cut::Final(error) => return Err(error),
            Cut::NotFromThere => {
                empty(part, &path)?;
                hear(Step::Anew { why: "the server does not continue the earlier part".to_owned() });
                ("the server does not continue".to_owned(), Some(Duration::ZERO))
            }
            Cut::Passing(why, asked) => (why, asked),
        };
        let kept = length(part, &path)?;
        attempt = if kept > before { 1 } else { attempt + 1 };
        if attempt >= patience.attempts {
            return Err(FetchError::GaveUp { why, attempts: attempt, kept });
        }
        let after = asked.unwrap_or_else(|| patience.pause(attempt)).min(patience.longest);
        hear(Step::Again { why, after });
        pause(after);
    }
}

/// One answer of the server, as far as it goes.
fn transfer(
    wanted: &Wanted,
    source: &mut dyn Source,
    part: &mut File,
    before: u64,
    hear: &mut dyn FnMut(Step),
) -> Result<(), Cut> {
    let path = wanted.part();
    let failed = |act: &'static str| {
        let path = path.clone();
        move |cause: io::Error| Cut::Final(file_error(act, &path)(cause))
    };
    let known: Option<Tag> = fs::read(wanted.tag()).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let tag = known.filter(|known| known.address == source.address()).and_then(|known| known.tag);
    let from = (before > 0).then_some(From { offset: before, tag });
    let mut opened = source.open(from.as_ref())?;
    if let Some(there) = opened.total.filter(|there| *there != wanted.bytes) {
        return Err(Cut::Final(FetchError::OtherSize { there, wanted: wanted.bytes }));
    }
    if opened.offset == before && before > 0 {
        hear(Step::Continued { from: before });
    } else if opened.offset != before {
        if opened.offset != 0 {
            return Err(Cut::NotFromThere);
        }
        part.set_len(0).map_err(failed("write"))?;
        hear(Step::Anew { why: "the server sends the file from its beginning".to_owned() });
    }
    let tag = Tag { address: source.address().to_owned(), tag: opened.tag };
    let text = serde_json::to_vec(&tag).unwrap_or_default();
    write_private(&wanted.tag(), &text).map_err(|error| at_write(&wanted.tag(), error, opened.offset, wanted.bytes))?;
    part.seek(SeekFrom::Start(opened.offset)).map_err(failed("write"))?;
    let mut done = opened.offset;
    let copied = copy(&mut *opened.body, part, wanted.bytes - done, &mut |more| {
        done += more;
        hear(Step::At { done, total: wanted.bytes });
    });
    match copied {
        Ok(()) if done == wanted.bytes => Ok(()),
        Ok(()) => Err(Cut::Passing(format!("the transfer ended after {done} of {} bytes", wanted.bytes), None)),
        Err(CopyError::Read(error)) => Err(Cut::Passing(format!("the transfer was cut off: {error}"), None)),
        Err(CopyError::Write(error)) => Err(at_write(&path, error, done, wanted.bytes)),
    }
}

/// Which side of a copy failed.
#[derive(Debug)]
enum CopyError {
    Read(io::Error),
    Write(io::Error),
}

/// Copies at most `limit` bytes; `hear` hears of each piece that was written.
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

fn at_write(path: &Path, error: io::Error, done: u64, total: u64) -> Cut {
    Cut::Final(match error.kind() {
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

/// Removes the part that is held open and locked.
fn discard(wanted: &Wanted, part: &File) -> Result<(), FetchError> {
    // The room is free at once, even where the name cannot be removed.
    let freed = part.set_len(0);
    discard_part(wanted);
    freed.map_err(file_error("empty", &wanted.part()))
}

#[cfg(test)]
mod tests;
