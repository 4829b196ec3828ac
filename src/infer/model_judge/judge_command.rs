//! A command as a judge: a program that reads a prompt on standard input and answers on standard output.
//!
//! The program runs in a process group of its own, without a shell, in an empty folder. Its child processes are killed
//! with it.

use std::{
    io::{self, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{super::Prompt, JudgeError};

/// The maximum size of an answer in bytes.
const MAX_ANSWER_BYTES: u64 = 256 * 1024;

/// The maximum number of bytes of standard error that are read to explain a failure.
const MAX_ERROR_BYTES: u64 = 2 * 1024;

/// The interval at which [`JudgeCommand::ask`] checks, while it waits for output, whether it was stopped.
const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The interval at which [`JudgeCommand::ask`] checks whether a command that has closed its output has exited.
const EXIT_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// A command that answers prompts.
#[derive(Clone, Debug)]
pub struct JudgeCommand {
    program: String,
    args: Vec<String>,
    /// The working directory: an empty folder, so that the program finds no project whose settings it would follow.
    folder: PathBuf,
    processes: Arc<Mutex<Processes>>,
}

/// The running processes of a command and its clones.
#[derive(Debug, Default)]
struct Processes {
    /// Set by [`JudgeCommand::stop`]: no further process is started.
    stopped: bool,
    /// The process groups.
    groups: Vec<Pid>,
}

impl PartialEq for JudgeCommand {
    fn eq(&self, other: &Self) -> bool {
        (&self.program, &self.args, &self.folder) == (&other.program, &other.args, &other.folder)
    }
}

impl Eq for JudgeCommand {}

/// A running command. Dropping it kills the whole process group.
struct RunningCommand<'a> {
    child: Child,
    command: &'a JudgeCommand,
}

impl Drop for RunningCommand<'_> {
    fn drop(&mut self) {
        self.kill();
        drop(self.child.wait());
    }
}

impl RunningCommand<'_> {
    fn kill(&self) {
        let group = Pid::from_child(&self.child);
        let mut processes = self.command.processes();
        // Only once: the system may give the number of a group that has ended to another one.
        if let Some(at) = processes.groups.iter().position(|running| *running == group) {
            processes.groups.swap_remove(at);
            kill_group(group);
        }
    }
}

/// Kills a process group. It exists as long as any of its processes runs, even after the first one has exited.
fn kill_group(group: Pid) {
    let _gone = kill_process_group(group, Signal::KILL);
}

impl JudgeCommand {
    /// Creates the command from a program and its arguments; `None` if there is no program. It runs in `folder`, which
    /// is created if it is absent.
    pub fn new(words: &[String], folder: PathBuf) -> Option<Self> {
        let (program, args) = words.split_first()?;
        (!program.trim().is_empty()).then(|| Self {
            program: program.clone(),
            args: args.to_vec(),
            folder,
            processes: Arc::default(),
        })
    }

    /// Kills the running processes of the command and of its clones. From now on, none is started. The processes are
    /// killed when this returns, so the program may exit.
    pub fn stop(&self) {
        let mut processes = self.processes();
        processes.stopped = true;
        processes.groups.drain(..).for_each(kill_group);
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        self.processes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the command; `None` if it was stopped.
    fn start(&self) -> io::Result<Option<RunningCommand<'_>>> {
        // Locked until the process is in the list, so that `stop` misses none.
        let mut processes = self.processes();
        if processes.stopped {
            return Ok(None);
        }
        let child = Command::new(&self.program)
            .args(&self.args)
            .current_dir(&self.folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        processes.groups.push(Pid::from_child(&child));
        Ok(Some(RunningCommand { child, command: self }))
    }

    /// Returns the program and its arguments as one text, for people.
    pub fn name(&self) -> String {
        std::iter::once(&self.program).chain(&self.args).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Runs the command with a prompt and returns its output. Blocks until the command ends; after `timeout` it is
    /// killed with its children.
    ///
    /// # Errors
    /// [`JudgeError::Unavailable`] if the command cannot be started, fails, takes too long or prints too much.
    pub fn ask(&self, prompt: &Prompt, timeout: Duration) -> Result<String, JudgeError> {
        let unavailable = |why: &dyn std::fmt::Display| {
            JudgeError::Unavailable(format!("the command `{}` {why}", crate::domain::text::cut_line(&self.name(), 100)))
        };
        let until = Instant::now() + timeout;
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| unavailable(&format!("has no folder to run in, {}: {error}", self.folder.display())))?;
        let stopped = || unavailable(&"was stopped because the daemon is ending");
        let started = self.start().map_err(|error| unavailable(&format!("cannot be started: {error}")))?;
        let mut running = started.ok_or_else(stopped)?;
        let child = &mut running.child;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(unavailable(&"has no pipes"));
        };
        let text = prompt_text(prompt);
        let writing = thread::Builder::new().name("judge-in".into());
        // Ignore a failed write: a command may answer without reading the whole prompt.
        drop(writing.spawn(move || drop(stdin.write_all(text.as_bytes()))));
        let answer = reader(stdout, MAX_ANSWER_BYTES + 1).map_err(|error| unavailable(&error))?;
        let complaint = reader(stderr, MAX_ERROR_BYTES).map_err(|error| unavailable(&error))?;
        let time_left = || until.saturating_duration_since(Instant::now());
        let bytes = loop {
            match answer.recv_timeout(time_left().min(STOP_CHECK_INTERVAL)) {
                Ok(bytes) => break bytes,
                Err(_) if self.processes().stopped => return Err(stopped()),
                Err(_) if time_left().is_zero() => {
                    return Err(unavailable(&format!("did not answer within {} s", timeout.as_secs())));
                }
                Err(_) => {}
            }
        };
        if bytes.len() as u64 > MAX_ANSWER_BYTES {
            return Err(unavailable(&format!("printed more than {} KiB", MAX_ANSWER_BYTES / 1024)));
        }
        let status = loop {
            match running.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if time_left().is_zero() => {
                    return Err(unavailable(&format!("did not end within {} s", timeout.as_secs())));
                }
                Ok(None) => thread::sleep(EXIT_CHECK_INTERVAL),
                Err(error) => return Err(unavailable(&error)),
            }
        };
        running.kill();
        if !status.success() {
            if self.processes().stopped {
                return Err(stopped());
            }
            let stderr = complaint.recv_timeout(EXIT_CHECK_INTERVAL).unwrap_or_default();
            let complaint = crate::domain::text::cut_line(String::from_utf8_lossy(&stderr).trim(), 200);
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("failed with exit code {code}"),
                (None, Some(signal)) => format!("was ended by signal {signal}"),
                (None, None) => "failed".to_owned(),
            };
            return Err(unavailable(&if complaint.is_empty() { how } else { format!("{how}: {complaint}") }));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Joins the parts of a prompt into one text.
fn prompt_text(prompt: &Prompt) -> String {
    let mut parts: Vec<&str> = prompt.prefix.iter().map(|turn| turn.text.as_str()).collect();
    parts.push(&prompt.text);
    parts.join("\n\n")
}

/// Reads at most `most` bytes of a pipe on a thread of its own.
fn reader(from: impl Read + Send + 'static, most: u64) -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (done, read) = mpsc::channel();
    thread::Builder::new().name("judge-out".into()).spawn(move || {
        let mut bytes = Vec::new();
        let mut from = from.take(most);
        // If reading fails, the bytes read so far are the answer.
        drop(from.read_to_end(&mut bytes));
        drop(done.send(bytes));
    })?;
    Ok(read)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::{
        domain::{
            ClaimKind, PairVerdict,
            pair_prompt::{INJECTED, PromptClaim, PromptPair},
        },
        infer::{Call, ModelJudge},
    };

    fn shell(script: &str) -> JudgeCommand {
        JudgeCommand::new(&["sh".to_owned(), "-c".to_owned(), script.to_owned()], std::env::temp_dir()).unwrap()
    }

    fn ask(script: &str) -> Result<String, JudgeError> {
        let prompt = Prompt::few_shot::<&str, &str>("Be brief.", [], "Which?".to_owned());
        shell(script).ask(&prompt, Duration::from_secs(20))
    }

    #[test]
    fn a_command_reads_the_prompt_and_its_output_is_the_answer() {
        assert_eq!(ask("cat"), Ok("Be brief.\n\nWhich?".to_owned()));
        assert_eq!(ask("exec 0<&-; echo yes"), Ok("yes\n".to_owned()), "one that does not read");
    }

    #[rstest]
    #[case("echo no key >&2; exit 3", "exit code 3: no key")]
    #[case("kill -9 $$", "signal 9")]
    #[case("yes | head -c 400000", "more than 256 KiB")]
    fn a_failure_says_which_command_and_why(#[case] script: &str, #[case] why: &str) {
        let error = ask(script).unwrap_err().to_string();
        assert!(error.starts_with("the command `sh -c") && error.contains(why), "{error}");
    }

    #[test]
    fn a_command_that_hangs_is_killed_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let prompt = Prompt::default();
        let error = shell(&script).ask(&prompt, Duration::from_millis(700)).unwrap_err().to_string();
        assert!(error.contains("did not answer within"), "{error}");
        let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            !stat.is_empty() && !stat.contains(") Z ")
        };
        while runs() && Instant::now() < until {
            thread::yield_now();
        }
        assert!(!runs(), "its child still runs");
    }

    #[test]
    fn a_command_that_is_stopped_ends_at_once() {
        let judge = shell("sleep 600");
        judge.stop();
        let started = Instant::now();
        let error = judge.ask(&Prompt::default(), Duration::from_mins(5)).unwrap_err().to_string();
        assert!(error.contains("was stopped") && started.elapsed() < Duration::from_mins(1), "{error}");
    }

    #[test]
    fn words_make_a_command_and_none_make_no_command() {
        assert_eq!(JudgeCommand::new(&[], PathBuf::new()), None);
        assert_eq!(JudgeCommand::new(&[" ".to_owned()], PathBuf::new()), None);
        let missing = JudgeCommand::new(&["/nonexistent/judge".to_owned()], std::env::temp_dir()).unwrap();
        let error = missing.ask(&Prompt::default(), Duration::from_secs(5)).unwrap_err().to_string();
        assert!(error.contains("`/nonexistent/judge` cannot be started"), "{error}");
    }

    #[test]
    fn injected_statements_reach_a_command_as_values() {
        let claim = |statement: &str| PromptClaim {
            kind: ClaimKind::Decision,
            statement: statement.to_owned(),
            reason: None,
            day: "2026-03-01".to_owned(),
            project: None,
        };
        let pairs: Vec<_> =
            INJECTED.iter().map(|text| PromptPair { newer: claim(text), older: claim("Use tabs.") }).collect();
        // Reads one object a line after the instruction, and counts those with exactly the fields of a pair.
        let script = r#"lines=$(grep -c '^{"pair":[0-9]*,"newer":{.*},"older":{.*}}$'); i=1; printf '['
            while [ $i -le $lines ]; do [ $i -gt 1 ] && printf ','
            printf '{"pair":%d,"verdict":"contradicts","because":"read"}' $i; i=$((i+1)); done; printf ']'"#;
        let judge = ModelJudge::Command(shell(script));
        let answers = judge.verdicts(&pairs, Call::background(Duration::from_secs(20))).unwrap();
        assert_eq!(answers.len(), INJECTED.len());
        assert!(
            answers
                .iter()
                .all(|answer| answer.as_ref().is_some_and(|answer| answer.verdict == PairVerdict::Contradicts))
        );
        let parrot = ModelJudge::Command(shell("cat"));
        assert!(
            matches!(
                parrot.verdicts(&pairs, Call::background(Duration::from_secs(20))),
                Err(JudgeError::Unusable { .. })
            ),
            "an answer that is the question is no answer"
        );
    }
}
