//! The scope of a claim: an organisation and a project. Claims of one scope are never compared with another's.

use std::fmt;

use minicbor::{Decode, Encode};
use serde::{Deserialize, Serialize};

/// The longest `org_id` or `project`, in bytes.
pub const MAX_NAME: usize = 200;

/// Where a claim belongs. Written as `org/project`.
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
    /// The field at fault: `org_id` or `project`.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// What is wrong with a name that is reserved: see [`Scope::is_reserved`].
pub const RESERVED: ScopeError =
    ScopeError { field: "org_id", problem: "begins with `@`, which is reserved for ergo: choose another name" };

impl Scope {
    /// Makes a scope of two names that are not empty, not overlong, and free of control characters.
    pub fn new(org_id: impl Into<String>, project: impl Into<String>) -> Result<Self, ScopeError> {
        let scope = Self { org_id: org_id.into(), project: project.into() };
        scope.check()?;
        Ok(scope)
    }

    /// Whether both names are well formed; a scope that was decoded from elsewhere is checked here before use.
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

    /// Whether the name is kept for ergo's own use: organisations that begin with `@`.
    pub fn is_reserved(&self) -> bool {
        self.org_id.starts_with('@')
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
}
