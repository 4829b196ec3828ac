//! The verdicts of agents: how often each was asked, what it answered, and what a person overturned.

use std::collections::BTreeMap;

use rusqlite::params;

use crate::{
    domain::{AgentJudgements, PairVerdict, Scope},
    store::{Reader, Result, log},
};

/// The events by which agents judge, or are asked to. Written as in the index `events_judging`, so that it is used.
macro_rules! judging {
    () => {
        "kind IN ('judgement.contradicts', 'judgement.replaces', 'judgement.same', 'judgement.compatible', 'local.held')"
    };
}

/// After how many consecutive `compatible` judgements an agent is reported as calling everything compatible.
const ALWAYS: usize = 50;

impl Reader {
    /// The judgements of each agent, in a scope or everywhere.
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

    /// The judgements of an agent that a person took back, judged otherwise later, or settled otherwise on the card.
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

    /// Whether the last judgements of an agent, so many that it is no chance, all say compatible.
    fn always_compatible(&self, agent: &str, scope: Option<i64>) -> Result<bool> {
        let mut read = self.db.prepare_cached(concat!(
            "SELECT count(*), coalesce(sum(kind = 'judgement.compatible'), 0) FROM (
                 SELECT kind FROM events WHERE agent = ?1 AND (?2 IS NULL OR scope = ?2) AND ",
            judging!(),
            " AND kind <> 'local.held' ORDER BY wall DESC, tick DESC, n DESC LIMIT ?3)"
        ))?;
        let (all, compatible): (usize, usize) =
            read.query_row(params![agent, scope, ALWAYS], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(all == ALWAYS && compatible == all)
    }
}
