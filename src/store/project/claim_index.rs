//! The text index, the candidate index, the vector index and the hash that finds identical claims.

use std::{
    collections::{HashMap, hash_map},
    thread,
};

use rusqlite::{Connection, OptionalExtension, params};

use super::{Projector, claims};
use crate::{
    domain::{Body, ClaimKind, Qualifiers, Status, guard_report::PairCheck, text::stems},
    store::{Result, StoreError, log, vectors},
};

/// In the text index.
pub(in crate::store) const TEXT: i64 = 1;
/// In the candidate index.
const CANDIDATE: i64 = 2;
/// In the vector index.
pub(in crate::store) const VECTOR: i64 = 4;

/// It was looked at whether a claim needs a vector of its reason, and that is there where it does.
pub(in crate::store) const REASON: i64 = 8;

/// The longest term that is indexed, in bytes: longer ones are hashes and addresses that nothing else shares.
const MAX_TERM: usize = 64;

/// The most terms of one claim that are indexed.
const MAX_TERMS: usize = 128;

/// Claims whose words are found, and written, at once.
const AT_ONCE: usize = 256;

/// A claim as the indexes see it.
struct Indexed {
    n: i64,
    scope: i64,
    kind: ClaimKind,
    active: bool,
    parts: i64,
}

/// A text with every run of white space as one space.
pub(in crate::store) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What "the same statement" means: white space, the case of the first letter and a full stop at the end make no difference.
fn identity(statement: &str) -> String {
    let text = collapsed(statement);
    let text = text.strip_suffix('.').unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// The hash by which identical claims are found.
pub(in crate::store) fn content_hash(
    scope: i64,
    kind: ClaimKind,
    statement: &str,
    qualifiers: &Qualifiers,
) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/content/2");
    hasher.update(&scope.to_le_bytes());
    hasher.update(kind.as_str().as_bytes());
    hasher.update(&[0]);
    hasher.update(&minicbor::to_vec(qualifiers).unwrap_or_default());
    hasher.update(identity(statement).as_bytes());
    *hasher.finalize().as_bytes()
}

/// A text as the text index has it. FTS5's own stemmer is an older one, for which *deploy* and *deployment* are two words.
pub(in crate::store) fn stemmed(text: &str) -> String {
    stems(text).join(" ")
}

/// A subject as it stands among the terms.
pub(in crate::store) fn subject_term(subject: &str) -> String {
    format!("={subject}")
}

/// A key of [`crate::domain::norm::IndexTerms::pairs`] as it stands among the terms.
pub(in crate::store) fn pair_term(key: &str) -> String {
    format!("~{key}")
}

/// A term of a fact as it stands among the terms.
pub(in crate::store) fn fact_term(term: &str) -> String {
    format!("!{term}")
}

/// A phrase of a scope as a number.
pub(in crate::store) fn phrase_key(scope: i64, phrase: &str) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&scope.to_le_bytes());
    hasher.update(phrase.as_bytes());
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}

/// The word that stands for a scope in the text index.
pub(in crate::store) fn place(scope: i64) -> String {
    format!("scope{scope}")
}

/// A claim that may come into the indexes or leave them, as the store has it.
struct Entry {
    claim: Indexed,
    body: Option<Body>,
}

impl Entry {
    /// In which of the indexes of words it should stand.
    fn wanted(&self) -> i64 {
        match self.body {
            None => 0,
            Some(_) if self.claim.active => TEXT | CANDIDATE,
            Some(_) => TEXT,
        }
    }
}

/// What the indexes hold of a claim's words.
#[derive(Default)]
struct Words {
    statement: String,
    reason: String,
    source: String,
    terms: Vec<String>,
    phrases: Vec<String>,
}

impl Words {
    /// The words for these of the indexes.
    fn of(check: &dyn PairCheck, kind: ClaimKind, body: &Body, parts: i64) -> Self {
        let mut words = Self::default();
        let statement = body.statement.as_deref().unwrap_or_default();
        if parts & TEXT != 0 {
            words.statement = stemmed(statement);
            words.reason = stemmed(body.reason.as_deref().unwrap_or_default());
            words.source = stemmed(body.source.as_deref().unwrap_or_default());
        }
        if parts & CANDIDATE != 0 {
            let found = check.index_terms(body.norms.as_deref().unwrap_or_default(), statement);
            let subjects = found.subjects.iter().map(|subject| subject_term(subject));
            let pairs = found.pairs.iter().map(|key| pair_term(key));
            let plain = |term: &String| term.len() <= MAX_TERM && !term.starts_with(['=', '~', '!']);
            let terms = found.terms.into_iter().filter(plain).take(MAX_TERMS);
            words.terms = subjects.chain(pairs).chain(terms).collect();
            words.terms.sort_unstable();
            words.terms.dedup();
            words.phrases = found.phrases;
            if !kind.is_guarded() {
                // Facts have lists of their own, so that however many there are hide no guarded claim.
                words.terms.iter_mut().for_each(|term| *term = fact_term(term));
                words.phrases.clear();
            }
        }
        words
    }

    /// The words of several claims, for those of the indexes that change.
    fn of_all(check: &dyn PairCheck, entries: &[Entry]) -> Vec<Self> {
        let words = |entry: &Entry| match &entry.body {
            Some(body) => Self::of(check, entry.claim.kind, body, entry.claim.parts ^ entry.wanted()),
            None => Self::default(),
        };
        entries.iter().map(words).collect()
    }
}

impl Projector<'_> {
    /// Puts claims into the indexes, or takes them out, as their status and words ask.
    ///
    /// Where there are many, the words of the next claims are found on another thread while these are written.
    pub(super) fn update_indexes(&mut self) -> Result<()> {
        let claims: Vec<i64> = self.dirty.flipped.union(&self.dirty.texts).copied().collect();
        let mut parts = claims.chunks(AT_ONCE);
        let Some(mut entries) = parts.next().map(|part| self.entries(part)).transpose()? else { return Ok(()) };
        let mut words = Words::of_all(self.check, &entries);
        let mut tally = Tally::default();
        for part in parts {
            let (check, next) = (self.check, self.entries(part)?);
            let (next, found) = thread::scope(|scope| {
                let finding = thread::Builder::new().spawn_scoped(scope, || Words::of_all(check, &next));
                self.write_entries(&entries, &words, &mut tally)?;
                match finding {
                    Ok(finding) => {
                        finding.join().map_err(|_| StoreError::Damaged("the words of a claim cannot be indexed".into()))
                    }
                    // The system gives no thread.
                    Err(_) => Ok(Words::of_all(check, &next)),
                }
            })
            .map(|found| (next, found))?;
            (entries, words) = (next, found);
        }
        self.write_entries(&entries, &words, &mut tally)?;
        tally.write(self.db)
    }

    fn entries(&self, claims: &[i64]) -> Result<Vec<Entry>> {
        let entry = |n: &i64| {
            let body = log::body(self.db, *n)?.filter(|body| body.statement.is_some());
            Ok(Entry { claim: self.indexed(*n)?, body })
        };
        claims.iter().map(entry).collect()
    }

    fn write_entries(&self, entries: &[Entry], words: &[Words], tally: &mut Tally) -> Result<()> {
        for (entry, words) in entries.iter().zip(words) {
            let Entry { claim, body } = entry;
            let mut wanted = entry.wanted();
            if body.is_some() {
                let vector = if claim.active { vectors::stored(self.db, claim.n)? } else { None };
                wanted |= if vector.is_some() { VECTOR } else { 0 };
                wanted |= claim.parts & REASON;
                self.index(claim, words, vector.as_deref(), wanted, tally)?;
            }
            let content = body.as_ref().filter(|_| claim.active).map(|body| {
                let qualifiers = body.qualifiers.clone().unwrap_or_default();
                content_hash(claim.scope, claim.kind, body.statement.as_deref().unwrap_or_default(), &qualifiers)
            });
            self.db
                .prepare_cached("UPDATE claims SET indexed = ?2, content = ?3 WHERE n = ?1")?
                .execute(params![claim.n, wanted, content])?;
        }
        Ok(())
    }

    /// Takes a claim out of every index, while its words are still there.
    pub(super) fn unindex(&mut self, n: i64, body: &Body) -> Result<()> {
        let claim = self.indexed(n)?;
        let mut tally = Tally::default();
        self.index(&claim, &Words::of(self.check, claim.kind, body, claim.parts), None, 0, &mut tally)?;
        tally.write(self.db)?;
        self.db.prepare_cached("UPDATE claims SET indexed = 0, content = NULL WHERE n = ?1")?.execute([n])?;
        Ok(())
    }

    fn indexed(&self, n: i64) -> Result<Indexed> {
        let mut read = self.db.prepare_cached("SELECT scope, kind, status, indexed FROM claims WHERE n = ?1")?;
        Ok(read.query_row([n], |row| {
            Ok(Indexed {
                n,
                scope: row.get(0)?,
                kind: claims::kind_of(row.get(1)?),
                active: claims::status_of(row.get(2)?) == Status::Active,
                parts: row.get(3)?,
            })
        })?)
    }

    fn index(
        &self,
        claim: &Indexed,
        words: &Words,
        vector: Option<&[u8]>,
        wanted: i64,
        tally: &mut Tally,
    ) -> Result<()> {
        let changed = claim.parts ^ wanted;
        if changed & TEXT != 0 {
            self.index_text(claim, words, wanted & TEXT != 0)?;
        }
        if changed & CANDIDATE != 0 {
            for term in &words.terms {
                if wanted & CANDIDATE != 0 {
                    tally.add(self.db, claim, term)?;
                } else {
                    tally.remove(self.db, claim, term)?;
                }
            }
            let write = if wanted & CANDIDATE != 0 {
                "INSERT OR IGNORE INTO phrases (phrase, claim) VALUES (?1, ?2)"
            } else {
                "DELETE FROM phrases WHERE phrase = ?1 AND claim = ?2"
            };
            let mut write = self.db.prepare_cached(write)?;
            for phrase in &words.phrases {
                write.execute([phrase_key(claim.scope, phrase), claim.n])?;
            }
        }
        if changed & VECTOR != 0 {
            let lane = vectors::vector_index::lane(claim.scope, claim.kind);
            match vector {
                Some(code) => vectors::vector_index::add(self.db, claim.n, lane, code)?,
                None => vectors::vector_index::remove(self.db, claim.n)?,
            }
        }
        Ok(())
    }

    fn index_text(&self, claim: &Indexed, words: &Words, add: bool) -> Result<()> {
        let sql = if add {
            "INSERT INTO texts (rowid, statement, reason, source, place) VALUES (?1, ?2, ?3, ?4, ?5)"
        } else {
            "INSERT INTO texts (texts, rowid, statement, reason, source, place) VALUES ('delete', ?1, ?2, ?3, ?4, ?5)"
        };
        self.db.prepare_cached(sql)?.execute(params![
            claim.n,
            words.statement,
            words.reason,
            words.source,
            place(claim.scope),
        ])?;
        Ok(())
    }
}

/// Terms that gained or lost claims, and by how many: each is counted once, however many claims share it.
#[derive(Default)]
struct Tally {
    terms: HashMap<(i64, String), Counted>,
}

struct Counted {
    n: i64,
    change: i64,
}

impl Tally {
    fn add(&mut self, db: &Connection, claim: &Indexed, term: &str) -> Result<()> {
        let counted = match self.terms.entry((claim.scope, term.to_owned())) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let mut make = db.prepare_cached(
                    "INSERT INTO terms (scope, term) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET df = df RETURNING n",
                )?;
                let n = make.query_row(params![entry.key().0, entry.key().1], |row| row.get(0))?;
                entry.insert(Counted { n, change: 0 })
            }
        };
        db.prepare_cached("INSERT INTO postings (term, claim) VALUES (?1, ?2)")?.execute([counted.n, claim.n])?;
        counted.change += 1;
        Ok(())
    }

    fn remove(&mut self, db: &Connection, claim: &Indexed, term: &str) -> Result<()> {
        let counted = match self.terms.entry((claim.scope, term.to_owned())) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let mut find = db.prepare_cached("SELECT n FROM terms WHERE scope = ?1 AND term = ?2")?;
                let found = find.query_row(params![entry.key().0, entry.key().1], |row| row.get(0)).optional()?;
                let Some(n) = found else { return Ok(()) };
                entry.insert(Counted { n, change: 0 })
            }
        };
        let mut delete = db.prepare_cached("DELETE FROM postings WHERE term = ?1 AND claim = ?2")?;
        counted.change -= delete.execute([counted.n, claim.n])?.cast_signed() as i64;
        Ok(())
    }

    fn write(self, db: &Connection) -> Result<()> {
        let mut count = db.prepare_cached("UPDATE terms SET df = df + ?2 WHERE n = ?1 RETURNING df")?;
        // A term that no claim has must not stay: it may be the secret that was redacted.
        let mut forget = db.prepare_cached("DELETE FROM terms WHERE n = ?1")?;
        for Counted { n, change } in self.terms.into_values() {
            if count.query_row([n, change], |row| row.get::<_, i64>(0))? <= 0 {
                forget.execute([n])?;
            }
        }
        Ok(())
    }
}
