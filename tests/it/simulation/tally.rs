//! Counts the events of simulations. A simulation in which a kind of event never happens proves nothing about it.

/// The counts of events over all seeds.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) writes: u64,
    pub(super) exchanges: u64,
    pub(super) cut: u64,
    pub(super) bundles: u64,
    pub(super) damaged: u64,
    pub(super) restarts: u64,
    pub(super) restored: u64,
    pub(super) revoked: u64,
    pub(super) regranted: u64,
    pub(super) joined: u64,
    pub(super) redacted: u64,
    pub(super) forks: u64,
    pub(super) quarantined: u64,
    pub(super) cards: u64,
    pub(super) agreed: u64,
    /// Sessions by documents.
    pub(super) talks: u64,
}

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        let Self { writes, exchanges, cut, bundles, damaged, restarts, restored, revoked, .. } = other;
        self.writes += writes;
        self.exchanges += exchanges;
        self.cut += cut;
        self.bundles += bundles;
        self.damaged += damaged;
        self.restarts += restarts;
        self.restored += restored;
        self.revoked += revoked;
        let Self { regranted, joined, redacted, forks, quarantined, cards, agreed, talks, .. } = other;
        self.regranted += regranted;
        self.joined += joined;
        self.redacted += redacted;
        self.forks += forks;
        self.quarantined += quarantined;
        self.cards += cards;
        self.agreed += agreed;
        self.talks += talks;
    }

    /// A simulation in which something never happens proves nothing about it.
    pub(super) fn assert_everything_happened(&self, seeds: u64) {
        let Self { writes, exchanges, cut, bundles, damaged, restarts, restored, .. } = *self;
        let Self { revoked, regranted, joined, redacted, forks, quarantined, cards, agreed, talks, .. } = *self;
        let rare = [cut, bundles, damaged, restarts, restored, revoked, regranted, joined, redacted, quarantined];
        assert!(rare.iter().all(|count| *count >= (seeds / 100).max(1)), "{self:?}");
        // The rarest are forks: 195 in 10,000 seeds, so fewer than 100 seeds may have none.
        assert!(forks >= seeds / 100, "{self:?}");
        assert!(writes >= 5 * seeds && exchanges >= 5 * seeds && cards >= seeds && agreed >= 3 * seeds, "{self:?}");
        assert!(talks >= seeds / 10, "{self:?}");
    }
}
