//! The background pass over the stories: claims that changed are placed in the story of their scope, and read again beside the claims that they
//! have most in common with. What reads them is given by the caller; the store knows no rules.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::{
    ClaimRow, Reader, Result, Store, commit, log, open,
    project::{Projector, story_word},
    read::bare_claims_at_places,
};
use crate::domain::{CardId, ClaimId, Confusion, STORY_WINDOW, Scope, StoryRule, derive::CardKind, event::EventKind};

/// How many claims are placed instead of one that is read: after an import, a write waits no longer for these than for readings.
const PLACED: usize = 16;

/// The setting that holds the version of the rules by which the stories were read.
const VERSION: &str = "story.version";

/// Where a claim stands in the story of its scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryPlace {
    /// Bytes that sort like the story.
    pub place: Vec<u8>,
    /// The words by which it is found. On the way into the store they are the story's own, and the store binds them to the scope.
    pub words: Vec<i64>,
    /// The last day on which its standing is what it is now, after which it is read again.
    pub due: Option<String>,
}

/// A claim as the story reads it.
#[derive(Clone, Debug)]
pub struct StoryNeighbour {
    /// The claim, with the claims that replaced it; its other relations are empty.
    pub row: ClaimRow,
    /// When it was retracted, in milliseconds since the Unix epoch, while that holds.
    pub retracted: Option<u64>,
}

/// A mark, with the claims by their numbers in this file, in the order of the story.
#[derive(Clone, Debug, PartialEq)]
pub struct WrittenMark {
    /// Its category.
    pub confusion: Confusion,
    /// The rule that found it.
    pub rule: StoryRule,
    /// How strong it is, 0 to 1.
    pub strength: f32,
    /// Its claims: indexes into what was read, and in the store row numbers.
    pub claims: Vec<i64>,
}

/// What a claim brings to the story.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenMarks {
    /// Its marks.
    pub marks: Vec<WrittenMark>,
    /// The earlier claims between which it settles what was unclear.
    pub settles: Vec<i64>,
    /// The earlier claims whose standing decides about its marks.
    pub watches: Vec<i64>,
}

/// Reads claims for the pass.
pub trait StoryReader {
    /// The day, `YYYY-MM-DD`.
    fn today(&self) -> &str;

    /// Where a claim stands in its story; `None` if it has no part in it. The words are those of the story, as the bits of unsigned numbers.
    fn place(&self, row: &ClaimRow) -> Option<StoryPlace>;

    /// Which of the claims that have each word of a claim are read with it, in order.
    fn select(&self, by_word: &[Vec<(Vec<u8>, i64)>]) -> Vec<i64>;

    /// What a claim brings to the story. `counts`: how many of the earlier claims that were looked up have each of its words, in the order of
    /// [`StoryReader::place`]. The answer names claims by their index; the one behind the earlier ones is the claim itself.
    fn read(&self, earlier: &[StoryNeighbour], claim: &StoryNeighbour, counts: &[usize]) -> WrittenMarks;
}

/// What a step of the pass did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoryStep {
    /// Cards that opened or changed.
    pub cards: Vec<CardId>,
    /// Scopes of these cards.
    pub scopes: Vec<Scope>,
}

/// A mark of a story as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoryMarkRow {
    /// Its card.
    pub card: CardId,
    /// Its category.
    pub confusion: Confusion,
    /// The rule that found it.
    pub rule: StoryRule,
    /// Its claims, in the order of the story.
    pub claims: Vec<ClaimId>,
    /// Whether its card waits.
    pub open: bool,
}

impl Store {
    /// Puts every claim on the backlog, if the stories were read by another version of the rules.
    pub fn start_story(&mut self, version: u32) -> Result<()> {
        if open::setting::<u32>(&self.reader.db, VERSION)? == Some(version) {
            return Ok(());
        }
        let tx = commit::begin(&mut self.reader)?;
        tx.execute("INSERT OR REPLACE INTO story_backlog (claim, stage) SELECT n, 0 FROM claims", [])?;
        open::set(&tx, VERSION, version)?;
        tx.commit()?;
        Ok(())
    }

    /// Places claims of the backlog, the newest first, then reads up to `most` of them; placing [`PLACED`] takes as long as reading one.
    pub fn read_story(&mut self, reader: &dyn StoryReader, most: usize) -> Result<StoryStep> {
        let mut step = StoryStep::default();
        if !self.reader.story_waits(reader.today())? {
            return Ok(step);
        }
        let tx = commit::begin(&mut self.reader)?;
        tx.prepare_cached(
            // What watches it is read again, too.
            "INSERT OR REPLACE INTO story_backlog (claim, stage) SELECT claim, 0 FROM story_due WHERE day < ?1",
        )?
        .execute([reader.today()])?;
        tx.prepare_cached("DELETE FROM story_due WHERE day < ?1")?.execute([reader.today()])?;
        let mut projector = Projector::new(&tx, &*self.check)?;
        let mut budget = most.saturating_mul(PLACED);
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
                    Some(place) => read_one(&tx, reader, n, row, place)?,
                    None => WrittenMarks::default(),
                };
                projector.write_marks(n, &marks)?;
                budget = budget.saturating_sub(PLACED);
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

/// A claim of the backlog, with its place in the story if it has one there.
pub(super) struct StoryItem {
    /// The claim.
    pub(super) row: ClaimRow,
    /// Its place, with the words as the store keeps them.
    pub(super) place: Option<StoryPlace>,
}

impl StoryItem {
    /// Reads the claim with this number.
    pub(super) fn load(db: &Connection, reader: &dyn StoryReader, n: i64) -> Result<Option<Self>> {
        let scope: i64 =
            db.prepare_cached("SELECT scope FROM claims WHERE n = ?1")?.query_row([n], |row| row.get(0))?;
        let Some(row) = bare_claims_at_places(db, [n])?.into_iter().next() else { return Ok(None) };
        let place = reader.place(&row).map(|mut place| {
            place.words = place.words.iter().map(|word| story_word(scope, word.cast_unsigned())).collect();
            place
        });
        Ok(Some(Self { row, place }))
    }
}

/// Reads one claim beside the claims that it has most in common with.
pub(super) fn read_one(
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
    for (row, n) in bare_claims_at_places(db, numbers.iter().copied())?.into_iter().zip(&numbers) {
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

/// A claim with the acts that keep it out of force.
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
    /// Whether the pass has something to do on this day, `YYYY-MM-DD`.
    pub fn story_waits(&self, today: &str) -> Result<bool> {
        let mut read = self.db.prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM story_backlog) OR EXISTS (SELECT 1 FROM story_due WHERE day < ?1)",
        )?;
        Ok(read.query_row([today], |row| row.get(0))?)
    }

    /// How many claims of a scope the pass has yet to read.
    pub fn story_backlog(&self, scope: &Scope) -> Result<usize> {
        let Some(scope) = log::known_scope(&self.db, scope)? else { return Ok(0) };
        let mut read = self
            .db
            .prepare_cached("SELECT count(*) FROM story_backlog b JOIN claims c ON c.n = b.claim WHERE c.scope = ?1")?;
        Ok(read.query_row([scope], |row| row.get(0))?)
    }

    /// The marks of a scope that are shown, or were answered, in the order of the story; behind them what a language model proposes.
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
            // A card has the newest claim first.
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
