//! llama.cpp's log: goes to standard error, which the daemon logs, and the last complaints are kept for
//! answers.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tracing::Level;

/// The number of complaints that are kept.
const MAX_COMPLAINTS: usize = 8;

static COMPLAINTS: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

fn lock() -> MutexGuard<'static, VecDeque<String>> {
    COMPLAINTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends warnings and errors to standard error, each as one line.
pub(super) fn begin() {
    let begun = tracing_subscriber::fmt()
        .with_max_level(Level::WARN)
        .with_ansi(false)
        .with_target(false)
        .without_time()
        .log_internal_errors(false)
        .with_writer(|| Tee)
        .try_init();
    // Only called once; a second subscriber would change nothing.
    drop(begun);
}

/// Clears the complaints.
pub(super) fn forget() {
    lock().clear();
}

/// Returns the complaints since [`forget`], for people.
pub(super) fn complaints() -> Vec<String> {
    lock().iter().cloned().collect()
}

struct Tee;

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let mut kept = lock();
            if kept.len() == MAX_COMPLAINTS {
                kept.pop_front();
            }
            kept.push_back(plain(line));
        }
        // Without the daemon, nobody reads standard error.
        let _gone = io::stderr().write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Strips the level, the function's name and the fields of a line: `ERROR f: bad magic module="ggml"` is `bad
/// magic`.
fn plain(line: &str) -> String {
    let line = line.trim();
    let line = ["ERROR ", "WARN "].iter().find_map(|level| line.strip_prefix(level)).unwrap_or(line).trim_start();
    let line = line.split(" module=").next().unwrap_or(line);
    match line.split_once(": ") {
        Some((function, rest)) if !function.contains(' ') => rest.trim().to_owned(),
        _ => line.trim().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn a_complaint_is_reported_without_its_wrapping() {
        let line = " ERROR gguf_init_from_file_impl: invalid magic characters: 'abcd', expected 'GGUF' module=\"ggml\"";
        assert_eq!(plain(line), "invalid magic characters: 'abcd', expected 'GGUF'");
        assert_eq!(plain("WARN no function here"), "no function here");
    }
}
