//! A connected agent: it talks to the process `ergo mcp` over two pipes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use super::home::AgentsHome;
use crate::{
    error::BenchError,
    measure::{Quantiles, millis},
};

/// A version of the protocol that has a handshake; most agents use it.
const PROTOCOL_VERSION: &str = "2025-11-25";

/// Bridges that are started before the timed ones.
const WARM_UP_BRIDGES: usize = 2;

/// A session. Its process is killed when this value is dropped.
pub(super) struct TimedBridge {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The id of the latest request.
    latest_id: u64,
}

/// The outcome of a tool call.
pub(super) enum CallOutcome {
    /// The structured content.
    Result(Value),
    /// The message of an error.
    Failed(String),
}

impl TimedBridge {
    /// Starts a bridge and completes the handshake.
    pub(super) fn start(home: &AgentsHome, name: &str) -> Result<Self, BenchError> {
        let mut command = home.daemon.command(&["mcp"]);
        command.current_dir(&home.work).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| home.daemon.spawn_error(error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(unexpected("no pipes"));
        };
        let mut bridge = Self { child, input, output: BufReader::new(output), latest_id: 0 };
        let hello = json!({"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        let reply = bridge.ask("initialize", hello)?;
        if reply["result"]["protocolVersion"] != PROTOCOL_VERSION {
            return Err(unexpected(reply));
        }
        bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(bridge)
    }

    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Result<CallOutcome, BenchError> {
        let mut reply = self.ask("tools/call", json!({"name": tool, "arguments": arguments}))?;
        if reply["result"]["isError"] == false && reply["result"]["structuredContent"].is_object() {
            return Ok(CallOutcome::Result(reply["result"]["structuredContent"].take()));
        }
        let message = reply["result"]["content"][0]["text"].as_str();
        Ok(CallOutcome::Failed(message.map_or_else(|| reply.to_string(), str::to_owned)))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, BenchError> {
        self.latest_id += 1;
        let id = self.latest_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).map_err(unexpected)?;
            let reply: Value =
                serde_json::from_str(&line).map_err(|_| unexpected(if read == 0 { "nothing" } else { &line }))?;
            if reply["id"] == id {
                return Ok(reply);
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), BenchError> {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush()).map_err(unexpected)
    }
}

impl Drop for TimedBridge {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the error of an unexpected answer.
fn unexpected(message: impl ToString) -> BenchError {
    BenchError::Answer { verb: "mcp".into(), message: message.to_string() }
}

/// Starts bridges one after the other. Returns the times from the start of a bridge until the handshake is complete, and
/// until the first tool call, which needs the daemon, is answered.
pub(super) fn starts(home: &AgentsHome, samples: usize) -> Result<(Quantiles, Quantiles), BenchError> {
    let (mut connected, mut answered) = (Vec::with_capacity(samples), Vec::with_capacity(samples));
    for n in 0..WARM_UP_BRIDGES + samples {
        let begun = Instant::now();
        let mut bridge = TimedBridge::start(home, "bench")?;
        let handshake = begun.elapsed();
        if let CallOutcome::Failed(message) = bridge.call("ergo_scopes", json!({}))? {
            return Err(unexpected(message));
        }
        let first = begun.elapsed();
        if n >= WARM_UP_BRIDGES {
            connected.push(millis(handshake));
            answered.push(millis(first));
        }
    }
    Ok((Quantiles::of(connected), Quantiles::of(answered)))
}
