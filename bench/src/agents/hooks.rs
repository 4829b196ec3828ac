//! Runs hooks as an agent's program does, and times them.

use std::{io::Write, process::Stdio, time::Instant};

use serde_json::{Value, json};

use super::{
    home::{AgentsHome, CONSTRAINED_FILE},
    report::HookTimes,
};
use crate::{
    error::BenchError,
    measure::{Quantiles, millis},
    store_synth as synth,
};

/// Runs of a hook before the timed ones.
const WARM_UP_RUNS: usize = 3;

/// The length of a long prompt, in bytes.
const LONG_PROMPT: usize = 1_500;

/// Runs each hook `samples` times in a scope with this number of claims. Each run has a session of its own, since a claim
/// is given to a session only once. The ids of the sessions begin with `sessions`, which differs between two measurements.
pub(super) fn measure(
    home: &AgentsHome,
    claims: usize,
    samples: usize,
    sessions: &str,
) -> Result<Vec<HookTimes>, BenchError> {
    let run_all = |moment: &str, name: &str, input: &dyn Fn(usize) -> Value| {
        run_all(home, moment, (name, sessions), input, samples)
    };
    let question = |n: usize| synth::question(n * 7919 % claims.max(1));
    let long = |n: usize| {
        let mut text = String::new();
        for more in 0.. {
            if text.len() >= LONG_PROMPT {
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
    let read = |_: usize| json!({"tool_input": {"file_path": CONSTRAINED_FILE}, "hook_event_name": "PostToolUse"});
    let end = |_: usize| json!({"hook_event_name": "Stop"});
    Ok(vec![
        run_all("session-start", "session-start", &start)?,
        run_all("user-prompt", "user-prompt, a sentence", &asked)?,
        run_all("user-prompt", "user-prompt, a page", &long_prompt)?,
        run_all("post-tool", "post-tool", &read)?,
        run_all("stop", "stop", &end)?,
    ])
}

/// Runs one hook `samples` times.
fn run_all(
    home: &AgentsHome,
    moment: &str,
    (name, sessions): (&str, &str),
    input: &dyn Fn(usize) -> Value,
    samples: usize,
) -> Result<HookTimes, BenchError> {
    let (mut times, mut spoke) = (Vec::with_capacity(samples), 0);
    for n in 0..WARM_UP_RUNS + samples {
        let mut input = input(n);
        input["session_id"] = json!(format!("{sessions} {name} {n}"));
        let (took, spoken) = run(home, moment, &input)?;
        if n >= WARM_UP_RUNS {
            times.push(took);
            spoke += usize::from(spoken);
        }
    }
    Ok(HookTimes { name: name.to_owned(), ms: Quantiles::of(times), runs: samples, spoke })
}

/// Runs a hook once. Returns the time from its start to its end in milliseconds, and whether it printed anything.
fn run(home: &AgentsHome, moment: &str, input: &Value) -> Result<(f64, bool), BenchError> {
    let input = input.to_string();
    let mut command = home.daemon.command(&["hook", moment]);
    command.current_dir(&home.work).stdin(Stdio::piped()).stdout(Stdio::piped());
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|error| home.daemon.spawn_error(error))?;
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().map_err(|error| home.daemon.spawn_error(error))?;
    let took = millis(begun.elapsed());
    if written.is_err() || !output.status.success() {
        return Err(BenchError::Answer { verb: format!("hook {moment}"), message: output.status.to_string() });
    }
    Ok((took, !output.stdout.is_empty()))
}
