//! `ergo undo`: reverses an act. An undo is an act, too.

use super::{
    CliError, Context, Exit,
    ask::Asker,
    paging,
    show::{text::count, time::ago},
    ui::Style,
};
use crate::{
    api::{ErrorCode, EventView, LogQuery, MAX_PAGE, UndoRequest},
    client::{Client, ClientError},
    domain::{ClaimId, OpId, Status, id::SHORT, text::escape},
};

/// The maximum number of changes that are listed for an ambiguous id, and of claims that are listed after an undo.
const MAX_CANDIDATES: usize = 8;

/// Undo a change, by default your last one in this scope or its organisation's level. To redo it, undo the undo.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The id of the change as `ergo log` shows it, or of a claim that it stored, or a prefix of either.
    #[arg(value_name = "CHANGE", conflicts_with = "import")]
    act: Option<String>,
    /// Undo a whole import, by the id that it printed. All runs of an import have one id, but each import of a rule file has its own.
    #[arg(long, value_name = "ID")]
    import: Option<String>,
}

impl Args {
    /// Returns the arguments that undo a whole import.
    pub(super) fn of_import(number: &str) -> Self {
        Self { act: None, import: Some(number.to_owned()) }
    }
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let client = cx.client().await?;
    if let Some(number) = &args.import {
        return whole_import(cx, &client, number).await;
    }
    let (caller, target) = if let Some(prefix) = &args.act {
        (cx.caller()?, find(&client, prefix).await?)
    } else {
        let caller = cx.writer().await?.1;
        let request = UndoRequest { caller: caller.clone(), dry_run: true, ..UndoRequest::default() };
        (caller, client.undo(&request).await?.undone)
    };
    // The request names its target: without it, a repetition would undo the change before.
    let request = UndoRequest { caller, target_op: Some(target), ..UndoRequest::default() };
    let outcome = client.undo(&request).await.map_err(|error| unanswered(error, target))?;
    if cx.ui.json {
        cx.ui.value(&outcome);
    } else if !cx.ui.quiet {
        cx.ui.prose(0, None, &outcome.summary);
        let again = format!("ergo undo {}", outcome.op_id.short());
        let what = if outcome.redo { "undo it again" } else { "redo it" };
        cx.ui.commands(&[(again, what.to_owned())]);
    }
    Ok(Exit::Ok)
}

/// Returns the error of an undo. If no answer came, it says how to repeat the undo: `ergo undo` without an id would undo
/// another change.
fn unanswered(error: ClientError, target: OpId) -> CliError {
    let is_unanswered = error.is_unanswered();
    let mut error = CliError::from(error);
    if is_unanswered {
        error.hints.clear();
        error = error
            .hint(format_args!("the change may already be undone: `ergo undo {}` undoes it only once", target.short()));
    }
    error
}

/// Shows the user's last act and undoes it after confirmation. Returns whether it was undone.
pub(super) async fn last_act(cx: &mut Context, client: &Client, asker: &mut Asker) -> Result<bool, CliError> {
    let caller = cx.caller()?;
    let Some((would, event)) = client.last_act(caller.clone()).await? else {
        cx.ui.line("There is no change of yours to undo.");
        return Ok(false);
    };
    let when = ago(event.at, Context::now());
    cx.ui.line(text!("Your last change was made {}, in {}.", when, escape(&event.scope.to_string())));
    cx.ui.prose(0, None, &format!("{}.", would.summary));
    if !asker.yes(cx, "Undo it?")? {
        cx.ui.line("Nothing was changed.");
        return Ok(false);
    }
    let request = UndoRequest { caller, target_op: Some(would.undone), ..UndoRequest::default() };
    let outcome = client.undo(&request).await?;
    cx.ui.prose(0, None, &outcome.summary);
    Ok(true)
}

/// Finds the act with a prefix in the log.
async fn find(client: &Client, prefix: &str) -> Result<OpId, CliError> {
    if let Ok(op) = prefix.parse() {
        return Ok(op);
    }
    let prefix = prefix.to_ascii_lowercase();
    if prefix.len() < 4 || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(CliError::usage(format_args!("invalid id “{prefix}”: expected at least 4 hexadecimal digits"))
            .hint("`ergo log` lists changes"));
    }
    let (undone, in_force): (Vec<_>, Vec<_>) =
        events(client, &prefix).await?.into_iter().partition(|event| event.undone);
    // If the change was undone already, the daemon reports it.
    let found = if in_force.is_empty() { undone } else { in_force };
    let mut found: Vec<OpId> = found.into_iter().map(|event| event.op_id).collect();
    found.sort_unstable();
    found.dedup();
    match found.as_slice() {
        [op] => Ok(*op),
        [] => {
            let none = format!("there is no change or claim “{prefix}” to undo");
            Err(CliError::usage(none).hint("`ergo log --all` lists changes; to redo a change, undo the undo"))
        }
        many => Err(ambiguous(&prefix, many)),
    }
}

/// The error for a prefix of the ids of several acts.
fn ambiguous(prefix: &str, ops: &[OpId]) -> CliError {
    let error = CliError::usage(format_args!("“{prefix}” matches {} changes", ops.len()));
    let ids: Vec<String> = ops.iter().map(|op| op.to_hex()).collect();
    let mut numbers: Vec<&str> = ids.iter().filter_map(|id| id.get(..super::import::NUMBER_DIGITS)).collect();
    numbers.dedup();
    if let [number] = numbers.as_slice() {
        return error
            .hint(format_args!("they belong to one import: `ergo undo --import {number}` undoes all of it"))
            .hint("`ergo log` shows an id of its own for each");
    }
    let named: Vec<&str> = ids.iter().take(MAX_CANDIDATES).map(String::as_str).collect();
    let more = if ops.len() > MAX_CANDIDATES { ", …" } else { "" };
    error.hint(format_args!("did you mean: {}{more}", named.join(", ")))
}

/// Returns the events whose id, or whose act's id, begins with a prefix, newest first.
async fn events(client: &Client, prefix: &str) -> Result<Vec<EventView>, CliError> {
    paging::all(async |cursor| {
        let id = Some(prefix.to_owned());
        let page = client.log(&LogQuery { id, limit: Some(MAX_PAGE), cursor, ..LogQuery::default() }).await?;
        Ok((page.items, page.next))
    })
    .await
}

/// Undoes all acts of an import, newest first, since later acts may build on earlier ones.
async fn whole_import(cx: &mut Context, client: &Client, number: &str) -> Result<Exit, CliError> {
    let prefix = number.to_ascii_lowercase();
    if prefix.len() != super::import::NUMBER_DIGITS || !prefix.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(CliError::usage(format_args!("invalid import id “{number}”"))
            .hint("`ergo import` prints the id when it ends"));
    }
    let imported = events(client, &prefix).await?;
    let mut ops: Vec<OpId> = imported.iter().filter(|event| !event.undone).map(|event| event.op_id).collect();
    // The prefix may also match the event's own id while its act is another one.
    ops.retain(|op| op.to_hex().starts_with(&prefix));
    ops.dedup();
    if ops.is_empty() {
        return Err(CliError::usage(format_args!(
            "import {number} has nothing to undo: it was already undone, or stored nothing"
        )));
    }
    let mut outcomes = Vec::new();
    let (mut problems, mut kept, mut later) = (Vec::new(), Vec::new(), None);
    for (at, op) in ops.iter().enumerate() {
        cx.ui.progress(text!("undoing {} of {}", at + 1, ops.len()));
        match client.undo(&UndoRequest { caller: cx.caller()?, target_op: Some(*op), ..UndoRequest::default() }).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(error) => {
                if let ClientError::Api(error) = &error
                    && error.code == ErrorCode::BuiltOn
                {
                    // The latest change, which must be undone first.
                    later = later.or_else(|| error.candidates.first().cloned());
                }
                problems.push(CliError::from(error));
                kept.push(*op);
            }
        }
    }
    cx.ui.progress_done();
    let mut next = Vec::new();
    if let Some(later) = later {
        let short = later.get(..SHORT).unwrap_or(&later);
        next.push((format!("ergo undo {short}"), "undo a later change first"));
        next.push((format!("ergo undo --import {prefix}"), "then undo the rest of the import"));
    }
    let left = imported.iter().filter(|event| kept.contains(&event.op_id));
    next.extend(active_claims(client, left).await.iter().map(|id| {
        let retract = format!("ergo retract {} --reason 'The import is undone.'", id.short());
        (retract, "withdraw a claim, and keep what was built on it")
    }));
    let next: Vec<(String, String)> = next.into_iter().map(|(command, what)| (command, what.to_owned())).collect();
    if cx.ui.json {
        let problems: Vec<_> = problems.iter().map(|problem| &*problem.error).collect();
        let next: Vec<&String> = next.iter().map(|(command, _)| command).collect();
        cx.ui.value(&serde_json::json!({ "undone": outcomes, "kept": problems, "next": next }));
    } else {
        cx.ui.line(text!("{} undone.", count(outcomes.len(), "change", "changes")));
        for problem in &problems {
            let label = cx.ui.paint(Style::Warn, "Not undone:");
            cx.ui.line(text!("{} {}", label, problem));
        }
        if !next.is_empty() && !cx.ui.quiet {
            cx.ui.line("");
            cx.ui.commands(&next);
        }
    }
    Ok(if problems.is_empty() { Exit::Ok } else { Exit::Stale })
}

/// Returns the first claims that these events stored and that are active.
async fn active_claims<'a>(client: &Client, events: impl Iterator<Item = &'a EventView>) -> Vec<ClaimId> {
    let mut found = Vec::new();
    for event in events.filter(|event| event.statement.is_some()) {
        if found.len() == MAX_CANDIDATES {
            break;
        }
        let claim = client.claim(&event.id.to_hex()).await;
        found.extend(claim.ok().filter(|claim| claim.status == Status::Active).map(|claim| claim.id));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(first: u8, last: u8) -> OpId {
        let mut bytes = [first; 16];
        bytes[15] = last;
        OpId(bytes)
    }

    #[test]
    fn an_undo_without_an_answer_says_how_to_repeat_it() {
        let lost = ClientError::Interrupted { place: "there".to_owned(), cause: "reset".to_owned() };
        let hints = unanswered(lost, op(0xab, 1)).hints;
        assert!(hints.len() == 1 && hints[0].to_string().contains("`ergo undo ababababab`"), "{hints:?}");
        let refused = ClientError::Api(crate::api::ApiError::not_found("gone").hint("look again"));
        assert_eq!(unanswered(refused, op(0xab, 1)).hints[0].to_string(), "look again");
    }

    #[test]
    fn an_ambiguous_id_counts_all_changes_and_names_the_import_if_they_are_of_one() {
        let import: Vec<_> = (0..50).map(|row| op(0xab, row)).collect();
        let error = ambiguous("abab", &import);
        assert!(error.to_string().contains("matches 50 changes"), "{error}");
        assert!(error.hints[0].to_string().contains("`ergo undo --import abababababab`"), "{:?}", error.hints);
        let others: Vec<_> = (0..9).map(|first| op(first, 0)).collect();
        let hint = ambiguous("0000", &others).hints[0].to_string();
        assert!(hint.starts_with("did you mean: ") && hint.ends_with(", …"), "{hint}");
    }
}
