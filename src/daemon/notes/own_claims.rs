//! The claims that a followed file made before this device followed it: by an import, or by a scan of another device.
//! If a line says the same as one of them, the claim belongs to the line, as if a scan had stored it.

use std::collections::HashMap;

use super::{
    NotesKeeper,
    file_reader::{NoteRule, is_record},
    watch_list::WatchedFile,
};
use crate::{
    api::{ApiError, ClaimView, ClaimsQuery, MAX_PAGE},
    domain::{ClaimId, ClaimKind, EventId, Qualifiers, Scope, judgement::words_hash},
    interchange::rules::{is_from, is_from_commit},
};

/// The active claims of a file by the hash of their words, without the day from which they hold: `ergo import rules
/// --history` gives each rule the day of its commit.
pub(super) struct OwnClaims(HashMap<EventId, ClaimId>);

impl OwnClaims {
    /// Reads the claims whose source is a line of this file and whose reason is that of an import or a scan. Claims
    /// with conditions are left out, since rules of a file have none.
    pub(super) fn read(
        keeper: &NotesKeeper,
        scope: &Scope,
        file: &WatchedFile,
        rules: &[NoteRule],
    ) -> Result<Self, ApiError> {
        let mut query = ClaimsQuery {
            org_id: Some(scope.org_id.clone()),
            project: Some(scope.project.clone()),
            source: Some(file.shown.clone()),
            limit: Some(MAX_PAGE),
            ..ClaimsQuery::default()
        };
        let mut own = HashMap::new();
        loop {
            let page = keeper.engine.claims(&query)?;
            let mine = page.items.iter().filter(|claim| is_own(&file.shown, rules, claim));
            own.extend(mine.map(|claim| (without_days(claim.kind, &claim.statement), claim.id)));
            if page.next.is_none() {
                return Ok(Self(own));
            }
            query.cursor = page.next;
        }
    }

    /// Whether a claim is one of these.
    pub(super) fn has(&self, claim: Option<ClaimId>) -> bool {
        claim.is_some_and(|claim| self.0.values().any(|own| *own == claim))
    }

    /// Returns the claim that says the same as a rule.
    pub(super) fn of(&self, rule: &NoteRule) -> Option<ClaimId> {
        self.0.get(&without_days(rule.kind, &rule.statement)).copied()
    }
}

fn is_own(shown: &str, rules: &[NoteRule], claim: &ClaimView) -> bool {
    let source = claim.source.as_deref().and_then(|source| source.strip_prefix(shown)?.strip_prefix(':'));
    if source.is_none_or(|line| line.parse::<usize>().is_err()) || claim.qualifiers.conditions().is_some() {
        return false;
    }
    let reason = claim.reason.as_deref().unwrap_or_default();
    // An import of records adds the date to the reason.
    let of_record = |rule: &NoteRule| is_record(shown) && reason.starts_with(&rule.reason);
    let name = shown.rsplit('/').next().unwrap_or(shown);
    is_from(name, reason) || is_from_commit(claim) || rules.iter().any(of_record)
}

fn without_days(kind: ClaimKind, statement: &str) -> EventId {
    words_hash(kind, statement, &Qualifiers::default())
}
