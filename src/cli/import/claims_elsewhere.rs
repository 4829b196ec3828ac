//! The stored claims that say the same as the rules of a file whose history is imported, but come from elsewhere: from
//! another rule file, or from a person.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    file_versions::Version,
    send::{ImportRow, claims_from},
};
use crate::{
    api::{ClaimView, Refused},
    cli::{CliError, Context},
    domain::{ClaimId, ClaimKind, EventId, Qualifiers, Status, judgement::words_hash},
};

/// The active claims that say the same as rules of the file's last version, and are not its own.
#[derive(Default)]
pub(super) struct ClaimsElsewhere {
    /// By the hash of their words, without the day from which they hold.
    by_words: BTreeMap<EventId, ClaimId>,
    /// The hashes of all rules of the last version.
    last: BTreeSet<EventId>,
}

impl ClaimsElsewhere {
    /// Reads the claims of this project without `own`, those that were imported from the file before.
    pub(super) async fn read(cx: &Context, own: &[ClaimView], versions: &[Version]) -> Result<Self, CliError> {
        let rules = versions.last().into_iter().flat_map(|version| &version.rules);
        let last: BTreeSet<EventId> = rules.map(|rule| words(rule.kind, &rule.statement)).collect();
        let own: BTreeSet<ClaimId> = own.iter().map(|claim| claim.id).collect();
        let client = cx.client().await?;
        let claims = claims_from(&client, &cx.known_scope(&client).await?, None).await?;
        let is_elsewhere = |claim: &&ClaimView| {
            let is_own = own.contains(&claim.id);
            claim.status == Status::Active && claim.qualifiers.conditions().is_none() && !is_own
        };
        let by_words = claims.iter().filter(is_elsewhere).map(|claim| (words(claim.kind, &claim.statement), claim.id));
        Ok(Self { by_words: by_words.filter(|(words, _)| last.contains(words)).collect(), last })
    }

    /// Returns the ids of the claims.
    pub(super) fn ids(&self) -> impl Iterator<Item = ClaimId> {
        self.by_words.values().copied()
    }

    /// Returns the claim that says the same as a row.
    pub(super) fn of(&self, row: &ImportRow) -> Option<ClaimId> {
        self.by_words.get(&words_of(row)).copied()
    }

    /// Whether a row was refused only because of these claims, and the last version no longer has it: then it belongs to
    /// the history.
    pub(super) fn came_after(&self, row: &ImportRow, refused: &Refused) -> bool {
        let is_known = |id: ClaimId| self.ids().any(|known| known == id);
        !self.last.contains(&words_of(row)) && refused.conflicts.iter().all(|conflict| is_known(conflict.claim.id))
    }
}

fn words_of(row: &ImportRow) -> EventId {
    words(row.claim.kind.unwrap_or_default(), &row.claim.statement)
}

fn words(kind: ClaimKind, statement: &str) -> EventId {
    words_hash(kind, statement, &Qualifiers::default())
}
