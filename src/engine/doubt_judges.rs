//! Language models work off the queue of doubts: what they find becomes cards, and what they call compatible is on the record.
//!
//! Each judge gets what those before it left open. The local model finds contradictions and is sure of nothing else, so it leaves a pair without one
//! to the next judge, and last to an agent or a person.

use std::{sync::PoisonError, time::Duration};

use super::{
    Engine, deep_stage::DeepMode, find, guard_calls, guard_calls::NormalisedStatement, guard_result::IncomingClaim,
    validate,
};
use crate::{
    api::{ApiError, Caller, ErrorCode, JudgeNextRequest, JudgePairsRequest, JudgeView, JudgedNext, VerdictOnPair},
    domain::{
        PairVerdict, Scope, Tier,
        pair_prompt::{self, MAX_PROMPT_PAIRS, PairAnswer, PromptClaim, PromptPair},
    },
    guard::{JudgeContext, PairScores, Ruling},
    infer::{Call, JudgeError, JudgeKind, ModelJudge},
    store::{ClaimRow, DoubtRow},
};

/// The name of the agent under which models judge.
pub(super) const JUDGE_NAME: &str = "ergo";

/// How many pairs the background gives a judge at once: few, so that it stops soon.
const FEW: usize = 5;

/// The most pairs that an estimate counts: no scope has more.
const MOST_LEFT: usize = 1_000;

/// How many prompts the local model reads for a pair: one question in both orders.
const LOCAL_PROMPTS: usize = 2;

/// About how long the local model takes for a pair, in milliseconds: two prompts of some 50 new tokens, of which it reads 25 a second
/// (docs/speed.md).
const LOCAL_MILLIS: u64 = 4_000;

/// About how long a model behind an address or a command takes for a pair, in milliseconds, if it is asked about several at once.
const PROMPT_MILLIS: u64 = 1_500;

/// The claims of a pair, the newer one first, and its row.
type PairRows = (ClaimRow, ClaimRow, DoubtRow);

/// What became of some pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgedBatch {
    /// Pairs that a judge was asked about.
    pub asked: usize,
    /// Pairs on which it gave a verdict.
    pub judged: usize,
    /// Cards that were opened.
    pub cards: usize,
}

impl Engine {
    /// The judges that can be asked now, in their order.
    pub(super) fn judges(&self) -> impl Iterator<Item = &ModelJudge> {
        let local = self.config.deep != DeepMode::Off;
        let is_there = move |judge: &&ModelJudge| judge.is_there() && (local || judge.kind() != JudgeKind::Local);
        self.config.judges.iter().filter(is_there)
    }

    /// Has language models judge the next pairs of a scope, or estimates what all of them take.
    ///
    /// # Errors
    /// Those of [`Engine::judge_next`].
    pub fn judge_for(&self, request: &JudgeNextRequest) -> Result<JudgedNext, ApiError> {
        let scope = validate::scope(&request.caller)?;
        let limit = request.limit.unwrap_or(FEW);
        if !(1..=MAX_PROMPT_PAIRS).contains(&limit) {
            let message = format!("invalid `limit` {limit}: expected 1 to {MAX_PROMPT_PAIRS}");
            return Err(ApiError::field("limit", message));
        }
        let batch = if request.dry_run { None } else { self.judge_next(Some(&scope), limit)? };
        let batch = batch.unwrap_or_default();
        let (left, tokens, seconds) = self.judging_left(&scope)?;
        let view = |judge: &ModelJudge| JudgeView { name: judge.name(), external: judge.kind() != JudgeKind::Local };
        Ok(JudgedNext {
            judges: self.judges().map(view).collect(),
            judged: batch.judged,
            asked: batch.asked,
            cards: batch.cards,
            left,
            tokens,
            seconds,
        })
    }

    /// How many pairs of a scope still wait for a model, and about how many tokens and seconds they take.
    fn judging_left(&self, scope: &Scope) -> Result<(usize, usize, u64), ApiError> {
        let all: u32 = self.judges().map(|judge| judge.kind().bit()).sum();
        let reader = self.readers.lend();
        let (mut left, mut tokens, mut millis) = (0, 0, 0);
        for pair in reader.doubts(Some(scope), MOST_LEFT)?.items {
            let Some(judge) = self.judges().find(|judge| pair.tried & judge.kind().bit() == 0) else { continue };
            left += usize::from(pair.tried & all != all);
            let texts = [find::row(&reader, &pair.newer)?, find::row(&reader, &pair.older)?];
            let letters: usize =
                texts.iter().map(|row| row.statement.len() + row.reason.as_ref().map_or(0, String::len)).sum();
            let each = letters / 4 + pair_prompt::ANSWER_TOKENS;
            tokens += if judge.kind() == JudgeKind::Local { LOCAL_PROMPTS * letters / 4 } else { each };
            millis += if judge.kind() == JudgeKind::Local { LOCAL_MILLIS } else { PROMPT_MILLIS };
        }
        Ok((left, tokens, u64::div_ceil(millis, 1_000)))
    }

    /// Has the next few pairs judged, the newest first, by the first judge that has not tried them; `None` if none is left to be judged by a model.
    ///
    /// # Errors
    /// `unavailable` if the judge cannot be asked; else if the store cannot be read or written.
    pub fn judge_next(&self, scope: Option<&Scope>, most: usize) -> Result<Option<JudgedBatch>, ApiError> {
        let most = most.clamp(1, MAX_PROMPT_PAIRS);
        let mut bits: u32 = self.judges().map(|judge| judge.kind().bit()).sum();
        // A judge that cannot be asked now keeps its turn, and the next one is asked meanwhile.
        let mut failed = None;
        while let Some((judge, pairs)) = self.next_pairs(scope, bits, most)? {
            let judged = match judge.kind() {
                JudgeKind::Local => self.judge_locally(judge, &pairs),
                JudgeKind::Endpoint | JudgeKind::Command => self.judge_by_prompt(judge, &pairs),
            };
            match judged {
                Err(error) if error.code == ErrorCode::Unavailable => failed = Some(error),
                judged => return judged.map(Some),
            }
            bits &= !judge.kind().bit();
        }
        failed.map_or(Ok(None), Err)
    }

    /// The next pairs for some judges, by their bits, and the first of these judges that has not tried them.
    fn next_pairs(
        &self,
        scope: Option<&Scope>,
        bits: u32,
        most: usize,
    ) -> Result<Option<(&ModelJudge, Vec<PairRows>)>, ApiError> {
        let reader = self.readers.lend();
        let Some(first) = reader.next_doubt(scope, bits)? else { return Ok(None) };
        let untried = |judge: &&ModelJudge| bits & judge.kind().bit() & !first.tried != 0;
        let Some(judge) = self.judges().find(untried) else { return Ok(None) };
        let bit = judge.kind().bit();
        // One prompt, hence one scope: its verdicts are one act. The judges before it have tried all of them.
        let before = bits & (bit - 1);
        let alike = |pair: &DoubtRow| pair.id != first.id && pair.tried & bit == 0 && pair.tried & before == before;
        let others = reader.doubts(Some(&first.scope), 4 * MAX_PROMPT_PAIRS)?.items;
        let more: Vec<DoubtRow> = others.into_iter().filter(alike).take(most - 1).collect();
        let mut pairs = Vec::with_capacity(more.len() + 1);
        for pair in std::iter::once(first).chain(more) {
            pairs.push((find::row(&reader, &pair.newer)?, find::row(&reader, &pair.older)?, pair));
        }
        Ok(Some((judge, pairs)))
    }

    /// Stops the judges when the daemon ends: a command that runs is killed.
    pub fn stop_judges(&self) {
        self.config.judges.iter().for_each(ModelJudge::stop);
    }

    /// [`Engine::judge_next`] in the background.
    pub fn judge_in_background(&self) -> Result<bool, ApiError> {
        if self.config.judge_budget == 0 {
            return Ok(false);
        }
        Ok(self.judge_next(None, FEW)?.is_some())
    }

    fn judge_by_prompt(&self, judge: &ModelJudge, pairs: &[PairRows]) -> Result<JudgedBatch, ApiError> {
        let prompts: Vec<PromptPair> = pairs
            .iter()
            .map(|(newer, older, _)| PromptPair { newer: prompt_claim(newer), older: prompt_claim(older) })
            .collect();
        let answers = match judge.verdicts(&prompts, Call::background(self.config.judge_timeout)) {
            Ok(answers) => answers,
            Err(error @ JudgeError::Unusable { .. }) => {
                tracing::warn!(%error, "a judge's answer was not used");
                vec![None; pairs.len()]
            }
            Err(error @ (JudgeError::Unavailable(_) | JudgeError::Refused(_))) => {
                return Err(ApiError::new(ErrorCode::Unavailable, error.to_string())
                    .hint("check [judge] in config.toml; the pairs still wait"));
            }
        };
        let mut batch = JudgedBatch { asked: pairs.len(), ..JudgedBatch::default() };
        let mut verdicts = Vec::new();
        for ((_, _, pair), answer) in pairs.iter().zip(&answers) {
            match answer {
                Some(PairAnswer { verdict, because }) => verdicts.push(VerdictOnPair {
                    pair: pair.id.to_hex(),
                    verdict: *verdict,
                    because: Some(because.clone()).filter(|because| !because.is_empty()),
                }),
                None => self.note_tried(pair, judge)?,
            }
        }
        batch.judged = verdicts.len();
        batch.cards = verdicts.iter().filter(|said| said.verdict != PairVerdict::Compatible).count();
        if let (Some((newer, ..)), false) = (pairs.first(), verdicts.is_empty()) {
            self.record_verdicts(newer, judge, verdicts)?;
        }
        Ok(batch)
    }

    /// The judgement of the deep stage, of each pair alone. A contradiction is a verdict, and nothing else is.
    fn judge_locally(&self, judge: &ModelJudge, pairs: &[PairRows]) -> Result<JudgedBatch, ApiError> {
        let mut batch = JudgedBatch::default();
        for (newer, older, pair) in pairs {
            batch.asked += 1;
            match self.contradicts_deeply(newer, older)? {
                Some(because) => {
                    let because = Some(because).filter(|because| !because.is_empty());
                    let verdict = VerdictOnPair { pair: pair.id.to_hex(), verdict: PairVerdict::Contradicts, because };
                    self.record_verdicts(newer, judge, vec![verdict])?;
                    batch.judged += 1;
                    batch.cards += 1;
                }
                None => self.note_tried(pair, judge)?,
            }
        }
        Ok(batch)
    }

    /// Why two stored claims contradict each other by rules, cross-encoder and the local language model together; `None` if they do not.
    fn contradicts_deeply(&self, newer: &ClaimRow, older: &ClaimRow) -> Result<Option<String>, ApiError> {
        let call = Call::background(self.config.judge_timeout);
        let read = self.as_read(&self.readers.lend(), &[newer.clone(), older.clone()])?;
        let [ours, theirs] = read.as_slice() else { return Ok(None) };
        let normalised =
            NormalisedStatement { norms: ours.norms.clone(), version: ours.normaliser.clone(), warning: None };
        let incoming = IncomingClaim {
            scope: &newer.scope,
            kind: newer.kind,
            statement: &newer.statement,
            source: newer.source.as_deref(),
            normalised: &normalised,
            exclude: &[newer.id],
        };
        let unavailable = |error: crate::infer::InferError| {
            ApiError::new(ErrorCode::Unavailable, format!("the language model cannot be asked: {error}"))
        };
        let pair = [(older.statement.as_str(), newer.statement.as_str())];
        // The deep stage adds to what the cross-encoder says, and was measured so.
        let Some(inference) = self.infer(&pair, &[], call).ok().and_then(|all| all.into_iter().next()) else {
            return Ok(None);
        };
        let deep = self.ask_deeply(&older.statement, &newer.statement, call).map_err(unavailable)?;
        let (Ok(ours), Ok(against)) =
            (guard_calls::parse(incoming.new_claim()), guard_calls::parse_all(vec![theirs.clone()]))
        else {
            return Ok(None);
        };
        let rulings: Vec<Ruling> = match guard_calls::rulings(&self.guard, &ours, &against) {
            Ok(rulings) => rulings,
            Err(_) => return Ok(None),
        };
        let scores = [PairScores { inference: Some(inference), deep: Some(deep), ..PairScores::default() }];
        let now = (self.config.clock)();
        let today = guard_calls::day(now);
        let shift = self.threshold_shift(&self.readers.lend(), &newer.scope, now)?;
        let under = JudgeContext {
            today: &today,
            scores: &scores,
            rulings: &rulings,
            threshold_shift: shift,
            infers: self.nli_is_fitted(),
        };
        let Ok(verdict) = guard_calls::judge(&self.guard, &ours, &against, under) else { return Ok(None) };
        let found = verdict.findings.into_iter().find(|finding| finding.tier == Tier::Block);
        Ok(found.map(|finding| finding.evidence.sentence))
    }

    fn note_tried(&self, pair: &DoubtRow, judge: &ModelJudge) -> Result<(), ApiError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(writer.note_tried(&pair.id, judge.kind().bit())?)
    }

    /// Records the verdicts of a model. What somebody else judged meanwhile is left as it is.
    fn record_verdicts(
        &self,
        newer: &ClaimRow,
        judge: &ModelJudge,
        verdicts: Vec<VerdictOnPair>,
    ) -> Result<(), ApiError> {
        let name = judge.name();
        let request = JudgePairsRequest {
            caller: Caller {
                org_id: newer.scope.org_id.clone(),
                project: newer.scope.project.clone(),
                who: newer.who.clone(),
                agent: Some(JUDGE_NAME.to_owned()),
                ..Caller::default()
            },
            verdicts,
            because: Some("read by a language model".to_owned()),
            model: Some(name.chars().filter(|c| !c.is_control()).take(100).collect()),
        };
        match self.judge_pairs(&request) {
            Err(error) if error.code == ErrorCode::Stale => Ok(()),
            done => done.map(|_| ()),
        }
    }
}

/// How long the background rests after it has worked, so that it works `percent` of the time at most.
pub fn rest_after(worked: Duration, percent: u8) -> Duration {
    match percent {
        0 => Duration::MAX,
        100.. => Duration::ZERO,
        percent => worked * (100 - u32::from(percent)) / u32::from(percent),
    }
}

fn prompt_claim(row: &ClaimRow) -> PromptClaim {
    PromptClaim {
        kind: row.kind,
        statement: row.statement.clone(),
        reason: row.reason.clone(),
        day: guard_calls::day(row.clock.wall),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_budget_is_a_share_of_the_time() {
        let worked = Duration::from_secs(2);
        assert_eq!(rest_after(worked, 25), Duration::from_secs(6));
        assert_eq!(rest_after(worked, 50), worked);
        assert_eq!(rest_after(worked, 100), Duration::ZERO);
    }
}
