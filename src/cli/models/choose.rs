//! `ergo models use` and `ergo models remove`.

use std::{fs, path::Path};

use serde_json::json;

use super::{Desk, accept, unknown};
use crate::{
    cli::{CliError, Context, Exit, ui::Style},
    infer::{
        ModelSource, Role,
        catalogue::{
            EMBEDDED, embedded,
            fetch::{self, FetchTarget},
            model_store::{DEFAULT, NONE},
            resolve,
        },
    },
};

/// `ergo models use ROLE NAME|FILE`.
pub(super) fn choose(desk: &Desk, role: Role, wanted: &str, cx: &mut Context) -> Result<Exit, CliError> {
    desk.may_choose(role)?;
    let name =
        if resolve::is_path(wanted) { accept::in_place(desk, role, Path::new(wanted), cx)? } else { wanted.to_owned() };
    let records = desk.model_store.load()?;
    if let Err(why) = resolve::find(&desk.model_store, &desk.catalogue, &records, role, &name) {
        let known = records.named(&name).is_some() || desk.catalogue.named(&name).is_some();
        return Err(if known {
            CliError::usage(format_args!("{name} cannot serve as {role}: {why}"))
        } else {
            unknown(&name, desk)
        });
    }
    set(desk, role, &name)?;
    let daemon = desk.tell_daemon(cx);
    if cx.ui.json {
        cx.ui.value(&json!({"result": "chosen", "role": role, "model": serves(desk, role), "daemon": daemon}));
    } else if !cx.ui.quiet {
        say(desk, role, daemon, cx);
    }
    Ok(Exit::Ok)
}

/// What follows when a model was installed: it is chosen where that was asked for, else the next step is shown.
pub(super) fn after(
    desk: &Desk,
    role: Role,
    name: &str,
    result: &str,
    choose: bool,
    cx: &mut Context,
) -> Result<Exit, CliError> {
    if choose {
        set(desk, role, name)?;
    }
    // A model that serves may have been repaired.
    let in_use = serves(desk, role).as_deref() == Some(name);
    let daemon = in_use && desk.tell_daemon(cx);
    if cx.ui.json {
        cx.ui.value(&json!({"result": result, "role": role, "model": name, "in_use": in_use, "daemon": daemon}));
    } else if choose {
        if !cx.ui.quiet {
            say(desk, role, daemon, cx);
        }
    } else if !in_use {
        let act = cx.ui.paint(Style::Code, format_args!("ergo models use {role} {name}"));
        cx.ui.note(text!("It serves after: {}", act));
    }
    Ok(Exit::Ok)
}

fn set(desk: &Desk, role: Role, name: &str) -> Result<(), CliError> {
    let is_default = name == DEFAULT || embedded(role).is_some_and(|model| model.name == name);
    desk.model_store.change(|records| {
        if is_default {
            records.chosen.remove(&role);
        } else {
            records.chosen.insert(role, name.to_owned());
        }
    })?;
    Ok(())
}

fn serves(desk: &Desk, role: Role) -> Option<String> {
    let serving = desk.serving().into_iter().find(|serving| serving.role == role)?;
    serving.model.as_ref().map(ModelSource::name).map(str::to_owned)
}

fn say(desk: &Desk, role: Role, daemon: bool, cx: &mut Context) {
    match serves(desk, role) {
        Some(model) => cx.ui.line(text!("{} serves as {}.", model, role)),
        None => cx.ui.line(text!("Nothing serves as {}.", role)),
    }
    if daemon {
        cx.ui.note("The daemon has taken it up.");
    }
}

/// `ergo models remove NAME`.
pub(super) fn remove(desk: &Desk, name: &str, cx: &mut Context) -> Result<Exit, CliError> {
    if EMBEDDED.iter().any(|(_, model)| model.name == name) {
        return Err(CliError::usage(format_args!("{name} is built in and cannot be removed"))
            .hint(format_args!("`ergo models use ROLE {NONE}` switches a role off")));
    }
    let records = desk.model_store.load()?;
    let entry = desk.catalogue.named(name);
    let Some(model) = records.named(name) else {
        let part = entry.map(|entry| FetchTarget {
            bytes: entry.bytes,
            sha256: entry.sha256,
            target: desk.model_store.path_of(entry.file.as_ref()),
        });
        return match part {
            Some(part) if fetch::discard_part(&part) => Ok(removed(name, "partial", cx)),
            Some(_) => Err(CliError::usage(format_args!("{name} is not installed"))),
            None => Err(unknown(name, desk)),
        };
    };
    let path = desk.model_store.path_of(&model.file);
    let by_setting = Role::ALL
        .into_iter()
        .filter(|role| desk.setting(*role).is_some_and(|wanted| wanted == name || Path::new(&wanted) == path));
    if let Some(role) = by_setting.into_iter().next() {
        return Err(CliError::usage(format_args!("{} names {name} for {role}", desk.paths.config.display()))
            .hint("change its [models] section first"));
    }
    if let Some(role) = records.roles_of(name).first() {
        return Err(CliError::usage(format_args!("{name} serves as {role}"))
            .hint(format_args!("`ergo models use {role} {DEFAULT}` first")));
    }
    // A file that lies elsewhere is not ours to remove.
    let ours = model.file.is_relative();
    if ours
        && let Err(error) = fs::remove_file(&path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        return Err(CliError::file("remove", &path, &error));
    }
    desk.model_store.change(|records| records.installed.retain(|model| model.name != name))?;
    if !ours {
        cx.ui.note(text!("Its file stays: {}", path.display()));
    }
    Ok(removed(name, "installed", cx))
}

fn removed(name: &str, was: &str, cx: &mut Context) -> Exit {
    if cx.ui.json {
        cx.ui.value(&json!({"result": "removed", "model": name, "was": was}));
    } else if !cx.ui.quiet {
        let what = if was == "partial" { "what was fetched of " } else { "" };
        cx.ui.line(text!("Removed {}{}.", what, name));
    }
    Exit::Ok
}
