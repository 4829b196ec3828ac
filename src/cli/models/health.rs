//! What `ergo doctor` says about models.

use super::Desk;
use crate::{
    cli::CliError,
    config::{Config, Paths},
    infer::ModelSource,
};

/// How the models are: what serves each role, and each choice that cannot serve.
pub(crate) struct ModelHealth {
    /// `embedder minilm-l6 (built in), nli none, …`.
    pub(crate) told: String,
    /// What is wrong, each with what helps.
    pub(crate) problems: Vec<String>,
}

/// Looks the models over, without loading one.
///
/// # Errors
/// Where an own catalogue cannot be used.
pub(crate) fn look(paths: &Paths, config: &Config) -> Result<ModelHealth, CliError> {
    let desk = Desk::over(paths.clone(), config.clone())?;
    let serving = desk.serving();
    let told = serving.iter().map(|serving| match &serving.model {
        Some(ModelSource::Embedded(model)) => format!("{} {} (built in)", serving.role, model.name),
        Some(ModelSource::File(file)) => format!("{} {}", serving.role, file.name),
        None => format!("{} none", serving.role),
    });
    Ok(ModelHealth {
        told: told.collect::<Vec<_>>().join(", "),
        problems: serving.iter().filter_map(|serving| serving.problem.clone()).collect(),
    })
}
