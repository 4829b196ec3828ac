//! Other devices, invitations, and contacted addresses. None of this syncs.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row, params};

use super::{
    Team,
    sync_rows::{ContactRow, InviteRow, PeerRow},
};
use crate::{
    domain::{DeviceId, EventId, Roster, Scope},
    store::{
        Reader, Result, Store, commit,
        log::{conversion, id_at, wall},
    },
};

/// The most events that are read to count what a peer lacks.
const MAX_UNSENT_READ: usize = 20_000;

macro_rules! select_peer {
    ($rest:literal) => {
        concat!(
            "SELECT p.device, t.id, p.name, p.addresses, p.last_seen, p.last_sync, p.last_error, p.behind, p.ahead,
                p.digests_equal, p.via FROM peers p JOIN teams t ON t.n = p.team ",
            $rest
        )
    };
}

fn time_at(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(i64::unsigned_abs))
}

fn read_peer(row: &Row<'_>) -> rusqlite::Result<PeerRow> {
    let addresses: String = row.get(3)?;
    Ok(PeerRow {
        device: DeviceId(row.get(0)?),
        team: id_at(row, 1)?,
        name: row.get(2)?,
        addresses: serde_json::from_str(&addresses).unwrap_or_default(),
        last_seen: time_at(row, 4)?,
        last_sync: time_at(row, 5)?,
        last_error: row.get(6)?,
        behind: row.get(7)?,
        ahead: row.get(8)?,
        digests_equal: row.get(9)?,
        via: row.get(10)?,
    })
}

fn read_invite(row: &Row<'_>) -> rusqlite::Result<InviteRow> {
    let grant = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
    Ok(InviteRow {
        hash: row.get(0)?,
        team: id_at(row, 1)?,
        grant: minicbor::decode(grant).map_err(|error| conversion(2, error))?,
        created_at: row.get::<_, i64>(3)?.unsigned_abs(),
        expires_at: row.get::<_, i64>(4)?.unsigned_abs(),
        redeemed_by: row.get::<_, Option<[u8; 32]>>(5)?.map(DeviceId),
        done: row.get(6)?,
    })
}

const SELECT_INVITE: &str = "SELECT i.hash, t.id, i.grant_, i.created_at, i.expires_at, i.redeemed_by, i.done
    FROM invites i JOIN teams t ON t.n = i.team";

impl Store {
    /// Stores what this device knows of another one.
    pub fn write_peer(&mut self, peer: &PeerRow) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        let team = Team::find(&tx, peer.team)?;
        tx.prepare_cached(
            "INSERT OR REPLACE INTO peers (device, team, name, addresses, last_seen, last_sync, last_error, behind, ahead,
                digests_equal, via) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )?
        .execute(params![
            peer.device.0,
            team.n,
            peer.name,
            serde_json::to_string(&peer.addresses).unwrap_or_else(|_| "[]".into()),
            peer.last_seen.map(wall),
            peer.last_sync.map(wall),
            peer.last_error,
            wall(peer.behind),
            wall(peer.ahead),
            peer.digests_equal,
            peer.via,
        ])?;
        tx.commit()
    }

    /// Records that an address was contacted, and for what purpose.
    pub fn note_contact(&mut self, address: &str, what: &str, now: u64) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        tx.prepare_cached(
            "INSERT INTO contacts (address, what, first, last) VALUES (?1, ?2, ?3, ?3)
             ON CONFLICT DO UPDATE SET last = max(last, excluded.last)",
        )?
        .execute(params![address, what, wall(now)])?;
        tx.commit()
    }

    /// Stores a new or changed invitation.
    pub fn write_invite(&mut self, invite: &InviteRow) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        let team = Team::find(&tx, invite.team)?;
        tx.prepare_cached(
            "INSERT OR REPLACE INTO invites (hash, team, grant_, created_at, expires_at, redeemed_by, done)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            invite.hash,
            team.n,
            minicbor::to_vec(&invite.grant).unwrap_or_default(),
            wall(invite.created_at),
            wall(invite.expires_at),
            invite.redeemed_by.map(|device| device.0),
            invite.done,
        ])?;
        tx.commit()
    }

    pub fn delete_invite(&mut self, hash: &[u8; 32]) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        tx.prepare_cached("DELETE FROM invites WHERE hash = ?1")?.execute([hash])?;
        tx.commit()
    }
}

impl Reader {
    /// Counts the events of a team that were stored here after each peer was last in sync, without those that the peer
    /// delivered itself or may not read. A peer that was never in sync is left out.
    ///
    /// Reads the log backwards until it meets an event that every peer has, and at most [`MAX_UNSENT_READ`] events.
    pub fn unsent(&self, team: &EventId, peers: &[PeerRow], roster: &Roster) -> Result<BTreeMap<DeviceId, u64>> {
        let mut unsent: BTreeMap<DeviceId, u64> = BTreeMap::new();
        let peers: Vec<(DeviceId, u64)> =
            peers.iter().filter_map(|peer| Some((peer.device, peer.last_sync?))).collect();
        let (Some(first), Some(team)) =
            (peers.iter().map(|(_, last_sync)| *last_sync).min(), Team::known(&self.db, *team)?)
        else {
            return Ok(unsent);
        };
        let mut read = self.db.prepare_cached(
            "SELECT e.received_at, e.received_from, s.org, s.project
             FROM events e LEFT JOIN team_scopes s ON s.n = e.shared AND s.team = ?1 ORDER BY e.n DESC LIMIT ?2",
        )?;
        let mut rows = read.query(params![team.n, MAX_UNSENT_READ])?;
        while let Some(row) = rows.next()? {
            let at = row.get::<_, i64>(0)?.unsigned_abs();
            if at <= first {
                break;
            }
            let (Some(org_id), Some(project)) = (row.get(2)?, row.get(3)?) else { continue };
            let scope = Scope { org_id, project };
            let from = row.get::<_, Option<[u8; 32]>>(1)?.map(DeviceId);
            for (device, last_sync) in &peers {
                if at > *last_sync && from != Some(*device) && roster.may_read(device, &scope) {
                    *unsent.entry(*device).or_default() += 1;
                }
            }
        }
        Ok(unsent)
    }

    /// Returns the other devices, of one team or of all, by id.
    pub fn peers(&self, team: Option<&EventId>) -> Result<Vec<PeerRow>> {
        let mut read = self.db.prepare_cached(select_peer!("WHERE ?1 IS NULL OR t.id = ?1 ORDER BY p.device"))?;
        let rows = read.query_map([team.map(|team| team.0)], read_peer)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns what this device knows of another one in a team. For a device that is new there, returns its name and
    /// addresses from another team.
    pub fn peer(&self, team: &EventId, device: &DeviceId) -> Result<Option<PeerRow>> {
        let mut read = self
            .db
            .prepare_cached(select_peer!("WHERE p.device = ?1 ORDER BY t.id <> ?2, p.last_seen DESC LIMIT 1"))?;
        let row = read.query_row([device.0, team.0], read_peer).optional()?;
        let known_elsewhere = |row| PeerRow {
            team: *team,
            last_seen: None,
            last_sync: None,
            last_error: None,
            behind: 0,
            ahead: 0,
            digests_equal: false,
            via: None,
            ..row
        };
        Ok(row.map(|row| if row.team == *team { row } else { known_elsewhere(row) }))
    }

    /// Returns the invitations of a team, the latest first.
    pub fn invites(&self, team: &EventId) -> Result<Vec<InviteRow>> {
        let mut read =
            self.db.prepare_cached(&format!("{SELECT_INVITE} WHERE t.id = ?1 ORDER BY i.created_at DESC, i.hash"))?;
        Ok(read.query_map([team.0], read_invite)?.collect::<rusqlite::Result<_>>()?)
    }

    /// Returns the invitation with this hash.
    pub fn invite(&self, hash: &[u8; 32]) -> Result<Option<InviteRow>> {
        let mut read = self.db.prepare_cached(&format!("{SELECT_INVITE} WHERE i.hash = ?1"))?;
        Ok(read.query_row([hash], read_invite).optional()?)
    }

    /// Returns all contacted addresses, the latest first.
    pub fn contacts(&self) -> Result<Vec<ContactRow>> {
        let mut read = self
            .db
            .prepare_cached("SELECT address, what, first, last FROM contacts ORDER BY last DESC, address, what")?;
        let rows = read.query_map([], |row| {
            Ok(ContactRow {
                address: row.get(0)?,
                what: row.get(1)?,
                first: row.get::<_, i64>(2)?.unsigned_abs(),
                last: row.get::<_, i64>(3)?.unsigned_abs(),
            })
        })?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}
