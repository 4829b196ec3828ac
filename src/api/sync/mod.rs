//! Teams: creating and joining them, their members, and the sync state. The endpoints under `/sync`.

mod pairing;
mod status;
mod team;

pub use pairing::*;
pub use status::*;
pub use team::*;
