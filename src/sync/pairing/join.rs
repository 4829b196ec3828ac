//! The joiner's side of pairing.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    CONFIRM_TIMEOUT, PairError, STEP_TIMEOUT,
    proof::{ChannelBinding, SecretHash},
    wire::{self, MAX_MESSAGE, MAX_ROSTER_EVENTS, MAX_ROSTER_MESSAGE, PairHello, PairMessage, Welcome},
};
use crate::{domain::SignedEvent, sync::ticket::Ticket};

/// The names under which this device joins.
#[derive(Clone, Debug)]
pub struct JoinerIdentity {
    pub person: String,
    pub name: String,
}

/// An attempt to join that waits for the inviter's answer.
pub struct JoinAttempt<S> {
    stream: S,
    /// The inviter's description of the team.
    pub welcome: Welcome,
    /// The words to compare with the inviter's screen.
    pub verification_code: Vec<String>,
    /// The time in which the inviter must confirm.
    pub confirm_timeout: Duration,
}

/// Asks to join with a ticket, and returns once the verification code is known.
///
/// # Errors
/// If the other side refuses, did not make the ticket, or disconnects.
pub async fn request_join<S>(
    mut stream: S,
    ticket: &Ticket,
    binding: ChannelBinding,
    me: &JoinerIdentity,
) -> Result<JoinAttempt<S>, PairError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let hello = PairHello {
        invite: SecretHash::of(&ticket.secret).invite_id(),
        proof: binding.joiner_proof(&ticket.secret),
        person: me.person.clone(),
        name: me.name.clone(),
    };
    wire::send(&mut stream, &PairMessage::Hello(hello)).await?;
    let welcome = match wire::receive(&mut stream, MAX_MESSAGE, STEP_TIMEOUT).await? {
        PairMessage::Welcome(welcome) => welcome,
        other => return Err(wire::unexpected_message(&other)),
    };
    if !binding.verify_inviter(&ticket.secret, welcome.proof) || welcome.team != ticket.team {
        return Err(PairError::WrongInviter);
    }
    wire::send(&mut stream, &PairMessage::Ready).await?;
    let verification_code = binding.verification_code().map(str::to_owned).into();
    let confirm_timeout = Duration::from_secs(welcome.confirm_timeout).min(CONFIRM_TIMEOUT * 2);
    Ok(JoinAttempt { stream, welcome, verification_code, confirm_timeout })
}

impl<S> JoinAttempt<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    /// Waits for the answer and passes the roster to `take`, which stores it; then notifies the inviter.
    ///
    /// # Errors
    /// If the other side refuses or disconnects, or `take` fails.
    pub async fn finish<T>(
        mut self,
        take: impl AsyncFnOnce(Vec<SignedEvent>) -> Result<T, PairError>,
    ) -> Result<T, PairError> {
        let mut roster = Vec::new();
        let mut confirm_timeout = self.confirm_timeout + STEP_TIMEOUT;
        loop {
            let page = match wire::receive(&mut self.stream, MAX_ROSTER_MESSAGE, confirm_timeout).await? {
                PairMessage::Roster(page) => page,
                other => return Err(wire::unexpected_message(&other)),
            };
            confirm_timeout = STEP_TIMEOUT;
            if page.events.is_empty() && !page.last || roster.len() + page.events.len() > MAX_ROSTER_EVENTS {
                return Err(PairError::Protocol("a roster that is too long".to_owned()));
            }
            for event in page.events {
                roster.push(event.into_event().map_err(|error| PairError::Protocol(error.to_string()))?);
            }
            if page.last {
                break;
            }
        }
        let taken = take(roster).await?;
        // The device belongs to the team even if the inviter is notified only by the first sync.
        let _gone = wire::send(&mut self.stream, &PairMessage::Done).await;
        Ok(taken)
    }
}
