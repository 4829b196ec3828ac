//! Made-up claims for measurements, always the same for a seed. Words and subjects are as unevenly distributed as in real
//! text: some occur in every second claim, most in very few.
//!
//! Frequencies: Zipf, "Human Behavior and the Principle of Least Effort", 1949; exponent 1.07 as fitted for English by
//! Piantadosi, "Zipf's word frequency law in natural language", 2014.

use ergo::{
    domain::{
        Body, ClaimKind, EventKind, Norm,
        norm::{Modality, SubjectKind},
    },
    store::EventDraft,
};

/// The number of different words.
const WORDS: usize = 20_000;

/// The number of different subjects: a project has far fewer subjects than words.
const SUBJECTS: usize = 3_000;

/// Words of running text per statement.
const STATEMENT_WORDS: usize = 6;

/// Words of running text per reason.
const REASON_WORDS: usize = 14;

/// The exponent of the Zipf distribution.
const EXPONENT: f64 = 1.07;

const SYLLABLES: [&str; 32] = [
    "ba", "ce", "di", "fo", "gu", "ha", "ki", "lo", "mu", "na", "pe", "qui", "ro", "sa", "te", "vi", "wo", "ya", "zu",
    "bre", "cla", "dro", "fli", "gra", "kno", "ple", "sca", "stri", "tha", "tri", "sho", "vel",
];

/// A generator of claims.
pub struct Synth {
    state: u64,
    words: Vec<f64>,
    subjects: Vec<f64>,
}

/// A made-up claim. No two claims of a generator contradict each other, since each has an attribute of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Synthetic {
    pub kind: ClaimKind,
    pub body: Body,
}

impl Synthetic {
    /// Returns the draft of the event that asserts the claim.
    pub fn draft(self) -> EventDraft {
        EventDraft { claim_kind: Some(self.kind), body: self.body, ..EventDraft::new(EventKind::Assert, []) }
    }
}

impl Synth {
    /// Creates a generator; the same seed gives the same claims.
    pub fn new(seed: u64) -> Self {
        Self { state: seed.wrapping_mul(2).wrapping_add(1), words: cumulative(WORDS), subjects: cumulative(SUBJECTS) }
    }

    /// Generates the next claim; `n` makes it unique.
    pub fn claim(&mut self, n: usize) -> Synthetic {
        let unit = self.unit();
        let subject = format!("{} service", word(pick(&self.subjects, unit) + WORDS));
        let attribute = format!("{} {n}", word(n % WORDS));
        let value = format!("{}", 1_000 + n % 60_000);
        let statement = format!("The {subject} {attribute} must be {value}: {}", self.text(STATEMENT_WORDS));
        let reason = self.text(REASON_WORDS);
        let kind = [ClaimKind::Decision, ClaimKind::Constraint, ClaimKind::Convention][n % 3];
        let norm = Norm {
            modality: Modality::Must,
            subject,
            subject_kind: SubjectKind::Present,
            attribute: Some(attribute),
            value: Some(value.clone()),
            words: vec!["must be".into(), value],
            ..Norm::default()
        };
        let body = Body {
            statement: Some(statement),
            reason: Some(reason),
            source: Some(format!("docs/{}.md:{n}", word(n % 97))),
            norms: Some(vec![norm]),
            normaliser: Some("synth/1".into()),
            ..Body::default()
        };
        Synthetic { kind, body }
    }

    /// Generates running text.
    pub fn text(&mut self, words: usize) -> String {
        let units: Vec<f64> = (0..words).map(|_| self.unit()).collect();
        units.into_iter().map(|unit| word(pick(&self.words, unit))).collect::<Vec<_>>().join(" ")
    }

    /// Returns a uniform number in [0, 1): `SplitMix64`, Steele et al., "Fast splittable pseudorandom number generators", 2014.
    fn unit(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Returns the word of a rank; that of rank 0 is the commonest.
fn word(rank: usize) -> String {
    let mut rest = rank;
    let mut text = String::new();
    loop {
        text.push_str(SYLLABLES[rest % SYLLABLES.len()]);
        rest /= SYLLABLES.len();
        if rest == 0 {
            return text;
        }
        rest -= 1;
    }
}

/// Returns the cumulative Zipf frequencies of ranks 1 to `n`, up to 1.
fn cumulative(n: usize) -> Vec<f64> {
    let mut sum = 0.0;
    let mut all: Vec<f64> = (1..=n)
        .map(|rank| {
            sum += (rank as f64).powf(-EXPONENT);
            sum
        })
        .collect();
    for frequency in &mut all {
        *frequency /= sum;
    }
    all
}

/// Returns the rank, from 0, at which the cumulative frequency exceeds `unit`.
fn pick(cumulative: &[f64], unit: f64) -> usize {
    cumulative.partition_point(|share| *share <= unit).min(cumulative.len() - 1)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_claims_and_none_twice() {
        let claims = |seed| {
            let mut synth = Synth::new(seed);
            (0..500).map(|n| synth.claim(n).body.statement.unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(claims(7), claims(7));
        assert_ne!(claims(7), claims(8));
        assert_eq!(claims(7).into_iter().collect::<BTreeSet<_>>().len(), 500);
    }

    #[test]
    fn words_are_as_uneven_as_in_text() {
        let mut synth = Synth::new(1);
        let mut counts: HashMap<String, usize> = HashMap::new();
        for word in synth.text(20_000).split(' ') {
            *counts.entry(word.to_owned()).or_default() += 1;
        }
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        assert!(counts[0] > 1_000, "{}", counts[0]);
        assert!(counts.len() > 2_000 && counts[counts.len() / 2] <= 3);
    }

    #[test]
    fn ranks_have_words_of_their_own() {
        let words: BTreeSet<String> = (0..WORDS + SUBJECTS).map(word).collect();
        assert!(words.len() > (WORDS + SUBJECTS) * 9 / 10, "{}", words.len());
    }
}
