//! A language model on a server that has the chat completions of the `OpenAI` API.
//!
//! Architecture Invariant: the server is called only if the settings name it and there is a key. So no text leaves ergo
//! without the user's consent.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use ureq::{Agent, Error};

use super::Prompt;

/// The maximum size of an answer in bytes.
const MAX_ANSWER_BYTES: u64 = 256 * 1024;

/// The prompt of [`Endpoint::answers`].
const PROBE: &str = "Answer with the word yes.";

/// The maximum number of tokens of the answer to [`PROBE`].
const PROBE_TOKENS: usize = 8;

/// A language model on a server.
#[derive(Clone)]
pub struct Endpoint {
    /// The base URL, without `/chat/completions`.
    address: String,
    model: String,
    key: String,
    /// Keeps connections for the next calls.
    agent: Agent,
}

/// Why an endpoint did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The server cannot be reached, or did not answer in time.
    #[error("{0}")]
    Unreachable(String),
    /// The server rejected the request and would reject any other: the key, the model's name or the address is wrong.
    #[error("{0}")]
    Refused(String),
    /// The server rejected the prompt: it is too long for the model, or the server rejects every prompt, which
    /// [`Endpoint::answers`] finds out.
    #[error("{0}")]
    PromptRefused(String),
    /// The answer is not a chat completion.
    #[error("{0}")]
    Unreadable(String),
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key must not be logged.
        f.debug_struct("Endpoint").field("address", &self.address).field("model", &self.model).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct ChatRequest<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
    temperature: u8,
    max_tokens: usize,
    stream: bool,
}

#[derive(Serialize)]
struct ChatMessage<'a> {
    role: &'a str,
    content: &'a str,
}

#[derive(Deserialize)]
struct ChatCompletion {
    choices: Vec<ChatChoice>,
}

#[derive(Deserialize)]
struct ChatChoice {
    message: ChatReply,
}

#[derive(Deserialize)]
struct ChatReply {
    content: String,
}

impl Endpoint {
    /// Creates an endpoint for `model` at `address` (such as `http://127.0.0.1:8080/v1`), called with `key`;
    /// `None` if the key is empty or invalid.
    pub fn new(address: &str, model: &str, key: &str) -> Option<Self> {
        let key = key.trim();
        // A line break would end the header.
        let usable = !key.is_empty() && key.chars().all(|c| c.is_ascii_graphic());
        usable.then(|| Self {
            address: address.trim_end_matches('/').to_owned(),
            model: model.to_owned(),
            key: key.to_owned(),
            agent: Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .user_agent(concat!("ergo/", env!("CARGO_PKG_VERSION")))
                .build()
                .into(),
        })
    }

    /// Returns the model's name on that server.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Returns the address, without the key.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether the server answers a tiny prompt. If it does not, the refusal of another prompt had nothing to do with
    /// that prompt. Blocks.
    pub fn answers(&self, timeout: Duration) -> bool {
        let prompt = Prompt { prefix: Vec::new(), text: PROBE.to_owned() };
        self.complete(&prompt, PROBE_TOKENS, timeout).is_ok()
    }

    /// Returns the model's answer, at temperature 0. Blocks.
    ///
    /// # Errors
    /// [`EndpointError`]. A redirection counts as a rejection, so that the key is sent to no other server.
    pub fn complete(&self, prompt: &Prompt, max_tokens: usize, timeout: Duration) -> Result<String, EndpointError> {
        let turns = prompt.prefix.iter().map(|turn| ChatMessage { role: turn.speaker.word(), content: &turn.text });
        let messages = turns.chain([ChatMessage { role: "user", content: &prompt.text }]).collect();
        let request = ChatRequest { model: &self.model, messages, temperature: 0, max_tokens, stream: false };
        let body = serde_json::to_string(&request).map_err(|error| EndpointError::Refused(error.to_string()))?;
        let address = &self.address;
        let sent = self
            .agent
            .post(format!("{address}/chat/completions"))
            .config()
            .timeout_global(Some(timeout))
            .build()
            .header("authorization", format!("Bearer {}", self.key))
            .header("content-type", "application/json")
            .send(body.as_str());
        let failure = |error| failure(address, &error);
        let mut response = sent.map_err(failure)?;
        let status = response.status().as_u16();
        match status {
            200 => {}
            408 | 502..=504 => {
                return Err(EndpointError::Unreachable(format!("{address} answers HTTP {status}")));
            }
            400 | 413 => return Err(EndpointError::PromptRefused(format!("{address} answers HTTP {status}"))),
            _ => return Err(EndpointError::Refused(format!("{address} answers HTTP {status}"))),
        }
        let text = response.body_mut().with_config().limit(MAX_ANSWER_BYTES).read_to_string().map_err(failure)?;
        let completion: Result<ChatCompletion, _> = serde_json::from_str(&text);
        let first = completion.ok().and_then(|completion| completion.choices.into_iter().next());
        first
            .map(|choice| choice.message.content)
            .ok_or_else(|| EndpointError::Unreadable(format!("{address} sent an answer that is not a chat completion")))
    }
}

fn failure(address: &str, error: &Error) -> EndpointError {
    let message = format!("{address} cannot be called: {error}");
    match error {
        Error::BodyExceedsLimit(_) => EndpointError::Unreadable(message),
        Error::BadUri(_) | Error::Http(_) | Error::InvalidProxyUrl | Error::Tls(_) | Error::TooManyRedirects => {
            EndpointError::Refused(message)
        }
        _ => EndpointError::Unreachable(message),
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        thread,
    };

    use super::*;
    use crate::infer::{Speaker, Turn};

    /// Starts a server that answers one request with these bytes. Returns its address, and the thread, which returns
    /// the request.
    fn server(answer: &str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/v1/", listener.local_addr().unwrap());
        let answer = answer.to_owned();
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let request = read_request(&mut stream);
            stream.write_all(answer.as_bytes()).unwrap();
            request
        });
        (address, served)
    }

    fn read_request(stream: &mut TcpStream) -> String {
        let (mut request, mut part) = (Vec::new(), [0; 4096]);
        while !request.ends_with(b"\"stream\":false}") {
            let read = stream.read(&mut part).unwrap();
            assert!(read > 0, "the connection was closed");
            request.extend_from_slice(&part[..read]);
        }
        String::from_utf8(request).unwrap()
    }

    fn http(status: &str, body: &str) -> String {
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    }

    fn ask(address: &str) -> Result<String, EndpointError> {
        ask_of(&Endpoint::new(address, "small", "secret").unwrap())
    }

    fn ask_of(endpoint: &Endpoint) -> Result<String, EndpointError> {
        let prefix = vec![Turn { speaker: Speaker::System, text: "Be brief.".into() }];
        let prompt = Prompt { prefix, text: "Which?".into() };
        endpoint.complete(&prompt, 24, Duration::from_secs(5))
    }

    #[test]
    fn a_completion_is_asked_for_with_the_key_and_its_text_comes_back() {
        let (address, served) = server(&http("200 OK", "{\"choices\":[{\"message\":{\"content\":\"[2]\"}}]}"));
        assert_eq!(ask(&address), Ok("[2]".to_owned()));
        let request = served.join().unwrap();
        assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
        assert!(request.to_lowercase().contains("authorization: bearer secret"), "{request}");
        assert!(
            request
                .contains("{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":\"user\",\"content\":\"Which?\"}")
        );
    }

    #[test]
    fn a_second_call_uses_the_connection_of_the_first() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::new(&format!("http://{}", listener.local_addr().unwrap()), "small", "secret").unwrap();
        let served = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // Another connection would be refused.
            drop(listener);
            for answer in ["first", "second"] {
                let body = format!("{{\"choices\":[{{\"message\":{{\"content\":\"{answer}\"}}}}]}}");
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                let _request = read_request(&mut stream);
                stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
            }
        });
        assert_eq!(ask_of(&endpoint), Ok("first".to_owned()));
        assert_eq!(ask_of(&endpoint.clone()), Ok("second".to_owned()));
        served.join().unwrap();
    }

    #[test]
    fn each_failure_is_of_its_sort_and_never_names_the_key() {
        let of = |answer: &str| {
            let (address, served) = server(answer);
            let error = ask(&address).unwrap_err();
            served.join().unwrap();
            assert!(!error.to_string().contains("secret"));
            error
        };
        assert!(
            matches!(of(&http("401 Unauthorized", "")), EndpointError::Refused(message) if message.contains("401"))
        );
        for status in ["400 Bad Request", "413 Content Too Large"] {
            assert!(matches!(of(&http(status, "")), EndpointError::PromptRefused(_)), "{status}");
        }
        assert!(matches!(of(&http("503 Busy", "")), EndpointError::Unreachable(_)));
        assert!(matches!(of(&http("200 OK", "{}")), EndpointError::Unreadable(_)));
        let elsewhere =
            "HTTP/1.1 307 Go\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        assert!(matches!(of(elsewhere), EndpointError::Refused(_)));
        // Nobody listens on a port that was just closed.
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(matches!(ask(&format!("http://{gone}/v1")), Err(EndpointError::Unreachable(_))));
    }

    #[test]
    fn without_a_key_there_is_nothing_to_call() {
        for key in ["", " \n", "a\r\nb", "a b"] {
            assert!(Endpoint::new("http://127.0.0.1:1", "small", key).is_none(), "{key:?}");
        }
        assert!(!format!("{:?}", Endpoint::new("http://x", "m", "secret")).contains("secret"));
    }
}
