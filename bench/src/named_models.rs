//! The models that a measurement uses.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use ergo::infer::{ModelFile, ModelRole, ModelSet, ModelSource, Models, Pool, PoolOptions, catalogue};

/// Models to use instead of the built-in ones.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct NamedModels {
    /// The cross-encoder: a GGUF file, or `none`. By default the one that ships.
    #[arg(long, value_name = "FILE")]
    nli: Option<String>,
    /// The embedder: a GGUF file, or `none`. By default the one that ships.
    #[arg(long, value_name = "FILE")]
    embedder: Option<String>,
    /// The language model of the deep stage: a GGUF file. By default none.
    #[arg(long, value_name = "FILE")]
    llm: Option<String>,
}

impl NamedModels {
    /// Names a language model, and no other model.
    pub(crate) fn only_llm(llm: Option<String>) -> Self {
        let none = || Some("none".to_owned());
        Self { nli: none(), embedder: none(), llm }
    }
}

/// Runs a measurement with models. Their folder is removed afterwards.
pub(crate) fn with_models<T>(named: &NamedModels, run: impl FnOnce(Option<Arc<dyn Models>>) -> Result<T>) -> Result<T> {
    let folder = std::env::temp_dir().join(format!("ergo-bench-models-{}", std::process::id()));
    let set = models(named)?;
    let models: Option<Arc<dyn Models>> =
        (set != ModelSet::default()).then(|| Arc::new(Pool::new(PoolOptions::new(&folder), set)) as Arc<dyn Models>);
    let result = run(models);
    // The folder contains the built-in models as files, and the language model's prefix cache.
    let _ = std::fs::remove_dir_all(&folder);
    result
}

/// Returns the model in a named file.
fn model_file(path: &str) -> Result<ModelSource> {
    let path = std::path::absolute(path)?;
    let sha256 = catalogue::digest::of_file(&path, &mut |_| {})
        .with_context(|| format!("cannot read {}", path.display()))?
        .to_string();
    let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    Ok(ModelSource::File(ModelFile { name, sha256, path }))
}

/// Returns the models to measure with: those that ship, unless others are named.
fn models(named: &NamedModels) -> Result<ModelSet> {
    let of = |role: ModelRole, named: &Option<String>| -> Result<Option<ModelSource>> {
        match named.as_deref() {
            None if role == ModelRole::Llm => Ok(None),
            None => Ok(catalogue::embedded(role).map(ModelSource::Embedded)),
            Some("none") => Ok(None),
            Some(path) => model_file(path).map(Some),
        }
    };
    Ok(ModelSet {
        embedder: of(ModelRole::Embedder, &named.embedder)?,
        nli: of(ModelRole::Nli, &named.nli)?,
        llm: of(ModelRole::Llm, &named.llm)?,
    })
}
