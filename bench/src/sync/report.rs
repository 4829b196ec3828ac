//! The figures and their targets.

use std::fmt;

use serde::Serialize;

use crate::{bar::Bar, store::Quantiles};

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Claims that came over at first.
    pub claims: usize,
    /// Everything, for the first time.
    pub first: First,
    /// One claim from the write until it is visible on the other side, in milliseconds.
    pub one_ms: Quantiles,
    /// The part of that after the writer had its answer.
    pub one_after_ms: Quantiles,
    /// Two who were parted.
    pub met: Met,
    /// Two who have nothing to say.
    pub idle: Idle,
    /// What both stores hold in the end.
    pub counted: Counted,
    /// What a revocation cost after that.
    pub withdrawn: Withdrawn,
    /// The bars, each beside its figure.
    pub bars: Vec<Bar>,
}

/// The first sync.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct First {
    /// Seconds that the sender took before to put its events into the replication index.
    pub index_s: f64,
    /// Seconds from the call until the receiver says that it has everything.
    pub wall_s: f64,
    /// Bytes of the events: headers, signatures, bodies.
    pub event_bytes: u64,
    /// The same, deflated as one stream (zlib's level 6).
    pub deflated_bytes: u64,
    /// What passed over the connection, both ways, UDP's and IP's own headers not counted.
    pub wire_bytes: u64,
    /// The most memory of the sender's daemon, in MiB.
    pub sender_mib: f64,
    /// The most memory of its workers.
    pub sender_worker_mib: f64,
    /// The most memory of the receiver's daemon.
    pub receiver_mib: f64,
    /// The most memory of its workers.
    pub receiver_worker_mib: f64,
}

/// Two who wrote apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Met {
    /// Milliseconds from the end of the partition until both say that they have the same, and have.
    pub meet_ms: f64,
    /// Contradictions that were written.
    pub cards_expected: usize,
    /// Open cards after that.
    pub cards: usize,
    /// Whether they are the same on both sides, by their ids.
    pub same_cards: bool,
}

/// Two connected peers with nothing to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Idle {
    /// How long they were watched.
    pub seconds: f64,
    /// Bytes that passed, both ways.
    pub bytes: u64,
    /// How often threads were woken, on each side: the daemon's and its workers'.
    pub wake_ups: [u64; 2],
}

/// What the stores hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counted {
    /// Events of the shared scope that were acknowledged.
    pub written: usize,
    /// Events of it that each side holds.
    pub events: [usize; 2],
    /// Claims that were acknowledged one by one and that a side does not have.
    pub missing: usize,
    /// Whether the two sets are the same.
    pub same: bool,
    /// What a check of each file found.
    pub problems: Vec<String>,
}

/// Events that had been taken and that a revocation cut off.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Withdrawn {
    /// How many.
    pub events: usize,
    /// Seconds until it was stored, during which nobody else writes.
    pub seconds: f64,
}

impl Counted {
    /// Nothing was lost, nothing is there twice, and both files are sound.
    pub fn whole(&self) -> bool {
        self.events == [self.written; 2] && self.missing == 0 && self.same && self.problems.is_empty()
    }
}

/// Seconds for a first sync of so many claims: 1.5 s for 10,000, and in proportion beyond.
fn first_sync(claims: usize) -> f64 {
    1.5 * (claims as f64 / 10_000.0).max(1.0)
}

impl Report {
    /// With the bars.
    pub(super) fn judged(mut self) -> Self {
        let first = &self.first;
        let ratio = first.wire_bytes as f64 / first.deflated_bytes.max(1) as f64;
        let a_second = |count: u64| count as f64 / self.idle.seconds.max(1.0);
        self.bars = vec![
            Bar::new("first sync", first.wall_s, first_sync(self.claims), "s"),
            Bar::new("memory, sender and its worker", first.sender_mib + first.sender_worker_mib, 400.0, "MiB"),
            Bar::new("memory, receiver and its worker", first.receiver_mib + first.receiver_worker_mib, 400.0, "MiB"),
            Bar::new("bytes on the wire by deflated events", ratio, 1.2, "×"),
            Bar::new("one claim, written until visible, p95", self.one_ms.p95, 60.0, "ms"),
            Bar::new("after a partition, until both are one", self.met.meet_ms, 1_000.0, "ms"),
            // Both send a packet of some 50 bytes every 5 s, and acknowledge the other's.
            Bar::new("idle, bytes a second", a_second(self.idle.bytes), 100.0, "B/s"),
            Bar::new(
                "idle, wake-ups a second and side",
                a_second(self.idle.wake_ups.into_iter().max().unwrap_or(0)),
                5.0,
                "/s",
            ),
        ];
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Bar::heading(&format!("{} claims", self.claims)))?;
        self.bars.iter().try_for_each(|bar| writeln!(f, "{bar}"))?;
        let Self { first, one_ms, one_after_ms, met, idle, counted, withdrawn, .. } = self;
        writeln!(
            f,
            "Index made in {:.2} s. Events {} KiB, deflated {} KiB, on the wire {} KiB.",
            first.index_s,
            first.event_bytes / 1024,
            first.deflated_bytes / 1024,
            first.wire_bytes / 1024
        )?;
        writeln!(
            f,
            "Memory: sender {:.0} MiB and its worker {:.0}, receiver {:.0} and its worker {:.0}.",
            first.sender_mib, first.sender_worker_mib, first.receiver_mib, first.receiver_worker_mib
        )?;
        writeln!(
            f,
            "One claim: p50 {:.1} ms, p95 {:.1}, max {:.1}; after the writer's answer p50 {:.1}, p95 {:.1}.",
            one_ms.p50, one_ms.p95, one_ms.max, one_after_ms.p50, one_after_ms.p95
        )?;
        let same = if met.same_cards { "the same on both sides" } else { "NOT the same on both sides" };
        writeln!(f, "Cards after the partition: {} of {}, {same}.", met.cards, met.cards_expected)?;
        writeln!(
            f,
            "Idle for {:.0} s: {} bytes both ways, {} and {} wake-ups.",
            idle.seconds, idle.bytes, idle.wake_ups[0], idle.wake_ups[1]
        )?;
        let [ours, theirs] = counted.events;
        let whole = if counted.whole() { "nothing lost, nothing twice" } else { "NOT WHOLE" };
        writeln!(
            f,
            "Counted: {} written, {ours} and {theirs} there, {} missing: {whole}.",
            counted.written, counted.missing
        )?;
        writeln!(
            f,
            "Taken back by a revocation: {} events in {:.2} s, {:.2} s for 10,000.",
            withdrawn.events,
            withdrawn.seconds,
            withdrawn.seconds / withdrawn.events.max(1) as f64 * 10_000.0
        )?;
        counted.problems.iter().try_for_each(|problem| writeln!(f, "  {problem}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let times = Quantiles { p50: 10.0, p95: 20.0, max: 30.0 };
        Report {
            claims: 20_000,
            first: First {
                index_s: 1.0,
                wall_s: 3.1,
                event_bytes: 4_096,
                deflated_bytes: 2_000,
                wire_bytes: 2_200,
                sender_mib: 100.0,
                sender_worker_mib: 50.0,
                receiver_mib: 390.0,
                receiver_worker_mib: 20.0,
            },
            one_ms: times,
            one_after_ms: times,
            met: Met { meet_ms: 500.0, cards_expected: 10, cards: 10, same_cards: true },
            idle: Idle { seconds: 20.0, bytes: 800, wake_ups: [40, 60] },
            withdrawn: Withdrawn { events: 5_000, seconds: 0.5 },
            counted: Counted { written: 7, events: [7, 7], missing: 0, same: true, problems: vec![] },
            bars: vec![],
        }
        .judged()
    }

    #[test]
    fn each_bar_stands_beside_its_figure_and_a_missed_one_says_so() {
        let text = report().to_string();
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        assert!(line("first sync").contains("3.10       3.00 s  missed"), "{text}");
        assert!(line("memory, receiver").contains("410.00     400.00 MiB  missed"), "{text}");
        assert!(line("bytes on the wire").ends_with("1.10       1.20 ×"), "{text}");
        assert_eq!(text.matches("missed").count(), 2, "{text}");
        assert!(text.contains("nothing lost, nothing twice"), "{text}");
        assert!(text.contains("5000 events in 0.50 s, 1.00 s for 10,000"), "{text}");
    }

    #[test]
    fn what_is_lost_or_twice_is_reported() {
        for events in [[6, 7], [7, 8]] {
            let mut report = report();
            report.counted.events = events;
            assert!(!report.counted.whole() && report.to_string().contains("NOT WHOLE"));
        }
    }
}
