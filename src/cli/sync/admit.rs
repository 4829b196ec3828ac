//! `ergo sync pending`, `admit` and `deny`: who waits at the door.

use super::{
    super::show::{text::quote, time},
    CliError, Context, Exit, scopes_in_words, show_words,
};
use crate::{
    api::{AnswerJoinRequest, PendingJoin},
    domain::text::escape,
};

/// Show who waits for admission.
#[derive(Debug, clap::Args)]
pub(super) struct PendingArgs {}

/// Let a device in that waits, after comparing the words.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Which one, as `ergo sync pending` names it; any prefix that fits one alone will do.
    #[arg(value_name = "ID")]
    id: String,
    /// The six words, as the other screen shows them.
    #[arg(long, value_name = "WORDS", required = true, num_args = 1..)]
    words: Vec<String>,
}

/// Do not let a device in that waits.
#[derive(Debug, clap::Args)]
pub(super) struct DenyArgs {
    /// Which one, as `ergo sync pending` names it; any prefix that fits one alone will do.
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
        told(cx, guest, now);
    }
    if pending.items.is_empty() {
        cx.ui.line("Nobody waits for admission.");
        cx.ui.commands(&[("ergo sync invite".to_owned(), "make a ticket".to_owned())]);
    }
    Ok(Exit::Ok)
}

fn told(cx: &mut Context, guest: &PendingJoin, now: u64) {
    let (person, name, team) = (escape(&guest.person), escape(&guest.name), escape(&guest.team_name));
    let (role, scopes) = (guest.role, scopes_in_words(&guest.scopes));
    let left = time::left(guest.expires_at, now);
    cx.ui.line(text!(
        "{} wants to join {} with “{}” as {} of {}. It waits for {} more.",
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
            "where the other screen shows the same".to_owned(),
        ),
        (format!("ergo sync deny {}", guest.id), "where it does not".to_owned()),
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
    let request = AnswerJoinRequest { caller: cx.anyone()?, accept, words };
    let guest = client.sync_answer(id, &request).await?;
    if cx.ui.json {
        cx.ui.value(&guest);
    } else {
        let (name, team) = (escape(&guest.name), escape(&guest.team_name));
        if accept {
            cx.ui.line(text!("“{}” is admitted to {}.", name, team));
        } else {
            cx.ui.line(text!("“{}” was not admitted to {}. Its ticket is spent.", name, team));
        }
    }
    Ok(Exit::Ok)
}
