//! Contradictions among many other claims: does the claim that a write contradicts come among those that it is compared with?

use std::sync::Arc;

use super::{
    BenchError,
    cached_models::CachedModels,
    data::Data,
    report::{Crowd, Millis},
    shipped::Shipped,
};
use ergo::{domain::ClaimKind, guard::JudgeWeights};

/// Puts the first side of every contradiction and both corpora into one project, and writes the second sides.
pub(super) fn measure(
    name: &str,
    data: &Data,
    weights: &JudgeWeights,
    cache: Option<&Arc<CachedModels>>,
) -> Result<Crowd, BenchError> {
    let wanted: Vec<_> = data.pairs.iter().filter(|pair| pair.label == "contradiction").collect();
    // The newest come first among equals: what is looked for is the oldest.
    let mut claims: Vec<(ClaimKind, &str)> = wanted.iter().map(|pair| (ClaimKind::Decision, pair.a.as_str())).collect();
    claims.extend(data.adr.iter().map(|row| (ClaimKind::Decision, row.text.as_str())));
    claims.extend(data.rules.iter().map(|row| (ClaimKind::Convention, row.text.as_str())));
    let shipped = Shipped::with_claims(&claims, weights, cache)?;
    let (mut alone, mut found, mut took) = (0, 0, Vec::new());
    for (number, pair) in wanted.iter().enumerate() {
        let (refusing, time) = shipped.refusing(ClaimKind::Decision, &pair.b)?;
        took.push(time.as_secs_f64() * 1000.0);
        found += usize::from(refusing.contains(&number));
        let apart = Shipped::with_claims(&claims[number..=number], weights, cache)?;
        alone += usize::from(!apart.refusing(ClaimKind::Decision, &pair.b)?.0.is_empty());
    }
    Ok(Crowd {
        name: name.to_owned(),
        claims: claims.len(),
        contradictions: wanted.len(),
        alone,
        found,
        write_ms: Millis::of(took),
    })
}
