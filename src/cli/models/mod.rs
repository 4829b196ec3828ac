//! `ergo models`: lists, downloads, imports, verifies, chooses, removes and measures models.

mod accept;
mod bench;
mod choose;
pub(super) mod health;
mod import;
mod list;
mod pull;
mod verify;

use std::path::PathBuf;

use clap::ValueEnum;

use super::{CliError, Context, Exit};
use crate::{
    client::Connect,
    config::{Config, Paths, StoreLock},
    infer::{
        ModelRole, ModelSet, Models, Pool, PoolOptions,
        catalogue::{Catalogue, ModelStore, ModelStoreError, ServingModel, model_choice},
        default_threads,
    },
};

/// List, download, import, verify, choose and benchmark models.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Model files are in the folder `models` beside the store and never sync. A model that [models] in config.toml names
overrides `ergo models use`; without either, the built-in models are used.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: ModelsCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ModelsCommand {
    /// List the models: in use, installed and available.
    List {
        /// Show measurements, publisher, licence and hash, too.
        #[arg(short, long)]
        long: bool,
    },
    /// Download a model of the catalogue. Run it again to resume an interrupted download.
    Pull(pull::Args),
    /// Install a model from a file, for machines without a network or models of your own.
    Import(import::Args),
    /// Verify the hashes of model files. Exit code 4 if a file is damaged.
    Verify {
        /// The models [default: all installed ones].
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Choose the model for a role. The running daemon switches immediately.
    Use {
        /// The role.
        #[arg(value_enum)]
        role: RoleArg,
        /// A model's name, a GGUF file, `default` or `none`.
        #[arg(value_name = "NAME|FILE")]
        model: String,
    },
    /// Remove a model's file, or a partial download.
    Remove {
        /// The model.
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// Measure how long the models take on this machine.
    Bench(bench::Args),
}

/// What a model is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleArg {
    /// Embeds texts as vectors, to find claims on the same subject.
    Embedder,
    /// Classifies whether two claims contradict each other.
    Nli,
    /// The language model, which parses statements beside the guard's rules.
    #[value(alias = "normaliser", alias = "normalizer")]
    Llm,
}

impl From<RoleArg> for ModelRole {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Embedder => Self::Embedder,
            RoleArg::Nli => Self::Nli,
            RoleArg::Llm => Self::Llm,
        }
    }
}

/// Runs the verb.
pub(crate) fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let setup = ModelSetup::new(cx)?;
    match args.command {
        ModelsCommand::List { long } => list::run(&setup, long, cx),
        ModelsCommand::Pull(args) => pull::run(&args, &setup, cx),
        ModelsCommand::Import(args) => import::run(&args, &setup, cx),
        ModelsCommand::Verify { names } => verify::run(&setup, &names, cx),
        ModelsCommand::Use { role, model } => choose::choose(&setup, role.into(), &model, cx),
        ModelsCommand::Remove { name } => choose::remove(&setup, &name, cx),
        ModelsCommand::Bench(args) => bench::run(&args, &setup, cx),
    }
}

/// The configuration, the model store and the catalogue.
struct ModelSetup {
    paths: Paths,
    config: Config,
    model_store: ModelStore,
    catalogue: Catalogue,
}

impl ModelSetup {
    fn new(cx: &Context) -> Result<Self, CliError> {
        Self::with_config(cx.paths()?.clone(), cx.config()?.clone())
    }

    fn with_config(paths: Paths, config: Config) -> Result<Self, CliError> {
        let catalogue = Catalogue::with(config.models.catalogue.as_deref()).map_err(|error| {
            CliError::usage(error).hint(format_args!("`catalogue` is set in {}", paths.config.display()))
        })?;
        Ok(Self { model_store: ModelStore::new(paths.models()), paths, config, catalogue })
    }

    fn setting(&self, role: ModelRole) -> Option<String> {
        self.config.models.named(role.name()).map(str::to_owned)
    }

    fn serving(&self) -> Vec<ServingModel> {
        model_choice::resolve(&self.model_store, &self.catalogue, &|role| self.setting(role))
    }

    /// Refuses a choice that a setting overrides.
    fn refuse_if_set(&self, role: ModelRole) -> Result<(), CliError> {
        match self.setting(role) {
            Some(wanted) => Err(CliError::usage(format_args!(
                "{} sets {wanted} for {role}, which overrides this choice",
                self.paths.config.display()
            ))
            .hint(format_args!("remove `{role}` from its [models] section, or change it there"))),
            None => Ok(()),
        }
    }

    /// Makes a running daemon reload its models; returns whether it did.
    fn reload_daemon(&self, cx: &mut Context) -> bool {
        if StoreLock::owner(&self.paths).is_none_or(|owner| owner.role != "daemon") {
            return false;
        }
        let reloaded = cx.block_on(async |_| {
            let client = Connect { spawn: false, ..Connect::private(self.paths.clone()) }.lazy()?;
            Ok(client.reload_models().await?)
        });
        if let Err(error) = &reloaded {
            cx.ui.note(text!("The daemon did not reload its models ({}); restart it to use the change.", error));
        }
        reloaded.is_ok()
    }
}

impl From<ModelStoreError> for CliError {
    fn from(error: ModelStoreError) -> Self {
        match &error {
            ModelStoreError::Io { .. } => {
                Self::internal(&error).hint("check the folder's owner and permissions, and the free space")
            }
            ModelStoreError::Damaged { path, .. } => Self::internal(&error).hint(format_args!(
                "remove {}, and import or pull the models again; existing files are not downloaded twice",
                path.display()
            )),
        }
    }
}

/// The error for an unknown model name.
fn unknown(name: &str, setup: &ModelSetup) -> CliError {
    let near = setup.catalogue.models().iter().find(|model| model.name.contains(name) && !name.is_empty());
    let hint = match near {
        Some(near) => format!("did you mean {}? `ergo models list` shows all", near.name),
        None => "`ergo models list` shows the available models".to_owned(),
    };
    CliError::usage(format_args!("unknown model “{name}”")).hint(hint)
}

/// Refuses a download or copy that would fill the disk of the store.
fn check_space(setup: &ModelSetup, bytes: u64) -> Result<(), CliError> {
    setup.model_store.make()?;
    let folder: PathBuf = setup.model_store.folder().to_owned();
    // If the free space is unknown, the download is tried.
    let Ok(disk) = rustix::fs::statvfs(&folder) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= bytes.saturating_add(RESERVE) {
        return Ok(());
    }
    let (needed, free, kept) = (super::status::bytes(bytes), super::status::bytes(free), super::status::bytes(RESERVE));
    Err(CliError::internal(format_args!(
        "not enough disk space in {}: {needed} needed, {free} free, of which {kept} are reserved for the store",
        folder.display()
    ))
    .hint("free some space, or remove models with `ergo models remove NAME`"))
}

impl ModelSetup {
    /// Starts models in worker processes of this command.
    fn start(&self, set: ModelSet, threads: Option<u32>) -> Box<dyn Models> {
        let settings = &self.config.models;
        let options = PoolOptions {
            threads: self.threads(threads),
            small_workers: 1,
            gpu_layers: settings.gpu_layers,
            device: settings.device.clone(),
            ..PoolOptions::new(self.model_store.folder().join("embedded"))
        };
        Box::new(Pool::new(options, set))
    }

    /// Returns the number of threads: as requested, else as set, else the daemon's default.
    fn threads(&self, asked: Option<u32>) -> usize {
        asked.map(|threads| threads as usize).or(self.config.models.threads).unwrap_or_else(default_threads)
    }
}

/// The disk space that is reserved for the store, in bytes.
const RESERVE: u64 = 64_000_000;
