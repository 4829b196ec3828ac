//! Answers to items that are no cards: claims to review, quarantined events, join requests.

use super::{ItemState, ask_reason, command::ReviewCommand};
use crate::{
    api::{
        ActRequest, AnswerJoinRequest, ClaimView, InboxItem, QuarantineRequest, RememberRequest, SupersedeRequest,
        WhyRequest, WriteOutcome,
    },
    cli::{CliError, Context, ask::Asker, show::outcome},
    client::Client,
    domain::{Scope, Status, text::escape},
};

/// Returns the claim that an item is about.
fn claim_of(item: &InboxItem) -> Option<&ClaimView> {
    match item {
        InboxItem::Review(item) => Some(&item.claim),
        InboxItem::Notice(item) => Some(&item.claim),
        InboxItem::Card(_) | InboxItem::Quarantined(_) | InboxItem::Joining(_) => None,
    }
}

/// Whether a command applies to an item.
pub(super) fn takes(item: &InboxItem, command: &ReviewCommand) -> bool {
    match (command, claim_of(item)) {
        (ReviewCommand::Confirm | ReviewCommand::Supersede | ReviewCommand::Retract | ReviewCommand::Why(_), claim) => {
            claim.is_some()
        }
        (ReviewCommand::Accept, Some(claim)) => claim.status != Status::Active,
        (ReviewCommand::Accept | ReviewCommand::Deny, None) => true,
        _ => false,
    }
}

/// Runs a command that [`takes`] allows.
pub(super) async fn settle(
    cx: &mut Context,
    client: &Client,
    item: &InboxItem,
    command: &ReviewCommand,
    asker: &mut Asker,
) -> Result<ItemState, CliError> {
    match (command, claim_of(item)) {
        (ReviewCommand::Why(_), Some(claim)) => why(cx, client, claim).await,
        (_, Some(claim)) => act(cx, client, item, claim, command, asker).await,
        (_, None) => answer(cx, client, item, *command == ReviewCommand::Accept, asker).await,
    }
}

/// Performs an act on a claim.
async fn act(
    cx: &mut Context,
    client: &Client,
    item: &InboxItem,
    claim: &ClaimView,
    command: &ReviewCommand,
    asker: &mut Asker,
) -> Result<ItemState, CliError> {
    let mut statement = None;
    if *command == ReviewCommand::Supersede {
        let text = asker.ask(cx, "New statement (leave empty to cancel): ")?.unwrap_or_default();
        if text.is_empty() {
            return Ok(ItemState::Unchanged);
        }
        statement = Some(text);
    }
    let default = match (command, item) {
        (ReviewCommand::Confirm, InboxItem::Notice(_)) => Some("Reviewed: nothing to change."),
        (ReviewCommand::Confirm, _) => Some("It still holds."),
        _ => None,
    };
    let Some(reason) = ask_reason(cx, asker, default.map(str::to_owned))? else { return Ok(ItemState::Unchanged) };
    let caller = cx.caller()?;
    let target = claim.id.to_hex();
    let request = ActRequest {
        caller: caller.clone(),
        target: target.clone(),
        reason: reason.clone(),
        expect_rev: Some(claim.rev),
        ..ActRequest::default()
    };
    let answer = match command {
        ReviewCommand::Retract => client.retract(&request).await?,
        ReviewCommand::Accept => client.reinstate(&request).await?,
        ReviewCommand::Supersede => {
            let mut caller = caller;
            (caller.org_id, caller.project) = (claim.scope.org_id.clone(), claim.scope.project.clone());
            let statement = statement.clone().unwrap_or_default();
            let claim = RememberRequest { caller, statement, reason: Some(reason), ..RememberRequest::default() };
            client.supersede(&SupersedeRequest { targets: vec![target], claim, ..SupersedeRequest::default() }).await?
        }
        _ => client.reviewed(&request).await?,
    };
    outcome::show(cx, &answer, statement.as_deref());
    let settled = matches!(answer, WriteOutcome::Stored(_) | WriteOutcome::Done(_));
    Ok(if settled { ItemState::Settled } else { ItemState::Unchanged })
}

/// Accepts or denies an event or a device, after confirmation: undo cannot revert it.
async fn answer(
    cx: &mut Context,
    client: &Client,
    item: &InboxItem,
    accept: bool,
    asker: &mut Asker,
) -> Result<ItemState, CliError> {
    let question = match (item, accept) {
        (InboxItem::Quarantined(_), true) => "Accept it for the whole team? This cannot be undone.",
        (InboxItem::Quarantined(_), false) => "Discard it?",
        (_, true) => "Does the other screen show the same words?",
        (_, false) => "Deny it? Its ticket cannot be used again.",
    };
    if !asker.yes(cx, question)? {
        cx.ui.line("Nothing was changed.");
        return Ok(ItemState::Unchanged);
    }
    let caller = cx.caller()?;
    match item {
        InboxItem::Quarantined(event) => {
            let (in_team, events) = (Some(event.team.to_hex()), vec![event.id.to_hex()]);
            let request = QuarantineRequest { caller, in_team, events, ..QuarantineRequest::default() };
            let done = if accept { client.sync_accept(&request).await? } else { client.sync_discard(&request).await? };
            cx.ui.prose(0, None, &done.summary);
        }
        InboxItem::Joining(join) => {
            let words = if accept { join.words.clone() } else { Vec::new() };
            client.sync_answer(&join.id, &AnswerJoinRequest { caller, accept, words }).await?;
            let done = if accept { "Admitted" } else { "Denied" };
            cx.ui.line(text!("{} “{}”.", done, escape(&join.name)));
        }
        InboxItem::Card(_) | InboxItem::Review(_) | InboxItem::Notice(_) => return Ok(ItemState::Unchanged),
    }
    Ok(ItemState::Settled)
}

/// Shows the history of a claim.
async fn why(cx: &mut Context, client: &Client, claim: &ClaimView) -> Result<ItemState, CliError> {
    let Scope { org_id, project } = claim.scope.clone();
    let answer =
        client.why(&WhyRequest { org_id, project, question: claim.id.to_hex(), ..WhyRequest::default() }).await?;
    cx.ui.chain(&answer.chain, Context::now());
    Ok(ItemState::Unchanged)
}
