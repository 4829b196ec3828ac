//! What a verb needs: the flags, the output, the configuration, the scope, and a client of the daemon.

use std::{
    cell::OnceCell,
    time::{SystemTime, UNIX_EPOCH},
};

use super::{
    args::Globals,
    error::{CliError, Exit},
    scope::{self, Project},
    ui::Ui,
};
use crate::{
    api::Caller,
    client::{Client, Connect, known_scope},
    config::{Config, Paths},
    domain::Scope,
};

/// The surroundings of a verb.
pub(crate) struct Context {
    /// The flags that every verb understands.
    pub(crate) globals: Globals,
    /// Where output goes.
    pub(crate) ui: Ui,
    config: OnceCell<(Paths, Config)>,
    client: OnceCell<Client>,
    environment: bool,
}

/// Where a verb acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Here {
    /// The scope as the flags, the configuration and the working directory name it.
    pub(crate) scope: Scope,
    /// What tells the project from another of that name, the best first; none where a flag named the project.
    pub(crate) identities: Vec<String>,
}

impl Context {
    /// Surroundings with these flags.
    pub(crate) fn new(globals: Globals) -> Self {
        let ui = Ui::new(&globals);
        Self { globals, ui, config: OnceCell::new(), client: OnceCell::new(), environment: true }
    }

    /// Surroundings in a private home: neither the environment nor the person's own settings count.
    pub(crate) fn private(globals: Globals, paths: Paths, config: Config) -> Self {
        Self { config: OnceCell::from((paths, config)), environment: false, ..Self::new(globals) }
    }

    /// Whether these are the surroundings of a private home.
    pub(crate) fn is_private(&self) -> bool {
        !self.environment
    }

    /// Runs the work of a verb that speaks to the daemon, on a runtime of this thread alone: nothing else is started.
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

    /// Where ergo's files are.
    pub(crate) fn paths(&self) -> Result<&Paths, CliError> {
        self.loaded().map(|(paths, _)| paths)
    }

    /// What the person set.
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

    /// The way to the daemon: the one that the environment names, else the local one, started where it is not running,
    /// unless the flags say otherwise.
    pub(crate) fn connect(&self) -> Result<Connect, CliError> {
        let usual = Connect::new(self.paths()?.clone());
        Ok(Connect { spawn: !self.globals.no_spawn, environment: self.environment, ..usual })
    }

    /// A client of the daemon at the end of [`Context::connect`].
    pub(crate) async fn client(&self) -> Result<Client, CliError> {
        let client = self.connect()?.client().await?;
        self.client.get_or_init(|| client.clone());
        Ok(client)
    }

    /// Says aloud that the daemon is of another version than this program, where one was spoken to.
    pub(crate) fn say_skew(&mut self) {
        if let Some(skew) = self.client.get().and_then(Client::skew) {
            self.ui.note(text!("{}", skew));
        }
    }

    /// Where a verb acts: by the flags, else the configuration and the working directory.
    pub(crate) fn here(&self) -> Result<Here, CliError> {
        let flags = &self.globals;
        let (org, project) = match &flags.scope {
            Some(several) if several.contains(',') => {
                return Err(CliError::usage(format_args!(
                    "`--scope {several}` names several scopes, and this takes one"
                ))
                .hint("name one, or run it once for each; `ergo sync export`, `create` and `invite` take several"));
            }
            Some(both) => match both.split_once('/') {
                Some((org, project)) => (Some(org.to_owned()), Some(project.to_owned())),
                None => {
                    return Err(CliError::usage(format_args!("“{both}” is no scope: expected ORG/PROJECT"))
                        .hint("`ergo scopes` lists those that hold something"));
                }
            },
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
            (name, identities)
        };
        let scope = Scope::new(org_id, project)
            .map_err(|error| CliError::usage(error).hint("name it with `--scope ORG/PROJECT`"))?;
        Ok(Here { scope, identities })
    }

    /// Whether the scope is that of the working directory: then its files are those that claims name.
    pub(crate) fn is_in_project(&self) -> bool {
        self.globals.scope.is_none() && self.globals.project.is_none()
    }

    /// Whether a flag names the place where the verb acts.
    pub(crate) fn names_scope(&self) -> bool {
        let Globals { scope, org, project, .. } = &self.globals;
        scope.is_some() || org.is_some() || project.is_some()
    }

    /// A client, and where to read; a scope that is none is told before any daemon is started.
    pub(crate) async fn reader(&self) -> Result<(Client, Scope), CliError> {
        self.here()?;
        let client = self.client().await?;
        let scope = self.known_scope(&client).await?;
        Ok((client, scope))
    }

    /// Where to read: as [`Context::here`], but under the name by which the daemon knows this project.
    pub(crate) async fn known_scope(&self, client: &Client) -> Result<Scope, CliError> {
        self.known(client).await.map(|(scope, _)| scope)
    }

    async fn known(&self, client: &Client) -> Result<(Scope, Option<String>), CliError> {
        let here = self.here()?;
        if here.identities.is_empty() {
            return Ok((here.scope, None));
        }
        let scopes = client.scopes().await?.items;
        Ok(known_scope(&here.scope, &here.identities, &scopes))
    }

    /// A client, who acts, and where; a scope that is none is told before any daemon is started.
    pub(crate) async fn writer(&self) -> Result<(Client, Caller), CliError> {
        let Here { scope, .. } = self.here()?;
        let client = self.client().await?;
        let (_, identity) = self.known(&client).await?;
        let caller = Caller { org_id: scope.org_id, project: scope.project, identity, ..self.anyone()? };
        Ok((client, caller))
    }

    /// Who acts, wherever it is.
    pub(crate) fn anyone(&self) -> Result<Caller, CliError> {
        let agent = std::env::var("ERGO_AGENT").ok().filter(|agent| !agent.trim().is_empty());
        Ok(Caller { who: self.config()?.who.clone(), agent, ..Caller::default() })
    }

    /// Now, in milliseconds since the Unix epoch.
    pub(crate) fn now() -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
    }
}

fn working_project() -> Result<Project, CliError> {
    let folder = std::env::current_dir().map_err(|error| {
        CliError::new(Exit::Usage, format_args!("cannot tell the working directory: {error}"))
            .hint("name the project with `--project NAME`")
    })?;
    Ok(scope::project_of(&folder))
}
