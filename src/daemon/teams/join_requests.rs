//! Requests to join with a ticket, and the person who confirms them.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use iroh::endpoint::Connection;
use tokio::sync::oneshot;

use super::{InviteMaker, Teams, find_team::scopes_of, now, random};
use crate::{
    api::{AnswerJoinRequest, ApiError, Caller, ErrorCode, PendingJoin, PendingJoins},
    domain::{DeviceId, SignedEvent, text::escape},
    engine::Engine,
    store::InviteRow,
    sync::{
        pairing::{self, CONFIRM_TIMEOUT, Invitation, Inviter, JoiningDevice, PairError, PairRefusal, proof},
        service::PairHandler,
        verification,
    },
};

/// The most requests that wait at once.
const MAX_WAITING: usize = 4;

/// The most attempts a minute, of one device and of all.
const MAX_ATTEMPTS: (usize, usize) = (6, 30);

/// How long the other side has to read the last message before the connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A request that waits for a person.
pub(super) struct WaitingRequest {
    view: PendingJoin,
    answer: oneshot::Sender<Confirmation>,
}

/// The answer of a person.
enum Confirmation {
    Yes(Caller),
    No,
}

impl Teams {
    /// Lists the requests that wait.
    pub(in crate::daemon) fn pending(&self) -> PendingJoins {
        let now = now();
        let state = self.state();
        let items = state.waiting.iter().map(|waiting| waiting.view.clone()).filter(|view| view.expires_at > now);
        PendingJoins { items: items.collect() }
    }

    /// Admits a device, or denies its request.
    pub(in crate::daemon) fn answer(&self, id: &str, request: AnswerJoinRequest) -> Result<PendingJoin, ApiError> {
        let mut state = self.state();
        let fits: Vec<_> =
            (0..).zip(&state.waiting).filter(|(_, w)| w.view.id.starts_with(id)).map(|(at, _)| at).collect();
        let at: usize = match fits.as_slice() {
            [at] => *at,
            [] => {
                return Err(ApiError::not_found(format!("there is no join request “{id}”")).hint(
                    "the device may have disconnected; it can try again with the same ticket. `ergo sync \
                        pending` lists the requests",
                ));
            }
            _ => return Err(ApiError::new(ErrorCode::Ambiguous, format!("“{id}” matches more than one request"))),
        };
        let words = state.waiting.get(at).map(|waiting| waiting.view.words.clone()).unwrap_or_default();
        if request.accept && !verification::matches(&request.words, &words) {
            return Err(ApiError::field("words", "the words do not match the ones shown here: nobody was admitted").hint(
                "compare them with the other screen; if it shows other words, this may be a man-in-the-middle attack: \
                    run `ergo sync deny`",
            ));
        }
        let waiting = state.waiting.remove(at);
        drop(state);
        let answer = if request.accept { Confirmation::Yes(request.caller) } else { Confirmation::No };
        if waiting.answer.send(answer).is_err() {
            return Err(ApiError::new(ErrorCode::Stale, format!("“{}” has disconnected", escape(&waiting.view.name)))
                .hint("it can try again with the same ticket"));
        }
        Ok(waiting.view)
    }

    /// Counts an attempt, and returns whether it is one too many.
    fn too_many_attempts(&self, device: DeviceId) -> bool {
        let mut state = self.state();
        let now = now();
        while state.attempts.front().is_some_and(|(at, _)| at + 60_000 < now) {
            state.attempts.pop_front();
        }
        let of_it = state.attempts.iter().filter(|(_, known)| *known == device).count();
        if of_it >= MAX_ATTEMPTS.0 || state.attempts.len() >= MAX_ATTEMPTS.1 {
            return true;
        }
        state.attempts.push_back((now, device));
        false
    }

    async fn invite_of(&self, secret_hash: proof::SecretHash) -> Result<InviteRow, PairRefusal> {
        let hash = secret_hash.0;
        let found = self.engine(move |engine| engine.sync_read(|reader| reader.invite(&hash))).await;
        found.map_err(failed)?.ok_or(PairRefusal::Unknown)
    }

    fn maker(&self, secret_hash: proof::SecretHash) -> InviteMaker {
        self.state().invites.get(&secret_hash.0).cloned().unwrap_or_default()
    }
}

/// Serves connections for pairing.
pub(super) struct PairingService(pub(super) Weak<Teams>);

impl PairHandler for PairingService {
    fn accept(&self, connection: Connection) -> BoxFuture<'static, ()> {
        let teams = self.0.upgrade();
        async move {
            if let Some(teams) = teams {
                receive(&teams, connection).await;
            }
        }
        .boxed()
    }
}

async fn receive(teams: &Arc<Teams>, connection: Connection) {
    let joiner = DeviceId(*connection.remote_id().as_bytes());
    let mut exporter = [0; 32];
    let exported = connection.export_keying_material(&mut exporter, proof::EXPORT_LABEL, b"");
    let stream = tokio::time::timeout(pairing::STEP_TIMEOUT, connection.accept_bi()).await;
    let (Ok(()), Ok(Ok((send, receive)))) = (exported, stream) else { return };
    let binding = proof::ChannelBinding { exporter, inviter: teams.me(), joiner };
    let mut stream = tokio::io::join(receive, send);
    let caller = JoinAttemptHandler { teams: Arc::clone(teams), accepted: std::sync::Mutex::default() };
    let came = pairing::serve_join(&mut stream, binding, &caller).await;
    let (_, mut send) = stream.into_inner();
    // If the other side is gone there is nothing to finish.
    let _gone = send.finish();
    match came {
        Ok(joiner_device) => {
            tracing::info!(device = %joiner.short(), "a device joined the team");
            teams.announce(
                "sync.answered",
                format!("“{}” was admitted to {}", joiner_device.name, joiner_device.invitation.team_name),
            );
            Arc::clone(teams).update_window().await;
        }
        Err(error) => {
            tracing::info!(device = %joiner.short(), %error, "a device did not join");
            // The last message is lost if the connection is closed at once.
            let _late = tokio::time::timeout(CLOSE_TIMEOUT, connection.closed()).await;
            teams.announce("sync.answered", format!("the device {} did not join", joiner.short()));
        }
    }
    connection.close(0u32.into(), b"done");
}

/// An attempt of a device to join.
struct JoinAttemptHandler {
    teams: Arc<Teams>,
    /// The person who admitted the device.
    accepted: std::sync::Mutex<Option<Caller>>,
}

impl Inviter for JoinAttemptHandler {
    async fn find_invitation(
        &self,
        invite_id: [u8; 8],
        binding: &proof::ChannelBinding,
    ) -> Result<Invitation, PairRefusal> {
        let teams = &self.teams;
        if teams.too_many_attempts(binding.joiner) {
            return Err(PairRefusal::Busy);
        }
        let rows = teams.live_invites().await.map_err(failed)?;
        let row = rows
            .into_iter()
            .find(|row| proof::SecretHash(row.hash).invite_id() == invite_id)
            .ok_or(PairRefusal::Unknown)?;
        if row.redeemed_by.is_some_and(|device| device != binding.joiner) {
            return Err(PairRefusal::Used);
        }
        let team = teams.team(Some(&row.team.to_hex())).await.map_err(failed)?;
        let admitted = row.redeemed_by == Some(binding.joiner) && team.roster.is_member(&binding.joiner);
        if row.done && !admitted {
            return Err(PairRefusal::Unknown);
        }
        let me = team
            .roster
            .member(&binding.inviter)
            .filter(|_| team.roster.role(&binding.inviter) == Some(crate::api::Role::Admin));
        let me = me.ok_or(PairRefusal::NotAdmin)?;
        Ok(Invitation {
            secret_hash: proof::SecretHash(row.hash),
            team: row.team,
            team_name: team.roster.name().to_owned(),
            person: me.person.clone(),
            name: me.name.clone(),
            role: row.grant.role.to_string(),
            scopes: scopes_of(&row.grant.scopes),
            confirm_timeout: CONFIRM_TIMEOUT.min(Duration::from_millis(row.expires_at.saturating_sub(now()))),
            admitted,
        })
    }

    async fn bind_invitation(&self, joiner_device: &JoiningDevice) -> Result<(), PairRefusal> {
        let _redeeming = self.teams.redeeming.lock().await;
        let row = self.teams.invite_of(joiner_device.invitation.secret_hash).await?;
        match row.redeemed_by {
            Some(device) if device == joiner_device.binding.joiner => Ok(()),
            Some(_) => Err(PairRefusal::Used),
            None => {
                let row = InviteRow { redeemed_by: Some(joiner_device.binding.joiner), ..row };
                self.teams.write_invite(row).await.map_err(failed)
            }
        }
    }

    async fn confirm(&self, joiner_device: &JoiningDevice) -> Result<(), PairRefusal> {
        let maker = self.teams.maker(joiner_device.invitation.secret_hash);
        if maker.yes {
            *lock(&self.accepted) = Some(maker.caller);
            return Ok(());
        }
        let (waiting, answer) = self.wait(joiner_device)?;
        let confirmation = answer.await;
        drop(waiting);
        match confirmation {
            Ok(Confirmation::Yes(caller)) => {
                *lock(&self.accepted) = Some(caller);
                Ok(())
            }
            Ok(Confirmation::No) => {
                let _redeeming = self.teams.redeeming.lock().await;
                let row = self.teams.invite_of(joiner_device.invitation.secret_hash).await?;
                self.teams.write_invite(InviteRow { done: true, ..row }).await.map_err(failed)?;
                Err(PairRefusal::Denied)
            }
            // The same device has tried again, and waits on its new connection.
            Err(_) => Err(PairRefusal::Unanswered),
        }
    }

    async fn admit(&self, joiner_device: &JoiningDevice) -> Result<Vec<SignedEvent>, PairRefusal> {
        let teams = &self.teams;
        // Whoever cancels the invitation meanwhile waits: its row would be written back.
        let _redeeming = teams.redeeming.lock().await;
        let row = teams.invite_of(joiner_device.invitation.secret_hash).await?;
        if row.redeemed_by != Some(joiner_device.binding.joiner) {
            return Err(PairRefusal::Used);
        }
        if !joiner_device.invitation.admitted {
            let accepted = lock(&self.accepted).take();
            let caller = match accepted {
                Some(caller) if !caller.who.is_empty() => caller,
                _ => teams.person().map_err(failed)?,
            };
            let (device, person, name) =
                (joiner_device.binding.joiner, joiner_device.person.clone(), joiner_device.name.clone());
            let (team, grant) = (row.team.to_hex(), row.grant.clone());
            let add = move |engine: &Engine| engine.add_member(&caller, Some(&team), device, &person, &name, &grant);
            let (done, roster) = teams.engine(add).await.map_err(failed)?;
            teams.write_invite(InviteRow { done: true, ..row.clone() }).await.map_err(failed)?;
            teams.changed(&done.summary).await;
            return Ok(roster);
        }
        let team = row.team;
        teams.engine(move |engine| engine.sync_read(|reader| reader.roster_events(&team))).await.map_err(failed)
    }
}

impl JoinAttemptHandler {
    /// Adds the request to those that wait; it is removed when the guard is dropped.
    fn wait(
        &self,
        joiner_device: &JoiningDevice,
    ) -> Result<(WaitingGuard<'_>, oneshot::Receiver<Confirmation>), PairRefusal> {
        let (answer, answered) = oneshot::channel();
        let id = hex::encode(random::<8>().map_err(failed)?);
        let invitation = &joiner_device.invitation;
        let view = PendingJoin {
            id: id.clone(),
            invite: hex::encode(invitation.secret_hash.invite_id()),
            team: invitation.team,
            team_name: invitation.team_name.clone(),
            device: joiner_device.binding.joiner,
            name: joiner_device.name.clone(),
            person: joiner_device.person.clone(),
            role: invitation.role.parse().unwrap_or_default(),
            scopes: invitation.scopes.clone(),
            words: joiner_device.binding.verification_code().map(str::to_owned).into(),
            expires_at: now() + invitation.confirm_timeout.as_millis() as u64,
        };
        let summary = format!(
            "{} asks to join {} with the device “{}”",
            escape(&view.person),
            escape(&view.team_name),
            escape(&view.name)
        );
        {
            let mut state = self.teams.state();
            // A device waits once, on its newest connection.
            state.waiting.retain(|known| known.view.device != view.device);
            if state.waiting.len() >= MAX_WAITING {
                return Err(PairRefusal::Busy);
            }
            state.waiting.push(WaitingRequest { view, answer });
        }
        self.teams.announce("sync.pending", summary);
        Ok((WaitingGuard { teams: &self.teams, id }, answered))
    }
}

/// Removes a request that ended.
struct WaitingGuard<'a> {
    teams: &'a Teams,
    id: String,
}

impl Drop for WaitingGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.teams.state();
        let before = state.waiting.len();
        state.waiting.retain(|waiting| waiting.view.id != self.id);
        let gone = state.waiting.len() < before;
        drop(state);
        if gone {
            self.teams.announce("sync.answered", "a join request ended");
        }
    }
}

/// Errors of this side are logged, and not told to the other side.
fn failed(error: ApiError) -> PairRefusal {
    tracing::warn!(%error, "pairing failed on this side");
    PairRefusal::Failed
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Converts a pairing error for a person of this side.
pub(super) fn pair_error(error: &PairError) -> ApiError {
    let code = match error {
        PairError::Ticket(_) => return ApiError::field("ticket", error.to_string()),
        PairError::Refused(PairRefusal::Denied) => ErrorCode::NeedsPerson,
        PairError::Refused(PairRefusal::Unknown | PairRefusal::Expired | PairRefusal::Used) => ErrorCode::Stale,
        PairError::Refused(PairRefusal::Unanswered | PairRefusal::Busy) | PairError::ConnectionLost(_) => {
            ErrorCode::Timeout
        }
        PairError::Refused(PairRefusal::Failed) | PairError::Local(_) => ErrorCode::Unavailable,
        PairError::Refused(PairRefusal::NotAdmin | PairRefusal::Version)
        | PairError::WrongInviter
        | PairError::Protocol(_) => ErrorCode::BadRequest,
    };
    let text = error.to_string();
    // The part after the colon says what to do.
    match text.split_once(": ") {
        Some((what, hint)) if !matches!(error, PairError::Local(_)) => ApiError::new(code, what).hint(hint),
        _ => ApiError::new(code, text),
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::SigningKey;

    use super::*;
    use crate::{
        api::{CreateTeamRequest, Role},
        daemon::state::testing::shared,
        domain::roster::{Grant, Granted},
    };

    #[tokio::test]
    async fn an_invitation_that_is_cancelled_meanwhile_admits_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let teams = Arc::clone(&shared(dir.path()).teams);
        let caller = Caller { who: "ada".to_owned(), ..Caller::default() };
        let request = CreateTeamRequest {
            caller: caller.clone(),
            name: "acme".to_owned(),
            device_name: Some("laptop".to_owned()),
            ..CreateTeamRequest::default()
        };
        let team = teams.engine(move |engine| engine.create_team(&request)).await.unwrap();
        let joiner = DeviceId(SigningKey::from_bytes(&[9; 32]).verifying_key().to_bytes());
        let row = InviteRow {
            hash: [3; 32],
            team: team.id,
            grant: Grant { role: Role::Writer, scopes: Granted::All },
            created_at: now(),
            expires_at: now() + 60_000,
            redeemed_by: Some(joiner),
            done: false,
        };
        teams.write_invite(row.clone()).await.unwrap();
        let invitation = Invitation {
            secret_hash: proof::SecretHash(row.hash),
            team: team.id,
            team_name: "acme".to_owned(),
            person: "ada".to_owned(),
            name: "laptop".to_owned(),
            role: "writer".to_owned(),
            scopes: Vec::new(),
            confirm_timeout: CONFIRM_TIMEOUT,
            admitted: false,
        };
        let binding = proof::ChannelBinding { exporter: [0; 32], inviter: teams.me(), joiner };
        let device = JoiningDevice { invitation, binding, person: "bob".to_owned(), name: "desk".to_owned() };
        let handler = JoinAttemptHandler { teams: Arc::clone(&teams), accepted: std::sync::Mutex::new(Some(caller)) };

        let cancelling = teams.redeeming.lock().await;
        let mut admitting = std::pin::pin!(handler.admit(&device));
        let early = tokio::time::timeout(Duration::from_millis(200), &mut admitting).await;
        assert!(early.is_err(), "it waits for whoever cancels the invitation");
        teams.engine(move |engine| engine.sync_write(|store| store.delete_invite(&row.hash))).await.unwrap();
        drop(cancelling);
        assert_eq!(admitting.await.unwrap_err(), PairRefusal::Unknown);
        assert!(teams.live_invites().await.unwrap().is_empty(), "its row does not come back");
    }
}
