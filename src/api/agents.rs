//! Coding agents: which are connected, and what each of them did.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::Scope;

/// `GET /agents`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsQuery {
    /// The organisation; without it, all scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// The agents that wrote something or are connected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Agents {
    /// Those that wrote something, the one that did so last first.
    pub items: Vec<AgentView>,
    /// Sessions that are connected over MCP now, newest first. MCP over HTTP has no sessions: an agent that called in
    /// the last five minutes is listed by name, without a project.
    pub connected: Vec<AgentSession>,
}

/// An agent, by what it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// The name that it gives itself.
    pub agent: String,
    /// Its acts that changed the memory.
    pub wrote: usize,
    /// Its writes that the guard refused.
    pub refused: usize,
    /// Its first event, in milliseconds since the Unix epoch.
    pub first: u64,
    /// Its last event.
    pub last: u64,
    /// The people for whom it wrote.
    pub people: Vec<String>,
    /// What it judged.
    #[serde(default)]
    pub judgements: AgentJudgements,
}

/// What an agent said of pairs of claims that may contradict each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct AgentJudgements {
    /// Its writes that waited for its verdicts.
    pub asked: usize,
    /// Its verdicts `contradicts`; those that were undone count, too, as with the others.
    pub contradicts: usize,
    /// Its verdicts `replaces`.
    pub replaces: usize,
    /// Its verdicts `same`.
    pub same: usize,
    /// Its verdicts `compatible`.
    pub compatible: usize,
    /// Those of its verdicts that a person undid or decided otherwise later.
    pub overturned: usize,
    /// Its last fifty verdicts are all `compatible`: it may not read the claims.
    pub always_compatible: bool,
}

impl AgentJudgements {
    /// How many verdicts it gave.
    pub fn verdicts(&self) -> usize {
        self.contradicts + self.replaces + self.same + self.compatible
    }

    /// Says how often it was asked, what it said, and what a person turned over; `None` if it was never asked and judged nothing.
    pub fn words(&self) -> Option<String> {
        if self.asked == 0 && self.verdicts() == 0 {
            return None;
        }
        let said = [
            (self.contradicts, "contradicts"),
            (self.replaces, "replaces"),
            (self.same, "same"),
            (self.compatible, "compatible"),
        ];
        let said: Vec<String> =
            said.iter().filter(|(many, _)| *many > 0).map(|(many, verdict)| format!("{many} {verdict}")).collect();
        let said = if said.is_empty() { "no verdict".to_owned() } else { said.join(", ") };
        let writes = if self.asked == 1 { "write" } else { "writes" };
        let mut line = format!("asked about {} {writes}: {said}", self.asked);
        if self.overturned > 0 {
            line = format!("{line}; {} overturned by a person", self.overturned);
        }
        if self.always_compatible {
            line.push_str("; its last 50 verdicts are all compatible");
        }
        Some(line)
    }
}

/// A session of an agent that is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentSession {
    /// The name that the agent gives itself.
    pub agent: String,
    /// The project in which it works, if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// Since when, in milliseconds since the Unix epoch.
    pub since: u64,
}

/// `GET /agents/present`: a session of an agent, connected for as long as it reads the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
pub struct PresentQuery {
    /// The name that the agent gives itself.
    pub agent: String,
    /// The organisation in which it works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judgements_are_told_in_one_line() {
        assert_eq!(AgentJudgements::default().words(), None);
        let some =
            AgentJudgements { asked: 3, replaces: 1, compatible: 2, overturned: 1, ..AgentJudgements::default() };
        assert_eq!(
            some.words().as_deref(),
            Some("asked about 3 writes: 1 replaces, 2 compatible; 1 overturned by a person")
        );
    }
}
