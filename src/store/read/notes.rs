//! Reads for insights: the claims of an organisation with their sightings, judgements, cards, links and vectors.

use std::collections::{BTreeSet, HashMap};

use rusqlite::params;

use super::claims::bare_claims_by_number;
use crate::{
    domain::{
        CardId, ClaimId, EventId, EventKind, LinkKind, PairVerdict, derive,
        judgement::{JudgementData, PairJudgement, SCAN_JUDGE, pair_key, standing},
    },
    store::{
        ClaimRow, Reader, Result,
        log::{self, LoadedEvent, id_at},
        vectors,
    },
};

/// How often a claim was observed again, and when last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sightings {
    /// The number of observations.
    pub count: usize,
    /// The event clock of the latest observation, in milliseconds since the Unix epoch.
    pub last: u64,
}

/// The valid judgement of a pair of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JudgedWords {
    /// The hash of the new claim's words.
    pub new: EventId,
    /// The hash of the existing claim's words.
    pub existing: EventId,
    pub verdict: PairVerdict,
    /// The relation of the new claim to the existing one.
    pub link: Option<LinkKind>,
    /// The judgement is from the comparison after a scan of rule files, with the thresholds of that time.
    pub by_scan: bool,
}

/// A recorded link between two claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimLink {
    /// The claim that supports the other one, or is an exception to it.
    pub from: ClaimId,
    pub to: ClaimId,
    pub kind: LinkKind,
}

/// Changes to the claims of an organisation since a position in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClaimNews {
    /// The claims that the changes created or named, and those that share a card with them.
    pub claims: BTreeSet<ClaimId>,
    /// The judged pairs, as hashes of the words of the new and the existing claim.
    pub judged: Vec<(EventId, EventId)>,
    /// Whether one of the verdicts is `same`.
    pub says_same: bool,
}

impl Reader {
    /// Returns what the events after a row number changed about an organisation's claims. `None` if there are more than
    /// `most` events, or if one is an undo, a redaction or a promotion, whose targets do not name everything that
    /// changes.
    pub fn claim_news(&self, org: &str, after: i64, most: usize) -> Result<Option<ClaimNews>> {
        self.snapshot(|reader| {
            let db = &reader.db;
            let mut read = db.prepare_cached(log::select_loaded!("events e WHERE e.n > ?1 ORDER BY e.n LIMIT ?2"))?;
            let events =
                read.query_map(params![after, most + 1], LoadedEvent::read)?.collect::<rusqlite::Result<Vec<_>>>()?;
            if events.len() > most {
                return Ok(None);
            }
            let mut org_of = db.prepare_cached("SELECT org = ?2 FROM scopes WHERE n = ?1")?;
            let mut news = ClaimNews::default();
            for event in events {
                if !org_of.query_row(params![event.scope, org], |row| row.get::<_, bool>(0))? {
                    continue;
                }
                let is_act = derive::is_undo(&event.kind) || derive::is_redact(&event.kind);
                if is_act || event.kind == EventKind::Promote {
                    return Ok(None);
                }
                news.says_same |= event.kind == EventKind::Judgement(PairVerdict::Same);
                if matches!(event.kind, EventKind::Judgement(_))
                    && let Some(data) = JudgementData::of(log::body(db, event.n)?.as_ref())
                    && let (Ok(new), Ok(existing)) = (data.new.parse(), data.existing.parse())
                {
                    news.judged.push((new, existing));
                }
                news.claims.extend(event.header.targets.iter().chain(&event.header.successor).chain([&event.id]));
            }
            let mut beside = db.prepare_cached(
                "SELECT o.member FROM card_members m JOIN card_members o ON o.card = m.card WHERE m.member = ?1",
            )?;
            for claim in news.claims.clone() {
                let members = beside.query_map([claim.0], |row| id_at(row, 0))?;
                news.claims.extend(members.collect::<rusqlite::Result<Vec<_>>>()?);
            }
            Ok(Some(news))
        })
    }

    /// Returns the sightings of a claim, and whether it is on an open card.
    pub fn noted_of(&self, claim: &ClaimId) -> Result<(Sightings, bool)> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT count(*), coalesce(max(e.wall), 0) FROM claims c JOIN edges x ON x.dst = c.id AND x.role = 0
                 JOIN events e ON e.n = x.src AND e.scope = c.scope AND e.kind = 'observe' AND e.effective = 1
                 WHERE c.id = ?1",
            )?;
            let seen = read.query_row([claim.0], |row| {
                Ok(Sightings { count: row.get(0)?, last: row.get::<_, i64>(1)?.unsigned_abs() })
            })?;
            let mut read = reader.db.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM card_members m JOIN cards k ON k.n = m.card WHERE m.member = ?1 AND k.open = 1)",
            )?;
            Ok((seen, read.query_row([claim.0], |row| row.get(0))?))
        })
    }

    /// Returns the active guarded claims in all scopes of an organisation, in the order of arrival, without their
    /// relations.
    pub fn organisation_claims(&self, org: &str) -> Result<Vec<ClaimRow>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT c.n FROM claims c JOIN scopes s ON s.n = c.scope
                 WHERE s.org = ?1 AND c.status = 0 AND c.kind <> 0 AND c.undone = 0 AND c.redacted = 0 ORDER BY c.n",
            )?;
            let numbers = read.query_map([org], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
            bare_claims_by_number(&reader.db, numbers)
        })
    }

    /// Returns the sightings of an organisation's claims; claims without any are left out.
    pub fn sightings(&self, org: &str) -> Result<HashMap<ClaimId, Sightings>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT x.dst, count(*), max(e.wall) FROM scopes s
                 JOIN events e ON e.scope = s.n AND e.kind = 'observe' AND e.effective = 1
                 JOIN edges x ON x.src = e.n AND x.role = 0
                 JOIN claims c ON c.id = x.dst AND c.scope = e.scope
                 WHERE s.org = ?1 GROUP BY x.dst",
            )?;
            let rows = read.query_map([org], |row| {
                let last: i64 = row.get(2)?;
                Ok((id_at(row, 0)?, Sightings { count: row.get(1)?, last: last.unsigned_abs() }))
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the valid judgements in an organisation: one for each pair of statements, in whichever scope it was
    /// made.
    pub fn organisation_judgements(&self, org: &str) -> Result<Vec<JudgedWords>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT e.n, e.id, e.header FROM scopes s
                 JOIN events e ON e.scope = s.n AND e.effective = 1 AND e.kind IN
                    ('judgement.contradicts', 'judgement.replaces', 'judgement.same', 'judgement.compatible')
                 WHERE s.org = ?1",
            )?;
            let rows =
                read.query_map([org], |row| Ok((row.get::<_, i64>(0)?, id_at(row, 1)?, log::header_at(row, 2)?)))?;
            let mut pairs: HashMap<EventId, Vec<(PairJudgement, JudgedWords)>> = HashMap::new();
            for row in rows {
                let (n, event, header) = row?;
                let EventKind::Judgement(verdict) = header.kind else { continue };
                let Some(data) = JudgementData::of(log::body(&reader.db, n)?.as_ref()) else { continue };
                let (Ok(new), Ok(existing)) = (data.new.parse(), data.existing.parse()) else { continue };
                let by_person = header.agent.is_none();
                let judgement = PairJudgement { event, clock: header.clock, verdict, by_person };
                let by_scan = header.agent.as_deref() == Some(SCAN_JUDGE);
                let words = JudgedWords { new, existing, verdict, link: data.link, by_scan };
                pairs.entry(pair_key(&new, &existing)).or_default().push((judgement, words));
            }
            let mut found: Vec<(EventId, JudgedWords)> = Vec::with_capacity(pairs.len());
            for (key, judged) in pairs {
                let holds = standing(judged.iter().map(|(judgement, _)| *judgement));
                let words = judged.iter().find(|(judgement, _)| Some(judgement.event) == holds.map(|one| one.event));
                found.extend(words.map(|(_, words)| (key, *words)));
            }
            found.sort_by_key(|(key, _)| *key);
            Ok(found.into_iter().map(|(_, words)| words).collect())
        })
    }

    /// Returns the claims on open cards of an organisation, each with its card, in the order of cards and members.
    pub fn open_cards_in(&self, org: &str) -> Result<Vec<(ClaimId, CardId)>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT m.member, k.id FROM cards k JOIN scopes s ON s.n = k.scope JOIN card_members m ON m.card = k.n
                 WHERE k.open = 1 AND s.org = ?1 ORDER BY k.id, m.ord",
            )?;
            let rows = read.query_map([org], |row| Ok((id_at(row, 0)?, CardId(row.get(1)?))))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Returns the recorded links among active claims of an organisation: premises with dependents, and exceptions with
    /// their rules.
    pub fn claim_links(&self, org: &str) -> Result<Vec<ClaimLink>> {
        self.snapshot(|reader| {
            let mut links = Vec::new();
            let mut read = reader.db.prepare_cached(
                "SELECT p.id, c.id FROM scopes s JOIN claims c ON c.scope = s.n
                 JOIN dependencies d ON d.claim = c.n JOIN claims p ON p.n = d.premise
                 WHERE s.org = ?1 AND c.status = 0 AND p.status = 0",
            )?;
            let rows = read.query_map([org], |row| Ok((id_at(row, 0)?, id_at(row, 1)?)))?;
            for row in rows {
                let (from, to) = row?;
                links.push(ClaimLink { from, to, kind: LinkKind::Supports });
            }
            let mut read = reader.db.prepare_cached(
                "SELECT c.id, rule.dst FROM scopes s JOIN claims c ON c.scope = s.n AND c.excepted = 1 AND c.status = 0
                 JOIN edges first ON first.dst = c.id AND first.role = 0 AND first.ord = 0
                 JOIN events e ON e.n = first.src AND e.kind = 'resolve.exception' AND e.effective = 1
                 JOIN edges rule ON rule.src = e.n AND rule.role = 0 AND rule.ord > 0
                 WHERE s.org = ?1",
            )?;
            let rows = read.query_map([org], |row| Ok((id_at(row, 0)?, id_at(row, 1)?)))?;
            for row in rows {
                let (from, to) = row?;
                links.push(ClaimLink { from, to, kind: LinkKind::ExceptionTo });
            }
            links.sort_unstable();
            links.dedup();
            Ok(links)
        })
    }

    /// Returns the vectors of the active guarded claims of an organisation, each of length 1.
    pub fn organisation_vectors(&self, org: &str) -> Result<HashMap<ClaimId, Vec<f32>>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT c.id, v.code FROM scopes s JOIN claims c ON c.scope = s.n JOIN vectors v ON v.claim = c.n
                 WHERE s.org = ?1 AND c.status = 0 AND c.kind <> 0",
            )?;
            let rows = read.query_map(params![org], |row| Ok((id_at(row, 0)?, row.get::<_, Vec<u8>>(1)?)))?;
            let mut found = HashMap::new();
            for row in rows {
                let (id, code) = row?;
                found.extend(vectors::unit_of(&code).map(|vector| (id, vector)));
            }
            Ok(found)
        })
    }
}
