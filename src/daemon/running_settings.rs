//! The settings with which the daemon runs: those of the file when it started.

use crate::config::{Config, ModelSettings, Paths};

/// The settings file, and the settings that it had when the daemon started.
pub(super) struct RunningSettings {
    paths: Paths,
    at_start: Config,
}

impl RunningSettings {
    pub(super) fn new(paths: &Paths, config: &Config) -> Self {
        Self { paths: paths.clone(), at_start: config.clone() }
    }

    /// Describes the settings that have no effect.
    pub(super) fn without_effect(&self) -> Vec<String> {
        self.at_start.without_effect()
    }

    /// Returns the names of the settings that were changed in the file and are not in use yet. `models`: the settings
    /// by which the models were last selected, which needs no restart. None are named if the file is invalid now.
    pub(super) fn changed(&self, models: ModelSettings) -> Vec<String> {
        let Ok(now) = Config::load(&self.paths) else { return Vec::new() };
        let ModelSettings { embedder, nli, llm, catalogue, .. } = models;
        let models = ModelSettings { embedder, nli, llm, catalogue, ..self.at_start.models.clone() };
        Config { models, ..self.at_start.clone() }.changed_for_daemon(&now)
    }
}
