//! The background pass over the stories: places changed claims in the story of their scope, and reads each again
//! together with the claims that share most words with it. The caller provides the [`StoryReader`]; the store knows no
//! rules.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    ClaimRow, Reader, Result, Store, commit, log, open,
    project::{Projector, story_word},
    read::bare_claims_by_number,
};
use crate::domain::{CardId, ClaimId, Confusion, STORY_WINDOW, Scope, StoryRule, derive::CardKind, event::EventKind};

/// The number of claims that can be placed in the time of one reading: after an import, a write waits no longer for
/// placements than for readings.
const PLACEMENTS_PER_READING: usize = 16;

/// The setting with the version of the rules by which the stories were read.
const VERSION_SETTING: &str = "story.version";

/// The position of a claim in the story of its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryPlace {
    /// Bytes whose order is that of the story.
    pub place: Vec<u8>,
    /// The words by which the claim is found. A [`StoryReader`] returns the story's own; the store replaces them by
    /// keys for the scope.
    pub words: Vec<i64>,
    /// The last day (`YYYY-MM-DD`) on which the state of the claim is the present one; it is read again after that day.
    pub due: Option<String>,
}

/// A claim as a [`StoryReader`] gets it.
#[derive(Clone, Debug)]
pub struct StoryNeighbour {
    /// The claim with the claims that replaced it; its other relations are empty.
    pub row: ClaimRow,
    /// When the claim was retracted, in milliseconds since the Unix epoch, if that retraction is in force.
    pub retracted: Option<u64>,
}

/// A mark to be stored: a reversal, an ambiguity or a stale claim that the rules found.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenMark {
    pub confusion: Confusion,
    /// The rule that found it.
    pub rule: StoryRule,
    /// From 0 to 1.
    pub strength: f32,
    /// The claims in the order of the story: from a [`StoryReader`] as indexes into the claims that it read, in the
    /// store as row numbers.
    pub claims: Vec<i64>,
}

/// The marks that a claim completes, and the earlier claims that matter to marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenMarks {
    pub marks: Vec<WrittenMark>,
    /// The earlier claims whose ambiguity this claim settles.
    pub settles: Vec<i64>,
    /// The earlier claims whose state decides whether the marks exist.
    pub watches: Vec<i64>,
}

/// Finds the marks of claims for the background pass.
pub trait StoryReader {
    /// Returns the present day, `YYYY-MM-DD`.
    fn today(&self) -> &str;

    /// Returns the position of a claim in its story; `None` if the story leaves it out. The words are the story's own,
    /// as the bits of unsigned numbers.
    fn place(&self, row: &ClaimRow) -> Option<StoryPlace>;

    /// Selects the claims to read together with a claim, in order, from the lists of claims that share each of its
    /// words.
    fn select(&self, by_word: &[Vec<(Vec<u8>, i64)>]) -> Vec<i64>;

    /// Returns the marks of a claim. `counts`: how many of the earlier claims that were looked up have each of its
    /// words, in the order of [`StoryReader::place`]. The result names claims by their index in `earlier`; the next
    /// index is the claim itself.
    fn read(&self, earlier: &[StoryNeighbour], claim: &StoryNeighbour, counts: &[usize]) -> WrittenMarks;
}

/// The result of one step of the pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryStep {
    /// Cards that were opened or changed.
    pub cards: Vec<CardId>,
    /// The scopes of these cards.
    pub scopes: Vec<Scope>,
}

/// A mark of a story and whether its card is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryMarkRow {
    pub card: CardId,
    pub confusion: Confusion,
    /// The rule that found it.
    pub rule: StoryRule,
    /// In the order of the story.
    pub claims: Vec<ClaimId>,
    /// Whether the card is open.
    pub open: bool,
}

impl Store {
    /// Puts every claim on the backlog if the stories were read by another version of the rules.
    pub fn start_story(&mut self, version: u32) -> Result<()> {
        if open::setting::<u32>(&self.reader.db, VERSION_SETTING)? == Some(version) {
            return Ok(());
        }
        let tx = commit::begin(&mut self.reader)?;
        tx.execute("INSERT OR REPLACE INTO story_backlog (claim, stage) SELECT n, 0 FROM claims", [])?;
        open::set(&tx, VERSION_SETTING, version)?;
        tx.commit()?;
        Ok(())
    }

    /// Places claims of the backlog, newest first, then reads up to `max_readings` of them. [`PLACEMENTS_PER_READING`]
    /// placements count as one reading.
    pub fn read_story(&mut self, reader: &dyn StoryReader, max_readings: usize) -> Result<StoryStep> {
        let mut step = StoryStep::default();
        if !self.reader.story_waits(reader.today())? {
            return Ok(step);
        }
        let tx = commit::begin(&mut self.reader)?;
        tx.prepare_cached(
            // Stage 0: the claims that watch it are read again, too.
            "INSERT OR REPLACE INTO story_backlog (claim, stage) SELECT claim, 0 FROM story_due WHERE day < ?1",
        )?
        .execute([reader.today()])?;
        tx.prepare_cached("DELETE FROM story_due WHERE day < ?1")?.execute([reader.today()])?;
        let mut projector = Projector::new(&tx, &*self.check)?;
        let mut budget = max_readings.saturating_mul(PLACEMENTS_PER_READING);
        while budget > 0 {
            let mut next =
                tx.prepare_cached("SELECT claim, stage FROM story_backlog ORDER BY stage, claim DESC LIMIT 1")?;
            let next = next.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))).optional()?;
            let Some((n, stage)) = next else { break };
            let Some(StoryItem { row, place }) = StoryItem::load(&tx, reader, n)? else { break };
            if stage == 0 {
                projector.place_in_story(n, place.as_ref())?;
                budget -= 1;
            } else {
                let marks = match &place {
                    Some(place) => find_marks(&tx, reader, n, row, place)?,
                    None => WrittenMarks::default(),
                };
                projector.write_marks(n, &marks)?;
                budget = budget.saturating_sub(PLACEMENTS_PER_READING);
            }
        }
        step.cards = projector.finish()?.cards;
        for card in &step.cards {
            let mut read = tx.prepare_cached("SELECT scope FROM cards WHERE id = ?1")?;
            if let Some(scope) = read.query_row([card.0], |row| row.get(0)).optional()? {
                let scope = log::scope_by_number(&tx, scope)?;
                if !step.scopes.contains(&scope) {
                    step.scopes.push(scope);
                }
            }
        }
        tx.commit()?;
        Ok(step)
    }
}

/// A claim of the backlog, with its place if it is part of the story.
pub(super) struct StoryItem {
    pub(super) row: ClaimRow,
    /// The place, with the words as keys of `story_words`.
    pub(super) place: Option<StoryPlace>,
}

impl StoryItem {
    /// Loads the claim with this row number.
    pub(super) fn load(db: &Connection, reader: &dyn StoryReader, n: i64) -> Result<Option<Self>> {
        let scope: i64 =
            db.prepare_cached("SELECT scope FROM claims WHERE n = ?1")?.query_row([n], |row| row.get(0))?;
        let Some(row) = bare_claims_by_number(db, [n])?.into_iter().next() else { return Ok(None) };
        let place = reader.place(&row).map(|mut place| {
            place.words = place.words.iter().map(|word| story_word(scope, word.cast_unsigned())).collect();
            place
        });
        Ok(Some(Self { row, place }))
    }
}

/// Finds the marks of one claim by reading it together with the earlier claims that share most words with it.
pub(super) fn find_marks(
    db: &Connection,
    reader: &dyn StoryReader,
    n: i64,
    row: ClaimRow,
    place: &StoryPlace,
) -> Result<WrittenMarks> {
    let mut before = db.prepare_cached(
        "SELECT place, claim FROM story_words WHERE word = ?1 AND place < ?2 ORDER BY place DESC LIMIT ?3",
    )?;
    let mut by_word = Vec::with_capacity(place.words.len());
    for word in &place.words {
        let rows = before.query_map(params![word, place.place, STORY_WINDOW], |row| Ok((row.get(0)?, row.get(1)?)))?;
        by_word.push(rows.collect::<rusqlite::Result<Vec<(Vec<u8>, i64)>>>()?);
    }
    let counts: Vec<usize> = by_word.iter().map(Vec::len).collect();
    let mut numbers = reader.select(&by_word);
    let mut earlier = Vec::with_capacity(numbers.len());
    for (row, n) in bare_claims_by_number(db, numbers.iter().copied())?.into_iter().zip(&numbers) {
        earlier.push(neighbour(db, *n, row)?);
    }
    let found = reader.read(&earlier, &neighbour(db, n, row)?, &counts);
    numbers.push(n);
    let numbered = |at: Vec<i64>| -> Vec<i64> {
        at.into_iter().filter_map(|at| numbers.get(usize::try_from(at).ok()?).copied()).collect()
    };
    Ok(WrittenMarks {
        marks: found.marks.into_iter().map(|mark| WrittenMark { claims: numbered(mark.claims), ..mark }).collect(),
        settles: numbered(found.settles),
        watches: numbered(found.watches),
    })
}

/// Adds to a claim what replaced or retracted it.
pub(super) fn neighbour(db: &Connection, n: i64, mut row: ClaimRow) -> Result<StoryNeighbour> {
    let mut read = db.prepare_cached(
        "SELECT a.successor, e.kind, e.wall FROM live_acts a JOIN events e ON e.n = a.act WHERE a.claim = ?1",
    )?;
    let acts =
        read.query_map([n], |row| Ok((log::optional_id_at(row, 0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?)))?;
    let mut retracted = None;
    for act in acts {
        let (successor, kind, wall) = act?;
        row.replaced_by.extend(successor);
        if kind == EventKind::Retract.to_string() {
            let wall = wall.unsigned_abs();
            retracted = Some(retracted.map_or(wall, |known: u64| known.max(wall)));
        }
    }
    Ok(StoryNeighbour { row, retracted })
}

impl Reader {
    /// Returns whether the pass has something to do on this day, `YYYY-MM-DD`.
    pub fn story_waits(&self, today: &str) -> Result<bool> {
        let mut read = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM story_backlog) OR EXISTS (SELECT 1 FROM story_due WHERE day < ?1)",
        )?;
        Ok(read.query_row([today], |row| row.get(0))?)
    }

    /// Returns the number of claims of a scope that the pass has yet to read.
    pub fn story_backlog(&self, scope: &Scope) -> Result<usize> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(0) };
        let mut read = self
            .db
            .prepare_cached("SELECT count(*) FROM story_backlog b JOIN claims c ON c.n = b.claim WHERE c.scope = ?1")?;
        Ok(read.query_row([scope], |row| row.get(0))?)
    }

    /// Returns the marks of a scope that have a card, open or answered, in the order of the story; then the open cards
    /// that a language model proposed.
    pub fn story_marks(&self, scope: &Scope) -> Result<Vec<StoryMarkRow>> {
        self.snapshot(|reader| {
            let Some(scope) = log::known_scope(&reader.db, scope)? else { return Ok(Vec::new()) };
            let mut found: Vec<StoryMarkRow> = Vec::new();
            let mut add = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Result<()> {
                let mut marks: HashMap<CardId, usize> = HashMap::new();
                let mut read = reader.db.prepare_cached(sql)?;
                let mut rows = read.query(values)?;
                while let Some(row) = rows.next()? {
                    let card = CardId(row.get(0)?);
                    let member = log::id_at(row, 1)?;
                    let (Some(confusion), Some(rule)) =
                        (Confusion::numbered(row.get(2)?), StoryRule::numbered(row.get(3)?))
                    else {
                        continue;
                    };
                    let at = *marks.entry(card).or_insert_with(|| {
                        found.push(StoryMarkRow { card, confusion, rule, claims: Vec::new(), open: false });
                        found.len() - 1
                    });
                    if let Some(mark) = found.get_mut(at) {
                        mark.claims.push(member);
                        mark.open = row.get(4)?;
                    }
                }
                Ok(())
            };
            add(
                "SELECT s.card, c.id, s.confusion, s.rule, k.open FROM story_marks s
                 JOIN card_sources o ON o.card = s.card AND o.kind = ?2
                 JOIN cards k ON k.id = s.card
                 JOIN claims c ON c.n = s.member
                 JOIN story_claims p ON p.claim = s.by
                 WHERE k.scope = ?1 ORDER BY p.place, s.card, s.ord",
                &[&scope, &(CardKind::Story as i64)],
            )?;
            // A card lists its newest claim first, so the order is reversed.
            add(
                "SELECT k.id, m.member, k.confusion, k.rule, k.open FROM cards k
                 JOIN card_members m ON m.card = k.n
                 WHERE k.scope = ?1 AND k.open = 1 AND k.kind = ?2 AND k.rule = ?3
                   AND NOT EXISTS (SELECT 1 FROM card_sources o WHERE o.card = k.id AND o.kind = ?2)
                 ORDER BY k.wall, k.tick, k.n, m.ord DESC",
                &[&scope, &(CardKind::Story as i64), &StoryRule::Model.number()],
            )?;
            Ok(found)
        })
    }
}
