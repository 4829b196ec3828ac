//! The order in which the changed lines of rule files are stored.

use std::collections::BTreeSet;

use super::send::{ImportRow, Sender};
use crate::{cli::CliError, domain::ClaimId};

/// A changed row that is to be stored.
struct Waiting<T> {
    row: T,
    /// The claims that it supersedes.
    targets: Vec<ClaimId>,
    /// Other claims that it contradicts.
    contradicted: Vec<ClaimId>,
}

/// Orders changed rows, each with the index of its file, so that one that contradicts the old version of another comes
/// after it.
pub(super) async fn in_safe_order(
    sender: &Sender,
    rows: Vec<(usize, ImportRow)>,
) -> Result<Vec<(usize, ImportRow)>, CliError> {
    if rows.len() < 2 {
        return Ok(rows);
    }
    let mut waiting = Vec::with_capacity(rows.len());
    for (at, row) in rows {
        let contradicted = sender.contradicted_by(&row).await?;
        waiting.push(Waiting { targets: row.targets.clone(), contradicted, row: (at, row) });
    }
    Ok(ordered(waiting))
}

/// Returns the rows in order. If rows wait for one another in a circle, the first of them is the first.
fn ordered<T>(mut waiting: Vec<Waiting<T>>) -> Vec<T> {
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let old: BTreeSet<ClaimId> = waiting.iter().flat_map(|one| one.targets.iter().copied()).collect();
        let waits = |one: &Waiting<T>| one.contradicted.iter().any(|id| old.contains(id) && !one.targets.contains(id));
        let next = waiting.iter().position(|one| !waits(one)).unwrap_or_default();
        ordered.push(waiting.remove(next).row);
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EventId;

    #[test]
    fn a_row_comes_after_those_whose_old_versions_it_contradicts() {
        let id = |n: u8| EventId([n; 32]);
        let row = |row: u8, contradicted: &[u8]| Waiting {
            row,
            targets: vec![id(row)],
            contradicted: contradicted.iter().map(|n| id(*n)).collect(),
        };
        assert_eq!(ordered(vec![row(1, &[]), row(2, &[]), row(3, &[])]), [1, 2, 3]);
        assert_eq!(ordered(vec![row(1, &[1, 2]), row(2, &[3]), row(3, &[9])]), [3, 2, 1]);
        assert_eq!(ordered(vec![row(1, &[2]), row(2, &[1]), row(3, &[])]), [3, 1, 2]);
    }
}
