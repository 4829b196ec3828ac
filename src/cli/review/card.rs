//! Answers to a conflict card.

use super::{ItemState, ask_reason};
use crate::{
    api::{CardAct, CardView, ResolveRequest, WhyRequest, WriteOutcome},
    cli::{
        CliError, Context,
        ask::Asker,
        resolve::{blank, prefill, side},
        show::{outcome, time},
    },
    client::Client,
};

/// Settles a card by an act, and asks for what the act needs.
pub(super) async fn settle(
    cx: &mut Context,
    client: &Client,
    card: &CardView,
    act: CardAct,
    named: Option<String>,
    asker: &mut Asker,
) -> Result<ItemState, CliError> {
    let option = card.acts.iter().find(|option| option.act == act);
    if let Some(why_not) = option.and_then(|option| option.disabled.as_deref()) {
        cx.ui.line(text!("Not possible: {}.", why_not));
        return Ok(ItemState::Unchanged);
    }
    let mut request = ResolveRequest { caller: cx.caller()?, ..blank(card, act) };
    match act {
        CardAct::Supersede if named.is_none() => {
            let text = asker.ask(cx, "New statement (leave empty to cancel): ")?.unwrap_or_default();
            if text.is_empty() {
                return Ok(ItemState::Unchanged);
            }
            request.statement = Some(text);
        }
        CardAct::Supersede => request.winner = named.map(|named| side(card, &named)).transpose()?,
        CardAct::Retract | CardAct::Narrow => {
            let first = act == CardAct::Narrow || card.sides.len() < 2;
            let named = named.unwrap_or_else(|| if first { "1" } else { "2" }.to_owned());
            request.target = Some(side(card, &named)?);
        }
        CardAct::Snooze => request.until = Some(time::moment(named.as_deref().unwrap_or("1d"), 1)?),
        CardAct::Exception | CardAct::Dismiss | CardAct::Discard | CardAct::Yes | CardAct::No => {}
    }
    let chosen = request.winner.as_ref().or(request.target.as_ref());
    let index = card.sides.iter().position(|side| Some(&side.claim.id.to_hex()) == chosen);
    let can = if act == CardAct::Supersede && index.is_none() {
        card.can_merge()
    } else {
        index.map_or(Ok(()), |index| card.can_act_on(act, index))
    };
    if let Err(why_not) = can {
        cx.ui.line(text!("Not possible: {}.", why_not));
        return Ok(ItemState::Unchanged);
    }
    if act == CardAct::Narrow && !ask_qualifiers(cx, asker, &mut request)? {
        return Ok(ItemState::Unchanged);
    }
    if act != CardAct::Snooze {
        let Some(reason) = ask_reason(cx, asker, prefill(card, &request))? else { return Ok(ItemState::Unchanged) };
        request.reason = reason;
    }
    let answer = client.resolve(&card.summary.id.to_hex(), &request).await?;
    outcome::show(cx, &answer, request.statement.as_deref());
    Ok(if matches!(answer, WriteOutcome::Stored(_) | WriteOutcome::Done(_)) {
        ItemState::Settled
    } else {
        ItemState::Changed
    })
}

/// Asks for the qualifiers of a narrowed claim. Returns false if there are none.
fn ask_qualifiers(cx: &mut Context, asker: &mut Asker, request: &mut ResolveRequest) -> Result<bool, CliError> {
    let qualifiers = &mut request.qualifiers;
    let fields = [
        ("Environment", &mut qualifiers.env),
        ("Team", &mut qualifiers.team),
        ("Tenant", &mut qualifiers.tenant),
        ("First day on which it holds, YYYY-MM-DD", &mut qualifiers.valid_from),
        ("Last day on which it holds, YYYY-MM-DD", &mut qualifiers.valid_until),
    ];
    for (name, field) in fields {
        let Some(value) = asker.ask(cx, text!("{} (empty: any): ", name))? else {
            return Ok(false);
        };
        if !value.is_empty() {
            *field = Some(value);
        }
    }
    if request.qualifiers.is_empty() {
        cx.ui.line("Cancelled: no condition was given.");
        return Ok(false);
    }
    Ok(true)
}

/// Shows the history of a side.
pub(super) async fn why(
    cx: &mut Context,
    client: &Client,
    card: &CardView,
    named: &str,
) -> Result<ItemState, CliError> {
    let scope = &card.summary.scope;
    let question = side(card, named)?;
    let request =
        WhyRequest { org_id: scope.org_id.clone(), project: scope.project.clone(), question, ..WhyRequest::default() };
    let answer = client.why(&request).await?;
    let now = Context::now();
    match &answer.answer {
        Some(claim) => {
            cx.ui.claim(claim, now);
            cx.ui.chain(&answer.chain, now);
        }
        None => cx.ui.line("This claim is not stored and has no history."),
    }
    Ok(ItemState::Unchanged)
}
