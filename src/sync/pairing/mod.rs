//! How a device comes into a team: the protocol `ergo/pair/1`, and the same by files where there is no network.
//!
//! ```text
//! joiner                                    inviter
//!   │ HELLO   invite, proof, person, name  ──▶ │  the ticket's secret, bound to this very connection; the invite is now this device's
//!   │ ◀──  WELCOME  proof, team, role, scopes  │  the inviter has the invite, and so is who the ticket says
//!   │ READY                                ──▶ │  both screens show the same six words; a person of the inviter's side compares them
//!   │ ◀──────────────  ROSTER  events …        │  yes: `roster.add` is signed, and the whole roster sent
//!   │ DONE                                 ──▶ │  the joiner is in the team on its own disk, too
//! ```
//!
//! Either side may send REFUSED in place of its turn. A connection that is cut leaves nothing behind: before the person's yes nothing has
//! happened but that the invite is bound to one device, and after it the same device may come again with the same ticket, and gets
//! the roster without anyone being asked twice.

mod invite;
mod join;
pub mod proof;
#[cfg(test)]
mod tests;
mod wire;

use std::{fmt, time::Duration};

pub use invite::{Door, Guest, Invitation, receive};
pub use join::{Me, Waiting, knock};
pub use wire::Welcome;

use super::ticket::TicketError;

/// How long a side waits for the other's next message, where no person is asked.
pub const STEP: Duration = Duration::from_secs(10);

/// How long a person has to compare the words.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// Why the other side was refused; the words are part of the protocol and never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No such invite, or a wrong proof: which of them is not told.
    Unknown,
    /// The invite held until earlier.
    Expired,
    /// Another device has redeemed it.
    Used,
    /// A person said no.
    Denied,
    /// No person answered in time.
    Unanswered,
    /// Too many come at once, or too often.
    Busy,
    /// The inviting device may no longer take anyone in.
    NotAdmin,
    /// It could not be done on the inviting side, through no fault of the other.
    Failed,
    /// The message was not understood: another version.
    Version,
}

impl Refusal {
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

    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(refusal, _)| *refusal == self).map_or("", |(_, word)| word)
    }

    fn of(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, known)| *known == word).map(|(refusal, _)| *refusal)
    }
}

/// What the joiner is told, with what to do.
impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "the other side does not know this ticket: it was used, taken back, or made by another device; ask for a new one",
            Self::Expired => "this ticket has expired: ask for a new one",
            Self::Used => "another device has used this ticket already: if that was not yours, tell the one who invited you; ask for a new one",
            Self::Denied => "the other side said no: ask them whether the words were the same",
            Self::Unanswered => "nobody on the other side answered in time: try again with the same ticket while someone is there",
            Self::Busy => "the other side is busy with others who want to come in: try again in a minute",
            Self::NotAdmin => "the device that invited you may no longer take anyone in: ask another admin of the team",
            Self::Failed => "the other side could not do it: its log says why (`ergo status` there names the file)",
            Self::Version => "the other side did not understand: both need the same version of ergo",
        })
    }
}

/// Why a pairing did not come about.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// The ticket cannot be used.
    #[error(transparent)]
    Ticket(#[from] TicketError),
    /// The other side said no.
    #[error("{0}")]
    Refused(Refusal),
    /// The other side does not prove to be the one that made the ticket.
    #[error(
        "the device that answered is not the one that made this ticket: nothing was joined; ask for a new ticket over another channel"
    )]
    Impostor,
    /// The other side went away, or says nothing.
    #[error("the connection was lost ({0}): nothing was joined; try again with the same ticket")]
    Lost(String),
    /// What the other side sent is no message.
    #[error("what the other side sent is not understood ({0}): both need the same version of ergo")]
    Garbled(String),
    /// It could not be done on this side.
    #[error("{0}")]
    Here(String),
}
