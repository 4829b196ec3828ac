//! The exchange of roster events.

use super::{
    StopReason,
    events::{EVENT_PAGE_SIZE, into_events, wire_events},
    message_loop::SyncSession,
};
use crate::{
    domain::{
        EventId,
        replica::ChainEnd,
        roster::{ORG, Roster},
    },
    engine::SyncReader,
    store::StoreError,
    sync::frame::{EventPage, Message, RejectCode},
};

impl SyncSession<'_> {
    /// Sends the roster events that the peer lacks.
    pub(super) async fn send_roster(&mut self) -> Result<(), StopReason> {
        let (team, known) = (self.team, self.their_roster.clone());
        // All from one state of the store. Otherwise an event that is stored between two reads would count as sent
        // although it was not, and a revocation would not reach the peer.
        let read = self.context.engine(move |engine| engine.sync_read(|reader| roster_after(reader, &team, &known)));
        let news = read.await?.ok_or_else(|| StopReason::Local("the team's roster is not in the store".to_owned()))?;
        for page in news.pages {
            self.stream.send(&Message::Roster(page))?;
        }
        self.their_roster = news.vector;
        Ok(())
    }

    /// Stores roster events of the peer.
    pub(super) async fn receive_roster(&mut self, page: EventPage) -> Result<(), StopReason> {
        if page.events.is_empty() {
            return Ok(());
        }
        let events = into_events(page.events)?;
        if events.iter().any(|event| event.header.scope.org_id != ORG) {
            return Err(StopReason::reject(RejectCode::BadEvent, "the sent roster has an event of another scope"));
        }
        let imported = self.import(events).await?;
        if imported.roster_changed || !imported.stored.is_empty() {
            self.changed = true;
            self.publish(true, true);
        }
        Ok(())
    }
}

/// The roster events that a peer does not have, and how far the whole roster reaches.
struct RosterNews {
    pages: Vec<EventPage>,
    vector: Vec<ChainEnd>,
}

/// Returns the roster events beyond `known`; `None` if this device does not have the roster.
fn roster_after(reader: &SyncReader<'_>, team: &EventId, known: &[ChainEnd]) -> Result<Option<RosterNews>, StoreError> {
    let Some(scope) = reader.roster(team)?.as_ref().map(Roster::scope).cloned() else { return Ok(None) };
    let (mut pages, mut cursor) = (Vec::new(), None);
    loop {
        let page = reader.events_after(team, &scope, known, cursor.as_ref(), EVENT_PAGE_SIZE)?;
        cursor = page.next;
        pages.push(EventPage { events: wire_events(&page.events), last: cursor.is_none(), scope: None });
        if cursor.is_none() {
            return Ok(Some(RosterNews { pages, vector: reader.vector(team, &scope)? }));
        }
    }
}
