//! The guard over a project in memory. Nearby claims are found by shared subjects and terms, with the weights of the
//! store's index, and by vectors. Shared phrases, which the store also counts, are not: only large scopes need them.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::path::{GuardPath, Opposed, WriteAnswer};
use ergo::{
    domain::{ClaimKind, DoubtBand, Tier, claim::Qualifiers, norm::IndexTerms, numeric},
    engine::infer_pairs,
    guard::{
        self, CrossEncoder, Guard, JudgeContext, MAX_BY_MEANING, MAX_BY_WORDS, NormedClaim, PairScores, ParsedClaim,
        doubt_gate::GateFeatures,
    },
    infer::{Call, ModelRole, Models},
    store::{PAIR_WEIGHT, SUBJECT_WEIGHT},
};

/// The deadline of a model's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(2);

/// A statement of the project.
pub(super) struct ProjectClaim {
    pub(super) claim: Arc<ParsedClaim>,
    terms: IndexTerms,
    vector: Option<Vec<f32>>,
    active: bool,
}

/// The assessment of one nearby claim by the guard and its gate.
pub(super) struct GatedClaim {
    /// The number of the claim in the project.
    pub(super) number: usize,
    pub(super) blocked: bool,
    pub(super) band: Option<DoubtBand>,
    /// The gate's features; `None` if the rules say that both claims hold.
    pub(super) features: Option<GateFeatures>,
}

/// A project in memory.
pub(super) struct MemoryProject {
    pub(super) guard: Guard,
    models: Option<Arc<dyn Models>>,
    pub(super) stored: Vec<ProjectClaim>,
    /// Whether the cross-encoder's probability of a contradiction alone is the score.
    alone: bool,
    /// The shift of the threshold for questions because of earlier answers, in log-odds.
    pub(super) ask_shift: f32,
    /// Pairs that the cross-encoder read for the judge.
    pub(super) pairs: usize,
    /// Pairs that the cross-encoder read for the gate only.
    pub(super) gate_pairs: usize,
    failures: Vec<String>,
}

impl MemoryProject {
    pub(super) fn new(guard: Guard, models: Option<Arc<dyn Models>>) -> Self {
        Self {
            guard,
            models,
            stored: Vec::new(),
            alone: false,
            ask_shift: 0.0,
            pairs: 0,
            gate_pairs: 0,
            failures: Vec::new(),
        }
    }

    /// Uses only the cross-encoder, on the nearby claims that pass the gate.
    pub(super) fn with_cross_encoder_alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Parses and embeds a statement without storing it.
    pub(super) fn parse(&mut self, kind: ClaimKind, statement: &str) -> ProjectClaim {
        let norms = self.guard.normalise_claim(kind, statement, &Qualifiers::default()).norms;
        let terms = Guard::index_terms(&norms, statement);
        let vector = self.embed(statement);
        let claim = NormedClaim { kind, statement: statement.to_owned(), norms, ..NormedClaim::default() };
        ProjectClaim { claim: Arc::new(ParsedClaim::new(claim)), terms, vector, active: true }
    }

    /// Stores a statement without comparing it.
    pub(super) fn store(&mut self, kind: ClaimKind, statement: &str) {
        let stored = self.parse(kind, statement);
        self.stored.push(stored);
    }

    fn embed(&mut self, statement: &str) -> Option<Vec<f32>> {
        let models = self.models.as_ref().filter(|models| models.info().role(ModelRole::Embedder).is_some())?;
        match models.embed(&[statement.to_owned()], Call::background(ANSWER_TIMEOUT)) {
            Ok(vectors) => vectors.into_iter().next(),
            Err(error) => {
                self.failures.push(error.to_string());
                None
            }
        }
    }

    /// Returns the numbers of the active claims that a statement is compared with, the likeliest first.
    fn nearby_claims(&self, ours: &ProjectClaim) -> Vec<usize> {
        let active: Vec<usize> = (0..self.stored.len()).filter(|number| self.stored[*number].active).collect();
        let mut by_words: Vec<(f64, usize)> = active
            .iter()
            .map(|number| (self.shared(ours, &self.stored[*number], active.len()), *number))
            .filter(|(shared, _)| *shared > 0.0)
            .collect();
        by_words.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        by_words.truncate(MAX_BY_WORDS);
        let mut found: Vec<usize> = by_words.into_iter().map(|(_, number)| number).collect();
        let ranked = found.len();
        let mut near: Vec<(f32, usize)> =
            active.iter().filter_map(|number| Some((cosine(ours, &self.stored[*number])?, *number))).collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        near.truncate(MAX_BY_MEANING);
        for (_, number) in near {
            if !found.contains(&number) {
                found.push(number);
            }
        }
        let claims: Vec<NormedClaim> = found.iter().map(|number| self.stored[*number].claim.claim().clone()).collect();
        let scores: Vec<PairScores> = found.iter().map(|number| self.vector_scores(ours, *number)).collect();
        let chosen = guard::shortlist(ours.claim.claim(), &claims, ranked, &scores);
        chosen.into_iter().map(|at| found[at]).collect()
    }

    fn vector_scores(&self, ours: &ProjectClaim, number: usize) -> PairScores {
        PairScores { cosine: cosine(ours, &self.stored[number]), ..PairScores::default() }
    }

    /// Returns how much two statements share, as the store's index ranks them: rare terms count more.
    fn shared(&self, ours: &ProjectClaim, theirs: &ProjectClaim, claims: usize) -> f64 {
        type List = fn(&IndexTerms) -> &[String];
        let lists: [(f64, List); 3] =
            [(1.0, |t| &t.terms), (SUBJECT_WEIGHT, |t| &t.subjects), (PAIR_WEIGHT, |t| &t.pairs)];
        let mut sum = 0.0;
        for (weight, list) in lists {
            for term in list(&ours.terms).iter().filter(|term| list(&theirs.terms).binary_search(term).is_ok()) {
                let has = |stored: &&ProjectClaim| stored.active && list(&stored.terms).binary_search(term).is_ok();
                let known = self.stored.iter().filter(has).count();
                sum += weight * (1.0 + claims as f64 / known.max(1) as f64).ln();
            }
        }
        sum
    }

    /// Returns the assessments of the nearby claims of a statement.
    pub(super) fn gated_claims(&mut self, ours: &ProjectClaim) -> Vec<GatedClaim> {
        let scored = self.scored_for(ours, true);
        let against: Vec<Arc<ParsedClaim>> =
            scored.iter().map(|(number, _)| Arc::clone(&self.stored[*number].claim)).collect();
        let scores: Vec<PairScores> = scored.iter().map(|(_, scores)| *scores).collect();
        let rulings = self.guard.rulings(&ours.claim, &against);
        let infers = self.models.as_ref().is_some_and(|models| models.info().role(ModelRole::Nli).is_some());
        let cross_encoder = if infers { CrossEncoder::Fitted { shift: 0.0 } } else { CrossEncoder::Absent };
        let under = JudgeContext {
            scores: &scores,
            rulings: &rulings,
            cross_encoder,
            ask_shift: self.ask_shift,
            ..JudgeContext::default()
        };
        let doubts = self.guard.doubts(&ours.claim, &against, under);
        let features = self.guard.gate_features(&ours.claim, &against, under);
        let gated = |(at, (number, scores)): (usize, &(usize, PairScores))| GatedClaim {
            number: *number,
            blocked: self.guard.compare(&ours.claim, &against[at], scores).tier == Tier::Block,
            band: doubts.iter().find(|pair| pair.at == at).map(|pair| pair.band),
            features: features.iter().find(|(of, _)| *of == at).map(|(_, features)| *features),
        };
        scored.iter().enumerate().map(gated).collect()
    }

    /// Returns the numbers of the nearby claims of a statement, with the models' scores.
    pub(super) fn scored(&mut self, ours: &ProjectClaim) -> Vec<(usize, PairScores)> {
        self.scored_for(ours, false)
    }

    /// [`Self::scored`], with or without the pairs that only the gate needs.
    fn scored_for(&mut self, ours: &ProjectClaim, gate: bool) -> Vec<(usize, PairScores)> {
        let numbers = self.nearby_claims(ours);
        let mut scores: Vec<PairScores> = numbers.iter().map(|number| self.vector_scores(ours, *number)).collect();
        let Some(models) = self.models.clone().filter(|models| models.info().role(ModelRole::Nli).is_some()) else {
            return numbers.into_iter().zip(scores).collect();
        };
        let against: Vec<Arc<ParsedClaim>> =
            numbers.iter().map(|number| Arc::clone(&self.stored[*number].claim)).collect();
        let rulings = self.guard.rulings(&ours.claim, &against);
        let under = JudgeContext { scores: &scores, rulings: &rulings, ..JudgeContext::default() };
        let selected = self.guard.select_for_inference(&ours.claim, &against, under);
        let more = if gate { self.guard.select_for_gate(&ours.claim, &against, under, &selected) } else { Vec::new() };
        let pair = |at: &usize| (against[*at].claim().statement.as_str(), ours.claim.claim().statement.as_str());
        let (judged, gated): (Vec<_>, Vec<_>) = (selected.iter().map(pair).collect(), more.iter().map(pair).collect());
        self.pairs += selected.len();
        self.gate_pairs += more.len();
        match infer_pairs(&*models, &judged, &gated, Call::background(ANSWER_TIMEOUT)) {
            Ok(inferences) => {
                let (judged, gated) = inferences.split_at(selected.len());
                for (at, inference) in selected.iter().zip(judged) {
                    scores[*at].inference = Some(*inference);
                }
                for (at, inference) in more.iter().zip(gated) {
                    scores[*at].gate_inference = Some(*inference);
                }
            }
            Err(error) => self.failures.push(error.to_string()),
        }
        numbers.into_iter().zip(scores).collect()
    }

    fn compare(&mut self, ours: &ProjectClaim) -> Vec<Opposed> {
        let scored = self.scored(ours);
        let mut opposed: Vec<Opposed> = scored
            .into_iter()
            .filter_map(|(number, scores)| {
                if self.alone {
                    let margin = scores.inference?.mean();
                    let score = numeric::logistic_f32(margin);
                    let tier = if score >= 0.5 { Tier::Block } else { Tier::Clean };
                    return Some(Opposed { number, tier, score, why: format!("inferred: {margin:.2}") });
                }
                let ruling = self.guard.compare(&ours.claim, &self.stored[number].claim, &scores);
                Some(Opposed {
                    number,
                    tier: ruling.tier,
                    score: ruling.score,
                    why: super::path::why(&ruling.evidence),
                })
            })
            .filter(|opposed| opposed.score > 0.0)
            .collect();
        opposed.sort_by(|a, b| b.score.total_cmp(&a.score));
        opposed
    }
}

fn cosine(a: &ProjectClaim, b: &ProjectClaim) -> Option<f32> {
    let (a, b) = (a.vector.as_ref()?, b.vector.as_ref()?);
    Some(numeric::cosine(a, b))
}

impl GuardPath for MemoryProject {
    fn fresh(&mut self) {
        self.stored.clear();
    }

    fn write(&mut self, kind: ClaimKind, statement: &str) -> WriteAnswer {
        let start = Instant::now();
        let stored = self.parse(kind, statement);
        let opposed = self.compare(&stored);
        let took = start.elapsed();
        self.stored.push(stored);
        WriteAnswer { opposed, took }
    }

    fn write_or_supersede(&mut self, statement: &str, _reason: &str) -> (bool, Duration) {
        let answer = self.write(ClaimKind::Decision, statement);
        let blocking: Vec<usize> = answer.opposed.iter().filter(|o| o.tier == Tier::Block).map(|o| o.number).collect();
        for number in &blocking {
            self.stored[*number].active = false;
        }
        (!blocking.is_empty(), answer.took)
    }

    fn answer(&mut self, question: &str) -> Option<String> {
        let asked = Guard::index_terms(&[], question).terms;
        self.stored
            .iter()
            .filter(|stored| stored.active)
            .enumerate()
            .map(|(number, stored)| {
                (asked.iter().filter(|t| stored.terms.terms.binary_search(t).is_ok()).count(), number, stored)
            })
            .max_by_key(|(shared, number, _)| (*shared, *number))
            .map(|(.., stored)| stored.claim.claim().statement.clone())
    }

    fn failures(&self) -> &[String] {
        &self.failures
    }
}
