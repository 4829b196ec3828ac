//! Bundle files: written completely or not at all, and read as a stream.

use std::{
    fs,
    io::{self, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream::try_unfold};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::super::{CliError, Context, status::bytes, ui::SafeText};
use crate::{
    client::ByteStream,
    files::{self, DraftFile},
};

/// The number of bytes that are read at a time.
const PIECE_SIZE: usize = 64 * 1024;

/// Whether a path stands for stdin or stdout.
pub(super) fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Refuses an existing file early.
pub(super) fn must_not_exist(path: &Path, force: bool) -> Result<(), CliError> {
    if force || is_dash(path) || fs::symlink_metadata(path).is_err() {
        return Ok(());
    }
    Err(CliError::usage(format_args!("{} already exists", path.display()))
        .hint("choose another name, or overwrite it with `--force`"))
}

/// Writes a stream to a new file that only its owner can read. The file gets its name once it is complete.
pub(super) async fn write(
    path: &Path,
    force: bool,
    mut body: ByteStream,
    length: Option<u64>,
    cx: &mut Context,
) -> Result<u64, CliError> {
    let failed = |error: &io::Error| CliError::file("write", path, error);
    let draft = DraftFile::beside(path).map_err(|error| failed(&error))?;
    let mut file = draft.file();
    let mut written = 0;
    while let Some(piece) = body.try_next().await.transpose() {
        let piece = piece.map_err(|error| {
            CliError::internal(format_args!("the connection to the daemon failed after {written} bytes: {error}"))
                .hint("nothing was written; `ergo status` shows whether the daemon runs")
        })?;
        file.write_all(&piece).map_err(|error| failed(&error))?;
        written += piece.len() as u64;
        cx.ui.progress(progress_line("writing", written, length));
    }
    cx.ui.progress_done();
    draft.publish(force).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => must_not_exist(path, false).err().unwrap_or_else(|| failed(&error)),
        _ => failed(&error),
    })?;
    Ok(written)
}

/// Opens a file or stdin as a stream, and returns its size and a counter of the bytes read.
pub(super) fn read(path: &Path) -> Result<(ByteStream, Option<u64>, Arc<AtomicU64>), CliError> {
    let (source, length): (Box<dyn AsyncRead + Send + Unpin>, _) = if is_dash(path) {
        (Box::new(tokio::io::stdin()), None)
    } else {
        let failed = |error: &io::Error| CliError::file("read", path, error);
        let file = files::open(path).map_err(|error| failed(&error))?;
        let size = file.metadata().map_err(|error| failed(&error))?.len();
        (Box::new(tokio::fs::File::from_std(file)), Some(size))
    };
    let count = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&count);
    let stream = try_unfold((source, counter), async |(mut source, counter)| {
        let mut piece = vec![0; PIECE_SIZE];
        let length = source.read(&mut piece).await?;
        piece.truncate(length);
        counter.fetch_add(length as u64, Ordering::Relaxed);
        Ok((length > 0).then(|| (Bytes::from(piece), (source, counter))))
    });
    Ok((stream.boxed(), length, count))
}

/// Formats the progress of a file.
pub(super) fn progress_line(what: &str, done: u64, total: Option<u64>) -> SafeText {
    match total.filter(|total| *total > 0) {
        Some(total) => text!("{} {} of {} ({} %)", what, bytes(done), bytes(total), done * 100 / total),
        None => text!("{} {}", what, bytes(done)),
    }
}
