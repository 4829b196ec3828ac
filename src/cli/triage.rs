//! The whole review as lines: everything that needs attention, group by group, each thing with what can be done about it. What
//! `ergo tui --plain` prints and asks.
//!
//! As with [`review`]: no drawing, no cursor, no colour. Without someone to answer it prints everything with its ways on, and ends.

use super::{
    CliError, Context, Exit,
    ask::Asker,
    inbox::{nothing, query, show},
    review,
    show::{
        inbox::{counted, ways},
        outcome,
        text::count,
    },
    undo,
};
use crate::{
    api::{
        ActRequest, AnswerJoinRequest, ClaimView, InboxItem, InboxQuery, MAX_PAGE, QuarantineRequest, RememberRequest,
        SupersedeRequest, WhyRequest, WriteOutcome,
    },
    client::Client,
    domain::{
        Scope, Status,
        text::{escape, sanitize_line},
    },
};

/// What a line of a person means, where the thing is no card.
#[derive(Debug, PartialEq)]
enum Answer {
    Seen,
    Supersede,
    Retract,
    Reinstate,
    LetIn,
    TurnAway,
    Why,
    Undo,
    Next,
    Quit,
    Help,
    Unknown(String),
}

/// What becomes of a thing after an answer.
enum After {
    /// It is settled.
    Settled,
    /// It still waits.
    Waits,
}

/// Goes through everything that needs attention, in `scope` or anywhere.
pub(crate) async fn run(
    cx: &mut Context,
    client: &Client,
    scope: Option<Scope>,
    read_only: bool,
) -> Result<Exit, CliError> {
    let asked = query(scope.as_ref(), MAX_PAGE);
    let first = client.inbox(&asked).await?;
    if cx.ui.json {
        show(cx, &first, scope.as_ref());
        return Ok(Exit::Ok);
    }
    if first.total == 0 {
        nothing(cx, scope.as_ref());
        return Ok(Exit::Ok);
    }
    cx.ui.line(text!("{} attention.", count(first.total, "item needs", "items need")));
    for group in &first.groups {
        cx.ui.line(text!("  {}: {}", group.group.title(), counted(group)));
    }
    let mut asker = if read_only { None } else { Asker::new() };
    let mut at = 0;
    for group in first.groups {
        let kind = group.group;
        cx.ui.line(text!("\n{}: {}", kind.title(), counted(&group)));
        let mut page = Some(group);
        while let Some(group) = page.take() {
            for item in &group.items {
                at += 1;
                cx.ui.line(text!("\n{} of {}, {}", at, first.total.max(at), kind.title().to_lowercase()));
                if !one(cx, client, item, asker.as_mut()).await? {
                    return Ok(Exit::Ok);
                }
            }
            if let Some(cursor) = group.next {
                let rest = InboxQuery { group: Some(kind), cursor: Some(cursor), ..asked.clone() };
                page = client.inbox(&rest).await?.groups.into_iter().next();
            }
        }
    }
    Ok(Exit::Ok)
}

/// Shows one thing and asks until it is settled or left; `false` ends the review.
async fn one(cx: &mut Context, client: &Client, item: &InboxItem, asker: Option<&mut Asker>) -> Result<bool, CliError> {
    if let InboxItem::Card(card) = item {
        return review::one(cx, client, &card.id.to_hex(), asker).await;
    }
    cx.ui.inbox_item(item, Context::now());
    let Some(asker) = asker else {
        cx.ui.line("");
        cx.ui.commands(&ways(item));
        return Ok(!cx.ui.gone());
    };
    let help = help(item);
    let letters: Vec<&str> = help.iter().map(|(letter, _)| *letter).collect();
    let prompt = text!("\nWhat now? [{}, n, q, ?] ", letters.join(", "));
    loop {
        let Some(line) = asker.ask(cx, prompt.clone())? else { return Ok(false) };
        let answer = match parse(&line) {
            Answer::Quit => return Ok(false),
            Answer::Next => return Ok(true),
            answer => answer,
        };
        match act(cx, client, item, answer, asker).await {
            Ok(After::Settled) => return Ok(true),
            Ok(After::Waits) => {}
            Err(error) => cx.ui.error(&error),
        }
    }
}

/// The answers that a thing takes, each with what it does.
fn help(item: &InboxItem) -> Vec<(&'static str, &'static str)> {
    let mut out = match item {
        InboxItem::Card(_) => Vec::new(),
        InboxItem::Review(_) => vec![
            ("v", "it still holds"),
            ("e", "the world changed: write what takes its place"),
            ("r", "retract it: it was never right"),
            ("w", "why: how it came about"),
        ],
        InboxItem::Notice(item) if item.claim.status != Status::Active => {
            vec![("v", "looked at it: it is fine"), ("i", "bring it back"), ("w", "why: how it came about")]
        }
        InboxItem::Notice(_) => vec![
            ("v", "looked at it: it stands"),
            ("e", "write what takes its place"),
            ("r", "retract it: it was never right"),
            ("w", "why: how it came about"),
        ],
        InboxItem::Quarantined(_) => vec![("i", "let it in, for the whole team"), ("x", "put it away, here")],
        InboxItem::Joining(_) => vec![("i", "let it in: both screens show the same words"), ("x", "turn it away")],
    };
    out.push(("u", "undo my last act"));
    out
}

/// Does what an answer asks for.
async fn act(
    cx: &mut Context,
    client: &Client,
    item: &InboxItem,
    answer: Answer,
    asker: &mut Asker,
) -> Result<After, CliError> {
    let claim = match item {
        InboxItem::Review(item) => Some(&item.claim),
        InboxItem::Notice(item) => Some(&item.claim),
        InboxItem::Card(_) | InboxItem::Quarantined(_) | InboxItem::Joining(_) => None,
    };
    match (answer, claim) {
        // The same letter: what was taken out comes in again.
        (Answer::LetIn, Some(claim)) if claim.status != Status::Active => {
            on_claim(cx, client, item, claim, &Answer::Reinstate, asker).await
        }
        (Answer::Undo, _) => {
            undo::last_act(cx, client, asker).await?;
            Ok(After::Waits)
        }
        (Answer::Why, Some(claim)) => why(cx, client, claim).await,
        (Answer::LetIn, None) => door(cx, client, item, true, asker).await,
        (Answer::TurnAway, None) => door(cx, client, item, false, asker).await,
        (answer @ (Answer::Seen | Answer::Retract | Answer::Supersede), Some(claim)) => {
            on_claim(cx, client, item, claim, &answer, asker).await
        }
        (answer, _) => {
            if let Answer::Unknown(word) = answer {
                cx.ui.line(text!("“{}” is none of the answers:", word));
            }
            for (letter, does) in help(item) {
                cx.ui.line(text!("{}{}", format_args!("{letter:6}"), does));
            }
            cx.ui.line("n     the next thing; Enter, too\nq     quit");
            Ok(After::Waits)
        }
    }
}

/// An act on the claim that a thing is about. What is known of the reason is offered.
async fn on_claim(
    cx: &mut Context,
    client: &Client,
    item: &InboxItem,
    claim: &ClaimView,
    answer: &Answer,
    asker: &mut Asker,
) -> Result<After, CliError> {
    let mut statement = None;
    if *answer == Answer::Supersede {
        let text = asker.ask(cx, "The text that takes its place (empty: leave off): ")?.unwrap_or_default();
        if text.is_empty() {
            return Ok(After::Waits);
        }
        statement = Some(text);
    }
    let known = match (answer, item) {
        (Answer::Seen, InboxItem::Notice(_)) => Some("Looked at it: it stands."),
        (Answer::Seen, _) => Some("It still holds."),
        _ => None,
    };
    let prompt = match known {
        Some(known) => text!("Why? [Enter: {}] ", known),
        None => "Why? (empty: leave off) ".into(),
    };
    let said = asker.ask(cx, prompt)?.unwrap_or_default();
    let reason = if said.is_empty() { known.unwrap_or_default().to_owned() } else { said };
    if reason.is_empty() {
        cx.ui.line("Left off: an act needs its reason.");
        return Ok(After::Waits);
    }
    let caller = cx.anyone()?;
    let target = claim.id.to_hex();
    let order = ActRequest {
        caller: caller.clone(),
        target: target.clone(),
        reason: reason.clone(),
        expect_rev: Some(claim.rev),
        ..ActRequest::default()
    };
    let outcome = match answer {
        Answer::Retract => client.retract(&order).await?,
        Answer::Reinstate => client.reinstate(&order).await?,
        Answer::Supersede => {
            let mut caller = caller;
            (caller.org_id, caller.project) = (claim.scope.org_id.clone(), claim.scope.project.clone());
            let statement = statement.clone().unwrap_or_default();
            let claim = RememberRequest { caller, statement, reason: Some(reason), ..RememberRequest::default() };
            client.supersede(&SupersedeRequest { targets: vec![target], claim, ..SupersedeRequest::default() }).await?
        }
        _ => client.reviewed(&order).await?,
    };
    outcome::show(cx, &outcome, statement.as_deref());
    let settled = matches!(outcome, WriteOutcome::Stored(_) | WriteOutcome::Done(_));
    Ok(if settled { After::Settled } else { After::Waits })
}

/// Answers what stands at the door, after asking: undo does not take it back.
async fn door(
    cx: &mut Context,
    client: &Client,
    item: &InboxItem,
    accept: bool,
    asker: &mut Asker,
) -> Result<After, CliError> {
    let question = match (item, accept) {
        (InboxItem::Quarantined(_), true) => "Let it in, for the whole team and for good?",
        (InboxItem::Quarantined(_), false) => "Put it away?",
        (_, true) => "Does the other screen show the same words?",
        (_, false) => "Turn it away? Its ticket is spent then.",
    };
    if !asker.yes(cx, question)? {
        cx.ui.line("Left as it is.");
        return Ok(After::Waits);
    }
    let caller = cx.anyone()?;
    match item {
        InboxItem::Quarantined(event) => {
            let (in_team, events) = (Some(event.team.to_hex()), vec![event.id.to_hex()]);
            let request = QuarantineRequest { caller, in_team, events, reason: None };
            let done = if accept { client.sync_accept(&request).await? } else { client.sync_discard(&request).await? };
            cx.ui.prose(0, None, &done.summary);
        }
        InboxItem::Joining(join) => {
            let words = if accept { join.words.clone() } else { Vec::new() };
            client.sync_answer(&join.id, &AnswerJoinRequest { caller, accept, words }).await?;
            let done = if accept { "is let in" } else { "was turned away" };
            cx.ui.line(text!("“{}” {}.", escape(&join.name), done));
        }
        InboxItem::Card(_) | InboxItem::Review(_) | InboxItem::Notice(_) => return Ok(After::Waits),
    }
    Ok(After::Settled)
}

async fn why(cx: &mut Context, client: &Client, claim: &ClaimView) -> Result<After, CliError> {
    let Scope { org_id, project } = claim.scope.clone();
    let answer =
        client.why(&WhyRequest { org_id, project, question: claim.id.to_hex(), ..WhyRequest::default() }).await?;
    cx.ui.chain(&answer.chain, Context::now());
    Ok(After::Waits)
}

fn parse(line: &str) -> Answer {
    match line.to_lowercase().as_str() {
        "" | "n" | "next" => Answer::Next,
        "v" | "reviewed" | "seen" => Answer::Seen,
        "e" | "supersede" => Answer::Supersede,
        "r" | "retract" => Answer::Retract,
        "i" | "in" | "reinstate" | "let in" => Answer::LetIn,
        "x" | "away" | "turn away" => Answer::TurnAway,
        "w" | "why" => Answer::Why,
        "u" | "undo" => Answer::Undo,
        "q" | "quit" | "exit" => Answer::Quit,
        "?" | "h" | "help" => Answer::Help,
        _ => Answer::Unknown(sanitize_line(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case("", Answer::Next)]
    #[case("V", Answer::Seen)]
    #[case("let in", Answer::LetIn)]
    #[case("?", Answer::Help)]
    #[case("frob", Answer::Unknown("frob".into()))]
    fn a_line_is_an_answer(#[case] line: &str, #[case] answer: Answer) {
        assert_eq!(parse(line), answer);
    }
}
