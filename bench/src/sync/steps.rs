//! The steps of the measurement.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

use super::{
    SyncOptions,
    laptop::{Laptop, scope},
    proc,
    report::{AfterPartition, EventCounts, FirstSync, IdlePeers},
    team::FilledTeam,
};
use crate::{
    error::BenchError,
    measure::{Quantiles, mib, millis},
    store_synth as synth,
};
use ergo::{
    api::{
        AddressRequest, ConflictsQuery, ModeRequest, PeerView, RememberRequest, ScopeStatus, SyncMode, SyncStatus,
        WriteOutcome,
    },
    client::Client,
    domain::{CardId, ClaimId, EventId, replica::SetDigest},
    store::Reader,
};

/// The longest that a step may take.
const STEP_TIMEOUT: Duration = Duration::from_mins(10);

/// The time between two looks at the daemons: short enough for precise figures, and long enough to disturb little.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The time between two claims that are written one by one.
const PAUSE_BETWEEN_WRITES: Duration = Duration::from_millis(100);

/// The time after which two devices are at rest when nothing is written any more.
const SETTLING_TIME: Duration = Duration::from_secs(3);

/// The time after which the daemons are at rest when their traffic has been read.
const REST_AFTER_READ: Duration = Duration::from_millis(500);

/// The two devices.
pub(super) struct Meeting<'a> {
    pub(super) ada: Laptop,
    pub(super) bob: Laptop,
    pub(super) team: EventId,
    options: &'a SyncOptions,
    /// Acknowledged claims, which is also the number of events in the scope.
    written: usize,
    /// Claims that were acknowledged one by one.
    acknowledged: Vec<ClaimId>,
}

impl<'a> Meeting<'a> {
    pub(super) fn new(ada: Laptop, bob: Laptop, options: &'a SyncOptions) -> Self {
        Self { ada, bob, team: EventId([0; 32]), options, written: 0, acknowledged: Vec::new() }
    }

    /// Starts both daemons and waits until both listen.
    pub(super) async fn start(&mut self) -> Result<(), BenchError> {
        self.written = self.options.claims;
        self.ada.daemon.start().await?;
        self.bob.daemon.start().await?;
        for laptop in [&self.ada, &self.bob] {
            let begin = Instant::now();
            while laptop.client.sync_status().await?.mode == SyncMode::Off {
                self.check_timeout(begin, "both listen")?;
                sleep(POLL_INTERVAL).await;
            }
        }
        Ok(())
    }

    /// Tells the second device the address of the first one, and waits until it has everything.
    pub(super) async fn first_sync(&mut self, filled: &FilledTeam) -> Result<FirstSync, BenchError> {
        let begin = Instant::now();
        self.tell_address().await?;
        loop {
            self.ada.record_memory();
            self.bob.record_memory();
            let status = self.bob.client.sync_status().await?;
            if in_sync(&status) && scope_status(&status).events == self.written {
                break;
            }
            self.check_timeout(begin, "everything has come over")?;
            sleep(POLL_INTERVAL).await;
        }
        let wall_s = begin.elapsed().as_secs_f64();
        self.ada.record_memory();
        self.bob.record_memory();
        let both = |(daemon, workers)| (mib(daemon), mib(workers));
        let ((sender_mib, sender_worker_mib), (receiver_mib, receiver_worker_mib)) =
            (both(self.ada.peaks()), both(self.bob.peaks()));
        Ok(FirstSync {
            index_s: filled.index_s,
            wall_s,
            event_bytes: filled.bytes,
            deflated_bytes: filled.deflated,
            wire_bytes: self.traffic().await?,
            sender_mib,
            sender_worker_mib,
            receiver_mib,
            receiver_worker_mib,
        })
    }

    /// Writes claims one by one on the first device, and waits until the second one announces each. Returns the times
    /// since the request, and since the answer to the writer.
    pub(super) async fn one_by_one(&mut self) -> Result<(Quantiles, Quantiles), BenchError> {
        let mut changes = self.bob.client.changes();
        // The first message: no later change is missed.
        drop(changes.next().await);
        let (mut since_request, mut since_answer) = (Vec::new(), Vec::new());
        for n in 0..self.options.samples {
            sleep(PAUSE_BETWEEN_WRITES).await;
            let begin = Instant::now();
            let id = self.write(&self.ada.client, synth::statement(self.options.claims + n), &self.ada).await?;
            let written = begin.elapsed();
            let seen = async {
                while let Some(change) = changes.next().await {
                    if change?.claims.contains(&id) {
                        return Ok(true);
                    }
                }
                Ok::<_, BenchError>(false)
            };
            if !matches!(timeout(STEP_TIMEOUT, seen).await, Ok(Ok(true))) {
                return Err(self.late("a new claim is visible on the other side"));
            }
            let all = begin.elapsed();
            since_request.push(millis(all));
            since_answer.push(millis(all.saturating_sub(written)));
            self.bob.client.claim(&id.to_hex()).await?;
            self.acknowledged.push(id);
            self.written += 1;
        }
        Ok((Quantiles::of(since_request), Quantiles::of(since_answer)))
    }

    /// Lets both devices write during a partition, some of it contradictory, and waits until they are in sync again.
    pub(super) async fn apart(&mut self) -> Result<AfterPartition, BenchError> {
        let SyncOptions { apart, contrary, .. } = *self.options;
        self.bob.client.sync_mode(&ModeRequest { mode: SyncMode::Off, ..ModeRequest::default() }).await?;
        let begin = Instant::now();
        while peer(&self.ada.client).await?.connected {
            self.check_timeout(begin, "the two are parted")?;
            sleep(POLL_INTERVAL).await;
        }
        let base = self.options.claims + self.options.samples;
        for n in 0..apart {
            let [here, there] = if n < contrary {
                synth::opposed(n)
            } else {
                [synth::statement(base + n), synth::statement(base + apart + n)]
            };
            let ours = self.write(&self.ada.client, here, &self.ada).await?;
            let theirs = self.write(&self.bob.client, there, &self.bob).await?;
            self.acknowledged.extend([ours, theirs]);
        }
        self.written += 2 * apart;
        let begin = Instant::now();
        self.bob.client.sync_mode(&ModeRequest { mode: SyncMode::Lan, ..ModeRequest::default() }).await?;
        loop {
            let (ours, theirs) = (self.ada.client.sync_status().await?, self.bob.client.sync_status().await?);
            let one = in_sync(&ours) && in_sync(&theirs) && scope_status(&ours).digest == scope_status(&theirs).digest;
            if one && scope_status(&ours).events == self.written {
                break;
            }
            self.check_timeout(begin, "the two have met")?;
            sleep(POLL_INTERVAL).await;
        }
        let meet_ms = millis(begin.elapsed());
        let (ours, theirs) = (cards(&self.ada.client).await?, cards(&self.bob.client).await?);
        Ok(AfterPartition { meet_ms, cards_expected: contrary, cards: ours.len(), same_cards: ours == theirs })
    }

    /// Measures both devices while nothing is written.
    pub(super) async fn idle(&mut self) -> Result<IdlePeers, BenchError> {
        let watched = self.options.idle;
        sleep(SETTLING_TIME.min(watched)).await;
        let bytes = self.traffic().await?;
        let bytes_since = Instant::now();
        sleep(REST_AFTER_READ).await;
        let wake_ups_of = |laptop: &Laptop| laptop.pids().into_iter().map(proc::wake_ups).sum::<u64>();
        let before = [wake_ups_of(&self.ada), wake_ups_of(&self.bob)];
        let wake_ups_since = Instant::now();
        sleep(watched).await;
        let seconds = wake_ups_since.elapsed().as_secs_f64();
        let wake_ups =
            [wake_ups_of(&self.ada).saturating_sub(before[0]), wake_ups_of(&self.bob).saturating_sub(before[1])];
        let bytes = self.traffic().await?.saturating_sub(bytes);
        let bytes_seconds = bytes_since.elapsed().as_secs_f64();
        Ok(IdlePeers { seconds, wake_ups, bytes_seconds, bytes })
    }

    /// Stops both daemons and counts the events in both stores.
    pub(super) async fn count(&mut self) -> Result<EventCounts, BenchError> {
        self.ada.daemon.stop().await?;
        self.bob.daemon.stop().await?;
        let (ours, problems) = self.contents(&self.ada)?;
        let (theirs, more) = self.contents(&self.bob)?;
        let missing = ours.missing.max(theirs.missing);
        Ok(EventCounts {
            written: self.written,
            events: [ours.events, theirs.events],
            missing,
            same: ours.digest == theirs.digest,
            problems: [problems, more].concat(),
        })
    }

    fn contents(&self, laptop: &Laptop) -> Result<(ScopeContents, Vec<String>), BenchError> {
        let engine = laptop.engine()?;
        let contents = engine.with_reader(|reader| {
            let (events, digest) = reader.set(&self.team, &scope())?;
            let mut missing = 0;
            for id in &self.acknowledged {
                missing += usize::from(reader.event(id)?.is_none());
            }
            Ok(ScopeContents { events, digest, missing })
        })?;
        let problems = engine.with_reader(Reader::check)?.problems;
        let problems = problems.into_iter().map(|problem| format!("{}: {problem}", laptop.who)).collect();
        Ok((contents, problems))
    }

    async fn write(&self, client: &Client, statement: String, by: &Laptop) -> Result<ClaimId, BenchError> {
        let request = RememberRequest {
            caller: by.caller(),
            statement: statement.clone(),
            reason: Some("measured".into()),
            ..RememberRequest::default()
        };
        match client.remember(&request).await? {
            WriteOutcome::Stored(stored) => Ok(stored.claim_id),
            _ => Err(BenchError::Unexpected { statement, expected: "stored" }),
        }
    }

    /// Returns the bytes that have passed between the devices so far, both ways.
    async fn traffic(&self) -> Result<u64, BenchError> {
        // The daemon updates the figure at each event. To be told a known address is the smallest one.
        self.tell_address().await?;
        sleep(POLL_INTERVAL).await;
        let peer = peer(&self.bob.client).await?;
        Ok(peer.sent_bytes + peer.received_bytes)
    }

    async fn tell_address(&self) -> Result<(), BenchError> {
        let request = AddressRequest { device: self.ada.device().to_hex(), address: self.ada.address() };
        self.bob.client.sync_address(&request).await?;
        Ok(())
    }

    fn check_timeout(&self, begin: Instant, what: &str) -> Result<(), BenchError> {
        if begin.elapsed() > STEP_TIMEOUT { Err(self.late(what)) } else { Ok(()) }
    }

    fn late(&self, what: &str) -> BenchError {
        BenchError::Late { what: what.to_owned(), log: format!("{}\n{}", self.ada.daemon.log(), self.bob.daemon.log()) }
    }
}

/// What a store contains of the scope.
struct ScopeContents {
    events: usize,
    digest: SetDigest,
    missing: usize,
}

/// Returns whether a device reports to be in sync with its only peer.
fn in_sync(status: &SyncStatus) -> bool {
    status.teams.first().is_some_and(|team| team.in_sync)
}

/// Returns the status of the shared scope.
fn scope_status(status: &SyncStatus) -> ScopeStatus {
    status.teams.iter().flat_map(|team| &team.scopes).next().cloned().unwrap_or_else(|| ScopeStatus {
        bound: ergo::api::BoundScope { scope: scope(), local: scope() },
        events: 0,
        digest: String::new(),
        quarantined: 0,
        open_cards: 0,
    })
}

/// Returns the other device, as a client's device sees it.
async fn peer(client: &Client) -> Result<PeerView, BenchError> {
    let other = client.sync_peers().await?.items.into_iter().find(|peer| !peer.you);
    other.ok_or_else(|| BenchError::Late { what: "the team has a second device".into(), log: String::new() })
}

async fn cards(client: &Client) -> Result<BTreeSet<CardId>, BenchError> {
    let query = ConflictsQuery { limit: Some(ergo::api::MAX_PAGE), ..ConflictsQuery::default() };
    Ok(client.conflicts(&query).await?.items.into_iter().map(|card| card.id).collect())
}
