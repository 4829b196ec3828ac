//! A scripted MCP client of the real program over real pipes. Every line of output must be JSON-RPC.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
};

use serde_json::{Value, json};

use crate::support::{TEST_TIMEOUT, TestHome};

/// The protocol's versions that the program must speak, the current one first.
pub(crate) const CURRENT: &str = "2026-07-28";
pub(crate) const BEFORE: [&str; 2] = ["2025-11-25", "2025-06-18"];

pub(crate) struct McpClient {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    next: i64,
    /// The `_meta` of every request of the current protocol.
    meta: Option<Value>,
}

impl McpClient {
    /// Starts the bridge, and sends nothing yet.
    pub(crate) fn start(home: &TestHome, args: &[&str]) -> Self {
        Self::by(home.command([&["mcp"], args].concat()))
    }

    /// [`McpClient::start`] with a prepared command.
    pub(crate) fn by(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let value: Value =
                    serde_json::from_str(&line).unwrap_or_else(|e| json!({"no JSON": line, "e": e.to_string()}));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { input: child.stdin.take(), child, lines, next: 0, meta: None }
    }

    /// A session of an earlier protocol, after its handshake.
    pub(crate) fn greeted(home: &TestHome, args: &[&str], version: &str, capabilities: Value) -> Self {
        let mut client = Self::start(home, args);
        client.greet(version, capabilities);
        client
    }

    /// The handshake of an earlier protocol.
    pub(crate) fn greet(&mut self, version: &str, capabilities: Value) {
        let answer = self.request("initialize", json!({
            "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "test-agent", "version": "1"},
        }));
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// A session of the last protocol with a handshake, by a client without optional capabilities.
    pub(crate) fn usual(home: &TestHome) -> Self {
        Self::greeted(home, &[], BEFORE[0], json!({}))
    }

    /// From here on, requests are of the current protocol, which has no handshake.
    pub(crate) fn modern(&mut self, capabilities: Value) {
        self.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": CURRENT,
            "io.modelcontextprotocol/clientInfo": {"name": "test-agent", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }));
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes());
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).and_then(|()| input.flush()).unwrap();
    }

    /// Returns the next message.
    #[track_caller]
    pub(crate) fn hear(&mut self) -> Value {
        match self.lines.recv_timeout(TEST_TIMEOUT) {
            Ok(value) => {
                assert_eq!(value["jsonrpc"], "2.0", "not JSON-RPC on stdout: {value}");
                value
            }
            Err(RecvTimeoutError::Timeout) => panic!("it says nothing"),
            Err(RecvTimeoutError::Disconnected) => panic!("it ended: {}", self.complaint()),
        }
    }

    /// Sends a request and does not wait; gives its id.
    pub(crate) fn post(&mut self, method: &str, mut params: Value) -> i64 {
        self.next += 1;
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and gives its answer, whole.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.post(method, params);
        loop {
            let heard = self.hear();
            if heard["id"] == id && heard.get("method").is_none() {
                return heard;
            }
        }
    }

    /// Calls a tool, and gives its result.
    #[track_caller]
    pub(crate) fn result(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// Calls a tool that must succeed. Returns its data, after checking that text and structured content are equal.
    #[track_caller]
    pub(crate) fn tool(&mut self, tool: &str, arguments: Value) -> Value {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], false, "{tool}: {result}");
        let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text, result["structuredContent"], "{tool}");
        text
    }

    /// Calls a tool that must fail. Returns its message.
    #[track_caller]
    pub(crate) fn refusal(&mut self, tool: &str, arguments: Value) -> String {
        let result = self.result(tool, arguments);
        assert_eq!(result["isError"], true, "{tool}: {result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Closes the input. Returns the exit code and the standard error output.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        self.input.take();
        let mut text = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (self.child.wait().unwrap().code(), text)
    }

    fn complaint(&mut self) -> String {
        let mut text = String::new();
        let _gone = self.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut text));
        text
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _reaped = self.child.wait();
    }
}
