//! Checks of the whole file.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
};

use rusqlite::Connection;

use super::{CheckReport, Reader, Result, Store, StoreError, StoreProgress, StoreStep, error, open};
use crate::domain::{
    DeviceId, EventId, Scope, SignedEvent, derive,
    derive::{Projection, project},
};

/// The number of events that are read at once.
const BATCH: usize = 1_000;

/// The most problems of one kind that are reported individually.
const MAX_LISTED: usize = 20;

impl Store {
    /// Checks the whole file without changing it: SQLite's own checks, signatures, chains, bodies, and whether the
    /// projections are what a rebuild would compute.
    pub fn check(&self) -> Result<CheckReport> {
        self.reader.check()
    }

    /// Returns the damage that SQLite finds in a file that cannot be opened as a store; nothing if it cannot be read at
    /// all.
    pub fn damage_in_file(path: &Path) -> Vec<String> {
        open::reader(path).and_then(|db| file_problems(&db)).unwrap_or_default()
    }
}

impl Reader {
    /// Checks the file like [`Store::check`].
    pub fn check(&self) -> Result<CheckReport> {
        self.check_shown(&mut ())
    }

    /// Checks the file like [`Reader::check`], and reports the progress.
    pub fn check_shown(&self, progress: &mut dyn StoreProgress) -> Result<CheckReport> {
        self.in_place()?;
        self.snapshot(|reader| {
            let mut report = CheckReport::default();
            match reader.check_content(&mut report, progress) {
                // Damage that was found says more than the error of the next read.
                Err(error) if error.is_damage() && !report.problems.is_empty() => {
                    report.problems.push(format!("the check ended early: {error}"));
                }
                other => other?,
            }
            Ok(report)
        })
    }

    fn check_content(&self, report: &mut CheckReport, progress: &mut dyn StoreProgress) -> Result<()> {
        progress.at(StoreStep::whole("checking the file"));
        self.check_file(report)?;
        let mut events = Vec::new();
        self.check_events(report, progress, |event| events.push(event))?;
        progress.at(StoreStep::whole("comparing claims and cards with the events"));
        check_chains(&events, &self.compacted()?, report);
        self.check_quarantine(report)?;
        let authors: HashSet<DeviceId> = events.iter().map(|event| event.header.author).collect();
        report.devices = authors.len();
        compare(&self.projection()?, &project(&events, &*self.check), report);
        let wrong = super::project::wrong_notices(&self.db)?;
        if wrong > 0 {
            report.problems.push(format!("{wrong} notices differ from the log: run `ergo doctor --rebuild`"));
        }
        let wrong = super::project::wrong_counts(&self.db)?;
        if wrong > 0 {
            report
                .problems
                .push(format!("{wrong} claims have a wrong count of dependents: run `ergo doctor --rebuild`"));
        }
        report.problems.extend(super::vectors::problem(&self.db)?);
        report.problems.extend(super::team::consistency::problems(&self.db)?);
        Ok(())
    }

    /// Checks what no rebuild can compute again: the file itself, and the hash and signature of each event. Data that
    /// cannot be read is a problem of the report, not an error.
    pub(super) fn check_log(&self, progress: &mut dyn StoreProgress) -> Result<CheckReport> {
        let mut report = CheckReport::default();
        progress.at(StoreStep::whole("checking the file"));
        let file = self.check_file(&mut report);
        let events = self.check_events(&mut report, progress, drop);
        for checked in [file, events] {
            match checked {
                Err(StoreError::Sqlite(error)) if error::is_damage(&error) => {
                    report.problems.push(format!("SQLite: {error}"));
                }
                Err(error) if error.is_damage() => report.problems.push(error.to_string()),
                other => other?,
            }
        }
        Ok(report)
    }

    /// Returns whether SQLite finds no damage in the file, which says nothing about the events' signatures.
    pub fn is_sound(&self) -> Result<bool> {
        let mut report = CheckReport::default();
        match self.check_file(&mut report) {
            Err(error) if error.is_damage() => Ok(false),
            checked => checked.map(|()| report.problems.is_empty()),
        }
    }

    fn check_file(&self, report: &mut CheckReport) -> Result<()> {
        report.problems.extend(file_problems(&self.db)?);
        Ok(())
    }

    /// Notes the events in quarantine, because nothing else in the file refers to them. Those that cannot be read or do
    /// not verify are left to [`super::team::consistency`].
    fn check_quarantine(&self, report: &mut CheckReport) -> Result<()> {
        for (team, roster) in self.teams_with_rosters()? {
            let waiting: Vec<_> = self.undiscarded(&team.id, usize::MAX >> 1)?.into_iter().flatten().collect();
            for row in waiting.iter().take(MAX_LISTED) {
                let header = &row.event.header;
                let member = roster.member(&header.author);
                let device = member.map_or_else(|| header.author.short(), |member| member.name.clone());
                report.notes.push(format!(
                    "event {} in {} by {} on {device} is not accepted by the team {}: {}",
                    row.event.id.short(),
                    header.scope,
                    header.who,
                    roster.name(),
                    row.refusal
                ));
            }
            let more = waiting.len().saturating_sub(MAX_LISTED);
            if more > 0 {
                report.notes.push(format!(
                    "{more} more events are not accepted by the team {}: `ergo sync quarantine list` lists them",
                    roster.name()
                ));
            }
        }
        Ok(())
    }

    /// Checks the hash and signature of each event, and passes on those that can be read.
    fn check_events(
        &self,
        report: &mut CheckReport,
        progress: &mut dyn StoreProgress,
        mut pass_on: impl FnMut(SignedEvent),
    ) -> Result<()> {
        let total: i64 = self.db.query_row("SELECT count(*) FROM events NOT INDEXED", [], |row| row.get(0))?;
        let mut names = super::log::ScopeNames::default();
        let mut after = 0;
        loop {
            let mut read = self.db.prepare_cached(
                "SELECT n, id, header, signature, salt, body, scope FROM events WHERE n > ?1 ORDER BY n LIMIT ?2",
            )?;
            let mut rows = read.query(rusqlite::params![after, BATCH])?;
            let before = after;
            let (done, total) = (report.events as u64, total.unsigned_abs());
            progress.at(StoreStep { doing: "checking signatures", unit: "events", done, total });
            while let Some(row) = rows.next()? {
                after = row.get(0)?;
                report.events += 1;
                let id = EventId(row.get(1)?);
                let problems = report.problems.len();
                match super::log::read_signed(row)? {
                    Ok(mut event) => {
                        if event.id != id {
                            report.problems.push(format!("event {id} does not match the hash of its header"));
                        }
                        if let Err(error) = event.verify() {
                            report.problems.push(error.to_string());
                        }
                        report.redacted += usize::from(event.body.is_none());
                        // From here on the scope is that of this device, not its name in the team.
                        event.header.scope = names.of(&self.db, row.get(6)?)?;
                        pass_on(event);
                    }
                    Err(error) => report.problems.push(format!("event {id}: {error}")),
                }
                report.bad_events += report.problems.len() - problems;
            }
            if after == before {
                return Ok(());
            }
        }
    }
}

/// Returns what SQLite finds wrong with the file.
fn file_problems(db: &Connection) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    match find_file_problems(db, &mut problems) {
        // Damage can end the check that found it.
        Err(error) if error.is_damage() && !problems.is_empty() => {}
        other => other?,
    }
    Ok(problems)
}

fn find_file_problems(db: &Connection, problems: &mut Vec<String>) -> Result<()> {
    // The check of a text index uses the structure that this connection read last, and reports damage if another one
    // has changed it since (SQLite 3.54). A new cursor reads it again.
    for index in ["texts", "chunk_texts"] {
        // A damaged index is reported below.
        let _reported = db.query_row(&format!("SELECT rowid FROM {index} LIMIT 1"), [], |_| Ok(()));
    }
    let mut read = db.prepare("PRAGMA integrity_check(20)")?;
    for found in read.query_map([], |row| row.get::<_, String>(0))? {
        let found = found?;
        // The first line of several only names the database.
        let lines = found.lines().filter(|line| *line != "ok" && !line.starts_with("***"));
        problems.extend(lines.map(|line| match damaged_tree(db, line) {
            Some(tree) => format!("{tree} is damaged (SQLite: {line})"),
            None => format!("SQLite: {line}"),
        }));
    }
    let mut read = db.prepare("PRAGMA foreign_key_check")?;
    let mut rows = read.query([])?;
    while let Some(row) = rows.next()? {
        let (table, parent): (String, String) = (row.get(0)?, row.get(2)?);
        problems.push(format!("SQLite: a row of {table} refers to a missing row of {parent}"));
    }
    Ok(())
}

/// Returns the table or index that a line of SQLite's check is about, if the line has only the number of its root page.
fn damaged_tree(db: &Connection, line: &str) -> Option<String> {
    let root: i64 = line.strip_prefix("Tree ")?.split(' ').next()?.parse().ok()?;
    let find = "SELECT type, name, tbl_name FROM sqlite_schema WHERE rootpage = ?1";
    let (kind, name, table): (String, String, String) =
        db.query_row(find, [root], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).ok()?;
    let of = if name == table { String::new() } else { format!(" of the table “{table}”") };
    Some(format!("the {kind} “{name}”{of}"))
}

type Chain = (DeviceId, u64, Option<EventId>, Scope, bool);

/// Checks that each chain begins at 0 and has no gaps, and that each event names the previous one. Problems are
/// reported as notes: missing events may still arrive. Gaps of a local chain are ignored if compactions removed as many
/// events.
fn check_chains(events: &[SignedEvent], compacted: &HashMap<(DeviceId, u64, Scope), u64>, report: &mut CheckReport) {
    let mut chains: HashMap<Chain, Vec<&SignedEvent>> = HashMap::new();
    for event in events {
        let header = &event.header;
        let chain = (header.author, header.epoch, header.team, header.scope.clone(), derive::is_local(header));
        chains.entry(chain).or_default().push(event);
    }
    let mut notes = Vec::new();
    for ((author, epoch, _, scope, local), mut chain) in chains {
        chain.sort_by_key(|event| event.header.seq);
        let removed = if local { compacted.get(&(author, epoch, scope.clone())).copied().unwrap_or(0) } else { 0 };
        let last = chain.last().map_or(0, |event| event.header.seq + 1);
        let whole = removed > 0 && last.saturating_sub(chain.len() as u64) <= removed;
        let name = || {
            let log = if local { "local" } else { "shared" };
            format!("the {log} chain of device {}, epoch {epoch:x}, in {scope}", author.short())
        };
        if let Some(first) =
            chain.first().filter(|event| !whole && (event.header.seq != 0 || event.header.prev.is_some()))
        {
            notes.push(format!("{} begins at sequence number {} instead of 0", name(), first.header.seq));
        }
        for pair in chain.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            if before.header.seq == after.header.seq {
                notes.push(format!(
                    "{} forks at sequence number {}: {} and {}",
                    name(),
                    before.header.seq,
                    before.id,
                    after.id
                ));
            } else if before.header.seq + 1 != after.header.seq {
                if whole {
                    continue;
                }
                notes.push(format!(
                    "{} has a gap between sequence numbers {} and {}",
                    name(),
                    before.header.seq,
                    after.header.seq
                ));
            } else if after.header.prev != Some(before.id) {
                notes.push(format!("{}: event {} does not follow {}", name(), after.id, before.id));
            }
        }
    }
    notes.sort();
    report.notes.extend(notes);
}

/// Reports where the tables differ from what the log implies.
fn compare(stored: &Projection, derived: &Projection, report: &mut CheckReport) {
    let mut wrong = Vec::new();
    let claims = stored.claims.keys().chain(derived.claims.keys());
    wrong.extend(claims.filter(|id| stored.claims.get(id) != derived.claims.get(id)).map(|id| format!("claim {id}")));
    let cards = stored.cards.keys().chain(derived.cards.keys());
    wrong.extend(cards.filter(|id| stored.cards.get(id) != derived.cards.get(id)).map(|id| format!("card {id}")));
    wrong.extend(stored.undone.symmetric_difference(&derived.undone).map(|id| format!("the effect of event {id}")));
    wrong.extend(stored.redacted.symmetric_difference(&derived.redacted).map(|id| format!("the redaction of {id}")));
    wrong.sort();
    wrong.dedup();
    let more = wrong.len().saturating_sub(MAX_LISTED);
    wrong.truncate(MAX_LISTED);
    for what in wrong {
        report.problems.push(format!("{what} differs from the log: run `ergo doctor --rebuild`"));
    }
    if more > 0 {
        report.problems.push(format!("{more} more differ from the log"));
    }
}
