//! Team sync over real stores and the real worker: sessions over a pipe, peers that do wrong, and daemons' services over QUIC.

mod clock;
mod first;
mod greedy;
mod hostile;
mod limits;
mod missing;
mod named;
mod network;
pub(crate) mod nodes;
mod sessions;
