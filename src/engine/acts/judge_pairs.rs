//! Verdicts on pairs of the queue of doubts: those of a person take effect, those of an agent or a model open cards.

use std::collections::BTreeSet;

use super::{found_cards::FoundPair, replay, supersede::replaced_by};
use crate::{
    api::{ApiError, JudgePairsRequest, JudgedPair, JudgedPairs, MAX_PAIRS, PairEffect},
    domain::{CardId, ClaimId, EventKind, PairVerdict, guard_report::Relation, judgement::JudgementData},
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        find,
        guard_result::judged_finding,
        question::words_of,
        request_hash::request_hash,
        validate, wording,
    },
    notes::sameness,
    store::{ClaimRow, DoubtRow, EventDraft, Lookup, Ref},
};

/// `POST /doubts`.
pub(in crate::engine) fn judge_pairs(engine: &Engine, request: &JudgePairsRequest) -> Result<JudgedPairs, ApiError> {
    validate::actor(&request.caller)?;
    let verdicts = checked(request)?;
    let model = validate::optional_name("model", request.model.as_deref())?;
    engine.act(&request.caller, request_hash("judge_pairs", request), |context| {
        if let Some(answer) = done_before(context)? {
            return Ok(answer);
        }
        context.judge_pairs(&verdicts, model.as_deref())
    })
}

/// One checked verdict of a request.
struct CheckedVerdict {
    pair: String,
    verdict: PairVerdict,
    because: Option<String>,
}

fn checked(request: &JudgePairsRequest) -> Result<Vec<CheckedVerdict>, ApiError> {
    if request.verdicts.is_empty() {
        return Err(ApiError::field("verdicts", "`verdicts` is empty").hint("`GET /doubts` lists the pairs that wait"));
    }
    if request.verdicts.len() > MAX_PAIRS {
        return Err(ApiError::field("verdicts", format!("at most {MAX_PAIRS} verdicts are taken at once")));
    }
    let shared = validate::optional("because", request.because.as_deref())?;
    let mut checked = Vec::with_capacity(request.verdicts.len());
    for verdict in &request.verdicts {
        let because = validate::optional("because", verdict.because.as_deref())?.or_else(|| shared.clone());
        if because.is_none() && request.caller.agent.is_some() {
            return Err(ApiError::field("because", "an agent's verdicts need a `because`")
                .hint("say why in one sentence; it stays on the record"));
        }
        checked.push(CheckedVerdict {
            pair: validate::id("verdicts", &verdict.pair)?,
            verdict: verdict.verdict,
            because,
        });
    }
    Ok(checked)
}

/// Returns the answer to a retry.
fn done_before(context: &ActContext<'_>) -> Result<Option<JudgedPairs>, ApiError> {
    let events = context.done_before()?;
    let Some(first) = events.first() else { return Ok(None) };
    if !events.iter().any(|event| matches!(event.kind, EventKind::Judgement(_))) {
        return Err(replay::other_act(first));
    }
    Ok(Some(JudgedPairs {
        op_id: context.op,
        scope: first.scope.clone(),
        summary: "Already judged by an earlier request with this `op_id`".to_owned(),
        pairs: Vec::new(),
        left: pairs_left(context, &first.scope)?,
        replayed: true,
    }))
}

/// Returns how many pairs of a scope still wait.
fn pairs_left(context: &ActContext<'_>, scope: &crate::domain::Scope) -> Result<usize, ApiError> {
    let queued = context.reader().doubts(Some(scope), 1)?;
    Ok(queued.scopes.iter().map(|(_, pairs)| pairs).sum())
}

impl ActContext<'_> {
    fn judge_pairs(&mut self, verdicts: &[CheckedVerdict], model: Option<&str>) -> Result<JudgedPairs, ApiError> {
        let mut scope = None;
        let mut drafts = Vec::new();
        let mut pairs: Vec<JudgedPair> = Vec::new();
        // Claims that an earlier verdict of this act replaces.
        let mut replaced: BTreeSet<ClaimId> = BTreeSet::new();
        for given in verdicts {
            let (id, waiting) = self.pair(&given.pair)?;
            if pairs.iter().any(|known| known.pair == id) {
                return Err(ApiError::field("verdicts", format!("pair {} has two verdicts", id.short()))
                    .hint("name each pair once"));
            }
            let waiting = waiting.filter(|row| !replaced.contains(&row.newer) && !replaced.contains(&row.older));
            let mut judged = JudgedPair { pair: id, verdict: given.verdict, effect: PairEffect::Stale, card_id: None };
            if let Some(row) = waiting {
                let scope = scope.get_or_insert_with(|| row.scope.clone());
                if *scope != row.scope {
                    let (short, theirs) = (id.short(), &row.scope);
                    return Err(ApiError::field(
                        "verdicts",
                        format!("pair {short} belongs to {theirs}, not to {scope}"),
                    )
                    .hint("send the verdicts on each scope in a request of their own"));
                }
                let (newer, older) = (find::row(self.reader(), &row.newer)?, find::row(self.reader(), &row.older)?);
                let (effect, gives_way) = self.judge_pair(given, &newer, &older, model, &mut drafts);
                judged.effect = effect;
                judged.card_id = (effect == PairEffect::Card).then_some(id);
                replaced.extend(gives_way);
            }
            pairs.push(judged);
        }
        let Some(scope) = scope else {
            let message = "none of these pairs waits any more; nothing was done";
            return Err(ApiError::new(crate::api::ErrorCode::Stale, message).hint("`GET /doubts` lists those that do"));
        };
        let summary = summary(&pairs);
        self.commit(&WriteScope::at(&scope), drafts, "judged", summary.clone())?;
        Ok(JudgedPairs { op_id: self.op, left: pairs_left(self, &scope)?, scope, summary, pairs, replayed: false })
    }

    /// Finds the pair with an id or prefix, and its row if the pair still waits.
    fn pair(&self, prefix: &str) -> Result<(CardId, Option<DoubtRow>), ApiError> {
        match self.reader().find_doubt(prefix)? {
            Lookup::One(row) => Ok((row.id, Some(row))),
            Lookup::Many(rows) => {
                let message = format!("{} fits more than one pair", find::named(prefix));
                let mut error = ApiError::field("verdicts", message).hint("give more digits of the id");
                error.candidates = rows.iter().map(|row| row.id.to_hex()).collect();
                Err(error)
            }
            Lookup::None => {
                // Another request may have judged the pair in the meantime.
                let known = self.reader().known_doubt(prefix)?;
                known.map(|id| (id, None)).ok_or_else(|| {
                    find::missing("verdicts", prefix, "pair to judge", "`ergo judge` shows the pairs to judge")
                })
            }
        }
    }

    /// Adds the events of one verdict. Returns its effect, and the claim that it replaces.
    fn judge_pair(
        &self,
        given: &CheckedVerdict,
        newer: &ClaimRow,
        older: &ClaimRow,
        model: Option<&str>,
        drafts: &mut Vec<EventDraft>,
    ) -> (PairEffect, Option<ClaimId>) {
        let by = self.actor.agent.clone().unwrap_or_else(|| self.actor.who.clone());
        let because = given.because.clone();
        // If the claims are of two projects, the judgement names the other project's claim by the hash of its words
        // only.
        let apart = newer.scope.is_apart_from(&older.scope);
        let older_id = Some(Ref::Id(older.id)).filter(|_| !apart);
        let targets = std::iter::once(Ref::Id(newer.id)).chain(older_id);
        let mut judgement = EventDraft::new(EventKind::Judgement(given.verdict), targets);
        // Nor does it quote that project: an agent's reason about two scopes stays on the card, which is on this device
        // only.
        let keeps_reason_local = newer.scope != older.scope && self.actor.agent.is_some();
        judgement.body.reason = because.clone().filter(|_| !keeps_reason_local);
        let data = JudgementData::new(words_of(newer), words_of(older), model.map(str::to_owned));
        judgement.body.data = serde_json::to_string(&data).ok();
        drafts.push(judgement);
        let reason = || because.clone().unwrap_or_else(|| format!("judged by {by} when comparing the two claims"));
        // A project does not change claims of its organisation, nor the other way round: a card says what a person can
        // do.
        let takes_effect = self.actor.agent.is_none() && newer.scope == older.scope;
        match given.verdict {
            PairVerdict::Compatible => (PairEffect::Kept, None),
            // Each project keeps its own words, and the two claims count as one insight from now on.
            PairVerdict::Same if apart => (PairEffect::Kept, None),
            PairVerdict::Replaces if takes_effect => {
                drafts.push(replaced_by(std::slice::from_ref(older), newer.id, reason()));
                (PairEffect::Replaced, Some(older.id))
            }
            PairVerdict::Same if takes_effect => {
                let reason = format!("it says the same as {}: {}", older.id.short(), reason());
                drafts.push(replaced_by(std::slice::from_ref(newer), older.id, reason));
                (PairEffect::Merged, Some(newer.id))
            }
            verdict => {
                let (reported, relation) = match verdict {
                    // A project cannot replace a claim of another project.
                    PairVerdict::Replaces if apart => (PairVerdict::Contradicts, Relation::Contradiction),
                    PairVerdict::Contradicts => (verdict, Relation::Contradiction),
                    verdict => (verdict, Relation::Uncertain),
                };
                let sentence = sentence(reported, &by, older, apart, because.as_deref());
                let mut finding = judged_finding(older.id, relation, sentence);
                if apart {
                    let sides = [newer, older].map(|row| (&*row.statement, &*row.norms));
                    sameness::describe_judged(&mut finding.evidence, sides[0], sides[1]);
                }
                drafts.push(FoundPair { ours: newer.clone(), theirs: older.clone(), finding }.draft());
                (PairEffect::Card, None)
            }
        }
    }
}

/// Returns the sentence on the card that a verdict opens.
fn sentence(verdict: PairVerdict, by: &str, older: &ClaimRow, apart: bool, because: Option<&str>) -> String {
    let old = if apart {
        format!("{} in {}", wording::quote(&older.statement), older.scope)
    } else {
        wording::quote(&older.statement)
    };
    let said = match verdict {
        PairVerdict::Contradicts => format!("{by} judged that it contradicts {old}"),
        PairVerdict::Replaces => format!("{by} proposes that it replaces {old}"),
        PairVerdict::Same => format!("{by} proposes to keep only one of both, since it says the same as {old}"),
        PairVerdict::Compatible => format!("{by} judged that it is compatible with {old}"),
    };
    wording::judgement(&said, because)
}

fn summary(pairs: &[JudgedPair]) -> String {
    let judged: Vec<&JudgedPair> = pairs.iter().filter(|pair| pair.effect != PairEffect::Stale).collect();
    let counted = PairVerdict::ALL.into_iter().filter_map(|verdict| {
        let many = judged.iter().filter(|pair| pair.verdict == verdict).count();
        (many > 0).then(|| if judged.len() == 1 { verdict.to_string() } else { format!("{many} {verdict}") })
    });
    let counted = counted.collect::<Vec<_>>().join(", ");
    match judged.len() {
        1 => format!("Judged a pair of claims: {counted}"),
        many => format!("Judged {many} pairs of claims: {counted}"),
    }
}
