//! Team sync over real stores and the real worker: sessions over a pipe, and daemons' services over QUIC.

mod bed;
mod network;
mod sessions;
