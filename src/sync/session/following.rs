//! Much at once, as in a first sync: a document's turn goes without what can be computed, and the bodies of its entries follow unasked
//! and without their ids. Whoever does not say that it understands this gets [`Message::Doc`] and asks for bodies.

use std::collections::VecDeque;

use super::{
    Place, Stop,
    exchange::TOO_MANY_BODIES,
    live::Session,
    plain::{BODIES, FRAME_BYTES, Owed, bodies_of, size},
    wire::WireError,
};
use crate::{
    domain::EventId,
    sync::{
        frame::{self, Code, DocMessage, Following, LeanDoc, Message, Turn},
        index,
    },
};

/// Shorter turns have too few entries to be taken apart, in bytes.
const LONG: usize = 32 * 1024;

/// Bodies that follow a turn and have not been sent yet.
pub(super) struct Rest {
    pub(super) place: Place,
    exchange: u64,
    ids: VecDeque<EventId>,
}

impl Session<'_> {
    /// Says a turn of an exchange.
    pub(super) async fn speak(
        &mut self,
        place: &Place,
        exchange: u64,
        turn: Turn,
        messages: Vec<Vec<u8>>,
    ) -> Result<(), Stop> {
        if !self.lean || messages.iter().map(Vec::len).sum::<usize>() < LONG {
            return self.say_at(place, exchange, turn, messages);
        }
        let Place { scope, month, part } = place.clone();
        let messages = messages.into_iter().map(Into::into).collect();
        let doc = DocMessage { scope, month, part, exchange, turn, messages };
        let made = tokio::task::spawn_blocking(move || {
            // Of fewer the bodies were sent ahead, or are asked for.
            match LeanDoc::of(&doc).filter(|(_, ids)| ids.len() > index::BATCH) {
                Some((lean, ids)) => (frame::encode(&Message::Lean(lean)), ids),
                None => (frame::encode(&Message::Doc(doc)), Vec::new()),
            }
        });
        let (frame, ids) = made.await.map_err(|gone| Stop::Here(gone.to_string()))?;
        self.wire.send_frame(frame.map_err(WireError::from)?)?;
        if !ids.is_empty() {
            self.owed.push_back(Owed::Following(Rest { place: place.clone(), exchange, ids: ids.into() }));
        }
        Ok(())
    }

    /// Sends the next bodies that follow a turn.
    pub(super) async fn send_following(&mut self, mut rest: Rest) -> Result<(), Stop> {
        let page: Vec<EventId> = rest.ids.drain(..rest.ids.len().min(BODIES)).collect();
        let (team, place, exchange) = (self.team, rest.place.clone(), rest.exchange);
        let frames = self.context.engine(move |engine| {
            let Place { scope, month, part } = place;
            let mut bodies = bodies_of(engine, team, &scope, page)?.into_iter().map(|(_, body)| body).peekable();
            let mut frames = Vec::new();
            while bodies.peek().is_some() {
                let mut following = Following {
                    scope: scope.clone(),
                    month,
                    part,
                    exchange,
                    lengths: Vec::new(),
                    salts: Vec::new(),
                    bytes: Vec::new(),
                };
                let mut bytes = 0;
                while bytes < FRAME_BYTES
                    && let Some(body) = bodies.next()
                {
                    bytes += body.as_ref().map_or(1, size);
                    following.push(body);
                }
                frames.push(frame::encode(&Message::Following(following)));
            }
            Ok(frames)
        });
        for frame in frames.await? {
            self.wire.send_frame(frame.map_err(WireError::from)?)?;
        }
        if !rest.ids.is_empty() {
            self.owed.push_front(Owed::Following(rest));
        }
        Ok(())
    }

    /// Nobody waits any more for what follows the turns of an exchange; of all of a document's where none is named.
    pub(super) fn forget_following(&mut self, place: &Place, exchange: Option<u64>) {
        self.owed.retain(|owed| match owed {
            Owed::Following(rest) => rest.place != *place || exchange.is_some_and(|number| rest.exchange != number),
            _ => true,
        });
    }

    /// A turn of the peer, taken apart.
    pub(super) async fn take_lean(&mut self, message: LeanDoc) -> Result<(), Stop> {
        let restored = tokio::task::spawn_blocking(move || message.restore()).await;
        let (doc, ids) = restored.map_err(|gone| Stop::Here(gone.to_string()))?.map_err(WireError::from)?;
        self.take_doc(doc, ids).await
    }

    /// Bodies of a turn that came before.
    pub(super) async fn take_following(&mut self, following: Following) -> Result<(), Stop> {
        let bodies = following.bodies().map_err(WireError::from)?;
        let Following { scope, month, part, exchange: number, .. } = following;
        let document = Place { scope, month, part }.document(self.team);
        // Where the exchange is over, nobody waits for them.
        let open = self.exchanges.get_mut(&document).filter(|open| open.is(number));
        let Some(exchange) = open else { return Ok(()) };
        if !exchange.take_following(bodies) {
            return Err(Stop::refuse(Code::Version, "FOLLOWING holds more bodies than there are entries"));
        }
        if let Some(place) = exchange.too_big() {
            self.refuse_document(place, Code::TooBig, TOO_MANY_BODIES.to_owned())?;
        }
        self.finish_complete().await
    }
}
