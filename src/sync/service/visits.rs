//! Sessions come and go.

use std::{collections::HashSet, time::Duration};

use iroh::endpoint::Connection;
use tokio::{
    sync::{mpsc, watch},
    time::{Instant, timeout},
};

use super::{
    conductor::{COMPARE, Conductor, RELAY},
    peers::{Key, Live},
    schedule::{self, Choice},
    status::Trouble,
    tasks,
};
use crate::{
    domain::{DeviceId, EventId},
    sync::{
        endpoint::{self, Mode, is_local},
        frame::Code,
        session::{Command, Ended, Greeted, News, Side, View},
    },
};

/// After this long a peer is written down again as in step, in milliseconds.
const IN_STEP: u64 = 60_000;

/// How long one whose session is refused may take to read that.
const FAREWELL: Duration = Duration::from_millis(500);

/// The wait after a goodbye counts as that after so many failures: who ends in order calls when it is back.
const GOODBYE: u32 = 4;

impl Conductor {
    pub(super) async fn greeted(&mut self, greeted: Greeted, connection: Connection) {
        let key = (greeted.team, greeted.peer);
        let lan = self.transport.as_ref().is_some_and(|transport| transport.mode() == Mode::Lan);
        let Some(peer) = self.peers.get_mut(&key) else {
            return drop(tokio::spawn(greeted.refuse(Code::RosterStale, "this device does not know yours yet")));
        };
        if greeted.side == Side::Dialler {
            peer.dialling = false;
        }
        let is_new = peer.live.is_none() && greeted.side == Side::Acceptor;
        if is_new && !self.make_room() {
            return drop(tokio::spawn(async move {
                greeted
                    .refuse(Code::Busy, "this device speaks with as many peers as it may; it is tried again by itself")
                    .await;
                drop(timeout(FAREWELL, connection.closed()).await);
            }));
        }
        let Some(peer) = self.peers.get_mut(&key) else { return };
        if let Some(old) = &peer.live {
            let dead = schedule::is_dead(old.since.elapsed(), old.instance != greeted.instance());
            if schedule::choose(self.me, greeted.peer, old.side, greeted.side, dead) == Choice::Old {
                return drop(tokio::spawn(async move {
                    greeted.refuse(Code::Busy, "the two are connected already").await;
                    drop(timeout(FAREWELL, connection.closed()).await);
                }));
            }
            peer.send(Command::Stop);
        }
        self.sessions += 1;
        let id = self.sessions;
        let (commands, heard) = mpsc::unbounded_channel();
        let (view, seen) = watch::channel(View::default());
        peer.live = Some(Live {
            id,
            side: greeted.side,
            instance: greeted.instance(),
            commands,
            view: seen,
            connection: connection.weak_handle(),
            since: Instant::now(),
            doubt: None,
            compare: Instant::now() + COMPARE.mul_f64(0.8 + 0.4 * tasks::chance()),
        });
        peer.due = None;
        peer.trouble = None;
        peer.last_seen = Some((self.context.engine.config().clock)());
        peer.via = endpoint::route(&connection).map(|route| route.path);
        let reached = endpoint::remote_addresses(&connection).into_iter().filter(|at| !lan || is_local(at.ip()));
        peer.learn(reached);
        if peer.rounds.0 > peer.rounds.1 {
            peer.send(Command::Round(peer.rounds.0));
        }
        let events = self.shared.events.clone();
        tokio::spawn(tasks::attend(self.context.clone(), greeted, connection, id, heard, view, events));
        self.remember(key).await;
        self.observer.peer(key.0, key.1);
    }

    pub(super) fn not_greeted(&mut self, device: DeviceId, team: Option<EventId>, ended: &Ended) {
        // A caller that came to nothing calls again itself.
        let Some(peer) = team.and_then(|team| self.peers.get_mut(&(team, device))) else { return };
        peer.dialling = false;
        if peer.live.is_none() {
            let lost = || Ended::Interrupted("the greeting was broken off".to_owned());
            let trouble = Trouble::of_end(ended).or_else(|| Trouble::of_end(&lost()));
            if let Some(trouble) = trouble {
                peer.fail(trouble, tasks::chance());
            }
        }
    }

    pub(super) async fn seen(&mut self, key: Key) {
        let Some(peer) = self.peers.get_mut(&key) else { return };
        let Some(view) = peer.live.as_ref().map(|live| live.view.borrow().clone()) else { return };
        if view.equal || view.received > 0 {
            // It works: the next failure is the first.
            peer.failures = 0;
        }
        if view.equal {
            self.full = None;
        }
        let caught_up =
            view.equal && peer.last_sync.is_none_or(|last| view.last_sync.is_some_and(|now| now > last + IN_STEP));
        peer.lacks = (view.we_lack, view.they_lack);
        if caught_up {
            peer.last_sync = view.last_sync;
            self.remember(key).await;
        }
        self.observer.peer(key.0, key.1);
    }

    pub(super) async fn ended(&mut self, key: Key, id: u64, ended: Ended) {
        tracing::debug!(peer = %key.1.short(), ?ended, "a session is over");
        let now = (self.context.engine.config().clock)();
        let Some(peer) = self.peers.get_mut(&key) else { return };
        let Some(live) = peer.live.take_if(|live| live.id == id) else { return };
        let view = live.view.borrow().clone();
        peer.last_sync = view.last_sync.max(peer.last_sync);
        peer.last_seen = Some(now);
        peer.lacks = (view.we_lack, view.they_lack);
        peer.received += view.received;
        peer.rounds.1 = view.round.max(peer.rounds.1);
        if let Ended::Refused(Code::CannotStore, words) = &ended {
            self.full = Some(format!(
                "what peers send cannot be stored: {words}; make room there, or mend what keeps ergo from writing: it goes on by itself"
            ));
        }
        match Trouble::of_end(&ended) {
            Some(trouble) => peer.fail(trouble, tasks::chance()),
            // It said goodbye: it calls when it is back, and is called now and then.
            None => peer.due = Some(Instant::now() + schedule::backoff(GOODBYE, tasks::chance())),
        }
        self.remember(key).await;
        self.observer.peer(key.0, key.1);
        if matches!(ended, Ended::Refused(Code::NotPaired, _) | Ended::RefusedByPeer(Code::NotPaired, _)) {
            self.refresh().await;
        }
    }

    pub(super) async fn news(&mut self, News { team, from, roster, undocumented, bodies }: News) {
        self.stirred();
        self.full = None;
        if bodies {
            for ((of, device), peer) in &self.peers {
                if *of == team && *device != from {
                    peer.send(Command::Offer);
                }
            }
            return;
        }
        if undocumented {
            self.shared.dirty.notify_one();
        }
        if roster {
            self.refresh().await;
            for ((of, device), peer) in &self.peers {
                if *of == team && *device != from {
                    peer.send(Command::Roster);
                }
            }
            self.observer.roster(team);
            return;
        }
        let others =
            self.peers.iter().filter(|((of, device), peer)| *of == team && *device != from && peer.live.is_some());
        if others.count() > 0 {
            let at = Instant::now() + RELAY;
            self.relay.entry(team).or_insert_with(|| (at, HashSet::new())).1.insert(from);
        }
    }
}
