//! The joiner's side.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    PATIENCE, PairError, STEP,
    proof::{Binding, Kept},
    wire::{self, Hello, LARGE, MAX_ROSTER, Message, SMALL, Welcome},
};
use crate::{domain::SignedEvent, sync::ticket::Ticket};

/// Who wants to come in, as the others will see it.
#[derive(Clone, Debug)]
pub struct Me {
    /// The person.
    pub person: String,
    /// The device's name.
    pub name: String,
}

/// A join that waits for the other side's answer, the words on both screens.
pub struct Waiting<S> {
    stream: S,
    /// What the inviter told of the team.
    pub welcome: Welcome,
    /// The words to compare.
    pub words: Vec<String>,
    /// How long the other side has to answer.
    pub patience: Duration,
}

/// Knocks with a ticket: after this the words are known.
///
/// # Errors
/// Where the other side refuses, is not the one that made the ticket, or goes away.
pub async fn knock<S>(mut stream: S, ticket: &Ticket, binding: Binding, me: &Me) -> Result<Waiting<S>, PairError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let hello = Hello {
        invite: Kept::of(&ticket.secret).name(),
        proof: binding.joiner_proof(&ticket.secret),
        person: me.person.clone(),
        name: me.name.clone(),
    };
    wire::send(&mut stream, &Message::Hello(hello)).await?;
    let welcome = match wire::receive(&mut stream, SMALL, STEP).await? {
        Message::Welcome(welcome) => welcome,
        other => return Err(wire::out_of_turn(&other)),
    };
    if !binding.trusts(&ticket.secret, welcome.proof) || welcome.team != ticket.team {
        return Err(PairError::Impostor);
    }
    wire::send(&mut stream, &Message::Ready).await?;
    let words = binding.words().map(str::to_owned).into();
    let patience = Duration::from_secs(welcome.patience).min(PATIENCE * 2);
    Ok(Waiting { stream, welcome, words, patience })
}

impl<S> Waiting<S>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    /// Waits for the answer and hands the roster to `take`, which stores it; the other side hears of it after that.
    ///
    /// # Errors
    /// Where the other side says no or goes away, or `take` fails.
    pub async fn finish<T>(
        mut self,
        take: impl AsyncFnOnce(Vec<SignedEvent>) -> Result<T, PairError>,
    ) -> Result<T, PairError> {
        let mut roster = Vec::new();
        let mut patience = self.patience + STEP;
        loop {
            let page = match wire::receive(&mut self.stream, LARGE, patience).await? {
                Message::Roster(page) => page,
                other => return Err(wire::out_of_turn(&other)),
            };
            patience = STEP;
            if page.events.is_empty() && !page.last || roster.len() + page.events.len() > MAX_ROSTER {
                return Err(PairError::Garbled("a roster without end".to_owned()));
            }
            for event in page.events {
                roster.push(event.into_event().map_err(|error| PairError::Garbled(error.to_string()))?);
            }
            if page.last {
                break;
            }
        }
        let taken = take(roster).await?;
        // This device is in the team: whether the other side hears of it now or at the first sync is all one.
        let _gone = wire::send(&mut self.stream, &Message::Done).await;
        Ok(taken)
    }
}
