//! The steps of the measurement.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use futures_util::StreamExt;
use tokio::time::{sleep, timeout};

use super::{
    Options,
    laptop::{Laptop, scope},
    proc,
    report::{Counted, First, Idle, Met},
    team::Filled,
};
use crate::{
    store::{BenchError, Quantiles, quantiles},
    store_synth as synth,
};
use ergo::{
    api::{AddressRequest, ConflictsQuery, PeerView, RememberRequest, ScopeStatus, SyncMode, SyncStatus, WriteOutcome},
    client::Client,
    domain::{CardId, ClaimId, EventId, replica::SetDigest},
    store::Reader,
};

/// How long anything may take before the measurement gives up.
const PATIENCE: Duration = Duration::from_mins(10);

/// How often the two are looked at while they are at work: often enough for the figure, seldom enough not to be one.
const LOOK: Duration = Duration::from_millis(20);

/// Between two claims that are written one by one.
const PAUSE: Duration = Duration::from_millis(100);

/// How long after the last act two peers are at rest.
const REST: Duration = Duration::from_secs(3);

/// The two.
pub(super) struct Meeting<'a> {
    pub(super) ada: Laptop,
    pub(super) bob: Laptop,
    pub(super) team: EventId,
    options: &'a Options,
    /// Claims that were written, hence events of the scope.
    written: usize,
    /// Claims of which a daemon said that it has them.
    acknowledged: Vec<ClaimId>,
}

impl<'a> Meeting<'a> {
    pub(super) fn new(ada: Laptop, bob: Laptop, options: &'a Options) -> Self {
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
                self.in_time(begin, "both listen")?;
                sleep(LOOK).await;
            }
        }
        Ok(())
    }

    /// The second is told where the first is, and gets everything.
    pub(super) async fn first(&mut self, filled: &Filled) -> Result<First, BenchError> {
        let begin = Instant::now();
        self.tell_address().await?;
        loop {
            self.ada.look();
            self.bob.look();
            let status = self.bob.client.sync_status().await?;
            if level(&status) && shared(&status).events == self.written {
                break;
            }
            self.in_time(begin, "everything has come over")?;
            sleep(LOOK).await;
        }
        let wall_s = begin.elapsed().as_secs_f64();
        self.ada.look();
        self.bob.look();
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let both = |(daemon, workers)| (mib(daemon), mib(workers));
        let ((sender_mib, sender_worker_mib), (receiver_mib, receiver_worker_mib)) =
            (both(self.ada.peaks()), both(self.bob.peaks()));
        Ok(First {
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

    /// One claim after the other: from the write on the first until the second tells of it. From when it was asked for, and from
    /// when it was answered.
    pub(super) async fn one_by_one(&mut self) -> Result<(Quantiles, Quantiles), BenchError> {
        let mut changes = self.bob.client.changes();
        // The greeting: from here on nothing is missed.
        drop(changes.next().await);
        let (mut asked, mut answered) = (Vec::new(), Vec::new());
        for n in 0..self.options.samples {
            sleep(PAUSE).await;
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
            if !matches!(timeout(PATIENCE, seen).await, Ok(Ok(true))) {
                return Err(self.late("a new claim is visible on the other side"));
            }
            let all = begin.elapsed();
            asked.push(millis(all));
            answered.push(millis(all.saturating_sub(written)));
            self.bob.client.claim(&id.to_hex()).await?;
            self.acknowledged.push(id);
            self.written += 1;
        }
        Ok((quantiles(asked), quantiles(answered)))
    }

    /// Both write while they are parted, some of it against each other, and meet again.
    pub(super) async fn apart(&mut self) -> Result<Met, BenchError> {
        let Options { apart, contrary, .. } = *self.options;
        self.bob.client.sync_mode(SyncMode::Off).await?;
        let begin = Instant::now();
        while peer(&self.ada.client).await?.connected {
            self.in_time(begin, "the two are parted")?;
            sleep(LOOK).await;
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
        self.bob.client.sync_mode(SyncMode::Lan).await?;
        loop {
            let (ours, theirs) = (self.ada.client.sync_status().await?, self.bob.client.sync_status().await?);
            let one = level(&ours) && level(&theirs) && shared(&ours).digest == shared(&theirs).digest;
            if one && shared(&ours).events == self.written {
                break;
            }
            self.in_time(begin, "the two have met")?;
            sleep(LOOK).await;
        }
        let meet_ms = millis(begin.elapsed());
        let (ours, theirs) = (cards(&self.ada.client).await?, cards(&self.bob.client).await?);
        Ok(Met { meet_ms, cards_expected: contrary, cards: ours.len(), same_cards: ours == theirs })
    }

    /// Nothing happens: what do the two do?
    pub(super) async fn idle(&mut self) -> Result<Idle, BenchError> {
        let watched = self.options.idle;
        sleep(REST.min(watched)).await;
        let bytes = self.traffic().await?;
        sleep(Duration::from_millis(500)).await;
        let woken = |laptop: &Laptop| laptop.pids().into_iter().map(proc::wake_ups).sum::<u64>();
        let before = [woken(&self.ada), woken(&self.bob)];
        sleep(watched).await;
        let wake_ups = [woken(&self.ada).saturating_sub(before[0]), woken(&self.bob).saturating_sub(before[1])];
        let bytes = self.traffic().await?.saturating_sub(bytes);
        Ok(Idle { seconds: watched.as_secs_f64(), bytes, wake_ups })
    }

    /// Ends both daemons and looks into both stores.
    pub(super) async fn count(&mut self) -> Result<Counted, BenchError> {
        self.ada.daemon.stop().await?;
        self.bob.daemon.stop().await?;
        let (ours, problems) = self.inside(&self.ada)?;
        let (theirs, more) = self.inside(&self.bob)?;
        let missing = ours.missing.max(theirs.missing);
        Ok(Counted {
            written: self.written,
            events: [ours.events, theirs.events],
            missing,
            same: ours.digest == theirs.digest,
            problems: [problems, more].concat(),
        })
    }

    fn inside(&self, laptop: &Laptop) -> Result<(Inside, Vec<String>), BenchError> {
        let engine = laptop.engine()?;
        let inside = engine.with_reader(|reader| {
            let (events, digest) = reader.set(&self.team, &scope())?;
            let mut missing = 0;
            for id in &self.acknowledged {
                missing += usize::from(reader.event(id)?.is_none());
            }
            Ok(Inside { events, digest, missing })
        })?;
        let problems = engine.with_reader(Reader::check)?.problems;
        let problems = problems.into_iter().map(|problem| format!("{}: {problem}", laptop.who)).collect();
        Ok((inside, problems))
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

    /// Bytes that have passed between the two over their connection, both ways.
    async fn traffic(&self) -> Result<u64, BenchError> {
        // The board is written when something happens: being told what it knows already is the least that can.
        self.tell_address().await?;
        sleep(LOOK).await;
        let peer = peer(&self.bob.client).await?;
        Ok(peer.sent_bytes + peer.received_bytes)
    }

    async fn tell_address(&self) -> Result<(), BenchError> {
        let request = AddressRequest { device: self.ada.device().to_hex(), address: self.ada.address() };
        self.bob.client.sync_address(&request).await?;
        Ok(())
    }

    fn in_time(&self, begin: Instant, what: &str) -> Result<(), BenchError> {
        if begin.elapsed() > PATIENCE { Err(self.late(what)) } else { Ok(()) }
    }

    fn late(&self, what: &str) -> BenchError {
        BenchError::Late { what: what.to_owned(), log: format!("{}\n{}", self.ada.daemon.log(), self.bob.daemon.log()) }
    }
}

/// What a store holds of the scope.
struct Inside {
    events: usize,
    digest: SetDigest,
    missing: usize,
}

/// Whether it says that it has what its one peer has.
fn level(status: &SyncStatus) -> bool {
    status.teams.first().is_some_and(|team| team.in_sync)
}

/// The scope that both share.
fn shared(status: &SyncStatus) -> ScopeStatus {
    status.teams.iter().flat_map(|team| &team.scopes).next().cloned().unwrap_or_else(|| ScopeStatus {
        bound: ergo::api::BoundScope { scope: scope(), local: scope() },
        events: 0,
        digest: String::new(),
        quarantined: 0,
        open_cards: 0,
    })
}

/// The other device, as this one sees it.
async fn peer(client: &Client) -> Result<PeerView, BenchError> {
    let other = client.sync_peers().await?.items.into_iter().find(|peer| !peer.you);
    other.ok_or_else(|| BenchError::Late { what: "the team has a second device".into(), log: String::new() })
}

/// The open cards.
async fn cards(client: &Client) -> Result<BTreeSet<CardId>, BenchError> {
    let query = ConflictsQuery { limit: Some(ergo::api::MAX_PAGE), ..ConflictsQuery::default() };
    Ok(client.conflicts(&query).await?.items.into_iter().map(|card| card.id).collect())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
