//! The background pass over the stories: after each write and each sync, the changed claims are read beside the earlier
//! ones that have most in common with them, and what would confuse a newcomer gets a card.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError, TryLockError},
    time::{Duration, Instant},
};

use super::{Engine, guard_result::normed_claim};
use crate::{
    api::{ApiError, Change, ErrorCode},
    domain::{ClaimId, Status, ago::day},
    guard::Guard,
    store::{
        CheckReport, ClaimRow, Reader, StoreError, StoreProgress, StoryNeighbour, StoryPlace, StoryReader, WrittenMark,
        WrittenMarks,
    },
    story::{self, ClaimStanding, StoryClaim, StoryText},
};

/// Claims that are read in one transaction; only one while another write is in progress.
const CLAIMS_PER_TRANSACTION: usize = 4;

/// How long a request for a story first reads the backlog, before it is answered with what was read.
const CATCH_UP_TIME: Duration = Duration::from_millis(200);

/// How long an audit first reads the backlog. Only an import of tens of thousands of claims takes longer.
const AUDIT_CATCH_UP_TIME: Duration = Duration::from_mins(2);

/// The greatest number of cached texts.
const MAX_TEXTS: usize = 2_048;

/// Cache of parsed texts of claims, which do not change.
#[derive(Debug, Default)]
pub(super) struct StoryTexts {
    kept: Mutex<KeptTexts>,
}

/// Texts in two generations: a text that is not used while the newer generation fills up is dropped.
#[derive(Debug, Default)]
struct KeptTexts {
    newer: HashMap<ClaimId, StoryText>,
    older: HashMap<ClaimId, StoryText>,
}

impl KeptTexts {
    fn get(&mut self, id: &ClaimId) -> Option<StoryText> {
        if let Some(text) = self.newer.get(id) {
            return Some(text.clone());
        }
        let text = self.older.remove(id)?;
        self.insert(*id, text.clone());
        Some(text)
    }

    fn insert(&mut self, id: ClaimId, text: StoryText) {
        if self.newer.len() >= MAX_TEXTS / 2 {
            self.older = std::mem::take(&mut self.newer);
        }
        self.newer.insert(id, text);
    }
}

impl StoryTexts {
    pub(super) fn text(&self, row: &ClaimRow) -> StoryText {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = kept.get(&row.id) {
            return text;
        }
        let text = StoryText::new(normed_claim(row), row.reason.as_deref());
        kept.insert(row.id, text.clone());
        text
    }

    /// Clears the cache, because it may contain a redacted text.
    pub(super) fn forget(&self) {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = KeptTexts::default();
    }
}

impl Engine {
    /// Reads a few claims of the stories that changed. Returns whether there were any.
    pub fn read_stories(&self) -> Result<bool, ApiError> {
        if !self.stories_wait()? {
            return Ok(false);
        }
        let today = day((self.config.clock)());
        let pass = StoryPass { guard: &self.guard, texts: &self.story_texts, today: &today };
        let _reading = self.timers.story.start();
        let others_write = matches!(self.writer.try_lock(), Err(TryLockError::WouldBlock));
        let most = if others_write { 1 } else { CLAIMS_PER_TRANSACTION };
        let step = self.writer().read_story(&pass, most)?;
        for scope in step.scopes {
            self.tell(Change {
                scope: Some(scope),
                act: "story".to_owned(),
                summary: "The questions of the story changed".to_owned(),
                cards: step.cards.clone(),
                ..Change::default()
            });
        }
        Ok(true)
    }
}

impl Engine {
    /// Whether claims of the stories wait to be read.
    pub fn stories_wait(&self) -> Result<bool, ApiError> {
        Ok(self.readers.lend().story_waits(&day((self.config.clock)()))?)
    }

    /// Reads the backlog for a moment, so that a story requested right after a write is complete, unless much was
    /// written.
    pub(super) fn catch_up_with_stories(&self) -> Result<(), ApiError> {
        let begun = Instant::now();
        while begun.elapsed() < CATCH_UP_TIME && self.read_stories()? {}
        Ok(())
    }

    /// Checks the store, and the cards of stories after reading the backlog.
    pub(super) fn checked(&self, progress: &mut dyn StoreProgress) -> Result<CheckReport, ApiError> {
        match self.catch_up_with_stories() {
            // The check says what is damaged.
            Err(error) if error.code == ErrorCode::Damaged => {}
            other => other?,
        }
        let reader = self.readers.lend();
        let mut report = reader.check_shown(progress)?;
        check_stories(&reader, &self.guard, (self.config.clock)(), &mut report)?;
        Ok(report)
    }

    /// Reads the whole backlog, for an audit.
    pub(super) fn finish_stories(&self) -> Result<(), ApiError> {
        let begun = Instant::now();
        while begun.elapsed() < AUDIT_CATCH_UP_TIME && self.read_stories()? {}
        Ok(())
    }
}

/// The number of newest claims that are read again to check the cards, besides those with a mark: seconds of work.
const MAX_CHECKED: usize = 2_000;

/// Reads the stories again at the time `now`, in milliseconds since the Unix epoch, and reports cards that differ from
/// those in the store. If damage was found before, an unreadable story is no error.
pub fn check_stories(reader: &Reader, guard: &Guard, now: u64, report: &mut CheckReport) -> Result<(), StoreError> {
    let pass = StoryPass { guard, texts: &StoryTexts::default(), today: &day(now) };
    match reader.check_stories(&pass, MAX_CHECKED, report) {
        Err(error) if error.is_damage() && !report.problems.is_empty() => Ok(()),
        other => other,
    }
}

/// Returns a claim in the form that the rules of stories read.
pub(super) fn story_claim(text: StoryText, row: &ClaimRow, retracted: Option<u64>, today: &str) -> StoryClaim {
    let standing = ClaimStanding {
        in_force: row.status == Status::Active && !row.flags.undone && first_day_after(row, today).is_none(),
        expired: row.expired_on(today),
        history: row.expired_on(&day(row.clock.wall)),
        retracted,
        replaced_by: row.replaced_by.clone(),
    };
    StoryClaim { written: happened(row), recorded: row.clock.wall, who: row.who.clone(), standing, text }
}

/// Returns when the claim takes place in the story, in milliseconds since the Unix epoch.
pub(super) fn happened(row: &ClaimRow) -> u64 {
    row.qualifiers.happened(row.clock.wall)
}

/// Returns the first day of a claim, `YYYY-MM-DD`, if it is later than `today`.
fn first_day_after<'a>(row: &'a ClaimRow, today: &str) -> Option<&'a str> {
    row.qualifiers.valid_from.as_deref().filter(|first| *first > today)
}

/// Returns the last day, `YYYY-MM-DD`, on which a claim's standing is as on `today`: the day before its first one, or
/// its last one. `None` if no day changes it.
fn due(row: &ClaimRow, today: &str) -> Option<String> {
    match first_day_after(row, today) {
        Some(first) => Some(first.parse::<jiff::civil::Date>().ok()?.yesterday().ok()?.to_string()),
        None => row.qualifiers.valid_until.clone().filter(|until| until.as_str() >= today),
    }
}

/// The engine's part in reading a claim, which the store calls.
pub(super) struct StoryPass<'a> {
    pub(super) guard: &'a Guard,
    pub(super) texts: &'a StoryTexts,
    pub(super) today: &'a str,
}

impl StoryPass<'_> {
    fn claim(&self, neighbour: &StoryNeighbour) -> StoryClaim {
        story_claim(self.texts.text(&neighbour.row), &neighbour.row, neighbour.retracted, self.today)
    }
}

impl StoryReader for StoryPass<'_> {
    fn today(&self) -> &str {
        self.today
    }

    fn place(&self, row: &ClaimRow) -> Option<StoryPlace> {
        if row.status == Status::Refused || row.flags.redacted || row.flags.undone || row.statement.is_empty() {
            return None;
        }
        let words = self.texts.text(row).words().into_iter().map(u64::cast_signed).collect();
        let place = story::place(happened(row), row.clock, &row.id).to_vec();
        Some(StoryPlace { place, words, due: due(row, self.today) })
    }

    fn select(&self, by_word: &[Vec<(Vec<u8>, i64)>]) -> Vec<i64> {
        let by_word: Vec<Vec<(&[u8], i64)>> = by_word
            .iter()
            .map(|claims| claims.iter().map(|(place, claim)| (place.as_slice(), *claim)).collect())
            .collect();
        story::select(&by_word).into_iter().map(|(_, claim)| claim).collect()
    }

    fn read(&self, earlier: &[StoryNeighbour], claim: &StoryNeighbour, counts: &[usize]) -> WrittenMarks {
        let claims: Vec<StoryClaim> = earlier.iter().map(|neighbour| self.claim(neighbour)).collect();
        let claim = self.claim(claim);
        let counts: BTreeMap<u64, usize> = claim.text.words().into_iter().zip(counts.iter().copied()).collect();
        let found = story::read_claim(self.guard, &claims.iter().collect::<Vec<_>>(), &claim, &counts);
        let numbers = |at: Vec<usize>| at.into_iter().filter_map(|at| i64::try_from(at).ok()).collect::<Vec<i64>>();
        let mark = |mark: story::Mark| WrittenMark {
            confusion: mark.confusion,
            rule: mark.rule,
            strength: mark.strength,
            claims: numbers(mark.claims),
        };
        WrittenMarks {
            marks: found.marks.into_iter().map(mark).collect(),
            settles: numbers(found.settles),
            watches: numbers(found.watches),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::EventId;

    fn id(number: usize) -> ClaimId {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        EventId(bytes)
    }

    fn text() -> StoryText {
        StoryText::new(crate::guard::NormedClaim::default(), None)
    }

    fn is_kept(kept: &KeptTexts, number: usize) -> bool {
        kept.newer.contains_key(&id(number)) || kept.older.contains_key(&id(number))
    }

    #[test]
    fn the_texts_that_were_not_used_for_longest_leave_at_the_bound() {
        let mut kept = KeptTexts::default();
        for number in 0..MAX_TEXTS {
            kept.insert(id(number), text());
        }
        assert!((0..MAX_TEXTS).all(|number| is_kept(&kept, number)), "all fit");
        kept.insert(id(MAX_TEXTS), text());
        assert!(!is_kept(&kept, 0) && !is_kept(&kept, MAX_TEXTS / 2 - 1), "the older half left");
        assert!(is_kept(&kept, MAX_TEXTS / 2) && is_kept(&kept, MAX_TEXTS), "the newer half stays");
        assert!(kept.newer.len() + kept.older.len() <= MAX_TEXTS);
        assert!(kept.get(&id(0)).is_none() && kept.get(&id(MAX_TEXTS)).is_some());
    }

    #[test]
    fn a_text_in_use_stays_however_many_are_added() {
        let mut kept = KeptTexts::default();
        kept.insert(id(0), text());
        for number in 1..3 * MAX_TEXTS {
            kept.insert(id(number), text());
            // Used once while half of the texts are replaced, which is as seldom as keeps it.
            if number % (MAX_TEXTS / 2) == 0 {
                assert!(kept.get(&id(0)).is_some(), "it is used after {number} others");
            }
            assert!(kept.newer.len() + kept.older.len() <= MAX_TEXTS);
        }
        assert!(is_kept(&kept, 0) && !is_kept(&kept, 1));
    }
}
