//! Invitations, and the pairing window that is open while one is valid.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};

use super::{InviteMaker, Teams, find_team::scopes_of, join_requests::PairingService, now, random};
use crate::{
    api::{ApiError, DEFAULT_INVITE_TTL, ErrorCode, InviteRequest, InviteView, Invites, MAX_INVITE_TTL},
    store::InviteRow,
    sync::{
        endpoint::{NetworkMode, TransportError},
        pairing::proof::SecretHash,
        ticket::{InviteSecret, Ticket},
    },
};

/// The delay before another attempt to open the pairing window. An attempt fails, for example, if the last socket of
/// this device is still closing and occupies the port.
const WINDOW_RETRY_DELAY: Duration = Duration::from_secs(3);

impl Teams {
    /// Creates an invitation for one device.
    pub(in crate::daemon) async fn invite(self: &Arc<Self>, request: InviteRequest) -> Result<InviteView, ApiError> {
        self.engine.must_be_person(&request.caller, "invite devices")?;
        let team = self.administered(request.in_team.as_deref(), "invite").await?;
        self.engine.room_in_team(&team.roster)?;
        let grant = team.grant(request.role, &request.scopes)?;
        let ttl = request.ttl_s.unwrap_or(DEFAULT_INVITE_TTL);
        if ttl == 0 || ttl > MAX_INVITE_TTL {
            return Err(ApiError::field("ttl_s", format!("`ttl_s` is {ttl}: expected 1 to {MAX_INVITE_TTL} seconds")));
        }
        let secret = InviteSecret(random()?);
        let kept = SecretHash::of(&secret);
        let created_at = now();
        let row = InviteRow {
            hash: kept.0,
            team: team.id,
            grant,
            created_at,
            expires_at: created_at + ttl * 1000,
            redeemed_by: None,
            done: false,
        };
        self.write_invite(row.clone()).await?;
        let maker = InviteMaker { caller: request.caller, yes: request.yes, expires_at: row.expires_at };
        {
            let mut state = self.state();
            state.invites.retain(|_, maker| maker.expires_at > created_at);
            state.invites.insert(kept.0, maker);
        }
        Arc::clone(self).update_window().await;
        let endpoint = match self.service.address().await {
            Ok(endpoint) => endpoint,
            Err(error) => {
                self.forget_invite(kept.0).await?;
                return Err(network_error(&error));
            }
        };
        let lan = self.service.status().mode != NetworkMode::Internet;
        let ticket = Ticket {
            device: self.me(),
            addresses: Ticket::addresses_of(&endpoint, lan),
            team: team.id,
            team_name: team.roster.name().to_owned(),
            secret,
            expires: row.expires_at / 1000,
        };
        let view = view(&row, team.roster.name());
        let addresses = ticket.addresses.iter().map(ToString::to_string).collect();
        Ok(InviteView { ticket: Some(ticket.to_text()), addresses, ..view })
    }

    /// Lists the invitations that have not expired.
    pub(in crate::daemon) async fn invites(&self) -> Result<Invites, ApiError> {
        let mut items = Vec::new();
        for team in self.teams().await? {
            let rows = self.engine(move |engine| engine.sync_read(|reader| reader.invites(&team.id))).await?;
            items.extend(rows.iter().filter(|row| row.expires_at > now()).map(|row| view(row, team.roster.name())));
        }
        items.sort_by_key(|invite| std::cmp::Reverse(invite.created_at));
        Ok(Invites { items })
    }

    /// Cancels an invitation, so that its ticket becomes invalid.
    pub(in crate::daemon) async fn cancel(self: &Arc<Self>, id: &str) -> Result<InviteView, ApiError> {
        let invites = self.invites().await?.items;
        let mut found = invites.into_iter().filter(|invite| invite.id.starts_with(id));
        let invite = match (found.next(), found.next()) {
            (Some(invite), None) => invite,
            (None, _) => {
                return Err(ApiError::not_found(format!("there is no valid invitation “{id}”"))
                    .hint("`GET /sync/invites` lists them"));
            }
            _ => return Err(ApiError::new(ErrorCode::Ambiguous, format!("“{id}” matches more than one invitation"))),
        };
        if let Some(row) = self.live_invites().await?.into_iter().find(|row| name(row) == invite.id) {
            self.forget_invite(row.hash).await?;
        }
        Arc::clone(self).update_window().await;
        self.announce("sync.answered", "an invitation was cancelled");
        Ok(invite)
    }

    pub(super) async fn write_invite(&self, row: InviteRow) -> Result<(), ApiError> {
        self.engine(move |engine| engine.sync_write(|store| store.write_invite(&row))).await
    }

    async fn forget_invite(&self, hash: [u8; 32]) -> Result<(), ApiError> {
        // Locked, since a device that redeems the invitation now would write its row back.
        let _redeeming = self.redeeming.lock().await;
        self.state().invites.remove(&hash);
        self.engine(move |engine| engine.sync_write(|store| store.delete_invite(&hash))).await
    }

    /// Returns the invitations that have not expired, with which a device may still join or finish joining.
    pub(super) async fn live_invites(&self) -> Result<Vec<InviteRow>, ApiError> {
        let mut live = self.all_invites().await?;
        let now = now();
        live.retain(|row| row.expires_at > now);
        Ok(live)
    }

    /// Returns the invitations of the teams that this device is in, expired ones included.
    pub(super) async fn all_invites(&self) -> Result<Vec<InviteRow>, ApiError> {
        self.engine(move |engine| {
            engine.sync_read(|reader| {
                let mut all = Vec::new();
                for team in reader.teams()?.into_iter().filter(|team| team.left_at.is_none()) {
                    all.extend(reader.invites(&team.id)?);
                }
                Ok(all)
            })
        })
        .await
    }

    /// Keeps the pairing window open while an invitation is valid. Checks again when the last one expires, or after
    /// [`WINDOW_RETRY_DELAY`] if the window cannot be opened.
    pub(super) fn update_window(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move { self.check_window().await }.boxed()
    }

    async fn check_window(self: Arc<Self>) {
        let live = match self.live_invites().await {
            Ok(live) => live,
            Err(error) => {
                tracing::warn!(%error, "cannot read the invitations");
                return;
            }
        };
        // Redeemed invitations count, too: an admitted device may have missed the answer and try again.
        let Some(until) = live.iter().map(|row| row.expires_at).max() else {
            self.state().window = None;
            return;
        };
        let expired = Duration::from_millis(until.saturating_sub(now()) + 1000);
        // In mode `off`, do not retry: `set_mode` opens the window again.
        let off = self.choice.mode() == Some(NetworkMode::Off);
        let wait = if self.open_window().await || off { expired } else { WINDOW_RETRY_DELAY.min(expired) };
        let teams = Arc::downgrade(&self);
        let check = tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            if let Some(teams) = teams.upgrade() {
                teams.update_window().await;
            }
        });
        // The earlier task may be the one that runs this code. Then it has nothing left to do.
        if let Some(earlier) = self.state().window_check.replace(check.abort_handle()) {
            earlier.abort();
        }
    }

    /// Opens the pairing window, unless it is open. Returns whether it is open afterwards.
    async fn open_window(self: &Arc<Self>) -> bool {
        if self.state().window.is_some() {
            return true;
        }
        let opened = self.service.open_pairing_window(Arc::new(PairingService(Arc::downgrade(self)))).await;
        let mut state = self.state();
        match opened {
            Ok(window) => {
                state.window = Some(window);
                state.window_problem = None;
                true
            }
            Err(error) => {
                // Log the problem once, and not at each retry.
                if state.window_problem.replace(error.to_string()) != Some(error.to_string()) {
                    tracing::warn!(%error, "cannot open this device to pairing requests");
                }
                false
            }
        }
    }
}

/// Returns the id of an invitation: 16 hexadecimal digits.
pub(super) fn name(row: &InviteRow) -> String {
    hex::encode(SecretHash(row.hash).invite_id())
}

fn view(row: &InviteRow, team_name: &str) -> InviteView {
    InviteView {
        id: name(row),
        ticket: None,
        team: row.team,
        team_name: team_name.to_owned(),
        role: row.grant.role,
        scopes: scopes_of(&row.grant.scopes),
        created_at: row.created_at,
        expires_at: row.expires_at,
        redeemed_by: row.redeemed_by,
        done: row.done,
        addresses: Vec::new(),
    }
}

/// Converts a network error into one for a person.
pub(super) fn network_error(error: &TransportError) -> ApiError {
    let code = match error {
        TransportError::NoAnswer(_) | TransportError::NoAddress => ErrorCode::Timeout,
        TransportError::NotPaired => ErrorCode::Stale,
        // A person has chosen this mode, so another one must be chosen first.
        TransportError::Off | TransportError::NotLocal(_) => ErrorCode::BadRequest,
        _ => ErrorCode::Unavailable,
    };
    let hint = match error {
        TransportError::NoAnswer(_) | TransportError::NoAddress => {
            "are both on the same network, and is the other's daemon running? Without a common network, `ergo sync request` pairs by files"
        }
        TransportError::NotLocal(_) => {
            "connect both devices to one network or VPN, or run `ergo sync mode internet` on both; `ergo sync request` pairs by files"
        }
        TransportError::NotPaired => "the ticket is no longer valid: ask for a new one",
        TransportError::Off => "`ergo sync mode lan` turns it on; `ergo sync request` pairs by files",
        _ => "`ergo sync status` says more",
    };
    ApiError::new(code, error.to_string()).hint(hint)
}
