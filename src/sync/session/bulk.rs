//! The transfer of many events at once, as in a first sync: a turn leaves out what the peer can compute, and the bodies
//! of its entries follow without a request and without ids.
//!
//! A peer without the feature gets [`Message::Doc`] and requests the bodies.

use std::collections::VecDeque;

use super::{
    DocumentKey, StopReason,
    events::{BODY_FRAME_BYTES, BODY_PAGE_SIZE, QueuedResponse, bodies_of, size},
    exchange::TOO_MANY_BODIES,
    message_loop::SyncSession,
    stream::StreamError,
};
use crate::{
    domain::{EventId, replica::DocumentId},
    sync::{
        frame::{self, CompactDocument, DocumentMessage, FollowingBodies, Message, RejectCode, TurnKind},
        index,
    },
};

/// The size in bytes from which a turn is sent in the compact encoding. A shorter one has too few entries to gain from
/// it.
const MIN_COMPACT_BYTES: usize = 32 * 1024;

/// The bodies that follow a turn and are not sent yet.
pub(super) struct QueuedBodies {
    key: DocumentKey,
    exchange: u64,
    ids: VecDeque<EventId>,
}

impl SyncSession<'_> {
    /// Sends a turn of an exchange, in the compact encoding if the peer supports it and the turn is long.
    pub(super) async fn send_turn(
        &mut self,
        key: &DocumentKey,
        exchange: u64,
        turn: TurnKind,
        messages: Vec<Vec<u8>>,
    ) -> Result<(), StopReason> {
        if !self.compact || messages.iter().map(Vec::len).sum::<usize>() < MIN_COMPACT_BYTES {
            return self.send_full_turn(key, exchange, turn, messages);
        }
        let DocumentKey { scope, month, part } = key.clone();
        let messages = messages.into_iter().map(Into::into).collect();
        let doc = DocumentMessage { scope, month, part, exchange, turn, messages };
        let made = tokio::task::spawn_blocking(move || {
            // If there are at most a batch of bodies, they were sent before the turn, or are requested.
            match CompactDocument::of(&doc).filter(|(_, ids)| ids.len() > index::FLUSH_BATCH_SIZE) {
                Some((compact, ids)) => (frame::encode(&Message::Compact(compact)), ids),
                None => (frame::encode(&Message::Doc(doc)), Vec::new()),
            }
        });
        let (frame, ids) = made.await.map_err(|gone| StopReason::Local(gone.to_string()))?;
        self.stream.send_frame(frame.map_err(StreamError::from)?)?;
        if !ids.is_empty() {
            self.responses.push_back(QueuedResponse::FollowingBodies(QueuedBodies {
                key: key.clone(),
                exchange,
                ids: ids.into(),
            }));
        }
        Ok(())
    }

    /// Sends the next page of the bodies that follow a turn.
    pub(super) async fn send_following(&mut self, mut rest: QueuedBodies) -> Result<(), StopReason> {
        let page: Vec<EventId> = rest.ids.drain(..rest.ids.len().min(BODY_PAGE_SIZE)).collect();
        let (team, key, exchange) = (self.team, rest.key.clone(), rest.exchange);
        let frames = self.context.engine(move |engine| {
            let DocumentKey { scope, month, part } = key;
            let mut bodies = bodies_of(engine, team, &scope, page)?.into_iter().map(|(_, body)| body).peekable();
            let mut frames = Vec::new();
            while bodies.peek().is_some() {
                let mut following = FollowingBodies {
                    scope: scope.clone(),
                    month,
                    part,
                    exchange,
                    lengths: Vec::new(),
                    salts: Vec::new(),
                    bytes: Vec::new(),
                };
                let mut bytes = 0;
                while bytes < BODY_FRAME_BYTES
                    && let Some(body) = bodies.next()
                {
                    bytes += body.as_ref().map_or(1, size);
                    following.push(body);
                }
                frames.push(frame::encode(&Message::FollowingBodies(following)));
            }
            Ok(frames)
        });
        for frame in frames.await? {
            self.stream.send_frame(frame.map_err(StreamError::from)?)?;
        }
        if !rest.ids.is_empty() {
            self.responses.push_front(QueuedResponse::FollowingBodies(rest));
        }
        Ok(())
    }

    /// Drops the queued bodies of an exchange that is over; if `exchange` is `None`, those of all exchanges of
    /// the document.
    pub(super) fn forget_following(&mut self, document: DocumentId, exchange: Option<u64>) {
        let team = self.team;
        self.responses.retain(|response| match response {
            QueuedResponse::FollowingBodies(rest) => {
                rest.key.document_id(team) != document || exchange.is_some_and(|number| rest.exchange != number)
            }
            _ => true,
        });
    }

    /// Handles a turn in the compact encoding.
    pub(super) async fn receive_compact(&mut self, message: CompactDocument) -> Result<(), StopReason> {
        let restored = tokio::task::spawn_blocking(move || message.restore()).await;
        let (doc, ids) = restored.map_err(|gone| StopReason::Local(gone.to_string()))?.map_err(StreamError::from)?;
        self.receive_turn(doc, ids).await
    }

    /// Handles bodies that follow an earlier turn.
    pub(super) async fn receive_following(&mut self, following: FollowingBodies) -> Result<(), StopReason> {
        let bodies = following.bodies().map_err(StreamError::from)?;
        let FollowingBodies { scope, month, part, exchange: number, .. } = following;
        let document = DocumentKey { scope, month, part }.document_id(self.team);
        // Bodies of an exchange that is over are ignored.
        let open = self.exchanges.get_mut(&document).filter(|open| open.is(number));
        let Some(exchange) = open else { return Ok(()) };
        if !exchange.add_following(bodies) {
            return Err(StopReason::reject(RejectCode::Version, "the rejected device sent more texts than events"));
        }
        if let Some(key) = exchange.too_big() {
            self.refuse_document(key, RejectCode::TooBig, TOO_MANY_BODIES.to_owned())?;
        }
        self.finish_complete().await
    }
}
