//! `ergo models import`.

use std::{fs, path::PathBuf};

use super::{Desk, RoleArg, accept, choose, room_for};
use crate::{
    cli::{CliError, Context, Exit, status::bytes},
    infer::catalogue::{InstalledModel, digest, model_store::FileCondition},
};

/// The file, and what it is to be.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file of the catalogue is recognised by its hash. Any other GGUF file is loaded and asked a few things whose answers are
known before it is accepted: an embedder must put sentences of one meaning nearer than strangers, a classifier must tell
contradictions from other pairs, a language model must keep to a grammar. The file is copied.")]
pub(super) struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The name to give it [default: the catalogue's, else the file's].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// What it is to be used for [default: what the file says].
    #[arg(long, value_enum)]
    role: Option<RoleArg>,
    /// Choose it for its role afterwards.
    #[arg(long = "use")]
    choose: bool,
}

/// Runs the act.
pub(super) fn run(args: &Args, desk: &Desk, cx: &mut Context) -> Result<Exit, CliError> {
    let source = std::path::absolute(&args.file).map_err(|error| CliError::file("read", &args.file, &error))?;
    let candidate = accept::look(desk, &source, args.role.map(Into::into), args.name.as_deref(), cx)?;
    if args.choose {
        desk.may_choose(candidate.role)?;
    }
    if candidate.known.as_ref().is_some_and(|entry| entry.embedded) {
        cx.ui.note(text!("{} is built in: there is nothing to import.", candidate.name));
        return choose::after(desk, candidate.role, &candidate.name, "embedded", args.choose, cx);
    }
    let records = desk.model_store.load()?;
    let there = records.named(&candidate.name).filter(|model| desk.model_store.condition(model) == FileCondition::Good);
    if there.is_some() {
        cx.ui.note(text!("{} is installed already, and whole.", candidate.name));
        return choose::after(desk, candidate.role, &candidate.name, "already_installed", args.choose, cx);
    }
    let probed = accept::probe(&candidate, &source, desk, cx)?;
    accept::say_probed(&candidate, probed.as_ref(), cx);
    let file = match &candidate.known {
        Some(entry) => PathBuf::from(&entry.file),
        None => PathBuf::from(format!("{}.gguf", candidate.name)),
    };
    copy(desk, &source, candidate.installed(file), cx)?;
    if !cx.ui.json && !cx.ui.quiet {
        let (name, role, size) = (&candidate.name, candidate.role, bytes(candidate.bytes));
        cx.ui.line(text!("Installed {} as {} ({}).", name, role, size));
    }
    choose::after(desk, candidate.role, &candidate.name, "installed", args.choose, cx)
}

/// Copies the file onto the shelf and puts it on record, unless the copy is another than what was looked at.
fn copy(desk: &Desk, source: &std::path::Path, model: InstalledModel, cx: &mut Context) -> Result<(), CliError> {
    let target = desk.model_store.path_of(&model.file);
    if target == *source {
        return accept::record(desk, model, &target);
    }
    room_for(desk, model.bytes)?;
    let draft = target.with_extension(format!("import-{}", std::process::id()));
    cx.ui.progress(text!("copying {} …", bytes(model.bytes)));
    let copied = fs::copy(source, &draft)
        .and_then(|_| {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(&draft, fs::Permissions::from_mode(0o600))
        })
        .and_then(|()| fs::File::open(&draft)?.sync_all())
        .and_then(|()| digest::of_file(&draft, &mut |_| {}));
    cx.ui.progress_done();
    let placed = match copied {
        Ok(hash) if hash == model.sha256 => {
            fs::rename(&draft, &target).map_err(|error| CliError::file("write", &target, &error))
        }
        Ok(_) => Err(CliError::usage(format_args!("{} changed while it was being copied", source.display()))
            .hint("import it again")),
        Err(error) if matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded) => {
            let folder = desk.model_store.folder().display();
            Err(CliError::internal(format_args!("the disk of {folder} is full: the copy was removed"))
                .hint("make room, and import again; `ergo models use ROLE FILE` uses a file where it is"))
        }
        Err(error) => Err(CliError::file("copy", source, &error)),
    };
    if placed.is_err() {
        drop(fs::remove_file(&draft));
    }
    placed?;
    accept::record(desk, model, &target)
}
