//! `ergo models use` and `ergo models remove`: choose and remove models.

use std::{fs, path::Path};

use serde_json::json;

use super::{ModelSetup, accept, unknown};
use crate::{
    cli::{CliError, Context, Exit, ui::Style},
    infer::{
        ModelRole, ModelSource,
        catalogue::{
            EMBEDDED, embedded,
            fetch::{self, FetchTarget},
            model_choice,
            model_store::{DEFAULT, NONE},
        },
    },
};

/// `ergo models use ROLE NAME|FILE`.
pub(super) fn choose(setup: &ModelSetup, role: ModelRole, wanted: &str, cx: &mut Context) -> Result<Exit, CliError> {
    setup.refuse_if_set(role)?;
    let name = if model_choice::is_path(wanted) {
        accept::in_place(setup, role, Path::new(wanted), cx)?
    } else {
        wanted.to_owned()
    };
    let records = setup.model_store.load()?;
    if let Err(why) = model_choice::find(&setup.model_store, &setup.catalogue, &records, role, &name) {
        let known = records.named(&name).is_some() || setup.catalogue.named(&name).is_some();
        return Err(if known {
            CliError::usage(format_args!("{name} cannot serve as {role}: {why}"))
        } else {
            unknown(&name, setup)
        });
    }
    set(setup, role, &name)?;
    let daemon = setup.reload_daemon(cx);
    if cx.ui.json {
        cx.ui.value(&json!({"result": "chosen", "role": role, "model": serves(setup, role), "daemon": daemon}));
    } else if !cx.ui.quiet {
        say(setup, role, daemon, cx);
    }
    Ok(Exit::Ok)
}

/// Finishes an installation: chooses the model if requested, else shows how to.
pub(super) fn finish(
    setup: &ModelSetup,
    role: ModelRole,
    name: &str,
    result: &str,
    choose: bool,
    cx: &mut Context,
) -> Result<Exit, CliError> {
    if choose {
        set(setup, role, name)?;
    }
    // The install may have repaired a model that is in use already.
    let in_use = serves(setup, role).as_deref() == Some(name);
    let daemon = in_use && setup.reload_daemon(cx);
    if cx.ui.json {
        cx.ui.value(&json!({"result": result, "role": role, "model": name, "in_use": in_use, "daemon": daemon}));
    } else if choose {
        if !cx.ui.quiet {
            say(setup, role, daemon, cx);
        }
    } else if !in_use {
        let act = cx.ui.paint(Style::Code, format_args!("ergo models use {role} {name}"));
        cx.ui.note(text!("To use it: {}", act));
    }
    Ok(Exit::Ok)
}

fn set(setup: &ModelSetup, role: ModelRole, name: &str) -> Result<(), CliError> {
    let is_default = name == DEFAULT || embedded(role).is_some_and(|model| model.name == name);
    setup.model_store.change(|records| {
        if is_default {
            records.chosen.remove(&role);
        } else {
            records.chosen.insert(role, name.to_owned());
        }
    })?;
    Ok(())
}

fn serves(setup: &ModelSetup, role: ModelRole) -> Option<String> {
    let serving = setup.serving().into_iter().find(|serving| serving.role == role)?;
    serving.model.as_ref().map(ModelSource::name).map(str::to_owned)
}

fn say(setup: &ModelSetup, role: ModelRole, daemon: bool, cx: &mut Context) {
    match serves(setup, role) {
        Some(model) => cx.ui.line(text!("{} is now the model for the role {}.", model, role)),
        None => cx.ui.line(text!("The role {} is turned off.", role)),
    }
    if daemon {
        cx.ui.note("The running daemon has switched.");
    }
}

/// `ergo models remove NAME`.
pub(super) fn remove(setup: &ModelSetup, name: &str, cx: &mut Context) -> Result<Exit, CliError> {
    if EMBEDDED.iter().any(|(_, model)| model.name == name) {
        return Err(CliError::usage(format_args!("{name} is built in and cannot be removed"))
            .hint(format_args!("`ergo models use ROLE {NONE}` turns a role off")));
    }
    let records = setup.model_store.load()?;
    let entry = setup.catalogue.named(name);
    let Some(model) = records.named(name) else {
        let part = entry.map(|entry| FetchTarget {
            bytes: entry.bytes,
            sha256: entry.sha256,
            target: setup.model_store.path_of(entry.file.as_ref()),
        });
        return match part {
            Some(part) if fetch::discard_part(&part) => Ok(removed(name, "partial", cx)),
            Some(_) => Err(CliError::usage(format_args!("{name} is not installed: `ergo models list` shows what is"))),
            None => Err(unknown(name, setup)),
        };
    };
    let path = setup.model_store.path_of(&model.file);
    let by_setting = ModelRole::ALL
        .into_iter()
        .filter(|role| setup.setting(*role).is_some_and(|wanted| wanted == name || Path::new(&wanted) == path));
    if let Some(role) = by_setting.into_iter().next() {
        return Err(CliError::usage(format_args!("{} sets {name} for {role}", setup.paths.config.display()))
            .hint("change its [models] section first"));
    }
    if let Some(role) = records.roles_of(name).first() {
        return Err(CliError::usage(format_args!("{name} is in use as {role}"))
            .hint(format_args!("`ergo models use {role} {DEFAULT}` first")));
    }
    // A file outside the model store is not removed.
    let ours = model.file.is_relative();
    if ours
        && let Err(error) = fs::remove_file(&path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(CliError::file("remove", &path, &error));
    }
    setup.model_store.change(|records| records.installed.retain(|model| model.name != name))?;
    if !ours {
        cx.ui.note(text!("Its file is outside the models folder and was not removed: {}", path.display()));
    }
    Ok(removed(name, "installed", cx))
}

fn removed(name: &str, was: &str, cx: &mut Context) -> Exit {
    if cx.ui.json {
        cx.ui.value(&json!({"result": "removed", "model": name, "was": was}));
    } else if !cx.ui.quiet {
        let what = if was == "partial" { "the partial download of " } else { "" };
        cx.ui.line(text!("Removed {}{}.", what, name));
    }
    Exit::Ok
}
