//! Team sync: what peers say to each other, and how it travels.

pub mod bundle;
pub mod document;
pub mod gate;
pub mod pairing;
pub mod ticket;
pub mod transfer;
pub mod words;
pub mod worker;
