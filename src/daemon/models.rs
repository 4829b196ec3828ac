//! The daemon's models: loaded as the settings say, and shown to clients.

use std::sync::{Mutex, PoisonError};

use crate::{
    api::{ModelStatus, ModelsStatus, WorkerStatus},
    config::{Config, ConfigError, ModelSettings, Paths},
    files::clear_drafts,
    infer::{
        Call, Classification, InferError, ModelRole, ModelSet, ModelSource, Models, ModelsInfo, Pool, PoolOptions,
        Prompt, WorkerInfo,
        catalogue::{Catalogue, ModelStore, model_choice},
    },
};

/// What stands if there is no model.
const NONE: &str = "not available";

/// The models of this machine, as they were chosen.
pub(super) struct ConfiguredModels {
    paths: Paths,
    pool: Pool,
    problems: Mutex<Vec<String>>,
    /// Held during a reload, so that one that read older settings does not end after one that read newer ones.
    reloading: Mutex<()>,
}

impl ConfiguredModels {
    /// What settings and machine name for each role. Nothing is loaded before it is needed.
    pub(super) fn new(paths: &Paths, config: &Config) -> Self {
        // What an import that was killed left behind can be as large as a model.
        clear_drafts(&paths.models());
        let (set, problems) = choice(paths, &config.models);
        let pool = Pool::new(options(paths, &config.models), set);
        Self { paths: paths.clone(), pool, problems: Mutex::new(problems), reloading: Mutex::default() }
    }

    /// Takes up what was installed, chosen or written into the settings meanwhile; how they compute stays. Files that
    /// changed are read through.
    ///
    /// # Errors
    /// If the settings have a mistake; then everything is as it was.
    pub(super) fn reload(&self) -> Result<(), ConfigError> {
        let _reloading = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let config = Config::load(&self.paths)?;
        let (set, problems) = choice(&self.paths, &config.models);
        if set != self.pool.set() {
            for role in ModelRole::ALL {
                let name = set.role(role).map_or(NONE, ModelSource::name);
                tracing::info!(%role, name, "uses the selected model");
            }
            self.pool.change(set);
        }
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
        Ok(())
    }

    /// What is told of them.
    pub(super) fn status(&self) -> ModelsStatus {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ModelsStatus { problems, ..status(self.pool.info(), self.pool.workers()) }
    }
}

impl ConfiguredModels {
    /// Asks the models. If a file turns out to be unusable, it may have been lost or damaged since it was looked at: then
    /// what is built in serves in its place, and is asked.
    fn ask<T>(&self, ask: impl Fn(&Pool) -> Result<T, InferError>) -> Result<T, InferError> {
        let answer = ask(&self.pool);
        let before = self.pool.set();
        let lost = matches!(answer, Err(InferError::BadModel { .. }));
        if lost && self.reload().is_ok() && self.pool.set() != before { ask(&self.pool) } else { answer }
    }
}

impl Models for ConfiguredModels {
    fn embed(&self, texts: &[String], call: Call) -> Result<Vec<Vec<f32>>, InferError> {
        self.ask(|pool| pool.embed(texts, call))
    }

    fn classify(&self, pairs: &[(String, String)], call: Call) -> Result<Vec<Classification>, InferError> {
        self.ask(|pool| pool.classify(pairs, call))
    }

    fn generate(&self, prompt: &Prompt, grammar: &str, max_tokens: usize, call: Call) -> Result<String, InferError> {
        self.ask(|pool| pool.generate(prompt, grammar, max_tokens, call))
    }

    fn answers(&self, prompt: &Prompt, answers: &[String], call: Call) -> Result<Vec<f32>, InferError> {
        self.ask(|pool| pool.answers(prompt, answers, call))
    }

    fn likelihood(&self, prompt: &Prompt, answer: &str, call: Call) -> Result<Vec<f32>, InferError> {
        self.ask(|pool| pool.likelihood(prompt, answer, call))
    }

    fn info(&self) -> ModelsInfo {
        self.pool.info()
    }

    fn workers(&self) -> Vec<WorkerInfo> {
        self.pool.workers()
    }
}

/// What serves each role, and each choice that cannot serve.
fn choice(paths: &Paths, settings: &ModelSettings) -> (ModelSet, Vec<String>) {
    let (catalogue, mut problems) = match Catalogue::with(settings.catalogue.as_deref()) {
        Ok(catalogue) => (catalogue, Vec::new()),
        Err(problem) => (Catalogue::builtin().clone(), vec![problem]),
    };
    let model_store = ModelStore::new(paths.models());
    let serving =
        model_choice::resolve(&model_store, &catalogue, &|role| settings.named(role.name()).map(str::to_owned));
    problems.extend(serving.iter().filter_map(|serving| serving.problem.clone()));
    for problem in &problems {
        tracing::warn!("{problem}");
    }
    (model_choice::model_set(&serving), problems)
}

/// How they compute.
fn options(paths: &Paths, settings: &ModelSettings) -> PoolOptions {
    let usual = PoolOptions::new(paths.models().join("embedded"));
    PoolOptions {
        threads: settings.threads.unwrap_or(usual.threads),
        gpu_layers: settings.gpu_layers,
        device: settings.device.clone(),
        idle: settings.idle(),
        ..usual
    }
}

/// The name of a role's model, for `GET /health`.
pub(super) fn name(info: &ModelsInfo, role: ModelRole) -> String {
    info.role(role).map_or(NONE, |role| &role.name).to_owned()
}

/// What `GET /diagnose` says of them.
fn status(info: ModelsInfo, workers: Vec<WorkerInfo>) -> ModelsStatus {
    let roles = info.roles.into_iter().map(|role| ModelStatus {
        role: role.role.to_string(),
        name: role.name,
        sha256: role.sha256,
        loaded: role.loaded,
        computes: role.computes,
        gpu_layers: role.gpu_layers,
        problem: role.problem,
    });
    let workers = workers.into_iter().map(|worker| WorkerStatus {
        roles: worker.roles.iter().map(ToString::to_string).collect(),
        pid: worker.pid,
        rss_bytes: worker.rss_bytes,
        restarts: worker.restarts,
    });
    ModelsStatus {
        roles: roles.collect(),
        workers: workers.collect(),
        failures: info.failures.into_iter().map(|(kind, count)| (kind.to_owned(), count)).collect(),
        problems: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::mpsc::channel, thread, time::Duration};

    use super::*;

    #[test]
    fn what_a_killed_import_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let paths = Paths::under(folder.path());
        let draft = paths.models().join("tiny.gguf.partial-0123456789ab");
        fs::create_dir_all(paths.models()).unwrap();
        fs::write(&draft, "half").unwrap();
        drop(ConfiguredModels::new(&paths, &Config::default()));
        assert!(!draft.exists());
    }

    #[test]
    fn a_reload_waits_for_the_one_under_way() {
        let folder = tempfile::tempdir().unwrap();
        let models = ConfiguredModels::new(&Paths::under(folder.path()), &Config::default());
        let (done, over) = channel();
        thread::scope(|scope| {
            let under_way = models.reloading.lock().unwrap();
            scope.spawn(|| done.send(models.reload().is_ok()));
            assert!(over.recv_timeout(Duration::from_millis(100)).is_err(), "it waits");
            drop(under_way);
            assert!(over.recv_timeout(Duration::from_secs(10)).unwrap());
        });
    }
}
