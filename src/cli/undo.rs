//! `ergo undo`: takes an act back; the undo is an act too.

use super::{
    CliError, Context, Exit,
    ask::Asker,
    context::Here,
    show::{text::count, time::ago},
    ui::Style,
};
use crate::{
    api::{Caller, EventView, LogQuery, MAX_PAGE, UndoRequest},
    client::Client,
    domain::{
        OpId,
        text::{escape, sanitize_line},
    },
};

/// Take an act back: by default your own last one. Undo the undo to do it again.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The act's id, or a prefix of it: `ergo log` lists them.
    #[arg(value_name = "ACT", conflicts_with = "import")]
    act: Option<String>,
    /// Take back everything that an import stored, by the number that it printed.
    #[arg(long, value_name = "NUMBER")]
    import: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    if let Some(number) = &args.import {
        return whole_import(cx, &client, number).await;
    }
    let target_op = match &args.act {
        Some(prefix) => Some(find(&client, prefix).await?),
        None => None,
    };
    // The last act is looked for everywhere, unless the flags name a scope.
    let flags = &cx.globals;
    let narrowed = flags.scope.is_some() || flags.org.is_some() || flags.project.is_some();
    let caller = if narrowed {
        let Here { scope, .. } = cx.here()?;
        Caller { org_id: scope.org_id, project: scope.project, ..cx.anyone()? }
    } else {
        cx.anyone()?
    };
    let outcome = client.undo(&UndoRequest { caller, target_op }).await?;
    if cx.ui.json {
        cx.ui.value(&outcome);
    } else if !cx.ui.quiet {
        cx.ui.prose(0, None, &outcome.summary);
        let redo = format!("ergo undo {}", outcome.op_id.short());
        cx.ui.commands(&[(redo, "do it again".to_owned())]);
    }
    Ok(Exit::Ok)
}

/// Says what the person did last, and takes it back if they say yes; says whether they did.
pub(super) async fn last_act(cx: &mut Context, client: &Client, asker: &mut Asker) -> Result<bool, CliError> {
    let caller = cx.anyone()?;
    let mut query =
        LogQuery { acts: true, who: Some(caller.who.clone()), limit: Some(MAX_PAGE), ..LogQuery::default() };
    let event = loop {
        let page = client.log(&query).await?;
        if let Some(event) = page.items.into_iter().find(EventView::is_last_act) {
            break event;
        }
        query.cursor = page.next;
        if query.cursor.is_none() {
            cx.ui.line("You did nothing that can be undone.");
            return Ok(false);
        }
    };
    let what = event.statement.as_deref().or(event.about.as_deref()).map(sanitize_line).unwrap_or_default();
    let when = ago(event.at, Context::now());
    cx.ui.line(text!("Your last act, {}: {} “{}” in {}", when, event.kind, what, escape(&event.scope.to_string())));
    if !asker.yes(cx, "Undo it?")? {
        cx.ui.line("Left as it is.");
        return Ok(false);
    }
    let outcome = client.undo(&UndoRequest { caller, target_op: Some(event.op_id) }).await?;
    cx.ui.prose(0, None, &outcome.summary);
    Ok(true)
}

/// The act that a prefix means, looked for in the log.
async fn find(client: &Client, prefix: &str) -> Result<OpId, CliError> {
    if let Ok(op) = prefix.parse() {
        return Ok(op);
    }
    let prefix = prefix.to_ascii_lowercase();
    if prefix.len() < 4 || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(CliError::usage(format_args!("“{prefix}” is no act: expected at least 4 hexadecimal digits"))
            .hint("`ergo log` lists the acts"));
    }
    let mut found = acts(client, &prefix).await?;
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [op] => Ok(*op),
        [] => {
            Err(CliError::usage(format_args!("no act begins with “{prefix}”")).hint("`ergo log --all` lists the acts"))
        }
        many => {
            let many: Vec<_> = many.iter().take(8).map(|op| op.to_hex()).collect();
            Err(CliError::usage(format_args!("“{prefix}” fits {} acts", many.len()))
                .hint(format_args!("it could be: {}", many.join(", "))))
        }
    }
}

/// The acts whose id begins with `prefix`, newest first; an act is there once for each of its events.
async fn acts(client: &Client, prefix: &str) -> Result<Vec<OpId>, CliError> {
    let mut query = LogQuery { limit: Some(MAX_PAGE), ..LogQuery::default() };
    let mut found = Vec::new();
    loop {
        let page = client.log(&query).await?;
        found.extend(
            page.items
                .iter()
                .filter(|event| !event.undone)
                .map(|event| event.op_id)
                .filter(|op| op.to_hex().starts_with(prefix)),
        );
        query.cursor = page.next;
        if query.cursor.is_none() {
            return Ok(found);
        }
    }
}

/// Takes back all acts of an import, the newest first, since the later may rest on the earlier.
async fn whole_import(cx: &mut Context, client: &Client, number: &str) -> Result<Exit, CliError> {
    let prefix = number.to_ascii_lowercase();
    if prefix.len() != super::import::NUMBER || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(CliError::usage(format_args!("“{number}” is no number of an import"))
            .hint("`ergo import` prints it at its end"));
    }
    let mut ops = acts(client, &prefix).await?;
    ops.dedup();
    if ops.is_empty() {
        return Err(CliError::usage(format_args!("nothing in force comes from the import {number}")));
    }
    let mut outcomes = Vec::new();
    let mut problems = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        cx.ui.progress(text!("undoing {} of {}", at + 1, ops.len()));
        match client.undo(&UndoRequest { caller: cx.anyone()?, target_op: Some(*op) }).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => problems.push(CliError::from(error)),
        }
    }
    cx.ui.progress_done();
    if cx.ui.json {
        let problems: Vec<_> = problems.iter().map(|problem| &*problem.error).collect();
        cx.ui.value(&serde_json::json!({ "undone": outcomes, "kept": problems }));
    } else {
        cx.ui.line(text!("{} undone.", count(outcomes.len(), "act", "acts")));
        for problem in &problems {
            let label = cx.ui.paint(Style::Warn, "Kept:");
            cx.ui.line(text!("{} {}", label, problem));
        }
    }
    Ok(if problems.is_empty() { Exit::Ok } else { Exit::Stale })
}
