//! What verdicts mean for a held write.

use std::collections::BTreeSet;

use crate::domain::PairVerdict;

/// The consequence of verdicts on active claims for a held write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// The write is refused.
    Refuse,
    /// The write repeats a stored claim.
    Observe,
    /// The write waits on a card until a person agrees that it replaces a person's claim.
    Propose,
    /// The write is stored, and replaces the claims that the verdicts name.
    Store,
}

/// Returns the consequence of some verdicts. `proposes`: they replace a person's claim, but the judge is an agent that
/// may only propose this.
pub(super) fn consequence(verdicts: impl IntoIterator<Item = PairVerdict>, proposes: bool) -> Consequence {
    let distinct: BTreeSet<PairVerdict> = verdicts.into_iter().collect();
    if distinct.contains(&PairVerdict::Contradicts) {
        Consequence::Refuse
    } else if proposes {
        Consequence::Propose
    } else if distinct.contains(&PairVerdict::Same) {
        Consequence::Observe
    } else {
        Consequence::Store
    }
}
