//! Maintains the marks of stories and their cards. The background pass reads the story and writes its marks. This
//! module turns them into cards, applies what settles them, and records which claims the pass must read again after a
//! claim has changed.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, params};

use super::{Projector, phrase_key};
use crate::{
    domain::{
        CardId, ClaimId, Confusion, MarkAnswers, STORY_WINDOW, StoryRule,
        derive::{CardKind, is_local_kind, local, local_note},
        event::{EventKind, ResolveAct},
    },
    store::{
        Result, StoryPlace, WrittenMarks,
        log::{self, LoadedEvent, id_at},
    },
};

/// The numbers of a category and a rule.
pub(super) type CategoryAndRule = (i64, i64);

/// The row number of a scope and the numbers of a category and a rule: the sort of marks that answers are counted for.
pub(in crate::store) type MarkSort = (i64, i64, i64);

/// Returns the key in `story_words` of a scope's claims with a word.
pub(in crate::store) fn story_word(scope: i64, word: u64) -> i64 {
    phrase_key(scope, &format!("story {word:016x}"))
}

/// Returns the claims of a story card in order, with its category and rule, if its mark exists.
pub(super) fn mark_of_card(db: &Connection, card: CardId) -> Result<Option<(Vec<ClaimId>, CategoryAndRule)>> {
    let mut read = db.prepare_cached(
        "SELECT c.id, s.confusion, s.rule FROM story_marks s JOIN claims c ON c.n = s.member WHERE s.card = ?1 ORDER BY s.ord",
    )?;
    let rows = read.query_map([card.0], |row| Ok((id_at(row, 0)?, (row.get(1)?, row.get(2)?))))?;
    let rows = rows.collect::<rusqlite::Result<Vec<(ClaimId, CategoryAndRule)>>>()?;
    let Some((_, sort)) = rows.first().copied() else { return Ok(None) };
    Ok(Some((rows.into_iter().map(|(id, _)| id).collect(), sort)))
}

/// Returns category and rule if this event answers this story card.
pub(super) fn answered(db: &Connection, card: CardId, event: &LoadedEvent) -> Result<Option<CategoryAndRule>> {
    if !matches!(event.kind, EventKind::Resolve(_)) {
        return Ok(None);
    }
    let note = local_note(log::body(db, event.n)?.as_ref());
    let Some(confusion) = note.confusion.filter(|kind| CardId::of_story(*kind, &event.header.targets) == card) else {
        return Ok(None);
    };
    Ok(Some((confusion.number(), note.rule.unwrap_or(StoryRule::Contradiction).number())))
}

/// Returns category and rule if with this event a language model asks about claims.
pub(super) fn asked(db: &Connection, event: &LoadedEvent) -> Result<Option<CategoryAndRule>> {
    if !is_local_kind(&event.kind, local::ASKED) {
        return Ok(None);
    }
    let note = local_note(log::body(db, event.n)?.as_ref());
    Ok(note.confusion.map(|confusion| (confusion.number(), note.rule.unwrap_or(StoryRule::Model).number())))
}

/// Counts the answers of persons to the marks of one sort.
pub(in crate::store) fn story_answers(db: &Connection, (scope, confusion, rule): MarkSort) -> Result<MarkAnswers> {
    let mut read = db.prepare_cached(
        "SELECT coalesce(sum(dismissed = 1), 0), coalesce(sum(dismissed = 0), 0) FROM story_answers
         WHERE scope = ?1 AND confusion = ?2 AND rule = ?3",
    )?;
    Ok(read.query_row([scope, confusion, rule], |row| {
        Ok(MarkAnswers { dismissed: row.get(0)?, confirmed: row.get(1)? })
    })?)
}

/// Returns the row numbers of the claims of a mark, in order.
pub(in crate::store) fn mark_members(db: &Connection, card: CardId) -> Result<Vec<i64>> {
    let mut read = db.prepare_cached("SELECT member FROM story_marks WHERE card = ?1 ORDER BY ord")?;
    Ok(read.query_map([card.0], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Returns whether a mark is shown: no reversal includes it, no later claim settles it, and it is strong enough, given
/// what people dismissed in its scope.
pub(in crate::store) fn is_mark_shown(db: &Connection, card: CardId, members: &[i64]) -> Result<bool> {
    let mut read = db.prepare_cached(
        "SELECT c.scope, s.confusion, s.rule, s.strength FROM story_marks s JOIN claims c ON c.n = s.by
         WHERE s.card = ?1 AND s.ord = 0",
    )?;
    let (scope, confusion, rule, strength): (i64, i64, i64, f64) =
        read.query_row([card.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    if strength < f64::from(story_answers(db, (scope, confusion, rule))?.bar()) {
        return Ok(false);
    }
    let (Some(first), Some(last)) = (members.first(), members.last()) else { return Ok(false) };
    if members.len() < 3 {
        let mut read = db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM story_marks a JOIN story_marks b ON b.card = a.card
                JOIN story_marks c ON c.card = a.card AND c.ord = 2 WHERE a.member = ?1 AND b.member = ?2)",
        )?;
        if read.query_row([first, last], |row| row.get(0))? {
            return Ok(false);
        }
    }
    let mut read = db.prepare_cached("SELECT claim FROM story_links WHERE other = ?1 AND settles = 1")?;
    let mut by: Option<BTreeSet<i64>> = None;
    for member in members {
        let settling = read.query_map([member], |row| row.get(0))?.collect::<rusqlite::Result<BTreeSet<i64>>>()?;
        by = Some(by.map_or_else(|| settling.clone(), |known| known.intersection(&settling).copied().collect()));
    }
    Ok(by.is_none_or(|by| by.is_empty()))
}

impl Projector<'_> {
    /// Puts the changed claims on the backlog of the background pass, and shows or hides the marks whose required
    /// strength changed.
    pub(super) fn update_story(&mut self) -> Result<()> {
        let dirty = &self.dirty;
        let mut note = self.db.prepare_cached("INSERT OR REPLACE INTO story_backlog (claim, stage) VALUES (?1, 0)")?;
        for n in dirty.status_changed.iter().chain(&dirty.texts).chain(&dirty.state_changed).collect::<BTreeSet<_>>() {
            note.execute([n])?;
        }
        drop(note);
        for (scope, confusion, rule) in std::mem::take(&mut self.dirty.answers) {
            let mut read = self.db.prepare_cached(
                "SELECT DISTINCT s.card FROM story_marks s JOIN claims c ON c.n = s.by
                 WHERE s.confusion = ?2 AND s.rule = ?3 AND c.scope = ?1",
            )?;
            let cards = read.query_map([scope, confusion, rule], |row| Ok(CardId(row.get(0)?)))?;
            for card in cards.collect::<rusqlite::Result<Vec<_>>>()? {
                self.show_mark(card)?;
            }
        }
        Ok(())
    }

    /// Stores whether an event that settles a story card dismisses it. Events of agents do not count, because the cards
    /// question their claims.
    pub(super) fn mark_answer(&mut self, event: &LoadedEvent) -> Result<()> {
        self.drop_answer(event)?;
        if !event.effective || event.header.agent.is_some() {
            return Ok(());
        }
        let EventKind::Resolve(act) = event.kind else { return Ok(()) };
        let note = local_note(log::body(self.db, event.n)?.as_ref());
        if let (Some(confusion), Some(rule)) = (note.confusion, note.rule) {
            // To confirm an old claim is to say that it is not stale.
            let dismissed = act == ResolveAct::Dismiss && (confusion == Confusion::Stale || note.act.is_none());
            self.db
                .prepare_cached(
                    "INSERT INTO story_answers (event, scope, confusion, rule, dismissed) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(params![event.n, event.scope, confusion.number(), rule.number(), dismissed])?;
            self.dirty.answers.insert((event.scope, confusion.number(), rule.number()));
        }
        Ok(())
    }

    /// Deletes the answer of an event.
    pub(super) fn drop_answer(&mut self, event: &LoadedEvent) -> Result<()> {
        let mut drop =
            self.db.prepare_cached("DELETE FROM story_answers WHERE event = ?1 RETURNING confusion, rule")?;
        let sort = drop.query_row([event.n], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        self.dirty.answers.extend(sort.map(|(confusion, rule)| (event.scope, confusion, rule)));
        Ok(())
    }

    /// Places a claim in the story or removes it, and puts the later claims that may be read with it on the backlog.
    pub(in crate::store) fn place_in_story(&mut self, n: i64, at: Option<&StoryPlace>) -> Result<()> {
        let mut read = self.db.prepare_cached("SELECT place, words FROM story_claims WHERE claim = ?1")?;
        let old: Option<(Vec<u8>, Vec<u8>)> = read.query_row([n], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        drop(read);
        let new = at.map(|at| (at.place.clone(), at.words.iter().flat_map(|word| word.to_be_bytes()).collect()));
        if old != new {
            if let Some((place, words)) = &old {
                self.queue_later_claims(words, place)?;
                let mut delete = self.db.prepare_cached("DELETE FROM story_words WHERE word = ?1 AND place = ?2")?;
                for word in split_words(words) {
                    delete.execute(params![word, place])?;
                }
                self.db.prepare_cached("DELETE FROM story_claims WHERE claim = ?1")?.execute([n])?;
            }
            if let Some((place, words)) = &new {
                self.db
                    .prepare_cached(
                        "INSERT INTO story_claims (claim, scope, place, words) SELECT n, scope, ?2, ?3 FROM claims WHERE n = ?1",
                    )?
                    .execute(params![n, place, words])?;
                let mut insert = self
                    .db
                    .prepare_cached("INSERT OR REPLACE INTO story_words (word, place, claim) VALUES (?1, ?2, ?3)")?;
                for word in split_words(words) {
                    insert.execute(params![word, place, n])?;
                }
                self.queue_later_claims(words, place)?;
            }
        }
        self.db
            .prepare_cached(
                "INSERT INTO story_backlog (claim, stage) SELECT claim, 1 FROM story_links WHERE other = ?1
                 ON CONFLICT DO NOTHING",
            )?
            .execute([n])?;
        if at.is_some() {
            self.db
                .prepare_cached("INSERT OR REPLACE INTO story_backlog (claim, stage) VALUES (?1, 1)")?
                .execute([n])?;
        } else {
            self.write_marks(n, &WrittenMarks::default())?;
        }
        self.db.prepare_cached("DELETE FROM story_due WHERE claim = ?1")?.execute([n])?;
        if let Some(day) = at.and_then(|at| at.due.as_deref()) {
            self.db.prepare_cached("INSERT INTO story_due (claim, day) VALUES (?1, ?2)")?.execute(params![n, day])?;
        }
        Ok(())
    }

    /// Puts on the backlog the claims whose window of earlier claims, for one of these words, includes a place.
    fn queue_later_claims(&self, words: &[u8], place: &[u8]) -> Result<()> {
        let mut note = self.db.prepare_cached(
            "INSERT INTO story_backlog (claim, stage)
             SELECT claim, 1 FROM (SELECT claim FROM story_words WHERE word = ?1 AND place > ?2 ORDER BY place LIMIT ?3)
             WHERE true ON CONFLICT DO NOTHING",
        )?;
        for word in split_words(words) {
            note.execute(params![word, place, STORY_WINDOW])?;
        }
        Ok(())
    }

    /// Replaces the marks and links of a claim, and takes the claim off the backlog.
    pub(in crate::store) fn write_marks(&mut self, n: i64, new: &WrittenMarks) -> Result<()> {
        let mut concerned: BTreeSet<i64> = BTreeSet::new();
        let mut cards: BTreeSet<CardId> = BTreeSet::new();
        let mut read = self.db.prepare_cached("SELECT other FROM story_links WHERE claim = ?1 AND settles = 1")?;
        concerned.extend(read.query_map([n], |row| row.get::<_, i64>(0))?.collect::<rusqlite::Result<Vec<_>>>()?);
        let mut read = self.db.prepare_cached("SELECT DISTINCT card FROM story_marks WHERE by = ?1")?;
        cards.extend(read.query_map([n], |row| Ok(CardId(row.get(0)?)))?.collect::<rusqlite::Result<Vec<_>>>()?);
        for card in &cards {
            concerned.extend(mark_members(self.db, *card)?);
        }
        drop(read);
        self.db.prepare_cached("DELETE FROM story_links WHERE claim = ?1")?.execute([n])?;
        self.db.prepare_cached("DELETE FROM story_marks WHERE by = ?1")?.execute([n])?;
        let mut link =
            self.db.prepare_cached("INSERT OR IGNORE INTO story_links (claim, other, settles) VALUES (?1, ?2, ?3)")?;
        for (others, settles) in [(&new.watches, false), (&new.settles, true)] {
            for other in others {
                link.execute(params![n, other, settles])?;
            }
        }
        concerned.extend(&new.settles);
        for mark in &new.marks {
            let mut ids = Vec::with_capacity(mark.claims.len());
            for member in &mark.claims {
                ids.push(log::load(self.db, *member)?.id);
            }
            let card = CardId::of_story(mark.confusion, &ids);
            let mut write = self.db.prepare_cached(
                "INSERT OR REPLACE INTO story_marks (card, ord, member, by, confusion, rule, strength)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?;
            let (confusion, rule) = (mark.confusion.number(), mark.rule.number());
            for (ord, member) in mark.claims.iter().enumerate() {
                write.execute(params![card.0, ord, member, n, confusion, rule, f64::from(mark.strength)])?;
            }
            cards.insert(card);
            concerned.extend(&mark.claims);
        }
        // Hide marks that a reversal includes or that this claim settles, and show others again.
        let mut read = self.db.prepare_cached("SELECT DISTINCT card FROM story_marks WHERE member = ?1")?;
        for member in concerned {
            cards.extend(
                read.query_map([member], |row| Ok(CardId(row.get(0)?)))?.collect::<rusqlite::Result<Vec<_>>>()?,
            );
        }
        drop(read);
        for card in cards {
            self.show_mark(card)?;
        }
        self.db.prepare_cached("DELETE FROM story_backlog WHERE claim = ?1")?.execute([n])?;
        Ok(())
    }

    /// Adds or removes the source of a mark's card, according to whether the mark is shown.
    fn show_mark(&mut self, card: CardId) -> Result<()> {
        let members = mark_members(self.db, card)?;
        let shown = !members.is_empty() && is_mark_shown(self.db, card, &members)?;
        let kind = CardKind::Story as i64;
        let mut read =
            self.db.prepare_cached("SELECT EXISTS (SELECT 1 FROM card_sources WHERE card = ?1 AND kind = ?2)")?;
        let was: bool = read.query_row(params![card.0, kind], |row| row.get(0))?;
        drop(read);
        if was == shown {
            return Ok(());
        }
        if shown {
            let mut ids = BTreeSet::new();
            for member in &members {
                ids.insert(log::load(self.db, *member)?.id);
            }
            let Some(src) = ids.first() else { return Ok(()) };
            self.db
                .prepare_cached("INSERT OR IGNORE INTO card_sources (card, kind, src, open) VALUES (?1, ?2, ?3, 1)")?
                .execute(params![card.0, kind, src.0])?;
            self.dirty.members.entry(card).or_default().extend(ids);
        } else {
            self.db
                .prepare_cached("DELETE FROM card_sources WHERE card = ?1 AND kind = ?2")?
                .execute(params![card.0, kind])?;
        }
        self.dirty.cards.insert(card);
        Ok(())
    }

    /// Removes a claim that leaves the log from the story.
    pub(super) fn drop_from_story(&mut self, n: i64) -> Result<()> {
        let mut read = self.db.prepare_cached("SELECT DISTINCT card, by FROM story_marks WHERE member = ?1")?;
        let rows = read.query_map([n], |row| Ok((CardId(row.get(0)?), row.get::<_, i64>(1)?)))?;
        let rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        drop(read);
        self.place_in_story(n, None)?;
        for (card, by) in rows {
            self.db.prepare_cached("DELETE FROM story_marks WHERE card = ?1")?.execute([card.0])?;
            self.show_mark(card)?;
            if by != n {
                self.db
                    .prepare_cached("INSERT INTO story_backlog (claim, stage) VALUES (?1, 1) ON CONFLICT DO NOTHING")?
                    .execute([by])?;
            }
        }
        self.db.prepare_cached("DELETE FROM story_links WHERE claim = ?1 OR other = ?1")?.execute([n])?;
        self.db.prepare_cached("DELETE FROM story_backlog WHERE claim = ?1")?.execute([n])?;
        Ok(())
    }
}

/// Splits the words of a claim as `story_claims` stores them.
fn split_words(words: &[u8]) -> impl Iterator<Item = i64> + '_ {
    words.chunks_exact(8).map(|bytes| bytes.iter().fold(0, |word, byte| word << 8 | i64::from(*byte)))
}
