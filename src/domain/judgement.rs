//! Judgements: verdicts on two claims that may contradict each other.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use super::{
    claim::{ClaimKind, Qualifiers},
    clock::Hlc,
    event::{Body, EventKind, Header},
    id::EventId,
};

/// The agent name under which ergo's models judge claims.
pub const MODEL_JUDGE: &str = "ergo";

/// The agent name under which claims are judged after a scan of files.
pub const SCAN_JUDGE: &str = "ergo notes";

/// Describes the part of ergo that writes under this agent name; `None` for a coding agent.
pub fn built_in(agent: &str) -> Option<&'static str> {
    match agent {
        MODEL_JUDGE => Some("part of ergo: compares claims by models"),
        SCAN_JUDGE => Some("part of ergo: compares claims after a scan of rule files"),
        _ => None,
    }
}

/// A verdict on how a new claim relates to an existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairVerdict {
    /// Both cannot hold, and it is open which one does.
    Contradicts,
    /// The new claim holds in place of the existing one.
    Replaces,
    /// Both say the same.
    Same,
    /// Both hold.
    Compatible,
}

impl PairVerdict {
    /// Every verdict, in the order of display.
    pub const ALL: [Self; 4] = [Self::Contradicts, Self::Replaces, Self::Same, Self::Compatible];

    /// Returns the word used in JSON, in the event's kind and on screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Contradicts => "contradicts",
            Self::Replaces => "replaces",
            Self::Same => "same",
            Self::Compatible => "compatible",
        }
    }

    /// Returns the label by which a person chooses the verdict; it describes the new claim.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Contradicts => "contradicts",
            Self::Replaces => "replaces it",
            Self::Same => "same",
            Self::Compatible => "keep both",
        }
    }
}

impl fmt::Display for PairVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error for a text that is no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown verdict (expected contradicts, replaces, same or compatible)")]
pub struct UnknownVerdict;

impl FromStr for PairVerdict {
    type Err = UnknownVerdict;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|verdict| verdict.as_str() == text).ok_or(UnknownVerdict)
    }
}

/// The gate's estimate of how likely a contradiction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoubtBand {
    /// The write is stored, and the answer mentions the claim.
    Mention,
    /// The writer is asked: with `consider` in the request, the write waits for a verdict.
    Ask,
}

/// Computes the hash of a claim's content: its kind, its statement with spaces normalised, and its conditions.
pub fn words_hash(kind: ClaimKind, statement: &str, qualifiers: &Qualifiers) -> EventId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/words/1");
    let statement = statement.split_whitespace().collect::<Vec<_>>().join(" ");
    let Qualifiers { env, team, tenant, valid_from, valid_until } = qualifiers;
    let qualifiers = [env, team, tenant, valid_from, valid_until].map(|text| text.as_deref().unwrap_or_default());
    for part in [kind.as_str(), &statement].into_iter().chain(qualifiers) {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    EventId(*hasher.finalize().as_bytes())
}

/// Computes the key of the judgements of two claims from the hashes of their words, given in any order.
pub fn pair_key(one: &EventId, other: &EventId) -> EventId {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/judged-pair/1");
    hasher.update(&one.min(other).0);
    hasher.update(&one.max(other).0);
    EventId(*hasher.finalize().as_bytes())
}

/// How a claim is related to another one with which it agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// It gives a reason for the other one.
    Supports,
    /// It is more specific and implies the other one.
    Refines,
    /// It is an exception to the other one, which is a rule.
    ExceptionTo,
    /// It is an instance of the other one.
    ExampleOf,
}

impl LinkKind {
    /// Returns the words shown for the relation.
    pub fn words(self) -> &'static str {
        match self {
            Self::Supports => "supports",
            Self::Refines => "refines",
            Self::ExceptionTo => "is an exception to",
            Self::ExampleOf => "is an example of",
        }
    }
}

/// The data of a judgement's event, as JSON in its body. Writer, time, verdict and reason are in other fields of the event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JudgementData {
    /// The [`words_hash`] of the new claim.
    pub new: String,
    /// The [`words_hash`] of the existing claim.
    pub existing: String,
    /// The language model that judged, if it was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How the new claim is related to the existing one, if the verdict is that both hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkKind>,
}

impl JudgementData {
    /// Creates the data of a judgement from the [`words_hash`] of both claims.
    pub fn new(new: EventId, existing: EventId, model: Option<String>) -> Self {
        Self { new: new.to_hex(), existing: existing.to_hex(), model, link: None }
    }

    /// Reads the data from the body of a judgement; `None` if it was redacted or is malformed.
    pub fn of(body: Option<&Body>) -> Option<Self> {
        serde_json::from_str(body?.data.as_deref()?).ok()
    }

    /// Returns the [`pair_key`] of both claims; `None` if a hash is malformed.
    pub fn key(&self) -> Option<EventId> {
        Some(pair_key(&self.new.parse().ok()?, &self.existing.parse().ok()?))
    }
}

/// Returns the [`pair_key`] of the pair that an event judges; `None` for other events.
pub fn judged_pair(header: &Header, body: Option<&Body>) -> Option<EventId> {
    matches!(super::derive::understood(header), EventKind::Judgement(_)).then(|| JudgementData::of(body)?.key())?
}

/// The parts of a judgement that decide which of several judgements of a pair applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairJudgement {
    /// The event.
    pub event: EventId,
    /// The event's clock.
    pub clock: Hlc,
    /// The verdict.
    pub verdict: PairVerdict,
    /// Whether it is a person's, given without an agent.
    pub by_person: bool,
}

/// Returns the judgement that applies among the effective ones of one pair, given in any order: the latest of a person, or else the
/// latest.
pub fn standing(judgements: impl IntoIterator<Item = PairJudgement>) -> Option<PairJudgement> {
    judgements.into_iter().max_by_key(|judgement| (judgement.by_person, judgement.clock, judgement.event))
}

/// Counts of an agent's verdicts on pairs of claims that may contradict each other. Undone verdicts are included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct AgentJudgements {
    /// The number of its writes that waited for its verdicts.
    pub asked: usize,
    /// The number of its verdicts `contradicts`.
    pub contradicts: usize,
    /// The number of its verdicts `replaces`.
    pub replaces: usize,
    /// The number of its verdicts `same`.
    pub same: usize,
    /// The number of its verdicts `compatible`.
    pub compatible: usize,
    /// The number of its verdicts that a person later undid or decided differently.
    pub overturned: usize,
    /// Whether its last fifty verdicts are all `compatible`, so that it may not read the claims.
    pub always_compatible: bool,
}

impl AgentJudgements {
    /// Returns the number of its verdicts.
    pub fn verdicts(&self) -> usize {
        self.contradicts + self.replaces + self.same + self.compatible
    }

    /// Summarises how often it was asked, its verdicts, and how many of them a person overturned; `None` if it was never asked and judged
    /// nothing.
    pub fn words(&self) -> Option<String> {
        if self.asked == 0 && self.verdicts() == 0 {
            return None;
        }
        let counts = [
            (self.contradicts, "contradicts"),
            (self.replaces, "replaces"),
            (self.same, "same"),
            (self.compatible, "compatible"),
        ];
        let counts: Vec<String> =
            counts.iter().filter(|(many, _)| *many > 0).map(|(many, verdict)| format!("{many} {verdict}")).collect();
        let counts = if counts.is_empty() { "no verdict".to_owned() } else { counts.join(", ") };
        let writes = if self.asked == 1 { "write" } else { "writes" };
        let verdicts = match self.verdicts() {
            0 => String::new(),
            1 => "1 verdict: ".to_owned(),
            many => format!("{many} verdicts: "),
        };
        let mut line = format!("{verdicts}{counts}; asked about {} {writes}", self.asked);
        if self.overturned > 0 {
            line = format!("{line}; {} overturned by a person", self.overturned);
        }
        if self.always_compatible {
            line.push_str("; its last 50 verdicts are all compatible");
        }
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_verdict_is_read_from_its_word() {
        for verdict in PairVerdict::ALL {
            assert_eq!(verdict.as_str().parse(), Ok(verdict));
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.as_str());
        }
        assert_eq!("fine".parse::<PairVerdict>(), Err(UnknownVerdict));
    }

    #[test]
    fn parts_of_ergo_are_distinguished_from_agents() {
        assert!(built_in(SCAN_JUDGE).is_some() && built_in(MODEL_JUDGE).is_some());
        assert_eq!(built_in("claude-code"), None);
    }

    #[test]
    fn words_are_compared_without_spaces_and_with_where_they_hold() {
        let plain = Qualifiers::default();
        let here = Qualifiers { env: Some("staging".into()), ..Qualifiers::default() };
        let hash = |kind, text: &str, at: &Qualifiers| words_hash(kind, text, at);
        let first = hash(ClaimKind::Decision, "Use  tabs\n", &plain);
        assert_eq!(first, hash(ClaimKind::Decision, "Use tabs", &plain));
        assert_ne!(first, hash(ClaimKind::Decision, "Use tabs", &here));
        assert_ne!(first, hash(ClaimKind::Rejection, "Use tabs", &plain));
        let other = hash(ClaimKind::Decision, "Use spaces", &plain);
        assert_eq!(pair_key(&first, &other), pair_key(&other, &first));
    }

    fn judgement() -> impl Strategy<Value = PairJudgement> {
        (any::<u8>(), 0..4_u64, 0..4_usize, any::<bool>()).prop_map(|(id, wall, verdict, by_person)| PairJudgement {
            event: EventId([id; 32]),
            clock: Hlc { wall, count: 0 },
            verdict: PairVerdict::ALL[verdict],
            by_person,
        })
    }

    proptest! {
        #[test]
        fn what_holds_does_not_depend_on_the_order(mut all in prop::collection::vec(judgement(), 0..8)) {
            // Each event has one verdict.
            all.sort_by_key(|judgement| judgement.event);
            all.dedup_by_key(|judgement| judgement.event);
            let first = standing(all.clone());
            all.reverse();
            prop_assert_eq!(standing(all.clone()), first);
            all.sort_by_key(|judgement| (judgement.clock, judgement.verdict));
            prop_assert_eq!(standing(all.clone()), first);
            prop_assert!(first.is_none_or(|first| first.by_person || all.iter().all(|other| !other.by_person)));
        }
    }

    #[test]
    fn judgements_are_summarised_in_one_line() {
        assert_eq!(AgentJudgements::default().words(), None);
        let some =
            AgentJudgements { asked: 3, replaces: 1, compatible: 2, overturned: 1, ..AgentJudgements::default() };
        assert_eq!(
            some.words().as_deref(),
            Some("3 verdicts: 1 replaces, 2 compatible; asked about 3 writes; 1 overturned by a person")
        );
    }
}
