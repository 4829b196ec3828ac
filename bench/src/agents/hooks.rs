//! Hooks, as an agent's program runs them.

use std::{io::Write, process::Stdio, time::Instant};

use serde_json::{Value, json};

use super::{
    home::{FILE, Home},
    report::Hook,
};
use crate::{
    store::{BenchError, quantiles},
    store_synth as synth,
};

/// Runs of a hook that are not counted.
const WARM: usize = 3;

/// How long a long prompt is, in characters.
const LONG: usize = 1_500;

/// Measures every hook, so often, where so many claims are known. Each run is a session of its own, since what was given once is not given again:
/// `sessions` tells those of two measurements apart.
pub(super) fn measure(home: &Home, claims: usize, samples: usize, sessions: &str) -> Result<Vec<Hook>, BenchError> {
    let one =
        |moment: &str, name: &str, input: &dyn Fn(usize) -> Value| one(home, moment, (name, sessions), input, samples);
    let question = |n: usize| synth::question(n * 7919 % claims.max(1));
    let long = |n: usize| {
        let mut text = String::new();
        for more in 0.. {
            if text.len() >= LONG {
                break;
            }
            text.push_str(&question(n + more));
            text.push(' ');
        }
        text
    };
    let start = |_: usize| json!({"source": "startup", "hook_event_name": "SessionStart"});
    let asked = |n: usize| json!({"prompt": question(n), "hook_event_name": "UserPromptSubmit"});
    let long_prompt = |n: usize| json!({"prompt": long(n), "hook_event_name": "UserPromptSubmit"});
    let read = |_: usize| json!({"tool_input": {"file_path": FILE}, "hook_event_name": "PostToolUse"});
    let end = |_: usize| json!({"hook_event_name": "Stop"});
    Ok(vec![
        one("session-start", "session-start", &start)?,
        one("user-prompt", "user-prompt, a sentence", &asked)?,
        one("user-prompt", "user-prompt, a page", &long_prompt)?,
        one("post-tool", "post-tool", &read)?,
        one("stop", "stop", &end)?,
    ])
}

fn one(
    home: &Home,
    moment: &str,
    (name, sessions): (&str, &str),
    input: &dyn Fn(usize) -> Value,
    samples: usize,
) -> Result<Hook, BenchError> {
    let (mut times, mut spoke) = (Vec::with_capacity(samples), 0);
    for n in 0..WARM + samples {
        let mut input = input(n);
        input["session_id"] = json!(format!("{sessions} {name} {n}"));
        let (took, spoken) = run(home, moment, &input)?;
        if n >= WARM {
            times.push(took);
            spoke += usize::from(spoken);
        }
    }
    Ok(Hook { name: name.to_owned(), ms: quantiles(times), runs: samples, spoke })
}

/// Runs a hook: from its start to its end in milliseconds, and whether it said anything.
fn run(home: &Home, moment: &str, input: &Value) -> Result<(f64, bool), BenchError> {
    let input = input.to_string();
    let mut command = home.daemon.command(&["hook", moment]);
    command.current_dir(&home.work).stdin(Stdio::piped()).stdout(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| home.daemon.not_run(error))?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(|error| home.daemon.not_run(error))?;
    let took = begun.elapsed().as_secs_f64() * 1000.0;
    if written.is_err() || !output.status.success() {
        return Err(BenchError::Answer { verb: format!("hook {moment}"), message: output.status.to_string() });
    }
    Ok((took, !output.stdout.is_empty()))
}
