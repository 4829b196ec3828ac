//! Joins a team, by a ticket or by a grant file.

use std::{sync::Arc, time::Duration};

use super::{MAX_KEPT_JOINS, Teams, invites::network_error, join_requests, now, random};
use crate::{
    api::{ApiError, JoinRequest, JoinState, JoinView},
    domain::text::name_problem,
    sync::{
        endpoint::open_stream,
        pairing::{self, JoinerIdentity, PairError, proof},
        ticket::{Ticket, TicketAddress, TicketError},
    },
};

/// How long the other device has to close the connection after the join.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// A ticket that expired at most this many seconds ago, by the clock of this device, is still tried, since the clock
/// may be wrong. A day, as for the dates of events.
const CLOCK_TOLERANCE_S: u64 = 24 * 60 * 60;

impl Teams {
    /// Joins a team. With a ticket, returns as soon as the words to compare are known, and continues in the background.
    pub(in crate::daemon) async fn join(self: &Arc<Self>, mut request: JoinRequest) -> Result<JoinView, ApiError> {
        self.engine.must_be_person(&request.caller, "join teams")?;
        if request.caller.who.trim().is_empty() {
            request.caller.who.clone_from(&self.who);
        }
        match (request.ticket.take(), request.grant.take()) {
            (Some(ticket), None) => self.join_by_ticket(&ticket, request).await,
            (None, Some(grant)) => self.join_by_file(&grant, request).await,
            _ => Err(ApiError::field("ticket", "exactly one of `ticket` and `grant` is required")),
        }
    }

    /// Returns the state of a join.
    pub(in crate::daemon) fn joined(&self, id: &str) -> Result<JoinView, ApiError> {
        let state = self.state();
        let found = state.joins.iter().find(|join| join.id == id).cloned();
        found.ok_or_else(|| {
            ApiError::not_found(format!("there is no attempt to join with the id “{id}”")).hint(format!(
                "the id is in the answer to `POST /sync/join`; the last {MAX_KEPT_JOINS} attempts since the daemon's \
                        start are kept. `ergo sync status` shows whether the team was joined"
            ))
        })
    }

    async fn join_by_ticket(self: &Arc<Self>, text: &str, request: JoinRequest) -> Result<JoinView, ApiError> {
        let now_s = now() / 1000;
        let unusable = |error: TicketError| join_requests::pair_error(&error.into());
        // The inviting device decides whether the ticket has expired, since the clock of this one may be wrong.
        let ticket = Ticket::parse(text, now_s.saturating_sub(CLOCK_TOLERANCE_S)).map_err(|error| match error {
            TicketError::Expired(ago) => unusable(TicketError::Expired(ago + CLOCK_TOLERANCE_S)),
            error => unusable(error),
        })?;
        if ticket.device == self.me() {
            return Err(ApiError::field("ticket", "this ticket was created on this device")
                .hint("use it on the device that should join"));
        }
        let endpoint = ticket.endpoint().ok_or_else(|| ApiError::field("ticket", "this ticket names no device"))?;
        let dialled = self.service.dial_pair(endpoint).await;
        let (connection, window) = dialled.map_err(|error| match now_s.checked_sub(ticket.expires) {
            // An expired ticket explains why the inviting device does not answer.
            Some(ago) => unusable(TicketError::Expired(ago)),
            None => network_error(&error),
        })?;
        let mut exporter = [0; 32];
        let stream = match connection.export_keying_material(&mut exporter, proof::EXPORT_LABEL, b"") {
            Ok(()) => open_stream(&connection, pairing::STEP_TIMEOUT).await.map_err(|error| error.to_string()),
            Err(_) => Err("the connection provides no keying material, so it cannot be verified".to_owned()),
        };
        let (send, receive) = stream.map_err(|error| join_requests::pair_error(&PairError::ConnectionLost(error)))?;
        let binding = proof::ChannelBinding { exporter, inviter: ticket.device, joiner: self.me() };
        let me =
            JoinerIdentity { person: request.caller.who.clone(), name: device_name(request.device_name.as_deref())? };
        let stream = tokio::io::join(receive, send);
        let waiting = pairing::request_join(stream, &ticket, binding, &me)
            .await
            .map_err(|error| join_requests::pair_error(&error))?;
        let view = JoinView {
            id: hex::encode(random::<8>()?),
            state: JoinState::Waiting,
            team_name: waiting.welcome.team_name.clone(),
            inviter: waiting.welcome.name.clone(),
            person: waiting.welcome.person.clone(),
            role: waiting.welcome.role.parse().unwrap_or_default(),
            words: waiting.verification_code.clone(),
            expires_at: now() + waiting.confirm_timeout.as_millis() as u64,
            team: None,
            error: None,
        };
        self.add_join(view.clone());
        let (teams, id) = (Arc::clone(self), view.id.clone());
        tokio::spawn(async move {
            let mut not_joined = None;
            let result = waiting
                .finish(async |roster| {
                    let (team, from) = (ticket.team, Some(ticket.device));
                    let JoinRequest { caller, map, bring, .. } = request;
                    teams
                        .engine(move |engine| engine.join_team(&caller, team, &roster, from, &map, &bring))
                        .await
                        .map_err(|error| {
                            let message = error.message.clone();
                            not_joined = Some(error);
                            PairError::Local(message)
                        })
                })
                .await;
            if result.is_ok() {
                teams.changed("this device joined a team").await;
                // The other device is a peer now, so its addresses may be stored.
                for address in &ticket.addresses {
                    if let TicketAddress::Ip(address) = address {
                        teams.service.add_address(ticket.device, *address).await;
                    }
                }
                // The other device closes the connection when it has received the last message.
                let _late = tokio::time::timeout(CLOSE_TIMEOUT, connection.closed()).await;
            }
            connection.close(0u32.into(), b"done");
            drop(window);
            teams.record_end(
                &id,
                result.map_err(|error| not_joined.unwrap_or_else(|| join_requests::pair_error(&error))),
            );
        });
        Ok(view)
    }

    fn add_join(&self, view: JoinView) {
        let mut state = self.state();
        if state.joins.len() >= MAX_KEPT_JOINS {
            state.joins.pop_front();
        }
        state.joins.push_back(view);
    }

    fn record_end(&self, id: &str, result: Result<crate::api::TeamView, ApiError>) {
        let summary = {
            let mut state = self.state();
            let Some(join) = state.joins.iter_mut().find(|join| join.id == id) else { return };
            match result {
                Ok(team) => {
                    join.state = JoinState::Joined;
                    let summary = team.summary.clone();
                    join.team = Some(team);
                    summary
                }
                Err(error) => {
                    join.state = JoinState::Failed;
                    let summary = error.message.clone();
                    join.error = Some(error);
                    summary
                }
            }
        };
        self.announce("sync.join", summary);
    }
}

/// Returns the name of this device in a team: the given one, or the name of the machine.
pub(super) fn device_name(given: Option<&str>) -> Result<String, ApiError> {
    let name = match given.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None => crate::config::machine_name(),
    };
    match name_problem(&name) {
        Some(problem) => Err(ApiError::field("device_name", format!("the name of the device {problem}"))
            .hint("give it another: `--device NAME`")),
        None => Ok(name),
    }
}
