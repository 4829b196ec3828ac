//! The daemon's side of a worker process: a child that takes requests and returns answers.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use minicbor::{Decode, Encode};

use super::frame;

/// Lines of a worker's standard error that are kept to explain its exit.
const KEPT_LINES: usize = 12;

/// How long the system may take to report the exit of a worker that has closed its pipes.
const EXIT_TIMEOUT: Duration = Duration::from_millis(200);

/// An answer of a worker, or its end.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WorkerEvent<A> {
    Answer(A),
    /// The worker exited, or sent an invalid frame. The text completes "the process …".
    Exited(String),
}

/// Receives the events of a worker; called on another thread.
pub(crate) type EventSink<A> = Box<dyn Fn(WorkerEvent<A>) + Send + Sync>;

/// How to start a worker.
#[derive(Clone, Debug)]
pub(crate) struct WorkerProgram {
    /// Path of the executable; see [`this_program`].
    pub(crate) path: PathBuf,
    /// The word after `ergo worker`.
    pub(crate) subcommand: &'static str,
    /// Prefixes of the environment variables that the worker inherits besides [`ENVIRONMENT`].
    pub(crate) inherits: &'static [&'static str],
    /// Environment variables that are set for the worker.
    pub(crate) sets: &'static [(&'static str, &'static str)],
    /// The longest frame in either direction, in bytes.
    pub(crate) max_frame: usize,
}

/// Environment variables that every worker inherits: those that the loader and the C library read, and none of
/// ergo's.
const ENVIRONMENT: &[&str] =
    &["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "XDG_CACHE_HOME"];

impl<Q, A> LaunchWorker<Q, A> for WorkerProgram
where
    Q: Encode<()> + Send + 'static,
    A: for<'b> Decode<'b, ()> + 'static,
{
    fn launch(&self, sink: EventSink<A>) -> io::Result<Box<dyn WorkerHandle<Q>>> {
        let inherited = std::env::vars_os().filter(|(name, _)| {
            let name = name.to_string_lossy();
            ENVIRONMENT.contains(&&*name) || self.inherits.iter().any(|prefix| name.starts_with(prefix))
        });
        let mut child = Command::new(&self.path)
            .args(["worker", self.subcommand])
            .env_clear()
            .envs(inherited)
            .envs(self.sets.iter().copied())
            .current_dir("/")
            // Ctrl-C ends the daemon, which then ends its workers.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("a pipe of the new process is missing");
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut process = WorkerProcess { child, max_frame: self.max_frame, requests: None };
        process.requests = Some(write(stdin.ok_or_else(missing)?)?);
        let last_lines = Arc::default();
        let listening = log_stderr(stderr.ok_or_else(missing)?, Arc::clone(&last_lines))?;
        read(stdout.ok_or_else(missing)?, self.max_frame, listening, last_lines, sink)?;
        Ok(Box::new(process))
    }
}

/// Starts worker processes. Replaced by a fake in tests.
pub(crate) trait LaunchWorker<Q, A>: Send + Sync {
    /// Starts a worker whose events go to `sink`.
    fn launch(&self, sink: EventSink<A>) -> io::Result<Box<dyn WorkerHandle<Q>>>;
}

/// A running worker. Dropping it kills the process.
pub(crate) trait WorkerHandle<Q>: Send {
    /// Queues a request without waiting for the worker to read it.
    ///
    /// # Errors
    /// If the request cannot be encoded, or is too long. Then it was not queued.
    fn send(&mut self, request: Q) -> io::Result<()>;
    /// Returns the process id.
    fn pid(&self) -> u32;
    /// Returns the exit code or signal, if the worker has ended.
    fn ended(&mut self) -> Option<String>;
}

struct WorkerProcess {
    child: Child,
    max_frame: usize,
    /// Frames to write.
    requests: Option<mpsc::Sender<Vec<u8>>>,
}

impl<Q: Encode<()>> WorkerHandle<Q> for WorkerProcess {
    fn send(&mut self, request: Q) -> io::Result<()> {
        let frame = frame::encode(self.max_frame, &request)?;
        // If the worker reads no more, the thread that reads its answers reports the exit.
        drop(self.requests.as_ref().map(|requests| requests.send(frame)));
        Ok(())
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn ended(&mut self) -> Option<String> {
        // The pipes of a process close a moment before the system reports its exit.
        let begin = Instant::now();
        while begin.elapsed() < EXIT_TIMEOUT {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status.to_string());
            }
            thread::sleep(Duration::from_millis(2));
        }
        None
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.requests = None;
        // These fail if the process has already exited, which is fine.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).stack_size(256 * 1024).spawn(work)
}

/// Writes frames on a separate thread, so that a stopped worker, which reads none, does not block the sender.
fn write(mut stdin: ChildStdin) -> io::Result<mpsc::Sender<Vec<u8>>> {
    let (send, frames) = mpsc::channel::<Vec<u8>>();
    spawn("worker-in", move || {
        for frame in frames {
            if stdin.write_all(&frame).is_err() {
                return;
            }
        }
    })?;
    Ok(send)
}

type LastLines = Arc<Mutex<VecDeque<String>>>;

/// Copies a worker's standard error to the log.
fn log_stderr(stderr: ChildStderr, last_lines: LastLines) -> io::Result<thread::JoinHandle<()>> {
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
            let mut kept = last_lines.lock().unwrap_or_else(PoisonError::into_inner);
            if kept.len() == KEPT_LINES {
                kept.pop_front();
            }
            kept.push_back(line.chars().take(300).collect());
        }
    })
}

fn read<A: for<'b> Decode<'b, ()> + 'static>(
    stdout: ChildStdout,
    max_frame: usize,
    listening: thread::JoinHandle<()>,
    last_lines: LastLines,
    sink: EventSink<A>,
) -> io::Result<()> {
    spawn("worker-out", move || {
        let mut stdout = BufReader::new(stdout);
        let why = loop {
            match frame::read::<A>(&mut stdout, max_frame) {
                Ok(Some(answer)) => sink(WorkerEvent::Answer(answer)),
                Ok(None) => break None,
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => break None,
                Err(error) => break Some(format!("sent an invalid answer: {error}")),
            }
        };
        // At the end of the stream, wait for the last lines of standard error. After an invalid answer the worker may
        // still run.
        let why = why.unwrap_or_else(|| {
            let _panicked = listening.join();
            let lines = last_lines.lock().unwrap_or_else(PoisonError::into_inner);
            describe_exit(lines.iter().map(String::as_str))
        });
        sink(WorkerEvent::Exited(why));
    })?;
    Ok(())
}

/// The beginning of the explanation if a worker ran out of memory.
pub(crate) const OUT_OF_MEMORY: &str = "ran out of memory";

/// Explains the exit of a worker by its last lines.
fn describe_exit<'a>(lines: impl DoubleEndedIterator<Item = &'a str> + Clone) -> String {
    // The failed assertion after such a line does not name the cause.
    let memory = ["insufficient memory", "bad_alloc", "failed to allocate", "memory allocation of"];
    if let Some(line) = lines.clone().find(|line| memory.iter().any(|word| line.contains(word))) {
        return format!("{OUT_OF_MEMORY}: {}", line.trim_start_matches("ERROR "));
    }
    let informative = ["what():", "GGML_ASSERT", "ERROR", "rror", "abort", "terminate", "alloc"];
    let line = lines.rev().find(|line| informative.iter().any(|word| line.contains(word)));
    line.map_or_else(|| "ended".to_owned(), |line| format!("ended: {}", line.trim_start_matches("ERROR ")))
}

/// Returns the executable of this process, even if its file has been replaced.
pub(crate) fn this_program() -> PathBuf {
    let own = std::env::current_exe().ok().filter(|path| path.exists());
    own.unwrap_or_else(|| PathBuf::from("/proc/self/exe"))
}

/// Returns the resident memory of a process in bytes, or 0 if it is unknown.
pub(crate) fn rss(pid: u32) -> u64 {
    std::fs::read_to_string(format!("/proc/{pid}/status")).map_or(0, |status| rss_in(&status))
}

fn rss_in(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// Returns the processor time that the threads of a process have used together; `None` if it is unknown.
pub(crate) fn cpu_time(pid: u32) -> Option<Duration> {
    cpu_in(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns the processor time that this thread has used; `None` if the system does not tell.
pub fn thread_cpu_time() -> Option<Duration> {
    let read = |file| std::fs::read_to_string(format!("/proc/thread-self/{file}")).ok();
    // In nanoseconds, if the kernel keeps these figures.
    let exact = read("schedstat").and_then(|text| text.split_whitespace().next()?.parse().ok());
    exact.filter(|used| *used > 0).map(Duration::from_nanos).or_else(|| cpu_in(&read("stat")?))
}

/// Returns user and system time of `/proc/…/stat`: fields 14 and 15, in hundredths of a second (`USER_HZ`, see proc(5)).
fn cpu_in(stat: &str) -> Option<Duration> {
    // The name of the program, field 2, may contain spaces and parentheses.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().ok());
    let (user, system) = (ticks.next()??, ticks.next()??);
    Some(Duration::from_millis((user + system).saturating_mul(10)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_read_whatever_the_program_is_called() {
        let stat = "4242 (a b) c) S 1 4242 4242 0 -1 4194560 900 0 0 0 731 69 0 0 20 0 4 0 1 2 3";
        assert_eq!(cpu_in(stat), Some(Duration::from_secs(8)));
        assert_eq!((cpu_in(""), cpu_in("4242 (x) S 1")), (None, None));
        assert!(cfg!(not(target_os = "linux")) || thread_cpu_time().is_some());
    }

    #[test]
    fn an_exit_is_explained_by_its_last_lines() {
        assert_eq!(
            describe_exit(["loading", "GGML_ASSERT(x) failed", "more"].into_iter()),
            "ended: GGML_ASSERT(x) failed"
        );
        assert_eq!(describe_exit(["loading"].into_iter()), "ended");
        let invalid = ["loading", "ERROR it received an invalid request: end of input"];
        assert_eq!(describe_exit(invalid.into_iter()), "ended: it received an invalid request: end of input");
        let starved = ["ERROR insufficient memory (attempted to allocate 9 MB)", "GGML_ASSERT(x) failed"];
        assert_eq!(
            describe_exit(starved.into_iter()),
            "ran out of memory: insufficient memory (attempted to allocate 9 MB)"
        );
    }

    #[test]
    fn a_request_that_is_too_long_is_refused_and_the_worker_is_sent_the_next_one() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let requests = Some(write(child.stdin.take().unwrap()).unwrap());
        let mut stdout = child.stdout.take().unwrap();
        let mut worker = WorkerProcess { child, max_frame: 8, requests };
        let error = worker.send("too long a text").unwrap_err();
        assert_eq!(error.to_string(), "a message of 16 bytes; at most 8 are allowed");
        worker.send("short").unwrap();
        assert_eq!(frame::read::<String>(&mut stdout, 8).unwrap().as_deref(), Some("short"));
    }

    #[test]
    fn resident_memory_is_read_in_bytes() {
        assert_eq!(rss_in("Name:\tergo\nVmRSS:\t   1024 kB\nVmSwap: 1 kB\n"), 1024 * 1024);
        assert_eq!(rss_in(""), 0);
    }
}
