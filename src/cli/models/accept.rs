//! Validates a file as a model: by its header, its hash, and a test run.

use std::path::{Path, PathBuf};

use super::ModelSetup;
use crate::{
    cli::{CliError, Context, show::text::quote},
    infer::{
        ModelFile, ModelRole, ModelSet, ModelSource, Models,
        catalogue::{
            CatalogueEntry, InstalledModel,
            digest::{self, Sha256},
            gguf::GgufHeader,
            is_name,
            model_store::{DEFAULT, ModelRecords, NONE, modified},
            probe::{self, ProbeResult},
        },
    },
};

/// A file that may become a model.
pub(super) struct ModelCandidate {
    pub(super) name: String,
    pub(super) role: ModelRole,
    pub(super) sha256: Sha256,
    pub(super) bytes: u64,
    pub(super) licence: Option<String>,
    /// The catalogue's entry with the same hash.
    pub(super) known: Option<CatalogueEntry>,
}

/// Inspects a file: a known hash identifies a model of the catalogue, else the header describes it. `role` and `name` are
/// those that the user requested.
pub(super) fn inspect(
    setup: &ModelSetup,
    path: &Path,
    role: Option<ModelRole>,
    name: Option<&str>,
    cx: &mut Context,
) -> Result<ModelCandidate, CliError> {
    let place = path.display();
    let meta = std::fs::metadata(path).map_err(|error| CliError::file("read", path, &error))?;
    let hash = if meta.is_file() { Some(hash(path, meta.len(), cx)?) } else { None };
    let known = hash.as_ref().and_then(|hash| setup.catalogue.hashed(hash)).cloned();
    let refuse = |why: String| CliError::usage(format_args!("{place} is not accepted: {why}"));
    let header = GgufHeader::of(path);
    let actual_role = match (&known, &header) {
        (Some(entry), _) => entry.role,
        (None, Ok(header)) => header.role().map_err(|why| {
            refuse(why)
                .hint("ergo uses three kinds of models: embedders, cross-encoders (role `nli`) and language models")
        })?,
        (None, Err(why)) => {
            return Err(refuse(why.clone())
                .hint("a model is a GGUF file; check that the download is complete and is not an HTML page"));
        }
    };
    if let Some(asked) = role.filter(|asked| *asked != actual_role) {
        let error = refuse(format!("it is a model for {actual_role}, not for {asked}"));
        let hint = match (asked, actual_role) {
            (ModelRole::Nli, ModelRole::Llm) => "a language model can only have the role `llm`".to_owned(),
            _ => format!("omit `{asked}`, or use `{actual_role}`"),
        };
        return Err(error.hint(hint));
    }
    let Some(sha256) = hash else { return Err(refuse("it is not a regular file".to_owned())) };
    let title = header.as_ref().ok().and_then(|header| header.name.clone());
    let name = match (name, &known) {
        (Some(name), _) if !is_name(name) || [DEFAULT, NONE].contains(&name) => {
            return Err(CliError::usage(format_args!("invalid model name “{name}”"))
                .hint("use lower-case letters, digits, `.`, `_` and `-`, such as my-judge-1"));
        }
        (Some(name), Some(entry)) if entry.name != name => {
            return Err(CliError::usage(format_args!(
                "the file is the catalogue's model {}, which keeps its own name",
                entry.name
            ))
            .hint("omit `--name`"));
        }
        (Some(name), _) => name.to_owned(),
        (None, Some(entry)) => entry.name.clone(),
        (None, None) => name_of(path, title.as_deref()),
    };
    let licence = known.as_ref().map(|entry| entry.licence.clone());
    let licence = licence.or_else(|| header.ok().and_then(|header| header.licence));
    let candidate = ModelCandidate { name, role: actual_role, sha256, bytes: meta.len(), licence, known };
    refuse_taken_name(setup, &candidate, &setup.model_store.load()?)?;
    Ok(candidate)
}

/// Refuses a name that another model has: an import must not change the meaning of a setting.
fn refuse_taken_name(setup: &ModelSetup, candidate: &ModelCandidate, records: &ModelRecords) -> Result<(), CliError> {
    let name = &candidate.name;
    let other = |hash: Sha256| hash != candidate.sha256;
    let taken = records.named(name).is_some_and(|model| other(model.sha256))
        || setup.catalogue.named(name).is_some_and(|entry| other(entry.sha256));
    if !taken {
        return Ok(());
    }
    Err(CliError::usage(format_args!("another model is named {name}"))
        .hint(format_args!("use another name: `--name`; or run `ergo models remove {name}` first")))
}

/// Derives a name from the file's name, or else from the title in its header.
fn name_of(path: &Path, title: Option<&str>) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let plain = |text: &str| {
        let mut name: String =
            text.to_lowercase().chars().map(|c| if is_name(&format!("a{c}")) { c } else { '-' }).collect();
        name.truncate(60);
        name.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_owned()
    };
    [plain(&stem), title.map(plain).unwrap_or_default()]
        .into_iter()
        .find(|name| is_name(name) && ![DEFAULT, NONE].contains(&name.as_str()))
        .unwrap_or_else(|| "model".to_owned())
}

/// Loads the file in a worker process and tests it. Models of the catalogue need no test.
pub(super) fn probe(
    candidate: &ModelCandidate,
    path: &Path,
    setup: &ModelSetup,
    cx: &mut Context,
) -> Result<Option<ProbeResult>, CliError> {
    if candidate.known.is_some() {
        return Ok(None);
    }
    cx.ui.progress(text!("loading and testing {} …", candidate.name));
    let models = only(
        setup,
        candidate.role,
        ModelSource::File(ModelFile {
            name: candidate.name.clone(),
            sha256: candidate.sha256.to_string(),
            path: path.to_owned(),
        }),
    );
    let probed = probe::probe(candidate.role, &*models);
    cx.ui.progress_done();
    probed.map(Some).map_err(|why| {
        CliError::usage(format_args!("{} is not accepted as {}: {why}", path.display(), candidate.role))
            .hint("`ergo models list` shows tested models")
    })
}

/// Starts models with a single role.
pub(super) fn only(setup: &ModelSetup, role: ModelRole, model: ModelSource) -> Box<dyn Models> {
    let mut set = ModelSet::default();
    match role {
        ModelRole::Embedder => set.embedder = Some(model),
        ModelRole::Nli => set.nli = Some(model),
        ModelRole::Llm => set.llm = Some(model),
    }
    setup.start(set, None)
}

/// Registers a file for `ergo models use ROLE FILE` without copying it. Returns the model's name.
pub(super) fn in_place(setup: &ModelSetup, role: ModelRole, path: &Path, cx: &mut Context) -> Result<String, CliError> {
    let path = std::path::absolute(path).map_err(|error| CliError::file("read", path, &error))?;
    if path.to_str().is_none() {
        return Err(CliError::usage(format_args!("the path {} is not valid UTF-8", path.display())).hint("rename it"));
    }
    let records = setup.model_store.load()?;
    let already = records.installed.iter().find(|model| setup.model_store.path_of(&model.file) == path);
    if let Some(model) = already.filter(|model| model.role == role) {
        return Ok(model.name.clone());
    }
    let candidate = inspect(setup, &path, Some(role), None, cx)?;
    let probed = probe(&candidate, &path, setup, cx)?;
    show_probed(&candidate, probed.as_ref(), cx);
    record(setup, candidate.installed(path.clone()), &path)?;
    Ok(candidate.name)
}

/// Shows the result of a test.
pub(super) fn show_probed(candidate: &ModelCandidate, probed: Option<&ProbeResult>, cx: &mut Context) {
    match (probed, &candidate.known) {
        (Some(probed), _) => cx.ui.note(text!("{} as {}: {}", candidate.name, candidate.role, probed.summary)),
        (None, Some(entry)) => {
            cx.ui.note(text!("Its hash identifies it as {} of {}.", quote(&entry.file), entry.publisher));
        }
        (None, None) => {}
    }
}

impl ModelCandidate {
    /// Returns the record of the model, with this file.
    pub(super) fn installed(&self, file: PathBuf) -> InstalledModel {
        InstalledModel {
            name: self.name.clone(),
            role: self.role,
            file,
            bytes: self.bytes,
            sha256: self.sha256,
            modified: 0,
            licence: self.licence.clone(),
        }
    }
}

/// Returns the record of a model of the catalogue, with this file.
pub(super) fn record_of_entry(entry: &CatalogueEntry, file: PathBuf) -> InstalledModel {
    InstalledModel {
        name: entry.name.clone(),
        role: entry.role,
        file,
        bytes: entry.bytes,
        sha256: entry.sha256,
        modified: 0,
        licence: Some(entry.licence.clone()),
    }
}

/// Registers a model whose file at `path` is known to be complete.
pub(super) fn record(setup: &ModelSetup, model: InstalledModel, path: &Path) -> Result<(), CliError> {
    let meta = std::fs::metadata(path).map_err(|error| CliError::file("read", path, &error))?;
    let model = InstalledModel { modified: modified(&meta), ..model };
    setup.model_store.change(|records| records.put(model))?;
    Ok(())
}

/// Returns the hash of a file, and shows progress.
pub(super) fn hash(path: &Path, total: u64, cx: &mut Context) -> Result<Sha256, CliError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let hash = digest::of_file(path, &mut |done| {
        cx.ui.progress(text!("{}  verifying the hash … {} %", name, done * 100 / total.max(1)));
    });
    cx.ui.progress_done();
    hash.map_err(|error| CliError::file("read", path, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_from_the_file_or_from_what_it_says() {
        let name = |path: &str, title| name_of(Path::new(path), title);
        assert_eq!(name("/m/My Judge (v2).gguf", None), "my-judge--v2");
        assert_eq!(name("/m/模型.gguf", Some("Small 1B")), "small-1b");
        assert_eq!(name("/m/none.gguf", None), "model");
        assert_eq!(name("/m/.gguf", Some("")), "gguf");
    }
}
