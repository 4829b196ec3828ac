//! Acts of a person on a team. The engine performs them, then the sync service is notified.

use std::{net::SocketAddr, sync::Arc};

use super::{Teams, joins::device_name};
use crate::{
    api::{
        AddressRequest, AdoptRequest, ApiError, BindRequest, CreateTeamRequest, GrantRequest, LeaveRequest,
        QuarantineRequest, QuarantinedList, QuarantinedQuery, RenameRequest, RevokeRequest, SyncStatus, TeamDone,
        TeamView,
    },
    domain::{
        DeviceId, Roster,
        roster::MemberState,
        text::{escape, quote, unprintable},
    },
    engine::Engine,
    sync::endpoint::{NetworkMode, TransportError, is_local},
};

impl Teams {
    /// Creates a team.
    pub(in crate::daemon) async fn create(&self, mut request: CreateTeamRequest) -> Result<TeamView, ApiError> {
        request.device_name = Some(device_name(request.device_name.as_deref())?);
        let team = self.engine(move |engine| engine.create_team(&request)).await?;
        self.changed(&team.summary).await;
        Ok(team)
    }

    /// Renames a device or a team.
    pub(in crate::daemon) async fn rename(&self, request: RenameRequest) -> Result<TeamDone, ApiError> {
        self.act(move |engine| engine.rename_in_team(&request)).await
    }

    /// Changes the grant of a device.
    pub(in crate::daemon) async fn grant(&self, request: GrantRequest) -> Result<TeamDone, ApiError> {
        self.act(move |engine| engine.grant_in_team(&request)).await
    }

    /// Revokes a device.
    pub(in crate::daemon) async fn revoke(&self, request: RevokeRequest) -> Result<TeamDone, ApiError> {
        self.act(move |engine| engine.revoke_from_team(&request)).await
    }

    /// Leaves a team. Only connected devices learn of it from this one, since it then stops syncing with the team. If
    /// no device is connected, the answer has a warning.
    pub(in crate::daemon) async fn leave(self: &Arc<Self>, request: LeaveRequest) -> Result<TeamDone, ApiError> {
        let teams = self.teams().await?;
        let network = self.service.status();
        let mut done = self.act(move |engine| engine.leave_team(&request)).await?;
        let connected = network.peers.iter().any(|peer| peer.team == done.team && peer.session.is_some());
        // In a retry of this act, the team is no longer found, since it has already been left.
        if let Some(team) = teams.iter().find(|team| team.id == done.team).filter(|_| !connected) {
            done.warnings.extend(nobody_knows(&team.roster, self.me()));
        }
        // The team's invitations are no longer valid, so the pairing window may close.
        Arc::clone(self).update_window().await;
        Ok(done)
    }

    /// Shares a scope whose claims were written before.
    pub(in crate::daemon) async fn adopt(&self, request: AdoptRequest) -> Result<TeamDone, ApiError> {
        self.act(move |engine| engine.adopt_into_team(&request)).await
    }

    /// Binds a scope of a team to another local name.
    pub(in crate::daemon) async fn bind(&self, request: BindRequest) -> Result<TeamDone, ApiError> {
        self.act(move |engine| engine.bind_scope(&request)).await
    }

    /// Accepts events from quarantine, for the whole team.
    pub(in crate::daemon) async fn accept(&self, request: QuarantineRequest) -> Result<TeamDone, ApiError> {
        self.act(move |engine| engine.accept_quarantined(&request)).await
    }

    /// Discards events from quarantine, on this device.
    pub(in crate::daemon) async fn discard(&self, request: QuarantineRequest) -> Result<TeamDone, ApiError> {
        self.act(move |engine| engine.discard_quarantined(&request)).await
    }

    /// Lists the quarantine.
    pub(in crate::daemon) async fn quarantined(&self, query: QuarantinedQuery) -> Result<QuarantinedList, ApiError> {
        self.engine(move |engine| engine.quarantined(&query)).await
    }

    /// Stores an address of a device, and dials it.
    pub(in crate::daemon) async fn address(&self, request: AddressRequest) -> Result<SyncStatus, ApiError> {
        let address: SocketAddr = request.address.trim().parse().map_err(|_| {
            let message =
                format!("invalid address “{}”: expected IP:PORT, such as 192.168.1.20:47120", request.address);
            ApiError::field("address", message).hint("`ergo sync status` on that device shows where it listens")
        })?;
        if self.service.status().mode == NetworkMode::Lan && !is_local(address.ip()) {
            return Err(ApiError::field("address", TransportError::NotLocal(address.to_string()).to_string())
                .hint("use the device's address on this network or VPN, or run `ergo sync mode internet` first"));
        }
        let mut found = Err(ApiError::not_found("this device is in no team"));
        for team in self.teams().await? {
            match team.other(&request.device, self.me()) {
                Ok(member) if member.state != MemberState::Active => {
                    let message =
                        format!("{} no longer belongs to {}", escape(&member.name), escape(team.roster.name()));
                    found = found.or(Err(ApiError::field("device", message).hint("an admin can invite it again")));
                }
                Ok(member) => {
                    self.service.add_address(member.device, address).await;
                    found = Ok(());
                }
                Err(error) if found.is_err() => found = Err(error),
                Err(_) => {}
            }
        }
        found?;
        self.status().await
    }

    async fn act(
        &self,
        act: impl FnOnce(&Engine) -> Result<TeamDone, ApiError> + Send + 'static,
    ) -> Result<TeamDone, ApiError> {
        let done = self.engine(act).await?;
        self.changed(&done.summary).await;
        Ok(done)
    }
}

/// Warns that no other device of a team learns that this one left; `None` if there is no other device.
fn nobody_knows(roster: &Roster, me: DeviceId) -> Option<String> {
    if !roster.members().any(|member| member.device != me && roster.is_member(&member.device)) {
        return None;
    }
    let name = roster.member(&me).map(|member| member.name.as_str()).filter(|name| unprintable(name).is_none());
    let name = name.map_or_else(|| me.short(), quote);
    Some(format!(
        "No other device of the team was connected, so none of them knows that this one left, and it can no longer \
            tell them. Ask an admin of the team to run `ergo sync revoke {name} --reason '…'`"
    ))
}
