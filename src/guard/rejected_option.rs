//! Rejected options: "use X instead of Y" against a claim that uses Y.

use super::{
    align::{MAX_CLAUSES, align},
    correction::{ends_use_of, phrase},
    normalise::{
        Parsed,
        clause::Clause,
        lexical_item::{Item, ItemKind},
    },
    oppose::count_limits,
};

/// Returns whether one statement chooses something else instead of what the other one uses, in the same, a wider or a narrower place:
/// "use MySQL instead of Postgres", "invoices are stored in Postgres".
pub(crate) fn rejects_what_is_used(ours: &Parsed, theirs: &Parsed) -> bool {
    rejects(ours, theirs) || rejects(theirs, ours)
}

fn rejects(ours: &Parsed, theirs: &Parsed) -> bool {
    ours.clauses.iter().filter(|clause| clause.rejects_option()).take(MAX_CLAUSES).any(|rejecting| {
        let option = rejecting.core.first().map_or_else(Vec::new, |first| phrase(&ours.items, *first));
        !option.is_empty() && uses(ours, rejecting, &option, theirs)
    })
}

/// Returns whether a statement uses the option that `rejecting` rejects.
fn uses(ours: &Parsed, rejecting: &Clause, option: &[usize], theirs: &Parsed) -> bool {
    let is_name =
        |item: &Item| item.kind == ItemKind::Content && (item.code || item.capital || item.alternative.is_some());
    let named = option.iter().any(|at| is_name(&ours.items[*at]));
    let is_option =
        |at: usize, word: usize| theirs.items[at].is_content() && theirs.items[at].id == ours.items[word].id;
    let in_clause = |clause: &Clause| {
        // Only a name says in a subject that the thing is used.
        let subject = clause.subject.iter().copied().filter(|_| named);
        let object = clause.core.iter().copied().filter(|at| clause.object.is_some_and(|object| *at <= object));
        let governed: Vec<usize> = subject.chain(object).filter(|at| clause.verb != Some(*at)).collect();
        option.iter().all(|word| governed.iter().any(|at| is_option(*at, *word)))
    };
    // What else the clauses name besides the option: the place in which it is used.
    let is_place = |at: usize| !option.iter().any(|word| is_option(at, *word));
    let our_place: Vec<usize> = rejecting.core.iter().copied().filter(|at| !option.contains(at)).collect();
    let elsewhere = |clause: &Clause| {
        let mut place = clause.core.iter().copied().filter(|at| clause.verb != Some(*at) && is_place(*at)).peekable();
        !our_place.is_empty()
            && place.peek().is_some()
            && !place.any(|at| our_place.iter().any(|our| ours.items[*our].id == theirs.items[at].id))
    };
    let mentions = |clause: &Clause| option.iter().any(|word| clause.core.iter().any(|at| is_option(*at, *word)));
    let denied = theirs.clauses.iter().any(|clause| clause.negative && mentions(clause));
    !denied
        && !ends_use_of(theirs, |at| option.iter().any(|word| is_option(at, *word)))
        && theirs.clauses.iter().take(MAX_CLAUSES).any(|clause| {
            !clause.negative && in_clause(clause) && !elsewhere(clause) && {
                let alignment = align(ours, rejecting, theirs, clause);
                count_limits(ours, rejecting, &alignment, false) == 0
                    || count_limits(theirs, clause, &alignment, true) == 0
            }
        })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::guard::normalise::parse;

    #[rstest]
    #[case::same_place(
        "Use MySQL 8 instead of PostgreSQL for the payments service.",
        "We use PostgreSQL 16 as the only relational store for the payments service.",
        true
    )]
    #[case::wider("Use MySQL instead of PostgreSQL.", "We use PostgreSQL for the payments service.", true)]
    #[case::rather("Deploy with Nomad rather than Kubernetes.", "Workers are deployed with Kubernetes.", true)]
    #[case::not("Format code with Biome, not Prettier.", "Prettier formats the front end.", true)]
    // The other statement does not use it.
    #[case::denied("Use MySQL instead of PostgreSQL.", "Never use PostgreSQL.", false)]
    #[case::same("Use MySQL instead of PostgreSQL.", "Use MySQL rather than PostgreSQL.", false)]
    #[case::ended("Use Valkey instead of Redis.", "Move sessions from Redis to Valkey.", false)]
    #[case::chosen("Use MySQL instead of PostgreSQL.", "We use MySQL for the payments service.", false)]
    #[case::mentioned("Return results instead of errors.", "Errors have a code.", false)]
    // Other places.
    #[case::other_place(
        "Use MySQL instead of PostgreSQL for the payments service.",
        "Use PostgreSQL for the search index.",
        false
    )]
    fn a_rejected_option_is_matched_with_claims_that_use_it(
        #[case] ours: &str,
        #[case] theirs: &str,
        #[case] expected: bool,
    ) {
        let (ours, theirs) = (parse(ours), parse(theirs));
        assert_eq!(rejects_what_is_used(&ours, &theirs), expected, "{:?} {:?}", ours.clauses, theirs.clauses);
        assert_eq!(rejects_what_is_used(&theirs, &ours), expected);
    }
}
