//! Describes the conditions of a claim and its exceptions.

use super::{Beside, BesideRelation};
use crate::domain::Qualifiers;

/// Describes what limits a claim, in words that fit after its statement: “only env staging; from 2026-05-01; exception to 3f2a91bc04”.
/// Returns `None` if nothing limits it.
pub fn limits(qualifiers: &Qualifiers, beside: &[Beside]) -> Option<String> {
    let conditions = qualifiers.conditions().map(|conditions| format!("only {conditions}"));
    let from = qualifiers.valid_from.as_ref().map(|day| format!("from {day}"));
    let exceptions = beside.iter().filter_map(|other| match other.relation {
        BesideRelation::Rule => Some(format!("exception to {}", other.claim.short())),
        BesideRelation::Exception => Some(format!("with the exception {}", other.claim.short())),
        BesideRelation::General | BesideRelation::Limited | BesideRelation::Compatible => None,
    });
    let parts: Vec<_> = conditions.into_iter().chain(from).chain(exceptions).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}
