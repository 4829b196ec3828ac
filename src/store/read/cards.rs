//! Reads conflict cards.

use rusqlite::{OptionalExtension, Row, params};

use super::{ListPosition, id_range};
use crate::{
    domain::{
        CardId, ClaimId, ClaimKind, Confusion, EventId, EventKind, Hlc, Qualifiers, Scope, StoryRule,
        derive::{CardKind, Lineage, SettledBy, local, local_note},
    },
    store::{
        CardFilter, CardRow, CardState, Lookup, Page, Reader, Result,
        log::{self, id_at},
        project::{SuccessionLine, content_hash, report_of},
    },
};

/// The row of a card, before its members and events are read.
struct CardRecord {
    n: i64,
    id: CardId,
    scope: i64,
    kind: CardKind,
    open: bool,
    moot: bool,
    new_claim: Option<EventId>,
    position: ListPosition,
    author: i64,
    settled: Option<i64>,
    snoozed: Option<i64>,
    rev: i64,
    story: Option<(Confusion, StoryRule)>,
}

/// The revision of the card `k`: its own, or that of a member that changed later.
macro_rules! card_rev {
    () => {
        "max(k.rev, coalesce((SELECT max(c.rev) FROM card_members m JOIN claims c ON c.id = m.member
            WHERE m.card = k.n), 0))"
    };
}

macro_rules! select_card {
    ($rest:literal) => {
        concat!(
            "SELECT k.n, k.id, k.scope, k.kind, k.open, k.moot, k.new_claim, k.wall, k.tick, k.author, k.settled,
                k.snoozed, ",
            card_rev!(),
            ", k.confusion, k.rule FROM cards k ",
            $rest
        )
    };
}

fn read_card(row: &Row<'_>) -> rusqlite::Result<CardRecord> {
    let kind: i64 = row.get(3)?;
    let n = row.get(0)?;
    Ok(CardRecord {
        n,
        id: CardId(row.get(1)?),
        scope: row.get(2)?,
        kind: CardKind::ALL
            .into_iter()
            .find(|known| *known as i64 == kind)
            .ok_or_else(|| log::unknown_code("kind of card", kind))?,
        open: row.get(4)?,
        moot: row.get(5)?,
        new_claim: log::optional_id_at(row, 6)?,
        position: ListPosition { wall: row.get(7)?, tick: row.get(8)?, n },
        author: row.get(9)?,
        settled: row.get(10)?,
        snoozed: row.get(11)?,
        rev: row.get(12)?,
        story: row
            .get::<_, Option<i64>>(13)?
            .and_then(Confusion::numbered)
            .zip(row.get::<_, Option<i64>>(14)?.and_then(StoryRule::numbered)),
    })
}

impl Reader {
    fn card_row(&self, base: CardRecord) -> Result<CardRow> {
        let mut read = self.db.prepare_cached("SELECT member FROM card_members WHERE card = ?1 ORDER BY ord")?;
        let members: Vec<EventId> = read.query_map([base.n], |row| id_at(row, 0))?.collect::<rusqlite::Result<_>>()?;
        let author = log::load(&self.db, base.author)?;
        Ok(CardRow {
            id: base.id,
            kind: base.kind,
            scope: log::scope_by_number(&self.db, base.scope)?,
            new_claim: base.new_claim,
            open: base.open,
            moot: base.moot,
            clock: Hlc { wall: base.position.wall.unsigned_abs(), count: base.position.tick as u32 },
            who: author.header.who,
            agent: author.header.agent,
            op: author.header.op,
            settled: base.settled.map(|n| self.settled_by(n)).transpose()?,
            snoozed_until: base.snoozed.map(i64::unsigned_abs),
            report: report_of(&self.db, &base.id, &members, &*self.check)?,
            rev: base.rev.unsigned_abs(),
            story: base.story,
            members,
        })
    }

    fn settled_by(&self, n: i64) -> Result<SettledBy> {
        let event = log::load(&self.db, n)?;
        let body = log::body(&self.db, n)?;
        let act = match &event.kind {
            EventKind::Resolve(act) => act.as_str().to_owned(),
            EventKind::Local(kind) if kind == local::DISCARD => kind.clone(),
            _ => local_note(body.as_ref()).act.unwrap_or_else(|| "settled".to_owned()),
        };
        Ok(SettledBy {
            event: event.id,
            act,
            who: event.header.who,
            agent: event.header.agent,
            clock: event.header.clock,
            reason: body.and_then(|body| body.reason),
            op: event.header.op,
        })
    }

    pub fn card(&self, id: &CardId) -> Result<Option<CardRow>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(select_card!("WHERE k.id = ?1"))?;
            let base = read.query_row([id.0], read_card).optional()?;
            base.map(|base| reader.card_row(base)).transpose()
        })
    }

    /// Finds a card by its id or a prefix of it, or by that of its refused new claim.
    pub fn find_card(&self, prefix: &str) -> Result<Lookup<CardId>> {
        let Some((low, high)) = id_range(prefix) else { return Ok(Lookup::None) };
        let mut read = self.db.prepare_cached("SELECT id FROM cards WHERE id BETWEEN ?1 AND ?2 LIMIT 10")?;
        let read_id = |row: &Row<'_>| Ok(CardId(id_at(row, 0)?.0));
        let mut found = read.query_map([low, high], read_id)?.collect::<rusqlite::Result<Vec<_>>>()?;
        // Cards need no index by new claim, because a card's id is computed from its new claim's.
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

    /// Returns the revision of a card; 0 if there is none.
    pub(super) fn card_rev(&self, id: &CardId) -> Result<u64> {
        let mut read = self.db.prepare_cached(concat!("SELECT ", card_rev!(), " FROM cards k WHERE k.id = ?1"))?;
        let rev: Option<i64> = read.query_row([id.0], |row| row.get(0)).optional()?;
        Ok(rev.map_or(0, i64::unsigned_abs))
    }

    /// Returns the kinds of the cards that are open and not snoozed at `now`, in milliseconds since the Unix epoch.
    pub fn waiting_kinds(&self, scope: Option<&Scope>, now: u64) -> Result<Vec<CardKind>> {
        let mut read = self.db.prepare_cached(
            "SELECT DISTINCT k.kind FROM cards k JOIN scopes s ON s.n = k.scope
             WHERE k.open = 1 AND coalesce(k.snoozed, 0) <= ?1 AND (?2 IS NULL OR s.org = ?2 AND s.project = ?3)",
        )?;
        let (org, project) = scope.map(|scope| (&scope.org_id, &scope.project)).unzip();
        let kinds = read.query_map(params![log::wall(now), org, project], |row| row.get::<_, i64>(0))?;
        let kinds = kinds.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(CardKind::ALL.into_iter().filter(|kind| kinds.contains(&(*kind as i64))).collect())
    }

    /// Returns when the first of the snoozes ends that still hold at `now`, both in milliseconds since the Unix epoch.
    pub fn next_snooze_end(&self, scope: Option<&Scope>, now: u64) -> Result<Option<u64>> {
        let mut read = self.db.prepare_cached(
            "SELECT min(k.snoozed) FROM cards k JOIN scopes s ON s.n = k.scope
             WHERE k.open = 1 AND k.snoozed > ?1 AND (?2 IS NULL OR s.org = ?2 AND s.project = ?3)",
        )?;
        let (org, project) = scope.map(|scope| (&scope.org_id, &scope.project)).unzip();
        let end = read.query_row(params![log::wall(now), org, project], |row| row.get::<_, Option<i64>>(0))?;
        Ok(end.map(i64::unsigned_abs))
    }

    /// Returns a page of cards, newest first.
    pub fn cards(&self, filter: &CardFilter, limit: usize, cursor: Option<&str>) -> Result<Page<CardRow>> {
        let after = ListPosition::parse(cursor)?;
        self.snapshot(|reader| {
            let Some(log::WantedScope(scope)) = log::wanted_scope(&reader.db, filter.scope.as_ref())? else {
                return Ok(Page { items: Vec::new(), total: 0, at_least: false, next: None });
            };
            // Each pair: the value of `open`, and for open cards whether they must be snoozed.
            let halves: &[(bool, Option<bool>)] = match filter.status {
                CardState::Open => &[(true, Some(false))],
                CardState::Snoozed => &[(true, Some(true))],
                CardState::Settled => &[(false, None)],
                CardState::All => &[(true, None), (false, None)],
            };
            let now = log::wall(filter.now);
            let kinds = filter.kinds.iter().fold(0_i64, |bits, kind| bits | 1 << *kind as i64);
            let mut found = Vec::new();
            let mut total = 0;
            for (open, snoozed) in halves {
                let mut rows = reader.db.prepare_cached(select_card!(
                    "WHERE k.open = ?1 AND (?2 IS NULL OR k.scope = ?2)
                     AND (?3 IS NULL OR (coalesce(k.snoozed, 0) > ?4) = ?3) AND (k.wall, k.tick, k.n) < (?5, ?6, ?7)
                     AND (?9 = 0 OR (?9 >> k.kind) & 1)
                     ORDER BY k.wall DESC, k.tick DESC, k.n DESC LIMIT ?8"
                ))?;
                let rows = rows.query_map(
                    params![open, scope, snoozed, now, after.wall, after.tick, after.n, limit.saturating_add(1), kinds],
                    read_card,
                )?;
                for row in rows {
                    found.push(row?);
                }
                let mut count = reader.db.prepare_cached(
                    "SELECT count(*) FROM cards WHERE open = ?1 AND (?2 IS NULL OR scope = ?2)
                     AND (?3 IS NULL OR (coalesce(snoozed, 0) > ?4) = ?3) AND (?5 = 0 OR (?5 >> kind) & 1)",
                )?;
                total += count.query_row(params![open, scope, snoozed, now, kinds], |row| row.get::<_, usize>(0))?;
            }
            found.sort_by_key(|card| std::cmp::Reverse(card.position));
            let more = found.len() > limit;
            found.truncate(limit);
            let next = found.last().filter(|_| more).map(|card| card.position.cursor());
            let items = found.into_iter().map(|card| reader.card_row(card)).collect::<Result<_>>()?;
            Ok(Page { items, total, at_least: false, next })
        })
    }

    /// Returns the cards, at most `most`, that persons settled among the `looked_at` newest settled cards of a scope,
    /// newest first; without those of held writes, which name no contradiction.
    pub fn cards_settled_by_persons(&self, scope: &Scope, looked_at: usize, most: usize) -> Result<Vec<CardRow>> {
        self.snapshot(|reader| {
            let Some(scope) = log::known_scope(&reader.db, scope)? else { return Ok(Vec::new()) };
            let mut read = reader.db.prepare_cached(select_card!(
                "JOIN events e ON e.n = k.settled
                 WHERE k.n IN (SELECT n FROM cards WHERE open = 0 AND scope = ?1 ORDER BY wall DESC, tick DESC, n DESC LIMIT ?2)
                 AND k.kind <> ?3 AND e.agent IS NULL ORDER BY k.wall DESC, k.tick DESC, k.n DESC LIMIT ?4"
            ))?;
            let cards = read.query_map(params![scope, looked_at, CardKind::Held as i64, most], read_card)?;
            let cards = cards.collect::<rusqlite::Result<Vec<_>>>()?;
            cards.into_iter().map(|card| reader.card_row(card)).collect()
        })
    }

    /// Returns the cards with a claim or new claim, open ones first; at most 200.
    pub fn cards_of(&self, member: &EventId) -> Result<Vec<CardRow>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(select_card!(
                "JOIN card_members mine ON mine.card = k.n WHERE mine.member = ?1
                 ORDER BY k.open DESC, k.wall DESC, k.tick DESC, k.n DESC LIMIT 200"
            ))?;
            let cards = read.query_map([member.0], read_card)?.collect::<rusqlite::Result<Vec<_>>>()?;
            cards.into_iter().map(|card| reader.card_row(card)).collect()
        })
    }

    /// Returns the latest card of a refused new claim with this kind and statement, an open one if there is one; see
    /// [`content_hash`].
    pub fn refused_card(&self, scope: &Scope, kind: ClaimKind, statement: &str) -> Result<Option<CardRow>> {
        self.snapshot(|reader| {
            let Some(scope) = log::known_scope(&reader.db, scope)? else { return Ok(None) };
            let content = content_hash(scope, kind, statement, &Qualifiers::default());
            let mut read = reader.db.prepare_cached(select_card!(
                "WHERE k.content = ?1 ORDER BY k.open DESC, k.wall DESC, k.tick DESC, k.n DESC LIMIT 1"
            ))?;
            let base = read.query_row([content], read_card).optional()?;
            base.map(|base| reader.card_row(base)).transpose()
        })
    }

    /// Returns whether a card was ever settled; that of a new claim also if the settlement was undone.
    pub fn was_settled(&self, card: &CardRow) -> Result<bool> {
        self.snapshot(|reader| {
            let Some(new_claim) = card.new_claim else { return Ok(card.settled.is_some()) };
            let Some(event) = log::load_id(&reader.db, &new_claim)? else { return Ok(false) };
            let pointing = log::pointing_at(&reader.db, &new_claim, log::EdgeRole::Target, event.scope)?;
            Ok(pointing.iter().any(|event| {
                matches!(&event.kind, EventKind::Local(kind) if kind == local::SETTLED || kind == local::DISCARD)
            }))
        })
    }

    /// Returns whether two claims share a card that is open or was settled. Cards of refused and held writes do not
    /// count: they do not concern two stored claims.
    pub fn share_a_card(&self, one: &ClaimId, other: &ClaimId) -> Result<bool> {
        let mut read = self.db.prepare_cached(
            "SELECT 1 FROM card_members a JOIN card_members b ON b.card = a.card JOIN cards k ON k.n = a.card
             WHERE a.member = ?1 AND b.member = ?2 AND (k.open = 1 OR k.settled IS NOT NULL) AND k.kind NOT IN (?3, ?4)",
        )?;
        Ok(read.exists(params![one.0, other.0, CardKind::Refused as i64, CardKind::Held as i64])?)
    }

    /// Returns whether an exception or a dismissal has settled this pair.
    pub fn is_settled_pair(&self, one: &ClaimId, other: &ClaimId) -> Result<bool> {
        self.snapshot(|reader| {
            let Some(event) = log::load_id(&reader.db, one)? else { return Ok(false) };
            // The scope of `one` does not matter: `is_settled` finds the scopes that decide about both.
            (SuccessionLine { db: &reader.db, scope: event.scope }).is_settled(one, other)
        })
    }
}
