//! The texts of a card on which an agent proposes to replace claims by a new one. The guard refused nothing.

use super::{CardContext, quote, quote_all};
use crate::{
    api::{CardAct, ClaimView},
    domain::ClaimId,
};

/// A write that an agent may only propose.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct ProposedWrite<'a> {
    /// The act that accepts it: `supersede` or `exception`.
    pub accept: CardAct,
    /// The active claims that it is to replace.
    pub replaces: &'a [ClaimId],
}

/// Describes in one sentence what an agent proposes to replace, and by what; `None` for any other card.
pub(super) fn headline(facts: &CardContext<'_>) -> Option<String> {
    let (new_claim, replaces) = replacement(facts)?;
    let is_old = |claim: &&&ClaimView| replaces.contains(&claim.id);
    let old: Vec<&str> = facts.claims.iter().filter(is_old).map(|claim| claim.statement.as_str()).collect();
    let old = if old.is_empty() { "a claim".to_owned() } else { quote_all(&old) };
    let since = facts.replaced.map(|first| format!(", which replaced {} since", quote(&first.statement)));
    let by = new_claim.agent.as_deref().unwrap_or("An agent");
    let since = since.unwrap_or_default();
    Some(format!("{by} proposes to replace {old}{since} by {}", quote(&new_claim.statement)))
}

/// Says how a person can settle such a card; `None` for any other card.
pub(super) fn advice(facts: &CardContext<'_>) -> Option<String> {
    replacement(facts)?;
    if facts.active().next().is_none() {
        return Some(
            "The claim that it was to replace is no longer active. Keep the new claim to store it, or discard it."
                .to_owned(),
        );
    }
    Some(
        "To accept the proposal, keep the new claim; to reject it, discard the new claim. If both hold, but in \
         different environments or periods, limit one (narrow)."
            .to_owned(),
    )
}

fn replacement<'a>(facts: &CardContext<'a>) -> Option<(&'a ClaimView, &'a [ClaimId])> {
    let proposal = facts.proposal.filter(|proposal| proposal.accept == CardAct::Supersede)?;
    facts.new_claim.map(|new_claim| (new_claim, proposal.replaces))
}
