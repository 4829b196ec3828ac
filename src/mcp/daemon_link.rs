//! Connects a session to the daemon: finds or starts it on first use, and again if it went away.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

use crate::{
    api::PresentQuery,
    client::{Client, ClientError, Connect, Request},
};

/// The pause before a daemon that went away is told again who is here, and how long it may grow.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// A client of the daemon that outlives the daemon.
#[derive(Debug)]
pub struct DaemonLink {
    /// How to come to a daemon; `None` if the client is given, and stays.
    connect: Option<Connect>,
    client: Mutex<Option<Client>>,
    /// The daemon knows that this session is here.
    present: AtomicBool,
}

impl DaemonLink {
    /// A daemon is looked for, or started, by this.
    pub fn new(connect: Connect) -> Self {
        Self { connect: Some(connect), client: Mutex::new(None), present: AtomicBool::new(false) }
    }

    /// This client, whatever becomes of it.
    pub fn to(client: Client) -> Self {
        Self { connect: None, client: Mutex::new(Some(client)), present: AtomicBool::new(false) }
    }

    /// Comes to the daemon, so that the first call need not. What goes wrong here is told by that call.
    pub async fn warm(&self) {
        if let Err(error) = self.client().await {
            tracing::warn!("no daemon yet: {error}");
        }
    }

    /// Tells the daemon that this agent is here, for as long as the session lasts: again if the daemon went away and came back.
    /// Returns at once if that is under way. Nobody's call waits for this, and it starts no daemon.
    pub(super) async fn stay(&self, query: &PresentQuery) {
        if !self.present.swap(true, Ordering::AcqRel) {
            self.visit(query).await;
        }
    }

    /// Tells the daemon that an agent is here, for as long as this is waited for.
    pub(super) async fn visit(&self, query: &PresentQuery) {
        let mut pause = PAUSE.0;
        loop {
            let client = self.client.lock().await.clone();
            if let Some(client) = client {
                match client.stay(query).await {
                    Ok(()) => pause = PAUSE.0,
                    Err(error) => tracing::debug!("the daemon did not register this session: {error}"),
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE.1);
        }
    }

    /// Sends a request and reads the answer. If the daemon went away, it is found or started again and asked once more: a write
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
