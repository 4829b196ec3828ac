//! The insights of an organisation, and the acts that record sightings, equal claims and contradictions.

mod calibrate_domains;
mod cluster_views;
mod figures;
mod near_pairs;
mod observe;
mod pair_outcome;
mod proposals;
mod reconcile;
mod refused_rule;
mod views;

use std::collections::{HashMap, HashSet};

pub use proposals::{NoteProposal, ProposedNotes};
pub use reconcile::{ReconcileBudget, Reconciled};
pub use refused_rule::RefusedRule;

use super::Engine;
use crate::{
    api::{
        ActRequest, ApiError, Caller, Conflict, InsightFigures, InsightFiguresQuery, Insights, InsightsQuery,
        NoteClusters, NoteClustersQuery, NoteLinks, NoteLinksQuery, NotesCalibrated, RememberRequest, WriteOutcome,
    },
    domain::{CardId, ClaimId, EventId, PairVerdict, judgement::words_hash},
    infer::ModelRole,
    notes::{Insight, NotedClaim, group, insight},
    store::{ClaimLink, ClaimRow, JudgedWords, Reader, RecordedPromotion, Sightings},
};

/// The claims of an organisation, with all data on which their insights depend.
pub(in crate::engine) struct NotesBook {
    pub(in crate::engine) claims: Vec<NotedClaim>,
    /// The same claims, in the same order, as they are stored.
    pub(in crate::engine) rows: Vec<ClaimRow>,
    pub(in crate::engine) judged: Vec<JudgedWords>,
    pub(in crate::engine) cards: Vec<(ClaimId, CardId)>,
    pub(in crate::engine) links: Vec<ClaimLink>,
    /// The promotions of this organisation.
    promotions: Vec<RecordedPromotion>,
    /// Claims that were promoted, even if the promotion was withdrawn, each with its weight in the latest promotion.
    promoted: HashMap<ClaimId, f64>,
    pub(in crate::engine) now: u64,
    /// The number of projects that must agree before a claim may be promoted.
    pub(in crate::engine) promote_at: usize,
}

impl NotesBook {
    pub(in crate::engine) fn read(reader: &Reader, org: &str, now: u64, promote_at: usize) -> Result<Self, ApiError> {
        reader.snapshot(|reader| -> Result<Self, ApiError> {
            let rows = reader.organisation_claims(org)?;
            let sightings = reader.sightings(org)?;
            let cards = reader.open_cards_in(org)?;
            let links = reader.claim_links(org)?;
            let judged = reader.organisation_judgements(org)?;
            let promotions = reader.recorded_promotions(org)?;
            let mut promoted_from: HashMap<ClaimId, usize> = HashMap::new();
            for promotion in &promotions {
                let most = promoted_from.entry(promotion.claim).or_default();
                *most = promotion.projects.max(*most);
            }
            let promoted = promotions.iter().flat_map(|promotion| promotion.of.iter().copied()).collect();
            let carded: HashSet<ClaimId> = cards.iter().map(|(claim, _)| *claim).collect();
            let mut linked: HashMap<ClaimId, usize> = HashMap::new();
            for link in &links {
                *linked.entry(link.from).or_default() += 1;
                *linked.entry(link.to).or_default() += 1;
            }
            let claims = rows.iter().map(|row| NotedClaim {
                statement: row.statement.clone(),
                links: linked.get(&row.id).copied().unwrap_or_default(),
                promoted_from: promoted_from.get(&row.id).copied().unwrap_or_default(),
                ..noted(row, sightings.get(&row.id).copied().unwrap_or_default(), carded.contains(&row.id))
            });
            Ok(Self { claims: claims.collect(), rows, judged, cards, links, promotions, promoted, now, promote_at })
        })
    }

    /// Returns the pairs of statements that were judged the same, and those of which one was promoted to the other.
    pub(in crate::engine) fn same(&self) -> Vec<(EventId, EventId)> {
        let words: HashMap<ClaimId, EventId> = self.claims.iter().map(|claim| (claim.id, claim.words)).collect();
        let words = |id: &ClaimId| words.get(id).copied();
        let judged = self.judged.iter().filter(|judged| judged.verdict == PairVerdict::Same);
        let promoted = self.promotions.iter().flat_map(|promotion| {
            let claim = words(&promotion.claim);
            promotion.of.iter().filter_map(move |(source, _)| Some((words(source)?, claim?)))
        });
        judged.map(|judged| (judged.new, judged.existing)).chain(promoted).collect()
    }

    /// Whether a claim was promoted, even if the promotion was withdrawn.
    pub(in crate::engine) fn was_promoted(&self, claim: &ClaimId) -> bool {
        self.promoted.contains_key(claim)
    }

    /// Whether an insight is proposed for promotion: enough projects agree, and nobody has decided about it. A demotion
    /// counts as a decision.
    pub(in crate::engine) fn is_proposed(&self, insight: &Insight) -> bool {
        let mut members = insight.members.iter().filter_map(|at| self.claims.get(*at));
        insight.is_candidate(self.promote_at) && !members.any(|claim| self.was_promoted(&claim.id))
    }

    /// Returns the weight of a claim in its promotion; `None` if it was not promoted.
    pub(in crate::engine) fn promoted_weight(&self, source: &ClaimId) -> Option<f64> {
        self.promoted.get(source).copied()
    }

    /// Returns the insights, in the order in which they were first seen.
    pub(in crate::engine) fn insights(&self) -> Vec<Insight> {
        group(&self.claims, &self.same()).iter().map(|group| insight(&self.claims, group, self.now)).collect()
    }
}

/// Returns the data of an active claim that decide whether it may be promoted, without statement, links and promotions.
pub(in crate::engine) fn noted(row: &ClaimRow, seen: Sightings, contradicted: bool) -> NotedClaim {
    NotedClaim {
        id: row.id,
        scope: row.scope.clone(),
        kind: row.kind,
        statement: String::new(),
        words: words_hash(row.kind, &row.statement, &row.qualifiers),
        source: row.source.clone(),
        first: row.clock.wall,
        last: seen.last.max(row.clock.wall),
        sightings: 1 + seen.count,
        contradicted,
        links: 0,
        promoted_from: 0,
    }
}

impl Engine {
    /// [`Engine::remember`] with the rules of the guard only. A scan stores hundreds of claims, and
    /// [`Engine::reconcile_notes`] compares them with the models afterwards.
    pub fn remember_by_rules(&self, request: &RememberRequest) -> Result<WriteOutcome, ApiError> {
        Ok(super::acts::after_write(self, &request.caller, super::acts::remember_by_rules(self, request)?))
    }

    /// [`Engine::reinstate`] with the rules of the guard only, for the claims of lines that are back in their file.
    pub fn reinstate_by_rules(&self, request: &ActRequest) -> Result<WriteOutcome, ApiError> {
        super::acts::reinstate_by_rules(self, request)
    }

    /// Returns the claims because of which [`Engine::reinstate_by_rules`] would be refused.
    pub fn against_reinstating(&self, caller: &Caller, claim: &ClaimId) -> Result<Vec<Conflict>, ApiError> {
        super::acts::against_reinstating(self, caller, claim)
    }

    /// Lists the insights of an organisation.
    pub fn insights(&self, query: &InsightsQuery) -> Result<Insights, ApiError> {
        views::insights(self, query)
    }

    /// Returns groups of insights of an organisation that are about one subject.
    pub fn note_clusters(&self, query: &NoteClustersQuery) -> Result<NoteClusters, ApiError> {
        cluster_views::clusters(self, query)
    }

    /// Lists the links between the claims of an organisation.
    pub fn note_links(&self, query: &NoteLinksQuery) -> Result<NoteLinks, ApiError> {
        views::links(self, query)
    }

    /// Returns the statistics of an organisation on one page.
    pub fn insight_figures(&self, query: &InsightFiguresQuery) -> Result<InsightFigures, ApiError> {
        figures::figures(self, query)
    }

    /// Fits the least similarity of equal claims to judged pairs, for each domain. Stores nothing.
    pub fn calibrate_notes(&self, org: &str) -> Result<NotesCalibrated, ApiError> {
        calibrate_domains::calibrate(self, org)
    }

    /// Returns a text that identifies the models with which claims of projects are compared.
    pub fn comparing_models(&self) -> String {
        let info = self.models.info();
        let of = |role| info.role(role).map(|role| role.sha256.clone()).unwrap_or_default();
        format!("{} {}", of(ModelRole::Embedder), of(ModelRole::Nli))
    }

    /// Returns the position of the log, which differs between two states of it.
    pub fn log_position(&self) -> Result<(i64, i64), ApiError> {
        Ok(self.readers.lend().log_position()?)
    }

    pub(in crate::engine) fn notes_book(&self, org: &str) -> Result<NotesBook, ApiError> {
        NotesBook::read(&self.readers.lend(), org, (self.config.clock)(), self.config.levels.promote_at)
    }
}
