//! The daemon's models: selected by the settings, and reported to clients.

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

/// The name that is reported for a role without a model.
const NO_MODEL: &str = "not available";

/// The models that the settings and `ergo models use` select.
pub(super) struct ConfiguredModels {
    paths: Paths,
    pool: Pool,
    problems: Mutex<Vec<String>>,
    /// The settings by which the models were selected.
    selected_by: Mutex<ModelSettings>,
    /// Held during a reload, so that a reload with older settings does not overwrite one with newer settings.
    reloading: Mutex<()>,
}

impl ConfiguredModels {
    /// Selects the model of each role. A model is loaded only when it is needed.
    pub(super) fn new(paths: &Paths, config: &Config) -> Self {
        // An import that was killed may have left a draft as large as a model.
        clear_drafts(&paths.models());
        let (set, problems) = selected_models(paths, &config.models);
        let pool = Pool::new(pool_options(paths, &config.models), set);
        Self {
            paths: paths.clone(),
            pool,
            problems: Mutex::new(problems),
            selected_by: Mutex::new(config.models.clone()),
            reloading: Mutex::default(),
        }
    }

    /// Selects the models again, after a change of the installed files, of the choice or of the settings. The settings
    /// of the pool, such as the number of threads, stay the same. Files that have changed are read completely.
    ///
    /// # Errors
    /// If the settings are invalid. Then nothing is changed.
    pub(super) fn reload(&self) -> Result<(), ConfigError> {
        let _reloading = self.reloading.lock().unwrap_or_else(PoisonError::into_inner);
        let config = Config::load(&self.paths)?;
        let (set, problems) = selected_models(&self.paths, &config.models);
        if set != self.pool.set() {
            for role in ModelRole::ALL {
                let name = set.role(role).map_or(NO_MODEL, ModelSource::name);
                tracing::info!(%role, name, "uses the selected model");
            }
            self.pool.change(set);
        }
        *self.problems.lock().unwrap_or_else(PoisonError::into_inner) = problems;
        *self.selected_by.lock().unwrap_or_else(PoisonError::into_inner) = config.models;
        Ok(())
    }

    /// Returns the settings by which the models were last selected.
    pub(super) fn selected_by(&self) -> ModelSettings {
        self.selected_by.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the status of the models for `GET /diagnose`, including problems with the selection.
    pub(super) fn status(&self) -> ModelsStatus {
        let problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ModelsStatus { problems, ..status(self.pool.info(), self.pool.workers()) }
    }
}

impl ConfiguredModels {
    /// Calls a model. If its file turns out to be unusable, it may have been removed or damaged since it was selected.
    /// Then the models are selected again, and the built-in model, which replaces it, is called.
    fn call<T>(&self, call: impl Fn(&Pool) -> Result<T, InferError>) -> Result<T, InferError> {
        let answer = call(&self.pool);
        let before = self.pool.set();
        let unusable = matches!(answer, Err(InferError::BadModel { .. }));
        if unusable && self.reload().is_ok() && self.pool.set() != before { call(&self.pool) } else { answer }
    }
}

impl Models for ConfiguredModels {
    fn embed(&self, texts: &[String], call: Call) -> Result<Vec<Vec<f32>>, InferError> {
        self.call(|pool| pool.embed(texts, call))
    }

    fn classify(&self, pairs: &[(String, String)], call: Call) -> Result<Vec<Classification>, InferError> {
        self.call(|pool| pool.classify(pairs, call))
    }

    fn generate(&self, prompt: &Prompt, grammar: &str, max_tokens: usize, call: Call) -> Result<String, InferError> {
        self.call(|pool| pool.generate(prompt, grammar, max_tokens, call))
    }

    fn answers(&self, prompt: &Prompt, answers: &[String], call: Call) -> Result<Vec<f32>, InferError> {
        self.call(|pool| pool.answers(prompt, answers, call))
    }

    fn likelihood(&self, prompt: &Prompt, answer: &str, call: Call) -> Result<Vec<f32>, InferError> {
        self.call(|pool| pool.likelihood(prompt, answer, call))
    }

    fn info(&self) -> ModelsInfo {
        self.pool.info()
    }

    fn workers(&self) -> Vec<WorkerInfo> {
        self.pool.workers()
    }
}

/// Returns the model of each role, and the problems of selected models that cannot be used.
fn selected_models(paths: &Paths, settings: &ModelSettings) -> (ModelSet, Vec<String>) {
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

fn pool_options(paths: &Paths, settings: &ModelSettings) -> PoolOptions {
    let default = PoolOptions::new(paths.models().join("embedded"));
    PoolOptions {
        threads: settings.threads.unwrap_or(default.threads),
        gpu_layers: settings.gpu_layers,
        device: settings.device.clone(),
        idle: settings.idle(),
        ..default
    }
}

/// Returns the name of a role's model, for `GET /health`.
pub(super) fn name(info: &ModelsInfo, role: ModelRole) -> String {
    info.role(role).map_or(NO_MODEL, |role| &role.name).to_owned()
}

/// Returns the status without problems of the selection.
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
        let ((begin, begun), (done, over)) = (channel(), channel());
        thread::scope(|scope| {
            let under_way = models.reloading.lock().unwrap();
            scope.spawn(|| {
                begin.send(()).unwrap();
                done.send(models.reload().is_ok())
            });
            begun.recv().unwrap();
            assert!(over.recv_timeout(Duration::from_millis(100)).is_err(), "it waits");
            drop(under_way);
            assert!(over.recv_timeout(Duration::from_secs(10)).unwrap());
        });
    }
}
