//! Uploads and downloads of bundles.

use futures_util::{StreamExt, TryStreamExt};
use http::Method;

use super::{
    ByteStream, Client, ClientError, LONG_DEADLINE, Request, Response,
    typed::{ClientResult, encode, post_request, read},
};
use crate::api::{ExportOutcome, ExportRequest, ImportOutcome, ImportQuery};

/// The most bytes of an error that are read in place of a file.
const MAX_ERROR: usize = 64 * 1024;

impl Client {
    /// `POST /sync/export`: returns the outcome, the size in bytes, and the bundle.
    pub async fn export_bundle(
        &self,
        request: &ExportRequest,
    ) -> ClientResult<(ExportOutcome, Option<u64>, ByteStream)> {
        let request = Request { deadline: LONG_DEADLINE, ..post_request("/sync/export", request)? };
        let mut answer = self.api.download(request).await?;
        let bad = |cause: String| ClientError::BadAnswer { place: self.place(), cause };
        if !(200..300).contains(&answer.status) {
            let mut body = Vec::new();
            while let Some(bytes) = answer.body.try_next().await.map_err(|error| bad(error.to_string()))? {
                body.extend_from_slice(&bytes);
                body.truncate(MAX_ERROR);
            }
            let response = Response { status: answer.status, body: body.into(), version: None };
            let no_error = || bad(format!("HTTP {} without an ergo error message", response.status));
            return Err(read::<serde_json::Value>(&response, || self.place()).err().unwrap_or_else(no_error));
        }
        let summary = answer.summary.ok_or_else(|| bad("a bundle without the `x-ergo-summary` header".to_owned()))?;
        let outcome = serde_json::from_str(&summary).map_err(|error| bad(error.to_string()))?;
        Ok((outcome, answer.length, answer.body.boxed()))
    }

    /// `POST /sync/import` of a file.
    pub async fn import_bundle(&self, query: &ImportQuery, file: ByteStream) -> ClientResult<ImportOutcome> {
        let request =
            Request { query: encode(query)?, deadline: LONG_DEADLINE, ..Request::new(Method::POST, "/sync/import") };
        let response = self.api.upload(request, file).await?;
        read(&response, || self.place())
    }
}
