//! The size of the store by kind of data.

use std::collections::BTreeMap;

use super::{Reader, Result};

/// A kind of data in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DataKind {
    /// Signed events of the shared log.
    SharedLog,
    /// Events of the local log.
    LocalLog,
    /// Vectors and their index.
    Vectors,
    /// Claims, cards and indexes, which are computed from the events.
    Projections,
    /// Documents, peers and the quarantine.
    Sync,
    /// The sum of all kinds above.
    InUse,
    /// Empty pages, which the next writes use.
    Free,
    /// The write-ahead log, a file beside the store's.
    WriteAheadLog,
}

/// The tables of sync.
const SYNC_TABLES: [&str; 11] = [
    "documents",
    "document_chunks",
    "document_entries",
    "peers",
    "peer_documents",
    "peer_progress",
    "quarantined",
    "chains",
    "forks",
    "invites",
    "contacts",
];

impl Reader {
    /// Returns the bytes in use, the free bytes and the write-ahead log; their sum is the size of both files. Takes as
    /// long for a large file as for a small one, because SQLite keeps these counts.
    pub fn size_in_use(&self) -> Result<BTreeMap<DataKind, u64>> {
        self.snapshot(|reader| {
            let [free, used] = reader.page_bytes()?;
            let wal = reader.wal_bytes();
            Ok(BTreeMap::from([(DataKind::InUse, used), (DataKind::Free, free), (DataKind::WriteAheadLog, wal)]))
        })
    }

    fn wal_bytes(&self) -> u64 {
        std::fs::metadata(super::open::wal_of(&self.path)).map_or(0, |file| file.len())
    }

    /// Returns the bytes of each kind of data; their sum is the size of the file and its write-ahead log. Reads every
    /// page: one
    ///
    /// second for a gigabyte. The two logs share their tables, whose bytes are divided in proportion to the headers and
    /// bodies.
    pub fn size_by_kind(&self) -> Result<BTreeMap<DataKind, u64>> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let mut sizes = BTreeMap::new();
            let mut read = db.prepare(
                "SELECT coalesce(s.tbl_name, d.name), sum(d.pgsize) FROM dbstat d LEFT JOIN sqlite_schema s ON s.name = d.name
                 WHERE d.aggregate = 1 GROUP BY 1",
            )?;
            let rows = read.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
            let mut of_logs = 0;
            for row in rows {
                let (table, bytes) = row?;
                let kind = match table.as_str() {
                    "events" | "edges" => {
                        of_logs += bytes;
                        continue;
                    }
                    "vectors" | "reason_vectors" | "vectors_next" => DataKind::Vectors,
                    name if name.starts_with("vector_index") => DataKind::Vectors,
                    name if SYNC_TABLES.contains(&name) => DataKind::Sync,
                    _ => DataKind::Projections,
                };
                *sizes.entry(kind).or_default() += bytes;
            }
            let mut read = db.prepare(
                "SELECT log, sum(length(header) + 64 + coalesce(length(salt) + length(body), 0)) FROM events GROUP BY log",
            )?;
            let mut logs = [0; 2];
            for row in read.query_map([], |row| Ok((row.get::<_, bool>(0)?, row.get::<_, i64>(1)?.unsigned_abs())))? {
                let (local, bytes) = row?;
                logs[usize::from(local)] = bytes;
            }
            let [shared, local] = logs;
            let share = u128::from(of_logs) * u128::from(local) / u128::from((shared + local).max(1));
            let local = u64::try_from(share).unwrap_or(of_logs);
            let [free, _] = reader.page_bytes()?;
            sizes.extend([
                (DataKind::SharedLog, of_logs - local),
                (DataKind::LocalLog, local),
                (DataKind::Free, free),
                (DataKind::WriteAheadLog, reader.wal_bytes()),
            ]);
            Ok(sizes)
        })
    }
}
