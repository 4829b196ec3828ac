//! The way from a session to the daemon: found or started when it is first needed, and again where the daemon went away.

use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::client::{Client, ClientError, Connect, Request};

/// A client of the daemon that outlives the daemon.
#[derive(Debug)]
pub struct Link {
    /// How to come to a daemon; `None` where the client is given, and stays.
    connect: Option<Connect>,
    client: Mutex<Option<Client>>,
}

impl Link {
    /// A daemon is looked for, or started, by this.
    pub fn new(connect: Connect) -> Self {
        Self { connect: Some(connect), client: Mutex::new(None) }
    }

    /// This client, whatever becomes of it.
    pub fn to(client: Client) -> Self {
        Self { connect: None, client: Mutex::new(Some(client)) }
    }

    /// Comes to the daemon, so that the first call need not. What goes wrong here is told by that call.
    pub async fn warm(&self) {
        if let Err(error) = self.client().await {
            tracing::warn!("no daemon yet: {error}");
        }
    }

    /// Sends a request and reads the answer. Where the daemon went away, it is found or started again and asked once more: a write
    /// carries its key, by which the daemon knows it again.
    ///
    /// # Errors
    /// The daemon's own error, or that there is no daemon.
    pub(super) async fn ask<T: DeserializeOwned>(&self, request: Request) -> Result<T, ClientError> {
        let answer = self.client().await?.ask(request.clone()).await;
        match answer {
            Err(ClientError::Unreachable { .. } | ClientError::Interrupted { .. }) if self.connect.is_some() => {
                self.client.lock().await.take();
                self.client().await?.ask(request).await
            }
            answer => answer,
        }
    }

    async fn client(&self) -> Result<Client, ClientError> {
        let mut client = self.client.lock().await;
        match (&*client, &self.connect) {
            (Some(client), _) => Ok(client.clone()),
            (None, Some(connect)) => Ok(client.insert(connect.client().await?).clone()),
            (None, None) => {
                Err(ClientError::Unreachable { place: "the daemon".into(), cause: "the session is ending".into() })
            }
        }
    }
}
