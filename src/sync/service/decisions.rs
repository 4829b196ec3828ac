//! The decisions of the scheduler: when a peer is dialled, which of two sessions is kept, and which peer gets a free
//! session. Pure.

use std::time::Duration;

use crate::{domain::DeviceId, sync::session::SessionSide};

/// The delay of a dial after the first failure.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// The longest delay of a dial.
const MAX_DELAY: Duration = Duration::from_mins(5);

/// How long the device with the larger id lets the other dial first, so that the two rarely dial at once. Several times
/// the duration of a dial on a local network.
const FIRST_CALL_DELAY: Duration = Duration::from_millis(300);

/// The time in which a peer that may be gone must send anything.
pub(super) const LIVENESS_TIMEOUT: Duration = Duration::from_secs(4);

/// The age from which both sides know of a session, so that a peer that dials again must have lost it. A dial and its
/// handshake take less.
const SETTLING_TIME: Duration = Duration::from_secs(15);

/// Whether a session of this age is dead because its peer dialled again. A device with a live session does not dial.
pub(super) fn is_superseded(age: Duration, restarted: bool) -> bool {
    restarted || age > SETTLING_TIME
}

/// Returns the delay after this many consecutive failures. `chance`, 0 to 1, scales it by a half to one and a half, so
/// that many laptops that lost the same network do not all return at once.
pub(super) fn backoff(failures: u32, chance: f64) -> Duration {
    let doubled = FIRST_DELAY.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1).min(16)).unwrap_or(u32::MAX));
    doubled.min(MAX_DELAY).mul_f64(0.5 + chance.clamp(0.0, 1.0))
}

/// Returns how long `me` waits before the first dial of `peer`.
pub(super) fn first_call_delay(me: DeviceId, peer: DeviceId) -> Duration {
    if me < peer { Duration::ZERO } else { FIRST_CALL_DELAY }
}

/// The age from which a waiting peer may replace a session.
const MIN_SESSION: Duration = Duration::from_mins(1);

/// Whether another session can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capacity {
    Free,
    /// In place of the session with this index.
    Replace(usize),
    /// No.
    Full,
}

/// Returns whether one more session fits beside `live`, which holds each session's age and whether it is in sync. The
/// oldest that is in sync is replaced.
pub(super) fn capacity(live: &[(Duration, bool)], most: usize) -> Capacity {
    if live.len() < most {
        return Capacity::Free;
    }
    let done = live.iter().enumerate().filter(|(_, (age, in_sync))| *in_sync && *age >= MIN_SESSION);
    done.max_by_key(|(_, (age, _))| *age).map_or(Capacity::Full, |(at, _)| Capacity::Replace(at))
}

/// Which of two sessions with a peer is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeptSession {
    /// The new session; the old one ends.
    New,
    /// The old session; the new one is rejected.
    Old,
}

/// Chooses between two sessions with one peer, so that both sides choose the same. `old` and `new` say which side of
/// each session this device is. `dead` says that the old one is known to be over ([`is_superseded`]).
pub(super) fn choose_session(
    me: DeviceId,
    peer: DeviceId,
    old: SessionSide,
    new: SessionSide,
    dead: bool,
) -> KeptSession {
    // The session that the device with the smaller id dialled.
    let preferred = if me < peer { SessionSide::Dialler } else { SessionSide::Acceptor };
    if dead || (new == preferred && old != preferred) { KeptSession::New } else { KeptSession::Old }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_five_minutes() {
        let middle = |failures| backoff(failures, 0.5).as_secs();
        assert_eq!([1, 2, 3, 4, 9, 10, 40, u32::MAX].map(middle), [1, 2, 4, 8, 256, 300, 300, 300]);
        assert!(backoff(3, 0.0) >= Duration::from_secs(2) && backoff(3, 1.0) <= Duration::from_secs(6));
    }

    #[test]
    fn at_the_limit_the_oldest_session_in_sync_is_replaced() {
        let of = |minutes: u64, in_sync| (Duration::from_mins(minutes), in_sync);
        assert_eq!(capacity(&[], 1), Capacity::Free);
        assert_eq!(capacity(&[of(9, false), of(3, true)], 3), Capacity::Free);
        assert_eq!(capacity(&[of(9, false), of(3, true), of(5, true)], 3), Capacity::Replace(2));
        assert_eq!(
            capacity(&[of(9, false), of(0, true)], 2),
            Capacity::Full,
            "one is at work, the other has just begun"
        );
    }

    #[test]
    fn a_peer_that_dials_again_has_lost_its_session() {
        assert!(is_superseded(Duration::ZERO, true), "it was started anew");
        assert!(!is_superseded(Duration::from_secs(10), false), "the two called at once");
        assert!(is_superseded(Duration::from_secs(20), false));
        assert!(
            crate::sync::endpoint::DIAL_TIMEOUT + crate::sync::session::SessionLimits::default().handshake
                <= SETTLING_TIME
        );
    }

    #[test]
    fn both_sides_keep_the_same_of_two_sessions() {
        let (a, b) = (DeviceId([1; 32]), DeviceId([2; 32]));
        // One was dialled by a, the other by b, in whichever order each side sees them.
        for dialled_first_by_a in [true, false] {
            let at = |me, peer, mine: bool| {
                let (old, new) = if mine {
                    (SessionSide::Dialler, SessionSide::Acceptor)
                } else {
                    (SessionSide::Acceptor, SessionSide::Dialler)
                };
                let kept = if choose_session(me, peer, old, new, false) == KeptSession::Old { old } else { new };
                // Which device dialled the session that is kept.
                if kept == SessionSide::Dialler { me } else { peer }
            };
            assert_eq!(at(a, b, dialled_first_by_a), a);
            assert_eq!(at(b, a, !dialled_first_by_a), a);
        }
        assert_eq!(
            choose_session(a, b, SessionSide::Dialler, SessionSide::Acceptor, true),
            KeptSession::New,
            "a restarted peer's old session is dead"
        );
        assert_eq!(
            choose_session(a, b, SessionSide::Acceptor, SessionSide::Acceptor, false),
            KeptSession::Old,
            "a second one is one too many"
        );
        assert!(first_call_delay(a, b) < first_call_delay(b, a));
    }
}
