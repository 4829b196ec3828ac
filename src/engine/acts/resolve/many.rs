//! `resolve` for several cards in one act, and so with one undo. Each card is planned separately, then all plans are
//! committed at once. If the plan of one card affects another card, the other one stays open and is reported.

use std::collections::HashSet;

use super::{Plan, Resolution, Settling, ask_models, plan};
use crate::{
    api::{
        ApiError, CardAct, CardKind, CardRef, CardSide, CardView, ErrorCode, Keep, MAX_CARDS, ResolveManyRequest,
        ResolveRequest, ResolvedCard, ResolvedMany, Warning, WriteOutcome,
    },
    domain::{
        CardId, ClaimId, EventKind, Norm, Qualifiers, Scope, Status,
        derive::local,
        drift::without_line,
        guard_report::{ComparedClaim, PairCheck},
    },
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find,
        request_hash::request_hash,
        validate, wording,
    },
    guard::StructuralPairCheck,
    store::{CardRow, ClaimRow, EventDraft, Ref},
};

/// `POST /conflicts/resolve`.
pub(in crate::engine) fn resolve_many(engine: &Engine, request: &ResolveManyRequest) -> Result<ResolvedMany, ApiError> {
    checked(request)?;
    let mut model_results = Vec::new();
    for card in &request.cards {
        // An error here occurs again under the lock, where it is reported with its card.
        if let Ok((id, resolution)) = resolution_before_lock(engine, request, card) {
            model_results.extend(ask_models(engine, &request.caller, &id, &resolution).unwrap_or_default());
        }
    }
    engine.act_with_models(&request.caller, request_hash("resolve_many", request), model_results, |context| {
        if context.done_before()?.is_empty() { Batch::new(context, request)?.run() } else { replayed(context, request) }
    })
}

fn checked(request: &ResolveManyRequest) -> Result<(), ApiError> {
    if request.cards.is_empty() || request.cards.len() > MAX_CARDS {
        return Err(ApiError::field("cards", format!("{} cards: expected 1 to {MAX_CARDS}", request.cards.len())));
    }
    match (request.act, &request.keep) {
        (CardAct::Supersede, None) => Err(ApiError::field("keep", "`supersede` needs `keep`: which side to keep")
            .hint("`first` (the new claim), `second` (the existing claim), or the claims of a `source` or `writer`")),
        (CardAct::Retract | CardAct::Narrow | CardAct::Yes | CardAct::No, _) => Err(ApiError::field(
            "act",
            format!("{} needs different details for each card: settle the cards one by one", request.act.as_str()),
        )),
        _ => Ok(()),
    }
}

/// Returns a card and its resolution as they are now, to ask the models before the lock is taken.
fn resolution_before_lock(
    engine: &Engine,
    request: &ResolveManyRequest,
    card: &CardRef,
) -> Result<(String, Resolution), ApiError> {
    let view = engine.card(&card.id)?;
    Ok((view.summary.id.to_hex(), resolution(request, &view)?))
}

/// Returns the resolution of one card: the side to keep, and the reason if one is known.
fn resolution(request: &ResolveManyRequest, card: &CardView) -> Result<Resolution, ApiError> {
    let stays = match &request.keep {
        Some(keep) if request.act == CardAct::Supersede => Some(side(card, keep)?),
        _ => None,
    };
    let known = || match stays {
        Some(stays) => stays.claim.own_reason().map(str::to_owned),
        None => card.acts.iter().find(|option| option.act == request.act).and_then(|option| option.prefill.clone()),
    };
    let given = Some(request.reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let reason = given.or_else(known).unwrap_or_default();
    if reason.is_empty() && request.act != CardAct::Snooze {
        return Err(ApiError::field("reason", "no reason is known for this card: give one"));
    }
    Resolution::checked(&ResolveRequest {
        caller: request.caller.clone(),
        act: request.act,
        reason,
        winner: stays.map(|side| side.claim.id.to_hex()),
        target: None,
        statement: None,
        qualifiers: Qualifiers::default(),
        drop_conditions: false,
        until: request.until,
        expect_rev: None,
    })
}

/// Returns the side to keep.
fn side<'a>(card: &'a CardView, keep: &Keep) -> Result<&'a CardSide, ApiError> {
    let (mut fits, whose): (Vec<&CardSide>, String) = match keep {
        Keep::First => (card.sides.first().into_iter().collect(), "first".to_owned()),
        Keep::Second => (card.sides.get(1).into_iter().collect(), "second".to_owned()),
        Keep::Source(source) => {
            let fits =
                card.sides.iter().filter(|side| side.claim.source.as_deref().is_some_and(|own| is_from(own, source)));
            (fits.collect(), format!("from “{source}”"))
        }
        Keep::Writer(writer) => {
            // Claims that the writer wrote directly take precedence over those that an agent wrote for them.
            let own = |side: &&CardSide| side.claim.agent.as_deref().unwrap_or(&side.claim.who) == writer;
            let by = |side: &&CardSide| side.claim.who == *writer || own(side);
            let mut fits: Vec<&CardSide> = card.sides.iter().filter(own).collect();
            if fits.is_empty() {
                fits = card.sides.iter().filter(by).collect();
            }
            (fits, format!("by {writer}"))
        }
    };
    match (fits.pop(), fits.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => Err(ApiError::field("keep", format!("no claim on this card is {whose}"))),
        (Some(_), false) => Err(ApiError::field("keep", format!("more than one claim on this card is {whose}"))),
    }
}

/// Whether a source is the requested one: equal, or the same file with a line number.
fn is_from(own: &str, asked: &str) -> bool {
    own == asked || without_line(own) == asked
}

/// The result of planning one card.
struct PlannedCard {
    settled: bool,
    /// What is done, or why the card stays open, in one sentence.
    summary: String,
    warnings: Vec<Warning>,
}

impl PlannedCard {
    /// Returns the plan of a card that stays as it is.
    fn open(why: String) -> Self {
        Self { settled: false, summary: why, warnings: Vec::new() }
    }
}

/// The plans of several cards, collected into one act.
struct Batch<'a, 's> {
    context: &'a mut ActContext<'s>,
    request: &'a ResolveManyRequest,
    scope: Scope,
    drafts: Vec<EventDraft>,
    /// Claims that the plans so far replace or retract.
    inactive: HashSet<ClaimId>,
    /// Claims that the plans so far store.
    stored: Vec<EventDraft>,
    /// Claims that the plans so far make active again.
    reinstated: Vec<ClaimId>,
    /// For each card with a changed decision: the replaced claims, and the statement that replaces them.
    changes: Vec<(CardId, Vec<ClaimRow>, String)>,
}

impl<'a, 's> Batch<'a, 's> {
    fn new(context: &'a mut ActContext<'s>, request: &'a ResolveManyRequest) -> Result<Self, ApiError> {
        let first = request.cards.first().map_or("", |card| card.id.as_str());
        let scope = find::card(context.reader(), "cards", first)?.scope;
        Ok(Self {
            context,
            request,
            scope,
            drafts: Vec::new(),
            inactive: HashSet::new(),
            stored: Vec::new(),
            reinstated: Vec::new(),
            changes: Vec::new(),
        })
    }

    fn run(mut self) -> Result<ResolvedMany, ApiError> {
        let mut items: Vec<ResolvedCard> = Vec::new();
        for card in &self.request.cards {
            let row = find::card(self.context.reader(), "cards", &card.id)?;
            if !items.iter().any(|known| known.card == row.id) {
                items.push(self.plan_card(&row, card.expect_rev)?);
            }
        }
        let settled = items.iter().filter(|item| item.settled).count();
        let summary = summary(self.request, settled, items.len());
        let mut answer = ResolvedMany {
            op_id: self.context.op,
            scope: self.scope.clone(),
            summary: summary.clone(),
            items,
            needs_review: Vec::new(),
            dry_run: self.request.dry_run,
            replayed: false,
        };
        if !self.request.dry_run && !self.drafts.is_empty() {
            let write_scope = WriteScope::at(&self.scope);
            let committed = self.context.commit(&write_scope, self.drafts, "resolve", summary)?;
            for id in committed.created.iter().chain(&self.reinstated) {
                self.context.engine.deepen_later(*id, false, false);
            }
            for (card, old, new) in &self.changes {
                let found = self.context.still_in_force(&write_scope, old, new, &committed)?;
                if let Some(item) = answer.items.iter_mut().find(|item| item.card == *card) {
                    item.warnings.extend(found);
                }
            }
            answer.needs_review = committed.needs_review;
        }
        Ok(answer)
    }

    /// Plans one card. An error that a person can correct leaves the card as it is; an error of the store ends the act.
    fn plan_card(&mut self, row: &CardRow, rev: Option<u64>) -> Result<ResolvedCard, ApiError> {
        let view = self.context.card_view(&row.id)?;
        let planned = match self.try_plan(row, &view, rev) {
            Ok(planned) => planned,
            Err(error) if matches!(error.code, ErrorCode::Internal | ErrorCode::Unavailable) => return Err(error),
            Err(error) => PlannedCard::open(error.message),
        };
        let PlannedCard { settled, summary, warnings } = planned;
        Ok(ResolvedCard { card: row.id, headline: view.summary.headline, settled, summary, warnings })
    }

    /// Plans one card, and adds its events to the act if the card can be settled.
    fn try_plan(&mut self, row: &CardRow, view: &CardView, rev: Option<u64>) -> Result<PlannedCard, ApiError> {
        if row.scope != self.scope {
            return Ok(PlannedCard::open(format!(
                "skipped: it belongs to {}, and one request settles cards of one scope",
                row.scope
            )));
        }
        if let Some(lost) = view.sides.iter().map(|side| &side.claim.id).find(|id| self.inactive.contains(id)) {
            return Ok(self.already_changed(row, view, lost));
        }
        let resolution = resolution(self.request, view)?;
        let settling = match plan(self.context, row, &resolution, rev)? {
            Plan::Commit(settling) => settling,
            Plan::Answer(answer) => return Ok(PlannedCard::open(reason_left_open(&answer))),
        };
        if let Some(against) = self.conflicting_statement(&settling) {
            return Ok(PlannedCard::open(format!(
                "the guard refused it: it contradicts or repeats {against}, which another of these cards stores"
            )));
        }
        let Settling { drafts, summary, warnings, change, reinstates } = settling;
        self.add_drafts(drafts);
        self.reinstated.extend(reinstates);
        self.changes.extend(change.map(|(old, new)| (row.id, old, new)));
        Ok(PlannedCard { settled: true, summary, warnings })
    }

    /// Returns the result for a card one of whose claims an earlier plan replaced or retracted.
    fn already_changed(&self, row: &CardRow, view: &CardView, lost: &ClaimId) -> PlannedCard {
        let derived = row.kind == CardKind::Contradiction;
        let left = view
            .sides
            .iter()
            .filter(|side| side.claim.status == Status::Active && !self.inactive.contains(&side.claim.id))
            .count();
        if derived && left < 2 {
            let summary = "settled by the others: only one of its claims is still active".to_owned();
            return PlannedCard { settled: true, summary, warnings: Vec::new() };
        }
        PlannedCard::open(format!(
            "claim {} was replaced or retracted by another of these cards: look at this card again",
            lost.short()
        ))
    }

    /// Returns the statement, stored by an earlier plan, that a new plan contradicts or repeats.
    fn conflicting_statement(&self, settling: &Settling) -> Option<String> {
        let check = StructuralPairCheck;
        let now = self.context.now;
        let new: Vec<&EventDraft> = settling.drafts.iter().filter(|draft| stores(draft)).collect();
        let against = self.stored.iter().find(|earlier| {
            new.iter().any(|draft| {
                draft.body.statement == earlier.body.statement
                    || check.contradiction(compared_claim(draft, now), compared_claim(earlier, now)).is_some()
            })
        });
        against.and_then(|draft| draft.body.statement.as_deref()).map(wording::quote)
    }

    /// Adds the drafts of a plan to the act. References between them are shifted to their new positions.
    fn add_drafts(&mut self, drafts: Vec<EventDraft>) {
        let offset = self.drafts.len();
        let moved = |reference: Ref| match reference {
            Ref::Draft(at) => Ref::Draft(at + offset),
            Ref::Id(id) => Ref::Id(id),
        };
        for mut draft in drafts {
            draft.targets = draft.targets.into_iter().map(moved).collect();
            draft.successor = draft.successor.map(moved);
            if matches!(draft.kind, EventKind::Supersede | EventKind::Retract | EventKind::FactSet) {
                self.inactive.extend(draft.targets.iter().filter_map(|target| match target {
                    Ref::Id(id) => Some(*id),
                    Ref::Draft(_) => None,
                }));
            }
            if stores(&draft) {
                self.stored.push(draft.clone());
            }
            self.drafts.push(draft);
        }
    }
}

/// Whether a draft creates a claim.
fn stores(draft: &EventDraft) -> bool {
    let creates = matches!(draft.kind, EventKind::Assert | EventKind::FactSet | EventKind::Supersede);
    creates && draft.successor.is_none()
}

fn compared_claim(draft: &EventDraft, written: u64) -> ComparedClaim<'_> {
    let norms: &[Norm] = draft.body.norms.as_deref().unwrap_or_default();
    let statement = draft.body.statement.as_deref().unwrap_or_default();
    ComparedClaim { kind: draft.claim_kind.unwrap_or_default(), statement, norms, written }
}

/// Returns why a card stays as it is, from the answer that its plan gave.
fn reason_left_open(answer: &WriteOutcome) -> String {
    match answer {
        WriteOutcome::Stale(stale) => stale.message.clone(),
        WriteOutcome::Conflict(refused) => {
            let why = refused.conflicts.first().map(|conflict| conflict.evidence.sentence.trim());
            format!(
                "the guard refused it: {}",
                why.filter(|why| !why.is_empty()).unwrap_or("it contradicts an active claim")
            )
        }
        WriteOutcome::Done(done) => done.summary.clone(),
        WriteOutcome::Proposed(proposed) => proposed.summary.clone(),
        WriteOutcome::Stored(_) | WriteOutcome::Consider(_) => "nothing was done".to_owned(),
    }
}

fn summary(request: &ResolveManyRequest, settled: usize, of: usize) -> String {
    let verb = match (request.act, request.dry_run) {
        (CardAct::Snooze, false) => "Snoozed",
        (CardAct::Snooze, true) => "Would snooze",
        (_, false) => "Settled",
        (_, true) => "Would settle",
    };
    let cards = if of == 1 { "card" } else { "cards" };
    if settled == of { format!("{verb} {of} {cards}") } else { format!("{verb} {settled} of {of} {cards}") }
}

/// Returns the answer to a retry: the cards as they are now.
fn replayed(context: &ActContext<'_>, request: &ResolveManyRequest) -> Result<ResolvedMany, ApiError> {
    let events = context.done_before()?;
    let own = |kind: &EventKind| match kind {
        EventKind::Resolve(_) => true,
        EventKind::Local(kind) => [local::SETTLED, local::DISCARD, local::SNOOZE].contains(&kind.as_str()),
        _ => false,
    };
    let Some(first) = events.first().filter(|_| events.iter().any(|event| own(&event.kind))) else {
        return Err(ApiError::op_id_reused("this `op_id` was used for another request"));
    };
    let mut items = Vec::new();
    for card in &request.cards {
        let view = context.card_view(&find::card(context.reader(), "cards", &validate::id("cards", &card.id)?)?.id)?;
        if items.iter().any(|known: &ResolvedCard| known.card == view.summary.id) {
            continue;
        }
        let settled = view.summary.status != crate::api::CardStatus::Open;
        let summary = if settled { "done by the earlier request" } else { "left unchanged by the earlier request" };
        let (card, headline) = (view.summary.id, view.summary.headline);
        items.push(ResolvedCard { card, headline, settled, summary: summary.to_owned(), warnings: Vec::new() });
    }
    let settled = items.iter().filter(|item| item.settled).count();
    Ok(ResolvedMany {
        op_id: context.op,
        scope: first.scope.clone(),
        summary: format!(
            "Already done by an earlier request with this `op_id`: {}",
            summary(request, settled, items.len()).to_lowercase()
        ),
        items,
        needs_review: Vec::new(),
        dry_run: false,
        replayed: true,
    })
}

#[cfg(test)]
mod tests {
    use super::is_from;

    #[rstest::rstest]
    #[case("CLAUDE.md:31", "CLAUDE.md", true)]
    #[case("CLAUDE.md:31", "CLAUDE.md:31", true)]
    #[case("docs/CLAUDE.md:31", "CLAUDE.md", false)]
    #[case("https://a.example:8080", "https://a.example", true)]
    #[case("a talk", "a talk", true)]
    fn a_source_is_a_file_whatever_the_line(#[case] own: &str, #[case] asked: &str, #[case] is: bool) {
        assert_eq!(is_from(own, asked), is);
    }
}
