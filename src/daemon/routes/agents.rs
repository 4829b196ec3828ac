//! Coding agents: which ones are connected, and what each did.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Extension, Json,
    extract::State,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures_util::{
    future::ready,
    stream::{StreamExt, once, pending},
};

use super::super::{
    extractors::QueryString,
    request_checks::RequestSource,
    response::{ErrorResponse, JsonResult},
    state::SharedState,
};
use crate::{
    api::{AgentSession, Agents, AgentsQuery, ApiError, ErrorCode, PresentQuery},
    domain::{Scope, text::sanitize_line},
    engine::system_clock,
};

/// The maximum length of an agent's name in characters. Longer names are cut.
const MAX_NAME: usize = 60;

/// The interval at which a comment is sent to an idle session. If its program is gone, sending fails and the session ends.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// The agents that wrote something, and those that are connected.
#[utoipa::path(get, path = "/agents", tag = "agents", params(AgentsQuery), responses(
    (status = 200, body = Agents), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn agents(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<AgentsQuery>,
) -> JsonResult<Agents> {
    let here = query.org_id.clone().zip(query.project.clone());
    let items = shared.engine(move |engine| engine.agents(&query)).await?;
    let mut connected = shared.agents.sessions();
    if let Some((org_id, project)) = here {
        let scope = Scope { org_id, project };
        connected.retain(|session| session.scope.as_ref().is_none_or(|own| *own == scope));
    }
    Ok(Json(Agents { items, connected }))
}

/// Registers an agent's session as connected while the client reads this response.
///
/// The response consists of a greeting and comments.
#[utoipa::path(get, path = "/agents/present", tag = "agents", params(PresentQuery), responses(
    (status = 200, description = "Server-sent events: `hello`, then comments only", body = String, content_type = "text/event-stream"),
    (status = 400, body = ApiError),
    (status = 503, description = "Too many sessions or streams are open", body = ApiError)))]
pub(in crate::daemon) async fn present(
    State(shared): State<SharedState>,
    Extension(source): Extension<RequestSource>,
    QueryString(query): QueryString<PresentQuery>,
) -> Result<Response, ErrorResponse> {
    let agent: String = sanitize_line(query.agent.trim()).chars().take(MAX_NAME).collect();
    if agent.is_empty() {
        return Err(ApiError::field("agent", "`agent` is missing: the name that the agent gives itself").into());
    }
    let scope = query.org_id.zip(query.project).map(|(org_id, project)| Scope { org_id, project });
    let session = AgentSession { agent, scope, since: system_clock() };
    let permit = shared.streams.take(source)?;
    let Some(open_session) = Arc::clone(&shared.agents).enter(session) else {
        let error = ApiError::new(ErrorCode::Unavailable, "too many agent sessions are open");
        return Err(error.hint("end some of them; this session works, but `ergo agents` does not show it").into());
    };
    let mut ending = shared.ending.subscribe();
    let end = async move {
        // Fails only if the daemon's state was dropped.
        drop(ending.wait_for(|ending| *ending).await);
    };
    let stream = once(ready(Ok::<_, Infallible>(Event::default().event("hello").data("{}"))))
        .chain(pending())
        .take_until(Box::pin(end))
        .map(move |event| {
            // The stream owns both, so that they are released with the response.
            let _held = (&open_session, &permit);
            event
        });
    Ok(Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response())
}
