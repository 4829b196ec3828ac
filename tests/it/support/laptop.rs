//! A person's machine with its daemon, as the command line sees it.

use std::process::{Child, Command, Stdio};

use ergo::{
    api::{ClaimsQuery, SyncStatus},
    domain::{Body, ClaimKind, EventKind, OpId, Scope},
    store::{Act, EventDraft, Store},
};
use serde_json::Value;

use super::{Daemon, Output, TestHome, block_on, in_place_of, network::Place};

/// No models, and sync on this machine's loopback alone.
pub(crate) const CONFIG: &str =
    "[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\nllm = \"none\"\n[sync]\nloopback = true\n";

/// No models, and the default settings of sync.
const USUAL: &str = "[daemon]\ntcp = false\n[models]\nembedder = \"none\"\nnli = \"none\"\nllm = \"none\"\n[sync]\n";

/// A person's machine with its daemon.
pub(crate) struct Laptop {
    pub(crate) home: TestHome,
    pub(crate) daemon: Option<Daemon>,
    pub(crate) who: &'static str,
}

impl Laptop {
    /// On loopback.
    pub(crate) fn of(who: &'static str) -> Self {
        Self::with(who, "")
    }

    /// A laptop that listens on a fixed port of its own, so that it is found there again after a restart.
    pub(crate) fn at_a_port(who: &'static str) -> Self {
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::with(who, &format!("port = {free}\n"))
    }

    /// On loopback, with more settings of sync.
    pub(crate) fn with(who: &'static str, sync: &str) -> Self {
        let home = TestHome::with_config(&format!("who = \"{who}\"\n{CONFIG}{sync}"));
        let daemon = Some(home.daemon());
        Self { home, daemon, who }
    }

    /// In a network of its own, with the usual settings; its daemon does not run yet.
    pub(crate) fn offline(who: &'static str) -> Self {
        Self::offline_with(who, "")
    }

    /// [`Laptop::offline`] with more settings of sync.
    pub(crate) fn offline_with(who: &'static str, sync: &str) -> Self {
        Self { home: TestHome::with_config(&format!("who = \"{who}\"\n{USUAL}{sync}")), daemon: None, who }
    }

    /// Starts the daemon in a place.
    pub(crate) fn start_in(&mut self, place: &Place) {
        self.daemon = Some(self.home.daemon_by(|program| place.inside(program)));
    }

    /// Starts the daemon here with sync switched off, so that nothing is sent into the tester's own network.
    pub(crate) fn start_here_without_sync(&mut self) {
        let config = self.home.paths().config;
        let usual = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, format!("{usual}mode = \"off\"\n")).unwrap();
        self.start_here();
        std::fs::write(&config, usual).unwrap();
    }

    /// Starts the daemon here.
    pub(crate) fn start_here(&mut self) {
        self.daemon = Some(self.home.daemon());
    }

    /// Starts the daemon here with orders to die at a step.
    pub(crate) fn start_to_die_at(&mut self, step: &str) {
        self.daemon = Some(self.home.daemon_that_dies_at(step));
    }

    /// Kills the daemon with `kill -9`, if it runs.
    pub(crate) fn kill(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.kill();
        }
    }

    /// Ends the daemon in order.
    pub(crate) fn stop(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            assert_eq!(daemon.terminate(), Some(0), "{}", self.home.log());
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.daemon.as_ref().expect("its daemon runs").pid()
    }

    /// Runs a command in the scope `acme/api`.
    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.home.run(args.iter().chain(&["--scope", "acme/api"]))
    }

    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let args: Vec<_> = args.iter().chain(&["--json"]).copied().collect();
        self.run(&args).ok().json()
    }

    /// Starts a command.
    pub(crate) fn start(&self, args: &[&str]) -> Child {
        let mut command = self.home.command(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    pub(crate) fn remember(&self, statement: &str) -> String {
        let answer = self.json(&["remember", statement, "--reason", "we measured it"]);
        answer["claim_id"].as_str().unwrap().to_owned()
    }

    /// Whether `acme/api` has a claim with this statement. Asks the daemon directly, since tests poll this.
    #[track_caller]
    pub(crate) fn knows(&self, statement: &str) -> bool {
        let query = ClaimsQuery {
            org_id: Some("acme".into()),
            project: Some("api".into()),
            status: Some("all".into()),
            ..ClaimsQuery::default()
        };
        let page = block_on(async { self.home.client().claims(&query).await }).unwrap();
        page.items.iter().any(|claim| claim.statement == statement)
    }

    /// Makes a team that shares `acme/api`.
    pub(crate) fn create_team(&self) {
        let made = self.json(&["sync", "create", "platform", "--device", &self.name()]);
        assert_eq!(made["scopes"].as_array().unwrap().len(), 1, "the flag for the scope names what is shared: {made}");
    }

    pub(crate) fn ticket(&self, more: &[&str]) -> String {
        let args: Vec<_> = ["sync", "invite"].iter().chain(more).copied().collect();
        self.json(&args)["ticket"].as_str().unwrap().to_owned()
    }

    /// Admits the other laptop without a question.
    pub(crate) fn admit(&self, other: &Laptop, more: &[&str]) {
        let ticket = self.ticket(&[&["--yes"], more].concat());
        let joined = other.json(&["sync", "join", &ticket, "--device", &other.name()]);
        assert_eq!(joined["state"], "joined", "{joined}");
    }

    /// Admits the other laptop by files, so that neither learns the other's address.
    pub(crate) fn admit_by_file(&self, other: &Laptop) {
        let file = |name: &str| self.home.path().join(format!("{}.{name}", other.who)).to_str().unwrap().to_owned();
        let (request, grant) = (file("request"), file("grant"));
        other.json(&["sync", "request", "--out", &request, "--device", &other.name()]);
        self.json(&["sync", "approve", &request, "--out", &grant, "--yes"]);
        let joined = other.json(&["sync", "join", &grant, "--yes"]);
        assert_eq!(joined["state"], "joined", "{joined}");
    }

    pub(crate) fn name(&self) -> String {
        format!("{}-laptop", self.who)
    }

    /// The output of `ergo sync status --json`. Asks the daemon directly, since tests poll this.
    #[track_caller]
    pub(crate) fn status(&self) -> Value {
        serde_json::to_value(self.sync_status()).unwrap()
    }

    #[track_caller]
    fn sync_status(&self) -> SyncStatus {
        block_on(async { self.home.client().sync_status().await }).unwrap()
    }

    /// Whether this number of peers are connected and have the same events.
    #[track_caller]
    pub(crate) fn level_with(&self, peers: usize) -> bool {
        let status = self.sync_status();
        let all = status.teams.first().map_or(&[][..], |team| &team.peers);
        all.len() == peers && all.iter().all(|peer| peer.connected && peer.digests_equal)
    }

    /// Events of the shared scope, and the digest of their set.
    #[track_caller]
    pub(crate) fn set(&self) -> (u64, String) {
        let scope = &self.sync_status().teams[0].scopes[0];
        (scope.events as u64, scope.digest.clone())
    }
}

/// Writes facts of hosts in `acme/api` past the guard, in few transactions from this time on.
pub(crate) fn write_facts(store: &mut Store, now: u64, who: &str, names: &str, count: usize) {
    for batch in 0..count.div_ceil(1_000) {
        let drafts = (0..1_000.min(count - batch * 1_000)).map(|n| {
            let name = format!("{names}{}", batch * 1_000 + n);
            let statement = Some(format!("{name} is up."));
            let body = Body { key: Some(name), statement, ..Body::default() };
            EventDraft { claim_kind: Some(ClaimKind::Fact), body, ..EventDraft::new(EventKind::FactSet, []) }
        });
        let mut op = [batch as u8 + 1; 16];
        for (byte, name) in op.iter_mut().zip(names.bytes()) {
            *byte ^= name;
        }
        let act = Act {
            scope: Scope::new("acme", "api").unwrap(),
            identity: None,
            who: who.into(),
            agent: None,
            op: OpId(op),
            now: now + batch as u64,
            drafts: drafts.collect(),
        };
        store.commit(act).unwrap();
    }
}

/// Waits for a command that was started.
pub(crate) fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap().into()
}

/// The six words of an answer.
pub(crate) fn words(of: &Value) -> String {
    let words: Vec<_> = of["words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    assert_eq!(words.len(), 6);
    words.join(" ")
}

/// Prepends a command to a program.
pub(crate) fn before(prefix: &[String], program: Command) -> Command {
    let mut command = in_place_of(&program, &prefix[0]);
    command.args(&prefix[1..]).arg(program.get_program()).args(program.get_args());
    command
}
