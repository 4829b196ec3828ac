//! The scope of a claim: a project of an organisation, or the organisation's level, whose claims hold in each of its projects.
//!
//! Claims of different scopes are never compared, except those of a project with those of its organisation's level.

use std::{fmt, str::FromStr};

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// The maximum length of `org_id` or `project`, in bytes.
pub const MAX_NAME: usize = 200;

/// The project name that stands for the organisation's level: `acme/*`. In tables and files it is an ordinary name, never a pattern.
pub const ORGANISATION: &str = "*";

/// Whether a claim belongs to a project or to the organisation's level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// It holds in its project.
    #[default]
    Project,
    /// It holds in each project of its organisation that does not narrow or except it.
    Organisation,
}

impl Level {
    /// Returns whether it is the level of a project.
    pub fn is_project(&self) -> bool {
        *self == Self::Project
    }
}

/// The scope of a claim. Written as `org/project`, or as `org/*` for the organisation's level.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Encode, Decode, utoipa::ToSchema,
)]
pub struct Scope {
    /// The organisation; `claude-code` unless configured.
    #[n(0)]
    pub org_id: String,
    /// The project; by default the base name of the git common directory.
    #[n(1)]
    pub project: String,
}

/// Why a pair of names is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {problem}")]
pub struct ScopeError {
    /// The wrong field: `org_id` or `project`.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// The error for a reserved name: see [`Scope::is_reserved`].
pub const RESERVED: ScopeError =
    ScopeError { field: "org_id", problem: "begins with `@`, which is reserved for ergo: choose another name" };

impl Scope {
    /// Creates a scope from two names, which must not be empty, too long, or contain control characters.
    pub fn new(org_id: impl Into<String>, project: impl Into<String>) -> Result<Self, ScopeError> {
        let scope = Self { org_id: org_id.into(), project: project.into() };
        scope.check()?;
        Ok(scope)
    }

    /// Checks that both names are well formed. A scope that was decoded from input must be checked before use.
    pub fn check(&self) -> Result<(), ScopeError> {
        for (field, name) in [("org_id", &self.org_id), ("project", &self.project)] {
            let problem = if name.trim().is_empty() {
                "must not be empty"
            } else if name.len() > MAX_NAME {
                "is longer than 200 bytes"
            } else if name.chars().any(char::is_control) {
                "must not contain control characters"
            } else {
                continue;
            };
            return Err(ScopeError { field, problem });
        }
        Ok(())
    }

    /// Returns the organisation's level of this scope, which may be this scope itself.
    #[must_use]
    pub fn organisation(&self) -> Self {
        Self { org_id: self.org_id.clone(), project: ORGANISATION.to_owned() }
    }

    /// Returns the level of the claims in this scope. A reserved organisation has only projects.
    pub fn level(&self) -> Level {
        if self.project == ORGANISATION && !self.is_reserved() { Level::Organisation } else { Level::Project }
    }

    /// Returns the scopes whose claims hold in this one: itself and, for a project, its organisation's level.
    pub fn in_force(&self) -> Vec<Self> {
        if self.level() == Level::Organisation || self.is_reserved() {
            vec![self.clone()]
        } else {
            vec![self.clone(), self.organisation()]
        }
    }

    /// Returns whether claims of the other scope hold in this one: it is the same, or the organisation's level of this project.
    pub fn takes(&self, other: &Self) -> bool {
        self == other || (self.org_id == other.org_id && other.level() == Level::Organisation)
    }

    /// Returns whether claims of neither scope hold in the other: they are different projects, or of different organisations.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        !self.takes(other) && !other.takes(self)
    }

    /// Returns whether the scope is reserved for ergo's own use: its organisation begins with `@`.
    pub fn is_reserved(&self) -> bool {
        self.org_id.starts_with('@')
    }
}

/// Why a text is not a scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidScope {
    /// It does not have two parts.
    #[error("expected ORG/PROJECT")]
    Parts,
    /// A part cannot be a name.
    #[error(transparent)]
    Name(#[from] ScopeError),
}

impl FromStr for Scope {
    type Err = InvalidScope;

    fn from_str(text: &str) -> Result<Self, InvalidScope> {
        let (org_id, project) = text.split_once('/').ok_or(InvalidScope::Parts)?;
        if project.contains('/') { Err(InvalidScope::Parts) } else { Ok(Self::new(org_id, project)?) }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.org_id, self.project)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_and_the_field_is_named() {
        assert!(Scope::new("acme", "api").is_ok());
        assert_eq!(Scope::new(" ", "api").unwrap_err().field, "org_id");
        assert_eq!(Scope::new("acme", "a\0b").unwrap_err().field, "project");
        assert_eq!(Scope::new("acme", "x".repeat(201)).unwrap_err().field, "project");
    }

    #[test]
    fn a_scope_is_written_as_two_names() {
        assert_eq!("acme/api".parse(), Ok(Scope::new("acme", "api").unwrap()));
        for text in ["", "acme", "a/b/c", "acme/api/"] {
            assert_eq!(text.parse::<Scope>(), Err(InvalidScope::Parts), "{text}");
        }
        assert!(matches!("/api".parse::<Scope>(), Err(InvalidScope::Name(error)) if error.field == "org_id"));
    }

    #[test]
    fn a_project_takes_the_claims_of_its_own_organisation_alone() {
        let scope = |org: &str, project: &str| Scope::new(org, project).unwrap();
        let (api, level) = (scope("acme", "api"), scope("acme", "*"));
        assert_eq!((api.level(), level.level()), (Level::Project, Level::Organisation));
        assert_eq!(api.in_force(), [api.clone(), level.clone()]);
        assert_eq!(level.in_force(), std::slice::from_ref(&level));
        assert!(api.takes(&level) && api.takes(&api) && !level.takes(&api));
        assert!(!api.takes(&scope("acme", "web")) && !api.takes(&scope("other", "*")));
        // A star within a name is no level, and reserved scopes have no level of an organisation.
        assert_eq!(scope("acme", "a*").level(), Level::Project);
        assert_eq!(scope("@team", "*").level(), Level::Project);
        assert_eq!(scope("@team", "7").in_force().len(), 1);
    }
}
