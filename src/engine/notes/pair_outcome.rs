//! Determines the relation of two claims of an organisation, from the rules, their vectors and the cross-encoder.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::{NotesBook, near_pairs::NearPair, reconcile::ReconcileBudget};
use crate::{
    api::{ApiError, DoubtBand},
    domain::{
        EventId, Finding, LinkKind, PairVerdict, Scope, Tier,
        guard_report::{Evidence, Relation},
    },
    engine::{
        Engine,
        acts::found_cards::FoundPair,
        guard_calls,
        guard_result::{judged_finding, normed_claim},
        wording::quote,
    },
    guard::{CrossEncoder, Inference, JudgeContext, NormedClaim, PairScores, ParsedClaim, Ruling},
    notes::{
        sameness::{self, Entailment, differs_in_part, is_same, may_be_same},
        stated_part::{OneSidedPart, one_sided_part},
    },
    store::{ClaimRow, JudgedWords},
};

/// The relation of a pair.
pub(super) enum PairOutcome {
    /// Both say the same.
    Same,
    /// One claim is linked to the other: if `true`, the first to the second, otherwise the reverse.
    Link(LinkKind, bool),
    /// The claims exclude each other, at least in part.
    Contradiction(Box<FoundPair>),
    /// None of the stages decides.
    Undecided,
}

/// A compared pair.
pub(super) struct ComparedPair {
    pub(super) pair: NearPair,
    pub(super) inference: Option<Inference>,
    pub(super) outcome: PairOutcome,
}

/// The cross-encoder with the threshold shift of each scope, computed when needed.
#[derive(Default)]
pub(super) struct ScopeCrossEncoders(HashMap<Scope, CrossEncoder>);

impl ScopeCrossEncoders {
    fn of(&mut self, engine: &Engine, scope: &Scope) -> Result<CrossEncoder, ApiError> {
        if let Some(known) = self.0.get(scope) {
            return Ok(*known);
        }
        let cross_encoder = engine.cross_encoder_in(&engine.readers.lend(), scope)?;
        self.0.insert(scope.clone(), cross_encoder);
        Ok(cross_encoder)
    }
}

/// A pair in the form that the guard compares.
struct GuardedPair<'a> {
    newer: &'a ClaimRow,
    older: &'a ClaimRow,
    ours: Arc<ParsedClaim>,
    theirs: [Arc<ParsedClaim>; 1],
    scores: [PairScores; 1],
    today: String,
    cross_encoder: CrossEncoder,
}

impl Engine {
    /// Determines the relation of a pair.
    pub(super) fn pair_outcome(
        &self,
        book: &NotesBook,
        pair: &NearPair,
        inference: Option<Inference>,
        budget: &ReconcileBudget,
        cross_encoders: &mut ScopeCrossEncoders,
    ) -> Result<PairOutcome, ApiError> {
        let (one, other) = (&book.claims[pair.one], &book.claims[pair.other]);
        let same = budget.thresholds(one, other, pair.mutual);
        let normed = |at: usize| (&*book.claims[at].statement, &*book.rows[at].norms);
        // In `forward`, the stored statement came first.
        let entailment = inference.map(|inference| Entailment::of(inference.backward, inference.forward));
        if let Some(entailment) = entailment
            && is_same(normed(pair.one), normed(pair.other), pair.cosine, entailment, same)
        {
            return Ok(PairOutcome::Same);
        }
        let (newer, older) = if (one.first, one.id) >= (other.first, other.id) {
            (pair.one, pair.other)
        } else {
            (pair.other, pair.one)
        };
        let (newer, older) = (&book.rows[newer], &book.rows[older]);
        let cross_encoder = cross_encoders.of(self, &newer.scope)?;
        if let Some(guarded) = Self::guarded_pair(newer, older, (pair.cosine, inference), book.now, cross_encoder)
            && let Some(finding) = self.exclusion(&guarded)
        {
            let (ours, theirs) = (newer.clone(), older.clone());
            return Ok(PairOutcome::Contradiction(Box::new(FoundPair { ours, theirs, finding })));
        }
        let polar = may_be_same(normed(pair.one), normed(pair.other), 1.0, same);
        Ok(match entailment {
            Some(entailment) if polar && entailment.refines() => PairOutcome::Link(link_of(&one.statement), true),
            Some(Entailment { forward, backward })
                if polar && (Entailment { forward: backward, backward: forward }).refines() =>
            {
                PairOutcome::Link(link_of(&other.statement), false)
            }
            _ => PairOutcome::Undecided,
        })
    }

    fn guarded_pair<'a>(
        newer: &'a ClaimRow,
        older: &'a ClaimRow,
        (cosine, inference): (f32, Option<Inference>),
        now: u64,
        cross_encoder: CrossEncoder,
    ) -> Option<GuardedPair<'a>> {
        let parse = |row| guard_calls::parse(normed_claim(row)).ok();
        Some(GuardedPair {
            newer,
            older,
            ours: parse(newer)?,
            theirs: [parse(older)?],
            scores: [scores(cosine, inference)],
            today: guard_calls::day(now),
            cross_encoder,
        })
    }

    /// Returns how two claims exclude each other: as the guard finds, or, if they are of two projects, in a part of
    /// what they say.
    fn exclusion(&self, pair: &GuardedPair<'_>) -> Option<Finding> {
        let rulings = guard_calls::rulings(&self.guard, &pair.ours, &pair.theirs).ok()?;
        let under = JudgeContext {
            today: &pair.today,
            scores: &pair.scores,
            rulings: &rulings,
            cross_encoder: pair.cross_encoder,
            ask_shift: 0.0,
        };
        let report = guard_calls::judge(&self.guard, &pair.ours, &pair.theirs, under).unwrap_or_default();
        let blocks = |finding: &Finding| {
            finding.tier == Tier::Block && (finding.evidence.relation == Relation::Contradiction || finding.score > 0.0)
        };
        let block = report.findings.into_iter().find(blocks);
        if !pair.newer.scope.is_apart_from(&pair.older.scope) {
            return block;
        }
        let part = one_sided_part(&pair.newer.statement, &pair.older.statement);
        let limits = sameness::other_limit(&pair.newer.norms, &pair.older.norms);
        if let Some(mut finding) = block {
            if let Some(part) = &part {
                sameness::limit_to_part(&mut finding.evidence, in_part(pair, part));
            } else if let Some(limits) = limits {
                let sentence = std::mem::take(&mut finding.evidence.sentence);
                finding.evidence = Evidence { sentence, ..limits };
            }
            return Some(finding);
        }
        let found = |ruling: Ruling| Finding {
            claim: pair.older.id,
            tier: Tier::Warn,
            score: ruling.score,
            evidence: ruling.evidence,
        };
        if let Some(part) = &part
            && let Some(mut ruling) = self.contradiction_without_part(pair, part)
        {
            sameness::limit_to_part(&mut ruling.evidence, in_part(pair, part));
            return Some(found(ruling));
        }
        let ruling = rulings.into_iter().next()?;
        if differs_in_part(&ruling.evidence) {
            return Some(found(ruling));
        }
        let sentence =
            format!("{} and {} set different limits", quote(&pair.newer.statement), quote(&pair.older.statement));
        let evidence = Evidence { sentence, ..limits? };
        Some(found(Ruling { evidence, ..Ruling::default() }))
    }

    /// Returns a contradiction that the rules find if the part that only one of the claims names is left out.
    fn contradiction_without_part(&self, pair: &GuardedPair<'_>, part: &OneSidedPart) -> Option<Ruling> {
        let whole = |row: &ClaimRow| {
            let normalised = guard_calls::normalise(&self.guard, row.kind, &part.stated.rest, &row.qualifiers);
            guard_calls::parse(NormedClaim {
                statement: part.stated.rest.clone(),
                norms: normalised.norms,
                normaliser: normalised.version,
                ..normed_claim(row)
            })
            .ok()
        };
        let (ours, theirs) = if part.of_first {
            (whole(pair.newer)?, pair.theirs[0].clone())
        } else {
            (pair.ours.clone(), whole(pair.older)?)
        };
        let rulings = guard_calls::rulings(&self.guard, &ours, &[theirs]).ok()?;
        rulings.into_iter().find(|ruling| ruling.norms_contradict)
    }

    /// Queues the undecided pairs of two scopes that may contradict each other according to the gate: of each claim the
    /// few likeliest. Returns how many are new.
    pub(super) fn queue_undecided(
        &self,
        book: &NotesBook,
        compared: &[ComparedPair],
        cross_encoders: &mut ScopeCrossEncoders,
    ) -> Result<usize, ApiError> {
        let mut near: BTreeMap<usize, Vec<&ComparedPair>> = BTreeMap::new();
        for one in compared.iter().filter(|one| matches!(one.outcome, PairOutcome::Undecided)) {
            if book.claims[one.pair.one].scope != book.claims[one.pair.other].scope {
                near.entry(one.pair.one).or_default().push(one);
            }
        }
        let today = guard_calls::day(book.now);
        let mut found: BTreeMap<&Scope, Vec<(&ClaimRow, &ClaimRow, DoubtBand)>> = BTreeMap::new();
        for (at, near) in near {
            let row = &book.rows[at];
            let others = near.iter().map(|one| normed_claim(&book.rows[one.pair.other])).collect();
            let (Ok(ours), Ok(against)) = (guard_calls::parse(normed_claim(row)), guard_calls::parse_all(others))
            else {
                continue;
            };
            let scores: Vec<PairScores> = near.iter().map(|one| scores(one.pair.cosine, one.inference)).collect();
            let under = JudgeContext {
                today: &today,
                scores: &scores,
                cross_encoder: if near.iter().any(|one| one.inference.is_some()) {
                    cross_encoders.of(self, &row.scope)?
                } else {
                    CrossEncoder::Absent
                },
                ..JudgeContext::default()
            };
            for doubt in guard_calls::doubts(&self.guard, &ours, &against, under) {
                let other = &book.rows[near[doubt.at].pair.other];
                let newer = if (row.clock, row.id) > (other.clock, other.id) { row } else { other };
                found.entry(&newer.scope).or_default().push((row, other, doubt.band));
            }
        }
        let mut queued = 0;
        for (scope, pairs) in found {
            queued += self.queue_doubts(scope, &pairs)?;
        }
        Ok(queued)
    }
}

/// Returns the claims of two projects that a judge on any device found to contradict each other.
pub(super) fn judged_contradictions(book: &NotesBook) -> Vec<FoundPair> {
    let contradicts =
        |judged: &&JudgedWords| matches!(judged.verdict, PairVerdict::Contradicts | PairVerdict::Replaces);
    let judged: Vec<&JudgedWords> = book.judged.iter().filter(contradicts).collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let mut of_words: HashMap<EventId, Vec<usize>> = HashMap::new();
    for (at, claim) in book.claims.iter().enumerate() {
        of_words.entry(claim.words).or_default().push(at);
    }
    let rows = |words: &EventId| of_words.get(words).into_iter().flatten().filter_map(|at| book.rows.get(*at));
    let found = judged.into_iter().filter_map(|judged| {
        let (ours, theirs) = rows(&judged.new)
            .find_map(|new| Some((new, rows(&judged.existing).find(|other| new.scope.is_apart_from(&other.scope))?)))?;
        let (new, existing) = (quote(&ours.statement), quote(&theirs.statement));
        let sentence = format!("{new} was judged to contradict {existing} in {}", theirs.scope);
        let mut finding = judged_finding(theirs.id, Relation::Contradiction, sentence);
        sameness::describe_judged(
            &mut finding.evidence,
            (&ours.statement, &ours.norms),
            (&theirs.statement, &theirs.norms),
        );
        Some(FoundPair { ours: ours.clone(), theirs: theirs.clone(), finding })
    });
    found.collect()
}

/// Returns the models' scores of a pair. A cosine of 0 stands for none: claims found only by a shared subject were not
/// compared by vectors.
fn scores(cosine: f32, inference: Option<Inference>) -> PairScores {
    PairScores { cosine: Some(cosine).filter(|cosine| *cosine > 0.0), inference, ..PairScores::default() }
}

/// Returns the sentence on the card of two claims of which one has a condition that the other lacks.
fn in_part(pair: &GuardedPair<'_>, part: &OneSidedPart) -> String {
    let (limited, other) = if part.of_first { (pair.newer, pair.older) } else { (pair.older, pair.newer) };
    format!(
        "{} contradicts {}, which holds without the condition “{}”",
        quote(&limited.statement),
        quote(&other.statement),
        part.stated.part
    )
}

/// Returns the kind of link from a claim that says more to the other one: an example if it says so.
fn link_of(statement: &str) -> LinkKind {
    let lower = statement.to_lowercase();
    let example = ["for example", "e.g.", "for instance", "such as"].iter().any(|words| lower.contains(words));
    if example { LinkKind::ExampleOf } else { LinkKind::Refines }
}
