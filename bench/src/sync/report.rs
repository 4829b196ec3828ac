//! The figures and their targets.

use std::fmt;

use serde::Serialize;

use crate::{bar::Bar, measure::Quantiles};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SyncReport {
    /// Claims of the first sync.
    pub claims: usize,
    pub first: FirstSync,
    /// The time from a write until the claim is visible on the other device, in milliseconds.
    pub one_ms: Quantiles,
    /// The part of `one_ms` after the writer got the answer.
    pub one_after_ms: Quantiles,
    pub met: AfterPartition,
    pub idle: IdlePeers,
    /// What both stores contain in the end.
    pub counted: EventCounts,
    pub withdrawn: RevocationCost,
    pub bars: Vec<Bar>,
}

/// The first sync.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FirstSync {
    /// Seconds that the sender took to put its events into the replication index, before the sync.
    pub index_s: f64,
    /// Seconds from the dial until the receiver reports that it has everything.
    pub wall_s: f64,
    /// Bytes of the events: headers, signatures, bodies.
    pub event_bytes: u64,
    /// Bytes of the events, deflated as one stream (zlib's level 6).
    pub deflated_bytes: u64,
    /// Bytes over the connection, both ways, without the headers of UDP and IP.
    pub wire_bytes: u64,
    /// Peak memory of the sender's daemon, in MiB.
    pub sender_mib: f64,
    /// Peak memory of the sender's workers, in MiB.
    pub sender_worker_mib: f64,
    /// Peak memory of the receiver's daemon, in MiB.
    pub receiver_mib: f64,
    /// Peak memory of the receiver's workers, in MiB.
    pub receiver_worker_mib: f64,
}

/// Two devices that are connected again after both wrote during a partition.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AfterPartition {
    /// Milliseconds from the end of the partition until both report to be in sync, and are.
    pub meet_ms: f64,
    /// Contradictions that were written.
    pub cards_expected: usize,
    /// Open cards after the sync.
    pub cards: usize,
    /// Whether both devices have the same cards, by id.
    pub same_cards: bool,
}

/// Two connected devices with nothing to sync.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IdlePeers {
    /// The time in which `wake_ups` were counted.
    pub seconds: f64,
    /// Wake-ups of threads on each device, in the daemon and its workers.
    pub wake_ups: [u64; 2],
    /// The time in which `bytes` passed. It is longer than `seconds`: reading the traffic wakes the daemons.
    pub bytes_seconds: f64,
    /// Bytes that passed, both ways.
    pub bytes: u64,
}

/// What the stores contain in the end.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventCounts {
    /// Acknowledged events of the shared scope.
    pub written: usize,
    /// Events of the shared scope in each store.
    pub events: [usize; 2],
    /// Claims that were acknowledged one by one and are missing from a store.
    pub missing: usize,
    /// Whether both stores contain the same events.
    pub same: bool,
    /// The problems that a check of each file found.
    pub problems: Vec<String>,
}

/// The cost of a revocation that withdraws accepted events.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RevocationCost {
    /// Withdrawn events.
    pub events: usize,
    /// Seconds until the revocation was stored. Other writes wait for so long.
    pub seconds: f64,
}

impl EventCounts {
    /// Returns whether nothing is lost or stored twice, and both files are sound.
    pub fn is_consistent(&self) -> bool {
        self.events == [self.written; 2] && self.missing == 0 && self.same && self.problems.is_empty()
    }
}

/// Returns the target of a first sync in seconds: 1.5 s up to 10,000 claims, and in proportion beyond.
fn first_sync_target(claims: usize) -> f64 {
    1.5 * (claims as f64 / 10_000.0).max(1.0)
}

impl SyncReport {
    /// Adds the bars.
    pub(super) fn with_bars(mut self) -> Self {
        let first = &self.first;
        let ratio = first.wire_bytes as f64 / first.deflated_bytes.max(1) as f64;
        let per_second = |count: u64, seconds: f64| count as f64 / seconds.max(f64::EPSILON);
        let IdlePeers { seconds, wake_ups, bytes_seconds, bytes } = self.idle;
        self.bars = vec![
            Bar::new("first sync", first.wall_s, first_sync_target(self.claims), "s"),
            Bar::new("memory, sender and its worker", first.sender_mib + first.sender_worker_mib, 400.0, "MiB"),
            Bar::new("memory, receiver and its worker", first.receiver_mib + first.receiver_worker_mib, 400.0, "MiB"),
            Bar::new("bytes on the wire by deflated events", ratio, 1.2, "×"),
            Bar::new("one claim, written until visible, p95", self.one_ms.p95, 60.0, "ms"),
            Bar::new("after a partition, until both are one", self.met.meet_ms, 1_000.0, "ms"),
            // Each device sends a packet of some 50 bytes every 5 s, and acknowledges those of the other one.
            Bar::new("idle, bytes a second", per_second(bytes, bytes_seconds), 100.0, "B/s"),
            Bar::new(
                "idle, wake-ups a second and side",
                per_second(wake_ups.into_iter().max().unwrap_or(0), seconds),
                5.0,
                "/s",
            ),
        ];
        self
    }
}

impl fmt::Display for SyncReport {
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
            "Idle: {} bytes both ways in {:.1} s, {} and {} wake-ups in {:.1} s.",
            idle.bytes, idle.bytes_seconds, idle.wake_ups[0], idle.wake_ups[1], idle.seconds
        )?;
        let [ours, theirs] = counted.events;
        let whole = if counted.is_consistent() { "nothing lost, nothing twice" } else { "NOT WHOLE" };
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

    fn report() -> SyncReport {
        let times = Quantiles { p50: 10.0, p95: 20.0, max: 30.0 };
        SyncReport {
            claims: 20_000,
            first: FirstSync {
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
            met: AfterPartition { meet_ms: 500.0, cards_expected: 10, cards: 10, same_cards: true },
            idle: IdlePeers { seconds: 20.0, wake_ups: [40, 60], bytes_seconds: 25.0, bytes: 800 },
            withdrawn: RevocationCost { events: 5_000, seconds: 0.5 },
            counted: EventCounts { written: 7, events: [7, 7], missing: 0, same: true, problems: vec![] },
            bars: vec![],
        }
        .with_bars()
    }

    #[test]
    fn each_bar_stands_beside_its_figure_and_a_missed_one_says_so() {
        let text = report().to_string();
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        assert!(line("first sync").contains("3.10       3.00 s  missed"), "{text}");
        assert!(line("memory, receiver").contains("410.00     400.00 MiB  missed"), "{text}");
        assert!(line("bytes on the wire").ends_with("1.10       1.20 ×"), "{text}");
        assert!(line("idle, bytes a second").ends_with("32.00     100.00 B/s"), "{text}");
        assert!(line("idle, wake-ups").ends_with("3.00       5.00 /s"), "{text}");
        assert_eq!(text.matches("missed").count(), 2, "{text}");
        assert!(text.contains("nothing lost, nothing twice"), "{text}");
        assert!(text.contains("5000 events in 0.50 s, 1.00 s for 10,000"), "{text}");
    }

    #[test]
    fn what_is_lost_or_twice_is_reported() {
        for events in [[6, 7], [7, 8]] {
            let mut report = report();
            report.counted.events = events;
            assert!(!report.counted.is_consistent() && report.to_string().contains("NOT WHOLE"));
        }
    }
}
