//! `ergo sync approve`: admits a device by its request file.

use std::path::PathBuf;

use super::{CliError, Context, Exit, InTeam, RightsArgs, show_words, with_global_scopes};
use crate::{api::ApproveRequest, cli::ask::confirm, domain::text::escape};

/// Admit the device of a request file to the team, and write the grant file that it needs. Admins only.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The request file.
    #[arg(value_name = "REQUEST")]
    request: PathBuf,
    /// The grant file to create, for the other device.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    allowed: RightsArgs,
    /// Do not ask to compare the words, for scripts.
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    team: InTeam,
}

/// Runs the verb.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let path = |path: &PathBuf| {
        std::path::absolute(path)
            .map(|path| path.display().to_string())
            .map_err(|error| CliError::file("find", path, &error))
    };
    let (card, out) = (path(&args.request)?, path(&args.out)?);
    let client = cx.client().await?;
    let mut request = ApproveRequest {
        caller: cx.caller()?,
        in_team: args.team.team,
        card,
        out: None,
        role: args.allowed.role.into(),
        scopes: with_global_scopes(cx, args.allowed.only)?,
        words: Vec::new(),
    };
    let asks = client.sync_approve(&request).await?;
    if !args.yes && !cx.ui.json {
        let (person, name) = (escape(&asks.person), escape(&asks.name));
        cx.ui.line(text!("{} asks to join with the device “{}”. The words of its request file:", person, name));
        show_words(cx, &asks.words);
    }
    if !confirm(cx, args.yes, "Does the other person see the same words?")? {
        cx.ui.line("The device was not admitted. Ask its owner for a new request file over a channel that you trust.");
        return Ok(Exit::Refused);
    }
    request.words = asks.words;
    request.out = Some(out);
    let done = client.sync_approve(&request).await?;
    if cx.ui.json {
        cx.ui.value(&done);
        return Ok(Exit::Ok);
    }
    cx.ui.prose(0, None, &done.summary);
    show_words(cx, &done.grant_words);
    let name = super::super::show::text::quote(&args.out.display().to_string());
    cx.ui.commands(&[(
        format!("ergo sync join {name}"),
        "on the other device, which must show the same words".to_owned(),
    )]);
    Ok(Exit::Ok)
}
