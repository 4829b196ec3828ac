//! Language models read the stories: if a newcomer would not know which claims hold, a card asks a person.
//!
//! In the background, after the rules have read all changes, a model reads the claims written since the last reading,
//! those that have most in common with them, and a sample of the rest. For an audit it reads the whole story, part by
//! part. What a model finds is a proposal: it changes no claim, stays on this device, and no set of claims gets a
//! second card.

use std::{collections::BTreeSet, sync::atomic::Ordering, time::Duration};

use super::{
    Engine,
    act_context::WriteScope,
    acts::report_data_with,
    guard_result::judged_finding,
    story_reading::{StoryPass, story_claim},
    validate,
};
use crate::{
    api::{ApiError, ErrorCode, JudgeView, ReadStoryRequest, StoryProgress},
    domain::{
        ClaimId, EventKind, GuardReport, Scope, Status, StoryRule, Tier,
        ago::day,
        derive::{CardKind, local},
        guard_report::Relation,
        text::cut_line,
    },
    infer::{Call, JudgeError, JudgeKind, ModelJudge, Prompt},
    store::{EventDraft, Reader, Ref, StoryNeighbour, UnreadStory},
    story::{
        self, BATCH_TOKENS, ForgettableClaim, ModelReading, PromptedClaim, STORY_ANSWER_TOKENS, STORY_SYSTEM,
        StoryClaim,
    },
};

/// The greatest number of new claims of one reading that are always read.
const MAX_NEW_CLAIMS: usize = 20;

/// The number of newest claims of a scope from which the sample is taken.
const MAX_SAMPLED_FROM: usize = 5_000;

/// The greatest number of claims of a story that is read whole, if it fits into one batch.
const MAX_WHOLE_STORY: usize = 400;

/// The number of claims considered for the next batch of a whole story: more than fit into one.
const PAGE_CLAIMS: usize = 600;

/// The tokens of a batch for the local model: its context has 4,096, and a slow machine reads 25 a second within the
/// deadline.
const LOCAL_BATCH_TOKENS: usize = 2_000;

/// Tokens that the local model reads in a second (docs/speed.md), for estimates.
const LOCAL_TOKENS_A_SECOND: usize = 25;

/// Seconds that a model behind an address or a command takes for a batch, for estimates.
const BATCH_SECONDS: usize = 8;

/// A claim of a story, in the forms for the rules and for a prompt.
struct StoryLine {
    id: ClaimId,
    claim: StoryClaim,
    prompted: PromptedClaim,
}

/// The result of reading a part of a story with a language model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PartRead {
    cards: usize,
    /// Answers that were discarded.
    dropped: usize,
}

impl std::ops::AddAssign for PartRead {
    fn add_assign(&mut self, other: Self) {
        self.cards += other.cards;
        self.dropped += other.dropped;
    }
}

impl Engine {
    /// Has language models judge pairs of claims, or read a story if no pair can be judged now. Returns whether there
    /// was something to do.
    ///
    /// # Errors
    /// `unavailable` if no judge that has something to do can be asked now.
    pub fn judge_or_read_in_background(&self) -> Result<bool, ApiError> {
        match self.judge_in_background() {
            Ok(true) => Ok(true),
            // The judge for which the pairs wait may differ from the one that reads stories.
            judged => match self.read_story_in_background() {
                Ok(false) => judged,
                read => read,
            },
        }
    }

    /// Has a language model read the story of the scope with the newest unread claim. Returns whether there was one.
    ///
    /// # Errors
    /// `unavailable` if no judge can be asked now.
    pub fn read_story_in_background(&self) -> Result<bool, ApiError> {
        if self.config.judge_budget == 0 || self.judges().next().is_none() {
            return Ok(false);
        }
        let today = day((self.config.clock)());
        let unread = {
            let reader = self.readers.lend();
            // The rules come first, because what they find needs no model.
            if reader.story_waits(&today)? {
                return Ok(false);
            }
            reader.unread_story(MAX_NEW_CLAIMS)?
        };
        let Some(unread) = unread else { return Ok(false) };
        let _reading = self.timers.story_model.start();
        if !unread.claims.is_empty() {
            let lines = self.sample(&unread, &today)?;
            let tokens: Vec<usize> = lines.iter().map(|line| line.prompted.tokens()).collect();
            for batch in story::batches(&tokens, self.batch_tokens()) {
                self.read_part(&unread.scope, &lines[batch])?;
            }
        }
        let mut writer = self.writer();
        writer.note_story_read(&unread.scope, unread.last)?;
        Ok(true)
    }

    /// Has a language model read the next part of a whole story, or estimates the cost of the rest.
    ///
    /// # Errors
    /// `unavailable` if no judge can be asked now.
    pub fn read_story_for(&self, request: &ReadStoryRequest) -> Result<StoryProgress, ApiError> {
        let scope = validate::scope(&request.caller)?;
        let view = |judge: &ModelJudge| JudgeView { name: judge.name(), external: judge.kind() != JudgeKind::Local };
        let mut progress = StoryProgress { judges: self.judges().map(view).collect(), ..StoryProgress::default() };
        // Claims that the rules have not read yet have no place in the story.
        self.finish_stories()?;
        let today = day((self.config.clock)());
        let (page, lines) = {
            let reader = self.readers.lend();
            let page = reader.story_page(&scope, reader.story_position(&scope)?, PAGE_CLAIMS)?;
            let lines = self.lines(&reader, &page.claims, &today)?;
            (page, lines)
        };
        if progress.judges.is_empty() || page.left < 2 {
            return Ok(progress);
        }
        let most = self.batch_tokens();
        let tokens: Vec<usize> = lines.iter().map(|line| line.prompted.tokens()).collect();
        let batches = story::batches(&tokens, most);
        let mut next = 0;
        if let (false, Some(batch)) = (request.dry_run, batches.first()) {
            let read = self.read_part(&scope, &lines[batch.clone()])?;
            (progress.read, progress.cards, progress.dropped) = (batch.len(), read.cards, read.dropped);
            next = batches.get(1).map_or(page.left, |batch| batch.start);
            let place = page.claims.get(next).copied();
            self.writer().note_story_position(&scope, place)?;
        }
        progress.left = page.left - next;
        progress.tokens = tokens.iter().sum::<usize>() * progress.left / tokens.len().max(1);
        let batches_left = progress.tokens.div_ceil(most);
        progress.tokens += batches_left * STORY_SYSTEM.len() / 4;
        let seconds = match self.judges().next().map(ModelJudge::kind) {
            Some(JudgeKind::Local) => progress.tokens / LOCAL_TOKENS_A_SECOND,
            _ => batches_left * BATCH_SECONDS,
        };
        progress.seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
        Ok(progress)
    }

    /// Returns the tokens of a batch for the judge that is asked first.
    fn batch_tokens(&self) -> usize {
        match self.judges().next().map(ModelJudge::kind) {
            Some(JudgeKind::Local) => LOCAL_BATCH_TOKENS,
            _ => BATCH_TOKENS,
        }
    }

    /// Returns the claims to read because some are new: the whole story if it is short; otherwise the new ones, those
    /// that have most in common with them, and those of the others that the forgetting curve keeps.
    fn sample(&self, unread: &UnreadStory, today: &str) -> Result<Vec<StoryLine>, ApiError> {
        let reader = self.readers.lend();
        let outline = reader.story_outline(&unread.scope, MAX_SAMPLED_FROM)?;
        if outline.len() <= MAX_WHOLE_STORY {
            let numbers: Vec<i64> = outline.iter().map(|row| row.n).collect();
            let lines = self.lines(&reader, &numbers, today)?;
            if lines.iter().map(|line| line.prompted.tokens()).sum::<usize>() <= self.batch_tokens() {
                return Ok(lines);
            }
        }
        let pass = StoryPass { guard: &self.guard, texts: &self.story_texts, today };
        let triggers: BTreeSet<ClaimId> = unread.claims.iter().copied().collect();
        let mut kept: BTreeSet<i64> = BTreeSet::new();
        for claim in &unread.claims {
            kept.extend(reader.story_related(&pass, claim)?);
        }
        // The seed depends on the new claims only, so that a reading can be repeated with the same sample.
        let seed =
            unread.claims.first().and_then(|id| id.0.first_chunk()).map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let now = (self.config.clock)();
        let survives = |row: &&crate::store::StoryOutlineRow| {
            let kept = triggers.contains(&row.id) || kept.contains(&row.n);
            let claim =
                ForgettableClaim { id: row.id, age: now.saturating_sub(row.written), conflicts: row.conflicts, kept };
            claim.survives(seed)
        };
        let numbers: Vec<i64> = outline.iter().filter(survives).map(|row| row.n).collect();
        self.lines(&reader, &numbers, today)
    }

    fn lines(&self, reader: &Reader, numbers: &[i64], today: &str) -> Result<Vec<StoryLine>, ApiError> {
        Ok(reader.story_claims(numbers)?.iter().map(|claim| self.line(claim, today)).collect())
    }

    fn line(&self, neighbour: &StoryNeighbour, today: &str) -> StoryLine {
        let row = &neighbour.row;
        let claim = story_claim(self.story_texts.text(row), row, neighbour.retracted, today);
        let state = match row.status {
            Status::Retracted => "retracted",
            Status::Superseded => "superseded",
            _ if claim.standing.holds() => "in force",
            _ if claim.standing.in_force => "expired",
            _ => "not yet in force",
        };
        let prompted = PromptedClaim {
            id: row.id,
            on: minute(claim.written),
            by: row.who.clone(),
            state,
            statement: row.statement.clone(),
            reason: row.reason.clone(),
        };
        StoryLine { id: row.id, claim, prompted }
    }

    /// Asks about a part of a story, and opens a card for each question that it raises. A part that is too long for the
    /// model is split in halves.
    fn read_part(&self, scope: &Scope, lines: &[StoryLine]) -> Result<PartRead, ApiError> {
        if lines.len() < 2 {
            return Ok(PartRead::default());
        }
        let prompted: Vec<PromptedClaim> = lines.iter().map(|line| line.prompted.clone()).collect();
        let Some((reading, name)) = self.ask_about_story(&prompted)? else {
            if lines.len() < 4 {
                return Ok(PartRead { dropped: 1, ..PartRead::default() });
            }
            let (first, second) = lines.split_at(lines.len() / 2);
            let mut read = self.read_part(scope, first)?;
            read += self.read_part(scope, second)?;
            return Ok(read);
        };
        let mut read = PartRead { dropped: reading.dropped, ..PartRead::default() };
        let mut drafts = Vec::new();
        for finding in reading.findings {
            let found: Vec<&StoryLine> = finding.claims.iter().filter_map(|at| lines.get(*at)).collect();
            let claims: Vec<&StoryClaim> = found.iter().map(|line| &line.claim).collect();
            let Some(proposal) = story::propose(&claims) else {
                read.dropped += 1;
                continue;
            };
            let ids: Vec<ClaimId> = proposal.claims.iter().filter_map(|at| Some(found.get(*at)?.id)).collect();
            let reader = self.readers.lend();
            let bar = reader.story_answers(scope, proposal.confusion, StoryRule::Model)?.bar();
            if proposal.strength < bar || is_known(&reader, &ids)? {
                continue;
            }
            drafts.push((ids.clone(), question_draft(&ids, proposal.confusion, &name, &finding.question)));
        }
        self.counters.story_dropped.fetch_add(u64::try_from(read.dropped).unwrap_or(0), Ordering::Relaxed);
        read.cards = self.open_questions(scope, lines, drafts)?;
        Ok(read)
    }

    /// Asks the judges in their order until one answers; `None` if the part is too long for all of them.
    fn ask_about_story(&self, claims: &[PromptedClaim]) -> Result<Option<(ModelReading, String)>, ApiError> {
        let text = story::story_message(claims);
        let prompt = Prompt::few_shot::<String, String>(STORY_SYSTEM, [], text);
        let grammar = story::story_grammar(claims);
        let mut failed = None;
        for judge in self.judges() {
            let call = Call::background(self.story_timeout(judge));
            match self.ask_judge(judge, |judge| judge.ask(&prompt, &grammar, STORY_ANSWER_TOKENS, call)) {
                Ok(answer) => {
                    let reading = story::read_answer(&answer, claims).unwrap_or_else(|| {
                        tracing::warn!(
                            judge = judge.name(),
                            answer = cut_line(&answer, 80),
                            "a story's answer was not used"
                        );
                        ModelReading { dropped: 1, ..ModelReading::default() }
                    });
                    return Ok(Some((reading, cut_line(&judge.name(), 100))));
                }
                Err(JudgeError::Refused(why)) => tracing::debug!(why, "a part of a story is halved"),
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) => Err(ApiError::new(ErrorCode::Unavailable, error.to_string())
                .hint("check [judge] in config.toml; the story is read later")),
            None => Ok(None),
        }
    }

    /// Returns the deadline for a judge. Longer for the local model, because nobody waits for it and a batch is longer
    /// than a pair.
    fn story_timeout(&self, judge: &ModelJudge) -> Duration {
        match judge.kind() {
            JudgeKind::Local => 2 * self.config.judge_timeout,
            JudgeKind::Endpoint | JudgeKind::Command => self.config.judge_timeout,
        }
    }

    /// Opens cards, except for claims that changed in the meantime. Returns how many.
    fn open_questions(
        &self,
        scope: &Scope,
        lines: &[StoryLine],
        drafts: Vec<(Vec<ClaimId>, EventDraft)>,
    ) -> Result<usize, ApiError> {
        let Some(newest) = lines.last().filter(|_| !drafts.is_empty()) else { return Ok(0) };
        self.act(&validate::on_behalf(scope, &newest.prompted.by), None, |context| {
            let mut kept = Vec::new();
            for (ids, draft) in drafts {
                let standing =
                    |id: &ClaimId| lines.iter().find(|line| line.id == *id).map(|line| line.claim.standing.in_force);
                let mut same = true;
                for id in &ids {
                    let now = context.reader().claim(id)?.map(|row| row.status == Status::Active && !row.flags.undone);
                    same &= now.is_some() && now == standing(id);
                }
                if same && !is_known(context.reader(), &ids)? {
                    kept.push(draft);
                }
            }
            if kept.is_empty() {
                return Ok(0);
            }
            let opened = kept.len();
            let summary = match opened {
                1 => "A language model asks about the story".to_owned(),
                many => format!("A language model asks {many} questions about the story"),
            };
            context.commit(&WriteScope::at(scope), kept, "asked", summary)?;
            Ok(opened)
        })
    }
}

/// Whether a card has or had all of these claims, or a subset of them, or whether the last of them was settled with
/// another one.
fn is_known(reader: &Reader, ids: &[ClaimId]) -> Result<bool, ApiError> {
    let Some((last, others)) = ids.split_last() else { return Ok(true) };
    for other in others {
        if reader.is_settled_pair(other, last)? {
            return Ok(true);
        }
    }
    for id in ids {
        let has_card = |card: &crate::store::CardRow| {
            let members = &card.members;
            !matches!(card.kind, CardKind::Refused | CardKind::Held | CardKind::Proposed)
                && members.len() > 1
                && (ids.iter().all(|id| members.contains(id)) || members.iter().all(|id| ids.contains(id)))
        };
        if reader.cards_of(id)?.iter().any(has_card) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the event that opens the card. The card asks its own question, whose answers have defined effects; the
/// model's question is shown beside it.
fn question_draft(ids: &[ClaimId], confusion: crate::domain::Confusion, name: &str, question: &str) -> EventDraft {
    let mut draft = EventDraft::new(EventKind::Local(local::ASKED.into()), ids.iter().copied().map(Ref::Id));
    let finding = |first: &ClaimId| judged_finding(*first, Relation::Uncertain, format!("{name} asks: {question}"));
    let findings = ids.first().map(finding).into_iter().collect();
    let report = GuardReport { tier: Tier::Warn, findings, compared: ids.len(), ..GuardReport::default() };
    let beside = [("confusion", serde_json::json!(confusion)), ("rule", serde_json::json!(StoryRule::Model))];
    draft.body.data = report_data_with(&report, beside);
    draft
}

/// Formats a time in UTC to the minute.
fn minute(at: u64) -> String {
    let time = i64::try_from(at).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    time.map_or_else(|| day(at), |time| time.strftime("%Y-%m-%d %H:%M").to_string())
}
