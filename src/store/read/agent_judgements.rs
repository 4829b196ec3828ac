//! Reads the verdicts of agents: how often each was asked, what it answered, and what a person overturned.

use std::collections::BTreeMap;

use rusqlite::params;

use crate::{
    domain::{AgentJudgements, PairVerdict, Scope},
    store::{Reader, Result, log},
};

/// SQL condition for judgements and for writes that were held to ask an agent. Must equal that of the index
/// `events_judging`, so that SQLite uses it.
macro_rules! judging {
    () => {
        "kind IN ('judgement.contradicts', 'judgement.replaces', 'judgement.same', 'judgement.compatible', 'local.held')"
    };
}

/// The number of the newest judgements and questions of an agent, or of all persons, that are searched for those of one
/// scope.
const MAX_SEARCHED: usize = 300;

/// The number of consecutive `compatible` judgements after which an agent is reported as calling everything compatible.
const ALWAYS_COMPATIBLE_RUN: usize = 50;

/// The most writes of one writer that are counted.
const MAX_COUNTED_WRITES: usize = 1000;

/// The newest verdicts in a scope that concern a writer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewestAnswers {
    /// The verdicts of persons and of the writer, the oldest first, without undone ones.
    pub verdicts: Vec<PairVerdict>,
    /// The number of claims that the writer stored in the scope since the oldest of these verdicts.
    pub writes: usize,
}

/// [`NewestAnswers`] of one scope and one writer.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswersInScope {
    pub scope: Scope,
    /// The agent that is the writer; `None` for persons.
    pub agent: Option<String>,
    pub answers: NewestAnswers,
}

/// Counts the claims that an agent stored in a scope since an event, by an index of agents.
const WRITES_OF_AGENT: &str = "SELECT count(*) FROM (
    SELECT 1 FROM events INDEXED BY events_by_agent
    WHERE agent = ?2 AND (wall, tick, n) > (?3, ?4, ?5) AND scope = ?1 AND kind IN ('assert', 'supersede') LIMIT ?6)";

/// Counts the claims that persons stored in a scope since an event, by an index of scopes.
const WRITES_OF_PERSONS: &str = "SELECT count(*) FROM (
    SELECT 1 FROM events INDEXED BY events_in_scope
    WHERE scope = ?1 AND (wall, tick, n) > (?3, ?4, ?5) AND agent IS ?2 AND kind IN ('assert', 'supersede') LIMIT ?6)";

/// A verdict with its position in the log and its scope.
#[derive(Clone, Debug)]
struct GivenVerdict {
    position: (i64, i64, i64),
    scope: i64,
    verdict: PairVerdict,
}

impl Reader {
    /// Returns the newest verdicts, at most `limit`, of persons and of one agent in a scope, and the number of writes
    /// of that agent, or of persons, since. Verdicts are missing if [`MAX_SEARCHED`] newer ones were given in other
    /// scopes.
    pub fn newest_answers(&self, scope: &Scope, agent: Option<&str>, limit: usize) -> Result<NewestAnswers> {
        self.snapshot(|reader| {
            let Some(scope) = log::known_scope(&reader.db, scope)? else { return Ok(NewestAnswers::default()) };
            let mut found = reader.verdicts_by(None, Some(scope), limit)?;
            if agent.is_some() {
                found.extend(reader.verdicts_by(agent, Some(scope), limit)?);
            }
            reader.newest(found, scope, agent, limit)
        })
    }

    /// Keeps the newest `limit` of some verdicts in a scope, and counts the writes since.
    fn newest(
        &self,
        mut given: Vec<GivenVerdict>,
        scope: i64,
        agent: Option<&str>,
        limit: usize,
    ) -> Result<NewestAnswers> {
        given.sort_unstable_by_key(|given| given.position);
        given.drain(..given.len().saturating_sub(limit));
        let Some(oldest) = given.first().map(|given| given.position) else { return Ok(NewestAnswers::default()) };
        let since = if agent.is_some() { WRITES_OF_AGENT } else { WRITES_OF_PERSONS };
        let writes = self
            .db
            .prepare_cached(since)?
            .query_row(params![scope, agent, oldest.0, oldest.1, oldest.2, MAX_COUNTED_WRITES], |row| row.get(0))?;
        Ok(NewestAnswers { verdicts: given.into_iter().map(|given| given.verdict).collect(), writes })
    }

    /// Returns [`Reader::newest_answers`] for each scope with verdicts: for persons, and for each agent that gave some
    /// there, of the first `agents` by name.
    pub fn newest_answers_by_scope(&self, agents: usize, limit: usize) -> Result<Vec<AnswersInScope>> {
        self.snapshot(|reader| {
            let mut named = reader.db.prepare_cached(concat!(
                "SELECT min(agent) FROM events INDEXED BY events_judging WHERE agent > ?1 AND ",
                judging!()
            ))?;
            let mut found = Vec::new();
            let persons = reader.verdicts_by(None, None, MAX_SEARCHED)?;
            let (mut agent, mut own) = (None::<String>, persons.clone());
            for _ in 0..=agents {
                let mut scopes: Vec<i64> = own.iter().map(|given| given.scope).collect();
                scopes.sort_unstable();
                scopes.dedup();
                for scope in scopes {
                    let others = if agent.is_some() { persons.as_slice() } else { &[] };
                    let here = own.iter().chain(others).filter(|given| given.scope == scope);
                    let answers = reader.newest(here.cloned().collect(), scope, agent.as_deref(), limit)?;
                    let scope = log::scope_by_number(&reader.db, scope)?;
                    found.push(AnswersInScope { scope, agent: agent.clone(), answers });
                }
                agent = named.query_row([agent.unwrap_or_default()], |row| row.get(0))?;
                if agent.is_none() {
                    break;
                }
                own = reader.verdicts_by(agent.as_deref(), None, MAX_SEARCHED)?;
            }
            Ok(found)
        })
    }

    /// Returns the newest verdicts of an agent, or of persons, at most `limit`, in a scope or everywhere, without
    /// undone ones.
    fn verdicts_by(&self, agent: Option<&str>, scope: Option<i64>, limit: usize) -> Result<Vec<GivenVerdict>> {
        let mut read = self.db.prepare_cached(concat!(
            "SELECT scope, kind, effective, wall, tick, n FROM events WHERE agent IS ?1 AND ",
            judging!(),
            " ORDER BY wall DESC, tick DESC, n DESC LIMIT ?2"
        ))?;
        let mut rows = read.query(params![agent, MAX_SEARCHED])?;
        let mut found = Vec::new();
        while found.len() < limit
            && let Some(row) = rows.next()?
        {
            let at: i64 = row.get(0)?;
            if scope.is_some_and(|scope| scope != at) || !row.get::<_, bool>(2)? {
                continue;
            }
            let kind: String = row.get(1)?;
            if let Some(verdict) = kind.strip_prefix("judgement.").and_then(|word| word.parse().ok()) {
                found.push(GivenVerdict { position: (row.get(3)?, row.get(4)?, row.get(5)?), scope: at, verdict });
            }
        }
        Ok(found)
    }

    /// Counts the judgements of each agent, in a scope or everywhere.
    pub fn agent_judgements(&self, scope: Option<&Scope>) -> Result<BTreeMap<String, AgentJudgements>> {
        self.snapshot(|reader| {
            let Some(log::WantedScope(scope)) = log::wanted_scope(&reader.db, scope)? else {
                return Ok(BTreeMap::new());
            };
            let mut counts: BTreeMap<String, AgentJudgements> = BTreeMap::new();
            let mut read = reader.db.prepare_cached(concat!(
                "SELECT agent, kind, count(*) FROM events WHERE agent <> '' AND (?1 IS NULL OR scope = ?1) AND ",
                judging!(),
                " GROUP BY agent, kind"
            ))?;
            let rows = read.query_map(params![scope], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, usize>(2)?))
            })?;
            for row in rows {
                let (agent, kind, many) = row?;
                let counts = counts.entry(agent).or_default();
                match kind.strip_prefix("judgement.").and_then(|word| word.parse::<PairVerdict>().ok()) {
                    Some(PairVerdict::Contradicts) => counts.contradicts += many,
                    Some(PairVerdict::Replaces) => counts.replaces += many,
                    Some(PairVerdict::Same) => counts.same += many,
                    Some(PairVerdict::Compatible) => counts.compatible += many,
                    None => counts.asked += many,
                }
            }
            for (agent, counts) in &mut counts {
                counts.overturned = reader.overturned(agent, scope)?;
                counts.always_compatible = reader.always_compatible(agent, scope)?;
            }
            Ok(counts)
        })
    }

    /// Counts the judgements of an agent that a person undid, judged otherwise later, or settled otherwise on the card.
    fn overturned(&self, agent: &str, scope: Option<i64>) -> Result<usize> {
        let mut read = self.db.prepare_cached(concat!(
            "SELECT count(*) FROM events j WHERE j.agent = ?1 AND (?2 IS NULL OR j.scope = ?2)
               AND j.",
            judging!(),
            " AND j.kind <> 'local.held' AND (
                 EXISTS (SELECT 1 FROM edges x JOIN events u ON u.n = x.src
                     WHERE x.dst = j.id AND x.role = 0 AND u.kind = 'undo' AND u.agent IS NULL AND u.effective = 1)
                 OR EXISTS (SELECT 1 FROM edges p JOIN edges q ON q.dst = p.dst AND q.role = 5 JOIN events o ON o.n = q.src
                     WHERE p.src = j.n AND p.role = 5 AND o.agent IS NULL AND o.effective = 1 AND o.kind <> j.kind
                       AND o.scope = j.scope AND (o.wall, o.tick) > (j.wall, j.tick))
                 OR (j.kind <> 'judgement.compatible' AND EXISTS (
                     SELECT 1 FROM edges a JOIN edges x ON x.dst = a.dst AND x.role = 0 JOIN events r ON r.n = x.src
                       JOIN edges y ON y.src = r.n AND y.role = 0
                     WHERE a.src = j.n AND a.role = 0 AND a.ord = 0 AND y.dst = (
                         SELECT b.dst FROM edges b WHERE b.src = j.n AND b.role = 0 AND b.ord = 1)
                       AND r.kind IN ('resolve.exception', 'resolve.dismiss') AND r.agent IS NULL AND r.effective = 1
                       AND (r.wall, r.tick) > (j.wall, j.tick))))"
        ))?;
        Ok(read.query_row(params![agent, scope], |row| row.get(0))?)
    }

    /// Returns whether the last [`ALWAYS_COMPATIBLE_RUN`] judgements of an agent are all `compatible`: too many for
    /// chance.
    fn always_compatible(&self, agent: &str, scope: Option<i64>) -> Result<bool> {
        let mut read = self.db.prepare_cached(concat!(
            "SELECT count(*), coalesce(sum(kind = 'judgement.compatible'), 0) FROM (
                 SELECT kind FROM events WHERE agent = ?1 AND (?2 IS NULL OR scope = ?2) AND ",
            judging!(),
            " AND kind <> 'local.held' ORDER BY wall DESC, tick DESC, n DESC LIMIT ?3)"
        ))?;
        let (all, compatible): (usize, usize) =
            read.query_row(params![agent, scope, ALWAYS_COMPATIBLE_RUN], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(all == ALWAYS_COMPATIBLE_RUN && compatible == all)
    }
}
