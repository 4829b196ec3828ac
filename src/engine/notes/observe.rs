//! Records that claims were seen again in their files.

use crate::{
    api::{ApiError, Caller},
    domain::{ClaimId, EventKind, Status},
    engine::{Engine, act_context::WriteScope},
    store::{EventDraft, Ref},
};

/// The greatest number of claims in one event: their ids are in its header, whose size is limited.
const MAX_CLAIMS_PER_EVENT: usize = 500;

impl Engine {
    /// Records that these claims of one scope were seen again. Returns how many of them are active, and so were
    /// recorded.
    pub fn observe(&self, caller: &Caller, claims: &[ClaimId]) -> Result<usize, ApiError> {
        if claims.is_empty() {
            return Ok(0);
        }
        self.act(caller, None, |context| {
            let write_scope = WriteScope::of(context.reader(), caller)?;
            let mut seen = Vec::new();
            for id in claims {
                let active = context.reader().claim(id)?.is_some_and(|row| {
                    row.status == Status::Active && row.scope == write_scope.scope && !row.flags.redacted
                });
                if active && !seen.contains(id) {
                    seen.push(*id);
                }
            }
            if seen.is_empty() {
                return Ok(0);
            }
            let drafts = seen.chunks(MAX_CLAIMS_PER_EVENT);
            let drafts = drafts.map(|some| EventDraft::new(EventKind::Observe, some.iter().copied().map(Ref::Id)));
            let summary = format!("Saw {} claims again in their files", seen.len());
            context.commit(&write_scope, drafts.collect(), "observe", summary)?;
            Ok(seen.len())
        })
    }
}
