//! Methods for the endpoints under `/sync`.

use std::time::Duration;

use serde::Serialize;

use super::{
    Client, DEADLINE, Request,
    typed::{ClientResult, encode, name_op, post_request, segment},
};
use crate::api::{
    AddressRequest, AdoptRequest, AnswerJoinRequest, ApproveRequest, BindRequest, CardRequest, Contacts,
    CreateTeamRequest, DeviceCard, GrantRequest, InviteRequest, InviteView, Invites, JoinRequest, JoinView,
    LeaveRequest, ModeRequest, Peers, PendingJoin, PendingJoins, QuarantineRequest, QuarantinedList, QuarantinedQuery,
    RenameRequest, RevokeRequest, SyncNowRequest, SyncRound, SyncStatus, TeamDone, TeamView,
};

/// The deadline of a join until the verification code is known: the other device must be found and dialled.
const JOIN_DEADLINE: Duration = Duration::from_secs(45);

impl Client {
    /// `GET /sync/status`.
    pub async fn sync_status(&self) -> ClientResult<SyncStatus> {
        self.get("/sync/status", "").await
    }

    /// `GET /sync/peers`.
    pub async fn sync_peers(&self) -> ClientResult<Peers> {
        self.get("/sync/peers", "").await
    }

    /// `GET /sync/contacts`.
    pub async fn sync_contacts(&self) -> ClientResult<Contacts> {
        self.get("/sync/contacts", "").await
    }

    /// `POST /sync/create`.
    pub async fn sync_create(&self, request: &CreateTeamRequest) -> ClientResult<TeamView> {
        self.team("/sync/create", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/invite`.
    pub async fn sync_invite(&self, request: &InviteRequest) -> ClientResult<InviteView> {
        self.team("/sync/invite", request.clone(), |r| &mut r.caller).await
    }

    /// `GET /sync/invites`.
    pub async fn sync_invites(&self) -> ClientResult<Invites> {
        self.get("/sync/invites", "").await
    }

    /// `GET /sync/pending`.
    pub async fn sync_pending(&self) -> ClientResult<PendingJoins> {
        self.get("/sync/pending", "").await
    }

    /// `POST /sync/pending/{id}`.
    pub async fn sync_answer(&self, id: &str, request: &AnswerJoinRequest) -> ClientResult<PendingJoin> {
        let path = format!("/sync/pending/{}", segment(id));
        self.team(&path, request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/join`: answers when the verification code is known.
    pub async fn sync_join(&self, request: &JoinRequest) -> ClientResult<JoinView> {
        let mut request = request.clone();
        name_op(&mut request.caller)?;
        self.value(Request { deadline: JOIN_DEADLINE, ..post_request("/sync/join", &request)? }).await
    }

    /// `GET /sync/joins/{id}`.
    pub async fn sync_joined(&self, id: &str) -> ClientResult<JoinView> {
        self.get(&format!("/sync/joins/{}", segment(id)), "").await
    }

    /// `POST /sync/card`.
    pub async fn sync_card(&self, request: &CardRequest) -> ClientResult<DeviceCard> {
        self.team("/sync/card", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/approve`.
    pub async fn sync_approve(&self, request: &ApproveRequest) -> ClientResult<DeviceCard> {
        self.team("/sync/approve", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/rename`.
    pub async fn sync_rename(&self, request: &RenameRequest) -> ClientResult<TeamDone> {
        self.team("/sync/rename", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/grant`.
    pub async fn sync_grant(&self, request: &GrantRequest) -> ClientResult<TeamDone> {
        self.team("/sync/grant", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/revoke`.
    pub async fn sync_revoke(&self, request: &RevokeRequest) -> ClientResult<TeamDone> {
        self.team("/sync/revoke", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/leave`.
    pub async fn sync_leave(&self, request: &LeaveRequest) -> ClientResult<TeamDone> {
        self.team("/sync/leave", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/adopt`.
    pub async fn sync_adopt(&self, request: &AdoptRequest) -> ClientResult<TeamDone> {
        self.team("/sync/adopt", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/bind`.
    pub async fn sync_bind(&self, request: &BindRequest) -> ClientResult<TeamDone> {
        self.team("/sync/bind", request.clone(), |r| &mut r.caller).await
    }

    /// `GET /sync/quarantined`.
    pub async fn sync_quarantined(&self, query: &QuarantinedQuery) -> ClientResult<QuarantinedList> {
        self.get("/sync/quarantined", &encode(query)?).await
    }

    /// `POST /sync/quarantined/accept`.
    pub async fn sync_accept(&self, request: &QuarantineRequest) -> ClientResult<TeamDone> {
        self.team("/sync/quarantined/accept", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/quarantined/discard`.
    pub async fn sync_discard(&self, request: &QuarantineRequest) -> ClientResult<TeamDone> {
        self.team("/sync/quarantined/discard", request.clone(), |r| &mut r.caller).await
    }

    /// `POST /sync/mode`.
    pub async fn sync_mode(&self, request: &ModeRequest) -> ClientResult<SyncStatus> {
        self.post("/sync/mode", request).await
    }

    /// `POST /sync/now`: connects to every peer, or to one, and synchronises.
    pub async fn sync_now(&self, request: &SyncNowRequest) -> ClientResult<SyncRound> {
        let deadline = DEADLINE * 2 + Duration::from_millis(request.wait_ms.unwrap_or_default());
        self.value(Request { deadline, ..post_request("/sync/now", request)? }).await
    }

    /// `POST /sync/address`.
    pub async fn sync_address(&self, request: &AddressRequest) -> ClientResult<SyncStatus> {
        self.post("/sync/address", request).await
    }

    /// Sends a team operation; adds an idempotency key if it has none.
    async fn team<B: Serialize, T: serde::de::DeserializeOwned>(
        &self,
        path: &str,
        mut request: B,
        caller: impl Fn(&mut B) -> &mut crate::api::Caller,
    ) -> ClientResult<T> {
        name_op(caller(&mut request))?;
        self.post(path, &request).await
    }
}
