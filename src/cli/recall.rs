//! `ergo recall`: finds claims and references that answer a question.

use super::{CliError, Context, Exit, show::time, ui::Style};
use crate::{
    api::{RecallAnswer, RecallRequest, RecallVerdict, Reference},
    domain::{
        ClaimKind, Status,
        text::{escape, sanitize_line},
    },
};

/// Find the claims that answer a question.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo recall 'which database do we use?'
  ergo recall message broker --kind rejection,decision
  ergo recall 'how did we deploy before' --history")]
pub(crate) struct Args {
    /// The question, or a few words.
    #[arg(required = true, value_name = "QUESTION")]
    query: Vec<String>,
    /// One kind, or several separated by commas.
    #[arg(short, long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<ClaimKind>,
    /// Include superseded and retracted claims, after the active ones.
    #[arg(long)]
    history: bool,
    /// Let the language model select among the results. This takes several seconds.
    #[arg(long)]
    filter: bool,
    /// The state at this time: a date, a time, or a span such as 3d.
    #[arg(long, value_name = "WHEN")]
    as_of: Option<String>,
    /// Maximum number of results, up to 50.
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 10)]
    limit: usize,
}

/// The maximum number of lines that are shown of a reference.
const MAX_LINES: usize = 3;

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let as_of = args.as_of.map(|when| time::moment(&when, -1)).transpose()?;
    let (client, scope) = cx.reader().await?;
    let request = RecallRequest {
        org_id: scope.org_id,
        project: scope.project,
        query: args.query.join(" "),
        limit: Some(args.limit),
        kinds: args.kind,
        include_history: args.history,
        filter: args.filter,
        as_of,
    };
    let answer = client.recall(&request).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
    } else {
        show(cx, &answer, as_of.unwrap_or_else(Context::now));
    }
    Ok(if answer.verdict == RecallVerdict::Nothing { Exit::Usage } else { Exit::Ok })
}

fn show(cx: &mut Context, answer: &RecallAnswer, now: u64) {
    for note in &answer.notes {
        let note = cx.ui.paint(Style::Dim, note);
        cx.ui.line(note);
    }
    if answer.verdict == RecallVerdict::Reference {
        show_references(cx, &answer.references);
        if !answer.hits.is_empty() {
            let heading = cx.ui.paint(Style::Strong, "Closest claims");
            cx.ui.line(text!("\n{}", heading));
        }
    }
    let mut retired = false;
    for hit in &answer.hits {
        if hit.claim.status != Status::Active && !retired {
            retired = true;
            let heading = cx.ui.paint(Style::Strong, "Superseded or retracted");
            cx.ui.line(text!("\n{}", heading));
        }
        cx.ui.claim_row(&hit.claim, now);
        if let Some(reason) = &hit.claim.reason {
            cx.ui.field("because", reason);
        }
        cx.ui.seen_in(&hit.claim);
        cx.ui.beside(&hit.claim);
    }
    if answer.verdict != RecallVerdict::Reference {
        show_references(cx, &answer.references);
    }
    let commands = match answer.hits.first() {
        Some(best) => {
            (format!("ergo why {}", best.claim.id.short()), "show its history and what depends on it".to_owned())
        }
        None => (cx.in_scope("ergo remember '…' --reason '…'"), "store the answer".to_owned()),
    };
    cx.ui.line("");
    cx.ui.commands(&[commands]);
}

/// Shows passages of ingested files.
fn show_references(cx: &mut Context, references: &[Reference]) {
    if references.is_empty() {
        return;
    }
    let heading = cx.ui.paint(Style::Strong, "Passages of ingested files");
    cx.ui.line(text!("\n{}", heading));
    for found in references {
        let place = cx.ui.paint(Style::Code, format!("{}:{}", sanitize_line(&found.path), found.first));
        let by = found.shared_by.as_deref().map(|who| format!("  shared by {}", escape(who)));
        cx.ui.line(text!("  {}{}", place, by.unwrap_or_default()));
        let shown: Vec<&str> = found.text.lines().filter(|line| !line.trim().is_empty()).take(MAX_LINES).collect();
        cx.ui.prose(4, Some(Style::Dim), &shown.join("\n"));
    }
}
