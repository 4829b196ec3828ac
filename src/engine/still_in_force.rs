//! Finds active claims on the subject of the superseded ones that the new claim does not cover. If “The package manager
//! is pnpm” is superseded by “… is Bun”, then “pnpm is pinned to 10.5.2” stays active, and the writer should know of
//! it.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    act_context::{ActContext, WriteScope},
    view,
};
use crate::{
    api::{ApiError, Warning},
    domain::{ClaimId, Scope, Status, text::stems},
    guard::Guard,
    store::{ClaimRow, Committed, Reader, RowNumber, WordQuery},
};

/// The greatest number of claims that the warning names.
const MAX_NAMED_CLAIMS: usize = 5;

/// The greatest number of claims that are read for each dropped word, newest first.
const MAX_CLAIMS_PER_WORD: usize = 100;
/// The greatest number of dropped words that are looked up.
const MAX_DROPPED_WORDS: usize = 24;

/// The share of the dropped words, weighted by rarity, that a claim must contain if they are not its subject.
const MIN_SHARE: f64 = 0.5;

impl ActContext<'_> {
    /// Warns about the claims that stay in force after the statement `new` replaced `old`; `None` if there are none.
    pub(super) fn still_in_force(
        &self,
        write_scope: &WriteScope,
        old: &[ClaimRow],
        new: &str,
        committed: &Committed,
    ) -> Result<Option<Warning>, ApiError> {
        if old.is_empty() {
            return Ok(None);
        }
        // Claims that depend on a replaced claim are already named as needing review.
        let known: BTreeSet<ClaimId> = committed.created.iter().chain(&committed.needs_review).copied().collect();
        let rows = matching_claims(self.reader(), &write_scope.scope, old, new)?;
        let rows: Vec<ClaimRow> =
            rows.into_iter().filter(|row| !known.contains(&row.id) && row.statement != new).collect();
        let message = match rows.len() {
            0 => return Ok(None),
            1 => {
                "another active claim is about the same thing: supersede or retract it if it no longer holds".to_owned()
            }
            many => format!(
                "{many} other active claims are about the same thing: supersede or retract those that no longer hold"
            ),
        };
        let claims = view::claims(rows.into_iter().take(MAX_NAMED_CLAIMS), &self.today);
        Ok(Some(Warning { claims, ..Warning::new(Warning::STILL_IN_FORCE, message) }))
    }
}

/// Returns the active claims that contain dropped words, i.e. words of `old` that are not in `new`; best match first.
fn matching_claims(reader: &Reader, scope: &Scope, old: &[ClaimRow], new: &str) -> Result<Vec<ClaimRow>, ApiError> {
    let kept: BTreeSet<String> = terms(new).into_keys().collect();
    let mut dropped: BTreeMap<String, String> = BTreeMap::new();
    for row in old {
        dropped.extend(terms(&row.statement).into_iter().filter(|(key, _)| !kept.contains(key)));
    }
    let queries: Vec<WordQuery> = dropped
        .values()
        .take(MAX_DROPPED_WORDS)
        .map(|word| WordQuery { stems: stems(word), limit: MAX_CLAIMS_PER_WORD })
        .collect();
    if queries.is_empty() {
        return Ok(Vec::new());
    }
    let lists = reader.word_lists(std::slice::from_ref(scope), &[], &queries)?;
    let spots: BTreeSet<RowNumber> = lists.lists.iter().flat_map(|list| list.spots.iter().copied()).collect();
    let spots: Vec<RowNumber> = spots.into_iter().collect();
    let standing = reader.standing(std::slice::from_ref(scope), &spots)?;
    let active =
        |standing: &Option<crate::store::KindAndStatus>| standing.is_some_and(|one| one.status == Status::Active);
    let spots: Vec<RowNumber> =
        spots.iter().zip(&standing).filter(|(_, one)| active(one)).map(|(spot, _)| *spot).collect();
    let rarity: BTreeMap<&str, f64> = dropped
        .keys()
        .zip(&lists.lists)
        .map(|(key, list)| (key.as_str(), (1.0 + lists.claims as f64 / list.claims.max(1) as f64).ln()))
        .collect();
    let mut ranked: Vec<(f64, ClaimRow)> = reader
        .bare_at(&spots)?
        .into_iter()
        .filter(|row| old.iter().all(|gone| gone.id != row.id))
        .filter_map(|row| Some((match_score(&row, &rarity)?, row)))
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.clock.cmp(&a.1.clock)));
    Ok(ranked.into_iter().map(|(_, row)| row).collect())
}

/// Returns how well a claim matches the dropped words: up to 1, above 1 if they are its subject; `None` for a weak
/// match.
fn match_score(row: &ClaimRow, rarity: &BTreeMap<&str, f64>) -> Option<f64> {
    let own = terms(&row.statement);
    let shared: f64 = rarity.iter().filter(|(key, _)| own.contains_key(**key)).map(|(_, weight)| weight).sum();
    let share = shared / rarity.values().sum::<f64>();
    let about = row.norms.iter().any(|norm| rarity.contains_key(norm.subject.as_str()));
    (shared > 0.0 && (about || share >= MIN_SHARE)).then_some(if about { 1.0 + share } else { share })
}

/// Returns the significant words and the figures of a statement: each as the guard reads it, and as it was written.
fn terms(statement: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    // A port follows a host and a colon; versions and file names keep their dots.
    for word in statement.split(|c: char| c.is_whitespace() || matches!(c, ':' | '/' | '=' | '@' | ',' | ';')) {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        if word.is_empty() {
            continue;
        }
        if word.contains(|c: char| c.is_ascii_digit()) {
            found.insert(word.to_lowercase(), word.to_owned());
            continue;
        }
        let keys = Guard::index_terms(&[], word).terms;
        found.extend(keys.into_iter().filter(|key| !key.starts_with('#')).map(|key| (key, word.to_owned())));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_carry_nothing_are_no_terms() {
        let found: Vec<String> = terms("We use pnpm as the package manager, version 10.5.2.").into_values().collect();
        for word in ["pnpm", "package", "manager", "10.5.2"] {
            assert!(found.iter().any(|known| known == word), "{word}: {found:?}");
        }
        for word in ["We", "as", "the"] {
            assert!(!found.iter().any(|known| known == word), "{word}: {found:?}");
        }
    }
}
