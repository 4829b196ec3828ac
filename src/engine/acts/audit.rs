//! `audit`: compares the active claims with each other by the current rules, and opens missing cards.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use super::found_cards::{self, FoundPair};
use crate::{
    api::{ApiError, AuditOutcome, AuditRequest, DoubtBand},
    domain::{
        CardId, ClaimId, ClaimKind, Scope, Status, Tier,
        derive::{is_local_kind, local},
        guard_report::Relation,
    },
    engine::{
        Engine,
        act_context::{ActContext, WriteScope},
        guard_calls,
        guard_result::normed_claim,
        refine,
        request_hash::request_hash,
        validate,
    },
    guard::{
        CrossEncoder, Guard, JudgeContext, MAX_BY_WORDS, NormedClaim, PairScores, ParsedClaim, Ruling, normalise::llm,
    },
    infer::Call,
    store::{ClaimFilter, ClaimRow, NearbyLists, NearbyQuery, Reader},
};

/// Claims read in one page.
const CLAIM_PAGE_SIZE: usize = 200;

/// Pairs in one request to the cross-encoder: well under a second of work.
const NLI_BATCH_SIZE: usize = 16;

/// The deadline for one batch. Long, because nobody else waits for it.
const BATCH_TIMEOUT: Duration = Duration::from_mins(1);

/// The greatest number of parsed claims in the cache: some tens of megabytes while an audit runs.
const MAX_PARSED: usize = 6_000;

/// The greatest number of cards that one audit opens. The next audit opens the following ones.
const MAX_CARDS: usize = 500;

/// `POST /audit`.
pub(in crate::engine) fn audit(engine: &Engine, request: &AuditRequest) -> Result<AuditOutcome, ApiError> {
    validate::actor(&request.caller)?;
    let now = (engine.config.clock)();
    let today = guard_calls::day(now);
    if !request.dry_run
        && let Some(answer) = replayed(engine, request)?
    {
        return Ok(answer);
    }
    engine.finish_stories()?;
    // The long part runs beside the writer; its findings are checked again under the lock.
    let (scope, cross_encoder, questions) = {
        let reader = engine.readers.lend();
        let scope = WriteScope::of(&reader, &request.caller)?.scope;
        let cross_encoder = engine.cross_encoder_in(&reader, &scope)?;
        let questions = reader.story_marks(&scope)?.iter().filter(|mark| mark.open).count();
        (scope, cross_encoder, questions)
    };
    let work = AuditRun {
        engine,
        scope: scope.clone(),
        today: &today,
        cross_encoder,
        llm_normaliser: engine.second_reader(),
        outcome: AuditOutcome { questions, ..AuditOutcome::default() },
        doubts: Vec::new(),
        lists: NearbyLists::default(),
        claims: HashMap::new(),
    };
    let mut work = work.run()?;
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
        if let Some(answer) = opened_before(context)? {
            return Ok(answer);
        }
        let pairs = found_cards::still_missing(context, work.pairs)?;
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

/// Returns the answer to a retry, without another audit.
fn replayed(engine: &Engine, request: &AuditRequest) -> Result<Option<AuditOutcome>, ApiError> {
    let Some(op) = request.caller.op_id else { return Ok(None) };
    if engine.readers.lend().op(&op)?.is_empty() {
        return Ok(None);
    }
    engine.act(&request.caller, request_hash("audit", request), |context| opened_before(context))
}

/// Returns the cards that an earlier request with this `op_id` opened; `None` if there was none.
fn opened_before(context: &ActContext<'_>) -> Result<Option<AuditOutcome>, ApiError> {
    let events = context.done_before()?;
    if events.is_empty() {
        return Ok(None);
    }
    let skipped = Some("an earlier request with this `op_id` did the audit; nothing was compared again".to_owned());
    let mut outcome = AuditOutcome { skipped, ..AuditOutcome::default() };
    for event in events.iter().filter(|event| is_local_kind(&event.kind, local::FOUND)) {
        outcome.opened.push(context.card_view(&CardId::of_members(&event.targets))?.summary);
    }
    Ok(Some(outcome))
}

/// An audit in progress. It borrows a reader for one page at a time, and none while models infer, so that other reads
/// need not wait for minutes.
struct AuditRun<'a> {
    engine: &'a Engine,
    scope: Scope,
    today: &'a str,
    cross_encoder: CrossEncoder,
    /// The name of the normaliser that combines the rules with a language model.
    llm_normaliser: Option<String>,
    outcome: AuditOutcome,
    /// Claims, each with the claims that it may contradict.
    doubts: Vec<ClaimInDoubts>,
    /// Cached lists of the index of words, by which nearby claims are found.
    lists: NearbyLists,
    /// Cache of parsed claims by their numbers, because each is near many others. `None` for a claim that cannot be
    /// parsed.
    claims: HashMap<i64, Option<ReadClaim>>,
}

/// A claim, and its parsed form.
type ReadClaim = (Arc<ClaimRow>, Arc<ParsedClaim>);

/// A claim, and the claims that it may contradict.
type ClaimInDoubts = (ClaimRow, Vec<(ClaimRow, DoubtBand)>);

/// Returns the statements of a pair, the stored one first.
fn texts(comparisons: &[ClaimComparison], (at, other): (usize, usize)) -> (&str, &str) {
    (comparisons[at].against[other].claim().statement.as_str(), comparisons[at].ours.claim().statement.as_str())
}

/// One claim, the claims to compare it with, and the models' scores of each pair.
struct ClaimComparison {
    row: Arc<ClaimRow>,
    ours: Arc<ParsedClaim>,
    rows: Vec<Arc<ClaimRow>>,
    against: Vec<Arc<ParsedClaim>>,
    scores: Vec<PairScores>,
    rulings: Vec<Ruling>,
}

impl ClaimComparison {
    fn context<'a>(&'a self, today: &'a str, cross_encoder: CrossEncoder) -> JudgeContext<'a> {
        let (scores, rulings) = (&self.scores, &self.rulings);
        JudgeContext { today, scores, rulings, cross_encoder, ..JudgeContext::default() }
    }
}

struct AuditResult {
    outcome: AuditOutcome,
    pairs: Vec<FoundPair>,
    doubts: Vec<ClaimInDoubts>,
}

impl AuditRun<'_> {
    fn run(mut self) -> Result<AuditResult, ApiError> {
        let filter = ClaimFilter {
            scope: Some(self.scope.clone()),
            status: Some(Status::Active),
            kinds: ClaimKind::ALL.to_vec(),
            ..ClaimFilter::default()
        };
        let mut pairs: BTreeMap<CardId, FoundPair> = BTreeMap::new();
        let mut compared: HashSet<(i64, i64)> = HashSet::new();
        let mut cursor: Option<String> = None;
        let engine = self.engine;
        loop {
            let mut comparisons = Vec::new();
            {
                let reader = engine.readers.lend();
                let page = reader.claims(&filter, CLAIM_PAGE_SIZE, cursor.as_deref())?;
                for row in page.items {
                    self.outcome.claims += 1;
                    comparisons.extend(self.comparison_of(&reader, row, &mut compared)?);
                }
                cursor = page.next;
            }
            self.infer(&mut comparisons);
            let reader = engine.readers.lend();
            for comparison in comparisons {
                self.judge(&reader, comparison, &mut pairs)?;
            }
            if cursor.is_none() || pairs.len() >= MAX_CARDS {
                break;
            }
        }
        let pairs = pairs.into_values().take(MAX_CARDS).collect();
        Ok(AuditResult { outcome: self.outcome, pairs, doubts: self.doubts })
    }

    /// Returns the comparison of one claim with its nearby claims, leaving out pairs that were compared before. `None`
    /// if the claim cannot be parsed.
    fn comparison_of(
        &mut self,
        reader: &Reader,
        row: ClaimRow,
        compared: &mut HashSet<(i64, i64)>,
    ) -> Result<Option<ClaimComparison>, ApiError> {
        let (id, number) = (row.id, reader.claim_number(&row.id)?);
        let Some(number) = number else { return Ok(None) };
        let Some((row, ours)) = self.parse_cached(reader, number, row)? else { return Ok(None) };
        let numbers = reader.nearby_places_by(
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
        for other in numbers.into_iter().filter(|other| compared.insert((number.min(*other), number.max(*other)))) {
            if let Some((row, parsed)) = self.cached_claim(reader, other)? {
                rows.push(row);
                against.push(parsed);
            }
        }
        let Ok(rulings) = guard_calls::rulings(&self.engine.guard, &ours, &against) else { return Ok(None) };
        let scores = vec![PairScores::default(); against.len()];
        Ok(Some(ClaimComparison { row, ours, rows, against, scores, rulings }))
    }

    /// Asks the cross-encoder about the pairs of a page, in batches, so that a write in the foreground can run between
    /// them.
    fn infer(&mut self, comparisons: &mut [ClaimComparison]) {
        if self.outcome.skipped.is_some() {
            return;
        }
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        let mut for_gate: Vec<(usize, usize)> = Vec::new();
        for (at, comparison) in comparisons.iter().enumerate() {
            let under = comparison.context(self.today, CrossEncoder::Absent);
            let selected =
                guard_calls::select_for_inference(&self.engine.guard, &comparison.ours, &comparison.against, under);
            if self.engine.nli_is_fitted() {
                let more = guard_calls::select_for_gate(
                    &self.engine.guard,
                    &comparison.ours,
                    &comparison.against,
                    under,
                    &selected,
                );
                for_gate.extend(more.into_iter().map(|other| (at, other)));
            }
            wanted.extend(selected.into_iter().map(|other| (at, other)));
        }
        for batch in wanted.chunks(NLI_BATCH_SIZE) {
            let pairs: Vec<(&str, &str)> = batch.iter().map(|position| texts(comparisons, *position)).collect();
            match self.engine.infer(&pairs, &[], Call::background(BATCH_TIMEOUT)) {
                Ok(inferences) => {
                    self.outcome.inferred += inferences.len();
                    for ((at, other), inference) in batch.iter().zip(inferences) {
                        comparisons[*at].scores[*other].inference = Some(inference);
                    }
                }
                // The rules judge the remaining pairs alone.
                Err(error) => {
                    self.outcome.skipped = Some(format!("the cross-encoder was skipped: {error}"));
                    return;
                }
            }
        }
        for batch in for_gate.chunks(NLI_BATCH_SIZE) {
            let pairs: Vec<(&str, &str)> = batch.iter().map(|position| texts(comparisons, *position)).collect();
            // Without scores these pairs are not in doubt. The audit's own findings do not depend on them.
            let Ok(inferences) = self.engine.infer(&[], &pairs, Call::background(BATCH_TIMEOUT)) else { return };
            for ((at, other), inference) in batch.iter().zip(inferences) {
                comparisons[*at].scores[*other].gate_inference = Some(inference);
            }
        }
    }

    fn judge(
        &mut self,
        reader: &Reader,
        comparison: ClaimComparison,
        pairs: &mut BTreeMap<CardId, FoundPair>,
    ) -> Result<(), ApiError> {
        self.outcome.compared += comparison.against.len();
        let under = comparison.context(self.today, self.cross_encoder);
        let Ok(report) = guard_calls::judge(&self.engine.guard, &comparison.ours, &comparison.against, under) else {
            return Ok(());
        };
        if comparison.row.kind.is_guarded() {
            let infers =
                comparison.scores.iter().any(|scores| scores.inference.is_some() || scores.gate_inference.is_some());
            let doubts = guard_calls::doubts(
                &self.engine.guard,
                &comparison.ours,
                &comparison.against,
                comparison.context(self.today, if infers { self.cross_encoder } else { CrossEncoder::Absent }),
            );
            let found = |id: ClaimId| report.findings.iter().any(|one| one.claim == id && one.tier == Tier::Block);
            let doubts = doubts.iter().map(|pair| (&comparison.rows[pair.at], pair.band));
            let doubts: Vec<_> = doubts
                .filter(|(other, _)| !found(other.id))
                .map(|(other, band)| (ClaimRow::clone(other), band))
                .collect();
            if !doubts.is_empty() {
                self.doubts.push((ClaimRow::clone(&comparison.row), doubts));
            }
        }
        for mut finding in report.findings {
            let Some(theirs) = comparison.rows.iter().find(|other| other.id == finding.claim) else { continue };
            let fact = !(comparison.row.kind.is_guarded() && theirs.kind.is_guarded());
            // A fact never makes the guard refuse a write, but an audit reports its contradictions like those of any
            // claim.
            if fact && finding.evidence.relation == Relation::Contradiction {
                finding.tier = Tier::Block;
            }
            if finding.tier != Tier::Block {
                continue;
            }
            if found_cards::is_known_pair(reader, comparison.row.id, theirs.id)? {
                self.outcome.known += 1;
            } else {
                let id = CardId::of_members(&[comparison.row.id, theirs.id]);
                pairs.insert(
                    id,
                    FoundPair { ours: ClaimRow::clone(&comparison.row), theirs: ClaimRow::clone(theirs), finding },
                );
            }
        }
        Ok(())
    }

    /// Returns the claim with a number; `None` if it cannot be parsed.
    fn cached_claim(&mut self, reader: &Reader, number: i64) -> Result<Option<ReadClaim>, ApiError> {
        if let Some(known) = self.claims.get(&number) {
            return Ok(known.clone());
        }
        let Some(row) = reader.bare_claims(&[number])?.pop() else { return Ok(None) };
        self.parse_cached(reader, number, row)
    }

    /// Parses a claim and caches it, or returns it from the cache.
    fn parse_cached(&mut self, reader: &Reader, number: i64, row: ClaimRow) -> Result<Option<ReadClaim>, ApiError> {
        if let Some(known) = self.claims.get(&number) {
            return Ok(known.clone());
        }
        let parsed = guard_calls::parse(self.with_current_norms(reader, &row)?).ok();
        let claim = parsed.map(|parsed| (Arc::new(row), parsed));
        if self.claims.len() >= MAX_PARSED {
            self.claims.clear();
        }
        self.claims.insert(number, claim.clone());
        Ok(claim)
    }

    /// Returns a claim with the norms of the present normaliser, and of the language model if it was asked.
    fn with_current_norms(&self, reader: &Reader, row: &ClaimRow) -> Result<NormedClaim, ApiError> {
        let stored = || refine::as_read(reader, row, self.llm_normaliser.as_deref());
        // Normalising parses the statement, so a claim that has the norms of the present rules is not normalised again.
        if row.normaliser.as_deref().is_some_and(llm::is_current) {
            return stored();
        }
        let normalised = guard_calls::normalise(&self.engine.guard, row.kind, &row.statement, &row.qualifiers);
        if normalised.warning.is_some() {
            return stored();
        }
        Ok(NormedClaim { norms: normalised.norms, normaliser: normalised.version, ..normed_claim(row) })
    }
}
