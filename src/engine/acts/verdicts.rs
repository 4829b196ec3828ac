//! `judge`: verdicts on the claims that a held write may contradict.

mod consequence;
mod given;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    new_claim::NewClaim,
    promote::after_write,
    refuse,
    refused_write::{RefusedWrite, Rewording},
    replay,
};
use crate::{
    api::{ApiError, Caller, DoubtBand, ErrorCode, JudgeRequest, Stale, Warning, WriteOutcome},
    domain::{
        CardId, ClaimId, EventId, EventKind, Finding, GuardReport, PairVerdict, Status, Tier,
        derive::{CardKind, local},
        guard_report::{Confidence, Evidence, Relation, RuleId, Stage},
        judgement::JudgementData,
    },
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find, guard_calls,
        guard_result::IncomingClaim,
        model_results::ModelResults,
        question::{self, ClaimInDoubt, HeldQuestion, words_of},
        request_hash::request_hash,
        validate, view, wording,
    },
    store::{CardRow, ClaimRow, EventDraft, Reader, Ref},
};

use consequence::{Consequence, consequence};
use given::GivenVerdicts;

/// `POST /judge`.
pub(in crate::engine) fn judge(engine: &Engine, request: &JudgeRequest) -> Result<WriteOutcome, ApiError> {
    validate::actor(&request.caller)?;
    let given = GivenVerdicts::checked(request)?;
    let token = validate::id("token", &request.token)?;
    let results = ask_models(engine, &request.caller, &token).unwrap_or_default();
    let mut caller = request.caller.clone();
    if request.unanswered {
        // Whoever ends the wait, the claim is its writer's.
        let card = held_card(&engine.readers.lend(), &token)?;
        caller = Caller { op_id: caller.op_id, ..writer_of(&card) };
    }
    engine.act_with_models(&caller, request_hash("judge", request), results, |context| {
        if let Some(answer) = replay::write(context)? {
            return Ok(answer);
        }
        let card = held_card(context.reader(), &token)?;
        if !card.open {
            return answered_already(context, &card);
        }
        if request.unanswered && waits_until(context.reader(), &card)?.is_none() {
            return Err(ApiError::field("unanswered", "this write was stored and undone, so it waits for a person")
                .hint(format!("`ergo conflicts {}` shows it", card.id.short())));
        }
        let question = HeldQuestion::of(context.reader(), &card)?;
        let active = question.stored(context.reader())?.into_iter().filter(|one| one.row.status == Status::Active);
        let verdicts = given.by_claim(&question, &active.map(|one| one.row.id).collect())?;
        let id = card.id;
        let answer = context.answer(card, &question, verdicts, &given)?;
        // Removed last: after an invalid answer the writer may send another one, which needs the results.
        engine.held_results.remove(&id);
        Ok(answer)
    })
}

/// Stores one held write whose writer did not answer in time, with a card for a person, unless it is in `failed`. One
/// that cannot be stored is added there, with a warning in the log. Returns whether there was one.
pub(in crate::engine) fn store_unanswered(engine: &Engine, failed: &mut BTreeSet<CardId>) -> Result<bool, ApiError> {
    let now = (engine.config.clock)();
    let due = {
        let reader = engine.readers.lend();
        let mut waiting = question::held_cards(&reader, None)?.into_iter().filter(|card| !failed.contains(&card.id));
        waiting.find_map(|card| match waits_until(&reader, &card) {
            Ok(until) => until.is_some_and(|until| until <= now).then_some((card, Ok(()))),
            Err(error) => Some((card, Err(error))),
        })
    };
    let Some((card, read)) = due else { return Ok(false) };
    if let Err(error) = read.and_then(|()| store_held(engine, &card)) {
        tracing::warn!(card = %card.id.short(), %error, "a held write cannot be stored");
        failed.insert(card.id);
    }
    Ok(true)
}

/// Stores a held write without verdicts.
fn store_held(engine: &Engine, card: &CardRow) -> Result<(), ApiError> {
    let caller = writer_of(card);
    let results = ask_models(engine, &caller, &card.id.to_hex()).unwrap_or_else(|error| {
        tracing::warn!(card = %card.id.short(), %error, "a held write is judged by the rules alone");
        Vec::new()
    });
    let stored = engine.act_with_models(&caller, None, results, |context| {
        let row = find::card_row(context.reader(), &card.id)?;
        if !row.open {
            return Ok(None);
        }
        let question = HeldQuestion::of(context.reader(), &row)?;
        context.answer(row, &question, BTreeMap::new(), &GivenVerdicts::default()).map(Some)
    })?;
    engine.held_results.remove(&card.id);
    if let Some(stored) = stored {
        after_write(engine, &caller, stored);
    }
    Ok(())
}

/// Returns the writer of a held write as a caller in its scope.
fn writer_of(card: &CardRow) -> Caller {
    Caller {
        org_id: card.scope.org_id.clone(),
        project: card.scope.project.clone(),
        who: card.who.clone(),
        agent: card.agent.clone(),
        op_id: None,
        identity: None,
    }
}

/// Returns when the next held write must be stored, in milliseconds since the Unix epoch. One whose question cannot be
/// read is left out.
pub(in crate::engine) fn next_unanswered(engine: &Engine) -> Result<Option<u64>, ApiError> {
    let reader = engine.readers.lend();
    let mut next = None;
    for card in question::held_cards(&reader, None)? {
        if let Ok(Some(until)) = waits_until(&reader, &card) {
            next = Some(next.map_or(until, |known: u64| known.min(until)));
        }
    }
    Ok(next)
}

/// Returns the time until which a held write waits for its writer. `None` if its settlement was undone, since it then
/// waits for a person, and if it is redacted, since nothing can be stored.
fn waits_until(reader: &Reader, card: &CardRow) -> Result<Option<u64>, ApiError> {
    let new_claim = card.new_claim.map(|id| reader.new_claim(&id)).transpose()?.flatten();
    if new_claim.is_none_or(|row| row.flags.redacted) || reader.was_settled(card)? {
        return Ok(None);
    }
    Ok(Some(HeldQuestion::of(reader, card)?.until))
}

/// Returns the card of the held write with this token.
fn held_card(reader: &Reader, token: &str) -> Result<CardRow, ApiError> {
    let unknown = || {
        let hint = "send the `token` of the answer `consider`; `GET /questions` lists the writes that wait";
        let mut error =
            ApiError::not_found(format!("there is no held write with the token {}", find::named(token))).hint(hint);
        error.field = Some("token".to_owned());
        error
    };
    match find::card(reader, "token", token) {
        Ok(card) if card.kind == CardKind::Held => Ok(card),
        Ok(_) => Err(unknown()),
        Err(error) if error.code == ErrorCode::NotFound => Err(unknown()),
        Err(error) => Err(error),
    }
}

/// Returns the answer if the question was answered before: what came of it.
pub(super) fn answered_already(context: &ActContext<'_>, card: &CardRow) -> Result<WriteOutcome, ApiError> {
    let claim = find::stored_as(context.reader(), card)?;
    let became = match &claim {
        Some(row) => format!("{} is stored as claim {}", wording::quote(&row.statement), row.id.short()),
        None => "the write was not stored".to_owned(),
    };
    let message = match &card.settled {
        Some(by) => {
            let who = by.agent.as_deref().unwrap_or(&by.who);
            format!("this question was already answered by {who} ({}): {became}; nothing was done", by.act)
        }
        None => format!("this question is no longer open: {became}; nothing was done"),
    };
    Ok(WriteOutcome::Stale(Stale {
        message,
        claim: claim.map(|row| Box::new(view::claim(row, &context.today))),
        heads: Vec::new(),
        card: Some(Box::new(context.card_view(&card.id)?)),
        can_reinstate: false,
    }))
}

/// Asks the models about a held write before the lock is taken, or returns their results from the time when it was
/// held, if they are still in memory. Claims stored since then are compared by the rules, and by the models in the
/// background. Asks nothing if the act is a retry.
fn ask_models(engine: &Engine, caller: &Caller, token: &str) -> Result<Vec<ModelResults>, ApiError> {
    let (scope, row) = {
        let reader = engine.readers.lend();
        if caller.op_id.is_some_and(|op| reader.op(&op).is_ok_and(|events| !events.is_empty())) {
            return Ok(Vec::new());
        }
        let card = find::card(&reader, "token", token)?;
        if let Some(results) = engine.held_results.get(&card.id) {
            return Ok(vec![results]);
        }
        let row = card.new_claim.map(|id| reader.new_claim(&id)).transpose()?.flatten();
        (card.scope, row)
    };
    let Some(row) = row else { return Ok(Vec::new()) };
    let normalised = guard_calls::normalise(&engine.guard, row.kind, &row.statement, &row.qualifiers);
    Ok(vec![engine.ask_models(&IncomingClaim {
        scope: &scope,
        kind: row.kind,
        statement: &row.statement,
        source: row.source.as_deref(),
        normalised: &normalised,
        exclude: &[],
        consider: false,
    })])
}

/// An answered question: the events that it adds to the act that follows from it.
pub(in crate::engine) struct AnsweredQuestion {
    card: CardRow,
    verdicts: BTreeMap<ClaimId, PairVerdict>,
    /// The claims that a person is asked about, each by a card with this sentence.
    unjudged: Vec<(ClaimId, String)>,
    /// The hash of the words of each claim in question.
    words: BTreeMap<ClaimId, EventId>,
    /// The hash of the words of the held write.
    new: EventId,
    source: Option<String>,
    because: Option<String>,
    model: Option<String>,
    /// The outcome in the event that settles the card.
    outcome: &'static str,
    /// The stored claim that the held write was found to repeat.
    pub(in crate::engine) became: Option<ClaimId>,
}

impl AnsweredQuestion {
    /// Whether a claim was part of the question.
    pub(in crate::engine) fn names(&self, id: &ClaimId) -> bool {
        self.words.contains_key(id)
    }

    /// Whether the answer opens a card about a claim.
    pub(in crate::engine) fn opens_card_about(&self, id: &ClaimId) -> bool {
        self.unjudged.iter().any(|(claim, _)| claim == id)
    }

    pub(in crate::engine) fn is_judged(&self) -> bool {
        !self.verdicts.is_empty()
    }

    /// Returns the events of the answer. `stores`: the first draft of the act is the claim that is stored.
    pub(in crate::engine) fn drafts(self, stores: bool) -> Vec<EventDraft> {
        let became = if stores { Some(Ref::Draft(0)) } else { self.became.map(Ref::Id) };
        let mut drafts = Vec::new();
        for (id, verdict) in &self.verdicts {
            let Some(existing) = self.words.get(id) else { continue };
            let new = became.filter(|new| *new != Ref::Id(*id));
            let mut draft = EventDraft::new(EventKind::Judgement(*verdict), new.into_iter().chain([Ref::Id(*id)]));
            draft.body.reason.clone_from(&self.because);
            draft.body.source.clone_from(&self.source);
            draft.body.data = serde_json::to_string(&JudgementData::new(self.new, *existing, self.model.clone())).ok();
            drafts.push(draft);
        }
        if stores {
            drafts.extend(self.unjudged.into_iter().map(|(claim, sentence)| unjudged_card(claim, sentence)));
        }
        drafts.push(refuse::settled(&self.card, self.outcome, became, self.because));
        drafts
    }
}

/// Opens a card for a person about a claim whose relation to the stored one has no verdict.
fn unjudged_card(claim: ClaimId, sentence: String) -> EventDraft {
    let evidence = Evidence {
        stage: Stage::Judge,
        rule: RuleId::Unanswered,
        relation: Relation::Uncertain,
        confidence: Confidence::Low,
        sentence,
        ..Evidence::default()
    };
    let finding = Finding { claim, tier: Tier::Warn, score: 0.0, evidence };
    let report = GuardReport { tier: Tier::Warn, findings: vec![finding], compared: 1, ..GuardReport::default() };
    let mut draft = EventDraft::new(EventKind::Local(local::FOUND.into()), [Ref::Draft(0), Ref::Id(claim)]);
    draft.body.data = Some(refuse::report_data(&report));
    draft
}

impl ActContext<'_> {
    fn answer(
        &mut self,
        card: CardRow,
        question: &HeldQuestion,
        mut verdicts: BTreeMap<ClaimId, PairVerdict>,
        given: &GivenVerdicts,
    ) -> Result<WriteOutcome, ApiError> {
        let write_scope = WriteScope::at(&card.scope);
        let held: RefusedWrite = self.refused_write(&card)?;
        let mut in_question = Vec::new();
        let mut words = BTreeMap::new();
        for ClaimInDoubt { row, band } in question.stored(self.reader())? {
            words.insert(row.id, words_of(&row));
            if row.status == Status::Active {
                // A project cannot replace a claim that holds in other projects too: the write contradicts it here.
                if row.scope != card.scope
                    && let Some(verdict @ PairVerdict::Replaces) = verdicts.get_mut(&row.id)
                {
                    *verdict = PairVerdict::Contradicts;
                }
                in_question.push((row, band));
            }
        }
        let of = |wanted: PairVerdict| -> Vec<ClaimRow> {
            let matching = in_question.iter().filter(|(row, _)| verdicts.get(&row.id) == Some(&wanted));
            matching.map(|(row, _)| row.clone()).collect()
        };
        let [contradicted, replaced, same] =
            [PairVerdict::Contradicts, PairVerdict::Replaces, PairVerdict::Same].map(of);
        let persons_claim =
            replaced.iter().find(|row| row.agent.is_none()).filter(|_| self.may_only_propose()).cloned();
        let in_force = in_question.iter().filter_map(|(row, _)| verdicts.get(&row.id).copied());
        let consequence = consequence(in_force, persons_claim.is_some());

        let mut replaces = held.wanted();
        replaces.extend(replaced.iter().filter(|row| !held.proposal.supersedes.contains(&row.id)).cloned());
        let change_reason = given.because.clone().filter(|_| !replaced.is_empty());
        let claim = self.claim_from_refused(&held, replaces, Rewording { change_reason, ..Rewording::default() })?;
        let unanswered = verdicts.is_empty();
        let asked = in_question.iter().filter(|(_, band)| unanswered && *band == DoubtBand::Ask);
        let not_judged =
            |row: &ClaimRow| format!("Not judged yet: this may contradict {}.", wording::quote(&row.statement));
        let mut unjudged: Vec<(ClaimId, String)> = asked.map(|(row, _)| (row.id, not_judged(row))).collect();
        let judged: Vec<ClaimId> = verdicts.keys().copied().chain(claim.replaced()).collect();
        let meanwhile = self.replaced_meanwhile(&held, &judged)?;
        let mut warnings = Vec::new();
        for (target, now) in meanwhile {
            let message = format!(
                "stored beside claim {}, which replaced {}, the claim that this was to replace; a person is asked \
                    about both",
                now.id.short(),
                target.short(),
            );
            warnings.push(Warning::new("target_replaced", message));
            unjudged.retain(|(claim, _)| *claim != now.id);
            unjudged.push((now.id, format!("Both were written to replace claim {}.", target.short())));
        }
        let mut on_record = verdicts.clone();
        if consequence == Consequence::Propose {
            // A person decides, so until then no verdict `replaces` is recorded.
            on_record.retain(|_, verdict| *verdict != PairVerdict::Replaces);
        }
        self.answered = Some(AnsweredQuestion {
            unjudged,
            words,
            new: words_of(&held.row),
            source: held.row.source.clone(),
            because: given.because.clone(),
            model: given.model.clone(),
            outcome: match consequence {
                _ if unanswered => "unanswered",
                Consequence::Refuse => PairVerdict::Contradicts.as_str(),
                Consequence::Observe => PairVerdict::Same.as_str(),
                Consequence::Propose => "proposed",
                Consequence::Store if replaced.is_empty() => PairVerdict::Compatible.as_str(),
                Consequence::Store => PairVerdict::Replaces.as_str(),
            },
            verdicts: on_record,
            became: None,
            card,
        });
        let because = given.because.as_deref();
        match (consequence, same.first(), persons_claim) {
            (Consequence::Refuse, ..) => self.refuse_by(&write_scope, &claim, &contradicted, because),
            (Consequence::Propose, _, Some(theirs)) => self.propose_to_replace(&write_scope, &claim, &theirs, because),
            (Consequence::Observe, Some(same), _) => self.store_duplicate(&write_scope, &claim, same.id, false),
            _ => {
                if unanswered {
                    let message =
                        "stored without an answer: a person is asked how it relates to the claims in question";
                    warnings.push(Warning::new("unanswered", message));
                }
                let mut outcome = self.store_claim(&write_scope, &claim, false)?;
                if let WriteOutcome::Stored(stored) = &mut outcome {
                    stored.warnings.append(&mut warnings);
                }
                Ok(outcome)
            }
        }
    }

    /// Returns the claims that replaced a claim which the held write was to replace, each with that one, except those in
    /// `judged`.
    fn replaced_meanwhile(
        &self,
        held: &RefusedWrite,
        judged: &[ClaimId],
    ) -> Result<Vec<(ClaimId, ClaimRow)>, ApiError> {
        let mut found: Vec<(ClaimId, ClaimRow)> = Vec::new();
        for target in &held.proposal.supersedes {
            for now in self.reader().heads(target)? {
                let is_new = now.id != *target && !judged.contains(&now.id);
                if is_new && found.iter().all(|(_, known)| known.id != now.id) {
                    found.push((*target, now));
                }
            }
        }
        Ok(found)
    }

    /// Refuses a write that contradicts other claims by its judge's verdict, as the guard would.
    fn refuse_by(
        &mut self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        contradicted: &[ClaimRow],
        because: Option<&str>,
    ) -> Result<WriteOutcome, ApiError> {
        let mut judged = self.judge(&claim.incoming(write_scope, &claim.replaced()))?;
        let by = self.actor.agent.clone().unwrap_or_else(|| self.actor.who.clone());
        for row in contradicted {
            judged.refuse_by_verdict(row, self.view(&row.id)?, &by, because);
        }
        self.count(&judged, false);
        self.refuse(write_scope, claim, judged, false)
    }
}

#[cfg(test)]
mod tests;
