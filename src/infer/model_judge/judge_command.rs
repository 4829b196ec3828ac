//! A command as a judge: it reads a prompt on standard input and answers on standard output.
//!
//! It runs in a process group of its own and without a shell, in an empty folder. What it starts is killed with it.

use std::{
    io::{self, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};

use super::{super::Prompt, JudgeError};

/// The longest answer, in bytes.
const MAX_ANSWER_BYTES: u64 = 256 * 1024;

/// The most bytes of its standard error that explain a failure.
const MAX_ERROR_BYTES: u64 = 2 * 1024;

/// How often a stop is looked for while the output of a command is awaited.
const STOP_CHECK: Duration = Duration::from_millis(100);

/// How often the end of a command that has closed its output is looked for.
const EXIT_CHECK: Duration = Duration::from_millis(10);

/// A command that answers prompts.
#[derive(Clone, Debug)]
pub struct JudgeCommand {
    program: String,
    args: Vec<String>,
    /// Where it runs: an empty folder, so that it finds no project there whose settings it would follow.
    folder: PathBuf,
    /// Whether it was stopped: what runs is killed, and nothing is started.
    stopped: Arc<AtomicBool>,
}

impl PartialEq for JudgeCommand {
    fn eq(&self, other: &Self) -> bool {
        (&self.program, &self.args, &self.folder) == (&other.program, &other.args, &other.folder)
    }
}

impl Eq for JudgeCommand {}

/// A running command. Dropping it kills the whole process group.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
        drop(self.0.wait());
    }
}

impl Running {
    fn kill(&self) {
        // The group outlives its first process as long as one of its children runs.
        if let Some(pid) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            let _gone = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl JudgeCommand {
    /// The command of these words, which runs in `folder`, made if it is absent; `None` if there are no words.
    pub fn new(words: &[String], folder: PathBuf) -> Option<Self> {
        let (program, args) = words.split_first()?;
        (!program.trim().is_empty()).then(|| Self {
            program: program.clone(),
            args: args.to_vec(),
            folder,
            stopped: Arc::default(),
        })
    }

    /// Kills what runs, and starts nothing more.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Its words, for people.
    pub fn name(&self) -> String {
        std::iter::once(&self.program).chain(&self.args).map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Returns what it prints when it is given a prompt. Blocks until it ends; after `timeout` it is killed with its children.
    ///
    /// # Errors
    /// [`JudgeError::Unavailable`] if it cannot be started, fails, takes too long or prints too much.
    pub fn ask(&self, prompt: &Prompt, timeout: Duration) -> Result<String, JudgeError> {
        let unavailable = |why: &dyn std::fmt::Display| {
            JudgeError::Unavailable(format!("the command `{}` {why}", crate::domain::text::cut_line(&self.name(), 100)))
        };
        let until = Instant::now() + timeout;
        std::fs::create_dir_all(&self.folder)
            .map_err(|error| unavailable(&format!("has no folder to run in, {}: {error}", self.folder.display())))?;
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .current_dir(&self.folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| unavailable(&format!("cannot be started: {error}")))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut running = Running(child);
        let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(unavailable(&"has no pipes"));
        };
        let text = text_of(prompt);
        let writing = thread::Builder::new().name("judge-in".into());
        // A command that ends without reading all is judged by its answer.
        drop(writing.spawn(move || drop(stdin.write_all(text.as_bytes()))));
        let answer = reader(stdout, MAX_ANSWER_BYTES + 1).map_err(|error| unavailable(&error))?;
        let complaint = reader(stderr, MAX_ERROR_BYTES).map_err(|error| unavailable(&error))?;
        let time_left = || until.saturating_duration_since(Instant::now());
        let bytes = loop {
            match answer.recv_timeout(time_left().min(STOP_CHECK)) {
                Ok(bytes) => break bytes,
                Err(_) if self.stopped.load(Ordering::Relaxed) => {
                    return Err(unavailable(&"was stopped, since the daemon ends"));
                }
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
            match running.0.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if time_left().is_zero() => {
                    return Err(unavailable(&format!("did not end within {} s", timeout.as_secs())));
                }
                Ok(None) => thread::sleep(EXIT_CHECK),
                Err(error) => return Err(unavailable(&error)),
            }
        };
        running.kill();
        if !status.success() {
            let stderr = complaint.recv_timeout(EXIT_CHECK).unwrap_or_default();
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

/// The whole prompt as one text.
fn text_of(prompt: &Prompt) -> String {
    let mut parts: Vec<&str> = prompt.prefix.iter().map(|turn| turn.text.as_str()).collect();
    parts.push(&prompt.text);
    parts.join("\n\n")
}

/// Reads a pipe on a thread of its own, up to a limit.
fn reader(from: impl Read + Send + 'static, most: u64) -> io::Result<mpsc::Receiver<Vec<u8>>> {
    let (done, read) = mpsc::channel();
    thread::Builder::new().name("judge-out".into()).spawn(move || {
        let mut bytes = Vec::new();
        let mut from = from.take(most);
        // What came before an error is judged as it is.
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
