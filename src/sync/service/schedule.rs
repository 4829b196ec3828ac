//! When a peer is called, and which of two sessions with it goes on. Pure.

use std::time::Duration;

use crate::{domain::DeviceId, sync::session::Side};

/// The wait after the first failure.
const FIRST: Duration = Duration::from_secs(1);

/// The longest wait.
const LONGEST: Duration = Duration::from_mins(5);

/// How long the device with the larger id lets the other call first, so that the two seldom call at once: several times what a call takes on
/// a local network.
const COURTESY: Duration = Duration::from_millis(300);

/// How long a peer that may be gone has to give a sign of life.
pub(super) const ANSWER: Duration = Duration::from_secs(4);

/// After this long both sides of a session have known of it: whoever calls anew has lost it. A call and its greeting take no longer.
const KNOWN: Duration = Duration::from_secs(15);

/// Whether a session that is so old is dead, since its peer has called anew: who has a session does not call.
pub(super) fn is_dead(age: Duration, restarted: bool) -> bool {
    restarted || age > KNOWN
}

/// How long to wait after so many failures in a row. `chance` is 0 to 1: half as long to half as long again, so that many laptops that
/// lost the same network do not all come back at once.
pub(super) fn backoff(failures: u32, chance: f64) -> Duration {
    let doubled = FIRST.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1).min(16)).unwrap_or(u32::MAX));
    doubled.min(LONGEST).mul_f64(0.5 + chance.clamp(0.0, 1.0))
}

/// How long `me` waits before the first call to `peer`.
pub(super) fn courtesy(me: DeviceId, peer: DeviceId) -> Duration {
    if me < peer { Duration::ZERO } else { COURTESY }
}

/// How long a session goes on at least, before one that waits takes its turn.
const TURN: Duration = Duration::from_mins(1);

/// Whether there is room for another session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// There is.
    Free,
    /// In place of this one.
    Instead(usize),
    /// Not now.
    None,
}

/// Room for one more than `live`, each with its age and whether it is in step: the oldest that has nothing left to do gives way.
pub(super) fn room(live: &[(Duration, bool)], most: usize) -> Room {
    if live.len() < most {
        return Room::Free;
    }
    let done = live.iter().enumerate().filter(|(_, (age, in_step))| *in_step && *age >= TURN);
    done.max_by_key(|(_, (age, _))| *age).map_or(Room::None, |(at, _)| Room::Instead(at))
}

/// What becomes of a new session where there is one already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The new one goes on, the old one ends.
    New,
    /// The old one goes on.
    Old,
}

/// Chooses between two sessions with one peer, the same on both sides. `old` and `new` say which side of each we are;
/// `dead`: that the old one is over is known ([`is_dead`]).
pub(super) fn choose(me: DeviceId, peer: DeviceId, old: Side, new: Side, dead: bool) -> Choice {
    // The session that the device with the smaller id dialled.
    let preferred = if me < peer { Side::Dialler } else { Side::Acceptor };
    if dead || (new == preferred && old != preferred) { Choice::New } else { Choice::Old }
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
    fn where_all_sessions_are_taken_the_oldest_that_is_done_gives_way() {
        let of = |minutes: u64, in_step| (Duration::from_mins(minutes), in_step);
        assert_eq!(room(&[], 1), Room::Free);
        assert_eq!(room(&[of(9, false), of(3, true)], 3), Room::Free);
        assert_eq!(room(&[of(9, false), of(3, true), of(5, true)], 3), Room::Instead(2));
        assert_eq!(room(&[of(9, false), of(0, true)], 2), Room::None, "one is at work, the other has just begun");
    }

    #[test]
    fn who_calls_anew_has_lost_a_session_that_both_had() {
        assert!(is_dead(Duration::ZERO, true), "it was started anew");
        assert!(!is_dead(Duration::from_secs(10), false), "the two called at once");
        assert!(is_dead(Duration::from_secs(20), false));
        assert!(crate::sync::endpoint::DIAL + crate::sync::session::Limits::default().handshake <= KNOWN);
    }

    #[test]
    fn both_sides_keep_the_same_of_two_sessions() {
        let (a, b) = (DeviceId([1; 32]), DeviceId([2; 32]));
        // One was dialled by a, the other by b, in whichever order each side sees them.
        for dialled_first_by_a in [true, false] {
            let at = |me, peer, mine: bool| {
                let (old, new) = if mine { (Side::Dialler, Side::Acceptor) } else { (Side::Acceptor, Side::Dialler) };
                let kept = if choose(me, peer, old, new, false) == Choice::Old { old } else { new };
                // Which device dialled what is kept.
                if kept == Side::Dialler { me } else { peer }
            };
            assert_eq!(at(a, b, dialled_first_by_a), a);
            assert_eq!(at(b, a, !dialled_first_by_a), a);
        }
        assert_eq!(
            choose(a, b, Side::Dialler, Side::Acceptor, true),
            Choice::New,
            "a restarted peer's old session is dead"
        );
        assert_eq!(choose(a, b, Side::Acceptor, Side::Acceptor, false), Choice::Old, "a second one is one too many");
        assert!(courtesy(a, b) < courtesy(b, a));
    }
}
