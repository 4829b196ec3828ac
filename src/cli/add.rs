//! `ergo add`: stores the facts of a raw text, such as a chat message.

use super::{CliError, Context, Exit, show::text::count, write};
use crate::{
    api::{AddRequest, Added, Caller},
    client::Client,
};

/// Store the facts stated in a text, word for word. If a language model is chosen, it selects the sentences.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo add 'Morning! Invoices are kept in Postgres since last week. How was the trip?'
  ergo add - <notes.txt

Each selected sentence becomes a fact, unchanged. Without a language model the whole text is stored, unless it only asks a
question. The guard does not check facts; to store a decision or a rule, which it checks, use `ergo remember`.")]
pub(crate) struct Args {
    /// The text; - reads it from stdin.
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// Its source: path:line, a document, a URL.
    #[arg(short, long, value_name = "WHERE")]
    source: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let text = write::statement(&args.text)?;
    let (client, caller) = cx.writer().await?;
    let added = add(&client, &caller, text, args.source).await?;
    if cx.ui.json {
        cx.ui.value(&added);
        return Ok(Exit::Ok);
    }
    show(cx, &added);
    Ok(Exit::Ok)
}

/// Stores the facts of a text.
pub(super) async fn add(
    client: &Client,
    caller: &Caller,
    text: String,
    source: Option<String>,
) -> Result<Added, CliError> {
    Ok(client.add(&AddRequest { caller: caller.clone(), text, source }).await?)
}

fn show(cx: &mut Context, added: &Added) {
    if added.count > 0 {
        cx.ui.line(text!("Stored {}.", count(added.count, "fact", "facts")));
    }
    for (id, memory) in added.stored.iter().zip(&added.memories) {
        cx.ui.field(&id.short(), memory);
    }
    let mut note = added.note.chars();
    let note: String = note.next().into_iter().flat_map(char::to_uppercase).chain(note).collect();
    cx.ui.prose(0, None, &format!("{note}."));
}
