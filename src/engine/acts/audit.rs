//! `audit`: compares the active claims with each other by the current rules, and opens missing cards.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use super::found_cards::{self, FoundPair};
use crate::{
    api::{ApiError, AuditOutcome, AuditRequest, DoubtBand},
    domain::{CardId, ClaimId, ClaimKind, Scope, Status, Tier, guard_report::Relation},
    engine::{
        Engine, act_context::WriteScope, guard_calls, guard_result::new_claim, refine, request_hash::request_hash,
        validate,
    },
    guard::{Guard, JudgeContext, MAX_BY_WORDS, NormedClaim, PairScores, ParsedClaim, Ruling, normalise::llm},
    infer::Call,
    store::{ClaimFilter, ClaimRow, NearbyLists, NearbyQuery, Reader},
};

/// Claims that are read at once.
const PAGE: usize = 200;

/// Pairs that the cross-encoder is asked about at once: well under a second of work.
const BATCH: usize = 16;

/// How long an audit waits for one batch: nobody else waits for it.
const PATIENCE: Duration = Duration::from_mins(1);

/// The most claims that are kept: some tens of megabytes while an audit runs.
const MAX_PARSED: usize = 6_000;

/// The most cards that one audit opens; the next one goes on from there.
const MAX_CARDS: usize = 500;

/// `POST /audit`.
pub(in crate::engine) fn audit(engine: &Engine, request: &AuditRequest) -> Result<AuditOutcome, ApiError> {
    validate::actor(&request.caller)?;
    let now = (engine.config.clock)();
    let today = guard_calls::day(now);
    engine.finish_stories()?;
    // The long part reads beside the writer; what it found is looked at again under the lock.
    let (scope, mut work) = {
        let reader = engine.readers.lend();
        let write_scope = WriteScope::of(&reader, &request.caller)?;
        let scope = write_scope.scope.clone();
        let shift = engine.threshold_shift(&reader, &write_scope.scope)?;
        let questions = reader.story_marks(&scope)?.iter().filter(|mark| mark.open).count();
        let outcome = AuditOutcome { questions, ..AuditOutcome::default() };
        let second = engine.second_reader();
        let work = Work {
            reader: &reader,
            engine,
            scope: write_scope.scope,
            today: &today,
            shift,
            second,
            outcome,
            doubts: Vec::new(),
            lists: NearbyLists::default(),
            claims: HashMap::new(),
        };
        let work = work.run()?;
        (scope, work)
    };
    if !request.dry_run {
        let doubts =
            work.doubts.iter().flat_map(|(row, others)| others.iter().map(move |(other, band)| (row, other, *band)));
        engine.queue_doubts(&scope, &doubts.collect::<Vec<_>>())?;
    }
    if request.dry_run || work.pairs.is_empty() {
        work.outcome.opened = work.pairs.iter().map(|pair| pair.summary(now, &request.caller.who)).collect();
        return Ok(work.outcome);
    }
    engine.act(&request.caller, request_hash("audit", request), |context| {
        if !context.done_before()?.is_empty() {
            return Ok(work.outcome);
        }
        let pairs = found_cards::still_there(context, work.pairs)?;
        if pairs.is_empty() {
            return Ok(work.outcome);
        }
        let drafts = pairs.iter().map(FoundPair::draft).collect();
        let summary = match pairs.len() {
            1 => "The audit found a contradiction".to_owned(),
            count => format!("The audit found {count} contradictions"),
        };
        let committed = context.commit(&WriteScope::at(&pairs[0].ours.scope), drafts, "audit", summary)?;
        for id in &committed.cards {
            work.outcome.opened.push(context.card_view(id)?.summary);
        }
        Ok(work.outcome)
    })
}

struct Work<'a> {
    reader: &'a Reader,
    engine: &'a Engine,
    scope: Scope,
    today: &'a str,
    shift: f32,
    /// The normaliser that a language model makes with the rules.
    second: Option<String>,
    outcome: AuditOutcome,
    /// Claims with those that they may contradict.
    doubts: Vec<ClaimInDoubts>,
    /// The lists of words by which claims near each other are found.
    lists: NearbyLists,
    /// Claims that were read, by their numbers: each is near many others. `None` for one that cannot be parsed.
    claims: HashMap<i64, Option<ReadClaim>>,
}

/// A claim, and what it says.
type ReadClaim = (Arc<ClaimRow>, Arc<ParsedClaim>);

/// A claim, and those that it may contradict.
type ClaimInDoubts = (ClaimRow, Vec<(ClaimRow, DoubtBand)>);

/// The statements of a pair, the stored one first.
fn texts(looks: &[Look], (at, other): (usize, usize)) -> (&str, &str) {
    (looks[at].against[other].claim().statement.as_str(), looks[at].ours.claim().statement.as_str())
}

/// One claim beside the claims that it is to be compared with, and what models said of each.
struct Look {
    row: Arc<ClaimRow>,
    ours: Arc<ParsedClaim>,
    rows: Vec<Arc<ClaimRow>>,
    against: Vec<Arc<ParsedClaim>>,
    scores: Vec<PairScores>,
    rulings: Vec<Ruling>,
}

impl Look {
    fn context<'a>(&'a self, today: &'a str, threshold_shift: f32) -> JudgeContext<'a> {
        let (scores, rulings) = (&self.scores, &self.rulings);
        JudgeContext { today, scores, rulings, threshold_shift, ..JudgeContext::default() }
    }
}

struct Found {
    outcome: AuditOutcome,
    pairs: Vec<FoundPair>,
    doubts: Vec<ClaimInDoubts>,
}

impl Work<'_> {
    fn run(mut self) -> Result<Found, ApiError> {
        let filter = ClaimFilter {
            scope: Some(self.scope.clone()),
            status: Some(Status::Active),
            kinds: ClaimKind::ALL.to_vec(),
            ..ClaimFilter::default()
        };
        let mut pairs: BTreeMap<CardId, FoundPair> = BTreeMap::new();
        let mut compared: HashSet<(i64, i64)> = HashSet::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = self.reader.claims(&filter, PAGE, cursor.as_deref())?;
            let mut looks = Vec::with_capacity(page.items.len());
            for row in page.items {
                self.outcome.claims += 1;
                looks.extend(self.look_at(row, &mut compared)?);
            }
            self.infer(&mut looks);
            for look in looks {
                self.judge(look, &mut pairs)?;
            }
            cursor = page.next;
            if cursor.is_none() || pairs.len() >= MAX_CARDS {
                break;
            }
        }
        let pairs = pairs.into_values().take(MAX_CARDS).collect();
        Ok(Found { outcome: self.outcome, pairs, doubts: self.doubts })
    }

    /// What one claim is to be compared with: each pair of claims once. `None` if it cannot be parsed.
    fn look_at(&mut self, row: ClaimRow, compared: &mut HashSet<(i64, i64)>) -> Result<Option<Look>, ApiError> {
        let (id, place) = (row.id, self.reader.claim_number(&row.id)?);
        let Some(place) = place else { return Ok(None) };
        let Some((row, ours)) = self.keep(place, row)? else { return Ok(None) };
        let places = self.reader.nearby_places_by(
            &mut self.lists,
            &NearbyQuery {
                scopes: self.scope.in_force(),
                terms: Guard::index_terms(&ours.claim().norms, &ours.claim().statement),
                exclude: vec![id],
                facts: false,
                limit: MAX_BY_WORDS,
            },
        )?;
        let (mut rows, mut against) = (Vec::new(), Vec::new());
        for other in places.into_iter().filter(|other| compared.insert((place.min(*other), place.max(*other)))) {
            if let Some((row, parsed)) = self.at(other)? {
                rows.push(row);
                against.push(parsed);
            }
        }
        let Ok(rulings) = guard_calls::rulings(&self.engine.guard, &ours, &against) else { return Ok(None) };
        let scores = vec![PairScores::default(); against.len()];
        Ok(Some(Look { row, ours, rows, against, scores, rulings }))
    }

    /// Asks the cross-encoder about the pairs of a page, some at a time: a write in the foreground gets in between.
    fn infer(&mut self, looks: &mut [Look]) {
        if self.outcome.skipped.is_some() {
            return;
        }
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        let mut for_gate: Vec<(usize, usize)> = Vec::new();
        for (at, look) in looks.iter().enumerate() {
            let under = look.context(self.today, 0.0);
            let selected = guard_calls::select_for_inference(&self.engine.guard, &look.ours, &look.against, under);
            if self.engine.nli_is_fitted() {
                let more =
                    guard_calls::select_for_gate(&self.engine.guard, &look.ours, &look.against, under, &selected);
                for_gate.extend(more.into_iter().map(|other| (at, other)));
            }
            wanted.extend(selected.into_iter().map(|other| (at, other)));
        }
        for batch in wanted.chunks(BATCH) {
            let pairs: Vec<(&str, &str)> = batch.iter().map(|place| texts(looks, *place)).collect();
            match self.engine.infer(&pairs, &[], Call::background(PATIENCE)) {
                Ok(inferences) => {
                    self.outcome.inferred += inferences.len();
                    for ((at, other), inference) in batch.iter().zip(inferences) {
                        looks[*at].scores[*other].inference = Some(inference);
                    }
                }
                // The rules go on alone.
                Err(error) => {
                    self.outcome.skipped = Some(format!("the NLI model was skipped: {error}"));
                    return;
                }
            }
        }
        for batch in for_gate.chunks(BATCH) {
            let pairs: Vec<(&str, &str)> = batch.iter().map(|place| texts(looks, *place)).collect();
            // Pairs that cannot be read are in no doubt: the audit's own findings do not depend on them.
            let Ok(inferences) = self.engine.infer(&[], &pairs, Call::background(PATIENCE)) else { return };
            for ((at, other), inference) in batch.iter().zip(inferences) {
                looks[*at].scores[*other].gate_inference = Some(inference);
            }
        }
    }

    fn judge(&mut self, look: Look, pairs: &mut BTreeMap<CardId, FoundPair>) -> Result<(), ApiError> {
        self.outcome.compared += look.against.len();
        let under = look.context(self.today, self.shift);
        let Ok(report) = guard_calls::judge(&self.engine.guard, &look.ours, &look.against, under) else {
            return Ok(());
        };
        if look.row.kind.is_guarded() {
            let infers = look.scores.iter().any(|scores| scores.inference.is_some() || scores.gate_inference.is_some());
            let doubts = guard_calls::doubts(
                &self.engine.guard,
                &look.ours,
                &look.against,
                JudgeContext { infers, ..look.context(self.today, self.shift) },
            );
            let found = |id: ClaimId| report.findings.iter().any(|one| one.claim == id && one.tier == Tier::Block);
            let doubts = doubts.iter().map(|pair| (&look.rows[pair.at], pair.band));
            let doubts: Vec<_> = doubts
                .filter(|(other, _)| !found(other.id))
                .map(|(other, band)| (ClaimRow::clone(other), band))
                .collect();
            if !doubts.is_empty() {
                self.doubts.push((ClaimRow::clone(&look.row), doubts));
            }
        }
        for mut finding in report.findings {
            let Some(theirs) = look.rows.iter().find(|other| other.id == finding.claim) else { continue };
            let fact = !(look.row.kind.is_guarded() && theirs.kind.is_guarded());
            // A fact refuses no write, but an audit tells of it what it tells of any claim.
            if fact && finding.evidence.relation == Relation::Contradiction {
                finding.tier = Tier::Block;
            }
            if finding.tier != Tier::Block {
                continue;
            }
            if found_cards::known(self.reader, look.row.id, theirs.id)? {
                self.outcome.known += 1;
            } else {
                let id = CardId::of_members(&[look.row.id, theirs.id]);
                pairs.insert(
                    id,
                    FoundPair { ours: ClaimRow::clone(&look.row), theirs: ClaimRow::clone(theirs), finding },
                );
            }
        }
        Ok(())
    }

    /// The claim with a number; `None` if it cannot be parsed.
    fn at(&mut self, place: i64) -> Result<Option<ReadClaim>, ApiError> {
        if let Some(known) = self.claims.get(&place) {
            return Ok(known.clone());
        }
        let Some(row) = self.reader.bare_claims(&[place])?.pop() else { return Ok(None) };
        self.keep(place, row)
    }

    /// Parses a claim, unless it was parsed before, and keeps it.
    fn keep(&mut self, place: i64, row: ClaimRow) -> Result<Option<ReadClaim>, ApiError> {
        if let Some(known) = self.claims.get(&place) {
            return Ok(known.clone());
        }
        let parsed = guard_calls::parse(self.fresh(&row)?).ok();
        let claim = parsed.map(|parsed| (Arc::new(row), parsed));
        if self.claims.len() >= MAX_PARSED {
            self.claims.clear();
        }
        self.claims.insert(place, claim.clone());
        Ok(claim)
    }

    /// A claim as the present normaliser reads it, and the language model if it was asked.
    fn fresh(&self, row: &ClaimRow) -> Result<NormedClaim, ApiError> {
        let stored = || refine::as_read(self.reader, row, self.second.as_deref());
        // To normalise is to parse: a claim that has the norms of the present rules is not parsed for them once more.
        if row.normaliser.as_deref().is_some_and(llm::is_current) {
            return stored();
        }
        let normalised = guard_calls::normalise(&self.engine.guard, row.kind, &row.statement, &row.qualifiers);
        if normalised.warning.is_some() {
            return stored();
        }
        Ok(NormedClaim { norms: normalised.norms, normaliser: normalised.version, ..new_claim(row) })
    }
}
