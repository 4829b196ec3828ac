//! The guard's report on a write: its tier, findings and evidence.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::{
    claim::ClaimKind,
    id::ClaimId,
    norm::{IndexTerms, Norm},
};

/// The tier: what the guard does with a write.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The write is stored.
    #[default]
    Clean,
    /// The write is stored with a warning.
    Warn,
    /// The write is refused.
    Block,
}

/// The stage of the guard that decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Parsing: the statement could not be compared.
    Normalise,
    /// The comparison of norms by rules.
    #[default]
    Structural,
    /// The cross-encoder (natural-language inference).
    Nli,
    /// The combination of the stages before it.
    Judge,
}

/// How two norms relate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// They cannot both hold.
    Contradiction,
    /// They say the same, or one implies the other.
    Consistent,
    /// They hold under different conditions: environment, team, tenant or time.
    Coexist,
    /// They have the same subject, but no rule decides whether they contradict each other.
    Uncertain,
    /// One of them has no subject.
    Incomparable,
    /// They have different subjects, or not enough is known.
    #[default]
    Unknown,
}

/// The confidence of a stage.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Encode,
    Decode,
    utoipa::ToSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[cbor(index_only)]
pub enum Confidence {
    /// Undecided: the next stage is asked.
    #[default]
    #[n(0)]
    Low,
    /// Probable.
    #[n(1)]
    Med,
    /// Decided.
    #[n(2)]
    High,
}

/// Defines [`RuleId`] with the name of each rule in events and in the API.
macro_rules! rule_ids {
    ($($(#[$doc:meta])* $name:ident = $wire:literal,)*) => {
        /// The rule of the guard that matched.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum RuleId {
            $($(#[$doc])* #[serde(rename = $wire)] $name,)*
            /// A rule that this version does not know.
            #[serde(other, rename = "unknown")]
            Unknown,
        }

        impl RuleId {
            /// Returns its name in events and in the API.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $wire,)*
                    Self::Unknown => "unknown",
                }
            }
        }
    };
}

rule_ids! {
    /// No rule matched.
    #[default]
    None = "",
    /// One requires what the other forbids or releases.
    OpposingModality = "opposing_modality",
    /// Opposite states of the same subject.
    OpposingObject = "opposing_object",
    /// Different values of something that has one value.
    ValueConflict = "value_conflict",
    /// Limits that no number satisfies.
    DisjointLimits = "disjoint_limits",
    /// Opposite words in clauses that otherwise agree.
    OpposedWords = "opposed_words",
    /// Two members of a set of exclusive alternatives.
    ExclusiveAlternative = "exclusive_alternative",
    /// “A rather than B” against “B rather than A”.
    SwappedChoice = "swapped_choice",
    /// One states that it replaces something that the other relies on.
    ChangeInWords = "change_in_words",
    /// The cross-encoder found a contradiction.
    Inferred = "inferred",
    /// The language model found a contradiction.
    InferredDeeply = "inferred_deeply",
    /// A judge's verdict.
    Judged = "judged",
    /// A judge was asked and did not answer.
    Unanswered = "unanswered",
    /// They say the same.
    SameNorm = "same_norm",
    /// Opposite states under opposite modalities, which mean the same.
    DoubleOpposition = "double_opposition",
    /// They hold in different environments, teams or tenants.
    DisjointScope = "disjoint_scope",
    /// They hold at different times.
    DisjointTime = "disjoint_time",
    /// They name two different things of one kind.
    ToldApart = "told_apart",
    /// They are next to each other in one document, under different conditions.
    Neighbours = "neighbours",
    /// One holds in a narrower scope or time than the other.
    NarrowerScope = "narrower_scope",
    /// One of them has no subject.
    MissingSubject = "missing_subject",
    /// One of them has no definite subject.
    FuzzySubject = "fuzzy_subject",
    /// Different subjects.
    OtherSubject = "other_subject",
    /// Different attributes of one subject.
    OtherAspect = "other_aspect",
    /// Different states of one subject.
    OtherObject = "other_object",
    /// Opposite modalities of different values.
    OtherValue = "other_value",
    /// Limits that some number satisfies.
    OtherLimit = "other_limit",
    /// The same subject, but no other rule matches.
    Undecided = "undecided",
}

/// To what extent two contradicting claims exclude each other.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// One asks for what the other forbids, or for another value of the same thing.
    #[default]
    Direct,
    /// They exclude each other in part.
    Partial,
    /// They hold under conditions that may differ, so that each may be right in its place.
    Contextual,
}

impl ConflictKind {
    /// Returns the word used in JSON and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Partial => "partial",
            Self::Contextual => "contextual",
        }
    }
}

/// The evidence for a finding on one pair of claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Evidence {
    /// The stage that decided.
    pub stage: Stage,
    /// The rule that matched.
    #[schema(value_type = String)]
    pub rule: RuleId,
    /// How the two norms relate.
    pub relation: Relation,
    /// The confidence of that stage.
    pub confidence: Confidence,
    /// The contradiction in one sentence.
    pub sentence: String,
    /// The part of the norms that conflicts: `modality`, `value`, `object`, `limit`, …
    pub field: String,
    /// The words of the new claim that contradict the existing one.
    pub words: Vec<String>,
    /// The words of the existing claim that contradict the new one.
    pub their_words: Vec<String>,
    /// The norm of the new claim.
    pub norm: Norm,
    /// The norm of the existing claim.
    pub their_norm: Norm,
    /// The normaliser that parsed the new claim: name and version.
    pub normaliser: String,
    /// The normaliser that parsed the existing claim.
    pub their_normaliser: String,
    /// The figures behind the score, by name: `probability`, which is the score; `limit`, from which a write is refused; cosine; overlap;
    /// `contradiction_forward` and `entailment_forward`, the log-odds of inference with the stored statement first, and `…_backward`, with
    /// the new one first.
    #[schema(value_type = Object)]
    pub features: std::collections::BTreeMap<String, f32>,
}

impl Evidence {
    /// Returns whether an agent proposes that a write replaces the claim, so that the guard refused nothing. Only for
    /// the card of a write: on other cards, this is what a judge thinks about two stored claims.
    pub fn proposes_replacement(&self) -> bool {
        self.rule == RuleId::Judged && self.relation == Relation::Uncertain
    }

    /// Returns whether the rules decided, by words that a person can check, and not the estimate of a model. Only the rules refuse a write if
    /// a contradiction is less likely than not (`assets/judge.toml`), so their probability means little to a reader.
    pub fn is_by_rules(&self) -> bool {
        self.stage != Stage::Nli && self.features.get("limit").is_some_and(|limit| *limit < 0.5)
    }

    /// Returns the probability of a contradiction if a model estimated it.
    pub fn estimate(&self) -> Option<f32> {
        self.features.get("probability").copied().filter(|_| !self.is_by_rules())
    }

    /// Says what the finding is based on: the rules, or a model's estimate of the probability, with the one from which a write is refused.
    /// Returns `None` if no probability was computed.
    pub fn basis(&self) -> Option<String> {
        let share = |name: &str| self.features.get(name).copied();
        let (probability, limit) = (share("probability")?, share("limit").unwrap_or(1.0));
        if self.is_by_rules() {
            return Some(
                if probability >= limit { "found by the rules" } else { "found by the rules, but uncertain" }.into(),
            );
        }
        let estimate = format!("{:.0} % likely to contradict, as a model estimates", probability * 100.0);
        Some(if limit < 1.0 { format!("{estimate} (refused from {:.0} %)", limit * 100.0) } else { estimate })
    }
}

/// The guard's result for the new claim and one existing claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Finding {
    /// The stored claim.
    pub claim: ClaimId,
    /// The tier of this pair.
    pub tier: Tier,
    /// The probability of a contradiction.
    pub score: f32,
    /// The evidence.
    pub evidence: Evidence,
}

/// The guard's report on a write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct GuardReport {
    /// The strongest tier of the findings.
    pub tier: Tier,
    /// Pairs of the tier warn or block, the strongest first.
    pub findings: Vec<Finding>,
    /// The checks that did not run, and why, in sentences.
    pub skipped: Vec<String>,
    /// The number of stored claims that were compared.
    pub compared: usize,
    /// The number of them that a cross-encoder scored.
    pub inferred: usize,
}

/// The parts of an event by which two claims are compared.
#[derive(Clone, Copy, Debug, Default)]
pub struct ComparedClaim<'a> {
    /// The claim's kind.
    pub kind: ClaimKind,
    /// Its statement; empty once redacted.
    pub statement: &'a str,
    /// Its norms; none once redacted.
    pub norms: &'a [Norm],
    /// When it was written, in milliseconds since the Unix epoch, by event clock. It does not contradict a claim whose last day
    /// had passed by then.
    pub written: u64,
}

/// The comparison from which conflict cards are derived: a pure function of two events.
///
/// Every device computes the same cards from it. So an implementation with another result for any pair must have another
/// [`PairCheck::version`]; a store that sees a new version recomputes its derived cards.
pub trait PairCheck: Send + Sync {
    /// Returns the version of the comparison.
    fn version(&self) -> u32;

    /// Returns the evidence if two claims cannot both hold. Whether there is any does not depend on their order. Returns
    /// `None` for a pair that the guard would let pass, because a write that was stored as clean must not open a card.
    fn contradiction(&self, ours: ComparedClaim<'_>, theirs: ComparedClaim<'_>) -> Option<Evidence>;

    /// Returns the index terms of a claim. Two claims that contradict each other share one of the [`IndexTerms::pairs`].
    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms;

    /// Returns only the [`IndexTerms::pairs`].
    fn pairs(&self, norms: &[Norm]) -> Vec<String> {
        self.index_terms(norms, "").pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_model_s_estimate_is_a_number() {
        let evidence = |stage: Stage, probability: f32, limit: f32| {
            let features =
                [("probability", probability), ("limit", limit)].map(|(name, share)| (name.to_owned(), share));
            Evidence { stage, features: features.into(), ..Evidence::default() }
        };
        let basis = |stage: Stage, probability: f32, limit: f32| evidence(stage, probability, limit).basis();
        assert_eq!(basis(Stage::Judge, 0.03, 0.03).as_deref(), Some("found by the rules"));
        assert_eq!(basis(Stage::Structural, 0.6, 0.39).as_deref(), Some("found by the rules"));
        assert_eq!(basis(Stage::Judge, 0.02, 0.03).as_deref(), Some("found by the rules, but uncertain"));
        let estimated = Some("82 % likely to contradict, as a model estimates (refused from 85 %)");
        assert_eq!(basis(Stage::Nli, 0.82, 0.85).as_deref(), estimated);
        assert_eq!(basis(Stage::Judge, 0.82, 0.85).as_deref(), estimated);
        assert_eq!(Evidence::default().basis(), None);
        assert_eq!(evidence(Stage::Judge, 0.03, 0.03).estimate(), None);
        assert_eq!(evidence(Stage::Nli, 0.82, 0.85).estimate(), Some(0.82));
    }
}
