//! Corrections: "we moved from X to Y", "X is replaced by Y", "that was wrong". Such a statement does not contradict the earlier claim but may
//! supersede it, so the writer gets a warning that names that claim.

use super::{
    lexicon::{WordClass, lexicon},
    normalise::{
        Parsed,
        cue::Cue,
        lexical_item::{Item, ItemKind},
    },
};

/// A thing whose use a statement ends.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Abandoned {
    /// The item that says that its use ends.
    cue: usize,
    /// The content items that name the thing.
    thing: Vec<usize>,
}

/// The words by which a statement corrects another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Correction {
    /// Our words, which say that something changed.
    pub(crate) ours: Vec<usize>,
    /// Their words, which name the thing whose use ended.
    pub(crate) theirs: Vec<usize>,
}

/// Returns the stems of the verbs that end the use of something, including those of daily work.
fn ends() -> impl Iterator<Item = &'static str> {
    [WordClass::Ending, WordClass::Work].into_iter().flat_map(|class| lexicon().class(class)).copied()
}

/// Returns whether an item is a form of a verb of this class: "dropped" is one of "dropp", "dropdown" is not.
fn begins(item: &Item, class: WordClass) -> bool {
    let form = |rest: &str| matches!(rest, "" | "e" | "es" | "ed" | "d" | "s" | "ing");
    item.kind != ItemKind::Number
        && lexicon().class(class).iter().any(|stem| item.lower.strip_prefix(stem).is_some_and(form))
}

/// Returns whether these items name a thing that can be abandoned, rather than something that a program handles.
fn is_named(items: &[Item], thing: &[usize]) -> bool {
    thing.iter().any(|at| {
        let item = &items[*at];
        item.alternative.is_some() || item.capital && !item.code && (*at > 0 || item.weight >= 0.9 && thing.len() == 1)
    })
}

fn is_word(item: &Item, words: &[&str]) -> bool {
    words.contains(&item.lower.as_str())
}

/// Returns the content items from `from` to the end of the noun phrase, including a phrase after "of".
pub(crate) fn phrase(items: &[Item], from: usize) -> Vec<usize> {
    let mut out = Vec::new();
    for (at, item) in items.iter().enumerate().skip(from) {
        match item.kind {
            ItemKind::Content => out.push(at),
            ItemKind::Stop
                if is_word(item, &["the", "our", "a", "an", "its", "all", "any", "this", "that", "of", "use"])
                    || item.lower == "and" && !out.is_empty() => {}
            _ => break,
        }
        if out.len() == 5 {
            break;
        }
    }
    out
}

/// Returns the content items before `at` in its clause.
fn subject(items: &[Item], at: usize) -> Vec<usize> {
    let mut out = Vec::new();
    for (i, item) in items.iter().enumerate().take(at).rev() {
        match item.kind {
            ItemKind::Content => out.push(i),
            ItemKind::Punct(_) => break,
            _ => {}
        }
        if out.len() == 5 {
            break;
        }
    }
    out.reverse();
    out
}

/// Returns the things whose use a statement ends.
fn abandoned(parsed: &Parsed) -> Vec<Abandoned> {
    let items = &parsed.items;
    let decides = items.iter().any(|item| lexicon().class(WordClass::Deciding).contains(item.lower.as_str()));
    let mut out: Vec<Abandoned> = Vec::new();
    let mut push = |cue: usize, thing: Vec<usize>| {
        if !thing.is_empty() {
            out.push(Abandoned { cue, thing });
        }
    };
    for (at, item) in items.iter().enumerate() {
        let next = items.get(at + 1);
        if begins(item, WordClass::Leaving) && item.kind == ItemKind::Content {
            // "move CI from X to Y", "switch away from X", "migrate off X".
            let source = (at + 1..(at + 8).min(items.len())).find(|i| is_word(&items[*i], &["from", "off"]));
            let stopped = |to: usize| items[at + 1..to].iter().any(|i| matches!(i.kind, ItemKind::Punct(_)));
            if let Some(from) = source.filter(|from| !stopped(*from)) {
                let thing = phrase(items, from + 1);
                let end = thing.last().map_or(from, |last| *last);
                let to = items[end..].iter().take(4).any(|i| is_word(i, &["to", "onto", "towards"]))
                    || items[from].lower == "off";
                let away = items[at + 1..from].iter().any(|i| i.lower == "away");
                if decides || to || away {
                    push(at, thing);
                }
            }
            continue;
        }
        if item.cue() == Some(Cue::Prohibit) {
            // "is retired", "has been dropped", "drop the use of".
            let phrase_text = parsed.text.get(item.start..item.end).unwrap_or_default().to_lowercase();
            if phrase_text.split_whitespace().any(|word| ends().any(|stem| word.starts_with(stem))) {
                let passive =
                    ["is ", "are ", "was ", "has ", "have "].iter().any(|start| phrase_text.starts_with(start));
                push(at, if passive { subject(items, at) } else { phrase(items, at + 1) });
            }
            continue;
        }
        let work = begins(item, WordClass::Work);
        if !work && !begins(item, WordClass::Ending) {
            continue;
        }
        let by = next.is_some_and(|n| is_word(n, &["by", "with"]));
        let passive = at > 0 && is_word(&items[at - 1], &["is", "are", "was", "were", "been", "be", "being"]);
        if passive || by && item.lower.ends_with("ed") {
            // "X is replaced by Y", "X was superseded by Y". "The placeholder is replaced by the name" describes a program, and so does a
            // replacement under a condition.
            let thing = subject(items, at);
            let happens = parsed.clauses.iter().any(|clause| clause.conditions.contains(&at));
            if !happens && (decides || !work || by && is_named(items, &thing)) {
                push(at, thing);
            }
        } else if item.lower.starts_with("replac") || item.lower.starts_with("supersed") {
            // "Replace X with Y", "Y replaces X", "this supersedes X".
            let thing = phrase(items, at + 1);
            let end = thing.last().map_or(at, |last| *last);
            let with = items[end..].iter().take(4).any(|i| is_word(i, &["with", "by"]));
            if with || item.lower.ends_with('s') || item.lower.starts_with("supersed") || decides {
                push(at, thing);
            }
        } else if !work || decides {
            push(at, phrase(items, at + 1));
        }
    }
    out
}

/// Returns the result of [`abandoned`], computed once for each statement.
fn abandoned_once(parsed: &Parsed) -> &[Abandoned] {
    parsed.abandoned.get_or_init(|| abandoned(parsed))
}

/// Returns whether a statement ends the use of a thing, given the items that name it.
pub(crate) fn ends_use_of(parsed: &Parsed, names: impl Fn(usize) -> bool) -> bool {
    abandoned_once(parsed).iter().any(|given| given.thing.iter().any(|at| names(*at)))
}

/// Returns the item by which a statement says that it corrects something: "actually, …", "that was wrong", "we now use …", "we
/// switched to …".
pub(crate) fn corrects(parsed: &Parsed) -> Option<usize> {
    let items = &parsed.items;
    let lower = |at: usize| items.get(at).map_or("", |item| item.lower.as_str());
    (0..items.len()).find(|&at| match lower(at) {
        "actually" => at == 0,
        "correction" => at == 0,
        "wrong" | "mistaken" | "mistake" => {
            (at.saturating_sub(4)..at).any(|i| matches!(lower(i), "was" | "were")) && at < 8
        }
        "switched" | "moved" | "migrated" | "changed" => {
            at > 0
                && (at.saturating_sub(3)..at).any(|i| matches!(lower(i), "we" | "we've" | "team" | "have"))
                && lower(at + 1) == "to"
        }
        "now" => at > 0 && at < 5 && matches!(lower(at - 1), "we" | "is" | "are" | "will"),
        _ => false,
    })
}

/// Returns the correction if `theirs` depends on something whose use `ours` ends.
pub(crate) fn abandons(ours: &Parsed, theirs: &Parsed) -> Option<Correction> {
    for given in abandoned_once(ours) {
        let mut named: Vec<usize> = given
            .thing
            .iter()
            .copied()
            .filter(|at| {
                ours.items[*at].code || ours.items[*at].capital && *at > 0 || ours.items[*at].alternative.is_some()
            })
            .collect();
        let is_sort = |at: &usize| lexicon().class(WordClass::Sort).contains(ours.items[*at].lower.as_str());
        if !named.iter().all(is_sort) {
            named.retain(|at| !is_sort(at));
        }
        let weighty: Vec<usize> = given.thing.iter().copied().filter(|at| ours.items[*at].weight >= 0.9).collect();
        let find = |at: usize| {
            (0..theirs.items.len()).find(|i| theirs.items[*i].is_content() && theirs.items[*i].id == ours.items[at].id)
        };
        // A name suffices. Other things must share the last word, which says what they are, and half of the others ("the concept of X").
        let wanted = if named.is_empty() { weighty } else { named.clone() };
        let found: Vec<usize> = wanted.iter().filter_map(|at| find(*at)).collect();
        let enough = if named.is_empty() {
            found.len() * 2 >= wanted.len() && wanted.last().is_some_and(|at| find(*at).is_some())
        } else {
            found.len() == wanted.len()
        };
        if !enough || found.is_empty() {
            continue;
        }
        let denied = theirs
            .clauses
            .iter()
            .filter(|clause| clause.negative)
            .any(|clause| found.iter().any(|at| clause.core.contains(at) || clause.subject.contains(at)));
        if !denied && !ends_use_of(theirs, |at| found.contains(&at)) {
            let mut words = given.thing.clone();
            words.push(given.cue);
            return Some(Correction { ours: words, theirs: found });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::guard::normalise::parse;

    #[rstest]
    #[case("Moved the nightly builds from Jenkins to Buildkite.", "Nightly builds run on Jenkins.", true)]
    #[case("We are switching away from Redis.", "Sessions are kept in Redis.", true)]
    #[case("We drop the use of Lerna and run workspaces by hand.", "Use Lerna to publish packages.", true)]
    #[case("Buildkite replaces Jenkins.", "Nightly builds run on Jenkins.", true)]
    #[case("Jenkins is replaced by Buildkite.", "Nightly builds run on Jenkins.", true)]
    #[case("Move the builds from Drone CI to Buildkite.", "Use Drone to build the app.", true)]
    #[case("Move the builds from Drone CI to Buildkite.", "CI runs on every push.", false)]
    #[case("Replace Moment with Luxon.", "Dates are formatted with Moment.", true)]
    #[case(
        "The SOAP gateway is retired in favour of the REST one.",
        "Partners connect through the SOAP gateway.",
        true
    )]
    #[case("We will remove the concept of folders from the data model.", "Folders may have subfolders.", true)]
    // Work, not a change of mind.
    #[case("Remove trailing spaces before a commit.", "Trailing spaces break the parser.", false)]
    #[case("Drop the database in tests.", "The database is Postgres.", false)]
    // The other statement does not depend on it.
    #[case("We are switching away from Redis.", "Never keep sessions in Redis.", false)]
    #[case("We are switching away from Redis.", "Migrate from Redis to Valkey.", false)]
    #[case("We are switching away from Redis.", "Sessions are kept in Postgres.", false)]
    // Descriptions of what a program does.
    #[case("The placeholder is replaced by the name of the project.", "Every template has a placeholder.", false)]
    #[case("`{name}` is replaced by the name of the project.", "Write `{name}` in every template.", false)]
    #[case("When options are replaced, the old options are logged.", "Options are read from the environment.", false)]
    #[case("The dropdown lists the options of the plan.", "The options of the plan are fixed.", false)]
    #[case("Nothing depends on the order.", "The order of fields is fixed.", false)]
    fn an_abandoned_thing_is_matched_with_claims_that_depend_on_it(
        #[case] ours: &str,
        #[case] theirs: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(abandons(&parse(ours), &parse(theirs)).is_some(), expected, "{:?}", abandoned(&parse(ours)));
    }

    #[rstest]
    #[case("Actually, retries are counted per request.", true)]
    #[case("That was wrong: the limit is per user.", true)]
    #[case("We have switched to Buildkite.", true)]
    #[case("We now use Buildkite.", true)]
    #[case("Use what is wrong in examples only as a warning.", false)]
    #[case("Requests are moved to the queue.", false)]
    fn a_correction_says_so(#[case] text: &str, #[case] expected: bool) {
        assert_eq!(corrects(&parse(text)).is_some(), expected);
    }
}
