//! Conflict cards.

use axum::{Json, extract::State};

use super::super::{
    extractors::{IdInPath, JsonBody, QueryString},
    response::{JsonResult, WriteResult, value, written},
    state::SharedState,
};
use crate::api::{
    ApiError, AsOf, CardView, ConflictsPage, ConflictsQuery, Inbox, InboxGroup, InboxItem, InboxKind, InboxQuery,
    ResolveManyRequest, ResolveRequest, ResolvedMany, WriteConflict, WriteOutcome,
};

/// A page of cards, newest first.
#[utoipa::path(get, path = "/conflicts", tag = "conflicts", params(ConflictsQuery), responses(
    (status = 200, body = ConflictsPage), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn conflicts(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<ConflictsQuery>,
) -> JsonResult<ConflictsPage> {
    value(shared.engine(move |engine| engine.conflicts(&query)).await)
}

/// Everything that needs attention, in groups with their counts.
#[utoipa::path(get, path = "/inbox", tag = "conflicts", params(InboxQuery), responses(
    (status = 200, body = Inbox), (status = 400, body = ApiError)))]
pub(in crate::daemon) async fn inbox(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<InboxQuery>,
) -> JsonResult<Inbox> {
    let asked = query.group.is_none_or(|group| group == InboxKind::Joining);
    let mut inbox = shared.engine(move |engine| engine.inbox(&query)).await?;
    let waiting = shared.teams.pending().items;
    if asked && !waiting.is_empty() {
        inbox.total += waiting.len();
        let total = waiting.len();
        let items = waiting.into_iter().map(|join| InboxItem::Joining(Box::new(join))).collect();
        // Join requests come first, since they expire after some minutes.
        inbox.groups.insert(0, InboxGroup { group: InboxKind::Joining, total, at_least: false, items, next: None });
    }
    Ok(Json(inbox))
}

/// One card in full, by id or prefix.
#[utoipa::path(get, path = "/conflicts/{id}", tag = "conflicts", params(("id" = String, Path, description = "An id or its first digits, at least 4"), AsOf), responses(
    (status = 200, body = CardView), (status = 404, body = ApiError), (status = 409, description = "The prefix is ambiguous", body = ApiError)))]
pub(in crate::daemon) async fn card(
    State(shared): State<SharedState>,
    IdInPath(id): IdInPath,
    QueryString(at): QueryString<AsOf>,
) -> JsonResult<CardView> {
    value(shared.engine(move |engine| engine.card_at(&id, at.as_of)).await)
}

/// Settles or snoozes a card.
#[utoipa::path(post, path = "/conflicts/{id}/resolve", tag = "conflicts", params(("id" = String, Path, description = "An id or its first digits, at least 4")),
    request_body = ResolveRequest, responses(
    (status = 200, body = WriteOutcome),
    (status = 400, description = "A field is invalid; it is named", body = ApiError),
    (status = 403, description = "Only a person may settle this card, or settle it in this way", body = ApiError),
    (status = 404, description = "There is no such card", body = ApiError),
    (status = 409, description = "The guard refused it, the card has changed, a prefix is ambiguous, or the `op_id` was used", body = WriteConflict)))]
pub(in crate::daemon) async fn resolve(
    State(shared): State<SharedState>,
    IdInPath(id): IdInPath,
    JsonBody(request): JsonBody<ResolveRequest>,
) -> WriteResult {
    written(shared.engine(move |engine| engine.resolve(&id, request)).await)
}

/// Settles or snoozes many cards of one scope by one change.
#[utoipa::path(post, path = "/conflicts/resolve", tag = "conflicts", request_body = ResolveManyRequest, responses(
    (status = 200, description = "The result for each card", body = ResolvedMany),
    (status = 400, description = "A field is invalid; it is named", body = ApiError),
    (status = 409, description = "The `op_id` was used for another request", body = ApiError)))]
pub(in crate::daemon) async fn resolve_many(
    State(shared): State<SharedState>,
    JsonBody(request): JsonBody<ResolveManyRequest>,
) -> JsonResult<ResolvedMany> {
    value(shared.engine(move |engine| engine.resolve_many(&request)).await)
}
