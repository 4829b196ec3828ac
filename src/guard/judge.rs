//! The judge: combines the results of the stages into a tier.

use super::{
    NormedClaim,
    align::{self, Opposition},
    amounts, correction, explain,
    features::{self, Features},
    lexicon::lexicon,
    nli::{CrossEncoder, Inference, PairScores},
    normalise::{self, Parsed},
    rejected_option,
    structural::{self, Comparison},
    weights::{DeepWeights, InferenceGate, JudgeWeights, Thresholds},
};
use crate::domain::{
    claim::ClaimKind,
    guard_report::{Confidence, Evidence, Relation, RuleId, Stage, Tier},
    norm::{Modality, Norm, SubjectKind},
};

/// The minimum strength of an opposition between aligned words that counts as a contradiction; a weaker one is a doubt.
pub const CONTRADICTION_STRENGTH: f32 = 0.5;

/// The strength of a doubt.
const DOUBT_STRENGTH: f32 = 0.34;

/// The strength of a contradiction between norms.
const NORM_STRENGTH: f32 = 0.95;

/// The stages of the rules that run. Measurements run them one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// The comparison of norms.
    pub structural: bool,
    /// The comparison of aligned words.
    pub aligned: bool,
}

impl Default for Stages {
    fn default() -> Self {
        Self { structural: true, aligned: true }
    }
}

/// The judge's ruling on one pair.
#[derive(Clone, Debug, Default)]
pub struct Ruling {
    /// The tier.
    pub tier: Tier,
    /// The probability that the pair contradicts.
    pub score: f32,
    /// The evidence for it.
    pub evidence: Evidence,
    /// The strength of the opposition that the rules found, 0 to 1. It is a feature among others, not a probability.
    pub strength: f32,
    /// Whether the norms contradict each other. Every device gets the same result, and no model is asked.
    pub norms_contradict: bool,
    /// Whether both can hold at the same time according to the rules. Then no probability is computed.
    pub compatible: bool,
    /// Whether to warn even if a contradiction is improbable.
    pub hint: bool,
    /// Whether one claim rejects what the other one uses, in favour of something else. Then the writer is asked.
    pub rejects_use: bool,
}

/// A claim with its parsed statement, ready for comparisons.
#[derive(Clone, Debug)]
pub struct ParsedClaim {
    claim: NormedClaim,
    pub(crate) parsed: Parsed,
}

impl ParsedClaim {
    /// Parses a claim; a rejection of "use X" says "do not use X".
    pub fn new(claim: NormedClaim) -> Self {
        let mut parsed = normalise::parse(&claim.statement);
        if claim.kind == ClaimKind::Rejection && !forbids(&parsed) {
            parsed.clauses.retain(|clause| !clause.rejects_option());
            for clause in &mut parsed.clauses {
                clause.modality = negated(clause.modality);
                clause.negative = clause.modality != Modality::Must;
                clause.chosen = None;
            }
        }
        // The writer's qualifiers apply too.
        if let Some(norm) = claim.norms.first() {
            if let Some(env) = norm.scope.env.as_deref().and_then(|env| lexicon().environment(env)) {
                parsed.stated_scope.envs = vec![env];
            }
            if let Some(team) = &norm.scope.team {
                parsed.stated_scope.roles = vec![team.clone()];
            }
            if let Some(tenant) = &norm.scope.tenant {
                parsed.stated_scope.tenants = vec![tenant.clone()];
            }
        }
        Self { claim, parsed }
    }

    /// Returns the claim that was parsed.
    pub fn claim(&self) -> &NormedClaim {
        &self.claim
    }

    /// Returns its norms.
    pub(crate) fn norms(&self) -> &[Norm] {
        &self.claim.norms
    }
}

fn negated(modality: Modality) -> Modality {
    match modality {
        Modality::Should => Modality::ShouldNot,
        // Rejecting "reviews are optional" requires them.
        Modality::MayNot => Modality::Must,
        _ => Modality::MustNot,
    }
}

fn is_forbidden(modality: Modality) -> bool {
    matches!(modality, Modality::MustNot | Modality::ShouldNot)
}

/// Returns whether a statement forbids something. "Use X instead of Y" does not: it asks for X.
fn forbids(parsed: &Parsed) -> bool {
    parsed.clauses.iter().any(|clause| !clause.rejects_option() && is_forbidden(clause.modality))
}

/// Negates the norms of a rejection, unless its text already forbids something. An option named after "instead of" was not rejected.
pub(crate) fn reject(norms: &mut Vec<Norm>, parsed: &Parsed) {
    if !forbids(parsed) && norms.iter().any(|norm| !is_forbidden(norm.modality)) {
        norms.retain(|norm| !is_forbidden(norm.modality));
        for norm in norms {
            norm.modality = negated(norm.modality);
        }
    }
}

/// Returns whether the statement contains the words of a norm, so that a normaliser cannot make up a contradiction. Both are in
/// composed form (NFC), however the statement was written.
fn is_grounded(norm: &Norm, statement: &Parsed) -> bool {
    let statement = statement.text.to_lowercase();
    norm.words.iter().all(|words| statement.contains(&words.to_lowercase()))
}

/// Ranks comparisons by how much they say: contradictions first, then certain results.
fn rank(comparison: Comparison) -> u8 {
    match (comparison.relation, comparison.confidence) {
        (Relation::Contradiction, _) => 6,
        (Relation::Consistent, Confidence::High) => 5,
        (Relation::Coexist, _) => 4,
        (Relation::Consistent, _) => 3,
        (Relation::Uncertain, _) => 2,
        (Relation::Incomparable, _) => 1,
        (Relation::Unknown, _) => 0,
    }
}

/// Returns the highest-ranking comparison between the norms of two claims, with the indexes of the two norms.
pub(crate) fn strongest(ours: &[Norm], theirs: &[Norm]) -> Option<(Comparison, usize, usize)> {
    let mut best: Option<(Comparison, usize, usize)> = None;
    for (i, a) in ours.iter().enumerate() {
        for (j, b) in theirs.iter().enumerate() {
            let comparison = structural::compare(a, b);
            if best.is_none_or(|(found, ..)| rank(comparison) > rank(found)) {
                best = Some((comparison, i, j));
            }
        }
    }
    best
}

/// Returns whether each norm of one claim says the same as one of the other, which may have more.
fn say_the_same(ours: &[Norm], theirs: &[Norm]) -> bool {
    let within = |a: &[Norm], b: &[Norm]| {
        a.iter().all(|x| b.iter().any(|y| structural::compare(x, y).relation == Relation::Consistent))
    };
    (ours.len() > theirs.len() || within(ours, theirs)) && (theirs.len() > ours.len() || within(theirs, ours))
}

/// Applies the rules to two claims. [`weigh`] turns the result into a tier.
pub(crate) fn apply_rules(ours: &ParsedClaim, theirs: &ParsedClaim, stages: Stages) -> Ruling {
    let labels_differ =
        !ours.parsed.label.is_empty() && !theirs.parsed.label.is_empty() && ours.parsed.label != theirs.parsed.label;
    if align::are_distinct_instances(&ours.parsed, &theirs.parsed) {
        return compatible(ours, theirs, RuleId::ToldApart, "They are about two things of one kind.");
    }
    let compared = stages.structural.then(|| compare_norms(ours, theirs, labels_differ));
    let mut ruling = compared.flatten().unwrap_or_default();
    if ruling.compatible {
        return ruling;
    }
    let disjoint = ours.norms().iter().any(|a| {
        theirs.norms().iter().any(|b| structural::disjoint_scope(&a.scope, &b.scope) || structural::disjoint_time(a, b))
    });
    if stages.aligned
        && !disjoint
        && let Some(found) = align::oppose(&ours.parsed, &theirs.parsed)
        && found.score > ruling.strength
    {
        let norm = ours.norms().get(found.clauses.0).or(ours.norms().first()).cloned().unwrap_or_default();
        let their_norm = theirs.norms().get(found.clauses.1).or(theirs.norms().first()).cloned().unwrap_or_default();
        if !ruling.norms_contradict {
            (ruling.strength, ruling.hint) = (found.score, false);
        }
        // If the norms contradict each other, the words may give the better sentence, but only the norms are weighed.
        ruling.evidence = aligned_evidence(&found, ours, theirs, norm, their_norm);
    }
    if stages.aligned && !disjoint && ruling.strength < DOUBT_STRENGTH {
        add_correction(&mut ruling, ours, theirs);
    }
    let evidence = &ruling.evidence;
    let principled = evidence.stage != Stage::Judge
        && evidence.confidence == Confidence::High
        && evidence.relation != Relation::Contradiction;
    let elsewhere = ours.parsed.stated_scope.is_disjoint(&theirs.parsed.stated_scope)
        || ours.parsed.window.is_disjoint(theirs.parsed.window);
    ruling.compatible = !ruling.norms_contradict && (principled || labels_differ || elsewhere);
    if !ruling.norms_contradict && align::forbids_another_member(&ours.parsed, &theirs.parsed) {
        return compatible(ours, theirs, RuleId::OtherValue, "One forbids a different option than the other names.");
    }
    if !ruling.norms_contradict && amounts::give_one_within_the_other(&ours.parsed, &theirs.parsed) {
        let mut ruling = compatible(ours, theirs, RuleId::OtherLimit, "One gives an amount that the other allows.");
        // It may replace the other one all the same, so the gate considers it.
        ruling.evidence.relation = Relation::Uncertain;
        return ruling;
    }
    ruling.rejects_use = stages.aligned
        && !ruling.compatible
        && !disjoint
        && rejected_option::rejects_what_is_used(&ours.parsed, &theirs.parsed);
    ruling
}

/// Returns the ruling by the norms alone; `None` if a claim has none. It is compatible if the norms cannot be compared.
fn compare_norms(ours: &ParsedClaim, theirs: &ParsedClaim, labels_differ: bool) -> Option<Ruling> {
    let (mut comparison, i, j) = strongest(ours.norms(), theirs.norms())?;
    if comparison.relation == Relation::Consistent && !say_the_same(ours.norms(), theirs.norms()) {
        // That one sentence is the same does not mean that the others agree.
        comparison.confidence = comparison.confidence.min(Confidence::Med);
    }
    let (norm, their_norm) = (&ours.norms()[i], &theirs.norms()[j]);
    let held = comparison.relation == Relation::Contradiction
        && !labels_differ
        && is_grounded(norm, &ours.parsed)
        && is_grounded(their_norm, &theirs.parsed);
    let missing = [norm, their_norm].into_iter().any(|norm| norm.subject_kind == SubjectKind::Missing);
    let evidence = Evidence {
        stage: if missing { Stage::Normalise } else { Stage::Structural },
        rule: comparison.rule,
        relation: comparison.relation,
        confidence: comparison.confidence,
        sentence: explain::structural(comparison, norm, their_norm),
        field: comparison.field.into(),
        words: norm.words.clone(),
        their_words: their_norm.words.clone(),
        norm: norm.clone(),
        their_norm: their_norm.clone(),
        ..Evidence::default()
    };
    let norms_contradict = held && comparison.confidence == Confidence::High;
    let hint = !norms_contradict && (held || comparison.rule == RuleId::NarrowerScope && !labels_differ);
    let strength = match (norms_contradict, hint) {
        (true, _) => NORM_STRENGTH,
        (_, true) => DOUBT_STRENGTH,
        _ => 0.0,
    };
    let compatible = comparison.relation == Relation::Incomparable;
    Some(Ruling { evidence, strength, norms_contradict, compatible, hint, ..Ruling::default() })
}

/// Returns the ruling that two statements are compatible for this reason. No model is asked about them.
pub(crate) fn compatible(ours: &ParsedClaim, theirs: &ParsedClaim, rule: RuleId, sentence: &str) -> Ruling {
    let norm = |prepared: &ParsedClaim| prepared.norms().first().cloned().unwrap_or_default();
    let evidence = Evidence {
        stage: Stage::Structural,
        rule,
        relation: Relation::Coexist,
        confidence: Confidence::High,
        sentence: sentence.into(),
        norm: norm(ours),
        their_norm: norm(theirs),
        ..Evidence::default()
    };
    Ruling { evidence, compatible: true, ..Ruling::default() }
}

/// The share of common words from which "that was wrong" refers to the other statement.
const CORRECTION_OVERLAP: f32 = 0.3;

/// Adds a warning if one statement corrects the other, or says that something on which the other depends is no longer used.
fn add_correction(ruling: &mut Ruling, ours: &ParsedClaim, theirs: &ParsedClaim) {
    let (a, b) = (&ours.parsed, &theirs.parsed);
    let found = correction::abandons(a, b).or_else(|| {
        let cue = correction::corrects(a).filter(|_| features::shared(a, b).1 >= CORRECTION_OVERLAP)?;
        Some(correction::Correction { ours: vec![cue], theirs: Vec::new() })
    });
    let Some(found) = found else { return };
    let (words, their_words) = (explain::words(a, &found.ours), explain::words(b, &found.theirs));
    (ruling.strength, ruling.hint) = (DOUBT_STRENGTH, true);
    let evidence = &mut ruling.evidence;
    evidence.stage = Stage::Judge;
    evidence.rule = RuleId::ChangeInWords;
    evidence.relation = Relation::Uncertain;
    evidence.confidence = Confidence::Med;
    evidence.field = String::new();
    evidence.sentence = explain::correction(&words, &their_words);
    (evidence.words, evidence.their_words) = (words, their_words);
}

fn aligned_evidence(
    found: &Opposition,
    ours: &ParsedClaim,
    theirs: &ParsedClaim,
    norm: Norm,
    their_norm: Norm,
) -> Evidence {
    let (words, their_words) =
        (explain::words(&ours.parsed, &found.ours), explain::words(&theirs.parsed, &found.theirs));
    Evidence {
        stage: Stage::Judge,
        rule: found.rule,
        relation: if found.score >= CONTRADICTION_STRENGTH { Relation::Contradiction } else { Relation::Uncertain },
        confidence: if found.score >= CONTRADICTION_STRENGTH { Confidence::High } else { Confidence::Med },
        sentence: explain::aligned(found, &words, &their_words, &ours.parsed),
        field: match found.rule {
            RuleId::OpposingModality => "modality",
            RuleId::OpposedWords => "object",
            _ => "value",
        }
        .into(),
        words,
        their_words,
        norm,
        their_norm,
        features: found.features.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        ..Evidence::default()
    }
}

/// Returns the priority of a pair among those of one write for the cross-encoder; `None` if it should not be compared.
pub(crate) fn inference_priority(
    ruling: &Ruling,
    ours: &ParsedClaim,
    theirs: &ParsedClaim,
    scores: &PairScores,
    gate: &InferenceGate,
) -> Option<f32> {
    if ruling.compatible || ruling.norms_contradict {
        return None;
    }
    let (overlap, _) = features::shared(&ours.parsed, &theirs.parsed);
    let cosine = scores.cosine.unwrap_or(0.0);
    let close = ruling.strength > 0.05 || cosine >= gate.cosine || overlap >= gate.overlap;
    close.then_some(ruling.strength + cosine + 0.5 * overlap)
}

/// Returns the tier of a probability.
fn tier(probability: f32, block: f32, warn: f32) -> Tier {
    if probability >= block {
        Tier::Block
    } else if probability >= warn {
        Tier::Warn
    } else {
        Tier::Clean
    }
}

/// A probability with the thresholds that apply to it.
struct WeighedScore {
    probability: f32,
    /// The probability from which the pair blocks.
    block: f32,
    /// The probability from which it warns.
    warn: f32,
    tier: Tier,
    /// The rule of the model that decided; `None` if the rules decided.
    model: Option<RuleId>,
}

impl WeighedScore {
    fn new(probability: f32, (block, warn): (f32, f32), model: Option<RuleId>) -> Self {
        Self { probability, block, warn, tier: tier(probability, block, warn), model }
    }

    /// Takes the probability with a cross-encoder's score into account. `strength` is that of the rules' opposition, and `shift` is
    /// [`CrossEncoder::block_shift`].
    fn with_inference(self, probability: f32, strength: f32, limits: &Thresholds, shift: Option<f32>) -> Self {
        let model = Some(RuleId::Inferred);
        match shift {
            // A person can check the words that the rules name, so they block at a lower probability than inference alone, and always warn.
            Some(_) if strength >= CONTRADICTION_STRENGTH => Self::new(probability, (limits.named, 0.0), model),
            Some(shift) => Self::new(probability, ((limits.block + shift).clamp(0.01, 0.9999), limits.warn), model),
            // A contradiction is likely, but by a model that was not measured.
            None if self.tier == Tier::Clean && probability >= limits.warn => {
                Self { probability: self.probability.max(self.warn), tier: Tier::Warn, model, ..self }
            }
            None => self,
        }
    }

    /// Takes the probability with a language model's answer into account, which only adds findings and removes no warning.
    fn with_deep_stage(self, probability: f32, limits: &DeepWeights, shift: Option<f32>) -> Self {
        let block = shift.map_or(f32::INFINITY, |shift| limits.block + shift);
        if probability >= limits.warn.min(block) {
            Self::new(probability, (block, limits.warn), Some(RuleId::InferredDeeply))
        } else {
            self
        }
    }
}

/// Combines all evidence about a pair into one probability and sets the tier.
pub(crate) fn weigh(
    ruling: &mut Ruling,
    ours: &ParsedClaim,
    theirs: &ParsedClaim,
    scores: &PairScores,
    weights: &JudgeWeights,
    cross_encoder: CrossEncoder,
) {
    if ruling.compatible {
        if ruling.hint {
            ruling.tier = Tier::Warn;
        }
        return;
    }
    let rules = &weights.rules;
    let mut weighed = WeighedScore::new(rules.score(&features::by_rules(ruling)), (rules.block, rules.warn), None);
    if let Some(inference) = scores.inference.filter(|_| !weights.weights.is_empty() && !ruling.norms_contradict) {
        let features = features::extract(ruling, ours, theirs, scores);
        record_features(&mut ruling.evidence, &features, &inference);
        let shift = cross_encoder.block_shift();
        weighed = weighed.with_inference(weights.score(&features), ruling.strength, &weights.thresholds, shift);
        if shift.is_some() {
            ruling.hint &= ruling.evidence.relation != Relation::Contradiction || inference.mean() >= 0.0;
        }
        if let Some(deep) = scores.deep.filter(|_| weighed.tier < Tier::Block) {
            ruling.evidence.features.insert("deep".into(), deep);
            let probability = weights.deep_score(weights.log_odds(&features), deep);
            weighed = weighed.with_deep_stage(probability, &weights.deep, shift);
        }
    }
    (ruling.score, ruling.tier) = (weighed.probability, weighed.tier);
    if ruling.hint && ruling.tier == Tier::Clean {
        ruling.tier = Tier::Warn;
    }
    ruling.evidence.features.insert("probability".into(), weighed.probability);
    ruling.evidence.features.insert("limit".into(), weighed.block.min(1.0));
    if weighed.tier > Tier::Clean && !ruling.norms_contradict {
        complete_evidence(&mut ruling.evidence, &weighed, ours, theirs);
    }
}

/// Adds the features of a pair to its evidence, and the log-odds of each order.
fn record_features(evidence: &mut Evidence, features: &Features, inference: &Inference) {
    for (name, feature) in features::FEATURE_NAMES.iter().zip(features).filter(|(_, feature)| **feature != 0.0) {
        evidence.features.insert((*name).to_owned(), *feature);
    }
    for (what, [forward, backward]) in
        [("contradiction", inference.contradiction()), ("entailment", inference.entailment())]
    {
        evidence.features.insert(format!("{what}_forward"), forward);
        evidence.features.insert(format!("{what}_backward"), backward);
    }
}

/// Says how certain a likely contradiction is, and, if a model found it and the rules name no words, which words differ.
fn complete_evidence(evidence: &mut Evidence, weighed: &WeighedScore, ours: &ParsedClaim, theirs: &ParsedClaim) {
    let sure = weighed.tier == Tier::Block;
    evidence.relation = if sure { Relation::Contradiction } else { Relation::Uncertain };
    evidence.confidence = if sure { Confidence::High } else { Confidence::Med };
    if let Some(rule) = weighed.model.filter(|rule| evidence.stage != Stage::Judge || *rule == RuleId::InferredDeeply) {
        let (words, their_words) = explain::differing_words(&ours.parsed, &theirs.parsed);
        evidence.stage = Stage::Nli;
        evidence.rule = rule;
        evidence.field = String::new();
        evidence.sentence = explain::inferred(&words, &their_words, Some(weighed.probability));
        (evidence.words, evidence.their_words) = (words, their_words);
    }
}
