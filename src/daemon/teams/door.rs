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
        pairing::{self, Door, Guest, Invitation, PATIENCE, PairError, Refusal, proof},
        service::PairHandler,
        words,
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
        if request.accept && !words::same(&request.words, &words) {
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

    async fn invite_of(&self, kept: proof::Kept) -> Result<InviteRow, Refusal> {
        let hash = kept.0;
        let found = self.engine(move |engine| engine.sync_read(|reader| reader.invite(&hash))).await;
        found.map_err(failed)?.ok_or(Refusal::Unknown)
    }

    fn maker(&self, kept: proof::Kept) -> Maker {
        self.state().invites.get(&kept.0).cloned().unwrap_or_default()
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
    let stream = tokio::time::timeout(pairing::STEP, connection.accept_bi()).await;
    let (Ok(()), Ok(Ok((send, receive)))) = (exported, stream) else { return };
    let binding = proof::Binding { exporter, inviter: teams.me(), joiner };
    let mut stream = tokio::io::join(receive, send);
    let caller = AtDoor { teams: Arc::clone(teams), accepted: std::sync::Mutex::default() };
    let came = pairing::receive(&mut stream, binding, &caller).await;
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

impl Door for AtDoor {
    async fn find(&self, name: [u8; 8], binding: &proof::Binding) -> Result<Invitation, Refusal> {
        let teams = &self.teams;
        if teams.knocks_too_often(binding.joiner) {
            return Err(Refusal::Busy);
        }
        let rows = teams.live_invites().await.map_err(failed)?;
        let row = rows.into_iter().find(|row| proof::Kept(row.hash).name() == name).ok_or(Refusal::Unknown)?;
        if row.redeemed_by.is_some_and(|device| device != binding.joiner) {
            return Err(Refusal::Used);
        }
        let team = teams.team(Some(&row.team.to_hex())).await.map_err(failed)?;
        let admitted = row.redeemed_by == Some(binding.joiner) && team.roster.is_member(&binding.joiner);
        if row.done && !admitted {
            return Err(Refusal::Unknown);
        }
        let me = team
            .roster
            .member(&binding.inviter)
            .filter(|_| team.roster.role(&binding.inviter) == Some(crate::api::Role::Admin));
        let me = me.ok_or(Refusal::NotAdmin)?;
        Ok(Invitation {
            kept: proof::Kept(row.hash),
            team: row.team,
            team_name: team.roster.name().to_owned(),
            person: me.person.clone(),
            name: me.name.clone(),
            role: row.grant.role.to_string(),
            scopes: scopes_of(&row.grant.scopes),
            patience: PATIENCE.min(Duration::from_millis(row.expires_at.saturating_sub(now()))),
            admitted,
        })
    }

    async fn bind(&self, guest: &Guest) -> Result<(), Refusal> {
        let row = self.teams.invite_of(guest.invitation.kept).await?;
        match row.redeemed_by {
            Some(device) if device == guest.binding.joiner => Ok(()),
            Some(_) => Err(Refusal::Used),
            None => {
                let row = InviteRow { redeemed_by: Some(guest.binding.joiner), ..row };
                self.teams.write_invite(row).await.map_err(failed)
            }
        }
    }

    async fn ask(&self, guest: &Guest) -> Result<(), Refusal> {
        let maker = self.teams.maker(guest.invitation.kept);
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
                let row = self.teams.invite_of(guest.invitation.kept).await?;
                self.teams.write_invite(InviteRow { done: true, ..row }).await.map_err(failed)?;
                Err(Refusal::Denied)
            }
            // The same device knocked again, and waits there.
            Err(_) => Err(Refusal::Unanswered),
        }
    }

    async fn admit(&self, guest: &Guest) -> Result<Vec<SignedEvent>, Refusal> {
        let teams = &self.teams;
        let row = teams.invite_of(guest.invitation.kept).await?;
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
    fn wait(&self, guest: &Guest) -> Result<(Guard<'_>, oneshot::Receiver<Answer>), Refusal> {
        let (answer, answered) = oneshot::channel();
        let id = hex::encode(random::<8>().map_err(failed)?);
        let invitation = &guest.invitation;
        let view = PendingJoin {
            id: id.clone(),
            invite: hex::encode(invitation.kept.name()),
            team: invitation.team,
            team_name: invitation.team_name.clone(),
            device: guest.binding.joiner,
            name: guest.name.clone(),
            person: guest.person.clone(),
            role: invitation.role.parse().unwrap_or_default(),
            scopes: invitation.scopes.clone(),
            words: guest.binding.words().map(str::to_owned).into(),
            expires_at: now() + invitation.patience.as_millis() as u64,
        };
        let summary =
            format!("{} wants to join {} with “{}”", escape(&view.person), escape(&view.team_name), escape(&view.name));
        {
            let mut state = self.teams.state();
            // A device waits once, and where its newest connection is.
            state.waiting.retain(|known| known.view.device != view.device);
            if state.waiting.len() >= MAX_WAITING {
                return Err(Refusal::Busy);
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
fn failed(error: ApiError) -> Refusal {
    tracing::warn!(%error, "a pairing failed on this side");
    Refusal::Failed
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// What went wrong with a pairing, as a person of this side sees it.
pub(super) fn said(error: &PairError) -> ApiError {
    let code = match error {
        PairError::Ticket(_) => return ApiError::field("ticket", error.to_string()),
        PairError::Refused(Refusal::Denied) => ErrorCode::NeedsPerson,
        PairError::Refused(Refusal::Unknown | Refusal::Expired | Refusal::Used) => ErrorCode::Stale,
        PairError::Refused(Refusal::Unanswered | Refusal::Busy) | PairError::Lost(_) => ErrorCode::Timeout,
        PairError::Refused(Refusal::Failed) | PairError::Here(_) => ErrorCode::Unavailable,
        PairError::Refused(Refusal::NotAdmin | Refusal::Version) | PairError::Impostor | PairError::Garbled(_) => {
            ErrorCode::BadRequest
        }
    };
    let text = error.to_string();
    // What to do stands after the colon.
    match text.split_once(": ") {
        Some((what, hint)) if !matches!(error, PairError::Here(_)) => ApiError::new(code, what).hint(hint),
        _ => ApiError::new(code, text),
    }
}
