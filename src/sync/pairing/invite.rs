//! The inviter's side.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    PairError, Refusal, STEP,
    proof::{Binding, Kept},
    wire::{self, Hello, LARGE, Message, PAGE, Page, SMALL, Welcome, WireEvent},
};
use crate::domain::{EventId, Scope, SignedEvent, roster::MAX_NAME};

/// What the inviter's side asks of its surroundings: the invites, the person, the team.
pub trait Door: Send + Sync {
    /// The invite of this name, whoever asks. Counts the try: a device that tries too often is refused.
    fn find(&self, name: [u8; 8], binding: &Binding) -> impl Future<Output = Result<Invitation, Refusal>> + Send;
    /// Binds the invite to the device, for good: the proof was right.
    fn bind(&self, guest: &Guest) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// Asks a person whether the guest may come in. Dropped where the guest goes away.
    fn ask(&self, guest: &Guest) -> impl Future<Output = Result<(), Refusal>> + Send;
    /// Takes the guest into the team, unless it is in already, and gives the whole roster.
    fn admit(&self, guest: &Guest) -> impl Future<Output = Result<Vec<SignedEvent>, Refusal>> + Send;
}

/// An invite, as far as the protocol needs it.
#[derive(Clone)]
pub struct Invitation {
    /// The hash of its secret.
    pub kept: Kept,
    /// The team.
    pub team: EventId,
    /// The team's name.
    pub team_name: String,
    /// Whose device this is.
    pub person: String,
    /// What it is called.
    pub name: String,
    /// The role that is offered.
    pub role: String,
    /// The scopes that will be seen; empty for all.
    pub scopes: Vec<Scope>,
    /// How long a person has to answer.
    pub patience: Duration,
    /// The device was let in before, and only did not hear of it: nobody is asked again.
    pub admitted: bool,
}

/// Who proved to have the ticket.
#[derive(Clone)]
pub struct Guest {
    /// The invite.
    pub invitation: Invitation,
    /// The connection, and so the device.
    pub binding: Binding,
    /// Whose device it says to be.
    pub person: String,
    /// What it calls itself.
    pub name: String,
}

/// Receives one who knocks. Ends when the guest has the roster, was refused, or went away.
///
/// # Errors
/// Where the guest did not come in; it was told, as far as it could be.
pub async fn receive<S>(stream: &mut S, binding: Binding, door: &impl Door) -> Result<Guest, PairError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    match admit(stream, binding, door).await {
        Err(PairError::Refused(refusal)) => {
            // It may be gone already.
            let _gone = wire::send(stream, &Message::Refused(refusal.as_str().to_owned())).await;
            Err(PairError::Refused(refusal))
        }
        Err(PairError::Garbled(what)) => {
            let _gone = wire::send(stream, &Message::Refused(Refusal::Version.as_str().to_owned())).await;
            Err(PairError::Garbled(what))
        }
        other => other,
    }
}

async fn admit<S>(stream: &mut S, binding: Binding, door: &impl Door) -> Result<Guest, PairError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let hello = match wire::receive(stream, SMALL, STEP).await? {
        Message::Hello(hello) => hello,
        other => return Err(wire::out_of_turn(&other)),
    };
    let Hello { invite, proof, person, name } = hello;
    let invitation = door.find(invite, &binding).await.map_err(PairError::Refused)?;
    if !binding.admits(&invitation.kept, proof) {
        return Err(PairError::Refused(Refusal::Unknown));
    }
    let guest = Guest { invitation, binding, person: short(&person), name: short(&name) };
    door.bind(&guest).await.map_err(PairError::Refused)?;
    let welcome = Welcome {
        proof: binding.inviter_proof(&guest.invitation.kept),
        team: guest.invitation.team,
        team_name: guest.invitation.team_name.clone(),
        person: guest.invitation.person.clone(),
        name: guest.invitation.name.clone(),
        role: guest.invitation.role.clone(),
        scopes: guest.invitation.scopes.clone(),
        patience: guest.invitation.patience.as_secs(),
    };
    wire::send(stream, &Message::Welcome(welcome)).await?;
    match wire::receive(stream, SMALL, STEP).await? {
        Message::Ready => {}
        other => return Err(wire::out_of_turn(&other)),
    }
    if !guest.invitation.admitted {
        answered(stream, &guest, door).await?;
    }
    let roster = door.admit(&guest).await.map_err(PairError::Refused)?;
    for page in pages(&roster) {
        wire::send(stream, &Message::Roster(page)).await?;
    }
    match wire::receive(stream, SMALL, STEP).await? {
        Message::Done => Ok(guest),
        other => Err(wire::out_of_turn(&other)),
    }
}

/// Waits for the person, as long as the guest does.
async fn answered<S>(stream: &mut S, guest: &Guest, door: &impl Door) -> Result<(), PairError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let patience = guest.invitation.patience;
    tokio::select! {
        answer = door.ask(guest) => answer.map_err(PairError::Refused),
        () = tokio::time::sleep(patience) => Err(PairError::Refused(Refusal::Unanswered)),
        // The guest has nothing to say now: whatever comes ends it.
        said = wire::receive(stream, SMALL, patience + STEP) => Err(match said {
            Ok(message) => wire::out_of_turn(&message),
            Err(error) => error,
        }),
    }
}

fn pages(roster: &[SignedEvent]) -> Vec<Page> {
    let mut pages = vec![Page { events: Vec::new(), last: false }];
    let mut size = 0;
    for event in roster {
        if size > 0 && size + event.size() > PAGE {
            pages.push(Page { events: Vec::new(), last: false });
            size = 0;
        }
        size += event.size();
        if let Some(page) = pages.last_mut() {
            page.events.push(WireEvent::from(event));
        }
    }
    if let Some(page) = pages.last_mut() {
        page.last = true;
    }
    const { assert!(PAGE + crate::domain::event::MAX_EVENT * 2 < LARGE) };
    pages
}

/// A name as a roster takes it.
fn short(name: &str) -> String {
    let mut out = String::new();
    for c in name.trim().chars().filter(|c| !c.is_control()) {
        if out.len() + c.len_utf8() > MAX_NAME {
            break;
        }
        out.push(c);
    }
    if out.trim().is_empty() { "(without a name)".to_owned() } else { out.trim().to_owned() }
}
