//! Stores a refused write after all.

use super::{
    new_claim::NewClaim,
    refuse::{WriteIntent, write_intent},
};
use crate::{
    api::ApiError,
    domain::{ClaimId, Qualifiers, Scope, Status, TextWriter},
    engine::{
        act_context::ActContext,
        find,
        guard_calls::NormalisedStatement,
        validate::{self, ClaimDraft},
    },
    store::{CardRow, ClaimRow, Reader},
};

/// The card of a refused write.
pub(super) struct RefusedWrite {
    scope: Scope,
    /// The new claim.
    pub(super) row: ClaimRow,
    /// The active claims on the card, and those that replaced a claim on the card.
    pub(super) opposed: Vec<ClaimRow>,
    /// The effects that the write should have had besides.
    pub(super) proposal: WriteIntent,
}

impl RefusedWrite {
    /// Returns the active claims that the write was to replace.
    pub(super) fn wanted(&self) -> Vec<ClaimRow> {
        self.opposed.iter().filter(|row| self.proposal.supersedes.contains(&row.id)).cloned().collect()
    }

    /// Returns the active claims on the card that the write was not to replace: those that oppose it.
    pub(super) fn against(&self) -> Vec<ClaimId> {
        self.opposed.iter().map(|row| row.id).filter(|id| !self.proposal.supersedes.contains(id)).collect()
    }
}

/// Returns the stored claims with which the new claim of an open card is compared: those on the card, each replaced one
/// as the active claims in its place.
pub(in crate::engine) fn opposing_claims(reader: &Reader, card: &CardRow) -> Result<Vec<ClaimRow>, ApiError> {
    let mut opposing: Vec<ClaimRow> = Vec::new();
    for member in card.members.iter().filter(|member| Some(**member) != card.new_claim) {
        let row = find::row(reader, member)?;
        let heads = if row.status == Status::Active { Vec::new() } else { reader.heads(member)? };
        // A claim that was retracted stays, to show what became of it.
        for row in if heads.is_empty() { vec![row] } else { heads } {
            if !opposing.iter().any(|known| known.id == row.id) {
                opposing.push(row);
            }
        }
    }
    Ok(opposing)
}

impl ActContext<'_> {
    /// Reads the card of a refused write.
    pub(super) fn refused_write(&self, card: &CardRow) -> Result<RefusedWrite, ApiError> {
        let reader = self.reader();
        let id = card.new_claim.ok_or_else(|| ApiError::internal("a card of a refused write has no new claim"))?;
        let row =
            reader.new_claim(&id)?.ok_or_else(|| ApiError::internal(format!("the refused write {id} is missing")))?;
        let mut opposed = opposing_claims(reader, card)?;
        opposed.retain(|row| row.status == Status::Active);
        let proposal = write_intent(reader, &card.id)?;
        Ok(RefusedWrite { scope: card.scope.clone(), row, opposed, proposal })
    }

    /// [`ActContext::refused_write`] for somebody who sees the card: what replaced a claim since is on it, and is to be
    /// replaced in its place.
    pub(super) fn refused_write_as_shown(&self, card: &CardRow) -> Result<RefusedWrite, ApiError> {
        let mut refused = self.refused_write(card)?;
        for target in std::mem::take(&mut refused.proposal.supersedes) {
            refused.proposal.supersedes.extend(self.reader().heads(&target)?.iter().map(|row| row.id));
        }
        Ok(refused)
    }

    /// Returns the refused write as a new claim that replaces `replaces`. It keeps its text, kind and source, except
    /// for what `text` changes, and names who wrote the text.
    pub(super) fn claim_from_refused(
        &self,
        refused_write: &RefusedWrite,
        replaces: Vec<ClaimRow>,
        text: Rewording,
    ) -> Result<NewClaim, ApiError> {
        let premises = self.kept_premises(&refused_write.scope, &refused_write.proposal.depends_on, &replaces)?;
        let row = &refused_write.row;
        let mut claim = self.reword(row, replaces, premises, text)?;
        let is_another = row.who != self.actor.who || row.agent != self.actor.agent;
        if is_another && claim.draft.statement == row.statement {
            claim.text_writer = Some(TextWriter { who: row.who.clone(), agent: row.agent.clone() });
        }
        Ok(claim)
    }

    /// Keeps the premises on which a claim of this scope that replaces `replaces` can depend, each once. A premise that
    /// is no longer active would make the claim need review at once.
    pub(super) fn kept_premises<'a>(
        &self,
        scope: &Scope,
        premises: impl IntoIterator<Item = &'a ClaimId>,
        replaces: &[ClaimRow],
    ) -> Result<Vec<ClaimId>, ApiError> {
        let mut kept = Vec::new();
        for id in premises {
            let can = self.reader().claim(id)?.is_some_and(|row| row.status == Status::Active && row.scope == *scope);
            if can && !kept.contains(id) && !replaces.iter().any(|row| row.id == *id) {
                kept.push(*id);
            }
        }
        Ok(kept)
    }

    /// Returns a new claim like `row`, with the given texts in place of its own.
    pub(super) fn reword(
        &self,
        row: &ClaimRow,
        replaces: Vec<ClaimRow>,
        premises: Vec<ClaimId>,
        text: Rewording,
    ) -> Result<NewClaim, ApiError> {
        let statement = text.statement.unwrap_or_else(|| row.statement.clone());
        if statement.is_empty() {
            return Err(ApiError::field("statement", format!("the text of {} was redacted", row.id.short()))
                .hint("give a new statement in its place, or discard the card"));
        }
        let qualifiers = text.qualifiers.or(&row.qualifiers);
        let same = statement == row.statement && qualifiers == row.qualifiers && !row.norms.is_empty();
        let normalised = if same {
            NormalisedStatement {
                norms: row.norms.clone(),
                version: row.normaliser.clone().unwrap_or_default(),
                warning: None,
            }
        } else {
            self.normalise(row.kind, &statement, &qualifiers)
        };
        let draft = ClaimDraft {
            kind: row.kind,
            statement,
            reason: text.reason.or_else(|| row.reason.clone()),
            source: row.source.clone(),
            key: row.key.clone(),
            qualifiers,
            exception: None,
        };
        let change_reason = text.change_reason;
        Ok(NewClaim {
            draft,
            normalised,
            replaces,
            premises,
            rules: Vec::new(),
            change_reason,
            consider: false,
            promotes: Vec::new(),
            text_writer: None,
        })
    }
}

/// The changes to a claim.
#[derive(Clone, Debug, Default)]
pub(super) struct Rewording {
    pub(super) statement: Option<String>,
    /// The reason of the claim, in place of its own.
    pub(super) reason: Option<String>,
    /// Why the claim replaces others.
    pub(super) change_reason: Option<String>,
    pub(super) qualifiers: Qualifiers,
}

impl Rewording {
    /// Returns whether it gives conditions, and `row` has all of them already.
    pub(super) fn repeats_conditions(&self, row: &ClaimRow) -> bool {
        !self.qualifiers.is_empty() && self.qualifiers.clone().or(&row.qualifiers) == row.qualifiers
    }
}

/// Checks that narrowing changes the statement or the qualifiers of `row`.
pub(super) fn must_narrow(row: &ClaimRow, text: &Rewording) -> Result<(), ApiError> {
    let reworded = text.statement.as_ref().is_some_and(|statement| *statement != row.statement);
    let qualifiers = text.qualifiers.clone().or(&row.qualifiers);
    // The combined validity period must be valid too.
    validate::qualifiers(&qualifiers)?;
    if reworded || qualifiers != row.qualifiers {
        return Ok(());
    }
    let hint = "say where or when the claim holds, so that both can";
    if !text.qualifiers.is_empty()
        && let Some(held) = row.qualifiers.conditions()
    {
        return Err(
            ApiError::field("qualifiers", format!("nothing would change: the claim holds {held} already")).hint(hint)
        );
    }
    Err(ApiError::field(
        "qualifiers",
        "narrowing needs a condition (`env`, `team`, `tenant`, `valid_from`, `valid_until`) or a change of `statement`",
    )
    .hint(hint))
}
