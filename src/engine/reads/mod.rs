//! Reading: why, claims, history, the log, cards, scopes.

mod rank;
