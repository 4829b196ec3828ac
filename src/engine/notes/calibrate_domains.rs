//! Fits the least similarity of equal claims to judged pairs, for each domain.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    api::{ApiError, DomainThreshold, NotesCalibrated},
    domain::{PairVerdict, numeric::cosine},
    engine::{Engine, notes::views},
    notes::{labels, rank},
};

pub(super) fn calibrate(engine: &Engine, org: &str) -> Result<NotesCalibrated, ApiError> {
    let org = views::organisation(org)?;
    let book = engine.notes_book(org)?;
    let vectors = engine.readers.lend().organisation_vectors(org)?;
    let mut of_words = HashMap::new();
    for claim in &book.claims {
        of_words.entry(claim.words).or_insert(claim);
    }
    let mut domains: BTreeMap<&str, Vec<(f32, bool)>> = BTreeMap::new();
    // Pairs that a scan itself found to be equal are above the threshold in use, and would only confirm it.
    for judged in book.judged.iter().filter(|judged| !judged.by_scan) {
        let (Some(one), Some(other)) = (of_words.get(&judged.new), of_words.get(&judged.existing)) else { continue };
        let (Some(a), Some(b)) = (vectors.get(&one.id), vectors.get(&other.id)) else { continue };
        let pair = (cosine(a, b), judged.verdict == PairVerdict::Same);
        let of = [one, other].map(|claim| labels(claim.kind, &claim.statement).domain);
        for domain in BTreeSet::from(of) {
            domains.entry(domain).or_default().push(pair);
        }
    }
    let domains = domains.into_iter().map(|(domain, pairs)| DomainThreshold {
        domain: domain.to_owned(),
        judged: pairs.len(),
        threshold: rank::calibrated(&pairs),
        in_use: 0.0,
        is_default: true,
    });
    Ok(NotesCalibrated { domains: domains.collect(), changed: false })
}
