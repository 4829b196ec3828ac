//! Finds which branches of a forked chain lead to the last events that a team accepts of it.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::{
    domain::{EventId, Header, Scope, replica::Chain, roster::Admission},
    store::{Result, log},
};

/// The branches of a chain that lead to its last accepted events. Each is read backwards, as far as needed and once:
/// a peer may fork its chain at every position.
#[derive(Debug)]
pub(super) struct AcceptedBranches(Vec<Branch>);

#[derive(Debug)]
struct Branch {
    /// The position of the last accepted event.
    end: u64,
    /// The ids of this event and of those before it, backwards.
    ids: Vec<EventId>,
    /// The earliest of `ids` names none before it.
    is_complete: bool,
}

impl AcceptedBranches {
    /// Returns the branches of a chain of which a team accepts this part.
    pub(super) fn of(admission: &Admission) -> Self {
        let cuts = admission.upto.iter().filter(|_| admission.refusal.is_some());
        Self(cuts.map(|(end, last)| Branch { end: *end, ids: vec![*last], is_complete: false }).collect())
    }

    /// Returns whether an event, which is at a position where the chain forks, is on another branch. If a branch is not
    /// known completely, it is not.
    pub(super) fn exclude(&mut self, db: &Connection, position: u64, event: &EventId) -> Result<bool> {
        if self.0.is_empty() {
            return Ok(false);
        }
        for branch in self.0.iter_mut().filter(|branch| branch.end >= position) {
            if branch.id_at(db, position)?.is_none_or(|id| id == *event) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Branch {
    /// Returns the event at a position up to the end; `None` if an event after it has not arrived.
    fn id_at(&mut self, db: &Connection, position: u64) -> Result<Option<EventId>> {
        let mut at = self.end - (self.ids.len() as u64 - 1);
        while at > position
            && !self.is_complete
            && let Some(id) = self.ids.last()
        {
            let Some(header) = header_of(db, id)? else { return Ok(None) };
            match header.prev.filter(|_| header.seq == at) {
                Some(prev) => self.ids.push(prev),
                None => self.is_complete = true,
            }
            at -= 1;
        }
        let back = usize::try_from(self.end - position).unwrap_or(usize::MAX);
        Ok(self.ids.get(back).or(self.ids.last()).copied())
    }
}

/// The branches of several chains, as one roster accepts them.
#[derive(Debug, Default)]
pub(super) struct BranchCache(BTreeMap<(Scope, Chain), AcceptedBranches>);

impl BranchCache {
    /// Returns the branches of a chain in a scope of a team, which accepts this part of it.
    pub(super) fn get(&mut self, scope: &Scope, chain: Chain, admission: &Admission) -> &mut AcceptedBranches {
        self.0.entry((scope.clone(), chain)).or_insert_with(|| AcceptedBranches::of(admission))
    }
}

/// Returns the header of an event in the log or in quarantine.
fn header_of(db: &Connection, id: &EventId) -> Result<Option<Header>> {
    let mut read = db.prepare_cached(
        "SELECT header FROM events WHERE id = ?1 UNION ALL SELECT header FROM quarantined WHERE id = ?1",
    )?;
    let mut rows = read.query([id.0])?;
    Ok(rows.next()?.map(|row| log::header_at(row, 0)).transpose()?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rusqlite::{Connection, params};

    use super::AcceptedBranches;
    use crate::{
        domain::{
            DeviceId, EventId, EventKind, Header, Hlc, OpId, Scope,
            event::VERSION,
            roster::{Admission, Refusal},
        },
        store::open,
    };

    fn id(n: u8) -> EventId {
        EventId([n; 32])
    }

    /// A store of a team without events.
    fn store() -> Connection {
        let db = open::temporary().unwrap();
        db.execute("INSERT INTO teams (id, joined_at) VALUES (?1, 0)", [[9_u8; 32]]).unwrap();
        db
    }

    /// Stores events of a chain.
    fn put(db: &Connection, positions: &[u8]) {
        for seq in positions {
            let header = Header {
                version: VERSION,
                team: None,
                scope: Scope::new("acme", "api").unwrap(),
                author: DeviceId([1; 32]),
                epoch: 0,
                seq: u64::from(*seq),
                prev: seq.checked_sub(1).map(id),
                clock: Hlc::default(),
                kind: EventKind::Assert,
                op: OpId([0; 16]),
                targets: Vec::new(),
                successor: None,
                seen: Vec::new(),
                claim_kind: None,
                key_hash: None,
                who: "ada".into(),
                agent: None,
                body_hash: id(0),
            };
            db.execute(
                "INSERT INTO quarantined (id, team, org, project, author, epoch, seq, wall, header, signature, reason,
                    received_at)
                 VALUES (?1, 1, 'acme', 'api', ?2, 0, ?3, 0, ?4, x'', '', 0)",
                params![id(*seq).0, [1_u8; 32], seq, minicbor::to_vec(header).unwrap()],
            )
            .unwrap();
        }
    }

    #[test]
    fn a_branch_is_read_back_once_and_again_from_where_an_event_was_missing() {
        let db = store();
        put(&db, &[0, 1, 3, 4]);
        let upto = BTreeSet::from([(4, id(4))]);
        let mut branches = AcceptedBranches::of(&Admission { refusal: Some(Refusal::AfterCut), upto });
        let mut excluded = |position, event| branches.exclude(&db, position, &event).unwrap();
        assert!(!excluded(4, id(4)) && excluded(4, id(7)));
        assert!(!excluded(2, id(2)) && excluded(2, id(7)));
        assert!(!excluded(1, id(1)) && !excluded(1, id(7)), "what comes before the missing event is unknown");
        // The missing event arrives. Those after it are not read again.
        db.execute("DELETE FROM quarantined WHERE seq > 2", []).unwrap();
        put(&db, &[2]);
        assert!(!excluded(1, id(1)) && excluded(1, id(7)));
        assert!(!excluded(0, id(0)) && excluded(0, id(7)));
    }

    #[test]
    fn a_chain_of_which_all_is_accepted_has_no_other_branch() {
        let db = store();
        put(&db, &[0, 1, 2, 3, 4]);
        for (refusal, upto) in [(None, BTreeSet::from([(4, id(4))])), (Some(Refusal::Reader), BTreeSet::new())] {
            let mut branches = AcceptedBranches::of(&Admission { refusal, upto });
            assert!(!branches.exclude(&db, 1, &id(7)).unwrap());
        }
    }
}
