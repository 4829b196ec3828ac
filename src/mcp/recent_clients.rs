//! The clients that sent a request lately and hold no session: over HTTP each request stands alone.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// How long a client counts as connected after its last request: an agent at work asks more often.
pub(super) const KEPT: Duration = Duration::from_mins(5);

/// The most clients that are kept at once. Their names are their own word.
const MOST: usize = 64;

/// The time of the last request of each client, by the name that it gives itself.
#[derive(Debug, Default)]
pub(super) struct RecentClients {
    last: Mutex<HashMap<String, Instant>>,
}

impl RecentClients {
    /// Notes a request. Returns whether the client is new: then it is to be listed, until [`RecentClients::left`] says that it is quiet.
    pub(super) fn note(&self, agent: &str, now: Instant) -> bool {
        let mut last = self.lock();
        if let Some(at) = last.get_mut(agent) {
            *at = now;
            return false;
        }
        let room = last.len() < MOST;
        if room {
            last.insert(agent.to_owned(), now);
        }
        room
    }

    /// How long a client counts as connected if it says nothing more; `None` if it was quiet for so long, and then it is forgotten.
    pub(super) fn left(&self, agent: &str, now: Instant) -> Option<Duration> {
        let mut last = self.lock();
        let left = KEPT.saturating_sub(now.saturating_duration_since(*last.get(agent)?));
        if left.is_zero() {
            last.remove(agent);
            return None;
        }
        Some(left)
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
        assert!(recent.note("web", start), "it is new");
        assert!(!recent.note("web", after(200)), "and known from then on");
        assert_eq!(recent.left("web", after(300)), Some(Duration::from_secs(200)), "counted from its last request");
        assert_eq!(recent.left("web", after(500)), None);
        assert_eq!(recent.left("web", after(500)), None, "it is forgotten");
        assert!(recent.note("web", after(600)), "and new again");
    }

    #[test]
    fn a_flood_of_names_is_bounded() {
        let (recent, now) = (RecentClients::default(), Instant::now());
        let kept = (0..1_000).filter(|n| recent.note(&format!("client {n}"), now)).count();
        assert_eq!(kept, MOST);
        assert_eq!(recent.left("client 999", now), None);
    }
}
