//! Teams: making and joining them, who is in them, and how they are kept in step. The paths under `/sync`.

mod pairing;
mod status;
mod team;

pub use pairing::*;
pub use status::*;
pub use team::*;
