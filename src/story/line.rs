//! What the story reads in one claim: what it names, what it ends, which versions it states, and whether it says that something changed.

use std::collections::BTreeSet;

use super::StoryLine;
use crate::guard::{
    lexicon::{WordClass, lexicon},
    normalise::{
        Parsed,
        item::{Item, ItemKind},
    },
};

/// Words of a phrase that are looked at, at most.
const PHRASE: usize = 5;

/// A claim of so many weighty words says little beside its choice.
const LITTLE: usize = 3;

/// Items that weigh less say little about what a claim speaks of.
const WEIGHTY: f32 = 0.6;

/// Words after which what was used is left: "away from X", "off X".
const AWAY: &[&str] = &["from", "off"];

/// What one claim says to the story.
pub(super) struct LineReading {
    /// The members of sets of exclusive alternatives that it asserts.
    chosen: BTreeSet<(u16, u16)>,
    /// What it is found by: its topic, and the sets that it chooses from.
    pub(super) keys: BTreeSet<Key>,
    /// Ids of the content words that are asserted: not denied, and not given up by the claim itself.
    asserted: BTreeSet<u64>,
    /// Ids of all content words that carry weight.
    pub(super) topic: BTreeSet<u64>,
    /// What it ends: each a set of words that name one thing.
    pub(super) ended: Vec<Ended>,
    /// Versions that it states.
    versions: Vec<Version>,
    /// Amounts that it states.
    amounts: Vec<Amount>,
    /// "X is the Y of Z": the words of X, and those of what it alone is.
    sole: Option<(BTreeSet<u64>, BTreeSet<u64>)>,
    pub(super) returns: bool,
    pub(super) settles: bool,
    pub(super) past: bool,
    pub(super) excepts: bool,
}

/// What claims on one matter share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    /// A content word.
    Word(u64),
    /// A set of exclusive alternatives.
    Choice(u16),
}

/// Something whose use a claim ends.
pub(super) struct Ended {
    /// The words that name it, of which another claim must have all to speak of the same thing.
    pub(super) names: BTreeSet<u64>,
    /// The claim says what takes its place.
    pub(super) replaced: bool,
}

/// A version of something.
struct Version {
    /// The words before it, of which one names the product.
    product: BTreeSet<u64>,
    /// Its numbers, the major one first.
    numbers: Vec<u64>,
}

/// An amount of something.
#[derive(PartialEq)]
struct Amount {
    /// Its base unit, or else the id of the word that is counted.
    of: (&'static str, u64),
    /// In the base unit, as a decimal number.
    value: String,
}

impl LineReading {
    pub(super) fn of(line: &StoryLine) -> Self {
        let parsed = &line.claim.parsed;
        let words: Vec<Word<'_>> = words(&parsed.text);
        let has = |class| words.iter().any(|word| lexicon().class(class).contains(word.text.as_str()));
        let ended = ended(parsed, &words);
        let gone: BTreeSet<u64> = ended.iter().flat_map(|e| e.names.iter().copied()).collect();
        let denied: BTreeSet<usize> = parsed
            .clauses
            .iter()
            .filter(|clause| clause.negative)
            .flat_map(|clause| clause.core.iter().chain(&clause.subject).copied())
            .collect();
        let content = |at: &usize| parsed.items[*at].is_content() && parsed.items[*at].weight >= WEIGHTY;
        let asserted: BTreeSet<u64> = (0..parsed.items.len())
            .filter(|at| parsed.items[*at].is_content() && !denied.contains(at))
            .map(|at| parsed.items[at].id)
            .filter(|id| !gone.contains(id))
            .collect();
        let topic: BTreeSet<u64> = (0..parsed.items.len()).filter(content).map(|at| parsed.items[at].id).collect();
        let chosen: BTreeSet<(u16, u16)> = parsed
            .items
            .iter()
            .filter(|item| asserted.contains(&item.id))
            .filter_map(|item| item.alternative)
            .collect();
        let words_of_topic = topic.iter().copied().map(Key::Word);
        let keys = words_of_topic.chain(chosen.iter().map(|(set, _)| Key::Choice(*set))).collect();
        Self {
            chosen,
            keys,
            asserted,
            topic,
            versions: versions(&parsed.items),
            amounts: amounts(&parsed.items),
            sole: sole(parsed),
            returns: has(WordClass::Returning),
            settles: has(WordClass::Settling),
            past: has(WordClass::Past),
            excepts: has(WordClass::Excepting),
            ended,
        }
    }

    /// Whether it speaks of this thing as being in use.
    pub(super) fn asserts(&self, thing: &Ended) -> bool {
        !thing.names.is_empty() && thing.names.is_subset(&self.asserted)
    }

    /// How much of what the two speak of is the same, 0 to 1 of the shorter one.
    pub(super) fn overlap(&self, other: &Self) -> f32 {
        let least = self.topic.len().min(other.topic.len());
        if least == 0 {
            return 0.0;
        }
        let shared = self.topic.intersection(&other.topic).count();
        #[expect(clippy::cast_precision_loss, reason = "a few dozen words at most")]
        let share = shared as f32 / least as f32;
        share
    }

    /// Whether both state one amount of the same thing, and not the same amount; they must speak of the same otherwise.
    pub(super) fn states_otherwise(&self, other: &Self) -> bool {
        let [ours] = self.amounts.as_slice() else { return false };
        let [theirs] = other.amounts.as_slice() else { return false };
        let shared = self.topic.intersection(&other.topic).count();
        ours.of == theirs.of && ours.value != theirs.value && shared >= 2 && self.overlap(other) >= 0.5
    }

    /// Whether both say of different things that they alone are the same: "X is the source of truth for Z", "Y is the source of truth for Z".
    pub(super) fn is_rival_of(&self, other: &Self) -> bool {
        self.sole.as_ref().zip(other.sole.as_ref()).is_some_and(|(a, b)| a.1 == b.1 && a.0.is_disjoint(&b.0))
    }

    /// Whether it speaks of a higher version of what the other states a version of, without naming that one.
    pub(super) fn has_newer_version_than(&self, other: &Self) -> bool {
        let same = |a: &Version, b: &Version| {
            2 * a.product.intersection(&b.product).count() >= a.product.len().min(b.product.len()).max(1)
        };
        other.versions.iter().any(|old| {
            self.versions.iter().any(|new| same(new, old) && new.numbers > old.numbers)
                && !self.versions.iter().any(|new| same(new, old) && new.numbers <= old.numbers)
        })
    }

    /// Whether both choose from one set of exclusive alternatives, not the same, and for the same: they share what else they speak of, or speak of
    /// little else.
    pub(super) fn is_another_choice_than(&self, other: &Self) -> bool {
        let same_set = self.chosen.iter().any(|(set, _)| other.chosen.iter().any(|(theirs, _)| set == theirs));
        let short = self.topic.len().max(other.topic.len()) <= LITTLE;
        same_set && !self.chooses_as(other) && (short || self.overlap(other) >= 0.5)
    }

    /// Whether both name the same member of some set of exclusive alternatives.
    pub(super) fn chooses_as(&self, other: &Self) -> bool {
        !self.chosen.is_disjoint(&other.chosen)
    }
}

/// A word of the text, in lower case, with its place in bytes.
struct Word<'a> {
    text: String,
    start: usize,
    end: usize,
    /// The mark right after it.
    mark: Option<&'a str>,
}

fn words(text: &str) -> Vec<Word<'_>> {
    // `@deprecated` and code are names, whatever they mean in English.
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '-' | '_' | '.' | '@' | '`');
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].find(inside).map(|i| at + i) {
        let end = text[start..].find(|c| !inside(c)).map_or(text.len(), |i| start + i);
        let trimmed = text[start..end].trim_end_matches('.');
        let stop = start + trimmed.len();
        let mark = text[stop..].chars().next().filter(|c| matches!(c, '.' | ',' | ';' | ':' | '(' | ')'));
        let mark = mark.map(|c| &text[stop..stop + c.len_utf8()]);
        if !trimmed.is_empty() {
            out.push(Word { text: trimmed.to_lowercase(), start, end: stop, mark });
        }
        at = end;
    }
    out
}

/// What a claim ends: "X was removed", "we dropped X", "moved from X to Y", "X no longer …", "X is gone".
fn ended(parsed: &Parsed, words: &[Word<'_>]) -> Vec<Ended> {
    let mut out = Vec::new();
    let word = |at: usize| words.get(at).map_or("", |w| w.text.as_str());
    let is = |class, at: usize| lexicon().class(class).contains(word(at));
    let mut push = |range: (usize, usize), replaced: bool| {
        let names = thing(parsed, range);
        if !names.is_empty() {
            out.push(Ended { names, replaced });
        }
    };
    for at in 0..words.len() {
        let is_be = |at: usize| matches!(word(at), "is" | "are" | "was" | "were" | "been" | "be" | "being" | "got");
        let clause_start = (0..at).rev().find(|i| words[*i].mark.is_some() || word(*i) == "and").map_or(0, |i| i + 1);
        let before = || (words[clause_start].start, words[at].start);
        let after = |from: usize| {
            let stops = |i: &usize| {
                words[*i].mark.is_some()
                    || matches!(
                        word(i + 1),
                        "and" | "in" | "because" | "with" | "for" | "to" | "as" | "by" | "last" | "on"
                    )
            };
            let last = (from..words.len()).find(stops).unwrap_or(words.len().saturating_sub(1));
            words.get(from).map(|first| (first.start, words[last.max(from)].end))
        };
        if (clause_start..at).any(|i| is(WordClass::Unreal, i)) {
            continue;
        }
        if is(WordClass::Ended, at) {
            let passive = (at.saturating_sub(2)..at).any(is_be);
            // "deprecated endpoints" are a sort of endpoints, and nothing that ended.
            if !passive && !(at.saturating_sub(2)..at).any(|i| is(WordClass::Doer, i)) {
                continue;
            }
            let range = if passive { Some(before()) } else { after(at + 1) };
            // "replaced by Y", "dropped X in favour of Y", "retired X; Y instead" name what comes in its place.
            let by = matches!(word(at), "replaced" | "superseded")
                && (at + 1..words.len()).any(|i| matches!(word(i), "by" | "with"));
            let favour = (at + 1..words.len()).any(|i| matches!(word(i), "favour" | "favor" | "instead"));
            if (word(at) != "left" || !passive)
                && let Some(range) = range
            {
                push(range, by || favour);
            }
        } else if is(WordClass::Moved, at) {
            let from = (at + 1..(at + 8).min(words.len())).find(|i| AWAY.contains(&word(*i)));
            if let Some(from) = from.filter(|from| (at..*from).all(|i| words[i].mark.is_none())) {
                let to = (from + 1..words.len()).any(|i| matches!(word(i), "to" | "onto"));
                if let Some(range) = after(from + 1) {
                    push(range, to);
                }
            }
        } else if word(at) == "longer" && at > 0 && word(at - 1) == "no" && at > 1 {
            push((words[clause_start.min(at - 2)].start, words[at - 1].start), false);
        } else if word(at) == "gone" && at > 0 && is_be(at - 1) {
            push(before(), false);
        } else if word(at) == "using"
            && at > 0
            && matches!(word(at - 1), "stopped" | "stop" | "quit")
            && let Some(range) = after(at + 1)
        {
            push(range, false);
        }
    }
    out
}

/// The words that name what stands in this range of bytes: its proper names if it has some, else its content.
fn thing(parsed: &Parsed, range: (usize, usize)) -> BTreeSet<u64> {
    let items: Vec<&Item> = parsed
        .items
        .iter()
        .filter(|item| item.kind == ItemKind::Content && item.start >= range.0 && item.end <= range.1)
        .take(PHRASE)
        .collect();
    let is_name = |item: &&&Item| item.code || item.alternative.is_some() || item.capital && item.start > 0;
    let names: BTreeSet<u64> = items.iter().filter(is_name).map(|item| item.id).collect();
    if !names.is_empty() {
        return names;
    }
    items.iter().filter(|item| item.weight >= WEIGHTY).map(|item| item.id).collect()
}

/// "Postgres 14", "http client to 1.4.2": a version, and the words before it.
fn versions(items: &[Item]) -> Vec<Version> {
    let mut out = Vec::new();
    for (at, item) in items.iter().enumerate() {
        // "Postgres 17 needs …" names a version, "has 17 workers" counts.
        let named = at > 0
            && items[at - 1].kind == ItemKind::Content
            && (items[at - 1].capital || items[at - 1].alternative.is_some());
        let counts = !named && items.get(at + 1).is_some_and(|next| next.kind == ItemKind::Content);
        let unit = item.quantity.as_ref().is_some_and(|quantity| !quantity.base.is_empty());
        let Some(numbers) = version(&item.lower).filter(|numbers| !unit && (numbers.len() > 1 || !counts)) else {
            continue;
        };
        let before = items[..at].iter().rev().take_while(|item| !matches!(item.kind, ItemKind::Punct(_)));
        let product: BTreeSet<u64> =
            before.take(6).filter(|item| item.kind == ItemKind::Content).take(3).map(|item| item.id).collect();
        if !product.is_empty() {
            out.push(Version { product, numbers });
        }
    }
    out
}

/// "15 minutes", "three projects": each amount with its unit or with what is counted.
fn amounts(items: &[Item]) -> Vec<Amount> {
    let read = |(at, item): (usize, &Item)| {
        let quantity = item.quantity.as_ref()?;
        let counted = items.get(at + 1).filter(|next| next.kind == ItemKind::Content).map(|next| next.id);
        let of = match (quantity.base, counted) {
            ("", None) => return None,
            ("", Some(counted)) => ("", counted),
            (base, _) => (base, 0),
        };
        Some(Amount { of, value: quantity.value.clone() })
    };
    items.iter().enumerate().filter_map(read).collect()
}

/// "Postgres is the source of truth for addresses": what is said of one thing alone.
fn sole(parsed: &Parsed) -> Option<(BTreeSet<u64>, BTreeSet<u64>)> {
    let at = parsed.text.find(" is the ")?;
    let part = |within: &dyn Fn(&Item) -> bool| -> BTreeSet<u64> {
        parsed.items.iter().filter(|item| item.kind == ItemKind::Content && within(item)).map(|item| item.id).collect()
    };
    let (subject, role) = (part(&|item| item.end <= at), part(&|item| item.start > at));
    (!subject.is_empty() && role.len() >= 2).then_some((subject, role))
}

/// The numbers of a version: `14`, `1.4.2`, `v2`.
fn version(word: &str) -> Option<Vec<u64>> {
    let digits = word.strip_prefix('v').unwrap_or(word);
    digits.split('.').map(|part| part.parse().ok()).collect()
}
