//! An act on a team, under the write lock, by one of its members.

use std::{mem, sync::MutexGuard};

use super::arrive;
use crate::{
    api::{ApiError, BoundScope, Caller, ErrorCode, TeamDone, TeamView},
    domain::{
        DeviceId, EventId, OpId, Roster, Scope,
        roster::{Member, Role, RosterChange},
        text::{escape, quote, unprintable},
    },
    engine::{
        Engine,
        act_context::{random_op, refuse_reused_op},
        validate,
    },
    store::{Reader, RequestHash, RosterDraft, Store, SyncImported, TeamRow},
};

/// An act on a team in progress.
pub(super) struct TeamAct<'a> {
    pub(super) store: MutexGuard<'a, Store>,
    pub(super) me: DeviceId,
    pub(super) now: u64,
    pub(super) op: OpId,
    /// The hash of the request. Stored with the first event, whose `op_id` is that of the request.
    asked: Option<RequestHash>,
    who: String,
    agent: Option<String>,
    steps: u32,
    done: Vec<SyncImported>,
}

impl Engine {
    /// Runs an act on a team under the write lock, then announces what it changed.
    pub(super) fn team_act<T>(
        &self,
        caller: &Caller,
        asked: Option<RequestHash>,
        run: impl FnOnce(&mut TeamAct<'_>) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        self.must_be_person(caller, "change teams")?;
        let actor = validate::actor(caller)?;
        let op = match caller.op_id {
            Some(op) => op,
            None => random_op()?,
        };
        let store = self.writer();
        self.check_writable_with(store.reader())?;
        refuse_reused_op(&store, &op, asked)?;
        let (me, now) = (store.device(), self.now());
        let mut act =
            TeamAct { store, me, now, op, asked, who: actor.who, agent: actor.agent, steps: 0, done: Vec::new() };
        let result = run(&mut act);
        let changes = act.done.iter().flat_map(|done| arrive::changes(act.reader(), done)).collect();
        let done = mem::take(&mut act.done);
        drop(act);
        self.after_import(&done, changes);
        result
    }
}

impl TeamAct<'_> {
    pub(super) fn reader(&self) -> &Reader {
        self.store.reader()
    }

    pub(super) fn roster(&self, team: EventId) -> Result<Roster, ApiError> {
        Ok(self.reader().roster(&team)?.ok_or(crate::store::StoreError::UnknownTeam(team))?)
    }

    /// Returns the roster of a team in which this device is an admin. `what` is what only an admin may do, for the
    /// error.
    pub(super) fn as_admin(&self, team: EventId, what: &str) -> Result<Roster, ApiError> {
        let roster = self.roster(team)?;
        if roster.role(&self.me) == Some(Role::Admin) {
            return Ok(roster);
        }
        let admins: Vec<&str> = roster
            .members()
            .filter(|member| roster.role(&member.device) == Some(Role::Admin))
            .map(|member| member.name.as_str())
            .collect();
        let hint = match admins.as_slice() {
            [] => "the team has no admin left: create a new team".to_owned(),
            admins => format!("ask one of its admins: {}", admins.join(", ")),
        };
        Err(ApiError::new(ErrorCode::Forbidden, format!("only an admin of {} may {what}", roster.name())).hint(hint))
    }

    /// Returns the `op_id` of the next event of this act: the first event has that of the act.
    fn next_op(&mut self) -> OpId {
        let step = self.steps;
        self.steps += 1;
        if step == 0 {
            return self.op;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"ergo/step/1");
        hasher.update(&self.op.0);
        hasher.update(&step.to_le_bytes());
        let mut op = [0; 16];
        op.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        OpId(op)
    }

    /// Signs and stores a roster event, and returns the team.
    pub(super) fn commit(
        &mut self,
        team: Option<EventId>,
        change: RosterChange,
        reason: Option<String>,
    ) -> Result<EventId, ApiError> {
        if !change.is_well_formed() {
            return Err(ApiError::field("name", "a name is empty, longer than 100 bytes, or reserved"));
        }
        let op = self.next_op();
        let draft =
            RosterDraft { team, change, reason, who: self.who.clone(), agent: self.agent.clone(), op, now: self.now };
        let (team, done) = self.store.commit_roster_asked(draft, self.asked.take())?;
        self.done.push(done);
        Ok(team)
    }

    /// Collects the result of an import, to announce it.
    pub(super) fn imported(&mut self, done: SyncImported) {
        self.done.push(done);
    }

    /// Returns the team of this act if an earlier request with the same `op_id` did it.
    pub(super) fn done_before(&self) -> Result<Option<EventId>, ApiError> {
        Ok(self.store.roster_act(&self.op)?)
    }

    /// Returns the answer to a retry.
    pub(super) fn replayed(&self) -> Result<Option<TeamDone>, ApiError> {
        let done =
            |team| self.answer(team, "Already done by an earlier request with this `op_id`".to_owned(), Vec::new());
        Ok(self.done_before()?.map(done))
    }

    pub(super) fn answer(&self, team: EventId, summary: String, warnings: Vec<String>) -> TeamDone {
        TeamDone { op_id: self.op, team, summary, warnings }
    }

    /// Returns a team as this device sees it.
    pub(super) fn view(&self, team: EventId, summary: String) -> Result<TeamView, ApiError> {
        view(self.reader(), &self.me, team, summary)
    }
}

/// Returns a team as the device `me` sees it.
pub(super) fn view(reader: &Reader, me: &DeviceId, team: EventId, summary: String) -> Result<TeamView, ApiError> {
    let roster = reader.roster(&team)?.ok_or(crate::store::StoreError::UnknownTeam(team))?;
    let scopes = reader.team_scopes(&team)?.into_iter().filter(|row| !row.is_roster);
    Ok(TeamView {
        id: team,
        name: roster.name().to_owned(),
        role: roster.role(me).unwrap_or(Role::Reader),
        scopes: scopes.map(|row| BoundScope { scope: row.scope, local: row.local }).collect(),
        members: roster.members().filter(|member| roster.is_member(&member.device)).count(),
        summary,
    })
}

/// Finds the team with an id, prefix or name; without a text, the only team.
pub(super) fn team_named(reader: &Reader, text: Option<&str>) -> Result<EventId, ApiError> {
    let teams = reader.teams_with_rosters()?;
    let here = teams.iter().filter(|(team, _)| team.left_at.is_none());
    let found: Vec<_> = match text.map(str::trim).filter(|text| !text.is_empty()) {
        None => here.collect(),
        Some(text) => here.filter(|(_, roster)| roster.is_named(text)).collect(),
    };
    match (found.as_slice(), text) {
        ([(team, _)], _) => Ok(team.id),
        ([], None) => Err(ApiError::not_found("this device is in no team")
            .hint("`ergo sync create` creates one, `ergo sync join` joins one")),
        ([], Some(text)) => Err(ApiError::not_found(format!("this device is in no team “{text}”"))
            .hint("`ergo sync status` lists its teams")),
        (several, _) => {
            let label = |(team, roster): &&(TeamRow, Roster)| format!("{} {}", team.id.short(), escape(roster.name()));
            Err(ApiError::several_teams("in_team", several.iter().map(label).collect()))
        }
    }
}

/// Finds a device of a team by [`Roster::devices_named`].
pub(super) fn device_named<'a>(roster: &'a Roster, text: &str) -> Result<&'a Member, ApiError> {
    let text = text.trim();
    match roster.devices_named(text).as_slice() {
        [one] => Ok(one),
        [] => Err(ApiError::field("device", format!("there is no device “{text}” in {}", escape(roster.name())))
            .hint("`ergo sync peers` lists them")),
        several => {
            let mut error = ApiError::new(ErrorCode::Ambiguous, format!("“{text}” matches more than one device"))
                .hint("give its id, or more digits of it");
            error.field = Some("device".into());
            error.candidates =
                several.iter().map(|member| format!("{} {}", member.device.short(), escape(&member.name))).collect();
            Err(error)
        }
    }
}

/// Returns a device as an argument of a command that a person pastes: its name, quoted for a shell, or its id if the
/// name cannot be typed.
pub(super) fn device_word(member: &Member) -> String {
    if unprintable(&member.name).is_some() { member.device.short() } else { quote(&member.name) }
}

/// Checks a scope that the request must name.
pub(super) fn scope_of(field: &str, scope: &Scope) -> Result<Scope, ApiError> {
    for name in [&scope.org_id, &scope.project] {
        validate::printable(field, name)?;
    }
    Ok(validate::named(&scope.org_id, &scope.project)?)
}
