//! `ergo why`: shows the claim that answers a question, with its reason, source and history.

use super::{CliError, Context, Exit, log, scope::top_of, show::time, ui::Style};
use crate::{
    api::{AsOf, ClaimView, EventView, WhyAnswer, WhyRequest},
    client::drift,
    domain::{ClaimId, drift::Drift, text::escape},
};

/// Show the claim that answers a question, with its reason, source and history.
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
    let request = WhyRequest {
        org_id: scope.org_id.clone(),
        project: scope.project.clone(),
        question: question.clone(),
        as_of,
        ..WhyRequest::default()
    };
    let answer = client.why(&request).await?;
    let now = as_of.unwrap_or_else(Context::now);
    let drift = answer.answer.as_ref().filter(|_| cx.is_in_project()).and_then(drift_of);
    let mut judged = Vec::new();
    if let Some(claim) = &answer.answer {
        judged = client.history_at(&claim.id.to_hex(), &AsOf { as_of }).await?.events;
        judged.retain(|event| event.kind.starts_with("judgement."));
    }
    if cx.ui.json {
        let mut value = serde_json::to_value(&answer).map_err(CliError::internal)?;
        if let Some(fields) = value.as_object_mut() {
            fields.extend(drift.map(|drift| ("drift".to_owned(), drift_words(drift).into())));
            fields.insert("judgements".to_owned(), serde_json::to_value(&judged).map_err(CliError::internal)?);
        }
        cx.ui.value(&value);
    } else {
        show(cx, &answer, drift, &format!("Nothing in {} answers “{question}”.", escape(&scope.to_string())), now);
        judgements(cx, &judged, now);
    }
    Ok(if answer.answer.is_some() { Exit::Ok } else { Exit::Usage })
}

/// Lists the judgements of pairs that contain the claim.
fn judgements(cx: &mut Context, judged: &[EventView], now: u64) {
    if judged.is_empty() {
        return;
    }
    heading(cx, "Judgements");
    for event in judged {
        log::row(&mut cx.ui, event, now);
    }
}

/// Compares a claim with its source file; `None` if its source is no file of this project.
fn drift_of(claim: &ClaimView) -> Option<Drift> {
    drifts(std::slice::from_ref(claim)).first().map(|(_, drift)| *drift)
}

/// Compares claims with their source files, if these are files of this project.
pub(super) fn drifts(claims: &[ClaimView]) -> Vec<(ClaimId, Drift)> {
    let Ok(here) = std::env::current_dir() else { return Vec::new() };
    let source = |claim: &ClaimView| Some((claim.id, claim.source.clone()?, claim.statement.clone()));
    drift::compare(&top_of(&here), &claims.iter().filter_map(source).collect::<Vec<_>>())
}

/// Describes the state of a source file.
pub(super) fn drift_words(drift: Drift) -> String {
    match drift {
        Drift::Same => "unchanged".to_owned(),
        Drift::Moved(line) => format!("moved to line {line}"),
        Drift::Changed => "no longer contains this statement".to_owned(),
        Drift::Gone => "not found".to_owned(),
    }
}

fn show(cx: &mut Context, answer: &WhyAnswer, drift: Option<Drift>, nothing: &str, now: u64) {
    let ui = &mut cx.ui;
    let Some(claim) = &answer.answer else {
        let nothing = answer.note.as_deref().unwrap_or(nothing);
        ui.prose(0, None, nothing);
        if !answer.others.is_empty() {
            ui.line("\nClosest claims:");
            for other in &answer.others {
                ui.claim_row(other, now);
            }
        }
        ui.line("");
        cx.ui.commands(&[
            (cx.in_scope("ergo claims"), "list all active claims".to_owned()),
            (cx.in_scope("ergo remember '…' --reason '…'"), "store the answer".to_owned()),
        ]);
        return;
    };
    ui.claim(claim, now);
    if let Some(note) = answer.note.as_deref().filter(|_| answer.may_disagree.is_empty()) {
        ui.field("note", note);
    }
    if let Some(drift) = drift {
        ui.field("source file", &drift_words(drift));
    }
    if !answer.may_disagree.is_empty() {
        heading(cx, "Other active claims that may disagree");
        for claim in &answer.may_disagree {
            cx.ui.claim_row(claim, now);
            if let Some(reason) = &claim.reason {
                cx.ui.field("because", reason);
            }
        }
    }
    if answer.chain.len() > 1 {
        heading(cx, "History");
        cx.ui.chain(&answer.chain, now);
    }
    for (title, claims) in
        [("Depends on", &answer.premises), ("What depends on it", &answer.dependents), ("See also", &answer.others)]
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
        let commands: Vec<_> = answer
            .cards
            .iter()
            .map(|card| (format!("ergo resolve {} --interactive", card.id.short()), "settle it".to_owned()))
            .collect();
        cx.ui.commands(&commands);
    }
}

fn heading(cx: &mut Context, title: &str) {
    let title = cx.ui.paint(Style::Strong, title);
    cx.ui.line(text!("\n{}", title));
}
