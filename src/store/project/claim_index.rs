//! Maintains the text index, the candidate index, the vector index, and the hash that finds identical claims.

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

/// Bit of `claims.indexed`: the claim is in the text index.
pub(in crate::store) const IN_TEXT_INDEX: i64 = 1;
/// Bit of `claims.indexed`: the claim is in the candidate index.
const IN_CANDIDATE_INDEX: i64 = 2;
/// Bit of `claims.indexed`: the claim is in the vector index.
pub(in crate::store) const IN_VECTOR_INDEX: i64 = 4;

/// Bit of `claims.indexed`: the claim needs no vector of its reason, or has one.
pub(in crate::store) const REASON_CHECKED: i64 = 8;

/// The longest indexed term in bytes: longer ones are hashes and addresses that no other claim shares.
const MAX_TERM_LENGTH: usize = 64;

/// The maximal number of indexed terms of one claim.
const MAX_TERMS: usize = 128;

/// The number of claims whose words are computed, and written, together.
const BATCH: usize = 256;

/// The properties of a claim that decide how it is indexed.
struct IndexedClaim {
    n: i64,
    scope: i64,
    kind: ClaimKind,
    active: bool,
    indexes: i64,
}

/// Replaces each run of white space by one space.
pub(in crate::store) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Normalises a statement for [`content_hash`]: white space, the case of the first letter and a full stop at the end
/// are ignored.
fn normalised_statement(statement: &str) -> String {
    let text = collapsed(statement);
    let text = text.strip_suffix('.').unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Returns the hash by which identical claims are found.
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
    hasher.update(normalised_statement(statement).as_bytes());
    *hasher.finalize().as_bytes()
}

/// Returns a text as stems for the text index. FTS5's own stemmer is an older one, for which *deploy* and *deployment*
/// are two words.
pub(in crate::store) fn stemmed(text: &str) -> String {
    stems(text).join(" ")
}

/// Returns the index term of a subject.
pub(in crate::store) fn subject_term(subject: &str) -> String {
    format!("={subject}")
}

/// Returns the index term of a key of [`crate::domain::norm::IndexTerms::pairs`].
pub(in crate::store) fn pair_term(key: &str) -> String {
    format!("~{key}")
}

/// Returns the index term of a fact for a term.
pub(in crate::store) fn fact_term(term: &str) -> String {
    format!("!{term}")
}

/// Returns the key of a scope's phrase: a hash.
pub(in crate::store) fn phrase_key(scope: i64, phrase: &str) -> i64 {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&scope.to_le_bytes());
    hasher.update(phrase.as_bytes());
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}

/// Returns the word that represents a scope in the text index (column `place`).
pub(in crate::store) fn scope_word(scope: i64) -> String {
    format!("scope{scope}")
}

/// A claim that is to be added to indexes, or removed from them.
struct IndexEntry {
    claim: IndexedClaim,
    body: Option<Body>,
}

impl IndexEntry {
    /// Returns the bits of the word indexes that should contain the claim.
    fn wanted(&self) -> i64 {
        match self.body {
            None => 0,
            Some(_) if self.claim.active => IN_TEXT_INDEX | IN_CANDIDATE_INDEX,
            Some(_) => IN_TEXT_INDEX,
        }
    }
}

/// The words of a claim as the indexes contain them.
#[derive(Default)]
struct IndexedWords {
    statement: String,
    reason: String,
    source: String,
    terms: Vec<String>,
    phrases: Vec<String>,
}

impl IndexedWords {
    /// Computes the words for the indexes with these bits.
    fn of(check: &dyn PairCheck, kind: ClaimKind, body: &Body, indexes: i64) -> Self {
        let mut words = Self::default();
        let statement = body.statement.as_deref().unwrap_or_default();
        if indexes & IN_TEXT_INDEX != 0 {
            words.statement = stemmed(statement);
            words.reason = stemmed(body.reason.as_deref().unwrap_or_default());
            words.source = stemmed(body.source.as_deref().unwrap_or_default());
        }
        if indexes & IN_CANDIDATE_INDEX != 0 {
            let found = check.index_terms(body.norms.as_deref().unwrap_or_default(), statement);
            let subjects = found.subjects.iter().map(|subject| subject_term(subject));
            let pairs = found.pairs.iter().map(|key| pair_term(key));
            let plain = |term: &String| term.len() <= MAX_TERM_LENGTH && !term.starts_with(['=', '~', '!']);
            let terms = found.terms.into_iter().filter(plain).take(MAX_TERMS);
            words.terms = subjects.chain(pairs).chain(terms).collect();
            words.terms.sort_unstable();
            words.terms.dedup();
            words.phrases = found.phrases;
            if !kind.is_guarded() {
                // Facts have their own terms, so that many facts cannot hide guarded claims.
                words.terms.iter_mut().for_each(|term| *term = fact_term(term));
                words.phrases.clear();
            }
        }
        words
    }

    /// Computes the words of several claims for the indexes that change.
    fn of_all(check: &dyn PairCheck, entries: &[IndexEntry]) -> Vec<Self> {
        let words = |entry: &IndexEntry| match &entry.body {
            Some(body) => Self::of(check, entry.claim.kind, body, entry.claim.indexes ^ entry.wanted()),
            None => Self::default(),
        };
        entries.iter().map(words).collect()
    }
}

impl Projector<'_> {
    /// Adds claims to the indexes or removes them, according to their status and words.
    ///
    /// If there are many, another thread computes the words of the next claims while this one writes.
    pub(super) fn update_indexes(&mut self) -> Result<()> {
        let claims: Vec<i64> = self.dirty.status_changed.union(&self.dirty.texts).copied().collect();
        let mut batches = claims.chunks(BATCH);
        let Some(mut entries) = batches.next().map(|batch| self.entries(batch)).transpose()? else { return Ok(()) };
        let mut words = IndexedWords::of_all(self.check, &entries);
        let mut counts = TermCountChanges::default();
        for batch in batches {
            let (check, next) = (self.check, self.entries(batch)?);
            let (next, found) = thread::scope(|scope| {
                let finding = thread::Builder::new().spawn_scoped(scope, || IndexedWords::of_all(check, &next));
                self.write_entries(&entries, &words, &mut counts)?;
                match finding {
                    Ok(finding) => {
                        let act = "index the words of a claim";
                        finding.join().map_err(|_| StoreError::System { act, cause: "its thread panicked".to_owned() })
                    }
                    // The system cannot start a thread.
                    Err(_) => Ok(IndexedWords::of_all(check, &next)),
                }
            })
            .map(|found| (next, found))?;
            (entries, words) = (next, found);
        }
        self.write_entries(&entries, &words, &mut counts)?;
        counts.write(self.db)
    }

    fn entries(&self, claims: &[i64]) -> Result<Vec<IndexEntry>> {
        let entry = |n: &i64| {
            let body = log::body(self.db, *n)?.filter(|body| body.statement.is_some());
            Ok(IndexEntry { claim: self.indexed(*n)?, body })
        };
        claims.iter().map(entry).collect()
    }

    fn write_entries(
        &self,
        entries: &[IndexEntry],
        words: &[IndexedWords],
        counts: &mut TermCountChanges,
    ) -> Result<()> {
        for (entry, words) in entries.iter().zip(words) {
            let IndexEntry { claim, body } = entry;
            let mut wanted = entry.wanted();
            if body.is_some() {
                let vector = if claim.active { vectors::stored(self.db, claim.n)? } else { None };
                wanted |= if vector.is_some() { IN_VECTOR_INDEX } else { 0 };
                wanted |= claim.indexes & REASON_CHECKED;
                self.index(claim, words, vector.as_deref(), wanted, counts)?;
            }
            let content = body.as_ref().filter(|_| claim.active).map(|body| {
                let qualifiers = body.qualifiers.clone().unwrap_or_default();
                content_hash(claim.scope, claim.kind, body.statement.as_deref().unwrap_or_default(), &qualifiers)
            });
            let valid_until = body.as_ref().and_then(|body| body.qualifiers.as_ref()?.valid_until.as_deref());
            self.db
                .prepare_cached("UPDATE claims SET indexed = ?2, content = ?3, valid_until = ?4 WHERE n = ?1")?
                .execute(params![claim.n, wanted, content, valid_until])?;
        }
        Ok(())
    }

    /// Removes a claim from every index. Must be called while its words are still stored.
    pub(super) fn unindex(&mut self, n: i64, body: &Body) -> Result<()> {
        let claim = self.indexed(n)?;
        let mut counts = TermCountChanges::default();
        self.index(&claim, &IndexedWords::of(self.check, claim.kind, body, claim.indexes), None, 0, &mut counts)?;
        counts.write(self.db)?;
        self.db
            .prepare_cached("UPDATE claims SET indexed = 0, content = NULL, valid_until = NULL WHERE n = ?1")?
            .execute([n])?;
        Ok(())
    }

    fn indexed(&self, n: i64) -> Result<IndexedClaim> {
        let mut read = self.db.prepare_cached("SELECT scope, kind, status, indexed FROM claims WHERE n = ?1")?;
        Ok(read.query_row([n], |row| {
            Ok(IndexedClaim {
                n,
                scope: row.get(0)?,
                kind: claims::kind_of(row.get(1)?)?,
                active: claims::status_of(row.get(2)?) == Status::Active,
                indexes: row.get(3)?,
            })
        })?)
    }

    fn index(
        &self,
        claim: &IndexedClaim,
        words: &IndexedWords,
        vector: Option<&[u8]>,
        wanted: i64,
        counts: &mut TermCountChanges,
    ) -> Result<()> {
        let changed = claim.indexes ^ wanted;
        if changed & IN_TEXT_INDEX != 0 {
            self.index_text(claim, words, wanted & IN_TEXT_INDEX != 0)?;
        }
        if changed & IN_CANDIDATE_INDEX != 0 {
            for term in &words.terms {
                if wanted & IN_CANDIDATE_INDEX != 0 {
                    counts.add(self.db, claim, term)?;
                } else {
                    counts.remove(self.db, claim, term)?;
                }
            }
            let write = if wanted & IN_CANDIDATE_INDEX != 0 {
                "INSERT OR IGNORE INTO phrases (phrase, claim) VALUES (?1, ?2)"
            } else {
                "DELETE FROM phrases WHERE phrase = ?1 AND claim = ?2"
            };
            let mut write = self.db.prepare_cached(write)?;
            for phrase in &words.phrases {
                write.execute([phrase_key(claim.scope, phrase), claim.n])?;
            }
        }
        if changed & IN_VECTOR_INDEX != 0 {
            let lane = vectors::vector_index::lane(claim.scope, claim.kind);
            match vector {
                Some(code) => vectors::vector_index::add(self.db, claim.n, lane, code)?,
                None => vectors::vector_index::remove(self.db, claim.n)?,
            }
        }
        Ok(())
    }

    fn index_text(&self, claim: &IndexedClaim, words: &IndexedWords, add: bool) -> Result<()> {
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
            scope_word(claim.scope),
        ])?;
        Ok(())
    }
}

/// Terms that gained or lost claims: the count of each is written once, however many claims share it.
#[derive(Default)]
struct TermCountChanges {
    terms: HashMap<(i64, String), TermChange>,
}

struct TermChange {
    n: i64,
    delta: i64,
}

impl TermCountChanges {
    fn add(&mut self, db: &Connection, claim: &IndexedClaim, term: &str) -> Result<()> {
        let change = match self.terms.entry((claim.scope, term.to_owned())) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let mut make = db.prepare_cached(
                    "INSERT INTO terms (scope, term) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET df = df RETURNING n",
                )?;
                let n = make.query_row(params![entry.key().0, entry.key().1], |row| row.get(0))?;
                entry.insert(TermChange { n, delta: 0 })
            }
        };
        db.prepare_cached("INSERT INTO postings (term, claim) VALUES (?1, ?2)")?.execute([change.n, claim.n])?;
        change.delta += 1;
        Ok(())
    }

    fn remove(&mut self, db: &Connection, claim: &IndexedClaim, term: &str) -> Result<()> {
        let change = match self.terms.entry((claim.scope, term.to_owned())) {
            hash_map::Entry::Occupied(entry) => entry.into_mut(),
            hash_map::Entry::Vacant(entry) => {
                let mut find = db.prepare_cached("SELECT n FROM terms WHERE scope = ?1 AND term = ?2")?;
                let found = find.query_row(params![entry.key().0, entry.key().1], |row| row.get(0)).optional()?;
                let Some(n) = found else { return Ok(()) };
                entry.insert(TermChange { n, delta: 0 })
            }
        };
        let mut delete = db.prepare_cached("DELETE FROM postings WHERE term = ?1 AND claim = ?2")?;
        change.delta -= delete.execute([change.n, claim.n])?.cast_signed() as i64;
        Ok(())
    }

    fn write(self, db: &Connection) -> Result<()> {
        let mut count = db.prepare_cached("UPDATE terms SET df = df + ?2 WHERE n = ?1 RETURNING df")?;
        // A term without claims must be deleted: it may be a redacted secret.
        let mut forget = db.prepare_cached("DELETE FROM terms WHERE n = ?1")?;
        for TermChange { n, delta } in self.terms.into_values() {
            if count.query_row([n, delta], |row| row.get::<_, i64>(0))? <= 0 {
                forget.execute([n])?;
            }
        }
        Ok(())
    }
}
