//! The home of the measurement, and the project in it.

use std::{path::PathBuf, sync::Arc};

use super::AgentsOptions;
use crate::{
    daemon::{BenchDaemon, make_home},
    error::BenchError,
    store, store_models, store_synth as synth,
};
use ergo::{
    api::{RecallRequest, RememberRequest},
    domain::ClaimKind,
    infer::Models,
};

/// Constraints, which a session gets first. The source of each is a line of [`CONSTRAINED_FILE`].
const CONSTRAINTS: usize = 20;

/// The file that an agent reads before the hook `post-tool`.
pub(super) const CONSTRAINED_FILE: &str = "src/api.rs";

/// A private home with its daemon.
pub(super) struct AgentsHome {
    pub(super) daemon: BenchDaemon,
    /// The working directory of the agents. Its scope is the one that is filled.
    pub(super) work: PathBuf,
}

impl AgentsHome {
    /// Creates a home with a filled store. Its daemon is not started yet.
    pub(super) fn make(options: &AgentsOptions, models: &Arc<dyn Models>) -> Result<Self, BenchError> {
        let scope = store::scope();
        let settings = format!("org_id = \"{}\"\n[daemon]\ntcp = false\n[sync]\nmode = \"off\"\n", scope.org_id);
        let paths = make_home(&options.folder, &store::key(), &settings)?;
        let work = options.folder.join(&scope.project);
        std::fs::create_dir_all(&work).map_err(BenchError::io(&work))?;
        let vectors = store_models::embed(models, options.claims)?;
        store_models::fill(&paths.store(), options.claims, &vectors, models)?;
        Ok(Self { daemon: BenchDaemon::new(paths, options.program.clone())?, work })
    }

    /// Starts the daemon, stores the constraints, and recalls once, so that the models are loaded.
    pub(super) async fn start(&mut self) -> Result<(), BenchError> {
        self.daemon.start().await?;
        let scope = store::scope();
        for n in 0..CONSTRAINTS {
            let request = RememberRequest {
                caller: store::caller(scope.clone()),
                statement: synth::unrelated(n),
                kind: Some(ClaimKind::Constraint),
                reason: Some(synth::reason(n)),
                source: Some(format!("{CONSTRAINED_FILE}:{}", n + 1)),
                force_exception: Some("the measurement goes on".into()),
                ..RememberRequest::default()
            };
            self.daemon.client.remember(&request).await?;
        }
        let (org_id, project) = (scope.org_id, scope.project);
        let request = RecallRequest { org_id, project, query: synth::question(1), ..RecallRequest::default() };
        self.daemon.client.recall(&request).await?;
        Ok(())
    }
}
