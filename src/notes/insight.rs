//! Insights: groups of an organisation's claims that say the same, with sightings, confidence and rank.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{
    labels::{self, Labels},
    rank::{self, Lifecycle},
};
use crate::domain::{ClaimId, ClaimKind, EventId, Scope};

/// The minimum confidence of a candidate for promotion. If the settings ask for so few projects that their agreement gives less, that
/// lower confidence suffices.
const MIN_PROMOTION_CONFIDENCE: f64 = 0.7;

/// The parts of an active claim on which its insight depends.
#[derive(Clone, Debug, PartialEq)]
pub struct NotedClaim {
    /// The claim.
    pub id: ClaimId,
    /// Its scope.
    pub scope: Scope,
    /// Its kind.
    pub kind: ClaimKind,
    /// Its statement.
    pub statement: String,
    /// The hash of its content: see [`crate::domain::judgement::words_hash`].
    pub words: EventId,
    /// Its source, such as `CLAUDE.md:12`.
    pub source: Option<String>,
    /// When it was written, in milliseconds since the Unix epoch.
    pub first: u64,
    /// When it was last seen, in milliseconds since the Unix epoch.
    pub last: u64,
    /// The number of times that it was seen: once when it was written, and once for each observation.
    pub sightings: usize,
    /// Whether it is on an open card.
    pub contradicted: bool,
    /// The number of its recorded links to other claims.
    pub links: usize,
    /// The number of projects from which it was promoted, as recorded by the promotion; 0 if it was not promoted.
    pub promoted_from: usize,
}

/// A group of claims of an organisation that say the same.
#[derive(Clone, Debug, PartialEq)]
pub struct Insight {
    /// The indexes of the claims in the grouped list, the earliest first.
    pub members: Vec<usize>,
    /// The index of the claim that represents the group: the principle, or else one whose wording most members share.
    pub wording: usize,
    /// The claim of the organisation's level in the group, if it was promoted.
    pub principle: Option<ClaimId>,
    /// The projects that have it, in order.
    pub projects: Vec<Scope>,
    /// The number of projects that have it: those known on this device, or the number that its promotion recorded if that is greater.
    pub agreeing: usize,
    /// The total number of times that it was seen.
    pub sightings: usize,
    /// When it was first seen, in milliseconds since the Unix epoch.
    pub first: u64,
    /// When it was last seen, in milliseconds since the Unix epoch.
    pub last: u64,
    /// The confidence, 0 to 1: see [`rank::confidence`].
    pub confidence: f64,
    /// The recency, 0 to 1: see [`rank::recency`].
    pub recency: f64,
    /// The quality of its sources, 0 to 1.
    pub quality: f64,
    /// The rank, 0 to 1: see [`rank::rank`].
    pub rank: f64,
    /// Whether it is active, decays or was pruned.
    pub lifecycle: Lifecycle,
    /// Whether one of its claims is on an open card.
    pub contradicted: bool,
    /// Its category, domain and tags.
    pub labels: Labels,
}

impl Insight {
    /// Returns whether it may be promoted to a claim of the organisation: it is not one yet, at least `projects` projects have it, nothing
    /// contradicts it, and its confidence has not decayed too far since the last sighting.
    pub fn is_candidate(&self, projects: usize) -> bool {
        let least = MIN_PROMOTION_CONFIDENCE.min(rank::confidence(projects, 0.0, false));
        self.principle.is_none()
            && !self.contradicted
            && self.projects.len() >= projects.max(1)
            && self.confidence >= least - 1e-9
    }
}

/// Groups claims of one organisation that say the same: those with the same words hash, and those whose words hashes are a pair in `same`,
/// which were judged equal. The groups do not depend on the order of either list. Each has the indexes of its claims, the earliest first.
pub fn group(claims: &[NotedClaim], same: &[(EventId, EventId)]) -> Vec<Vec<usize>> {
    let mut parents: BTreeMap<EventId, EventId> = BTreeMap::new();
    let known: BTreeSet<EventId> = claims.iter().map(|claim| claim.words).collect();
    for (one, other) in same.iter().filter(|(one, other)| known.contains(one) && known.contains(other)) {
        let (one, other) = (root(&parents, *one), root(&parents, *other));
        // The smallest hash represents the group, so that the order of the pairs does not matter.
        parents.insert(one.max(other), one.min(other));
    }
    let mut groups: BTreeMap<EventId, Vec<usize>> = BTreeMap::new();
    for (at, claim) in claims.iter().enumerate() {
        groups.entry(root(&parents, claim.words)).or_default().push(at);
    }
    let order = |at: &usize| claims.get(*at).map(|claim| (claim.first, claim.id));
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    for group in &mut groups {
        group.sort_by_key(order);
    }
    groups.sort_by_key(|group| group.first().and_then(order));
    groups
}

/// Returns the hash that represents the group of `of`.
fn root(parents: &BTreeMap<EventId, EventId>, of: EventId) -> EventId {
    let mut at = of;
    while let Some(above) = parents.get(&at).filter(|above| **above != at) {
        at = *above;
    }
    at
}

/// Computes the insight of a group at the time `now`.
pub fn insight(claims: &[NotedClaim], group: &[usize], now: u64) -> Insight {
    let members: Vec<&NotedClaim> = group.iter().filter_map(|at| claims.get(*at)).collect();
    let of_projects = || members.iter().filter(|claim| claim.scope.level().is_project());
    let projects: BTreeSet<Scope> = of_projects().map(|claim| claim.scope.clone()).collect();
    let principle = members.iter().find(|claim| !claim.scope.level().is_project());
    let mut wordings: HashMap<EventId, usize> = HashMap::new();
    for claim in &members {
        *wordings.entry(claim.words).or_default() += 1;
    }
    let share = |at: usize| claims.get(at).and_then(|claim| wordings.get(&claim.words)).copied().unwrap_or_default();
    let most = group.iter().map(|at| share(*at)).max().unwrap_or_default();
    // A promoted insight has the words that a person gave it.
    let wording =
        group.iter().copied().find(|at| principle.is_some_and(|p| claims.get(*at).is_some_and(|c| c.id == p.id)));
    let wording = wording.or_else(|| group.iter().copied().find(|at| share(*at) == most)).unwrap_or_default();

    let first = members.iter().map(|claim| claim.first).min().unwrap_or_default();
    let last = members.iter().map(|claim| claim.last).max().unwrap_or_default();
    let sightings = of_projects().map(|claim| claim.sightings).sum::<usize>().max(1);
    let contradicted = members.iter().any(|claim| claim.contradicted);
    let quality = 1.0 - members.iter().map(|claim| 1.0 - source_quality(claim.source.as_deref())).product::<f64>();
    let stale = rank::days(last, now);
    let recorded = members.iter().map(|claim| claim.promoted_from).max().unwrap_or_default();
    let agreeing = projects.len().max(recorded);
    let confidence = rank::confidence(agreeing, stale, contradicted);
    let recency = rank::recency(stale, sightings);
    let links = members.iter().map(|claim| claim.links).sum();
    let rank = rank::rank(confidence, sightings, recency, quality, links);
    let labels = claims.get(wording).map(|claim| labels::labels(claim.kind, &claim.statement)).unwrap_or_default();
    Insight {
        members: group.to_vec(),
        wording,
        principle: principle.map(|claim| claim.id),
        projects: projects.into_iter().collect(),
        agreeing,
        sightings,
        first,
        last,
        confidence,
        recency,
        quality,
        rank,
        lifecycle: rank::lifecycle(rank, stale),
        contradicted,
        labels,
    }
}

/// Returns the quality of a source, 0 to 1. A decision record was considered more carefully than a line in an editor's rules.
fn source_quality(source: Option<&str>) -> f64 {
    let Some(source) = source else { return 0.3 };
    let source = source.to_lowercase();
    let path = source.rsplit_once(':').map_or(&*source, |(path, _)| path);
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_record = path.split('/').any(|part| matches!(part, "adr" | "adrs" | "decisions"));
    if is_record {
        0.5
    } else if name.starts_with("contributing") {
        0.4
    } else if matches!(name, ".cursorrules" | "copilot-instructions.md" | ".windsurfrules")
        || name.strip_suffix(".mdc").is_some()
    {
        0.25
    } else {
        0.3
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Qualifiers, judgement::words_hash, scope::ORGANISATION};

    const NOW: u64 = 1_000 * rank::DAY;

    pub(in crate::notes) fn claim(id: u8, project: &str, statement: &str) -> NotedClaim {
        NotedClaim {
            id: EventId([id; 32]),
            scope: Scope { org_id: "acme".into(), project: project.into() },
            kind: ClaimKind::Convention,
            statement: statement.into(),
            words: words_hash(ClaimKind::Convention, statement, &Qualifiers::default()),
            source: Some("CLAUDE.md:3".into()),
            first: NOW - 10 * rank::DAY,
            last: NOW,
            sightings: 1,
            contradicted: false,
            links: 0,
            promoted_from: 0,
        }
    }

    fn of(claims: &[NotedClaim], same: &[(EventId, EventId)]) -> Vec<Insight> {
        group(claims, same).iter().map(|group| insight(claims, group, NOW)).collect()
    }

    #[test]
    fn the_same_rule_in_five_projects_is_one_insight_and_outranks_one_seen_once() {
        let mut claims: Vec<_> = (0..5).map(|at| claim(at, &format!("p{at}"), "Use tabs")).collect();
        claims.push(claim(9, "p0", "Be kind"));
        let found = of(&claims, &[]);
        let (five, one) = (&found[0], &found[1]);
        assert_eq!((found.len(), five.projects.len(), five.sightings, one.sightings), (2, 5, 5, 1));
        assert!(five.rank > one.rank && five.confidence > one.confidence);
        assert!(five.is_candidate(3) && !one.is_candidate(3) && !five.is_candidate(6));
        claims[2].contradicted = true;
        assert!(!of(&claims, &[])[0].is_candidate(3));
        claims[2].contradicted = false;
        claims.push(claim(20, ORGANISATION, "Use tabs"));
        let promoted = &of(&claims, &[])[0];
        assert_eq!((promoted.principle, promoted.projects.len()), (Some(EventId([20; 32])), 5));
        assert!(!promoted.is_candidate(3));
    }

    #[test]
    fn fewer_projects_agree_if_the_settings_say_so_and_what_is_stale_does_not() {
        let mut claims = [claim(1, "a", "Use tabs"), claim(2, "b", "Use tabs")];
        assert!(of(&claims, &[])[0].is_candidate(2));
        for claim in &mut claims {
            (claim.first, claim.last) = (NOW - 120 * rank::DAY, NOW - 120 * rank::DAY);
        }
        assert!(!of(&claims, &[])[0].is_candidate(2));
    }

    #[test]
    fn a_device_that_does_not_know_the_projects_takes_the_count_of_the_promotion() {
        let principle = NotedClaim { promoted_from: 4, ..claim(1, ORGANISATION, "Use tabs") };
        let found = &of(&[principle], &[])[0];
        assert_eq!((found.projects.len(), found.agreeing), (0, 4));
        assert!((found.confidence - 0.8).abs() < 1e-9);
    }

    #[test]
    fn other_words_join_by_a_judgement_alone() {
        let claims = [claim(1, "a", "Use tabs"), claim(2, "b", "Indent with tabs"), claim(3, "c", "Use tabs")];
        assert_eq!(group(&claims, &[]).len(), 2);
        let groups = group(&claims, &[(claims[1].words, claims[0].words)]);
        assert_eq!(groups, [[0, 1, 2]]);
        assert_eq!(claims[insight(&claims, &groups[0], NOW).wording].statement, "Use tabs");
        assert_eq!(group(&claims, &[(EventId([7; 32]), claims[0].words)]).len(), 2, "words that nobody has");
    }

    #[test]
    fn what_was_pruned_comes_back_when_it_is_seen_again() {
        let mut old = claim(1, "a", "Use tabs");
        (old.first, old.last) = (0, 0);
        assert_eq!(of(std::slice::from_ref(&old), &[])[0].lifecycle, Lifecycle::Pruned);
        (old.last, old.sightings) = (NOW, 2);
        assert_eq!(of(&[old], &[])[0].lifecycle, Lifecycle::Active);
    }

    proptest! {
        #[test]
        fn groups_do_not_depend_on_the_order(
            words in prop::collection::vec(0_u8..6, 1..10), pairs in prop::collection::vec((0_u8..6, 0_u8..6), 0..6),
        ) {
            let claims: Vec<_> = words.iter().enumerate().map(|(at, word)| claim(at as u8, "p", &format!("rule {word}"))).collect();
            let hash = |word: u8| words_hash(ClaimKind::Convention, &format!("rule {word}"), &Qualifiers::default());
            let same: Vec<_> = pairs.iter().map(|(a, b)| (hash(*a), hash(*b))).collect();
            let turned: Vec<_> = same.iter().rev().map(|(a, b)| (*b, *a)).collect();
            prop_assert_eq!(group(&claims, &same), group(&claims, &turned));
            prop_assert_eq!(group(&claims, &same).concat().len(), claims.len());
        }
    }
}
