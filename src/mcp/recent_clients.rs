//! The clients over HTTP that sent a request recently. They have no sessions, since each of their requests is
//! independent.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long a client counts as connected after its last request. A working agent sends requests more often.
pub(super) const CONNECTED_FOR: Duration = Duration::from_mins(5);

/// The maximum number of clients. It is needed because clients can give themselves any name.
const MAX_CLIENTS: usize = 64;

/// The time of the last request of each client, by the name that the client gives itself.
#[derive(Debug, Default)]
pub(super) struct RecentClients {
    last: Mutex<HashMap<String, Instant>>,
}

impl RecentClients {
    /// Records a request. Returns true if the client is new; then the caller lists it until
    /// [`RecentClients::remaining`] returns `None`.
    pub(super) fn record(&self, agent: &str, now: Instant) -> bool {
        let mut last = self.lock();
        if let Some(at) = last.get_mut(agent) {
            *at = now;
            return false;
        }
        let room = last.len() < MAX_CLIENTS;
        if room {
            last.insert(agent.to_owned(), now);
        }
        room
    }

    /// Returns how long a client counts as connected if it sends no further request. Removes the client and returns
    /// `None` if this time is over.
    pub(super) fn remaining(&self, agent: &str, now: Instant) -> Option<Duration> {
        let mut last = self.lock();
        let remaining = CONNECTED_FOR.saturating_sub(now.saturating_duration_since(*last.get(agent)?));
        if remaining.is_zero() {
            last.remove(agent);
            return None;
        }
        Some(remaining)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_counts_until_it_was_quiet_for_long_enough() {
        let (recent, start) = (RecentClients::default(), Instant::now());
        let after = |secs| start + Duration::from_secs(secs);
        assert!(recent.record("web", start), "it is new");
        assert!(!recent.record("web", after(200)), "and known from then on");
        assert_eq!(
            recent.remaining("web", after(300)),
            Some(Duration::from_secs(200)),
            "counted from its last request"
        );
        assert_eq!(recent.remaining("web", after(500)), None);
        assert_eq!(recent.remaining("web", after(500)), None, "it is forgotten");
        assert!(recent.record("web", after(600)), "and new again");
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let (recent, now) = (RecentClients::default(), Instant::now());
        let kept = (0..1_000).filter(|n| recent.record(&format!("client {n}"), now)).count();
        assert_eq!(kept, MAX_CLIENTS);
        assert_eq!(recent.remaining("client 999", now), None);
    }
}
