//! The settings with which the daemon runs: those of the file when it started.

use crate::config::{Config, ModelSettings, Paths};

/// The settings file, and its content when the daemon started.
pub(super) struct RunningSettings {
    paths: Paths,
    /// `None` if the file could not be read, for example because it was invalid in the meantime.
    at_start: Option<Config>,
}

impl RunningSettings {
    /// Reads the settings file.
    pub(super) fn read(paths: &Paths) -> Self {
        Self { paths: paths.clone(), at_start: Config::load(paths).ok() }
    }

    /// Returns the names of the settings that were changed in the file and are not in use yet. `models`: the settings
    /// by which the models were last selected, which needs no restart. None are named if the file is invalid now.
    pub(super) fn changed(&self, models: ModelSettings) -> Vec<String> {
        let Some((at_start, now)) = self.at_start.clone().zip(Config::load(&self.paths).ok()) else {
            return Vec::new();
        };
        let ModelSettings { embedder, nli, llm, catalogue, .. } = models;
        let models = ModelSettings { embedder, nli, llm, catalogue, ..at_start.models.clone() };
        Config { models, ..at_start }.changed_for_daemon(&now)
    }
}
