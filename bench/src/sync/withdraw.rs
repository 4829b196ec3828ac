//! Measures the cost of a revocation that withdraws accepted events, in a store that nothing else uses.

use std::time::Instant;

use super::{
    laptop::{Laptop, scope},
    report::RevocationCost,
    team::fill,
};
use crate::error::BenchError;
use ergo::{
    domain::{
        EventId, OpId,
        roster::{Grant, Granted, Role, RosterChange},
    },
    store::{RosterDraft, SyncImport},
};

/// Events that are imported at once.
const PAGE_SIZE: usize = 1_000;

/// The first number of the third device's claims, far from those of the others.
const FIRST_CLAIM: usize = 10_000_000;

/// Imports the claims of a third device into the store of the first one, then revokes the device from the start.
pub(super) fn measure(ada: &Laptop, eve: &Laptop, team: EventId, claims: usize) -> Result<RevocationCost, BenchError> {
    let (engine, theirs) = (ada.engine()?, eve.engine()?);
    let grant = Grant { role: Role::Writer, scopes: Granted::All };
    let (_, roster) = engine.add_member(&ada.caller(), None, eve.device(), "eve", "eve-laptop", &grant)?;
    theirs.join_team(&eve.caller(), team, &roster, Some(ada.device()), &[], &[])?;
    fill(&theirs, "eve", FIRST_CLAIM..FIRST_CLAIM + claims)?;
    let mut cursor = None;
    loop {
        let page = theirs.with_reader(|r| r.events_after(&team, &scope(), &[], cursor.as_ref(), PAGE_SIZE))?;
        let from = Some(eve.device());
        let import = SyncImport { team, from, events: page.events, document: None, peer: None, now: engine.now() };
        engine.import_synced(&import)?;
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let draft = RosterDraft {
        team: Some(team),
        // An admin who had not seen any of its events would revoke it like this.
        change: RosterChange::Revoke { device: eve.device(), cuts: Vec::new() },
        reason: Some("measured".into()),
        who: "ada".into(),
        agent: None,
        op: OpId([0xee; 16]),
        now: engine.now(),
    };
    let begin = Instant::now();
    let (_, done) = engine.with_store(|store| store.commit_roster(draft))?;
    Ok(RevocationCost { events: done.withdrawn.len(), seconds: begin.elapsed().as_secs_f64() })
}
