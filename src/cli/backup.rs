//! `ergo backup`: copies the store into a file while the daemon runs.

use std::path::PathBuf;

use super::{CliError, Context, Exit, pace, status::bytes};

/// Copy the store into a file. This works while the daemon is running.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The file gets its name only when it is complete and SQLite's integrity, and the hash and signature of each event in it, were checked.
To restore a backup: copy it to ergo.db.new beside ergo.db (`ergo daemon status` names that file), then `ergo daemon stop`,
`mv ergo.db.new ergo.db`, `ergo daemon start`. What was written since the backup is then gone, unless another device of a team has it.
To inspect it: put it into an empty folder as ergo.db and set ERGO_HOME to that folder.
The backup does not contain the device's key, the token or the models.")]
pub(crate) struct Args {
    /// The file to create; it must not exist.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let path = std::path::absolute(&args.file).map_err(|error| CliError::file("create", &args.file, &error))?;
    let Some(text) = path.to_str() else {
        return Err(CliError::usage(format_args!("the path {} is not valid UTF-8", path.display())));
    };
    let client = cx.client().await?;
    let outcome = pace::with_progress(&mut cx.ui, &client, "backup", client.backup(text)).await?;
    if cx.ui.json {
        cx.ui.value(&outcome);
    } else if !cx.ui.quiet {
        cx.ui.line(text!("Copied the store to {} ({}) and checked the copy.", outcome.path, bytes(outcome.bytes)));
    }
    Ok(Exit::Ok)
}
