//! Lists, accepts and discards quarantined events.

use super::team_act::{TeamAct, device_named, team_named};
use crate::{
    api::{ApiError, ErrorCode, QuarantineRequest, QuarantinedList, QuarantinedQuery, QuarantinedView, TeamDone},
    domain::{
        DeviceId, EventId, Roster, Scope,
        roster::{Refusal, RosterChange},
    },
    engine::{Engine, reads, request_hash::request_hash},
    store::{Lookup, QuarantinedRow},
};

/// The greatest number of events in one acceptance: 34 bytes each.
const MAX_EVENTS_PER_ACCEPT: usize = 500;

impl Engine {
    /// Lists the quarantined events of the teams of this device; in each team, the latest to arrive first.
    pub fn quarantined(&self, query: &QuarantinedQuery) -> Result<QuarantinedList, ApiError> {
        let limit = reads::limit(query.limit).map_err(|error| {
            error.hint("`total` says how many there are; accept or discard some, then ask for the rest")
        })?;
        self.quarantined_up_to(query, limit)
    }

    /// [`Engine::quarantined`] with any limit.
    pub(in crate::engine) fn quarantined_up_to(
        &self,
        query: &QuarantinedQuery,
        limit: usize,
    ) -> Result<QuarantinedList, ApiError> {
        self.readers.lend().snapshot(|reader| {
            let teams: Vec<EventId> = match query.in_team.as_deref() {
                Some(text) => vec![team_named(reader, Some(text))?],
                None => reader.teams()?.into_iter().map(|team| team.id).collect(),
            };
            let mut list = QuarantinedList::default();
            for team in teams {
                let Some(roster) = reader.roster(&team)? else { continue };
                let room = (limit - list.items.len()).min(usize::MAX >> 1);
                // Counted by the store, because the inbox asks for these often, and there may be thousands.
                let (total, rows) = if query.discarded {
                    (reader.quarantined_total(&team)?, reader.quarantined(&team, room, 0)?)
                } else {
                    (reader.quarantined_count(&team)?, reader.quarantined_undiscarded(&team, room)?)
                };
                list.total += total;
                list.items.extend(rows.into_iter().map(|row| view(&roster, row)));
            }
            Ok(list)
        })
    }

    /// Lists the quarantined events of one scope that were not discarded, at most `limit`.
    pub(in crate::engine) fn quarantined_in_scope(
        &self,
        scope: &Scope,
        limit: usize,
    ) -> Result<QuarantinedList, ApiError> {
        self.readers.lend().snapshot(|reader| {
            let Some((team, name)) = reader.team_of(scope)? else { return Ok(QuarantinedList::default()) };
            let total = reader.quarantined_count_in(&team, &name)?;
            let Some(roster) = reader.roster(&team)?.filter(|_| total > 0) else {
                return Ok(QuarantinedList::default());
            };
            let rows = reader.quarantined_in(&team, &name, limit.min(usize::MAX >> 1))?;
            Ok(QuarantinedList { items: rows.into_iter().map(|row| view(&roster, row)).collect(), total })
        })
    }

    /// Accepts quarantined events, for the whole team.
    pub fn accept_quarantined(&self, request: &QuarantineRequest) -> Result<TeamDone, ApiError> {
        if request.all || request.author.is_some() {
            let field = if request.all { "all" } else { "author" };
            return Err(ApiError::field(field, "events are accepted one by one: name them in `events`"));
        }
        self.team_act(&request.caller, request_hash("accept_quarantined", request), |act| {
            if let Some(answer) = act.replayed()? {
                return Ok(answer);
            }
            let team = team_named(act.reader(), request.in_team.as_deref())?;
            act.as_admin(team, "accept quarantined events")?;
            let events = named(act, team, &request.events)?;
            for id in &events {
                if act.reader().quarantine_refusal(id)? == Some(Refusal::Clock) {
                    let message =
                        format!("the event {} is dated more than a day ahead and cannot be accepted now", id.short());
                    return Err(ApiError::field("events", message)
                        .hint("it is accepted automatically when its date comes; accept the others without it"));
                }
            }
            for part in events.chunks(MAX_EVENTS_PER_ACCEPT) {
                let change = RosterChange::Accept { events: part.to_vec() };
                act.commit(Some(team), change, request.reason.clone())?;
            }
            Ok(act.answer(team, format!("Accepted {}", counted(events.len())), Vec::new()))
        })
    }

    /// Discards quarantined events on this device: those named, all of one author, or all of the team. They stay
    /// rejected and are no longer listed.
    pub fn discard_quarantined(&self, request: &QuarantineRequest) -> Result<TeamDone, ApiError> {
        let choices = [!request.events.is_empty(), request.author.is_some(), request.all];
        if choices.into_iter().filter(|given| *given).count() > 1 {
            return Err(ApiError::field("events", "`events`, `author` and `all` exclude each other: give one of them"));
        }
        self.team_act(&request.caller, request_hash("discard_quarantined", request), |act| {
            let team = team_named(act.reader(), request.in_team.as_deref())?;
            let discarded = if request.all || request.author.is_some() {
                let author = match &request.author {
                    Some(text) => Some(author_named(&act.roster(team)?, text)?),
                    None => None,
                };
                act.store.discard_all_quarantined(&team, author.as_ref())?
            } else {
                let events = named(act, team, &request.events)?;
                act.store.discard_quarantined(&events)?;
                events.len()
            };
            Ok(act.answer(team, format!("Discarded {}", counted(discarded)), Vec::new()))
        })
    }
}

fn counted(events: usize) -> String {
    match events {
        1 => "one event".to_owned(),
        count => format!("{count} events"),
    }
}

fn author_named(roster: &Roster, text: &str) -> Result<DeviceId, ApiError> {
    let found = device_named(roster, text);
    found.map(|member| member.device).map_err(|error| ApiError { field: Some("author".to_owned()), ..error })
}

/// Returns the events that the request names by id or prefix.
fn named(act: &TeamAct<'_>, team: EventId, texts: &[String]) -> Result<Vec<EventId>, ApiError> {
    if texts.is_empty() {
        return Err(ApiError::field("events", "`events` is empty").hint("`ergo sync quarantine list` lists them"));
    }
    let mut found = Vec::new();
    for text in texts {
        let text = text.trim();
        match act.reader().find_quarantined(&team, text)? {
            Lookup::One(id) => found.push(id),
            Lookup::None => {
                return Err(ApiError::not_found(format!("there is no event “{text}” in quarantine"))
                    .hint("`ergo sync quarantine list` lists them"));
            }
            Lookup::Many(several) => {
                let mut error = ApiError::new(ErrorCode::Ambiguous, format!("{text} matches more than one event"))
                    .hint("give more digits of the id");
                error.candidates = several.iter().map(|id| id.to_hex()).collect();
                return Err(error);
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn view(roster: &Roster, row: QuarantinedRow) -> QuarantinedView {
    let name = |device: &DeviceId| roster.member(device).map(|member| member.name.clone());
    let QuarantinedRow { event, refusal, from, received_at, discarded } = row;
    let body = event.body.as_ref().and_then(|body| body.open().ok()).unwrap_or_default();
    QuarantinedView {
        id: event.id,
        team: roster.team(),
        scope: event.header.scope,
        who: event.header.who,
        author: event.header.author,
        author_name: name(&event.header.author),
        from,
        from_name: from.as_ref().and_then(name),
        kind: event.header.kind.to_string(),
        text: body.statement.or(body.reason),
        at: event.header.clock.wall,
        received_at,
        refusal: refusal.as_str().to_owned(),
        why: refusal.to_string(),
        discarded,
    }
}
