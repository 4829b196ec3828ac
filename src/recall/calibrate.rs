//! The bridge from plain words to the words of a scope, made of what the scope itself says.
//!
//! Two signs join a plain word and a term. They come together: the plain word in reasons, the term in the statement beside
//! it, more often than chance (pointwise mutual information: Church and Hanks, "Word association norms, mutual information, and lexicography", 1990).
//! And they mean nearly the same: the cosine between the two words' vectors. Where there are vectors both must speak for a pair, or the second loudly.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Vocabulary, words::is_empty};
use crate::domain::text;

/// The most words on either side.
const MAX_WORDS: usize = 1_500;

/// The most terms that one plain word leads to.
const MAX_TERMS: usize = 3;

/// The shortest word that is looked at, in characters: shorter ones are marks of grammar or of lists.
const SHORTEST: usize = 3;

/// How often two words must come together, at least, and how far beyond chance, in bits.
const TOGETHER: usize = 2;
const BITS: f64 = 2.0;

/// The same where no vectors can speak for them.
const TOGETHER_ALONE: usize = 3;
const BITS_ALONE: f64 = 3.0;

/// The least cosine of two words that come together, and that of two that never do.
const NEAR: f32 = 0.35;
const NEARLY_SAME: f32 = 0.7;

/// A claim: what it says, and the plain words beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// The statement.
    pub statement: String,
    /// The reason; empty where none was given.
    pub beside: String,
}

/// A word as it was written, and its stem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Word {
    /// Its stem, by which it is compared.
    pub stem: String,
    /// One form in which it stands.
    pub form: String,
}

/// The words of a scope: what may be asked in, and what it speaks in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// Plain words.
    pub plain: Vec<Word>,
    /// Terms of statements.
    pub terms: Vec<Word>,
    /// How often each pair came together, by their places, and how far beyond chance.
    together: BTreeMap<(usize, usize), (usize, f64)>,
}

/// A bridge from a plain word to a term, and what speaks for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bridge {
    /// The plain word.
    pub from: Word,
    /// The term.
    pub to: Word,
    /// In how many claims they came together.
    pub together: usize,
    /// The cosine between them; `None` without an embedder.
    pub cosine: Option<f32>,
}

/// Counts the words of a scope. `known` adds plain words that are asked in everywhere.
pub fn words(said: &[Said], known: impl IntoIterator<Item = String>) -> Words {
    let mut terms: HashMap<String, (String, BTreeSet<usize>)> = HashMap::new();
    let mut plain: HashMap<String, (String, BTreeSet<usize>)> = HashMap::new();
    for (at, said) in said.iter().enumerate() {
        for (into, text) in [(&mut terms, &said.statement), (&mut plain, &said.beside)] {
            for (stem, form) in of(text) {
                into.entry(stem).or_insert_with(|| (form, BTreeSet::new())).1.insert(at);
            }
        }
    }
    for word in known {
        for (stem, form) in of(&word) {
            plain.entry(stem).or_insert_with(|| (form, BTreeSet::new()));
        }
    }
    // What stands in every tenth statement tells nothing apart.
    let common = (said.len() / 10).max(TOGETHER);
    let (terms, term_places) = chosen(terms, common);
    let (plain, plain_places) = chosen(plain, common);
    let mut of_claim: HashMap<usize, Vec<usize>> = HashMap::new();
    for (term, places) in term_places.iter().enumerate() {
        for at in places {
            of_claim.entry(*at).or_default().push(term);
        }
    }
    let mut together = BTreeMap::new();
    for (word, places) in plain_places.iter().enumerate() {
        let mut counts: HashMap<usize, usize> = HashMap::new();
        for term in places.iter().filter_map(|at| of_claim.get(at)).flatten() {
            *counts.entry(*term).or_default() += 1;
        }
        for (term, count) in counts {
            let (own, theirs) = (places.len() as f64, term_places.get(term).map_or(1, BTreeSet::len) as f64);
            let bits = (count as f64 * said.len() as f64 / (own * theirs)).log2();
            if count >= TOGETHER && bits >= BITS {
                together.insert((word, term), (count, bits));
            }
        }
    }
    Words { plain, terms, together }
}

/// The words of a text that say something: stem and form.
fn of(text: &str) -> Vec<(String, String)> {
    let forms: Vec<String> = text::words(text).collect();
    let says =
        |form: &str| form.chars().count() >= SHORTEST && !is_empty(form) && form.chars().any(char::is_alphabetic);
    text::stems(text).into_iter().zip(forms).filter(|(_, form)| says(form)).collect()
}

/// The rarest words, in the order of their stems, with where they stand.
fn chosen(all: HashMap<String, (String, BTreeSet<usize>)>, common: usize) -> (Vec<Word>, Vec<BTreeSet<usize>>) {
    let mut all: Vec<(Word, BTreeSet<usize>)> = all
        .into_iter()
        .filter(|(_, (_, places))| places.len() <= common)
        .map(|(stem, (form, places))| (Word { stem, form }, places))
        .collect();
    // Those that stand in most, among those that are not common: they are asked for most.
    all.sort_by(|a, b| b.1.len().cmp(&a.1.len()).then(a.0.cmp(&b.0)));
    all.truncate(MAX_WORDS);
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all.into_iter().unzip()
}

/// The bridges that both signs speak for. `cosine` tells how near a plain word and a term are, by their places; `None` where there are no vectors.
pub fn bridges(words: &Words, cosine: impl Fn(usize, usize) -> Option<f32>) -> Vec<Bridge> {
    let mut all = Vec::new();
    for (place, plain) in words.plain.iter().enumerate() {
        let mut found: Vec<(f64, Bridge)> = Vec::new();
        for (at, term) in words.terms.iter().enumerate().filter(|(_, term)| term.stem != plain.stem) {
            let known = words.together.get(&(place, at));
            let cosine = cosine(place, at);
            let count = known.map_or(0, |(count, _)| *count);
            let speaks = match (known, cosine) {
                (Some(_), Some(cosine)) => cosine >= NEAR,
                (None, Some(cosine)) => cosine >= NEARLY_SAME,
                (Some((count, bits)), None) => *count >= TOGETHER_ALONE && *bits >= BITS_ALONE,
                (None, None) => false,
            };
            if speaks {
                let weight = f64::from(cosine.unwrap_or(0.0)) + 0.1 * (count as f64).ln_1p();
                let bridge = Bridge { from: plain.clone(), to: term.clone(), together: count, cosine };
                found.push((weight, bridge));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.to.cmp(&b.1.to)));
        all.extend(found.into_iter().take(MAX_TERMS).map(|(_, bridge)| bridge));
    }
    all
}

/// A vocabulary with these bridges added: from the stem of a plain word to that of a term.
pub fn with(vocabulary: &Vocabulary, bridges: &[(String, String)]) -> Vocabulary {
    let mut all = vocabulary.clone();
    for (from, to) in bridges {
        all.add(std::slice::from_ref(from), std::slice::from_ref(to));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(statement: &str, beside: &str) -> Said {
        Said { statement: statement.into(), beside: beside.into() }
    }

    fn corpus() -> Vec<Said> {
        let mut all: Vec<Said> = (0..40).map(|n| said(&format!("shed{n} is blue"), &format!("taste{n}"))).collect();
        for n in 0..4 {
            all.push(said(&format!("Kafka keeps topic{n}"), &format!("messages must not be lost {n}")));
        }
        all
    }

    #[test]
    fn what_comes_together_beyond_chance_is_joined_and_the_rest_is_not() {
        let words = words(&corpus(), []);
        let found = bridges(&words, |_, _| None);
        let pairs: Vec<_> =
            found.iter().map(|bridge| (bridge.from.form.as_str(), bridge.to.form.as_str(), bridge.together)).collect();
        assert!(pairs.contains(&("messages", "kafka", 4)), "{pairs:?}");
        assert!(pairs.iter().all(|(from, ..)| !from.starts_with("taste")), "{pairs:?}");
        // With vectors that say that they have nothing to do with each other, they do not.
        assert!(bridges(&words, |_, _| Some(0.0)).is_empty());
    }

    #[test]
    fn words_that_mean_the_same_are_joined_without_ever_coming_together() {
        let words = words(&corpus(), ["broker".to_owned()]);
        let near = |plain: usize, term: usize| {
            Some(if words.plain[plain].form == "broker" && words.terms[term].form == "kafka" { 0.9 } else { 0.1 })
        };
        let found = bridges(&words, near);
        assert_eq!(found.len(), 1);
        let vocabulary = with(&Vocabulary::default(), &[(found[0].from.stem.clone(), found[0].to.stem.clone())]);
        assert_eq!(vocabulary.others(&["broker".to_owned()]), [["kafka".to_owned()]]);
    }

    #[test]
    fn the_same_scope_gives_the_same_bridges() {
        let mut turned = corpus();
        turned.reverse();
        let of = |corpus: &[Said]| bridges(&words(corpus, []), |_, _| None);
        assert_eq!(of(&corpus()), of(&turned));
    }
}
