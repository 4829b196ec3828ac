//! A model file behind an HTTP address.

use std::{io, time::Duration};

use ureq::{Agent, Error, http::Response};

use super::fetch::{Cut, FetchError, From, Opened, Source};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(20);

/// A file at an address. Redirections are followed, and `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` are heeded.
pub struct HttpSource {
    agent: Agent,
    address: String,
}

impl HttpSource {
    /// A file at `address`. A transfer in which nothing comes for `silence` counts as cut off.
    pub fn new(address: impl Into<String>, silence: Duration) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(silence))
            .timeout_per_read(Some(silence))
            .timeout_per_write(Some(silence))
            .user_agent(concat!("ergo/", env!("CARGO_PKG_VERSION")))
            .build();
        Self { agent: config.into(), address: address.into() }
    }
}

impl Source for HttpSource {
    fn open(&mut self, from: Option<&From>) -> Result<Opened, Cut> {
        // The bytes as they are: a compressed answer could not be continued.
        let mut request = self.agent.get(&self.address).header("accept-encoding", "identity");
        if let Some(From { offset, tag }) = from {
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
                None => return Err(Cut::NotFromThere),
            },
            416 if from.is_some() => return Err(Cut::NotFromThere),
            _ => return Err(refusal(status, &response, &self.address)),
        };
        Ok(Opened { offset, total, tag, body: Box::new(response.into_body().into_reader()) })
    }

    fn address(&self) -> &str {
        &self.address
    }
}

/// First byte and size of the whole, of `bytes 10-35/36`.
fn content_range(text: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, _last) = range.split_once('-')?;
    Some((first.trim().parse().ok()?, total.trim().parse().ok()))
}

fn refusal<T>(status: u16, response: &Response<T>, address: &str) -> Cut {
    let told = format!("{address} answers HTTP {status}");
    match status {
        408 | 425 | 429 | 500..=599 => {
            let after = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
            Cut::Passing(told, after.map(Duration::from_secs))
        }
        404 | 410 => Cut::Final(FetchError::Refused(format!("{told}: there is no such file any more"))),
        401 | 403 => Cut::Final(FetchError::Refused(format!("{told}: it may not be fetched without signing in"))),
        _ => Cut::Final(FetchError::Refused(told)),
    }
}

fn failure(error: Error, address: &str) -> Cut {
    let told = format!("{address} cannot be reached: {error}");
    match error {
        Error::HostNotFound => Cut::Final(FetchError::Unreachable(told)),
        Error::BadUri(_) | Error::Http(_) | Error::TooManyRedirects | Error::InvalidProxyUrl | Error::Tls(_) => {
            Cut::Final(FetchError::Refused(told))
        }
        Error::Rustls(_) => Cut::Final(FetchError::Refused(told)),
        Error::Io(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Cut::Final(FetchError::Unreachable(told))
        }
        _ => Cut::Passing(told, None),
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
            |told: &str, after: Option<Duration>| told.contains("503") && after == Some(Duration::from_secs(3));
        assert!(matches!(cut(503), Cut::Passing(told, after) if passing(&told, after)));
        assert!(matches!(cut(404), Cut::Final(FetchError::Refused(told)) if told.contains("no such file")));
        assert!(matches!(cut(403), Cut::Final(FetchError::Refused(told)) if told.contains("signing in")));
        assert!(matches!(failure(Error::HostNotFound, "https://x"), Cut::Final(FetchError::Unreachable(_))));
        let reset = Error::Io(io::ErrorKind::ConnectionReset.into());
        assert!(matches!(failure(reset, "https://x"), Cut::Passing(..)));
    }
}
