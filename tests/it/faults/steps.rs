//! kill -9 of either side at each step of the protocol: a debug build ends itself there when it is told to (`src/sync/session/step.rs`).

use std::os::unix::process::ExitStatusExt;

use ergo::{
    api::{ModeRequest, SyncMode, SyncNowRequest, WriteOutcome},
    client::Client,
    domain::{ClaimId, DeviceId},
};
use rstest::rstest;

use super::{assert_sound, assert_well, facts_of};
use crate::support::{Daemon, TEST_TIMEOUT, block_on, fact, laptop::Laptop, until_within};

/// The first steps of a session in which both sides wrote a little.
const BEGINNING: [&str; 9] = [
    "send HELLO",
    "receive HELLO",
    "send ROSTER",
    "receive ROSTER",
    "send OFFER",
    "receive OFFER",
    "send DOC",
    "receive DOC",
    "send WANT",
];

/// The further steps of such a session.
const END: [&str; 9] = [
    "receive WANT",
    "send BODIES",
    "receive BODIES",
    "store",
    "stored",
    "send DURABLE",
    "receive DURABLE",
    "send NUDGE",
    "receive NUDGE",
];

/// The steps that replace some of these if both sides wrote much.
const STEPS_OF_MUCH: [&str; 4] =
    ["send COMPACT", "receive COMPACT", "send FOLLOWING_BODIES", "receive FOLLOWING_BODIES"];

/// More events than are pushed one by one.
const MUCH: usize = 300;

/// The number of further writes of the other side once both are equal, so that more is sent.
const FURTHER: usize = 3;

/// The number of attempts at a step, which may be skipped: pushed bodies, for instance, need not be requested.
const TRIES: usize = 5;

/// Two laptops of a team, one of which (the victim) dies repeatedly.
struct Pair {
    victim: Laptop,
    other: Laptop,
    acknowledged: Vec<(ClaimId, String)>,
    /// The number of events that both must have.
    events: usize,
    turn: usize,
}

fn ask<T, E: std::fmt::Debug>(laptop: &Laptop, work: impl AsyncFnOnce(Client) -> Result<T, E>) -> Result<T, E> {
    let client = laptop.home.client();
    block_on(work(client))
}

fn device(laptop: &Laptop) -> DeviceId {
    ask(laptop, async |client| client.sync_status().await).unwrap().device.unwrap()
}

fn mode(laptop: &Laptop, mode: SyncMode) {
    ask(laptop, async |client| client.sync_mode(&ModeRequest { mode, ..ModeRequest::default() }).await).unwrap();
}

/// The events of a laptop, if it reports that its peer has the same.
pub(super) fn level(laptop: &Laptop) -> Option<(usize, String)> {
    let status = ask(laptop, async |client| client.sync_status().await).ok()?;
    let team = status.teams.first().filter(|team| team.in_sync)?;
    team.scopes.first().map(|scope| (scope.events, scope.digest.clone()))
}

impl Pair {
    /// The victim is the one that calls the other, or the one that is called: the smaller id calls at once, the other waits for that.
    fn new(calls: bool) -> Self {
        let (ada, bob) = (Laptop::at_a_port("ada"), Laptop::at_a_port("bob"));
        ada.create_team();
        ada.admit(&bob, &[]);
        let (caller, called) = if device(&ada) < device(&bob) { (ada, bob) } else { (bob, ada) };
        let (victim, other) = if calls { (caller, called) } else { (called, caller) };
        Self { victim, other, acknowledged: Vec::new(), events: 0, turn: 0 }
    }

    fn is_level(&self) -> bool {
        let (ours, theirs) = (level(&self.victim), level(&self.other));
        ours.is_some() && ours == theirs && ours.is_some_and(|(events, _)| events == self.events)
    }

    /// One claim on each side.
    fn write(&mut self) {
        self.write_at(0);
        self.write_at(1);
    }

    /// One claim of the victim (0) or of the other (1).
    fn write_at(&mut self, side: usize) {
        let laptop = [&self.victim, &self.other][side];
        let key = format!("{}n{}", laptop.who, self.turn);
        let statement = format!("Host {key} is up.");
        let outcome = ask(laptop, async |client| client.remember(&fact(&statement, &key)).await).unwrap();
        let WriteOutcome::Stored(stored) = outcome else { panic!("{statement}: {outcome:?}") };
        self.acknowledged.push((stored.claim_id, statement));
        self.events += 1;
    }

    /// Much on each side, past the daemons.
    fn write_much(&mut self) {
        self.other.stop();
        for laptop in [&self.victim, &self.other] {
            facts_of(laptop, &format!("{}m{}x", laptop.who, self.turn), MUCH);
        }
        self.events += 2 * MUCH;
        self.other.start_here();
    }

    /// Both write while disconnected, then connect; the victim is to die at a step. Returns whether it reached the
    /// step.
    fn dies_at(&mut self, step: &str, much: bool) -> bool {
        self.turn += 1;
        mode(&self.other, SyncMode::Off);
        self.write();
        self.victim.kill();
        if much {
            self.write_much();
        }
        mode(&self.other, SyncMode::Lan);
        self.victim.start_to_die_at(step);
        for _ in 0..=FURTHER {
            let mut ended = None;
            until_within(TEST_TIMEOUT, &format!("one dies at {step}, or both have the same"), || {
                ended = self.victim.daemon.as_mut().and_then(Daemon::ended);
                ended.is_some() || self.is_level()
            });
            if let Some(status) = ended {
                assert_eq!(status.signal(), Some(9), "{step}: {status} {}", self.victim.home.log());
                self.victim.daemon = None;
                return true;
            }
            self.turn += 1;
            self.write_at(1);
        }
        self.victim.kill();
        false
    }

    /// Kills the victim at a step, and restarts it.
    fn survives(&mut self, step: &str, much: bool) {
        let died = (0..TRIES).any(|_| {
            let died = self.dies_at(step, much);
            self.victim.start_here();
            // Not later than it must be.
            drop(ask(&self.other, async |client| client.sync_now(&SyncNowRequest::default()).await));
            until_within(TEST_TIMEOUT, &format!("both have the same after {step}"), || self.is_level());
            died
        });
        assert!(died, "no session came to {step}");
    }

    /// Asserts that nothing is lost or doubled and that both are healthy.
    fn judge(mut self) {
        for laptop in [&self.victim, &self.other] {
            for (id, statement) in &self.acknowledged {
                let claim = ask(laptop, async |client| client.claim(&id.to_hex()).await);
                let claim = claim.unwrap_or_else(|error| panic!("{} lost {statement}: {error}", laptop.who));
                assert_eq!(claim.statement, *statement);
            }
            assert_eq!(laptop.status()["teams"][0]["quarantined"], 0);
            assert_well(laptop);
        }
        for laptop in [&mut self.victim, &mut self.other] {
            laptop.stop();
            assert_sound(laptop);
        }
    }
}

#[rstest]
#[case::the_one_that_calls_at_the_beginning(true, &BEGINNING, false)]
#[case::the_one_that_calls_at_the_end(true, &END, false)]
#[case::the_one_that_calls_with_much_to_send(true, &STEPS_OF_MUCH, true)]
#[case::the_one_that_is_called_at_the_beginning(false, &BEGINNING, false)]
#[case::the_one_that_is_called_at_the_end(false, &END, false)]
#[case::the_one_that_is_called_with_much_to_send(false, &STEPS_OF_MUCH, true)]
fn kill_nine_at_each_step_loses_nothing_and_doubles_nothing(
    #[case] calls: bool,
    #[case] steps: &[&str],
    #[case] much: bool,
) {
    let mut pair = Pair::new(calls);
    for step in steps {
        pair.survives(step, much);
    }
    pair.judge();
}
