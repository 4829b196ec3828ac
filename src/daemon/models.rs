//! The daemon's models: set up from the settings, and told to whoever asks.

use crate::{
    api::{ModelStatus, ModelsStatus, WorkerStatus},
    config::{Config, Paths},
    infer::{
        ModelsInfo, Pool, PoolOptions, Role,
        catalogue::{Catalogue, Shelf, resolve},
    },
};

/// What stands where there is no model.
const NONE: &str = "not available";

/// The models of this machine, and what is not as it was chosen. Nothing is loaded before it is needed.
pub(super) fn pool(paths: &Paths, config: &Config) -> (Pool, Vec<String>) {
    let settings = &config.models;
    let (catalogue, mut problems) = match Catalogue::with(settings.catalogue.as_deref()) {
        Ok(catalogue) => (catalogue, Vec::new()),
        Err(problem) => (Catalogue::builtin().clone(), vec![problem]),
    };
    let shelf = Shelf::new(paths.data.join("models"));
    let serving = resolve::resolve(&shelf, &catalogue, &|role| settings.named(role.name()).map(str::to_owned));
    problems.extend(serving.iter().filter_map(|serving| serving.problem.clone()));
    let usual = PoolOptions::new(paths.data.join("models/embedded"));
    let options = PoolOptions {
        threads: settings.threads.unwrap_or(usual.threads),
        gpu_layers: settings.gpu_layers,
        device: settings.device.clone(),
        idle: settings.idle(),
        ..usual
    };
    (Pool::new(options, resolve::model_set(&serving)), problems)
}

/// The name of a role's model, for `GET /health`.
pub(super) fn name(info: &ModelsInfo, role: Role) -> String {
    info.role(role).map_or(NONE, |role| &role.name).to_owned()
}

/// What `GET /diagnose` says of them.
pub(super) fn status(info: ModelsInfo) -> ModelsStatus {
    let roles = info.roles.into_iter().map(|role| ModelStatus {
        role: role.role.to_string(),
        name: role.name,
        sha256: role.sha256,
        loaded: role.loaded,
        computes: role.computes,
        gpu_layers: role.gpu_layers,
        problem: role.problem,
    });
    let workers = info.workers.into_iter().map(|worker| WorkerStatus {
        roles: worker.roles.iter().map(ToString::to_string).collect(),
        pid: worker.pid,
        rss_bytes: worker.rss_bytes,
        restarts: worker.restarts,
    });
    ModelsStatus {
        roles: roles.collect(),
        workers: workers.collect(),
        failures: info.failures.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect(),
    }
}
