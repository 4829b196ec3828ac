//! Which events a team accepts.

use std::{collections::BTreeSet, fmt, str::FromStr};

use super::{MemberState, Role, Roster};
use crate::domain::{
    event::{EventKind, Header, VERSION},
    id::{DeviceId, EventId},
    replica::Chain,
    scope::Scope,
};

/// Why an event is not taken: it waits in quarantine, and is looked at again when the roster changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// Its author never belonged to the team.
    NotAMember,
    /// Its author may not write into that scope, or the team does not share it.
    NoGrant,
    /// Its author may only read.
    Reader,
    /// It was written after its author was revoked, or is on the other branch of a forked chain.
    AfterCut,
    /// It is from before the team, and nobody took it in.
    NotAdopted,
    /// It belongs to another team.
    WrongTeam,
    /// A roster event among claims, or the reverse.
    Misplaced,
    /// Its clock is more than a day ahead of this machine's.
    Clock,
}

impl Refusal {
    const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::NotAMember, "not_a_member", "its author does not belong to the team"),
        (Self::NoGrant, "no_grant", "its author has no access to that scope"),
        (Self::Reader, "reader", "its author has the role reader and may not write"),
        (Self::AfterCut, "after_cut", "its author had left the team or was revoked before writing it"),
        (
            Self::NotAdopted,
            "not_adopted",
            "it was written before the scope was shared with the team, and was not adopted",
        ),
        (Self::WrongTeam, "wrong_team", "it belongs to another team"),
        (Self::Misplaced, "misplaced", "events of its kind are not allowed in that scope"),
        (Self::Clock, "clock", "its clock is more than a day ahead of this machine's"),
    ];

    /// The stable code.
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(refusal, ..)| *refusal == self).map_or("", |(_, code, _)| code)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(refusal, ..)| refusal == self).map_or("", |(.., text)| text))
    }
}

impl FromStr for Refusal {
    type Err = String;

    fn from_str(code: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .find(|(_, known, _)| *known == code)
            .map(|(refusal, ..)| *refusal)
            .ok_or_else(|| format!("unknown rejection code “{code}”"))
    }
}

/// What a team takes of one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Why what lies beyond `upto` is refused; `None`: all is taken.
    pub refusal: Option<Refusal>,
    /// The last events that are taken nevertheless, with what comes before them.
    pub upto: BTreeSet<(u64, EventId)>,
}

impl Admission {
    /// Whether the event with this place in the chain is taken.
    pub fn of(&self, seq: u64, id: &EventId) -> Result<(), Refusal> {
        let Some(refusal) = self.refusal else { return Ok(()) };
        let taken = self.upto.iter().any(|(last, event)| seq < *last || seq == *last && event == id);
        if taken { Ok(()) } else { Err(refusal) }
    }

    fn all() -> Self {
        Self { refusal: None, upto: BTreeSet::new() }
    }

    fn only(refusal: Refusal, upto: Option<&BTreeSet<(u64, EventId)>>) -> Self {
        Self { refusal: Some(refusal), upto: upto.cloned().unwrap_or_default() }
    }
}

impl Roster {
    /// Whether the team takes an event with this id and header. Depends on the roster alone: not on order, not on a clock.
    ///
    /// Where a chain that was cut forks below the cut, the side that does not lead to it is not told apart here: the
    /// store, which has the chain, does.
    pub fn admits(&self, id: &EventId, header: &Header) -> Result<(), Refusal> {
        let misplaced = Err(Refusal::Misplaced);
        if *id == self.team {
            return Ok(());
        }
        // No chain is that long, and stores count in signed numbers.
        if header.seq >= i64::MAX.cast_unsigned() {
            return misplaced;
        }
        if header.team.is_some_and(|team| team != self.team) {
            return Err(Refusal::WrongTeam);
        }
        let of_roster = matches!(header.kind, EventKind::Roster(_));
        let newer = header.version != VERSION || matches!(header.kind, EventKind::Unknown(_));
        if header.scope == self.scope {
            return match header.team {
                _ if !of_roster && !newer => misplaced,
                None => misplaced,
                Some(_) if !self.ever_named.contains(&header.author) => Err(Refusal::NotAMember),
                Some(_) => Ok(()),
            };
        }
        if of_roster || matches!(header.kind, EventKind::Local(_)) || header.scope.is_reserved() {
            return misplaced;
        }
        if !self.shares(&header.scope) {
            return Err(Refusal::NoGrant);
        }
        if self.accepted.contains(id) {
            return Ok(());
        }
        let chain = Chain { author: header.author, epoch: header.epoch, adopted: header.team.is_none() };
        self.admission(&header.scope, &chain).of(header.seq, id)
    }

    /// What the team takes of a chain of one of its scopes, beside events that an admin accepted one by one.
    pub fn admission(&self, scope: &Scope, chain: &Chain) -> Admission {
        let key = (scope.clone(), chain.author, chain.epoch);
        if chain.adopted {
            return Admission::only(Refusal::NotAdopted, self.adopted.get(&key));
        }
        if self.may_write(&chain.author, scope) {
            return Admission::all();
        }
        Admission::only(self.refusal_of(&chain.author), self.cuts.get(&key))
    }

    fn refusal_of(&self, device: &DeviceId) -> Refusal {
        match self.members.get(device).map(|member| (member.state, member.grant.role)) {
            None => Refusal::NotAMember,
            Some((MemberState::Left | MemberState::Revoked, _)) => Refusal::AfterCut,
            Some((MemberState::Active, Role::Reader)) => Refusal::Reader,
            Some((MemberState::Active, _)) => Refusal::NoGrant,
        }
    }
}
