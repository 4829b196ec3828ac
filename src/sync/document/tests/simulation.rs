//! Replicas that write, exchange, are disconnected, restart and are rebuilt, in random order from a seed. In the end
//! all are equal, and no written event is lost.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::sync::document::ChunkUpdate;

/// The number of replicas, and of random steps.
const REPLICAS: usize = 5;
const STEPS: usize = 60;

/// Numbers from a seed (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }
}

/// A replica: the document in memory, and what its store would hold.
struct Replica {
    document: IndexDocument,
    chunks: Vec<Vec<u8>>,
    events: BTreeMap<EventId, DocumentEntry>,
    states: BTreeMap<usize, Vec<u8>>,
    written: u64,
}

impl Replica {
    fn new() -> Self {
        let (chunks, events, states) = (Vec::new(), BTreeMap::new(), BTreeMap::new());
        Self { document: IndexDocument::empty(), chunks, events, states, written: 0 }
    }

    /// Applies what one transaction of the store would do.
    fn store(&mut self, next: NextDocument, received: &[DocumentEntry]) {
        for entry in received {
            self.events.insert(entry.id, entry.clone());
        }
        assert!(next.new.iter().all(|id| self.events.contains_key(id)), "an entry came without its event");
        match next.chunk {
            Some(ChunkUpdate::Append(bytes)) => self.chunks.push(bytes),
            Some(ChunkUpdate::Snapshot(bytes)) => self.chunks = vec![bytes],
            None => {}
        }
        self.document = next.document;
        assert_eq!(ids(&self.document), self.events.keys().copied().collect::<BTreeSet<_>>());
    }

    /// Adds entries that did not arrive by an exchange.
    fn take(&mut self, entries: &[DocumentEntry]) {
        let next = self.document.with_entries(entries).unwrap();
        self.store(next, entries);
    }

    fn restart(&mut self) {
        self.document = IndexDocument::load(&self.chunks).unwrap();
    }

    fn rebuild(&mut self) {
        let events: Vec<DocumentEntry> = self.events.values().cloned().collect();
        self.states.clear();
        let next = IndexDocument::rebuild(events).unwrap();
        self.store(next, &[]);
    }
}

/// Two replicas exchange; after `cut` messages the connection is lost. A side that has converged by then keeps the
/// result.
fn meeting(replicas: &mut [Replica], from: usize, to: usize, cut: usize) {
    let begin = |at: usize, with: usize, initiates| {
        let replica = &replicas[at];
        replica.document.begin_exchange(replica.states.get(&with).map(Vec::as_slice), initiates)
    };
    let (one, mut message) = begin(from, to, true);
    let (two, _) = begin(to, from, false);
    let mut sides = [(one, Vec::new(), false), (two, Vec::new(), false)];
    let mut turn = 1;
    for _ in 0..cut {
        let Some(bytes) = message.take() else { break };
        let (exchange, received, converged) = &mut sides[turn];
        let step = exchange.receive(&bytes).unwrap();
        received.extend(step.new);
        *converged = step.converged;
        message = step.reply;
        turn = 1 - turn;
    }
    for ((exchange, received, converged), (at, with)) in sides.into_iter().zip([(from, to), (to, from)]) {
        if converged {
            let (next, state) = exchange.finish(&replicas[at].document).unwrap();
            replicas[at].store(next, &received);
            replicas[at].states.insert(with, state);
        }
    }
}

fn run(seed: u64) {
    let mut dice = Dice(seed);
    let mut replicas: Vec<Replica> = (0..REPLICAS).map(|_| Replica::new()).collect();
    let mut partition = vec![0; REPLICAS];
    let mut written = BTreeSet::new();
    for _ in 0..STEPS {
        let at = dice.roll(REPLICAS);
        match dice.roll(20) {
            0..7 => {
                let count = 1 + dice.roll(3) as u64;
                let replica = &mut replicas[at];
                let new = entries(at as u8 + 1, replica.written..replica.written + count);
                replica.written += count;
                written.extend(new.iter().map(|entry| entry.id));
                replica.take(&new);
            }
            7..15 => {
                let with = dice.roll(REPLICAS);
                let cut = if dice.roll(3) == 0 { dice.roll(5) } else { usize::MAX };
                if with != at && partition[at] == partition[with] {
                    meeting(&mut replicas, at, with, cut);
                }
            }
            15 => partition = (0..REPLICAS).map(|_| dice.roll(2)).collect(),
            16 => replicas[at].restart(),
            17 => {
                // A bundle: events that arrive another way, some of them known.
                let from = dice.roll(REPLICAS);
                let bundle: Vec<DocumentEntry> = replicas[from].events.values().cloned().collect();
                replicas[at].take(&bundle[..dice.roll(bundle.len() + 1)]);
            }
            18 => {
                if dice.roll(4) == 0 {
                    replicas[at].rebuild();
                }
            }
            _ => {
                // The store failed after the document was staged, or the program was killed before the commit.
                let lost = replicas[at].document.with_entries(&entries(at as u8 + 1, [900])).unwrap();
                drop(lost);
                replicas[at].states.clear();
            }
        }
    }
    for _ in 0..2 {
        for at in 1..REPLICAS {
            meeting(&mut replicas, 0, at, usize::MAX);
        }
    }
    for replica in &mut replicas {
        assert_eq!(ids(&replica.document), written, "not all hold all");
        assert_eq!(
            replica.document.summary().heads,
            replica_heads(&replica.chunks),
            "what is stored is not what is held"
        );
    }
    let heads = replicas[0].document.summary();
    assert!(replicas.iter().all(|replica| replica.document.summary() == heads), "equal sets by different histories");
    replicas.iter_mut().for_each(Replica::rebuild);
    let chunks = &replicas[0].chunks;
    assert!(replicas.iter().all(|replica| replica.chunks == *chunks), "rebuilt documents differ");
}

fn replica_heads(chunks: &[Vec<u8>]) -> [u8; 32] {
    IndexDocument::load(chunks).unwrap().summary().heads
}

/// `ERGO_SEEDS=from..to` runs other seeds.
#[test]
fn replicas_converge_whatever_happens_between_them() {
    let range = std::env::var("ERGO_SEEDS").ok();
    let range = range.as_deref().and_then(|range| range.split_once("..")).unwrap_or(("0", "200"));
    let (from, to): (u64, u64) = (range.0.parse().unwrap(), range.1.parse().unwrap());
    for seed in from..to {
        let outcome = std::panic::catch_unwind(|| run(seed));
        assert!(outcome.is_ok(), "seed {seed} fails: ERGO_SEEDS={seed}..{}", seed + 1);
    }
}
