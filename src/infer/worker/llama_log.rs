//! llama.cpp's log. Warnings and errors go to standard error, which the daemon logs. The last ones are kept, to explain
//! why a model cannot be loaded.

use std::{
    collections::VecDeque,
    io::{self, Write},
    sync::{Mutex, MutexGuard, PoisonError},
};

use tracing::Level;

/// The number of messages that are kept.
const MAX_MESSAGES: usize = 8;

static MESSAGES: Mutex<VecDeque<String>> = Mutex::new(VecDeque::new());

fn lock() -> MutexGuard<'static, VecDeque<String>> {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Installs a subscriber that keeps warnings and errors and writes them to standard error, each as one line.
pub(super) fn init() {
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

/// Removes the kept messages.
pub(super) fn clear() {
    lock().clear();
}

/// Returns the last warnings and errors since [`clear`], without level and function name.
pub(super) fn messages() -> Vec<String> {
    lock().iter().cloned().collect()
}

struct Tee;

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let mut kept = lock();
            if kept.len() == MAX_MESSAGES {
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

/// Strips the level, the function's name and the fields from a line: `ERROR f: bad magic module="ggml"` becomes `bad
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
