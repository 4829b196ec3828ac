//! Counts the promotions that are proposed in each organisation, for the inbox. The counts follow the log by the claims
//! that new events name, so that the cost of an event does not grow with the number of claims.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use crate::{
    api::ApiError,
    domain::{ClaimId, EventId, Scope, Status},
    engine::{
        Engine, LevelPolicy, PromoteMode,
        notes::{NotesBook, noted},
    },
    notes::{NotedClaim, insight},
    store::{ClaimRow, Reader},
};

/// Milliseconds in a day.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// The greatest number of new events that are followed one by one. After more, all claims are read again.
const MAX_NEW_EVENTS: usize = 500;

/// The organisations whose proposals were counted.
#[derive(Default)]
pub(super) struct ProposalCounts(Mutex<HashMap<String, OrganisationProposals>>);

/// The data of an organisation that determine which promotions are proposed.
#[derive(Default)]
struct OrganisationProposals {
    /// The position in the log up to which the data are current.
    at: (i64, i64),
    claims: HashMap<ClaimId, NotedClaim>,
    /// The claims with each statement, by the hash of its words.
    by_words: HashMap<EventId, BTreeSet<ClaimId>>,
    /// Statements that were judged to say the same, in both directions.
    same: HashMap<EventId, BTreeSet<EventId>>,
    /// Claims that were promoted, even if the promotion was withdrawn.
    promoted: HashSet<ClaimId>,
    /// One statement of each proposed group.
    proposed: BTreeSet<EventId>,
    /// The day on which all groups were evaluated, counted from 1970. Confidence decreases with each day without a
    /// sighting.
    day: u64,
    /// How often all claims were read.
    reads: usize,
}

impl OrganisationProposals {
    fn of(book: &NotesBook, promote_at: usize) -> Self {
        let mut new = Self::default();
        for claim in &book.claims {
            if book.was_promoted(&claim.id) {
                new.promoted.insert(claim.id);
            }
            new.put(NotedClaim { statement: String::new(), ..claim.clone() });
        }
        for (one, other) in book.same() {
            new.same.entry(one).or_default().insert(other);
            new.same.entry(other).or_default().insert(one);
        }
        new.evaluate_all(promote_at, book.now);
        new
    }

    /// Evaluates all groups again.
    fn evaluate_all(&mut self, promote_at: usize, now: u64) {
        self.evaluate_groups(self.by_words.keys().copied().collect(), promote_at, now);
        self.day = now / DAY;
    }

    fn put(&mut self, claim: NotedClaim) {
        self.by_words.entry(claim.words).or_default().insert(claim.id);
        self.claims.insert(claim.id, claim);
    }

    /// Removes a claim, and returns the hash of its words.
    fn remove(&mut self, id: &ClaimId) -> Option<EventId> {
        let claim = self.claims.remove(id)?;
        if let Some(alike) = self.by_words.get_mut(&claim.words) {
            alike.remove(id);
            if alike.is_empty() {
                self.by_words.remove(&claim.words);
            }
        }
        Some(claim.words)
    }

    fn is_same(&self, one: &EventId, other: &EventId) -> bool {
        self.same.get(one).is_some_and(|same| same.contains(other))
    }

    /// Replaces claims by their present state; `None` for a claim that is no longer in force.
    fn update(&mut self, claims: Vec<(ClaimId, Option<NotedClaim>)>, promote_at: usize, now: u64) {
        let mut changed = BTreeSet::new();
        for (id, claim) in claims {
            changed.extend(self.remove(&id));
            if let Some(claim) = claim {
                changed.insert(claim.words);
                self.put(claim);
            }
        }
        // A group may have split, so its other statements are evaluated too.
        let beside: Vec<EventId> = changed.iter().filter_map(|words| self.same.get(words)).flatten().copied().collect();
        changed.extend(beside);
        self.evaluate_groups(changed, promote_at, now);
    }

    /// Evaluates the groups of these statements again.
    fn evaluate_groups(&mut self, mut statements: BTreeSet<EventId>, promote_at: usize, now: u64) {
        while let Some(first) = statements.pop_first() {
            self.proposed.remove(&first);
            if !self.by_words.contains_key(&first) {
                continue;
            }
            let mut group = BTreeSet::from([first]);
            let mut next = vec![first];
            while let Some(words) = next.pop() {
                for other in self.same.get(&words).into_iter().flatten() {
                    if self.by_words.contains_key(other) && group.insert(*other) {
                        next.push(*other);
                    }
                }
            }
            let mut claims = Vec::new();
            for words in &group {
                self.proposed.remove(words);
                statements.remove(words);
                let ids = self.by_words.get(words).into_iter().flatten();
                claims.extend(ids.filter_map(|id| self.claims.get(id)).cloned());
            }
            let all: Vec<usize> = (0..claims.len()).collect();
            let decided = claims.iter().any(|claim| self.promoted.contains(&claim.id));
            if !decided && insight(&claims, &all, now).is_candidate(promote_at) {
                self.proposed.insert(first);
            }
        }
    }
}

impl Engine {
    /// Counts the proposed promotions in the organisation of a scope, or in all. 0 if the settings switch promotions
    /// off.
    pub(super) fn proposed_promotions(&self, reader: &Reader, scope: Option<&Scope>) -> Result<usize, ApiError> {
        let LevelPolicy { promote_at, promote } = self.config.levels;
        if promote == PromoteMode::Never {
            return Ok(0);
        }
        let mut projects: BTreeMap<String, usize> = BTreeMap::new();
        for row in reader.scopes((self.config.clock)())?.into_iter().filter(|row| row.scope.level().is_project()) {
            *projects.entry(row.scope.org_id).or_default() += 1;
        }
        projects.retain(|org, count| *count >= promote_at && scope.is_none_or(|scope| scope.org_id == *org));
        let mut counts = self.proposals.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = 0;
        for org in projects.into_keys() {
            let known = counts.entry(org.clone()).or_default();
            self.follow_log(reader, &org, known)?;
            sum += known.proposed.len();
        }
        Ok(sum)
    }

    /// Updates the data of an organisation to the present state of the log.
    fn follow_log(&self, reader: &Reader, org: &str, known: &mut OrganisationProposals) -> Result<(), ApiError> {
        let promote_at = self.config.levels.promote_at;
        let (at, now) = (reader.log_position()?, (self.config.clock)());
        if known.day != now / DAY {
            known.evaluate_all(promote_at, now);
        }
        if known.at == at {
            return Ok(());
        }
        let same_log = known.reads > 0 && known.at.0 == at.0;
        let news = if same_log { reader.claim_news(org, known.at.1, MAX_NEW_EVENTS)? } else { None };
        let news = news.filter(|news| {
            // A new judgement changes a group only if it says `same` or concerns a pair that was judged so; then all
            // claims are read again.
            news.judged.iter().all(|(one, other)| !known.is_same(one, other)) && !news.says_same
        });
        if let Some(news) = news {
            let mut claims = Vec::with_capacity(news.claims.len());
            for id in news.claims {
                claims.push((id, in_force(reader, org, &id)?));
            }
            known.update(claims, promote_at, now);
        } else {
            let reads = known.reads + 1;
            let book = NotesBook::read(reader, org, now, promote_at)?;
            *known = OrganisationProposals { reads, ..OrganisationProposals::of(&book, promote_at) };
        }
        known.at = at;
        Ok(())
    }
}

/// Returns a claim if it is guarded, belongs to the organisation, and is in force.
fn in_force(reader: &Reader, org: &str, id: &ClaimId) -> Result<Option<NotedClaim>, ApiError> {
    let counts = |row: &ClaimRow| {
        row.scope.org_id == org
            && row.status == Status::Active
            && row.kind.is_guarded()
            && !row.flags.undone
            && !row.flags.redacted
    };
    let Some(row) = reader.claim(id)?.filter(counts) else { return Ok(None) };
    let (seen, contradicted) = reader.noted_of(id)?;
    Ok(Some(noted(&row, seen, contradicted)))
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use ed25519_dalek::SigningKey;

    use super::DAY;
    use crate::{
        api::{
            ActRequest, Caller, InboxQuery, PromoteRequest, PromotionsQuery, RememberRequest, SupersedeRequest,
            UndoRequest, WriteOutcome,
        },
        domain::{ClaimId, ClaimKind},
        engine::{Engine, EngineConfig},
    };

    fn caller(project: &str) -> Caller {
        Caller { org_id: "acme".into(), project: project.into(), who: "ada".into(), ..Caller::default() }
    }

    fn rule(project: &str, statement: &str) -> RememberRequest {
        RememberRequest {
            caller: caller(project),
            statement: statement.into(),
            kind: Some(ClaimKind::Convention),
            reason: Some("stated".into()),
            ..RememberRequest::default()
        }
    }

    fn stored(outcome: WriteOutcome) -> ClaimId {
        match outcome {
            WriteOutcome::Stored(stored) => stored.claim_id,
            other => panic!("{other:?}"),
        }
    }

    fn on(claim: ClaimId, project: &str) -> ActRequest {
        ActRequest { caller: caller(project), target: claim.to_hex(), reason: "why".into(), ..ActRequest::default() }
    }

    /// Counts the promotions in the list, and checks that the inbox has the same number.
    fn counted(engine: &Engine) -> usize {
        let list = engine.promotions(&PromotionsQuery { org_id: "acme".into() }).unwrap().items.len();
        assert_eq!(engine.inbox(&InboxQuery::default()).unwrap().promotions, list);
        list
    }

    fn reads(engine: &Engine) -> usize {
        engine.proposals.0.lock().unwrap()["acme"].reads
    }

    #[test]
    fn what_nobody_says_any_more_is_proposed_no_longer() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(dir.path().join("store.db"), SigningKey::from_bytes(&[7; 32]));
        config.durable = false;
        let now = Arc::new(AtomicU64::new(1_772_366_400_000));
        let clock = Arc::clone(&now);
        config.clock = Arc::new(move || clock.load(Ordering::Relaxed));
        let engine = Engine::open(config).unwrap();
        for project in ["a", "b", "c"] {
            stored(engine.remember_by_rules(&rule(project, "Be kind in reviews.")).unwrap());
        }
        assert_eq!((counted(&engine), reads(&engine)), (1, 1));
        now.fetch_add(3_000 * DAY, Ordering::Relaxed);
        assert_eq!((counted(&engine), reads(&engine)), (0, 1));
    }

    #[test]
    fn the_count_follows_each_act_and_reads_all_claims_for_rare_ones_alone() {
        let dir = tempfile::tempdir().unwrap();
        let mut config = EngineConfig::new(dir.path().join("store.db"), SigningKey::from_bytes(&[7; 32]));
        config.durable = false;
        let engine = Engine::open(config).unwrap();
        let projects = ["a", "b", "c", "d"];
        for project in projects {
            stored(engine.remember_by_rules(&rule(project, "Be kind in reviews.")).unwrap());
        }
        assert_eq!((counted(&engine), reads(&engine)), (1, 1));
        let mut signed = Vec::new();
        for (project, expected) in projects.into_iter().zip([1, 1, 2, 2]) {
            signed.push(stored(engine.remember_by_rules(&rule(project, "Commits must be signed.")).unwrap()));
            stored(engine.remember_by_rules(&rule(project, &format!("Only {project} says so."))).unwrap());
            assert_eq!(counted(&engine), expected, "{project}");
        }
        engine.retract(on(signed[0], "a")).unwrap();
        assert_eq!(counted(&engine), 2, "three are left");
        let claim = rule("b", "Tags must be signed.");
        let request = SupersedeRequest { targets: vec![signed[1].to_hex()], claim, ..SupersedeRequest::default() };
        stored(engine.supersede(request).unwrap());
        assert_eq!(counted(&engine), 1, "two are left");
        let last = stored(engine.remember_by_rules(&rule("a", "Commits must be signed.")).unwrap());
        assert_eq!(counted(&engine), 2);
        // A claim of the organisation that contradicts them is on a card with each of them.
        let against = stored(engine.remember_by_rules(&rule("*", "Commits must not be signed.")).unwrap());
        assert_eq!(counted(&engine), 1, "contested");
        engine.retract(on(against, "*")).unwrap();
        assert_eq!((counted(&engine), reads(&engine)), (2, 1));
        assert!(engine.observe(&caller("a"), &[last]).unwrap() == 1 && counted(&engine) == 2);

        // Undoing an act or promoting says nothing about the consequences: all claims are read again.
        engine.undo(UndoRequest { caller: caller("a"), ..UndoRequest::default() }).unwrap();
        assert_eq!((counted(&engine), reads(&engine)), (2, 2));
        let request = PromoteRequest { caller: caller("a"), claims: vec![last.to_hex()], ..PromoteRequest::default() };
        let promoted = stored(engine.promote(request).unwrap());
        assert_eq!((counted(&engine), reads(&engine)), (1, 3));
        stored(engine.remember_by_rules(&rule("b", "Commits must be signed.")).unwrap());
        assert_eq!(counted(&engine), 1);
        engine.demote(on(promoted, "*")).unwrap();
        assert_eq!((counted(&engine), reads(&engine)), (1, 3), "what was demoted was decided");
    }
}
