//! Settling the card of a refused write.

use super::{Order, Plan, Settling, local, pick};
use crate::{
    api::{ApiError, CardAct, ErrorCode, Refused, WriteOutcome},
    domain::{ClaimId, EventKind, ResolveAct},
    engine::{
        acts::{
            candidate::{Held, Text, must_narrow},
            hold,
            new_claim::NewClaim,
            notice,
            propose::needs_person,
            retract,
        },
        judged::Judged,
        session::{Place, Session},
        words,
    },
    store::{CardRow, ClaimRow, Draft, Ref},
};

pub(super) fn settle(session: &Session<'_>, card: &CardRow, order: &Order) -> Result<Plan, ApiError> {
    let held = session.held(card)?;
    match order.act {
        CardAct::Supersede if order.text.statement.is_some() => merge(session, card, order, &held),
        CardAct::Supersede => supersede(session, card, order, &held),
        CardAct::Retract => retract_side(session, card, order, &held),
        CardAct::Narrow => narrow(session, card, order, &held),
        CardAct::Exception | CardAct::Dismiss => keep_both(session, card, order, &held),
        CardAct::Discard | CardAct::Snooze => Err(ApiError::internal("a local act was sent the wrong way")),
    }
}

/// Refuses an agent that would let stand what the guard is against, where agents may only propose.
pub(super) fn must_be_excepted(session: &Session<'_>, act: CardAct) -> Result<(), ApiError> {
    if session.may_except() {
        return Ok(());
    }
    let what = if act == CardAct::Exception { "an exception" } else { "a dismissal" };
    Err(needs_person(format!("{what} needs a person here: agents may only propose"))
        .hint("it waits on its card; ask a person to run `ergo tui`"))
}

/// Refuses an agent that would retract a person's claim, where agents may only propose.
pub(super) fn must_be_allowed(session: &Session<'_>, claim: &ClaimRow) -> Result<(), ApiError> {
    if session.may_retract(claim) {
        return Ok(());
    }
    let id = claim.id.short();
    Err(needs_person(format!("claim {id} was written by a person, and agents may only propose to retract it here"))
        .hint(format!("propose it with `ergo retract {id}`, or leave the card to a person")))
}

/// The candidate replaces what opposes it; or it gives way, and is not stored.
fn supersede(session: &Session<'_>, card: &CardRow, order: &Order, held: &Held) -> Result<Plan, ApiError> {
    let mut sides = held.opposed.clone();
    sides.push(held.row.clone());
    // Where nothing is left that opposes it, there is only one side.
    let winner = match (&order.winner, held.opposed.is_empty()) {
        (None, true) => &held.row,
        _ => pick("winner", order.side("winner")?, &sides)?,
    };
    if winner.id != held.row.id {
        let summary =
            format!("{} stands; {} was dropped", words::quote(&winner.statement), words::quote(&held.row.statement));
        let draft = hold::settled(card, "supersede", None, Some(order.reason.clone()));
        return Ok(Settling::plan(vec![draft], summary));
    }
    let text = Text { change_reason: Some(order.reason.clone()), ..Text::default() };
    let claim = session.revive(held, held.opposed.clone(), text)?;
    store(session, card, order, claim, Extra::default())
}

/// A merged text replaces what opposed the candidate, and the candidate with it.
fn merge(session: &Session<'_>, card: &CardRow, order: &Order, held: &Held) -> Result<Plan, ApiError> {
    let mut model = held.row.clone();
    model.qualifiers = crate::domain::Qualifiers::default();
    let claim = session.reword(&model, held.opposed.clone(), Vec::new(), order.text.clone())?;
    store(session, card, order, claim, Extra::default())
}

/// What opposed it was never right, so the candidate is stored; or the candidate was, which drops it.
fn retract_side(session: &Session<'_>, card: &CardRow, order: &Order, held: &Held) -> Result<Plan, ApiError> {
    let mut sides = held.opposed.clone();
    sides.push(held.row.clone());
    let target = pick("target", order.side("target")?, &sides)?.clone();
    if target.id == held.row.id {
        return local::discard(session, card, order);
    }
    must_be_allowed(session, &target)?;
    let replaces = held.wanted().into_iter().filter(|row| row.id != target.id).collect();
    let claim = session.revive(held, replaces, Text::default())?;
    let extra = Extra {
        after: std::iter::once(retract::event(&target, order.reason.clone()))
            .chain(notice::of_retract(session, &target))
            .collect(),
        aside: vec![target.id],
        done: Some(words::summary("Retracted", &[&target.statement])),
        ..Extra::default()
    };
    store(session, card, order, claim, extra)
}

/// One side is qualified, so that both hold.
fn narrow(session: &Session<'_>, card: &CardRow, order: &Order, held: &Held) -> Result<Plan, ApiError> {
    let mut sides = held.opposed.clone();
    sides.push(held.row.clone());
    let target = pick("target", order.side("target")?, &sides)?.clone();
    must_narrow(&target, &order.text)?;
    let said = words::holds_only(&target.statement, &order.text.qualifiers);
    if target.id == held.row.id {
        let claim = session.revive(held, held.wanted(), order.narrowing())?;
        let aside = held.against();
        let members = std::iter::once(Ref::Draft(0)).chain(aside.iter().copied().map(Ref::Id));
        let after = vec![narrowing(members.collect(), order)];
        return store(session, card, order, claim, Extra { after, aside, whole: Some(said), ..Extra::default() });
    }
    // A person says that both hold now. What else is on the card must still fit beside the candidate.
    let place = Place::at(&card.scope);
    let narrowed = session.reword(&target, vec![target.clone()], Vec::new(), order.narrowing())?;
    let members: Vec<ClaimId> = held.opposed.iter().map(|row| row.id).collect();
    let judged = session.judge(&narrowed.incoming(&place, &members))?;
    if judged.blocks() {
        return Ok(refuse(card, judged));
    }
    let replaces = held.wanted().into_iter().filter(|row| row.id != target.id).collect();
    let claim = session.revive(held, replaces, Text::default())?;
    let narrowed_at = claim.drafts(0, &[]).len();
    let mut after = narrowed.drafts(narrowed_at, &[]);
    after.push(narrowing(vec![Ref::Draft(narrowed_at), Ref::Draft(0), Ref::Id(target.id)], order));
    let extra = Extra { after, aside: vec![target.id], done: Some(said), ..Extra::default() };
    store(session, card, order, claim, extra)
}

/// The event that says which claims hold side by side since one of them was narrowed.
fn narrowing(members: Vec<Ref>, order: &Order) -> Draft {
    let mut draft = Draft::new(EventKind::Resolve(ResolveAct::Narrow), members);
    draft.body.reason = Some(order.reason.clone());
    draft
}

/// Both stay: although they contradict each other, or since they do not.
fn keep_both(session: &Session<'_>, card: &CardRow, order: &Order, held: &Held) -> Result<Plan, ApiError> {
    let exception = order.act == CardAct::Exception;
    must_be_excepted(session, order.act)?;
    let claim = session.revive(held, held.wanted(), Text::default())?;
    let against = held.against();
    let mut extra = Extra { aside: against.clone(), ..Extra::default() };
    if !against.is_empty() {
        let act = if exception { ResolveAct::Exception } else { ResolveAct::Dismiss };
        let mut members: Vec<Ref> =
            std::iter::once(Ref::Draft(0)).chain(against.iter().copied().map(Ref::Id)).collect();
        // The exception stands first: the refused write, unless another side is named.
        if let Some(target) = order.target.as_ref().filter(|_| exception) {
            let mut sides = held.opposed.clone();
            sides.push(held.row.clone());
            let target = pick("target", target, &sides)?.id;
            let first = if target == held.row.id { Ref::Draft(0) } else { Ref::Id(target) };
            members.sort_by_key(|member| *member != first);
        }
        let mut draft = Draft::new(EventKind::Resolve(act), members);
        draft.body.reason = Some(order.reason.clone());
        extra.after.push(draft);
        extra.after.extend(notice::of_card(session, Ref::Draft(0), against, !exception));
    }
    store(session, card, order, claim, extra)
}

/// What goes with storing the candidate.
#[derive(Default)]
struct Extra {
    /// Events of the same act, after those of the claim.
    after: Vec<Draft>,
    /// Claims that this act settles, so that the guard does not ask about them again.
    aside: Vec<ClaimId>,
    /// What was done to the other side.
    done: Option<String>,
    /// What was done, where it says that the candidate is stored.
    whole: Option<String>,
}

/// Stores the candidate, in whatever form, and settles its card; the guard looks at it again.
fn store(
    session: &Session<'_>,
    card: &CardRow,
    order: &Order,
    claim: NewClaim,
    extra: Extra,
) -> Result<Plan, ApiError> {
    let place = Place::at(&card.scope);
    let mut exclude = claim.replaced();
    exclude.extend(&extra.aside);
    let judged = session.judge(&claim.incoming(&place, &exclude))?;
    if judged.blocks() {
        return Ok(refuse(card, judged));
    }
    let duplicate =
        session.reader().duplicate(&card.scope, claim.draft.kind, &claim.draft.statement, &claim.draft.qualifiers)?;
    if let Some(id) = duplicate.filter(|id| !exclude.contains(id)) {
        return Err(ApiError::new(
            ErrorCode::Stale,
            format!("claim {} says exactly this already and is active", id.short()),
        )
        .hint("discard the refused write: nothing is lost"));
    }
    let mut drafts = claim.drafts(0, &[]);
    drafts.extend(extra.after);
    drafts.extend(notice::of_write(session, &judged, false));
    drafts.push(hold::settled(card, order.act.as_str(), Some(Ref::Draft(0)), Some(order.reason.clone())));
    let summary = extra.whole.unwrap_or_else(|| told(order.act, &claim, extra.done));
    let new = claim.draft.statement.clone();
    Ok(Plan::Commit(Settling { drafts, summary, warnings: judged.warnings, change: Some((claim.replaces, new)) }))
}

fn told(act: CardAct, claim: &NewClaim, done: Option<String>) -> String {
    let new = words::quote(&claim.draft.statement);
    let old: Vec<&str> = claim.replaces.iter().map(|row: &ClaimRow| row.statement.as_str()).collect();
    let stored = match (act, old.is_empty()) {
        (CardAct::Exception, true) => format!("Stored {new} as an exception"),
        (CardAct::Dismiss, true) => format!("Stored {new}: no contradiction"),
        (_, true) => format!("Stored {new}"),
        (_, false) => format!("{} by {new}", words::summary("Superseded", &old)),
    };
    match done {
        Some(done) => format!("{done}. {stored}"),
        None => stored,
    }
}

fn refuse(card: &CardRow, judged: Judged) -> Plan {
    Plan::Answer(Box::new(WriteOutcome::Conflict(Refused {
        ways_on: words::ways_on(&judged.conflicts, false),
        conflicts: judged.conflicts,
        card_id: Some(card.id),
        scope: card.scope.clone(),
    })))
}
