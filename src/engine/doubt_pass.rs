//! Fills the queue of doubts: in the background, the gate finds pairs that nobody was asked about when they were
//! stored.

use super::{Engine, acts::found_cards, question::words_of};
use crate::{
    api::{ApiError, Change, DoubtBand},
    domain::{Scope, judgement::pair_key},
    store::{ClaimRow, NewDoubt},
};

impl Engine {
    /// Queues pairs that may contradict each other, unless they are judged, settled or on a card. `scope` is the scope
    /// of the pass; a pair with a claim of its organisation's level is judged there. Only pairs about which the writer
    /// would be asked are queued: one that is only worth a mention is not worth a judge's time later. Returns how many
    /// are new.
    pub(in crate::engine) fn queue_doubts(
        &self,
        scope: &Scope,
        pairs: &[(&ClaimRow, &ClaimRow, DoubtBand)],
    ) -> Result<usize, ApiError> {
        let mut queued = Vec::new();
        {
            let reader = self.readers.lend();
            for (row, other, band) in pairs.iter().filter(|(.., band)| *band == DoubtBand::Ask) {
                let pair = pair_key(&words_of(row), &words_of(other));
                if reader.judgement(scope, &pair)?.is_some() || found_cards::is_known_pair(&reader, row.id, other.id)? {
                    continue;
                }
                let ours_is_newer = (row.clock, row.id) > (other.clock, other.id);
                let (newer, older) = if ours_is_newer { (row.id, other.id) } else { (other.id, row.id) };
                queued.push(NewDoubt { newer, older, pair, band: *band });
            }
        }
        if queued.is_empty() {
            return Ok(0);
        }
        let new = self.writer().queue_doubts(&queued)?;
        if new > 0 {
            self.tell(Change {
                scope: Some(scope.clone()),
                act: "doubts".to_owned(),
                summary: match new {
                    1 => "A pair of claims waits for a verdict".to_owned(),
                    many => format!("{many} pairs of claims wait for a verdict"),
                },
                ..Change::default()
            });
        }
        Ok(new)
    }
}
