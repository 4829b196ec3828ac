//! One agent: `ergo mcp` at the other end of two pipes.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    time::Instant,
};

use serde_json::{Value, json};

use super::home::Home;
use crate::store::{BenchError, Quantiles, quantiles};

/// The protocol's version with a handshake, which most agents speak.
const VERSION: &str = "2025-11-25";

/// Bridges that are started and not counted.
const WARM: usize = 2;

/// A session. Its process ends with this.
pub(super) struct Bridge {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

/// What came of a call.
pub(super) enum CallOutcome {
    /// The tool's data.
    Result(Value),
    /// What it said instead.
    Failed(String),
}

impl Bridge {
    /// Starts a bridge and shakes hands.
    pub(super) fn start(home: &Home, name: &str) -> Result<Self, BenchError> {
        let mut command = home.daemon.command(&["mcp"]);
        command.current_dir(&home.work).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| home.daemon.not_run(error))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(answer("no pipes"));
        };
        let mut bridge = Self { child, input, output: BufReader::new(output), next: 0 };
        let hello =
            json!({"protocolVersion": VERSION, "capabilities": {}, "clientInfo": {"name": name, "version": "1"}});
        let reply = bridge.ask("initialize", hello)?;
        if reply["result"]["protocolVersion"] != VERSION {
            return Err(answer(reply));
        }
        bridge.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(bridge)
    }

    /// Calls a tool.
    pub(super) fn call(&mut self, tool: &str, arguments: Value) -> Result<CallOutcome, BenchError> {
        let mut reply = self.ask("tools/call", json!({"name": tool, "arguments": arguments}))?;
        if reply["result"]["isError"] == false && reply["result"]["structuredContent"].is_object() {
            return Ok(CallOutcome::Result(reply["result"]["structuredContent"].take()));
        }
        let message = reply["result"]["content"][0]["text"].as_str();
        Ok(CallOutcome::Failed(message.map_or_else(|| reply.to_string(), str::to_owned)))
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, BenchError> {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line).map_err(answer)?;
            let reply: Value =
                serde_json::from_str(&line).map_err(|_| answer(if read == 0 { "nothing" } else { &line }))?;
            if reply["id"] == id {
                return Ok(reply);
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), BenchError> {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).and_then(|()| self.input.flush()).map_err(answer)
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        // Gone already, perhaps.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a bridge should not have said.
fn answer(message: impl ToString) -> BenchError {
    BenchError::Answer { verb: "mcp".into(), message: message.to_string() }
}

/// How long bridges take, from their start: until they have shaken hands, and until the first call is answered, which needs the daemon.
pub(super) fn starts(home: &Home, samples: usize) -> Result<(Quantiles, Quantiles), BenchError> {
    let (mut greeted, mut answered) = (Vec::with_capacity(samples), Vec::with_capacity(samples));
    for n in 0..WARM + samples {
        let begun = Instant::now();
        let mut bridge = Bridge::start(home, "bench")?;
        let hands = begun.elapsed();
        if let CallOutcome::Failed(message) = bridge.call("ergo_scopes", json!({}))? {
            return Err(answer(message));
        }
        let first = begun.elapsed();
        if n >= WARM {
            greeted.push(hands.as_secs_f64() * 1000.0);
            answered.push(first.as_secs_f64() * 1000.0);
        }
    }
    Ok((quantiles(greeted), quantiles(answered)))
}
