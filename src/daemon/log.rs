//! The log: lines in a file that is put aside when it grows too large. Never a screen.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use super::DaemonError;
use crate::config::ConfigError;

/// The size at which the log is put aside, in bytes.
const MAX_SIZE: u64 = 4 * 1024 * 1024;

/// How many logs that were put aside are kept: `daemon.log.1` is the newest.
const KEPT: usize = 2;

/// Sends what is logged to the file, by this filter, and panics with it.
///
/// # Errors
/// Where the file cannot be opened, or the filter is not understood.
pub(super) fn begin(path: &Path, filter: &str) -> Result<(), DaemonError> {
    let filter = EnvFilter::try_new(filter)
        .map_err(|e| ConfigError::io("use the setting `log` of the daemon for", path, format!("“{filter}”: {e}")))?;
    let file = Rotating::open(path, MAX_SIZE).map_err(|e| ConfigError::io("open", path, e))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(file).finish();
    // A second daemon in one process (tests) logs where the first does.
    drop(tracing::subscriber::set_global_default(subscriber));
    std::panic::set_hook(Box::new(|info| tracing::error!("panic: {info}")));
    Ok(())
}

struct Open {
    file: File,
    size: u64,
}

/// A file that is put aside when it has grown past a size.
#[derive(Clone)]
struct Rotating {
    path: PathBuf,
    max: u64,
    open: Arc<Mutex<Open>>,
}

impl Rotating {
    fn open(path: &Path, max: u64) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), max, open: Arc::new(Mutex::new(append(path)?)) })
    }
}

fn append(path: &Path) -> io::Result<Open> {
    let file = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let size = file.metadata()?.len();
    Ok(Open { file, size })
}

fn aside(path: &Path, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// The file for one line.
struct Line<'a> {
    log: &'a Rotating,
    open: MutexGuard<'a, Open>,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.open.size > 0 && self.open.size + bytes.len() as u64 > self.log.max {
            for number in (1..KEPT).rev() {
                // The first logs have no predecessors.
                drop(fs::rename(aside(&self.log.path, number), aside(&self.log.path, number + 1)));
            }
            fs::rename(&self.log.path, aside(&self.log.path, 1))?;
            *self.open = append(&self.log.path)?;
        }
        self.open.file.write_all(bytes)?;
        self.open.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Rotating {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Line { log: self, open: self.open.lock().unwrap_or_else(PoisonError::into_inner) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_is_put_aside_and_old_ones_go() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let log = Rotating::open(&path, 10).unwrap();
        for line in ["one 678\n", "two 678\n", "three 8\n", "four 78\n", "five 78\n"] {
            log.make_writer().write_all(line.as_bytes()).unwrap();
        }
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&path), "five 78\n");
        assert_eq!((read(&aside(&path, 1)), read(&aside(&path, 2))), ("four 78\n".into(), "three 8\n".into()));
        assert!(!aside(&path, 3).exists());
    }
}
