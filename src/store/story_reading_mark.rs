//! The progress of a language model that reads the stories, and the claims that it reads. The progress of each scope is
//! stored as settings in the store's file, so that the reading continues after a restart.

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    Reader, Result, Store, StoryNeighbour, StoryReader, commit,
    log::{self, id_at},
    open,
    project::{story_answers, story_word},
    read::bare_claims_by_number,
    story_pass::neighbour,
};
use crate::domain::{ClaimId, Confusion, MarkAnswers, STORY_WINDOW, Scope, StoryRule};

/// Setting: the claims of all scopes up to this row number were read.
const ALL_READ_SETTING: &str = "story.model.read";

/// A scope with claims that no language model has read in their story.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadStory {
    pub scope: Scope,
    /// The unread active claims of the scope, newest first; not all if there are many.
    pub claims: Vec<ClaimId>,
    /// The row number of the newest claim, for [`Store::note_story_read`].
    pub last: i64,
}

/// A page of consecutive claims of a story.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryPage {
    /// Row numbers, in the order of the story.
    pub claims: Vec<i64>,
    /// The number of claims from the first of these to the end of the story.
    pub left: usize,
}

/// A claim of a story without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoryOutlineRow {
    /// The row number.
    pub n: i64,
    pub id: ClaimId,
    /// The time at which the story places the claim, in milliseconds since the Unix epoch.
    pub written: u64,
    /// The number of cards with the claim, open or not.
    pub conflicts: u32,
}

fn setting_name(kind: &str, scope: i64) -> String {
    format!("story.model.{kind}.{scope}")
}

/// Returns the scopes with unread claims, each with its newest claim and the one up to which it was read; the scope
/// with the newest claim first.
fn unread(db: &Connection) -> Result<Vec<(i64, i64, i64)>> {
    let all: i64 = open::setting(db, ALL_READ_SETTING)?.unwrap_or(0);
    let mut read = db.prepare_cached(
        "SELECT scope, max(claim) FROM story_claims NOT INDEXED WHERE claim > ?1 GROUP BY scope ORDER BY 2 DESC",
    )?;
    let scopes = read.query_map([all], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut found = Vec::new();
    for (scope, last) in scopes.collect::<rusqlite::Result<Vec<(i64, i64)>>>()? {
        let until: i64 = open::setting(db, &setting_name("read", scope))?.unwrap_or(0).max(all);
        if last > until {
            found.push((scope, last, until));
        }
    }
    Ok(found)
}

impl Store {
    /// Records that a language model has read a scope up to the claim with this row number.
    pub fn note_story_read(&mut self, scope: &Scope, last: i64) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        let Some(scope) = log::known_scope(&tx, scope)? else { return Ok(()) };
        open::set(&tx, &setting_name("read", scope), last)?;
        if unread(&tx)?.is_empty() {
            let last: i64 = tx.query_row("SELECT coalesce(max(claim), 0) FROM story_claims", [], |row| row.get(0))?;
            open::set(&tx, ALL_READ_SETTING, last)?;
        }
        tx.commit()
    }

    /// Records the claim with which the reading of a whole scope continues; `None` if it is finished.
    pub fn note_story_position(&mut self, scope: &Scope, next: Option<i64>) -> Result<()> {
        let tx = commit::begin(&mut self.reader)?;
        let Some(scope) = log::known_scope(&tx, scope)? else { return Ok(()) };
        open::set(&tx, &setting_name("next", scope), next.unwrap_or(0))?;
        tx.commit()
    }
}

impl Reader {
    /// Returns the scope with the newest claim that no language model has read, and at most `most` of its unread
    /// claims; `None` if all were read.
    pub fn unread_story(&self, most: usize) -> Result<Option<UnreadStory>> {
        self.snapshot(|reader| {
            let Some((scope, last, until)) = unread(&reader.db)?.into_iter().next() else { return Ok(None) };
            let mut read = reader.db.prepare_cached(
                "SELECT c.id FROM story_claims p JOIN claims c ON c.n = p.claim
                 WHERE p.claim > ?2 AND c.scope = ?1 AND c.status = 0 ORDER BY p.claim DESC LIMIT ?3",
            )?;
            let claims = read.query_map(params![scope, until, most], |row| id_at(row, 0))?;
            let claims = claims.collect::<rusqlite::Result<_>>()?;
            Ok(Some(UnreadStory { scope: log::scope_by_number(&reader.db, scope)?, claims, last }))
        })
    }

    /// Counts the answers of persons to the marks of one category and rule in a scope.
    pub fn story_answers(&self, scope: &Scope, confusion: Confusion, rule: StoryRule) -> Result<MarkAnswers> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(MarkAnswers::default()) };
        story_answers(&self.db, (scope, confusion.number(), rule.number()))
    }

    /// Returns the row number of the claim with which the reading of a whole scope continues, if one is in progress.
    pub fn story_position(&self, scope: &Scope) -> Result<Option<i64>> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(None) };
        Ok(open::setting(&self.db, &setting_name("next", scope))?.filter(|next| *next > 0))
    }

    /// Returns the last `most` claims of a story, in order.
    pub fn story_outline(&self, scope: &Scope, most: usize) -> Result<Vec<StoryOutlineRow>> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(Vec::new()) };
        let mut read = self.db.prepare_cached(
            "SELECT c.n, c.id, p.place, (SELECT count(*) FROM card_members m WHERE m.member = c.id)
             FROM story_claims p JOIN claims c ON c.n = p.claim WHERE p.scope = ?1 ORDER BY p.place DESC LIMIT ?2",
        )?;
        let rows = read.query_map(params![scope, most], |row| {
            let place: Vec<u8> = row.get(2)?;
            let written = place.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            Ok(StoryOutlineRow { n: row.get(0)?, id: id_at(row, 1)?, written, conflicts: row.get(3)? })
        })?;
        let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        rows.reverse();
        Ok(rows)
    }

    /// Returns at most `most` claims of a story, beginning with the claim `from`, or with the first one if `from` is
    /// `None` or no longer part of the story.
    pub fn story_page(&self, scope: &Scope, from: Option<i64>, most: usize) -> Result<StoryPage> {
        self.snapshot(|reader| {
            let Some(scope) = log::known_scope(&reader.db, scope)? else { return Ok(StoryPage::default()) };
            let place = "SELECT place FROM story_claims WHERE claim = ?1 AND scope = ?2";
            let place: Option<Vec<u8>> =
                reader.db.prepare_cached(place)?.query_row(params![from, scope], |row| row.get(0)).optional()?;
            let place = place.unwrap_or_default();
            let mut count =
                reader.db.prepare_cached("SELECT count(*) FROM story_claims WHERE scope = ?1 AND place >= ?2")?;
            let mut read = reader.db.prepare_cached(
                "SELECT claim FROM story_claims WHERE scope = ?1 AND place >= ?2 ORDER BY place LIMIT ?3",
            )?;
            let claims = read.query_map(params![scope, place, most], |row| row.get(0))?;
            let claims = claims.collect::<rusqlite::Result<_>>()?;
            Ok(StoryPage { claims, left: count.query_row(params![scope, place], |row| row.get(0))? })
        })
    }

    /// Returns claims of a story by their row numbers, in that order.
    pub fn story_claims(&self, numbers: &[i64]) -> Result<Vec<StoryNeighbour>> {
        self.snapshot(|reader| {
            let rows = bare_claims_by_number(&reader.db, numbers.iter().copied())?;
            rows.into_iter().zip(numbers).map(|(row, n)| neighbour(&reader.db, *n, row)).collect()
        })
    }

    /// Returns the row numbers of the claims, earlier or later, that share most words with a claim.
    pub fn story_related(&self, reader: &dyn StoryReader, claim: &ClaimId) -> Result<Vec<i64>> {
        self.snapshot(|this| {
            let known = "SELECT n, scope FROM claims WHERE id = ?1";
            let known: Option<(i64, i64)> =
                this.db.prepare_cached(known)?.query_row([claim.0], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
            let Some((n, scope)) = known else { return Ok(Vec::new()) };
            let row = bare_claims_by_number(&this.db, [n])?.into_iter().next();
            let Some(place) = row.and_then(|row| reader.place(&row)) else { return Ok(Vec::new()) };
            let mut last = this
                .db
                .prepare_cached("SELECT place, claim FROM story_words WHERE word = ?1 ORDER BY place DESC LIMIT ?2")?;
            let mut by_word = Vec::with_capacity(place.words.len());
            for word in place.words {
                let word = story_word(scope, word.cast_unsigned());
                let rows = last.query_map(params![word, STORY_WINDOW], |row| Ok((row.get(0)?, row.get(1)?)))?;
                by_word.push(rows.collect::<rusqlite::Result<Vec<(Vec<u8>, i64)>>>()?);
            }
            Ok(reader.select(&by_word))
        })
    }
}
