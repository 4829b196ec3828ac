//! Checks that the marks of stories and their cards are those that follow from the claims.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::{
    CheckReport, Reader, Result, StoryReader, WrittenMarks, log,
    project::{is_mark_shown, mark_members},
    story_pass::{StoryItem, find_marks},
};
use crate::domain::{CardId, derive::CardKind, text};

/// A mark without its strength: the number of its rule, and its claims in order.
type CheckedMark = (i64, Vec<i64>);

impl Reader {
    /// Finds the marks of claims again, without writing: of those with stored marks, and of the newest `most` claims.
    /// Reports marks and story cards that differ from the stored ones. If claims wait for the background pass, it adds
    /// a note instead and compares nothing.
    pub fn check_stories(&self, reader: &dyn StoryReader, most: usize, report: &mut CheckReport) -> Result<()> {
        self.snapshot(|this| {
            let db = &this.db;
            if this.story_waits(reader.today())? {
                let mut count = db.prepare(
                    "SELECT count(*) FROM (SELECT claim FROM story_backlog
                         UNION SELECT claim FROM story_due WHERE day < ?1)",
                )?;
                let waiting = count.query_row([reader.today()], |row| row.get(0))?;
                report.notes.push(format!(
                    "{} to be read; their cards were not checked: the daemon reads them in the background",
                    text::count(waiting, "claim of a story waits", "claims of stories wait")
                ));
                return Ok(());
            }
            let mut wrong: BTreeSet<CardId> = BTreeSet::new();
            let mut claims = db.prepare(
                "SELECT by FROM story_marks UNION SELECT n FROM (SELECT n FROM claims ORDER BY n DESC LIMIT ?1)",
            )?;
            let claims = claims.query_map([most], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
            for n in claims {
                let derived = derived_marks(db, reader, n)?;
                let stored = stored_marks(db, n)?;
                let both = derived.keys().chain(stored.keys());
                wrong.extend(both.filter(|card| derived.get(*card) != stored.get(*card)));
            }
            wrong.extend(wrongly_shown(db)?);
            for card in &wrong {
                report.problems.push(format!(
                    "story card {} differs from what the claims give: run `ergo doctor --rebuild`",
                    card.short()
                ));
            }
            Ok(())
        })
    }
}

/// Finds the marks of a claim again.
fn derived_marks(db: &Connection, reader: &dyn StoryReader, n: i64) -> Result<BTreeMap<CardId, CheckedMark>> {
    let item = StoryItem::load(db, reader, n)?;
    let marks = match item.and_then(|StoryItem { row, place }| Some((row, place?))) {
        Some((row, place)) => find_marks(db, reader, n, row, &place)?,
        None => WrittenMarks::default(),
    };
    let mut out = BTreeMap::new();
    for mark in marks.marks {
        let ids = mark.claims.iter().map(|member| Ok(log::load(db, *member)?.id)).collect::<Result<Vec<_>>>()?;
        out.insert(CardId::of_story(mark.confusion, &ids), (mark.rule.number(), mark.claims));
    }
    Ok(out)
}

/// Returns the stored marks of a claim.
fn stored_marks(db: &Connection, n: i64) -> Result<BTreeMap<CardId, CheckedMark>> {
    let mut read = db.prepare_cached("SELECT card, rule, member FROM story_marks WHERE by = ?1 ORDER BY card, ord")?;
    let mut rows = read.query([n])?;
    let mut out: BTreeMap<CardId, CheckedMark> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        out.entry(CardId(row.get(0)?)).or_insert((row.get(1)?, Vec::new())).1.push(row.get(2)?);
    }
    Ok(out)
}

/// Returns the story cards whose mark should not be shown, and those that are missing although their mark should be
/// shown.
fn wrongly_shown(db: &Connection) -> Result<Vec<CardId>> {
    let mut cards = db.prepare("SELECT card FROM story_marks UNION SELECT card FROM card_sources WHERE kind = ?1")?;
    let cards = cards.query_map([CardKind::Story as i64], |row| Ok(CardId(row.get(0)?)))?;
    let mut is_there = db.prepare("SELECT EXISTS (SELECT 1 FROM card_sources WHERE card = ?1 AND kind = ?2)")?;
    let mut wrong = Vec::new();
    for card in cards.collect::<rusqlite::Result<Vec<_>>>()? {
        let members = mark_members(db, card)?;
        let shown = !members.is_empty() && is_mark_shown(db, card, &members)?;
        let there: bool = is_there.query_row(params![card.0, CardKind::Story as i64], |row| row.get(0))?;
        if shown != there {
            wrong.push(card);
        }
    }
    Ok(wrong)
}
