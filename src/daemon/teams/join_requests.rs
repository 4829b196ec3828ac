//! Requests to join with a ticket, on the inviting device.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use iroh::endpoint::Connection;

use super::{
    InviteMaker, Teams,
    find_team::scopes_of,
    now,
    pending_joins::{Acceptance, Confirmation},
};
use crate::{
    api::{ApiError, Caller, ErrorCode},
    domain::{DeviceId, SignedEvent},
    engine::Engine,
    store::InviteRow,
    sync::{
        pairing::{self, CONFIRM_TIMEOUT, Invitation, Inviter, JoiningDevice, PairError, PairRefusal, proof},
        service::PairHandler,
    },
};

/// The maximum number of attempts to join per minute of one device.
const MAX_ATTEMPTS_OF_DEVICE: usize = 6;

/// The maximum number of attempts to join per minute of all devices.
const MAX_ATTEMPTS: usize = 30;

/// How long the other side has to read the last message before the connection is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// Why a device was not admitted.
enum AdmissionError {
    /// The invitation does not allow it.
    Refused(PairRefusal),
    /// An error of this side.
    Failed(ApiError),
}

impl From<ApiError> for AdmissionError {
    fn from(error: ApiError) -> Self {
        Self::Failed(error)
    }
}

impl AdmissionError {
    /// Returns the error for the person who accepted the request.
    fn for_person(&self) -> ApiError {
        match self {
            Self::Refused(_) => {
                ApiError::new(ErrorCode::Stale, "the invitation was cancelled in the meantime: nobody was admitted")
                    .hint("create another one: `ergo sync invite`")
            }
            Self::Failed(error) => error.clone(),
        }
    }

    /// Returns the refusal for the other side.
    fn for_joiner(self) -> PairRefusal {
        match self {
            Self::Refused(refusal) => refusal,
            Self::Failed(error) => failed(error),
        }
    }
}

impl Teams {
    /// Counts an attempt of a device. Returns true if it exceeds a limit.
    fn too_many_attempts(&self, device: DeviceId) -> bool {
        let mut state = self.state();
        let now = now();
        while state.attempts.front().is_some_and(|(at, _)| at + 60_000 < now) {
            state.attempts.pop_front();
        }
        let of_device = state.attempts.iter().filter(|(_, known)| *known == device).count();
        if of_device >= MAX_ATTEMPTS_OF_DEVICE || state.attempts.len() >= MAX_ATTEMPTS {
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
    let joined = pairing::serve_join(&mut stream, binding, &caller).await;
    let (_, mut send) = stream.into_inner();
    // Fails if the other side is gone.
    let _gone = send.finish();
    match joined {
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

/// Handles one attempt of a device to join.
struct JoinAttemptHandler {
    teams: Arc<Teams>,
    /// The acceptance of the request by a person.
    accepted: std::sync::Mutex<Option<Acceptance>>,
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
        // Expired invitations are included: a device that proves to have the ticket of one is told so in
        // `bind_invitation`.
        let rows = teams.all_invites().await.map_err(failed)?;
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
        if row.expires_at <= now() {
            return Err(PairRefusal::Expired);
        }
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
            *lock(&self.accepted) = Some(Acceptance { caller: maker.caller, outcome: None });
            return Ok(());
        }
        let (waiting, answer) = self.teams.wait(joiner_device)?;
        let confirmation = answer.await;
        drop(waiting);
        match confirmation {
            Ok(Confirmation::Yes(acceptance)) => {
                *lock(&self.accepted) = Some(acceptance);
                Ok(())
            }
            Ok(Confirmation::No) => {
                let _redeeming = self.teams.redeeming.lock().await;
                let row = self.teams.invite_of(joiner_device.invitation.secret_hash).await?;
                self.teams.write_invite(InviteRow { done: true, ..row }).await.map_err(failed)?;
                Err(PairRefusal::Denied)
            }
            // The same device has tried again, and its new connection waits instead.
            Err(_) => Err(PairRefusal::Unanswered),
        }
    }

    async fn admit(&self, joiner_device: &JoiningDevice) -> Result<Vec<SignedEvent>, PairRefusal> {
        let (caller, outcome) = match lock(&self.accepted).take() {
            Some(acceptance) => (Some(acceptance.caller), acceptance.outcome),
            None => (None, None),
        };
        let admitted = self.add_to_team(joiner_device, caller).await;
        if let Some(outcome) = outcome {
            // Fails if the person's request no longer waits.
            let _gone = outcome.send(admitted.as_ref().map(|_| ()).map_err(AdmissionError::for_person));
        }
        admitted.map_err(AdmissionError::for_joiner)
    }
}

impl JoinAttemptHandler {
    /// Adds the device to the team, unless it is already a member, and returns the events of the roster.
    async fn add_to_team(
        &self,
        joiner_device: &JoiningDevice,
        caller: Option<Caller>,
    ) -> Result<Vec<SignedEvent>, AdmissionError> {
        let teams = &self.teams;
        // Locked, so that the invitation is not cancelled meanwhile: its row would be written back.
        let _redeeming = teams.redeeming.lock().await;
        let hash = joiner_device.invitation.secret_hash.0;
        let row = teams.engine(move |engine| engine.sync_read(|reader| reader.invite(&hash))).await?;
        let row = row.ok_or(AdmissionError::Refused(PairRefusal::Unknown))?;
        if row.redeemed_by != Some(joiner_device.binding.joiner) {
            return Err(AdmissionError::Refused(PairRefusal::Used));
        }
        let team = row.team;
        if joiner_device.invitation.admitted {
            return Ok(teams.engine(move |engine| engine.sync_read(|reader| reader.roster_events(&team))).await?);
        }
        let caller = match caller {
            Some(caller) if !caller.who.is_empty() => caller,
            _ => teams.person()?,
        };
        let (device, person, name) =
            (joiner_device.binding.joiner, joiner_device.person.clone(), joiner_device.name.clone());
        let (team, grant) = (team.to_hex(), row.grant.clone());
        let add = move |engine: &Engine| engine.add_member(&caller, Some(&team), device, &person, &name, &grant);
        let (done, roster) = teams.engine(add).await?;
        teams.write_invite(InviteRow { done: true, ..row }).await?;
        teams.changed(&done.summary).await;
        Ok(roster)
    }
}

/// Logs an error of this device. The other device learns only that there was one.
pub(super) fn failed(error: ApiError) -> PairRefusal {
    tracing::warn!(%error, "pairing failed on this side");
    PairRefusal::Failed
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Converts a pairing error into one for a person of this device.
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
        api::{AnswerJoinRequest, CreateTeamRequest, PendingJoin, Role},
        daemon::state::testing::shared,
        domain::roster::{Grant, Granted},
        sync::endpoint::NetworkMode,
    };

    /// Creates a team with this device alone, and another device that has proved to have a ticket of it.
    async fn asking(teams: &Arc<Teams>) -> (InviteRow, JoiningDevice) {
        // Off, so that nothing is sent after a device is admitted.
        teams.service.set_mode(Some(NetworkMode::Off)).await;
        let request = CreateTeamRequest {
            caller: ada(),
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
        (row, JoiningDevice { invitation, binding, person: "bob".to_owned(), name: "desk".to_owned() })
    }

    fn ada() -> Caller {
        Caller { who: "ada".to_owned(), ..Caller::default() }
    }

    /// Accepts the request of a device. Returns the answers that the person and the device get.
    async fn accept(
        teams: &Arc<Teams>,
        device: &JoiningDevice,
    ) -> (Result<PendingJoin, ApiError>, Result<Vec<SignedEvent>, PairRefusal>) {
        let handler = JoinAttemptHandler { teams: Arc::clone(teams), accepted: std::sync::Mutex::default() };
        let join = async {
            handler.confirm(device).await?;
            handler.admit(device).await
        };
        let answer = async {
            while teams.pending().items.is_empty() {
                tokio::task::yield_now().await;
            }
            let waiting = teams.pending().items.remove(0);
            let request = AnswerJoinRequest { caller: ada(), accept: true, words: waiting.words };
            teams.answer(&waiting.id, request).await
        };
        tokio::join!(answer, join)
    }

    #[tokio::test]
    async fn who_accepts_a_device_is_told_whether_it_was_admitted() {
        let dir = tempfile::tempdir().unwrap();
        let teams = Arc::clone(&shared(dir.path()).teams);
        let (row, device) = asking(&teams).await;
        let unknown = crate::domain::Scope { org_id: "acme".to_owned(), project: "gone".to_owned() };
        let grant = Grant { scopes: Granted::Only([unknown].into()), ..row.grant.clone() };
        teams.write_invite(InviteRow { grant, ..row.clone() }).await.unwrap();
        let (person, joiner) = accept(&teams, &device).await;
        assert_eq!(person.unwrap_err().field.as_deref(), Some("scopes"));
        assert_eq!(joiner.unwrap_err(), PairRefusal::Failed);

        teams.engine(move |engine| engine.sync_write(|store| store.delete_invite(&row.hash))).await.unwrap();
        let (person, joiner) = accept(&teams, &device).await;
        assert!(person.unwrap_err().message.contains("nobody was admitted"));
        assert_eq!(joiner.unwrap_err(), PairRefusal::Unknown);

        teams.write_invite(row).await.unwrap();
        let (person, joiner) = accept(&teams, &device).await;
        assert_eq!((person.unwrap().name.as_str(), joiner.is_ok()), ("desk", true));
        let team = teams.team(None).await.unwrap();
        assert!(team.roster.is_member(&device.binding.joiner), "it is a member once the answer is there");
    }

    #[tokio::test]
    async fn an_invitation_that_is_cancelled_meanwhile_admits_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let teams = Arc::clone(&shared(dir.path()).teams);
        let (row, device) = asking(&teams).await;
        let accepted = std::sync::Mutex::new(Some(Acceptance { caller: ada(), outcome: None }));
        let handler = JoinAttemptHandler { teams: Arc::clone(&teams), accepted };

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
