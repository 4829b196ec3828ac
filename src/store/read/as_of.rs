//! Claims as they were: the acts up to a time, projected anew. Takes time in proportion to the scope, and is right.

use rusqlite::params;

use super::{Place, claims, pages::fits};
use crate::{
    domain::{
        ClaimId, Norm, Scope, SignedEvent,
        derive::{ClaimFacts, Projection, project},
        norm::IndexTerms,
        verdict::{Carried, Evidence, PairCheck},
    },
    store::{ClaimFilter, ClaimRow, Page, Reader, Result, StoreError, log},
};

/// Cards are not asked for here, and comparing is what costs.
struct NoCards;

impl PairCheck for NoCards {
    fn version(&self) -> u32 {
        0
    }

    fn contradiction(&self, _: Carried<'_>, _: Carried<'_>) -> Option<Evidence> {
        None
    }

    fn index_terms(&self, _: &[Norm], _: &str) -> IndexTerms {
        IndexTerms::default()
    }
}

impl Reader {
    /// A claim as it was at a wall time in milliseconds since the Unix epoch, by event clock; `None` if it was not there.
    pub fn claim_at(&self, id: &ClaimId, as_of: u64) -> Result<Option<ClaimRow>> {
        self.snapshot(|reader| {
            let Some(event) = log::load_id(&reader.db, id)? else { return Ok(None) };
            let scope = log::scope_named(&reader.db, event.scope)?;
            let past = reader.past(Some(&scope), as_of)?;
            past.claims.get(id).map(|facts| reader.row_at(*id, facts, &past)).transpose()
        })
    }

    /// A page of claims as they were at a wall time, newest first. Takes time in proportion to the scope.
    pub fn claims_at(
        &self,
        filter: &ClaimFilter,
        as_of: u64,
        limit: usize,
        cursor: Option<&str>,
    ) -> Result<Page<ClaimRow>> {
        let after = Place::parse(cursor)?;
        self.snapshot(|reader| {
            let past = reader.past(filter.scope.as_ref(), as_of)?;
            let mut found = Vec::new();
            let mut read = reader.db.prepare_cached("SELECT wall, tick, n FROM claims WHERE id = ?1")?;
            for (id, facts) in &past.claims {
                let right = filter.status.is_none_or(|status| status == facts.status)
                    && (filter.kinds.is_empty() || filter.kinds.contains(&facts.kind))
                    && filter.needs_review.is_none_or(|review| review == facts.flags.needs_review);
                if right {
                    let place = read
                        .query_row([id.0], |row| Ok(Place { wall: row.get(0)?, tick: row.get(1)?, n: row.get(2)? }))?;
                    if filter.spans(place.wall.unsigned_abs()) {
                        found.push((place, *id, facts));
                    }
                }
            }
            found.sort_unstable_by_key(|(place, ..)| std::cmp::Reverse(*place));
            let mut rows = Vec::new();
            let mut total = 0;
            let mut next = None;
            for (place, id, facts) in found {
                let wanted = place < after && rows.len() < limit;
                if filter.who.is_none() && !wanted {
                    total += 1;
                    next = next.or((rows.len() == limit && place < after).then_some(()));
                    continue;
                }
                let row = reader.row_at(id, facts, &past)?;
                if !fits(filter, &row) {
                    continue;
                }
                total += 1;
                if wanted {
                    rows.push((place, row));
                } else if place < after {
                    next = Some(());
                }
            }
            Ok(Page {
                next: next.and(rows.last()).map(|(place, _)| place.cursor()),
                total,
                at_least: false,
                items: rows.into_iter().map(|(_, row)| row).collect(),
            })
        })
    }

    /// The projection of what had happened by then.
    fn past(&self, scope: Option<&Scope>, as_of: u64) -> Result<Projection> {
        let scope = match scope {
            Some(scope) => match log::known_scope(&self.db, scope)? {
                Some(scope) => Some(scope),
                None => return Ok(Projection::default()),
            },
            None => None,
        };
        let mut read = self.db.prepare_cached(
            "SELECT header, signature, NULL AS salt, NULL AS body, scope FROM events
             WHERE (?1 IS NULL OR scope = ?1) AND wall <= ?2 AND log = 0",
        )?;
        let mut names = log::ScopeNames::default();
        let mut events: Vec<SignedEvent> = Vec::new();
        let mut rows = read.query(params![scope, log::wall(as_of)])?;
        while let Some(row) = rows.next()? {
            let mut event = log::read_signed(row)?.map_err(|error| StoreError::Damaged(error.to_string()))?;
            event.header.scope = names.of(&self.db, row.get(4)?)?;
            events.push(event);
        }
        Ok(project(&events, &NoCards))
    }

    /// A claim with the state that it had then. Its words are those that are left now: a redaction is for all times.
    fn row_at(&self, id: ClaimId, facts: &ClaimFacts, past: &Projection) -> Result<ClaimRow> {
        let Some(mut row) = claims::claim(&self.db, &id)? else {
            return Err(StoreError::Damaged(format!("claim {id} is in the log and in no table")));
        };
        row.status = facts.status;
        let redacted = row.flags.redacted;
        row.flags = facts.flags;
        row.flags.redacted = redacted;
        row.live_acts.clone_from(&facts.live);
        row.replaced_by = facts.replaced_by.iter().copied().collect();
        row.replaces.retain(|old| past.claims.get(old).is_some_and(|facts| facts.replaced_by.contains(&id)));
        row.premises.retain(|premise| facts.premises.contains(premise));
        row.causes = facts.causes.iter().copied().collect();
        row.closing_reason = match facts.live.last() {
            Some(act) => match log::number_of(&self.db, act)? {
                Some(n) => log::body(&self.db, n)?.and_then(|body| body.reason),
                None => None,
            },
            None => row.closing_reason.filter(|_| row.flags.excepted),
        };
        Ok(row)
    }
}
