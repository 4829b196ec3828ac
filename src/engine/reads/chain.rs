//! The chain of a claim: what it replaced, and what replaced it.

use std::collections::{BTreeSet, VecDeque};

use crate::{
    api::{ApiError, ChainLink, ClaimView},
    domain::{ClaimId, Status},
    engine::{find, view},
    store::{ClaimRow, Reader},
};

/// The greatest number of links in an answer.
const MAX_LINKS: usize = 200;

/// Returns the claim and everything that it replaced, nearest first, with the reason of each change.
pub(super) fn back(reader: &Reader, from: &ClaimRow, today: &str) -> Result<Vec<ChainLink>, ApiError> {
    let mut links = vec![view::link(view::claim(from.clone(), today), 0)];
    let mut seen = BTreeSet::from([from.id]);
    let mut queue: VecDeque<(ClaimId, ClaimId, usize)> = from.replaces.iter().map(|old| (*old, from.id, 1)).collect();
    while let Some((id, newer, depth)) = queue.pop_front() {
        if links.len() >= MAX_LINKS || !seen.insert(id) {
            continue;
        }
        let row = find::row(reader, &id)?;
        queue.extend(row.replaces.iter().map(|old| (*old, id, depth + 1)));
        links.push(link(reader, row, newer, depth, today)?);
    }
    Ok(links)
}

/// Returns the claims that replaced it, up to the active ones, nearest first.
pub(super) fn forward(reader: &Reader, from: &ClaimRow, today: &str) -> Result<Vec<ClaimView>, ApiError> {
    let mut views = Vec::new();
    let mut seen = BTreeSet::from([from.id]);
    let mut queue: VecDeque<ClaimId> = from.replaced_by.iter().copied().collect();
    while let Some(id) = queue.pop_front() {
        if views.len() >= MAX_LINKS || !seen.insert(id) {
            continue;
        }
        // A successor may be unknown here: its event has not arrived yet, or is in quarantine.
        let Some(row) = reader.claim(&id)? else { continue };
        queue.extend(&row.replaced_by);
        views.push(view::claim(row, today));
    }
    Ok(views)
}

fn link(reader: &Reader, row: ClaimRow, newer: ClaimId, depth: usize, today: &str) -> Result<ChainLink, ApiError> {
    // Of the acts because of which the claim is not active, prefer the one by which `newer` replaced it.
    let mut change = None;
    if row.status != Status::Active {
        for id in &row.live_acts {
            let Some(event) = reader.event(id)? else { continue };
            let its_own = event.successor.unwrap_or(event.id) == newer;
            if its_own || change.is_none() {
                change = Some(event);
            }
            if its_own {
                break;
            }
        }
    }
    let mut link = view::link(view::claim(row, today), depth);
    link.replaced_by = Some(newer);
    if let Some(event) = change {
        link.change_reason = event.body.and_then(|body| body.reason);
        link.changed_by = Some(match event.agent {
            Some(agent) if agent != event.who => format!("{} through {agent}", event.who),
            _ => event.who,
        });
        link.changed_on = event.device_name;
        link.changed_at = Some(event.clock.wall);
    }
    Ok(link)
}
