//! From the stages' answers to a tier.

use super::{
    Candidate,
    align::{self, Opposition},
    change, explain, features,
    nli::Said,
    normalise::{self, Parsed},
    structural::{self, Comparison},
    weights::{Gate, Weights},
};
use crate::domain::{
    claim::ClaimKind,
    norm::{Modality, Norm, SubjectKind},
    verdict::{Confidence, Evidence, Relation, Stage, Tier},
};

/// Score from which a pair blocks. That of the rules was chosen on real rules and decisions so that at most 2 of 1,000 writes are refused
/// wrongly; that of inference is a probability, put on the same scale.
pub const BLOCK: f32 = 0.5;

/// Score of the rules alone from which a pair warns.
pub const WARN: f32 = 0.34;

/// The score of a pair that the structural stage decides with HIGH confidence.
const DECIDED: f32 = 0.95;

/// The rule of a statement that says itself that something changed.
const IN_WORDS: &str = "change_in_words";

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
    /// How strongly the pair contradicts, 0 to 1.
    pub score: f32,
    /// Why.
    pub evidence: Evidence,
    /// The norms contradict each other: nothing is left to infer.
    pub decided: bool,
}

/// A statement ready to be compared: its norms and its words.
pub(crate) struct Prepared {
    pub(crate) norms: Vec<Norm>,
    pub(crate) parsed: Parsed,
}

/// Reads a candidate; a rejection of "use X" says "do not use X".
pub(crate) fn prepare(candidate: &Candidate) -> Prepared {
    let mut norms = candidate.norms.clone();
    let mut parsed = normalise::parse(&candidate.statement);
    if candidate.kind == ClaimKind::Rejection {
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
        if let Some(env) = &norm.scope.env
            && let Some(env) = normalise::place::env(env)
        {
            parsed.place.envs = vec![env];
        }
        if let Some(team) = &norm.scope.team {
            parsed.place.roles = vec![team.clone()];
        }
        if let Some(tenant) = &norm.scope.tenant {
            parsed.place.tenants = vec![tenant.clone()];
        }
    }
    Prepared { norms, parsed }
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

/// Compares two prepared statements.
pub(crate) fn rule(ours: &Prepared, our_text: &str, theirs: &Prepared, their_text: &str, stages: Stages) -> Ruling {
    let labelled =
        !ours.parsed.label.is_empty() && !theirs.parsed.label.is_empty() && ours.parsed.label != theirs.parsed.label;
    let mut ruling = Ruling::default();
    if stages.structural
        && let Some((comparison, i, j)) = strongest(&ours.norms, &theirs.norms)
    {
        let (norm, their_norm) = (&ours.norms[i], &theirs.norms[j]);
        let held = comparison.relation == Relation::Contradiction
            && !labelled
            && is_grounded(norm, our_text)
            && is_grounded(their_norm, their_text);
        ruling.evidence = Evidence {
            stage: if norm.subject_kind == SubjectKind::Missing || their_norm.subject_kind == SubjectKind::Missing {
                Stage::Normalise
            } else {
                Stage::Structural
            },
            rule: comparison.rule.into(),
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
            ruling.score = DECIDED;
            ruling.decided = true;
        } else if held {
            ruling.score = WARN;
        }
        if comparison.rule == "narrower_scope" && !labelled {
            ruling.score = WARN;
        }
        if comparison.relation == Relation::Incomparable {
            return ruling;
        }
    }
    let apart = ours.norms.iter().any(|a| {
        theirs.norms.iter().any(|b| structural::disjoint_scope(&a.scope, &b.scope) || structural::disjoint_time(a, b))
    });
    if stages.aligned
        && !apart
        && let Some(found) = align::oppose(&ours.parsed, &theirs.parsed)
        && found.score > ruling.score
    {
        let norm = ours.norms.get(found.clauses.0).or(ours.norms.first()).cloned().unwrap_or_default();
        let their_norm = theirs.norms.get(found.clauses.1).or(theirs.norms.first()).cloned().unwrap_or_default();
        ruling.score = found.score;
        ruling.evidence = aligned_evidence(&found, ours, theirs, norm, their_norm);
    }
    if stages.aligned && !apart && ruling.score < WARN {
        changed(&mut ruling, ours, theirs);
    }
    ruling.tier = if ruling.score >= BLOCK {
        Tier::Block
    } else if ruling.score >= WARN {
        Tier::Warn
    } else {
        Tier::Clean
    };
    ruling
}

/// The share of words from which "that was wrong" is about the other statement.
const SAME_MATTER: f32 = 0.3;

/// Warns where one statement says in words that it takes the place of what the other rests on.
fn changed(ruling: &mut Ruling, ours: &Prepared, theirs: &Prepared) {
    let (a, b) = (&ours.parsed, &theirs.parsed);
    let found = change::gives_up(a, b).or_else(|| {
        let said = change::corrects(a).filter(|_| features::shared(a, b).1 >= SAME_MATTER)?;
        Some(change::Change { ours: vec![said], theirs: Vec::new() })
    });
    let Some(found) = found else { return };
    let (words, their_words) = (explain::words(a, &found.ours), explain::words(b, &found.theirs));
    ruling.score = WARN;
    let evidence = &mut ruling.evidence;
    evidence.stage = Stage::Judge;
    evidence.rule = IN_WORDS.into();
    evidence.relation = Relation::Uncertain;
    evidence.confidence = Confidence::Med;
    evidence.field = String::new();
    evidence.sentence = explain::changed(&words, &their_words);
    (evidence.words, evidence.their_words) = (words, their_words);
}

fn aligned_evidence(found: &Opposition, ours: &Prepared, theirs: &Prepared, norm: Norm, their_norm: Norm) -> Evidence {
    let (words, their_words) =
        (explain::words(&ours.parsed, &found.ours), explain::words(&theirs.parsed, &found.theirs));
    Evidence {
        stage: Stage::Judge,
        rule: found.rule.into(),
        relation: if found.score >= BLOCK { Relation::Contradiction } else { Relation::Uncertain },
        confidence: if found.score >= BLOCK { Confidence::High } else { Confidence::Med },
        sentence: explain::aligned(found, &words, &their_words, &ours.parsed),
        field: match found.rule {
            "opposing_modality" => "modality",
            "opposed_words" => "object",
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

/// Whether the stages before leave nothing to infer: decided by norms, incomparable, or of another place or time.
fn is_settled(ruling: &Ruling) -> bool {
    let evidence = &ruling.evidence;
    ruling.decided
        || evidence.stage != Stage::Judge
            && evidence.confidence == Confidence::High
            && evidence.relation != Relation::Contradiction
}

/// How much a pair deserves a cross-encoder, beside others of the same write; `None` where it does not.
pub(crate) fn worth(ruling: &Ruling, ours: &Prepared, theirs: &Prepared, said: &Said, gate: &Gate) -> Option<f32> {
    let labelled =
        !ours.parsed.label.is_empty() && !theirs.parsed.label.is_empty() && ours.parsed.label != theirs.parsed.label;
    let apart =
        ours.parsed.place.is_disjoint(&theirs.parsed.place) || ours.parsed.window.is_disjoint(theirs.parsed.window);
    if is_settled(ruling) || labelled || apart || align::told_apart(&ours.parsed, &theirs.parsed) {
        return None;
    }
    let (overlap, _) = features::shared(&ours.parsed, &theirs.parsed);
    let cosine = said.cosine.unwrap_or(0.0);
    let close = ruling.score > 0.05 || cosine >= gate.cosine || overlap >= gate.overlap;
    close.then_some(ruling.score + cosine + 0.5 * overlap)
}

/// The rules refuse by words that they aligned; where inference is sure that the two go together, that is no more than a warning.
fn doubt(ruling: &mut Ruling, inferred: f32, veto: f32, shift: f32) {
    if inferred > veto || shift >= 1.0 {
        return;
    }
    ruling.tier = Tier::Warn;
    ruling.score = WARN;
    ruling.evidence.relation = Relation::Uncertain;
    ruling.evidence.confidence = Confidence::Med;
    ruling.evidence.sentence.push_str(" Read together, they seem to agree.");
}

/// A probability on the scale of all scores, on which [`BLOCK`] is where a pair blocks.
fn scaled(probability: f32, limit: f32) -> f32 {
    if probability < limit {
        (BLOCK * probability / limit).min(BLOCK - 1e-4)
    } else {
        BLOCK + (1.0 - BLOCK) * (probability - limit) / (1.0 - limit).max(1e-6)
    }
}

/// Weighs everything that is known of a pair that the rules leave open. Without a cross-encoder the rules' own score stands. `shift` is added
/// to the probability from which a pair blocks.
pub(crate) fn weigh(
    ruling: &mut Ruling,
    ours: &Prepared,
    theirs: &Prepared,
    said: &Said,
    weights: &Weights,
    shift: f32,
) {
    let open = || !is_settled(ruling) && !align::told_apart(&ours.parsed, &theirs.parsed);
    let heard = said.inference.filter(|_| !weights.weights.is_empty() && open());
    let Some(inference) = heard else { return };
    let figures = features::figures(ruling, ours, theirs, said);
    for (name, figure) in features::NAMES.iter().zip(figures).filter(|(_, figure)| *figure != 0.0) {
        ruling.evidence.features.insert((*name).to_owned(), figure);
    }
    ruling.evidence.features.insert("inferred".into(), inference.mean());
    for (what, [forward, backward]) in
        [("contradiction", inference.contradiction()), ("entailment", inference.entailment())]
    {
        ruling.evidence.features.insert(format!("{what}_forward"), forward);
        ruling.evidence.features.insert(format!("{what}_backward"), backward);
    }
    if ruling.tier == Tier::Block {
        doubt(ruling, inference.mean(), weights.thresholds.veto, shift);
        return;
    }
    // A hint that inference cannot take back.
    let mut narrower =
        matches!(ruling.evidence.rule.as_str(), "narrower_scope" | IN_WORDS) && ruling.tier == Tier::Warn;
    // Norms that a language model read contradict each other: a hint where inference leans that way too.
    narrower |= ruling.tier == Tier::Warn
        && ruling.evidence.stage == Stage::Structural
        && ruling.evidence.relation == Relation::Contradiction
        && inference.mean() >= 0.0;
    let log_odds = weights.log_odds(&figures);
    let mut probability = weights.score(&figures);
    let mut thresholds = weights.thresholds;
    let mut deeply = false;
    if let Some(deep) = said.deep.filter(|_| probability < thresholds.block + shift) {
        // It speaks where it finds something, and takes back no warning.
        let with = weights.deep_score(log_odds, deep);
        ruling.evidence.features.insert("deep".into(), deep);
        if with >= weights.deep.warn.min(weights.deep.block + shift) {
            (probability, deeply) = (with, true);
            (thresholds.block, thresholds.warn) = (weights.deep.block, weights.deep.warn);
        }
    }
    let limit = (thresholds.block + shift).clamp(0.01, 0.9999);
    let may_block = deeply || weights.gate.lets_block(&figures);
    let (block, warn) = (may_block && probability >= limit, probability >= thresholds.warn);
    let score = scaled(probability, limit).min(if may_block { 1.0 } else { BLOCK - 1e-4 });
    ruling.score = if narrower { ruling.score.max(score) } else { score };
    ruling.tier = if block {
        Tier::Block
    } else if narrower || warn {
        Tier::Warn
    } else {
        Tier::Clean
    };
    let evidence = &mut ruling.evidence;
    evidence.features.insert("probability".into(), probability);
    evidence.features.insert("limit".into(), limit);
    if ruling.tier == Tier::Clean || narrower && !block {
        return;
    }
    let sure = ruling.tier == Tier::Block;
    evidence.relation = if sure { Relation::Contradiction } else { Relation::Uncertain };
    evidence.confidence = if sure { Confidence::High } else { Confidence::Med };
    if evidence.stage != Stage::Judge || deeply {
        let (words, their_words) = explain::apart(&ours.parsed, &theirs.parsed);
        evidence.stage = Stage::Nli;
        evidence.rule = if deeply { "inferred_deeply" } else { "inferred" }.into();
        evidence.field = String::new();
        evidence.sentence = explain::inferred(&words, &their_words, sure);
        (evidence.words, evidence.their_words) = (words, their_words);
    }
}
