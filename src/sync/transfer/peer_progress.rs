//! The progress of a bundle's maker, by scope.

use super::super::bundle::SectionHead;
use crate::{
    api::ApiError,
    domain::{
        DeviceId, EventId,
        replica::{Chain, ChainEnd},
    },
    engine::Engine,
};

/// Stores how far the maker of a bundle had each scope when it was made.
pub(super) fn record_progress(
    engine: &Engine,
    team: EventId,
    maker: DeviceId,
    heads: &[SectionHead],
    made: u64,
) -> Result<(), ApiError> {
    if maker == engine.device() {
        return Ok(());
    }
    engine.sync_write(|store| {
        for head in heads {
            store.put_peer_progress(&team, &maker, &head.scope, &head.ends, made)?;
        }
        Ok(())
    })
}

/// Counts the events of `ours` that are beyond `theirs`, by the lengths of chains.
pub(super) fn count_missing(ours: &[ChainEnd], theirs: &[ChainEnd]) -> u64 {
    let next = |chain: &Chain| theirs.iter().find(|end| end.chain == *chain).map_or(0, |end| end.next);
    ours.iter().map(|end| end.next.saturating_sub(next(&end.chain))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_events_are_counted_by_chain() {
        let end = |author: u8, next| ChainEnd {
            chain: Chain { author: DeviceId([author; 32]), epoch: 1, adopted: false },
            next,
            head: None,
        };
        assert_eq!(count_missing(&[end(1, 5), end(2, 3)], &[end(1, 2), end(3, 9)]), 6);
        assert_eq!(count_missing(&[end(1, 5)], &[end(1, 7)]), 0);
    }
}
