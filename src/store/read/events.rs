//! Reads the log: events, acts, and what depends on them.

use rusqlite::{OptionalExtension, Row, params};

use super::{ListPosition, id_range};
use crate::{
    domain::{
        CardId, ClaimId, EventId, EventKind, OpId, PairVerdict, Scope, SignedEvent,
        derive::{self, local},
        judgement::{PairJudgement, standing},
    },
    store::{
        EventRow, LogFilter, Lookup, Page, Reader, Result, levels,
        log::{self, EdgeRole, LoadedEvent, id_at},
        project,
    },
};

/// The most `depend` events on a claim as a premise among the [`Reader::events_of`] it.
const MOST_RESTING: usize = 100;

/// What stands in no list of what was done: parts of other events, and of files.
const UNLISTED: &str = "('local.evidence', 'local.warned', 'local.forced', 'local.retracted', 'local.chunk', 'local.chunk_gone', 'chunk', \
                        'chunk_gone')";

/// By whom an event is, in a list of the log that asks for somebody: each way has an index of its own.
#[derive(Clone, Copy)]
enum By {
    Anyone,
    /// They wrote it, through whatever agent.
    Person,
    /// It was written through them.
    Agent,
}

/// What a list of the log picks, as a condition on `?1`, the scope, `?2`, the earliest time, and `?3`, who. What an index is to serve is asked for
/// as an equality; what none is to serve has a `+` before it.
fn listed(in_scope: bool, filter: &LogFilter, by: By) -> String {
    let plus = if filter.refused { "+" } else { "" };
    let by = match by {
        By::Anyone => "?3 IS NULL".to_owned(),
        By::Person => format!("{plus}e.who = ?3"),
        By::Agent => format!("{plus}e.agent = ?3 AND e.who <> ?3"),
    };
    // A scope has its index, unless refusals or somebody are asked for: they are fewer.
    let plus = if filter.refused || filter.who.is_some() { "+" } else { "" };
    let scope =
        if in_scope { format!("{plus}e.scope = ?1") } else { "?1 IS NULL AND e.kind NOT LIKE 'roster.%'".to_owned() };
    let first = if filter.acts {
        format!(" AND NOT EXISTS (SELECT 1 FROM events f WHERE f.op = e.op AND f.n < e.n AND f.kind NOT IN {UNLISTED})")
    } else {
        String::new()
    };
    let kind = if filter.refused { " AND e.kind = 'local.refused'" } else { "" };
    let id = filter.id.as_deref().map_or_else(String::new, |prefix| format!(" AND {}", named(prefix)));
    format!("{scope} AND e.wall >= ?2 AND {by} AND e.kind NOT IN {UNLISTED}{kind}{first}{id}")
}

/// Picks the events whose id, or whose act's id, begins with these hexadecimal digits.
fn named(prefix: &str) -> String {
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
            // A team may know the scope by another name.
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

    /// An event.
    pub fn event(&self, id: &EventId) -> Result<Option<EventRow>> {
        self.snapshot(|reader| log::load_id(&reader.db, id)?.map(|event| reader.event_row(event)).transpose())
    }

    /// Every event of the shared log that made or acted on a claim, and what undid or redacted those, oldest first. Of the events that
    /// let others rest on it, which may be thousands, the newest [`MOST_RESTING`].
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
                params![claim.0, scope, MOST_RESTING],
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

    /// The effective events that create or refer to a card, and the evidence of its refusals, the earliest first.
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

    /// The latest `limit` effective events by which a claim was let stand beside others: exceptions, narrowings, dismissals and judgements, the
    /// newest first; those of its own scope and, of a claim of the organisation's level, those of a project that is read.
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

    /// Whether a project narrowed this claim of its organisation's level: a claim of the project stands in its place there.
    pub fn is_narrowed(&self, claim: &ClaimId, project: &Scope) -> Result<bool> {
        self.snapshot(|reader| match log::known_scope(&reader.db, project)? {
            Some(scope) => levels::is_narrowed(&reader.db, claim, scope),
            None => Ok(false),
        })
    }

    /// The judgement that holds of two claims in a scope, by the [`pair_key`] of their words.
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

    /// The events of an act, in the order in which they were made.
    pub fn op(&self, op: &OpId) -> Result<Vec<EventRow>> {
        self.snapshot(|reader| {
            let mut events = reader.loaded(log::select_loaded!("events e WHERE e.op = ?1"), [op.0])?;
            events.sort_by_key(|event| (event.header.clock, event.id));
            reader.event_rows(events)
        })
    }

    /// A caller's last act that still has effect and is no undo and no refusal; of a scope, or of the organisation's level that holds there.
    pub fn last_op(&self, who: &str, agent: Option<&str>, scope: Option<&Scope>) -> Result<Option<OpId>> {
        let scopes = scope.map(|scope| log::known_scopes(&self.db, &scope.in_force())).transpose()?;
        let (one, other) = scopes.as_ref().map_or((None, None), |known| (known.first(), known.last()));
        let mut read = self.db.prepare_cached(
            "SELECT op, kind FROM events WHERE who = ?1 AND agent IS ?2 AND (?3 OR scope IN (?4, ?5))
             AND effective = 1 ORDER BY wall DESC, tick DESC, n DESC",
        )?;
        let mut rows = read.query(params![who, agent, scope.is_none(), one, other])?;
        while let Some(row) = rows.next()? {
            let kind: String = row.get(1)?;
            if derive::may_be_last_act(&kind) {
                return Ok(Some(OpId(row.get(0)?)));
            }
        }
        Ok(None)
    }

    /// The undo in force that cancels an event.
    pub fn undo_of(&self, event: &EventId) -> Result<Option<EventRow>> {
        self.snapshot(|reader| {
            let Some(undone) = log::load_id(&reader.db, event)? else { return Ok(None) };
            let mut found = log::pointing_at(&reader.db, event, EdgeRole::Target, undone.scope)?.into_iter();
            found.find(|by| by.effective && derive::is_undo(&by.kind)).map(|by| reader.event_row(by)).transpose()
        })
    }

    /// Events outside an act that still have effect and build on it: while there are any, it cannot be undone.
    ///
    /// Undo events do not count, nor what merely speaks of a claim: judgements, refusals, findings, snoozes. Nor do redactions: what was removed
    /// stays removed, whether the claim is in force or not.
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
                    && !matches!(event.kind, EventKind::Judgement(_) | EventKind::Redact)
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

    /// A page of both logs without rosters, newest first by event clock. `total` is 0 unless the filter has a beginning: a
    /// whole log is not counted.
    pub fn log(&self, filter: &LogFilter, limit: usize, cursor: Option<&str>) -> Result<Page<EventRow>> {
        let after = ListPosition::parse(cursor)?;
        self.snapshot(|reader| {
            let Some(log::WantedScope(scope)) = log::wanted_scope(&reader.db, filter.scope.as_ref())? else {
                return Ok(Page { items: Vec::new(), total: 0, at_least: false, next: None });
            };
            let since = filter.since.map_or(i64::MIN, log::wall);
            let rows = limit.saturating_add(1);
            // What is found by its id needs no index of a list.
            let events_by = if filter.id.is_some() { "events e NOT INDEXED" } else { "events e" };
            let (mut events, mut total) = (Vec::new(), 0);
            for by in if filter.who.is_some() { &[By::Person, By::Agent][..] } else { &[By::Anyone] } {
                let listed = listed(scope.is_some(), filter, *by);
                let select = format!(
                    "SELECT e.n, e.id, e.scope, e.effective, e.header FROM {events_by} WHERE {listed}
                     AND (e.wall, e.tick, e.n) < (?4, ?5, ?6) ORDER BY e.wall DESC, e.tick DESC, e.n DESC LIMIT ?7"
                );
                events.extend(
                    reader.loaded(&select, params![scope, since, filter.who, after.wall, after.tick, after.n, rows])?,
                );
                if filter.since.is_some() {
                    let count = format!("SELECT count(*) FROM {events_by} WHERE {listed}");
                    let mut count = reader.db.prepare_cached(&count)?;
                    total += count.query_row(params![scope, since, filter.who], |row| row.get::<_, usize>(0))?;
                }
            }
            let place = |event: &LoadedEvent| ListPosition {
                wall: log::wall(event.header.clock.wall),
                tick: event.header.clock.count.into(),
                n: event.n,
            };
            events.sort_by_key(|event| std::cmp::Reverse(place(event)));
            let more = events.len() > limit;
            events.truncate(limit);
            let next = events.last().filter(|_| more).map(|event| place(event).cursor());
            Ok(Page { items: reader.event_rows(events)?, total, at_least: false, next })
        })
    }

    /// The signed events of both logs in the order of arrival, `limit` of them after position `after` (0 to begin), each
    /// with its position.
    pub fn signed_events(&self, after: u64, limit: usize) -> Result<Vec<(u64, SignedEvent)>> {
        let events = log::signed_after(&self.db, log::wall(after), limit)?;
        Ok(events.into_iter().map(|(n, event)| (n.unsigned_abs(), event)).collect())
    }

    /// What a card id or a prefix of one stands for. A refused new claim's id stands for its card.
    pub fn find_card(&self, prefix: &str) -> Result<Lookup<CardId>> {
        let Some((low, high)) = id_range(prefix) else { return Ok(Lookup::None) };
        let mut read = self.db.prepare_cached("SELECT id FROM cards WHERE id BETWEEN ?1 AND ?2 LIMIT 10")?;
        let read_id = |row: &Row<'_>| Ok(CardId(id_at(row, 0)?.0));
        let mut found = read.query_map([low, high], read_id)?.collect::<rusqlite::Result<Vec<_>>>()?;
        // Cards have no index by their new claims, and need none: their ids follow from them.
        let mut unstored = self.db.prepare_cached(
            "SELECT id FROM events WHERE id BETWEEN ?1 AND ?2 AND kind IN ('local.refused', 'local.held')",
        )?;
        let mut known = self.db.prepare_cached("SELECT 1 FROM cards WHERE id = ?1 AND new_claim IS NOT NULL")?;
        for new_claim in unstored.query_map([low, high], |row| id_at(row, 0))? {
            let card = CardId::of_members(&[new_claim?]);
            if !found.contains(&card) && known.exists([card.0])? {
                found.push(card);
            }
        }
        found.sort_unstable();
        found.truncate(10);
        Ok(Lookup::of(found))
    }
}
