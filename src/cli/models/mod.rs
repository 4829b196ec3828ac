//! `ergo models`: which models there are, which serve, and how to get others.

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
        ModelSet, Models, Pool, PoolOptions, Role,
        catalogue::{Catalogue, ModelStore, ModelStoreError, ServingModel, resolve},
        default_threads,
    },
};

/// List, fetch, import, check, choose and measure models.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The models lie in the folder `models` beside the memory and never sync. What [models] in
config.toml names for a role goes before `ergo models use`; without either, what is built in serves.")]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Act,
}

#[derive(Debug, clap::Subcommand)]
enum Act {
    /// List the models that serve, that are installed, and that can be had.
    List {
        /// Also tell what was measured, the licence's holder and the hash.
        #[arg(short, long)]
        long: bool,
    },
    /// Fetch a model of the catalogue. Cut off, the same command goes on from there.
    Pull(pull::Args),
    /// Take a model from a file: for machines without a network, and for models of your own.
    Import(import::Args),
    /// Compare the files with their hashes. Exit code 4 where one is damaged.
    Verify {
        /// The models [default: all that are installed].
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Choose the model that serves a role. The daemon takes it up at once.
    Use {
        /// The role.
        #[arg(value_enum)]
        role: RoleArg,
        /// A model's name; a GGUF file, which stays where it is; `default`, or `none`.
        #[arg(value_name = "NAME|FILE")]
        model: String,
    },
    /// Remove a model's file, or the part of one that was not fetched to its end.
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
    /// Turns a text into a vector, by which claims about the same thing are found.
    Embedder,
    /// Judges whether two claims contradict each other.
    Nli,
    /// The language model: reads statements more closely, and judges deeply.
    #[value(alias = "normaliser", alias = "normalizer")]
    Llm,
}

impl From<RoleArg> for Role {
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
    let desk = Desk::new(cx)?;
    match args.act {
        Act::List { long } => list::run(&desk, long, cx),
        Act::Pull(args) => pull::run(&args, &desk, cx),
        Act::Import(args) => import::run(&args, &desk, cx),
        Act::Verify { names } => verify::run(&desk, &names, cx),
        Act::Use { role, model } => choose::choose(&desk, role.into(), &model, cx),
        Act::Remove { name } => choose::remove(&desk, &name, cx),
        Act::Bench(args) => bench::run(&args, &desk, cx),
    }
}

/// What every act works on.
struct Desk {
    paths: Paths,
    config: Config,
    model_store: ModelStore,
    catalogue: Catalogue,
}

impl Desk {
    fn new(cx: &Context) -> Result<Self, CliError> {
        Self::over(cx.paths()?.clone(), cx.config()?.clone())
    }

    fn over(paths: Paths, config: Config) -> Result<Self, CliError> {
        let catalogue = Catalogue::with(config.models.catalogue.as_deref()).map_err(|error| {
            CliError::usage(error).hint(format_args!("`catalogue` stands in {}", paths.config.display()))
        })?;
        Ok(Self { model_store: ModelStore::new(paths.models()), paths, config, catalogue })
    }

    fn setting(&self, role: Role) -> Option<String> {
        self.config.models.named(role.name()).map(str::to_owned)
    }

    fn serving(&self) -> Vec<ServingModel> {
        resolve::resolve(&self.model_store, &self.catalogue, &|role| self.setting(role))
    }

    /// Where a setting names the model of a role, the machine's choice would do nothing.
    fn may_choose(&self, role: Role) -> Result<(), CliError> {
        match self.setting(role) {
            Some(wanted) => Err(CliError::usage(format_args!(
                "{} names {wanted} for {role}, which goes before any choice made here",
                self.paths.config.display()
            ))
            .hint(format_args!("remove `{role}` from its [models] section, or change it there"))),
            None => Ok(()),
        }
    }

    /// Lets a running daemon take up what was changed; whether one did.
    fn tell_daemon(&self, cx: &mut Context) -> bool {
        if StoreLock::owner(&self.paths).is_none_or(|owner| owner.role != "daemon") {
            return false;
        }
        let told = cx.block_on(async |_| {
            let client = Connect { spawn: false, ..Connect::private(self.paths.clone()) }.lazy()?;
            Ok(client.reload_models().await?)
        });
        if let Err(error) = &told {
            cx.ui.note(text!("The daemon did not take it up ({}); it will when it starts again.", error));
        }
        told.is_ok()
    }
}

impl From<ModelStoreError> for CliError {
    fn from(error: ModelStoreError) -> Self {
        match &error {
            ModelStoreError::Io { .. } => {
                Self::internal(&error).hint("check the folder's owner and permissions, and the free space")
            }
            ModelStoreError::Damaged { path, .. } => Self::internal(&error).hint(format_args!(
                "remove {}, and import or pull the models again: files that are there are not fetched twice",
                path.display()
            )),
        }
    }
}

/// A name that nobody has.
fn unknown(name: &str, desk: &Desk) -> CliError {
    let near = desk.catalogue.models().iter().find(|model| model.name.contains(name) && !name.is_empty());
    let hint = match near {
        Some(near) => format!("is {} meant? `ergo models list` shows all", near.name),
        None => "`ergo models list` shows those that there are".to_owned(),
    };
    CliError::usage(format_args!("there is no model named “{name}”")).hint(hint)
}

/// Refuses to begin what would fill the disk: the memory lives there, too.
fn room_for(desk: &Desk, bytes: u64) -> Result<(), CliError> {
    desk.model_store.make()?;
    let folder: PathBuf = desk.model_store.folder().to_owned();
    // A system that does not say lets it be tried.
    let Ok(disk) = rustix::fs::statvfs(&folder) else { return Ok(()) };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    if free >= bytes.saturating_add(RESERVE) {
        return Ok(());
    }
    let (needed, free, kept) = (super::status::bytes(bytes), super::status::bytes(free), super::status::bytes(RESERVE));
    Err(CliError::internal(format_args!(
        "there is too little room in {}: {needed} are needed, {kept} must stay free for the memory, and {free} are free",
        folder.display()
    ))
    .hint("make room, or remove models with `ergo models remove NAME`"))
}

impl Desk {
    /// Models in worker processes of this command's own.
    fn start(&self, set: ModelSet, threads: Option<u32>) -> Box<dyn Models> {
        let settings = &self.config.models;
        let options = PoolOptions {
            threads: self.threads(threads),
            gpu_layers: settings.gpu_layers,
            device: settings.device.clone(),
            ..PoolOptions::new(self.model_store.folder().join("embedded"))
        };
        Box::new(Pool::new(options, set))
    }

    /// How many threads compute: as asked for, else as set, else the daemon's default.
    fn threads(&self, asked: Option<u32>) -> usize {
        asked.map(|threads| threads as usize).or(self.config.models.threads).unwrap_or_else(default_threads)
    }
}

/// What must stay free on the disk of the memory, in bytes.
const RESERVE: u64 = 64_000_000;
