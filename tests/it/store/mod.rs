//! The store: the log, its projections, and what they survive.

mod laws;
mod support;
