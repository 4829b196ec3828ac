//! `ergo seed`: takes in everything under a folder for reference.

use std::path::PathBuf;

use super::{CliError, Context, Exit, ingest};

/// Take in everything under a folder for reference: `ergo ingest` of one folder.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    #[command(flatten)]
    sharing: ingest::Sharing,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    if !args.dir.is_dir() {
        return Err(CliError::usage(format_args!("{} is no folder", args.dir.display()))
            .hint("`ergo ingest` takes single files"));
    }
    ingest::take_in(&[args.dir], args.sharing, cx).await
}
