//! Finds the team or device that a person names.

use super::Teams;
use crate::{
    api::{ApiError, ErrorCode},
    domain::{
        DeviceId, EventId, Scope,
        roster::{Grant, Granted, Member, Role, Roster},
        text::escape,
    },
};

/// A team of this device, with its roster.
#[derive(Clone)]
pub(super) struct KnownTeam {
    pub(super) id: EventId,
    pub(super) roster: Roster,
}

impl Teams {
    /// Finds a team by its name, id or prefix; if none is given, returns the only team.
    pub(super) async fn team(&self, named: Option<&str>) -> Result<KnownTeam, ApiError> {
        let mut teams = self.teams().await?;
        let Some(named) = named else {
            return match (teams.pop(), teams.is_empty()) {
                (Some(team), true) => Ok(team),
                (None, _) => Err(no_team()),
                (Some(last), false) => {
                    let name = |team: &KnownTeam| format!("{} {}", team.id.short(), escape(team.roster.name()));
                    Err(ApiError::several_teams("in_team", teams.iter().chain([&last]).map(name).collect()))
                }
            };
        };
        let mut found: Vec<_> = teams.into_iter().filter(|team| team.roster.is_named(named)).collect();
        match (found.pop(), found.is_empty()) {
            (Some(team), true) => Ok(team),
            (Some(_), false) => {
                Err(ApiError::new(ErrorCode::Ambiguous, format!("“{named}” matches more than one team"))
                    .hint("give its id: `ergo sync status --json` shows it"))
            }
            (None, _) => Err(ApiError::not_found(format!("this device is in no team “{named}”"))
                .hint("`ergo sync status` lists its teams")),
        }
    }

    /// Returns the teams that this device is in.
    pub(super) async fn teams(&self) -> Result<Vec<KnownTeam>, ApiError> {
        self.known(false).await
    }

    /// Returns the teams that this device has left.
    pub(super) async fn past_teams(&self) -> Result<Vec<KnownTeam>, ApiError> {
        self.known(true).await
    }

    /// Finds a device in any team.
    pub(super) async fn device_in_any(&self, named: &str) -> Result<DeviceId, ApiError> {
        let mut found = Err(no_team());
        for team in self.teams().await? {
            match team.other(named, self.me()) {
                Ok(member) => return Ok(member.device),
                Err(error) => found = Err(error),
            }
        }
        found
    }

    async fn known(&self, past: bool) -> Result<Vec<KnownTeam>, ApiError> {
        self.engine(move |engine| {
            engine.sync_read(|reader| {
                let teams = reader.teams_with_rosters()?.into_iter();
                let wanted = teams.filter(|(team, _)| team.left_at.is_some() == past);
                Ok(wanted.map(|(team, roster)| KnownTeam { id: team.id, roster }).collect())
            })
        })
        .await
    }

    /// Finds a team, like [`Teams::team`], and checks that this device is an admin of it.
    pub(super) async fn administered(&self, named: Option<&str>, act: &str) -> Result<KnownTeam, ApiError> {
        let team = self.team(named).await?;
        if team.roster.role(&self.me()) == Some(Role::Admin) {
            return Ok(team);
        }
        let admins: Vec<_> = team
            .roster
            .members()
            .filter(|member| team.roster.role(&member.device) == Some(Role::Admin))
            .map(|member| format!("{} ({})", escape(&member.person), escape(&member.name)))
            .collect();
        Err(ApiError::new(ErrorCode::Forbidden, format!("only an admin of {} may {act}", escape(team.roster.name())))
            .hint(format!("ask one of them: {}", admins.join(", "))))
    }
}

fn no_team() -> ApiError {
    ApiError::not_found("this device is in no team")
        .hint("`ergo sync create NAME` creates one, `ergo sync join TICKET` joins one")
}

impl KnownTeam {
    /// Finds a device by [`Roster::devices_named`]. Prefers other devices to `me`.
    pub(super) fn other(&self, named: &str, me: DeviceId) -> Result<&Member, ApiError> {
        let mut found = self.roster.devices_named(named);
        if found.len() > 1 {
            // Two devices may have the same name. Then the other one is meant.
            found.retain(|member| member.device != me);
        }
        match found.as_slice() {
            [one] => Ok(one),
            [] => Err(ApiError::not_found(format!("there is no device “{named}” in {}", self.roster.name()))
                .hint("`ergo sync peers` lists them")),
            many => Err(ApiError {
                candidates: many.iter().map(|member| member.device.to_hex()).collect(),
                ..ApiError::new(ErrorCode::Ambiguous, format!("“{named}” matches {} devices", many.len()))
            }),
        }
    }

    /// Creates a grant for these scopes; an empty list stands for all scopes. Fails if the team does not share a scope.
    pub(super) fn grant(&self, role: Role, scopes: &[Scope]) -> Result<Grant, ApiError> {
        if let Some(unknown) = scopes.iter().find(|scope| !self.roster.shares(scope)) {
            let known: Vec<_> = self.roster.scopes().map(|shared| shared.scope.to_string()).collect();
            let known = if known.is_empty() {
                "it shares none yet; `ergo sync adopt` shares one".to_owned()
            } else {
                known.join(", ")
            };
            return Err(ApiError::field(
                "scopes",
                format!("{} does not share the scope {unknown}", self.roster.name()),
            )
            .hint(format!("it shares: {known}")));
        }
        let scopes = if scopes.is_empty() { Granted::All } else { Granted::Only(scopes.iter().cloned().collect()) };
        Ok(Grant { role, scopes })
    }
}

/// Returns the scopes of a grant; an empty list for all scopes.
pub(super) fn scopes_of(granted: &Granted) -> Vec<Scope> {
    match granted {
        Granted::All => Vec::new(),
        Granted::Only(scopes) => scopes.iter().cloned().collect(),
    }
}
