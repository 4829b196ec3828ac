//! Follows the daemon's event stream, and reconnects when it ends.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use tokio::sync::{Notify, mpsc};

use crate::{
    client::Client,
    tui::msg::{Live, Msg},
};

/// The pause before the stream is tried again, and how long it may grow.
const PAUSE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));

/// Sends what changes until the app is left. Where the stream ends it is tried again, at growing intervals, and at once when
/// `again` says that a daemon was started.
pub(super) async fn follow(client: Client, sender: mpsc::Sender<Msg>, again: Arc<Notify>) {
    let mut pause = PAUSE.0;
    let mut reported = false;
    loop {
        let mut changes = client.changes();
        let mut reason = "the daemon ended its event stream".to_owned();
        while let Some(change) = changes.next().await {
            let live = match change {
                Ok(change) if change.event == "hello" || change.event == "lagged" => Live::Up,
                Ok(change) => Live::Change(Box::new(change)),
                Err(error) => {
                    reason = error.to_string();
                    break;
                }
            };
            (pause, reported) = (PAUSE.0, false);
            if sender.send(Msg::Live(live)).await.is_err() {
                return;
            }
        }
        if !reported && sender.send(Msg::Live(Live::Down(reason))).await.is_err() {
            return;
        }
        reported = true;
        // Either wakes it: a started daemon, or the time.
        let _either = tokio::time::timeout(pause, again.notified()).await;
        pause = (pause * 2).min(PAUSE.1);
    }
}
