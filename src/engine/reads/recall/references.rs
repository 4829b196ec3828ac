//! Chunks of ingested files that fit a question. They are listed separately from claims.

use std::collections::{HashMap, HashSet};

use super::{Queries, RecallRun};
use crate::{
    api::{ApiError, Reference},
    domain::ClaimKind,
    engine::model_results::Embedding,
    recall::{
        Question,
        answer_model::{self, AnswerEvidence, AnswerFeatures},
        floor, fuse,
        rerank::{QuestionWeights, RankedClaim, Score},
    },
    store::{ChunkRow, Reader, RowNumber, StoreError},
};

/// The assumed position of a chunk in the fused lists: the median of the best claims' positions.
const ASSUMED_FUSED: f64 = 0.9;

/// The greatest number of references in an answer.
const MAX_REFERENCES: usize = 5;

/// The greatest number of chunks that words and vectors each bring into the ranking.
const MAX_BY_EACH: usize = 32;

impl RecallRun<'_> {
    /// Returns the chunks that answer best, without those that have nothing to do with the question, and whether the
    /// best of them counts as an answer.
    pub(super) fn references(
        &self,
        reader: &Reader,
        question: &Question,
        queries: &Queries,
        (vector, raise): (Option<&Embedding>, f64),
    ) -> Result<(Vec<Reference>, bool), ApiError> {
        let scope = &self.wanted.scope;
        if reader.chunk_count(scope, 1)? == 0 {
            return Ok((Vec::new(), false));
        }
        let lists = reader.chunk_lists(scope, &queries.all)?;
        let known = queries.known(question, &lists);
        let weights = QuestionWeights::new(question, lists.claims, &known);
        let by_words: Vec<RowNumber> = fuse::by_weight(queries.weighed(&lists, &weights))
            .into_iter()
            .take(MAX_BY_EACH)
            .map(|(spot, _)| spot)
            .collect();
        let near = match vector {
            Some(vector) => match reader.near_chunks(scope, &vector.model, &vector.numbers, MAX_BY_EACH) {
                Ok(near) => near,
                // The search for claims adds the note about this error.
                Err(StoreError::VectorModel { .. } | StoreError::BadVector(_)) => Vec::new(),
                Err(error) => return Err(error.into()),
            },
            None => Vec::new(),
        };
        let by_meaning: Vec<RowNumber> = near.iter().map(|(spot, _)| *spot).collect();
        let fused = fuse::reciprocal([by_words.as_slice(), by_meaning.as_slice()]);
        let pool: Vec<RowNumber> = fused.into_iter().map(|(spot, _)| spot).collect();
        let crowd = super::recall_verdict::crowd(&near);
        let mut cosines: HashMap<RowNumber, f32> = near.into_iter().collect();
        if let Some(vector) = vector {
            let rest: Vec<RowNumber> = pool.iter().filter(|spot| !cosines.contains_key(spot)).copied().collect();
            let found = reader.spot_cosines(&vector.model, &vector.numbers, &rest).unwrap_or_default();
            cosines.extend(rest.into_iter().zip(found).filter_map(|(spot, cosine)| Some((spot, cosine?))));
        }
        let rank = |(spot, row): (RowNumber, ChunkRow)| {
            let cosine = cosines.get(&spot).copied();
            let source = row.place.source();
            let candidate = RankedClaim {
                statement: &row.text,
                reason: None,
                source: Some(&source),
                kind: ClaimKind::Fact,
                at: row.at,
                needs_review: false,
                expired: false,
                cosine,
                with_reason: None,
            };
            let score = weights.score(&candidate, vector.is_some(), self.now);
            (score, cosine, row)
        };
        let mut ranked: Vec<(Score, Option<f32>, ChunkRow)> = reader.chunks_at(&pool)?.into_iter().map(rank).collect();
        let (by_meaning, unknown) = (vector.is_some(), weights.unknown());
        let known = answer_model::built_in().weights(by_meaning);
        let probability = |score: &Score, cosine: Option<f32>| {
            // Chunks of one file say much the same, so neither the lead of the best one nor its position in the lists
            // is evidence.
            let evidence = AnswerEvidence {
                score,
                cosine,
                with_reason: cosine,
                unknown,
                lead: None,
                fused: ASSUMED_FUSED,
                crowd,
                raise,
            };
            known.probability(&AnswerFeatures::of(&evidence))
        };
        ranked.retain(|(score, cosine, _)| {
            floor::margin(&floor::FloorEvidence { score, cosine: *cosine, by_meaning, unknown, lead: None, raise })
                >= 0.0
                || probability(score, *cosine) >= known.known_from
        });
        ranked.sort_by(|a, b| b.0.total.total_cmp(&a.0.total).then(b.2.id.cmp(&a.2.id)));
        // Two devices may have shared the same file.
        let mut seen = HashSet::new();
        ranked.retain(|(_, _, row)| seen.insert((row.place.clone(), row.text.clone())));
        ranked.truncate(MAX_REFERENCES.min(self.wanted.limit));
        let answers = ranked.first().is_some_and(|(score, cosine, _)| probability(score, *cosine) >= known.known_from);
        let view = |(score, cosine, row): (Score, Option<f32>, ChunkRow)| Reference {
            id: row.id,
            path: row.place.path,
            first: row.place.first,
            last: row.place.last,
            text: row.text,
            shared_by: row.shared_by,
            score: score.total as f32,
            cosine,
        };
        Ok((ranked.into_iter().map(view).collect(), answers))
    }
}
