//! Agents, with what they wrote.

use std::sync::PoisonError;

use crate::{
    api::{AgentView, AgentsQuery, ApiError},
    domain::AgentJudgements,
    engine::{Engine, validate},
};

/// Lists the agents that wrote something; the one with the latest write first.
pub(in crate::engine) fn agents(engine: &Engine, query: &AgentsQuery) -> Result<Vec<AgentView>, ApiError> {
    let scope = validate::optional_scope(query.org_id.as_deref(), query.project.as_deref())?;
    let mut tally = engine.agents.lock().unwrap_or_else(PoisonError::into_inner);
    let reader = engine.readers.lend();
    let rows = reader.agents(&mut tally, scope.as_ref())?;
    drop(tally);
    let judged = reader.agent_judgements(scope.as_ref())?;
    drop(reader);
    let mut items: Vec<AgentView> = Vec::new();
    for row in rows {
        match items.iter_mut().find(|item| item.agent == row.agent) {
            Some(item) => {
                item.wrote += row.wrote;
                item.refused += row.refused;
                (item.first, item.last) = (item.first.min(row.first), item.last.max(row.last));
                item.people.push(row.who);
            }
            None => items.push(AgentView {
                agent: row.agent,
                wrote: row.wrote,
                refused: row.refused,
                first: row.first,
                last: row.last,
                people: vec![row.who],
                judgements: AgentJudgements::default(),
            }),
        }
    }
    for item in &mut items {
        item.judgements = judged.get(&item.agent).copied().unwrap_or_default();
    }
    items.sort_by(|a, b| b.last.cmp(&a.last).then_with(|| a.agent.cmp(&b.agent)));
    Ok(items)
}
