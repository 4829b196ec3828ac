//! Settling a card among claims that are stored: a contradiction, one found by an audit, a claim replaced twice.

use super::{Order, Plan, Settling, on_record, pick};
use crate::domain::derive::CardKind;
use crate::{
    api::{ApiError, CardAct, Refused, WriteOutcome},
    domain::{ClaimId, ResolveAct, Status},
    engine::{
        acts::{
            candidate::must_narrow,
            hold,
            new_claim::NewClaim,
            notice, retract,
            supersede::{not_by_a_fact, replaced_by, summary},
        },
        lookup,
        session::{Place, Session},
        words,
    },
    store::{CardRow, ClaimRow, Draft, Ref},
};

pub(super) fn settle(session: &Session<'_>, card: &CardRow, order: &Order) -> Result<Plan, ApiError> {
    let mut sides = Vec::new();
    for member in &card.members {
        let row = lookup::row(session.reader(), member)?;
        if row.status == Status::Active {
            sides.push(row);
        }
    }
    let place = Place::at(&card.scope);
    let mut change = None;
    let mut exception = None;
    let (mut drafts, summary) = match order.act {
        CardAct::Supersede if order.text.statement.is_some() => match merge(session, &place, &sides, order)? {
            Stored::Drafts(drafts, summary) => {
                change = Some((sides, order.text.statement.clone().unwrap_or_default()));
                (drafts, summary)
            }
            Stored::Refused(refused) => return Ok(answer(card, *refused)),
        },
        CardAct::Supersede => {
            let (drafts, summary, losers, winner) = keep(&sides, order)?;
            change = Some((losers, winner));
            (drafts, summary)
        }
        CardAct::Retract => {
            let target = pick("target", order.side("target")?, &sides)?;
            super::refused::must_be_allowed(session, target)?;
            let summary = words::summary("Retracted", &[&target.statement]);
            let notice = notice::of_retract(session, target);
            (std::iter::once(retract::event(target, order.reason.clone())).chain(notice).collect(), summary)
        }
        CardAct::Narrow => match narrow(session, &place, &sides, order)? {
            Stored::Drafts(drafts, summary) => (drafts, summary),
            Stored::Refused(refused) => return Ok(answer(card, *refused)),
        },
        CardAct::Exception | CardAct::Dismiss => {
            super::refused::must_be_excepted(session, order.act)?;
            if order.act == CardAct::Exception {
                exception = match &order.target {
                    Some(target) => Some(pick("target", target, &sides)?.id),
                    None => sides.iter().max_by_key(|row| row.clock).map(|row| row.id),
                };
            }
            let statements: Vec<&str> = sides.iter().map(|row| row.statement.as_str()).collect();
            let verb = if order.act == CardAct::Exception { "Kept both as an exception:" } else { "No contradiction:" };
            (let_stand(session, &sides, order.act).into_iter().collect(), words::summary(verb, &statements))
        }
        CardAct::Discard | CardAct::Snooze => return Err(ApiError::internal("a local act was sent the wrong way")),
    };
    drafts.push(record(card, order, exception));
    if card.kind == CardKind::Found {
        drafts.push(hold::settled(card, order.act.as_str(), None, Some(order.reason.clone())));
    }
    Ok(Plan::Commit(Settling { drafts, summary, warnings: Vec::new(), change }))
}

/// The notice of an agent that lets all sides stand.
fn let_stand(session: &Session<'_>, sides: &[ClaimRow], act: CardAct) -> Option<Draft> {
    let newest = sides.iter().max_by_key(|row| row.clock)?;
    let others = sides.iter().filter(|row| row.id != newest.id).map(|row| row.id);
    notice::of_card(session, Ref::Id(newest.id), others, act == CardAct::Dismiss)
}

/// What an act that stores a text comes to.
enum Stored {
    Drafts(Vec<Draft>, String),
    Refused(Box<Refused>),
}

/// The events by which one side stays, what they do in a sentence, what gives way, and to which statement.
fn keep(sides: &[ClaimRow], order: &Order) -> Result<(Vec<Draft>, String, Vec<ClaimRow>, String), ApiError> {
    let winner = pick("winner", order.side("winner")?, sides)?;
    let losers: Vec<ClaimRow> = sides.iter().filter(|row| row.id != winner.id).cloned().collect();
    if losers.is_empty() {
        return Err(ApiError::field("winner", "no other claim on this card is active: there is nothing to supersede"));
    }
    not_by_a_fact(winner.kind, &losers)?;
    let drafts = vec![replaced_by(&losers, winner.id, order.reason.clone())];
    let summary = summary(&losers, winner);
    Ok((drafts, summary, losers, winner.statement.clone()))
}

fn merge(session: &Session<'_>, place: &Place, sides: &[ClaimRow], order: &Order) -> Result<Stored, ApiError> {
    // The guarded kinds outrank facts, and among those the newest decides.
    let model = sides.iter().find(|row| row.kind.is_guarded()).or(sides.first());
    let model = model.ok_or_else(|| ApiError::field("act", "no claim on this card is active any more"))?;
    let mut claim = session.reword(&unqualified(model), sides.to_vec(), Vec::new(), order.text.clone())?;
    claim.draft.source = None;
    let aside = claim.replaced();
    let old: Vec<&str> = claim.replaces.iter().map(|row| row.statement.as_str()).collect();
    let summary = format!("{} into {}", words::summary("Merged", &old), words::quote(&claim.draft.statement));
    store(session, place, claim, &aside, summary)
}

fn narrow(session: &Session<'_>, place: &Place, sides: &[ClaimRow], order: &Order) -> Result<Stored, ApiError> {
    let target = pick("target", order.side("target")?, sides)?;
    must_narrow(target, &order.text)?;
    let claim = session.reword(target, vec![target.clone()], Vec::new(), order.narrowing())?;
    // A person says that the sides hold together now.
    let aside: Vec<ClaimId> = sides.iter().map(|row| row.id).collect();
    let summary = words::holds_only(&claim.draft.statement, &order.text.qualifiers);
    store(session, place, claim, &aside, summary)
}

fn store(
    session: &Session<'_>,
    place: &Place,
    claim: NewClaim,
    aside: &[ClaimId],
    summary: String,
) -> Result<Stored, ApiError> {
    let judged = session.judge(&claim.incoming(place, aside))?;
    if judged.blocks() {
        return Ok(Stored::Refused(Box::new(Refused {
            ways_on: words::ways_on(&judged.conflicts, false),
            conflicts: judged.conflicts,
            card_id: None,
            scope: place.scope.clone(),
        })));
    }
    let heads = session.fact_heads(place, &claim)?;
    let mut drafts = claim.drafts(0, &heads);
    drafts.extend(notice::of_write(session, &judged, false));
    Ok(Stored::Drafts(drafts, summary))
}

fn record(card: &CardRow, order: &Order, first: Option<ClaimId>) -> Draft {
    let act = match order.act {
        CardAct::Retract => ResolveAct::Retract,
        CardAct::Narrow => ResolveAct::Narrow,
        CardAct::Exception => ResolveAct::Exception,
        CardAct::Dismiss => ResolveAct::Dismiss,
        CardAct::Supersede | CardAct::Discard | CardAct::Snooze => ResolveAct::Supersede,
    };
    on_record(card, act, first, &order.reason)
}

fn answer(card: &CardRow, mut refused: Refused) -> Plan {
    refused.card_id = Some(card.id);
    Plan::Answer(Box::new(WriteOutcome::Conflict(refused)))
}

/// A merged text says itself where it holds.
fn unqualified(row: &ClaimRow) -> ClaimRow {
    ClaimRow { qualifiers: crate::domain::Qualifiers::default(), ..row.clone() }
}
