//! Join requests that wait for the answer of a person on this device.

use tokio::sync::oneshot;

use super::{Teams, join_requests::failed, now, random};
use crate::{
    api::{AnswerJoinRequest, ApiError, Caller, ErrorCode, PendingJoin, PendingJoins},
    domain::text::escape,
    sync::{
        pairing::{JoiningDevice, PairRefusal},
        verification,
    },
};

/// The maximum number of waiting requests.
const MAX_WAITING: usize = 4;

/// A request that waits for a person.
pub(super) struct WaitingRequest {
    view: PendingJoin,
    answer: oneshot::Sender<Confirmation>,
}

/// A person's answer to a join request.
pub(super) enum Confirmation {
    Yes(Acceptance),
    No,
}

/// The acceptance of a join request.
pub(super) struct Acceptance {
    pub(super) caller: Caller,
    /// The channel for the result of the admission; `None` if nobody waits for it.
    pub(super) outcome: Option<oneshot::Sender<Result<(), ApiError>>>,
}

impl Teams {
    /// Lists the waiting requests.
    pub(in crate::daemon) fn pending(&self) -> PendingJoins {
        let now = now();
        let state = self.state();
        let items = state.waiting.iter().map(|waiting| waiting.view.clone()).filter(|view| view.expires_at > now);
        PendingJoins { items: items.collect() }
    }

    /// Accepts or denies a join request. If it is accepted, returns once the device is a member of the team.
    pub(in crate::daemon) async fn answer(
        &self,
        id: &str,
        request: AnswerJoinRequest,
    ) -> Result<PendingJoin, ApiError> {
        self.engine.must_be_person(&request.caller, "admit or deny devices")?;
        let WaitingRequest { view, answer } = self.take_request(id, &request)?;
        let disconnected = || {
            ApiError::new(ErrorCode::Stale, format!("“{}” has disconnected", escape(&view.name)))
                .hint("it can try again with the same ticket")
        };
        if !request.accept {
            answer.send(Confirmation::No).map_err(|_| disconnected())?;
            return Ok(view);
        }
        let (outcome, admitted) = oneshot::channel();
        let acceptance = Acceptance { caller: request.caller, outcome: Some(outcome) };
        answer.send(Confirmation::Yes(acceptance)).map_err(|_| disconnected())?;
        admitted.await.unwrap_or_else(|_| Err(disconnected()))?;
        Ok(view)
    }

    /// Removes a request from the waiting ones. Fails, and leaves it waiting, if it is accepted with wrong words.
    fn take_request(&self, id: &str, request: &AnswerJoinRequest) -> Result<WaitingRequest, ApiError> {
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
        Ok(state.waiting.remove(at))
    }

    /// Adds a waiting request, which is removed when the guard is dropped.
    pub(super) fn wait(
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
            let mut state = self.state();
            // Only the newest request of a device waits.
            state.waiting.retain(|known| known.view.device != view.device);
            if state.waiting.len() >= MAX_WAITING {
                return Err(PairRefusal::Busy);
            }
            state.waiting.push(WaitingRequest { view, answer });
        }
        self.announce("sync.pending", summary);
        Ok((WaitingGuard { teams: self, id }, answered))
    }
}

/// Removes a waiting request when it is dropped.
pub(super) struct WaitingGuard<'a> {
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
