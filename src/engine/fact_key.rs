//! Derives the key of a fact if its writer gives none. Pure.

use crate::{
    domain::{
        Norm,
        norm::{Modality, SubjectKind},
    },
    guard::normalise::names_property,
};

/// The prefix of keys derived from a norm. They consist of stems, so people do not see them.
const NORM_PREFIX: &str = "norm:";

/// The prefix of keys derived from a statement.
const STATEMENT_PREFIX: &str = "statement:";

/// Returns the key as people see it: the one that the writer gave; `None` for a derived one.
pub(super) fn shown(key: &str) -> Option<&str> {
    (!key.starts_with(NORM_PREFIX) && !key.starts_with(STATEMENT_PREFIX)).then_some(key)
}

/// Derives the key of a fact from subject, property and place of its norm, if all its definite norms have the same and
/// say what *is*; otherwise from a hash of the statement, so that the fact replaces only itself. Only a named property
/// (“port”, “time limit”) has one value at a time: a second outage does not replace the first.
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
    let mut key = format!("{NORM_PREFIX}{}/{attribute}", norm.subject);
    for (name, place) in [("env", &norm.scope.env), ("team", &norm.scope.team), ("tenant", &norm.scope.tenant)] {
        if let Some(place) = place {
            key.extend([" ", name, "=", place]);
        }
    }
    Some(key)
}

/// Derives a key from the words of a statement. Such a fact replaces only one with the same words.
pub(super) fn of_statement(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/fact-statement/1");
    hasher.update(words.join(" ").as_bytes());
    let digest = hasher.finalize().to_hex();
    format!("{STATEMENT_PREFIX}{}", &digest.as_str()[..32])
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
