//! Reads one claim for the story: its topic, the things whose use it ends, its versions and amounts, and whether it mentions a change.

use std::collections::BTreeSet;

use super::change_words::{TextWord, opens_with_time, tells_change, tells_return, words};
use crate::guard::{
    ParsedClaim,
    align::names_something,
    lexicon::{WordClass, lexicon},
    normalise::{
        Parsed,
        lexical_item::{Item, ItemKind},
    },
};

/// The maximum number of words of a phrase that are used.
const MAX_PHRASE_WORDS: usize = 5;

/// The number of topic words up to which a claim says little besides its choice.
const MAX_SHORT_TOPIC: usize = 3;

/// The minimum weight of an item that belongs to the topic.
const MIN_WEIGHT: f32 = 0.6;

/// Prepositions before a thing that is no longer used: "away from X", "off X".
const AWAY_PREPOSITIONS: &[&str] = &["from", "off"];

/// The result of reading one claim.
#[derive(Debug)]
pub(super) struct ClaimReading {
    /// The members of sets of exclusive alternatives that it asserts.
    chosen: BTreeSet<(u16, u16)>,
    /// The words by which it is found, as numbers that are the same in every process: its topic, its names, and the sets from which
    /// it chooses.
    pub(super) words: BTreeSet<u64>,
    /// The ids of the content words that it asserts: neither denied nor ended by the claim itself.
    pub(super) asserted: BTreeSet<u64>,
    /// The ids of all content words with enough weight.
    pub(super) topic: BTreeSet<u64>,
    /// The topic without its numbers.
    subject: BTreeSet<u64>,
    /// The words of its grammatical subjects, of any weight.
    subjects: BTreeSet<u64>,
    /// All its content words, of any weight.
    said: BTreeSet<u64>,
    /// The names and numbers in it.
    names: BTreeSet<u64>,
    /// Whether it names only an attribute with its amount, and no thing: "the rate limit is 1,000 req/s".
    is_general: bool,
    /// The things whose use it ends.
    pub(super) ended: Vec<Ended>,
    /// The versions that it states.
    versions: Vec<Version>,
    /// The amounts that it states.
    amounts: Vec<Amount>,
    /// The qualifiers of its words, as (word, qualifier): "search service", "import of billing".
    qualifiers: BTreeSet<(u64, u64)>,
    /// For "X is the Y of Z": the words of X, and those of the role that only X has.
    unique_role: Option<(BTreeSet<u64>, BTreeSet<u64>)>,
    /// Whether it says that something was brought back.
    pub(super) returns: bool,
    /// Whether it says that it settles a question.
    pub(super) settles: bool,
    /// Whether it is about the past.
    pub(super) past: bool,
    /// Whether it states an exception.
    pub(super) excepts: bool,
}

/// A thing whose use a claim ends.
#[derive(Debug)]
pub(super) struct Ended {
    /// The words that name it. A claim that contains all of them is about the same thing.
    pub(super) names: BTreeSet<u64>,
    /// The same words as in [`ClaimReading::words`].
    pub(super) words: BTreeSet<u64>,
    /// Whether the claim names the replacement.
    pub(super) replaced: bool,
}

/// A version of something.
#[derive(Debug)]
struct Version {
    /// The words before it, one of which names the product.
    product: BTreeSet<u64>,
    /// Its numbers, the major one first.
    numbers: Vec<u64>,
    /// Whether it is certainly a version. "Worker 3" may be one only because a capital begins the sentence.
    certain: bool,
}

/// An amount of something.
#[derive(Debug, PartialEq)]
struct Amount {
    /// Its base unit, or else the id of the counted word.
    of: (&'static str, u64),
    /// The value in the base unit, as a decimal number.
    value: String,
    /// Whether the counted word is a rate: "req/s".
    is_rate: bool,
}

impl ClaimReading {
    pub(super) fn of(claim: &ParsedClaim) -> Self {
        let parsed = &claim.parsed;
        let words: Vec<TextWord<'_>> = words(&parsed.text);
        let has = |class| words.iter().any(|word| lexicon().class(class).contains(word.text.as_str()));
        let (ended, planned) = ended(parsed, &words);
        let gone: BTreeSet<u64> = ended.iter().flat_map(|e| e.names.iter().copied()).chain(planned).collect();
        let denied: BTreeSet<usize> = parsed
            .clauses
            .iter()
            .filter(|clause| clause.negative)
            .flat_map(|clause| clause.core.iter().chain(&clause.subject).copied())
            .collect();
        // A claim that has only general words, "users can upload files", is about these.
        let weighs = |item: &Item| item.kind == ItemKind::Content && item.weight >= MIN_WEIGHT;
        let floor = if parsed.items.iter().any(weighs) { MIN_WEIGHT } else { 0.0 };
        let content = |at: &usize| parsed.items[*at].is_content() && parsed.items[*at].weight >= floor;
        let asserted: BTreeSet<u64> = (0..parsed.items.len())
            .filter(|at| parsed.items[*at].is_content() && !denied.contains(at))
            .map(|at| id(&parsed.items[at]))
            .filter(|id| !gone.contains(id))
            .collect();
        let named = |at: &usize| content(at) && parsed.items[*at].kind == ItemKind::Content;
        let subject: BTreeSet<u64> = (0..parsed.items.len()).filter(named).map(|at| id(&parsed.items[at])).collect();
        let topic: BTreeSet<u64> = (0..parsed.items.len()).filter(content).map(|at| id(&parsed.items[at])).collect();
        let is_word = |item: &&Item| item.kind == ItemKind::Content;
        let before_verbs = parsed.clauses.iter().flat_map(|clause| &clause.subject).map(|at| &parsed.items[*at]);
        let chosen: BTreeSet<(u16, u16)> = parsed
            .items
            .iter()
            .filter(|item| asserted.contains(&id(item)))
            .filter_map(|item| item.alternative)
            .collect();
        let is_indexed = |item: &&Item| item.is_content() && (item.weight >= floor || is_name(item));
        let index_words = parsed.items.iter().filter(is_indexed).map(index_word);
        let sets = chosen.iter().map(|(set, _)| index_number(&format!("#{}", lexicon().set_name(*set))));
        let index_words = index_words.chain(sets).collect();
        Self {
            chosen,
            words: index_words,
            asserted,
            topic,
            names: parsed
                .items
                .iter()
                .filter(|item| item.is_content() && (is_name(item) || item.kind == ItemKind::Number))
                .map(id)
                .collect(),
            is_general: is_general(&parsed.items),
            subject,
            subjects: before_verbs.filter(is_word).map(id).collect(),
            said: parsed.items.iter().filter(is_word).map(id).collect(),
            versions: versions(&parsed.items),
            amounts: amounts(&parsed.items),
            qualifiers: qualifiers(&parsed.items),
            unique_role: unique_role(parsed),
            returns: tells_return(&words),
            settles: has(WordClass::Settling) || opens_with_time(&words) || tells_change(&words),
            past: has(WordClass::Past),
            excepts: has(WordClass::Excepting),
            ended,
        }
    }

    /// Returns whether it asserts that this thing is used.
    pub(super) fn asserts(&self, thing: &Ended) -> bool {
        !thing.names.is_empty() && thing.names.is_subset(&self.asserted)
    }

    /// Returns the share of the shorter topic that both have in common, 0 to 1.
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

    /// Returns whether both state different amounts of the same thing, on the same topic.
    pub(super) fn states_other_amount_than(&self, other: &Self) -> bool {
        let [ours] = self.amounts.as_slice() else { return false };
        let [theirs] = other.amounts.as_slice() else { return false };
        if ours.of != theirs.of || ours.value == theirs.value || self.qualifies_differently(other) {
            return false;
        }
        let shared = self.subject.intersection(&other.subject).count();
        let least = self.subject.len().min(other.subject.len());
        // A claim that says little besides an amount with a unit, "uploads may be at most 10 MB", is about everything with such an amount.
        let is_part = !ours.of.0.is_empty() && least > 0 && shared == least;
        let is_rate_of_all = ours.is_rate && (self.is_general || other.is_general);
        is_rate_of_all || (is_part || shared >= 2 && 2 * shared >= least) && !self.is_about_another_thing_than(other)
    }

    /// Returns whether neither mentions the grammatical subject of the other: "uploads are limited to …", "downloads are limited to …".
    fn is_about_another_thing_than(&self, other: &Self) -> bool {
        !self.subjects.is_empty()
            && !other.subjects.is_empty()
            && self.subjects.is_disjoint(&other.said)
            && other.subjects.is_disjoint(&self.said)
    }

    /// Returns whether both have a word in common that each qualifies differently: "the search service", "the billing service".
    fn qualifies_differently(&self, other: &Self) -> bool {
        self.qualifiers.iter().any(|(word, ours)| {
            let theirs = other.qualifiers.range((*word, 0)..=(*word, u64::MAX));
            !other.subject.contains(ours) && theirs.clone().any(|(_, theirs)| !self.subject.contains(theirs))
        })
    }

    /// Returns whether both give one unique role to different things: "X is the source of truth for Z", "Y is the source of truth for Z".
    pub(super) fn is_rival_of(&self, other: &Self) -> bool {
        self.unique_role
            .as_ref()
            .zip(other.unique_role.as_ref())
            .is_some_and(|(a, b)| a.1 == b.1 && a.0.is_disjoint(&b.0))
    }

    /// Returns whether it states a higher version of a product than the other, and no lower or equal one.
    pub(super) fn has_newer_version_than(&self, other: &Self) -> bool {
        let same = |a: &Version, b: &Version| {
            2 * a.product.intersection(&b.product).count() >= a.product.len().min(b.product.len()).max(1)
        };
        other.versions.iter().any(|old| {
            let is_last = !other.versions.iter().any(|later| same(later, old) && later.numbers > old.numbers);
            is_last
                && self
                    .versions
                    .iter()
                    .any(|new| same(new, old) && new.numbers > old.numbers && (new.certain || old.certain))
                && !self.versions.iter().any(|new| same(new, old) && new.numbers <= old.numbers)
        })
    }

    /// Returns whether both choose different members of one set of exclusive alternatives for the same thing, because they share most of their
    /// topic or say little else.
    pub(super) fn is_another_choice_than(&self, other: &Self) -> bool {
        let same_set = self.chosen.iter().any(|(set, _)| other.chosen.iter().any(|(theirs, _)| set == theirs));
        let short = self.topic.len().max(other.topic.len()) <= MAX_SHORT_TOPIC;
        same_set && !self.chooses_same_as(other) && (short || self.overlap(other) >= 0.5)
    }

    /// Returns whether it announces something else than both of the others in mostly the same words: "prices are decimals from now on" between two
    /// claims "prices are cents".
    pub(super) fn turns_from_both(&self, first: &Self, last: &Self) -> bool {
        let is_turn = self.settles && self.overlap(first) >= 0.5 && self.overlap(last) >= 0.5;
        let shared: BTreeSet<u64> = first.subject.intersection(&last.subject).copied().collect();
        is_turn
            && !shared.is_subset(&self.topic)
            && !self.subject.is_subset(&first.topic)
            && !self.subject.is_subset(&last.topic)
    }

    /// Returns whether it shares a name or number with `other` that is missing in `third`.
    pub(super) fn shares_name_missing_in(&self, other: &Self, third: &Self) -> bool {
        other.names.iter().any(|name| self.topic.contains(name) && !third.topic.contains(name))
    }

    /// Returns whether both choose the same member of a set of exclusive alternatives.
    pub(super) fn chooses_same_as(&self, other: &Self) -> bool {
        !self.chosen.is_disjoint(&other.chosen)
    }
}

/// Returns the things whose use a claim ends: "X was removed", "we dropped X", "moved from X to Y", "X no longer …", "X is gone"; and the words of
/// things whose use it only plans to end: "we will move from X to Y".
fn ended(parsed: &Parsed, words: &[TextWord<'_>]) -> (Vec<Ended>, BTreeSet<u64>) {
    let mut out = Vec::new();
    let mut planned = BTreeSet::new();
    let word = |at: usize| words.get(at).map_or("", |w| w.text.as_str());
    let is = |class, at: usize| lexicon().class(class).contains(word(at));
    let mut push = |range: (usize, usize), replaced: bool, real: bool| {
        let items = thing(parsed, range);
        if !real {
            planned.extend(items.iter().map(|item| id(item)));
        } else if !items.is_empty() {
            let names = items.iter().map(|item| id(item)).collect();
            out.push(Ended { names, words: items.into_iter().map(index_word).collect(), replaced });
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
        // "Move from X to Y" is a demand: X is still in use.
        let wished = matches!(word(at), "move" | "switch" | "migrate" | "change" | "convert");
        let real = !wished && !(clause_start..at).any(|i| is(WordClass::Unreal, i));
        let particle = matches!(word(at + 1), "off" | "down" | "out") && is(WordClass::EndedWithParticle, at);
        if real && (is(WordClass::Ended, at) || particle) {
            let passive = (at.saturating_sub(2)..at).any(is_be);
            // "deprecated endpoints" names a kind of endpoints and ends nothing.
            if !passive && !(at.saturating_sub(2)..at).any(|i| is(WordClass::Doer, i)) {
                continue;
            }
            if passive && is_routine(words, at) {
                continue;
            }
            let range = if passive { Some(before()) } else { after(at + 1 + usize::from(particle)) };
            // "replaced by Y", "dropped X in favour of Y", "retired X; Y instead" name the replacement.
            let by = matches!(word(at), "replaced" | "superseded")
                && (at + 1..words.len()).any(|i| matches!(word(i), "by" | "with"));
            let favour = (at + 1..words.len()).any(|i| matches!(word(i), "favour" | "favor" | "instead"));
            if (word(at) != "left" || !passive)
                && let Some(range) = range
            {
                push(range, by || favour, real);
            }
        } else if wished || is(WordClass::Moved, at) {
            let from = (at + 1..(at + 8).min(words.len())).find(|i| AWAY_PREPOSITIONS.contains(&word(*i)));
            if let Some(from) = from.filter(|from| (at..*from).all(|i| words[i].mark.is_none())) {
                let to = (from + 1..words.len()).any(|i| matches!(word(i), "to" | "onto"));
                if let Some(range) = after(from + 1) {
                    push(range, to, real);
                }
            }
        } else if real && word(at) == "longer" && at > 1 && word(at - 1) == "no" {
            // "We no longer run X" names it after the verb.
            let range = if is(WordClass::Doer, at - 2) {
                after(at + 2)
            } else {
                Some((words[clause_start.min(at - 2)].start, words[at - 1].start))
            };
            if let Some(range) = range {
                push(range, false, true);
            }
        } else if real && word(at) == "gone" && at > 0 && is_be(at - 1) {
            push(before(), false, true);
        } else if real
            && word(at) == "using"
            && at > 0
            && matches!(word(at - 1), "stopped" | "stop" | "quit")
            && let Some(range) = after(at + 1)
        {
            push(range, false, true);
        }
    }
    (out, planned)
}

/// Returns whether a passive in the present only says when or where something is done to such things, and ends the use of none: "branches
/// are deleted after the merge", "debug logging is disabled in production".
fn is_routine(words: &[TextWord<'_>], verb: usize) -> bool {
    let word = |at: usize| words.get(at).map_or("", |w| w.text.as_str());
    let is_work =
        matches!(word(verb), "deleted" | "removed" | "disabled" | "dropped" | "killed" | "cancelled" | "canceled");
    let present = (verb.saturating_sub(2)..verb).any(|at| matches!(word(at), "is" | "are" | "be" | "being"));
    let end = (verb..words.len()).find(|at| words[*at].mark.is_some()).unwrap_or(words.len().saturating_sub(1));
    let adjunct = |at: usize| match word(at) {
        "in" => !matches!(word(at + 1), "favour" | "favor"),
        "after" | "before" | "when" | "whenever" | "once" | "if" | "during" | "on" | "at" | "by" | "for" | "every"
        | "daily" | "weekly" | "monthly" | "nightly" | "hourly" | "automatically" => true,
        _ => false,
    };
    is_work && present && (verb + 1..=end).any(adjunct)
}

/// Returns the words that name the thing in this byte range: proper names if there are any, or else content words.
fn thing(parsed: &Parsed, range: (usize, usize)) -> Vec<&Item> {
    let items: Vec<&Item> = parsed
        .items
        .iter()
        .filter(|item| item.kind == ItemKind::Content && item.start >= range.0 && item.end <= range.1)
        .take(MAX_PHRASE_WORDS)
        .collect();
    let names: Vec<&Item> = items.iter().copied().filter(|item| is_name(item)).collect();
    if !names.is_empty() {
        return names;
    }
    items.into_iter().filter(|item| item.weight >= MIN_WEIGHT).collect()
}

/// Returns whether a word names one particular thing: it is code, a member of a set of alternatives, or has a capital within the sentence.
fn is_name(item: &Item) -> bool {
    item.code || item.alternative.is_some() || item.capital && item.start > 0
}

/// Returns the id of a word. Opposites, such as "import" and "export", have one key and differ here.
fn id(item: &Item) -> u64 {
    item.id ^ u64::from(item.opposite)
}

/// Returns the index number of a word.
fn index_word(item: &Item) -> u64 {
    if item.opposite { index_number(&format!("~{}", item.key)) } else { index_number(&item.key) }
}

/// Returns a number for a text that is the same in every process.
fn index_number(text: &str) -> u64 {
    let mut first = [0; 8];
    blake3::Hasher::new().update(b"ergo/story-word/1").update(text.as_bytes()).finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}

/// Returns whether the item at `at` is the first of its sentence, so that its capital has no meaning.
fn begins_sentence(items: &[Item], at: usize) -> bool {
    at.checked_sub(1).is_none_or(|i| matches!(items[i].kind, ItemKind::Punct('.' | '!' | '?' | ':' | '\n')))
}

/// Returns versions with the words before them: "Postgres 14", "http client to 1.4.2".
fn versions(items: &[Item]) -> Vec<Version> {
    let mut out = Vec::new();
    for (at, item) in items.iter().enumerate() {
        // "Postgres 17 needs …" names a version, "has 17 workers" counts, and "phase 2" is the name of a part.
        if names_something(items, at) {
            continue;
        }
        let noun = at.checked_sub(1).filter(|i| items[*i].kind == ItemKind::Content);
        let is_capital = noun.is_some_and(|i| items[i].capital);
        let is_product = noun.is_some_and(|i| {
            items[i].alternative.is_some() || matches!(items[i].lower.as_str(), "version" | "release")
        });
        let is_proper = noun.is_some_and(|i| items[i].capital && (items[i].code || !begins_sentence(items, i)));
        let certain = is_product || is_proper || item.lower.starts_with('v');
        let unit = item.quantity.as_ref().is_some_and(|quantity| !matches!(quantity.base, "" | "version"));
        let Some(numbers) =
            version(&item.lower).filter(|numbers| !unit && (numbers.len() > 1 || certain || is_capital))
        else {
            continue;
        };
        let certain = certain || numbers.len() > 1;
        let before = items[..at].iter().rev().take_while(|item| !matches!(item.kind, ItemKind::Punct(_)));
        let product: BTreeSet<u64> =
            before.take(6).filter(|item| item.kind == ItemKind::Content).take(3).map(id).collect();
        if !product.is_empty() {
            out.push(Version { product, numbers, certain });
        }
    }
    out
}

/// Returns amounts with their unit or the counted word: "15 minutes", "three projects".
fn amounts(items: &[Item]) -> Vec<Amount> {
    let read = |(at, item): (usize, &Item)| {
        let quantity = item.quantity.as_ref()?;
        let counted = items.get(at + 1).filter(|next| next.kind == ItemKind::Content).map(id);
        let is_rate = items.get(at + 1).is_some_and(|next| next.lower.contains('/'));
        let of = match (quantity.base, counted) {
            // Versions are read by themselves.
            ("", None) | ("version" | "date", _) => return None,
            ("", Some(counted)) => ("", counted),
            (base, _) => (base, 0),
        };
        Some(Amount { of, value: quantity.value.clone(), is_rate })
    };
    items.iter().enumerate().filter_map(read).collect()
}

/// Returns what qualifies the words of a statement: the content word before one, and the one behind "of", "for", "in" or "on" after it.
fn qualifiers(items: &[Item]) -> BTreeSet<(u64, u64)> {
    let named = |at: usize| items.get(at).filter(|item| item.kind == ItemKind::Content);
    let mut out = BTreeSet::new();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| item.kind == ItemKind::Content) {
        out.extend(at.checked_sub(1).and_then(named).map(|before| (id(item), id(before))));
        if items.get(at + 1).is_some_and(|next| matches!(next.lower.as_str(), "of" | "for" | "in" | "on")) {
            let article =
                items.get(at + 2).is_some_and(|next| matches!(next.lower.as_str(), "the" | "a" | "an" | "our"));
            out.extend(named(at + 2 + usize::from(article)).map(|behind| (id(item), id(behind))));
        }
    }
    out
}

/// Returns whether a statement names only an attribute with its amount.
fn is_general(items: &[Item]) -> bool {
    let is_attribute = |item: &Item| lexicon().class(WordClass::Attribute).contains(item.lower.as_str());
    let named = items.iter().filter(|item| item.kind == ItemKind::Content && !item.lower.contains('/'));
    named.clone().any(is_attribute) && !named.clone().any(is_name) && named.count() <= 2
}

/// Returns the words of X and of its role in "X is the source of truth for addresses".
fn unique_role(parsed: &Parsed) -> Option<(BTreeSet<u64>, BTreeSet<u64>)> {
    let at = parsed.text.find(" is the ")?;
    let part = |within: &dyn Fn(&Item) -> bool| -> BTreeSet<u64> {
        parsed.items.iter().filter(|item| item.kind == ItemKind::Content && within(item)).map(id).collect()
    };
    let (subject, role) = (part(&|item| item.end <= at), part(&|item| item.start > at));
    (!subject.is_empty() && role.len() >= 2).then_some((subject, role))
}

/// Returns the numbers of a version such as `14`, `1.4.2` or `v2`.
fn version(word: &str) -> Option<Vec<u64>> {
    let digits = word.strip_prefix('v').unwrap_or(word);
    digits.split('.').map(|part| part.parse().ok()).collect()
}
