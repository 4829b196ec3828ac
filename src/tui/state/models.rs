//! The Models screen: what serves which role, and how the daemon is.

use crate::api::Diagnose;

/// The screen.
#[derive(Clone, Debug, Default)]
pub struct Models {
    /// What the daemon said last; `None` before it did.
    pub diagnose: Option<Box<Diagnose>>,
    /// When that was, in milliseconds since the Unix epoch.
    pub at: u64,
    /// The first line shown.
    pub scroll: usize,
    /// Why it could not be read.
    pub trouble: Option<String>,
}
