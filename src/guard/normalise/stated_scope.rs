//! The scope that a statement states: environments, teams or roles, tenants.

use super::{
    clause::Clause,
    lexical_item::{Item, ItemKind},
};
use crate::guard::lexicon::{WordClass, lexicon};

/// The scope that a statement states. Several names of one kind are alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StatedScope {
    pub(crate) envs: Vec<&'static str>,
    /// The teams and roles for which it holds.
    pub(crate) roles: Vec<String>,
    pub(crate) tenants: Vec<String>,
    /// The roles that do something, or to whom something is done. A statement about them may contradict one about other roles.
    pub(crate) actors: Vec<String>,
}

impl StatedScope {
    /// Returns whether exactly one of them names an environment, a role or a tenant.
    pub(crate) fn is_one_sided(&self, other: &Self) -> bool {
        self.envs.is_empty() != other.envs.is_empty()
            || self.names_role() != other.names_role()
            || self.tenants.is_empty() != other.tenants.is_empty()
    }

    /// Returns whether it names a role, as a scope or as an actor.
    pub(crate) fn names_role(&self) -> bool {
        !self.roles.is_empty() || !self.actors.is_empty()
    }

    /// Returns whether both name something of one kind, but nothing in common.
    pub(crate) fn is_disjoint(&self, other: &Self) -> bool {
        fn disjoint<T: PartialEq>(a: &[T], b: &[T]) -> bool {
            !a.is_empty() && !b.is_empty() && !a.iter().any(|x| b.contains(x))
        }
        disjoint(&self.envs, &other.envs)
            || disjoint(&self.roles, &other.roles)
            || disjoint(&self.tenants, &other.tenants)
    }
}

/// Returns the role that a word names.
pub(crate) fn role(word: &str) -> Option<&'static str> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    lexicon().class(WordClass::Role).get(singular).copied()
}

/// Returns whether the item at `at` comes after "outside": "outside production".
pub(crate) fn is_outside(items: &[Item], at: usize) -> bool {
    items[..at]
        .iter()
        .rev()
        .find(|item| !(item.kind == ItemKind::Stop && matches!(item.lower.as_str(), "the" | "of" | "a" | "our")))
        .is_some_and(|item| item.lower == "outside")
}

/// Returns for each item whether a statement does not hold in the place that it names: "except in staging", "not in production".
pub(crate) fn left_out(items: &[Item], clauses: &[Clause]) -> Vec<bool> {
    let mut out: Vec<bool> = (0..items.len()).map(|at| is_outside(items, at)).collect();
    for clause in clauses {
        let rejected = if clause.rejects_option() { clause.core.as_slice() } else { &[] };
        for at in clause.exceptions.iter().chain(rejected) {
            out[*at] = true;
        }
    }
    out
}

/// Adds a name unless the list has it: a name that a statement repeats is still the only one.
fn add<T: PartialEq>(names: &mut Vec<T>, name: T) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// Returns the scope that a statement names, without the places that it excepts.
pub(crate) fn stated_scope(items: &[Item], clauses: &[Clause]) -> StatedScope {
    let mut scope = StatedScope::default();
    let word = |at: usize| items.get(at).map_or("", |i| i.lower.as_str());
    let left_out = left_out(items, clauses);
    let is_subject = |at: usize| clauses.iter().any(|clause| clause.subject.contains(&at));
    for (at, item) in items.iter().enumerate() {
        if !matches!(item.kind, ItemKind::Content | ItemKind::Stop) || item.code || left_out[at] {
            continue;
        }
        let before = at.checked_sub(1).map_or("", word);
        if let Some(env) = lexicon().environment(&item.lower) {
            // "development dependencies" and "QA team" are not environments; "in development", "production runs", "prod cluster" are.
            let next = word(at + 1);
            let housed = matches!(
                next,
                "environment"
                    | "environments"
                    | "cluster"
                    | "server"
                    | "servers"
                    | "machine"
                    | "machines"
                    | "stage"
                    | "development"
            );
            let plain = match env {
                "prod" | "staging" | "uat" => true,
                // "Tests run in CI" names an environment; "CI runs clippy" and "the CI configuration" name a tool.
                "ci" => {
                    let earlier = if before == "the" { at.checked_sub(2).map_or("", word) } else { before };
                    // "CI environment" is one item.
                    item.end - item.start > item.lower.len()
                        || matches!(earlier, "in" | "on" | "inside" | "under")
                            && !items.get(at + 1).is_some_and(Item::is_content)
                }
                "local" if item.lower != "local" => true,
                "local" => false,
                _ => matches!(before, "in" | "on" | "for" | "the"),
            } || housed;
            if plain && next != "team" {
                add(&mut scope.envs, env);
            }
        } else if matches!(item.lower.as_str(), "test" | "demo" | "training")
            && matches!(word(at + 1), "environment" | "environments" | "cluster" | "stage")
        {
            add(&mut scope.envs, if item.lower == "test" { "test" } else { "demo" });
        }
        if matches!(item.lower.as_str(), "team" | "squad" | "department") && at > 0 && items[at - 1].is_content() {
            add(&mut scope.roles, format!("{} team", items[at - 1].key));
        } else if matches!(word(at + 1), "team" | "squad") {
            continue;
        } else if let Some(role) = role(&item.lower) {
            if before == "for" || clauses.iter().any(|clause| clause.subject.contains(&at) && !clause.only) {
                add(&mut scope.roles, role.to_owned());
            } else if matches!(before, "by" | "to") || is_subject(at) {
                add(&mut scope.actors, role.to_owned());
            }
        }
        if matches!(item.lower.as_str(), "tenant" | "customer" | "client")
            && items.get(at + 1).is_some_and(|i| i.is_content() && (i.capital || i.code))
        {
            add(&mut scope.tenants, items[at + 1].key.clone());
        }
    }
    scope
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use crate::{
        domain::claim::Qualifiers,
        guard::{Guard, normalise::parse},
    };

    #[rstest]
    #[case::inside("Tests run in CI.", &["ci"])]
    #[case::the("Secrets are masked in the CI.", &["ci"])]
    #[case::on("Benchmarks are not run on CI.", &["ci"])]
    #[case::housed("The CI environment has no network.", &["ci"])]
    #[case::tool("CI runs clippy.", &[])]
    #[case::its_job("Use GitHub Actions for CI.", &[])]
    #[case::its_parts("Caches live in the CI configuration.", &[])]
    #[case::production("Production runs Postgres.", &["prod"])]
    #[case::a_role("Local variables are short.", &[])]
    #[case::excepted("Debug logging is enabled everywhere except in production.", &[])]
    #[case::left_out("Feature flags are enabled outside production.", &[])]
    #[case::left_out_too("Feature flags are enabled outside of the CI environment.", &[])]
    #[case::rejected("Store secrets in staging, not in production.", &["staging"])]
    #[case::forbidden("Debug logging is forbidden in production.", &["prod"])]
    fn environments(#[case] statement: &str, #[case] expected: &[&str]) {
        assert_eq!(parse(statement).stated_scope.envs, expected, "{statement}");
    }

    #[rstest]
    #[case::subject("Admins may delete users.", &["admin"], &[])]
    #[case::beneficiary("Passwords for contractors expire monthly.", &["contractor"], &[])]
    #[case::exclusive("Only maintainers may merge to main.", &[], &["maintainer"])]
    #[case::agent("Incidents are handled by developers.", &[], &["developer"])]
    #[case::target("Tickets are assigned to testers.", &[], &["tester"])]
    fn a_role_is_a_place_only_if_it_does_not_act(
        #[case] statement: &str,
        #[case] roles: &[&str],
        #[case] actors: &[&str],
    ) {
        let scope = parse(statement).stated_scope;
        assert_eq!((scope.roles.as_slice(), scope.actors.as_slice()), (&owned(roles)[..], &owned(actors)[..]));
    }

    #[rstest]
    #[case::role("Passwords for contractors expire monthly; keys for contractors expire weekly.", [0, 1, 0])]
    #[case::roles("Passwords for contractors expire monthly; keys for admins expire weekly.", [0, 2, 0])]
    #[case::team("The billing team reviews weekly; the billing team deploys daily.", [0, 1, 0])]
    #[case::tenant("Limits for tenant Acme are strict; quotas for tenant Acme are generous.", [0, 0, 1])]
    #[case::environment("The test cluster is reset daily; the test cluster has no mail.", [1, 0, 0])]
    fn a_name_counts_once(#[case] statement: &str, #[case] counts: [usize; 3]) {
        let scope = parse(statement).stated_scope;
        assert_eq!([scope.envs.len(), scope.roles.len(), scope.tenants.len()], counts, "{statement}: {scope:?}");
    }

    #[test]
    fn a_role_that_is_named_twice_is_the_scope_of_the_norms() {
        let statement = "Passwords for contractors expire monthly; keys for contractors expire weekly.";
        let norms = Guard::default().normalise(statement, &Qualifiers::default()).norms;
        assert!(
            !norms.is_empty() && norms.iter().all(|norm| norm.scope.team.as_deref() == Some("contractor")),
            "{norms:?}"
        );
    }

    fn owned(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }
}
