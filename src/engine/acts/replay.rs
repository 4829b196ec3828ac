//! Answers a retry with a known `op_id` like the first request, and changes nothing.

use super::{propose::statements, settlement::named, verdicts};
use crate::{
    api::{ApiError, CardAct, Conflict, Done, Refused, Stored, WriteOutcome},
    domain::{
        CardId, ClaimId, EventKind, ResolveAct, Tier,
        derive::{self, CardKind, local},
    },
    engine::{act_context::ActContext, find, question, view, wording},
    store::{ClaimRow, EventRow, Reader},
};

/// Returns the answer to a retry of `remember`, `learn` or `supersede`; `None` if the `op_id` is new.
pub(super) fn write(context: &ActContext<'_>) -> Result<Option<WriteOutcome>, ApiError> {
    let events = context.done_before()?;
    let Some(first) = events.first() else { return Ok(None) };
    if let Some(made) = events.iter().find(|event| event.creates_claim()) {
        return Ok(Some(stored(context, &events, made, made.id)));
    }
    if let Some(made) = events.iter().find(|event| event.kind == EventKind::Supersede)
        && let Some(successor) = made.successor
    {
        return Ok(Some(stored(context, &events, made, successor)));
    }
    // The claim was already stored, and the act recorded only what the write added to it. Its first target is that
    // claim.
    if let Some(made) = events.iter().find(|event| adds_to_claim(event))
        && let Some(claim) = made.targets.first()
    {
        let mut answer = stored(context, &events, made, *claim);
        if let WriteOutcome::Stored(stored) = &mut answer {
            stored.duplicate = true;
        }
        return Ok(Some(answer));
    }
    let of_kind = |kind: &str| events.iter().find(|event| derive::is_local_kind(&event.kind, kind));
    if let Some(new_claim) = of_kind(local::REFUSED) {
        let id = new_claim.seen.first().copied().unwrap_or(new_claim.id);
        return refused(context, &id).map(Some);
    }
    if let Some(held) = of_kind(local::HELD) {
        let new_claim = held.seen.first().copied().unwrap_or(held.id);
        let card = find::card_row(context.reader(), &CardId::of_members(&[new_claim]))?;
        return if card.open {
            question::consider(context.reader(), &card, true).map(|consider| Some(WriteOutcome::Consider(consider)))
        } else {
            verdicts::answered_already(context, &card).map(Some)
        };
    }
    // The answer to a question, which may have recorded no verdict. Other cards are settled by other requests.
    if let Some(settled) = of_kind(local::SETTLED)
        && let Some(new_claim) = settled.targets.first()
        && let Some(card) = context.reader().card(&CardId::of_members(&[*new_claim]))?
        && card.kind == CardKind::Held
    {
        if let Some(same) = settled.successor {
            let mut answer = stored(context, &events, settled, same);
            if let WriteOutcome::Stored(stored) = &mut answer {
                stored.duplicate = true;
            }
            return Ok(Some(answer));
        }
        return verdicts::answered_already(context, &card).map(Some);
    }
    Err(other_act(first))
}

/// Returns the answer to a retry of any other act; `None` if the `op_id` is new.
pub(super) fn act(context: &ActContext<'_>) -> Result<Option<WriteOutcome>, ApiError> {
    let events = context.done_before()?;
    let Some(first) = events.first() else { return Ok(None) };
    if events.iter().any(|event| derive::is_local_kind(&event.kind, local::REFUSED)) {
        return Err(other_act(first));
    }
    if derive::is_local_kind(&first.kind, local::PROPOSED)
        && let Some(target) = first.targets.first()
        && let Some(claim) = context.reader().claim(target)?
    {
        return context.proposed(&claim, CardId::of_members(&[first.id]), true).map(Some);
    }
    let mut claims = Vec::new();
    for id in events.iter().flat_map(|event| &event.targets) {
        if let Some(row) = context.reader().claim(id)?
            && !claims.iter().any(|known: &crate::api::ClaimView| known.id == *id)
        {
            claims.push(view::claim(row, &context.today));
        }
    }
    Ok(Some(WriteOutcome::Done(Done {
        op_id: context.op,
        scope: first.scope.clone(),
        summary: format!(
            "Already done by an earlier request with this `op_id`: {}",
            describe(context.reader(), &events)?
        ),
        claim_id: events.iter().find(|event| event.creates_claim()).map(|event| event.id),
        claims,
        needs_review: Vec::new(),
        card_id: None,
        replayed: true,
        warnings: Vec::new(),
    })))
}

/// Describes an act in one sentence, from its events.
pub(in crate::engine) fn describe(reader: &Reader, events: &[EventRow]) -> Result<String, ApiError> {
    let cards = cards_settled(events);
    if cards > 1 {
        return Ok(format!("settled {cards} cards at once"));
    }
    if let Some(done) = let_both_hold(reader, events)? {
        return Ok(done);
    }
    let main = events.iter().min_by_key(|event| rank(&event.kind));
    let Some(event) = main else { return Ok("nothing".into()) };
    let own = event.body.as_ref().and_then(|body| body.statement.clone());
    let rows = claims(reader, event.targets.iter())?;
    let targets: Vec<&str> = rows.iter().map(|row| row.statement.as_str()).collect();
    Ok(match (&event.kind, own) {
        (EventKind::Supersede, own) => {
            let new = match (own, event.successor) {
                (Some(own), _) => Some(own),
                (None, Some(id)) => reader.claim(&id)?.map(|row| row.statement),
                (None, None) => None,
            };
            let by = new.map(|new| format!(" with {}", wording::quote(&new))).unwrap_or_default();
            format!("{}{by}", wording::summary("replaced", &targets))
        }
        (EventKind::Assert | EventKind::FactSet, own) => {
            let promoted = events.iter().any(|event| event.kind == EventKind::Promote);
            let verb = if promoted { "promoted" } else { "remembered" };
            format!("{verb} {}", wording::quote(&own.unwrap_or_default()))
        }
        (EventKind::Local(kind), Some(own)) if kind == local::REFUSED => {
            let proposed = super::propose::act_accepting_refusal(reader, event)?.is_some();
            format!("{} {}", if proposed { "proposed" } else { "refused" }, wording::quote(&own))
        }
        (EventKind::Local(kind), Some(own)) if kind == local::HELD => {
            format!("held {} until it was judged", wording::quote(&own))
        }
        (EventKind::Judgement(verdict), _) => wording::summary(&format!("judged as {verdict}:"), &targets),
        (EventKind::Retract, _) => {
            let promotions = match event.targets.first() {
                Some(claim) => reader.promoted_from(claim)?.promotions,
                None => 0,
            };
            wording::summary(if promotions > 0 { "demoted" } else { "retracted" }, &targets)
        }
        (EventKind::Reinstate, _) => wording::summary("reinstated", &targets),
        (EventKind::Depend, _) => match targets.split_first() {
            Some((claim, premises)) => {
                wording::summary(&format!("recorded that {} depends on", wording::quote(claim)), premises)
            }
            None => "recorded a claim's premises".into(),
        },
        (EventKind::Promote, _) => wording::summary("recorded projects that say the same as", &targets),
        (EventKind::Resolve(act), _) => {
            let verb = match act {
                ResolveAct::Supersede => "kept or merged one of",
                ResolveAct::Retract => "retracted one of",
                ResolveAct::Narrow => "narrowed one, so that both hold:",
                ResolveAct::Exception => "kept both as an exception:",
                ResolveAct::Dismiss => "dismissed the contradiction between",
                ResolveAct::Reviewed => "reviewed",
            };
            wording::summary(verb, &targets)
        }
        (kind, _) if derive::is_undo(kind) => "an undo".into(),
        (kind, _) if derive::is_redact(kind) => "redacted a text".into(),
        (kind, _) if derive::is_notice(kind) => wording::summary("noted for a person:", &targets),
        (EventKind::Local(kind), _) if kind == local::PROPOSED => wording::summary("proposed to retract", &targets),
        (EventKind::Local(kind), _) if kind == local::SEEN => "marked a notice as seen".into(),
        (EventKind::Local(kind), _) if kind == local::SNOOZE => {
            named(reader, "snoozed the card about", &event.targets)?
        }
        (EventKind::Local(kind), _) if kind == local::DISCARD => named(reader, "discarded", &event.targets)?,
        (EventKind::Local(kind), _) if kind == local::FOUND => "opened cards after an audit".into(),
        (EventKind::Local(kind), _) if kind == local::ASKED => "opened questions of the story".into(),
        (kind, _) if derive::is_chunk(kind) || derive::is_chunk_gone(kind) => "ingested a file".into(),
        (EventKind::Local(kind), _) if kind == local::EVIDENCE => "recorded why a write was refused".into(),
        (EventKind::Local(kind), _) if kind == local::SETTLED => {
            named(reader, "settled the card about", &event.targets)?
        }
        (kind, _) => kind.to_string(),
    })
}

/// Describes an act after which two claims hold side by side, including what it stored. `None` for any other act.
fn let_both_hold(reader: &Reader, events: &[EventRow]) -> Result<Option<String>, ApiError> {
    let settled = events.iter().find_map(|event| match &event.kind {
        EventKind::Resolve(act @ (ResolveAct::Narrow | ResolveAct::Exception | ResolveAct::Dismiss)) => {
            Some((*act, &event.targets))
        }
        _ => None,
    });
    let Some((act, targets)) = settled else { return Ok(None) };
    let made: Vec<ClaimRow> =
        claims(reader, events.iter().filter(|event| event.creates_claim()).map(|event| &event.id))?;
    let members = claims(reader, targets.iter())?;
    if act == ResolveAct::Narrow {
        let narrowed = made.iter().find(|row| !row.qualifiers.is_empty()).or(made.first());
        return Ok(narrowed.map(|row| {
            let to = row.qualifiers.holds().map(|holds| format!(" to {holds}")).unwrap_or_default();
            format!("narrowed {}{to}", wording::quote(&row.statement))
        }));
    }
    let statements: Vec<&str> = members.iter().map(|row| row.statement.as_str()).collect();
    let verb = match act {
        ResolveAct::Dismiss => "dismissed the contradiction between",
        _ => "kept both as an exception:",
    };
    let stored = made.first().map(|row| format!(", and stored {}", wording::quote(&row.statement))).unwrap_or_default();
    Ok(Some(format!("{}{stored}", wording::summary(verb, &statements))))
}

/// Returns the known claims among these ids.
fn claims<'a>(reader: &Reader, ids: impl Iterator<Item = &'a ClaimId>) -> Result<Vec<ClaimRow>, ApiError> {
    let mut found = Vec::new();
    for id in ids {
        found.extend(reader.claim(id)?);
    }
    Ok(found)
}

/// Returns how many cards an act settled, at least. Each card leaves one event in the log to which it belongs, and
/// possibly one in the other log.
pub(super) fn cards_settled(events: &[EventRow]) -> usize {
    let count = |of: fn(&EventKind) -> bool| events.iter().filter(|event| of(&event.kind)).count();
    let shared = count(|kind| matches!(kind, EventKind::Resolve(_)));
    let own = count(|kind| match kind {
        EventKind::Local(kind) => [local::SETTLED, local::DISCARD, local::SNOOZE].contains(&kind.as_str()),
        _ => false,
    });
    shared.max(own)
}

/// Orders the events of an act: the one with the lowest rank describes the act best.
fn rank(kind: &EventKind) -> u8 {
    match kind {
        EventKind::Supersede => 0,
        EventKind::Retract => 1,
        EventKind::Assert | EventKind::FactSet => 2,
        EventKind::Resolve(_) => 3,
        EventKind::Local(kind) if kind == local::REFUSED || kind == local::HELD => 4,
        EventKind::Local(_) => 6,
        _ => 5,
    }
}

/// Whether an event adds premises, rules or sightings to a claim.
fn adds_to_claim(event: &EventRow) -> bool {
    matches!(event.kind, EventKind::Promote | EventKind::Depend | EventKind::Resolve(ResolveAct::Exception))
}

fn stored(context: &ActContext<'_>, events: &[EventRow], made: &EventRow, claim: ClaimId) -> WriteOutcome {
    let superseded = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::Supersede | EventKind::FactSet))
        .flat_map(|event| event.targets.clone())
        .collect();
    WriteOutcome::Stored(Stored {
        claim_id: claim,
        op_id: context.op,
        scope: made.scope.clone(),
        duplicate: false,
        replayed: true,
        dry_run: false,
        superseded,
        warnings: Vec::new(),
        doubts: Vec::new(),
    })
}

fn refused(context: &ActContext<'_>, new_claim: &ClaimId) -> Result<WriteOutcome, ApiError> {
    let reader = context.reader();
    let card = find::card_row(reader, &CardId::of_members(&[*new_claim]))?;
    let mut settled = view::settlement(&card);
    if let Some(settled) = &mut settled {
        settled.stored_as = find::stored_as(reader, &card)?.map(|row| row.id);
    }
    let mut conflicts: Vec<Conflict> = Vec::new();
    for finding in card.report.findings {
        // A peer's claim may have left the log in the meantime.
        if let Some(row) = reader.claim(&finding.claim)? {
            conflicts.push(view::conflict(finding, view::claim(row, &context.today)));
        }
    }
    conflicts.sort_by_key(|conflict| conflict.tier != Tier::Block);
    let may_only_propose = context.may_only_propose();
    let rule = conflicts.first().map(|conflict| conflict.claim.id);
    let refused = WriteOutcome::Conflict(Refused {
        ways_on: wording::ways_on(&conflicts, may_only_propose),
        conflicts,
        card_id: Some(card.id),
        settled: settled.map(Box::new),
        unsettled: false,
        scope: card.scope,
        may_only_propose,
    });
    if !may_only_propose {
        return Ok(refused);
    }
    let intent = super::refuse::write_intent(reader, &card.id)?;
    let replaced = claims(reader, intent.supersedes.iter())?;
    let new = reader.new_claim(new_claim)?.map(|row| row.statement).unwrap_or_default();
    if let Some(theirs) = context.persons_decision(&replaced) {
        return context.kept_proposal(refused, (&new, &statements(&replaced)), theirs, CardAct::Supersede, true);
    }
    let Some(rule) = rule.filter(|_| intent.exception.is_some()) else { return Ok(refused) };
    let rule = find::row(reader, &rule)?;
    context.kept_proposal(refused, (&new, &[&rule.statement]), &rule, CardAct::Exception, true)
}

/// Returns the error if the `op_id` belongs to another kind of act, whose first event is `first`.
pub(super) fn other_act(first: &EventRow) -> ApiError {
    ApiError::op_id_reused(format!("this `op_id` was used for another request ({})", first.kind))
}
