//! What a file says of its maker: how far it has each scope.

use super::super::bundle::Head;
use crate::{
    api::ApiError,
    domain::{
        DeviceId, EventId,
        replica::{Chain, ChainEnd},
    },
    engine::Engine,
};

/// Notes how far the maker of a bundle had each scope, when it was made.
pub(super) fn note(engine: &Engine, team: EventId, maker: DeviceId, heads: &[Head], made: u64) -> Result<(), ApiError> {
    if maker == engine.device() {
        return Ok(());
    }
    engine.sync_write(|store| {
        for head in heads {
            store.write_peer_vector(&team, &maker, &head.scope, &head.ends, made)?;
        }
        Ok(())
    })
}

/// How many events whoever has `ours` has and whoever has `theirs` lacks, by the lengths of chains.
pub(super) fn lacking(ours: &[ChainEnd], theirs: &[ChainEnd]) -> u64 {
    let next = |chain: &Chain| theirs.iter().find(|end| end.chain == *chain).map_or(0, |end| end.next);
    ours.iter().map(|end| end.next.saturating_sub(next(&end.chain))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lacking_is_counted_by_chain() {
        let end = |author: u8, next| ChainEnd {
            chain: Chain { author: DeviceId([author; 32]), epoch: 1, adopted: false },
            next,
            head: None,
        };
        assert_eq!(lacking(&[end(1, 5), end(2, 3)], &[end(1, 2), end(3, 9)]), 6);
        assert_eq!(lacking(&[end(1, 5)], &[end(1, 7)]), 0);
    }
}
