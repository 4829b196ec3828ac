//! From the stages' answers to a tier.

use std::collections::BTreeMap;

use super::{
    Candidate,
    align::{self, Opposition},
    explain,
    nli::Nli,
    normalise::{self, Parsed},
    structural::{self, Comparison},
};
use crate::domain::{
    claim::ClaimKind,
    norm::{Modality, Norm, SubjectKind},
    verdict::{Confidence, Evidence, Relation, Stage, Tier},
};

/// Score from which a pair blocks. Chosen on real rules and decisions so that at most 2 of 1,000 writes are refused wrongly.
pub const BLOCK: f32 = 0.5;

/// Score from which a pair warns.
pub const WARN: f32 = 0.34;

/// The score of a pair that the structural stage decides with HIGH confidence.
const DECIDED: f32 = 0.95;

/// Inferred contradiction from which language inference may warn, and the shared weight that lets it speak at all: raw inference calls
/// unrelated pairs contradictions with more than 0.9.
const NLI_WARN: f32 = 0.95;
const NLI_GATE: f32 = 0.3;

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
            features: BTreeMap::new(),
        };
        if held {
            ruling.score = DECIDED;
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
    ruling.tier = if ruling.score >= BLOCK {
        Tier::Block
    } else if ruling.score >= WARN {
        Tier::Warn
    } else {
        Tier::Clean
    };
    ruling
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
    }
}

/// Asks language inference about a pair that the stages before could not decide. Returns why not, where it cannot answer.
pub(crate) fn infer(
    ruling: &mut Ruling,
    our_text: &str,
    their_text: &str,
    overlap: f32,
    nli: &dyn Nli,
) -> Result<(), String> {
    if ruling.tier != Tier::Clean || ruling.evidence.confidence != Confidence::Low || overlap < NLI_GATE {
        return Ok(());
    }
    let inference = nli.infer(their_text, our_text)?;
    if inference.contradiction >= NLI_WARN {
        ruling.tier = Tier::Warn;
        ruling.score = ruling.score.max(WARN);
        ruling.evidence.stage = Stage::Nli;
        ruling.evidence.rule = "inferred".into();
        ruling.evidence.relation = Relation::Uncertain;
        ruling.evidence.confidence = Confidence::Med;
        ruling.evidence.sentence = format!("Language inference ({}) reads them as a contradiction.", nli.name());
        ruling.evidence.features.insert("contradiction".into(), inference.contradiction);
        ruling.evidence.features.insert("overlap".into(), overlap);
    }
    Ok(())
}
