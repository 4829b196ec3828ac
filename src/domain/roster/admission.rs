//! Decides which events a team accepts.

use std::{collections::BTreeSet, fmt, str::FromStr};

use super::{MemberState, Role, Roster};
use crate::domain::{
    event::{EventKind, Header, VERSION},
    id::{DeviceId, EventId},
    replica::Chain,
    scope::Scope,
};

/// Why an event is not accepted. It waits in quarantine, and is checked again when the roster changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// Its author never belonged to the team.
    NotAMember,
    /// Its author may not write into its scope, or the team does not share the scope.
    NoGrant,
    /// Its author may only read.
    Reader,
    /// It was written after its author was revoked, or is on the other branch of a forked chain.
    AfterCut,
    /// It was written before the scope was the team's, and nobody has adopted it.
    NotAdopted,
    /// It belongs to another team.
    WrongTeam,
    /// It is a roster event outside the roster's scope, or another event within it.
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
        (
            Self::Clock,
            "clock",
            "its clock is more than a day ahead of this machine's, so it is accepted only when its date comes",
        ),
    ];

    /// Returns the stable code.
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

/// Which part of a chain a team accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// Why the events beyond `upto` are refused; `None` if all are accepted.
    pub refusal: Option<Refusal>,
    /// The last events that are accepted nevertheless, as are those before them.
    pub upto: BTreeSet<(u64, EventId)>,
}

impl Admission {
    /// Checks whether the team accepts the event at this position of the chain.
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
    /// Checks whether the team accepts an event with this id and header. The result depends on the roster alone, not on the
    /// order of events or on a clock.
    ///
    /// If a chain forks before the point where it was cut, both branches are accepted here up to the cut. The store, which has
    /// the chain, refuses the branch that does not lead to the cut.
    pub fn admits(&self, id: &EventId, header: &Header) -> Result<(), Refusal> {
        let misplaced = Err(Refusal::Misplaced);
        if *id == self.team {
            return Ok(());
        }
        // No chain is that long, and stores use signed numbers.
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

    /// Returns which part of a chain of one of its scopes the team accepts, besides events that an admin accepted individually.
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
