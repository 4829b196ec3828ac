//! The inviter's side of pairing.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};

use super::{
    PairError, PairRefusal, STEP_TIMEOUT,
    proof::{ChannelBinding, SecretHash},
    wire::{
        self, MAX_MESSAGE, MAX_ROSTER_MESSAGE, PAGE_BYTES, PairHello, PairMessage, PairWireEvent, RosterPage, Welcome,
    },
};
use crate::domain::{EventId, Scope, SignedEvent, roster::MAX_NAME};

/// The services that the inviter's side needs: the invitations, a person to confirm, and the team.
pub trait Inviter: Send + Sync {
    /// Finds an invitation by its id. Counts the attempt, since a device that tries too often is refused.
    fn find_invitation(
        &self,
        invite_id: [u8; 8],
        binding: &ChannelBinding,
    ) -> impl Future<Output = Result<Invitation, PairRefusal>> + Send;
    /// Binds the invitation permanently to the device, after its proof was verified.
    fn bind_invitation(&self, joiner: &JoiningDevice) -> impl Future<Output = Result<(), PairRefusal>> + Send;
    /// Asks a person whether the device may join. Cancelled if the device disconnects.
    fn confirm(&self, joiner: &JoiningDevice) -> impl Future<Output = Result<(), PairRefusal>> + Send;
    /// Admits the device unless it is already a member, and returns the whole roster.
    fn admit(&self, joiner: &JoiningDevice) -> impl Future<Output = Result<Vec<SignedEvent>, PairRefusal>> + Send;
}

/// An invitation, as the protocol needs it.
#[derive(Clone)]
pub struct Invitation {
    /// The hash of its secret.
    pub secret_hash: SecretHash,
    pub team: EventId,
    pub team_name: String,
    /// The inviting person.
    pub person: String,
    /// The name of the inviting device.
    pub name: String,
    /// The role that is offered.
    pub role: String,
    /// The scopes that are granted; empty for all.
    pub scopes: Vec<Scope>,
    /// The time in which a person must confirm.
    pub confirm_timeout: Duration,
    /// Whether the device was admitted before and only missed the answer. Then no person is asked again.
    pub admitted: bool,
}

/// A device that has proved possession of the ticket.
#[derive(Clone)]
pub struct JoiningDevice {
    pub invitation: Invitation,
    /// Identifies the connection, and with it the device.
    pub binding: ChannelBinding,
    /// The person that it claims to belong to.
    pub person: String,
    /// The name that it gives itself.
    pub name: String,
}

/// Serves a device that wants to join. Returns when it has the roster, was refused, or disconnected.
///
/// # Errors
/// If the device did not join. It was notified, if possible.
pub async fn serve_join<S>(
    stream: &mut S,
    binding: ChannelBinding,
    inviter: &impl Inviter,
) -> Result<JoiningDevice, PairError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    match admit(stream, binding, inviter).await {
        Err(PairError::Refused(refusal)) => {
            // The device may have disconnected already.
            let _gone = wire::send(stream, &PairMessage::Refused(refusal.as_str().to_owned())).await;
            Err(PairError::Refused(refusal))
        }
        Err(PairError::Protocol(what)) => {
            let _gone = wire::send(stream, &PairMessage::Refused(PairRefusal::Version.as_str().to_owned())).await;
            Err(PairError::Protocol(what))
        }
        other => other,
    }
}

async fn admit<S>(stream: &mut S, binding: ChannelBinding, inviter: &impl Inviter) -> Result<JoiningDevice, PairError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let hello = match wire::receive(stream, MAX_MESSAGE, STEP_TIMEOUT).await? {
        PairMessage::Hello(hello) => hello,
        other => return Err(wire::unexpected_message(&other)),
    };
    let PairHello { invite, proof, person, name } = hello;
    let invitation = inviter.find_invitation(invite, &binding).await.map_err(PairError::Refused)?;
    if !binding.verify_joiner(&invitation.secret_hash, proof) {
        return Err(PairError::Refused(PairRefusal::Unknown));
    }
    let joiner = JoiningDevice { invitation, binding, person: sanitize_name(&person), name: sanitize_name(&name) };
    inviter.bind_invitation(&joiner).await.map_err(PairError::Refused)?;
    let welcome = Welcome {
        proof: binding.inviter_proof(&joiner.invitation.secret_hash),
        team: joiner.invitation.team,
        team_name: joiner.invitation.team_name.clone(),
        person: joiner.invitation.person.clone(),
        name: joiner.invitation.name.clone(),
        role: joiner.invitation.role.clone(),
        scopes: joiner.invitation.scopes.clone(),
        confirm_timeout: joiner.invitation.confirm_timeout.as_secs(),
    };
    wire::send(stream, &PairMessage::Welcome(welcome)).await?;
    match wire::receive(stream, MAX_MESSAGE, STEP_TIMEOUT).await? {
        PairMessage::Ready => {}
        other => return Err(wire::unexpected_message(&other)),
    }
    if !joiner.invitation.admitted {
        wait_for_confirmation(stream, &joiner, inviter).await?;
    }
    let roster = inviter.admit(&joiner).await.map_err(PairError::Refused)?;
    for page in pages(&roster) {
        wire::send(stream, &PairMessage::Roster(page)).await?;
    }
    match wire::receive(stream, MAX_MESSAGE, STEP_TIMEOUT).await? {
        PairMessage::Done => Ok(joiner),
        other => Err(wire::unexpected_message(&other)),
    }
}

/// Waits for the person's answer while the device stays connected.
async fn wait_for_confirmation<S>(
    stream: &mut S,
    joiner: &JoiningDevice,
    inviter: &impl Inviter,
) -> Result<(), PairError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let confirm_timeout = joiner.invitation.confirm_timeout;
    tokio::select! {
        answer = inviter.confirm(joiner) => answer.map_err(PairError::Refused),
        () = tokio::time::sleep(confirm_timeout) => Err(PairError::Refused(PairRefusal::Unanswered)),
        // The device must not send anything now, so any message ends the attempt.
        reply = wire::receive(stream, MAX_MESSAGE, confirm_timeout + STEP_TIMEOUT) => Err(match reply {
            Ok(message) => wire::unexpected_message(&message),
            Err(error) => error,
        }),
    }
}

fn pages(roster: &[SignedEvent]) -> Vec<RosterPage> {
    let mut pages = vec![RosterPage { events: Vec::new(), last: false }];
    let mut size = 0;
    for event in roster {
        if size > 0 && size + event.size() > PAGE_BYTES {
            pages.push(RosterPage { events: Vec::new(), last: false });
            size = 0;
        }
        size += event.size();
        if let Some(page) = pages.last_mut() {
            page.events.push(PairWireEvent::from(event));
        }
    }
    if let Some(page) = pages.last_mut() {
        page.last = true;
    }
    const { assert!(PAGE_BYTES + crate::domain::event::MAX_EVENT * 2 < MAX_ROSTER_MESSAGE) };
    pages
}

/// Removes control characters from a name and shortens it to what the roster allows.
fn sanitize_name(name: &str) -> String {
    let mut out = String::new();
    for c in name.trim().chars().filter(|c| !c.is_control()) {
        if out.len() + c.len_utf8() > MAX_NAME {
            break;
        }
        out.push(c);
    }
    if out.trim().is_empty() { "(without a name)".to_owned() } else { out.trim().to_owned() }
}
