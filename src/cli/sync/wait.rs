//! Waits for a condition in the daemon, woken by its event stream.

use std::time::Duration;

use futures_util::StreamExt;

use super::super::CliError;
use crate::client::Client;

/// Calls `look` now and after every change of the teams, until it returns a value; `None` after the timeout.
///
/// The event stream is opened before the first call, so that no change is missed.
pub(super) async fn until<T>(
    client: &Client,
    timeout: Duration,
    mut look: impl AsyncFnMut() -> Result<Option<T>, CliError>,
) -> Result<Option<T>, CliError> {
    let end = tokio::time::Instant::now() + timeout;
    loop {
        let mut changes = client.changes();
        while let Ok(change) = tokio::time::timeout_at(end, changes.next()).await {
            let Some(change) = change.transpose()? else { break };
            let matters = change.event != "change" || (change.act.starts_with("sync") || change.act == "team");
            if matters && let Some(found) = look().await? {
                return Ok(Some(found));
            }
        }
        if tokio::time::Instant::now() >= end {
            return look().await;
        }
    }
}
