//! The guard over a project in memory: nearby claims by shared subjects and terms, as the store's index gives them, and by vectors.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::path::{Answer, GuardPath, Opposed};
use ergo::{
    domain::{ClaimKind, DoubtBand, Tier, claim::Qualifiers, norm::IndexTerms},
    engine::infer_pairs,
    guard::{
        self, Guard, JudgeContext, MAX_BY_MEANING, MAX_BY_WORDS, NormedClaim, PairScores, ParsedClaim,
        doubt_gate::GateFeatures,
    },
    infer::{Call, ModelRole, Models},
};

/// How long one answer of a model may take here.
const PATIENCE: Duration = Duration::from_mins(2);

/// A statement as the project keeps it.
pub(super) struct Stored {
    pub(super) claim: Arc<ParsedClaim>,
    terms: IndexTerms,
    vector: Option<Vec<f32>>,
    active: bool,
}

/// What the guard and its gate say of one new claim.
pub(super) struct Doubted {
    /// Its place in the project.
    pub(super) number: usize,
    pub(super) blocked: bool,
    pub(super) band: Option<DoubtBand>,
    /// The gate's features, unless both hold for certain.
    pub(super) features: Option<GateFeatures>,
}

/// A project in memory.
pub(super) struct Memory {
    pub(super) guard: Guard,
    models: Option<Arc<dyn Models>>,
    pub(super) stored: Vec<Stored>,
    /// Only the cross-encoder speaks: its probability of a contradiction is the score.
    alone: bool,
    /// What answers added to the log-odds of the threshold for questions.
    pub(super) ask_shift: f32,
    /// Pairs that the cross-encoder was asked about for the judge.
    pub(super) pairs: usize,
    /// Pairs that it was asked about for the gate alone.
    pub(super) gate_pairs: usize,
    failures: Vec<String>,
}

impl Memory {
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

    /// The cross-encoder alone, on the nearby claims that come through the gate.
    pub(super) fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    pub(super) fn read(&mut self, kind: ClaimKind, statement: &str) -> Stored {
        let norms = self.guard.normalise_claim(kind, statement, &Qualifiers::default()).norms;
        let terms = Guard::index_terms(&norms, statement);
        let vector = self.embed(statement);
        let claim = NormedClaim { kind, statement: statement.to_owned(), norms, ..NormedClaim::default() };
        Stored { claim: Arc::new(ParsedClaim::new(claim)), terms, vector, active: true }
    }

    /// Keeps a statement without comparing it.
    pub(super) fn keep(&mut self, kind: ClaimKind, statement: &str) {
        let stored = self.read(kind, statement);
        self.stored.push(stored);
    }

    fn embed(&mut self, statement: &str) -> Option<Vec<f32>> {
        let models = self.models.as_ref().filter(|models| models.info().role(ModelRole::Embedder).is_some())?;
        match models.embed(&[statement.to_owned()], Call::background(PATIENCE)) {
            Ok(vectors) => vectors.into_iter().next(),
            Err(error) => {
                self.failures.push(error.to_string());
                None
            }
        }
    }

    /// The numbers of the active claims that a statement is compared with, the likeliest first.
    fn nearby_claims(&self, ours: &Stored) -> Vec<usize> {
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
        let scores: Vec<PairScores> = found.iter().map(|number| self.near(ours, *number)).collect();
        let chosen = guard::shortlist(ours.claim.claim(), &claims, ranked, &scores);
        chosen.into_iter().map(|at| found[at]).collect()
    }

    fn near(&self, ours: &Stored, number: usize) -> PairScores {
        PairScores { cosine: cosine(ours, &self.stored[number]), ..PairScores::default() }
    }

    /// How much two statements share, as the store's index ranks them: what few claims say counts more.
    fn shared(&self, ours: &Stored, theirs: &Stored, claims: usize) -> f64 {
        type List = fn(&IndexTerms) -> &[String];
        let lists: [(f64, List); 3] = [(1.0, |t| &t.terms), (3.0, |t| &t.subjects), (6.0, |t| &t.pairs)];
        let mut sum = 0.0;
        for (weight, list) in lists {
            for term in list(&ours.terms).iter().filter(|term| list(&theirs.terms).binary_search(term).is_ok()) {
                let has = |stored: &&Stored| stored.active && list(&stored.terms).binary_search(term).is_ok();
                let known = self.stored.iter().filter(has).count();
                sum += weight * (1.0 + claims as f64 / known.max(1) as f64).ln();
            }
        }
        sum
    }

    /// What the guard and its gate say of each new claim of a statement.
    pub(super) fn doubted(&mut self, ours: &Stored) -> Vec<Doubted> {
        let heard = self.heard_by(ours, true);
        let against: Vec<Arc<ParsedClaim>> =
            heard.iter().map(|(number, _)| Arc::clone(&self.stored[*number].claim)).collect();
        let scores: Vec<PairScores> = heard.iter().map(|(_, scores)| *scores).collect();
        let rulings = self.guard.rulings(&ours.claim, &against);
        let infers = self.models.as_ref().is_some_and(|models| models.info().role(ModelRole::Nli).is_some());
        let ask_shift = self.ask_shift;
        let under = JudgeContext { scores: &scores, rulings: &rulings, infers, ask_shift, ..JudgeContext::default() };
        let doubts = self.guard.doubts(&ours.claim, &against, under);
        let features = self.guard.gate_features(&ours.claim, &against, under);
        let seen = |(at, (number, scores)): (usize, &(usize, PairScores))| Doubted {
            number: *number,
            blocked: self.guard.compare(&ours.claim, &against[at], scores).tier == Tier::Block,
            band: doubts.iter().find(|pair| pair.at == at).map(|pair| pair.band),
            features: features.iter().find(|(of, _)| *of == at).map(|(_, features)| *features),
        };
        heard.iter().enumerate().map(seen).collect()
    }

    /// The nearby claims of a statement with what the models say of each.
    pub(super) fn heard(&mut self, ours: &Stored) -> Vec<(usize, PairScores)> {
        self.heard_by(ours, false)
    }

    fn heard_by(&mut self, ours: &Stored, gate: bool) -> Vec<(usize, PairScores)> {
        let numbers = self.nearby_claims(ours);
        let mut scores: Vec<PairScores> = numbers.iter().map(|number| self.near(ours, *number)).collect();
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
        match infer_pairs(&*models, &judged, &gated, Call::background(PATIENCE)) {
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

    fn compare(&mut self, ours: &Stored) -> Vec<Opposed> {
        let heard = self.heard(ours);
        let mut opposed: Vec<Opposed> = heard
            .into_iter()
            .filter_map(|(number, scores)| {
                if self.alone {
                    let margin = scores.inference?.mean();
                    let score = 1.0 / (1.0 + (-margin).exp());
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

fn cosine(a: &Stored, b: &Stored) -> Option<f32> {
    let (a, b) = (a.vector.as_ref()?, b.vector.as_ref()?);
    Some(a.iter().zip(b).map(|(x, y)| x * y).sum())
}

impl GuardPath for Memory {
    fn fresh(&mut self) {
        self.stored.clear();
    }

    fn write(&mut self, kind: ClaimKind, statement: &str) -> Answer {
        let start = Instant::now();
        let stored = self.read(kind, statement);
        let opposed = self.compare(&stored);
        let took = start.elapsed();
        self.stored.push(stored);
        Answer { opposed, took }
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
