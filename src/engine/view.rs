//! Converts rows of the store into what clients see. Pure.

use super::fact_key;
use crate::{
    api::{self, CardSettlement, CardStatus, ChainLink, ClaimView, Conflict, EventView, Provenance},
    domain::{Finding, derive, text::cut},
    store::{CardRow, ClaimRow, EventRow},
};

/// The greatest number of characters of a statement in a list of events.
const MAX_LISTED_CHARS: usize = 200;

/// Returns a claim as it is on `today`.
pub(super) fn claim(row: ClaimRow, today: &str) -> ClaimView {
    let mut flags = row.flags;
    flags.expired = row.expired_on(today);
    ClaimView {
        id: row.id,
        level: row.scope.level(),
        seen_in: 0,
        scope: row.scope,
        kind: row.kind,
        status: row.status,
        flags,
        statement: row.statement,
        reason: row.reason,
        source: row.source,
        who: row.who,
        agent: row.agent,
        device: row.device,
        provenance: Provenance {
            text_writer: row.text_writer,
            device_name: row.device_name,
            device_person: row.device_person,
            team: row.team,
            arrived_from: row.received_from,
            arrived_from_name: row.received_from_name,
            verified: true,
        },
        at: row.clock.wall,
        key: row.key.filter(|key| fact_key::shown(key).is_some()),
        qualifiers: row.qualifiers,
        norms: row.norms,
        replaced_by: row.replaced_by,
        replaces: row.replaces,
        premises: row.premises,
        dependents: row.dependents,
        closing_reason: row.closing_reason,
        beside: Vec::new(),
        rev: row.rev,
    }
}

pub(super) fn claims(rows: impl IntoIterator<Item = ClaimRow>, today: &str) -> Vec<ClaimView> {
    rows.into_iter().map(|row| claim(row, today)).collect()
}

pub(super) fn event(row: EventRow) -> EventView {
    let body = row.body.unwrap_or_default();
    EventView {
        id: row.id,
        kind: row.kind.to_string(),
        op_id: row.op,
        scope: row.scope,
        who: row.who,
        agent: row.agent,
        device: row.device,
        device_name: row.device_name,
        at: row.clock.wall,
        targets: row.targets,
        reason: body.reason,
        statement: body.statement.map(|text| shorten(&text)),
        about: None,
        outcome: None,
        accept: None,
        undone: !row.effective,
        redo: false,
    }
}

/// Returns a link of a chain without the act that led to it.
pub(super) fn link(claim: ClaimView, depth: usize) -> ChainLink {
    ChainLink {
        claim,
        depth,
        replaced_by: None,
        change_reason: None,
        changed_by: None,
        changed_on: None,
        changed_at: None,
    }
}

/// Returns a finding with its claim as a conflict.
pub(super) fn conflict(finding: Finding, claim: ClaimView) -> Conflict {
    Conflict {
        claim,
        tier: finding.tier,
        score: finding.score,
        stage: finding.evidence.stage,
        rule: finding.evidence.rule.as_str().to_owned(),
        evidence: finding.evidence,
    }
}

/// Returns the status of a card at `now`, in milliseconds since the Unix epoch.
pub(super) fn card_status(row: &CardRow, now: u64) -> CardStatus {
    match row.snoozed_until {
        _ if !row.open => CardStatus::Settled,
        Some(until) if until > now => CardStatus::Snoozed,
        _ => CardStatus::Open,
    }
}

/// Returns how a card was settled; `None` if it is open.
pub(super) fn settlement(row: &CardRow) -> Option<CardSettlement> {
    if row.open {
        return None;
    }
    Some(match &row.settled {
        Some(by) => CardSettlement {
            act: by.act.clone(),
            who: by.who.clone(),
            agent: by.agent.clone(),
            at: by.clock.wall,
            reason: by.reason.clone(),
            op_id: Some(by.op),
            stored_as: None,
            merged: false,
        },
        None => CardSettlement {
            act: if row.new_claim.is_some() { "undone" } else { "moot" }.into(),
            who: row.who.clone(),
            agent: row.agent.clone(),
            at: row.clock.wall,
            reason: match row.kind {
                // The card of a write stays open until it is settled, or until the write is undone.
                _ if row.new_claim.is_some() => None,
                derive::CardKind::Proposed => Some("the claim is no longer active".into()),
                _ => Some("the claims that contradicted each other are no longer both active".into()),
            },
            op_id: None,
            stored_as: None,
            merged: false,
        },
    })
}

/// Parses the status of cards that a client asks for.
pub(super) fn card_filter(text: Option<&str>) -> Result<crate::store::CardState, api::ApiError> {
    Ok(match text.unwrap_or("open") {
        "" | "open" => crate::store::CardState::Open,
        "snoozed" => crate::store::CardState::Snoozed,
        "settled" => crate::store::CardState::Settled,
        "all" => crate::store::CardState::All,
        other => {
            return Err(api::ApiError::field(
                "status",
                format!(
                    "unknown `status` “{}”: expected open, snoozed, settled or all",
                    other.chars().take(40).collect::<String>()
                ),
            ));
        }
    })
}

/// Shortens a statement for a list of events.
pub(super) fn shorten(text: &str) -> String {
    cut(text, MAX_LISTED_CHARS)
}
