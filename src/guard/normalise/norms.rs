//! Turns clauses into norms.

use super::{
    Parsed,
    clause::Clause,
    cue::Cue,
    lexical_item::{Item, ItemKind},
    stated_scope,
};
use crate::{
    domain::{
        claim::Qualifiers,
        norm::{Limit, Norm, NormScope, SubjectKind},
    },
    guard::lexicon::{WordClass, lexicon},
};

/// The maximum number of clauses of one statement that become norms.
pub(super) const MAX_NORMS: usize = 6;

/// The maximum number of words of a norm's attribute. A longer clause is prose.
const MAX_WORDS: usize = 12;

/// Overrides the rules' choice of the subject and the value of a clause: indexes into its items.
#[derive(Clone, Debug, Default)]
pub(super) struct Choice {
    pub(super) head: Option<usize>,
    pub(super) value: Option<Vec<usize>>,
}

/// Returns the norms of a statement; one FUZZY or MISSING norm if it states nothing definite.
pub(crate) fn norms(parsed: &Parsed, qualifiers: &Qualifiers) -> Vec<Norm> {
    let frame = frame(parsed, qualifiers);
    if is_no_statement(parsed) {
        return vec![Norm { subject_kind: SubjectKind::Missing, ..frame }];
    }
    let mut out: Vec<Norm> = Vec::new();
    for clause in stances(parsed) {
        let norm = framed(&frame, norm(parsed, &clause, &Choice::default()));
        if !out.contains(&norm) && out.len() < MAX_NORMS {
            out.push(norm);
        }
    }
    if out.is_empty() {
        out.push(frame);
    }
    out
}

/// Returns the scope and the period in which the norms of a statement hold, as a norm without other fields.
pub(super) fn frame(parsed: &Parsed, qualifiers: &Qualifiers) -> Norm {
    let scope = NormScope {
        env: qualifiers
            .env
            .clone()
            .map(|e| canonical_env(&e))
            .or_else(|| only(&parsed.stated_scope.envs).map(|e| (*e).to_owned())),
        team: qualifiers
            .team
            .clone()
            .map(|t| t.trim().to_lowercase())
            .or_else(|| only(&parsed.stated_scope.roles).cloned()),
        tenant: qualifiers
            .tenant
            .clone()
            .map(|t| t.trim().to_lowercase())
            .or_else(|| only(&parsed.stated_scope.tenants).cloned()),
    };
    let valid_from = qualifiers.valid_from.clone().or_else(|| parsed.window.from.map(|d| d.to_string()));
    let valid_until = qualifiers.valid_until.clone().or_else(|| parsed.window.until.map(|d| d.to_string()));
    Norm { scope, valid_from, valid_until, ..Norm::default() }
}

/// Returns a norm with the scope and the period of a frame.
pub(super) fn framed(frame: &Norm, norm: Norm) -> Norm {
    let Norm { scope, valid_from, valid_until, .. } = frame.clone();
    Norm { scope, valid_from, valid_until, ..norm }
}

/// Returns the clauses of a statement that become norms, one for each stance.
pub(super) fn stances(parsed: &Parsed) -> impl Iterator<Item = Clause> + '_ {
    parsed.clauses.iter().take(MAX_NORMS).flat_map(|clause| members(parsed, clause))
}

/// Splits a clause that lists what something supports or contains into one clause per member.
fn members(parsed: &Parsed, clause: &Clause) -> Vec<Clause> {
    let items = &parsed.items;
    let list: Vec<usize> = clause.core.iter().copied().filter(|at| Some(*at) != clause.verb).collect();
    let joined = |pair: &[usize]| {
        let between = &items[pair[0].min(pair[1]) + 1..pair[1].max(pair[0])];
        !between.is_empty()
            && between.iter().all(|i| {
                i.kind == ItemKind::Punct(',') || matches!(i.lower.as_str(), "and" | "or" | "the" | "a" | "an")
            })
    };
    if !clause.is_open(items) || list.len() < 2 || !list.windows(2).all(joined) {
        return vec![clause.clone()];
    }
    list.iter()
        .map(|member| Clause { core: clause.verb.into_iter().chain([*member]).collect(), ..clause.clone() })
        .collect()
}

/// Returns the element of a list that has only one.
fn only<T>(list: &[T]) -> Option<&T> {
    if let [one] = list { Some(one) } else { None }
}

/// Returns the canonical name of an environment: `prod` for `production`.
pub(crate) fn canonical_env(name: &str) -> String {
    let name = name.trim().to_lowercase();
    lexicon().environment(&name).map_or(name, str::to_owned)
}

/// Returns whether a text states nothing: only questions, a hypothetical, or no content words.
pub(super) fn is_no_statement(parsed: &Parsed) -> bool {
    let lower: String = parsed.text.trim_start().chars().take(24).collect::<String>().to_lowercase();
    begins_hypothetically(&lower) || only_asks(parsed) || !parsed.items.iter().any(Item::is_content)
}

/// Returns whether a text ends with a question, and each of its sentences is one. A quoted question at the end of a statement ("answers
/// “why?”") belongs to the statement.
fn only_asks(parsed: &Parsed) -> bool {
    let quotes = ['"', '“', '”'];
    let quoted = parsed.text.trim_start().starts_with(quotes);
    let end = parsed.text.trim_end_matches(|c: char| matches!(c, ')' | ' ' | '\n') || quoted && quotes.contains(&c));
    let mut sentences = parsed.items.split_inclusive(|i| matches!(i.kind, ItemKind::Punct('.' | '!' | '?' | '\n')));
    end.ends_with('?')
        && !sentences.any(|sentence| {
            sentence.iter().any(Item::is_content)
                && sentence.last().is_some_and(|end| matches!(end.kind, ItemKind::Punct('.' | '!' | '\n')))
        })
}

fn begins_hypothetically(lower: &str) -> bool {
    let begins = |start: &str| lower.strip_prefix(start).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    lexicon().class(WordClass::Hypothetical).iter().any(|start| begins(start))
}

/// Returns whether a noun names a property of the noun beside it.
pub(crate) fn is_attribute(key: &str) -> bool {
    lexicon().class(WordClass::Attribute).contains(key)
}

/// Returns whether an item is the day of an event, which is not a value.
fn is_day(item: &Item) -> bool {
    item.kind == ItemKind::Number && item.quantity.is_none()
}

fn slice(parsed: &Parsed, at: usize) -> String {
    let item = &parsed.items[at];
    parsed.text.get(item.start..item.end).unwrap_or_default().to_owned()
}

/// Returns the norm of one clause, without scope and period.
pub(super) fn norm(parsed: &Parsed, clause: &Clause, choice: &Choice) -> Norm {
    let items = &parsed.items;
    let mut out = Norm { modality: clause.modality, ..Norm::default() };
    out.words = clause.stance.iter().map(|&at| slice(parsed, at)).collect();
    let mut used = vec![false; items.len()];

    let head = choice.head.or(clause.head).filter(|head| !is_day(&items[*head]));
    let verb = clause.verb.filter(|verb| clause.core.contains(verb) && head != Some(*verb));
    if let Some(verb) = verb
        && let Some(state) = lexicon().state(&items[verb].key, items[verb].opposite)
    {
        out.object = Some(state.to_owned());
        used[verb] = true;
    }

    let (value, limit) = match &choice.value {
        Some(at) => (Some(chosen(parsed, at)), None),
        None => value(parsed, clause, verb),
    };
    let preposition = value
        .as_ref()
        .and_then(|(at, _)| before(items, *at.first()?))
        .filter(|_| clause.imperative || value.as_ref().is_some_and(|(at, _)| items[at[0]].quantity.is_none()));
    if let Some((at, text)) = value {
        for &i in &at {
            used[i] = true;
        }
        out.words.extend(at.first().zip(at.last()).map(|(first, last)| {
            parsed.text.get(items[*first].start..items[*last].end).unwrap_or_default().to_owned()
        }));
        if let Some((limit, words)) = limit {
            out.words.extend(words);
            out.limit = Some(limit);
        } else {
            out.value = Some(text);
        }
    }

    // "Service 0": the number identifies the instance, the noun is the subject.
    let mut head = head.filter(|head| !used[*head]).map(|head| {
        let number = items[head].quantity.is_some() && crate::guard::align::names_in(items, clause, head);
        if number { head - 1 } else { head }
    });
    if head.is_none() {
        head = clause.subject.iter().chain(&clause.core).copied().find(|at| !used[*at] && !is_day(&items[*at]));
    }
    // "the port of Postgres", "the Postgres port": Postgres is the subject, its port the attribute.
    if let Some(at) = head
        && is_attribute(&items[at].key)
        && let Some(other) = clause
            .subject
            .iter()
            .chain(&clause.core)
            .copied()
            .find(|i| *i != at && !used[*i] && Some(*i) != verb && !is_attribute(&items[*i].key))
    {
        head = Some(other);
    }
    // A verb alone is not a subject: "set it to none".
    let head = head.filter(|head| clause.verb != Some(*head) || !clause.imperative);
    let Some(head) = head else {
        out.subject_kind = SubjectKind::Fuzzy;
        return out;
    };
    used[head] = true;
    out.words.insert(0, slice(parsed, head));
    out.subject.clone_from(&items[head].key);
    if items[head].opposite {
        out.subject.insert(0, '~');
    }
    let env = only(&parsed.stated_scope.envs);
    let key = |at: usize| if items[at].opposite { format!("~{}", items[at].key) } else { items[at].key.clone() };
    let mut rest: Vec<String> = clause
        .all()
        .filter(|at| !used[*at] && (env.is_none() || lexicon().environment(&items[*at].lower).as_ref() != env))
        .map(key)
        .collect();
    // Rules with different exceptions are different rules.
    rest.extend(clause.exceptions.iter().map(|at| format!("!{}", key(*at))));
    // "stored in X" and "stored with X" are different.
    if out.value.is_some()
        && let Some(word) = preposition
    {
        rest.push(format!("@{word}"));
    }
    rest.sort_unstable();
    rest.dedup();
    out.subject_kind = if lexicon().class(WordClass::Vague).contains(out.subject.as_str()) || rest.len() > MAX_WORDS {
        SubjectKind::Fuzzy
    } else {
        SubjectKind::Present
    };
    out.attribute = (!rest.is_empty()).then(|| rest.join(" "));
    out
}

/// The value of a clause with the indexes of its items; and, if it is a limit, that limit with the words that express it.
type Value = (Option<(Vec<usize>, String)>, Option<(Limit, Option<String>)>);

fn value(parsed: &Parsed, clause: &Clause, verb: Option<usize>) -> Value {
    let items = &parsed.items;
    let numbers: Vec<usize> = clause
        .all()
        .filter(|at| items[*at].quantity.is_some() && !crate::guard::align::names_in(items, clause, *at))
        .collect();
    let measured = |at: &usize| items[*at].quantity.as_ref().map_or("", |quantity| quantity.base);
    let first = numbers.first().copied();
    // With several numbers of one unit, it is unknown which is the value.
    if first.is_some_and(|at| numbers[1..].iter().any(|other| measured(other) == measured(&at))) {
        return (None, None);
    }
    if let Some(at) = first
        && let Some(quantity) = &items[at].quantity
    {
        let text = if quantity.base.is_empty() {
            quantity.value.clone()
        } else {
            format!("{} {}", quantity.value, quantity.base)
        };
        let bound = bound(items, at).filter(|_| quantity.number().is_some()).map(|(upper, cue)| {
            let number = Some(quantity.value.clone());
            let unit = quantity.base.to_owned();
            let limit =
                if upper { Limit { max: number, min: None, unit } } else { Limit { min: number, max: None, unit } };
            (limit, Some(slice(parsed, cue)))
        });
        let range = quantity.range().map(|(least, greatest)| {
            let unit = quantity.base.to_owned();
            (Limit { min: Some(least.to_owned()), max: Some(greatest.to_owned()), unit }, None)
        });
        return (Some((vec![at], text)), bound.or(range));
    }
    let set_member = |at: &&usize| items[**at].alternative.is_some() && Some(**at) != clause.head && Some(**at) != verb;
    let members: Vec<usize> = clause.core.iter().filter(set_member).copied().collect();
    if let [at] = members.as_slice()
        && !clause.is_open(items)
    {
        return (Some((vec![*at], member(&items[*at]))), None);
    }
    (
        name(parsed, clause).map(|at| {
            // Words joined by hyphens are one name.
            let joined = at.first().zip(at.last()).map(|(from, to)| items[*from].start..items[*to].end);
            let joined =
                joined.and_then(|range| parsed.text.get(range)).filter(|text| at.len() > 1 && !text.contains(' '));
            let words = || at.iter().map(|&i| items[i].lower.clone()).collect::<Vec<_>>().join(" ");
            let text = joined.map_or_else(words, str::to_lowercase);
            (at, text)
        }),
        None,
    )
}

/// Returns the name of a member of a set of exclusive alternatives, for people.
fn member(item: &Item) -> String {
    item.alternative.and_then(|place| lexicon().member_name(place)).unwrap_or(&item.lower).to_owned()
}

/// Returns items as a value.
fn chosen(parsed: &Parsed, at: &[usize]) -> (Vec<usize>, String) {
    let text = match at {
        [one] if parsed.items[*one].alternative.is_some() => member(&parsed.items[*one]),
        _ => at.iter().map(|&i| slice(parsed, i).to_lowercase()).collect::<Vec<_>>().join(" "),
    };
    (at.to_vec(), text)
}

/// Returns the preposition right before an item.
fn before(items: &[Item], at: usize) -> Option<&'static str> {
    let word = items.get(at.checked_sub(1)?).filter(|i| i.kind == ItemKind::Stop)?;
    ["in", "on", "with", "by", "to", "at", "from", "for"].into_iter().find(|p| *p == word.lower)
}

/// Returns whether a number is an upper bound, and the index of the cue of the bound; `None` if it is no bound.
pub(crate) fn bound(items: &[Item], at: usize) -> Option<(bool, usize)> {
    let near = at.saturating_sub(3)..(at + 3).min(items.len());
    near.filter(|i| *i != at).find_map(|i| match items[i].cue() {
        Some(Cue::AtMost) => Some((true, i)),
        Some(Cue::AtLeast) => Some((false, i)),
        _ => None,
    })
}

/// Returns the value V of "the X of Y is V", "X is a N of V" or "X is based in V", which have one value each.
fn name(parsed: &Parsed, clause: &Clause) -> Option<Vec<usize>> {
    let items = &parsed.items;
    if clause.subject.is_empty() || clause.negative || clause.also || clause.core.len() > 12 {
        return None;
    }
    let (first, last) = (*clause.subject.last()?, *clause.core.last()?);
    let between = items.get(first + 1..last)?;
    let copula = between
        .iter()
        .position(|i| i.kind == ItemKind::Stop && matches!(i.lower.as_str(), "is" | "are" | "was" | "were"));
    // The value follows the last preposition, the copula or "the N of".
    let start = (first + 1..last).rev().find(|&i| {
        items[i].kind == ItemKind::Stop
            && matches!(
                items[i].lower.as_str(),
                "is" | "are" | "was" | "were" | "in" | "of" | "by" | "to" | "with" | "at" | "for" | "on" | "as"
            )
            && !(items[i].lower == "of" && items[i - 1].capital && items.get(i + 1).is_some_and(|n| n.capital))
    })?;
    let definite = items[start].lower == "of" && items[first + 1..start].iter().any(|i| i.lower == "the");
    if copula.is_none() && !definite {
        return None;
    }
    let run: Vec<usize> = (start + 1..=last).filter(|i| items[*i].is_content()).collect();
    let listed = items[start + 1..last]
        .iter()
        .any(|i| matches!(i.kind, ItemKind::Punct(_)) || matches!(i.lower.as_str(), "and" | "or"));
    let named = run.iter().all(|i| items[*i].capital || items[*i].code);
    // The day of an event is not a name ("deploys are frozen in March"), and a role does not exclude others ("handled by operators").
    let role = run.last().is_some_and(|at| stated_scope::role(&items[*at].lower).is_some());
    if run.is_empty() || listed && !named || role || run.iter().any(|i| is_day(&items[*i])) {
        return None;
    }
    // A plain "X is V" is a description, not a value.
    let copular =
        items[start].kind == ItemKind::Stop && matches!(items[start].lower.as_str(), "is" | "are" | "was" | "were");
    let words = clause.subject.iter().filter(|at| !is_day(&items[**at])).count();
    let described = copular && !(words > 1 || named);
    (!described && (named && run.len() <= 6 || run.len() <= 2)).then_some(run)
}
