//! The claims that earlier imports and scans stored from a rule file.

use std::collections::BTreeSet;

use super::{
    reimport::RuleFile,
    rule_history,
    send::{ImportRow, claims_from},
};
use crate::{
    api::ClaimView,
    cli::CliError,
    client::Client,
    domain::{ClaimId, Scope, Status},
    interchange::rules::{is_from, is_from_commit, left_with_line},
};

/// The claims that were imported from a file before.
pub(super) struct EarlierClaims {
    /// Active ones, and those that a person closed, in the order of their lines.
    pub(super) own: Vec<ClaimView>,
    /// Those that an import or a scan closed with their lines.
    pub(super) former: Vec<ClaimView>,
}

/// Returns the claims that were imported from a file.
pub(super) async fn earlier(client: &Client, scope: &Scope, file: &RuleFile) -> Result<EarlierClaims, CliError> {
    let mut found = claims_from(client, scope, Some(&file.path)).await?;
    found.retain(|claim| {
        let reason = claim.reason.as_deref().unwrap_or_default();
        let imported = is_from(&file.name, reason) || is_from_commit(claim);
        imported && line_of(&file.path, claim).is_some() && !claim.flags.undone && claim.status != Status::Refused
    });
    found.sort_by_key(|claim| (line_of(&file.path, claim), claim.at, claim.id));
    // Claims that an import superseded or retracted return with their lines, but not those that a person closed.
    let from_here: BTreeSet<ClaimId> = found.iter().map(|claim| claim.id).collect();
    let removed = rule_history::removed_from(&file.path);
    let (former, own) = found.into_iter().partition(|claim| match claim.status {
        Status::Superseded => claim.replaced_by.iter().any(|by| from_here.contains(by)),
        _ => {
            left_with_line(claim, &file.path)
                || claim.closing_reason.as_deref().is_some_and(|why| why.starts_with(&removed))
        }
    });
    Ok(EarlierClaims { own, former })
}

/// Returns the latest claim that was closed with the line of a row.
pub(super) fn former_of<'a>(former: &'a [ClaimView], row: &ImportRow) -> Option<&'a ClaimView> {
    let is_of_row = |claim: &&ClaimView| claim.statement == row.claim.statement && Some(claim.kind) == row.claim.kind;
    former.iter().filter(is_of_row).max_by_key(|claim| claim.at)
}

/// Returns the line of a file that a claim's source names.
fn line_of(path: &str, claim: &ClaimView) -> Option<usize> {
    claim.source.as_deref()?.strip_prefix(path)?.strip_prefix(':')?.parse().ok()
}
