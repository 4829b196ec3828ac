//! The growth of a team: the number of rounds and bytes until all its devices have the same events.
//!
//! In each round every device meets another at random by their documents, as in a session over a connection. So an
//! event can be on twice as many devices after each round, and the rounds should grow with the logarithm of the team's
//! size.

use std::{fmt::Write as _, time::Instant};

use ergo::domain::{
    EventId,
    replica::SetDigest,
    roster::{Grant, Granted, Role, RosterChange},
};

use super::{
    meeting::Meetings,
    number,
    peer::{Peer, decision, scope},
};
use crate::support::random::Random;

/// The size of the largest team in a usual run.
const DEVICES: u64 = 4;

/// The most devices of a team.
const MOST_DEVICES: u64 = 64;

/// Claims that each device writes while nobody hears of them.
const CLAIMS: usize = 10;

/// The number of rounds after which a team that still differs is taken to never agree.
const ROUNDS: usize = 60;

/// A team of devices that have written what no other has.
struct GrowingTeam {
    peers: Vec<Peer>,
    team: EventId,
    meetings: Meetings,
    random: Random,
    _home: tempfile::TempDir,
}

/// The cost until all devices have the same events.
#[derive(Clone, Copy, Debug, Default)]
struct Convergence {
    rounds: usize,
    sessions: usize,
    bytes: u64,
    seconds: f64,
}

/// The result for one team size.
#[derive(Debug)]
struct Row {
    devices: usize,
    /// Everything that everybody wrote.
    all: Convergence,
    /// One more claim on one device.
    news: Convergence,
    /// All events, if at first each device knows only those that joined before it and talks to no other.
    strangers: Convergence,
}

impl GrowingTeam {
    /// With `roster_is_known`, every device knows all others from the beginning; else only those that joined before it.
    fn new(devices: usize, roster_is_known: bool) -> Self {
        let home = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let mut founder = Peer::new(1, home.path(), 0);
        let (person, device_name) = ("ada".to_owned(), founder.name());
        let team = founder.change(None, RosterChange::Create { name: "core".into(), person, device_name });
        founder.change(Some(team), RosterChange::Adopt { scope: scope("api"), identity: None, heads: Vec::new() });
        let mut peers = vec![founder];
        for number in 2..=u8::try_from(devices).unwrap() {
            let peer = Peer::new(number, home.path(), 0);
            let grant = Grant { role: Role::Writer, scopes: Granted::All };
            let (person, name) = (peer.name(), peer.name());
            peers[0].change(Some(team), RosterChange::Add { device: peer.device(), person, name, grant });
            if !roster_is_known {
                peer.join(team, &peers[0]);
            }
            peers.push(peer);
        }
        if roster_is_known {
            peers[1..].iter().for_each(|peer| peer.join(team, &peers[0]));
        }
        let mut all = Self { peers, team, meetings: Meetings::new(), random: Random::new(7), _home: home };
        for one in 0..devices {
            for n in 0..CLAIMS {
                all.write(one, n);
            }
        }
        all
    }

    fn write(&mut self, one: usize, n: usize) {
        self.peers[one].act("api", decision(&format!("subject-{one}-{n}"), "on"));
    }

    /// The events of the team that a device has.
    fn holding(&self, peer: &Peer) -> Vec<(usize, SetDigest)> {
        let roster = peer.roster(self.team).unwrap();
        [roster.scope(), &scope("api")].map(|scope| peer.set(self.team, scope)).to_vec()
    }

    fn agrees(&self) -> bool {
        let first = self.holding(&self.peers[0]);
        self.peers.iter().all(|peer| self.holding(peer) == first)
    }

    /// Lets them meet until all have the same.
    fn converge(&mut self) -> Convergence {
        let (begun, mut done) = (Instant::now(), Convergence::default());
        while !self.agrees() {
            assert!(done.rounds < ROUNDS, "{} devices still differ after {ROUNDS} rounds", self.peers.len());
            let mut order: Vec<usize> = (0..self.peers.len()).collect();
            self.random.shuffle(&mut order);
            for pair in order.chunks_exact(2) {
                let (a, b) = (&self.peers[pair[0]], &self.peers[pair[1]]);
                done.bytes += self.meetings.meet_counted(a, b, self.team);
                done.sessions += 1;
            }
            done.rounds += 1;
        }
        done.seconds = begun.elapsed().as_secs_f64();
        done
    }
}

fn measure(devices: usize) -> Row {
    let mut team = GrowingTeam::new(devices, true);
    let all = team.converge();
    let (claims, _) = team.peers[0].set(team.team, &scope("api"));
    assert_eq!(claims, devices * CLAIMS, "each has what all wrote");
    team.write(0, CLAIMS);
    let news = team.converge();
    let projection = team.peers[0].projection();
    assert!(team.peers.iter().all(|peer| peer.projection() == projection), "the same events, the same meaning");
    let strangers = GrowingTeam::new(devices, false).converge();
    Row { devices, all, news, strangers }
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| devices | claims | rounds | sessions | kB | kB a device | s | rounds, one more claim | kB a device | rounds, roster unknown |\n\
         |---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for Row { devices, all, news, strangers } in rows {
        let kb = |bytes: u64| bytes as f64 / 1e3;
        let each = |bytes: u64| kb(bytes) / *devices as f64;
        let _ = writeln!(
            text,
            "| {devices} | {} | {} | {} | {:.0} | {:.1} | {:.1} | {} | {:.1} | {} |",
            devices * CLAIMS,
            all.rounds,
            all.sessions,
            kb(all.bytes),
            each(all.bytes),
            all.seconds,
            news.rounds,
            each(news.bytes),
            strangers.rounds,
        );
    }
    text
}

#[test]
fn a_team_agrees_after_rounds_that_grow_with_its_logarithm() {
    let most = number("ERGO_SIM_DEVICES").unwrap_or(DEVICES);
    assert!((2..=MOST_DEVICES).contains(&most), "DEVICES must be 2 to {MOST_DEVICES}");
    let mut rows = Vec::new();
    let mut devices = 2;
    while devices <= most {
        rows.push(measure(usize::try_from(devices).unwrap()));
        devices *= 2;
    }
    println!("{}", table(&rows));
    for Row { devices, all, news, .. } in &rows {
        // Spreading at random takes log2 n rounds until most have it, and about ln n more until the last has it.
        let most = 2 + 3 * devices.ilog2() as usize;
        assert!(all.rounds <= most && news.rounds <= most, "{devices} devices: {all:?} {news:?}");
        assert!(all.bytes > 0 && news.bytes < all.bytes, "{devices} devices: {all:?} {news:?}");
    }
}
