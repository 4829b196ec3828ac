//! The context of a verb: flags, output, configuration, scope, and a client of the daemon.

use std::{
    cell::OnceCell,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    api_words::in_arguments,
    args::Globals,
    error::{CliError, Exit},
    scope::{self, Project},
    ui::Ui,
};
use crate::{
    api::{Caller, ScopeView},
    client::{Client, Connect, known_scope},
    config::{AgentsMaySetting, Config, Paths},
    domain::{
        Scope,
        scope::{InvalidScope, ORGANISATION},
        text::{escape, quote},
    },
};

/// The context of a verb.
pub(crate) struct Context {
    /// The global options.
    pub(crate) globals: Globals,
    /// The output.
    pub(crate) ui: Ui,
    config: OnceCell<(Paths, Config)>,
    client: OnceCell<Client>,
    new_scope: OnceCell<NewScope>,
    /// Whether environment variables and the user's settings apply.
    environment: bool,
}

/// An unknown scope that a flag names, and a known one with a similar name.
struct NewScope {
    scope: Scope,
    similar: Scope,
}

/// The maximum edit distance between an unknown scope and the known one that may be meant.
const MAX_TYPOS: usize = 2;

/// The scope in which a verb acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Here {
    /// The scope that the flags, the configuration and the working directory name.
    pub(crate) scope: Scope,
    /// Identities that distinguish the project from others of the same name, the best first; empty if a flag named the project.
    pub(crate) identities: Vec<String>,
}

impl Context {
    /// Creates the context of a process with these flags.
    pub(crate) fn new(globals: Globals) -> Self {
        let ui = Ui::new(&globals);
        Self {
            globals,
            ui,
            config: OnceCell::new(),
            client: OnceCell::new(),
            new_scope: OnceCell::new(),
            environment: true,
        }
    }

    /// Creates a context in a private home, which ignores the environment and the user's settings.
    pub(crate) fn private(globals: Globals, paths: Paths, config: Config) -> Self {
        Self { config: OnceCell::from((paths, config)), environment: false, ..Self::new(globals) }
    }

    /// Whether this context has a private home.
    pub(crate) fn is_private(&self) -> bool {
        !self.environment
    }

    /// Runs async work on a current-thread runtime.
    pub(crate) fn block_on<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Self) -> Result<T, CliError>,
    ) -> Result<T, CliError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| CliError::internal(format_args!("cannot start the runtime: {error}")))?;
        runtime.block_on(work(self))
    }

    /// Returns the paths of ergo's files.
    pub(crate) fn paths(&self) -> Result<&Paths, CliError> {
        self.loaded().map(|(paths, _)| paths)
    }

    /// Returns the settings.
    pub(crate) fn config(&self) -> Result<&Config, CliError> {
        self.loaded().map(|(_, config)| config)
    }

    fn loaded(&self) -> Result<&(Paths, Config), CliError> {
        if let Some(loaded) = self.config.get() {
            return Ok(loaded);
        }
        let paths = Paths::find()?;
        let config = Config::load(&paths)?;
        Ok(self.config.get_or_init(|| (paths, config)))
    }

    /// Returns how to connect to the daemon: the one that the environment names, else the local one, which is started if it is
    /// not running, unless the flags say otherwise.
    pub(crate) fn connect(&self) -> Result<Connect, CliError> {
        let usual = Connect::new(self.paths()?.clone());
        Ok(Connect { spawn: !self.globals.no_spawn, environment: self.environment, ..usual })
    }

    /// Connects to the daemon; see [`Context::connect`].
    pub(crate) async fn client(&self) -> Result<Client, CliError> {
        let client = self.connect()?.client().await?;
        self.client.get_or_init(|| client.clone());
        Ok(client)
    }

    /// Shows notes after the result: that the scope may be a typing error, and that the daemon has another version than this
    /// program.
    pub(crate) fn closing_notes(&mut self) {
        if let Some(NewScope { scope, similar }) = self.new_scope.get() {
            let (scope, similar) = (escape(&scope.to_string()), escape(&similar.to_string()));
            self.ui.note(text!("The scope {} is new. Did you mean {}?", scope, similar));
        }
        if let Some(skew) = self.client.get().and_then(Client::skew) {
            self.ui.note(text!("{}", skew));
        }
    }

    /// Returns the scope in which a verb acts: by the flags, else the configuration and the working directory.
    pub(crate) fn here(&self) -> Result<Here, CliError> {
        let flags = &self.globals;
        let (org, project) = match &flags.scope {
            Some(several) if several.contains(',') => {
                return Err(CliError::usage(format_args!(
                    "`--scope {several}` names several scopes, but this command takes only one"
                ))
                .hint("run it once for each scope; `ergo sync export`, `create` and `invite` take several"));
            }
            Some(both) => {
                let Scope { org_id, project } = both.parse().map_err(|error| invalid_scope(both, &error))?;
                (Some(org_id), Some(project))
            }
            None => (flags.org.clone(), flags.project.clone()),
        };
        let org_id = match org {
            Some(org) => org,
            None => self.config()?.org_id.clone(),
        };
        let (project, identities) = if let Some(project) = project {
            (project, Vec::new())
        } else {
            let Project { name, identities } = working_project()?;
            if name == ORGANISATION {
                return Err(CliError::usage("the folder is called `*`, which names the organisation's level")
                    .hint("name the project with `--project NAME`, or the level with `--scope 'ORG/*'`"));
            }
            (name, identities)
        };
        let written = format!("{org_id}/{project}");
        let scope =
            if identities.is_empty() { written.parse() } else { Scope::new(org_id, project).map_err(Into::into) };
        let scope = scope.map_err(|error| invalid_scope(&written, &error))?;
        Ok(Here { scope, identities })
    }

    /// Whether the scope is that of the working directory, so that the sources of its claims are files there.
    pub(crate) fn is_in_project(&self) -> bool {
        self.globals.scope.is_none() && self.globals.project.is_none()
    }

    /// Whether a flag names the scope.
    pub(crate) fn names_scope(&self) -> bool {
        let Globals { scope, org, project, .. } = &self.globals;
        scope.is_some() || org.is_some() || project.is_some()
    }

    /// Returns a command with the flags by which this one names its scope.
    pub(crate) fn in_scope(&self, command: &str) -> String {
        let Globals { scope, org, project, .. } = &self.globals;
        let mut command = command.to_owned();
        for (flag, value) in [("--scope", scope), ("--org", org), ("--project", project)] {
            if let Some(value) = value {
                command = format!("{command} {flag} {}", quote(value));
            }
        }
        command
    }

    /// Returns a client and the scope to read. Reports an invalid scope before any daemon is started.
    pub(crate) async fn reader(&self) -> Result<(Client, Scope), CliError> {
        self.here()?;
        let client = self.client().await?;
        let scope = self.known_scope(&client).await?;
        Ok((client, scope))
    }

    /// Returns the scope to read: as [`Context::here`], but by the name under which the daemon knows this project.
    pub(crate) async fn known_scope(&self, client: &Client) -> Result<Scope, CliError> {
        self.known(client).await.map(|(scope, _)| scope)
    }

    /// Returns [`Context::known_scope`], and the identity of the project in the working directory.
    pub(crate) async fn known(&self, client: &Client) -> Result<(Scope, Option<String>), CliError> {
        let here = self.here()?;
        let scopes = client.scopes().await?.items;
        let (scope, identity) = known_scope(&here.scope, &here.identities, &scopes);
        if self.names_scope()
            && let Some(similar) = similar_scope(&scope, &scopes)
        {
            self.new_scope.get_or_init(|| NewScope { scope: scope.clone(), similar });
        }
        Ok((scope, identity))
    }

    /// Returns a client, and the caller of a write. Reports an invalid scope before any daemon is started.
    pub(crate) async fn writer(&self) -> Result<(Client, Caller), CliError> {
        let Here { scope, .. } = self.here()?;
        let client = self.client().await?;
        let (_, identity) = self.known(&client).await?;
        let caller = Caller { org_id: scope.org_id, project: scope.project, identity, ..self.caller()? };
        Ok((client, caller))
    }

    /// Returns the caller of a request, without a scope.
    pub(crate) fn caller(&self) -> Result<Caller, CliError> {
        Ok(Caller { who: self.config()?.who.clone(), agent: agent(), ..Caller::default() })
    }

    /// Refuses an act on the store's file by an agent, if agents may only propose. `what` names the act.
    pub(crate) fn must_be_person(&self, what: &str) -> Result<(), CliError> {
        if agent().is_some() && self.config()?.guard.agents_may == AgentsMaySetting::Propose {
            return Err(CliError::new(Exit::Refused, format_args!("agents may not {what} here"))
                .hint("a person has to do it (`guard.agents_may` is `propose`)"));
        }
        Ok(())
    }

    /// Returns the current time in milliseconds since the Unix epoch.
    pub(crate) fn now() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }
}

/// Returns the name of the agent that runs this program for a person.
fn agent() -> Option<String> {
    std::env::var("ERGO_AGENT").ok().filter(|agent| !agent.trim().is_empty())
}

/// The error for an invalid scope.
fn invalid_scope(text: &str, error: &InvalidScope) -> CliError {
    let error = in_arguments(&error.to_string());
    CliError::usage(format_args!("invalid scope “{text}”: {error}"))
        .hint("`ergo scopes` lists the scopes that have claims")
}

/// Returns the known scope whose name is most similar to that of an unknown one, if they differ by at most [`MAX_TYPOS`].
fn similar_scope(named: &Scope, scopes: &[ScopeView]) -> Option<Scope> {
    if scopes.iter().any(|known| known.scope == *named) {
        return None;
    }
    let name = named.to_string().to_lowercase();
    let distance = |known: &Scope| strsim::osa_distance(&name, &known.to_string().to_lowercase());
    let near = scopes.iter().map(|known| (distance(&known.scope), &known.scope)).min();
    near.filter(|(distance, _)| *distance <= MAX_TYPOS).map(|(_, known)| known.clone())
}

fn working_project() -> Result<Project, CliError> {
    let folder = std::env::current_dir().map_err(|error| {
        CliError::new(Exit::Usage, format_args!("cannot determine the working directory: {error}"))
            .hint("name the project with `--project NAME`")
    })?;
    Ok(scope::project_of(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("acme/shpo", Some("acme/shop"))]
    #[case("acme/Shop", Some("acme/shop"))]
    #[case("amce/shop", Some("acme/shop"))]
    #[case("acme/shop", None)]
    #[case("acme/warehouse", None)]
    fn a_scope_that_is_nearly_known_is_a_typing_error(#[case] named: &str, #[case] near: Option<&str>) {
        let view = |scope: &str| {
            let scope = scope.parse().unwrap();
            ScopeView { scope, active: 1, total: 1, open_cards: 0, needs_review: 0, latest: 0, identity: None }
        };
        let scopes = [view("acme/shop"), view("acme/blog")];
        assert_eq!(similar_scope(&named.parse().unwrap(), &scopes), near.map(|near| near.parse().unwrap()));
    }
}
