//! Decides which model serves which role: the one that `config.toml` names, otherwise the one chosen with `ergo models
//! use`, otherwise the built-in default.

use std::path::Path;

use serde::Serialize;

use super::{
    Catalogue, embedded,
    gguf::GgufHeader,
    model_store::{DEFAULT, FileCondition, InstalledModel, ModelRecords, ModelStore, NONE},
};
use crate::infer::{ModelFile, ModelRole, ModelSet, ModelSource};

/// How the model of a role was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChosenBy {
    /// Not at all: it is the default.
    Default,
    /// With `ergo models use` on this machine.
    Machine,
    /// With `[models]` in `config.toml`, which overrides the machine's choice.
    Settings,
}

/// The model that serves a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingModel {
    pub role: ModelRole,
    pub by: ChosenBy,
    /// The chosen name or path as it was written; `default` if nothing was chosen.
    pub wanted: String,
    /// The model; `None` if the role has none.
    pub model: Option<ModelSource>,
    /// Why the chosen model is not used, and what to do.
    pub problem: Option<String>,
}

/// Returns the model of each role. Never fails: if a chosen model cannot be used, the default is used instead, and
/// [`ServingModel::problem`] says why. `settings` returns the model that `config.toml` names for a role.
pub fn resolve(
    model_store: &ModelStore,
    catalogue: &Catalogue,
    settings: &dyn Fn(ModelRole) -> Option<String>,
) -> Vec<ServingModel> {
    let (records, broken) = match model_store.load() {
        Ok(records) => (records, None),
        Err(error) => (ModelRecords::default(), Some(error.to_string())),
    };
    let serve = |role: ModelRole| {
        let (by, wanted) = match (settings(role), records.chosen.get(&role)) {
            (Some(wanted), _) => (ChosenBy::Settings, wanted),
            (None, Some(wanted)) => (ChosenBy::Machine, wanted.clone()),
            (None, None) => (ChosenBy::Default, DEFAULT.to_owned()),
        };
        let default = || embedded(role).map(ModelSource::Embedded);
        let (model, problem) = match find(model_store, catalogue, &records, role, &wanted) {
            Ok(model) => (model, None),
            Err(why) => {
                let instead = embedded(role).map_or_else(
                    || "no model is used instead".to_owned(),
                    |model| format!("the built-in {} is used instead", model.name),
                );
                (default(), Some(format!("{wanted} cannot be used as {role}: {why}; {instead}")))
            }
        };
        let record = || broken.as_ref().map(|why| format!("{why}, so the model chosen as {role} is unknown"));
        ServingModel { role, by, wanted, model, problem: problem.or_else(record) }
    };
    ModelRole::ALL.into_iter().map(serve).collect()
}

/// Returns the serving models in the form that the pool takes.
pub fn model_set(serving: &[ServingModel]) -> ModelSet {
    let of = |role| serving.iter().find(|serving| serving.role == role).and_then(|serving| serving.model.clone());
    ModelSet { embedder: of(ModelRole::Embedder), nli: of(ModelRole::Nli), llm: of(ModelRole::Llm) }
}

/// Whether a chosen model is given by its path and not by its name.
pub fn is_path(wanted: &str) -> bool {
    wanted.contains('/') || Path::new(wanted).extension().is_some_and(|extension| extension == "gguf")
}

/// Returns the model with this name or path; `None` for [`NONE`].
///
/// # Errors
/// A text that says why the model cannot be used and what to do, to be appended to its name.
pub fn find(
    model_store: &ModelStore,
    catalogue: &Catalogue,
    records: &ModelRecords,
    role: ModelRole,
    wanted: &str,
) -> Result<Option<ModelSource>, String> {
    match wanted {
        NONE => return Ok(None),
        DEFAULT => return Ok(embedded(role).map(ModelSource::Embedded)),
        _ => {}
    }
    if let Some(model) = embedded(role).filter(|model| model.name == wanted) {
        return Ok(Some(ModelSource::Embedded(model)));
    }
    if is_path(wanted) {
        return at_path(model_store, catalogue, records, role, wanted).map(Some);
    }
    if let Some(model) = records.named(wanted) {
        return installed(model_store, catalogue, role, model).map(Some);
    }
    match catalogue.named(wanted) {
        Some(entry) if entry.role != role => Err(format!("it is a model for {}", entry.role)),
        Some(entry) if entry.url.is_some() => {
            Err(format!("it is not installed: `ergo models pull {wanted}` downloads it"))
        }
        Some(_) => Err("it is not installed: `ergo models import FILE` adds it from a file".to_owned()),
        None => Err("there is no model with this name: `ergo models list` shows the models".to_owned()),
    }
}

fn installed(
    model_store: &ModelStore,
    catalogue: &Catalogue,
    role: ModelRole,
    model: &InstalledModel,
) -> Result<ModelSource, String> {
    if model.role != role {
        return Err(format!("it is a model for {}", model.role));
    }
    let path = model_store.path_of(&model.file);
    let place = path.display();
    let remedy = match catalogue.hashed(&model.sha256) {
        Some(entry) if entry.url.is_some() => format!("`ergo models pull {}` downloads it again", model.name),
        _ => "`ergo models import FILE` adds it from a file".to_owned(),
    };
    match model_store.condition(model) {
        FileCondition::Good => {
            Ok(ModelSource::File(ModelFile { name: model.name.clone(), sha256: model.sha256.to_string(), path }))
        }
        FileCondition::Gone => Err(format!("its file {place} is missing ({remedy})")),
        FileCondition::Damaged(how) => Err(format!("its file {place} is damaged: {how} ({remedy})")),
    }
}

/// Returns the model in the file at a path, which may be an installed or an unknown one.
fn at_path(
    model_store: &ModelStore,
    catalogue: &Catalogue,
    records: &ModelRecords,
    role: ModelRole,
    wanted: &str,
) -> Result<ModelSource, String> {
    let path = Path::new(wanted);
    if !path.is_absolute() {
        return Err("a path must be absolute".to_owned());
    }
    if let Some(model) = records.installed.iter().find(|model| model_store.path_of(&model.file) == path) {
        return installed(model_store, catalogue, role, model);
    }
    let serves = GgufHeader::of(path).and_then(|header| header.role())?;
    if serves != role {
        return Err(format!("it is a model for {serves}"));
    }
    let name = path.file_stem().map_or_else(|| wanted.to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok(ModelSource::File(ModelFile { name, sha256: String::new(), path: path.to_owned() }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{
        super::{gguf::written, model_store::testing::install},
        *,
    };

    fn model_store() -> (tempfile::TempDir, ModelStore) {
        let dir = tempfile::tempdir().unwrap();
        let model_store = ModelStore::new(dir.path().join("models"));
        (dir, model_store)
    }

    fn of(model_store: &ModelStore, role: ModelRole, settings: Option<&str>) -> ServingModel {
        let all =
            resolve(model_store, Catalogue::builtin(), &|asked| settings.filter(|_| asked == role).map(str::to_owned));
        all.into_iter().find(|serving| serving.role == role).unwrap()
    }

    fn name(serving: &ServingModel) -> Option<&str> {
        serving.model.as_ref().map(ModelSource::name)
    }

    #[test]
    fn the_default_is_what_ships_inside() {
        let (_dir, model_store) = model_store();
        let all = resolve(&model_store, Catalogue::builtin(), &|_| None);
        assert!(all.iter().all(|serving| serving.by == ChosenBy::Default && serving.problem.is_none()), "{all:?}");
        let set = model_set(&all);
        for role in ModelRole::ALL {
            assert_eq!(set.role(role).map(ModelSource::name), embedded(role).map(|model| model.name));
        }
        assert!(set.embedder.is_some() && set.llm.is_none());
    }

    #[test]
    fn settings_go_before_the_machine_and_none_switches_off() {
        let (_dir, model_store) = model_store();
        install(&model_store, "mine", ModelRole::Llm, b"mine");
        install(&model_store, "other", ModelRole::Llm, b"other");
        model_store.change(|records| records.chosen.insert(ModelRole::Llm, "mine".into())).unwrap();
        let serving = of(&model_store, ModelRole::Llm, None);
        assert_eq!((serving.by, name(&serving)), (ChosenBy::Machine, Some("mine")));
        assert_eq!(serving.model.unwrap().sha256().len(), 64);
        let serving = of(&model_store, ModelRole::Llm, Some("other"));
        assert_eq!((serving.by, name(&serving)), (ChosenBy::Settings, Some("other")));
        let serving = of(&model_store, ModelRole::Embedder, Some(NONE));
        assert_eq!((serving.model, serving.problem), (None, None));
        let inside = embedded(ModelRole::Embedder).unwrap().name;
        assert_eq!(name(&of(&model_store, ModelRole::Embedder, Some(inside))), Some(inside));
    }

    #[test]
    fn a_choice_that_cannot_serve_leaves_the_default_and_says_so() {
        let (_dir, model_store) = model_store();
        let inside = embedded(ModelRole::Embedder).map(|model| model.name);
        let model = install(&model_store, "mine", ModelRole::Embedder, b"mine");
        install(&model_store, "judge", ModelRole::Nli, b"judge");
        fs::write(model_store.path_of(&model.file), b"min").unwrap();
        for (wanted, expected) in [
            ("mine", "damaged"),
            ("judge", "for nli"),
            ("nowhere", "no model with this name"),
            ("qwen2.5-coder-1.5b", "for llm"),
            ("some.gguf", "absolute"),
            ("/nowhere/x.gguf", "cannot be read"),
        ] {
            let serving = of(&model_store, ModelRole::Embedder, Some(wanted));
            let problem = serving.problem.clone().unwrap();
            assert!(problem.contains(expected) && problem.contains("is used instead"), "{wanted}: {problem}");
            assert_eq!(name(&serving), inside);
        }
        fs::remove_file(model_store.path_of(&model.file)).unwrap();
        assert!(of(&model_store, ModelRole::Embedder, Some("mine")).problem.unwrap().contains("is missing"));
        let serving = of(&model_store, ModelRole::Llm, Some("qwen2.5-coder-1.5b"));
        let problem = serving.problem.unwrap();
        assert!(problem.contains("ergo models pull") && problem.contains("no model is used instead"), "{problem}");
        fs::write(model_store.record(), "not this").unwrap();
        let serving = of(&model_store, ModelRole::Embedder, None);
        assert!(serving.problem.as_ref().unwrap().contains("damaged") && name(&serving) == inside, "{serving:?}");
    }

    #[test]
    fn a_path_is_looked_at_before_it_serves() {
        let (dir, model_store) = model_store();
        let file = dir.path().join("own.gguf");
        fs::write(&file, written::embedder()).unwrap();
        let path = file.to_str().unwrap();
        let serving = of(&model_store, ModelRole::Embedder, Some(path));
        assert_eq!((name(&serving), &serving.problem), (Some("own"), &None));
        let serving = of(&model_store, ModelRole::Llm, Some(path));
        assert!(serving.problem.unwrap().contains("for embedder"));
    }
}
