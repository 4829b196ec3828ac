//! Finds the scope under which the daemon knows a project.

use super::ScopeView;
use crate::domain::Scope;

/// Returns the scope under which the daemon knows a project, and the identity that matched. `named` is the scope according to
/// folder and settings. `identities` tell projects of the same name apart, best first; they are empty if the user named
/// the project.
///
/// If two projects have the same name, the second is `name-2`. A project that gained a remote keeps its scope.
pub fn known_scope(named: &Scope, identities: &[String], scopes: &[ScopeView]) -> (Scope, Option<String>) {
    let Some(best) = identities.first() else { return (named.clone(), None) };
    let ours = |known: &&ScopeView| known.scope.org_id == named.org_id;
    let namesake = |project: &str| {
        let rest = project.strip_prefix(&*named.project);
        rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(|n| n.parse::<u32>().is_ok()))
    };
    for identity in identities {
        let bound = |known: &&ScopeView| known.identity.as_ref() == Some(identity) && namesake(&known.scope.project);
        if let Some(known) = scopes.iter().filter(ours).find(bound) {
            return (known.scope.clone(), Some(identity.clone()));
        }
    }
    let taken = |project: &str| {
        scopes.iter().filter(ours).any(|known| known.scope.project == project && known.identity.is_some())
    };
    let names = std::iter::once(named.project.clone()).chain((2_u32..).map(|n| format!("{}-{n}", named.project)));
    let free = names.into_iter().find(|name| !taken(name));
    (Scope { project: free.unwrap_or_else(|| named.project.clone()), ..named.clone() }, Some(best.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(project: &str) -> Scope {
        Scope { org_id: "acme".into(), project: project.into() }
    }

    fn view(project: &str, identity: Option<&str>) -> ScopeView {
        ScopeView {
            scope: scope(project),
            active: 1,
            total: 1,
            open_cards: 0,
            needs_review: 0,
            latest: 0,
            identity: identity.map(str::to_owned),
        }
    }

    fn known(identities: &[&str], scopes: &[ScopeView]) -> (String, Option<String>) {
        let identities: Vec<String> = identities.iter().map(|&identity| identity.to_owned()).collect();
        let (scope, identity) = known_scope(&scope("api"), &identities, scopes);
        (scope.project, identity)
    }

    #[test]
    fn a_project_is_found_by_what_it_is_not_by_its_name_alone() {
        let scopes = [view("api", Some("host/a")), view("api-2", Some("host/b")), view("api-docs", Some("host/c"))];
        assert_eq!(known(&["host/b", "/b"], &scopes), ("api-2".into(), Some("host/b".into())));
        assert_eq!(
            known(&["host/c", "/c"], &scopes),
            ("api-3".into(), Some("host/c".into())),
            "never another's memory"
        );
        assert_eq!(known(&["host/x"], &[view("api", None)]), ("api".into(), Some("host/x".into())), "a free name");
        assert_eq!(known(&[], &scopes), ("api".into(), None), "a flag means what it says");
    }

    #[test]
    fn a_remote_that_came_later_makes_no_other_project() {
        let scopes = [view("api", Some("/home/ada/api/.git"))];
        let identity = "/home/ada/api/.git";
        assert_eq!(known(&["host/api", identity], &scopes), ("api".into(), Some(identity.into())));
    }
}
