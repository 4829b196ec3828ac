//! Follows the daemon's event stream, and reconnects when it ends.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt;
use tokio::sync::{Notify, mpsc};

use crate::{
    client::Client,
    tui::msg::{Live, Msg},
};

/// The first pause before the stream is tried again. It doubles up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_millis(200);

/// The longest pause before the stream is tried again.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Sends each change until the app is left. If the stream ends, it is tried again, at growing intervals, and at once
/// when `reconnect` says that a daemon was started.
pub(super) async fn follow(client: Client, sender: mpsc::Sender<Msg>, reconnect: Arc<Notify>) {
    let mut pause = MIN_PAUSE;
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
            (pause, reported) = (MIN_PAUSE, false);
            if sender.send(Msg::Live(live)).await.is_err() {
                return;
            }
        }
        if !reported && sender.send(Msg::Live(Live::Down(reason))).await.is_err() {
            return;
        }
        reported = true;
        // Ends when a daemon was started, or when the pause is over.
        let _either = tokio::time::timeout(pause, reconnect.notified()).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
