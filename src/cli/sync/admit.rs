//! `ergo sync pending`, `admit` and `deny`: join requests.

use super::{
    super::show::{text::quote, time},
    CliError, Context, Exit, scopes_in_words, show_words,
};
use crate::{
    api::{AnswerJoinRequest, PendingJoin},
    domain::text::escape,
};

/// List the devices that ask to join.
#[derive(Debug, clap::Args)]
pub(super) struct PendingArgs {}

/// Admit a device that asks to join, after comparing the words.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The request's id from `ergo sync pending`, or a unique prefix of it.
    #[arg(value_name = "ID")]
    id: String,
    /// The six words that the other screen shows.
    #[arg(long, value_name = "WORDS", required = true, num_args = 1..)]
    words: Vec<String>,
}

/// Deny a device that asks to join.
#[derive(Debug, clap::Args)]
pub(super) struct DenyArgs {
    /// The request's id from `ergo sync pending`, or a unique prefix of it.
    #[arg(value_name = "ID")]
    id: String,
}

/// Runs `pending`.
pub(super) async fn pending(_args: PendingArgs, cx: &mut Context) -> Result<Exit, CliError> {
    let pending = cx.client().await?.sync_pending().await?;
    if cx.ui.json {
        cx.ui.value(&pending);
        return Ok(Exit::Ok);
    }
    let now = Context::now();
    for guest in &pending.items {
        show_request(cx, guest, now);
    }
    if pending.items.is_empty() {
        cx.ui.line("No device asks to join.");
        cx.ui.commands(&[("ergo sync invite".to_owned(), "create a ticket".to_owned())]);
    }
    Ok(Exit::Ok)
}

fn show_request(cx: &mut Context, guest: &PendingJoin, now: u64) {
    let (person, name, team) = (escape(&guest.person), escape(&guest.name), escape(&guest.team_name));
    let (role, scopes) = (guest.role, scopes_in_words(&guest.scopes));
    let left = time::left(guest.expires_at, now);
    cx.ui.line(text!(
        "{} asks to join {} with the device “{}”, as {} in {}. The request expires in {}.",
        person,
        team,
        name,
        role,
        scopes,
        left
    ));
    show_words(cx, &guest.words);
    cx.ui.commands(&[
        (
            format!("ergo sync admit {} --words {}", guest.id, quote(&guest.words.join(" "))),
            "if the other screen shows the same words".to_owned(),
        ),
        (format!("ergo sync deny {}", guest.id), "if it shows other words".to_owned()),
    ]);
}

/// Runs `admit`.
pub(super) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    answer(cx, &args.id, true, args.words).await
}

/// Runs `deny`.
pub(super) async fn deny(args: DenyArgs, cx: &mut Context) -> Result<Exit, CliError> {
    answer(cx, &args.id, false, Vec::new()).await
}

async fn answer(cx: &mut Context, id: &str, accept: bool, words: Vec<String>) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    let request = AnswerJoinRequest { caller: cx.caller()?, accept, words };
    let guest = client.sync_answer(id, &request).await?;
    if cx.ui.json {
        cx.ui.value(&guest);
    } else {
        let (name, team) = (escape(&guest.name), escape(&guest.team_name));
        if accept {
            cx.ui.line(text!("Admitted “{}” to {}.", name, team));
        } else {
            cx.ui.line(text!("Denied “{}” access to {}. Its ticket cannot be used again; to try again, make a new one: `ergo sync invite`.", name, team));
        }
    }
    Ok(Exit::Ok)
}
