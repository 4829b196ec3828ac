//! What became of a rule that the guard refused, and of a rule's claim that a person narrowed or undid. A scan asks
//! before it reads a line again.

use crate::{
    api::{ApiError, Caller},
    domain::{CardId, ClaimId, EventKind, ResolveAct, Status},
    engine::{Engine, acts, find, guard_calls::day},
    store::{ClaimRow, EventRow, Reader},
};

/// What became of a refused rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusedRule {
    /// Settling its card stored this claim.
    Stored(ClaimId),
    /// It is not stored.
    NotStored {
        /// Whether its card was settled against it. Otherwise nobody has settled the card, or it was closed because the
        /// rule had left its file.
        declined: bool,
        /// The claims because of which it was refused that are still active and have not expired; of a declined
        /// proposal to replace claims, these claims.
        opposed: Vec<ClaimId>,
        /// The active claims that it was to replace.
        replaces: Vec<ClaimId>,
    },
}

impl Engine {
    /// Returns what became of the refused rule on a card.
    pub fn refused_rule(&self, card: &CardId) -> Result<RefusedRule, ApiError> {
        let reader = self.readers.lend();
        let today = day((self.config.clock)());
        let active = |id: &ClaimId| -> Result<Option<ClaimRow>, ApiError> {
            Ok(reader.claim(id)?.filter(|row| row.status == Status::Active))
        };
        // Without a card, or with one that is neither open nor settled, the refusal was undone.
        let undecided = RefusedRule::NotStored { declined: false, opposed: Vec::new(), replaces: Vec::new() };
        let Some(card) = reader.card(card)? else { return Ok(undecided) };
        if let Some(claim) = find::stored_as(&reader, &card)? {
            return Ok(RefusedRule::Stored(claim.id));
        }
        // When the rule left its file, the claims that it was to replace ended, or went to other lines.
        if card.settled.as_ref().is_some_and(|by| by.act == acts::WITHDRAW) {
            return Ok(undecided);
        }
        let (mut opposed, mut replaces) = (Vec::new(), Vec::new());
        let intent = acts::write_intent(&reader, &card.id)?;
        for id in &intent.supersedes {
            let form = narrowed_form(&reader, id)?;
            if active(&form)?.is_some() {
                replaces.push(form);
            }
        }
        let declined = card.settled.is_some();
        let others = || card.members.iter().filter(|id| Some(**id) != card.new_claim);
        let is_declined_proposal = declined && others().all(|id| intent.supersedes.contains(id));
        for id in others().filter(|_| card.open || declined) {
            let opposes = is_declined_proposal || !intent.supersedes.contains(id);
            opposed.extend(active(id)?.filter(|row| opposes && !row.expired_on(&today)).map(|row| row.id));
        }
        Ok(RefusedRule::NotStored { declined, opposed, replaces })
    }

    /// Closes the open card of a refused rule that is no longer in any of the rule files of its project, with a reason.
    pub fn withdraw_refused_rule(
        &self,
        caller: &Caller,
        card: &CardId,
        files: &[String],
        reason: &str,
    ) -> Result<(), ApiError> {
        acts::withdraw(self, caller, card, files, reason)
    }

    /// Whether the change that wrote a claim was undone.
    pub fn is_undone(&self, claim: &ClaimId) -> Result<bool, ApiError> {
        Ok(self.readers.lend().claim(claim)?.is_some_and(|row| row.flags.undone))
    }

    /// Returns the claim that a person made of a claim by narrowing it, perhaps repeatedly; the claim itself if nobody
    /// narrowed it.
    pub fn narrowed_form(&self, claim: &ClaimId) -> Result<ClaimId, ApiError> {
        narrowed_form(&self.readers.lend(), claim)
    }
}

fn narrowed_form(reader: &Reader, claim: &ClaimId) -> Result<ClaimId, ApiError> {
    let mut form = *claim;
    while let Some(narrowed) = narrowed_from(reader, &form)? {
        form = narrowed;
    }
    Ok(form)
}

/// Returns the claim that replaced another one when a person narrowed it.
fn narrowed_from(reader: &Reader, claim: &ClaimId) -> Result<Option<ClaimId>, ApiError> {
    for next in reader.claim(claim)?.iter().flat_map(|row| &row.replaced_by) {
        let Some(created) = reader.event(next)? else { continue };
        let act = reader.op(&created.op)?;
        let narrows = act.iter().any(|event| event.kind == EventKind::Resolve(ResolveAct::Narrow));
        // The act that created the narrowed form also replaced the claim, so a chain of them never returns.
        let replaces =
            |event: &EventRow| event.targets.contains(claim) && (event.id == *next || event.successor == Some(*next));
        if narrows && act.iter().any(replaces) {
            return Ok(Some(*next));
        }
    }
    Ok(None)
}
