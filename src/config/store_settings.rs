//! The section `[store]`: how long this device keeps events of the local log.

use serde::{Deserialize, Serialize};

/// The allowed values of `keep_local_days`: a week to a hundred years.
const ALLOWED_DAYS: std::ops::RangeInclusive<u32> = 7..=36_500;

/// The `[store]` section.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreSettings {
    /// The age in days from which `ergo compact` removes events of the local log that are no longer needed.
    pub keep_local_days: u32,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self { keep_local_days: 90 }
    }
}

impl StoreSettings {
    /// Returns the time before which events count as old. Both times are in milliseconds since the Unix epoch.
    pub fn old_before(self, now: u64) -> u64 {
        now.saturating_sub(u64::from(self.keep_local_days) * 24 * 60 * 60 * 1000)
    }

    /// Returns the first invalid setting, and why it is invalid.
    pub(super) fn invalid(self) -> Option<(&'static str, String)> {
        (!ALLOWED_DAYS.contains(&self.keep_local_days)).then(|| {
            let days = self.keep_local_days;
            let expected = format!("expected {} to {} days", ALLOWED_DAYS.start(), ALLOWED_DAYS.end());
            ("keep_local_days", format!("invalid `keep_local_days` {days}: {expected}"))
        })
    }
}
