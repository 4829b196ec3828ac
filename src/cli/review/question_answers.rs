//! Answers to the question about a held claim.

use super::{ItemState, ask_reason};
use crate::{
    api::{CardView, JudgeRequest, QuestionsQuery, WriteOutcome},
    cli::{
        CliError, Context,
        ask::Asker,
        doubts::{self, Answers},
        show::outcome,
    },
    client::Client,
};

/// Asks how the held claim of a card relates to each claim that it may contradict, and sends the answers.
pub(super) async fn settle(
    cx: &mut Context,
    client: &Client,
    card: &CardView,
    asker: &mut Asker,
) -> Result<ItemState, CliError> {
    let scope = card.summary.scope.clone();
    let query =
        QuestionsQuery { org_id: Some(scope.org_id), project: Some(scope.project), ..QuestionsQuery::default() };
    let mut questions = client.questions(&query).await?.items.into_iter();
    let Some(question) = questions.find(|question| question.card_id == card.summary.id) else {
        cx.ui.line("This question was already answered.");
        return Ok(ItemState::Changed);
    };
    let verdicts = match doubts::ask(cx, asker, &question, false).await? {
        Answers::Verdicts(verdicts) => verdicts,
        Answers::Withdraw => {
            let caller = cx.caller()?;
            doubts::withdraw(cx, client, caller, question.op_id).await?;
            return Ok(ItemState::Settled);
        }
        Answers::None => return Ok(ItemState::Unchanged),
    };
    let own = card.sides.first().and_then(|side| side.claim.own_reason()).map(str::to_owned);
    let Some(because) = ask_reason(cx, asker, own)? else { return Ok(ItemState::Unchanged) };
    let request = JudgeRequest {
        caller: cx.caller()?,
        token: question.token,
        verdicts,
        because: Some(because),
        ..JudgeRequest::default()
    };
    let answer = client.judge(&request).await?;
    outcome::show(cx, &answer, None);
    Ok(match answer {
        WriteOutcome::Stored(_) | WriteOutcome::Done(_) | WriteOutcome::Conflict(_) => ItemState::Settled,
        _ => ItemState::Changed,
    })
}
