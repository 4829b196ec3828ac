//! A private home for the real program: temporary, without a fixed port, independent of the tester's environment.

pub(crate) mod crowd;
pub(crate) mod gguf;
pub(crate) mod laptop;
pub(crate) mod network;
pub(crate) mod random;
pub(crate) mod wire;

use std::{
    ffi::OsStr,
    fs,
    io::Write,
    os::unix::fs::{OpenOptionsExt, symlink},
    path::{Path, PathBuf},
    process::{self, Child, Command, ExitStatus, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};

use ed25519_dalek::SigningKey;
use ergo::{
    api::{Caller, RememberRequest},
    client::{Client, Connect},
    config::{DaemonRecord, Paths, StoreLock},
    domain::ClaimKind,
    infer::{catalogue::EMBEDDED, write_out},
};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_ergo");

/// The settings of a daemon that listens on its socket alone and has no models.
pub(crate) const WITHOUT_MODELS: &str = "[daemon]\ntcp = false\n[models]\nnli = \"none\"\nembedder = \"none\"\n";

/// The timeout after which a test fails.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_mins(1);

/// A temporary home with its configuration. Whatever daemon runs in it ends with it.
pub(crate) struct TestHome {
    dir: tempfile::TempDir,
}

/// The result of a run of the program.
#[derive(Debug)]
pub(crate) struct Output {
    /// The exit code; `None` if a signal ended the program.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<process::Output> for Output {
    fn from(output: process::Output) -> Self {
        let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        Self { code: output.status.code(), stdout, stderr }
    }
}

impl Output {
    /// Returns the same result, after checking that the program succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Its standard output as JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

impl TestHome {
    /// A home whose daemon listens on its socket alone and has no models, since each takes a second to load.
    pub(crate) fn new() -> Self {
        Self::with_settings("")
    }

    /// [`TestHome::new`] with more settings.
    pub(crate) fn with_settings(settings: &str) -> Self {
        Self::with_config(&format!("{WITHOUT_MODELS}{settings}"))
    }

    /// A home whose daemon listens on its socket alone and has the built-in models.
    pub(crate) fn with_models() -> Self {
        let home = Self::with_config("[daemon]\ntcp = false\n");
        home.link_models();
        home
    }

    /// A home whose daemon also listens on a free TCP port, without models.
    pub(crate) fn with_tcp() -> Self {
        Self::with_config(&WITHOUT_MODELS.replace("tcp = false", "address = \"127.0.0.1:0\""))
    }

    /// A home with this `config.toml`.
    pub(crate) fn with_config(config: &str) -> Self {
        let home = Self { dir: tempfile::Builder::new().prefix("ergo-test-").tempdir().unwrap() };
        fs::create_dir(home.work()).unwrap();
        fs::write(home.paths().config, config).unwrap();
        home
    }

    /// A home with this `config.toml` whose device has a known key.
    pub(crate) fn with_key(config: &str, key: &SigningKey) -> Self {
        let home = Self::with_config(config);
        home.paths().make().unwrap();
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(home.paths().device_key()).unwrap();
        file.write_all(hex::encode(key.to_bytes()).as_bytes()).unwrap();
        home
    }

    /// Links the built-in models, which are unpacked once for all tests, to where the daemon looks for them.
    fn link_models(&self) {
        static UNPACKED: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("models");
            EMBEDDED.iter().map(|(_, model)| write_out(model, &folder).unwrap()).collect()
        });
        let folder = self.paths().models().join("embedded");
        fs::create_dir_all(&folder).unwrap();
        for file in &*UNPACKED {
            symlink(file, folder.join(file.file_name().unwrap())).unwrap();
        }
    }

    /// `ERGO_HOME`.
    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// The folder in which commands run: no repository, so that the project is `work`.
    pub(crate) fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub(crate) fn paths(&self) -> Paths {
        Paths::under(self.path())
    }

    /// The program with arguments, in this home, without the tester's environment.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(args).current_dir(self.work()).stdin(Stdio::null());
        let kept = ["PATH", "TMPDIR", "RUST_BACKTRACE"].into_iter();
        command.env_clear().envs(kept.filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.env("ERGO_HOME", self.path()).env("HOME", self.path()).env("USER", "ada").env("TZ", "UTC");
        command
    }

    /// Runs the program to its end.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        self.command(args).output().unwrap().into()
    }

    /// Starts the daemon as a child of this process and waits until it answers.
    pub(crate) fn daemon(&self) -> Daemon {
        self.daemon_by(|program| program)
    }

    /// [`TestHome::daemon`], started by another command around it, whose process it becomes.
    pub(crate) fn daemon_by(&self, around: impl FnOnce(Command) -> Command) -> Daemon {
        let mut daemon = self.daemon_starting(around);
        until("the daemon answers", || {
            if let Some(status) = daemon.ended() {
                let printed = fs::read_to_string(self.daemon_output()).unwrap_or_default();
                panic!("the daemon ended with {status}: {printed}\n{}", self.log());
            }
            block_on(async { self.client().health().await.is_ok_and(|health| health.pid == daemon.pid()) })
        });
        daemon
    }

    /// [`TestHome::daemon_by`], without waiting until it answers.
    pub(crate) fn daemon_starting(&self, around: impl FnOnce(Command) -> Command) -> Daemon {
        let mut command = around(self.command(["daemon", "run"]));
        let output = fs::OpenOptions::new().create(true).append(true).open(self.daemon_output()).unwrap();
        let child = command.stdin(Stdio::null()).stdout(output.try_clone().unwrap()).stderr(output).spawn();
        Daemon { child: child.unwrap() }
    }

    /// What the daemons of this home print: a file, because a pipe that nobody reads would block them.
    fn daemon_output(&self) -> PathBuf {
        self.path().join("daemon.output")
    }

    /// Starts a daemon that dies at a step as by `kill -9` (`src/steps.rs`); `step #3` means the third time that it
    /// reaches the step.
    pub(crate) fn daemon_that_dies_at(&self, step: &str) -> Daemon {
        self.daemon_starting(|mut program| {
            program.env("ERGO_STOP_AT", step);
            program
        })
    }

    /// A client of this home's daemon, which need not run yet.
    pub(crate) fn client(&self) -> Client {
        let connect = Connect { spawn: false, ..Connect::private(self.paths()) };
        connect.lazy().unwrap()
    }

    /// The record of the running daemon, with its address.
    pub(crate) fn record(&self) -> DaemonRecord {
        DaemonRecord::of(&self.paths()).expect("a daemon has recorded where it is")
    }

    /// The daemon's log.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.paths().log()).unwrap_or_default()
    }
}

impl Drop for TestHome {
    fn drop(&mut self) {
        // A daemon that a command started is not a child of this process. It is the one that holds this home's lock.
        if let Some(owner) = StoreLock::owner(&self.paths()) {
            kill(owner.pid);
        }
    }
}

/// Says why a test is skipped, also in the file that `ERGO_TEST_SKIPS` names, since the output of a test that passes is not
/// shown. With `ERGO_TEST_REQUIRE` in the environment, the test fails instead.
#[track_caller]
pub(crate) fn skip(why: impl std::fmt::Display) {
    assert!(std::env::var_os("ERGO_TEST_REQUIRE").is_none(), "ERGO_TEST_REQUIRE forbids to skip this test: {why}");
    println!("skipped: {why}");
    if let Some(path) = std::env::var_os("ERGO_TEST_SKIPS") {
        let thread = std::thread::current();
        let line = format!("{}: {why}\n", thread.name().unwrap_or("a test"));
        fs::OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(line.as_bytes()).unwrap();
    }
}

/// A small file system in memory; gone with this value.
pub(crate) struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None` if this user may not mount one; the test is then to be skipped.
    pub(crate) fn new(at: &'a Path, kilobytes: u32) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k,mode=0700"), "tmpfs"])
            .arg(at)
            .output();
        if !mounted.is_ok_and(|output| output.status.success()) {
            skip("this user may not mount a small disk");
            return None;
        }
        Some(Self(at))
    }

    /// Fills the disk to its last byte. Room comes back when the file that is returned is removed.
    pub(crate) fn fill(&self) -> PathBuf {
        let path = self.0.join("ballast");
        let mut ballast = fs::File::create(&path).unwrap();
        for size in [64 * 1024, 512, 1] {
            while ballast.write_all(&vec![0; size]).is_ok() {}
        }
        path
    }

    pub(crate) fn grow(&self, kilobytes: u32) {
        let size = format!("remount,size={kilobytes}k");
        assert!(Command::new("mount").args(["-o", &size]).arg(self.0).status().unwrap().success());
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        // A daemon of a test that failed could not be found once its home is gone.
        if let Some(owner) = StoreLock::owner(&Paths::under(self.0)) {
            kill(owner.pid);
        }
        drop(Command::new("umount").arg("-l").arg(self.0).output());
    }
}

/// A daemon as a child of this process; killed when dropped.
pub(crate) struct Daemon {
    child: Child,
}

impl Daemon {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the daemon with `kill -9`, as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to end, and gives its exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        signal(self.pid(), rustix::process::Signal::TERM);
        until("the daemon ends", || self.ended().is_some());
        self.ended().and_then(|status| status.code())
    }

    /// Its exit status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Whether it still runs.
    pub(crate) fn alive(&mut self) -> bool {
        self.ended().is_none()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Sends a signal to a process; one that is gone is fine.
pub(crate) fn signal(pid: u32, signal: rustix::process::Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
        let _gone = rustix::process::kill_process(pid, signal);
    }
}

/// Whether a process runs. One whose parent has not asked for its end yet counts as ended.
pub(crate) fn runs(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

pub(crate) fn kill(pid: u32) {
    if pid != 0 && pid != process::id() {
        signal(pid, rustix::process::Signal::KILL);
    }
}

/// Another program in the folder and the environment of a command, which has none of the tester's but `PATH`.
pub(crate) fn in_place_of(command: &Command, program: impl AsRef<OsStr>) -> Command {
    let mut other = Command::new(program);
    let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
    other.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(set);
    if let Some(folder) = command.get_current_dir() {
        other.current_dir(folder);
    }
    other
}

/// Runs a future to its end on this thread.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Waits until a condition holds, checking often at first; fails after [`TEST_TIMEOUT`].
#[track_caller]
pub(crate) fn until(what: &str, holds: impl FnMut() -> bool) {
    until_within(TEST_TIMEOUT, what, holds);
}

/// [`until`] with a timeout of its own. Returns the time that it took.
#[track_caller]
pub(crate) fn until_within(patience: Duration, what: &str, holds: impl FnMut() -> bool) -> Duration {
    time_until(patience, holds).unwrap_or_else(|| panic!("waited in vain until {what}"))
}

/// Returns the time until a condition holds; `None` after the timeout.
pub(crate) fn time_until(patience: Duration, mut holds: impl FnMut() -> bool) -> Option<Duration> {
    let begin = Instant::now();
    while !holds() {
        if begin.elapsed() > patience {
            return None;
        }
        std::thread::sleep(pause(begin.elapsed()));
    }
    Some(begin.elapsed())
}

/// [`until`] for an asynchronous condition.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let begin = Instant::now();
    while !holds().await {
        assert!(begin.elapsed() < TEST_TIMEOUT, "waited in vain until {what}");
        tokio::time::sleep(pause(begin.elapsed())).await;
    }
}

/// The time between two checks. It grows with the time waited, since a check takes time from what is waited for.
fn pause(waited: Duration) -> Duration {
    (waited / 20).clamp(Duration::from_millis(5), Duration::from_millis(100))
}

/// Waits until a process ends; one that does not is killed.
#[track_caller]
pub(crate) fn await_exit(child: &mut Child, what: &str) -> ExitStatus {
    if time_until(TEST_TIMEOUT, || child.try_wait().unwrap().is_some()).is_none() {
        child.kill().unwrap();
        panic!("{what} does not end");
    }
    child.wait().unwrap()
}

/// Stops a process, and waits until each of its threads stands still.
#[track_caller]
pub(crate) fn stop(pid: u32) {
    signal(pid, rustix::process::Signal::STOP);
    let is_still = |task: fs::DirEntry| {
        let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'))
    };
    until("every thread is stopped", || {
        fs::read_dir(format!("/proc/{pid}/task")).unwrap().all(|task| is_still(task.unwrap()))
    });
}

/// Waits until bytes lie in the standard input of a process that is stopped: it is in the middle of a request.
#[track_caller]
pub(crate) fn until_input_waits(pid: u32) {
    until("the request lies in the pipe", || {
        let pipe = fs::File::open(format!("/proc/{pid}/fd/0")).unwrap();
        rustix::io::ioctl_fionread(&pipe).unwrap() > 0
    });
}

/// Two decisions, of which the second may contradict the first.
pub(crate) mod doubtful {
    pub(crate) const OLD: &str = "The weekly report goes to the finance team first";
    pub(crate) const NEW: &str = "The weekly report goes to the finance team as a draft";
}

/// Ada, in the scope `acme/api`.
pub(crate) fn caller() -> Caller {
    Caller { org_id: "acme".into(), project: "api".into(), who: "ada".into(), ..Caller::default() }
}

/// A decision by Ada in `acme/api`, with a reason.
pub(crate) fn decision(statement: &str) -> RememberRequest {
    RememberRequest {
        caller: caller(),
        statement: statement.into(),
        kind: Some(ClaimKind::Decision),
        reason: Some("we measured it".into()),
        ..RememberRequest::default()
    }
}

/// A fact by Ada in `acme/api`: stored without the guard.
pub(crate) fn fact(statement: &str, key: &str) -> RememberRequest {
    RememberRequest {
        caller: caller(),
        statement: statement.into(),
        kind: Some(ClaimKind::Fact),
        key: Some(key.into()),
        ..RememberRequest::default()
    }
}

/// Runs git in a folder, as Ada and on a branch `main`.
pub(crate) fn git(folder: &Path, args: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"])
        .args(args)
        .current_dir(folder)
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}
