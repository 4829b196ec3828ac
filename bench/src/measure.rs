//! What several measurements share: quantiles, the memory of a process, and files of JSON lines.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};

use ergo::files;

/// The largest data file that is read, in bytes.
const MAX_DATA_FILE: u64 = 256 * 1024 * 1024;

/// Quantiles of a sample by nearest rank, usually in milliseconds; all 0 for an empty sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantiles {
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The largest.
    pub max: f64,
}

impl Quantiles {
    /// Computes the quantiles of a sample.
    pub fn of(mut sample: Vec<f64>) -> Self {
        sample.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * sample.len() as f64).ceil() as usize;
            sample.get(rank.saturating_sub(1)).copied().unwrap_or_default()
        };
        Self { p50: at(0.5), p95: at(0.95), max: at(1.0) }
    }
}

/// Returns a duration in milliseconds.
pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Converts bytes to MiB.
pub fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Returns the resident memory of a process in bytes (`VmRSS`); `None` without `/proc`, or if the process is gone.
pub fn resident_memory(pid: u32) -> Option<u64> {
    Some(status_number(format!("/proc/{pid}/status"), "VmRSS:")? * 1024)
}

/// Returns the largest resident memory that a process has had so far, in bytes (`VmHWM`); `None` without `/proc`, or if
/// the process is gone.
pub fn peak_memory(pid: u32) -> Option<u64> {
    Some(status_number(format!("/proc/{pid}/status"), "VmHWM:")? * 1024)
}

/// Returns the number in a line of a status file of `/proc`.
pub(crate) fn status_number(path: impl AsRef<Path>, name: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()?.parse().ok()
}

/// The error of [`read_json_lines`].
#[derive(Debug, thiserror::Error)]
pub enum JsonLinesError {
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{}:{line}: {error}", path.display())]
    Line {
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
        error: serde_json::Error,
    },
}

/// Reads a file with one JSON value per line. Empty lines are skipped.
pub fn read_json_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, JsonLinesError> {
    let text =
        files::text(path, MAX_DATA_FILE).map_err(|error| JsonLinesError::Read { path: path.to_owned(), error })?;
    let lines = text.lines().zip(1..).filter(|(text, _)| !text.trim().is_empty());
    lines
        .map(|(text, line)| {
            serde_json::from_str(text).map_err(|error| JsonLinesError::Line { path: path.to_owned(), line, error })
        })
        .collect()
}

/// Reads the JSON lines of a file; returns `None` if there is no such file.
pub fn read_json_lines_if_any<T: DeserializeOwned>(path: &Path) -> Result<Option<Vec<T>>, JsonLinesError> {
    match read_json_lines(path) {
        Err(JsonLinesError::Read { error, .. }) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        rows => rows.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let of = |count: u32| Quantiles::of((1..=count).map(f64::from).rev().collect());
        assert_eq!(of(100), Quantiles { p50: 50.0, p95: 95.0, max: 100.0 });
        assert_eq!(of(200), Quantiles { p50: 100.0, p95: 190.0, max: 200.0 });
        assert_eq!(of(1), Quantiles { p50: 1.0, p95: 1.0, max: 1.0 });
        assert_eq!(of(0), Quantiles::default());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_memory_of_this_process_is_known_and_that_of_none_is_not() {
        let pid = std::process::id();
        assert!(resident_memory(pid).unwrap() > 1 << 20);
        assert!(peak_memory(pid).unwrap() >= resident_memory(pid).unwrap() / 2);
        assert_eq!((resident_memory(u32::MAX), peak_memory(u32::MAX)), (None, None));
    }

    #[test]
    fn empty_lines_are_skipped_and_an_error_names_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers.jsonl");
        fs::write(&path, "1\n\n  \n2\n").unwrap();
        assert_eq!(read_json_lines::<u8>(&path).unwrap(), [1, 2]);
        fs::write(&path, "1\n\nx\n").unwrap();
        let error = read_json_lines::<u8>(&path).unwrap_err().to_string();
        assert!(error.contains("numbers.jsonl:3: expected value"), "{error}");
        let missing = folder.path().join("missing.jsonl");
        assert!(read_json_lines::<u8>(&missing).unwrap_err().to_string().starts_with("cannot read "));
        assert!(read_json_lines_if_any::<u8>(&missing).unwrap().is_none());
    }
}
