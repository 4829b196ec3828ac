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
    let content =
        |segment: &Segment| -> Vec<usize> { (segment.from..segment.to).filter(|i| items[*i].is_content()).collect() };
    let lacks = |segment: &Segment| segment.from.checked_sub(1).and_then(|at| items[at].cue()) == Some(Cue::Without);
    let mut out: Vec<Clause> = Vec::new();
    let mut last_main: Option<(usize, usize)> = None;
    let mut left = items.len() * MAX_INDEXES_PER_ITEM;
    for (index, segment) in segments.iter().enumerate() {
        match segment.role {
            SegmentRole::Main => {
                let mut clause = main_clause(items, segment.from, segment.to);
                if clause.core.is_empty() && clause.subject.is_empty() {
                    continue;
                }
                for other in segments.iter().filter(|s| s.sentence == segment.sentence) {
                    if matches!(other.role, SegmentRole::Condition | SegmentRole::Setting) {
                        clause.extend_context(content(other).into_iter());
                        if other.role == SegmentRole::Condition {
                            clause.conditions.extend(content(other));
                            clause.conditional = true;
                        }
                    }
                }
                // "Except in tests, use X": before the clause or after it.
                let before = segments[..index].iter().rev().take_while(|s| s.sentence == segment.sentence);
                let after = segments[index + 1..].iter();
                for other in before
                    .take_while(|s| s.role != SegmentRole::Main)
                    .chain(after.take_while(|s| s.role != SegmentRole::Main))
                {
                    if other.role == SegmentRole::Exception {
                        clause.exceptions.extend(content(other));
                    }
                    // "Without a ticket, do not open a PR."
                    if other.role == SegmentRole::Contrast && other.to < segment.from && lacks(other) {
                        clause.extend_context(content(other).into_iter());
                        clause.lacking.extend(phrase_head(items, other.from, other.to));
                        clause.conditional = true;
                    }
                }
                // "and cannot be pushed to": the subject is in the previous clause; "(never committed)": everything is.
                if let Some((previous, sentence)) = last_main
                    && sentence == segment.sentence
                    && clause.subject.is_empty()
                {
                    let before = &out[previous];
                    let elliptic = clause.core.len() == 1
                        || clause.core.len() == 2 && !clause.core.first().is_some_and(|at| is_verb(&items[*at]));
                    let bare = before.subject.is_empty() && before.stance.is_empty() && before.verb.is_none();
                    if bare && before.context.is_empty() && begins_with_stance(items, segment.from, segment.to) {
                        // "Maps, …, are forbidden."
                        clause.core.extend(before.core.iter().copied());
                    } else if !before.subject.is_empty()
                        && !clause.stance.is_empty()
                        && begins_with_stance(items, segment.from, segment.to)
                    {
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
                // "…, are forbidden": the subject is unknown.
                if clause.subject.is_empty()
                    && clause.core.iter().all(|at| clause.stance.first().is_some_and(|stance| stance < at))
                    && clause.stance.first().is_some_and(|at| {
                        let impersonal =
                            at.checked_sub(1).is_some_and(|i| matches!(items[i].lower.as_str(), "it" | "there"));
                        !impersonal && matches!(items[*at].lower.as_str(), "is" | "are" | "has" | "have")
                    })
                {
                    continue;
                }
                // "…, not X" rejects X, as "rather than X" does.
                if clause.negative
                    && !clause.context.is_empty()
                    && clause.core.iter().all(|at| !is_verb(&items[*at]) && !is_participle(&items[*at]))
                {
                    clause.contrast = true;
                }
                if clause.negative && !clause.context.is_empty() {
                    clause.chosen =
                        last_main.filter(|(_, sentence)| *sentence == segment.sentence).map(|(main, _)| main);
                }
                let followers = segments[index + 1..].iter().take_while(|s| s.role != SegmentRole::Main);
                for other in followers.filter(|other| other.role == SegmentRole::Reason) {
                    if restricts(items, other, clause.negative) {
                        clause.extend_context(content(other).into_iter());
                    }
                }
                let Some(rest) = left.checked_sub(clause.size()) else { return out };
                left = rest;
                last_main = Some((out.len(), segment.sentence));
                out.push(clause);
            }
            SegmentRole::Contrast => {
                let core = content(segment);
                let Some((chosen, _)) = last_main.filter(|(_, sentence)| *sentence == segment.sentence) else {
                    continue;
                };
                if core.is_empty() || out[chosen].negative {
                    // "Do not merge without review": a restriction of what is forbidden.
                    let restricted = &mut out[chosen];
                    let absent = phrase_head(items, segment.from, segment.to).filter(|_| lacks(segment));
                    restricted.lacking.extend(absent);
                    restricted.core.extend(core);
                    restricted.conditional = true;
                    continue;
                }
                let main = &out[chosen];
                let clause = Clause {
                    modality: if main.modality == Modality::Should { Modality::ShouldNot } else { Modality::MustNot },
                    negative: true,
                    stance: segment.from.checked_sub(1).into_iter().collect(),
                    head: core.last().copied(),
                    context: main.subject.iter().chain(&main.core).copied().collect(),
                    core,
                    contrast: true,
                    chosen: Some(chosen),
                    ..Clause::default()
                };
                let Some(rest) = left.checked_sub(clause.size()) else { return out };
                left = rest;
                out.push(clause);
            }
            SegmentRole::Condition
            | SegmentRole::Reason
            | SegmentRole::Exception
            | SegmentRole::Setting
            | SegmentRole::Aside => {}
        }
    }
    out
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
