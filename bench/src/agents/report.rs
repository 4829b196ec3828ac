//! The figures and their targets.

use std::fmt;

use serde::Serialize;

use crate::{bar::Bar, measure::Quantiles};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgentsReport {
    /// Active claims in the scope.
    pub claims: usize,
    /// Each hook, without concurrent agents.
    pub hooks: Vec<HookTimes>,
    /// The time from the start of a bridge until the handshake is complete, in milliseconds.
    pub bridge_ms: Quantiles,
    /// The time from the start of a bridge until its first call is answered, in milliseconds.
    pub first_call_ms: Quantiles,
    pub crowd: ConcurrentAgents,
    /// Each hook beside the concurrent agents.
    pub hooks_in_crowd: Vec<HookTimes>,
    pub bars: Vec<Bar>,
}

/// The runs of one hook.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HookTimes {
    /// The hook, and the kind of input.
    pub name: String,
    /// The time from its start to its end, in milliseconds.
    pub ms: Quantiles,
    pub runs: usize,
    /// Runs that printed something.
    pub spoke: usize,
}

/// Several agents that write and recall at once.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ConcurrentAgents {
    /// The number of agents.
    pub clients: usize,
    /// The time for which they worked, in seconds.
    pub seconds: f64,
    /// Writes that were acknowledged as stored.
    pub stored: usize,
    /// Writes that the guard refused.
    pub conflicts: usize,
    /// Acknowledged writes that are missing from the store.
    pub lost: usize,
    /// Acknowledged writes that are stored more than once.
    pub doubled: usize,
    /// Calls that were answered by an error.
    pub failed: usize,
    /// Writes that only the rules judged at first, since the models were busy.
    pub by_rules: usize,
    /// The first errors.
    pub failures: Vec<String>,
    /// A guarded write, from the call to its result, in milliseconds.
    pub write_ms: Quantiles,
    pub recall_ms: Quantiles,
}

impl ConcurrentAgents {
    /// Returns whether nothing was lost, stored twice or failed.
    pub fn is_consistent(&self) -> bool {
        self.lost + self.doubled + self.failed == 0
    }
}

impl AgentsReport {
    /// Adds the bars.
    pub(super) fn with_bars(mut self) -> Self {
        let hook = |hook: &HookTimes| Bar::new(&format!("hook {}, p95", hook.name), hook.ms.p95, 100.0, "ms");
        self.bars = self.hooks.iter().map(hook).collect();
        self.bars.push(Bar::new("bridge, until it shook hands, p95", self.bridge_ms.p95, 60.0, "ms"));
        let hook = |hook: &HookTimes| Bar::new(&format!("beside agents: {}, p95", hook.name), hook.ms.p95, 60.0, "ms");
        self.bars.extend(self.hooks_in_crowd.iter().map(hook));
        self.bars.push(Bar::new("beside agents: a write, p95", self.crowd.write_ms.p95, 300.0, "ms"));
        self.bars.push(Bar::new("beside agents: a recall, p95", self.crowd.recall_ms.p95, 60.0, "ms"));
        self
    }
}

impl fmt::Display for AgentsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", Bar::heading(&format!("{} claims", self.claims)))?;
        self.bars.iter().try_for_each(|bar| writeln!(f, "{bar}"))?;
        for HookTimes { name, ms, runs, spoke } in &self.hooks {
            let Quantiles { p50, max, .. } = ms;
            writeln!(
                f,
                "Hook {name}: p50 {p50:.1} ms, max {max:.1}; it had something to say {spoke} times of {runs}."
            )?;
        }
        let Self { bridge_ms, first_call_ms, crowd, .. } = self;
        writeln!(
            f,
            "Bridge: p50 {:.1} ms, max {:.1}; its first call answered, p50 {:.1}, p95 {:.1}.",
            bridge_ms.p50, bridge_ms.max, first_call_ms.p50, first_call_ms.p95
        )?;
        writeln!(
            f,
            "{} agents for {:.0} s: {} writes stored, {} refused; {:.1} a second.",
            crowd.clients,
            crowd.seconds,
            crowd.stored,
            crowd.conflicts,
            (crowd.stored + crowd.conflicts) as f64 / crowd.seconds.max(0.001)
        )?;
        writeln!(
            f,
            "  write p50 {:.1} ms, p95 {:.1}, max {:.1}; recall p50 {:.1}, p95 {:.1}, max {:.1}",
            crowd.write_ms.p50,
            crowd.write_ms.p95,
            crowd.write_ms.max,
            crowd.recall_ms.p50,
            crowd.recall_ms.p95,
            crowd.recall_ms.max
        )?;
        writeln!(f, "  {} writes were compared by the rules alone at first", crowd.by_rules)?;
        let whole = if crowd.is_consistent() { "nothing lost, nothing twice" } else { "NOT WHOLE" };
        writeln!(f, "  {} lost, {} twice, {} errors: {whole}", crowd.lost, crowd.doubled, crowd.failed)?;
        crowd.failures.iter().try_for_each(|failure| writeln!(f, "  {failure}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> AgentsReport {
        let times = Quantiles { p50: 10.0, p95: 20.0, max: 30.0 };
        let slow = Quantiles { p95: 120.0, ..times };
        let hook = |name: &str, ms| HookTimes { name: name.into(), ms, runs: 50, spoke: 49 };
        let crowd = ConcurrentAgents {
            clients: 10,
            seconds: 2.0,
            stored: 90,
            conflicts: 10,
            write_ms: times,
            ..ConcurrentAgents::default()
        };
        let hooks = vec![hook("session-start", times), hook("user-prompt, a page", slow)];
        AgentsReport {
            claims: 7,
            hooks,
            bridge_ms: times,
            first_call_ms: slow,
            crowd,
            hooks_in_crowd: vec![hook("stop", slow)],
            bars: vec![],
        }
        .with_bars()
    }

    #[test]
    fn each_bar_stands_beside_its_figure() {
        let text = report().to_string();
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{text}"));
        assert!(line("hook session-start").ends_with("20.00     100.00 ms"), "{text}");
        assert!(line("hook user-prompt, a page").ends_with("120.00     100.00 ms  missed"), "{text}");
        assert!(line("beside agents: stop").ends_with("120.00      60.00 ms  missed"), "{text}");
        let session_start = "Hook session-start: p50 10.0 ms, max 30.0; it had something to say 49 times of 50.";
        assert_eq!(line("Hook session-start"), session_start);
        assert!(line("10 agents for 2 s").ends_with("50.0 a second."), "{text}");
        assert!(text.contains("nothing lost, nothing twice"), "{text}");
    }

    #[test]
    fn what_is_lost_or_twice_or_failed_is_reported() {
        for (lost, doubled, failed) in [(1, 0, 0), (0, 1, 0), (0, 0, 1)] {
            let mut report = report();
            report.crowd = ConcurrentAgents { lost, doubled, failed, ..report.crowd };
            assert!(!report.crowd.is_consistent() && report.to_string().contains("NOT WHOLE"));
        }
    }
}
