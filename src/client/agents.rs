//! Methods for the endpoints about agents: what each did, and that one is connected.

use futures_util::TryStreamExt;
use http::Method;

use super::{
    Client, ClientError, Request,
    typed::{ClientResult, encode},
};
use crate::api::{Agents, AgentsQuery, PresentQuery};

impl Client {
    /// `GET /agents`.
    pub async fn agents(&self, query: &AgentsQuery) -> ClientResult<Agents> {
        self.get("/agents", &encode(query)?).await
    }

    /// `GET /agents/present`: the session counts as connected until this returns, which is when the daemon
    /// ends.
    pub async fn stay(&self, query: &PresentQuery) -> ClientResult<()> {
        let request = Request { query: encode(query)?, ..Request::new(Method::GET, "/agents/present") };
        let mut answer = self.api.download(request).await?;
        let bad = |cause: String| ClientError::BadAnswer { place: self.place(), cause };
        if !(200..300).contains(&answer.status) {
            return Err(bad(format!("HTTP {} instead of an open response", answer.status)));
        }
        while answer.body.try_next().await.map_err(|error| bad(error.to_string()))?.is_some() {}
        Ok(())
    }
}
