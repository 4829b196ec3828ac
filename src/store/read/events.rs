//! Reads the log: events, acts, and the events that build on them.

use rusqlite::{OptionalExtension, params};

use super::{ListPosition, id_range};
use crate::{
    domain::{
        CardId, ClaimId, DeviceId, EventId, EventKind, OpId, PairVerdict, Scope, SignedEvent,
        derive::{self, local},
        judgement::{PairJudgement, standing},
    },
    store::{
        EventRow, LogFilter, Page, Reader, Result, levels,
        log::{self, EdgeRole, LoadedEvent},
        project,
    },
};

/// The most `depend` events with a claim as premise that [`Reader::events_of`] returns.
const MAX_DEPEND_EVENTS: usize = 100;

/// Kinds of events that lists of the log leave out: parts of other events, and chunks of files.
const UNLISTED: &str = "('local.evidence', 'local.warned', 'local.forced', 'local.retracted', 'local.chunk', 'local.chunk_gone', 'chunk', \
                        'chunk_gone')";

/// How a list of the log filters by author. Each variant has its own index.
#[derive(Clone, Copy)]
enum AuthorFilter {
    Anyone,
    /// Events of a person, through any agent.
    Person,
    /// Events through an agent.
    Agent,
}

/// Returns the SQL condition of a list of the log, with `?1` the scope, `?2` the earliest time and `?3` the author. A
/// term that should use an index is an equality; a term that should not has a `+` before it.
fn list_condition(in_scope: bool, filter: &LogFilter, by: AuthorFilter) -> String {
    let plus = if filter.refused { "+" } else { "" };
    let by = match by {
        AuthorFilter::Anyone => "?3 IS NULL".to_owned(),
        AuthorFilter::Person => format!("{plus}e.who = ?3"),
        AuthorFilter::Agent => format!("{plus}e.agent = ?3 AND e.who <> ?3"),
    };
    // Use the index of the scope, unless refusals or an author are asked for, which select fewer events.
    let plus = if filter.refused || filter.who.is_some() { "+" } else { "" };
    let scope =
        if in_scope { format!("{plus}e.scope = ?1") } else { "?1 IS NULL AND e.kind NOT LIKE 'roster.%'".to_owned() };
    let first = if filter.acts {
        format!(" AND NOT EXISTS (SELECT 1 FROM events f WHERE f.op = e.op AND f.n < e.n AND f.kind NOT IN {UNLISTED})")
    } else {
        String::new()
    };
    let kind = if filter.refused { " AND e.kind = 'local.refused'" } else { "" };
    let id = filter.id.as_deref().map_or_else(String::new, |prefix| format!(" AND {}", has_id_prefix(prefix)));
    format!("{scope} AND e.wall >= ?2 AND {by} AND e.kind NOT IN {UNLISTED}{kind}{first}{id}")
}

/// Returns the SQL condition for events whose id, or whose act's id, begins with these hexadecimal digits.
fn has_id_prefix(prefix: &str) -> String {
    let Some((low, high)) = id_range(prefix) else { return "0".to_owned() };
    let between = |column: &str, bytes: usize| {
        format!("{column} BETWEEN x'{}' AND x'{}'", hex::encode(&low[..bytes]), hex::encode(&high[..bytes]))
    };
    let [id, op] = [between("id", 32), between("op", 16)];
    format!("e.n IN (SELECT n FROM events WHERE {id} UNION SELECT n FROM events WHERE {op})")
}

impl Reader {
    pub(super) fn event_row(&self, event: LoadedEvent) -> Result<EventRow> {
        let body = log::body(&self.db, event.n)?;
        let header = event.header;
        let mut read = self.db.prepare_cached("SELECT name FROM devices WHERE device = ?1")?;
        let device_name = read.query_row([header.author.0], |row| row.get(0)).optional()?;
        Ok(EventRow {
            device_name,
            id: event.id,
            kind: event.kind,
            op: header.op,
            // Not the header's scope, which is the scope's name in the team.
            scope: log::scope_by_number(&self.db, event.scope)?,
            who: header.who,
            agent: header.agent,
            device: header.author,
            clock: header.clock,
            targets: header.targets,
            successor: header.successor,
            seen: header.seen,
            claim_kind: header.claim_kind,
            body,
            effective: event.effective,
        })
    }

    fn event_rows(&self, events: impl IntoIterator<Item = LoadedEvent>) -> Result<Vec<EventRow>> {
        events.into_iter().map(|event| self.event_row(event)).collect()
    }

    fn loaded(&self, sql: &str, params: impl rusqlite::Params) -> Result<Vec<LoadedEvent>> {
        let mut read = self.db.prepare_cached(sql)?;
        let rows = read.query_map(params, LoadedEvent::read)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    pub fn event(&self, id: &EventId) -> Result<Option<EventRow>> {
        self.snapshot(|reader| log::load_id(&reader.db, id)?.map(|event| reader.event_row(event)).transpose())
    }

    /// Returns the events of the shared log that created a claim, acted on it, or undid such an event, oldest first. Of
    /// the `depend` events with the claim as premise, which may be thousands, only the newest [`MAX_DEPEND_EVENTS`].
    pub fn events_of(&self, claim: &ClaimId) -> Result<Vec<EventRow>> {
        self.snapshot(|reader| {
            let Some(first) = log::load_id(&reader.db, claim)? else { return Ok(Vec::new()) };
            let scope = first.scope;
            let mut found = vec![first];
            found.extend(reader.loaded(
                log::select_loaded!(
                    "edges x JOIN events e ON e.n = x.src
                     WHERE x.dst = ?1 AND x.role = 0 AND e.scope = ?2 AND (x.ord = 0 OR e.kind <> 'depend')"
                ),
                params![claim.0, scope],
            )?);
            found.extend(reader.loaded(
                log::select_loaded!(
                    "edges x JOIN events e ON e.n = x.src
                     WHERE x.dst = ?1 AND x.role = 0 AND e.scope = ?2 AND x.ord > 0 AND e.kind = 'depend'
                     ORDER BY e.n DESC LIMIT ?3"
                ),
                params![claim.0, scope, MAX_DEPEND_EVENTS],
            )?);
            found.extend(log::pointing_at(&reader.db, claim, EdgeRole::Successor, scope)?);
            let mut next: Vec<EventId> = found.iter().skip(1).map(|event| event.id).collect();
            while let Some(id) = next.pop() {
                for event in log::pointing_at(&reader.db, &id, EdgeRole::Target, scope)? {
                    if derive::is_undo(&event.kind) && found.iter().all(|known| known.id != event.id) {
                        next.push(event.id);
                        found.push(event);
                    }
                }
            }
            found.retain(|event| !derive::is_local(&event.header));
            found.sort_by_key(|event| (event.header.clock, event.id));
            found.dedup_by_key(|event| event.id);
            reader.event_rows(found)
        })
    }

    /// Returns the effective events that create or refer to a card, the earliest first, each followed by the guard's
    /// evidence for it.
    pub fn events_of_card(&self, card: &CardId) -> Result<Vec<EventRow>> {
        self.snapshot(|reader| {
            let mut found = Vec::new();
            for event in project::events_of_card(&reader.db, card)? {
                let beside = log::pointing_at(&reader.db, &event.id, EdgeRole::Target, event.scope)?;
                found.push(event);
                found.extend(
                    beside.into_iter().filter(|e| e.effective && derive::is_local_kind(&e.kind, local::EVIDENCE)),
                );
            }
            reader.event_rows(found)
        })
    }

    /// Returns the latest `limit` effective events that accept a claim beside others, newest first: exceptions,
    /// narrowings, dismissals and `compatible` judgements, of the claim's own scope and of `project`, for a claim of
    /// the organisation's level.
    pub fn let_stand(&self, claim: &ClaimId, project: Option<&Scope>, limit: usize) -> Result<Vec<EventRow>> {
        self.snapshot(|reader| {
            let Some(event) = log::load_id(&reader.db, claim)? else { return Ok(Vec::new()) };
            let project = project.map(|scope| log::known_scope(&reader.db, scope)).transpose()?.flatten();
            let mut found = reader.loaded(
                log::select_loaded!(
                    "edges x JOIN events e ON e.n = x.src
                     WHERE x.dst = ?1 AND x.role = 0 AND e.scope IN (?2, ?3) AND e.effective = 1
                       AND e.kind IN ('resolve.exception', 'resolve.narrow', 'resolve.dismiss', 'judgement.compatible')
                     ORDER BY e.n DESC LIMIT ?4"
                ),
                params![claim.0, event.scope, project.unwrap_or(event.scope), limit],
            )?;
            found.dedup_by_key(|event| event.id);
            reader.event_rows(found)
        })
    }

    /// Returns whether a project narrowed this claim of its organisation's level, so that a claim of the project
    /// replaces it there.
    pub fn is_narrowed(&self, claim: &ClaimId, project: &Scope) -> Result<bool> {
        self.snapshot(|reader| match log::known_scope(&reader.db, project)? {
            Some(scope) => levels::is_narrowed(&reader.db, claim, scope),
            None => Ok(false),
        })
    }

    /// Returns the valid judgement of two claims in a scope, by the [`pair_key`] of their words.
    ///
    /// [`pair_key`]: crate::domain::judgement::pair_key
    pub fn judgement(&self, scope: &Scope, pair: &EventId) -> Result<Option<(PairVerdict, EventRow)>> {
        self.snapshot(|reader| {
            let Some(scope) = log::known_scope(&reader.db, scope)? else { return Ok(None) };
            let mut found = log::pointing_at(&reader.db, pair, EdgeRole::Pair, scope)?;
            found.retain(|event| event.effective);
            let standing = standing(found.iter().filter_map(|event| match event.kind {
                EventKind::Judgement(verdict) => Some(PairJudgement {
                    event: event.id,
                    clock: event.header.clock,
                    verdict,
                    by_person: event.header.agent.is_none(),
                }),
                _ => None,
            }));
            let Some(standing) = standing else { return Ok(None) };
            let Some(event) = found.into_iter().find(|event| event.id == standing.event) else { return Ok(None) };
            Ok(Some((standing.verdict, reader.event_row(event)?)))
        })
    }

    /// Returns the events of an act in the order of their clocks.
    pub fn op(&self, op: &OpId) -> Result<Vec<EventRow>> {
        self.snapshot(|reader| {
            let mut events = reader.loaded(log::select_loaded!("events e WHERE e.op = ?1"), [op.0])?;
            events.sort_by_key(|event| (event.header.clock, event.id));
            reader.event_rows(events)
        })
    }

    /// Returns whether an act settled a card.
    pub fn settles_card(&self, op: &OpId) -> Result<bool> {
        let mut read = self.db.prepare_cached(
            "SELECT 1 FROM events WHERE op = ?1 AND (kind LIKE 'resolve.%' AND kind <> 'resolve.reviewed'
                 OR kind IN ('local.settled', 'local.discard'))",
        )?;
        Ok(read.exists([op.0])?)
    }

    /// Returns the caller's last act that has effect and is neither an undo nor a refusal; with a scope, only acts in
    /// it or at its organisation's level.
    ///
    /// The last one that `device` wrote, in the order in which it was stored: event clocks go back if the machine's
    /// clock was days ahead and is set right. If the device wrote none, the newest of other devices by event clock.
    pub fn last_op(
        &self,
        device: &DeviceId,
        who: &str,
        agent: Option<&str>,
        scope: Option<&Scope>,
    ) -> Result<Option<OpId>> {
        let scopes = scope.map(|scope| log::known_scopes(&self.db, &scope.in_force())).transpose()?;
        let (one, other) = scopes.as_ref().map_or((None, None), |known| (known.first(), known.last()));
        // The first query reads the table backwards until it finds an act, the second one an index.
        for (events, order) in [
            ("events NOT INDEXED WHERE author = ?6", "n DESC"),
            ("events WHERE author <> ?6", "wall DESC, tick DESC, n DESC"),
        ] {
            let mut read = self.db.prepare_cached(&format!(
                "SELECT op, kind FROM {events} AND who = ?1 AND agent IS ?2 AND (?3 OR scope IN (?4, ?5))
                 AND effective = 1 ORDER BY {order}"
            ))?;
            let mut rows = read.query(params![who, agent, scope.is_none(), one, other, device.0])?;
            while let Some(row) = rows.next()? {
                let kind: String = row.get(1)?;
                if derive::may_be_last_act(&kind) {
                    return Ok(Some(OpId(row.get(0)?)));
                }
            }
        }
        Ok(None)
    }

    /// Returns the device that wrote the store's own events, if `device` wrote none: the store was copied from another
    /// device, or the key of this one was replaced.
    pub fn former_device(&self, device: &DeviceId) -> Result<Option<DeviceId>> {
        let mut wrote = self.db.prepare_cached("SELECT 1 FROM events WHERE author = ?1 LIMIT 1")?;
        if wrote.exists([device.0])? {
            return Ok(None);
        }
        // Events of the local log, and of no team, come from no peer.
        let own = "SELECT author FROM events NOT INDEXED WHERE log = 1 OR team IS NULL ORDER BY n DESC LIMIT 1";
        Ok(self.db.prepare_cached(own)?.query_row([], |row| Ok(DeviceId(row.get(0)?))).optional()?)
    }

    /// Returns the undo in force that cancels an event.
    pub fn undo_of(&self, event: &EventId) -> Result<Option<EventRow>> {
        self.snapshot(|reader| {
            let Some(undone) = log::load_id(&reader.db, event)? else { return Ok(None) };
            let mut found = log::pointing_at(&reader.db, event, EdgeRole::Target, undone.scope)?.into_iter();
            found.find(|by| by.effective && derive::is_undo(&by.kind)).map(|by| reader.event_row(by)).transpose()
        })
    }

    /// Returns the effective events of other acts that build on an act: while there are any, it cannot be undone.
    ///
    /// Undo events do not count, nor events that merely refer to a claim: judgements, sightings, refusals, findings,
    /// snoozes. Nor do redactions: a removed body stays removed, whether or not the claim is in force.
    pub fn built_on(&self, op: &OpId) -> Result<Vec<EventRow>> {
        self.snapshot(|reader| {
            let mut found = reader.loaded(
                log::select_loaded!(
                    "events own JOIN edges x ON x.dst = own.id AND x.role < 3
                     JOIN events e ON e.n = x.src AND e.scope = own.scope
                     WHERE own.op = ?1 AND e.op <> ?1 AND e.effective = 1"
                ),
                [op.0],
            )?;
            found.retain(|event| {
                !derive::is_undo(&event.kind)
                    && !derive::is_notice(&event.kind)
                    && !derive::is_redact(&event.kind)
                    && !matches!(event.kind, EventKind::Judgement(_) | EventKind::Observe)
                    && ![
                        local::REFUSED,
                        local::HELD,
                        local::EVIDENCE,
                        local::FOUND,
                        local::ASKED,
                        local::SNOOZE,
                        local::SEEN,
                    ]
                    .iter()
                    .any(|kind| derive::is_local_kind(&event.kind, kind))
            });
            found.sort_by_key(|event| (event.header.clock, event.id));
            found.dedup_by_key(|event| event.id);
            reader.event_rows(found)
        })
    }

    /// Returns a page of both logs without rosters, newest first by event clock. `total` is 0 unless the filter has
    /// `since`: the whole log is not counted.
    pub fn log(&self, filter: &LogFilter, limit: usize, cursor: Option<&str>) -> Result<Page<EventRow>> {
        let after = ListPosition::parse(cursor)?;
        self.snapshot(|reader| {
            let Some(log::WantedScope(scope)) = log::wanted_scope(&reader.db, filter.scope.as_ref())? else {
                return Ok(Page { items: Vec::new(), total: 0, at_least: false, next: None });
            };
            let since = filter.since.map_or(i64::MIN, log::wall);
            let rows = limit.saturating_add(1);
            // With an id, the condition selects row numbers, so SQLite must not use an index of a list instead.
            let events_by = if filter.id.is_some() { "events e NOT INDEXED" } else { "events e" };
            let (mut events, mut total) = (Vec::new(), 0);
            for by in if filter.who.is_some() {
                &[AuthorFilter::Person, AuthorFilter::Agent][..]
            } else {
                &[AuthorFilter::Anyone]
            } {
                let list_condition = list_condition(scope.is_some(), filter, *by);
                let select = format!(
                    "SELECT e.n, e.id, e.scope, e.effective, e.header FROM {events_by} WHERE {list_condition}
                     AND (e.wall, e.tick, e.n) < (?4, ?5, ?6) ORDER BY e.wall DESC, e.tick DESC, e.n DESC LIMIT ?7"
                );
                events.extend(
                    reader.loaded(&select, params![scope, since, filter.who, after.wall, after.tick, after.n, rows])?,
                );
                if filter.since.is_some() {
                    let count = format!("SELECT count(*) FROM {events_by} WHERE {list_condition}");
                    let mut count = reader.db.prepare_cached(&count)?;
                    total += count.query_row(params![scope, since, filter.who], |row| row.get::<_, usize>(0))?;
                }
            }
            let position_of = |event: &LoadedEvent| ListPosition {
                wall: log::wall(event.header.clock.wall),
                tick: event.header.clock.count.into(),
                n: event.n,
            };
            events.sort_by_key(|event| std::cmp::Reverse(position_of(event)));
            let more = events.len() > limit;
            events.truncate(limit);
            let next = events.last().filter(|_| more).map(|event| position_of(event).cursor());
            Ok(Page { items: reader.event_rows(events)?, total, at_least: false, next })
        })
    }

    /// Identifies the state of the log: returns how often events have left it or changed their scope, and the row
    /// number of the newest event.
    pub fn log_position(&self) -> Result<(i64, i64)> {
        let last = self.db.query_row("SELECT coalesce(max(n), 0) FROM events", [], |row| row.get(0))?;
        Ok((log::move_count(&self.db)?, last))
    }

    /// Returns the signed events of both logs in the order of arrival, `limit` of them after position `after` (0 to
    /// begin), each with its position.
    pub fn signed_events(&self, after: u64, limit: usize) -> Result<Vec<(u64, SignedEvent)>> {
        let events = log::signed_after(&self.db, log::wall(after), limit)?;
        Ok(events.into_iter().map(|(n, event)| (n.unsigned_abs(), event)).collect())
    }
}
