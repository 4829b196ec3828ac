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
    /// Store.
    #[default]
    Clean,
    /// Store with a warning.
    Warn,
    /// Refuse.
    Block,
}

/// The stage of the guard that decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The statement could not be compared at all.
    Normalise,
    /// Norm against norm.
    #[default]
    Structural,
    /// Natural-language inference.
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
    /// The same subject, but no rule says whether they contradict.
    Uncertain,
    /// One of them has no subject.
    Incomparable,
    /// Different subjects, or not enough is known.
    #[default]
    Unknown,
}

/// How sure a stage is.
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
        /// The rule of the guard that fired.
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
    /// No rule: nothing was found.
    #[default]
    None = "",
    /// One requires what the other forbids or releases.
    OpposingModality = "opposing_modality",
    /// Opposite states of the same subject.
    OpposingObject = "opposing_object",
    /// Two values where one is set.
    ValueConflict = "value_conflict",
    /// Limits that no number meets.
    DisjointLimits = "disjoint_limits",
    /// Opposite words in clauses that otherwise agree.
    OpposedWords = "opposed_words",
    /// Two members of a set of which only one is chosen.
    ExclusiveAlternative = "exclusive_alternative",
    /// “A rather than B” against “B rather than A”.
    SwappedChoice = "swapped_choice",
    /// One states that it replaces what the other relies on.
    ChangeInWords = "change_in_words",
    /// The cross-encoder found it.
    Inferred = "inferred",
    /// The language model found it.
    InferredDeeply = "inferred_deeply",
    /// A judge said so.
    Judged = "judged",
    /// A judge was asked and did not answer.
    Unanswered = "unanswered",
    /// They say the same.
    SameNorm = "same_norm",
    /// Opposite states under opposite stances.
    DoubleOpposition = "double_opposition",
    /// They hold in different places.
    DisjointScope = "disjoint_scope",
    /// They hold at different times.
    DisjointTime = "disjoint_time",
    /// They name two different things of one kind.
    ToldApart = "told_apart",
    /// They stand next to each other in one document, under different conditions.
    Neighbours = "neighbours",
    /// One holds in a narrower scope or time than the other.
    NarrowerScope = "narrower_scope",
    /// One of them states nothing.
    MissingSubject = "missing_subject",
    /// One of them has no definite subject.
    FuzzySubject = "fuzzy_subject",
    /// Different subjects.
    OtherSubject = "other_subject",
    /// Different attributes of one subject.
    OtherAspect = "other_aspect",
    /// Different states of one subject.
    OtherObject = "other_object",
    /// Opposite stances on different values.
    OtherValue = "other_value",
    /// Limits that some number meets.
    OtherLimit = "other_limit",
    /// The same subject, and nothing decides.
    Undecided = "undecided",
}

/// How far two claims that contradict each other exclude each other.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// One asks for what the other forbids, or for another value of the same thing.
    #[default]
    Direct,
    /// They exclude each other in a part of what they say.
    Partial,
    /// They hold under conditions that may differ: both may be right where they stand.
    Contextual,
}

impl ConflictKind {
    /// The word on the wire and on screen.
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
    /// The rule that fired.
    #[schema(value_type = String)]
    pub rule: RuleId,
    /// How the two relate.
    pub relation: Relation,
    /// How sure that stage is.
    pub confidence: Confidence,
    /// The contradiction in one sentence.
    pub sentence: String,
    /// The part of the norms that conflicts: `modality`, `value`, `object`, `limit`, …
    pub field: String,
    /// The words of the new claim that are opposed.
    pub words: Vec<String>,
    /// The words of the existing claim that are opposed.
    pub their_words: Vec<String>,
    /// The norm of the new claim.
    pub norm: Norm,
    /// The norm of the existing claim.
    pub their_norm: Norm,
    /// The normaliser that read the new claim: name and version.
    pub normaliser: String,
    /// The normaliser that read the existing claim.
    pub their_normaliser: String,
    /// The figures behind the score, by name: `probability`, which is the score, and `limit`, from which it refuses; cosine, overlap; `contradiction_forward` and `entailment_forward`, the log-odds
    /// that inference gives with the stored statement first, and `…_backward` with the incoming one first.
    #[schema(value_type = Object)]
    pub features: std::collections::BTreeMap<String, f32>,
}

impl Evidence {
    /// Whether a write is refused for this, although a contradiction is less likely than not: the words conflict, and a person can
    /// check that (`assets/judge.toml`).
    pub fn words_conflict(&self) -> bool {
        let share = |name: &str| self.features.get(name).copied();
        matches!((share("probability"), share("limit")), (Some(p), Some(limit)) if limit <= p && p < 0.5)
    }

    /// The probability that the two contradict, and why it is enough to refuse a write or from which one it is, in words; `None` where
    /// nothing was weighed.
    pub fn probability(&self) -> Option<String> {
        let share = |name: &str| self.features.get(name).map(|share| (share * 100.0).round());
        let probability = share("probability")?;
        if self.words_conflict() {
            return Some(format!("{probability:.0} % likely to contradict, but the words themselves conflict"));
        }
        // A lower limit, which holds only for words that conflict, would need an explanation.
        Some(match share("limit").filter(|limit| *limit < 100.0 && (*limit >= 50.0 || *limit > probability)) {
            Some(limit) => format!("{probability:.0} % likely to contradict (refused from {limit:.0} %)"),
            None => format!("{probability:.0} % likely to contradict"),
        })
    }
}

/// The guard's result for the new claim and one existing claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Finding {
    /// The stored claim.
    pub claim: ClaimId,
    /// What follows from this pair.
    pub tier: Tier,
    /// The probability that the pair contradicts.
    pub score: f32,
    /// Why.
    pub evidence: Evidence,
}

/// What the guard found out about a write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct GuardReport {
    /// The strongest tier of the findings.
    pub tier: Tier,
    /// Pairs that warn or block, the strongest first.
    pub findings: Vec<Finding>,
    /// The checks that did not run, and why, in sentences.
    pub skipped: Vec<String>,
    /// How many stored claims were compared.
    pub compared: usize,
    /// How many of them a cross-encoder was asked about.
    pub inferred: usize,
}

/// What an event carries of a claim, as far as claims are compared by it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ComparedClaim<'a> {
    /// The claim's kind.
    pub kind: ClaimKind,
    /// Its statement; empty once redacted.
    pub statement: &'a str,
    /// Its norms; none once redacted.
    pub norms: &'a [Norm],
    /// When it was written, in milliseconds since the Unix epoch, by event clock: a claim whose window had passed by then
    /// was not opposed.
    pub written: u64,
}

/// The comparison that derived conflict cards rest on: a pure function of what two events carry.
///
/// Cards that sync are computed from it on every machine, so an implementation with another answer for any pair must have another
/// [`PairCheck::version`]; a store that sees a new version recomputes its derived cards.
pub trait PairCheck: Send + Sync {
    /// The version of the comparison.
    fn version(&self) -> u32;

    /// The evidence, where two claims cannot both hold; symmetric in whether there is any. Says nothing of a pair that
    /// the guard would let pass: a write that was stored as clean must not open a card.
    fn contradiction(&self, ours: ComparedClaim<'_>, theirs: ComparedClaim<'_>) -> Option<Evidence>;

    /// What to index of a claim. Two claims that contradict share one of the [`IndexTerms::pairs`].
    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms;

    /// The [`IndexTerms::pairs`] alone.
    fn pairs(&self, norms: &[Norm]) -> Vec<String> {
        self.index_terms(norms, "").pairs
    }
}
