//! `ergo models import`: installs a model from a file.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::{ModelSetup, RoleArg, accept, check_space, choose};
use crate::{
    cli::{CliError, Context, Exit, status::bytes},
    files::{self, DraftFile},
    infer::catalogue::{InstalledModel, digest, model_store::FileCondition},
};

/// The file and its use.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file of the catalogue is recognised by its hash. Any other GGUF file is loaded and tested first: an embedder must place
sentences of the same meaning closer together than unrelated ones, a cross-encoder must recognise contradictions, a language
model must follow a grammar. The file is copied.")]
pub(super) struct Args {
    /// The file.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The model's name [default: from the catalogue or the file].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Its role [default: from the file].
    #[arg(long, value_enum)]
    role: Option<RoleArg>,
    /// Use it for its role.
    #[arg(long = "use")]
    choose: bool,
}

/// Runs the subcommand.
pub(super) fn run(args: &Args, setup: &ModelSetup, cx: &mut Context) -> Result<Exit, CliError> {
    let source = std::path::absolute(&args.file).map_err(|error| CliError::file("read", &args.file, &error))?;
    let candidate = accept::inspect(setup, &source, args.role.map(Into::into), args.name.as_deref(), cx)?;
    if args.choose {
        setup.refuse_if_set(candidate.role)?;
    }
    if candidate.known.as_ref().is_some_and(|entry| entry.embedded) {
        cx.ui.note(text!("{} is built in and need not be imported.", candidate.name));
        return choose::finish(setup, candidate.role, &candidate.name, "embedded", args.choose, cx);
    }
    let records = setup.model_store.load()?;
    let installed =
        records.named(&candidate.name).filter(|model| setup.model_store.condition(model) == FileCondition::Good);
    if installed.is_some() {
        cx.ui.note(text!("{} is already installed.", candidate.name));
        return choose::finish(setup, candidate.role, &candidate.name, "already_installed", args.choose, cx);
    }
    let probed = accept::probe(&candidate, &source, setup, cx)?;
    accept::show_probed(&candidate, probed.as_ref(), cx);
    let file = match &candidate.known {
        Some(entry) => PathBuf::from(&entry.file),
        None => PathBuf::from(format!("{}.gguf", candidate.name)),
    };
    copy(setup, &source, candidate.installed(file), cx)?;
    if !cx.ui.json && !cx.ui.quiet {
        let (name, role, size) = (&candidate.name, candidate.role, bytes(candidate.bytes));
        cx.ui.line(text!("Installed {} as {} ({}).", name, role, size));
    }
    choose::finish(setup, candidate.role, &candidate.name, "installed", args.choose, cx)
}

/// Copies the file into the model store and registers it, unless the file changed in the meantime.
fn copy(setup: &ModelSetup, source: &Path, model: InstalledModel, cx: &mut Context) -> Result<(), CliError> {
    let target = setup.model_store.path_of(&model.file);
    if target == *source {
        return accept::record(setup, model, &target);
    }
    setup.model_store.make()?;
    // Created before the free space is checked, since this removes what a killed import left behind.
    let draft = DraftFile::beside(&target).map_err(|error| CliError::file("write", &target, &error))?;
    check_space(setup, model.bytes)?;
    cx.ui.progress(text!("copying {} …", bytes(model.bytes)));
    let copied = files::open(source)
        .and_then(|mut from| io::copy(&mut from, &mut draft.file()))
        .and_then(|_| draft.sync())
        .and_then(|()| digest::of_file(draft.path(), &mut |_| {}));
    cx.ui.progress_done();
    match copied {
        Ok(hash) if hash == model.sha256 => {
            draft.publish(true).map_err(|error| CliError::file("write", &target, &error))?;
        }
        Ok(_) => {
            return Err(CliError::usage(format_args!("{} changed while it was copied", source.display()))
                .hint("import it again"));
        }
        Err(error) if files::is_full(&error) => {
            let folder = setup.model_store.folder().display();
            return Err(CliError::internal(format_args!("the disk of {folder} is full: the copy was removed"))
                .hint("free some space and import again; `ergo models use ROLE FILE` uses a file without copying it"));
        }
        Err(error) => return Err(CliError::file("copy", source, &error)),
    }
    accept::record(setup, model, &target)
}
