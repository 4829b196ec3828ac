//! The guard's report on a card.

use rusqlite::Connection;

use super::{cards::events_of_card, pairs};
use crate::{
    domain::{
        CardId, EventId, Finding, GuardReport, Tier,
        derive::{self, local},
        guard_report::PairCheck,
    },
    store::{
        Result,
        log::{self, EdgeRole},
    },
};

/// Returns the guard's report on a card: the stored evidence, else the result of comparing the present norms of the first member with those of the
/// others.
pub(in crate::store) fn report_of(
    db: &Connection,
    card: &CardId,
    members: &[EventId],
    check: &dyn PairCheck,
) -> Result<GuardReport> {
    let mut merged = GuardReport::default();
    for event in events_of_card(db, card)? {
        let mut sources = Vec::new();
        if derive::is_unstored(&event.kind) {
            let evidence = log::pointing_at(db, &event.id, EdgeRole::Target, event.scope)?;
            sources.extend(
                evidence.iter().filter(|e| e.effective && derive::is_local_kind(&e.kind, local::EVIDENCE)).map(|e| e.n),
            );
        } else if derive::is_local_kind(&event.kind, local::FOUND) || derive::is_local_kind(&event.kind, local::ASKED) {
            sources.push(event.n);
        }
        for n in sources {
            let data = log::body(db, n)?.and_then(|body| body.data);
            if let Some(report) = data.and_then(|data| serde_json::from_str::<GuardReport>(&data).ok()) {
                merge(&mut merged, report);
            }
        }
    }
    if merged.findings.is_empty()
        && let Some((first, others)) = members.split_first()
        && let Some(mine) = log::row_number(db, first)?
    {
        let ours = pairs::stored_norms(db, mine)?;
        for other in others {
            let Some(n) = log::row_number(db, other)? else { continue };
            if let Some(evidence) = check.contradiction(ours.compared(), pairs::stored_norms(db, n)?.compared()) {
                merged.findings.push(Finding { claim: *other, tier: Tier::Block, score: 1.0, evidence });
                merged.tier = Tier::Block;
            }
        }
    }
    Ok(merged)
}

fn merge(into: &mut GuardReport, from: GuardReport) {
    into.tier = into.tier.max(from.tier);
    into.compared = into.compared.max(from.compared);
    for finding in from.findings {
        into.findings.retain(|known| known.claim != finding.claim);
        into.findings.push(finding);
    }
    into.findings.sort_by(|a, b| b.tier.cmp(&a.tier).then(b.score.total_cmp(&a.score)));
    into.skipped = from.skipped;
}
