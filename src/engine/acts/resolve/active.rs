//! Settles a card among stored claims: a contradiction, an audit's find, a claim replaced twice, a story.

use super::{
    Plan, Resolution, Settling, on_record, pick,
    refused::{must_be_allowed_to_replace, must_be_of_scope, narrowing, replaced_by_narrowing},
    yes_no::{self, StoryAnswer, StorySide},
};
use crate::domain::derive::CardKind;
use crate::{
    api::{ApiError, CardAct, Refused, Warning, WriteOutcome},
    domain::{
        ClaimId, EventKind, PairVerdict, ResolveAct, Status,
        judgement::{JudgementData, words_hash},
    },
    engine::{
        act_context::{ActContext, WriteScope},
        acts::{
            new_claim::NewClaim,
            notice, refuse,
            refused_write::must_narrow,
            reinstate::{self, Reinstatement},
            retract,
            supersede::{must_not_replace_guarded, replaced_by, summary},
        },
        find, validate, wording,
    },
    store::{CardRow, ClaimRow, EventDraft, Ref},
};

pub(super) fn settle(context: &ActContext<'_>, card: &CardRow, resolution: &Resolution) -> Result<Plan, ApiError> {
    let mut sides = Vec::new();
    for member in &card.members {
        sides.push(find::row(context.reader(), member)?);
    }
    // On a contested card without an active claim, the act makes one of them active again.
    if card.kind != CardKind::Contested || sides.iter().any(|row| row.status == Status::Active) {
        sides.retain(|row| row.status == Status::Active);
    }
    let judged = judged_compatible(card, &sides, &resolution.reason);
    let write_scope = WriteScope::at(&card.scope);
    let mut change = None;
    let mut warnings = Vec::new();
    let mut reinstates = None;
    let mut exception = None;
    let mut narrows = None;
    let (mut drafts, summary) = match resolution.act {
        CardAct::Supersede if resolution.merges() => {
            must_be_of_scope(card, "statement", &sides)?;
            must_be_allowed_to_replace(context, card, &sides)?;
            match merge(context, &write_scope, &sides, resolution)? {
                StoreResult::Drafts(drafts, summary, found) => {
                    warnings = found;
                    change = Some((sides, resolution.text.statement.clone().unwrap_or_default()));
                    (drafts, summary)
                }
                StoreResult::Refused(refused) => return Ok(answer(card, *refused)),
            }
        }
        CardAct::Supersede => {
            let (mut drafts, summary, losers, winner) = keep(card, &sides, resolution)?;
            must_be_of_scope(card, "winner", &losers)?;
            must_be_allowed_to_replace(context, card, &losers)?;
            if winner.status != Status::Active {
                let gone: Vec<ClaimId> = losers.iter().map(|row| row.id).collect();
                match reinstate::check(context, &winner, None, &gone)? {
                    Reinstatement::Refused(outcome) => return Ok(not_reinstated(card, *outcome)),
                    Reinstatement::Possible(found) => warnings = found,
                }
                reinstates = Some(winner.id);
                drafts.insert(0, reinstate::event(&winner, resolution.reason.clone()));
            }
            change = Some((losers, winner.statement));
            (drafts, summary)
        }
        CardAct::Retract => {
            let target = pick(card, "target", resolution.side("target")?, &sides)?;
            must_be_of_scope(card, "target", std::slice::from_ref(target))?;
            super::refused::must_be_allowed_to_retract(context, target)?;
            let summary = wording::summary("Retracted", &[&target.statement]);
            let notice = notice::of_retract(context, target);
            (std::iter::once(retract::event(target, resolution.reason.clone())).chain(notice).collect(), summary)
        }
        CardAct::Narrow => match narrow(context, card, &sides, resolution)? {
            StoreResult::Drafts(drafts, summary, found) => {
                warnings = found;
                let target = pick(card, "target", resolution.side("target")?, &sides)?;
                narrows = replaced_by_narrowing(card, target).1;
                (drafts, summary)
            }
            StoreResult::Refused(refused) => return Ok(answer(card, *refused)),
        },
        CardAct::Exception | CardAct::Dismiss => {
            super::refused::must_be_allowed_to_except(context, card, resolution.act)?;
            if resolution.act == CardAct::Exception {
                exception = match &resolution.target {
                    Some(target) => Some(pick(card, "target", target, &sides)?.id),
                    None => sides.iter().max_by_key(|row| row.clock).map(|row| row.id),
                };
            }
            let statements: Vec<&str> = sides.iter().map(|row| row.statement.as_str()).collect();
            let verb = if resolution.act == CardAct::Exception {
                "Kept both as an exception:"
            } else {
                "Dismissed, no contradiction:"
            };
            (
                keep_all_notice(context, &sides, resolution.act).into_iter().collect(),
                wording::summary(verb, &statements),
            )
        }
        CardAct::Yes | CardAct::No => return answered(context, card, resolution),
        CardAct::Discard | CardAct::Snooze => {
            return Err(ApiError::internal("internal error: a local act was routed to the shared log"));
        }
    };
    if let Some(claim) = narrows {
        drafts.push(narrowing(vec![Ref::Draft(0), Ref::Id(claim)], resolution, narrows));
    }
    drafts.push(record(card, resolution, exception));
    drafts.extend(judged);
    if card.kind == CardKind::Found {
        drafts.push(refuse::settled(card, resolution.act.as_str(), None, Some(resolution.reason.clone())));
    }
    Ok(Plan::Commit(Settling { drafts, summary, warnings, change, reinstates }))
}

/// Returns the judgement that claims of two projects are compatible, so that no device that has both opens a card about
/// them again.
fn judged_compatible(card: &CardRow, sides: &[ClaimRow], reason: &str) -> Option<EventDraft> {
    let existing = sides.iter().find(|row| row.scope == card.scope)?;
    let other = sides.iter().find(|row| !card.scope.takes(&row.scope))?;
    let words = |row: &ClaimRow| words_hash(row.kind, &row.statement, &row.qualifiers);
    let data = JudgementData::new(words(other), words(existing), None);
    let mut draft = EventDraft::new(EventKind::Judgement(PairVerdict::Compatible), [Ref::Id(existing.id)]);
    draft.body.data = serde_json::to_string(&data).ok();
    draft.body.reason = Some(reason.to_owned());
    Some(draft)
}

/// Plans the answer to a story card.
fn answered(context: &ActContext<'_>, card: &CardRow, resolution: &Resolution) -> Result<Plan, ApiError> {
    let Some((confusion, _)) = card.story else {
        return Err(ApiError::field("act", "this card asks no question: only a story card is answered with yes or no"));
    };
    let mut rows = Vec::new();
    for member in card.members.iter().rev() {
        rows.push(find::row(context.reader(), member)?);
    }
    let sides: Vec<StorySide<'_>> = rows.iter().map(StorySide::of).collect();
    let answer = yes_no::answer(confusion, &sides, resolution.act == CardAct::Yes);
    let summary = yes_no::sentence(&answer, &sides);
    let chosen = |ids: &[ClaimId]| rows.iter().filter(|row| ids.contains(&row.id)).cloned().collect::<Vec<_>>();
    let (mut warnings, mut reinstates) = (Vec::new(), None);
    let (mut drafts, act, change) = match &answer {
        StoryAnswer::Supersede(losers, winner) => {
            let losers = chosen(losers);
            must_be_allowed_to_replace(context, card, &losers)?;
            let stays = chosen(&[*winner]).first().map(|row| row.statement.clone()).unwrap_or_default();
            let draft = replaced_by(&losers, *winner, resolution.reason.clone());
            (vec![draft], ResolveAct::Supersede, Some((losers, stays)))
        }
        StoryAnswer::Retract(targets) => {
            let mut drafts = Vec::new();
            for target in chosen(targets) {
                super::refused::must_be_allowed_to_retract(context, &target)?;
                drafts.push(retract::event(&target, resolution.reason.clone()));
                drafts.extend(notice::of_retract(context, &target));
            }
            (drafts, ResolveAct::Retract, None)
        }
        StoryAnswer::Return(last, turn) => {
            let (last, turn) = (find::row(context.reader(), last)?, find::row(context.reader(), turn)?);
            super::refused::must_be_allowed_to_retract(context, &last)?;
            match reinstate::check(context, &turn, None, &[last.id])? {
                Reinstatement::Refused(outcome) => return Ok(not_reinstated(card, *outcome)),
                Reinstatement::Possible(found) => warnings = found,
            }
            reinstates = Some(turn.id);
            let mut drafts = vec![retract::event(&last, resolution.reason.clone())];
            drafts.extend(notice::of_retract(context, &last));
            drafts.push(reinstate::event(&turn, resolution.reason.clone()));
            (drafts, ResolveAct::Retract, None)
        }
        StoryAnswer::Confirm => {
            super::refused::must_be_allowed_to_except(context, card, CardAct::Dismiss)?;
            (keep_all_notice(context, &rows, CardAct::Dismiss).into_iter().collect(), ResolveAct::Dismiss, None)
        }
    };
    let mut record = on_record(card, act, None, &resolution.reason);
    if let Some((confusion, rule)) = card.story {
        let data = serde_json::json!({ "confusion": confusion, "rule": rule, "act": resolution.act.as_str() });
        record.body.data = Some(data.to_string());
    }
    drafts.push(record);
    Ok(Plan::Commit(Settling { drafts, summary, warnings, change, reinstates }))
}

/// Returns the notice about an agent that keeps all sides.
fn keep_all_notice(context: &ActContext<'_>, sides: &[ClaimRow], act: CardAct) -> Option<EventDraft> {
    let newest = sides.iter().max_by_key(|row| row.clock)?;
    let others = sides.iter().filter(|row| row.id != newest.id).map(|row| row.id);
    notice::of_card(context, Ref::Id(newest.id), others, act == CardAct::Dismiss)
}

/// The result of an act that stores a text.
enum StoreResult {
    Drafts(Vec<EventDraft>, String, Vec<Warning>),
    Refused(Box<Refused>),
}

/// Returns the events that keep one side, their summary, the replaced claims, and the kept claim.
fn keep(
    card: &CardRow,
    sides: &[ClaimRow],
    resolution: &Resolution,
) -> Result<(Vec<EventDraft>, String, Vec<ClaimRow>, ClaimRow), ApiError> {
    let winner = pick(card, "winner", resolution.side("winner")?, sides)?;
    let losers: Vec<ClaimRow> = sides.iter().filter(|row| row.id != winner.id).cloned().collect();
    if losers.is_empty() {
        return Err(ApiError::field("winner", "no other claim on this card is active: there is nothing to supersede"));
    }
    must_not_replace_guarded(winner.kind, &losers)?;
    let mut draft = replaced_by(&losers, winner.id, resolution.reason.clone());
    draft.seen = losers.iter().flat_map(|row| row.live_acts.iter().copied()).collect();
    let drafts = vec![draft];
    let summary = summary(&losers, winner);
    Ok((drafts, summary, losers, winner.clone()))
}

fn merge(
    context: &ActContext<'_>,
    write_scope: &WriteScope,
    sides: &[ClaimRow],
    resolution: &Resolution,
) -> Result<StoreResult, ApiError> {
    // Guarded kinds outrank facts, and among them the newest decides.
    let model = sides.iter().find(|row| row.kind.is_guarded()).or(sides.first());
    let model = model.ok_or_else(|| ApiError::field("act", "no claim on this card is active any more"))?;
    let premises = context.kept_premises(&write_scope.scope, sides.iter().flat_map(|side| &side.premises), sides)?;
    let model = resolution.merged_like(model, sides, &context.today);
    let mut claim = context.reword(&model, sides.to_vec(), premises, resolution.text.clone())?;
    validate::qualifiers(&claim.draft.qualifiers)?;
    claim.draft.source = None;
    let aside = claim.replaced();
    let old: Vec<&str> = claim.replaces.iter().map(|row| row.statement.as_str()).collect();
    let summary = wording::merged(&old, &claim.draft.statement);
    let kept = context.kept_conditions_warning(&claim);
    let mut result = store(context, write_scope, claim, &aside, summary)?;
    if let StoreResult::Drafts(_, _, warnings) = &mut result {
        warnings.extend(kept);
    }
    Ok(result)
}

fn narrow(
    context: &ActContext<'_>,
    card: &CardRow,
    sides: &[ClaimRow],
    resolution: &Resolution,
) -> Result<StoreResult, ApiError> {
    let target = pick(card, "target", resolution.side("target")?, sides)?;
    must_narrow(target, &resolution.text)?;
    must_be_allowed_to_replace(context, card, std::slice::from_ref(target))?;
    let (replaces, _) = replaced_by_narrowing(card, target);
    let premises = context.kept_premises(&card.scope, &target.premises, &replaces)?;
    let claim = context.reword(target, replaces, premises, resolution.narrowing())?;
    // The person declares that the sides hold together from now on.
    let aside: Vec<ClaimId> = sides.iter().map(|row| row.id).collect();
    let summary = resolution.narrowed(target);
    store(context, &WriteScope::at(&card.scope), claim, &aside, summary)
}

fn store(
    context: &ActContext<'_>,
    write_scope: &WriteScope,
    claim: NewClaim,
    aside: &[ClaimId],
    summary: String,
) -> Result<StoreResult, ApiError> {
    let judged = context.judge(&claim.incoming(write_scope, aside))?;
    if judged.blocks() {
        return Ok(StoreResult::Refused(Box::new(Refused {
            ways_on: wording::ways_to_settle(&judged.conflicts),
            conflicts: judged.conflicts,
            card_id: None,
            settled: None,
            unsettled: false,
            scope: write_scope.scope.clone(),
            may_only_propose: context.may_only_propose(),
        })));
    }
    let heads = context.fact_heads(write_scope, &claim)?;
    let mut drafts = claim.drafts(0, &heads);
    drafts.extend(notice::of_write(context, &judged, false));
    Ok(StoreResult::Drafts(drafts, summary, judged.warnings))
}

fn record(card: &CardRow, resolution: &Resolution, first: Option<ClaimId>) -> EventDraft {
    let act = match resolution.act {
        CardAct::Retract => ResolveAct::Retract,
        CardAct::Narrow => ResolveAct::Narrow,
        CardAct::Exception => ResolveAct::Exception,
        CardAct::Dismiss => ResolveAct::Dismiss,
        CardAct::Supersede | CardAct::Discard | CardAct::Snooze | CardAct::Yes | CardAct::No => ResolveAct::Supersede,
    };
    on_record(card, act, first, &resolution.reason)
}

/// Returns the answer if a claim of the card cannot be made active again.
fn not_reinstated(card: &CardRow, outcome: WriteOutcome) -> Plan {
    match outcome {
        WriteOutcome::Conflict(refused) => answer(card, refused),
        other => Plan::Answer(Box::new(other)),
    }
}

fn answer(card: &CardRow, mut refused: Refused) -> Plan {
    refused.card_id = Some(card.id);
    refused.unsettled = true;
    Plan::Answer(Box::new(WriteOutcome::Conflict(refused)))
}
