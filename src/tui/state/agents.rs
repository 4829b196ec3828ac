//! The Agents screen: the agents, and what the agent under the cursor did or which claims hooks injected for it.

use super::{
    Focus,
    windowed::{PAGE_SIZE, Windowed},
};
use crate::{
    api::{AgentSession, AgentView, Agents as View, EventView, LogQuery, is_name_of},
    client::injected::InjectedClaim,
    domain::Scope,
};

/// Which rows are listed for an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentListing {
    /// Its acts, and its refused writes.
    #[default]
    Acts,
    /// Only its refused writes.
    Refused,
    /// The claims that hooks injected for it.
    Injected,
}

impl AgentListing {
    /// Returns the next listing in the cycle.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::Acts => Self::Refused,
            Self::Refused => Self::Injected,
            Self::Injected => Self::Acts,
        }
    }
}

/// An agent in the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentEntry {
    /// The name of the agent; `None` for sessions whose hooks sent no name.
    pub name: Option<String>,
    /// Its row in the daemon's answer; `None` if it wrote nothing.
    pub wrote: Option<AgentView>,
    /// Its connected sessions, the newest first.
    pub sessions: Vec<AgentSession>,
    /// The number of claims that hooks injected for it.
    pub injected: usize,
}

#[derive(Clone, Debug, Default)]
pub struct AgentsState {
    /// The daemon's last answer; `None` before the first one.
    pub view: Option<View>,
    /// The claims that hooks injected, for any agent; `None` before they were read.
    pub injected: Option<Vec<InjectedClaim>>,
    /// The acts of the agent under the cursor.
    pub list: Windowed<EventView>,
    /// The error message, if reading `list` failed.
    pub list_error: Option<String>,
    /// Which rows `list` has.
    pub shown: AgentListing,
    /// The pane that has the focus.
    pub focus: Focus,
    /// The row under the cursor in the list of injected claims.
    pub injected_row: usize,
    /// The error message, if reading the agents failed.
    pub error: Option<String>,
    /// The agents, computed from `view` and `injected` when one of them arrives.
    entries: Vec<AgentEntry>,
    row: usize,
    agent_at_cursor: Option<String>,
}

impl AgentsState {
    /// Returns the agents: first those that wrote something, the latest writer first; then those that are only
    /// connected; then those for which hooks only injected claims.
    pub fn entries(&self) -> &[AgentEntry] {
        &self.entries
    }

    fn computed_entries(&self) -> Vec<AgentEntry> {
        let none: &[AgentSession] = &[];
        let connected = self.view.as_ref().map_or(none, |view| &view.connected);
        let injected = self.injected.as_deref().unwrap_or_default();
        let mut names: Vec<&str> = Vec::new();
        let wrote = self.view.iter().flat_map(|view| &view.items).map(|item| item.agent.as_str());
        for name in wrote.chain(connected.iter().map(|session| session.agent.as_str())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for agent in injected.iter().flat_map(|one| &one.agents) {
            if !names.iter().any(|name| is_name_of(agent, name)) {
                names.push(agent);
            }
        }
        let entry = |name: &str| AgentEntry {
            name: Some(name.to_owned()),
            wrote: self.view.iter().flat_map(|view| &view.items).find(|item| item.agent == name).cloned(),
            sessions: connected.iter().filter(|session| session.agent == name).cloned().collect(),
            injected: injected.iter().filter(|one| one.agents.iter().any(|agent| is_name_of(agent, name))).count(),
        };
        let mut entries: Vec<AgentEntry> = names.into_iter().map(entry).collect();
        let unnamed = injected.iter().filter(|one| one.agents.is_empty()).count();
        if unnamed > 0 {
            entries.push(AgentEntry { name: None, wrote: None, sessions: Vec::new(), injected: unnamed });
        }
        entries
    }

    /// Returns the row under the cursor. The cursor stays on its agent when the rows change.
    pub fn row(&self) -> usize {
        let entries = self.entries();
        let held = self
            .agent_at_cursor
            .as_ref()
            .and_then(|name| entries.iter().position(|own| own.name.as_ref() == Some(name)));
        held.unwrap_or(self.row).min(entries.len().saturating_sub(1))
    }

    /// Returns the agent under the cursor.
    pub fn entry(&self) -> Option<&AgentEntry> {
        self.entries.get(self.row())
    }

    /// Puts the cursor on a row. Returns whether that row is another agent.
    pub fn place(&mut self, row: usize) -> bool {
        let before = self.entry().map(|entry| entry.name.clone());
        self.row = row;
        self.agent_at_cursor = None;
        let after = self.entry().map(|entry| entry.name.clone());
        self.agent_at_cursor = after.clone().flatten();
        let other = before != after;
        if other {
            self.clear_list();
        }
        other
    }

    /// Empties the detail list, since it is to show other rows, and reads it again. The old rows must not be shown
    /// under the title of the new ones.
    pub fn clear_list(&mut self) {
        self.list.clear();
        self.list_error = None;
        self.injected_row = 0;
    }

    /// Takes the daemon's answer.
    pub fn accept(&mut self, view: View) {
        self.view = Some(view);
        self.error = None;
        self.update_entries();
    }

    /// Takes the claims that hooks injected.
    pub fn accept_injected(&mut self, injected: Vec<InjectedClaim>) {
        self.injected = Some(injected);
        self.update_entries();
    }

    /// Computes the agents again. The cursor stays on its agent; if it is on another one now, the detail list is read
    /// again.
    fn update_entries(&mut self) {
        let before = self.entry().map(|entry| entry.name.clone());
        self.entries = self.computed_entries();
        let after = self.entry().map(|entry| entry.name.clone());
        if before != after {
            self.clear_list();
        }
        self.agent_at_cursor = after.flatten();
    }

    /// Returns the claims that hooks injected for the agent under the cursor.
    pub fn injected_here(&self) -> Vec<&InjectedClaim> {
        let Some(entry) = self.entry() else { return Vec::new() };
        let here = |one: &&InjectedClaim| match &entry.name {
            Some(name) => one.agents.iter().any(|agent| is_name_of(agent, name)),
            None => one.agents.is_empty(),
        };
        self.injected.iter().flatten().filter(here).collect()
    }

    /// Returns how often, and into how many sessions, hooks injected a claim.
    pub fn injected_of(&self, claim: crate::domain::ClaimId) -> Option<&InjectedClaim> {
        self.injected.iter().flatten().find(|one| one.claim == claim)
    }

    /// Returns the query for one page of the list of acts; `None` if the agent under the cursor has no name.
    pub fn query(&self, scope: Option<&Scope>, cursor: Option<String>) -> Option<LogQuery> {
        let who = self.entry()?.name.clone()?;
        Some(LogQuery {
            org_id: scope.map(|scope| scope.org_id.clone()),
            project: scope.map(|scope| scope.project.clone()),
            who: Some(who),
            acts: self.shown == AgentListing::Acts,
            refused: self.shown == AgentListing::Refused,
            limit: Some(PAGE_SIZE),
            cursor,
            ..LogQuery::default()
        })
    }

    /// Returns whether the item under the cursor can be opened.
    pub fn can_open(&self) -> bool {
        match (self.focus, self.shown) {
            (Focus::List, _) => self.entry().is_some(),
            (Focus::Detail, AgentListing::Injected) => !self.injected_here().is_empty(),
            (Focus::Detail, _) => self.list.selected().is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::sample::agents::{agents, injected};

    #[test]
    fn agents_are_listed_once_whatever_is_known_of_them() {
        let mut screen = AgentsState::default();
        screen.accept(agents());
        screen.accept_injected(injected());
        let names: Vec<_> = screen.entries().iter().map(|entry| entry.name.clone()).collect();
        let expected = ["claude-code", "codex-mcp-client", "cursor-vscode", "gemini"].map(|name| Some(name.to_owned()));
        assert_eq!(names, [expected.as_slice(), &[None]].concat());
        assert_eq!(screen.entries()[1].injected, 1, "codex is what codex-mcp-client is told of by its hooks");
    }

    #[test]
    fn the_cursor_holds_on_to_its_agent() {
        let mut screen = AgentsState::default();
        screen.accept(agents());
        assert!(screen.place(1) && !screen.place(1));
        let mut later = agents();
        later.items.reverse();
        screen.accept(later);
        assert_eq!((screen.row(), screen.entry().unwrap().name.as_deref()), (0, Some("codex-mcp-client")));
        let query = screen.query(None, None).unwrap();
        assert_eq!((query.who.as_deref(), query.acts, query.refused), (Some("codex-mcp-client"), true, false));
        screen.shown = screen.shown.next();
        assert!(screen.query(None, None).unwrap().refused);
    }
}
