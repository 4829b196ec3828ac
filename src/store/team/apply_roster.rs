//! Applies a changed roster: decides again which events are accepted and which are quarantined.
//!
//! Events that this device wrote are never removed: if the team does not accept them, they are not shared.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    Team,
    accepted_branches::{AcceptedBranches, BranchCache},
    ledger,
    ledger::chain_of,
    quarantine,
    scopes::{self, BoundTeamScope},
};
use crate::{
    domain::{
        DeviceId, EventId, Header, Roster, SignedEvent,
        guard_report::PairCheck,
        replica::Chain,
        roster::{Admission, Refusal},
    },
    store::{
        Result, StoreError, log,
        project::{Changes, Projector, forget_cards},
        vectors,
    },
};

/// An event in the log that the team no longer accepts.
pub(super) struct WithdrawnEvent {
    pub(super) n: i64,
    pub(super) event: SignedEvent,
    pub(super) refusal: Refusal,
    from: Option<DeviceId>,
    received_at: u64,
}

/// Decides again which events of the log are shared, and returns those of other devices that must leave the log.
pub(super) fn reconcile(db: &Connection, team: &Team, roster: &Roster, me: &DeviceId) -> Result<Vec<WithdrawnEvent>> {
    let mut withdrawn = Vec::new();
    for bound in scopes::of_team(db, team.n)?.into_iter().filter(|bound| !bound.is_roster) {
        let mut changed = false;
        let chains = chains(db, &bound)?;
        for chain in &chains {
            let admission = roster.admission(&bound.name, chain);
            for left in unaccepted_events(db, &bound, chain, &admission, roster)? {
                if chain.author == *me {
                    changed = true;
                    db.prepare_cached("UPDATE events SET shared = NULL WHERE n = ?1")?.execute([left.n])?;
                } else {
                    withdrawn.push(left);
                }
            }
        }
        changed |= share(db, team, roster, &bound, me, chains.is_empty())?;
        if changed {
            ledger::recount(db, bound.n)?;
        }
    }
    Ok(withdrawn)
}

/// Shares every event of a scope that the team accepts.
pub(super) fn share_all(
    db: &Connection,
    team: &Team,
    roster: &Roster,
    bound: &BoundTeamScope,
    me: &DeviceId,
) -> Result<()> {
    if share(db, team, roster, bound, me, true)? {
        ledger::recount(db, bound.n)?;
    }
    Ok(())
}

/// Returns the shared chains of a scope.
fn chains(db: &Connection, bound: &BoundTeamScope) -> Result<Vec<Chain>> {
    let mut read = db.prepare_cached("SELECT author, epoch, adopted FROM chains WHERE shared = ?1")?;
    let rows = read.query_map([bound.n], |row| {
        Ok(Chain { author: DeviceId(row.get(0)?), epoch: row.get::<_, i64>(1)?.cast_unsigned(), adopted: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Returns the shared events of a chain that the team does not accept: those after the accepted part, and those on
/// another branch of a fork.
fn unaccepted_events(
    db: &Connection,
    bound: &BoundTeamScope,
    chain: &Chain,
    admission: &Admission,
    roster: &Roster,
) -> Result<Vec<WithdrawnEvent>> {
    let Some(refusal) = admission.refusal else { return Ok(Vec::new()) };
    let first = admission.upto.last().map_or(0, |(seq, _)| *seq);
    let mut read = db.prepare_cached(
        "SELECT n, header, signature, salt, body, received_from, received_at FROM events
         WHERE shared = ?1 AND author = ?2 AND epoch = ?3
            AND team IS (SELECT CASE WHEN ?4 THEN NULL ELSE team END FROM team_scopes WHERE n = ?1)
            AND (seq >= ?5 OR seq IN (
                SELECT seq FROM forks WHERE shared = ?1 AND author = ?2 AND epoch = ?3 AND adopted = ?4))
         ORDER BY seq, id",
    )?;
    let chain_is = params![bound.n, chain.author.0, chain.epoch.cast_signed(), chain.adopted, first.cast_signed()];
    let rows = read.query_map(chain_is, |row| {
        Ok((row.get(0)?, log::read_signed(row)?, row.get::<_, Option<[u8; 32]>>(5)?, row.get::<_, i64>(6)?))
    })?;
    let (mut found, mut branches) = (Vec::new(), AcceptedBranches::of(admission));
    for row in rows {
        let (n, event, from, received_at) = row?;
        let event = event.map_err(|error| StoreError::Damaged(error.to_string()))?;
        let taken = roster.accepted().contains(&event.id)
            || admission.of(event.header.seq, &event.id).is_ok()
                && !branches.exclude(db, event.header.seq, &event.id)?;
        if !taken {
            let (from, received_at) = (from.map(DeviceId), received_at.unsigned_abs());
            found.push(WithdrawnEvent { n, event, refusal, from, received_at });
        }
    }
    Ok(found)
}

/// Returns whether another event is at the same position of a chain, in the log or in quarantine.
pub(super) fn has_sibling(db: &Connection, team: &Team, shared: i64, id: &EventId, header: &Header) -> Result<bool> {
    if ledger::events_at(db, shared, &chain_of(header), header.seq)?.iter().any(|other| other != id) {
        return Ok(true);
    }
    let mut read = db.prepare_cached(
        "SELECT 1 FROM quarantined WHERE team = ?1 AND author = ?2 AND epoch = ?3 AND seq = ?4 AND org = ?5
         AND project = ?6 AND id <> ?7",
    )?;
    Ok(read.exists(params![
        team.n,
        header.author.0,
        header.epoch.cast_signed(),
        header.seq.cast_signed(),
        header.scope.org_id,
        header.scope.project,
        id.0
    ])?)
}

/// Shares events in the log that were not shared: adopted chains, and what this device wrote before it had the
/// permission; in a scope that was just bound, everything that the team accepts. Returns whether anything changed.
fn share(
    db: &Connection,
    team: &Team,
    roster: &Roster,
    bound: &BoundTeamScope,
    me: &DeviceId,
    fresh: bool,
) -> Result<bool> {
    let mut changed = false;
    let mut wanted: BTreeSet<Chain> = roster
        .adopted()
        .filter(|(scope, _)| **scope == bound.name)
        .map(|(_, head)| Chain { author: head.author, epoch: head.epoch, adopted: true })
        .collect();
    let mut read = db.prepare_cached("SELECT DISTINCT epoch FROM events WHERE author = ?1 AND team = ?2")?;
    for epoch in read.query_map(params![me.0, team.n], |row| row.get::<_, i64>(0))? {
        wanted.insert(Chain { author: *me, epoch: epoch?.cast_unsigned(), adopted: false });
    }
    if fresh {
        let mut read =
            db.prepare_cached("SELECT DISTINCT author, epoch FROM events WHERE scope = ?1 AND log = 0 AND team = ?2")?;
        let rows = read.query_map([bound.scope, team.n], |row| {
            Ok(Chain { author: DeviceId(row.get(0)?), epoch: row.get::<_, i64>(1)?.cast_unsigned(), adopted: false })
        })?;
        for chain in rows {
            wanted.insert(chain?);
        }
    }
    let mut read = db.prepare_cached(
        "SELECT n, id, seq, header FROM events WHERE author = ?1 AND epoch = ?2 AND scope = ?3 AND log = 0 AND team IS ?4
         AND shared IS NULL ORDER BY seq",
    )?;
    let mut write = db.prepare_cached(
        "UPDATE events SET shared = ?2, documented = EXISTS (SELECT 1 FROM document_entries WHERE event = events.id)
         WHERE n = ?1",
    )?;
    for chain in wanted {
        let admission = roster.admission(&bound.name, &chain);
        let mut branches = AcceptedBranches::of(&admission);
        let number = (!chain.adopted).then_some(team.n);
        let mut rows = read.query(params![chain.author.0, chain.epoch.cast_signed(), bound.scope, number])?;
        let mut found: Vec<(i64, EventId, u64)> = Vec::new();
        while let Some(row) = rows.next()? {
            let (id, seq) = (log::id_at(row, 1)?, row.get::<_, i64>(2)?.cast_unsigned());
            let bytes = row.get_ref(3)?.as_blob().map_err(rusqlite::Error::from)?;
            let header: Header = minicbor::decode(bytes).map_err(|error| StoreError::Damaged(error.to_string()))?;
            // The scope may contain events from before it was bound, with its name on this device.
            if header.scope == bound.name {
                found.push((row.get(0)?, id, seq));
            }
        }
        for (at, (n, id, seq)) in found.iter().enumerate() {
            let forks = [at.wrapping_sub(1), at + 1].iter().any(|by| found.get(*by).is_some_and(|(.., s)| s == seq));
            let taken = admission.of(*seq, id).is_ok() && !(forks && branches.exclude(db, *seq, id)?);
            if taken || roster.accepted().contains(id) {
                write.execute([*n, bound.n])?;
                changed = true;
            }
        }
    }
    Ok(changed)
}

/// From this number of deleted events on, temporary indexes are created for the columns that refer to them.
const INDEX_THRESHOLD: usize = 32;

/// The name of an index, and its table and column.
type ReferenceIndex = (&'static str, &'static str);

/// Columns that refer to events and have no permanent index. When an event is deleted, SQLite searches for rows that
/// refer to it, in the whole table if there is no index; permanent indexes would slow down every write.
pub(in crate::store) const REFERENCES_TO_EVENTS: [ReferenceIndex; 3] = [
    ("leaving_acts", "live_acts (act)"),
    ("leaving_authors", "cards (author)"),
    ("leaving_settled", "cards (settled)"),
];

/// Columns that refer to claims and have no permanent index.
const REFERENCES_TO_CLAIMS: [ReferenceIndex; 3] = [
    ("leaving_postings", "postings (claim)"),
    ("leaving_phrases", "phrases (claim)"),
    ("leaving_story_words", "story_words (claim)"),
];

/// Moves events from the log to the quarantine, and removes their effects from the projections. Returns what changed
/// there.
pub(super) fn withdraw(
    db: &Connection,
    check: &dyn PairCheck,
    team: &Team,
    events: &[WithdrawnEvent],
) -> Result<Changes> {
    // Rows that refer to each other are deleted one after the other.
    db.execute_batch("PRAGMA defer_foreign_keys = ON")?;
    log::record_move(db)?;
    let indexes = [REFERENCES_TO_EVENTS, REFERENCES_TO_CLAIMS].concat();
    with_reference_indexes(db, events.len(), &indexes, || move_to_quarantine(db, check, team, events))
}

/// Runs a function that deletes this number of events, with temporary indexes by which SQLite finds what refers to
/// them.
pub(in crate::store) fn with_reference_indexes<T>(
    db: &Connection,
    events: usize,
    indexes: &[ReferenceIndex],
    run: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let indexes = if events < INDEX_THRESHOLD { &[] } else { indexes };
    for (name, column) in indexes {
        db.execute_batch(&format!("CREATE INDEX {name} ON {column}"))?;
    }
    let done = run()?;
    for (name, _) in indexes {
        db.execute_batch(&format!("DROP INDEX {name}"))?;
    }
    Ok(done)
}

fn move_to_quarantine(
    db: &Connection,
    check: &dyn PairCheck,
    team: &Team,
    events: &[WithdrawnEvent],
) -> Result<Changes> {
    let mut projector = Projector::new(db, check)?;
    let leaving = projector.withdraw_events(events.iter().map(|left| left.n).collect::<BTreeSet<_>>())?;
    let mut lost: BTreeMap<i64, Vec<(Chain, EventId)>> = BTreeMap::new();
    let mut scopes: BTreeSet<i64> = BTreeSet::new();
    for left in events {
        let mut read = db.prepare_cached("SELECT scope, shared FROM events WHERE n = ?1")?;
        let position = read.query_row([left.n], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<i64>>(1)?)));
        // The event was listed twice and is already deleted.
        let Some((scope, shared)) = position.optional()? else { continue };
        quarantine::put(db, team, &left.event, left.refusal, left.from, left.received_at)?;
        vectors::forget(db, left.n)?;
        db.prepare_cached("DELETE FROM edges WHERE src = ?1")?.execute([left.n])?;
        db.prepare_cached("DELETE FROM events WHERE n = ?1")?.execute([left.n])?;
        scopes.insert(scope);
        if let Some(shared) = shared {
            lost.entry(shared).or_default().push((chain_of(&left.event.header), left.event.id));
        }
    }
    projector.after_removal(&leaving)?;
    let changes = projector.finish()?;
    forget_cards(db)?;
    for scope in scopes {
        db.prepare_cached(
            "UPDATE scopes SET latest = coalesce((SELECT max(wall) FROM events WHERE scope = scopes.n), 0) WHERE n = ?1",
        )?
        .execute([scope])?;
    }
    for (shared, events) in lost {
        ledger::subtract(db, shared, &events)?;
    }
    Ok(changes)
}

/// Loads an event that must leave the log.
pub(super) fn load_withdrawn(db: &Connection, id: &EventId, refusal: Refusal) -> Result<Option<WithdrawnEvent>> {
    let mut read = db.prepare_cached(
        "SELECT n, header, signature, salt, body, received_from, received_at FROM events WHERE id = ?1",
    )?;
    let mut rows = read.query([id.0])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let event = log::read_signed(row)?.map_err(|error| StoreError::Damaged(error.to_string()))?;
    Ok(Some(WithdrawnEvent {
        n: row.get(0)?,
        event,
        refusal,
        from: row.get::<_, Option<[u8; 32]>>(5)?.map(DeviceId),
        received_at: row.get::<_, i64>(6)?.unsigned_abs(),
    }))
}

/// Returns the events in quarantine that the team now accepts, in the order of their chains, and updates the reason of
/// the others.
pub(super) fn readmitted(db: &Connection, team: &Team, roster: &Roster, now: u64) -> Result<Vec<EventId>> {
    let (mut accepted, mut refused, mut branches) = (Vec::new(), Vec::new(), BranchCache::default());
    quarantine::for_each_header(db, team, |id, header, known| {
        match super::intake::decide(db, team, roster, &mut branches, &id, header, now)? {
            Ok(()) => accepted.push(id),
            Err(refusal) if refusal != known => refused.push((id, refusal)),
            Err(_) => {}
        }
        Ok(())
    })?;
    for (id, refusal) in refused {
        quarantine::set_refusal(db, &id, refusal)?;
    }
    Ok(accepted)
}

/// Records that this device has left the team: nothing is shared any more, and the scopes are its own again.
pub(super) fn leave(db: &Connection, team: &Team, now: u64) -> Result<()> {
    db.prepare_cached("UPDATE teams SET left_at = ?2 WHERE n = ?1 AND left_at IS NULL")?
        .execute(params![team.n, log::wall(now)])?;
    for bound in scopes::of_team(db, team.n)?.into_iter().filter(|bound| !bound.is_roster) {
        for sql in [
            "DELETE FROM documents WHERE shared = ?1",
            "UPDATE events SET shared = NULL, documented = 0 WHERE shared = ?1",
            "DELETE FROM chains WHERE shared = ?1",
            "DELETE FROM forks WHERE shared = ?1",
            "DELETE FROM team_scopes WHERE n = ?1",
        ] {
            db.prepare_cached(sql)?.execute([bound.n])?;
        }
    }
    db.prepare_cached("DELETE FROM invites WHERE team = ?1")?.execute([team.n])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{REFERENCES_TO_CLAIMS, REFERENCES_TO_EVENTS};
    use crate::store::open;

    #[test]
    fn what_refers_to_events_and_claims_has_an_index_at_least_while_many_leave() {
        let db = open::temporary().unwrap();
        let mut read = db
            .prepare(
                "SELECT t.name, f.\"from\" FROM sqlite_schema t, pragma_foreign_key_list(t.name) f
                 WHERE t.type = 'table' AND f.\"table\" IN ('events', 'claims') AND f.\"from\" NOT IN (
                     SELECT name FROM pragma_table_info(t.name) WHERE pk = 1
                     UNION SELECT c.name FROM pragma_index_list(t.name) i, pragma_index_info(i.name) c
                     WHERE c.seqno = 0 AND i.partial = 0)",
            )
            .unwrap();
        let without =
            read.query_map([], |row| Ok(format!("{} ({})", row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
        let mut without: Vec<String> = without.unwrap().collect::<rusqlite::Result<_>>().unwrap();
        let mut listed = [REFERENCES_TO_EVENTS, REFERENCES_TO_CLAIMS]
            .concat()
            .into_iter()
            .map(|(_, column)| column)
            .collect::<Vec<_>>();
        without.sort_unstable();
        listed.sort_unstable();
        assert_eq!(without, listed);
    }
}
