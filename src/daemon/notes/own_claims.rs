//! The claims that a followed file made before this device followed it: by an import, or by a scan of another device.
//! Also those of the earlier versions of refused lines. If a line says the same as one of them, the claim belongs to the
//! line, as if a scan had stored it.

use std::collections::HashMap;

use super::{
    NotesKeeper,
    file_reader::{NoteRule, is_record},
    line_claims, lock,
    watch_list::{WatchedFile, WatchedRule},
};
use crate::{
    api::{ApiError, ClaimView, ClaimsQuery, MAX_PAGE},
    domain::{ClaimId, ClaimKind, EventId, Qualifiers, Scope, Status, drift::without_line, judgement::words_hash},
    interchange::{
        adr::{Record, StoredClaims},
        rules::{is_from, is_from_commit},
    },
};

/// The claims of a file.
pub(super) struct OwnClaims {
    /// By the hash of their words, without the day from which they hold: `ergo import rules --history` gives each rule
    /// the day of its commit.
    by_words: HashMap<EventId, ClaimId>,
    /// The active claims with earlier words of a record.
    pub(super) outdated: Vec<ClaimId>,
}

impl OwnClaims {
    /// Reads the claims whose source is a line of this file and whose reason is that of an import or a scan: the active
    /// ones of a rule file; of a record, also closed ones. Rules of a file have no conditions, so a claim with one is a
    /// line that a person narrowed. It counts if no claim without conditions has the same words.
    pub(super) fn read(
        keeper: &NotesKeeper,
        scope: &Scope,
        file: &WatchedFile,
        record: Option<&Record>,
    ) -> Result<Self, ApiError> {
        if let Some(record) = record {
            let StoredClaims { same, outdated, .. } = of_record(keeper, scope, record)?;
            let words = without_days(record.kind(), &record.claim().statement);
            return Ok(Self { by_words: same.into_iter().map(|same| (words, same.id)).collect(), outdated });
        }
        let claims = claims_from(keeper, scope, &file.shown, None)?;
        let mut own: Vec<&ClaimView> = claims.iter().filter(|claim| is_own(&file.shown, claim)).collect();
        own.sort_by_key(|claim| claim.qualifiers.conditions().is_none());
        let by_words = own.iter().map(|claim| (without_days(claim.kind, &claim.statement), claim.id)).collect();
        Ok(Self { by_words, outdated: Vec::new() })
    }

    /// Drops the claim of a record that is in force if another followed record had replaced it: nothing replaces it any
    /// more, so it must be stored again. Returns whether there was one.
    pub(super) fn drop_replaced(&mut self, keeper: &NotesKeeper, file: &WatchedFile) -> Result<bool, ApiError> {
        let mut is_free = false;
        for id in self.by_words.values() {
            let claim = keeper.engine.claim(&id.to_hex())?;
            for by in claim.replaced_by.iter().filter(|_| claim.status == Status::Superseded) {
                let source = keeper.engine.claim(&by.to_hex())?.source.unwrap_or_default();
                let from = without_line(&source);
                is_free |= lock(&keeper.list).files.values().any(|other| {
                    other.shown == from && other.shown != file.shown && other.scope == file.scope && is_record(from)
                });
            }
        }
        if is_free {
            self.by_words.clear();
        }
        Ok(is_free)
    }

    /// Adds the claims of the earlier versions of refused lines, which are still active, with their exceptions and
    /// conditions. Returns them.
    pub(super) fn add_earlier(
        &mut self,
        keeper: &NotesKeeper,
        rules: &[WatchedRule],
    ) -> Result<Vec<ClaimId>, ApiError> {
        let mut earlier = Vec::new();
        for rule in rules.iter().filter(|rule| rule.claim.is_none()) {
            for id in line_claims::claims_of(keeper, rule)? {
                let claim = keeper.engine.claim(&id.to_hex())?;
                self.by_words.insert(without_days(claim.kind, &claim.statement), id);
                earlier.push(id);
            }
        }
        Ok(earlier)
    }

    /// Gives lines whose claim was undone the active claim with the same words, which a later import stored.
    pub(super) fn replace_undone(keeper: &NotesKeeper, file: &mut WatchedFile) -> Result<(), ApiError> {
        let mut undone = Vec::new();
        for claim in file.claims() {
            if keeper.engine.is_undone(&claim)? {
                undone.push(claim);
            }
        }
        let Some(scope) = file.scope.clone().filter(|_| !undone.is_empty()) else { return Ok(()) };
        let own = Self::read(keeper, &scope, file, None)?;
        for rule in file.rules.iter_mut().filter(|rule| rule.claim.is_some_and(|claim| undone.contains(&claim))) {
            if let Some(claim) = own.by_words.get(&without_days(rule.kind, &rule.statement)) {
                (rule.claim, rule.was_stored, rule.card) = (Some(*claim), false, None);
            }
        }
        Ok(())
    }

    /// Whether a claim is one of these.
    pub(super) fn has(&self, claim: Option<ClaimId>) -> bool {
        claim.is_some_and(|claim| self.by_words.values().chain(&self.outdated).any(|own| *own == claim))
    }

    /// Returns the claim that says the same as a rule.
    pub(super) fn of(&self, rule: &NoteRule) -> Option<ClaimId> {
        self.by_words.get(&without_days(rule.kind, &rule.statement)).copied()
    }
}

/// Returns the claims that were stored from a record, perhaps from another folder.
pub(super) fn of_record(keeper: &NotesKeeper, scope: &Scope, record: &Record) -> Result<StoredClaims, ApiError> {
    let mut claims = claims_from(keeper, scope, &record.file, Some("all".to_owned()))?;
    if let Some(exported) = &record.exported {
        let claim = keeper.engine.claim(&exported.id.to_hex());
        claims.extend(claim.ok().filter(|claim| claim.scope == *scope));
    }
    let found = record.stored_claims(claims);
    if !found.is_empty() {
        return Ok(found);
    }
    let named = claims_from(keeper, scope, record.file_name(), Some("all".to_owned()))?;
    let before = record.before_move(&named, |path| {
        let list = lock(&keeper.list);
        let mut files = list.files.iter().filter(|(_, file)| file.shown == path && file.scope.as_ref() == Some(scope));
        files.all(|(path, _)| !path.exists())
    });
    Ok(before.map_or(found, |before| before.stored_claims(named)))
}

/// Returns the claims whose source contains the path of a file.
fn claims_from(
    keeper: &NotesKeeper,
    scope: &Scope,
    shown: &str,
    status: Option<String>,
) -> Result<Vec<ClaimView>, ApiError> {
    let mut query = ClaimsQuery {
        org_id: Some(scope.org_id.clone()),
        project: Some(scope.project.clone()),
        source: Some(shown.to_owned()),
        status,
        limit: Some(MAX_PAGE),
        ..ClaimsQuery::default()
    };
    let mut claims = Vec::new();
    loop {
        let page = keeper.engine.claims(&query)?;
        claims.extend(page.items);
        if page.next.is_none() {
            return Ok(claims);
        }
        query.cursor = page.next;
    }
}

fn is_own(shown: &str, claim: &ClaimView) -> bool {
    let source = claim.source.as_deref().and_then(|source| source.strip_prefix(shown)?.strip_prefix(':'));
    if source.is_none_or(|line| line.parse::<usize>().is_err()) {
        return false;
    }
    let name = shown.rsplit('/').next().unwrap_or(shown);
    is_from(name, claim.reason.as_deref().unwrap_or_default()) || is_from_commit(claim)
}

fn without_days(kind: ClaimKind, statement: &str) -> EventId {
    words_hash(kind, statement, &Qualifiers::default())
}
