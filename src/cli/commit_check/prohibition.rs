//! Reads from the words of a constraint what it forbids in a diff, and in which places.
//!
//! What it cannot read exactly it leaves out: a constraint that is not checked is reported as such, and a false alarm makes people
//! switch the check off.

use super::{
    acts::{DEPENDS, EDITS, ForbiddenAct, UNNAMED, act_of, done_act},
    places::{EVERYBODY, FILLERS, JOINERS, Place, exempt_places, is_limit, is_path, places},
    words::{
        PLACE_PREPOSITIONS, Punctuation, StatementClause, StatementWord, begins_exemption, begins_replaced, clauses,
        words,
    },
};

/// What a clause forbids, and where.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prohibition<'a> {
    /// Code that no line may contain.
    pub(super) code: Vec<&'a str>,
    /// Packages that no manifest may name.
    pub(super) packages: Vec<&'a str>,
    /// Files and folders that must not be changed.
    pub(super) paths: Vec<&'a str>,
    /// Whether they must not be deleted either.
    pub(super) deletion: bool,
    /// The places to which it is limited; empty if it holds everywhere.
    pub(super) within: Vec<Place<'a>>,
    /// The places in which it does not hold.
    pub(super) exempt: Vec<Place<'a>>,
}

const PACKAGE_NOUNS: [&str; 10] = [
    "crate",
    "crates",
    "dependencies",
    "dependency",
    "framework",
    "gem",
    "libraries",
    "library",
    "package",
    "packages",
];

/// Reads the prohibitions of a statement.
pub(super) fn read(statement: &str) -> Vec<Prohibition<'_>> {
    let words = words(statement);
    let mut found: Vec<Prohibition<'_>> = Vec::new();
    // The exemption before the first prohibition; `None` if it cannot be read.
    let mut leading = Some(Vec::new());
    let mut subject: Option<Vec<Place<'_>>> = Some(Vec::new());
    for (number, clause) in clauses(&words).iter().enumerate() {
        if !clause.is_joined {
            subject = Some(Vec::new());
        }
        if let Some(length) = begins_exemption(clause.words) {
            let exempt = exempt_places(clause.words, length);
            match found.last_mut() {
                Some(last) => match exempt {
                    Some(places) => last.exempt.extend(places),
                    // It has an exception that cannot be read.
                    None => *last = Prohibition::default(),
                },
                None => leading = exempt,
            }
            continue;
        }
        match cue(clause, number == 0) {
            Some(cue) => {
                let own = if cue.is_passive {
                    Some(Vec::new())
                } else {
                    places(clause.words.get(..cue.start).unwrap_or_default(), &EVERYBODY)
                };
                if own.as_ref().is_none_or(|places| !places.is_empty()) {
                    subject = own;
                }
                let mut prohibition = prohibition(clause.words, &cue, subject.as_deref()).unwrap_or_default();
                match (&leading, found.is_empty()) {
                    (Some(places), true) => prohibition.exempt.extend(places),
                    (None, true) => prohibition = Prohibition::default(),
                    _ => {}
                }
                found.push(prohibition);
            }
            None => subject = subject_of(clause.words),
        }
    }
    found.retain(|one| !(one.code.is_empty() && one.packages.is_empty() && one.paths.is_empty()));
    found
}

/// Where a clause forbids something.
#[derive(Debug)]
struct Cue {
    /// The number of words before the cue.
    start: usize,
    /// The first word after it.
    end: usize,
    /// The act, if the cue names it.
    act: Option<ForbiddenAct>,
    /// Whether what is forbidden is before the cue: “`x` must not be used”.
    is_passive: bool,
    /// Whether an act must follow: “do not …”.
    needs_act: bool,
}

fn cue(clause: &StatementClause<'_, '_>, is_first: bool) -> Option<Cue> {
    let words = clause.words;
    if let Some(end) = begins_replaced(words) {
        return Some(Cue { start: 0, end, act: None, is_passive: false, needs_act: false });
    }
    let is = |at: usize, any: &[&str]| words.get(at).is_some_and(|word| word.is_one_of(any));
    for (at, word) in words.iter().enumerate() {
        let passive =
            |end: usize, act: ForbiddenAct| Cue { start: at, end, act: Some(act), is_passive: true, needs_act: false };
        let active = |end: usize, needs_act: bool| Cue { start: at, end, act: None, is_passive: false, needs_act };
        if word.is_one_of(&["forbidden", "banned", "prohibited", "disallowed"]) && at > 0 {
            return Some(passive(at + 1, UNNAMED));
        }
        if word.is_one_of(&["avoid", "ban", "bans", "disallow", "forbid", "forbids", "prohibit", "prohibits"]) {
            return Some(active(at + 1, false));
        }
        if word.lower == "stop" && words.get(at + 1).is_some_and(|next| act_of(&next.lower).is_some()) {
            return Some(active(at + 1, true));
        }
        let is_negation = word.is_one_of(&["never", "not", "cannot", "no", "dont"]) || word.lower.ends_with("n't");
        if !is_negation {
            continue;
        }
        let no_prohibition = [
            "required",
            "necessary",
            "mandatory",
            "only",
            "just",
            "need",
            "needed",
            "obliged",
            "always",
            "necessarily",
            "forbidden",
            "banned",
            "prohibited",
            "more",
            "less",
            "fewer",
            "later",
            "earlier",
            "exceed",
        ];
        let has_to = is(at + 1, &["have"]) && is(at + 2, &["to"]);
        let no_longer_than = is(at + 1, &["longer"]) && is(at + 2, &["than"]);
        let need_not = (at > 0 && is(at - 1, &["need", "needs"])) || word.lower == "needn't";
        if is(at + 1, &no_prohibition) || has_to || no_longer_than || need_not {
            return None;
        }
        let skipped = ["again", "also", "be", "been", "directly", "ever", "longer"];
        let mut end = at + 1;
        while is(end, &skipped) {
            end += 1;
        }
        if is(end, &["acceptable", "allowed", "permitted", "ok", "okay"]) {
            let agents_may_not = is(end + 1, &["to"]);
            return Some(if agents_may_not { active(end + 2, true) } else { passive(end + 1, UNNAMED) });
        }
        let has_been =
            (at + 1..end).any(|at| is(at, &["be", "been"])) || (at > 0 && is(at - 1, &["is", "are", "gets"]));
        if let Some(act) = words.get(end).filter(|_| has_been && at > 0).and_then(|word| done_act(&word.lower)) {
            return Some(passive(end + 1, act));
        }
        // “Use x, never y”: no act follows.
        let needs_act = !(word.is_one_of(&["never", "not", "no"]) && at == 0 && (word.lower == "no" || !is_first));
        return Some(active(end, needs_act));
    }
    None
}

/// Reads a clause that forbids something to a subject. `None` if it cannot be read.
fn prohibition<'a>(words: &[StatementWord<'a>], cue: &Cue, subject: Option<&[Place<'a>]>) -> Option<Prohibition<'a>> {
    let before = words.get(..cue.start)?;
    let after = words.get(cue.end..)?;
    let mut found = Prohibition::default();
    if cue.is_passive {
        let mut object = before;
        while let Some((_, rest)) = object.split_last().filter(|(last, _)| last.is_one_of(&EVERYBODY)) {
            object = rest;
        }
        let (act, object) = named_act(object, cue.act?);
        let (act, limits) = as_dependency(act, after);
        found.read(object, act)?;
        found.read_limits(limits, act, false)?;
        return Some(found);
    }
    found.within = subject?.to_vec();
    let (act, rest) = match after.split_first().map(|(word, rest)| (act_of(&word.lower), rest)) {
        Some((Some(act), rest)) => {
            let particle = rest.first().is_some_and(|word| word.is_one_of(&["in", "on", "upon"]));
            let joined = after.first().is_some_and(|word| word.is_one_of(&["depend", "depending", "rely", "relying"]));
            (act, rest.get(usize::from(joined && particle)..)?)
        }
        Some((None, _)) if !cue.needs_act => named_act(after, UNNAMED),
        _ => return None,
    };
    found.read(rest, act)?;
    Some(found)
}

/// Returns the act in “the use of x” or “changes to x”, and x.
fn named_act<'w, 'a>(words: &'w [StatementWord<'a>], default: ForbiddenAct) -> (ForbiddenAct, &'w [StatementWord<'a>]) {
    let words =
        if words.first().is_some_and(|word| word.lower == "the") { words.get(1..).unwrap_or_default() } else { words };
    match words {
        [first, of, ..] if of.is_one_of(&["of", "to", "on"]) && !first.is_code() => {
            let edits = first.is_one_of(&["changes", "edits", "modifications", "writes"]);
            let act = if edits { EDITS } else { act_of(&first.lower).unwrap_or(default) };
            (act, words.get(2..).unwrap_or_default())
        }
        [first, ..] if first.lower.ends_with("ing") => match act_of(&first.lower) {
            Some(act) => (act, words.get(1..).unwrap_or_default()),
            None => (default, words),
        },
        _ => (default, words),
    }
}

/// Returns the act and the rest of its limits; before “as a dependency” or “to the dependencies”, it only concerns manifests.
fn as_dependency<'w, 'a>(
    act: ForbiddenAct,
    limits: &'w [StatementWord<'a>],
) -> (ForbiddenAct, &'w [StatementWord<'a>]) {
    let Some((first, phrase)) = limits.split_first() else { return (act, limits) };
    let at = phrase.iter().position(|word| !word.is_one_of(&FILLERS)).unwrap_or(phrase.len());
    match phrase.get(at..) {
        Some([noun, rest @ ..])
            if act.package
                && first.is_one_of(&["as", "to"])
                && noun.is_one_of(&["dependencies", "dependency"])
                && rest.first().is_none_or(is_limit) =>
        {
            (DEPENDS, rest)
        }
        _ => (act, limits),
    }
}

impl<'a> Prohibition<'a> {
    /// Reads what is forbidden, and its limits. `None` if a limit cannot be read.
    fn read(&mut self, words: &[StatementWord<'a>], act: ForbiddenAct) -> Option<()> {
        let (mut items, mut end) = (vec![Vec::new()], words.len());
        let mut is_package_noun = false;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let names = word.is_one_of(&["on", "like", "such"]) && is_package_noun;
            if names {
                at += if word.lower == "such" { 2 } else { 1 };
                continue;
            }
            if is_limit(word) {
                end = at;
                break;
            }
            let is_joined = at > 0 && words.get(at - 1).is_some_and(|last| last.is_one_of(&JOINERS));
            if word.is_one_of(&EVERYBODY) || (!is_joined && act_of(&word.lower).is_some()) {
                // Another sentence, such as “`x` is fine”.
                return None;
            }
            if word.is_one_of(&JOINERS) {
                items.push(Vec::new());
            } else if is_joined && act_of(&word.lower).is_some() {
                // “use or import x”
            } else if word.is_one_of(&PACKAGE_NOUNS) {
                is_package_noun = true;
            } else if !word.is_one_of(&FILLERS) {
                items.last_mut()?.push(word);
                is_package_noun = false;
            }
            if word.mark == Punctuation::Comma {
                items.push(Vec::new());
            }
            at += 1;
        }
        items.retain(|item| !item.is_empty());
        let (act, limits) = as_dependency(act, words.get(end..)?);
        self.deletion = act.deletion;
        let mut named = Vec::new();
        let mut is_prose = false;
        for item in &items {
            if item.iter().any(|word| word.is_code()) {
                self.read_code(item.iter().filter(|word| word.is_code()), act);
            } else if item.iter().any(|word| is_path(word.text)) && act.path {
                self.paths.extend(item.iter().map(|word| word.text).filter(|text| is_path(text)));
            } else {
                is_prose |= item.len() > 1;
                named.extend(item.first().map(|word| word.text).filter(|text| is_package(text)));
            }
        }
        let names_nothing = items.is_empty();
        // In “global or static variables” neither is a package.
        if act.package && !is_prose {
            self.packages.extend(named);
        }
        self.read_limits(limits, act, names_nothing)
    }

    fn read_code<'w>(&mut self, words: impl Iterator<Item = &'w &'w StatementWord<'a>>, act: ForbiddenAct)
    where
        'a: 'w,
    {
        for text in words.map(|word| word.text).filter(|text| text.chars().count() > 1) {
            if act.path && (is_path(text) || is_file_name(text)) {
                self.paths.push(text);
            } else if act.code && !text.contains('*') {
                self.code.push(text);
            } else if act == DEPENDS && is_package(text) {
                self.packages.push(text);
            }
        }
    }

    /// Reads “in `src/`” and “under vendor/” after what is forbidden. `None` if a limit cannot be read.
    fn read_limits(&mut self, mut words: &[StatementWord<'a>], act: ForbiddenAct, names_nothing: bool) -> Option<()> {
        while let Some((first, rest)) = words.split_first() {
            let end = rest.iter().position(is_limit).unwrap_or(rest.len());
            let (phrase, next) = rest.split_at_checked(end)?;
            let is_place = first.is_one_of(&PLACE_PREPOSITIONS);
            let at_place = is_place || first.is_one_of(&["at", "from", "into", "of", "to"]);
            let by_hand = first.lower == "by" && phrase.first().is_some_and(|word| word.lower == "hand");
            let paths: Vec<_> = phrase.iter().filter(|word| is_path(word.text)).map(|word| word.text).collect();
            if act.path && names_nothing && at_place && !paths.is_empty() {
                // “Files under vendor/”
                self.paths.extend(paths);
            } else if is_place {
                self.within.extend(places(phrase, &["case", "commits"])?);
            } else if is_limit(first) && !by_hand {
                return None;
            }
            words = next;
        }
        Some(())
    }
}

/// Returns the places that the subject of a clause names: of “Tests use `a`”, the tests. `None` if it cannot be read.
fn subject_of<'a>(words: &[StatementWord<'a>]) -> Option<Vec<Place<'a>>> {
    let is_act = |word: &StatementWord<'_>| {
        let base = word.lower.strip_suffix('s').unwrap_or(&word.lower);
        act_of(&word.lower).or_else(|| act_of(base)).is_some() || matches!(base, "prefer" | "choose" | "alway" | "only")
    };
    let end = words.iter().position(is_act)?;
    places(words.get(..end)?, &EVERYBODY)
}

/// Whether code is a file's name, such as `Cargo.lock`.
fn is_file_name(code: &str) -> bool {
    let is_name = code.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let extension = code.rsplit_once('.').map_or("", |(_, extension)| extension);
    is_name && (1..=5).contains(&extension.len()) && extension.chars().all(|c| c.is_ascii_lowercase())
}

/// Whether a word can be the name of a package. A form in “-ing” is rather an act.
fn is_package(word: &str) -> bool {
    let known = ["it", "them", "that", "these", "nothing", "something", "more", "other", "such"];
    let is_name = word.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '@' | '/'));
    let is_list = !word.starts_with('@') && word.contains('/') || word.ends_with('/');
    word.chars().count() > 1
        && is_name
        && !is_list
        && word.chars().any(char::is_alphabetic)
        && !word.ends_with("ing")
        && !known.contains(&word)
}
