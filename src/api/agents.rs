//! Coding agents: which are connected, and what each of them did.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::domain::{AgentJudgements, Scope};

/// `GET /agents`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
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
    /// Agents that wrote something, the latest writer first.
    pub items: Vec<AgentView>,
    /// Sessions that are connected over MCP now, newest first. MCP over HTTP has no sessions: an agent that called in
    /// the last five minutes is listed by name, without a project.
    pub connected: Vec<AgentSession>,
}

/// Returns whether `agent` is a name that the program `program` gives itself over MCP: `program` itself, or a longer name that begins
/// with it and a hyphen. Codex calls itself `codex-mcp-client`, Gemini CLI `gemini-cli-mcp-client`, Cursor `cursor-vscode`.
pub fn is_name_of(program: &str, agent: &str) -> bool {
    agent.strip_prefix(program).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// An agent, by what it wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// The name that it gives itself.
    pub agent: String,
    /// The number of changes that it made.
    pub wrote: usize,
    /// The number of its writes that the guard refused.
    pub refused: usize,
    /// The time of its first event, in milliseconds since the Unix epoch.
    pub first: u64,
    /// The time of its last event, in milliseconds since the Unix epoch.
    pub last: u64,
    /// The people for whom it wrote.
    pub people: Vec<String>,
    /// Counts of the pairs that it judged.
    #[serde(default)]
    pub judgements: AgentJudgements,
}

/// A session of an agent that is connected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentSession {
    /// The name that the agent gives itself.
    pub agent: String,
    /// The project in which it works, if it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// When the session began, in milliseconds since the Unix epoch.
    pub since: u64,
}

/// `GET /agents/present`: registers a session of an agent. It counts as connected for as long as the client reads the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
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
    fn a_name_is_recognised_by_its_first_words() {
        for (program, agent) in [
            ("claude-code", "claude-code"),
            ("codex", "codex-mcp-client"),
            ("cursor", "cursor-vscode"),
            ("gemini", "gemini-cli-mcp-client"),
        ] {
            assert!(is_name_of(program, agent), "{program} {agent}");
        }
        assert!(!is_name_of("codex", "codexium") && !is_name_of("claude-code", "claude"));
    }
}
