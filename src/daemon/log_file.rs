//! The log file, which is rotated when it becomes too large.
//!
//! If the log cannot be written, lines are lost and counted. Logging never fails, panics or blocks. The file is also
//! the daemon's standard error, so on a full disk there is no other place for an error.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tracing_subscriber::{EnvFilter, fmt::MakeWriter};

use super::DaemonError;
use crate::{config::ConfigError, files::with_suffix};

/// The size in bytes at which the log is rotated.
const MAX_SIZE: u64 = 4 * 1024 * 1024;

/// The number of old logs that are kept. `daemon.log.1` is the newest of them.
const OLD_LOGS: usize = 2;

/// Sends events that pass the filter, and panics, to the log file.
///
/// # Errors
/// If the file cannot be opened, or the filter is invalid.
pub(super) fn begin(path: &Path, filter: &str) -> Result<(), DaemonError> {
    let filter = EnvFilter::try_new(filter).map_err(|e| {
        ConfigError::io("use the `log` setting of [daemon] as the filter of", path, format!("“{filter}”: {e}"))
    })?;
    let file = Rotating::open(path, MAX_SIZE).map_err(|e| ConfigError::io("open", path, e))?;
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(file)
        .finish();
    // This fails for a second daemon in one process (in tests), which then logs to the file of the first.
    drop(tracing::subscriber::set_global_default(subscriber));
    let path = path.to_owned();
    std::panic::set_hook(Box::new(move |info| log_panic(&path, &info.to_string())));
    Ok(())
}

/// Appends a panic to the log. Takes no lock and does not use `tracing`, because the thread may have panicked while
/// logging.
fn log_panic(path: &Path, panic: &str) {
    let line = format!("{} ERROR panic: {}\n", jiff::Timestamp::now(), panic.replace('\n', " "));
    if let Ok(mut log) = append(path) {
        log.write(line.as_bytes());
    }
}

/// An open log file.
struct OpenLog {
    file: File,
    /// The size in bytes.
    size: u64,
    /// The number of lines that could not be written since the last one that was.
    lost: u64,
}

impl OpenLog {
    /// Writes a line. If lines were lost before, first writes one that says so.
    fn write(&mut self, line: &[u8]) {
        if self.lost > 0 {
            let lost = format!(
                "{} WARN {} log lines before this one could not be written\n",
                jiff::Timestamp::now(),
                self.lost
            );
            if !self.put(lost.as_bytes()) {
                self.lost += 1;
                return;
            }
            self.lost = 0;
        }
        if !self.put(line) {
            self.lost += 1;
        }
    }

    fn put(&mut self, bytes: &[u8]) -> bool {
        let written = self.file.write_all(bytes).is_ok();
        self.size += if written { bytes.len() as u64 } else { 0 };
        written
    }
}

/// A log file that is rotated when it has reached a size.
#[derive(Clone)]
struct Rotating {
    path: PathBuf,
    max: u64,
    open: Arc<Mutex<OpenLog>>,
}

impl Rotating {
    fn open(path: &Path, max: u64) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), max, open: Arc::new(Mutex::new(append(path)?)) })
    }

    /// Renames the file and opens a new one. If that fails, the old one is written further.
    fn rotate(&self, open: &mut OpenLog) {
        for number in (1..OLD_LOGS).rev() {
            // The old log may not exist yet.
            drop(fs::rename(old_log(&self.path, number), old_log(&self.path, number + 1)));
        }
        drop(fs::rename(&self.path, old_log(&self.path, 1)));
        if let Ok(new) = append(&self.path) {
            *open = OpenLog { lost: open.lost, ..new };
        }
    }
}

fn append(path: &Path) -> io::Result<OpenLog> {
    let file = fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let size = file.metadata()?.len();
    Ok(OpenLog { file, size, lost: 0 })
}

fn old_log(path: &Path, number: usize) -> PathBuf {
    with_suffix(path, &format!(".{number}"))
}

/// The writer of one event.
struct Line<'a> {
    log: &'a Rotating,
    open: MutexGuard<'a, OpenLog>,
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.open.size > 0 && self.open.size + bytes.len() as u64 > self.log.max {
            self.log.rotate(&mut self.open);
        }
        self.open.write(bytes);
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
        assert_eq!((read(&old_log(&path, 1)), read(&old_log(&path, 2))), ("four 78\n".into(), "three 8\n".into()));
        assert!(!old_log(&path, 3).exists());
    }

    /// `/dev/full` refuses every write, as a full disk does.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_log_that_cannot_be_written_fails_nobody_and_panics_are_still_reported() {
        let log = Rotating::open(Path::new("/dev/full"), 10).unwrap();
        let subscriber = tracing_subscriber::fmt().log_internal_errors(false).with_writer(log.clone()).finish();
        tracing::subscriber::with_default(subscriber, || {
            for _ in 0..3 {
                tracing::error!("this cannot be written");
            }
        });
        assert_eq!(log.open.lock().unwrap().lost, 3);

        // Once the log can be written again, the next line says how many lines were lost.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        log.open.lock().unwrap().file = append(&path).unwrap().file;
        log.make_writer().write_all(b"room again\n").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("WARN 3 log lines before this one could not be written\nroom again\n"), "{text}");
    }

    /// The panicking thread may hold the lock, so a hook that waited for the lock would never return.
    #[test]
    fn a_panic_while_logging_is_logged_without_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let log = Rotating::open(&path, 1_000).unwrap();
        let panicked = std::thread::spawn({
            let (log, path) = (log.clone(), path.clone());
            move || {
                let _held = log.make_writer();
                log_panic(&path, "two\nlines");
                panic!("the lock is poisoned");
            }
        })
        .join();
        assert!(panicked.is_err());
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains("ERROR panic: ") && text.trim_end().ends_with("two lines"), "{text}");
        log.make_writer().write_all(b"and on\n").unwrap();
        assert!(fs::read_to_string(&path).unwrap().ends_with("and on\n"), "a poisoned lock is no reason to stop");
    }

    #[test]
    fn a_log_that_cannot_be_put_aside_grows_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("daemon.log");
        let log = Rotating::open(&path, 10).unwrap();
        // Folders have the names of the old logs.
        for number in 1..=OLD_LOGS {
            fs::create_dir_all(old_log(&path, number).join("in the way")).unwrap();
        }
        for line in ["one 678\n", "two 678\n"] {
            log.make_writer().write_all(line.as_bytes()).unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "one 678\ntwo 678\n");
    }
}
