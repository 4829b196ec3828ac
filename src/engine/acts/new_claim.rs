//! Stores a new claim, whether from `remember`, `learn`, `supersede` with a text, or a card.

use std::collections::BTreeSet;

use super::{AnsweredQuestion, advice, notice, promote::promotion, refuse};
use crate::{
    api::{ApiError, Doubt, Stored, Warning, WriteOutcome},
    domain::{
        Body, ClaimId, ClaimKind, EventKind, Qualifiers, TextWriter, event::key_hash, judgement::words_hash,
        text::sanitize_line,
    },
    engine::{
        act_context::{ActContext, WriteScope},
        fact_key,
        guard_calls::{self, NormalisedStatement},
        guard_result::{GuardResult, IncomingClaim},
        validate, wording,
    },
    store::{ClaimRow, Committed, EventDraft, Ref},
};

/// The greatest number of projects that a warning names.
const MAX_NAMED_PROJECTS: usize = 5;

/// A claim that is about to be stored.
#[derive(Clone, Debug)]
pub(in crate::engine) struct NewClaim {
    pub(in crate::engine) draft: validate::ClaimDraft,
    pub(in crate::engine) normalised: NormalisedStatement,
    /// Active claims that the new one replaces.
    pub(in crate::engine) replaces: Vec<ClaimRow>,
    pub(in crate::engine) premises: Vec<ClaimId>,
    /// The active claims that the caller names as the rule to which it is an exception.
    pub(in crate::engine) rules: Vec<ClaimRow>,
    /// Why the new claim replaces the others, if that differs from its own reason.
    pub(in crate::engine) change_reason: Option<String>,
    /// Whether the writer can answer questions about claims that the new one may contradict.
    pub(in crate::engine) consider: bool,
    /// For a claim of the organisation's level: the claims of projects from which it was made.
    pub(in crate::engine) promotes: Vec<ClaimRow>,
    /// Who wrote the text, if the caller accepts it on the card of a refused or proposed write.
    pub(in crate::engine) text_writer: Option<TextWriter>,
}

impl NewClaim {
    pub(in crate::engine) fn incoming<'a>(
        &'a self,
        write_scope: &'a WriteScope,
        exclude: &'a [ClaimId],
    ) -> IncomingClaim<'a> {
        let (kind, statement) = (self.draft.kind, &self.draft.statement);
        let source = self.draft.source.as_deref();
        let (scope, normalised, consider) = (&write_scope.scope, &self.normalised, self.consider);
        IncomingClaim { scope, kind, statement, source, normalised, exclude, consider }
    }

    /// Returns the ids of the claims that the new one replaces.
    pub(in crate::engine) fn replaced(&self) -> Vec<ClaimId> {
        self.replaces.iter().map(|row| row.id).collect()
    }

    /// Returns the key of a fact: the given one, that of the only fact it replaces, or a derived one; `None` for
    /// guarded kinds.
    pub(in crate::engine) fn key(&self) -> Option<String> {
        if self.draft.kind.is_guarded() {
            return None;
        }
        let inherited = || match self.replaces.as_slice() {
            [only] if only.kind == ClaimKind::Fact => only.key.clone(),
            _ => None,
        };
        Some(
            self.draft
                .key
                .clone()
                .or_else(inherited)
                .unwrap_or_else(|| fact_key::derive(&self.draft.statement, &self.normalised.norms)),
        )
    }

    /// Returns the part of the claim's event that can be redacted.
    pub(in crate::engine) fn body(&self) -> Body {
        Body {
            statement: Some(self.draft.statement.clone()),
            reason: self.draft.reason.clone(),
            source: self.draft.source.clone(),
            norms: Some(self.normalised.norms.clone()),
            normaliser: Some(self.normalised.version.clone()),
            key: self.key(),
            qualifiers: (self.draft.qualifiers != Qualifiers::default()).then(|| self.draft.qualifiers.clone()),
            data: self.text_writer.as_ref().map(|writer| serde_json::json!({ "text_writer": writer }).to_string()),
            ..Body::default()
        }
    }

    /// Returns the events of the claim: first the claim itself, as draft `at` of the act, then its premises and what it
    /// promotes. `heads` are the present facts of its key.
    pub(in crate::engine) fn drafts(&self, at: usize, heads: &[ClaimId]) -> Vec<EventDraft> {
        let mut targets = self.replaced();
        targets.extend(heads.iter().filter(|head| !self.replaces.iter().any(|row| row.id == **head)));
        // An event has one reason. If the change has another reason than the claim, the change is an event of its own.
        let change = self.change_reason.as_ref().filter(|reason| {
            !self.replaces.is_empty() && self.draft.kind.is_guarded() && self.draft.reason.as_ref() != Some(*reason)
        });
        let kind = match (self.draft.kind.is_guarded(), self.replaces.is_empty()) {
            _ if change.is_some() => EventKind::Assert,
            (_, false) => EventKind::Supersede,
            (false, true) => EventKind::FactSet,
            (true, true) => EventKind::Assert,
        };
        let mut targets: Vec<Ref> = targets.into_iter().map(Ref::Id).collect();
        let replaced = if change.is_some() { std::mem::take(&mut targets) } else { Vec::new() };
        let mut claim = EventDraft::new(kind, targets);
        claim.claim_kind = Some(self.draft.kind);
        claim.body = self.body();
        let mut drafts = vec![claim];
        if let Some(reason) = change {
            let mut draft = EventDraft::new(EventKind::Supersede, replaced);
            draft.successor = Some(Ref::Draft(at));
            draft.body.reason = Some(reason.clone());
            drafts.push(draft);
        }
        if !self.premises.is_empty() {
            let targets = std::iter::once(Ref::Draft(at)).chain(self.premises.iter().copied().map(Ref::Id));
            drafts.push(EventDraft::new(EventKind::Depend, targets));
        }
        if !self.promotes.is_empty() {
            drafts.push(promotion(Ref::Draft(at), &self.promotes));
        }
        drafts
    }
}

impl ActContext<'_> {
    /// Normalises a text that is only known under the lock: the new claim of a card, narrowed or merged.
    pub(in crate::engine) fn normalise(
        &self,
        kind: ClaimKind,
        statement: &str,
        qualifiers: &Qualifiers,
    ) -> NormalisedStatement {
        guard_calls::normalise(&self.engine.guard, kind, statement, qualifiers)
    }

    /// Returns the active facts that a fact with this key replaces.
    pub(in crate::engine) fn fact_heads(
        &self,
        write_scope: &WriteScope,
        claim: &NewClaim,
    ) -> Result<Vec<ClaimId>, ApiError> {
        match claim.key() {
            Some(key) => {
                let heads = self.reader().fact_heads(&write_scope.scope, &key_hash(&key))?;
                Ok(heads.into_iter().map(|row| row.id).collect())
            }
            None => Ok(Vec::new()),
        }
    }

    /// Stores a claim unless it is stored already or the guard refuses it; a refusal opens a card. Every new claim is
    /// written by this function, except those that settle a card.
    pub(in crate::engine) fn store_claim(
        &mut self,
        write_scope: &WriteScope,
        claim: &NewClaim,
        dry_run: bool,
    ) -> Result<WriteOutcome, ApiError> {
        let replaced = claim.replaced();
        if let Some(id) = self.already_stored(write_scope, claim)? {
            return self.store_duplicate(write_scope, claim, id, dry_run);
        }
        if let Some(keyed) = self.replacing_fact_without_key(write_scope, claim)? {
            return self.store_claim(write_scope, &keyed, dry_run);
        }

        // The claims that the caller names as the rule oppose the new one by definition, so they are not compared.
        let named = if self.may_except() { claim.rules.iter().map(|row| row.id).collect() } else { Vec::new() };
        let mut judged = self.judge(&claim.incoming(write_scope, &union(&replaced, &named)))?;
        let words = words_hash(claim.draft.kind, &claim.draft.statement, &claim.draft.qualifiers);
        let same = self.apply_record(&write_scope.scope, words, &mut judged)?;
        if let Some(id) = same.filter(|id| !judged.blocks() && !replaced.contains(id)) {
            return self.store_duplicate(write_scope, claim, id, dry_run);
        }
        if let Some(answered) = &self.answered {
            judged.doubts.retain(|doubt| !answered.names(&doubt.row.id));
        }
        let heads = self.fact_heads(write_scope, claim)?;
        judged.doubts.retain(|doubt| !heads.contains(&doubt.row.id));
        let answered = self.answered.as_ref().is_some_and(AnsweredQuestion::is_judged);
        let excepts = claim.draft.exception.is_some();
        // A caller that names the rule asks for an exception to this rule only.
        let forced = judged.blocks() && excepts && self.may_except() && named.is_empty();
        let names_rule = claim.draft.kind.is_guarded() && !claim.rules.is_empty();
        let proposes = excepts && !self.may_except() && (judged.blocks() || names_rule);
        if (judged.blocks() && !forced) || proposes {
            if !dry_run {
                self.count(&judged, false);
            }
            if proposes {
                return self.propose_exception(write_scope, claim, judged, dry_run);
            }
            return self.refuse(write_scope, claim, judged, dry_run);
        }
        self.must_not_bring_back(write_scope, claim)?;
        if claim.consider && !excepts && !dry_run && judged.must_ask() {
            return self.hold(write_scope, claim, words, &judged);
        }
        let rules = match () {
            () if !excepts || !self.may_except() => Vec::new(),
            () if named.is_empty() => judged.opposed(),
            () => named.clone(),
        };
        let mut warnings: Vec<Warning> = write_scope.warning().into_iter().chain(judged.warnings.clone()).collect();
        warnings.extend(self.exception_warning(claim, &judged, &rules)?);
        warnings.extend(advice::on_statement(&claim.draft.statement));
        warnings.extend(self.kept_conditions_warning(claim));
        warnings.extend(self.expired_warning(&claim.draft.qualifiers));
        if dry_run {
            return Ok(WriteOutcome::Stored(Stored {
                // Nothing is stored, so there is no id: all zeros.
                claim_id: crate::domain::EventId([0; 32]),
                op_id: self.op,
                scope: write_scope.scope.clone(),
                duplicate: false,
                replayed: false,
                dry_run: true,
                superseded: replaced,
                warnings,
                doubts: judged.doubt_views(),
            }));
        }

        let mut drafts = claim.drafts(0, &heads);
        if !rules.is_empty() {
            let reason = claim.draft.exception.as_deref().unwrap_or_default();
            drafts.push(exception(Ref::Draft(0), &rules, reason));
            if !forced {
                drafts.extend(notice::of_card(self, Ref::Draft(0), rules.iter().copied(), false));
            }
        }
        // The exception settles the warning about the claim that became its rule.
        let settled = !forced && named.is_empty() && !rules.is_empty();
        if !settled {
            drafts.extend(notice::of_write(self, &judged, forced));
        }
        let act = if rules.is_empty() { claim_act(claim) } else { "exception" };
        if let Some(settled) = self.settle_refused_card(write_scope, claim, act)? {
            drafts.push(settled);
        }
        // If the same write waits for verdicts, this write settles its question, because the claim is now in force.
        if claim.draft.kind.is_guarded()
            && self.answered.is_none()
            && let Some(card) = self.held_card(&write_scope.scope, words)?
        {
            drafts.push(refuse::settled(&card, "store", Some(Ref::Draft(0)), claim.draft.reason.clone()));
        }
        let committed = self.commit(write_scope, drafts, act, summary(claim, !rules.is_empty()))?;
        if claim.draft.kind.is_guarded() {
            self.count(&judged, !rules.is_empty());
            if let Some(id) = committed.created.first() {
                self.engine.deepen_later(*id, claim.consider && !judged.model_failed, answered);
            }
        }
        warnings.extend(review_warning(&committed));
        warnings.extend(self.projects_warning(write_scope, &committed)?);
        warnings.extend(self.still_in_force(write_scope, &claim.replaces, &claim.draft.statement, &committed)?);
        let superseded = if claim.draft.kind.is_guarded() { replaced } else { union(&replaced, &heads) };
        let doubts = judged.doubt_views();
        stored(&committed, superseded, warnings, doubts)
    }

    /// Tells the writer what became of an exception. `rules` are the claims to which the claim is recorded as an
    /// exception.
    pub(super) fn exception_warning(
        &self,
        claim: &NewClaim,
        judged: &GuardResult,
        rules: &[ClaimId],
    ) -> Result<Option<Warning>, ApiError> {
        if claim.draft.exception.is_none() {
            return Ok(None);
        }
        let (message, about) = if let [first, ..] = rules {
            let first = crate::engine::find::row(self.reader(), first)?;
            let more = match rules.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let to = format!("{} ({}){more}", wording::quote(&first.statement), first.id.short());
            (format!("recorded as an exception to {to}, with the justification"), rules.to_vec())
        } else if !self.may_except() {
            (
                "stored as an ordinary claim: no contradicting claim was found, and agents may not record exceptions \
                here"
                    .into(),
                Vec::new(),
            )
        } else if !claim.rules.is_empty() {
            ("it is already recorded as an exception to this rule".to_owned(), Vec::new())
        } else {
            let message = "stored as an ordinary claim: no contradicting claim was found. If it is an exception, store \
                it again with `exception_to` and the id of its rule";
            (message.to_owned(), judged.nearest.clone())
        };
        let views = about.iter().map(|id| self.view(id)).collect::<Result<_, _>>()?;
        Ok(Some(Warning { claims: views, ..Warning::new(Warning::EXCEPTION, message) }))
    }

    /// Names the projects in which a claim of the organisation's level opened cards. The write itself is not refused
    /// because of claims of projects.
    fn projects_warning(&self, write_scope: &WriteScope, committed: &Committed) -> Result<Option<Warning>, ApiError> {
        if write_scope.scope.level().is_project() {
            return Ok(None);
        }
        let mut projects = BTreeSet::new();
        let mut cards = 0;
        for id in &committed.cards {
            let card = crate::engine::find::card_row(self.reader(), id)?;
            if card.open && card.scope != write_scope.scope {
                projects.insert(card.scope.project);
                cards += 1;
            }
        }
        let named: Vec<String> =
            projects.iter().take(MAX_NAMED_PROJECTS).map(|project| sanitize_line(project)).collect();
        let more = if projects.len() > MAX_NAMED_PROJECTS { ", …" } else { "" };
        let what = if cards == 1 { "a claim".to_owned() } else { format!("{cards} claims") };
        let message = format!(
            "it contradicts {what} of projects ({}{more}): a card was opened in each, and the claims stay active until it is settled",
            named.join(", ")
        );
        Ok((cards > 0).then(|| Warning::new("projects", message)))
    }

    /// Warns that the last day of a claim has passed.
    fn expired_warning(&self, qualifiers: &Qualifiers) -> Option<Warning> {
        let until = qualifiers.valid_until.as_deref().filter(|until| *until < self.today.as_str())?;
        Some(Warning::new(Warning::EXPIRED, format!("the claim has already expired: its last day was {until}")))
    }

    /// Whether the caller may store a claim that the guard blocks.
    pub(in crate::engine) fn may_except(&self) -> bool {
        !self.may_only_propose()
    }
}

/// Returns the event that records a claim as an exception to `rules`.
pub(in crate::engine) fn exception(claim: Ref, rules: &[ClaimId], justification: &str) -> EventDraft {
    let members = std::iter::once(claim).chain(rules.iter().copied().map(Ref::Id));
    let mut draft = EventDraft::new(EventKind::Resolve(crate::domain::ResolveAct::Exception), members);
    draft.body.reason = Some(justification.to_owned());
    draft
}

/// Warns about the claims that need review because of an act.
pub(in crate::engine) fn review_warning(committed: &Committed) -> Option<Warning> {
    let ids: Vec<String> = committed.needs_review.iter().take(5).map(|id| id.short()).collect();
    let count = committed.needs_review.len();
    let message = match count {
        0 => return None,
        1 => format!("claim {} depends on a claim that changed, and needs review", ids.join(", ")),
        _ => format!("{count} claims depend on a claim that changed, and need review: {}", ids.join(", ")),
    };
    Some(Warning::new("needs_review", message))
}

/// Returns the answer to a stored write.
pub(in crate::engine) fn stored(
    committed: &Committed,
    superseded: Vec<ClaimId>,
    warnings: Vec<Warning>,
    doubts: Vec<Doubt>,
) -> Result<WriteOutcome, ApiError> {
    let claim_id = committed
        .created
        .first()
        .copied()
        .ok_or_else(|| ApiError::internal("the store created no claim for this write"))?;
    Ok(WriteOutcome::Stored(Stored {
        claim_id,
        op_id: committed.op,
        scope: committed.scope.clone(),
        duplicate: false,
        replayed: committed.replayed,
        dry_run: false,
        superseded,
        warnings,
        doubts,
    }))
}

pub(super) fn claim_act(claim: &NewClaim) -> &'static str {
    if !claim.promotes.is_empty() {
        return "promote";
    }
    if claim.replaces.is_empty() { "remember" } else { "supersede" }
}

pub(super) fn summary(claim: &NewClaim, forced: bool) -> String {
    let new = wording::quote(&claim.draft.statement);
    let old: Vec<&str> = claim.replaces.iter().map(|row| row.statement.as_str()).collect();
    match (old.is_empty(), forced) {
        (true, false) if !claim.promotes.is_empty() => format!("Promoted {new}"),
        (true, false) => format!("Remembered {new}"),
        (true, true) => format!("Remembered {new} as an exception"),
        (false, false) => format!("{} by {new}", wording::summary("Superseded", &old)),
        (false, true) => format!("{} by {new}, as an exception", wording::summary("Superseded", &old)),
    }
}

fn union(a: &[ClaimId], b: &[ClaimId]) -> Vec<ClaimId> {
    let mut all = a.to_vec();
    all.extend(b.iter().filter(|id| !a.contains(id)));
    all
}
