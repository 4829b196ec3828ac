//! `ergo why`: the best reasoned claim, its reason, its source, and what led to it.

use super::{
    CliError, Context, Exit,
    show::{card::origin, time},
    ui::Style,
};
use crate::api::{WhyAnswer, WhyRequest};

/// Answer why: the best reasoned claim, its reason, its source, and what led to it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ergo why 'do we deploy on Fridays?'
  ergo why 3f2a91bc04
  ergo why 'the database port' --as-of 2026-05-01")]
pub(crate) struct Args {
    /// The question in words, or a claim's id.
    #[arg(required = true, value_name = "QUESTION")]
    question: Vec<String>,
    /// Answer as of this time: a date, a time, or a span such as 3d.
    #[arg(long, value_name = "WHEN")]
    as_of: Option<String>,
}

/// Runs the verb.
pub(crate) async fn run(args: Args, cx: &mut Context) -> Result<Exit, CliError> {
    let as_of = args.as_of.map(|when| time::moment(&when, -1)).transpose()?;
    let (client, scope) = cx.reader().await?;
    let question = args.question.join(" ");
    let request =
        WhyRequest { org_id: scope.org_id.clone(), project: scope.project.clone(), question: question.clone(), as_of };
    let answer = client.why(&request).await?;
    if cx.ui.json {
        cx.ui.value(&answer);
    } else {
        show(cx, &answer, &format!("Nothing in {scope} answers “{question}”."));
    }
    Ok(if answer.answer.is_some() { Exit::Ok } else { Exit::Usage })
}

fn show(cx: &mut Context, answer: &WhyAnswer, nothing: &str) {
    let now = Context::now();
    let ui = &mut cx.ui;
    let Some(claim) = &answer.answer else {
        let nothing = answer.note.as_deref().unwrap_or(nothing);
        ui.prose(0, None, nothing);
        if !answer.others.is_empty() {
            ui.line("\nNearest:");
            for other in &answer.others {
                ui.claim_row(other, now);
            }
        }
        ui.line("");
        ui.commands(&[
            ("ergo claims".to_owned(), "all that is in force here".to_owned()),
            ("ergo remember '…' --reason '…'".to_owned(), "store the answer".to_owned()),
        ]);
        return;
    };
    ui.claim(claim, now);
    if answer.chain.len() > 1 {
        heading(cx, "How it came about");
        cx.ui.chain(&answer.chain, now);
    }
    for (title, claims) in
        [("It rests on", &answer.premises), ("On it rest", &answer.dependents), ("See also", &answer.others)]
    {
        if !claims.is_empty() {
            heading(cx, title);
            for claim in claims {
                cx.ui.claim_row(claim, now);
            }
        }
    }
    if !answer.cards.is_empty() {
        heading(cx, "Open conflicts");
        for card in &answer.cards {
            cx.ui.card_row(card, now);
        }
        let ways: Vec<_> = answer
            .cards
            .iter()
            .map(|card| (format!("ergo resolve {} --interactive", card.id.short()), origin(card.kind).to_owned()))
            .collect();
        cx.ui.commands(&ways);
    }
}

fn heading(cx: &mut Context, title: &str) {
    let title = cx.ui.paint(Style::Strong, title);
    cx.ui.line(format_args!("\n{title}"));
}
