//! The text index, the candidate index, the vector index and the hash that finds identical claims.

use rusqlite::{Connection, OptionalExtension, params};

use super::{Projector, claims};
use crate::{
    domain::{Body, ClaimKind, Qualifiers, Status, text::stems},
    store::{Result, log, vectors},
};

/// In the text index.
pub(in crate::store) const TEXT: i64 = 1;
/// In the candidate index.
const CANDIDATE: i64 = 2;
/// In the vector index.
pub(in crate::store) const VECTOR: i64 = 4;

/// The longest term that is indexed, in bytes: longer ones are hashes and addresses that nothing else shares.
const MAX_TERM: usize = 64;

/// The most terms of one claim that are indexed.
const MAX_TERMS: usize = 128;

/// A claim as the indexes see it.
struct Indexed {
    n: i64,
    scope: i64,
    kind: ClaimKind,
    active: bool,
    parts: i64,
}

/// A text with every run of white space as one space: what "the same statement" means.
pub(in crate::store) fn collapsed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The hash by which identical claims are found.
pub(in crate::store) fn content_hash(
    scope: i64,
    kind: ClaimKind,
    statement: &str,
    qualifiers: &Qualifiers,
) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"ergo/content/1");
    hasher.update(&scope.to_le_bytes());
    hasher.update(kind.as_str().as_bytes());
    hasher.update(&[0]);
    hasher.update(&minicbor::to_vec(qualifiers).unwrap_or_default());
    hasher.update(collapsed(statement).as_bytes());
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

impl Projector<'_> {
    /// Puts claims into the indexes, or takes them out, as their status and words ask.
    pub(super) fn update_indexes(&mut self) -> Result<()> {
        let claims: Vec<i64> = self.dirty.flipped.union(&self.dirty.texts).copied().collect();
        for n in claims {
            let claim = self.indexed(n)?;
            let body = log::body(self.db, n)?.filter(|body| body.statement.is_some());
            let candidate = body.is_some() && claim.active && claim.kind.is_guarded();
            let mut wanted = if body.is_some() { TEXT } else { 0 } | if candidate { CANDIDATE } else { 0 };
            if let Some(body) = &body {
                let vector = if claim.active { vectors::stored(self.db, n)? } else { None };
                wanted |= if vector.is_some() { VECTOR } else { 0 };
                self.index(&claim, body, vector.as_deref(), wanted)?;
            }
            let content = body.filter(|_| claim.active).map(|body| {
                let qualifiers = body.qualifiers.clone().unwrap_or_default();
                content_hash(claim.scope, claim.kind, body.statement.as_deref().unwrap_or_default(), &qualifiers)
            });
            self.db
                .prepare_cached("UPDATE claims SET indexed = ?2, content = ?3 WHERE n = ?1")?
                .execute(params![n, wanted, content])?;
        }
        Ok(())
    }

    /// Takes a claim out of every index, while its words are still there.
    pub(super) fn unindex(&mut self, n: i64, body: &Body) -> Result<()> {
        let claim = self.indexed(n)?;
        self.index(&claim, body, None, 0)?;
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

    fn index(&self, claim: &Indexed, body: &Body, vector: Option<&[u8]>, wanted: i64) -> Result<()> {
        let changed = claim.parts ^ wanted;
        if changed & TEXT != 0 {
            self.index_text(claim, body, wanted & TEXT != 0)?;
        }
        if changed & CANDIDATE != 0 {
            let (terms, phrases) = self.terms(body);
            for term in terms {
                if wanted & CANDIDATE != 0 {
                    add_posting(self.db, claim, &term)?;
                } else {
                    remove_posting(self.db, claim, &term)?;
                }
            }
            let write = if wanted & CANDIDATE != 0 {
                "INSERT OR IGNORE INTO phrases (phrase, claim) VALUES (?1, ?2)"
            } else {
                "DELETE FROM phrases WHERE phrase = ?1 AND claim = ?2"
            };
            let mut write = self.db.prepare_cached(write)?;
            for phrase in phrases {
                write.execute([phrase_key(claim.scope, &phrase), claim.n])?;
            }
        }
        if changed & VECTOR != 0 {
            let lane = vectors::index::lane(claim.scope, claim.kind);
            match vector {
                Some(code) => vectors::index::add(self.db, claim.n, lane, code)?,
                None => vectors::index::remove(self.db, claim.n)?,
            }
        }
        Ok(())
    }

    fn index_text(&self, claim: &Indexed, body: &Body, add: bool) -> Result<()> {
        let sql = if add {
            "INSERT INTO texts (rowid, statement, reason, source, place) VALUES (?1, ?2, ?3, ?4, ?5)"
        } else {
            "INSERT INTO texts (texts, rowid, statement, reason, source, place) VALUES ('delete', ?1, ?2, ?3, ?4, ?5)"
        };
        self.db.prepare_cached(sql)?.execute(params![
            claim.n,
            stemmed(body.statement.as_deref().unwrap_or_default()),
            stemmed(body.reason.as_deref().unwrap_or_default()),
            stemmed(body.source.as_deref().unwrap_or_default()),
            place(claim.scope),
        ])?;
        Ok(())
    }

    /// The terms and phrases under which a claim stands in the candidate index.
    fn terms(&self, body: &Body) -> (Vec<String>, Vec<String>) {
        let norms = body.norms.as_deref().unwrap_or_default();
        let found = self.check.index_terms(norms, body.statement.as_deref().unwrap_or_default());
        let subjects = found.subjects.iter().map(|subject| subject_term(subject));
        let pairs = found.pairs.iter().map(|key| pair_term(key));
        let words = |term: &String| term.len() <= MAX_TERM && !term.starts_with(['=', '~']);
        let terms = found.terms.into_iter().filter(words);
        let mut all: Vec<String> = subjects.chain(pairs).chain(terms.take(MAX_TERMS)).collect();
        all.sort_unstable();
        all.dedup();
        (all, found.phrases)
    }
}

fn add_posting(db: &Connection, claim: &Indexed, term: &str) -> Result<()> {
    let mut upsert = db.prepare_cached(
        "INSERT INTO terms (scope, term, df) VALUES (?1, ?2, 1)
         ON CONFLICT (scope, term) DO UPDATE SET df = df + 1 RETURNING n",
    )?;
    let term: i64 = upsert.query_row(params![claim.scope, term], |row| row.get(0))?;
    db.prepare_cached("INSERT INTO postings (term, claim) VALUES (?1, ?2)")?.execute([term, claim.n])?;
    Ok(())
}

fn remove_posting(db: &Connection, claim: &Indexed, term: &str) -> Result<()> {
    let mut find = db.prepare_cached("SELECT n FROM terms WHERE scope = ?1 AND term = ?2")?;
    let Some(term): Option<i64> = find.query_row(params![claim.scope, term], |row| row.get(0)).optional()? else {
        return Ok(());
    };
    let removed = db.prepare_cached("DELETE FROM postings WHERE term = ?1 AND claim = ?2")?.execute([term, claim.n])?;
    if removed > 0 {
        // A term that no claim has must not stay: it may be the secret that was redacted.
        db.prepare_cached("UPDATE terms SET df = df - 1 WHERE n = ?1")?.execute([term])?;
        db.prepare_cached("DELETE FROM terms WHERE n = ?1 AND df <= 0")?.execute([term])?;
    }
    Ok(())
}
