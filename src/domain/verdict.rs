//! What the guard says about a write, and why.

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

use super::{
    claim::ClaimKind,
    id::ClaimId,
    norm::{IndexTerms, Norm},
};

/// What follows from a verdict.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Store.
    #[default]
    Clean,
    /// Store, and say so.
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
    /// They hold in different places or times.
    Coexist,
    /// Same subject, and nothing decides.
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
    /// Could not decide: the next stage may.
    #[default]
    #[n(0)]
    Low,
    /// Leans one way.
    #[n(1)]
    Med,
    /// Decided.
    #[n(2)]
    High,
}

/// Why the guard says what it says about one pair of claims.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Evidence {
    /// The stage that decided.
    pub stage: Stage,
    /// The rule that fired: a stable name such as `opposing_modality` or `value_conflict`.
    pub rule: String,
    /// How the two relate.
    pub relation: Relation,
    /// How sure that stage is.
    pub confidence: Confidence,
    /// What disagrees, in one sentence for people.
    pub sentence: String,
    /// The norm field that fired: `modality`, `value`, `object`, `limit`, …
    pub field: String,
    /// The words of the incoming statement that grounded it.
    pub words: Vec<String>,
    /// The words of the stored statement that grounded it.
    pub their_words: Vec<String>,
    /// The incoming norm.
    pub norm: Norm,
    /// The stored norm.
    pub their_norm: Norm,
    /// Who read the incoming norm: the normaliser's name and version.
    pub normaliser: String,
    /// Who read the stored norm.
    pub their_normaliser: String,
    /// The figures behind the score, by name: `probability`, which is the score, and `limit`, from which it refuses; cosine, overlap; `contradiction_forward` and `entailment_forward`, the log-odds
    /// that inference gives with the stored statement first, and `…_backward` with the incoming one first.
    #[schema(value_type = Object)]
    pub features: std::collections::BTreeMap<String, f32>,
}

impl Evidence {
    /// The probability that the two contradict, and from which one a write is refused, in words; `None` where nothing was weighed.
    pub fn probability(&self) -> Option<String> {
        let share = |name: &str| self.features.get(name).map(|share| (share * 100.0).round());
        let probability = share("probability")?;
        Some(match share("limit").filter(|limit| *limit < 100.0) {
            Some(limit) => format!("{probability:.0} % likely to contradict, refused from {limit:.0} %"),
            None => format!("{probability:.0} % likely to contradict"),
        })
    }
}

/// The guard's word on the incoming claim against one stored claim.
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

/// The guard's word on a write.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Verdict {
    /// The strongest tier of the findings.
    pub tier: Tier,
    /// Pairs that warn or block, the strongest first.
    pub findings: Vec<Finding>,
    /// Stages that did not run, and why, in words.
    pub skipped: Vec<String>,
    /// How many stored claims were compared.
    pub compared: usize,
    /// How many of them a cross-encoder was asked about.
    pub inferred: usize,
}

/// What an event carries of a claim, as far as claims are compared by it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried<'a> {
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
    fn contradiction(&self, ours: Carried<'_>, theirs: Carried<'_>) -> Option<Evidence>;

    /// What to index of a claim. Two claims that contradict share one of the [`IndexTerms::pairs`].
    fn index_terms(&self, norms: &[Norm], statement: &str) -> IndexTerms;

    /// The [`IndexTerms::pairs`] alone.
    fn pairs(&self, norms: &[Norm]) -> Vec<String> {
        self.index_terms(norms, "").pairs
    }
}
