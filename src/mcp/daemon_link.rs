//! Connects a session to the daemon: finds or starts it at the first use, and again if it has ended.

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

/// The delay before a session is registered again after the daemon has ended. It doubles with each attempt.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// The maximum delay before a session is registered again.
const MAX_DELAY: Duration = Duration::from_mins(1);

/// A connection to the daemon that is restored if the daemon ends.
#[derive(Debug)]
pub struct DaemonLink {
    /// How to find or start a daemon; `None` if the client is fixed.
    connect: Option<Connect>,
    client: Mutex<Option<Client>>,
    /// Whether [`DaemonLink::register_once`] was called.
    registered: AtomicBool,
}

impl DaemonLink {
    /// Creates a link that finds or starts a daemon.
    pub fn new(connect: Connect) -> Self {
        Self { connect: Some(connect), client: Mutex::new(None), registered: AtomicBool::new(false) }
    }

    /// Creates a link that always uses this client.
    pub fn to(client: Client) -> Self {
        Self { connect: None, client: Mutex::new(Some(client)), registered: AtomicBool::new(false) }
    }

    /// Connects to the daemon in advance, so that the first call need not. An error is only logged, since that call
    /// returns it.
    pub async fn connect_early(&self) {
        if let Err(error) = self.client().await {
            tracing::warn!("no daemon yet: {error}");
        }
    }

    /// Like [`DaemonLink::register`], but returns at once if it was called before.
    pub(super) async fn register_once(&self, query: &PresentQuery) {
        if !self.registered.swap(true, Ordering::AcqRel) {
            self.register(query).await;
        }
    }

    /// Has the daemon list an agent as connected until the future is dropped, also after a restart of the daemon.
    /// Starts no daemon.
    pub(super) async fn register(&self, query: &PresentQuery) {
        let mut delay = FIRST_DELAY;
        loop {
            let client = self.client.lock().await.clone();
            if let Some(client) = client {
                match client.stay(query).await {
                    Ok(()) => delay = FIRST_DELAY,
                    Err(error) => tracing::debug!("the daemon did not register this session: {error}"),
                }
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(MAX_DELAY);
        }
    }

    /// Sends a request and returns the answer. If the daemon has ended, it is found or started again, and the request
    /// is repeated once. This is safe for writes, whose `op_id` tells the daemon that they are repeated.
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
