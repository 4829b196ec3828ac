//! The API without a listener, for fuzzing.

use std::{io, path::Path, sync::Arc};

use axum::{Router, body::Body};
use http::{Request, header};
use tokio::runtime::{Builder, Runtime};
use tower_service::Service;

use super::{request_checks::RequestSource, routes, state::testing::shared_with};
use crate::infer::NoModels;

/// The API with a store of its own. Requests count as received over the socket.
pub struct InProcessApi {
    runtime: Runtime,
    router: Router,
}

impl InProcessApi {
    /// Opens the API with a new store in this folder.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let shared = {
            // Creating the state starts tasks, which need a runtime.
            let _inside = runtime.enter();
            shared_with(folder, Arc::new(NoModels)).map_err(io::Error::other)?
        };
        Ok(Self { runtime, router: routes::router(shared, Router::new()) })
    }

    /// Sends a request and returns the status of the response; `None` if the path is invalid.
    pub fn call(&mut self, method: &str, path: &str, body: &[u8]) -> Option<u16> {
        let request = Request::builder().method(method).uri(path).header(header::HOST, "localhost");
        let mut request = request.body(Body::from(body.to_vec())).ok()?;
        request.extensions_mut().insert(RequestSource::Socket);
        let answer = self.runtime.block_on(self.router.call(request)).ok()?;
        Some(answer.status().as_u16())
    }
}
