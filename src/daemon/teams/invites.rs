//! Invitations: made, listed, taken back, and the window that is open while one is live.

use std::{sync::Arc, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};

use super::{Maker, Teams, door::Porter, lookup::scopes_of, now, random};
use crate::{
    api::{ApiError, DEFAULT_INVITE_TTL, ErrorCode, InviteRequest, InviteView, Invites, MAX_INVITE_TTL},
    store::InviteRow,
    sync::{
        endpoint::{NetworkMode, TransportError},
        pairing::proof::SecretHash,
        ticket::{InviteSecret, Ticket},
    },
};

impl Teams {
    /// Makes an invitation for one device.
    pub(in crate::daemon) async fn invite(self: &Arc<Self>, request: InviteRequest) -> Result<InviteView, ApiError> {
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
        self.state().invites.insert(kept.0, Maker { caller: request.caller, yes: request.yes });
        Arc::clone(self).keep_window().await;
        let endpoint = match self.service.address().await {
            Ok(endpoint) => endpoint,
            Err(error) => {
                self.forget_invite(kept.0).await?;
                return Err(unreachable(&error));
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

    /// The invitations that still hold, and those of them that were used.
    pub(in crate::daemon) async fn invites(&self) -> Result<Invites, ApiError> {
        let mut items = Vec::new();
        for team in self.teams().await? {
            let rows = self.engine(move |engine| engine.sync_read(|reader| reader.invites(&team.id))).await?;
            items.extend(rows.iter().filter(|row| row.expires_at > now()).map(|row| view(row, team.roster.name())));
        }
        items.sort_by_key(|invite| std::cmp::Reverse(invite.created_at));
        Ok(Invites { items })
    }

    /// Takes an invitation back: its ticket lets nobody in any more.
    pub(in crate::daemon) async fn cancel(self: &Arc<Self>, id: &str) -> Result<InviteView, ApiError> {
        let invites = self.invites().await?.items;
        let mut found = invites.into_iter().filter(|invite| invite.id.starts_with(id));
        let invite = match (found.next(), found.next()) {
            (Some(invite), None) => invite,
            (None, _) => {
                return Err(
                    ApiError::not_found(format!("no invitation “{id}” holds")).hint("`GET /sync/invites` lists them")
                );
            }
            _ => return Err(ApiError::new(ErrorCode::Ambiguous, format!("“{id}” fits more than one invitation"))),
        };
        if let Some(row) = self.live_invites().await?.into_iter().find(|row| name(row) == invite.id) {
            self.forget_invite(row.hash).await?;
        }
        Arc::clone(self).keep_window().await;
        self.tell("sync.answered", "an invitation was taken back");
        Ok(invite)
    }

    pub(super) async fn write_invite(&self, row: InviteRow) -> Result<(), ApiError> {
        self.engine(move |engine| engine.sync_write(|store| store.write_invite(&row))).await
    }

    async fn forget_invite(&self, hash: [u8; 32]) -> Result<(), ApiError> {
        self.state().invites.remove(&hash);
        self.engine(move |engine| engine.sync_write(|store| store.delete_invite(&hash))).await
    }

    /// The invitations with which a device may still come, or come again.
    pub(super) async fn live_invites(&self) -> Result<Vec<InviteRow>, ApiError> {
        let now = now();
        self.engine(move |engine| {
            engine.sync_read(|reader| {
                let mut live = Vec::new();
                for team in reader.teams()?.into_iter().filter(|team| team.left_at.is_none()) {
                    live.extend(reader.invites(&team.id)?.into_iter().filter(|row| row.expires_at > now));
                }
                Ok(live)
            })
        })
        .await
    }

    /// Strangers may knock as long as there is an invitation that one of them may have. Looks again when the last expires.
    pub(super) fn keep_window(self: Arc<Self>) -> BoxFuture<'static, ()> {
        async move { self.look_at_window().await }.boxed()
    }

    async fn look_at_window(self: Arc<Self>) {
        let live = match self.live_invites().await {
            Ok(live) => live,
            Err(error) => {
                tracing::warn!(%error, "cannot read the invitations");
                return;
            }
        };
        // Who was let in may have lost the answer on the way, and comes again.
        let Some(until) = live.iter().map(|row| row.expires_at).max() else {
            self.state().window = None;
            return;
        };
        if self.state().window.is_none() {
            match self.service.open_pairing_window(Arc::new(Porter(Arc::downgrade(&self)))).await {
                Ok(window) => self.state().window = Some(window),
                Err(error) => tracing::warn!(%error, "nobody can come with a ticket now"),
            }
        }
        let wait = Duration::from_millis(until.saturating_sub(now()) + 1000);
        let teams = Arc::downgrade(&self);
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            if let Some(teams) = teams.upgrade() {
                teams.keep_window().await;
            }
        });
    }
}

/// What an invite is called: 16 hexadecimal digits.
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

/// What a network that is not there means to a person.
pub(super) fn unreachable(error: &TransportError) -> ApiError {
    let code = match error {
        TransportError::NoAnswer(_) | TransportError::NoAddress => ErrorCode::Timeout,
        TransportError::NotPaired => ErrorCode::Stale,
        _ => ErrorCode::Unavailable,
    };
    let hint = match error {
        TransportError::NoAnswer(_) | TransportError::NoAddress => {
            "are both on the same network, and is the other's daemon running? Where they cannot meet, `ergo sync card` does it by files"
        }
        TransportError::NotPaired => "its ticket holds no longer: ask for a new one",
        _ => "`ergo sync status` says more",
    };
    ApiError::new(code, error.to_string()).hint(hint)
}
