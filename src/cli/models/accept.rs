//! Accepting a file as a model: what it says about itself, whose hash it has, and how it answers.

use std::path::{Path, PathBuf};

use super::Desk;
use crate::{
    cli::{CliError, Context, show::text::quote},
    infer::{
        ModelFile, ModelSet, ModelSource, Models, Role,
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

/// A file that was looked at.
pub(super) struct Candidate {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) sha256: Sha256,
    pub(super) bytes: u64,
    pub(super) licence: Option<String>,
    /// The name in the catalogue, where the hash stands there.
    pub(super) known: Option<CatalogueEntry>,
}

/// Looks at a file: a model of the catalogue by its hash, else what its header says. `role` and `name` are what the person
/// asks for.
pub(super) fn look(
    desk: &Desk,
    path: &Path,
    role: Option<Role>,
    name: Option<&str>,
    cx: &mut Context,
) -> Result<Candidate, CliError> {
    let place = path.display();
    let meta = std::fs::metadata(path).map_err(|error| CliError::file("read", path, &error))?;
    let hash = if meta.is_file() { Some(hash(path, meta.len(), cx)?) } else { None };
    let known = hash.as_ref().and_then(|hash| desk.catalogue.hashed(hash)).cloned();
    let refuse = |why: String| CliError::usage(format_args!("{place} is not accepted: {why}"));
    let header = GgufHeader::of(path);
    let serves = match (&known, &header) {
        (Some(entry), _) => entry.role,
        (None, Ok(header)) => header
            .role()
            .map_err(|why| refuse(why).hint("ergo needs an embedder, a classifier of pairs, or a language model"))?,
        (None, Err(why)) => {
            return Err(
                refuse(why.clone()).hint("a model is a GGUF file; was it fetched whole, and not the page around it?")
            );
        }
    };
    if let Some(asked) = role.filter(|asked| *asked != serves) {
        let error = refuse(format!("it is a model for {serves}, and not for {asked}"));
        let hint = match (asked, serves) {
            (Role::Nli, Role::Llm) => "a language model judges as `llm`, behind the classifier".to_owned(),
            _ => format!("leave `{asked}` away, or say `{serves}`"),
        };
        return Err(error.hint(hint));
    }
    let Some(sha256) = hash else { return Err(refuse("it is no file".to_owned())) };
    let title = header.as_ref().ok().and_then(|header| header.name.clone());
    let name = match (name, &known) {
        (Some(name), _) if !is_name(name) || [DEFAULT, NONE].contains(&name) => {
            return Err(CliError::usage(format_args!("“{name}” cannot be a model's name"))
                .hint("lower-case letters, digits, `.`, `_` and `-`, such as my-judge-1"));
        }
        (Some(name), Some(entry)) if entry.name != name => {
            return Err(CliError::usage(format_args!("by its hash it is {}, and keeps that name", entry.name))
                .hint("leave `--name` away"));
        }
        (Some(name), _) => name.to_owned(),
        (None, Some(entry)) => entry.name.clone(),
        (None, None) => name_of(path, title.as_deref()),
    };
    let licence = known.as_ref().map(|entry| entry.licence.clone());
    let licence = licence.or_else(|| header.ok().and_then(|header| header.licence));
    let candidate = Candidate { name, role: serves, sha256, bytes: meta.len(), licence, known };
    name_is_free(desk, &candidate, &desk.model_store.load()?)?;
    Ok(candidate)
}

/// No two models have one name: what a setting means must not change by an import.
fn name_is_free(desk: &Desk, candidate: &Candidate, records: &ModelRecords) -> Result<(), CliError> {
    let name = &candidate.name;
    let other = |hash: Sha256| hash != candidate.sha256;
    let taken = records.named(name).is_some_and(|model| other(model.sha256))
        || desk.catalogue.named(name).is_some_and(|entry| other(entry.sha256));
    if !taken {
        return Ok(());
    }
    Err(CliError::usage(format_args!("another model is named {name}"))
        .hint(format_args!("give this one a name with `--name`, or `ergo models remove {name}` first")))
}

/// A name from the file's own name, which the person chose, or from what the file says.
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

/// Loads the file in a worker process and asks it what such a model must know. A file whose hash stands in the catalogue was
/// asked before it came there.
pub(super) fn probe(
    candidate: &Candidate,
    path: &Path,
    desk: &Desk,
    cx: &mut Context,
) -> Result<Option<ProbeResult>, CliError> {
    if candidate.known.is_some() {
        return Ok(None);
    }
    cx.ui.progress(text!("loading {} and asking it …", candidate.name));
    let models = only(
        desk,
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
            .hint("`ergo models list` shows models that work")
    })
}

/// Models of which only one role is filled.
pub(super) fn only(desk: &Desk, role: Role, model: ModelSource) -> Box<dyn Models> {
    let mut set = ModelSet::default();
    match role {
        Role::Embedder => set.embedder = Some(model),
        Role::Nli => set.nli = Some(model),
        Role::Llm => set.llm = Some(model),
    }
    desk.start(set, None)
}

/// `ergo models use ROLE FILE`: the file stays where it is. Gives the name under which it is known.
pub(super) fn in_place(desk: &Desk, role: Role, path: &Path, cx: &mut Context) -> Result<String, CliError> {
    let path = std::path::absolute(path).map_err(|error| CliError::file("read", path, &error))?;
    if path.to_str().is_none() {
        return Err(CliError::usage(format_args!("{} is not valid text", path.display())).hint("rename it"));
    }
    let records = desk.model_store.load()?;
    let already = records.installed.iter().find(|model| desk.model_store.path_of(&model.file) == path);
    if let Some(model) = already.filter(|model| model.role == role) {
        return Ok(model.name.clone());
    }
    let candidate = look(desk, &path, Some(role), None, cx)?;
    let probed = probe(&candidate, &path, desk, cx)?;
    say_probed(&candidate, probed.as_ref(), cx);
    record(desk, candidate.installed(path.clone()), &path)?;
    Ok(candidate.name)
}

/// Tells what a probe showed.
pub(super) fn say_probed(candidate: &Candidate, probed: Option<&ProbeResult>, cx: &mut Context) {
    match (probed, &candidate.known) {
        (Some(probed), _) => cx.ui.note(text!("{} as {}: {}", candidate.name, candidate.role, probed.summary)),
        (None, Some(entry)) => {
            cx.ui.note(text!("It is {} of {}, by its hash.", quote(&entry.file), entry.publisher));
        }
        (None, None) => {}
    }
}

impl Candidate {
    /// Its record, with this file.
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

/// The record of a model of the catalogue, with this file.
pub(super) fn of_entry(entry: &CatalogueEntry, file: PathBuf) -> InstalledModel {
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

/// Puts a model on record whose file at `path` is known to be whole.
pub(super) fn record(desk: &Desk, model: InstalledModel, path: &Path) -> Result<(), CliError> {
    let meta = std::fs::metadata(path).map_err(|error| CliError::file("read", path, &error))?;
    let model = InstalledModel { modified: modified(&meta), ..model };
    desk.model_store.change(|records| records.put(model))?;
    Ok(())
}

/// The hash of a file, with progress.
pub(super) fn hash(path: &Path, total: u64, cx: &mut Context) -> Result<Sha256, CliError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let hash = digest::of_file(path, &mut |done| {
        cx.ui.progress(text!("{}  comparing the hash … {} %", name, done * 100 / total.max(1)));
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
