//! The sessions of connected agents, kept only in memory. Each session is an HTTP response that stays open.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::bus::Bus;
use crate::api::{AgentSession, Change};

/// The maximum number of open sessions. Each occupies a stream, and agents must not take all streams of the socket.
const MAX_SESSIONS: usize = 160;

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

    /// Begins a session, which ends when the returned value is dropped. `None` if too many are open.
    pub(super) fn enter(self: &Arc<Self>, session: AgentSession) -> Option<OpenSession> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.sessions.len() >= MAX_SESSIONS {
            return None;
        }
        let n = open.next;
        open.next += 1;
        let agent = session.agent.clone();
        open.sessions.insert(n, session);
        drop(open);
        self.send_change("agent.came", &agent, "connected");
        Some(OpenSession { agents: Arc::clone(self), n })
    }

    /// Returns the open sessions, newest first.
    pub(super) fn sessions(&self) -> Vec<AgentSession> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.sessions.values().rev().cloned().collect()
    }

    /// Returns a message if no further session can be opened.
    pub(super) fn problem(&self) -> Option<String> {
        let full = self.open.lock().unwrap_or_else(PoisonError::into_inner).sessions.len() >= MAX_SESSIONS;
        full.then(|| {
            format!(
                "{MAX_SESSIONS} agent sessions are open, so `ergo agents` does not show further ones: end some of them"
            )
        })
    }

    fn leave(&self, n: u64) {
        let gone = self.open.lock().unwrap_or_else(PoisonError::into_inner).sessions.remove(&n);
        if let Some(session) = gone {
            self.send_change("agent.left", &session.agent, "disconnected");
        }
    }

    fn send_change(&self, act: &str, agent: &str, what: &str) {
        let summary = format!("{agent} {what}");
        self.bus.send(Change { act: act.into(), who: agent.into(), summary, ..Change::default() });
    }
}

/// An open session. Dropping it ends the session.
pub(super) struct OpenSession {
    agents: Arc<ConnectedAgents>,
    n: u64,
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.agents.leave(self.n);
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
        let agents = Arc::new(ConnectedAgents::new(bus));
        let first = agents.enter(session("codex"));
        let second = agents.enter(session("codex"));
        assert_eq!(agents.sessions().len(), 2, "an agent may be here twice");
        drop(first);
        assert_eq!(agents.sessions(), [session("codex")]);
        drop(second);
        assert!(agents.sessions().is_empty());
        let mut acts = Vec::new();
        while let Ok(change) = changes.try_recv() {
            acts.push(change.act);
        }
        assert_eq!(acts, ["agent.came", "agent.came", "agent.left", "agent.left"]);
    }

    #[test]
    fn a_flood_of_sessions_is_bounded() {
        let agents = Arc::new(ConnectedAgents::new(Arc::new(Bus::new())));
        let kept: Vec<_> = (0..MAX_SESSIONS).map(|_| agents.enter(session("x"))).collect();
        assert!(kept.iter().all(Option::is_some) && agents.enter(session("x")).is_none());
        assert!(agents.problem().is_some());
        drop(kept);
        assert!(agents.enter(session("x")).is_some());
    }
}
