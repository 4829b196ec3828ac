//! Clauses: what a statement requires, allows or forbids, with subject, conditions and exceptions.

mod main_clause;
mod segment;

use std::collections::HashSet;

use main_clause::{begins_with_stance, is_participle, is_verb, main_clause, phrase_head};
use segment::{Segment, SegmentRole, segments};

use super::{
    cue::Cue,
    lexical_item::{Item, ItemKind},
};
use crate::{
    domain::norm::Modality,
    guard::lexicon::{WordClass, lexicon},
};

/// The maximum number of indexes in all clauses of a statement, for each item. The clauses of a sentence share its
/// conditions, so without a limit the space would grow with the square of the sentence's length. Ordinary statements stay
/// far below; clauses beyond the limit are left out.
const MAX_INDEXES_PER_ITEM: usize = 32;

/// A clause with one stance. The lists are indexes into the items.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clause {
    pub(crate) modality: Modality,
    /// Whether the stance is negative: forbidden, discouraged, not so.
    pub(crate) negative: bool,
    /// The cue items that gave the stance.
    pub(crate) stance: Vec<usize>,
    /// The content before the stance or the finite verb.
    pub(crate) subject: Vec<usize>,
    /// The content that the stance governs.
    pub(crate) core: Vec<usize>,
    /// The content of the rest of the sentence: conditions, and the preferred option of a contrast.
    pub(crate) context: Vec<usize>,
    /// The part of the context that is a condition.
    pub(crate) conditions: Vec<usize>,
    /// Whether it contains "both".
    pub(crate) both: bool,
    /// The finite or governed verb.
    pub(crate) verb: Option<usize>,
    /// The head of the subject, else of the object.
    pub(crate) head: Option<usize>,
    /// The head of what follows the verb.
    pub(crate) object: Option<usize>,
    /// Content of exceptions.
    pub(crate) exceptions: Vec<usize>,
    /// The heads of what "without" names. They count as their opposites: "never X without Y" does not forbid "X with Y".
    pub(crate) lacking: Vec<usize>,
    /// Whether it names the rejected option of a contrast: "rather than X".
    pub(crate) contrast: bool,
    /// The index of the clause with the preferred option.
    pub(crate) chosen: Option<usize>,
    /// Whether it contains "only".
    pub(crate) only: bool,
    /// Whether it contains "also".
    pub(crate) also: bool,
    /// Whether it has a condition.
    pub(crate) conditional: bool,
    /// Whether it contains "never", "any", "all" or "always".
    pub(crate) universal: bool,
    /// Whether it begins with the verb and has no subject.
    pub(crate) imperative: bool,
}

impl Clause {
    /// Returns whether the verb allows several objects: what something supports or contains.
    pub(crate) fn is_open(&self, items: &[Item]) -> bool {
        self.verb.is_some_and(|verb| lexicon().class(WordClass::OpenVerb).contains(items[verb].key.as_str()))
    }

    /// Returns how many indexes the clause holds.
    fn size(&self) -> usize {
        [&self.stance, &self.subject, &self.core, &self.context, &self.conditions, &self.exceptions, &self.lacking]
            .into_iter()
            .map(Vec::len)
            .sum()
    }

    /// Adds items to the context, each once.
    fn extend_context(&mut self, items: impl Iterator<Item = usize>) {
        let mut known: HashSet<usize> = self.all().collect();
        self.context.extend(items.filter(|at| known.insert(*at)));
    }

    /// Returns whether it only rejects an option in favour of another clause of the sentence: "use X instead of Y", "use X, not Y".
    pub(crate) fn rejects_option(&self) -> bool {
        self.contrast && self.chosen.is_some()
    }

    /// Returns the content items of the clause and its context.
    pub(crate) fn all(&self) -> impl Iterator<Item = usize> + '_ {
        self.subject.iter().chain(&self.core).chain(&self.context).copied()
    }
}

/// Returns the label of a statement that defines a thing or a case: the words before its first colon or dash.
pub(crate) fn label(items: &[Item]) -> Vec<u64> {
    let Some(end) = items.iter().position(|i| matches!(i.kind, ItemKind::Punct(':' | '—' | '–'))) else {
        return Vec::new();
    };
    let label = &items[..end];
    let words = label.iter().filter(|i| i.is_content()).count();
    let plain = label.iter().all(|i| !matches!(i.kind, ItemKind::Punct(_)) && !i.cue().is_some_and(Cue::is_stance));
    if words == 0 || words > 5 || !plain || items[end..].iter().filter(|i| i.is_content()).count() < 2 {
        return Vec::new();
    }
    label.iter().filter(|i| i.is_content()).map(|i| i.id ^ u64::from(i.opposite)).collect()
}

/// Returns whether a segment with the form of a reason restricts the preceding clause: "libraries which need native code", or a purpose
/// after a prohibition ("do not use cron to keep caches warm"). After a comma it is a remark.
fn restricts(items: &[Item], segment: &Segment, forbids: bool) -> bool {
    let Some(cue) = segment.from.checked_sub(1) else { return false };
    let remark = cue.checked_sub(1).is_none_or(|before| matches!(items[before].kind, ItemKind::Punct(_)));
    // "To keep", "in order to".
    let purpose = matches!(items[cue].lower.as_str(), "to" | "in");
    !remark && (items[cue].lower == "which" || purpose && forbids)
}

/// Returns the clauses of a statement.
pub(crate) fn clauses(items: &[Item]) -> Vec<Clause> {
    let segments = segments(items);
    let mut reader = ClauseReader { items, segments: &segments, clauses: Vec::new(), main: None };
    let mut left = items.len() * MAX_INDEXES_PER_ITEM;
    for (index, segment) in segments.iter().enumerate() {
        let read = match segment.role {
            SegmentRole::Main => reader.read_main(index, segment),
            SegmentRole::Contrast => reader.read_contrast(segment),
            SegmentRole::Condition
            | SegmentRole::Reason
            | SegmentRole::Exception
            | SegmentRole::Setting
            | SegmentRole::Aside => None,
        };
        let Some(clause) = read else { continue };
        let Some(rest) = left.checked_sub(clause.size()) else { break };
        left = rest;
        if segment.role == SegmentRole::Main {
            reader.main = Some((reader.clauses.len(), segment.sentence));
        }
        reader.clauses.push(clause);
    }
    reader.clauses
}

/// Reads the segments of a statement as clauses.
struct ClauseReader<'a> {
    items: &'a [Item],
    segments: &'a [Segment],
    /// The clauses so far.
    clauses: Vec<Clause>,
    /// The index of the last main clause, and its sentence.
    main: Option<(usize, usize)>,
}

impl ClauseReader<'_> {
    fn content(&self, segment: &Segment) -> Vec<usize> {
        (segment.from..segment.to).filter(|at| self.items[*at].is_content()).collect()
    }

    /// Returns whether "without" precedes a segment.
    fn lacks(&self, segment: &Segment) -> bool {
        segment.from.checked_sub(1).and_then(|at| self.items[at].cue()) == Some(Cue::Without)
    }

    /// Returns the index of the last main clause if it is in the same sentence.
    fn main_before(&self, segment: &Segment) -> Option<usize> {
        self.main.filter(|(_, sentence)| *sentence == segment.sentence).map(|(main, _)| main)
    }

    /// Reads a main segment; `None` if it states nothing.
    fn read_main(&self, index: usize, segment: &Segment) -> Option<Clause> {
        let mut clause = main_clause(self.items, segment.from, segment.to);
        if clause.core.is_empty() && clause.subject.is_empty() {
            return None;
        }
        self.add_conditions(&mut clause, segment);
        self.add_exceptions(&mut clause, index, segment);
        self.complete(&mut clause, segment);
        if self.is_predicate_alone(&clause) {
            return None;
        }
        self.mark_contrast(&mut clause, segment);
        self.add_restrictions(&mut clause, index);
        Some(clause)
    }

    /// Adds the conditions and settings of the sentence.
    fn add_conditions(&self, clause: &mut Clause, segment: &Segment) {
        for other in self.segments.iter().filter(|other| other.sentence == segment.sentence) {
            if matches!(other.role, SegmentRole::Condition | SegmentRole::Setting) {
                clause.extend_context(self.content(other).into_iter());
                if other.role == SegmentRole::Condition {
                    clause.conditions.extend(self.content(other));
                    clause.conditional = true;
                }
            }
        }
    }

    /// Adds the exceptions before the clause and after it: "Except in tests, use X."
    fn add_exceptions(&self, clause: &mut Clause, index: usize, segment: &Segment) {
        let before = self.segments[..index].iter().rev().take_while(|other| other.sentence == segment.sentence);
        let after = self.segments[index + 1..].iter();
        for other in before
            .take_while(|other| other.role != SegmentRole::Main)
            .chain(after.take_while(|other| other.role != SegmentRole::Main))
        {
            if other.role == SegmentRole::Exception {
                clause.exceptions.extend(self.content(other));
            }
            // "Without a ticket, do not open a PR."
            if other.role == SegmentRole::Contrast && other.to < segment.from && self.lacks(other) {
                clause.extend_context(self.content(other).into_iter());
                clause.lacking.extend(phrase_head(self.items, other.from, other.to));
                clause.conditional = true;
            }
        }
    }

    /// Completes a clause without a subject by the previous one of its sentence. In "and cannot be pushed to" the subject is missing, in
    /// "(never committed)" everything but the verb.
    fn complete(&self, clause: &mut Clause, segment: &Segment) {
        let items = self.items;
        let Some(previous) = self.main_before(segment).filter(|_| clause.subject.is_empty()) else { return };
        let before = &self.clauses[previous];
        let begins_with_stance = begins_with_stance(items, segment.from, segment.to);
        let elliptic = clause.core.len() == 1
            || clause.core.len() == 2 && !clause.core.first().is_some_and(|at| is_verb(&items[*at]));
        let bare = before.subject.is_empty() && before.stance.is_empty() && before.verb.is_none();
        if bare && before.context.is_empty() && begins_with_stance {
            // "Maps, …, are forbidden."
            clause.core.extend(before.core.iter().copied());
        } else if !before.subject.is_empty() && !clause.stance.is_empty() && begins_with_stance {
            clause.subject.clone_from(&before.subject);
            clause.head = before.head;
            clause.imperative = false;
            if elliptic && clause.negative && before.core.iter().all(|at| !is_participle(&items[*at])) {
                clause.context.extend(before.core.iter().copied());
            }
        } else if elliptic {
            clause.extend_context(before.all());
        }
    }

    /// Returns whether only a predicate remains, whose subject is unknown: "…, are forbidden".
    fn is_predicate_alone(&self, clause: &Clause) -> bool {
        let Some(stance) = clause.stance.first().filter(|_| clause.subject.is_empty()) else { return false };
        let word = |at: usize| self.items[at].lower.as_str();
        let impersonal = stance.checked_sub(1).is_some_and(|before| matches!(word(before), "it" | "there"));
        clause.core.iter().all(|at| stance < at)
            && !impersonal
            && matches!(word(*stance), "is" | "are" | "has" | "have")
    }

    /// Marks a clause that rejects an option: "…, not X" does, as "rather than X".
    fn mark_contrast(&self, clause: &mut Clause, segment: &Segment) {
        if !clause.negative || clause.context.is_empty() {
            return;
        }
        clause.contrast |= clause.core.iter().all(|at| !is_verb(&self.items[*at]) && !is_participle(&self.items[*at]));
        clause.chosen = self.main_before(segment);
    }

    /// Adds the segments after the clause that have the form of a reason but restrict it.
    fn add_restrictions(&self, clause: &mut Clause, index: usize) {
        let followers = self.segments[index + 1..].iter().take_while(|other| other.role != SegmentRole::Main);
        for other in followers.filter(|other| other.role == SegmentRole::Reason) {
            if restricts(self.items, other, clause.negative) {
                clause.extend_context(self.content(other).into_iter());
            }
        }
    }

    /// Reads a contrast, such as "rather than X" or "without X". Returns a clause that rejects what it names, or `None` if it is a part of
    /// the main clause or there is none.
    fn read_contrast(&mut self, segment: &Segment) -> Option<Clause> {
        let core = self.content(segment);
        let chosen = self.main_before(segment)?;
        if core.is_empty() || self.clauses[chosen].negative {
            // "Do not merge without review": a restriction of what is forbidden.
            let absent = phrase_head(self.items, segment.from, segment.to).filter(|_| self.lacks(segment));
            let restricted = &mut self.clauses[chosen];
            restricted.lacking.extend(absent);
            restricted.core.extend(core);
            restricted.conditional = true;
            return None;
        }
        let main = &self.clauses[chosen];
        Some(Clause {
            modality: if main.modality == Modality::Should { Modality::ShouldNot } else { Modality::MustNot },
            negative: true,
            stance: segment.from.checked_sub(1).into_iter().collect(),
            head: core.last().copied(),
            context: main.subject.iter().chain(&main.core).copied().collect(),
            core,
            contrast: true,
            chosen: Some(chosen),
            ..Clause::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::{Clause, MAX_INDEXES_PER_ITEM};
    use crate::guard::normalise::parse;

    #[rstest]
    #[case::of_one_word("If b ", "b ", ", not c")]
    #[case::of_several_words("If the big box breaks ", "b ", ", use the blue canary")]
    #[case::rejected_options("Use the big box ", "b ", " rather than c")]
    fn the_clauses_of_a_long_sentence_take_space_in_proportion_to_its_length(
        #[case] start: &str,
        #[case] word: &str,
        #[case] clause: &str,
    ) {
        for length in [1_000, 2_000, 4_000] {
            let half = length / 2;
            let statement = format!("{start}{}{}", word.repeat(half / word.len()), clause.repeat(half / clause.len()));
            let parsed = parse(&statement);
            let indexes: usize = parsed.clauses.iter().map(Clause::size).sum();
            assert!(!parsed.clauses.is_empty(), "{start}");
            assert!(indexes <= parsed.items.len() * MAX_INDEXES_PER_ITEM, "{indexes} indexes of {length} bytes");
        }
    }

    #[test]
    fn an_elliptic_clause_repeats_no_word_of_its_sentence() {
        let parsed = parse("If the pool is empty, retry 5 times, not 6, not 7, not 8.");
        for clause in &parsed.clauses {
            let mut all: Vec<usize> = clause.all().collect();
            let many = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), many, "{clause:?}");
        }
    }
}
