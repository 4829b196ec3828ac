//! `ergo models verify`: verifies the hashes of model files.

use serde_json::json;

use super::{ModelSetup, unknown};
use crate::{
    cli::{CliError, Context, Exit, status::bytes, ui::Style},
    infer::catalogue::{
        EMBEDDED,
        model_store::{FileCondition, InstalledModel},
    },
};

/// Runs the subcommand.
pub(super) fn run(setup: &ModelSetup, names: &[String], cx: &mut Context) -> Result<Exit, CliError> {
    let records = setup.model_store.load()?;
    let mut models: Vec<InstalledModel> = Vec::new();
    for name in names {
        match records.named(name) {
            Some(model) => models.push(model.clone()),
            None if EMBEDDED.iter().any(|(_, model)| model.name == name) => {
                cx.ui.note(text!("{} is built in: a damaged copy is replaced automatically.", name));
            }
            None if setup.catalogue.named(name).is_some() => {
                let message = format!("{name} is not installed");
                return Err(CliError::usage(message).hint(format_args!("`ergo models pull {name}` downloads it")));
            }
            None => return Err(unknown(name, setup)),
        }
    }
    if names.is_empty() {
        models = records.installed;
    }
    let mut rows = Vec::new();
    for model in models {
        let (name, total) = (model.name.clone(), model.bytes);
        let (condition, modified) = setup.model_store.examine(&model, &mut |done| {
            cx.ui.progress(text!("{}  {} of {}", name, bytes(done), bytes(total)));
        });
        cx.ui.progress_done();
        if condition == FileCondition::Good && modified != model.modified {
            // The file was touched but not changed: record its new time.
            setup.model_store.change(|records| records.put(InstalledModel { modified, ..model.clone() }))?;
        }
        rows.push((model, condition));
    }
    let has_problem = rows.iter().any(|(_, condition)| *condition != FileCondition::Good);
    show(setup, &rows, cx);
    Ok(if has_problem { Exit::Internal } else { Exit::Ok })
}

fn show(setup: &ModelSetup, rows: &[(InstalledModel, FileCondition)], cx: &mut Context) {
    let describe = |condition: &FileCondition| match condition {
        FileCondition::Good => ("ok", None),
        FileCondition::Gone => ("gone", Some("its file is missing".to_owned())),
        FileCondition::Damaged(how) => ("damaged", Some(how.clone())),
    };
    if cx.ui.json {
        let items: Vec<_> = rows
            .iter()
            .map(|(model, condition)| {
                let (state, problem) = describe(condition);
                json!({"name": model.name, "state": state, "problem": problem, "file": setup.model_store.path_of(&model.file)})
            })
            .collect();
        cx.ui.value(&json!({"models": items}));
        return;
    }
    if rows.is_empty() {
        cx.ui.note("No models are installed; the built-in ones need no verification.");
    }
    for (model, condition) in rows {
        let (state, problem) = describe(condition);
        let state = if state == "gone" { "missing" } else { state };
        let style = if problem.is_none() { Style::Good } else { Style::Bad };
        let word = cx.ui.paint(style, format_args!("{state:<8}"));
        let problem = problem.map(|problem| format!("  {problem}")).unwrap_or_default();
        cx.ui.line(text!("{} {}{}", word, model.name, problem));
        if !problem.is_empty() {
            let fetched = setup.catalogue.hashed(&model.sha256).is_some_and(|entry| entry.url.is_some());
            let act =
                if fetched { format!("ergo models pull {}", model.name) } else { "ergo models import FILE".to_owned() };
            let label = cx.ui.paint(Style::Code, "Hint:");
            cx.ui.line(text!("         {} {}", label, act));
        }
    }
}
