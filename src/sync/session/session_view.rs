//! The reports of a session: its view, and what it stored, for the other sessions.

use super::{PeerEvent, SessionProblem, message_loop::SyncSession, offer};

/// The smallest change of the clock difference that is reported, in milliseconds.
const CLOCK_CHANGE_MS: u64 = 1_000;

impl SyncSession<'_> {
    /// Updates the view from the two offers.
    pub(super) fn compare(&mut self) {
        if !self.offered {
            return;
        }
        let equal = offer::differing(&self.mine, &self.theirs).is_empty();
        let in_sync = equal && self.undocumented == 0;
        let (missing_here, missing_at_peer) =
            if equal { (0, self.undocumented) } else { offer::count_missing(&self.mine, &self.theirs) };
        let now = (self.context.engine.config().clock)();
        let solved = in_sync && self.paused.is_empty();
        self.view.send_if_modified(|view| {
            let before = (view.in_sync, view.missing_here, view.missing_at_peer);
            (view.in_sync, view.missing_here, view.missing_at_peer) = (in_sync, missing_here, missing_at_peer);
            if in_sync {
                view.last_sync = Some(now);
            }
            let was_problem = solved && view.problem.take().is_some();
            was_problem || before != (in_sync, missing_here, missing_at_peer)
        });
    }

    /// Updates how far the peer's clock is ahead. The time that messages take is not counted as a change.
    pub(super) fn compare_clocks(&self, theirs: u64) {
        let ours = (self.context.engine.config().clock)();
        let ahead = theirs.cast_signed().wrapping_sub(ours.cast_signed());
        self.view.send_if_modified(|view| {
            let changed = view.clock_skew_ms.abs_diff(ahead) >= CLOCK_CHANGE_MS;
            if changed {
                view.clock_skew_ms = ahead;
            }
            changed
        });
    }

    /// Reports a problem without ending the session.
    pub(super) fn problem(&self, message: impl Into<String>, transient: bool) {
        let problem = SessionProblem { message: message.into(), transient };
        tracing::warn!(peer = %self.peer.short(), "{}", problem.message);
        self.view.send_modify(|view| view.problem = Some(problem));
    }

    /// Notifies the other sessions of new events.
    pub(super) fn publish(&self, roster: bool, undocumented: bool) {
        self.send_event(PeerEvent { team: self.team, from: self.peer, roster, undocumented, bodies: false });
    }

    /// Notifies the other sessions of new bodies.
    pub(super) fn publish_bodies(&self) {
        self.send_event(PeerEvent {
            team: self.team,
            from: self.peer,
            roster: false,
            undocumented: false,
            bodies: true,
        });
    }

    fn send_event(&self, event: PeerEvent) {
        // A closed receiver means that the service has ended.
        drop(self.context.peer_events.send(event));
    }
}
