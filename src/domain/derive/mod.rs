//! What a set of events means: the state of each claim, and the conflict cards.
//!
//! Pure functions. The store feeds them from its tables as events arrive; a whole set can be projected at
//! once. Both give the same, in whatever order the events came.

mod card;

pub use card::{CardKind, SettledBy};
