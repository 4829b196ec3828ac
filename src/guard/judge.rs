//! From the stages' answers to a tier.

use super::{
    NormedClaim,
    align::{self, Opposition},
    change, explain, features,
    lexicon::lexicon,
    nli::PairScores,
    normalise::{self, Parsed},
    structural::{self, Comparison},
    weights::{Gate, Weights},
};
use crate::domain::{
    claim::ClaimKind,
    norm::{Modality, Norm, SubjectKind},
    verdict::{Confidence, Evidence, Relation, RuleId, Stage, Tier},
};

/// How strongly aligned words must oppose each other for the rules to call that a contradiction, and not only a doubt.
pub const OPPOSED: f32 = 0.5;

/// How strong a doubt is that has no strength of its own.
const DOUBTED: f32 = 0.34;

/// How strong it is that norms contradict each other.
const DECIDED: f32 = 0.95;

/// Which stages run; for measuring one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    /// Norm against norm.
    pub structural: bool,
    /// The aligned comparison of words.
    pub aligned: bool,
}

impl Default for Stages {
    fn default() -> Self {
        Self { structural: true, aligned: true }
    }
}

/// What the judge says of one pair.
#[derive(Clone, Debug, Default)]
pub struct Ruling {
    /// What follows.
    pub tier: Tier,
    /// The probability that the pair contradicts.
    pub score: f32,
    /// Why.
    pub evidence: Evidence,
    /// How strongly the rules find the two opposed, 0 to 1: a figure among others, and no probability.
    pub strength: f32,
    /// The norms contradict each other: every machine can repeat that, and no model is asked.
    pub decided: bool,
    /// The two do not speak of one thing: nothing is weighed.
    pub settled: bool,
    /// A person should look at it, however likely it is.
    pub hint: bool,
}

/// A claim with its text parsed, ready to be compared with any number of others.
#[derive(Clone, Debug)]
pub struct ParsedClaim {
    claim: NormedClaim,
    /// The claim's norms, those of a rejection turned.
    pub(crate) norms: Vec<Norm>,
    pub(crate) parsed: Parsed,
}

impl ParsedClaim {
    /// Parses a claim; a rejection of "use X" says "do not use X".
    pub fn new(claim: NormedClaim) -> Self {
        let mut norms = claim.norms.clone();
        let mut parsed = normalise::parse(&claim.statement);
        if claim.kind == ClaimKind::Rejection {
            reject(&mut norms);
            if parsed.clauses.iter().all(|c| !c.negative) {
                for clause in &mut parsed.clauses {
                    clause.negative = true;
                    clause.modality = turned(clause.modality);
                }
            }
        }
        // What the writer says of place and time counts, where the text says nothing.
        if let Some(norm) = norms.first() {
            if let Some(env) = norm.scope.env.as_deref().and_then(|env| lexicon().environment(env)) {
                parsed.place.envs = vec![env];
            }
            if let Some(team) = &norm.scope.team {
                parsed.place.roles = vec![team.clone()];
            }
            if let Some(tenant) = &norm.scope.tenant {
                parsed.place.tenants = vec![tenant.clone()];
            }
        }
        Self { claim, norms, parsed }
    }

    /// Returns the claim that was parsed.
    pub fn claim(&self) -> &NormedClaim {
        &self.claim
    }
}

fn turned(modality: Modality) -> Modality {
    match modality {
        Modality::Should => Modality::ShouldNot,
        _ => Modality::MustNot,
    }
}

/// Turns the norms of a rejection, unless its text is negative already.
pub(crate) fn reject(norms: &mut [Norm]) {
    let negative = |norm: &Norm| matches!(norm.modality, Modality::MustNot | Modality::ShouldNot | Modality::MayNot);
    if !norms.iter().any(negative) {
        for norm in norms {
            norm.modality = turned(norm.modality);
        }
    }
}

/// Whether the words that a norm rests on stand in its statement: a normaliser cannot make a contradiction up.
fn is_grounded(norm: &Norm, statement: &str) -> bool {
    let statement = statement.to_lowercase();
    norm.words.iter().all(|words| statement.contains(&words.to_lowercase()))
}

/// The comparison that says most: a contradiction first, then what is principled.
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

/// The strongest comparison between the norms of two claims, and which norms it is between.
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

/// What the rules find between two prepared statements. [`weigh`] says what follows.
pub(crate) fn rule(ours: &ParsedClaim, theirs: &ParsedClaim, stages: Stages) -> Ruling {
    let labelled =
        !ours.parsed.label.is_empty() && !theirs.parsed.label.is_empty() && ours.parsed.label != theirs.parsed.label;
    let mut ruling = Ruling::default();
    if align::told_apart(&ours.parsed, &theirs.parsed) {
        return apart(ours, theirs, RuleId::ToldApart, "They speak of two things of one kind.");
    }
    if stages.structural
        && let Some((comparison, i, j)) = strongest(&ours.norms, &theirs.norms)
    {
        let (norm, their_norm) = (&ours.norms[i], &theirs.norms[j]);
        let held = comparison.relation == Relation::Contradiction
            && !labelled
            && is_grounded(norm, &ours.claim.statement)
            && is_grounded(their_norm, &theirs.claim.statement);
        ruling.evidence = Evidence {
            stage: if norm.subject_kind == SubjectKind::Missing || their_norm.subject_kind == SubjectKind::Missing {
                Stage::Normalise
            } else {
                Stage::Structural
            },
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
        if held && comparison.confidence == Confidence::High {
            (ruling.strength, ruling.decided) = (DECIDED, true);
        }
        ruling.hint = !ruling.decided && (held || comparison.rule == RuleId::NarrowerScope && !labelled);
        if ruling.hint {
            ruling.strength = DOUBTED;
        }
        if comparison.relation == Relation::Incomparable {
            ruling.settled = true;
            return ruling;
        }
    }
    let disjoint = ours.norms.iter().any(|a| {
        theirs.norms.iter().any(|b| structural::disjoint_scope(&a.scope, &b.scope) || structural::disjoint_time(a, b))
    });
    if stages.aligned
        && !disjoint
        && let Some(found) = align::oppose(&ours.parsed, &theirs.parsed)
        && found.score > ruling.strength
    {
        let norm = ours.norms.get(found.clauses.0).or(ours.norms.first()).cloned().unwrap_or_default();
        let their_norm = theirs.norms.get(found.clauses.1).or(theirs.norms.first()).cloned().unwrap_or_default();
        if !ruling.decided {
            (ruling.strength, ruling.hint) = (found.score, false);
        }
        // Of norms that contradict each other the words may give the better sentence; what is weighed is the norms alone.
        ruling.evidence = aligned_evidence(&found, ours, theirs, norm, their_norm);
    }
    if stages.aligned && !disjoint && ruling.strength < DOUBTED {
        changed(&mut ruling, ours, theirs);
    }
    let evidence = &ruling.evidence;
    let principled = evidence.stage != Stage::Judge
        && evidence.confidence == Confidence::High
        && evidence.relation != Relation::Contradiction;
    let elsewhere =
        ours.parsed.place.is_disjoint(&theirs.parsed.place) || ours.parsed.window.is_disjoint(theirs.parsed.window);
    ruling.settled = !ruling.decided && (principled || labelled || elsewhere);
    ruling
}

/// Two statements that hold beside each other, for a reason that no model is asked about.
pub(crate) fn apart(ours: &ParsedClaim, theirs: &ParsedClaim, rule: RuleId, sentence: &str) -> Ruling {
    let norm = |prepared: &ParsedClaim| prepared.norms.first().cloned().unwrap_or_default();
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
    Ruling { evidence, settled: true, ..Ruling::default() }
}

/// The share of words from which "that was wrong" is about the other statement.
const SAME_MATTER: f32 = 0.3;

/// Warns where one statement says in words that it takes the place of what the other rests on.
fn changed(ruling: &mut Ruling, ours: &ParsedClaim, theirs: &ParsedClaim) {
    let (a, b) = (&ours.parsed, &theirs.parsed);
    let found = change::gives_up(a, b).or_else(|| {
        let said = change::corrects(a).filter(|_| features::shared(a, b).1 >= SAME_MATTER)?;
        Some(change::Change { ours: vec![said], theirs: Vec::new() })
    });
    let Some(found) = found else { return };
    let (words, their_words) = (explain::words(a, &found.ours), explain::words(b, &found.theirs));
    (ruling.strength, ruling.hint) = (DOUBTED, true);
    let evidence = &mut ruling.evidence;
    evidence.stage = Stage::Judge;
    evidence.rule = RuleId::ChangeInWords;
    evidence.relation = Relation::Uncertain;
    evidence.confidence = Confidence::Med;
    evidence.field = String::new();
    evidence.sentence = explain::changed(&words, &their_words);
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
        relation: if found.score >= OPPOSED { Relation::Contradiction } else { Relation::Uncertain },
        confidence: if found.score >= OPPOSED { Confidence::High } else { Confidence::Med },
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

/// How much a pair deserves a cross-encoder, beside others of the same write; `None` where it does not.
pub(crate) fn worth(
    ruling: &Ruling,
    ours: &ParsedClaim,
    theirs: &ParsedClaim,
    said: &PairScores,
    gate: &Gate,
) -> Option<f32> {
    if ruling.settled || ruling.decided {
        return None;
    }
    let (overlap, _) = features::shared(&ours.parsed, &theirs.parsed);
    let cosine = said.cosine.unwrap_or(0.0);
    let close = ruling.strength > 0.05 || cosine >= gate.cosine || overlap >= gate.overlap;
    close.then_some(ruling.strength + cosine + 0.5 * overlap)
}

/// The tier that follows from a probability.
fn tier(probability: f32, block: f32, warn: f32) -> Tier {
    if probability >= block {
        Tier::Block
    } else if probability >= warn {
        Tier::Warn
    } else {
        Tier::Clean
    }
}

/// Weighs everything that is known of a pair into one probability, and says what follows from it. `shift` is added to the probability from
/// which a pair is refused where a cross-encoder was heard; from 1 on it was not the one that the weights were fitted for, and then it may
/// warn and neither refuse nor take back.
pub(crate) fn weigh(
    ruling: &mut Ruling,
    ours: &ParsedClaim,
    theirs: &ParsedClaim,
    said: &PairScores,
    weights: &Weights,
    shift: f32,
) {
    if ruling.settled {
        if ruling.hint {
            ruling.tier = Tier::Warn;
        }
        return;
    }
    let alone = features::figures(ruling, ours, theirs, &PairScores::default());
    let (mut probability, mut limits) = (weights.rules.score(&alone), (weights.rules.block, weights.rules.warn));
    ruling.tier = tier(probability, limits.0, limits.1);
    let mut inferred = None;
    if let Some(inference) = said.inference.filter(|_| !weights.weights.is_empty() && !ruling.decided) {
        let figures = features::figures(ruling, ours, theirs, said);
        for (name, figure) in features::NAMES.iter().zip(figures).filter(|(_, figure)| *figure != 0.0) {
            ruling.evidence.features.insert((*name).to_owned(), figure);
        }
        for (what, [forward, backward]) in
            [("contradiction", inference.contradiction()), ("entailment", inference.entailment())]
        {
            ruling.evidence.features.insert(format!("{what}_forward"), forward);
            ruling.evidence.features.insert(format!("{what}_backward"), backward);
        }
        let with = weights.score(&figures);
        if shift >= 1.0 {
            if ruling.tier == Tier::Clean && with >= weights.thresholds.warn {
                // Likely, by a model whose word was not measured.
                probability = probability.max(limits.1);
                (ruling.tier, inferred) = (Tier::Warn, Some(RuleId::Inferred));
            }
        } else {
            probability = with;
            // Words that the rules name a person can check: they need less to refuse than inference alone, and are never passed over.
            limits = if ruling.strength >= OPPOSED {
                (weights.thresholds.named, 0.0)
            } else {
                ((weights.thresholds.block + shift).clamp(0.01, 0.9999), weights.thresholds.warn)
            };
            ruling.tier = tier(probability, limits.0, limits.1);
            ruling.hint &= ruling.evidence.relation != Relation::Contradiction || inference.mean() >= 0.0;
            inferred = Some(RuleId::Inferred);
        }
        let log_odds = weights.log_odds(&figures);
        if let Some(deep) = said.deep.filter(|_| ruling.tier < Tier::Block) {
            // It speaks where it finds something, and takes back no warning.
            let with = weights.deep_score(log_odds, deep);
            ruling.evidence.features.insert("deep".into(), deep);
            let block = weights.deep.block + shift;
            if with >= weights.deep.warn.min(block) {
                (probability, limits) = (with, (block, weights.deep.warn));
                (ruling.tier, inferred) = (tier(with, block, weights.deep.warn), Some(RuleId::InferredDeeply));
            }
        }
    }
    ruling.score = probability;
    let likely = ruling.tier > Tier::Clean;
    if ruling.hint && !likely {
        ruling.tier = Tier::Warn;
    }
    let evidence = &mut ruling.evidence;
    evidence.features.insert("probability".into(), probability);
    evidence.features.insert("limit".into(), limits.0.min(1.0));
    if !likely || ruling.decided {
        return;
    }
    let sure = ruling.tier == Tier::Block;
    evidence.relation = if sure { Relation::Contradiction } else { Relation::Uncertain };
    evidence.confidence = if sure { Confidence::High } else { Confidence::Med };
    if let Some(rule) = inferred.filter(|rule| evidence.stage != Stage::Judge || *rule == RuleId::InferredDeeply) {
        let (words, their_words) = explain::apart(&ours.parsed, &theirs.parsed);
        evidence.stage = Stage::Nli;
        evidence.rule = rule;
        evidence.field = String::new();
        evidence.sentence = explain::inferred(&words, &their_words, Some(probability));
        (evidence.words, evidence.their_words) = (words, their_words);
    }
}
