//! A worker as the daemon sees it: a child process that takes messages and sends some back.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, BufWriter},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use minicbor::{Decode, Encode};

use super::frame;

/// Lines of a worker's last words that are kept for the message about its death.
const LAST_WORDS: usize = 12;

/// How long a worker may take from closing its pipes to its end.
const LAST_MOMENT: Duration = Duration::from_millis(200);

/// What comes from a worker.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event<A> {
    Answer(A),
    /// It is gone, or what it says makes no sense. In words that follow "the process of …".
    Gone(String),
}

/// Takes what comes from a worker; called on another thread.
pub(crate) type Sink<A> = Box<dyn Fn(Event<A>) + Send + Sync>;

/// How a worker is started.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The program; see [`this_program`].
    pub(crate) path: PathBuf,
    /// Which part of it: the word behind `ergo worker`.
    pub(crate) part: &'static str,
    /// Environment variables that it gets besides [`ENVIRONMENT`], by what their names begin with.
    pub(crate) inherits: &'static [&'static str],
    /// Environment variables that are set for it.
    pub(crate) sets: &'static [(&'static str, &'static str)],
    /// The longest message in either direction, in bytes.
    pub(crate) longest: usize,
}

/// Environment variables that every worker gets: what the loader looks at, and nothing of ours.
const ENVIRONMENT: &[&str] =
    &["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "XDG_CACHE_HOME"];

impl<Q, A> Launch<Q, A> for Program
where
    Q: Encode<()> + Send + 'static,
    A: for<'b> Decode<'b, ()> + 'static,
{
    fn launch(&self, sink: Sink<A>) -> io::Result<Box<dyn Worker<Q>>> {
        let inherited = std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            ENVIRONMENT.contains(&&*name) || self.inherits.iter().any(|prefix| name.starts_with(prefix))
        });
        let mut child = Command::new(&self.path)
            .args(["worker", self.part])
            .env_clear()
            .envs(inherited)
            .envs(self.sets.iter().copied())
            .current_dir("/")
            // A Ctrl-C for the daemon is not for it.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("a pipe of the new process is missing");
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut process = Process { child, asks: None };
        process.asks = Some(write(stdin.ok_or_else(missing)?, self.longest)?);
        let last_words = Arc::default();
        let listening = listen(stderr.ok_or_else(missing)?, Arc::clone(&last_words))?;
        read(stdout.ok_or_else(missing)?, self.longest, listening, last_words, sink)?;
        Ok(Box::new(process))
    }
}

/// Starts workers. Replaced in tests.
pub(crate) trait Launch<Q, A>: Send + Sync {
    /// Starts one; what comes from it goes to `sink`.
    fn launch(&self, sink: Sink<A>) -> io::Result<Box<dyn Worker<Q>>>;
}

/// A worker that was started. Dropping it kills it.
pub(crate) trait Worker<Q>: Send {
    /// Sends a message, without waiting until the worker takes it.
    fn send(&mut self, ask: Q);
    /// Its process id.
    fn pid(&self) -> u32;
    /// How it ended, where it did: an exit code or a signal.
    fn ended(&mut self) -> Option<String>;
}

struct Process<Q> {
    child: Child,
    asks: Option<mpsc::Sender<Q>>,
}

impl<Q: Send> Worker<Q> for Process<Q> {
    fn send(&mut self, ask: Q) {
        // A worker that no longer takes messages is gone, which its reader tells.
        drop(self.asks.as_ref().map(|asks| asks.send(ask)));
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn ended(&mut self) -> Option<String> {
        // Its pipes are closed a moment before the system knows that it has ended.
        let begin = Instant::now();
        while begin.elapsed() < LAST_MOMENT {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status.to_string());
            }
            thread::sleep(Duration::from_millis(2));
        }
        None
    }
}

impl<Q> Drop for Process<Q> {
    fn drop(&mut self) {
        self.asks = None;
        // It may have gone by itself; either way nothing of it is to remain.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(256 * 1024).spawn(work)
}

/// Writes messages on a thread of its own: a stopped worker takes none, and whoever sends must not wait for it.
fn write<Q: Encode<()> + Send + 'static>(stdin: ChildStdin, longest: usize) -> io::Result<mpsc::Sender<Q>> {
    let (send, asks) = mpsc::channel::<Q>();
    spawn("worker-in", move || {
        let mut stdin = BufWriter::new(stdin);
        for ask in asks {
            if frame::write(&mut stdin, longest, &ask).is_err() {
                return;
            }
        }
    })?;
    Ok(send)
}

type LastWords = Arc<Mutex<VecDeque<String>>>;

/// Brings what a worker says beside its answers into the log.
fn listen(stderr: ChildStderr, last_words: LastWords) -> io::Result<thread::JoinHandle<()>> {
    spawn("worker-err", move || {
        for line in BufReader::new(stderr).split(b'\n') {
            let Ok(line) = line else { return };
            let line = String::from_utf8_lossy(&line);
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            if line.starts_with("ERROR") {
                tracing::warn!(target: "ergo::worker", "{line}");
            } else {
                tracing::debug!(target: "ergo::worker", "{line}");
            }
            let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == LAST_WORDS {
                kept.pop_front();
            }
            kept.push_back(line.chars().take(300).collect());
        }
    })
}

fn read<A: for<'b> Decode<'b, ()> + 'static>(
    stdout: ChildStdout,
    longest: usize,
    listening: thread::JoinHandle<()>,
    last_words: LastWords,
    sink: Sink<A>,
) -> io::Result<()> {
    spawn("worker-out", move || {
        let mut stdout = BufReader::new(stdout);
        let why = loop {
            match frame::read::<A>(&mut stdout, longest) {
                Ok(Some(answer)) => sink(Event::Answer(answer)),
                Ok(None) => break None,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break None,
                Err(error) => break Some(format!("spoke nonsense: {error}")),
            }
        };
        // Its last words are on their way, unless it still lives and only its answers ended.
        let why = why.unwrap_or_else(|| {
            let _panicked = listening.join();
            let words = last_words.lock().unwrap_or_else(PoisonError::into_inner);
            death(words.iter().map(String::as_str))
        });
        sink(Event::Gone(why));
    })?;
    Ok(())
}

/// What a death for want of memory begins with.
pub(crate) const NO_MEMORY: &str = "ran out of memory";

/// How a worker died, from its last words.
fn death<'a>(words: impl DoubleEndedIterator<Item = &'a str> + Clone) -> String {
    // The assertion that follows says nothing of the cause.
    let memory = ["insufficient memory", "bad_alloc", "failed to allocate", "memory allocation of"];
    if let Some(line) = words.clone().find(|line| memory.iter().any(|word| line.contains(word))) {
        return format!("{NO_MEMORY}: {}", line.trim_start_matches("ERROR "));
    }
    let telling = ["what():", "GGML_ASSERT", "rror", "abort", "terminate", "alloc"];
    let line = words.rev().find(|line| telling.iter().any(|word| line.contains(word)));
    line.map_or_else(|| "ended".to_owned(), |line| format!("ended: {line}"))
}

/// The program that this process runs, also where its file was replaced meanwhile.
pub(crate) fn this_program() -> PathBuf {
    let own = std::env::current_exe().ok().filter(|path| path.exists());
    own.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

/// Memory that a process holds, in bytes; 0 where the system does not say.
pub(crate) fn rss(pid: u32) -> u64 {
    std::fs::read_to_string(format!("/proc/{pid}/status")).map_or(0, |status| rss_in(&status))
}

fn rss_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_death_is_told_by_its_last_telling_line() {
        assert_eq!(death(["loading", "GGML_ASSERT(x) failed", "more"].into_iter()), "ended: GGML_ASSERT(x) failed");
        assert_eq!(death(["loading"].into_iter()), "ended");
        let starved = ["ERROR insufficient memory (attempted to allocate 9 MB)", "GGML_ASSERT(x) failed"];
        assert_eq!(death(starved.into_iter()), "ran out of memory: insufficient memory (attempted to allocate 9 MB)");
    }

    #[test]
    fn resident_memory_is_read_in_bytes() {
        assert_eq!(rss_in("Name:\tergo\nVmRSS:\t   1024 kB\nVmSwap: 1 kB\n"), 1024 * 1024);
        assert_eq!(rss_in(""), 0);
    }
}
