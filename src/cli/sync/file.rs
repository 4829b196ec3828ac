//! Files that carry bundles: written whole or not at all, read as they come.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream::try_unfold};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::super::{CliError, Context, status::bytes};
use crate::client::ByteStream;

/// Bytes that are read at a time.
const PIECE: usize = 64 * 1024;

/// Whether a path stands for stdin or stdout.
pub(super) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses a file that exists, before anything is done for it.
pub(super) fn must_not_exist(path: &Path, force: bool) -> Result<(), CliError> {
    if force || is_dash(path) || fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(CliError::usage(format_args!("{} exists already", path.display()))
        .hint("name another file, or replace this one with `--force`"))
}

/// Writes what comes into a new file, for its owner alone: under another name first, and under its own once all is on disk.
pub(super) async fn write(
    path: &Path,
    force: bool,
    mut body: ByteStream,
    length: Option<u64>,
    cx: &mut Context,
) -> Result<u64, CliError> {
    let failed = |error: &io::Error| CliError::file("write", path, error);
    let partial = Partial::make(path).map_err(|error| failed(&error))?;
    let mut file = &partial.file;
    let mut written = 0;
    while let Some(piece) = body.try_next().await.transpose() {
        let piece = piece.map_err(|error| {
            CliError::internal(format_args!("the daemon broke off at byte {written}: {error}"))
                .hint("nothing was written; `ergo status` says whether the daemon runs")
        })?;
        file.write_all(&piece).map_err(|error| failed(&error))?;
        written += piece.len() as u64;
        cx.ui.progress(how_far("writing", written, length));
    }
    cx.ui.progress_done();
    partial.keep(path, force).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => must_not_exist(path, false).err().unwrap_or_else(|| failed(&error)),
        _ => failed(&error),
    })?;
    Ok(written)
}

/// A file that is being written, removed unless it is kept.
struct Partial {
    file: fs::File,
    path: PathBuf,
    kept: bool,
}

impl Partial {
    fn make(target: &Path) -> io::Result<Self> {
        let mut random = [0; 6];
        getrandom::fill(&mut random).map_err(io::Error::other)?;
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".partial-{}", hex::encode(random)));
        let path = PathBuf::from(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        Ok(Self { file, path, kept: false })
    }

    fn keep(mut self, target: &Path, force: bool) -> io::Result<()> {
        self.file.sync_all()?;
        if force {
            fs::rename(&self.path, target)?;
        } else {
            rename_new(&self.path, target)?;
        }
        self.kept = true;
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Where a folder cannot be synced, the file's own sync is all there is.
        let _unsynced = fs::File::open(folder).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.kept {
            // What is left has a name that says what it is.
            let _left = fs::remove_file(&self.path);
        }
    }
}

/// Renames to a name that must be free.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::io::Errno;
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Some file systems of memory sticks cannot do both in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if fs::symlink_metadata(to).is_err() => {
            fs::rename(from, to)
        }
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => Err(Errno::EXIST.into()),
        other => Ok(other?),
    }
}

/// A file, or stdin, as it comes, with a counter of what was read.
pub(super) async fn read(path: &Path) -> Result<(ByteStream, Option<u64>, Arc<AtomicU64>), CliError> {
    let (source, length): (Box<dyn AsyncRead + Send + Unpin>, _) = if is_dash(path) {
        (Box::new(tokio::io::stdin()), None)
    } else {
        let failed = |error: &io::Error| CliError::file("read", path, error);
        let file = tokio::fs::File::open(path).await.map_err(|error| failed(&error))?;
        let meta = file.metadata().await.map_err(|error| failed(&error))?;
        if meta.is_dir() {
            return Err(failed(&io::ErrorKind::IsADirectory.into()));
        }
        (Box::new(file), Some(meta.len()).filter(|_| meta.is_file()))
    };
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let stream = try_unfold((source, counter), async |(mut source, counter)| {
        let mut piece = vec![0; PIECE];
        let length = source.read(&mut piece).await?;
        piece.truncate(length);
        counter.fetch_add(length as u64, Ordering::Relaxed);
        Ok((length > 0).then(|| (Bytes::from(piece), (source, counter))))
    });
    Ok((stream.boxed(), length, count))
}

/// How far a file is, for a line of progress.
pub(super) fn how_far(what: &str, done: u64, total: Option<u64>) -> String {
    match total.filter(|total| *total > 0) {
        Some(total) => format!("{what} {} of {} ({} %)", bytes(done), bytes(total), done * 100 / total),
        None => format!("{what} {}", bytes(done)),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_appears_whole_and_private_and_replaces_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("a.ergo");
        let make = |text: &str| {
            let partial = Partial::make(&target).unwrap();
            (&partial.file).write_all(text.as_bytes()).unwrap();
            partial
        };
        drop(make("given up"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        make("one").keep(&target, false).unwrap();
        assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(make("two").keep(&target, false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "one");
        make("two").keep(&target, true).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
