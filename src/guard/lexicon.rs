//! The built-in English lexicon. `assets/lexicon/README.md` describes the files and their sources.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use rust_stemmers::{Algorithm, Stemmer};
use serde::{Deserialize, de::IntoDeserializer};

use super::normalise::cue::Cue;

/// The weight of a generic word.
const GENERIC_WEIGHT: f32 = 0.4;

/// A word or phrase of the lexicon.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Lexeme {
    /// The canonical key: the stem of the first word of its synonym or opposite set.
    pub(crate) key: String,
    /// Whether it is the opposite of its key.
    pub(crate) opposite: bool,
    /// Whether it names an operation that its opposite undoes.
    pub(crate) operation: bool,
    /// Whether it is in a set of opposites; only the first set that lists it counts.
    paired: bool,
    /// The exclusive set that it belongs to, and its number there.
    pub(crate) alternative: Option<(u16, u16)>,
    /// The set of different things, places or times that it belongs to, and its number there.
    pub(crate) contrast: Option<(u16, u16)>,
}

/// A word class: one list of `word_classes.txt`, which explains its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WordClass {
    Numbered,
    Attribute,
    Vague,
    Role,
    Hypothetical,
    Idea,
    OpenVerb,
    Ending,
    Work,
    Leaving,
    Sort,
    Deciding,
    TakesInfinitive,
    PurposeAfterComma,
    Ended,
    EndedWithParticle,
    Moved,
    Returning,
    Settling,
    Past,
    Unreal,
    Doer,
    Excepting,
}

/// Phrases with the same first word: the remaining words of each and its value, the longest first.
type Bucket<T> = Vec<(Vec<String>, T)>;

/// The lexicon, loaded once.
pub(crate) struct Lexicon {
    stemmer: Stemmer,
    irregular: HashMap<&'static str, &'static str>,
    words: HashMap<String, Lexeme>,
    phrases: HashMap<String, Bucket<Lexeme>>,
    cues: HashMap<String, Bucket<Cue>>,
    stop: HashSet<&'static str>,
    generic: HashSet<String>,
    verbs: HashSet<String>,
    units: HashMap<&'static str, (&'static str, f64)>,
    environments: HashMap<&'static str, &'static str>,
    classes: HashMap<WordClass, HashSet<&'static str>>,
    alternative_sets: Vec<(String, Vec<String>)>,
    /// State verbs by their key and sign.
    states: HashMap<(String, bool), &'static str>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::load);

/// Returns the lexicon.
pub(crate) fn lexicon() -> &'static Lexicon {
    &LEXICON
}

/// Returns the lines of a lexicon file without comments.
fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Splits `head: rest`.
fn head(line: &'static str) -> Option<(&'static str, &'static str)> {
    line.split_once(':').map(|(head, rest)| (head.trim(), rest.trim()))
}

/// Returns the words of lines `head: word, word`, each with its head.
fn words_by_head(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    lines(text).filter_map(head).flat_map(|(head, words)| words.split(',').map(move |word| (head, word.trim())))
}

impl Lexicon {
    fn load() -> Self {
        let irregular = lines(include_str!("../../assets/lexicon/irregular.txt"))
            .filter_map(head)
            .flat_map(|(base, forms)| forms.split_whitespace().map(move |form| (form, base)))
            .collect();
        let mut lexicon = Self {
            stemmer: Stemmer::create(Algorithm::English),
            irregular,
            words: HashMap::new(),
            phrases: HashMap::new(),
            cues: HashMap::new(),
            stop: lines(include_str!("../../assets/lexicon/stop.txt")).flat_map(str::split_whitespace).collect(),
            generic: HashSet::new(),
            verbs: HashSet::new(),
            units: HashMap::new(),
            environments: words_by_head(include_str!("../../assets/lexicon/environments.txt"))
                .map(|(env, word)| (word, env))
                .collect(),
            classes: HashMap::new(),
            alternative_sets: Vec::new(),
            states: HashMap::new(),
        };
        // In this order, because an entry may refer to one of an earlier file.
        lexicon.read_synonyms();
        lexicon.read_opposites();
        lexicon.read_alternatives();
        lexicon.read_contrasts();
        lexicon.read_cues();
        for bucket in lexicon.phrases.values_mut() {
            bucket.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        }
        lexicon.generic = lines(include_str!("../../assets/lexicon/generic.txt"))
            .flat_map(str::split_whitespace)
            .map(|word| lexicon.canonical(word))
            .collect();
        lexicon.read_states();
        for (name, word) in words_by_head(include_str!("../../assets/lexicon/word_classes.txt")) {
            let class: Result<WordClass, serde::de::value::Error> = WordClass::deserialize(name.into_deserializer());
            if let Ok(class) = class {
                lexicon.classes.entry(class).or_default().insert(word);
            }
        }
        lexicon.verbs = lines(include_str!("../../assets/lexicon/verbs.txt"))
            .flat_map(str::split_whitespace)
            .map(|word| lexicon.stem(word))
            .collect();
        lexicon.read_units();
        lexicon
    }

    fn read_synonyms(&mut self) {
        for (canonical, synonyms) in lines(include_str!("../../assets/lexicon/synonyms.txt")).filter_map(head) {
            let key = self.stems(canonical).join(" ");
            for phrase in std::iter::once(canonical).chain(synonyms.split(',').map(str::trim)) {
                self.update(phrase, |entry| entry.key.clone_from(&key));
            }
        }
    }

    fn read_opposites(&mut self) {
        for line in lines(include_str!("../../assets/lexicon/opposites.txt")) {
            let operation = line.starts_with('!');
            let Some((left, right)) = line.trim_start_matches('!').split_once('|') else { continue };
            let first = left.split(',').next().unwrap_or(left).trim();
            let key = self.canonical(first);
            for (side, opposite) in [(left, false), (right, true)] {
                for phrase in side.split(',').map(str::trim) {
                    self.pair_off(phrase, &key, opposite, operation);
                }
            }
        }
    }

    fn read_alternatives(&mut self) {
        for (set, (name, members)) in
            lines(include_str!("../../assets/lexicon/alternatives.txt")).filter_map(head).enumerate()
        {
            let mut keys = Vec::new();
            for (number, member) in members.split(',').enumerate() {
                keys.push(member.split('=').next().unwrap_or(member).trim().to_owned());
                for phrase in member.split('=').map(str::trim) {
                    self.update_all(phrase, |entry| {
                        entry.alternative.get_or_insert((set as u16, number as u16));
                    });
                }
            }
            self.alternative_sets.push((name.to_owned(), keys));
        }
    }

    fn read_contrasts(&mut self) {
        for (set, (_, members)) in
            lines(include_str!("../../assets/lexicon/contrasts.txt")).filter_map(head).enumerate()
        {
            for (number, member) in members.split(',').enumerate() {
                for phrase in member.split('=').map(str::trim) {
                    self.update_all(phrase, |entry| {
                        entry.contrast.get_or_insert((set as u16, number as u16));
                    });
                }
            }
        }
    }

    fn read_cues(&mut self) {
        for (name, phrases) in lines(include_str!("../../assets/lexicon/cues.txt")).filter_map(head) {
            let Some(cue) = Cue::named(name) else { continue };
            for phrase in phrases.split(',').map(str::trim) {
                let mut words = phrase.replace('-', " ").split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                if words.is_empty() {
                    continue;
                }
                let first = words.remove(0);
                self.cues.entry(first).or_default().push((words, cue));
            }
        }
        for bucket in self.cues.values_mut() {
            bucket.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        }
    }

    fn read_states(&mut self) {
        for (state, verbs) in lines(include_str!("../../assets/lexicon/states.txt")).filter_map(head) {
            for verb in verbs.split(',').map(str::trim) {
                let stems = self.stems(verb);
                let key = self.find(&stems).map_or_else(|| (stems.join(" "), false), |e| (e.key.clone(), e.opposite));
                self.states.entry(key).or_insert(state);
            }
        }
    }

    fn read_units(&mut self) {
        for (base, units) in lines(include_str!("../../assets/lexicon/units.txt")).filter_map(head) {
            for (unit, factor) in units.split(',').filter_map(|unit| unit.split_once('=')) {
                if let Ok(factor) = factor.trim().parse() {
                    self.units.insert(unit.trim(), (base, factor));
                }
            }
        }
    }

    /// Returns the stem of a lower-case word.
    pub(crate) fn stem(&self, word: &str) -> String {
        let word = match self.irregular.get(word).copied() {
            // A base that ends with `!` is not stemmed: its stem would be another word's.
            Some(base) => match base.strip_suffix('!') {
                Some(base) => return base.to_owned(),
                None => base,
            },
            None => word,
        };
        if word.len() <= 3 || !word.bytes().all(|b| b.is_ascii_lowercase()) {
            // Short words and identifiers: only a plural `s` of an abbreviation ("PRs", "APIs") is cut.
            return word
                .strip_suffix('s')
                .filter(|w| w.len() >= 2 && !w.ends_with(['s', 'u', 'i', 'a']))
                .unwrap_or(word)
                .to_owned();
        }
        self.stemmer.stem(word).into_owned()
    }

    fn stems(&self, phrase: &str) -> Vec<String> {
        super::normalise::token::plain_words(phrase).iter().map(|word| self.stem(word)).collect()
    }

    /// Returns the canonical key of a word or phrase.
    pub(crate) fn canonical(&self, phrase: &str) -> String {
        let stems = self.stems(phrase);
        self.find(&stems).map_or_else(|| stems.join(" "), |entry| entry.key.clone())
    }

    fn find(&self, stems: &[String]) -> Option<&Lexeme> {
        match stems {
            [] => None,
            [one] => self.words.get(one),
            [first, rest @ ..] => {
                self.phrases.get(first)?.iter().find(|(words, _)| words == rest).map(|(_, entry)| entry)
            }
        }
    }

    /// Returns the set of exclusive alternatives that a word or phrase is a member of.
    pub(crate) fn alternative_set(&self, phrase: &str) -> Option<u16> {
        self.find(&self.stems(phrase))?.alternative.map(|(set, _)| set)
    }

    fn update(&mut self, phrase: &str, change: impl FnOnce(&mut Lexeme)) {
        let stems = self.stems(phrase);
        let Some((first, rest)) = stems.split_first() else { return };
        let fresh = || Lexeme { key: stems.join(" "), ..Lexeme::default() };
        if rest.is_empty() {
            change(self.words.entry(first.clone()).or_insert_with(fresh));
            return;
        }
        let bucket = self.phrases.entry(first.clone()).or_default();
        let index = bucket.iter().position(|(words, _)| words == rest).unwrap_or_else(|| {
            bucket.push((rest.to_vec(), fresh()));
            bucket.len() - 1
        });
        change(&mut bucket[index].1);
    }

    /// Changes `phrase` and its synonyms.
    fn update_all(&mut self, phrase: &str, change: impl Fn(&mut Lexeme)) {
        let stems = self.stems(phrase);
        let (key, opposite) =
            self.find(&stems).map_or_else(|| (stems.join(" "), false), |e| (e.key.clone(), e.opposite));
        self.update(phrase, &change);
        for entry in self.words.values_mut().chain(self.phrases.values_mut().flatten().map(|(_, entry)| entry)) {
            if entry.key == key && entry.opposite == opposite {
                change(entry);
            }
        }
    }

    /// Adds `phrase` and its synonyms to one side of the opposites `key`, unless they are in a set of opposites already.
    fn pair_off(&mut self, phrase: &str, key: &str, opposite: bool, operation: bool) {
        let old = self.canonical(phrase);
        self.update(phrase, |_| {});
        for entry in self.words.values_mut().chain(self.phrases.values_mut().flatten().map(|(_, entry)| entry)) {
            if entry.key == old && !entry.paired {
                key.clone_into(&mut entry.key);
                entry.opposite = opposite;
                entry.operation = operation;
                entry.paired = true;
            }
        }
    }

    /// Returns the entry of a stem.
    pub(crate) fn word(&self, stem: &str) -> Option<&Lexeme> {
        self.words.get(stem)
    }

    /// Returns the longest phrase that starts with the stem `first`, and its length in words, at least 2.
    pub(crate) fn phrase<'a>(
        &'a self,
        first: &str,
        rest: impl Fn(usize) -> Option<&'a str>,
    ) -> Option<(&'a Lexeme, usize)> {
        self.phrases.get(first)?.iter().find_map(|(words, entry)| {
            words.iter().enumerate().all(|(i, word)| rest(i) == Some(word)).then_some((entry, words.len() + 1))
        })
    }

    /// Returns the cues of the longest phrase that starts with the word `first`, each with the length in words.
    pub(crate) fn cues<'a>(
        &'a self,
        first: &str,
        rest: impl Fn(usize) -> Option<&'a str>,
    ) -> impl Iterator<Item = (Cue, usize)> + 'a {
        let bucket = self.cues.get(first).map_or(&[][..], Vec::as_slice);
        let matches = |words: &[String]| words.iter().enumerate().all(|(i, word)| rest(i) == Some(word));
        let longest = bucket.iter().find(|(words, _)| matches(words)).map(|(words, _)| words.as_slice());
        bucket
            .iter()
            .filter(move |(words, _)| Some(words.as_slice()) == longest)
            .map(|(words, cue)| (*cue, words.len() + 1))
    }

    /// Returns whether a lower-case word is a stop word.
    pub(crate) fn is_stop(&self, word: &str) -> bool {
        self.stop.contains(word)
    }

    /// Returns whether a stem can be a finite verb.
    pub(crate) fn is_verb(&self, stem: &str) -> bool {
        self.verbs.contains(stem)
    }

    /// Returns the environment that a lower-case word names.
    pub(crate) fn environment(&self, word: &str) -> Option<&'static str> {
        self.environments.get(word).copied()
    }

    /// Returns the words of a class.
    pub(crate) fn class(&self, class: WordClass) -> &HashSet<&'static str> {
        &self.classes[&class]
    }

    /// Returns the weight of a canonical key: how much it says about the subject of a statement.
    pub(crate) fn weight(&self, key: &str) -> f32 {
        if self.generic.contains(key) { GENERIC_WEIGHT } else { 1.0 }
    }

    /// Returns the base unit and the factor of a unit.
    pub(crate) fn unit(&self, word: &str) -> Option<(&'static str, f64)> {
        self.units.get(word).copied()
    }

    /// Returns the state that a verb puts its object into.
    pub(crate) fn state(&self, key: &str, opposite: bool) -> Option<&'static str> {
        self.states.get(&(key.to_owned(), opposite)).copied()
    }

    /// Returns whether this is the name of a state.
    pub(crate) fn is_state(&self, name: &str) -> bool {
        self.states.values().any(|state| *state == name)
    }

    /// Returns whether two states are opposites.
    pub(crate) fn states_exclude(&self, a: &str, b: &str) -> bool {
        let key = |state: &str| {
            self.states.iter().find(|(_, name)| **name == state).map(|((key, opposite), _)| (key, *opposite))
        };
        key(a).zip(key(b)).is_some_and(|(a, b)| a.0 == b.0 && a.1 != b.1)
    }

    /// Returns the name of a member of a set of exclusive alternatives.
    pub(crate) fn member_name(&self, (set, number): (u16, u16)) -> Option<&str> {
        self.alternative_sets.get(set as usize)?.1.get(number as usize).map(String::as_str)
    }

    /// Returns the name of a set of exclusive alternatives.
    pub(crate) fn set_name(&self, set: u16) -> &str {
        self.alternative_sets.get(set as usize).map_or("", |(name, _)| name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Example: "hosted" cannot be a synonym of "cloud", because its stem is that of "host".
    #[test]
    fn no_two_sets_of_synonyms_share_a_stem() {
        let sets: Vec<(&str, &str)> =
            lines(include_str!("../../assets/lexicon/synonyms.txt")).filter_map(head).collect();
        let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (canonical, synonyms) in &sets {
            for phrase in std::iter::once(*canonical).chain(synonyms.split(',').map(str::trim)) {
                let owners = owners.entry(lexicon().stems(phrase).join(" ")).or_default();
                if !owners.iter().any(|owner| owner.starts_with(&format!("{canonical}: "))) {
                    owners.push(format!("{canonical}: {phrase}"));
                }
            }
        }
        let shared: Vec<String> = owners
            .into_iter()
            .filter(|(_, owners)| owners.len() > 1)
            .map(|(stem, owners)| format!("{stem}: {}", owners.join(" | ")))
            .collect();
        assert!(shared.is_empty(), "{}", shared.join("\n"));
    }

    #[test]
    fn every_line_of_the_word_classes_is_a_class_and_every_class_has_words() {
        let text = include_str!("../../assets/lexicon/word_classes.txt");
        assert_eq!(lines(text).filter_map(head).count(), lexicon().classes.len());
        assert_eq!(lexicon().classes.len(), WordClass::Excepting as usize + 1);
    }

    /// Every word of a set leads to the set's own key, unless a set of opposites has claimed both.
    #[test]
    fn synonyms_have_one_canonical_key() {
        for (canonical, synonyms) in lines(include_str!("../../assets/lexicon/synonyms.txt")).filter_map(head) {
            let key = lexicon().canonical(canonical);
            for phrase in synonyms.split(',').map(str::trim) {
                assert_eq!(lexicon().canonical(phrase), key, "{canonical}: {phrase}");
            }
        }
    }
}
