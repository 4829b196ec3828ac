//! `GET /questions`: writes that wait for verdicts.

use crate::{
    api::{ApiError, MAX_PAGE, Questions, QuestionsQuery, is_name_of},
    engine::{Engine, question, validate},
};

/// `GET /questions`.
pub(in crate::engine) fn questions(engine: &Engine, query: &QuestionsQuery) -> Result<Questions, ApiError> {
    let scope = validate::optional_scope(query.org_id.as_deref(), query.project.as_deref())?;
    let reader = engine.readers.lend();
    let mut items = Vec::new();
    for card in question::held_cards(&reader, scope.as_ref())? {
        // An agent is not asked again about a write whose storing a person undid.
        if query.agent.is_some() && reader.was_settled(&card)? {
            continue;
        }
        let by_who = query.who.as_ref().is_none_or(|who| *who == card.who);
        let by_agent =
            query.agent.as_ref().is_none_or(|of| card.agent.as_ref().is_some_and(|agent| is_name_of(of, agent)));
        if by_who && by_agent && items.len() < MAX_PAGE {
            match question::consider(&reader, &card, false) {
                Ok(question) => items.push(question),
                // One question that cannot be read must not hide the others.
                Err(error) => tracing::warn!(%error, "a question is not listed"),
            }
        }
    }
    Ok(Questions { items })
}
