//! Requests of the app as calls of the client, and their failures as the app understands them.

use crate::{
    api::{ErrorCode, PendingJoins, SyncNowRequest},
    client::{Client, ClientError},
    tui::msg::{Answer, Failure, FailureKind, Read, Write},
};

/// How long the app waits for what comes of a round with every peer, in milliseconds.
const ROUND_MS: u64 = 10_000;

/// Asks the daemon.
pub(super) async fn read(client: &Client, read: Read) -> Result<Answer, Failure> {
    Ok(match read {
        Read::Health => Answer::Health(Box::new(client.health().await?)),
        Read::Scopes => Answer::Scopes(client.scopes().await?),
        Read::Claims(query) => Answer::Claims(client.claims(&query).await?),
        Read::History(id) => Answer::History(Box::new(client.history(&id).await?)),
        Read::Why(request) => Answer::Why(Box::new(client.why(&request).await?)),
        Read::Conflicts(query) => Answer::Conflicts(client.conflicts(&query).await?),
        Read::Card(id) => Answer::Card(Box::new(client.card(&id).await?)),
        Read::Inbox(query) => Answer::Inbox(client.inbox(&query).await?),
        Read::Log(query) => Answer::Log(client.log(&query).await?),
        Read::Diagnose => Answer::Diagnose(Box::new(client.diagnose().await?)),
        Read::Sync => {
            let status = client.sync_status().await?;
            let pending = if status.pending > 0 { client.sync_pending().await? } else { PendingJoins::default() };
            Answer::Sync(Box::new(status), pending)
        }
    })
}

/// Tells the daemon.
pub(super) async fn write(client: &Client, write: Write) -> Result<Answer, Failure> {
    Ok(match write {
        Write::Resolve { card, request } => Answer::Outcome(Box::new(client.resolve(&card, &request).await?)),
        Write::ResolveMany(request) => Answer::Many(Box::new(client.resolve_many(&request).await?)),
        Write::Supersede(request) => Answer::Outcome(Box::new(client.supersede(&request).await?)),
        Write::Retract(request) => Answer::Outcome(Box::new(client.retract(&request).await?)),
        Write::Reinstate(request) => Answer::Outcome(Box::new(client.reinstate(&request).await?)),
        Write::Redact(request) => Answer::Outcome(Box::new(client.redact(&request).await?)),
        Write::Reviewed(request) => Answer::Outcome(Box::new(client.reviewed(&request).await?)),
        Write::Undo(request) => Answer::Undone(Box::new(client.undo(&request).await?)),
        Write::Audit(request) => Answer::Audited(client.audit(&request).await?),
        Write::SyncNow => {
            let request = SyncNowRequest { device: None, wait_ms: Some(ROUND_MS) };
            Answer::Synced(Box::new(client.sync_now(&request).await?))
        }
        Write::Quarantine { accept: true, request } => Answer::Team(client.sync_accept(&request).await?),
        Write::Quarantine { accept: false, request } => Answer::Team(client.sync_discard(&request).await?),
        Write::AnswerJoin { id, name, request } => {
            client.sync_answer(&id, &request).await?;
            Answer::Joined { name, accepted: request.accept }
        }
    })
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let (kind, field, candidates) = match &error {
            ClientError::Timeout { .. } => (FailureKind::Timeout, None, Vec::new()),
            ClientError::Api(api) => {
                let kind = if api.code == ErrorCode::NotFound { FailureKind::NotFound } else { FailureKind::Refused };
                (kind, api.field.clone(), api.candidates.clone())
            }
            other if other.is_unreachable() => (FailureKind::Unreachable, None, Vec::new()),
            _ => (FailureKind::Refused, None, Vec::new()),
        };
        Self { kind, message: error.to_string(), hint: error.hint(), field, candidates }
    }
}
