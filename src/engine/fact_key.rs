//! Derives the key of a fact if its writer gives none. Pure.

use crate::{
    domain::{
        Norm,
        norm::{Modality, SubjectKind},
    },
    guard::normalise::names_property,
};

/// How a key begins that was made of a norm: of stems, which people are not shown.
const OF_NORM: &str = "norm:";

/// How a key begins that was made of a statement.
const OF_STATEMENT: &str = "statement:";

/// The key as people see it: the one that its writer gave, and none where it was derived.
pub(super) fn shown(key: &str) -> Option<&str> {
    (!key.starts_with(OF_NORM) && !key.starts_with(OF_STATEMENT)).then_some(key)
}

/// The key of a fact: subject, property and place of its norm, where all its definite norms agree on them and say what
/// *is*; else a hash of the statement, so that it replaces nothing but itself. Only what is named as a property (“port”,
/// “time limit”) has one value at a time: a second outage does not replace the first.
pub(super) fn derive(statement: &str, norms: &[Norm]) -> String {
    let mut keys = norms.iter().filter(|norm| norm.subject_kind == SubjectKind::Present).map(of_norm);
    match keys.next() {
        Some(Some(first)) if keys.all(|key| key.as_deref() == Some(first.as_str())) => first,
        _ => of_statement(statement),
    }
}

fn of_norm(norm: &Norm) -> Option<String> {
    let attribute = norm.attribute.as_deref()?;
    if norm.subject.is_empty() || norm.modality != Modality::Must || !names_property(norm) {
        return None;
    }
    let mut key = format!("{OF_NORM}{}/{attribute}", norm.subject);
    for (name, place) in [("env", &norm.scope.env), ("team", &norm.scope.team), ("tenant", &norm.scope.tenant)] {
        if let Some(place) = place {
            key.extend([" ", name, "=", place]);
        }
    }
    Some(key)
}

/// The key of a fact that replaces nothing but the same words.
pub(super) fn of_statement(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/fact-statement/1");
    hasher.update(words.join(" ").as_bytes());
    let digest = hasher.finalize().to_hex();
    format!("{OF_STATEMENT}{}", &digest.as_str()[..32])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::norm::NormScope;

    fn norm(subject: &str, attribute: Option<&str>) -> Norm {
        Norm {
            subject: subject.into(),
            subject_kind: SubjectKind::Present,
            attribute: attribute.map(Into::into),
            ..Norm::default()
        }
    }

    #[test]
    fn subject_and_attribute_make_the_key() {
        assert_eq!(derive("Postgres port is 5432", &[norm("postgres", Some("port"))]), "norm:postgres/port");
    }

    #[test]
    fn the_subject_alone_never_does() {
        let a = derive("Postgres is fast", &[norm("postgres", None)]);
        let b = derive("Postgres is old", &[norm("postgres", None)]);
        assert!(a.starts_with("statement:") && a != b);
    }

    #[test]
    fn a_place_is_part_of_the_key() {
        let prod = Norm {
            scope: NormScope { env: Some("prod".into()), ..NormScope::default() },
            ..norm("postgres", Some("port"))
        };
        assert_eq!(derive("…", &[prod]), "norm:postgres/port env=prod");
    }

    #[test]
    fn what_is_not_so_and_what_says_two_things_replace_only_themselves() {
        let not = Norm { modality: Modality::MustNot, ..norm("postgres", Some("port")) };
        assert!(derive("Postgres port is not 1", &[not]).starts_with("statement:"));
        let two = [norm("postgres", Some("port")), norm("redis", Some("port"))];
        assert!(derive("Postgres port is 1 and redis port is 2", &two).starts_with("statement:"));
    }

    #[test]
    fn only_a_key_that_somebody_gave_is_shown() {
        assert_eq!(shown("db"), Some("db"));
        assert_eq!(shown(&derive("Databases listen on port 1", &[norm("databas", Some("listen port"))])), None);
        assert_eq!(shown(&derive("a b", &[])), None);
    }

    #[test]
    fn white_space_is_no_difference() {
        assert_eq!(derive("a  b\nc", &[]), derive("a b c", &[]));
    }
}
