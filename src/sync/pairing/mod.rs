//! Pairing: how a device joins a team, by the protocol `ergo/pair/1` or by files.
//!
//! ```text
//! joiner                                    inviter
//!   │ HELLO   invite, proof, person, name  ──▶ │  proof of the ticket's secret on this connection; binds the invitation
//!   │ ◀──  WELCOME  proof, team, role, scopes  │  proof that the inviter made the ticket
//!   │ READY                                ──▶ │  both screens show the same six words; a person compares them
//!   │ ◀──────────────  ROSTER  events …        │  yes: `roster.add` is signed, and the whole roster is sent
//!   │ DONE                                 ──▶ │  the joiner has stored the roster
//! ```
//!
//! Either side may send REFUSED instead. An interrupted attempt leaves nothing behind: before the person
//! confirms, only the invitation is bound to the device; after that, the same device may come again with the
//! same ticket and gets the roster without another question.

mod invite;
mod join;
pub mod proof;
#[cfg(test)]
mod tests;
mod wire;

use std::{fmt, time::Duration};

pub use invite::{Invitation, Inviter, JoiningDevice, serve_join};
pub use join::{JoinAttempt, JoinerIdentity, request_join};
pub use wire::{MAX_ROSTER_EVENTS, Welcome};

use super::ticket::TicketError;

/// The timeout of the other side's next message, unless it waits for a person.
pub const STEP_TIMEOUT: Duration = Duration::from_secs(10);

/// The time in which a person must compare the words.
pub const CONFIRM_TIMEOUT: Duration = Duration::from_mins(5);

/// The reason why the joiner was refused. The words are part of the protocol and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PairRefusal {
    /// The invitation is unknown or the proof is wrong. The peer does not learn which.
    Unknown,
    /// The invitation has expired.
    Expired,
    /// Another device has used the invitation.
    Used,
    /// A person denied the request.
    Denied,
    /// Nobody answered in time.
    Unanswered,
    /// There were too many attempts.
    Busy,
    /// The inviting device may no longer admit devices.
    NotAdmin,
    /// The inviting side failed, through no fault of the joiner.
    Failed,
    /// A message was not understood, so the versions differ.
    Version,
}

impl PairRefusal {
    const ALL: [(Self, &'static str); 9] = [
        (Self::Unknown, "unknown"),
        (Self::Expired, "expired"),
        (Self::Used, "used"),
        (Self::Denied, "denied"),
        (Self::Unanswered, "unanswered"),
        (Self::Busy, "busy"),
        (Self::NotAdmin, "not_admin"),
        (Self::Failed, "failed"),
        (Self::Version, "version"),
    ];

    /// Returns the name used in the protocol.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(refusal, _)| *refusal == self).map_or("", |(_, word)| word)
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(refusal, _)| *refusal)
    }
}

/// Explains the refusal to the joiner, with what to do.
impl fmt::Display for PairRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the other device does not know this ticket: it was used, cancelled, or created on \
                another device; ask for a new one",
            Self::Expired => "this ticket has expired: ask for a new one",
            Self::Used => "another device has used this ticket already: if that was not yours, tell the person who invited you; ask for a new one",
            Self::Denied => "the other side denied it: ask them whether the words were the same",
            Self::Unanswered => "nobody on the other side answered in time: try again with the same ticket when \
                someone is at the other device",
            Self::Busy => "the other side is busy with other joins: try again in a minute",
            Self::NotAdmin => "the device that invited you may no longer admit devices: ask another admin of the team",
            Self::Failed => "an error occurred on the other side: its log has the details (`ergo status` there shows the file)",
            Self::Version => "the other side did not understand the message: both need the same version of ergo",
        })
    }
}

/// The reason why a pairing failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// The ticket cannot be used.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// The other side refused.
    #[error("{0}")]
    Refused(PairRefusal),
    /// The other side cannot prove that it made the ticket.
    #[error(
        "the device that answered did not make this ticket, which may be a man-in-the-middle attack: nothing was joined; ask for a new ticket over another channel"
    )]
    WrongInviter,
    /// The other side disconnected, or does not answer.
    #[error("the connection was lost ({0}): nothing was joined; try again with the same ticket")]
    ConnectionLost(String),
    /// The other side sent an invalid message.
    #[error("the other side sent an invalid message ({0}): both need the same version of ergo")]
    Protocol(String),
    /// This side failed.
    #[error("{0}")]
    Local(String),
}
