//! The row `crowd`: whether contradictions are found among many other claims, of which a write is compared with few.

use std::sync::Arc;

use super::{GuardBenchError, cached_models::CachedModels, data::Data, report::CrowdRow, shipped::Shipped};
use crate::measure::{Quantiles, millis};
use ergo::{domain::ClaimKind, guard::JudgeWeights};

/// Stores the first sides of all contradictions and both corpora in one project, and tries to write the second sides.
pub(super) fn measure(
    name: &str,
    data: &Data,
    weights: &JudgeWeights,
    cache: Option<&Arc<CachedModels>>,
) -> Result<CrowdRow, GuardBenchError> {
    let wanted: Vec<_> = data.pairs.iter().filter(|pair| pair.label == "contradiction").collect();
    // Among equally near claims, the newest come first. So the claims to be found are the oldest ones.
    let mut claims: Vec<(ClaimKind, &str)> = wanted.iter().map(|pair| (ClaimKind::Decision, pair.a.as_str())).collect();
    claims.extend(data.adr.iter().map(|row| (ClaimKind::Decision, row.text.as_str())));
    claims.extend(data.rules.iter().map(|row| (ClaimKind::Convention, row.text.as_str())));
    let shipped = Shipped::with_claims(&claims, weights, cache)?;
    let (mut alone, mut found, mut took) = (0, 0, Vec::new());
    for (number, pair) in wanted.iter().enumerate() {
        let (refusing, time) = shipped.refusing(ClaimKind::Decision, &pair.b)?;
        took.push(millis(time));
        found += usize::from(refusing.contains(&number));
        let alone_with_claim = Shipped::with_claims(&claims[number..=number], weights, cache)?;
        alone += usize::from(!alone_with_claim.refusing(ClaimKind::Decision, &pair.b)?.0.is_empty());
    }
    Ok(CrowdRow {
        name: name.to_owned(),
        claims: claims.len(),
        contradictions: wanted.len(),
        alone,
        found,
        write_ms: Quantiles::of(took),
    })
}
