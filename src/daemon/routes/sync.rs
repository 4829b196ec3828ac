//! Teams: the paths under `/sync` except those of bundles.

use axum::{Json, extract::State};

use super::super::{
    extractors::{IdInPath, JsonBody, NoFields, QueryString},
    response::{JsonResult, value},
    state::SharedState,
};
use crate::api::{
    AddressRequest, AdoptRequest, AnswerJoinRequest, ApiError, ApproveRequest, BindRequest, CardRequest, Contacts,
    CreateTeamRequest, DeviceCard, GrantRequest, InviteRequest, InviteView, Invites, JoinRequest, JoinView,
    LeaveRequest, ModeRequest, Peers, PendingJoin, PendingJoins, QuarantineRequest, QuarantinedList, QuarantinedQuery,
    RenameRequest, RevokeRequest, SyncNowRequest, SyncRound, SyncStatus, TeamDone, TeamView,
};

/// The state of sync with every peer, and problems.
#[utoipa::path(get, path = "/sync/status", tag = "sync", responses((status = 200, body = SyncStatus)))]
pub(in crate::daemon) async fn sync_status(State(shared): State<SharedState>, _: NoFields) -> JsonResult<SyncStatus> {
    value(shared.teams.status().await)
}

/// The devices of the teams.
#[utoipa::path(get, path = "/sync/peers", tag = "sync", responses((status = 200, body = Peers)))]
pub(in crate::daemon) async fn sync_peers(State(shared): State<SharedState>, _: NoFields) -> JsonResult<Peers> {
    value(shared.teams.peers().await)
}

/// Every address that this device has contacted.
#[utoipa::path(get, path = "/sync/contacts", tag = "sync", responses((status = 200, body = Contacts)))]
pub(in crate::daemon) async fn sync_contacts(State(shared): State<SharedState>, _: NoFields) -> JsonResult<Contacts> {
    value(shared.engine(crate::engine::Engine::contacts).await)
}

/// The valid invitations.
#[utoipa::path(get, path = "/sync/invites", tag = "sync", responses((status = 200, body = Invites)))]
pub(in crate::daemon) async fn sync_invites(State(shared): State<SharedState>, _: NoFields) -> JsonResult<Invites> {
    value(shared.teams.invites().await)
}

/// Cancels an invitation.
#[utoipa::path(post, path = "/sync/invites/{id}/cancel", tag = "sync", params(("id" = String, Path, description = "An invitation's id or its first digits, at least 4")), responses(
    (status = 200, body = InviteView), (status = 404, body = ApiError),
    (status = 409, description = "The prefix is ambiguous", body = ApiError)))]
pub(in crate::daemon) async fn sync_cancel(
    State(shared): State<SharedState>,
    IdInPath(id): IdInPath,
    _: NoFields,
) -> JsonResult<InviteView> {
    value(shared.teams.cancel(&id).await)
}

/// The join requests.
#[utoipa::path(get, path = "/sync/pending", tag = "sync", responses((status = 200, body = PendingJoins)))]
pub(in crate::daemon) async fn sync_pending(State(shared): State<SharedState>, _: NoFields) -> Json<PendingJoins> {
    Json(shared.teams.pending())
}

/// Admits or denies a join request.
#[utoipa::path(post, path = "/sync/pending/{id}", tag = "sync", params(("id" = String, Path, description = "An id of `GET /sync/pending` or its first digits, at least 4")),
    request_body = AnswerJoinRequest, responses(
    (status = 200, body = PendingJoin), (status = 400, description = "The words are not the ones \
        shown", body = ApiError), (status = 404, body = ApiError),
    (status = 409, description = "The prefix is ambiguous, or the device has disconnected", body = ApiError)))]
pub(in crate::daemon) async fn sync_answer(
    State(shared): State<SharedState>,
    IdInPath(id): IdInPath,
    JsonBody(request): JsonBody<AnswerJoinRequest>,
) -> JsonResult<PendingJoin> {
    value(shared.teams.answer(&id, request).await)
}

/// The state of an attempt to join.
#[utoipa::path(get, path = "/sync/joins/{id}", tag = "sync", params(("id" = String, Path, description = "The id of a JoinView")), responses(
    (status = 200, body = JoinView), (status = 404, body = ApiError)))]
pub(in crate::daemon) async fn sync_joined(
    State(shared): State<SharedState>,
    IdInPath(id): IdInPath,
    _: NoFields,
) -> JsonResult<JoinView> {
    value(shared.teams.joined(&id))
}

/// The events in quarantine.
#[utoipa::path(get, path = "/sync/quarantined", tag = "sync", params(QuarantinedQuery), responses(
    (status = 200, body = QuarantinedList), (status = 404, body = ApiError)))]
pub(in crate::daemon) async fn sync_quarantined(
    State(shared): State<SharedState>,
    QueryString(query): QueryString<QuarantinedQuery>,
) -> JsonResult<QuarantinedList> {
    value(shared.teams.quarantined(query).await)
}

/// Defines the handlers of acts, each of which calls a method of `Teams`.
macro_rules! acts {
    ($($(#[doc = $doc:literal])+ $path:literal $name:ident($request:ty) -> $answer:ty = $act:ident;)+) => {$(
        $(#[doc = $doc])+
        #[utoipa::path(post, path = $path, tag = "sync", request_body = $request, responses(
            (status = 200, body = $answer), (status = 400, description = "A field is invalid", body = ApiError),
            (status = 404, body = ApiError),
            (status = 409, description = "A prefix is ambiguous, the state has changed, or the `op_id` was used", body = ApiError)))]
        pub(in crate::daemon) async fn $name(
            State(shared): State<SharedState>,
            JsonBody(request): JsonBody<$request>,
        ) -> JsonResult<$answer> {
            value(shared.teams.$act(request).await)
        }
    )+};
}

acts! {
    /// Creates a team.
    "/sync/create" sync_create(CreateTeamRequest) -> TeamView = create;
    /// Creates an invitation for one device.
    "/sync/invite" sync_invite(InviteRequest) -> InviteView = invite;
    /// Joins a team; with a ticket, answers as soon as the words to compare are known.
    "/sync/join" sync_join(JoinRequest) -> JoinView = join;
    /// Writes this device's request file.
    "/sync/card" sync_card(CardRequest) -> DeviceCard = card;
    /// Reads a request file, and admits its device.
    "/sync/approve" sync_approve(ApproveRequest) -> DeviceCard = approve;
    /// Renames a device, or the team.
    "/sync/rename" sync_rename(RenameRequest) -> TeamDone = rename;
    /// Changes what a device may do.
    "/sync/grant" sync_grant(GrantRequest) -> TeamDone = grant;
    /// Revokes a device.
    "/sync/revoke" sync_revoke(RevokeRequest) -> TeamDone = revoke;
    /// Leaves the team.
    "/sync/leave" sync_leave(LeaveRequest) -> TeamDone = leave;
    /// Shares a scope with its history.
    "/sync/adopt" sync_adopt(AdoptRequest) -> TeamDone = adopt;
    /// Gives a scope of the team another name on this device.
    "/sync/bind" sync_bind(BindRequest) -> TeamDone = bind;
    /// Accepts quarantined events, for the whole team.
    "/sync/quarantined/accept" sync_accept(QuarantineRequest) -> TeamDone = accept;
    /// Discards quarantined events, on this device.
    "/sync/quarantined/discard" sync_discard(QuarantineRequest) -> TeamDone = discard;
    /// Syncs with every peer, or one, and on request waits for the result.
    "/sync/now" sync_now(SyncNowRequest) -> SyncRound = sync_now;
    /// Sets the network mode.
    "/sync/mode" sync_mode(ModeRequest) -> SyncStatus = set_mode;
    /// Stores an address of a device.
    "/sync/address" sync_address(AddressRequest) -> SyncStatus = address;
}
