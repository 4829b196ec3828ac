//! Team sync: the protocols between peers, the files that carry events, and the service that runs both.

pub mod bundle;
pub mod compact;
pub mod document;
pub mod endpoint;
pub mod frame;
pub mod index;
mod message;
pub mod pairing;
pub mod preflight;
pub mod service;
pub mod session;
pub mod ticket;
pub mod transfer;
pub mod verification;
pub mod worker;
