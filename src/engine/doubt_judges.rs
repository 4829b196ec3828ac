//! Language models judge the queue of doubts. Contradictions become cards; `compatible` is recorded.
//!
//! Each judge gets the pairs that those before it left open. A verdict of a small local model counts only if the
//! guard's probability supports it; every other pair goes to the next judge, and last to an agent or a person.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Engine, deep_stage::DeepMode, find, guard_calls, validate};
use crate::{
    api::{ApiError, ErrorCode, JudgeNextRequest, JudgePairsRequest, JudgeView, JudgedNext, VerdictOnPair},
    domain::{
        PairVerdict, Scope, Tier,
        pair_prompt::{self, MAX_PROMPT_PAIRS, PairAnswer, PromptClaim, PromptPair},
    },
    guard::{JudgeContext, PairScores},
    infer::{Call, InferError, JudgeError, JudgeKind, ModelJudge},
    store::{ClaimRow, DoubtRow, Reader},
};

/// The default number of pairs in one batch. Small, so that background work stops soon.
const BATCH_PAIRS: usize = 5;

/// The greatest number of pairs that an estimate counts. No scope has more.
const MAX_ESTIMATED_PAIRS: usize = 1_000;

/// Prompts that the local model reads for a pair besides the prompt for the verdict: the deep stage's question in both
/// orders.
const EXTRA_LOCAL_PROMPTS: usize = 2;

/// Milliseconds a pair of the local model before it was measured on this device: two prompts of about 50 new tokens, of
/// which the model reads 25 a second (docs/speed.md), and an answer.
const INITIAL_LOCAL_MILLIS: f64 = 7_000.0;

/// Milliseconds a pair of a model behind an address or a command before it was measured, if several pairs are in one
/// prompt.
const INITIAL_REMOTE_MILLIS: f64 = 1_500.0;

/// The number of latest pairs over which the time of a pair is averaged.
const RATE_WINDOW: usize = 20;

/// The time of a judge for one pair, measured on this device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct JudgingRate {
    /// The judge's name. The time of one model says nothing about another model of the same kind.
    judge: String,
    /// Milliseconds a pair.
    millis: f64,
    /// The number of measured pairs.
    pairs: usize,
}

impl JudgingRate {
    /// Returns the rate after `pairs` further pairs, which took `millis` in total.
    fn with(known: Option<Self>, judge: String, pairs: usize, millis: f64) -> Self {
        let old = known.filter(|known| known.judge == judge);
        let (before, weight) = old.map_or((0.0, 0), |old| (old.millis, old.pairs.min(RATE_WINDOW)));
        let all = weight + pairs;
        Self { judge, millis: (before * weight as f64 + millis) / all.max(1) as f64, pairs: all }
    }
}

/// The claims of a pair, the newer one first, and its row.
type PairRows = (ClaimRow, ClaimRow, DoubtRow);

/// The result of judging some pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgedBatch {
    pub asked: usize,
    /// Pairs on which the judge gave a verdict.
    pub judged: usize,
    pub cards: usize,
}

impl Engine {
    /// Returns the judges that can be asked now, in their order.
    pub(super) fn judges(&self) -> impl Iterator<Item = &ModelJudge> {
        let local = self.config.deep != DeepMode::Off;
        let is_there = move |judge: &&ModelJudge| judge.is_there() && (local || judge.kind() != JudgeKind::Local);
        self.config.judges.iter().filter(is_there)
    }

    /// Has language models judge the next pairs of a scope, or estimates the cost of judging all of them.
    pub fn judge_for(&self, request: &JudgeNextRequest) -> Result<JudgedNext, ApiError> {
        let scope = validate::scope(&request.caller)?;
        let limit = request.limit.unwrap_or(BATCH_PAIRS);
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

    /// Returns how many pairs of a scope wait for a model, and about how many tokens and seconds they take.
    fn judging_left(&self, scope: &Scope) -> Result<(usize, usize, u64), ApiError> {
        let reader = self.readers.lend();
        let (mut left, mut tokens, mut millis) = (0, 0, 0.0);
        let mut judges = Vec::new();
        for judge in self.judges() {
            let usual = if judge.kind() == JudgeKind::Local { INITIAL_LOCAL_MILLIS } else { INITIAL_REMOTE_MILLIS };
            judges.push((judge.kind(), Self::judging_rate(&reader, judge)?.map_or(usual, |rate| rate.millis)));
        }
        for pair in reader.doubts(Some(scope), MAX_ESTIMATED_PAIRS)?.items {
            let untried = |(kind, _): &&(JudgeKind, f64)| pair.tried & kind.bit() == 0;
            let Some((kind, millis_a_pair)) = judges.iter().find(untried) else { continue };
            left += 1;
            let texts = [find::row(&reader, &pair.newer)?, find::row(&reader, &pair.older)?];
            let letters: usize =
                texts.iter().map(|row| row.statement.len() + row.reason.as_ref().map_or(0, String::len)).sum();
            let each = letters / 4 + pair_prompt::ANSWER_TOKENS;
            tokens += if *kind == JudgeKind::Local { EXTRA_LOCAL_PROMPTS * letters / 4 + each } else { each };
            millis += millis_a_pair;
        }
        Ok((left, tokens, (millis / 1_000.0).ceil() as u64))
    }

    /// Returns the measured time of a judge for one pair, if there is one.
    fn judging_rate(reader: &Reader, judge: &ModelJudge) -> Result<Option<JudgingRate>, ApiError> {
        let kept = reader.judging_rate(judge.kind().bit())?;
        let rate: Option<JudgingRate> = kept.and_then(|text| serde_json::from_str(&text).ok());
        Ok(rate.filter(|rate| rate.judge == judge.name()))
    }

    /// Records how long a judge took for some pairs.
    fn record_rate(&self, judge: &ModelJudge, pairs: usize, took: Duration) -> Result<(), ApiError> {
        if pairs == 0 {
            return Ok(());
        }
        let known = Self::judging_rate(&self.readers.lend(), judge)?;
        let rate = JudgingRate::with(known, judge.name(), pairs, took.as_secs_f64() * 1_000.0);
        let Ok(text) = serde_json::to_string(&rate) else { return Ok(()) };
        let mut writer = self.writer();
        Ok(writer.put_judging_rate(judge.kind().bit(), &text)?)
    }

    /// Has the first judge that has not tried them judge the next few pairs, newest first; `None` if no pair is left
    /// for a model.
    ///
    /// # Errors
    /// `unavailable` if the judge cannot be asked.
    pub fn judge_next(&self, scope: Option<&Scope>, most: usize) -> Result<Option<JudgedBatch>, ApiError> {
        let most = most.clamp(1, MAX_PROMPT_PAIRS);
        let mut bits: u32 = self.judges().map(|judge| judge.kind().bit()).sum();
        // A judge that cannot be asked now is asked about the same pairs later; meanwhile the next one is asked.
        let mut failed = None;
        while let Some((judge, pairs)) = self.next_pairs(scope, bits, most)? {
            let started = Instant::now();
            let judged = match judge.kind() {
                JudgeKind::Local => self.judge_locally(judge, &pairs),
                JudgeKind::Endpoint | JudgeKind::Command => self.judge_by_prompt(judge, &pairs),
            };
            match judged {
                Err(error) if error.code == ErrorCode::Unavailable => failed = Some(error),
                judged => {
                    let batch = judged?;
                    self.record_rate(judge, batch.asked, started.elapsed())?;
                    return Ok(Some(batch));
                }
            }
            bits &= !judge.kind().bit();
        }
        failed.map_or(Ok(None), Err)
    }

    /// Returns the next pairs for the judges whose bits are set, and the first of these judges that has not tried them.
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
        // A prompt has pairs of one scope only, because its verdicts are one act. All judges before this one have tried
        // all of its pairs.
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

    /// Stops the judges when the daemon ends. Running commands are killed when this returns.
    pub fn stop_judges(&self) {
        self.config.judges.iter().for_each(ModelJudge::stop);
    }

    /// [`Engine::judge_next`] in the background.
    pub fn judge_in_background(&self) -> Result<bool, ApiError> {
        if self.config.judge_budget == 0 {
            return Ok(false);
        }
        Ok(self.judge_next(None, BATCH_PAIRS)?.is_some())
    }

    fn judge_by_prompt(&self, judge: &ModelJudge, pairs: &[PairRows]) -> Result<JudgedBatch, ApiError> {
        let prompts: Vec<PromptPair> = pairs.iter().map(|(newer, older, _)| prompt_pair(newer, older)).collect();
        let call = Call::background(self.config.judge_timeout);
        let answers = match self.ask_judge(judge, |judge| judge.verdicts(&prompts, call)) {
            Ok(answers) => answers,
            // All pairs together may be too long for the model.
            Err(JudgeError::Refused(_)) if pairs.len() > 1 => {
                let (first, second) = pairs.split_at(pairs.len() / 2);
                let (first, second) = (self.judge_by_prompt(judge, first)?, self.judge_by_prompt(judge, second)?);
                return Ok(JudgedBatch {
                    asked: first.asked + second.asked,
                    judged: first.judged + second.judged,
                    cards: first.cards + second.cards,
                });
            }
            Err(error @ (JudgeError::Unusable { .. } | JudgeError::Refused(_))) => {
                tracing::warn!(%error, "a judge gave no verdict");
                vec![None; pairs.len()]
            }
            Err(error @ JudgeError::Unavailable(_)) => {
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
        if let (Some(first), false) = (pairs.first(), verdicts.is_empty()) {
            batch.cards = self.record_verdicts(first, judge, verdicts)?;
        }
        Ok(batch)
    }

    /// Records the verdict of the local language model on each pair whose verdict the guard's probability supports.
    fn judge_locally(&self, judge: &ModelJudge, pairs: &[PairRows]) -> Result<JudgedBatch, ApiError> {
        let mut batch = JudgedBatch::default();
        let call = Call::background(self.config.judge_timeout);
        // All pairs of one kind of question first: the model keeps the examples of that question cached.
        let mut weighed = Vec::with_capacity(pairs.len());
        for (newer, older, pair) in pairs {
            weighed.push(self.weigh_pair(newer, older, &pair.scope)?);
        }
        for (rows, weighed) in pairs.iter().zip(weighed) {
            let (newer, older, pair) = rows;
            batch.asked += 1;
            let verdict = match weighed {
                Some(weighed) => {
                    let answer = match judge.verdicts(&[prompt_pair(newer, older)], call) {
                        Ok(mut answers) => answers.pop().flatten(),
                        Err(error @ JudgeError::Unavailable(_)) => {
                            return Err(ApiError::new(ErrorCode::Unavailable, error.to_string()));
                        }
                        Err(error) => {
                            tracing::warn!(%error, "a judge gave no verdict");
                            None
                        }
                    };
                    supported_verdict(&weighed, answer)
                }
                None => None,
            };
            let Some((verdict, because)) = verdict else {
                self.note_tried(pair, judge)?;
                continue;
            };
            let because = Some(because).filter(|because| !because.is_empty());
            let verdict = VerdictOnPair { pair: pair.id.to_hex(), verdict, because };
            batch.cards += self.record_verdicts(rows, judge, vec![verdict])?;
            batch.judged += 1;
        }
        Ok(batch)
    }

    /// Combines rules, cross-encoder and the deep stage's question for two stored claims. `None` if there is no
    /// cross-encoder, with which the deep stage was measured, or if a model refuses the question because the claims are
    /// too long for it.
    fn weigh_pair(&self, newer: &ClaimRow, older: &ClaimRow, scope: &Scope) -> Result<Option<WeighedPair>, ApiError> {
        let call = Call::background(self.config.judge_timeout);
        let read = self.as_read(&self.readers.lend(), &[newer.clone(), older.clone()])?;
        let [ours, theirs] = read.as_slice() else { return Ok(None) };
        let pair = [(older.statement.as_str(), newer.statement.as_str())];
        let inference = match self.infer(&pair, &[], call) {
            Ok(all) => all.into_iter().next(),
            Err(InferError::NoModel { .. } | InferError::Refused(_)) => None,
            // The model may answer later: the pair is not marked as tried.
            Err(error) => {
                let message = format!("the cross-encoder cannot be asked: {error}");
                return Err(ApiError::new(ErrorCode::Unavailable, message));
            }
        };
        let Some(inference) = inference else { return Ok(None) };
        let deep = match self.ask_deeply(&older.statement, &newer.statement, call) {
            Ok(deep) => deep,
            Err(InferError::Refused(why)) => {
                tracing::warn!(why, "a judge gave no verdict");
                return Ok(None);
            }
            Err(error) => {
                let message = format!("the language model cannot be asked: {error}");
                return Err(ApiError::new(ErrorCode::Unavailable, message));
            }
        };
        let (Ok(ours), Ok(theirs)) = (guard_calls::parse(ours.clone()), guard_calls::parse(theirs.clone())) else {
            return Ok(None);
        };
        let scores = [PairScores { inference: Some(inference), deep: Some(deep), ..PairScores::default() }];
        let cross_encoder = self.cross_encoder_in(&self.readers.lend(), scope)?;
        let today = guard_calls::day((self.config.clock)());
        let under = JudgeContext { today: &today, scores: &scores, cross_encoder, ..JudgeContext::default() };
        let Some(ruling) = guard_calls::weigh_stored(&self.guard, &ours, &theirs, under) else { return Ok(None) };
        Ok(Some(WeighedPair {
            contradicts: ruling.tier == Tier::Block,
            probability: ruling.score,
            entails: inference.entailment().into_iter().all(|odds| odds > 0.0),
            because: ruling.evidence.sentence,
        }))
    }

    fn note_tried(&self, pair: &DoubtRow, judge: &ModelJudge) -> Result<(), ApiError> {
        let mut writer = self.writer();
        Ok(writer.note_tried(&pair.id, judge.kind().bit())?)
    }

    /// Records the verdicts of a model, and returns how many cards they opened. Pairs that another judge has judged in
    /// the meantime stay as they are.
    fn record_verdicts(
        &self,
        (newer, _, pair): &PairRows,
        judge: &ModelJudge,
        verdicts: Vec<VerdictOnPair>,
    ) -> Result<usize, ApiError> {
        let name = judge.name();
        let request = JudgePairsRequest {
            caller: validate::on_behalf(&pair.scope, &newer.who),
            verdicts,
            because: Some("read by a language model".to_owned()),
            model: Some(name.chars().filter(|c| !c.is_control()).take(100).collect()),
        };
        match self.judge_pairs(&request) {
            Err(error) if error.code == ErrorCode::Stale => Ok(0),
            done => Ok(done?.pairs.iter().filter(|pair| pair.card_id.is_some()).count()),
        }
    }
}

/// The guard's assessment of one pair of claims.
#[derive(Clone, Debug, Default, PartialEq)]
struct WeighedPair {
    /// Whether the deep stage's threshold makes the pair a contradiction.
    contradicts: bool,
    /// The probability of a contradiction.
    probability: f32,
    /// Whether each claim follows from the other, according to the cross-encoder.
    entails: bool,
    /// Why the claims may contradict each other.
    because: String,
}

/// The probability of a contradiction below which the local model's `compatible` counts.
const COMPATIBLE_BELOW: f32 = 0.1;
/// The probability of a contradiction from which the local model's `replaces` counts.
const REPLACES_FROM: f32 = 0.3;

/// Returns the verdict of the local model, with its reason, if the guard supports it. What the deep stage finds to be a
/// contradiction is one, whatever the model says, unless it says `replaces`.
fn supported_verdict(weighed: &WeighedPair, answer: Option<PairAnswer>) -> Option<(PairVerdict, String)> {
    let word = answer.as_ref().map(|answer| answer.verdict);
    let its_reason = answer.map(|answer| answer.because).unwrap_or_default();
    match word {
        Some(PairVerdict::Replaces) if weighed.contradicts || weighed.probability >= REPLACES_FROM => {
            Some((PairVerdict::Replaces, its_reason))
        }
        _ if weighed.contradicts => Some((PairVerdict::Contradicts, weighed.because.clone())),
        Some(PairVerdict::Same) if weighed.entails => Some((PairVerdict::Same, its_reason)),
        Some(PairVerdict::Compatible) if weighed.probability < COMPATIBLE_BELOW => {
            Some((PairVerdict::Compatible, its_reason))
        }
        _ => None,
    }
}

/// Returns how long background work pauses after it has worked, so that it uses at most `percent` of the time.
pub fn rest_after(worked: Duration, percent: u8) -> Duration {
    match percent {
        0 => Duration::MAX,
        100.. => Duration::ZERO,
        percent => worked * (100 - u32::from(percent)) / u32::from(percent),
    }
}

fn prompt_pair(newer: &ClaimRow, older: &ClaimRow) -> PromptPair {
    let claim = |row: &ClaimRow| PromptClaim {
        kind: row.kind,
        statement: row.statement.clone(),
        reason: row.reason.clone(),
        day: guard_calls::day(row.clock.wall),
        project: Some(row.scope.to_string()).filter(|_| newer.scope != older.scope),
    };
    PromptPair { newer: claim(newer), older: claim(older) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_last_pairs_of_one_judge() {
        let first = JudgingRate::with(None, "small".into(), 5, 10_000.0);
        assert_eq!((first.millis, first.pairs), (2_000.0, 5));
        let more = JudgingRate::with(Some(first.clone()), "small".into(), 5, 20_000.0);
        assert_eq!((more.millis, more.pairs), (3_000.0, 10));
        let other = JudgingRate::with(Some(first), "large".into(), 1, 9_000.0);
        assert_eq!((other.millis, other.pairs), (9_000.0, 1), "another model is measured anew");
        let long = JudgingRate { judge: "small".into(), millis: 1_000.0, pairs: 900 };
        assert!((JudgingRate::with(Some(long), "small".into(), 20, 60_000.0).millis - 2_000.0).abs() < 1e-9);
    }

    #[test]
    fn a_local_verdict_needs_the_guard_to_bear_it_out() {
        use PairVerdict::{Compatible, Contradicts, Replaces, Same};
        let weighed = |contradicts, probability, entails| WeighedPair {
            contradicts,
            probability,
            entails,
            because: "opposed words".to_owned(),
        };
        let verdict = |weighed: &WeighedPair, verdict: Option<PairVerdict>| {
            let answer = verdict.map(|verdict| PairAnswer { verdict, because: "read".to_owned() });
            supported_verdict(weighed, answer).map(|(verdict, because)| (verdict, because == "read"))
        };
        let (sure, open, apart, alike) = (
            weighed(true, 0.9, false),
            weighed(false, 0.5, false),
            weighed(false, 0.02, false),
            weighed(false, 0.02, true),
        );
        assert_eq!(verdict(&sure, Some(Compatible)), Some((Contradicts, false)));
        assert_eq!(
            (verdict(&sure, None), verdict(&sure, Some(Replaces))),
            (Some((Contradicts, false)), Some((Replaces, true)))
        );
        assert_eq!((verdict(&open, Some(Replaces)), verdict(&open, Some(Compatible))), (Some((Replaces, true)), None));
        assert_eq!((verdict(&open, Some(Contradicts)), verdict(&open, Some(Same))), (None, None));
        assert_eq!((verdict(&apart, Some(Compatible)), verdict(&apart, Some(Same))), (Some((Compatible, true)), None));
        assert_eq!(
            (verdict(&apart, Some(Replaces)), verdict(&apart, Some(Contradicts)), verdict(&apart, None)),
            (None, None, None)
        );
        assert_eq!(verdict(&alike, Some(Same)), Some((Same, true)));
    }

    #[test]
    fn the_budget_is_a_share_of_the_time() {
        let worked = Duration::from_secs(2);
        assert_eq!(rest_after(worked, 25), Duration::from_secs(6));
        assert_eq!(rest_after(worked, 50), worked);
        assert_eq!(rest_after(worked, 100), Duration::ZERO);
    }
}
