//! The check of the models in `ergo doctor`.

use super::ModelSetup;
use crate::{
    cli::CliError,
    config::{Config, Paths},
    infer::ModelSource,
};

/// The state of the models.
pub(crate) struct ModelHealth {
    /// `embedder minilm-l6 (built in), nli none, …`.
    pub(crate) summary: String,
    /// Problems, each with advice.
    pub(crate) problems: Vec<String>,
}

/// Checks the models without loading them. An invalid catalogue in the settings is an error.
pub(crate) fn check(paths: &Paths, config: &Config) -> Result<ModelHealth, CliError> {
    let setup = ModelSetup::with_config(paths.clone(), config.clone())?;
    let serving = setup.serving();
    let roles = serving.iter().map(|serving| match &serving.model {
        Some(ModelSource::Embedded(model)) => format!("{} {} (built in)", serving.role, model.name),
        Some(ModelSource::File(file)) => format!("{} {}", serving.role, file.name),
        None => format!("{} none", serving.role),
    });
    Ok(ModelHealth {
        summary: roles.collect::<Vec<_>>().join(", "),
        problems: serving.iter().filter_map(|serving| serving.problem.clone()).collect(),
    })
}
