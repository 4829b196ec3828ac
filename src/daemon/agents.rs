//! The connected agents, kept in memory only: each session holds one HTTP response open while it lasts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::bus::Bus;
use crate::api::{AgentSession, Change};

/// The most sessions that are open at once. Each holds a stream, and those of the socket must not all be taken by agents.
const MOST: usize = 160;

/// The open sessions of agents.
#[derive(Debug)]
pub(super) struct ConnectedAgents {
    bus: Arc<Bus>,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    sessions: BTreeMap<u64, AgentSession>,
}

impl ConnectedAgents {
    pub(super) fn new(bus: Arc<Bus>) -> Self {
        Self { bus, open: Mutex::default() }
    }

    /// A session begins; it ends when what this returns is dropped. `None` if too many are open.
    pub(super) fn enter(self: &Arc<Self>, session: AgentSession) -> Option<OpenSession> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.sessions.len() >= MOST {
            return None;
        }
        let n = open.next;
        open.next += 1;
        let agent = session.agent.clone();
        open.sessions.insert(n, session);
        drop(open);
        self.tell("agent.came", &agent, "connected");
        Some(OpenSession { present: Arc::clone(self), n })
    }

    /// Returns the open sessions, newest first.
    pub(super) fn sessions(&self) -> Vec<AgentSession> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.sessions.values().rev().cloned().collect()
    }

    /// Says that no further session can be opened.
    pub(super) fn problem(&self) -> Option<String> {
        let full = self.open.lock().unwrap_or_else(PoisonError::into_inner).sessions.len() >= MOST;
        full.then(|| {
            format!("{MOST} agent sessions are open, so `ergo agents` does not show further ones: end some of them")
        })
    }

    fn leave(&self, n: u64) {
        let gone = self.open.lock().unwrap_or_else(PoisonError::into_inner).sessions.remove(&n);
        if let Some(session) = gone {
            self.tell("agent.left", &session.agent, "disconnected");
        }
    }

    fn tell(&self, act: &str, agent: &str, what: &str) {
        let summary = format!("{agent} {what}");
        self.bus.send(Change { act: act.into(), who: agent.into(), summary, ..Change::default() });
    }
}

/// An open session, until this is dropped.
pub(super) struct OpenSession {
    present: Arc<ConnectedAgents>,
    n: u64,
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.present.leave(self.n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(agent: &str) -> AgentSession {
        AgentSession { agent: agent.into(), scope: None, since: 1 }
    }

    #[tokio::test]
    async fn a_session_is_listed_while_it_lasts_and_its_start_and_end_are_reported() {
        let bus = Arc::new(Bus::new());
        let (_, mut changes) = bus.follow();
        let present = Arc::new(ConnectedAgents::new(bus));
        let first = present.enter(session("codex"));
        let second = present.enter(session("codex"));
        assert_eq!(present.sessions().len(), 2, "an agent may be here twice");
        drop(first);
        assert_eq!(present.sessions(), [session("codex")]);
        drop(second);
        assert!(present.sessions().is_empty());
        let mut acts = Vec::new();
        while let Ok(change) = changes.try_recv() {
            acts.push(change.act);
        }
        assert_eq!(acts, ["agent.came", "agent.came", "agent.left", "agent.left"]);
    }

    #[test]
    fn a_flood_of_sessions_is_bounded() {
        let present = Arc::new(ConnectedAgents::new(Arc::new(Bus::new())));
        let kept: Vec<_> = (0..MOST).map(|_| present.enter(session("x"))).collect();
        assert!(kept.iter().all(Option::is_some) && present.enter(session("x")).is_none());
        assert!(present.problem().is_some());
        drop(kept);
        assert!(present.enter(session("x")).is_some());
    }
}
