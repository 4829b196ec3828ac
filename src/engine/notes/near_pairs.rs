//! Pairs of claims similar in meaning: each claim with its nearest others.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use crate::{
    domain::{ClaimId, EventId, numeric::cosine},
    notes::NotedClaim,
};

/// The number of other claims with which each claim is compared.
const MAX_NEAREST: usize = 8;

/// The least cosine of a pair that is compared. Claims that are less similar share no subject.
const MIN_COSINE: f32 = 0.45;

/// Two claims, by their indices, with the cosine of their vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NearPair {
    pub(super) one: usize,
    pub(super) other: usize,
    pub(super) cosine: f32,
    /// Whether each is the other's nearest claim outside of its own group.
    pub(super) mutual: bool,
}

/// Returns the pairs of a claim of `fresh` and one of its nearest others, nearest pairs first. Claims of one group say
/// the same and form no pair; `groups` has the group of each claim.
pub(super) fn near(
    claims: &[NotedClaim],
    vectors: &HashMap<ClaimId, Vec<f32>>,
    groups: &[usize],
    fresh: &HashSet<ClaimId>,
) -> Vec<NearPair> {
    let mut search = NearestSearch::new(claims, vectors, groups);
    let mut pairs = BTreeSet::new();
    let mut found = Vec::new();
    let mut seen_words = HashSet::new();
    for (one, claim) in claims.iter().enumerate().filter(|(_, claim)| fresh.contains(&claim.id)) {
        // Equal words have equal vectors, so one claim stands for all with these words.
        if !seen_words.insert(claim.words) {
            continue;
        }
        for (at, (cosine, other)) in search.of(one).iter().enumerate() {
            let (a, b) = (groups.get(one), groups.get(*other));
            if pairs.insert((a.min(b), a.max(b))) {
                let mutual = at == 0 && search.of(*other).first().is_some_and(|(_, back)| groups.get(*back) == a);
                found.push(NearPair { one, other: *other, cosine: *cosine, mutual });
            }
        }
    }
    found.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then((a.one, a.other).cmp(&(b.one, b.other))));
    found
}

/// A similar claim: its cosine and its index.
type NearClaim = (f32, usize);

/// Searches the nearest claims of other groups, once for each statement.
struct NearestSearch<'a> {
    claims: &'a [NotedClaim],
    groups: &'a [usize],
    vectors: &'a HashMap<ClaimId, Vec<f32>>,
    /// One claim of each statement, with its vector.
    known: Vec<(usize, &'a [f32])>,
    found: HashMap<EventId, Rc<[NearClaim]>>,
}

impl<'a> NearestSearch<'a> {
    fn new(claims: &'a [NotedClaim], vectors: &'a HashMap<ClaimId, Vec<f32>>, groups: &'a [usize]) -> Self {
        let mut seen = HashSet::new();
        let known = claims.iter().enumerate().filter_map(|(at, claim)| {
            let vector = vectors.get(&claim.id)?;
            seen.insert(claim.words).then_some((at, vector.as_slice()))
        });
        Self { claims, groups, vectors, known: known.collect(), found: HashMap::new() }
    }

    /// Returns the claims nearest to one, nearest first, one of each other group.
    fn of(&mut self, one: usize) -> Rc<[NearClaim]> {
        let Some((claim, vector)) = self.claims.get(one).and_then(|claim| Some((claim, self.vectors.get(&claim.id)?)))
        else {
            return Rc::default();
        };
        if let Some(known) = self.found.get(&claim.words) {
            return Rc::clone(known);
        }
        let own = self.groups.get(one);
        let others = self.known.iter().filter(|(other, _)| self.groups.get(*other) != own);
        let mut nearest: Vec<NearClaim> = others
            .map(|(other, theirs)| (cosine(vector, theirs), *other))
            .filter(|(cosine, _)| *cosine >= MIN_COSINE)
            .collect();
        nearest.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut groups_met = HashSet::new();
        nearest.retain(|(_, other)| groups_met.insert(self.groups.get(*other)));
        nearest.truncate(MAX_NEAREST);
        let nearest: Rc<[NearClaim]> = nearest.into();
        self.found.insert(claim.words, Rc::clone(&nearest));
        nearest
    }
}

/// The greatest number of claims of one subject that are compared with each other.
const MAX_PER_SUBJECT: usize = 12;

/// Returns pairs of claims of different groups and scopes that share a key, such as a subject with its attribute,
/// without those in `near`. `keys` has the keys of each claim. Claims that contradict each other by the rules share a
/// key, even if their vectors are not similar.
pub(super) fn of_one_subject(
    claims: &[NotedClaim],
    keys: &[Vec<String>],
    groups: &[usize],
    fresh: &HashSet<ClaimId>,
    near: &[NearPair],
) -> Vec<NearPair> {
    let mut by_key: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, keys) in keys.iter().enumerate() {
        for key in keys {
            let sharing = by_key.entry(key).or_default();
            // One claim represents its group.
            if sharing.len() < MAX_PER_SUBJECT && !sharing.iter().any(|other| groups.get(*other) == groups.get(at)) {
                sharing.push(at);
            }
        }
    }
    let pair_of = |one: usize, other: usize| {
        let (a, b) = (groups.get(one), groups.get(other));
        (a.min(b), a.max(b))
    };
    let mut known: BTreeSet<_> = near.iter().map(|pair| pair_of(pair.one, pair.other)).collect();
    let mut found = Vec::new();
    for sharing in by_key.into_values() {
        for (n, one) in sharing.iter().enumerate() {
            for other in sharing.iter().skip(n + 1) {
                let (Some(a), Some(b)) = (claims.get(*one), claims.get(*other)) else { continue };
                let apart = a.scope != b.scope && (fresh.contains(&a.id) || fresh.contains(&b.id));
                if apart && known.insert(pair_of(*one, *other)) {
                    found.push(NearPair { one: *one, other: *other, cosine: 0.0, mutual: false });
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{ClaimKind, Qualifiers, Scope, judgement::words_hash};

    #[test]
    fn each_claim_meets_its_nearest_others_once() {
        let claim = |id: u8| NotedClaim {
            id: EventId([id; 32]),
            scope: Scope { org_id: "acme".into(), project: format!("p{id}") },
            kind: ClaimKind::Convention,
            statement: format!("rule {id}"),
            words: words_hash(ClaimKind::Convention, &format!("rule {id}"), &Qualifiers::default()),
            source: None,
            first: 0,
            last: 0,
            sightings: 1,
            contradicted: false,
            links: 0,
            promoted_from: 0,
        };
        let claims: Vec<NotedClaim> = (0..4).map(claim).collect();
        let vectors: HashMap<ClaimId, Vec<f32>> = [[1.0, 0.0], [0.9, 0.436], [0.0, 1.0], [1.0, 0.0]]
            .into_iter()
            .enumerate()
            .map(|(at, vector)| (claims[at].id, vector.to_vec()))
            .collect();
        let all: HashSet<ClaimId> = claims.iter().map(|claim| claim.id).collect();
        // The first and the last are one group.
        let found = near(&claims, &vectors, &[0, 1, 2, 0], &all);
        assert_eq!(found.iter().map(|pair| (pair.one, pair.other)).collect::<Vec<_>>(), [(0, 1)]);
        assert!((found[0].cosine - 0.9).abs() < 1e-6);
        assert!(near(&claims, &vectors, &[0, 1, 2, 0], &HashSet::new()).is_empty());
    }
}
