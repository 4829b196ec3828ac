//! The acts of a person on a team.

use super::{
    team_act::{self, TeamAct, device_named, device_word, scope_of, team_named},
    team_notes::unshared_changes,
};
use crate::{
    api::{
        AdoptRequest, ApiError, BindRequest, BoundScope, Caller, CreateTeamRequest, ErrorCode, GrantRequest,
        LeaveRequest, RenameRequest, RevokeRequest, TeamDone, TeamView,
    },
    domain::{
        DeviceId, EventId, Roster, Scope, SignedEvent,
        roster::{ChainCut, Grant, Granted, MAX_DEVICES, Refusal, Role, RosterChange},
        text::{escape, quote},
    },
    engine::{Engine, request_hash::request_hash, validate},
};

/// The greatest number of cuts or heads in one event, so that it stays well below the maximum size of an event.
const PER_EVENT: usize = 100;

impl Engine {
    /// Creates a team with this device as its admin, and shares scopes with their history.
    pub fn create_team(&self, request: &CreateTeamRequest) -> Result<TeamView, ApiError> {
        let name = validate::required_name("name", &request.name)?;
        let device_name = validate::required_name("device_name", request.device_name.as_deref().unwrap_or_default())?;
        let scopes = request.scopes.iter().map(|scope| scope_of("scopes", scope)).collect::<Result<Vec<_>, _>>()?;
        self.team_act(&request.caller, request_hash("create_team", request), |act| {
            // A retry may name scopes that the first request has already shared with the new team.
            let own = act.done_before()?;
            for scope in &scopes {
                refuse_taken_scope(act, scope, own)?;
            }
            let person = validate::required_name("who", &request.caller.who)?;
            let team = act.commit(None, RosterChange::Create { name: name.clone(), person, device_name }, None)?;
            for scope in &scopes {
                adopt(act, team, scope, None, &request.caller)?;
            }
            let summary = match scopes.len() {
                0 => format!("Created the team {name}; it shares no scopes yet"),
                1 => format!("Created the team {name}, which shares {}", scopes[0]),
                count => format!("Created the team {name}, which shares {count} scopes"),
            };
            act.view(team, summary)
        })
    }

    /// Joins a team by its roster, which names this device. Binds its scopes as `map` says, and shares the history of
    /// the scopes in `bring`.
    pub fn join_team(
        &self,
        caller: &Caller,
        team: EventId,
        roster: &[SignedEvent],
        from: Option<DeviceId>,
        map: &[BoundScope],
        bring: &[Scope],
    ) -> Result<TeamView, ApiError> {
        self.team_act(caller, request_hash("join_team", &(team, map, bring)), |act| {
            let now = act.now;
            let done = act.store.join_team(team, roster, from, now)?;
            act.imported(done);
            let joined = act.roster(team)?;
            if !joined.is_member(&act.me) {
                return Err(still_revoked(&joined, &act.me, from));
            }
            for bound in map {
                let local = scope_of("local", &bound.local)?;
                act.store.bind_scope(team, &bound.scope, &local)?;
            }
            for scope in bring {
                let scope = scope_of("bring", scope)?;
                // The person who joins may not know the device's role yet. `ergo sync status` names the scopes that are
                // not shared.
                if unwritable_scope(act, team, &scope)?.is_some() {
                    continue;
                }
                let roster = act.roster(team)?;
                adopt(act, team, &scope, Some(&roster), caller)?;
            }
            act.view(team, format!("Joined the team {}", escape(joined.name())))
        })
    }

    /// Admits a device, or admits it again with another role. Also returns the roster, which the device needs to join.
    ///
    /// If another device of the team has its name, a number is appended: many machines are called `localhost` or
    /// `ubuntu`.
    pub fn add_member(
        &self,
        caller: &Caller,
        in_team: Option<&str>,
        device: DeviceId,
        person: &str,
        name: &str,
        grant: &Grant,
    ) -> Result<(TeamDone, Vec<SignedEvent>), ApiError> {
        let (person, name) = (validate::required("person", person)?, validate::required("name", name)?);
        let may = minicbor::to_vec(grant).unwrap_or_default();
        self.team_act(caller, request_hash("add_member", &(in_team, device, &person, &name, may)), |act| {
            let team = team_named(act.reader(), in_team)?;
            let roster = act.as_admin(team, "admit devices")?;
            known_scopes(&roster, &grant.scopes)?;
            if !roster.is_member(&device) {
                require_room(&roster)?;
            }
            if grant.role < Role::Admin {
                not_the_last_admin(&roster, &device)?;
            }
            let name = roster.free_name(&device, name);
            let summary = format!("Admitted {} to the team {}", escape(&name), escape(roster.name()));
            // What a member wrote under a greater grant stays accepted.
            let lesser = roster.member(&device).is_some_and(|member| !grant.covers(&member.grant));
            if lesser && roster.is_member(&device) {
                let cuts = act.reader().cuts_of(&team, &device)?;
                commit_grant(act, team, device, grant, cuts)?;
            }
            act.commit(Some(team), RosterChange::Add { device, person, name, grant: grant.clone() }, None)?;
            Ok((act.answer(team, summary, Vec::new()), act.reader().roster_events(&team)?))
        })
    }

    /// Renames a device, or the team.
    pub fn rename_in_team(&self, request: &RenameRequest) -> Result<TeamDone, ApiError> {
        let name = validate::required_name("name", &request.name)?;
        self.team_act(&request.caller, request_hash("rename_in_team", request), |act| {
            if let Some(answer) = act.replayed()? {
                return Ok(answer);
            }
            let team = team_named(act.reader(), request.in_team.as_deref())?;
            let roster = act.roster(team)?;
            let device = match &request.device {
                Some(text) => Some(device_named(&roster, text)?),
                None => None,
            };
            if device.is_none_or(|member| member.device != act.me) {
                act.as_admin(team, "rename the team and its devices")?;
            }
            let summary =
                format!("{} is now called {name}", escape(device.map_or(roster.name(), |member| &member.name)));
            let device = device.map(|member| member.device);
            if let Some(device) = &device
                && roster.free_name(device, name.clone()) != name
            {
                return Err(ApiError::field("name", format!("another device of the team is called “{name}”"))
                    .hint("choose another name; `ergo sync peers` lists those in use"));
            }
            act.commit(Some(team), RosterChange::Rename { device, name }, None)?;
            Ok(act.answer(team, summary, Vec::new()))
        })
    }

    /// Changes the role and the scopes of a device. What it has written stays accepted.
    pub fn grant_in_team(&self, request: &GrantRequest) -> Result<TeamDone, ApiError> {
        self.team_act(&request.caller, request_hash("grant_in_team", request), |act| {
            if let Some(answer) = act.replayed()? {
                return Ok(answer);
            }
            let team = team_named(act.reader(), request.in_team.as_deref())?;
            let roster = act.as_admin(team, "change roles")?;
            let member = device_named(&roster, &request.device)?;
            if !roster.is_member(&member.device) {
                return Err(ApiError::field(
                    "device",
                    format!("{} no longer belongs to the team", escape(&member.name)),
                )
                .hint("invite it again"));
            }
            let grant = Grant {
                role: request.role.unwrap_or(member.grant.role),
                scopes: request.scopes.as_deref().map_or_else(|| member.grant.scopes.clone(), granted),
            };
            known_scopes(&roster, &grant.scopes)?;
            if grant.role < Role::Admin {
                not_the_last_admin(&roster, &member.device)?;
            }
            let cuts =
                if grant.covers(&member.grant) { Vec::new() } else { act.reader().cuts_of(&team, &member.device)? };
            let scopes = match &grant.scopes {
                Granted::All => "all scopes".to_owned(),
                Granted::Only(scopes) => {
                    scopes.iter().map(|scope| escape(&scope.to_string())).collect::<Vec<_>>().join(", ")
                }
            };
            let summary = format!("{} now has the role {} in {scopes}", escape(&member.name), grant.role);
            commit_grant(act, team, member.device, &grant, cuts)?;
            Ok(act.answer(team, summary, Vec::new()))
        })
    }

    /// Revokes a device. Its events that are here now stay accepted; all others, past or future, go to quarantine.
    pub fn revoke_from_team(&self, request: &RevokeRequest) -> Result<TeamDone, ApiError> {
        let reason = validate::required_worded("reason", &request.reason)?;
        self.team_act(&request.caller, request_hash("revoke_from_team", request), |act| {
            if let Some(answer) = act.replayed()? {
                return Ok(answer);
            }
            let team = team_named(act.reader(), request.in_team.as_deref())?;
            let roster = act.as_admin(team, "revoke devices")?;
            let member = device_named(&roster, &request.device)?;
            if member.device == act.me {
                return Err(ApiError::field("device", "this device cannot revoke itself")
                    .hint("to leave the team, run `ergo sync leave`"));
            }
            if !roster.is_member(&member.device) {
                return Ok(act.answer(
                    team,
                    format!("{} no longer belongs to the team", escape(&member.name)),
                    Vec::new(),
                ));
            }
            let cuts = act.reader().cuts_of(&team, &member.device)?;
            let summary = format!("Revoked {} from the team {}", escape(&member.name), escape(roster.name()));
            let device = member.device;
            for cuts in in_parts(cuts) {
                act.commit(Some(team), RosterChange::Revoke { device, cuts }, Some(reason.clone()))?;
            }
            let warnings =
                vec![format!("{} keeps what it has already received; that cannot be undone", escape(&member.name))];
            Ok(act.answer(team, summary, warnings))
        })
    }

    /// Leaves a team with this device. Its data stays here, and is not shared from now on.
    pub fn leave_team(&self, request: &LeaveRequest) -> Result<TeamDone, ApiError> {
        self.team_act(&request.caller, request_hash("leave_team", request), |act| {
            if let Some(answer) = act.replayed()? {
                return Ok(answer);
            }
            let team = team_named(act.reader(), request.in_team.as_deref())?;
            let roster = act.roster(team)?;
            if roster.members().any(|member| member.device != act.me && roster.is_member(&member.device)) {
                not_the_last_admin(&roster, &act.me)?;
            }
            let cuts = act.reader().cuts_of(&team, &act.me)?;
            // The first event already says that this device leaves; no later event of this device would be accepted.
            act.commit(Some(team), RosterChange::Leave { cuts }, None)?;
            let summary = format!("Left the team {}; this device keeps what it has", escape(roster.name()));
            Ok(act.answer(team, summary, Vec::new()))
        })
    }

    /// Shares the history of a scope: a new scope of the team, or what was written here before the scope belonged to
    /// the team.
    pub fn adopt_into_team(&self, request: &AdoptRequest) -> Result<TeamDone, ApiError> {
        let scope = scope_of("scope", &request.scope)?;
        self.team_act(&request.caller, request_hash("adopt_into_team", request), |act| {
            let team = team_named(act.reader(), request.in_team.as_deref())?;
            let roster = act.roster(team)?;
            if let Some(name) = unwritable_scope(act, team, &scope)? {
                let device = roster.member(&act.me).map_or_else(|| "DEVICE".to_owned(), device_word);
                let hint = format!("ask an admin to run `ergo sync grant {device} --role writer`, then run this again");
                let message = format!("this device may not write in {name}: its peers would not accept the events");
                return Err(ApiError::new(ErrorCode::Forbidden, message).hint(hint));
            }
            let name = escape(roster.name());
            let summary = match adopt(act, team, &scope, Some(&roster), &request.caller)? {
                None => format!("{name} already shares {scope}"),
                Some(0) => format!("{name} shares {scope}"),
                Some(_) => format!("{name} shares {scope} with its history"),
            };
            let warnings = unshared_history(act, team, &scope)?;
            Ok(act.answer(team, summary, warnings))
        })
    }

    /// Gives a scope of the team another name on this device.
    pub fn bind_scope(&self, request: &BindRequest) -> Result<TeamDone, ApiError> {
        let (name, local) = (&request.scope, scope_of("local", &request.local)?);
        self.team_act(&request.caller, request_hash("bind_scope", request), |act| {
            let team = team_named(act.reader(), request.in_team.as_deref())?;
            act.store.bind_scope(team, name, &local)?;
            let warnings = unshared_history(act, team, &local)?;
            Ok(act.answer(team, format!("The team's scope {name} is called {local} on this device"), warnings))
        })
    }

    /// Checks that another device can be admitted to a team.
    pub fn room_in_team(&self, roster: &Roster) -> Result<(), ApiError> {
        require_room(roster)
    }

    /// Returns a team as this device sees it.
    pub fn team_view(&self, team: EventId) -> Result<TeamView, ApiError> {
        self.readers.lend().snapshot(|reader| team_act::view(reader, &self.device(), team, String::new()))
    }

    /// Finds the team with an id, prefix or name; without a text, the only team.
    pub fn team_named(&self, text: Option<&str>) -> Result<EventId, ApiError> {
        self.readers.lend().snapshot(|reader| team_named(reader, text))
    }
}

/// The error if the roster of a team that this device has just joined does not name it as a member: its own store has a
/// revocation that the device which admitted it has not received.
fn still_revoked(roster: &Roster, me: &DeviceId, from: Option<DeviceId>) -> ApiError {
    let name = |device: &DeviceId| roster.member(device).map_or_else(|| device.short(), |member| escape(&member.name));
    let team = escape(roster.name());
    let inviter = from.map_or_else(|| "the other device".to_owned(), |device| name(&device));
    let revoker = roster.member(me).and_then(|member| member.out).map(|out| name(&out.by));
    let by = revoker.map_or_else(String::new, |revoker| format!(" by {revoker}"));
    ApiError::new(
        ErrorCode::Stale,
        format!("{team} was not joined: this device was revoked{by}, which {inviter} has not received yet"),
    )
    .hint(format!("let {inviter} sync with the rest of the team, then ask for a new invitation"))
}

/// Returns the team's name of a local scope if this device may not write to it in the team.
fn unwritable_scope(act: &TeamAct<'_>, team: EventId, local: &Scope) -> Result<Option<Scope>, ApiError> {
    let bound = act.reader().team_of(local)?.filter(|(of, _)| *of == team);
    let roster = act.roster(team)?;
    Ok(bound.map(|(_, name)| name).filter(|name| !roster.may_write(&act.me, name)))
}

/// Shares a local scope. Returns how many chains of its history are now accepted; `None` if the team already shared it
/// and there is nothing to accept.
///
/// A scope that the team already has belongs to others as well, so a device that is not an admin shares only what it
/// wrote itself.
fn adopt(
    act: &mut TeamAct<'_>,
    team: EventId,
    local: &Scope,
    roster: Option<&Roster>,
    caller: &Caller,
) -> Result<Option<usize>, ApiError> {
    let bound = act.reader().team_of(local)?;
    let name = match &bound {
        Some((of, name)) if *of == team => name.clone(),
        Some(_) => return Err(taken(local)),
        None => local.clone(),
    };
    let known = roster.is_some_and(|roster| roster.shares(&name));
    if bound.is_none() {
        if known {
            return Err(ApiError::field(
                "scope",
                format!("the team's scope {name} already has another name on this device"),
            )
            .hint(
                "use its name on this device (`ergo sync status` shows it), or change that name with `ergo sync map`",
            ));
        }
        act.as_admin(team, "add scopes to the team").map_err(|error| {
            let ask = error.hint.clone().unwrap_or_default();
            let map = format!(
                "if {local} is a project that the team shares under another name, run `ergo sync map SCOPE {}` with the \
                    team's name of it, which `ergo sync status` shows",
                quote(&local.to_string())
            );
            error.hint(format!("{map}; otherwise {ask}"))
        })?;
    }
    let mut heads = act.reader().heads_of(local)?;
    if act.roster(team)?.role(&act.me) != Some(Role::Admin) {
        heads.retain(|head| head.author == act.me);
    }
    // Peers cannot tell history under another name from the team's scope, so it is not shared.
    if name != *local {
        heads.clear();
    }
    let count = heads.len();
    if count == 0 && known {
        return Ok(None);
    }
    let identity = match act.reader().scope_identity(local)? {
        // Only a write binds a scope to the identity of its project.
        None => identity_of_caller(act, caller, local)?,
        bound => bound,
    };
    for heads in in_parts(heads) {
        let change = RosterChange::Adopt { scope: name.clone(), identity: identity.clone(), heads };
        act.commit(Some(team), change, None)?;
    }
    Ok(Some(count))
}

/// Returns the identity of the caller's project if `local` is its scope.
fn identity_of_caller(act: &TeamAct<'_>, caller: &Caller, local: &Scope) -> Result<Option<String>, ApiError> {
    let asked = Scope { org_id: caller.org_id.clone(), project: caller.project.clone() };
    let Some(identity) = validate::identity(caller)?.filter(|_| asked.check().is_ok()) else { return Ok(None) };
    let is_its_own = act.reader().scope_for(&asked, Some(&identity))? == *local;
    Ok(is_its_own.then_some(identity))
}

/// Explains which events that this device wrote in a scope before it was shared are not shared.
fn unshared_history(act: &TeamAct<'_>, team: EventId, local: &Scope) -> Result<Vec<String>, ApiError> {
    let roster = act.roster(team)?;
    let kept = act.reader().kept_back(&team, &roster, &act.me)?;
    let kept = kept.into_iter().filter(|kept| kept.local == *local && kept.refusal == Refusal::NotAdopted);
    Ok(kept.map(|kept| unshared_changes(&roster, &act.me, kept).says).collect())
}

/// Refuses a scope that belongs to a team other than `own`.
fn refuse_taken_scope(act: &TeamAct<'_>, scope: &Scope, own: Option<EventId>) -> Result<(), ApiError> {
    match act.reader().team_of(scope)? {
        Some((team, _)) if own != Some(team) => Err(taken(scope)),
        _ => Ok(()),
    }
}

fn taken(scope: &Scope) -> ApiError {
    ApiError::field("scope", format!("{scope} belongs to another team already"))
        .hint("a scope belongs to one team at most")
}

/// Refuses if a team has the maximum number of devices.
fn require_room(roster: &Roster) -> Result<(), ApiError> {
    if roster.size() < MAX_DEVICES {
        return Ok(());
    }
    let message = format!("{} has {} devices, the most that a team may have", escape(roster.name()), roster.size());
    Err(ApiError::new(ErrorCode::BadRequest, message).hint(
        "revoke one that is no longer used: `ergo sync peers` lists them, `ergo sync revoke DEVICE --reason '…'` \
            revokes one",
    ))
}

fn not_the_last_admin(roster: &Roster, device: &DeviceId) -> Result<(), ApiError> {
    let admin = |device: &DeviceId| roster.role(device) == Some(Role::Admin);
    if !admin(device) || roster.members().any(|member| member.device != *device && admin(&member.device)) {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorCode::BadRequest,
        format!("{} needs at least one admin, and this is the last one", escape(roster.name())),
    )
    .hint("make another device admin first: `ergo sync grant DEVICE --role admin`"))
}

fn known_scopes(roster: &Roster, granted: &Granted) -> Result<(), ApiError> {
    let Granted::Only(scopes) = granted else { return Ok(()) };
    match scopes.iter().find(|scope| !roster.shares(scope)) {
        Some(scope) => Err(ApiError::field("scopes", format!("{} does not share {scope}", escape(roster.name())))
            .hint("`ergo sync status` lists the scopes that it shares; `ergo sync adopt` shares another one")),
        None => Ok(()),
    }
}

/// Converts the scopes in a request; an empty list means all.
fn granted(scopes: &[Scope]) -> Granted {
    match scopes {
        [] => Granted::All,
        scopes => Granted::Only(scopes.iter().cloned().collect()),
    }
}

/// Changes the grant of a device, and accepts what lies before `cuts`.
fn commit_grant(
    act: &mut TeamAct<'_>,
    team: EventId,
    device: DeviceId,
    grant: &Grant,
    cuts: Vec<ChainCut>,
) -> Result<(), ApiError> {
    for cuts in in_parts(cuts) {
        act.commit(Some(team), RosterChange::Grant { device, grant: grant.clone(), cuts }, None)?;
    }
    Ok(())
}

/// Splits a list into parts that each fit into an event; an empty list gives one empty part.
fn in_parts<T: Clone>(all: Vec<T>) -> Vec<Vec<T>> {
    if all.is_empty() {
        return vec![all];
    }
    all.chunks(PER_EVENT).map(<[T]>::to_vec).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_everything_once_and_there_is_always_one() {
        assert_eq!(in_parts::<u8>(vec![]), [Vec::<u8>::new()]);
        let all: Vec<usize> = (0..=PER_EVENT * 2).collect();
        let parts = in_parts(all.clone());
        assert_eq!((parts.len(), parts.concat()), (3, all));
    }
}
