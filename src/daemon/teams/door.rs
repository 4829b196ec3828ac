//! Who knocks with a ticket, and the person who lets them in or not.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use iroh::endpoint::Connection;
use tokio::sync::oneshot;

use super::{Maker, Teams, lookup::scopes_of, now, random};
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

/// The most that wait at once.
const MAX_WAITING: usize = 4;

/// The most knocks a minute, of one device and of all.
const MAX_KNOCKS: (usize, usize) = (6, 30);

/// How long the other side has to read the last word before the connection is closed.
const LAST_WORD: Duration = Duration::from_secs(2);

/// One who waits for an answer.
pub(super) struct Waiting {
    view: PendingJoin,
    answer: oneshot::Sender<Answer>,
}

/// What a person said.
enum Answer {
    Yes(Caller),
    No,
}

impl Teams {
    /// Who waits.
    pub(in crate::daemon) fn pending(&self) -> PendingJoins {
        let now = now();
        let state = self.state();
        let items = state.waiting.iter().map(|waiting| waiting.view.clone()).filter(|view| view.expires_at > now);
        PendingJoins { items: items.collect() }
    }

    /// Lets one in, or not.
    pub(in crate::daemon) fn answer(&self, id: &str, request: AnswerJoinRequest) -> Result<PendingJoin, ApiError> {
        let mut state = self.state();
        let fits: Vec<_> =
            (0..).zip(&state.waiting).filter(|(_, w)| w.view.id.starts_with(id)).map(|(at, _)| at).collect();
        let at: usize = match fits.as_slice() {
            [at] => *at,
            [] => {
                return Err(ApiError::not_found(format!("nobody “{id}” waits to be let in"))
                    .hint("they may have gone away, and can come again with the same ticket: `ergo sync pending`"));
            }
            _ => return Err(ApiError::new(ErrorCode::Ambiguous, format!("“{id}” fits more than one who waits"))),
        };
        let words = state.waiting.get(at).map(|waiting| waiting.view.words.clone()).unwrap_or_default();
        if request.accept && !verification::matches(&request.words, &words) {
            return Err(ApiError::field("words", "these are not the words that this side shows: nobody was let in").hint(
                "compare them with the other screen; if that one shows others, someone stands between: `ergo sync deny`",
            ));
        }
        let waiting = state.waiting.remove(at);
        drop(state);
        let answer = if request.accept { Answer::Yes(request.caller) } else { Answer::No };
        if waiting.answer.send(answer).is_err() {
            return Err(ApiError::new(
                ErrorCode::Stale,
                format!("“{}” has gone away meanwhile", escape(&waiting.view.name)),
            )
            .hint("it can come again with the same ticket"));
        }
        Ok(waiting.view)
    }

    /// Whether this knock is one too many.
    fn knocks_too_often(&self, device: DeviceId) -> bool {
        let mut state = self.state();
        let now = now();
        while state.knocks.front().is_some_and(|(at, _)| at + 60_000 < now) {
            state.knocks.pop_front();
        }
        let of_it = state.knocks.iter().filter(|(_, known)| *known == device).count();
        if of_it >= MAX_KNOCKS.0 || state.knocks.len() >= MAX_KNOCKS.1 {
            return true;
        }
        state.knocks.push_back((now, device));
        false
    }

    async fn invite_of(&self, secret_hash: proof::SecretHash) -> Result<InviteRow, PairRefusal> {
        let hash = secret_hash.0;
        let found = self.engine(move |engine| engine.sync_read(|reader| reader.invite(&hash))).await;
        found.map_err(failed)?.ok_or(PairRefusal::Unknown)
    }

    fn maker(&self, secret_hash: proof::SecretHash) -> Maker {
        self.state().invites.get(&secret_hash.0).cloned().unwrap_or_default()
    }
}

/// The one in whose name the network knocks.
pub(super) struct Porter(pub(super) Weak<Teams>);

impl PairHandler for Porter {
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
    let caller = AtDoor { teams: Arc::clone(teams), accepted: std::sync::Mutex::default() };
    let came = pairing::serve_join(&mut stream, binding, &caller).await;
    let (_, mut send) = stream.into_inner();
    // Where the other side is gone there is nothing to end.
    let _gone = send.finish();
    match came {
        Ok(guest) => {
            tracing::info!(device = %joiner.short(), "a device came into the team");
            teams.tell("sync.answered", format!("“{}” is in {}", guest.name, guest.invitation.team_name));
            Arc::clone(teams).keep_window().await;
        }
        Err(error) => {
            tracing::info!(device = %joiner.short(), %error, "a device did not come in");
            // What was said last is lost with a connection that is closed at once.
            let _late = tokio::time::timeout(LAST_WORD, connection.closed()).await;
            teams.tell("sync.answered", format!("the device {} did not come in", joiner.short()));
        }
    }
    connection.close(0u32.into(), b"done");
}

/// One guest at the door.
struct AtDoor {
    teams: Arc<Teams>,
    /// Who let the guest in.
    accepted: std::sync::Mutex<Option<Caller>>,
}

impl Inviter for AtDoor {
    async fn find_invitation(
        &self,
        invite_id: [u8; 8],
        binding: &proof::ChannelBinding,
    ) -> Result<Invitation, PairRefusal> {
        let teams = &self.teams;
        if teams.knocks_too_often(binding.joiner) {
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

    async fn bind_invitation(&self, guest: &JoiningDevice) -> Result<(), PairRefusal> {
        let row = self.teams.invite_of(guest.invitation.secret_hash).await?;
        match row.redeemed_by {
            Some(device) if device == guest.binding.joiner => Ok(()),
            Some(_) => Err(PairRefusal::Used),
            None => {
                let row = InviteRow { redeemed_by: Some(guest.binding.joiner), ..row };
                self.teams.write_invite(row).await.map_err(failed)
            }
        }
    }

    async fn confirm(&self, guest: &JoiningDevice) -> Result<(), PairRefusal> {
        let maker = self.teams.maker(guest.invitation.secret_hash);
        if maker.yes {
            *lock(&self.accepted) = Some(maker.caller);
            return Ok(());
        }
        let (waiting, answer) = self.wait(guest)?;
        let said = answer.await;
        drop(waiting);
        match said {
            Ok(Answer::Yes(caller)) => {
                *lock(&self.accepted) = Some(caller);
                Ok(())
            }
            Ok(Answer::No) => {
                let row = self.teams.invite_of(guest.invitation.secret_hash).await?;
                self.teams.write_invite(InviteRow { done: true, ..row }).await.map_err(failed)?;
                Err(PairRefusal::Denied)
            }
            // The same device knocked again, and waits there.
            Err(_) => Err(PairRefusal::Unanswered),
        }
    }

    async fn admit(&self, guest: &JoiningDevice) -> Result<Vec<SignedEvent>, PairRefusal> {
        let teams = &self.teams;
        let row = teams.invite_of(guest.invitation.secret_hash).await?;
        if !guest.invitation.admitted {
            let accepted = lock(&self.accepted).take();
            let caller = match accepted {
                Some(caller) if !caller.who.is_empty() => caller,
                _ => teams.person().map_err(failed)?,
            };
            let (device, person, name) = (guest.binding.joiner, guest.person.clone(), guest.name.clone());
            let (team, grant) = (row.team.to_hex(), row.grant.clone());
            let add = move |engine: &Engine| engine.add_member(&caller, Some(&team), device, &person, &name, &grant);
            let (_, roster) = teams.engine(add).await.map_err(failed)?;
            teams.write_invite(InviteRow { done: true, ..row.clone() }).await.map_err(failed)?;
            teams.changed(&format!("“{}” was let into {}", guest.name, guest.invitation.team_name)).await;
            return Ok(roster);
        }
        let team = row.team;
        teams.engine(move |engine| engine.sync_read(|reader| reader.roster_events(&team))).await.map_err(failed)
    }
}

impl AtDoor {
    /// Puts the guest among those who wait; it goes when the guard does.
    fn wait(&self, guest: &JoiningDevice) -> Result<(Guard<'_>, oneshot::Receiver<Answer>), PairRefusal> {
        let (answer, answered) = oneshot::channel();
        let id = hex::encode(random::<8>().map_err(failed)?);
        let invitation = &guest.invitation;
        let view = PendingJoin {
            id: id.clone(),
            invite: hex::encode(invitation.secret_hash.invite_id()),
            team: invitation.team,
            team_name: invitation.team_name.clone(),
            device: guest.binding.joiner,
            name: guest.name.clone(),
            person: guest.person.clone(),
            role: invitation.role.parse().unwrap_or_default(),
            scopes: invitation.scopes.clone(),
            words: guest.binding.verification_code().map(str::to_owned).into(),
            expires_at: now() + invitation.confirm_timeout.as_millis() as u64,
        };
        let summary =
            format!("{} wants to join {} with “{}”", escape(&view.person), escape(&view.team_name), escape(&view.name));
        {
            let mut state = self.teams.state();
            // A device waits once, and where its newest connection is.
            state.waiting.retain(|known| known.view.device != view.device);
            if state.waiting.len() >= MAX_WAITING {
                return Err(PairRefusal::Busy);
            }
            state.waiting.push(Waiting { view, answer });
        }
        self.teams.tell("sync.pending", summary);
        Ok((Guard { teams: &self.teams, id }, answered))
    }
}

/// Takes a guest who is gone off the list.
struct Guard<'a> {
    teams: &'a Teams,
    id: String,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let mut state = self.teams.state();
        let before = state.waiting.len();
        state.waiting.retain(|waiting| waiting.view.id != self.id);
        let gone = state.waiting.len() < before;
        drop(state);
        if gone {
            self.teams.tell("sync.answered", "one who waited to be let in has gone away");
        }
    }
}

/// What went wrong here is told in our log, not to a stranger.
fn failed(error: ApiError) -> PairRefusal {
    tracing::warn!(%error, "a pairing failed on this side");
    PairRefusal::Failed
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What went wrong with a pairing, as a person of this side sees it.
pub(super) fn said(error: &PairError) -> ApiError {
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
    // What to do stands after the colon.
    match text.split_once(": ") {
        Some((what, hint)) if !matches!(error, PairError::Local(_)) => ApiError::new(code, what).hint(hint),
        _ => ApiError::new(code, text),
    }
}
