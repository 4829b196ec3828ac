//! Finds claims of similar meaning: the nearest vectors of a scope.

use std::collections::HashSet;

use rusqlite::OptionalExtension;

use super::claims::bare_claims_by_number;
use crate::{
    domain::ClaimId,
    store::{
        Neighbour, NeighbourQuery, Reader, Result, log,
        vectors::{self, VectorModel, vector_index},
    },
};

/// The number of rows of the index that are compared exactly for each requested claim: signs alone sort near neighbours
/// badly.
const OVERSAMPLED: usize = 4;

/// The minimal and maximal number of rows that are compared exactly.
const EXACT: std::ops::RangeInclusive<usize> = 32..=1024;

impl Reader {
    /// Returns the model that computed the store's vectors; `None` before the first vector.
    pub fn vector_model(&self) -> Result<Option<VectorModel>> {
        vectors::model(&self.db)
    }

    /// Returns the active claims whose vectors are nearest, the nearest first, without their relations (see
    /// [`Reader::nearby_claims`]). Claims whose vector is not computed yet are missing.
    ///
    /// # Errors
    /// [`crate::store::StoreError::VectorModel`] if another model computed the store's vectors.
    pub fn neighbours(&self, query: &NeighbourQuery) -> Result<Vec<Neighbour>> {
        self.snapshot(|reader| {
            let (db, model) = (&reader.db, vectors::model(&reader.db)?);
            let (Some(model), scopes) = (model, log::known_scopes(db, &query.scopes)?) else {
                return Ok(Vec::new());
            };
            vectors::check_model(&model, &query.model)?;
            let unit = vectors::unit(&model, &query.vector)?;
            let code = vectors::encode(&unit);
            let mut excluded = HashSet::new();
            for id in &query.exclude {
                excluded.extend(log::row_number(db, id)?);
            }
            let wanted = query.limit.saturating_add(excluded.len());
            let compared = wanted.saturating_mul(OVERSAMPLED).clamp(*EXACT.start(), *EXACT.end());
            let mut near = Vec::new();
            for scope in scopes {
                near.extend(vector_index::nearest(db, vector_index::lane_of(scope, true), &code, compared)?);
                if query.facts {
                    near.extend(vector_index::nearest(db, vector_index::lane_of(scope, false), &code, compared)?);
                }
            }
            let mut ranked = Vec::with_capacity(near.len());
            for n in near.into_iter().filter(|n| !excluded.contains(n)) {
                if let Some(stored) = vectors::stored(db, n)? {
                    ranked.push((n, vectors::cosine(&unit, &stored)));
                }
            }
            ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
            ranked.truncate(query.limit);
            let rows = bare_claims_by_number(db, ranked.iter().map(|(n, _)| *n))?;
            Ok(rows.into_iter().zip(ranked).map(|(claim, (_, cosine))| Neighbour { claim, cosine }).collect())
        })
    }

    /// Returns the cosine between a vector and that of each claim; `None` for a claim without a vector.
    ///
    /// # Errors
    /// As for [`Reader::neighbours`].
    pub fn cosines(&self, model: &VectorModel, vector: &[f32], claims: &[ClaimId]) -> Result<Vec<Option<f32>>> {
        self.snapshot(|reader| {
            let Some(stored) = vectors::model(&reader.db)? else { return Ok(vec![None; claims.len()]) };
            vectors::check_model(&stored, model)?;
            let unit = vectors::unit(model, vector)?;
            let mut read = reader
                .db
                .prepare_cached("SELECT v.code FROM claims c JOIN vectors v ON v.claim = c.n WHERE c.id = ?1")?;
            let mut found = Vec::with_capacity(claims.len());
            for id in claims {
                let code: Option<Vec<u8>> = read.query_row([id.0], |row| row.get(0)).optional()?;
                found.push(code.map(|code| vectors::cosine(&unit, &code)));
            }
            Ok(found)
        })
    }

    /// Returns the cosine between the vectors of a claim and of each other claim; `None` if either has no vector.
    pub fn alike(&self, claim: &ClaimId, others: &[ClaimId]) -> Result<Vec<Option<f32>>> {
        self.snapshot(|reader| {
            let none = vec![None; others.len()];
            let (Some(model), Some(n)) = (vectors::model(&reader.db)?, log::row_number(&reader.db, claim)?) else {
                return Ok(none);
            };
            let Some(code) = vectors::stored(&reader.db, n)? else { return Ok(none) };
            reader.cosines(&model, &vectors::decode(&code), others)
        })
    }

    /// Returns the active claims that have no vector yet, with their statements, newest first.
    pub fn claims_without_vector(&self, limit: usize) -> Result<Vec<(ClaimId, String)>> {
        self.snapshot(|reader| {
            let mut read = reader.db.prepare_cached(
                "SELECT n, id FROM claims WHERE status = 0 AND indexed & 5 = 1 ORDER BY n DESC LIMIT ?1",
            )?;
            let rows = read.query_map([limit], |row| Ok((row.get::<_, i64>(0)?, log::id_at(row, 1)?)))?;
            let mut found = Vec::new();
            for row in rows {
                let (n, id) = row?;
                let statement = log::body(&reader.db, n)?.and_then(|body| body.statement);
                found.extend(statement.map(|statement| (id, statement)));
            }
            Ok(found)
        })
    }
}
