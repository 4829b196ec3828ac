//! A model file at an HTTP address.

use std::{io, time::Duration};

use ureq::{Agent, Error, http::Response};

use super::fetch::{FetchError, FileSource, ResumeFrom, SourceError, SourceResponse};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// A file at an HTTP address. Redirections are followed, and `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` apply.
pub struct HttpSource {
    agent: Agent,
    address: String,
}

impl HttpSource {
    /// Creates the source of a file. A transfer without bytes for the time `silence` counts as interrupted.
    pub fn new(address: impl Into<String>, silence: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_recv_response(Some(silence))
            .timeout_per_read(Some(silence))
            .timeout_per_write(Some(silence))
            .user_agent(concat!("ergo/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into(), address: address.into() }
    }
}

impl FileSource for HttpSource {
    fn open(&mut self, from: Option<&ResumeFrom>) -> Result<SourceResponse, SourceError> {
        // A compressed response could not be resumed.
        let mut request = self.agent.get(&self.address).header("accept-encoding", "identity");
        if let Some(ResumeFrom { offset, tag }) = from {
            request = request.header("range", format!("bytes={offset}-"));
            if let Some(tag) = tag {
                request = request.header("if-range", tag);
            }
        }
        let response = request.call().map_err(|error| failure(error, &self.address))?;
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok());
        let tag = header("etag").filter(|tag| tag.starts_with('"')).map(str::to_owned);
        let status = response.status().as_u16();
        let (offset, total) = match status {
            200 => (0, header("content-length").and_then(|length| length.parse().ok())),
            206 => match header("content-range").and_then(content_range) {
                Some(range) => range,
                None => return Err(SourceError::CannotResume),
            },
            416 if from.is_some() => return Err(SourceError::CannotResume),
            _ => return Err(refusal(status, &response, &self.address)),
        };
        Ok(SourceResponse { offset, total, tag, body: Box::new(response.into_body().into_reader()) })
    }

    fn address(&self) -> &str {
        &self.address
    }
}

/// Parses `bytes 10-35/36` into the offset of the first byte and the size of the whole file.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, _last) = range.split_once('-')?;
    Some((first.trim().parse().ok()?, total.trim().parse().ok()))
}

fn refusal<T>(status: u16, response: &Response<T>, address: &str) -> SourceError {
    let message = format!("{address} answers HTTP {status}");
    match status {
        408 | 425 | 429 | 500..=599 => {
            let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
            SourceError::Transient(message, after.map(Duration::from_secs))
        }
        404 | 410 => SourceError::Final(FetchError::Refused(format!("{message}: the file no longer exists there"))),
        401 | 403 => {
            SourceError::Final(FetchError::Refused(format!("{message}: it cannot be downloaded without signing in")))
        }
        _ => SourceError::Final(FetchError::Refused(message)),
    }
}

fn failure(error: Error, address: &str) -> SourceError {
    let message = format!("{address} cannot be reached: {error}");
    match error {
        Error::HostNotFound => SourceError::Final(FetchError::Unreachable(message)),
        Error::BadUri(_) | Error::Http(_) | Error::TooManyRedirects | Error::InvalidProxyUrl | Error::Tls(_) => {
            SourceError::Final(FetchError::Refused(message))
        }
        Error::Rustls(_) => SourceError::Final(FetchError::Refused(message)),
        Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            SourceError::Final(FetchError::Unreachable(message))
        }
        _ => SourceError::Transient(message, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_range_is_read_and_nonsense_is_not() {
        assert_eq!(content_range("bytes 10-35/36"), Some((10, Some(36))));
        assert_eq!(content_range("bytes 10-35/*"), Some((10, None)));
        for text in ["", "bytes */36", "bytes x-35/36", "items 1-2/3"] {
            assert_eq!(content_range(text), None, "{text}");
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_stays_is_not() {
        let answer = |status: u16| Response::builder().status(status).header("retry-after", "3").body(()).unwrap();
        let cut = |status| refusal(status, &answer(status), "https://example.org/m");
        let passing =
            |message: &str, after: Option<Duration>| message.contains("503") && after == Some(Duration::from_secs(3));
        assert!(matches!(cut(503), SourceError::Transient(message, after) if passing(&message, after)));
        assert!(
            matches!(cut(404), SourceError::Final(FetchError::Refused(message)) if message.contains("no longer exists there"))
        );
        assert!(matches!(cut(403), SourceError::Final(FetchError::Refused(message)) if message.contains("signing in")));
        assert!(matches!(failure(Error::HostNotFound, "https://x"), SourceError::Final(FetchError::Unreachable(_))));
        let reset = Error::Io(io::ErrorKind::ConnectionReset.into());
        assert!(matches!(failure(reset, "https://x"), SourceError::Transient(..)));
    }
}
