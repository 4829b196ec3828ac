//! Claims that may be written into a rule file: those of its project and its organisation that the file does not
//! contain.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    api::{ApiError, limits},
    domain::{
        CardId, ClaimId, ConflictKind, EventId, Qualifiers, Scope, derive::CardKind, judgement::words_hash,
        numeric::cosine,
    },
    engine::{Engine, beside, find, guard_calls::day},
    notes::{Lifecycle, note_format::NoteLine, sameness::conflict_kind},
    store::{CardRow, ClaimRow},
};

/// The claims that may be written into a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProposedNotes {
    /// The claims, highest rank first.
    pub notes: Vec<NoteProposal>,
    /// The number of claims that the file contains already.
    pub present: usize,
}

/// A claim that may be written into a file.
#[derive(Clone, Debug, PartialEq)]
pub struct NoteProposal {
    pub line: NoteLine,
    pub claim: ClaimId,
    /// The open card about this claim and a rule of the file that it contradicts.
    pub card: Option<CardId>,
    /// The claim of that rule; `None` if the rule was refused.
    pub says: Option<ClaimId>,
    /// The cosine of its vector and the mean vector of the file's claims; 0.5 if unknown.
    pub meaning: f64,
    /// Its rank, 0 to 1.
    pub rank: f64,
    /// Whether its domain is also a domain of the file; true if the file has none.
    pub in_domain: bool,
}

impl Engine {
    /// Returns the claims that may be written into a file of a scope. `present` are the hashes of the words of the
    /// file's rules, without qualifiers; `refused` are the cards of those that the guard refused; `contrary` are the
    /// claims that contradict a rule, with or without a card.
    pub fn propose_notes(
        &self,
        scope: &Scope,
        present: &HashSet<EventId>,
        refused: &[CardId],
        contrary: &HashSet<ClaimId>,
    ) -> Result<ProposedNotes, ApiError> {
        let book = self.notes_book(&scope.org_id)?;
        let reader = self.readers.lend();
        let vectors = reader.organisation_vectors(&scope.org_id)?;
        let own = |at: &usize| book.claims.get(*at).is_some_and(|claim| claim.scope == *scope);
        let level = |at: &usize| book.claims.get(*at).is_some_and(|claim| !claim.scope.level().is_project());
        // An imported claim is valid from the day of its record or commit, which the file does not contain.
        let words = |row: &ClaimRow| {
            let qualifiers = Qualifiers { valid_from: None, ..row.qualifiers.clone() };
            words_hash(row.kind, &row.statement, &qualifiers)
        };
        let present: HashSet<usize> = (0..book.rows.len())
            .filter(|at| book.rows.get(*at).is_some_and(|row| present.contains(&words(row))))
            .collect();
        let is_present = |at: &usize| present.contains(at);

        let insights = book.insights();
        let mut centre: Vec<f32> = Vec::new();
        let mut domains: BTreeSet<&str> = BTreeSet::new();
        let mut spoken: HashSet<ClaimId> = HashSet::new();
        for insight in insights.iter().filter(|insight| insight.members.iter().any(is_present)) {
            domains.insert(insight.labels.domain);
            for claim in insight.members.iter().filter(|at| own(at) || level(at)).filter_map(|at| book.claims.get(*at))
            {
                spoken.insert(claim.id);
                if let Some(vector) = vectors.get(&claim.id) {
                    centre.resize(vector.len(), 0.0);
                    centre.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x);
                }
            }
        }
        let length = centre.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 {
            for x in &mut centre {
                *x /= length;
            }
        }

        // The claims that open cards oppose to the claims of the file.
        let mut opposed: HashMap<ClaimId, (Option<ClaimId>, Option<CardId>)> =
            contrary.iter().map(|claim| (*claim, (None, None))).collect();
        let mut mine: HashMap<CardId, ClaimId> = HashMap::new();
        let mut sides: HashMap<CardId, Vec<ClaimId>> = HashMap::new();
        for (claim, card) in &book.cards {
            sides.entry(*card).or_default().push(*claim);
            if spoken.contains(claim) {
                mine.entry(*card).or_insert(*claim);
            }
        }
        for card in mine.keys().copied().collect::<Vec<CardId>>() {
            if !reader.card(&card)?.is_some_and(|card| is_open_contradiction(&card)) {
                mine.remove(&card);
            }
        }
        for (claim, card) in &book.cards {
            if let (false, Some(mine)) = (spoken.contains(claim), mine.get(card)) {
                opposed.insert(*claim, (Some(*mine), Some(*card)));
            }
        }
        for card in refused {
            for claim in sides.get(card).into_iter().flatten() {
                opposed.insert(*claim, (None, Some(*card)));
            }
        }

        let today = day(book.now);
        let in_force = |at: &usize| book.rows.get(*at).is_some_and(|row| !row.expired_on(&today));
        let mut notes = Vec::new();
        for insight in &insights {
            let members = || insight.members.iter().filter(|at| (own(at) || level(at)) && in_force(at));
            let opposing =
                members().find(|at| book.claims.get(**at).is_some_and(|claim| opposed.contains_key(&claim.id)));
            let shown = opposing.or_else(|| {
                let hidden = insight.lifecycle == Lifecycle::Pruned || insight.members.iter().any(is_present);
                members().find(|at| own(at)).or_else(|| members().next()).filter(|_| !hidden)
            });
            let Some(row) = shown.and_then(|at| book.rows.get(*at)) else { continue };
            let conflict = opposed.get(&row.id).copied();
            let card = conflict.and_then(|(_, card)| card);
            let beside = if row.flags.excepted { beside::of(&reader, &row.id, Some(scope))? } else { Vec::new() };
            let meaning = vectors
                .get(&row.id)
                .filter(|vector| vector.len() == centre.len() && length > 0.0)
                .map_or(0.5, |vector| f64::from(cosine(vector, &centre)));
            notes.push(NoteProposal {
                line: NoteLine {
                    kind: row.kind,
                    domain: insight.labels.domain.to_owned(),
                    statement: row.statement.clone(),
                    limits: limits(&row.qualifiers, &beside),
                    reason: row.reason.clone(),
                    claim: row.id.short(),
                    of_organisation: !row.scope.level().is_project(),
                    is_conflict: conflict.is_some(),
                    card: card.map(CardId::short),
                },
                claim: row.id,
                card,
                says: conflict.and_then(|(mine, _)| mine),
                meaning,
                rank: insight.rank,
                in_domain: domains.is_empty() || domains.contains(insight.labels.domain),
            });
        }
        notes.sort_by(|a, b| b.rank.total_cmp(&a.rank).then(a.claim.cmp(&b.claim)));
        Ok(ProposedNotes { notes, present: spoken.len() })
    }

    /// Returns the open cards among `refused`, and the open cards on which one of these claims contradicts another one.
    pub fn open_cards_of(&self, claims: &[ClaimId], refused: &[CardId]) -> Result<Vec<CardId>, ApiError> {
        let reader = self.readers.lend();
        let mut found = BTreeSet::new();
        for card in refused {
            found.extend(reader.card(card)?.filter(|card| card.open).map(|card| card.id));
        }
        for claim in claims {
            found.extend(reader.cards_of(claim)?.into_iter().filter(is_open_contradiction).map(|card| card.id));
        }
        Ok(found.into_iter().collect())
    }

    /// Returns those of these claims that are stored and active.
    pub fn active_claims(&self, claims: &[ClaimId]) -> Result<HashSet<ClaimId>, ApiError> {
        Ok(self.readers.lend().snapshot(|reader| reader.active_among(claims))?)
    }

    /// Returns the claims that contradict a claim, with the open cards of both.
    pub fn opposing(&self, claim: &ClaimId) -> Result<Vec<(CardId, ClaimId)>, ApiError> {
        let reader = self.readers.lend();
        let mut found = Vec::new();
        for card in reader.cards_of(claim)?.into_iter().filter(is_open_contradiction) {
            found.extend(card.members.iter().filter(|other| *other != claim).map(|other| (card.id, *other)));
        }
        Ok(found)
    }

    /// Returns how the claims on a card exclude each other; `None` without evidence.
    pub fn conflict_kind(&self, card: &CardId) -> Result<Option<ConflictKind>, ApiError> {
        let view = self.card(&card.to_hex())?;
        Ok(view.evidence.first().map(conflict_kind))
    }

    /// Returns the statement of a claim and its source, which contains the line in its file.
    pub fn note_source(&self, claim: &ClaimId) -> Result<(String, Option<String>), ApiError> {
        let row = find::row(&self.readers.lend(), claim)?;
        Ok((row.statement, row.source))
    }
}

/// Whether a card waits for a person because the claims on it contradict each other. The claims on a question of the
/// story need not, and neither do those that one refused or held write contradicts.
fn is_open_contradiction(card: &CardRow) -> bool {
    card.open && matches!(card.kind, CardKind::Found | CardKind::Contradiction | CardKind::Contested)
}
