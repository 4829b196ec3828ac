//! `ergo models list`: lists the models of the catalogue and those that are installed.

use serde_json::{Value, json};

use super::ModelSetup;
use crate::{
    cli::{CliError, Context, Exit, status::bytes, ui::Style},
    infer::{
        ModelRole, ModelSource,
        catalogue::{
            ChosenBy, ServingModel,
            fetch::FetchTarget,
            model_store::{FileCondition, InstalledModel, NONE},
        },
    },
};

/// A row of the list.
struct Row {
    role: ModelRole,
    name: String,
    bytes: u64,
    state: State,
    licence: Option<String>,
    /// Details for `--long` and JSON.
    more: Vec<(&'static str, String)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    InUse { embedded: bool },
    Embedded,
    Installed,
    Damaged(String),
    Partial(u64),
    Available,
    Importable,
}

impl State {
    fn word(&self) -> &'static str {
        match self {
            Self::InUse { .. } => "in_use",
            Self::Embedded => "embedded",
            Self::Installed => "installed",
            Self::Damaged(_) => "damaged",
            Self::Partial(_) => "partial",
            Self::Available => "available",
            Self::Importable => "importable",
        }
    }

    fn label(&self, bytes: u64) -> (String, Style) {
        match self {
            Self::InUse { embedded: true } => ("in use, built in".to_owned(), Style::Good),
            Self::InUse { embedded: false } => ("in use".to_owned(), Style::Good),
            Self::Embedded => ("built in".to_owned(), Style::Strong),
            Self::Installed => ("installed".to_owned(), Style::Strong),
            Self::Damaged(_) => ("damaged".to_owned(), Style::Bad),
            Self::Partial(done) => (format!("{} % downloaded", done * 100 / bytes.max(1)), Style::Warn),
            Self::Available => ("available".to_owned(), Style::Dim),
            Self::Importable => ("import from a file".to_owned(), Style::Dim),
        }
    }
}

/// Runs the subcommand.
pub(super) fn run(setup: &ModelSetup, long: bool, cx: &mut Context) -> Result<Exit, CliError> {
    let serving = setup.serving();
    let rows = rows(setup, &serving)?;
    if cx.ui.json {
        let models: Vec<Value> = rows.iter().map(Row::value).collect();
        let roles: Vec<Value> = serving.iter().map(role_value).collect();
        cx.ui.value(&json!({"models": models, "roles": roles, "folder": setup.model_store.folder()}));
        return Ok(Exit::Ok);
    }
    let name_width = rows.iter().map(|row| row.name.len()).max().unwrap_or_default().max(4);
    for row in &rows {
        let (state, style) = row.state.label(row.bytes);
        let state = cx.ui.paint(style, format_args!("{state:<18}"));
        let licence = row.licence.as_deref().unwrap_or("unknown licence");
        let lead = format_args!("{:<9} {:<name_width$} {:>9}", row.role.name(), row.name, bytes(row.bytes));
        cx.ui.line(text!("{}  {}  {}", lead, state, licence).trimmed());
        if long {
            for (label, text) in &row.more {
                cx.ui.field(label, text);
            }
        }
    }
    for serving in serving.iter().filter(|serving| serving.model.is_none() && serving.problem.is_none()) {
        let role = serving.role.name();
        let why = if serving.wanted == NONE { "turned off" } else { "none chosen" };
        let why = cx.ui.paint(Style::Dim, why);
        let lead = format_args!("{role:<9}");
        cx.ui.line(text!("{} {}; to choose one: `ergo models use {} NAME`", lead, why, role));
    }
    let problems = serving.iter().filter_map(|serving| serving.problem.clone());
    let damaged = rows.iter().filter_map(|row| match &row.state {
        State::Damaged(how) => Some(format!("{}: {how}", row.name)),
        _ => None,
    });
    for problem in problems.chain(damaged).collect::<Vec<_>>() {
        let label = cx.ui.paint(Style::Warn, "Note:");
        cx.ui.line(text!("{} {}", label, problem));
    }
    Ok(Exit::Ok)
}

/// Returns all models: first the catalogue's in its order, then the others.
fn rows(setup: &ModelSetup, serving: &[ServingModel]) -> Result<Vec<Row>, CliError> {
    let records = setup.model_store.load()?;
    let mut rows = Vec::new();
    for entry in setup.catalogue.models() {
        let installed = records.named(&entry.name).filter(|model| model.sha256 == entry.sha256);
        let wanted = FetchTarget {
            bytes: entry.bytes,
            sha256: entry.sha256,
            target: setup.model_store.path_of(entry.file.as_ref()),
        };
        let part = std::fs::metadata(wanted.part()).map_or(0, |meta| meta.len());
        let state = match installed {
            _ if serves(serving, entry.role, &entry.name) => State::InUse { embedded: entry.embedded },
            _ if entry.embedded => State::Embedded,
            Some(model) => condition(setup, model),
            None if part > 0 => State::Partial(part),
            None if entry.url.is_some() => State::Available,
            None => State::Importable,
        };
        let mut more =
            vec![("for", entry.about.clone()), ("quality", entry.quality.clone()), ("time", entry.time.clone())];
        more.push(("measured", entry.measured.clone()));
        more.push(("by", format!("{}, {}", entry.publisher, entry.page)));
        more.extend(entry.url.clone().map(|url| ("url", url)));
        more.push(("sha256", entry.sha256.to_string()));
        more.extend(installed.map(|model| ("file", setup.model_store.path_of(&model.file).display().to_string())));
        rows.push(Row {
            role: entry.role,
            name: entry.name.clone(),
            bytes: entry.bytes,
            state,
            licence: Some(entry.licence.clone()),
            more,
        });
    }
    let known = |model: &InstalledModel| rows.iter().any(|row| row.name == model.name);
    let others: Vec<InstalledModel> = records.installed.iter().filter(|model| !known(model)).cloned().collect();
    rows.extend(others.into_iter().map(|model| Row {
        state: if serves(serving, model.role, &model.name) {
            State::InUse { embedded: false }
        } else {
            condition(setup, &model)
        },
        more: vec![
            ("sha256", model.sha256.to_string()),
            ("file", setup.model_store.path_of(&model.file).display().to_string()),
        ],
        role: model.role,
        name: model.name,
        bytes: model.bytes,
        licence: model.licence,
    }));
    rows.sort_by_key(|row| row.role);
    Ok(rows)
}

fn serves(serving: &[ServingModel], role: ModelRole, name: &str) -> bool {
    let model = serving.iter().find(|serving| serving.role == role).and_then(|serving| serving.model.as_ref());
    model.is_some_and(|model| model.name() == name)
}

fn condition(setup: &ModelSetup, model: &InstalledModel) -> State {
    match setup.model_store.condition(model) {
        FileCondition::Good => State::Installed,
        FileCondition::Gone => State::Damaged("its file is missing".to_owned()),
        FileCondition::Damaged(how) => State::Damaged(how),
    }
}

impl Row {
    fn value(&self) -> Value {
        let mut value = json!({
            "role": self.role, "name": self.name, "bytes": self.bytes, "state": self.state.word(), "licence": self.licence,
        });
        if let Value::Object(object) = &mut value {
            object.extend(self.more.iter().map(|(label, text)| ((*label).to_owned(), json!(text))));
            match &self.state {
                State::InUse { embedded } => drop(object.insert("embedded".to_owned(), json!(embedded))),
                State::Damaged(how) => drop(object.insert("problem".to_owned(), json!(how))),
                State::Partial(done) => drop(object.insert("fetched".to_owned(), json!(done))),
                _ => {}
            }
        }
        value
    }
}

fn role_value(serving: &ServingModel) -> Value {
    json!({
        "role": serving.role,
        "model": serving.model.as_ref().map(ModelSource::name),
        "chosen": match serving.by {
            ChosenBy::Default => Value::Null,
            ChosenBy::Machine | ChosenBy::Settings => json!(serving.wanted),
        },
        "by": serving.by,
        "problem": serving.problem,
    })
}
